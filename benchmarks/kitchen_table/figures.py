"""Rows to tables. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from benchmarks.kitchen_table.judging import RIGHT, SILENT, VERDICTS
from benchmarks.kitchen_table.questions import KINDS, UNANSWERABLE
from benchmarks.kitchen_table.rows import Row
from benchmarks.parts import percentile

_BINS = 10
_Z = 1.96  # standard errors to either side of a share that hold it in 95 of 100 cases


def report(by: str, rows: Sequence[Row]) -> str:
    """All there is to say of one side."""
    shares = "; ".join(part for part in (chance(rows), refusals(rows)) if part)
    parts = [f"## {by}", verdicts(rows), shares, times(rows), calibration(rows)]
    return "\n\n".join(part for part in parts if part)


def verdicts(rows: Sequence[Row]) -> str:
    """Right, wrong and silent by kind and in all."""
    lines = ["| kind | n | right | wrong | silent |", "|---|---|---|---|---|"]
    for kind in dict.fromkeys((*KINDS, *(row.kind for row in rows))):
        if mine := [row for row in rows if row.kind == kind]:
            lines.append(_counts(kind, mine))
    answerable = [row for row in rows if row.kind != UNANSWERABLE]
    totals = {"all answerable": answerable, "**all**": rows}
    lines += [_counts(name, mine) for name, mine in totals.items() if mine]
    return "\n".join(lines)


def chance(rows: Sequence[Row]) -> str:
    """What chance leaves open of the share that is right."""
    if not rows:
        return ""
    low, high = interval(sum(row.verdict == RIGHT for row in rows), len(rows))
    return f"right of all: {low:.0%} to {high:.0%} in 95 of 100 cases"


def _counts(name: str, rows: Sequence[Row]) -> str:
    counts = [sum(row.verdict == verdict for row in rows) for verdict in VERDICTS]
    shares = " | ".join(f"{count} ({count / len(rows):.0%})" for count in counts)
    return f"| {name} | {len(rows)} | {shares} |"


def interval(count: int, of: int) -> tuple[float, float]:
    """Wilson's interval of a share: two figures that lie within are not told apart."""
    share, unsure = count / of, _Z**2 / of
    middle = (share + unsure / 2) / (1 + unsure)
    half = _Z * math.sqrt(share * (1 - share) / of + unsure / (4 * of)) / (1 + unsure)
    return middle - half, middle + half


def times(rows: Sequence[Row]) -> str:
    """Median and 95th percentile of the seconds until something is there, where it ever was."""
    given = {
        "first source": [row.seconds.sources for row in rows],
        "first word": [row.seconds.first_word for row in rows],
        "end": [row.seconds.end for row in rows],
    }
    lines = ["| seconds to | n | median | p95 |", "|---|---|---|---|"]
    for name, values in given.items():
        if known := [value for value in values if value is not None]:
            p95 = percentile(known, 0.95)
            median = statistics.median(known)
            lines.append(f"| {name} | {len(known)} | {median:.2f} | {p95:.2f} |")
    return "\n".join(lines)


def refusals(rows: Sequence[Row]) -> str:
    """How often nothing was answered where there was nothing to answer, and where there was."""
    nothing = [row for row in rows if row.kind == UNANSWERABLE]
    something = [row for row in rows if row.kind != UNANSWERABLE]
    said = []
    if nothing:
        share = sum(row.verdict == RIGHT for row in nothing) / len(nothing)
        said.append(f"refused of unanswerable: {share:.0%}")
    if something:
        share = sum(row.verdict == SILENT for row in something) / len(something)
        said.append(f"refused of answerable: {share:.0%}")
    if errors := sum(bool(row.error) for row in rows):
        said.append(f"errors: {errors}")
    return "; ".join(said)


def calibration(rows: Sequence[Row]) -> str:
    """Whether confidence is what it says, over what was answered; empty for a side without one."""
    sure = [
        (row.confidence, row.verdict == RIGHT)
        for row in rows
        if row.confidence is not None and not row.abstained
    ]
    if not sure:
        return ""
    lines = [f"calibration error (ECE) {ece(sure):.3f} over {len(sure)} answers", ""]
    lines += ["| confidence | n | mean confidence | right |", "|---|---|---|---|"]
    for at, held in enumerate(_binned(sure)):
        if held:
            mean, right = _means(held)
            edges = f"{at / _BINS:.1f} to {(at + 1) / _BINS:.1f}"
            lines.append(f"| {edges} | {len(held)} | {mean:.2f} | {right:.2f} |")
    return "\n".join(lines)


def ece(sure: Sequence[tuple[float, bool]]) -> float:
    """Expected calibration error: |confidence - share right| over ten equal bins, by their size."""
    gaps = ((len(held), _means(held)) for held in _binned(sure) if held)
    return sum(size * abs(mean - right) for size, (mean, right) in gaps) / len(sure)


def _binned(sure: Sequence[tuple[float, bool]]) -> list[list[tuple[float, bool]]]:
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(_BINS)]
    for confidence, right in sure:
        bins[min(int(confidence * _BINS), _BINS - 1)].append((confidence, right))
    return bins


def _means(held: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    return (
        statistics.fmean(confidence for confidence, _ in held),
        statistics.fmean(right for _, right in held),
    )
