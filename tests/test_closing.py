"""Closing a library while it is asked: what is under way ends, with a sentence, and in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from rag_app.errors import LibraryClosed, ModelUnavailable
from rag_app.library import Library
from rag_app.open_library import InFlightRequests, ModelWarmUp
from rag_app.settings import Settings
from rag_app.types import Delta, Event, Sources
from tests.fakes import WordEmbedder
from tests.test_library import FERRY, add, ask, open_library


class SlowQuestions(WordEmbedder):
    """Questions wait for `go`; `asked` says that one does."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = threading.Event(), threading.Event()

    def embed_query(self, text: str) -> list[float]:
        self.asked.set()
        self.go.wait(30)
        return super().embed_query(text)


def test_closing_waits_for_an_answer_and_breaks_it_off_with_a_sentence(tmp_path):
    embedder, said = SlowQuestions(), []
    library = open_library(tmp_path / "data", embedder=embedder)
    add(library, "ferry.txt", FERRY)

    def question() -> None:
        try:
            list(library.ask("What does the ferry cost?"))
        except LibraryClosed as error:
            said.append(str(error))

    asking = threading.Thread(target=question)
    asking.start()
    assert embedder.asked.wait(30)
    closing = threading.Thread(target=library.close)
    closing.start()
    closing.join(0.3)
    assert closing.is_alive()  # the answer still uses what is to be closed
    embedder.go.set()
    asking.join(30)
    closing.join(30)
    assert not closing.is_alive()
    assert said == ["The app was closed before this was done. Ask again when it runs."]


def test_an_answer_that_nobody_goes_on_reading_does_not_hold_up_closing(tmp_path):
    library = open_library(tmp_path / "data")
    add(library, "ferry.txt", FERRY)
    events = library.ask("What does the ferry cost?")
    assert isinstance(next(events), Sources)
    began = time.monotonic()
    library.close()
    assert time.monotonic() - began < 15
    with pytest.raises(LibraryClosed):
        list(events)


def test_what_nobody_goes_on_reading_is_let_go_at_once():
    let_go = []

    def made() -> Generator[Event, None, None]:
        try:
            yield Delta("a")
            yield Delta("b")
        finally:
            let_go.append(True)

    events = InFlightRequests().events(made(), threading.Event())
    assert next(events) == Delta("a")
    events.close()  # type: ignore[attr-defined]
    assert let_go == [True]


def test_a_closed_library_says_so_whatever_is_asked_of_it(tmp_path):
    with open_library(tmp_path / "data") as library:
        ferry = add(library, "ferry.txt", FERRY)
    for use in (
        library.documents,
        lambda: library.document(ferry),
        lambda: library.page(ferry, 1),
        lambda: library.search("ferry"),
        lambda: ask(library, "What does the ferry cost?"),
        library.conversations.listed,
    ):
        with pytest.raises(LibraryClosed, match="closed"):
            use()


def test_what_was_stopped_by_who_asked_ends_without_a_complaint():
    underway, stop = InFlightRequests(), threading.Event()

    def made() -> Generator[Event, None, None]:
        yield Delta("a")

    events = underway.events(made(), stop)
    assert next(events) == Delta("a")
    stop.set()
    assert list(events) == []


def test_closing_gives_up_on_an_answer_that_never_ends():
    underway, inside, go = InFlightRequests(), threading.Event(), threading.Event()

    def use() -> None:
        with underway.using():
            inside.set()
            go.wait(30)

    using = threading.Thread(target=use)
    using.start()
    assert inside.wait(30)
    assert underway.close(0.05) is False
    go.set()
    using.join(30)
    assert underway.close(30) is True


def test_a_library_that_cannot_be_opened_leaves_its_folder_to_the_next(tmp_path, monkeypatch):
    def broken(*_: object) -> None:
        raise ModelUnavailable("no model")

    with monkeypatch.context() as patched, pytest.raises(ModelUnavailable):
        patched.setattr("rag_app.open_library.Questioner", broken)
        open_library(tmp_path / "data")
    with open_library(tmp_path / "data") as library:
        assert library.documents() == []


def test_an_embedder_that_cannot_be_had_leaves_the_folder_to_the_next(tmp_path: Path, monkeypatch):
    def broken(*_: object) -> None:
        raise ModelUnavailable("no model")

    with monkeypatch.context() as patched, pytest.raises(ModelUnavailable):
        patched.setattr("rag_app.open_library.Reindexing", broken)
        Library(Settings.load(data_dir=tmp_path / "data"), embedder=WordEmbedder())
    open_library(tmp_path / "data").close()


def test_warming_says_what_failed_and_what_is_lacking():
    def fails() -> None:
        raise ModelUnavailable("The model file is torn.")

    for loads, notice, state in (
        ([], "", "ready"),
        ([], "Another model answers.", "Another model answers."),
        ([fails], "", "The model file is torn."),
    ):
        warming = ModelWarmUp(loads, lambda notice=notice: notice)
        assert warming.state == "cold"
        warming.start()
        warming.wait()
        assert warming.state == state
