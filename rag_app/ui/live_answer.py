"""One question being answered in a thread of its own, so that no click can kill the answer.

The page looks at `now()` as often as it likes; knows nothing of Streamlit."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from weakref import WeakValueDictionary

from rag_app.answering.ask_options import DEFAULT_OPTIONS, AskOptions
from rag_app.answering.query_rewriting import Turn
from rag_app.library import Library
from rag_app.observing import logs
from rag_app.storage import conversations
from rag_app.supervision import Told, Work
from rag_app.types import (
    UNREAD,
    Answer,
    Citation,
    Closest,
    Delta,
    Event,
    Finished,
    Passage,
    Sources,
)
from rag_app.ui.jobs import Job, caught


@dataclass(frozen=True, slots=True)
class Moment:
    """How far an answer is: text so far, and at the end the answer or what went wrong."""

    text: str = ""
    passages: tuple[Passage, ...] = ()
    closest: Citation | None = None  # while nothing is written: where the answer may stand
    answer: Answer | None = None
    error: str | None = None
    done: bool = False
    parts: tuple[int, int] = (0, 0)  # of long work: how many are done, of how many
    seconds: float = 0.0  # since it was begun


class Generation(Job):
    """Runs `events` to its end in the background and remembers what it said.

    `subject` is whom it is for, see `Identity.subject`."""

    def __init__(
        self,
        events: Callable[[threading.Event, Told], Iterator[Event]],
        failed: Callable[[str], None] = lambda error: None,
        afterwards: Callable[[], None] = lambda: None,
        subject: str = "",
    ) -> None:
        self.subject, self._events = subject, events
        self._request, self._begun = logs.further_id(), time.monotonic()
        self._failed, self._afterwards = failed, afterwards
        self._lock = threading.Lock()
        self._moment = Moment()
        self._pieces: list[str] = []
        super().__init__("rag-app-answer", self._answer)

    def now(self) -> Moment:
        """The answer as far as it is."""
        done = not self.running  # first: of what is done nothing may be missing
        with self._lock:
            return dataclasses.replace(
                self._moment,
                text="".join(self._pieces),
                error=self.error or None,
                done=done,
                parts=(self.done, self.total),
                seconds=time.monotonic() - self._begun,
            )

    def _run(self, work: Work) -> None:
        with logs.about(request=self._request):
            super()._run(work)
            with caught(lambda sentence: None):
                self._afterwards()

    def _answer(self, tell: Told, stop: threading.Event) -> None:
        for event in self._events(stop, tell):
            self._take(event)

    def _fail(self, sentence: str) -> None:
        super()._fail(sentence)
        with caught(lambda sentence: None):
            self._failed(sentence)

    def _take(self, event: Event) -> None:
        match event:
            case Sources(passages):
                self._change(passages=passages)
            case Closest(citation):
                self._change(closest=citation)
            case Delta(text):
                with self._lock:
                    self._pieces.append(text)
            case Finished(answer):
                self._change(answer=answer, passages=answer.passages, closest=None)

    def _change(self, **changes: object) -> None:
        with self._lock:
            self._moment = dataclasses.replace(self._moment, **changes)  # type: ignore[arg-type]


class FinishedGeneration:
    """An answer that was made earlier, as `Generation` shows it."""

    def __init__(self, answer: Answer | None, error: str | None) -> None:
        self._moment = Moment(
            passages=answer.passages if answer else (), answer=answer, error=error, done=True
        )

    def now(self) -> Moment:
        """How it ended."""
        return self._moment

    def stop(self) -> None:
        """Nothing is left to stop."""

    def wait(self, timeout: float | None = None) -> bool:
        """It has ended."""
        return True


RUNNING: WeakValueDictionary[str, Generation] = WeakValueDictionary()
"""By exchange: what is being answered now, so that a page that is loaded anew finds it again."""


_TURNS = threading.Semaphore(max(2, os.cpu_count() or 2))


@contextmanager
def _turn(cancelled: threading.Event) -> Iterator[bool]:
    """Whether one's turn to compute has come; False if it was cancelled before."""
    mine = False
    while not mine and not cancelled.is_set():
        mine = _TURNS.acquire(timeout=0.1)
    try:
        yield mine
    finally:
        if mine:
            _TURNS.release()


def running() -> int:
    """How many answers are being made, for all sessions."""
    return sum(not each.now().done for each in _alive())


def making() -> dict[str, Generation]:
    """By exchange: the answers that are being made. Look before the store is read: of what has
    ended by then it holds everything."""
    alive = ((str(each.key), each()) for each in RUNNING.valuerefs())  # a copy: as below
    return {one: made for one, made in alive if made is not None and not made.now().done}


def stop(exchange_ids: Iterable[str]) -> None:
    """Stop the answers of these exchanges that are being made: they are to be forgotten."""
    for one in exchange_ids:
        if making := RUNNING.get(one):
            making.stop()


def end_of(subject: str) -> None:
    """Stop the answers that are being made for somebody."""
    for each in _alive():
        if each.subject == subject:
            each.stop()


def _alive() -> list[Generation]:
    alive = [each() for each in RUNNING.valuerefs()]  # a copy: others may begin meanwhile
    return [each for each in alive if each is not None]


def ask(
    library: Library,
    exchange_id: str,
    question: str,
    documents: Sequence[str] | None,
    first: Sequence[str],
    manner: AskOptions = DEFAULT_OPTIONS,
    turns: Callable[[], Sequence[Turn]] = tuple,
    quoting: bool = False,
    after: Sequence[Generation | FinishedGeneration] = (),
    afterwards: Callable[[], None] = lambda: None,
    subject: str = "",
) -> Generation:
    """Ask the library, as soon as the documents `first` can be searched (or have failed, or work
    is paused) and the answers `after` which it is asked are there: only then are its `turns` known.
    Answers that are quoted (`quoting`) are computed here: a few at once, or all are late. What
    comes of it is kept in the exchange, whether or not anybody still looks; `afterwards` is done
    when it has ended. `subject` is whom it is for."""

    def events(cancelled: threading.Event, told: Told) -> Iterator[Event]:
        while (
            (_unread(library, first) and not library.paused)
            or not all(one.now().done for one in after)
        ) and not cancelled.wait(0.1):
            pass
        with _turn(cancelled) if quoting else nullcontext(True) as mine:
            if not mine or cancelled.is_set():
                return
            for event in library.ask(
                question, documents, cancelled, turns=turns(), told=told, **asdict(manner)
            ):
                if isinstance(event, Finished):
                    yield Finished(_kept(library, exchange_id, event.answer))
                else:
                    yield event

    failed = partial(library.conversations.fail, exchange_id)
    made = Generation(events, failed, afterwards, subject)
    RUNNING[exchange_id] = made
    return made


def _kept(library: Library, exchange_id: str, answer: Answer) -> Answer:
    """The answer as it is kept: without the words of a document that was removed meanwhile."""
    library.conversations.answer(exchange_id, answer)
    # Looked up after it was kept: a removal from here on sees the answer by itself.
    for gone in conversations.documents_of(answer) - {d.id for d in library.documents()}:
        library.conversations.forget(gone)
        answer = conversations.without(answer, gone)
    return answer


def _unread(library: Library, documents: Sequence[str]) -> bool:
    if not documents:
        return False
    return any(d.id in documents and d.status in UNREAD for d in library.documents())
