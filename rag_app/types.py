"""The nouns of the app, frozen; they carry where a text came from. Of ours, `scope` is imported."""

from __future__ import annotations

import datetime as dt
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import partial

from rag_app.scope import HOME

_none = partial(array, "I")  # numbers, none yet


class Status(StrEnum):
    """How far a document has come: received -> read -> searchable -> ready, or failed; one with
    scanned pages is `scanned` instead of ready, and read again with their text."""

    RECEIVED = "received"  # the file is kept; nothing of it has been read
    READ = "read"  # its pages are stored
    SEARCHABLE = "searchable"  # its chunks can be found by words
    SCANNED = "scanned"  # all its text can be found; that of scanned pages is to be recognised
    READY = "ready"  # its chunks can be found by meaning, too
    FAILED = "failed"  # it cannot be read; `Document.error` says why


class Task(StrEnum):
    """What kind of work an utterance asks for."""

    QUESTION = "question"
    SUMMARY = "summary"
    COMPARISON = "comparison"
    DRAFT = "draft"
    TRANSLATION = "translation"
    COMPUTATION = "computation"
    CHITCHAT = "chitchat"


class Basis(StrEnum):
    """What an answer's words rest on."""

    WRITTEN = "written"  # a language model wrote them from passages
    EXTRACTED = "extracted"  # they are the documents' own
    COMPUTED = "computed"  # code computed them from cells of tables
    NONE = "none"  # nothing in the documents: it was not found, or not looked for


class NoteKind(StrEnum):
    """What a user should know of how an answer came about; sentences are made at the edge."""

    FIRST_DOCUMENTS_ONLY = "first_documents_only"  # how many, of how many, their names
    NAMED_DOCUMENTS_ONLY = "named_documents_only"  # their names
    WHICH_DOCUMENTS = "which_documents"  # names of some that could be meant: asked back
    SEARCHED_BY_WORDS_ONLY = "searched_by_words_only"  # how many documents
    MEANING_AWAY = "meaning_away"  # why
    NOT_READ_YET = "not_read_yet"  # how many documents
    SCANS_NOT_READ_YET = "scans_not_read_yet"  # how many documents
    UNSUPPORTED = "unsupported"
    PARTLY_SUPPORTED = "partly_supported"
    OTHERWISE = "otherwise"  # which document says something else, and its words
    CUT = "cut"
    REPEATED = "repeated"
    BROKEN_OFF = "broken_off"  # why
    QUOTED_INSTEAD = "quoted_instead"  # why
    MODEL_FAILED = "model_failed"  # why
    TASK_NEEDS_MODEL = "task_needs_model"  # the task
    LANGUAGE_NEEDS_MODEL = "language_needs_model"  # the language
    FOUND_BY_WORDS = "found_by_words"
    NOT_ENGLISH = "not_english"
    COMPUTED = "computed"  # each sum, as "3 × 85 = 255"
    SEVERAL_UNITS = "several_units"  # a column of figures, and the units that were kept apart
    OTHER_SHEETS = "other_sheets"  # names of those that may be meant as well
    RESPELLED = "respelled"  # a word as it was typed, and as documents spell it; the next; …
    OTHER_LANGUAGE = "other_language"  # question's or "", "" if found by words only, documents'


@dataclass(frozen=True, slots=True)
class Note:
    """One thing a user should know of an answer; `values` are what its kind says."""

    kind: NoteKind
    values: tuple[str, ...] = ()


class RetrieverKind(StrEnum):
    """Which index answers a search."""

    HYBRID = "hybrid"
    DENSE = "dense"
    BM25 = "bm25"


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a displayed page, in PDF points, origin at the top left."""

    x0: float
    y0: float
    x1: float
    y1: float

    def union(self, other: Box) -> Box:
        """The smallest box that holds both."""
        low = min(self.x0, other.x0), min(self.y0, other.y0)
        return Box(*low, max(self.x1, other.x1), max(self.y1, other.y1))


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document: where its section begins. `level` 1 is the outermost."""

    page: int
    start: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """A document's unit of reading, numbered from 1; its picture in points, None if it has none."""

    number: int
    text: str
    label: str = ""  # what the document itself calls the page ("iv", "A-3"); empty: its number
    width: float | None = None
    height: float | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A file that was found inside a file and unpacked: a document to be."""

    name: str  # what it is called inside, with its folders: "plans/roof.pdf"
    file: str  # what it is called in the folder it was unpacked to


@dataclass(frozen=True, slots=True)
class Merged:
    """Cells of a grid that are one: numbers of rows and columns, the last ones included."""

    row: int
    column: int
    last_row: int
    last_column: int

    @property
    def is_several(self) -> bool:
        """Whether it covers more than its first cell."""
        return (self.row, self.column) != (self.last_row, self.last_column)


@dataclass(frozen=True, slots=True)
class Grid:
    """The raw cells of a table or a sheet, as they stand on pages; nothing is known of their sense.

    Row `i` had the number `rows[i]` where it came from, counted from 1; empty rows are left out. It
    has `counts[i]` cells, the first in column 0; those of all rows follow each other in `pages`,
    `starts` and `ends`. A cell whose `start` is its `end` is empty."""

    name: str = ""  # of the sheet, the caption, or the heading it stands under
    rows: array[int] = field(default_factory=_none)
    counts: array[int] = field(default_factory=_none)
    pages: array[int] = field(default_factory=_none)
    starts: array[int] = field(default_factory=_none)
    ends: array[int] = field(default_factory=_none)
    header_rows: int = 0  # that the document itself says name the columns; 0: it does not say
    merged: tuple[Merged, ...] = ()
    hidden_columns: tuple[int, ...] = ()
    units: tuple[str, ...] = ()  # by column, that formats of cells show and texts do not


class ColumnKind(StrEnum):
    """What the cells of a column say."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"  # exact to its places behind the decimal mark
    YEAR = "year"
    RANK = "rank"  # "1st", "2."
    DATE = "date"
    TIME = "time"  # a day and a time of it
    DURATION = "duration"  # in seconds

    @property
    def is_measure(self) -> bool:
        """Whether it makes sense to add its values up."""
        return self in (ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.DURATION)


@dataclass(frozen=True, slots=True)
class Column:
    """A typed column of a table. Cells that do not fit its kind have no value, only their text."""

    name: str  # as the document says it
    sql_name: str  # unique in its table, and safe to be written in a query
    kind: ColumnKind
    unit: str = ""  # of all its values: "EUR", "%", "km"; empty: none, or several
    units: tuple[str, ...] = ()  # where they differ: never to be added together
    places: int = 0  # of numbers, behind the decimal mark
    has_text: bool = False  # texts say more than values: they are in a column of their own

    @property
    def text_name(self) -> str:
        """The column with the texts, where `has_text`."""
        return f"{self.sql_name}_text"

    @property
    def unit_name(self) -> str:
        """The column with the unit of each value, where there are several `units`."""
        return f"{self.sql_name}_unit"


class RowRole(StrEnum):
    """Why a row of a table is none of its data."""

    TITLE = "title"
    HEADER = "header"
    TOTAL = "total"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class SideRow:
    """A row of a table that is none of its data: `page.text[start:end]` are its cells."""

    role: RowRole
    page: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and typed columns found on pages; its data rows are counted from 0."""

    document_id: str
    ordinal: int  # in its document, from 0
    name: str  # of the sheet, the caption, or the heading it stands under
    title: str  # that stands in the table itself, above the columns
    columns: tuple[Column, ...]
    rows: int
    first_page: int
    last_page: int
    side_rows: tuple[SideRow, ...] = ()
    hidden_columns: tuple[int, ...] = ()  # by their place in `columns`


CellValue = str | int | float | Decimal | dt.date | dt.datetime | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: `page.text[start:end] == text`; `value` is None where it fits no type."""

    row: int  # of the data, from 0
    column: int
    text: str
    value: CellValue
    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader made of one file."""

    pages: tuple[Page, ...]
    title: str = ""
    headings: tuple[Heading, ...] = ()
    warnings: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()  # of an archive or a message
    tables: int | None = None  # None: the reader tells none apart
    scans: tuple[int, ...] = ()  # pages that are pictures; their text is to be recognised
    grids: tuple[Grid, ...] = ()  # the tables, where the reader tells their cells apart
    encoding: str = ""  # that a text was read in; empty: it said so itself


@dataclass(frozen=True, slots=True)
class Word:
    """A word that was recognised: its offsets in the page's text, its line, its place."""

    start: int
    end: int
    line: int
    box: Box


@dataclass(frozen=True, slots=True)
class Recognised:
    """The text of a page that is a picture, and where its words stand; both may be empty."""

    text: str
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A file that was added; `id` is a hash of its bytes and of a collection that is not `HOME`."""

    id: str
    name: str  # as the user called it: shown, never used as a path
    suffix: str  # of the stored original, with the dot: ".pdf"
    size: int  # bytes
    status: Status
    added_at: str  # ISO 8601, UTC
    pages: int = 0
    chunks: int = 0
    title: str = ""
    warnings: tuple[str, ...] = ()
    error: str | None = None
    error_code: str | None = None  # RagAppError.code of the reason, e.g. "password_needed"
    language: str = ""  # most of it is in, ISO 639-1; empty: not known
    collection: str = HOME  # whose it is


UNREAD = (Status.RECEIVED, Status.READ)
_ASKABLE = (Status.SEARCHABLE, Status.SCANNED, Status.READY)
EMBEDDED = (Status.SCANNED, Status.READY)  # what there is of them can be found by meaning
_HEAD = 16  # of a document's id, which is enough to tell documents apart


def askable(document: Document) -> bool:
    """Whether a document can be asked; one of scanned pages alone waits for the first of them."""
    blank = document.status is Status.SCANNED and not document.chunks
    return document.status in _ASKABLE and not blank


def chunk_id(document_id: str, ordinal: int) -> str:
    """Made from content and position, so that writing a chunk twice is writing it once."""
    return f"{document_id[:_HEAD]}-{ordinal}"


def of_documents(documents: Iterable[str]) -> Callable[[str], bool]:
    """Whether a chunk, by its id, is of one of these documents."""
    heads = {document_id[:_HEAD] for document_id in documents}
    return lambda chunk: chunk.rpartition("-")[0] in heads


@dataclass(frozen=True, slots=True)
class Chunk:
    """An exact slice of one page: `page.text[chunk.start:chunk.end] == chunk.text`."""

    document_id: str
    page: int
    ordinal: int  # position in the document, from 0
    start: int
    end: int
    text: str
    heading: str = ""  # section path it stands under, "Part I > Item 1"; for rows also the columns

    @property
    def id(self) -> str:
        """The chunk's name in the indexes, see `chunk_id`."""
        return chunk_id(self.document_id, self.ordinal)

    def holds(self, piece: Span | Citation) -> bool:
        """Whether a piece of a page lies inside; an empty one does not."""
        same_page = (self.document_id, self.page) == (piece.document_id, piece.page)
        return same_page and self.start <= piece.start < piece.end <= self.end


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that was found, and how well: `score` is p(z|x) over the passages found with it."""

    chunk: Chunk
    name: str  # of its document
    score: float


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of one page, by offsets into that page's text."""

    document_id: str
    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RowsUsed:
    """Rows of one table that a computed answer rests on: of the first of `count` some cells."""

    document_id: str
    name: str  # of the document
    table: str  # what the document calls it; empty: nothing
    columns: tuple[str, ...]
    count: int
    rows: tuple[tuple[Cell, ...], ...]  # by their text; their value is left out
    leading: int = 0  # of the columns: the first say which rows these are; it does not rest on them


@dataclass(frozen=True, slots=True)
class Operation:
    """What a query does to a column to get a figure: "sum" of "Amount" in "EUR"."""

    function: str  # sum, avg, count, min, max
    column: str = ""  # empty: whole rows
    unit: str = ""


@dataclass(frozen=True, slots=True)
class RowFilter:
    """What rows are held against: =, <>, >, >=, <, <=, like, not like (% is anything), empty."""

    column: str
    comparison: str
    text: str = ""  # a value, or another column


@dataclass(frozen=True, slots=True)
class Computation:
    """A query over tables, what came of it as it is shown, and the rows that it rests on."""

    sql: str  # empty: worked out from lines of statements
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    used: tuple[RowsUsed, ...] = ()
    operations: tuple[Operation, ...] = ()
    numbers: tuple[tuple[float | None, ...], ...] = ()  # the figures among `rows`
    over_time: bool = False  # the first column are days, months or years
    cut: bool = False  # there are more rows than `rows`
    chosen_by: tuple[RowFilter, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """What a generator says: `sentences` joined are the text, white space included;
    `evidence[i]` are the spans that support the i-th."""

    sentences: tuple[str, ...]
    evidence: tuple[tuple[Span, ...], ...]
    confidence: float  # 0..1
    short_answer: str = ""
    stressed: str = ""  # the words of a written text that answer; empty: none stand out
    abstained: bool = False
    generator: str = ""  # who said it, if not the generator that was asked
    basis: Basis = Basis.EXTRACTED
    notes: tuple[Note, ...] = ()
    closest: tuple[Span, ...] = ()  # of an abstention: the sentences that come nearest
    shares: tuple[float, ...] = ()  # p(z|x,y) of each passage, where the generator knows it
    computation: Computation | None = None  # it was computed from tables; cites their cells


@dataclass(frozen=True, slots=True)
class Citation:
    """A verbatim span of a page that supports a sentence of the answer; `number` from 1."""

    number: int
    document_id: str
    name: str
    page: int
    start: int
    end: int
    quote: str
    boxes: tuple[Box, ...] = ()  # where the quote stands on the page's picture, one per line
    share: float | None = None  # of its passage in the probability of the answer (RAG decoding)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds spent on a question."""

    retrieve: float
    answer: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished answer. `text` holds [n] markers that point at citations with that number."""

    question: str
    text: str
    short_answer: str
    abstained: bool
    confidence: float  # 0..1
    generator: str
    citations: tuple[Citation, ...]
    passages: tuple[Passage, ...]
    seconds: Timing
    task: Task = Task.QUESTION
    basis: Basis = Basis.NONE
    rewritten_query: str = ""  # what was really searched for; empty: the question as it was typed
    notes: tuple[Note, ...] = ()
    closest: tuple[Citation, ...] = ()  # of an abstention: the sentences that come nearest
    computation: Computation | None = None  # of an answer that was computed from tables
    stressed: str = ""  # words of the text, to be seen first

    @property
    def query(self) -> str:
        """What was searched for: the question, made standalone where it was not."""
        return self.rewritten_query or self.question


@dataclass(frozen=True, slots=True)
class Sources:
    """Event: what was found, before a word of the answer is there."""

    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Closest:
    """Event: the sentence that most likely holds the answer, while that is being written."""

    citation: Citation


@dataclass(frozen=True, slots=True)
class Delta:
    """Event: the next piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """Event, the last one: the whole answer with its checked citations."""

    answer: Answer


Event = Sources | Closest | Delta | Finished


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a file that was handed in."""

    document: Document
    duplicate: bool = False  # the same bytes were in the library already
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetAside:
    """A kept file that the library knows nothing of, not even its name; it can be added again."""

    document_id: str
    suffix: str

    @property
    def name(self) -> str:
        """What it is called until somebody hands it in under its own name."""
        return f"recovered-{self.document_id[:12]}{self.suffix}"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the work on a document is right now."""

    document_id: str
    stage: str  # "waiting" | "reading" | "indexing" | "embedding" | "recognising"
    done: int = 0
    total: int = 0  # 0: not known yet
    unit: str = "pages"
    seconds_left: float | None = None  # None: not known yet


@dataclass(frozen=True, slots=True)
class Report:
    """What became of one document, in full."""

    document: Document
    pages_without_text: int = 0
    tables: int | None = None  # None: the reader tells none apart
    encoding: str = ""  # that a text was read in; empty: it said so itself
    duplicates: tuple[str, ...] = ()  # other names under which the same bytes came
    parts: tuple[str, ...] = ()  # names of the documents that came out of it
    inside: tuple[str, ...] = ()  # names of the documents it came out of
    address: str = ""  # it was fetched from; empty: it was not
    fetched_at: str = ""  # ISO 8601, UTC


@dataclass(frozen=True, slots=True)
class Watched:
    """A folder whose files are kept in step with the library."""

    folder: str
    files: int  # that are documents here
    refused: tuple[tuple[str, str], ...] = ()  # (path in the folder, why it is no document)
    trouble: str = ""  # one sentence if the folder cannot be looked at; empty if all is well


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A rendered page: WebP bytes, and the displayed size in points that boxes are scaled by."""

    webp: bytes
    width: float
    height: float
