"""Overviews: made in the background, tried by asking, kept, and gone with their documents."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from rag_app.answering import overview
from rag_app.answering.overview import Makers, Overviews, timeline, topic_places
from rag_app.errors import ModelAway, QuestionError, UnknownDocument
from rag_app.ingestion.worker import index
from rag_app.scope import WORKER
from rag_app.storage import Store
from rag_app.storage.overviews import Introduction, KeptOverviews
from rag_app.types import (
    Answer,
    Chunk,
    Citation,
    Document,
    Event,
    Finished,
    Heading,
    Page,
    Reading,
    Status,
    Timing,
)
from tests.fakes import WordEmbedder

TEXT = (
    "Prices\n\nA day ticket costs €6 for everybody. The ferry was built in 1998. "
    "The harbour has 14 stations. The course lasts six weeks. A chunk is a slice of a page.\n"
)


SAID = Introduction(
    "Prices",
    "price list",
    "A list of prices.",
    ("What does a day ticket cost?", "When was the ferry built?", "How long is the course?"),
)


class Answers:
    """Answers every question with the sentence that holds most of its words."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.confidence = 0.9
        self.wrong: Callable[[str], bool] = lambda question: False
        self.unsure: Callable[[str], bool] = lambda question: False
        self.gate = threading.Event()
        self.gate.set()
        self.begun = threading.Event()

    def __call__(self, question: str, asked: Document, stop: threading.Event) -> Iterator[Event]:
        self.begun.set()
        self.gate.wait(10)
        self.asked.append(question)
        words = set(question.lower().strip("?").split())
        spans = [(TEXT.index(s), TEXT.index(s) + len(s)) for s in TEXT.split("\n\n")[1].split(". ")]
        best = max(spans, key=lambda s: len(words & set(TEXT[s[0] : s[1]].lower().split())))
        start, end = (0, 6) if self.wrong(question) else best
        cited = Citation(1, asked.id, "a.txt", 1, start, end, TEXT[start:end])
        timing = Timing(0, 0)
        sure = 0.1 if self.unsure(question) else self.confidence
        answer = Answer(question, "x", "", False, sure, "q", (cited,), (), timing)
        yield Finished(answer)


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def store(database):
    return Store(database)


@pytest.fixture
def made(store: Store, answers: Answers):
    """Makes overviews over the store; `busy` can be set."""
    making: list[Overviews] = []

    def make(busy: Callable[[], bool] = lambda: False, by: str = "q") -> Overviews:
        makers = Makers(answers, WordEmbedder(), by, busy, lambda name, text, stop: [SAID])
        making.append(Overviews(store, makers))
        return making[-1]

    yield make
    for one in making:
        one.stop()


def add(
    store: Store,
    name: str = "a.txt",
    status: Status = Status.READY,
    text: str = TEXT,
    heading: str = "Prices",
) -> Document:
    document = Document(name.ljust(64, "0"), name, ".txt", 1, Status.RECEIVED, "2026-01-01")
    store.add_document(document)
    reading = Reading((Page(1, text),), headings=(Heading(1, 0, 1, heading),))
    store.save_reading(document.id, reading)
    store.save_chunks(document.id, index(document, reading.pages, reading, 200))
    store.set_status(document.id, status)
    return store.document(document.id, WORKER)


def until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def complete(overviews: Overviews, document: Document) -> bool:
    now = overviews.kept(document.id)
    return now is not None and now.complete


def test_an_overview_is_made_in_the_background_and_kept(store, made, answers):
    document, overviews = add(store), made()
    overviews.start()
    until(lambda: complete(overviews, document))
    now = overviews.of(document.id)
    assert [heading.text for heading in now.outline] == ["Prices"]
    assert TEXT[now.summary[0].start : now.summary[0].end] == now.summary[0].text
    assert len(now.questions) == 3
    overviews.stop()
    asked = len(answers.asked)
    again = made()
    again.start()
    assert complete(again, document) and len(answers.asked) == asked


def test_what_the_writer_says_comes_first_and_of_its_questions_those_that_are_answered(
    store, answers
):
    questions = ("What does it cost?", "Who was the architect?")
    said = Introduction("Prices", "price list", "A list of prices.", questions)
    answers.unsure = lambda question: "architect" in question
    asked, seen = [], []

    def introduce(name, text, stop):
        asked.append((name, text))
        yield Introduction("a")
        seen.append(overviews.said(document.id))
        yield said

    overviews = Overviews(store, Makers(answers, WordEmbedder(), "q", lambda: False, introduce))
    document = add(store)
    overviews.make(document)
    now = overviews.kept(document.id)
    assert now.introduction == said and now.questions == ("What does it cost?",)
    assert seen == [Introduction("a")], "as far as it is said"
    assert overviews.said(document.id) is None
    assert asked[0][0] == "a.txt" and TEXT.startswith(asked[0][1][:50])
    assert answers.asked == ["Summarise this document", *questions], "each was tried, no other"


def test_nothing_is_made_while_models_are_loaded_even_if_somebody_looks_at_it(store, answers):
    warm = threading.Event()
    makers = Makers(answers, WordEmbedder(), "q", lambda: False, warming=lambda: not warm.is_set())
    overviews, document = Overviews(store, makers), add(store)
    assert overviews.of(document.id) is None
    time.sleep(0.3)
    assert not answers.asked
    warm.set()
    until(lambda: complete(overviews, document))
    overviews.stop()


def test_unsure_answers_make_no_questions(store, made, answers):
    answers.confidence = 0.6
    document, overviews = add(store), made()
    overviews.make(document)
    assert overviews.kept(document.id).questions == ()


def test_a_busy_library_goes_first_but_a_person_who_looks_goes_before_it(store, made):
    document, other = add(store), add(store, "b.txt")
    overviews = made(busy=lambda: True)
    overviews.start()
    time.sleep(0.2)
    assert overviews.kept(document.id) is None
    assert overviews.of(document.id) is None
    until(lambda: complete(overviews, document))
    assert overviews.kept(other.id) is None


def test_who_opens_the_page_gets_it_before_overviews_are_made(made):
    overviews = made(busy=lambda: True)
    assert not overviews.looked_within(60)
    overviews.start()
    assert overviews.looked_within(60) and not overviews.looked_within(0)


def test_an_overview_goes_with_its_document_and_when_it_is_read_anew(store, made):
    document, other, overviews = add(store), add(store, "b.txt"), made()
    overviews.make(document)
    overviews.make(other)
    store.remove(document.id)
    assert overviews.kept(document.id) is None and overviews.kept(other.id) is not None
    store.set_status(other.id, Status.READ)
    assert overviews.kept(other.id) is None


def test_of_a_removed_document_nothing_is_kept(store, made):
    document, overviews = add(store), made()
    store.remove(document.id)
    overviews.make(document)
    assert overviews.kept(document.id) is None


def test_another_way_of_answering_needs_other_overviews(store, made):
    document = add(store)
    made(by="one").make(document)
    assert made(by="two").kept(document.id) is None


def test_a_failure_stops_neither_the_others_nor_the_page(store, made, answers):
    document, other, overviews = add(store), add(store, "b.txt"), made()

    def fail(question: str) -> bool:
        if len(answers.asked) == 1:
            raise QuestionError("no")
        return False

    answers.wrong = fail
    overviews.start()
    until(lambda: complete(overviews, other))
    assert overviews.given_up(document.id) and not overviews.given_up(other.id)


def test_a_document_that_was_removed_meanwhile_gets_its_overview_when_it_is_added_again(
    store, made, answers
):
    document, overviews = add(store), made()
    removed = threading.Event()

    def remove(question: str) -> bool:
        if not removed.is_set():
            store.remove(document.id)
            removed.set()
            raise UnknownDocument("gone")
        return False

    answers.wrong = remove
    overviews.start()
    assert removed.wait(20)
    other = add(store, "b.txt")  # made next: by then the first one was left
    until(lambda: complete(overviews, other))
    again = add(store)
    overviews.of(again.id)
    until(lambda: complete(overviews, again))


def test_a_model_whose_server_was_away_is_asked_again(store, answers, monkeypatch):
    monkeypatch.setattr(overview, "_AWAY", 0.05)
    document, tries = add(store), []

    class Away(WordEmbedder):
        def embed_documents(self, texts):
            tries.append(texts)
            if len(tries) == 1:
                raise ModelAway("away")
            return super().embed_documents(texts)

    overviews = Overviews(store, Makers(answers, Away(), "q", lambda: False))
    overviews.start()
    until(lambda: complete(overviews, document))
    assert not overviews.given_up(document.id)
    overviews.stop()


def test_stopping_does_not_wait_for_all_questions(store, made, answers):
    document, overviews = add(store), made()
    answers.gate.clear()
    overviews.start()
    assert answers.begun.wait(20)
    stopping = threading.Thread(target=overviews.stop)
    stopping.start()
    until(overviews._stop.is_set)
    answers.gate.set()
    stopping.join()
    assert not KeptOverviews(store.database).complete("1 q")
    assert document.id


def test_the_days_of_a_document_are_in_order_each_with_the_sentence_that_names_it_first():
    pages = [
        Page(
            1,
            "The bridge was opened on 12 June 1994 by the mayor. It fell in March 1999 in a storm.",
        ),
        Page(2, "Since 12 June 1994 nobody has paid a toll. Work began on 4 May 1991 at last."),
    ]
    found = timeline(pages)
    assert [one.said for one in found] == ["4 May 1991", "12 June 1994", "March 1999"]
    assert [one.sentence.page for one in found] == [2, 1, 1]
    for one in found:
        text = pages[one.sentence.page - 1].text[one.sentence.start : one.sentence.end]
        assert text == one.sentence.text and one.said in text


def test_rows_heads_and_feet_are_no_part_of_a_timeline():
    rows = (
        "Cash | 30 June 2023 | 30 June 2022\nTotal assets as of 30 June 2023 and of 30 June 2022\n"
    )
    assert timeline([Page(1, f"Report of 1 May 2020\n\n{rows}\n- 7 -\n")]) == ()


def test_an_entry_that_begins_with_its_day_needs_no_full_stop():
    [one] = timeline(
        [Page(1, "Mon 4 May\n\n4 May 2026 the night train to Lisbon leaves at nine\n")]
    )
    assert one.day == "2026-05-04"


def test_a_topic_has_its_place_under_the_heading_where_it_stands_most_often():
    text = "Boats\nA mast is wood.\nMasts\nA mast bends. Every mast breaks."
    headings = [Heading(1, 0, 1, "Boats"), Heading(1, text.index("Masts"), 1, "Masts")]
    chunk = Chunk("d", 1, 0, 0, len(text), text)
    [place] = topic_places(["mast"], [chunk], headings)
    assert place.heading == 1 and text[place.start : place.end] == "Mast"
    assert topic_places(["sail"], [chunk], headings) == ()
