"""Answers worked out from lines of statements: "revenue of 2019 over the mean of property".

The writer reads the question alone and says which lines of which years it takes, and what is done
with them. It sees no figure, so it can make none up: code finds the lines that are called so, works
the result out in decimals, and cites them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, DecimalException
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_app.answering.abstention import chance_of
from rag_app.answering.arithmetic import as_shown, may_be_used, rounded
from rag_app.answering.attribution import invented, known_figures
from rag_app.answering.chat_generator import language_of
from rag_app.answering.generation import Cancelled, Tokens, Writer
from rag_app.answering.prompts import CALCULATE, Message, said_by
from rag_app.errors import ModelUnavailable
from rag_app.retrieval.embedding import Embedder
from rag_app.scope import Scope
from rag_app.storage import Store
from rag_app.storage.vectors import unit
from rag_app.tables.computing import said
from rag_app.tables.line_items import LineItem, line_items, years_of
from rag_app.text.sentences import one_line
from rag_app.types import (
    Basis,
    Cell,
    Computation,
    Draft,
    Note,
    NoteKind,
    Passage,
    RowsUsed,
    Span,
)

_LINE = re.compile(r'([a-z]) = line\("([^"]{1,120})", "([^"]{0,80})", (\d{4})\)')
_RESULT, _SAY = re.compile(r"result = (.+)"), re.compile(r'say = "(.*)"')
_NOTHING, _NOTHING_IS_SURE = "None", 0.95  # benchmarks/LOG.md
_BEGUN = 'a = line("'
_PERCENT = "percent"
_YEAR = re.compile(r"(?:19|20)\d\d|\bFY ?['’]?\d\d", re.IGNORECASE)
_MOST_LINES, _LONGEST = 12, 200  # of a calculation; characters of what is worked out
_FIRST = 4  # passages of which one has to lie on a page with a statement
_HEAD = 300  # characters at the beginning of a page
_LARGEST_POWER = 40
# What lines are called that are written in brackets in a cash flow or an income statement though
# one speaks of them as amounts, and those whose brackets say that they are losses.
_OUTLAYS = (
    "Capital expenditures", "Purchases of property and equipment", "Dividends paid",
    "Repurchases of common stock", "Repayments of long-term debt", "Acquisitions, net of cash",
    "Cost of sales", "Operating expenses", "Interest expense", "Income tax expense",
)  # fmt: skip
_LOSSES = (
    "Operating income (loss)", "Net loss", "Loss before income taxes", "Accumulated deficit",
    "Net cash used in investing activities", "Change in accounts payable", "Loss per share",
    "Other income (expense), net", "Effect of exchange rates on cash", "Comprehensive loss",
)  # fmt: skip
_SCALE = re.compile(r"\b(thousand|million|billion)s?\b", re.IGNORECASE)
_IN_SCALE = re.compile(r"\bin\s+(?:\S+\s+){0,3}?(thousand|million|billion)s\b", re.IGNORECASE)
_SCALES = {"thousand": 3, "million": 6, "billion": 9}
# How much a line is the one that was meant: what it is called, by meaning and by its words, whether
# it stands on a page that begins like such a statement, or was found, and among many lines.
_BY_MEANING, _BY_WORDS, _STATEMENT, _FOUND, _MANY = 0.6, 0.4, 0.25, 0.05, 0.1
_LEAST = 0.55  # of being called so
# Of being right, as log-odds: by hand, after 13 calculations (benchmarks/LOG.md, 2026-11-25).
_BIAS, _ALIKE, _SURE = -5.0, 2.0, 10.0


@dataclass(frozen=True, slots=True)
class WantedLine:
    """A line that the writer takes: what it may be called, in which statement, and the year."""

    name: str
    statement: str
    year: int


@dataclass(frozen=True, slots=True)
class Calculation:
    """What the writer takes, what it does with that, and the sentence around the result."""

    lines: Mapping[str, WantedLine]
    expression: ast.expr
    written: str
    percent: bool
    say: str


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line of a statement with its figure in the year that is wanted."""

    item: LineItem
    year: int
    likeness: float  # 0 to 1: how much it is called what was wanted
    scale: int = 0  # of its figures: 6 where they are in millions
    outlay: bool = False  # what is paid: written as less than nothing, spoken of as more

    @property
    def value(self) -> Decimal:
        """The figure as it is spoken of."""
        value = self.item.by_year[self.year].value
        return -value if self.outlay else value


@dataclass(frozen=True, slots=True)
class Worked:
    """A value with its degree in amounts of money or things: 1 is an amount, 0 a ratio."""

    value: Decimal
    degree: int = 0


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A line that may be meant, and how much its table speaks for it."""

    item: LineItem
    head: str  # of its page, which says whose statement stands there
    bonus: float
    scale: int  # the power of ten of its figures


def understood(reply: str) -> Calculation | None:
    """A reply of the writer; None: it is no calculation, or says that there is none."""
    lines = {
        found[1]: WantedLine(found[2], found[3], int(found[4])) for found in _LINE.finditer(reply)
    }
    result, say = _RESULT.search(reply), _SAY.search(reply)
    if not 1 <= len(lines) <= _MOST_LINES or result is None or say is None:
        return None
    written = result[1].strip()
    try:
        parsed = ast.parse(written[:_LONGEST], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    percent = False
    if isinstance(parsed, ast.Call) and isinstance(parsed.func, ast.Name) and len(parsed.args) == 1:
        percent = parsed.func.id == _PERCENT
        parsed, written = parsed.args[0], written[len(_PERCENT) + 1 : -1]
    used = {one.id for one in ast.walk(parsed) if isinstance(one, ast.Name)}
    if not used or not used <= lines.keys():
        return None
    kept = {name: line for name, line in lines.items() if name in used}
    return Calculation(kept, parsed, written, percent, say[1])


def worked_out(node: ast.expr, values: Mapping[str, Decimal], known: frozenset[str]) -> Worked:
    """What an expression over lines comes to; `known`: other figures that may be used.

    Raises ValueError or DecimalException for what makes no sense."""
    match node:
        case ast.Name(name):
            return Worked(values[name], 1)
        case ast.Constant(int() | float() as number) if not isinstance(number, bool):
            value = Decimal(str(number))
            if not may_be_used(value, known):
                raise ValueError(f"{number} stands nowhere")
            return Worked(value)
        case ast.UnaryOp(ast.USub(), operand):
            inner = worked_out(operand, values, known)
            return Worked(-inner.value, inner.degree)
        case ast.BinOp(left, sign, right):
            return _joined(worked_out(left, values, known), sign, worked_out(right, values, known))
    raise ValueError("no calculation")


def _joined(left: Worked, sign: ast.operator, right: Worked) -> Worked:
    a, b = left.value, right.value
    match sign:
        case ast.Add() | ast.Sub():
            if left.degree != right.degree:
                raise ValueError("an amount and a ratio are not added")
            return Worked(a + b if isinstance(sign, ast.Add) else a - b, left.degree)
        case ast.Mult():
            return Worked(a * b, left.degree + right.degree)
        case ast.Div():
            return Worked(a / b, left.degree - right.degree)
        case ast.Pow() if not left.degree and not right.degree and abs(b) <= _LARGEST_POWER:
            return Worked(a**b)
    raise ValueError("no calculation")


def calculation_messages(question: str) -> list[Message]:
    """What a writer is asked for a calculation: examples, and then the question."""
    turns = [turn for asked, reply in _examples() for turn in (("human", asked), ("ai", reply))]
    return [("system", CALCULATE), *turns, ("human", one_line(question))]


@cache
def _examples() -> tuple[tuple[str, str], ...]:
    text = files("rag_app.answering").joinpath("calculations.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    return tuple((row["question"], row["reply"]) for row in rows)


@dataclass
class Calculations:
    """Answers questions over statements that a scope sees, by calculations of a writer."""

    store: Store
    scope: Scope
    writer: Writer
    embedder: Embedder
    caution: float
    taught: bool = True  # whether the writer says how sure it is
    watch: Callable[[Calculation, Mapping[str, FoundLine], float], None] | None = None
    _vectors: dict[str, NDArray[Any]] = field(default_factory=dict)

    def wants(self, question: str, passages: Sequence[Passage]) -> bool:
        """Whether a year is named, and a statement, a table of more than one year, is on a page
        that was found first. The writer reads the question alone: without a year it has none."""
        if not _YEAR.search(question):
            return False
        first = {(p.chunk.document_id, p.chunk.page) for p in passages[:_FIRST]}
        tables = self.store.tables.of(self.scope, list({document for document, _ in first}))
        return any(
            len(years_of(table)) > 1
            for table in tables
            for document, page in first
            if table.document_id == document and table.first_page <= page <= table.last_page
        )

    def answer(
        self,
        question: str,
        passages: Sequence[Passage],
        language: str,
        cancelled: Cancelled,
    ) -> Draft | None:
        """The draft with the lines that it rests on; None: it is no question for these."""
        reply, heard = self._reply(question, cancelled)
        calculation = understood(reply)
        if calculation is None or cancelled():
            return None
        try:
            found = self._found(calculation, passages)
        except ModelUnavailable:
            return None
        if found is None or len({one.scale for one in found.values()}) > 1:
            return None  # lines of one statement are in one scale
        chance = _chance(found, heard)
        if self.watch:
            self.watch(calculation, found, chance)
        if chance < self.caution:
            return None
        draft = _draft(calculation, found, question, language or language_of(question), chance)
        if draft is None or draft.computation is None:
            return None
        used = self._rows_used(found, {p.chunk.document_id: p.name for p in passages})
        return replace(draft, computation=replace(draft.computation, used=tuple(used)))

    def _reply(self, question: str, cancelled: Cancelled) -> tuple[str, Tokens]:
        """What the writer says, and its tokens. Where it is not quite sure that there is nothing to
        be worked out, it is made to go on as if there were: how sure it is then is weighed."""
        messages = calculation_messages(question)
        if not self.taught:
            return said_by(self.writer.write(lambda _: messages, cancelled)), ()
        first: list[float] = []
        heard: list[tuple[str, float]] = []
        reply = said_by(
            self.writer.write_on("", lambda _: messages, first.append, cancelled, heard.extend)
        )
        if not reply.startswith(_NOTHING) or not first or first[0] >= _NOTHING_IS_SURE:
            return reply, heard
        heard = []
        rest = self.writer.write_on(
            _BEGUN, lambda _: messages, lambda _: None, cancelled, heard.extend
        )
        return _BEGUN + said_by(rest), heard

    def _found(
        self, calculation: Calculation, passages: Sequence[Passage]
    ) -> dict[str, FoundLine] | None:
        """The lines that are taken; None: one of them is not there in its year."""
        document = _likeliest(passages)
        pages = {p.chunk.page for p in passages if p.chunk.document_id == document}
        wanted = calculation.lines.values()
        candidates = list(self._candidates(document, {line.year for line in wanted}, pages))
        found: dict[str, FoundLine] = {}
        for name, line in calculation.lines.items():
            years = {one.year for one in wanted if replace(one, year=line.year) == line}
            one = self._nearest(line, candidates, years)
            if one is None:
                return None
            found[name] = one
        return found

    def _candidates(self, document: str, years: set[int], pages: set[int]) -> Iterator[_Candidate]:
        for table in self.store.tables.of(self.scope, [document]):
            if years.isdisjoint(years_of(table)):
                continue
            many = _MANY * min(1.0, table.rows / 20)
            text = self.store.page(document, table.first_page, self.scope).text
            items = list(line_items(self.store.tables, table))
            scale = _scale(text, items)
            whole = 2 * sum(item.is_whole for item in items) > len(items)
            for item in items:
                bonus = many + (_FOUND if item.place.page in pages else 0.0)
                # A figure with decimals among whole ones is a share, or one for each share.
                own = scale if item.is_whole or not whole else 0
                yield _Candidate(item, one_line(text[:_HEAD]), bonus, own)

    def _nearest(
        self, wanted: WantedLine, candidates: Sequence[_Candidate], together: set[int]
    ) -> FoundLine | None:
        """The line that is most likely meant; one that has all years that are wanted of it goes
        before others."""
        from rapidfuzz.fuzz import token_sort_ratio
        from rapidfuzz.utils import default_process

        there = [one for one in candidates if wanted.year in one.item.by_year]
        labels = list({one.item.label for one in there})
        by_words = {
            label: token_sort_ratio(wanted.name, label, processor=default_process) / 100
            for label in labels
        }
        if not labels:
            return None
        [near] = self._normed([wanted.name]) @ self._normed(labels).T
        by_meaning: dict[str, float] = dict(zip(labels, near.tolist(), strict=True))
        heads = list({one.head for one in there})
        [near] = self._normed([wanted.statement or wanted.name]) @ self._normed(heads).T
        of_statement: dict[str, float] = dict(zip(heads, near.tolist(), strict=True))

        def likeness(one: _Candidate) -> float:
            label = one.item.label
            return _BY_MEANING * by_meaning[label] + _BY_WORDS * by_words[label]

        def score(one: _Candidate) -> float:
            whole = together <= one.item.by_year.keys()
            return likeness(one) + _STATEMENT * of_statement[one.head] + one.bonus + whole

        best = max(there, key=score, default=None)
        if best is None or likeness(best) < _LEAST:
            return None
        outlay = self._is_outlay(best.item)
        return FoundLine(best.item, wanted.year, likeness(best), best.scale, outlay)

    def _rows_used(
        self, found: Mapping[str, FoundLine], names: Mapping[str, str]
    ) -> list[RowsUsed]:
        """The lines with the figures that were taken, table by table."""
        by_table: dict[int, list[FoundLine]] = {}
        for one in found.values():
            by_table.setdefault(one.item.table.ordinal, []).append(one)
        return [self._rows_of(taken, names) for taken in by_table.values()]

    def _rows_of(self, taken: Sequence[FoundLine], names: Mapping[str, str]) -> RowsUsed:
        table = taken[0].item.table
        years = sorted({one.year for one in taken}, reverse=True)
        lines = {one.item.place: one.item for one in taken}
        wanted = {(one.item.place, one.year) for one in taken}
        rows = []
        for row, (place, line) in enumerate(lines.items()):
            figures = [line.by_year[y].span if (place, y) in wanted else None for y in years]
            cells = enumerate((place, *figures))
            rows.append(tuple(self._cell(row, column, at) for column, at in cells))
        columns = ("", *map(str, years))
        name, called = names.get(table.document_id, ""), table.name or table.title
        return RowsUsed(table.document_id, name, called, columns, len(rows), tuple(rows))

    def _cell(self, row: int, column: int, place: Span | None) -> Cell:
        if place is None:
            return Cell(row, column, "", None, 0, 0, 0)
        text = self.store.page(place.document_id, place.page, self.scope).text
        return Cell(
            *(row, column, text[place.start : place.end], None),
            *(place.page, place.start, place.end),
        )

    def _is_outlay(self, item: LineItem) -> bool:
        """Whether all figures of a line are below nothing because it is paid, not because it is
        a loss: by the examples that it is called like."""
        if any(figure.value >= 0 for figure in item.by_year.values()):
            return False
        [near] = self._normed([item.label]) @ self._normed([*_OUTLAYS, *_LOSSES]).T
        return int(near.argmax()) < len(_OUTLAYS)

    def _normed(self, texts: Sequence[str]) -> NDArray[Any]:
        """Their vectors, a row each, of length 1."""
        new = [one for one in dict.fromkeys(texts) if one not in self._vectors]
        if new:
            made = unit(np.asarray(self.embedder.embed_documents(new), dtype=np.float32))
            self._vectors.update(zip(new, made, strict=True))
        return np.stack([self._vectors[one] for one in texts])


def _scale(page: str, items: Sequence[LineItem]) -> int:
    """The power of ten of a table's figures, where its page says it above them; 0: it does not."""
    begin = min((item.place.start for item in items), default=0)
    above = [match[1] for match in _IN_SCALE.finditer(page[:begin])]
    return _SCALES[above[-1].lower()] if above else 0


def _likeliest(passages: Sequence[Passage]) -> str:
    """The document that most of what was found stands in, the first passages counting most."""
    weight: dict[str, float] = {}
    for rank, passage in enumerate(passages):
        document = passage.chunk.document_id
        weight[document] = weight.get(document, 0.0) + 1 / (2 + rank)
    return max(weight, key=lambda one: weight[one])


def _chance(found: Mapping[str, FoundLine], heard: Tokens) -> float:
    """Of being right: how much the lines are called so, and how sure the writer was."""
    alike = min(one.likeness for one in found.values())
    sure = min((chance for _, chance in heard), default=0.5)
    return chance_of(_BIAS + _ALIKE * alike + _SURE * sure)


def _draft(
    calculation: Calculation,
    found: Mapping[str, FoundLine],
    question: str,
    language: str,
    chance: float,
) -> Draft | None:
    """The sentence with its figure; None where it comes to nothing that can be said."""
    scale = next(one.scale for one in found.values())
    values = {name: one.value.scaleb(one.scale) for name, one in found.items()}
    known = frozenset(known_figures(question))
    try:
        worked = worked_out(calculation.expression, values, known)
    except (ValueError, DecimalException, KeyError, OverflowError):
        return None
    shown = _said(worked, calculation.percent, scale, question, language)
    if shown is None or "{0}" not in calculation.say:
        return None
    if invented(calculation.say.replace("{0}", ""), set(known)):
        return None
    alone = isinstance(calculation.expression, ast.Name) and not calculation.percent
    steps = _steps(calculation, found)
    notes = () if alone else (Note(NoteKind.COMPUTED, (f"{steps} = {shown}",)),)
    said_of = re.sub(r"\{0\}\s?%", "{0}", calculation.say)
    sentences = [said_of.replace("{0}", shown)]
    if not alone:
        sentences = [f"{sentences[0]} ", _figures(found, language)]
    return Draft(
        sentences=tuple(sentences),
        evidence=((),) * len(sentences),
        confidence=chance,
        short_answer=shown,
        basis=Basis.COMPUTED,
        notes=notes,
        computation=Computation("", (steps,), ((shown,),), numbers=((float(worked.value),),)),
    )


def _said(worked: Worked, percent: bool, scale: int, question: str, language: str) -> str | None:
    """A result as people read it: a share in percent, an amount with its scale."""
    if not worked.value.is_finite() or (percent and worked.degree):
        return None
    if percent:
        return f"{said(rounded(worked.value * 100, 1), language)}%"
    if worked.degree != 1:
        return said(rounded(worked.value), language)
    wished = _SCALE.search(question)
    power = _SCALES[wished[1].lower()] if wished and scale else scale
    word = next((name for name, one in _SCALES.items() if one == power), "")
    return f"{said(_plain(worked.value.scaleb(-power)), language)} {word}".strip()


def _plain(value: Decimal) -> Decimal:
    """A value to two places behind the mark, if it is not small, without noughts at its end."""
    exact = rounded(value)
    return exact.quantize(Decimal(1)) if exact == exact.to_integral_value() else exact


def _figures(found: Mapping[str, FoundLine], language: str) -> str:
    """The figures that were taken: "Inventories: 32 (2019), 43 (2018)."."""
    by_line: dict[str, list[str]] = {}
    for one in found.values():
        by_line.setdefault(one.item.label, []).append(f"{said(one.value, language)} ({one.year})")
    return "; ".join(f"{label}: {', '.join(each)}" for label, each in by_line.items()) + "."


def _steps(calculation: Calculation, found: Mapping[str, FoundLine]) -> str:
    """How it was worked out, in the figures that were taken."""
    written = re.sub(
        r"\b[a-z]\b",
        lambda name: _bare(found[name[0]].value) if name[0] in found else name[0],
        calculation.written,
    )
    return as_shown(written)


def _bare(value: Decimal) -> str:
    text = f"{value.normalize():f}"
    return f"({text})" if value < 0 else text
