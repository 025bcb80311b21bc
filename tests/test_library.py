from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rag_app.answering.query_rewriting import Turn
from rag_app.answering.span_model import SpanModel
from rag_app.errors import (
    DamagedFile,
    DocumentError,
    EmptyFile,
    LibraryInUse,
    LimitReached,
    ModelUnavailable,
    QuestionError,
    UnknownDocument,
    UnsupportedFormat,
)
from rag_app.export.messages import sentence
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.storage import Store
from rag_app.storage.database import ConstraintBroken
from rag_app.types import Finished, Note, NoteKind, RetrieverKind, Sources, Status
from tests.fakes import WordEmbedder
from tests.servers import scripted_server

FERRY = b"The ferry to the island costs four euros.\n\nDogs travel free of charge.\n"
MUSEUM = b"The museum is closed on Mondays.\n\nEntry is free for children.\n"


def open_library(folder: Path, **given) -> Library:
    embedder = given.pop("embedder", None) or WordEmbedder()
    return Library(Settings.load(data_dir=folder, caution=0.2, **given), embedder=embedder)


@pytest.fixture
def library(tmp_path: Path):
    with open_library(tmp_path / "data") as opened:
        yield opened


def add(library: Library, name: str, data: bytes) -> str:
    added = library.add(name, data)
    library.wait([added.document.id], timeout=30)
    return added.document.id


def ask(library: Library, question: str, **given):
    [*_, last] = library.ask(question, **given)
    assert isinstance(last, Finished)
    return last.answer


def test_a_file_is_added_and_answers_with_a_verbatim_quote(library):
    ferry = add(library, "ferry.txt", FERRY)
    document = library.document(ferry)
    assert (document.status, document.pages, document.name) == (Status.READY, 1, "ferry.txt")
    answer = ask(library, "What does the ferry to the island cost?")
    [citation, *_] = answer.citations
    assert citation.quote == "The ferry to the island costs four euros."
    page = library.page(citation.document_id, citation.page)
    assert page.text[citation.start : citation.end] == citation.quote
    assert not answer.abstained and answer.notes == ()


def test_a_place_in_a_text_without_pages_is_called_by_its_section(library):
    text = b"# Opening hours\n\nThe museum is closed on Mondays.\n\n# Prices\n\nEntry is free.\n"
    museum, ferry = add(library, "museum.md", text), add(library, "ferry.txt", FERRY)
    page = library.page(museum, 1).text
    assert library.page_name(museum, 1, start=page.index("The museum")) == "Opening hours"
    assert library.page_name(museum, 1, start=page.index("Entry")) == "Prices"
    assert library.page_name(ferry, 1, start=5) == "", "and where there is none, by nothing"


def test_a_new_version_that_is_removed_before_it_can_be_searched_leaves_neither(library):
    old = add(library, "a.txt", FERRY)
    library.pause()
    first = library.add("a.txt", FERRY.replace(b"four", b"five"), replace=True).document
    new = library.add("a.txt", MUSEUM, replace=True).document
    assert {each.id for each in library.to_replace(new.id)} == {old, first.id}
    library.remove(new.id)
    library.resume()
    assert library.documents() == []
    with pytest.raises(QuestionError):
        library.search("ferry")
    assert library.wait_until_clean(60)
    assert not any((library.settings.data_dir / "files").iterdir())


def test_a_new_version_that_cannot_be_read_leaves_the_old_one_when_it_is_removed(library):
    old = add(library, "a.txt", FERRY)
    library.pause()
    new = library.add("a.txt", MUSEUM, replace=True).document
    library.cancel(new.id)
    assert library.to_replace(new.id) == []
    library.remove(new.id)
    assert [document.id for document in library.documents()] == [old]


@pytest.mark.timeout(30)
def test_a_folder_and_a_pipe_are_refused_at_once(library, tmp_path):
    with pytest.raises(DocumentError, match=r"^“papers” is a folder\."):
        library.add("papers", tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.txt")
        with pytest.raises(DocumentError, match=r"^“pipe\.txt” is a pipe"):
            library.add("pipe.txt", tmp_path / "pipe.txt")
    assert library.documents() == []


def test_a_text_has_no_picture_and_no_places_on_one(library):
    ferry = add(library, "ferry.txt", FERRY)
    assert library.picture(ferry, 1) is None
    assert library.boxes(ferry, 1, 0, 9) == ()


def test_sources_come_first(library):
    add(library, "ferry.txt", FERRY)
    assert isinstance(next(iter(library.ask("ferry"))), Sources)


def test_what_is_not_there_is_not_answered(library):
    add(library, "ferry.txt", FERRY)
    answer = ask(library, "Who discovered the moons of Jupiter?")
    assert answer.abstained and answer.citations == ()


def test_the_same_bytes_again_cost_nothing(library):
    first = add(library, "ferry.txt", FERRY)
    again = library.add("copy.txt", FERRY)
    assert again.duplicate and again.document.id == first
    assert again.warnings == ("Already in your library as “ferry.txt”.",)
    assert len(library.documents()) == 1


def test_another_file_of_the_same_name_gets_a_name_of_its_own(library):
    add(library, "a.txt", FERRY)
    added = library.add("a.txt", MUSEUM)
    assert added.document.name == "a (2).txt"
    assert "“a.txt”" in added.warnings[0] and "“a (2).txt”" in added.warnings[0]


def test_a_replaced_document_no_longer_answers(library):
    old = add(library, "a.txt", FERRY)
    new = library.add("a.txt", MUSEUM, replace=True)
    library.wait([new.document.id], timeout=30)
    assert [d.name for d in library.documents()] == ["a.txt"]
    assert library.document("a.txt").id == new.document.id != old
    assert all(p.chunk.document_id != old for p in library.search("ferry island euros"))


def test_a_newer_version_that_cannot_be_read_does_not_cost_the_older(library):
    old = add(library, "a.txt", FERRY)
    new = library.add("a.txt", b"%PDF-1.7\nhalf a file", replace=True)
    [document] = library.wait([new.document.id], timeout=30)
    assert document.status is Status.FAILED
    assert library.document("a.txt").id == old
    assert library.search("ferry island")[0].chunk.document_id == old


def test_a_replacement_that_fails_does_not_keep_the_library_from_opening(tmp_path, monkeypatch):
    def failing(self: Store, newer: str, older: str) -> None:
        raise ConstraintBroken("a fault of ours")

    with open_library(tmp_path / "kept") as library:
        older, newer = add(library, "a.txt", FERRY), add(library, "b.txt", MUSEUM)
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(Store, "replace", failing)
            library._store.want_replacement(newer, older)
            library.close()
            with open_library(tmp_path / "kept") as again:
                assert [d.name for d in again.documents()] == ["a.txt", "b.txt"]
    with open_library(tmp_path / "kept") as library:
        assert [d.name for d in library.wait([newer], timeout=30)] == ["a.txt"]


def test_the_same_file_can_be_added_right_after_it_was_removed(library):
    ferry = add(library, "ferry.txt", FERRY)
    adder = threading.Thread(target=lambda: library.add("ferry.txt", FERRY))
    delete = library._opened.vectors.delete

    def slow_delete(document_id: str) -> None:
        adder.start()
        adder.join(timeout=0.2)
        delete(document_id)

    library._opened.vectors.delete = slow_delete
    library.remove(ferry)
    library._opened.vectors.delete = delete
    adder.join()
    [document] = library.wait([ferry], timeout=30)
    assert document.status is Status.READY and library.original(ferry).read_bytes() == FERRY


def test_a_password_is_for_what_is_locked(library):
    added = library.add("ferry.txt", FERRY, password="not needed")
    [document] = library.wait([added.document.id], timeout=30)
    assert document.status is Status.READY


def test_a_lost_original_comes_back_when_the_file_is_handed_in_again(library):
    ferry = add(library, "ferry.txt", FERRY)
    library.original(ferry).unlink()
    assert add(library, "ferry.txt", FERRY) == ferry
    assert library.original(ferry).read_bytes() == FERRY


@pytest.mark.parametrize(
    ("name", "data", "error"),
    [
        ("a.pdf", b"this is no pdf", DamagedFile),
        ("a.txt", b"", EmptyFile),
        ("a.exe", b"MZ" + b"\x00" * 99, UnsupportedFormat),
        ("a.txt", b"x" * (1 << 20) + b"x", LimitReached),
    ],
)
def test_a_refused_file_says_why_and_leaves_the_others_alone(tmp_path, name, data, error):
    with open_library(tmp_path / "data", max_file_mb=1) as library:
        kept = add(library, "ferry.txt", FERRY)
        with pytest.raises(error):
            library.add(name, data)
        assert [d.id for d in library.documents()] == [kept]
        assert len(list((tmp_path / "data" / "files").iterdir())) == 1


@pytest.mark.parametrize(
    ("question", "says"),
    [("", "empty"), ("  \n", "empty"), ("x" * 20_000, "20,000 characters; the limit is 4,000")],
)
def test_an_unfit_question_gets_one_sentence(library, question, says):
    add(library, "ferry.txt", FERRY)
    with pytest.raises(QuestionError, match=says):
        next(iter(library.ask(question)))


def test_a_question_before_any_document_gets_one_sentence(library):
    with pytest.raises(QuestionError, match="Add a document first"):
        next(iter(library.ask("Is anybody there?")))


def test_a_question_goes_to_the_chosen_documents_only(library):
    add(library, "ferry.txt", FERRY)
    museum = add(library, "museum.txt", MUSEUM)
    answer = ask(library, "What does the ferry cost?", documents=[museum])
    assert {p.chunk.document_id for p in answer.passages} == {museum}


def test_words_are_found_before_meaning_is_there_and_the_answer_says_so(tmp_path):
    embedder = WordEmbedder()
    embedder.gate.clear()
    with open_library(tmp_path / "data", embedder=embedder) as library:
        added = library.add("ferry.txt", FERRY)
        library.wait([added.document.id], timeout=0.0)
        while library.document(added.document.id).status is not Status.SEARCHABLE:
            library.wait([added.document.id], timeout=0.01)
        found = library.search("ferry island", retriever=RetrieverKind.BM25)
        assert found[0].chunk.document_id == added.document.id
        while library.progress()[added.document.id].stage != "embedding":
            library.wait([added.document.id], timeout=0.01)
        embedder.gate.set()
        library.wait([added.document.id], timeout=30)
        assert library.progress() == {}


def test_a_second_owner_of_the_folder_is_told_so(library):
    with pytest.raises(LibraryInUse, match="open in another rag-app"):
        open_library(library.settings.data_dir)


def test_a_removed_document_is_gone_from_search_and_from_disk(library, tmp_path):
    ferry = add(library, "ferry.txt", FERRY)
    add(library, "museum.txt", MUSEUM)
    library.remove(ferry)
    assert [d.name for d in library.documents()] == ["museum.txt"]
    assert all(p.chunk.document_id != ferry for p in library.search("ferry island"))
    assert not any(ferry in path.name for path in (tmp_path / "data").rglob("*"))
    with pytest.raises(UnknownDocument):
        library.page(ferry, 1)
    with pytest.raises(UnknownDocument):
        library.remove(ferry)


def test_a_document_can_be_removed_while_it_is_worked_on(tmp_path):
    embedder = WordEmbedder()
    embedder.gate.clear()
    with open_library(tmp_path / "data", embedder=embedder) as library:
        added = library.add("ferry.txt", FERRY)
        while library.document(added.document.id).status is not Status.SEARCHABLE:
            library.wait([added.document.id], timeout=0.01)
        remover = threading.Thread(target=library.remove, args=(added.document.id,))
        remover.start()
        embedder.gate.set()
        remover.join(timeout=30)
        assert library.documents() == [] and library.progress() == {}


def test_lost_vectors_are_made_again(tmp_path):
    with open_library(tmp_path / "data") as library:
        ferry = add(library, "ferry.txt", FERRY)
    (tmp_path / "data" / "vectors" / "chroma.sqlite3").write_bytes(b"torn")
    with open_library(tmp_path / "data") as library:
        library.wait([ferry], timeout=30)
        found = library.search("island ferry", retriever=RetrieverKind.DENSE)
        assert found[0].chunk.document_id == ferry


class TornEmbedder(WordEmbedder):
    def warm(self) -> None:
        raise ModelUnavailable("The model file is torn.")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.warm()
        return []

    def embed_query(self, text: str) -> list[float]:
        self.warm()
        return []


def test_without_the_readers_weights_it_still_finds_and_shows_passages(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "rag_app.answering.questioner.SpanModel", lambda threads: SpanModel(tmp_path / "nowhere")
    )
    with open_library(tmp_path / "data", generator="reader") as library:
        add(library, "ferry.txt", FERRY)
        answer = ask(library, "What does the ferry cost?")
        assert answer.abstained and "ferry" in answer.passages[0].chunk.text
        [note] = answer.notes
        assert sentence(note).endswith("Install the app again with: make install")
        library.warm()
        while library.warm_state == "warming":
            pass
        assert library.warm_state == sentence(note)


def test_without_its_model_it_still_finds_and_shows_passages(tmp_path):
    with open_library(tmp_path / "data", embedder=TornEmbedder()) as library:
        ferry = add(library, "ferry.txt", FERRY)
        assert library.document(ferry).status is Status.SEARCHABLE
        answer = ask(library, "What does the ferry cost?")
        assert "ferry" in answer.passages[0].chunk.text
        assert Note(NoteKind.SEARCHED_BY_WORDS_ONLY, ("1",)) in answer.notes
        with pytest.raises(ModelUnavailable):
            library.search("ferry", retriever=RetrieverKind.DENSE)
        library.warm()
        while library.warm_state == "warming":
            pass
        assert library.warm_state == "The model file is torn."


class AddRemoveReplace(RuleBasedStateMachine):
    """The library holds exactly what a dictionary would hold, whatever is done to it."""

    folder: Path  # set by the test below, one per run

    def __init__(self) -> None:
        super().__init__()
        type(self).runs = getattr(type(self), "runs", 0) + 1
        self.library = open_library(self.folder / str(type(self).runs))
        self.model: dict[str, int] = {}  # name -> number of its text

    @rule(name=st.sampled_from(["a.txt", "b.txt"]), number=st.integers(0, 3))
    def replace(self, name: str, number: int) -> None:
        if number in self.model.values():  # a duplicate changes nothing
            assert self.library.add(name, self.text(number), replace=True).duplicate
            return
        self.library.add(name, self.text(number), replace=True)
        self.model[name] = number

    @rule(name=st.sampled_from(["a.txt", "b.txt"]))
    def remove(self, name: str) -> None:
        if name in self.model:
            self.library.remove(self.library.document(name).id)
            del self.model[name]

    @rule()
    def reopen(self) -> None:
        self.library.close()
        self.library = open_library(self.library.settings.data_dir)

    @invariant()
    def it_answers_from_what_it_holds(self) -> None:
        self.library.wait([d.id for d in self.library.documents()], timeout=30)
        assert {d.name for d in self.library.documents()} == set(self.model)
        for number in range(4):
            found = [] if not self.model else self.library.search(f'"marker{number}"')
            held = number in self.model.values()
            text = any(f"marker{number}" in p.chunk.text for p in found)
            assert text == held

    def teardown(self) -> None:
        self.library.close()

    @staticmethod
    def text(number: int) -> bytes:
        return f"The word marker{number} stands in this small text.".encode()


def test_adding_removing_and_replacing_follow_the_model(tmp_path):
    machine = type("Machine", (AddRemoveReplace,), {"folder": tmp_path})
    case = machine.TestCase
    case.settings = settings(
        max_examples=12,
        stateful_step_count=10,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    case().runTest()


def test_a_chat_model_makes_a_follow_up_standalone(library):
    add(library, "ferry.txt", FERRY)
    turns = [Turn("What does the ferry to the island cost?", "four euros")]
    with scripted_server() as (url, script):
        script.words = ["What does a dog cost on the ferry to the island?"]
        asked_for = "and how long does she take for that"
        answer = ask(library, asked_for, generator=f"openai:m@{url}", turns=turns)
        rewrite, asked = (one["messages"][-1]["content"] for one in script.asked)
        assert "four euros" in rewrite and asked_for in rewrite
        assert "What does a dog cost on the ferry to the island?" in asked
    assert answer.question == asked_for
    assert answer.rewritten_query == "What does a dog cost on the ferry to the island?"


def test_removing_a_document_takes_its_words_out_of_conversations(library):
    ferry = add(library, "ferry.txt", FERRY)
    conversation = library.conversations.start("What does the ferry cost?")
    exchange = library.conversations.ask(conversation, "What does the ferry cost?")
    library.conversations.answer(exchange, ask(library, "What does the ferry to the island cost?"))
    library.remove(ferry)
    [left] = library.conversations.exchanges(conversation)
    assert left.answer is not None and "four euros" not in repr(left)
    assert library.wait_until_clean(30)
    folder = library.settings.data_dir
    for path in folder.rglob("*"):
        assert not path.is_file() or b"four euros" not in path.read_bytes(), path


@pytest.mark.parametrize("by", ["reader", "quotes"])
def test_a_model_that_is_down_leaves_the_question_to_what_needs_nothing(
    tmp_path, weights, monkeypatch, by
):
    if by == "quotes":  # where even the reader's files are torn
        monkeypatch.setattr(
            "rag_app.answering.questioner.SpanModel",
            lambda threads: SpanModel(tmp_path / "nowhere"),
        )
    with open_library(tmp_path / "data") as library:
        add(library, "ferry.txt", FERRY)
        asked = "What does the ferry to the island cost?"
        answer = ask(library, asked, generator="openai:m@http://127.0.0.1:9/v1")
        assert answer.generator == by and answer.citations
        assert "No server answers" in sentence(answer.notes[0])
