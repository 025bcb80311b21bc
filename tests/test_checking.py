"""Questions made of a user's own documents, and what a check says of a library."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from rag_app.answering.ask_options import AskOptions
from rag_app.answering.overview import Overviews
from rag_app.answering.questioner import Questioner
from rag_app.answering.suggested_questions import Suggestion
from rag_app.errors import ModelUnavailable
from rag_app.evaluation.self_check import Made, answerable, check, last, unanswerable
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.storage.overviews import Introduction, Overview
from rag_app.types import Span
from tests.fakes import GoesAway, WordEmbedder, asking_what

FERRY = (
    b"The ferry to Colne costs four euros. Bicycles travel free of charge on every ferry. "
    b"The company was founded in 1921. The schedules are omitted because the boats are late."
)
HARBOUR = (
    b"The harbour of Colne was built in 1862. It opens at six in the morning, every day. "
    b"The company was founded in 1903 by the harbour master of Selby."
)
QUOTING = AskOptions("quotes")
ASKED = {
    "ferry to Colne": "How much does the ferry to Colne cost?",
    "Bicycles": "How many passengers did the ferry carry?",  # which nothing says
    "built in 1862": "When was the harbour of Colne built?",
    "founded": "When was the company founded?",
}


@pytest.fixture
def library(tmp_path, monkeypatch):
    monkeypatch.setattr(Questioner, "introduce", asking_what(ASKED))
    settings = Settings.load(data_dir=tmp_path / "library", generator="quotes")
    with Library(settings, embedder=WordEmbedder()) as opened:
        added = [opened.add("ferry.txt", FERRY), opened.add("harbour.txt", HARBOUR)]
        opened.wait([one.document.id for one in added], timeout=60)
        yield opened


def made_of(library, documents, most):
    return answerable(library, documents, most, threading.Event())


def test_every_question_is_made_of_a_sentence_that_answers_it(library):
    made = made_of(library, library.documents(), 12)
    assert {one.question for one in made} == {
        "How much does the ferry to Colne cost?",
        "When was the harbour of Colne built?",
    }
    for one in made:
        assert one.place is not None and one.about == one.place.document_id
        text = library.page(one.place.document_id, one.place.page).text
        assert text[one.place.start : one.place.end].rstrip().endswith(".")


def test_what_could_be_asked_of_several_documents_is_asked_of_one_or_not_at_all(library):
    made = {one.question: one for one in made_of(library, library.documents(), 12)}
    assert made["When was the harbour of Colne built?"].only is None
    assert "When was the company founded?" not in made, "both documents would make it"


def test_what_was_said_of_the_beginning_is_not_said_again(library, monkeypatch):
    said = Introduction("The ferry", questions=("How much does the ferry to Colne cost?",))
    monkeypatch.setattr(Overviews, "kept", lambda *_: Overview(introduction=said))
    monkeypatch.setattr(Questioner, "introduce", asking_what({}))
    ferry = library.document("ferry.txt")
    beginning = library.chunks(ferry.id)[0]
    further = replace(beginning, ordinal=1)
    asked = list(library.suggest(ferry.id, [beginning, further], threading.Event()))
    assert [one.question for one in asked] == list(said.questions), "of the beginning alone"


def test_no_more_is_asked_of_a_document_than_is_wanted(library, monkeypatch):
    tried = []

    def suggest(_library, document_id, chunks, _stop):
        for number, _ in enumerate([*chunks] * 9):
            tried.append(number)
            yield Suggestion(f"Question {number}?", Span(document_id, 1, 0, 1))

    monkeypatch.setattr(Library, "suggest", suggest)
    answerable(library, [library.document("ferry.txt")], 2, threading.Event())
    assert tried == [0, 1, 2, 3], "two, and two to spare"


def test_what_names_its_subject_is_asked_first(library):
    made = made_of(library, library.documents(), 2)
    assert [one.only for one in made] == [None, None]
    assert {one.about for one in made} == {d.id for d in library.documents()}


PEOPLE = "No;Name;City\n" + "".join(
    f"{n};{name};{city}\n"
    for n, name, city in [(1, "Ann Bell", "Colne"), (2, "Cy Dunn", "Selby"), (3, "Eve Fox", "Ryde")]
)


def test_rows_of_a_table_are_asked_for_by_their_names(library):
    table = library.add("people.csv", PEOPLE.encode()).document
    library.wait([table.id], timeout=60)
    made = made_of(library, [library.document(table.id)], 12)
    assert [one.question for one in made][:2] == [
        "What is the city of Ann Bell?",
        "What is the city of Cy Dunn?",
    ]
    place = made[0].place
    assert place is not None
    row = library.page(table.id, place.page).text[place.start : place.end]
    assert "Ann Bell" in row and "Colne" in row and "Selby" not in row


def test_questions_that_nothing_answers_hold_something_that_stands_nowhere(library):
    asked = [Made("When was the harbour of Colne built?", None, None, "x" * 64)]
    empty = unanswerable(library, asked, 6)
    assert empty[0].question.startswith("When was the harbour of ")
    assert "Colne" not in empty[0].question and empty[0].about == "x" * 64
    assert len(empty) > 1 and all(one.place is None for one in empty)
    assert all(one.about is None for one in empty[1:])


def test_a_library_is_checked_and_the_check_is_kept(library):
    steps = []
    found = check(library, 6, 4, QUOTING, lambda done, total: steps.append((done, total)))
    assert found is not None
    assert found.known and found.empty and found.documents == 2
    assert found.verbatim == found.quotes
    assert {id(one) for one in found.missed} <= {id(one) for one in found.tried}
    assert all(one.found and one.answered for one in found.known if one.right)
    assert steps[:2] == [(0, 12), (1, 12)], "two documents of which questions are made"
    asked = len(found.tried)
    assert steps[2:] == [(2 + done, 2 + asked) for done in range(asked)]
    assert last(library) == found


def test_a_removed_document_takes_its_questions_along(library):
    check(library, 6, 4, QUOTING)
    ferry = library.document("ferry.txt").id
    before = last(library)
    library.remove(ferry)
    after = last(library)
    assert before is not None and after is not None
    assert any(one.about == ferry for one in before.tried)
    assert [one for one in before.tried if one.about != ferry] == list(after.tried)
    assert library.wait_until_clean(60)
    gone = [one.question.encode() for one in before.tried if one.about == ferry]
    kept = b"".join(path.read_bytes() for path in library.folder.rglob("*") if path.is_file())
    assert gone and not any(question in kept for question in gone)
    library.clear()
    assert last(library) is None


def test_a_check_that_is_stopped_leaves_the_one_before(library):
    found = check(library, 2, 2, QUOTING)
    stop = threading.Event()
    assert check(library, 6, 4, QUOTING, lambda *_: stop.set(), stop) is None
    assert last(library) == found


def test_a_check_in_which_the_model_goes_away_says_so_and_leaves_the_one_before(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(Questioner, "introduce", asking_what(ASKED))
    settings = Settings.load(data_dir=tmp_path / "library", generator="quotes")
    model = GoesAway(1_000)
    with Library(settings, embedder=model) as library:
        library.wait([library.add("ferry.txt", FERRY).document.id], timeout=60)
        found = check(library, 1, 2, QUOTING)
        assert found is not None and found.tried
        model.left = 2
        with pytest.raises(ModelUnavailable, match="The embedding server does not answer"):
            check(library, 1, 2, QUOTING)
        assert last(library) == found


def test_nothing_to_ask_is_no_question(tmp_path):
    with Library(Settings.load(data_dir=tmp_path / "x"), embedder=WordEmbedder()) as library:
        found = check(library, manner=QUOTING)
        assert found is not None and found.tried == () and found.documents == 0


def test_without_a_writer_nothing_is_asked_of_texts(tmp_path):
    settings = Settings.load(data_dir=tmp_path / "x", generator="quotes")
    with Library(settings, embedder=WordEmbedder()) as library:
        library.wait([library.add("ferry.txt", FERRY).document.id], timeout=60)
        found = check(library, manner=QUOTING)
        assert found is not None and found.tried == () and found.documents == 1
