"""Pages into chunks, and chunks into vectors.

A chunk is an exact slice of its page: `page.text[chunk.start:chunk.end] == chunk.text`. Chunks do
not overlap, and every character that is not white space is in exactly one of them, but for the
heads and feet that run through the pages of a document. Lengths in tokens are estimates.

Each vector leans a little to the head of its page, since a table's rows say nothing of which table
they are in. The head is embedded once a page and mixed in, which costs a fraction of embedding it
with every chunk (benchmarks/LOG.md, 2026-11-21). Knows nothing of files."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise

from rag_app.retrieval.embedding import Embedder
from rag_app.storage import Indexed
from rag_app.text.languages import ALPHABETS, SIGNS, healed
from rag_app.text.sentences import sentences
from rag_app.text.structure import SectionPaths, columns_above, guess_headings, outline, own_texts
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
_UNDER = " > "  # between the headings of a path
_LONGEST_PAGE = 20_000  # characters of one in which headings are looked for while somebody waits
# The head of a page: its first lines, without what runs through the whole document. Pure.
#
# "CONSOLIDATED BALANCE SHEETS" stands in the first passage of a page only, and says what the others
# are about.

_LINES = 8  # looked at, of those that hold a word
_CHARACTERS = 160
_RUNNING = 0.1  # share of the pages from which a line is a running head
_FEW = 3  # pages that may begin alike

_WORD = re.compile(r"[^\W\d_]{2}")


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
    sections = SectionPaths(outline(pages, spans, headings) if headings else guessed)
    marks = defaultdict[int, set[int]](set)
    for each in (*headings, *guessed):
        marks[each.page].add(each.start)
    chunks: list[Chunk] = []
    for page, sentence_spans in zip(pages, spans, strict=True):
        units = list(_units(page.text, sentence_spans, marks[page.number], max_tokens))
        for group in _groups(units, max_tokens):
            start, end = group[0].start, group[-1].end
            path = sections.path(page.number, _anchor(group, max_tokens))
            path = _joined(path, columns_above(page.text, start))
            chunks.append(
                Chunk(document_id, page.number, len(chunks), start, end, page.text[start:end], path)
            )
    return chunks


def sections_of(chunk: Chunk, page: Page, headings: Sequence[Heading]) -> list[Chunk]:
    """The pieces of a chunk, each under the heading that it stands under itself.

    `headings`: those that a reader found in the document; without any, those of the page are
    guessed, which stand under what the chunk's own one stands under."""
    whole = page.text[chunk.start : chunk.end] == chunk.text and len(page.text) <= _LONGEST_PAGE
    found = _outline(page, tuple(headings)) if whole else ()
    starts = {one.start for one in found if one.page == page.number}
    cuts = sorted(start for start in starts if chunk.start < start < chunk.end)
    if not cuts:
        return [chunk]
    sections = SectionPaths(found)
    spans = list(pairwise([chunk.start, *cuts, chunk.end]))
    paths = [sections.path(page.number, end) for _, end in spans]
    if not headings:
        columns = columns_above(page.text, chunk.start)
        own = chunk.heading.removesuffix(columns).removesuffix(_UNDER)
        paths = _below(own, paths, begins=sections.path(page.number, chunk.start + 1) != "")
    return [
        replace(chunk, start=start, end=end, text=page.text[start:end], heading=heading)
        for (start, end), path in zip(spans, paths, strict=True)
        for heading in [_joined(path, columns_above(page.text, start))]
        if page.text[start:end].strip()
    ]


@lru_cache(maxsize=256)
def _outline(page: Page, headings: Sequence[Heading]) -> Sequence[Heading]:
    return outline([page], [sentences(page.text)], headings)


def _below(own: str, paths: Sequence[str], begins: bool) -> list[str]:
    """Paths that are known from one page alone, below what the page stands under, as the path that
    a chunk has says; `begins`: the first of them begins on the page."""
    known = (f"{_UNDER}{path}" for path in sorted(paths, key=len, reverse=True) if path)
    same = next((one for one in known if f"{_UNDER}{own}".endswith(one)), None)
    if same is not None:
        above = f"{_UNDER}{own}".removesuffix(same).removeprefix(_UNDER)
        return [_joined(above, path) for path in paths]
    above = own.rpartition(_UNDER)[0]  # the chunk is named by what began on a page before
    first, *others = paths
    return [_joined(above, first) if begins else own, *(_joined(above, path) for path in others)]


def _joined(*paths: str) -> str:
    return _UNDER.join(filter(None, paths))


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


def page_heads(pages: Sequence[Page]) -> dict[int, str]:
    """By page number: what a page begins with; pages without a word are left out."""
    tops = {page.number: _top(page.text) for page in pages}
    often = Counter(line.lower() for top in tops.values() for line in set(top))
    most = max(_FEW, _RUNNING * len(pages))
    heads = {
        number: " ".join(line for line in top if often[line.lower()] <= most)[:_CHARACTERS].strip()
        for number, top in tops.items()
    }
    return {number: head for number, head in heads.items() if head}


def _top(text: str) -> list[str]:
    """The first lines with a word in them, their white space single."""
    worded = (" ".join(line.split()) for line in text.splitlines() if _WORD.search(line))
    return list(islice(worded, _LINES))


_LEANING = 0.3  # length of the head's part beside the chunk's own


class Placing:
    """Makes the vectors of one document's chunks."""

    def __init__(
        self, embedder: Embedder, pages: Sequence[Page], indexed: Sequence[Indexed]
    ) -> None:
        self._embedder = embedder
        shared = Counter(one.chunk.page for one in indexed)
        # What is alone on its page holds the head already.
        self._heads = {n: head for n, head in page_heads(pages).items() if shared[n] > 1}

    def embed(self, step: Sequence[Indexed]) -> list[list[float]]:
        """One vector a chunk, in their order. Raises ModelUnavailable."""
        model = self._embedder.fingerprint
        numbers = [n for n in dict.fromkeys(one.chunk.page for one in step) if n in self._heads]
        made = self._embedder.embed_documents([self._heads[n] for n in numbers]) if numbers else []
        heads = dict(zip(numbers, made, strict=True))
        vectors = self._embedder.embed_documents([one.for_embedding for one in step])
        if self._embedder.fingerprint == model:  # else another model has taken over in between
            for place, one in enumerate(step):
                if one.chunk.page in heads:
                    vectors[place] = leaning(vectors[place], heads[one.chunk.page])
        return vectors


def leaning(vector: Sequence[float], head: Sequence[float]) -> list[float]:
    """A unit vector between a chunk's and its page head's, nearer to the chunk's."""
    mixed = [x + _LEANING * y for x, y in zip(vector, head, strict=True)]
    length = math.sqrt(sum(x * x for x in mixed))
    return [x / length for x in mixed] if length else list(vector)
