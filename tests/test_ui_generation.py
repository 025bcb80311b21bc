"""An answer in a thread of its own: what is seen of it at any moment, and how it ends."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from rag_app.errors import QuestionError
from rag_app.types import (
    Answer,
    Chunk,
    Citation,
    Delta,
    Document,
    Finished,
    Passage,
    Sources,
    Status,
    Timing,
)
from rag_app.ui import live_answer, texts
from rag_app.ui.live_answer import Generation

ANSWER = Answer("q", "All [1]", "", False, 0.9, "quotes", (), (), Timing(0.1, 0.1))


def ended(events) -> live_answer.Moment:
    running = Generation(events)
    assert running.wait(5)
    return running.now()


def test_the_answer_is_there_at_the_end():
    moment = ended(lambda cancelled, _told: iter([Sources(()), Delta("All"), Finished(ANSWER)]))
    assert moment.done and moment.answer and moment.error is None
    assert (moment.text, moment.answer) == ("All", ANSWER)


def test_what_is_to_be_done_afterwards_waits_for_the_end():
    done = threading.Event()
    seen = []

    def afterwards():
        seen.append(running.now().done)
        done.set()

    gate = threading.Event()

    def events(cancelled, _told):
        gate.wait(5)
        yield Finished(ANSWER)

    running = Generation(events, afterwards=afterwards)
    gate.set()
    assert done.wait(5) and seen == [True]


def test_text_can_be_seen_before_the_end():
    gate, told = threading.Event(), threading.Event()

    def events(cancelled, _told):
        yield Delta("So ")
        yield Delta("far")
        told.set()
        gate.wait(5)
        yield Finished(ANSWER)

    running = Generation(events)
    assert told.wait(5)
    assert running.now().text == "So far" and not running.now().done
    gate.set()
    assert running.wait(5) and running.now().answer == ANSWER


def test_stopping_keeps_what_was_said():
    def events(cancelled, _told):
        yield Delta("Half")
        cancelled.wait(5)

    running = Generation(events)
    running.stop()
    assert running.wait(5)
    moment = running.now()
    assert moment.done and moment.answer is None and moment.error is None


@pytest.mark.parametrize(
    ("error", "sentence"),
    [(QuestionError("Ask less."), "Ask less."), (KeyError("secret"), texts.UNEXPECTED)],
)
def test_what_goes_wrong_becomes_a_sentence(error, sentence, caplog):
    def events(cancelled, _told):
        yield Delta("Half")
        raise error

    moment = ended(events)
    assert moment.error == sentence and moment.done
    assert ("secret" in caplog.text) == (sentence == texts.UNEXPECTED)


class Reading:
    """A library whose one document is read after a few looks at it."""

    paused = False

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.asked_after: int | None = None
        self.conversations = self
        self.kept: dict[str, object] = {}
        self.forgotten: list[str] = []
        self.said = ANSWER

    def answer(self, exchange_id: str, answer: object) -> None:
        self.kept[exchange_id] = answer

    def documents(self) -> list[Document]:
        self.looks -= 1
        status = Status.READ if self.looks > 0 else Status.SEARCHABLE
        return [Document("d", "a.txt", ".txt", 1, status, "")]

    def forget(self, document_id: str) -> None:
        self.forgotten.append(document_id)

    def fail(self, exchange_id: str, sentence: str) -> None:
        self.kept[exchange_id] = sentence

    def ask(self, question, documents, cancelled, **manner):
        self.asked_after = self.looks
        yield Finished(self.said)


def test_a_question_waits_for_the_documents_that_came_with_it():
    library = Reading(looks=3)
    running = live_answer.ask(library, "x1", "q", None, ["d"])
    assert running.wait(5)
    assert library.asked_after == 0 and library.kept == {"x1": ANSWER}


def test_while_work_is_paused_no_document_is_waited_for_but_the_answers_before_are():
    library = Reading(looks=10_000)
    gate = threading.Event()

    def before(cancelled, _told):
        gate.wait(5)
        yield Finished(ANSWER)

    earlier = Generation(before)
    running = live_answer.ask(library, "x1", "q", None, ["d"], after=[earlier])
    library.paused = True
    assert not running.wait(0.3)
    gate.set()
    assert running.wait(5) and library.kept == {"x1": ANSWER}


def test_a_question_that_waits_can_be_stopped():
    library = Reading(looks=10_000)
    running = live_answer.ask(library, "x1", "q", None, ["d"])
    running.stop()
    assert running.wait(5)
    assert library.asked_after is None and running.now().answer is None


def test_words_of_a_document_that_was_removed_meanwhile_are_neither_kept_nor_shown():
    library = Reading(looks=0)
    citation = Citation(1, "gone", "gone.txt", 1, 0, 6, "Secret")
    passage = Passage(Chunk("gone", 1, 0, 0, 6, "Secret"), "gone.txt", 1.0)
    library.said = dataclasses.replace(
        ANSWER, text="Secret [1]", citations=(citation,), passages=(passage,)
    )
    running = live_answer.ask(library, "x1", "q", None, [])
    assert running.wait(5)
    assert library.forgotten == ["gone"] and "Secret" not in repr(running.now())


def test_an_error_that_cannot_even_be_kept_ends_the_answer(caplog):
    def events(cancelled, _told):
        raise QuestionError("Ask less.")
        yield

    def failed(error: str) -> None:
        raise KeyError(error)

    running = Generation(events, failed)
    assert running.wait(5) and running.now().error == "Ask less."
    assert "KeyError" in caplog.text
