"""Pages into chunks.

A chunk is an exact slice of its page: `page.text[chunk.start:chunk.end] == chunk.text`. Chunks do
not overlap, and every character that is not white space is in exactly one of them, but for the
heads and feet that run through the pages of a document.
Knows nothing of files, embeddings or stores; lengths in tokens are estimates."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_app.text.scripts import ALPHABETS, SIGNS, healed
from rag_app.text.sentences import sentences
from rag_app.text.structure import SectionPaths, columns_above, guess_headings, own_texts
from rag_app.types import Chunk, Heading, Page

# No token is endless: a text without spaces is cut between two. Letters of other alphabets than the
# Latin one come in words of theirs, those of alphabets without spaces in clusters.
_OTHER = "\u0250-\u0dff\u10a0-\u10ff\u1200-\u139f\u1d00-\u1dff\u1f00-\u1fff"
_TOKEN = re.compile(
    rf"[A-Za-z\u00c0-\u024f]{{1,64}}|\d{{1,32}}|[{_OTHER}]{{1,32}}|[{ALPHABETS}][{SIGNS}]{{0,8}}|\S"
)
_OTHER_WORD = re.compile(f"[{_OTHER}]")
_CLUSTER = re.compile(f"[{ALPHABETS}]")
_WRAPPED = re.compile(r"([^\W\d_])[-\u2010\u00ad][ \t]*(?:\r\n|\r|\n)\s*(?=[a-zß-ÿ])")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence, or a piece of one that is too long for a chunk."""

    start: int
    end: int
    cost: float
    heading: bool


def chunk_pages(
    document_id: str,
    pages: Sequence[Page],
    headings: Sequence[Heading] = (),
    *,
    max_tokens: int = 200,
) -> list[Chunk]:
    """The chunks of a document, in order: whole sentences, up to `max_tokens` each.

    A chunk begins at a heading where the one before it is at least a third full. One that begins
    in the middle of a table has the names of its columns at the end of its path."""
    spans = [
        [(start + first, end + first) for start, end in sentences(page.text[first:last])]
        for page, (first, last) in zip(pages, own_texts(pages), strict=True)
    ]
    guessed = guess_headings(pages, spans)
    sections = SectionPaths(headings or guessed)
    marks = defaultdict[int, set[int]](set)
    for each in (*headings, *guessed):
        marks[each.page].add(each.start)
    chunks: list[Chunk] = []
    for page, sentence_spans in zip(pages, spans, strict=True):
        units = list(_units(page.text, sentence_spans, marks[page.number], max_tokens))
        for group in _groups(units, max_tokens):
            start, end = group[0].start, group[-1].end
            path = sections.path(page.number, _anchor(group, max_tokens))
            path = " > ".join(filter(None, (path, columns_above(page.text, start))))
            chunks.append(
                Chunk(document_id, page.number, len(chunks), start, end, page.text[start:end], path)
            )
    return chunks


def estimate_tokens(text: str) -> float:
    """About how many word pieces `text` has: English as an uncased BERT tokenizer counts them.

    Other alphabets as models of many languages do; to an English model they are letters."""
    return sum(map(_cost, _TOKEN.findall(text)))


def _cost(token: str) -> float:
    length = len(token)
    if _CLUSTER.match(token):
        return 0.4 * length
    if length == 1:
        return 1.0
    if _OTHER_WORD.match(token):
        return 1.0 + 0.25 * max(0, length - 3)
    if token[0].isdigit():
        return 1.0 if length == 2 else 1.45 if length < 5 else length / 2
    return 1.0 + 0.07 * max(0, length - 5) if length < 20 else length / 4


def search_text(chunk_text: str) -> str:
    """A chunk as it is indexed: words that a line end broke are whole, white space is single.

    For finding only: its offsets are not those of the page."""
    whole = _WRAPPED.sub(r"\1", healed(chunk_text)).replace("\u00ad", "")
    return _SPACE.sub(" ", whole).strip()


def _units(
    text: str, spans: Sequence[tuple[int, int]], marks: set[int], most: int
) -> Iterator[_Unit]:
    """The units of one page; `marks` are the offsets where headings begin."""
    pending = sorted(marks, reverse=True)
    for start, end in spans:
        heading = False
        while pending and pending[-1] < end:
            heading = pending.pop() >= start or heading
        cost = estimate_tokens(text[start:end])
        if cost <= most:
            yield _Unit(start, end, cost, heading)
        else:
            yield from _pieces(text, start, end, most)


def _pieces(text: str, start: int, end: int, most: int) -> Iterator[_Unit]:
    """A sentence too long for a chunk, cut where it has a space, or anywhere if it has none."""
    cut, cost, cost_at_cut = start, 0.0, 0.0
    for token in _TOKEN.finditer(text, start, end):
        weight = _cost(token.group())
        if token.start() > start and text[token.start() - 1].isspace():
            cut, cost_at_cut = token.start(), cost
        while cost + weight > most and token.start() > start:
            if cut == start:
                cut, cost_at_cut = token.start(), cost
            yield _Unit(start, start + len(text[start:cut].rstrip()), cost_at_cut, False)
            start, cost = cut, cost - cost_at_cut
            cost_at_cut = 0.0
        cost += weight
    yield _Unit(start, end, cost, False)


def _groups(units: Sequence[_Unit], most: int) -> list[list[_Unit]]:
    """Units packed into chunks."""
    groups: list[list[_Unit]] = []
    group: list[_Unit] = []
    filled = 0.0
    for unit in units:
        full = filled + unit.cost > most
        if group and (full or (unit.heading and filled >= most / 3)):
            carried = _orphans(group, unit, most) if full else []
            groups.append(group[: len(group) - len(carried)])
            group, filled = carried, _total(carried)
        group.append(unit)
        filled += unit.cost
    if group:
        groups.append(group)
    if len(groups) > 1 and _is_scrap(groups[-1], groups[-2], most):
        groups[-2:] = [groups[-2] + groups[-1]]
    return groups


def _orphans(group: list[_Unit], follows: _Unit, most: int) -> list[_Unit]:
    """The headings at the end of a chunk that belong to what `follows`."""
    count = 0
    while count < len(group) - 1 and group[-1 - count].heading:
        count += 1
    carried = group[len(group) - count :]
    return carried if _total(carried) + follows.cost <= most else []


def _is_scrap(last: list[_Unit], before: list[_Unit], most: int) -> bool:
    """Whether the last chunk of a page is too small to stand alone, and fits on the one before."""
    tail, whole = _total(last), _total(last) + _total(before)
    small = tail <= most / (10 if last[0].heading else 3)
    return small and whole <= most * (1.1 if tail <= most / 10 else 1.0)


def _total(units: Sequence[_Unit]) -> float:
    return sum(unit.cost for unit in units)


def _anchor(group: Sequence[_Unit], most: int) -> int:
    """The place of a chunk that decides its section: the end of its first third."""
    end, filled = group[0].end, group[0].cost
    for unit in group[1:]:
        filled += unit.cost
        if filled - unit.cost > most / 3:
            break
        end = unit.end
    return end
