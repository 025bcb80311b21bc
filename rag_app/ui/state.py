"""What one browser session remembers: its questions, what is ticked, what is open.

One object, mutated in place: what is written while a run is being stopped is not lost."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

import streamlit as st

from rag_app.answering.follow_ups import Turn
from rag_app.answering.servers import Server
from rag_app.types import Box, Document, Status
from rag_app.ui.generation import Ended, Generation

ASKABLE = (Status.SEARCHABLE, Status.READY)


@dataclass
class Exchange:
    """A question and its answer, finished or not; without a generation, only a drop of files."""

    question: str
    files: tuple[str, ...] = ()
    generation: Generation | Ended | None = None
    first: tuple[str, ...] = ()  # ids of the documents that are read before it is asked
    documents: list[str] | None = None  # that it is asked of; None: all
    error: str | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    kept: bool = False  # whether it is in the store, under this id
    seen: bool = False
    quoting: bool = True  # its words are the documents' own: no Markdown

    @property
    def running(self) -> bool:
        """Whether its answer is still being made."""
        return self.generation is not None and not self.generation.now().done

    @property
    def answered(self) -> str:
        """What it was answered with, shortly; empty if it was not."""
        answer = self.generation.now().answer if self.generation else None
        if answer is None or answer.abstained:
            return ""
        return answer.short_answer or answer.text


@dataclass(frozen=True, slots=True)
class Place:
    """A span of a page that can be opened; an empty span is the page as a whole."""

    document_id: str
    name: str
    page: int
    start: int = 0
    end: int = 0
    quote: str = ""
    boxes: tuple[Box, ...] = ()
    exchange_id: str = ""


@dataclass
class Opened:
    """The source beside the chat, and the page of it that is shown."""

    place: Place
    page: int
    moved: bool = False  # by previous/next: then the focus stays on the button


@dataclass(frozen=True, slots=True)
class Replaceable:
    """A document that was given another name because its own is taken by an older one."""

    document_id: str
    name: str
    older_id: str


@dataclass
class Receipt:
    """What became of the files of one drop."""

    added: int = 0
    known: int = 0
    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    replaceable: list[Replaceable] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many files there were."""
        return self.added + self.known + len(self.refused)


@dataclass
class Session:
    """Everything one browser session remembers."""

    exchanges: list[Exchange] = field(default_factory=list)
    conversation: str | None = None  # its id in the store, from the first question on
    renaming: str | None = None
    opened: Opened | None = None
    unticked: set[str] = field(default_factory=set)
    receipt: Receipt | None = None
    notice: str | None = None
    drops: int = 0  # the uploader is emptied by giving it a new key
    handled: set[str] = field(default_factory=set)  # uploads already handed to the library
    removing: str | None = None
    wrong_password: dict[str, str] = field(default_factory=dict)
    documents_seen: tuple[object, ...] | None = None  # what the page was last drawn for
    show_all: bool = False
    show_earlier: bool = False
    generator: str | None = None  # who answers, as one line; None: as the settings say
    task: str = ""  # whose dialog is open
    task_document: str = ""  # that it is about; empty: those that are ticked
    language: str = ""  # that a language model answers in; empty: the question's
    servers: list[Server] = field(default_factory=list)  # found on this machine
    looked: bool = False  # whether they have been looked for
    tried: str | None = None  # what came of trying the chosen model out

    def chosen(self, documents: Iterable[Document]) -> list[str] | None:
        """Ids of the documents to ask, None for all of them."""
        askable = [d for d in documents if d.status is not Status.FAILED]
        ticked = [d.id for d in askable if d.id not in self.unticked]
        return None if len(ticked) == len(askable) else ticked

    def exchange(self, exchange_id: str) -> Exchange | None:
        """One of the session's questions."""
        return next((e for e in self.exchanges if e.id == exchange_id), None)

    def turns_before(self, exchange: Exchange) -> list[Turn]:
        """What was asked and answered before a question, as follow-ups lean on it."""
        before = self.exchanges[: self.exchanges.index(exchange)]
        return [Turn(e.question, e.answered) for e in before if e.question and e.generation]

    def say(self, sentence: str) -> None:
        """Show a sentence at the top of the page in the next run."""
        self.notice = sentence


def current() -> Session:
    """The session of the browser that is being served."""
    if "session" not in st.session_state:
        st.session_state["session"] = Session()
    session: Session = st.session_state["session"]
    return session


def say(sentence: str) -> None:
    """Show a sentence at the top of the page in the next run; for what fails in a callback."""
    current().say(sentence)
