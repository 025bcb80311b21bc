"""What one browser session remembers: its questions, what is ticked, what is open; and how it is
kept in step with the store.

One object, mutated in place: what is written while a run is being stopped is not lost."""

from __future__ import annotations

import dataclasses
import logging
import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import streamlit as st

from rag_app.access.quotas import Quotas
from rag_app.answering.ask_options import AskOptions
from rag_app.answering.chat_models import Server
from rag_app.answering.query_rewriting import Turn
from rag_app.errors import RagAppError
from rag_app.library import Library
from rag_app.scope import OWN, Scope
from rag_app.storage import Exchange as Kept
from rag_app.storage import conversations
from rag_app.supervision import surviving
from rag_app.types import Added, Answer, Basis, Box, Document, PagePicture, Status
from rag_app.ui import live_answer, texts_answers, who
from rag_app.ui.jobs import Exporting, Fetching, Pace
from rag_app.ui.live_answer import FinishedGeneration, Generation

log = logging.getLogger(__name__)

SHOWN = 10  # exchanges that are drawn at first: every run of the page costs what is drawn
EARLIER = 20  # that are drawn besides with every wish for earlier ones


@dataclass
class ShownExchange:
    """A question and its answer, finished or not; without a generation, only a drop of files."""

    question: str
    files: tuple[str, ...] = ()
    generation: Generation | FinishedGeneration | None = None
    first: tuple[str, ...] = ()  # ids of the documents that are read before it is asked
    documents: list[str] | None = None  # that it is asked of; None: all
    error: str | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    kept: bool = False  # whether it is in the store, under this id
    seen: bool = False
    drawn: bool = False  # as an answer, and not as one in the making
    quoting: bool = True  # its words are the documents' own: no Markdown
    rating: int = 0  # 1: good, -1: bad
    manner: AskOptions | None = None  # in which it was asked last; None: by nobody yet
    asked_at: float = -math.inf  # of the monotonic clock; long ago if it was kept

    @property
    def running(self) -> bool:
        """Whether its answer is still being made."""
        return self.generation is not None and not self.generation.now().done

    @property
    def answer(self) -> Answer | None:
        """What it was answered with, if it was."""
        return self.generation.now().answer if self.generation else None


def turns_of(exchanges: Sequence[ShownExchange]) -> list[Turn]:
    """What was asked, as it was understood, and answered, shortly, as follow-ups lean on it, and
    the documents whose tables gave the answer."""
    turns = []
    for one in exchanges:
        if one.question and one.generation:
            answer = one.answer
            said = "" if answer is None or answer.abstained else answer.short_answer or answer.text
            used = answer.computation.used if answer and answer.computation else ()
            tables = tuple(dict.fromkeys(rows.document_id for rows in used))
            asked = answer.query if answer else one.question
            turns.append(Turn(asked, said, tables))
    return turns


@dataclass(frozen=True, slots=True)
class Place:
    """A span of a page that can be opened; an empty span is the page as a whole.

    `words` are spans to be marked instead of the whole one: what a search has found in it."""

    document_id: str
    name: str
    page: int
    start: int = 0
    end: int = 0
    quote: str = ""
    boxes: tuple[Box, ...] = ()
    exchange_id: str = ""
    number: int = 0  # of the citation; 0: it is none
    words: tuple[tuple[int, int], ...] = ()

    @property
    def inside(self) -> list[tuple[int, int]]:
        """The words as spans of the quote."""
        return [(start - self.start, end - self.start) for start, end in self.words]

    @property
    def passage(self) -> bool:
        """Whether it is a passage that was read and not quoted: a line beside it says where."""
        return bool(self.exchange_id) and not self.number


@dataclass
class Opened:
    """The source beside the chat, and the page of it that is shown."""

    place: Place
    page: int
    moved: bool = False  # by previous/next: then the focus stays on the button
    find: str = ""  # what is looked for in the document
    at: int = 0  # the place of those found that is shown
    asked: Place | None = None  # what was shown before something was looked for

    def forget(self) -> None:
        """Keep the place without its words: its document was removed."""
        self.place = dataclasses.replace(self.place, quote="", boxes=())
        self.find, self.asked = "", None


@dataclass(frozen=True, slots=True)
class Search:
    """A plain search; while it is open it stands in the place of the conversation."""

    open: bool = False
    query: str = ""
    within: str = ""  # only in this document; empty: in those that are ticked
    pages: int = 1  # of results that are shown
    unfolded: str = ""  # the document all of whose places are shown
    number: int = 0  # of the search, so that a field for it starts anew


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
    open: bool = False  # more files of the same drop are to come

    def note(self, one: Added) -> None:
        """What became of one of them."""
        self.known += one.duplicate
        self.added += not one.duplicate
        self.notes += one.warnings

    @property
    def total(self) -> int:
        """How many files there were."""
        return self.added + self.known + len(self.refused)


@dataclass
class WebPages:
    """Pages of the web that are being fetched, and the field for another."""

    open: bool = False  # the field
    again: str = ""  # an address to be put into the field: it was refused
    trouble: str = ""  # why
    fetching: list[Fetching] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Emptied:
    """An uploader that another one has replaced; what was dropped just then comes in this one."""

    key: str
    at: float  # seconds of the monotonic clock


@dataclass
class Session:
    """Everything one browser session remembers."""

    id: str = field(default_factory=lambda: secrets.token_hex(8))  # says whose files wait; no key
    exchanges: list[ShownExchange] = field(default_factory=list)
    typed: list[Any] = field(default_factory=list)  # into the question's field, not asked yet
    conversation: str | None = None  # its id in the store, from the first question on
    changes: int = 0  # of the conversation in the store, when it was last looked at
    present: frozenset[str] = frozenset()  # the documents there were when it was last looked at
    renaming: str | None = None
    deleting: str | None = None
    exporting: Exporting | None = None  # a conversation, with pages to be drawn
    editing: str | None = None  # the exchange whose question is being changed
    drawing: bool = False  # the page as a whole, and not only a part of it
    reasoning: str | None = None  # the exchange that was just rated badly
    explained: set[str] = field(default_factory=set)  # exchanges that say why
    opened: Opened | None = None
    about: str = ""  # the document whose own page stands in the place of the conversation
    page: str = ""  # another page that does
    refused_folder: str = ""  # why a folder cannot be kept in step
    refused_model: str = ""  # why a model cannot be used to find by meaning
    search: Search = field(default_factory=Search)
    asked: tuple[object, ...] | None = None  # how far the conversation was when it was last drawn
    # Streamlit names a file to be downloaded by a hash of what it is, of large ones by parts of it,
    # and gives out the one that it had first under a name. With a type of its own each session has
    # names that nobody else can compute, and files that are never taken for those of others.
    file_type: str = field(
        default_factory=lambda: f"application/octet-stream; session={secrets.token_hex(16)}"
    )
    redraw: bool = False  # what was clicked in a part of the page changes the rest of it
    shelving: str = ""  # the document whose folder and tags are being changed
    whole_folder: bool = False  # that can be dropped, instead of files
    unticked: set[str] = field(default_factory=set)
    at_first: dict[str, bool] = field(default_factory=dict)  # boxes as they were first drawn
    ticks: int = 0  # times that many were ticked or unticked at once; see `untick`
    receipt: Receipt | None = None
    notice: str | None = None
    noticed: float = math.inf  # when the notice was first shown; of the monotonic clock
    not_again: bool = False  # add what was set aside: asked, and not wanted now
    asked_to_delete: bool = False  # what was set aside
    pace: Pace = field(default_factory=Pace)  # of work that is looked at
    uploader: str = ""  # the key that it has now
    drops: int = 0  # times it was emptied, by giving it a new key
    emptying: bool = False  # as soon as no file is on its way
    emptied: list[Emptied] = field(default_factory=list)  # those before this one
    handled: set[str] = field(default_factory=set)  # uploads already handed to the library
    adding: bool = False  # files of a drop; a run that was stopped then goes on with it
    web: WebPages = field(default_factory=WebPages)
    removing: str | None = None
    wrong_password: dict[str, str] = field(default_factory=dict)
    show_all: bool = False
    shown: int = SHOWN  # exchanges of the conversation, the last ones
    generator: str | None = None  # who answers, as one line; None: as the settings say
    dialog: str = ""  # that is open; there can be only one
    task_document: str = ""  # that it is about; empty: those that are ticked
    language: str = ""  # that a language model answers in; empty: the question's
    caution: float | None = None  # None: as the settings say
    top_k: int | None = None  # passages that are read; None: as the settings say
    keys: bool = True  # one alone does something
    restored: bool = False  # whether it has taken up what was chosen earlier
    asked_to_clear: bool = False
    offered: str = ""  # who answered in an earlier session, elsewhere: offered, not taken up
    servers: list[Server] = field(default_factory=list)  # found on this machine
    looked: bool = False  # whether they have been looked for
    tried: str | None = None  # what came of trying the chosen model out
    quicker: str = ""  # who is to answer as soon as it is here

    def chosen(self, documents: Iterable[Document]) -> list[str] | None:
        """Ids of the documents to ask, None for all of them."""
        askable = [d for d in documents if d.status is not Status.FAILED]
        ticked = [d.id for d in askable if d.id not in self.unticked]
        return None if len(ticked) == len(askable) else ticked

    def untick(self, document_ids: Iterable[str]) -> None:
        """Leave out exactly these documents.

        The boxes get new keys: a browser that has not heard of it yet would tick them again."""
        self.unticked = set(document_ids)
        self.ticks += 1

    def exchange(self, exchange_id: str) -> ShownExchange | None:
        """One of the session's questions."""
        return next((e for e in self.exchanges if e.id == exchange_id), None)

    def before(self, exchange: ShownExchange) -> list[ShownExchange]:
        """What was asked before a question."""
        return self.exchanges[: self.exchanges.index(exchange)]

    @property
    def overdue(self) -> bool:
        """Whether an answer has come that nobody was shown (the part of the page that waits for it
        may have been lost with the run that drew it), or what was typed has not been asked (a
        browser that reports two parts at once has only one of them drawn)."""
        unseen = (e.generation and not e.running and not e.drawn for e in self.exchanges)
        return bool(self.typed) or any(unseen)

    @property
    def talking(self) -> bool:
        """Whether the conversation is shown, and nothing in its place."""
        return not (self.search.open or self.page or self.about)

    def show(self, about: str = "", page: str = "") -> None:
        """Show a document's own page, another page, or the conversation."""
        self.about, self.page, self.search = about, page, Search(number=self.search.number)

    def say(self, sentence: str) -> None:
        """Show a sentence at the top of the page in the next run."""
        self.notice, self.noticed, self.redraw = sentence, math.inf, True


def open_dialog(name: str = "") -> None:
    """Show this dialog in the next run; no name: none any more."""
    current().dialog = name


def open_place(place: Place) -> None:
    """Show a place beside the chat."""
    current().opened = Opened(place, place.page)


def open_page(page: str = "") -> None:
    """Show a page in the place of the conversation; without a name the conversation."""
    current().show(page=page)


def library_of_session(opened: Library) -> Library:
    """What the person sees whose browser is being served, of the library that is open: the only way
    from one to the other. Nobody signs in on one's own computer."""
    if opened.settings.sign_in == "none":
        return opened.scoped(OWN)
    visitor, access = who.signed_in(), opened.access
    if visitor is None or not access.admits(visitor, current().id):
        return opened.scoped(Scope(""))
    access.quotas.check_session(visitor.subject, current().id)
    _window(access.quotas, visitor.subject, current().id)
    opened.empty_deleted()
    return cast(Library, _LiveView(opened, visitor.subject, who.adds_to(access, visitor.subject)))


def _leave(window: tuple[Quotas, str, str]) -> None:
    quotas, subject, session = window
    with surviving(log, "a window that was closed counts on for a while"):
        quotas.end_session(subject, session)


@st.cache_resource(scope="session", show_spinner=False, on_release=_leave)
def _window(_quotas: Quotas, subject: str, session: str) -> tuple[Quotas, str, str]:
    """A window, which counts for its person until the browser leaves it."""
    return _quotas, subject, session


class _LiveView:
    """Somebody's view of the library, with the roles that they have when something is asked of it:
    callbacks and parts of the page hold it longer than roles may last."""

    def __init__(self, opened: Library, subject: str, adds_to: str) -> None:
        self._opened, self._subject, self._adds_to = opened, subject, adds_to
        self._view = opened

    def __getattr__(self, name: str) -> Any:
        scope = self._opened.access.scope_of(self._subject)
        if self._view.scope != scope:
            self._view = self._opened.scoped(scope, self._adds_to)
        return getattr(self._view, name)


def current() -> Session:
    """The session of the browser that is being served."""
    if "session" not in st.session_state:
        st.session_state["session"] = Session()
    session: Session = st.session_state["session"]
    return session


def say(sentence: str) -> None:
    """Show a sentence at the top of the page in the next run; for what fails in a callback."""
    current().say(sentence)


# A session in step with the store: other windows ask, rate and delete, too, and the words of a
# document that was removed anywhere leave every session's memory.

# Pictures of pages, kept for a while for all sessions.


@st.cache_data(max_entries=64, show_spinner=False)
def _picture(_library: Library, document_id: str, number: int) -> PagePicture | None:
    return _library.picture(document_id, number)


def picture(library: Library, document_id: str, number: int) -> PagePicture | None:
    """The page as it looks; None if the format has no looks. Raises UnknownDocument."""
    library.document(document_id)  # what is kept was drawn for whoever saw it first
    return _picture(library, document_id, number)


@st.cache_data(max_entries=64, show_spinner=False)
def _lines(_library: Library, document_id: str, number: int) -> tuple[tuple[str, Box], ...]:
    return _library.lines(document_id, number)


def lines(library: Library, document_id: str, number: int) -> tuple[tuple[str, Box], ...]:
    """The lines of a page and where they stand. Raises UnknownDocument."""
    library.document(document_id)
    return _lines(library, document_id, number)


def draw_ahead(library: Library, pages: Iterable[tuple[str, int]]) -> None:
    """Have pages ready, by document id and number, that somebody is about to look at."""
    for document_id, number in pages:
        with suppress(RagAppError):  # it is gone, or there is no such page: nobody waits for it
            picture(library, document_id, number)
            lines(library, document_id, number)


def forget_pictures() -> None:
    """Deleted means gone: call it when a document is removed."""
    _picture.clear()
    _lines.clear()


def sync(library: Library) -> None:
    """Show what the store holds by now. Call it before anything is drawn or asked."""
    session = current()
    if session.conversation:
        changes = library.conversations.changes(session.conversation)
        if changes != session.changes:
            _catch_up(library, session, session.conversation)
            session.changes = changes
    _drop_removed(library, session)


def exchanges_of(library: Library, conversation: str) -> list[ShownExchange]:
    """The exchanges of a conversation of the store as a session shows them."""
    making = live_answer.making()
    return [shown(one, making) for one in library.conversations.exchanges(conversation)]


def shown(kept: Kept, making: Mapping[str, Generation]) -> ShownExchange:
    """An exchange of the store as a session shows it; one that was being answered goes on."""
    return ShownExchange(
        kept.question,
        # Of what has ended the store is right: it may have lost a removed document.
        generation=making.get(kept.id) or FinishedGeneration(kept.answer, kept.error),
        documents=None if kept.documents is None else list(kept.documents),
        id=kept.id,
        kept=True,
        seen=True,
        quoting=kept.answer is None or kept.answer.basis is not Basis.WRITTEN,
        rating=kept.rating,
    )


def _catch_up(library: Library, session: Session, conversation: str) -> None:
    order = library.conversations.order(conversation)
    if not order and library.conversations.conversation(conversation) is None:
        session.exchanges, session.conversation, session.opened = [], None, None
        session.say(texts_answers.DELETED_ELSEWHERE)
        return
    known = {exchange.id: exchange for exchange in session.exchanges}
    after: dict[str, list[ShownExchange]] = {}  # what is not in the store stays where it was
    last = ""
    for exchange in session.exchanges:
        if exchange.kept:
            last = exchange.id
        else:
            after.setdefault(last, []).append(exchange)
    making = live_answer.making()
    session.exchanges[:] = after.get("", [])
    for exchange_id in order:
        one = known.get(exchange_id)
        if one is None or library.conversations.changes(exchange_id) > session.changes:
            kept = library.conversations.exchange(exchange_id)
            one = _renewed(one, kept, making) if kept else None
        session.exchanges += [*([one] if one else []), *after.get(exchange_id, [])]


def _renewed(
    known: ShownExchange | None, kept: Kept, making: Mapping[str, Generation]
) -> ShownExchange:
    if known is None:
        return shown(kept, making)
    known.rating = kept.rating
    if kept.id in making:  # perhaps begun anew in another window
        known.generation = making[kept.id]
    elif kept.answer or kept.error:
        known.generation = FinishedGeneration(kept.answer, kept.error)
        known.quoting = kept.answer is None or kept.answer.basis is not Basis.WRITTEN
    return known


def take_back(library: Library, exchange: ShownExchange) -> None:
    """Show the answer that there was before where another one failed or was stopped: it is kept,
    and copied, read aloud and taken away."""
    made = exchange.generation
    if not isinstance(made, Generation) or exchange.running or exchange.answer or not exchange.kept:
        return
    kept = library.conversations.exchange(exchange.id)
    if kept and kept.answer:
        exchange.generation = FinishedGeneration(kept.answer, made.now().error)
        exchange.quoting = kept.answer.basis is not Basis.WRITTEN


def _drop_removed(library: Library, session: Session) -> None:
    present = frozenset(document.id for document in library.documents())
    if session.present - present:
        forget_pictures()
    session.present = present
    for exchange in session.exchanges:
        if exchange.generation and not exchange.running:
            exchange.generation = _without_removed(exchange.generation, present)
    opened = session.opened
    if opened and opened.place.document_id not in present:
        opened.forget()


def _without_removed(
    made: Generation | FinishedGeneration, present: frozenset[str]
) -> Generation | FinishedGeneration:
    """The same unless it holds words of a document that is gone."""
    moment = made.now()
    held = {passage.chunk.document_id for passage in moment.passages}
    answer = moment.answer
    if answer:  # of a citation whose quote went before nothing is left but where it stood
        quoted = tuple(citation for citation in answer.citations if citation.quote)
        held |= conversations.documents_of(dataclasses.replace(answer, citations=quoted))
    if held <= present:
        return made
    for document_id in held - present:
        answer = conversations.without(answer, document_id) if answer else None
    return FinishedGeneration(answer, moment.error)
