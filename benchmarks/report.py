"""Figures to words: the table on the screen, `results/bench.json` and RESULTS.md.

A part that was not run keeps its last figures. Knows nothing of how to measure."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.environments import PEERS

PACKAGES = ("torch", "sentence-transformers", "chromadb", "pypdf", "pypdfium2", "langchain-core")
SIDES = {
    "ours": "rag-app",
    "tutorial": "tutorial pipeline",
    **{key: peer.name for key, peer in PEERS.items()},
}
TIMES = 5
Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what was measured, what came out, what was promised."""

    what: str
    figure: str
    target: str = ""
    met: bool = True


def machine(threads: int) -> Figures:
    """What it ran on, without names of hosts or people."""
    return {
        "cpu": _cpu(),
        "threads": threads,
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": {name: version(name) for name in PACKAGES},
        "date": datetime.now(UTC).date().isoformat(),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(named)} x {named[0]}" if named else platform.machine()


def _memory_gib() -> int:
    try:
        kib = int(Path("/proc/meminfo").read_text(encoding="utf-8").split()[1])
    except (OSError, ValueError):
        return 0
    return round(kib / 2**20)


def rows(results: Figures) -> list[Row]:
    """The table of all parts that have figures."""
    made: list[Row] = []
    for part, describe in (
        ("ingest", _ingest),
        ("embedding", _embedding),
        ("first-page", _first_page),
        ("ask", _ask),
        ("memory", _memory),
    ):
        if part in results:
            made += describe(results[part])
    return made


def speed(side: Figures) -> float:
    """Pages a second."""
    return float(side["pages"] / side["seconds"])


def _ingest(part: Figures) -> list[Row]:
    ours, theirs = part["ours"], part["tutorial"]
    sides = [(SIDES[key], side) for key, side in part.items() if key in SIDES]
    made = [
        Row(
            f"{name}: {side['pages']} pages to fully searchable",
            f"{speed(side):.1f} pages/s "
            f"({side['seconds']:.1f} s, {side['chunks']} chunks{_read(side)})",
        )
        for name, side in sides
    ]
    for name, side in sides[1:]:
        ratio = speed(ours) / speed(side)
        first = side is theirs
        made.append(
            Row(
                f"rag-app against {name}",
                f"{ratio:.1f} x",
                f">= {TIMES} x" if first else "",
                not first or ratio >= TIMES,
            )
        )
    made += [
        Row(
            f"{name}: start, not counted above",
            f"{side['import_seconds'] + side['load_seconds']:.1f} s "
            f"(imports {side['import_seconds']:.1f}, model {side['load_seconds']:.1f})",
        )
        for name, side in sides
    ]
    return made


def _read(side: Figures) -> str:
    """What of the text the model saw, where chunks are longer than what it reads."""
    share = side.get("share_read", 1.0)
    return f"; the model read {share:.0%} of the text" if share < 0.995 else ""


def _embedding(part: Figures) -> list[Row]:
    share = part["share"]
    return [
        Row(
            "matrix products of this machine, " + part["dtype"],
            f"{part['matrix_tflops']:.2f} TFLOPS",
        ),
        Row(
            "embedding: share of that rate",
            f"{share:.2f} ({part['texts_per_second']:.0f} texts/s of {part['tokens']:.0f} tokens)",
            ">= 0.4",
            share >= 0.4,
        ),
    ]


def _first_page(part: Figures) -> list[Row]:
    seconds = part["seconds"]
    what = f"first page of {part['pages']} searchable by words"
    return [Row(what, f"{seconds:.2f} s", "< 5 s", seconds < 5)]


def _ask(part: Figures) -> list[Row]:
    over = f"{part['questions']} questions over {part['pages']} pages"
    return [
        Row(f"question to answer, median ({over})", f"{part['median_seconds']:.2f} s"),
        Row("question to answer, p95", f"{part['p95_seconds']:.2f} s"),
        Row("question to sources shown, median", f"{part['sources_median_seconds']:.2f} s"),
    ]


def _memory(part: Figures) -> list[Row]:
    peak = part["memory"]["sum_of_peaks"]
    return [
        Row(
            f"peak memory while adding {part['pages']} pages, all processes",
            f"{peak:,.0f} MiB ({part['memory']['peak']:,.0f} MiB at one moment{_each(part)})",
            "< 2,048 MiB",
            peak < 2048,
        )
    ]


def _each(part: Figures) -> str:
    """The peaks of the single processes: the app, the reading one, the one for scans."""
    each = part["memory"].get("each", ())
    return f"; {' + '.join(f'{size:,.0f}' for size in each)}" if each else ""


def table(made: list[Row]) -> str:
    """The rows as a Markdown table, which is readable on a screen, too."""
    lines = [("measured", "figure", "promised", "met")]
    lines += [
        (r.what, r.figure, r.target, ("yes" if r.met else "NO") if r.target else "") for r in made
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    text = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)


def markdown(results: Figures) -> str:
    """RESULTS.md: the table, and for each part when and on what it was measured."""
    parts = [
        f"- **{part}**: {figures['machine']['date']}, {figures['machine']['cpu']}, "
        f"{figures['machine']['threads']} threads, {figures['machine']['memory_gib']} GiB, "
        f"{figures['machine']['system']}; "
        + ", ".join(f"{name} {number}" for name, number in _versions(figures).items())
        for part, figures in results.items()
    ]
    return (
        "# Results\n\nWritten by `make bench` (`benchmarks/bench.py`); do not edit. Both sides of "
        "a comparison ran one after the other on the same files, each in a process of its own, "
        "with the same number of threads and the same weights."
        "\n\n" + table(rows(results)) + "\n\n" + "\n".join(parts) + "\n"
    )


def _versions(figures: Figures) -> Figures:
    """Ours, and those of the other projects where they took part."""
    found = dict(figures["machine"]["versions"])
    for side in figures.values():
        if isinstance(side, dict):
            found |= side.get("versions", {})
    return found


def keep(results: Figures, folder: Path) -> Figures:
    """Write what was measured over what was known; returns all that is known now."""
    kept = folder / "results" / "bench.json"
    known: Figures = json.loads(kept.read_text("utf-8")) if kept.is_file() else {}
    known |= results
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    (folder / "RESULTS.md").write_text(markdown(known), encoding="utf-8")
    return known
