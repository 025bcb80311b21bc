"""“Check my library”: questions made of a user's own documents, asked, and what came of each.

A question is made of one piece of a document by the app's own writer, or of a row of a table, so it
is known where the answer stands. Many are questions that any of several documents could be asked
("When was the company founded?"): those are for one document alone, as a person would tick it
first. Beside them are questions that nothing in the library answers. Knows nothing of words for
people and nothing of the page; keeps no text of a document beside the questions that were made."""

from __future__ import annotations

import json
import re
import threading
from calendar import month_name
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import islice, zip_longest

from rag_app.answering.ask_options import DEFAULT_OPTIONS, AskOptions
from rag_app.answering.evidence import meet
from rag_app.answering.suggested_questions import Suggestion
from rag_app.errors import ModelUnavailable, QuestionError, UnknownDocument
from rag_app.evaluation.metrics import quantile
from rag_app.evaluation.runner import answer_of, check_meaning, is_verbatim
from rag_app.export.readable import cells, header_row
from rag_app.library import Library
from rag_app.storage.database import kept_as
from rag_app.text.formats import TABLES
from rag_app.types import Answer, Citation, Document, Page, Passage, Span, askable

FIRST = 5  # pages that a person looks at
_MADE = 24  # questions that the documents answer
_EMPTY = 8  # questions that nothing answers
_LOOKED_THROUGH = 30  # passages, when the document alone is searched

Progress = Callable[[int, int], None]
"""Documents of which questions were made and questions that were asked, of how many."""
# Questions that rows of a table answer: what stands in a column, of the row that has a name.
#
# Only tables whose columns have names are asked about, and rows that no other row is called as.

_PAGES = 12  # looked at
_ROW_QUESTIONS_NAME = re.compile(r"(?=.*[^\W\d_]{2})[^|]{3,50}")
_COLUMN = re.compile(r"(?=.*[^\W\d_]{3})[^\W\d][^|?:]{1,39}")
_APART = 7  # rows between two that are asked about, where there are many
_NUMBERING = re.compile(r"(?i)(?:index|id|no|nr|row|line|number|rank)\W?")


def row_questions(library: Library, document: Document, most: int) -> list[Suggestion]:
    """Up to `most` questions about rows of a table."""
    numbers = range(1, min(document.pages, _PAGES) + 1)
    pages = (library.page(document.id, number) for number in numbers)
    return list(islice((one for page in pages for one in _of_page(document.id, page)), most))


def _of_page(document_id: str, page: Page) -> Iterator[Suggestion]:
    lines = list(_lines(page.text))
    rows = [[page.text[a + start : a + end].strip() for start, end in cells(line)]
            for a, line in lines]  # fmt: skip
    head = header_row(rows)
    if head is None or len(rows) < head + 3:
        return
    names, below = rows[head], rows[head + 1 :]
    key = _key(names, below)
    columns = [i for i, name in enumerate(names) if i != key and _tells(name)]
    if key is None or not columns:
        return
    for turn, number in enumerate(range(0, len(below), min(_APART, len(below) // 2))):
        row, column = below[number], columns[turn % len(columns)]
        if column < len(row) and key < len(row) and 0 < len(row[column]) <= 60:
            start, line = lines[head + 1 + number]
            question = f"What is the {_small(names[column])} of {row[key]}?"
            place = Span(document_id, page.number, start, start + len(line))
            yield Suggestion(question, place)


def _tells(name: str) -> bool:
    """Whether a column is worth asking for."""
    return bool(_COLUMN.fullmatch(name)) and not _NUMBERING.fullmatch(name)


def _key(names: Sequence[str], below: Sequence[Sequence[str]]) -> int | None:
    """The first column that has another name in every row."""
    for column, name in enumerate(names):
        here = [row[column] for row in below if column < len(row) and row[column]]
        apart = len(set(here)) == len(here) >= max(3, 0.8 * len(below))
        if name and apart and all(_ROW_QUESTIONS_NAME.fullmatch(one) for one in here):
            return column
    return None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            yield start, line.rstrip("\r\n")
        start += len(line)


def _small(name: str) -> str:
    """A column's name inside a sentence: abbreviations keep their letters."""
    return " ".join(word if word[1:] != word[1:].lower() else word.lower() for word in name.split())


_OF_A_PIECE = 3  # questions that the writer asks of a piece of a document, at most
_SPARE = 2  # pieces, and questions, more than are wanted: not all of them can be used
_SAME = re.compile(r"\W+")
_ASKING = re.compile(
    r"(?i)^(?:how (?:much|many|often|long)|by when|when|where|why|who|by how much|"
    r"what (?:amount of|is the|was the|were the)|what)\b"
)
_MONTHS = "|".join(filter(None, month_name))
_NAME = re.compile(
    rf"\b(?!the )[a-z]+ (?P<name>(?!{_MONTHS})[A-Z][a-z]{{3,}}(?: [A-Z][a-z]+)*)(?=[ ?])"
)
_YEAR = re.compile(r"\b(?P<name>(?:1[6-9]|20)\d\d)\b")

_STRANGERS = ("Quillby", "Ombrelia", "Tessaquin", "Vuldric", "Zorvath", "Farthingloe")
_ELSEWHERE = (
    ("How many strings does a violin have?", "violin"),
    ("Who wrote the opera The Magic Flute?", "opera"),
    ("At what temperature does nitrogen boil?", "nitrogen"),
    ("How far away is the moon?", "moon"),
    ("Which volcano buried Pompeii?", "volcano"),
    ("How many eggs are needed for a sponge cake?", "sponge"),
)


@dataclass(frozen=True, slots=True)
class Made:
    """A question. `place`: where its answer stands, None if nowhere; `only`: the document that it
    is asked of, None if of all; `about`: the document it was made of, None if of none."""

    question: str
    place: Span | None = None
    only: str | None = None
    about: str | None = None


def answerable(
    library: Library,
    documents: Sequence[Document],
    most: int,
    stop: threading.Event,
    progress: Progress = lambda *_: None,
) -> list[Made]:
    """Up to `most` questions that the documents answer, as many of each as there is room for;
    `progress`: documents of which they were made, of how many.

    Those that name what they are about come first. Nothing if it was stopped."""
    looked_at = _spread(documents, most)
    each = -(-most // max(1, len(looked_at)))
    offered: list[list[Suggestion]] = []
    for document in looked_at:
        progress(len(offered), len(looked_at))
        offered.append([] if stop.is_set() else _of(library, document, each + _SPARE, stop))
    often = Counter(of for row in offered for of in {_same(one.question) for one in row})
    told: list[list[Made]] = []
    for row in offered:
        fit = [one for one in row if often[_same(one.question)] == 1]
        made = [_made(library, one, len(documents)) for one in fit]
        told.append(sorted(made, key=lambda one: one.only is not None))
    rounds = [one for turn in zip_longest(*told) for one in turn if one is not None]
    return [] if stop.is_set() else rounds[:most]


def unanswerable(library: Library, asked: Sequence[Made], most: int) -> list[Made]:
    """Up to `most` questions that nothing in the library answers: the half of them asks for
    something that is strange to it, the other half changes a name or a year of what was `asked`."""
    near = list(islice(_changed(library, asked), most // 2))
    far = [Made(question) for question, telling in _ELSEWHERE if not _holds(library, telling)]
    return [*near, *far[: most - len(near)]]


def _changed(library: Library, asked: Sequence[Made]) -> Iterator[Made]:
    strangers = (name for name in _STRANGERS if not _holds(library, name))
    years = (str(year) for year in range(1711, 1790, 8) if not _holds(library, str(year)))
    for one in asked:
        name, year = _NAME.search(one.question), _YEAR.search(one.question)
        found = name or year
        instead = next(strangers if name else years, None) if found else None
        if found and instead:
            start, end = found.span("name")
            yield Made(f"{one.question[:start]}{instead}{one.question[end:]}", about=one.about)


def _of(library: Library, document: Document, most: int, stop: threading.Event) -> list[Suggestion]:
    """What can be asked of one document; pieces from everywhere in it are enough."""
    try:
        if document.suffix in TABLES:
            return row_questions(library, document, most)
        chunks = library.chunks(document.id)
        wanted = min(len(chunks), -(-most // _OF_A_PIECE) + _SPARE)
        pieces = [chunks[number * len(chunks) // wanted] for number in range(wanted)]
        made: dict[str, Suggestion] = {}
        for one in library.suggest(document.id, pieces, stop):
            made.setdefault(_same(one.question), one)
            if len(made) == most:
                break
    except (ModelUnavailable, UnknownDocument):  # removed meanwhile: the others are there
        return []
    return list(made.values())


def _made(library: Library, one: Suggestion, documents: int) -> Made:
    """Asked of all documents if its words stand together in this one only."""
    home = one.place.document_id
    found = library.plain.find(_ASKING.sub("", one.question)) if documents > 1 else None
    alone = found is None or (not found.loose and {i for i, _ in found.groups} == {home})
    return Made(one.question, one.place, None if alone else home, home)


def _spread(documents: Sequence[Document], most: int) -> list[Document]:
    if len(documents) <= most:
        return list(documents)
    return [documents[number * len(documents) // most] for number in range(most)]


def _holds(library: Library, word: str) -> bool:
    return bool(library.plain.find(word).groups)


def _same(question: str) -> str:
    return _SAME.sub(" ", question).strip().casefold()


@dataclass(frozen=True, slots=True)
class Tried:
    """One question and what came of it.

    `place` is where the answer stands, None if nowhere. `rank`: of its page among the pages found,
    from 1; `rank_alone`: the same when only its document was searched, looked at for a miss."""

    question: str
    about: str | None  # id of the document it was made of
    ticked: bool  # asked of that document alone, because others could be meant
    place: Span | None
    rank: int | None
    rank_alone: int | None
    answered: bool
    right: bool  # a quote from the place; or silence where nothing is to be said
    quoted: Span | None  # the first quote of the answer
    seconds: float

    @property
    def found(self) -> bool:
        """Whether its page was among the first that a person looks at."""
        return self.rank is not None and self.rank <= FIRST

    @property
    def found_alone(self) -> bool:
        """Whether ticking its document would have helped."""
        return not self.found and self.rank_alone is not None and self.rank_alone <= FIRST


@dataclass(frozen=True, slots=True)
class Check:
    """How a library did."""

    tried: tuple[Tried, ...] = ()
    quotes: int = 0
    verbatim: int = 0
    documents: int = 0  # that could be asked
    at: str = ""  # ISO 8601, UTC
    generator: str = ""  # who answered

    @property
    def known(self) -> list[Tried]:
        """Questions that the documents answer."""
        return [one for one in self.tried if one.place is not None]

    @property
    def empty(self) -> list[Tried]:
        """Questions that nothing answers."""
        return [one for one in self.tried if one.place is None]

    @property
    def missed(self) -> list[Tried]:
        """What did not go well, for a person to look at."""
        return [one for one in self.tried if not one.right]

    @property
    def usual_seconds(self) -> float:
        """How long an answer took, as a rule."""
        return quantile([one.seconds for one in self.tried], 0.5) or 0.0


def check(
    library: Library,
    made: int = _MADE,
    empty: int = _EMPTY,
    manner: AskOptions = DEFAULT_OPTIONS,
    progress: Progress = lambda *_: None,
    stop: threading.Event | None = None,
) -> Check | None:
    """Ask `made` questions that the documents answer and `empty` that nothing answers, and keep
    what came of it in the library; None if it was stopped. Raises ModelUnavailable where what
    finds by meaning is away; the check before it stays."""
    stop = stop or threading.Event()
    documents = [document for document in library.documents() if askable(document)]
    asked = answerable(
        library, documents, made, stop, lambda done, of: progress(done, of + made + empty)
    )
    if asked:
        library.retriever(1).embedder.warm()
        asked += unanswerable(library, asked, empty)
    before = len(_spread(documents, made))  # steps that it took to make them
    tried: list[Tried] = []
    quotes: list[Citation] = []
    for done, one in enumerate(asked):
        progress(before + done, before + len(asked))
        answer = None if stop.is_set() else _answer(library, one, manner, stop)
        if answer is not None:
            tried.append(_tried(library, one, answer))
            quotes += answer.citations
    if stop.is_set():
        return None
    found = Check(
        tuple(tried),
        len(quotes),
        sum(is_verbatim(library, citation) for citation in quotes),
        len(documents),
        datetime.now(UTC).isoformat(timespec="seconds"),
        manner.generator or library.settings.answers_by,
    )
    keep(library, found)
    return found


def keep(library: Library, found: Check) -> None:
    """Keep a check in place of the one before."""
    about = asdict(replace(found, tried=()))
    rows = [(one.about, json.dumps(asdict(one), ensure_ascii=False)) for one in found.tried]
    library.checks.save(json.dumps(about), rows)


def last(library: Library) -> Check | None:
    """The check that was kept, without what was asked of documents that are gone."""
    kept = library.checks.get()
    if kept is None:
        return None
    return kept_as(Check, json.loads(kept[0]) | {"tried": [json.loads(row) for row in kept[1]]})


def _answer(
    library: Library, one: Made, manner: AskOptions, stop: threading.Event
) -> Answer | None:
    """None if it was stopped, or the document has been removed meanwhile. Raises ModelUnavailable
    where words alone have found."""
    try:
        events = library.ask(
            *(one.question, [one.only] if one.only else None, stop, manner.generator),
            caution=manner.caution,
            top_k=manner.top_k,
        )
        answer = answer_of(events)
    except (QuestionError, UnknownDocument):
        return None
    check_meaning(library)
    return answer


def _tried(library: Library, one: Made, answer: Answer) -> Tried:
    place = one.place
    rank = _rank(answer.passages, place) if place else None
    alone = None
    if place and one.only is None and (rank is None or rank > FIRST):
        found = library.search(one.question, _LOOKED_THROUGH, [place.document_id])
        alone = _rank(found, place)
    if place is None:
        right = answer.abstained
    else:
        right = not answer.abstained and any(meet(place, c) for c in answer.citations)
    first = None if answer.abstained else next(iter(answer.citations), None)
    return Tried(
        question=one.question,
        about=one.about,
        ticked=one.only is not None,
        place=place,
        rank=rank,
        rank_alone=alone,
        answered=not answer.abstained,
        right=right,
        quoted=Span(first.document_id, first.page, first.start, first.end) if first else None,
        seconds=answer.seconds.retrieve + answer.seconds.answer,
    )


def _rank(passages: Sequence[Passage], place: Span) -> int | None:
    pages = list(dict.fromkeys((p.chunk.document_id, p.chunk.page) for p in passages))
    here = (place.document_id, place.page)
    return pages.index(here) + 1 if here in pages else None
