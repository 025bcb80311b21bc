"""What was found as tables, as JSON, and as a line for every file."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.stress_judging import OUTCOMES, TEXT, Found, Judged, Result

_QUOTED = re.compile(r"“[^”]*”")
_FIGURES = re.compile(r"\d[\d,.]*")
_THIN = 0.5
Lines = Sequence[Sequence[object]]


def markdown(result: Result, conditions: Mapping[str, str]) -> str:
    """All of it, short."""
    bars = [(bar.what, bar.figure, "yes" if bar.met else "NO") for bar in result.bars]
    said = ", ".join(f"{name} {value}" for name, value in conditions.items())
    sections = [
        f"# {len(result.files)} odd files\n\nWritten by `make stress` (`benchmarks/stress.py`); "
        f"do not edit. {said}.",
        _table(("bar", "measured", "met"), bars),
        "## What became of them\n\n" + _by_kind(result),
        "## Why\n\n" + _reasons(result.files),
    ]
    if names := _others(result):
        sections.insert(3, "## Beside other readers\n\n" + _beside(result, names))
    return "\n\n".join(sections) + "\n"


def _by_kind(result: Result) -> str:
    rows = []
    for kind in [*result.kinds(), "all"]:
        files = [each for each in result.files if kind in (each.file.kind, "all")]
        count = Counter(each.ours.outcome for each in files)
        holding = [each for each in files if each.holds_text]
        giving = sum(each.gives_text for each in holding)
        seconds = sorted(each.ours.seconds for each in files)
        times = f"{seconds[len(seconds) // 2]:.2f}", f"{seconds[-1]:.1f}"
        outcomes = [count[outcome] or "" for outcome in OUTCOMES]
        rows.append((kind, len(files), *outcomes, f"{giving}/{len(holding)}", *times))
    head = ("kind", "files", *OUTCOMES, "give / hold text", "median s", "longest s")
    return _table(head, rows)


def _beside(result: Result, names: Sequence[str]) -> str:
    rows = []
    for kind in [*result.kinds(), "all"]:
        files = [each for each in result.files if kind in (each.file.kind, "all")]
        holding = [each for each in files if each.holds_text]
        theirs = [_given(holding, name) for name in names]
        rows.append((kind, len(holding), sum(each.gives_text for each in holding), *theirs))
    silent = [
        f"{name}: " + ", ".join(f"{number} {outcome}" for outcome, number in _count(result, name))
        for name in names
    ]
    return (
        "Files in which a word was found, of those in which anybody found one.\n\n"
        + _table(("kind", "hold text", "rag-app", *names), rows)
        + "\n\n"
        + "\n".join(f"- {line}" for line in silent)
    )


def _given(files: Sequence[Judged], name: str) -> int:
    return sum(bool(each.others[name].words) for each in files)


def _count(result: Result, name: str) -> list[tuple[str, int]]:
    count = Counter(each.others[name].outcome for each in result.files)
    return [(outcome, count[outcome]) for outcome in OUTCOMES if count[outcome]]


def _reasons(files: Sequence[Judged]) -> str:
    """What is said of files without text, the most frequent first."""
    said = Counter(
        (each.ours.outcome, _anonymous(each.ours.reason))
        for each in files
        if each.ours.outcome != TEXT
    )
    rows = [(number, outcome, reason) for (outcome, reason), number in said.most_common()]
    return _table(("files", "outcome", "what is said"), rows)


def _anonymous(reason: str) -> str:
    """A reason without names and figures, so that alike ones are counted together."""
    return _FIGURES.sub("…", _QUOTED.sub("“…”", reason))[:160]


def _others(result: Result) -> list[str]:
    return list(result.files[0].others) if result.files else []


def _table(head: Sequence[str], rows: Lines) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(cell: object) -> str:
    return " ".join(str(cell).split()).replace("|", "\\|")


def keep(result: Result, conditions: Mapping[str, str], folder: Path) -> None:
    """Write results/stress.json and results/stress.md."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = {
        "machine": report.machine(0),
        "conditions": dict(conditions),
        "bars": [{"what": bar.what, "figure": bar.figure, "met": bar.met} for bar in result.bars],
        "kinds": {kind: _figures(result, kind) for kind in result.kinds()},
        "without_text": [_line(each) for each in result.files if not each.gives_text],
    }
    text = json.dumps(figures, indent=1, ensure_ascii=False)
    (folder / "stress.json").write_text(text + "\n", encoding="utf-8")
    (folder / "stress.md").write_text(markdown(result, conditions), encoding="utf-8")


def _figures(result: Result, kind: str) -> dict[str, Any]:
    files = [each for each in result.files if each.file.kind == kind]
    holding = [each for each in files if each.holds_text]
    return {
        "files": len(files),
        **Counter(each.ours.outcome for each in files),
        "hold_text": len(holding),
        "give_text": sum(each.gives_text for each in holding),
        "others_give_text": {name: _given(holding, name) for name in _others(result)},
        "seconds": round(sum(each.ours.seconds for each in files), 1),
    }


def _line(each: Judged) -> dict[str, Any]:
    ours = {"outcome": each.ours.outcome, "reason": each.ours.reason}
    return {
        "file": each.file.name.rsplit("__", 1)[-1],
        "sha256": each.file.sha256[:16],
        **ours,
        **({"others": found} if (found := _found(each.others)) else {}),
        **({"checked": each.checked} if each.checked else {}),
    }


def _found(others: Mapping[str, Found]) -> dict[str, int]:
    return {name: len(found.words) for name, found in others.items() if found.words}


def write_details(result: Result, path: Path) -> None:
    """A line for every file: for whoever looks into them."""
    lines = []
    for each in result.files:
        missing = {
            name: sorted(found.words - each.ours.words)[:40]
            for name, found in each.others.items()
            if found.words
        }
        lines.append(
            _line(each)
            | {"name": each.file.name, "words": len(each.ours.words), "faults": each.ours.faults}
            | {"seconds": each.ours.seconds, "mib": each.ours.mebibytes}
            | {"shared": round(each.shared, 2), "missing": missing}
        )
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text.encode("utf-8", "replace").decode(), encoding="utf-8")
