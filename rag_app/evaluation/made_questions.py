"""Questions made of a library's own documents, and others that nothing in it answers.

A question is made of one sentence, so it is known where the answer stands. Many sentences make
questions that any of several documents could be asked ("When was the company founded?"): those are
for one document alone, as a person would tick it first. Asks nothing itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

from rag_app.answering.suggested_questions import MONTH, Suggestion, suggestions
from rag_app.export.readable import cells, header_row
from rag_app.library import Library
from rag_app.text.page_names import TABLES
from rag_app.types import Chunk, Document, Page, Span

# Questions that rows of a table answer: what stands in a column, of the row that has a name.
#
# Only tables whose columns have names are asked about, and rows that no other row is called as.

KIND = "row"
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
            yield Suggestion(question, KIND, place)


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


_READ = 160  # passages of one document that questions are made of, in runs that belong together
_RUN = 16
_OF_ONE = 6  # questions that are looked at, of one document, for each one that is wanted
_SKIPPED = ("heading", "what")  # too easily asked of anything
_WORDS = 5
_SAME = re.compile(r"\W+")
_DULL = re.compile(
    r"(?i)\b(?:schedules? omitted|exhibits?|pursuant|hereby|thereof|herein|aforementioned|"
    r"registrant|undersigned|footnotes?|the (?:preceding|following))\b"
)
_ASKING = re.compile(
    r"(?i)^(?:how (?:much|many|often|long)|by when|when|where|why|who|by how much|"
    r"what (?:amount of|is the|was the|were the)|what)\b"
)
_NAME = re.compile(
    rf"\b(?!the )[a-z]+ (?P<name>(?!{MONTH})[A-Z][a-z]{{3,}}(?: [A-Z][a-z]+)*)(?=[ ?])"
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
    stopped: Callable[[], bool] = lambda: False,
) -> list[Made]:
    """Up to `most` questions that the documents answer, as many of each as there is room for.

    Those that name what they are about come first. Nothing if it was stopped."""
    looked_at = _spread(documents, most)
    each = -(-most // max(1, len(looked_at)))
    offered = [_of(library, d, _OF_ONE * each) for d in looked_at if not stopped()]
    often = Counter(_same(one.question) for row in offered for one in row)
    told: list[list[Made]] = []
    for row in offered:
        fit = [one for one in row if often[_same(one.question)] == 1]
        made = [_made(library, one, len(documents)) for one in fit]
        told.append(sorted(made, key=lambda one: one.only is not None))
    rounds = [one for turn in zip_longest(*told) for one in turn if one is not None]
    return [] if stopped() else rounds[:most]


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


def _of(library: Library, document: Document, most: int) -> list[Suggestion]:
    """What can be asked of one document; a part of it is enough."""
    if document.suffix in TABLES:
        return row_questions(library, document, most)
    chunks = _runs(library.chunks(document.id))
    offered = suggestions(chunks, [])
    return list(islice(filter(_fit, offered), most))


def _fit(one: Suggestion) -> bool:
    """Whether a person might ask it."""
    telling = len(one.question.split()) >= _WORDS and one.kind not in _SKIPPED
    return telling and not _DULL.search(one.question)


def _runs(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Some passages of a long document, from everywhere in it."""
    if len(chunks) <= _READ:
        return list(chunks)
    begins = range(0, len(chunks) - _RUN, (len(chunks) - _RUN) // (_READ // _RUN - 1))
    return [chunk for begin in begins for chunk in chunks[begin : begin + _RUN]]


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
