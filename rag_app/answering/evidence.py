"""Which sentences of the passages a writer is shown.

A small model reads slowly and is led astray by what stands beside the point, so it is shown the few
sentences that are likely to hold the answer, each with its neighbours, under the name of its
document and its heading. A row of a table counts as a sentence, and is shown with the names of its
columns. Which those are the ranker says; how many, how sure it is: sentences are taken in the order
of their odds until enough of the probability is among them, or the room is full."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from pathlib import Path

from rag_app.answering.sentence_ranker import Titled
from rag_app.answering.span_model import CELLS, log_sum
from rag_app.retrieval.ranking import words_held
from rag_app.retrieval.sentence_index import title
from rag_app.tables.bands import asked_for, choices, narrowed
from rag_app.tables.rows import LabelledRow
from rag_app.text.formats import TABLES
from rag_app.text.languages import is_english
from rag_app.text.sentences import one_line, sentences
from rag_app.text.structure import clauses, dated, is_older, named_cells, referred_to
from rag_app.types import Chunk, Citation, Passage, Span

CountTokens = Callable[[Sequence[str]], Sequence[int]]
Ranking = Callable[[str, Sequence[Titled]], Sequence[Sequence[float]]]
"""Question and passages to the log-odds of their sentences (see `sentence_ranker`)."""

RowsOf = Callable[[Chunk], Sequence[LabelledRow]]
"""The rows of tables that a chunk holds."""

SectionsOf = Callable[[Chunk], Sequence[Chunk]]
"""A chunk in pieces that stand under one heading each."""

_LIKELY = 2.0  # log-odds from which one in two holds it (benchmarks/LOG.md, 2026-11-26)
# Log-odds that a sentence in another language than English holds the answer: so much of the
# ranker's, so much for all pieces of the question's words, so little without any (LOG.md).
_RANKED, _WORDED, _NEITHER = 0.4, 7.6, -1.8

_NEIGHBOURS = 3  # sentences on each side of a likely one that are shown with it
_ENOUGH = 0.97  # of the probability lies among the chosen sentences, and
_LEAST = 450  # tokens are shown, or
_SURE, _LEAST_IF_SURE = 4.0, 200  # fewer where the likeliest sentence has such log-odds
_AROUND, _MARKS = 1, 5  # tokens around a sentence and a title
FAR = -2.0  # log-odds of its likeliest sentence, under which a place is not read beside others
_HARDLY = 1.5  # log-odds by which what is older is hardly likelier
_REFERRING = 2  # places that are read with the clause to which they refer, at most
LEFT_OUT = "…"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Sentences of one place in one document, in the order in which they stand there.

    `texts[i]` is the verbatim slice of the page at `spans[i]`; `lines[i]`: as it is shown;
    `gaps[i]`: something that is left out stands before it; `odds[i]`: log-odds that it holds the
    answer."""

    document_id: str
    name: str
    page: int
    heading: str
    spans: tuple[Span, ...]
    texts: tuple[str, ...]
    lines: tuple[str, ...]
    gaps: tuple[bool, ...]
    odds: tuple[float, ...]

    @property
    def in_sheet(self) -> bool:
        """Whether it is of a sheet: its rows say different things without contradiction."""
        return Path(self.name).suffix.lower() in TABLES

    @property
    def title(self) -> str:
        """What it is headed with; no names of columns, where they stand beside their cells."""
        named = all(CELLS not in line for line in self.lines)
        parts = [one for one in self.heading.split(" > ") if not (named and CELLS in one)]
        return title(self.name, " > ".join(parts))

    @property
    def shown(self) -> str:
        """Its text with a sign where something is left out."""
        shown: list[str] = []
        for line, gap in zip(self.lines, self.gaps, strict=True):
            shown += [LEFT_OUT, line] if gap else [line]
        return "\n".join(shown)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a passage, or a row, `start` and `end` counting in its page."""

    passage: int
    start: int
    end: int
    text: str
    line: str  # as it is shown
    row: bool
    odds: float = 0.0
    tokens: int = 0


def gather(
    wordings: Sequence[str],
    passages: Sequence[Passage],
    count_tokens: CountTokens,
    budget: int,
    ranking: Ranking | None = None,
    beside: str = "",
    rows: RowsOf | None = None,
) -> tuple[Excerpt, ...]:
    """The likeliest sentences with their neighbours, about `budget` tokens at most.

    `wordings`: the question, in one language or more; what suits one of them is enough. Without a
    ranking its words decide. What suits the wording `beside` them is shown, too, but is no likelier
    to hold the answer for that. The likeliest place comes last: a small model heeds most what it
    has just read."""
    ranking = ranking or _by_words
    split = [_units(passage.chunk, rows) for passage in passages]
    once = _each_once(passages, split)
    found = _fitting(wordings[0], _ranked(wordings, passages, split, once, ranking))
    wanted = found
    if beside:
        ranked = _ranked([*wordings, beside], passages, split, once, ranking)
        wanted = _fitting(wordings[0], ranked)
    titles = [title(p.name, p.chunk.heading) for p in passages]
    sizes = count_tokens([*titles, *(one.line for one in found)])
    sized = [
        replace(one, tokens=size + _AROUND)
        for one, size in zip(wanted, sizes[len(passages) :], strict=True)
    ]
    heads = dict(zip(titles, sizes, strict=False))
    chosen = _chosen(sized, [(text, heads[text] + _MARKS) for text in titles], budget)
    return _excerpts(passages, found, chosen)


def in_sections(passages: Sequence[Passage], sections: SectionsOf | None) -> Sequence[Passage]:
    """Passages that stand under one heading each: a chunk may begin with the end of the section
    before its own, which a model would take for a part of that."""
    if sections is None:
        return passages
    return [replace(one, chunk=piece) for one in passages for piece in sections(one.chunk)]


def places(excerpts: Sequence[Excerpt], question: str = "") -> list[tuple[Excerpt, ...]]:
    """What is read together, the likeliest first: each excerpt by itself, but those with rows of
    one section of a document, since the rest of a table says what its rows come to; and a clause
    with what refers to it by its number, since that may change what it says. What is likely and
    newer comes before what is older, but where the question names a year."""
    found: dict[tuple[str, ...], list[Excerpt]] = {}
    for number, one in enumerate(reversed(excerpts)):
        rows = any(CELLS in text for text in one.texts)
        section = [part for part in one.heading.split(" > ") if CELLS not in part]
        found.setdefault((one.document_id, *section) if rows else (str(number),), []).append(one)
    together = _with_references([tuple(reversed(group)) for group in found.values()])
    return _latest_first(together, bool(dated(question)))


def _latest_first(
    found: Sequence[tuple[Excerpt, ...]], of_a_year: bool
) -> list[tuple[Excerpt, ...]]:
    """The places, each that is likely before what it quotes, and before one that is older and
    hardly likelier: it was so before."""
    ordered: list[tuple[Excerpt, ...]] = []
    for place in found:
        later = [
            odds_of(place) >= EVEN
            and (quotes(one, place) or (not of_a_year and _gives_way(one, place)))
            for one in ordered
        ]
        ordered.insert(later.index(True) if True in later else len(ordered), place)
    return ordered


def _gives_way(place: Sequence[Excerpt], other: Sequence[Excerpt]) -> bool:
    """Whether a place is older than another, and hardly likelier. What stands in a sheet was so
    when it was written, and is so still."""
    sheets = any(one.in_sheet for one in (*place, *other))
    near = odds_of(place) - odds_of(other) <= _HARDLY
    return near and not sheets and is_before(place, other)


def is_before(place: Sequence[Excerpt], other: Sequence[Excerpt]) -> bool:
    """Whether a place is older than another, as far as their titles say when they were written."""
    return is_older(_written(place), _written(other))


def _written(place: Sequence[Excerpt]) -> tuple[int, ...]:
    """When the latest of it was written; empty where nothing says so."""
    return max((_date(one.heading, one.name) for one in place), default=())


def _date(heading: str, name: str) -> tuple[int, ...]:
    """As the innermost heading has it that is dated, or else the name of the document."""
    return next(filter(None, map(dated, (*reversed(heading.split(" > ")), name))), ())


def meet(span: Span, other: Span | Citation) -> bool:
    """Whether two places have something of a page in common."""
    same = (span.document_id, span.page) == (other.document_id, other.page)
    return same and span.start < other.end and other.start < span.end


def is_taken_back(span: Span, passages: Sequence[Passage]) -> bool:
    """Whether one of the passages is of a later day than the place, in the same document: a
    message that came after it may say otherwise."""
    ours = [one for one in passages if one.chunk.document_id == span.document_id]
    dates = {_date(one.chunk.heading, "") for one in ours if one.chunk.holds(span)}
    return any(
        is_older(date, _date(one.chunk.heading, "")) for date in dates for one in ours if date
    )


def quotes(place: Sequence[Excerpt], other: Sequence[Excerpt]) -> bool:
    """Whether a place is what a message quotes, and the other what it says itself."""
    of_one = {one.document_id for one in place} & {one.document_id for one in other}
    return bool(of_one) and _is_quoted(place) and not _is_quoted(other)


def _is_quoted(place: Sequence[Excerpt]) -> bool:
    """Whether most of a place is marked line by line as what another message said."""
    texts = [text for one in place for text in one.texts]
    return 2 * sum(text.startswith(">") for text in texts) > len(texts)


def _with_references(found: Sequence[tuple[Excerpt, ...]]) -> list[tuple[Excerpt, ...]]:
    """Each place with the likely ones that refer to its clause behind it, or, if it refers to the
    clause of one itself, behind that."""
    together: list[tuple[Excerpt, ...]] = []
    left = list(found)
    while left:
        place = left.pop(0)
        likely = [one for one in left if odds_of(one) >= FAR]
        referring = [one for one in likely if _refers(one, place)][:_REFERRING]
        referred = [one for one in likely if one not in referring and _refers(place, one)][:1]
        left = [one for one in left if one not in referring and one not in referred]
        together.append(tuple(chain(*referred, place, *referring)))
    return together


def odds_of(place: Sequence[Excerpt]) -> float:
    """Log-odds that the likeliest sentence of a place holds the answer."""
    return max((max(one.odds) for one in place), default=0.0)


def _refers(place: Sequence[Excerpt], other: Sequence[Excerpt]) -> bool:
    """Whether a place refers to the clause that the likeliest sentence of another is in."""
    likeliest = max(other, key=lambda one: max(one.odds))
    at = likeliest.odds.index(max(likeliest.odds))
    begun = max((number for number in range(at + 1) if likeliest.gaps[number]), default=0)
    numbers = clauses(likeliest.lines[begun : at + 1], likeliest.heading)
    return any(
        numbers & referred_to(text)
        for one in place
        if _may_refer(one.document_id, one.heading, likeliest.document_id)
        for text in one.texts
    )


def _may_refer(document_id: str, heading: str, other_id: str) -> bool:
    """Whether what stands under a heading may mean the clauses of another document, by their
    numbers: one that numbers its own means those."""
    return document_id == other_id or not clauses((), heading)


def is_referred_to(span: Span, passages: Sequence[Passage]) -> bool:
    """Whether any of the passages refers to the clause that a place is in by its number."""
    for chunk in (one.chunk for one in passages):
        placed = (chunk.document_id, chunk.page) == (span.document_id, span.page)
        if placed and chunk.start <= span.start < chunk.end:
            upto = chunk.text[: span.end - chunk.start].splitlines()
            numbers = clauses(upto, chunk.heading)
            return any(
                numbers & referred_to(one.text)
                for one in (passage.chunk for passage in passages)
                if _may_refer(one.document_id, one.heading, span.document_id)
            )
    return False


_NUMBERING = re.compile(r"^[\d.()\s]*")
_TELLS = 20  # characters: scripts without spaces have one word
CLOSEST, EVEN = 3, 0.0
"""Of an abstention so many sentences are shown at most, but for the first from these log-odds on:
of 108 questions of strangers evidence is among them in 48, the first alone in 31 (LOG)."""


def closest(
    excerpts: Sequence[Excerpt], most: int = 1, least: float = -math.inf
) -> list[tuple[Span, str]]:
    """The sentences that most likely hold the answer, the likeliest first; the others only from
    log-odds of `least` on."""
    ranked = [
        (odds, span, text)
        for one in excerpts
        for odds, span, text in zip(one.odds, one.spans, one.texts, strict=True)
        if _says_something(text)
    ]
    ranked.sort(key=lambda one: -one[0])
    shown = _shown([odds for odds, _, _ in ranked], most, least)
    return [(span, text) for _, span, text in ranked[:shown]]


def _shown(odds: Sequence[float], most: int, least: float) -> int:
    """How many of them, the highest first, come nearest: the first, others from `least` on."""
    return len(odds[:1]) + sum(one >= least for one in odds[1:most])


def _says_something(text: str) -> bool:
    """Whether a sentence or row is more than a heading or figures that nobody names."""
    said = _NUMBERING.sub("", one_line(text))
    words = len(said.split())
    lettered = any(map(str.isalpha, said))
    row = CELLS in text
    return lettered and (row or words > 2 or len(said) >= _TELLS or any(map(str.isdigit, said)))


def likeliest(
    wordings: Sequence[str],
    passages: Sequence[Passage],
    ranking: Ranking,
    rows: RowsOf | None = None,
    least: float = _LIKELY,
) -> Span | None:
    """Of all sentences and rows of the passages the one that most likely holds the answer, as
    `gather` ranks them; None where there is none, or none with log-odds of `least`."""
    best = _likeliest_first(wordings, passages, ranking, rows)[:1]
    return best[0][0] if best and best[0][1] >= least else None


def nearest(
    wordings: Sequence[str],
    passages: Sequence[Passage],
    ranking: Ranking,
    rows: RowsOf | None = None,
) -> tuple[Span, ...]:
    """Those of them that come nearest where nothing is answered: see `CLOSEST`."""
    ranked = _likeliest_first(wordings, passages, ranking, rows)
    shown = _shown([odds for _, odds in ranked], CLOSEST, EVEN)
    return tuple(span for span, _ in ranked[:shown])


def _likeliest_first(
    wordings: Sequence[str],
    passages: Sequence[Passage],
    ranking: Ranking,
    rows: RowsOf | None,
) -> list[tuple[Span, float]]:
    """All sentences and rows, each with the log-odds that it holds the answer."""
    split = [_units(passage.chunk, rows) for passage in passages]
    ranked = _ranked(wordings, passages, split, _each_once(passages, split), ranking)
    found = _fitting(wordings[0], ranked)
    placed = [
        (Span(chunk.document_id, chunk.page, one.start, one.end), one.odds)
        for one in found
        for chunk in [passages[one.passage].chunk]
        if _says_something(one.text)
    ]
    return sorted(placed, key=lambda one: -one[1])


_MARKED = re.compile(r"#{1,6}\s+")  # a heading in Markdown
_Unit = tuple[int, int, str, bool]  # place in a chunk, as it is shown, whether it is a row


def _units(chunk: Chunk, rows: RowsOf | None) -> list[_Unit]:
    """The rows of tables in a chunk, and the sentences of what stands around them, in order. A row
    with signs between its cells is a sentence as others, and shown with the names of columns."""
    held: list[_Unit] = []
    named: list[tuple[int, int, str]] = []
    for row in rows(chunk) if rows else ():
        start, end = max(0, row.start - chunk.start), min(row.end, chunk.end) - chunk.start
        if CELLS in chunk.text[start:end]:
            named.append((start, end, row.text))
        else:
            held.append((start, end, row.text, True))
    around: list[_Unit] = []
    for start, end in sentences(chunk.text):
        for a, b, _, _ in [*held, (end, end, "", False)]:
            if b > start:
                left = _stripped(chunk.text, start, min(a, end))
                if left:
                    around.append((*left, _line(chunk, *left, named), False))
                start = max(start, b)
    return sorted([*held, *around])


def _line(chunk: Chunk, start: int, end: int, named: Sequence[tuple[int, int, str]]) -> str:
    """A sentence as it is shown; if it is a row, with the names of its columns."""
    text = chunk.text[start:end]
    if CELLS not in text:
        return one_line(text)
    inside = [said for a, b, said in named if said and start <= a and b <= end]
    return "\n".join(inside) or _named_row(chunk, start, end) or one_line(text)


def _named_row(chunk: Chunk, start: int, end: int) -> str:
    """The same of a row of a table that was not read as one: as what stands above it, or heads it,
    names its columns; "" where nothing does."""
    first = chunk.text.rfind("\n", 0, start) + 1
    last = chunk.text.find("\n", end)
    beside = chunk.text[first:start] + chunk.text[end : last if last >= 0 else None]
    if beside.strip(" \t|") or "\n" in chunk.text[start:end]:
        return ""
    columns = chunk.heading.rpartition(" > ")[2]
    return named_cells(chunk.text, first, columns if CELLS in columns else "")


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    """A piece of a text without the space around it; None if there is no letter or figure in it."""
    piece = text[start:end]
    if end <= start or not any(c.isalnum() for c in piece):
        return None
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def _each_once(passages: Sequence[Passage], split: Sequence[Sequence[_Unit]]) -> list[_Sentence]:
    """The sentences of the passages, each once, those of a passage next to each other."""
    found: dict[tuple[str, int, int], _Sentence] = {}
    for index, (passage, units) in enumerate(zip(passages, split, strict=True)):
        chunk = passage.chunk
        title = one_line(chunk.heading.rpartition(" > ")[2])
        for start, end, line, row in units:
            if _MARKED.sub("", line) not in ("", title):  # which is shown above the others
                at, text = chunk.start + start, chunk.text[start:end]
                one = _Sentence(index, at, chunk.start + end, text, line, row)
                found.setdefault((chunk.document_id, chunk.page, at), one)
    return list(found.values())


def relevance(
    question: str,
    passages: Sequence[Passage],
    ranking: Ranking,
    sections: SectionsOf | None = None,
) -> list[float]:
    """For each passage the log-odds that any of its sentences holds the answer."""
    pieces = [in_sections([passage], sections) for passage in passages]
    titled = [_titled(one, sentences(one.chunk.text)) for own in pieces for one in own]
    scored = iter(_scored(question, titled, ranking))
    return [log_sum([odds for _ in own for odds in next(scored)]) for own in pieces]


def _titled(passage: Passage, cuts: Sequence[tuple[int, int]]) -> Titled:
    chunk = passage.chunk
    return Titled(title(passage.name, chunk.heading), chunk.text, tuple(cuts))


def _ranked(
    wordings: Sequence[str],
    passages: Sequence[Passage],
    split: Sequence[Sequence[_Unit]],
    found: Sequence[_Sentence],
    ranking: Ranking,
) -> list[_Sentence]:
    """The sentences with the odds that the ranker gives them, for the wording that suits best."""
    cuts = [[unit[:2] for unit in units] for units in split]
    titled = [_titled(*one) for one in zip(passages, cuts, strict=True)]
    best: dict[tuple[int, int], float] = {}
    for wording in wordings:
        scored = _scored(wording, titled, ranking)
        for index, (one, scores) in enumerate(zip(titled, scored, strict=True)):
            first = passages[index].chunk.start
            for (start, _), odds in zip(one.sentences, scores, strict=True):
                place = (index, first + start)
                best[place] = max(odds, best.get(place, odds))
    return [replace(one, odds=best[one.passage, one.start]) for one in found]


def _fitting(question: str, found: Sequence[_Sentence]) -> list[_Sentence]:
    """The sentences without those that hold for other quantities or days than those the question
    names; what holds for them is as likely as any of it, and shown with what it holds for."""
    asked = asked_for(question)
    if not asked:
        return list(found)
    fitting = [replace(one, line=narrowed(asked, one.line)) for one in found]
    left_out: set[int] = set()
    for _, run in groupby(range(len(found)), key=lambda at: found[at].passage):
        places = list(run)
        for choice in choices(asked, [fitting[at].line for at in places]):
            likely = max(found[places[n]].odds for n in choice.inside | choice.outside)
            for at in (places[n] for n in choice.inside):
                line = f"{choice.asked}: {fitting[at].line}"
                fitting[at] = replace(found[at], odds=max(likely, fitting[at].odds), line=line)
            left_out.update(places[n] for n in choice.outside)
    return [one for at, one in enumerate(fitting) if at not in left_out]


def _scored(
    question: str, passages: Sequence[Titled], ranking: Ranking
) -> Sequence[Sequence[float]]:
    """The ranker's log-odds. It was taught English alone: what is written in another language, and
    asked for in another, is as likely as both it and the question's words make it."""
    scored = ranking(question, passages)
    if is_english(question):
        return scored
    held = words_held(question, _sentences(passages))
    return [
        ranked
        if is_english(one.text)
        else [
            _RANKED * odds + _WORDED * share + _NEITHER
            for odds, share in zip(ranked, shares, strict=True)
        ]
        for one, ranked, shares in zip(passages, scored, held, strict=True)
    ]


def _by_words(question: str, passages: Sequence[Titled]) -> list[list[float]]:
    """A ranking by the question's words, where the ranker cannot be used."""
    return [
        [_WORDED * share + _NEITHER for share in one]
        for one in words_held(question, _sentences(passages))
    ]


def _sentences(passages: Sequence[Titled]) -> list[tuple[str, list[str]]]:
    return [(one.title, [one.text[a:b] for a, b in one.sentences]) for one in passages]


def _chosen(found: Sequence[_Sentence], titles: Sequence[tuple[str, int]], budget: int) -> set[int]:
    """The likeliest sentences with their neighbours, until they are enough.

    `titles`: of each passage, with its size."""
    total = log_sum([one.odds for one in found])
    chosen: set[int] = set()
    titled: set[str] = set()
    used, among = 0, 0.0
    ranked = sorted(range(len(found)), key=lambda index: -found[index].odds)
    sure = bool(ranked) and found[ranked[0]].odds >= _SURE
    for at in ranked:
        if among >= _ENOUGH and used >= (_LEAST_IF_SURE if sure else _LEAST):
            break
        if at in chosen:
            continue
        head, size = titles[found[at].passage]
        for group in (_around(found, at), [at]):
            new = [index for index in group if index not in chosen]
            cost = sum(found[index].tokens for index in new) + size * (head not in titled)
            if used + cost <= budget or (not chosen and group == [at]):
                chosen.update(new)
                titled.add(head)
                used += cost
                among += sum(math.exp(found[index].odds - total) for index in new)
                break
    return chosen


def _around(found: Sequence[_Sentence], at: int) -> list[int]:
    """A sentence and its neighbours in the same passage; a row of a table stands for itself."""
    if found[at].row or CELLS in found[at].text:
        return [at]
    near = range(max(0, at - _NEIGHBOURS), min(len(found), at + _NEIGHBOURS + 1))
    return [index for index in near if found[index].passage == found[at].passage]


def _excerpts(
    passages: Sequence[Passage], found: Sequence[_Sentence], chosen: set[int]
) -> tuple[Excerpt, ...]:
    """The chosen sentences by document, page and heading, the likeliest place last."""
    places: dict[tuple[str, int, str], list[int]] = {}
    for index in sorted(chosen, key=lambda index: found[index].start):
        chunk = passages[found[index].passage].chunk
        places.setdefault((chunk.document_id, chunk.page, chunk.heading), []).append(index)
    ordered = sorted(places.items(), key=lambda item: max(found[i].odds for i in item[1]))
    return tuple(
        Excerpt(
            *(document, passages[found[indices[0]].passage].name, page, heading),
            tuple(Span(document, page, found[i].start, found[i].end) for i in indices),
            tuple(found[i].text for i in indices),
            tuple(found[i].line for i in indices),
            tuple(_is_gap(found, a, b) for a, b in zip([-1, *indices], indices, strict=False)),
            tuple(found[i].odds for i in indices),
        )
        for (document, page, heading), indices in ordered
    )


def _is_gap(found: Sequence[_Sentence], before: int, index: int) -> bool:
    """Whether sentences are left out between two that are shown one after the other."""
    if before < 0:
        return False
    same = found[before].passage == found[index].passage
    return index != before + 1 if same else found[index].start > found[before].end + 3
