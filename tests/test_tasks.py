"""Work on whole documents, with and without a chat model, through the library."""

from __future__ import annotations

import pytest

from rag_app.answering import chain
from rag_app.answering.chain import AskContext
from rag_app.answering.chat_generator import ChatGenerator, ended_after
from rag_app.answering.task_router import topic, wanted
from rag_app.export.messages import sentence
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Answer, Delta, Document, Finished, Note, NoteKind, Sources, Status, Task
from tests.fakes import WordEmbedder
from tests.servers import scripted_server

FERRY = "\n\n".join(
    [
        "The ferry company carries people between the island and the town all year.",
        "The ferry company carried ninety thousand people in the year 2025 alone.",
        "People of the island ride the ferry of the company to the town for work.",
        "The café on board sells coffee, bread and soup from six in the morning.",
    ]
)
MUSEUM = "The museum of the town shows old ships and is closed on every Monday.\n"


@pytest.fixture
def library(tmp_path):
    settings = Settings.load(data_dir=tmp_path / "data", caution=0.2)
    with Library(settings, embedder=WordEmbedder()) as opened:
        added = [
            opened.add("Ferry report.txt", FERRY.encode()),
            opened.add("Museum guide.txt", MUSEUM.encode()),
        ]
        opened.wait([one.document.id for one in added], timeout=30)
        yield opened


def ask(library: Library, wish: str, generator: str | None = None) -> Answer:
    sources, *_, last = library.ask(wish, generator=generator)
    assert isinstance(sources, Sources) and isinstance(last, Finished)
    return last.answer


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Summarise this report", Task.SUMMARY),
        ("Could you please give me a short summary of the lease?", Task.SUMMARY),
        ("What is this document about?", Task.SUMMARY),
        ("Compare the two offers", Task.COMPARISON),
        ("what are the main differences between the leases", Task.COMPARISON),
        ("Write a letter to the landlord", Task.DRAFT),
        ("translate page 3 into French", Task.TRANSLATION),
        ("When was the summary written?", None),
        ("Who wrote the report?", None),
        ("What does the ferry cost?", None),
        ("", None),
    ],
)
def test_a_plain_sentence_asks_for_a_task_or_a_question(said, kind):
    task = wanted(said)
    assert (task.kind if task else None) is kind


def test_a_summary_without_a_model_is_made_of_the_documents_own_sentences(library):
    answer = ask(library, "Summarise the ferry report")
    assert not answer.abstained and answer.citations
    for citation in answer.citations:
        assert citation.name == "Ferry report.txt"
        page = library.page(citation.document_id, citation.page)
        assert page.text[citation.start : citation.end] == citation.quote
    assert "carr" in answer.text


def test_a_comparison_quotes_every_document(library):
    answer = ask(library, "Compare the ferry report with the museum guide")
    assert {c.name for c in answer.citations} == {"Ferry report.txt", "Museum guide.txt"}


@pytest.mark.parametrize(
    ("wish", "about_what"),
    [
        ("Compare the ferry report with the museum guide", ""),
        ("Compare the opening hours in these two documents", "opening hours"),
        ("What are the main differences between them?", ""),
        ("Summarise this document", ""),
        ("What is this document about?", ""),
        ("Summarise it in five simple sentences", ""),
        ("Summarise the museum guide in German", ""),
        ("Give me a short summary of the museum guide", ""),
        ("Summarise what they say about soup", "soup"),
    ],
)
def test_a_wish_may_be_about_one_thing_only(wish, about_what):
    names = ("Ferry report.txt", "Museum guide.txt")
    documents = [Document(n, n, ".txt", 1, Status.READY, "2026-01-01") for n in names]
    task = wanted(wish)
    assert task is not None and topic(task, documents) == about_what


def test_a_comparison_without_a_model_says_whose_words_are_whose_and_what_it_needs(library):
    answer = ask(library, "Compare the ferry report with the museum guide")
    assert answer.text.index("Ferry report.txt says:") < answer.text.index("Museum guide.txt says:")
    assert sentence(answer.notes[0]).startswith("A written comparison needs a language model")


def test_a_comparison_of_one_thing_quotes_what_is_said_of_it(library):
    answer = ask(library, "Compare the ferry report and the museum guide on soup")
    assert "bread and soup" in answer.citations[0].quote


def test_a_summary_of_one_thing_leaves_out_the_rest(library):
    answer = ask(library, "Give me a summary of what the ferry report says about soup")
    assert [c.quote for c in answer.citations] == [FERRY.split("\n\n")[3]]


def test_a_draft_without_a_model_says_what_it_needs_and_quotes_what_is_near(library):
    answer = ask(library, "Write a letter about the museum on Monday")
    assert "needs a language model" in sentence(answer.notes[0])
    assert answer.citations[0].name == "Museum guide.txt"


def test_a_model_writes_the_summary_and_its_sentences_are_matched(library):
    with scripted_server() as (url, script):
        script.words = ["The ferry company carried ninety thousand people in the year 2025. "]
        answer = ask(library, "Summarise the ferry report", f"openai:m@{url}")
        assert answer.generator == "m"
        assert answer.text.endswith("[1]")
        assert "ninety thousand" in answer.citations[0].quote
        assert "carries people between the island" in script.prompt
        assert "museum" not in script.prompt.lower()
        assert Note(NoteKind.NAMED_DOCUMENTS_ONLY, ("Ferry report.txt",)) in answer.notes


def test_a_document_larger_than_the_window_is_read_in_parts(tmp_path):
    settings = Settings.load(data_dir=tmp_path / "data", chat_window=1_000, chat_tokens=200)
    facts = "\n\n".join(f"Fact number {n} says that lamp {n} hangs in hall {n}." for n in range(90))
    with (
        scripted_server() as (url, script),
        Library(settings, embedder=WordEmbedder()) as library,
    ):
        added = library.add("facts.txt", facts.encode())
        library.wait([added.document.id], timeout=30)
        script.words = ["Lamp 3 hangs in hall 3."]
        told: list[tuple[int, int]] = []
        [*_, last] = library.ask(
            "Summarise it", generator=f"openai:m@{url}", told=lambda *one: told.append(one)
        )
        answer = last.answer
        parts = [asked["messages"][1]["content"] for asked in script.asked[:-1]]
        assert len(parts) > 2
        assert told == [(at, len(parts) + 1) for at in range(len(parts) + 1)]
        assert all(any(f"lamp {n} hangs" in part for part in parts) for n in range(90))
        assert script.prompt.count("Lamp 3 hangs in hall 3.") == len(parts)
        assert answer.citations


def test_a_window_too_small_for_any_part_leaves_the_summary_to_the_quotes(library, tmp_path):
    settings = Settings.load(data_dir=tmp_path / "other", chat_window=300, chat_tokens=200)
    with (
        scripted_server() as (url, script),
        Library(settings, embedder=WordEmbedder()) as small,
    ):
        added = small.add("Ferry report.txt", FERRY.encode())
        small.wait([added.document.id], timeout=30)
        answer = ask(small, "Summarise it", f"openai:m@{url}")
        assert script.asked == [] and answer.citations
        assert "too small to read documents" in sentence(answer.notes[0])


def test_a_stop_ends_a_task(library):
    said = [
        event
        for event in chain.carry_out(AskContext("x"), lambda: ([], iter(())), lambda: True)
        if isinstance(event, Delta)
    ]
    assert said == []


def test_a_task_on_too_many_documents_says_which_it_was_done_with(library):
    for number in range(5):
        library.add(f"Note {number}.txt", f"The note of day {number} is about rain.".encode())
    library.wait([d.id for d in library.documents()], timeout=30)
    every = [document.id for document in library.documents()]
    *_, last = library.ask("Summarise the ferry report, the museum guide and the notes")
    assert isinstance(last, Finished) and len(every) == 7
    said = sentence(last.answer.notes[-1])
    assert said.startswith("This is of the first 5 of 7 documents: Ferry report.txt, ")


def test_which_documents_are_meant_is_asked_where_there_are_many(library):
    for number in range(5):
        library.add(f"Note {number}.txt", f"The note of day {number} is about rain.".encode())
    library.wait([d.id for d in library.documents()], timeout=30)
    answer = ask(library, "Compare them")
    assert answer.abstained and answer.text == chain.WHICH
    [note] = answer.notes
    assert note.kind is NoteKind.WHICH_DOCUMENTS and note.values[0] == "Note 4.txt"


@pytest.mark.parametrize("wish", ["in Spanish please", "auf Englisch bitte"])
def test_what_is_to_be_translated_is_asked_where_nothing_was_answered_yet(library, wish):
    answer = ask(library, wish)
    assert answer.abstained and answer.text == chain.WHICH
    [note] = answer.notes
    assert note.kind is NoteKind.WHICH_DOCUMENTS
    assert set(note.values) == {one.name for one in library.documents()}
    assert not any(
        n.kind is NoteKind.WHICH_DOCUMENTS
        for n in ask(library, f"Translate {note.values[0]} {wish}").notes
    )


def test_a_summary_of_one_thing_among_many_documents_is_of_those_that_hold_it(library):
    for number in range(5):
        library.add(f"Note {number}.txt", f"The note of day {number} is about rain.".encode())
    library.wait([d.id for d in library.documents()], timeout=30)
    answer = ask(library, "Summarise what they say about soup")
    assert {c.name for c in answer.citations} == {"Ferry report.txt"}


@pytest.fixture
def at_once(monkeypatch):
    """A writer that carries tasks out in one go, as the one that comes with the app does."""
    monkeypatch.setattr(ChatGenerator, "reads", 60)
    with scripted_server() as (url, script):
        script.words = ["Geschrieben."]
        yield f"openai:m@{url}", script


def prompts_of(script) -> list[str]:
    return [asked["messages"][1]["content"] for asked in script.asked]


def test_a_writer_that_reads_in_one_go_is_shown_what_stands_for_the_document(library, at_once):
    generator, script = at_once
    halls = "\n\n".join(f"Lamp {n} hangs in hall {n}." * 9 for n in range(40))
    added = library.add("long.txt", halls.encode())
    library.wait([added.document.id], timeout=30)
    ask(library, "Summarise long.txt in German", generator)
    [prompt] = prompts_of(script)
    assert 0 < prompt.count("hangs in hall") < 100
    assert prompt.endswith("Task: Summarise long.txt in German\nWrite in German.")


@pytest.mark.parametrize("said", ["None", "None.", "None\n\nNone"])
def test_a_summary_of_what_no_document_holds_is_none(library, at_once, said):
    generator, script = at_once
    script.words = [said]
    answer = ask(library, "Summarise what they say about soup", generator)
    assert answer.abstained and "None" not in answer.text


def test_a_translation_goes_passage_by_passage(library, at_once):
    generator, script = at_once
    fees, times = "The ferry costs four euros. " * 25, "The ferry sails at six. " * 25
    guide = f"# Fees\n\n{fees}\n\n# Times\n\n{times}\n"
    added = library.add("guide.md", guide.encode())
    library.wait([added.document.id], timeout=30)
    told: list[tuple[int, int]] = []
    [*_, last] = library.ask(
        "Translate guide.md into German", generator=generator, told=lambda *one: told.append(one)
    )
    answer = last.answer
    assert told == [(0, 2), (1, 2)], "how far it is can be shown"
    prompts = prompts_of(script)
    assert ["four euros" in prompt for prompt in prompts] == [True, False]
    assert answer.text.count("Geschrieben.") == 2 and answer.text.rstrip().endswith("[2]")
    assert ["four euros" in c.quote for c in answer.citations] == [True, False]
    script.asked.clear()
    ask(library, "Translate the part about fees of guide.md into German", generator)
    [prompt] = prompts_of(script)
    assert "four euros" in prompt and "sails at six" not in prompt
    assert prompt.endswith("Translate the passage into German.\nWrite in German.")


@pytest.mark.parametrize(
    ("wish", "parts", "sentences"),
    [
        ("Summarise guide.md in three sentences", 2, 3),
        ("Summarise guide.md in one sentence", 1, 1),
        ("Summarise guide.md", 2, 8),
    ],
)
def test_a_summary_of_sections_has_as_many_sentences_as_are_wanted(
    library, at_once, monkeypatch, wish, parts, sentences
):
    monkeypatch.setattr(ChatGenerator, "reads", 2_000)
    generator, script = at_once
    script.words = [f"The ferry of fee {number} costs four euros. " for number in range(20)]
    fees, times = "The ferry costs four euros. " * 25, "The ferry sails at six. " * 25
    added = library.add("guide.md", f"# Fees\n\n{fees}\n\n# Times\n\n{times}\n".encode())
    library.wait([added.document.id], timeout=30)
    answer = ask(library, wish, generator)
    assert len(prompts_of(script)) == parts
    assert answer.text.count("The ferry of fee") == sentences


def test_a_text_that_comes_with_the_wish_is_what_is_translated(library, at_once):
    generator, script = at_once
    script.words = ["Le musée est fermé le lundi."]
    answer = ask(library, "Translate into French: The museum is closed on Mondays.", generator)
    assert not {NoteKind.UNSUPPORTED, NoteKind.PARTLY_SUPPORTED} & {n.kind for n in answer.notes}
    [prompt] = prompts_of(script)
    assert "The museum is closed on Mondays." in prompt and "old ships" not in prompt


def test_a_draft_rests_on_what_is_near_the_wish(library, at_once):
    generator, script = at_once
    ask(library, "Write a letter to the museum about Monday", generator)
    [prompt] = prompts_of(script)
    assert "closed on every Monday" in prompt


@pytest.mark.parametrize(
    ("raw", "most", "expected"),
    [
        ("One is here. Two is here. Thr", 2, "One is here. Two is here."),
        ("One is here. Two is", 2, None),
        ("The fee is four. Or five. The fee is four. Then", 9, "The fee is four. Or five."),
        ("- a fee\n- a fee\n- b", 9, None),
        ("", 3, None),
    ],
)
def test_a_small_model_is_stopped_where_it_has_said_enough(raw, most, expected):
    assert ended_after(raw, most) == expected
