"""What /api/v1 takes and gives, as types: from these its OpenAPI description is made.

What is given is made by `export/json_contract.py`, whose page is docs/json.md; a key that is in one
and not in the other fails every request, and so the tests."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from rag_app.types import Basis, RetrieverKind, Status, Task

MOST_LISTED = 200  # documents on one page of the list
_HEX = r"^[0-9a-f]{64}$"
_MOST_NAMED = 1_000  # documents, or collections, in one question
_MOST_TURNS = 50
_LONGEST_TURN = 20_000  # characters

DocumentId = Annotated[str, StringConstraints(pattern=_HEX)]
DocumentIds = Annotated[list[DocumentId], Field(min_length=1, max_length=_MOST_NAMED)]
CollectionIds = Annotated[
    list[Annotated[str, StringConstraints(min_length=1, max_length=200)]],
    Field(min_length=1, max_length=_MOST_NAMED),
]
Said = Annotated[str, StringConstraints(pattern=r"[^\s\x00-\x1f\x7f-\x9f]")]
Turned = Annotated[str, StringConstraints(max_length=_LONGEST_TURN)]
Frame = Annotated[list[float], Field(min_length=4, max_length=4)]


def _number(value: object) -> object:
    if isinstance(value, bool | str):
        raise ValueError("it is no number")
    return value


NUMBER = BeforeValidator(_number)
"""JSON's numbers alone: 3.0 is the integer 3 (JSON Schema, 6.1.1), and neither true nor "3" is."""


class Given(BaseModel):
    """What is given: nothing is left unsaid."""

    model_config = ConfigDict(extra="forbid")


class Taken(BaseModel):
    """What is taken: a key that is misspelt is refused, and so is a value of another kind."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class Problem(BaseModel):
    """What is wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    code: Annotated[str, Field(description="for programs")]
    detail: Annotated[str, Field(description="a sentence for people, which says what to do next")]
    errors: Annotated[
        list[dict[str, Any]] | None, Field(description="what of the request does not fit")
    ] = None


class Health(Given):
    """Whether questions can be answered."""

    status: Literal["ok", "starting"]


class DocumentJson(Given):
    """A document and what became of it."""

    document_id: str
    name: str
    status: Status
    pages: int
    chunks: int
    added_at: Annotated[str, Field(description="ISO 8601, UTC")]
    language: Annotated[str, Field(description="ISO 639-1; empty: not known")]
    error: str | None
    pages_without_text: int
    tables: int | None
    encoding: str | None
    duplicates: list[str]
    parts: list[str]
    inside: list[str]
    address: str | None
    fetched_at: str | None
    warnings: list[str]


class AddedDocument(DocumentJson):
    """A document that was handed in."""

    duplicate: Annotated[bool, Field(description="the same bytes were in the library already")]


class DocumentsJson(Given):
    """A part of the list of documents."""

    documents: list[DocumentJson]
    total: int
    offset: int
    limit: int


class ProgressJson(Given):
    """How far the work on a document is."""

    document_id: str
    status: Status
    working: Annotated[bool, Field(description="whether there is work left on it")]
    stage: Annotated[
        str | None, Field(description="waiting, reading, indexing, embedding or recognising")
    ]
    done: int
    total: Annotated[int, Field(description="0: not known yet")]
    unit: str
    seconds_left: float | None


class PassageJson(Given):
    """A passage that was found; `text` is its page's text from `start` to `end`."""

    document_id: str
    name: str
    page: int
    score: float
    start: int
    end: int
    text: str


class Found(Given):
    """The passages of a search, the best first."""

    passages: list[PassageJson]


class DeltaJson(Given):
    """The next piece of an answer's text."""

    text: str


class CitationJson(Given):
    """A verbatim span of a page that supports a sentence of the answer."""

    number: int
    document_id: str
    name: str
    page: int
    start: int
    end: int
    quote: str
    boxes: Annotated[list[Frame], Field(description="on the page's picture, in PDF points")]
    share: float | None = None


class ClosestJson(Given):
    """A sentence that may hold an answer: of one that is not known those that come nearest."""

    document_id: str
    name: str
    page: int
    start: int
    end: int
    quote: str


class Seconds(Given):
    """What a question took."""

    retrieve: float
    answer: float


class AnswerJson(Given):
    """A finished answer; `answer` holds [n] after each sentence that citation n supports."""

    question: str
    answer: str
    short_answer: str
    abstained: Annotated[bool, Field(description="true: it does not know")]
    confidence: float
    generator: str
    task: Task
    basis: Basis
    rewritten_query: str | None
    citations: list[CitationJson]
    closest: list[ClosestJson]
    computation: dict[str, Any] | None
    result: list[str]
    rows: list[dict[str, Any]]
    passages: list[PassageJson]
    notes: list[str]
    seconds: Seconds


class PageJson(Given):
    """A page's text; `width` and `height` are those of its picture, in points."""

    document_id: str
    name: Annotated[str, Field(description="of the document")]
    page: int
    pages: Annotated[int, Field(description="how many the document has")]
    title: Annotated[str, Field(description="what the page is called: slide 3, page 12 …")]
    label: str
    text: str
    width: float | None
    height: float | None


class Boxes(Given):
    """Where a span of a page stands on its picture, one box a line."""

    boxes: list[Frame]


class CollectionJson(Given):
    """A collection that may be read, and what one may do in it."""

    collection: str
    name: str
    role: Literal["reader", "editor", "owner"]


class CollectionsJson(Given):
    """What the key opens."""

    collections: list[CollectionJson]


class SearchRequest(Taken):
    """What to search for."""

    query: Said
    k: Annotated[int | None, Field(ge=1, le=50), NUMBER] = None
    """passages; null: as in the settings"""
    documents: DocumentIds | None = None
    """ids of documents to look in; null: all"""
    collections: CollectionIds | None = None
    """ids of collections to look in, of those that the key opens; null: all of them"""
    retriever: RetrieverKind = RetrieverKind.HYBRID


class TurnJson(Taken):
    """A question that was asked before, and its answer."""

    question: Turned
    answer: Turned = ""


class AskRequest(Taken):
    """A question."""

    question: Said
    documents: DocumentIds | None = None
    """ids of documents to ask; null: all"""
    collections: CollectionIds | None = None
    """ids of collections to ask, of those that the key opens; null: all of them"""
    model: str | None = None
    """one of those that /v1/models lists; null: as in the settings"""
    language: Annotated[str, StringConstraints(max_length=40)] = ""
    """English name of the answer's language; empty: the question's"""
    caution: Annotated[float | None, Field(ge=0, le=1), NUMBER] = None
    """confidence under which it says that it does not know"""
    top_k: Annotated[int | None, Field(ge=1, le=50), NUMBER] = None
    """passages that are read"""
    turns: Annotated[list[TurnJson], Field(max_length=_MOST_TURNS)] = []
    """what was asked before, the oldest first"""
    stream: Annotated[bool, Field(strict=True)] = False
    """as server-sent events: sources, delta …, finished, or error"""
