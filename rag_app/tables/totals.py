"""Which rows of a table are the sums of others: by arithmetic, and by what they leave empty or are
called where that cannot tell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise, zip_longest

import numpy as np
from numpy.typing import NDArray

from rag_app.tables.regions import TOTAL, Cells, Region, named_total, shape
from rag_app.tables.typing import ColumnRule, count_texts, rules
from rag_app.tables.values import is_empty, written_number

_NUMBERED = 0.6  # of the steps from row to row, in a column that numbers them
_LAST = 50  # rows at the end of a table in which a total is looked for if it is long
_LONG = 20_000  # rows
_PAIR = 2  # rows that make the last one by chance
_LOOKED_AT = 200  # rows above one, whose names are compared with its own
_NO_CHANCE = 500  # steps times rows: of the entries that end tables fewer are a sum by chance
_FEW = 3  # rows that a column numbers only where they begin with it: 3 is 1 and 2, too


def texts_of(cells: Cells, region: Region, row: int) -> list[str]:
    """What stands in a row of a table."""
    return cells.texts(row)[region.first_column : region.last_column + 1]


def rows_of_totals(cells: Cells, region: Region, data: Sequence[int]) -> set[int]:
    """The rows that say what others add up to."""
    begin = max(1, len(data) - _LAST) if len(data) > _LONG else 1
    standing_out = [at for at in range(begin, len(data)) if _stands_out(cells, region, data, at)]
    last = {at for at in range(max(3, len(data) - 2), len(data))}
    apart = {at for at in range(max(3, begin), len(data)) if _is_apart(cells, data, at)}
    on_top = len(data) > 2 and named_total(texts_of(cells, region, data[0]))
    if not standing_out and not apart and not on_top and (not last or len(data) > _LONG):
        return set()
    sums = _Sums(cells, region, data)
    if on_top and sums.leads():
        sums.note_total(0)
    for at in sorted({*standing_out, *last, *apart}):
        stands_out = at in standing_out
        texts, ends = texts_of(cells, region, data[at]), at == len(data) - 1
        if stands_out:
            least = _least(texts)
        else:
            alone = _is_alone(cells, region, data, at)
            least = (
                1 if alone and (at in apart or _is_no_entry(cells, region, data, at, sums)) else 2
            )
        if sums.adds_up(at, sure=not stands_out, least=least, ends=ends) or (
            stands_out and _is_named(cells, region, data[at], at >= len(data) - 2)
        ):
            sums.note_total(at)
    return {data[at] for at in sums.totals}


def _stands_out(cells: Cells, region: Region, data: Sequence[int], at: int) -> bool:
    """Whether a cell of a row is empty that is filled above, or it has a total's name, or one with
    the word for it: "Week 1 total"."""
    texts = texts_of(cells, region, data[at])
    called = next((text for text in texts[:3] if shape(text) == "t"), "")
    if TOTAL.search(called) or named_total(texts):
        return True
    above = texts_of(cells, region, data[at - 1])
    if not any(texts[: len(above)]):
        return False
    pairs = list(zip_longest(texts, above, fillvalue=""))
    return any(b and not a for a, b in pairs) and not any(a and not b for a, b in pairs)


def _is_apart(cells: Cells, data: Sequence[int], at: int) -> bool:
    """Whether an empty row stands above a row, and none above the row before."""
    numbers = cells.grid.rows
    gaps = [
        numbers[below] - numbers[above] - (below - above)
        for above, below in pairwise(data[at - 2 : at + 1])
    ]
    return gaps[0] == 0 < gaps[1]


def _is_alone(cells: Cells, region: Region, data: Sequence[int], at: int) -> bool:
    """Whether a row begins with a name that none of the last rows above has, and has numbers alone
    beside it: a row with a day or other texts is an entry."""
    texts = texts_of(cells, region, data[at])
    above = data[max(0, at - _LOOKED_AT) : at]
    return (
        [shape(text) for text in texts[:1]] == ["t"]
        and all(is_empty(text) or written_number(text) is not None for text in texts[1:])
        and all(texts_of(cells, region, row)[:1] != texts[:1] for row in above)
    )


def _is_no_entry(cells: Cells, region: Region, data: Sequence[int], at: int, sums: _Sums) -> bool:
    """Whether the rows above begin with days, years or numbers, of which a name is none; or a row
    would hardly be their sum by chance."""
    above = data[max(0, at - _LOOKED_AT) : at]
    begun = (shape("".join(texts_of(cells, region, row)[:1])) for row in above)
    return all(one in ("n", "y") for one in begun) or sums.is_no_chance(at)


def _least(texts: Sequence[str]) -> int:
    """How many measures have to add up where a cell of a row is empty. One does by chance among
    small numbers: it is enough where no name says that the row is an entry, or a name says that it
    is none."""
    worded = any(TOTAL.search(text) for text in texts[:3])
    return 1 if worded or not any(texts[:1]) else 2


def _is_named(cells: Cells, region: Region, row: int, at_end: bool) -> bool:
    """Whether the word alone makes a total: it stands at the end of a table, with numbers alone
    beside it; a row with a day or a name of its own is an entry that is called so."""
    texts = [text for text in texts_of(cells, region, row) if text]
    others = [text for text in texts if not is_empty(text) and written_number(text) is None]
    return at_end and named_total(texts) and len(others) == 1 < len(texts)


class _Sums:
    """The measures of a table, as sums from its first row on."""

    def __init__(self, cells: Cells, region: Region, data: Sequence[int]) -> None:
        columns = list(region.columns)
        typed = rules(count_texts(cells.text(row, c) for row in data) for c in columns)
        self.totals: list[int] = []
        self._values: list[NDArray[np.float64]] = []
        self._sums: list[NDArray[np.float64]] = []
        self._room: list[float] = []
        for rule, column in zip(typed, columns, strict=True):
            if rule.kind.is_measure and rule.units != ("%",):
                values = _floats(rule, (cells.text(row, column) for row in data), len(data))
                if _counts_rows(values) and (len(data) > _FEW or column == columns[0]):
                    continue
                self._values.append(values)
                self._sums.append(np.concatenate([[0.0], np.nancumsum(values)]))
                self._room.append(0.5 * 10.0 ** -min(rule.places, 9))

    def note_total(self, at: int) -> None:
        """Remember that this row is a total: it is not to be added again."""
        self.totals.append(at)

    def adds_up(self, at: int, sure: bool, least: int, ends: bool) -> bool:
        """Whether a row is the sum of those since the last total, of all above, or of the totals.

        `sure`: its cells do not speak for it, so all measures have to agree, and at least so many;
        else at least so many, and most; of a row that `ends` the table one, if it is the sum of
        more than two: 20 paid by two is as likely to be 40 that the third owes."""
        since = self.totals[-1] + 1 if self.totals else 0
        # Rows that would be added up, and each sum as (from, the totals in it).
        ways = [(at - since, (since, 0))]
        if self.totals:
            ways += [(at - len(self.totals), (0, -1)), (len(self.totals), (at, 1))]
        return any(
            self._agrees(at, *way, sure, 1 if ends and not sure and count > _PAIR else least)
            for count, way in ways
            if count > 1 + sure
        )

    def is_no_chance(self, at: int) -> bool:
        """Whether it would be much of a chance if an entry were the sum of those above, measured by
        the steps that amounts are apart: 6 after 1, 2 and 3 is none, 20.68 after three amounts to
        the penny is."""
        since = self.totals[-1] + 1 if self.totals else 0
        for values, room in zip(self._values, self._room, strict=True):
            steps = [round(float(v) / (2 * room)) for v in values[since:at] if v and v == v]
            between = math.gcd(*steps)
            if len(steps) > _PAIR and abs(sum(steps)) * len(steps) >= _NO_CHANCE * between > 0:
                return True
        return False

    def leads(self) -> bool:
        """Whether the first row is the sum of all below it. Its name has to speak for it, too: what
        is earned is what it costs and what is left."""
        return self._is(0, [float(np.nansum(values[1:])) for values in self._values])

    def _agrees(self, at: int, since: int, totals: int, sure: bool, least: int) -> bool:
        """Whether a row is the sum of the rows `since`, so many times the totals above added."""
        added = [float(sums[at] - sums[since]) for sums in self._sums]
        if self.totals:
            of_totals = (totals * float(np.nansum(each[self.totals])) for each in self._values)
            added = [a + b for a, b in zip(added, of_totals, strict=True)]
        return self._is(at, added, sure, least)

    def _is(self, at: int, sums: Sequence[float], sure: bool = False, least: int = 1) -> bool:
        """Whether most measures of a row are these sums, and at least so many."""
        said = agrees = 0
        for values, added, room in zip(self._values, sums, self._room, strict=True):
            value = float(values[at])
            if np.isnan(value) or value == 0:
                continue
            said += 1
            agrees += abs(added - value) <= room * (1 + 1e-9) + 1e-9 * abs(value)
        return agrees >= least and (agrees == said if sure else agrees * 2 > said)


def _counts_rows(values: NDArray[np.float64]) -> bool:
    """Whether a column numbers the rows: 1, 2, 3 are no measures, though 1 and 2 make 3."""
    return len(values) > 2 and float(np.mean(np.diff(values) == 1)) > _NUMBERED


def _floats(rule: ColumnRule, texts: Iterable[str], count: int) -> NDArray[np.float64]:
    @lru_cache(100_000)
    def number(text: str) -> float:
        value = rule.typed(text).value
        return float(value) if isinstance(value, int | float | Decimal) else np.nan

    return np.fromiter(map(number, texts), dtype=np.float64, count=count)
