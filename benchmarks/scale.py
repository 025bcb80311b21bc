"""How search, memory, disk, start and removal grow with the library.

    python -m benchmarks.scale 1000 10000 100000 --pdfs FOLDER_OR_TAR
    python -m benchmarks.scale 1000000 --folder BIG_DISK     about 6 GB, half an hour to make
    python -m benchmarks.scale 100000 --collections 1000     of which one may be seen

Every size is a library of its own, made by `made_library.py` (kept in --folder, found again, and
gone on with where that was broken off), then opened by a fresh process that asks, removes one
document and waits until nothing of it is left on disk. Questions are asked with a made embedder:
what a model takes is not in the figures."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import corpus
from benchmarks.bench import DEFAULT_PDFS
from benchmarks.made_library import Base, MadeEmbedder, fill
from benchmarks.parts import percentile
from benchmarks.processes import ROOT, Watch
from rag_app.scope import WORKER, Role, Scope
from rag_app.types import Document, RetrieverKind

if TYPE_CHECKING:
    from rag_app.library import Library

ASKED = 60
ROWS = (
    ("documents", "documents", 1.0, "{:,.0f}"),
    ("made in", "made_seconds", 1.0, "{:,.0f} s"),
    ("disk: text and words", "database_bytes", 2**-20, "{:,.0f} MiB"),
    ("disk: vectors", "vectors_bytes", 2**-20, "{:,.0f} MiB"),
    ("start, until questions can be asked", "start_seconds", 1.0, "{:.2f} s"),
    ("CPU of that", "start_cpu", 1.0, "{:.2f} s"),
    ("first question", "first_seconds", 1000.0, "{:,.0f} ms"),
    ("whole search, median", "hybrid_median", 1000.0, "{:,.0f} ms"),
    ("whole search, p95", "hybrid_p95", 1000.0, "{:,.0f} ms"),
    ("by meaning, p95", "dense_p95", 1000.0, "{:,.0f} ms"),
    ("by words, p95", "bm25_p95", 1000.0, "{:,.0f} ms"),
    ("whole search in one document, p95", "one_p95", 1000.0, "{:,.0f} ms"),
    ("in a tenth of the documents, others each time, p95", "tenth_p95", 1000.0, "{:,.0f} ms"),
    ("in all documents but one, p95", "but_one_p95", 1000.0, "{:,.0f} ms"),
    ("in one of the collections, others each time, p95", "scope_hybrid_p95", 1000.0, "{:,.0f} ms"),
    ("the same by meaning, p95", "scope_dense_p95", 1000.0, "{:,.0f} ms"),
    ("the same by words, p95", "scope_bm25_p95", 1000.0, "{:,.0f} ms"),
    ("in one collection, asked before, p95", "scope_again_p95", 1000.0, "{:,.0f} ms"),
    ("CPU of a search in one of the collections, p95", "scope_hybrid_cpu", 1000.0, "{:,.1f} ms"),
    ("CPU of the same by meaning, p95", "scope_dense_cpu", 1000.0, "{:,.1f} ms"),
    ("CPU of the same by words, p95", "scope_bm25_cpu", 1000.0, "{:,.1f} ms"),
    (
        "CPU of one in a collection that was asked before, p95",
        "scope_again_cpu",
        1000.0,
        "{:,.1f} ms",
    ),
    ("CPU of one in ten of the collections, p95", "scope_ten_cpu", 1000.0, "{:,.1f} ms"),
    ("in ten of the collections, others each time, p95", "scope_ten_p95", 1000.0, "{:,.0f} ms"),
    ("CPU of one in a hundred of the collections, p95", "scope_many_cpu", 1000.0, "{:,.1f} ms"),
    ("in a hundred of the collections, p95", "scope_many_p95", 1000.0, "{:,.0f} ms"),
    ("CPU of a whole search", "hybrid_cpu", 1000.0, "{:,.1f} ms"),
    ("CPU of one by meaning", "dense_cpu", 1000.0, "{:,.1f} ms"),
    ("CPU of one by words", "bm25_cpu", 1000.0, "{:,.1f} ms"),
    ("memory after the questions", "memory_asked", 1.0, "{:,.0f} MiB"),
    ("a document removed", "removed_seconds", 1.0, "{:.2f} s"),
    ("nothing of it left on disk, after", "clean_seconds", 1.0, "{:.1f} s"),
    ("CPU of that", "clean_cpu", 1.0, "{:.1f} s"),
    ("memory, peak", "memory_peak", 1.0, "{:,.0f} MiB"),
)


def measure(folder: Path, clean: bool) -> dict[str, Any]:
    """Open a library, ask it, remove a document."""
    from rag_app.library import Library
    from rag_app.settings import Settings
    from rag_app.text import languages

    began, cpu = time.perf_counter(), time.process_time()
    opened = Library(Settings.load(data_dir=folder), embedder=MadeEmbedder())
    library = opened.scoped(WORKER)  # everything, in however many collections it is
    found: dict[str, Any] = {"start_seconds": time.perf_counter() - began}
    found["start_cpu"] = time.process_time() - cpu
    documents = library.documents()
    chance = random.Random(5)
    pages = [library.page(chance.choice(documents).id, 1).text.split() for _ in range(ASKED)]
    asked = [question(words, chance) for words in pages]
    languages.warm()  # as the app does in the background
    found["first_seconds"] = _timed(library.search, asked[0])
    for kind in (RetrieverKind.HYBRID, RetrieverKind.DENSE, RetrieverKind.BM25):
        cpu = time.process_time()
        took = [_timed(library.search, one, retriever=kind) for one in asked]
        found[f"{kind}_cpu"] = (time.process_time() - cpu) / ASKED
        found[f"{kind}_median"], found[f"{kind}_p95"] = (
            percentile(took, 0.5),
            percentile(took, 0.95),
        )
    every = [document.id for document in documents]
    for name, count in (("one", 1), ("tenth", len(every) // 10), ("but_one", len(every) - 1)):
        some = [chance.sample(every, max(1, count)) for _ in asked]
        took = [_timed(library.search, q, documents=d) for q, d in zip(asked, some, strict=True)]
        found[f"{name}_p95"] = percentile(took, 0.95)
    if len({document.collection for document in documents}) > 1:
        found |= _scoped(library, documents, asked, chance)
    found["memory_asked"] = _resident()
    found["removed_seconds"] = _timed(library.remove, documents[0].id)
    if clean:
        began, cpu = time.perf_counter(), time.process_time()
        library.wait_until_clean()
        found["clean_seconds"] = time.perf_counter() - began
        found["clean_cpu"] = time.process_time() - cpu
    opened.close()
    return found


def _scoped(
    library: Library, documents: list[Document], asked: list[str], chance: random.Random
) -> dict[str, float]:
    """Searches of somebody who sees one of the collections, ten, or a hundred of them."""
    there = sorted({document.collection for document in documents})
    found = {}

    def searched(name: str, views: list[Library], kind: RetrieverKind) -> None:
        """A question of each; on a busy machine only what the processor worked tells anything."""
        took, worked = [], []
        for view, question in zip(views, asked, strict=True):
            cpu = time.process_time()
            took.append(_timed(view.search, question, retriever=kind))
            worked.append(time.process_time() - cpu)
        found[f"scope_{name}_p95"] = percentile(took, 0.95)
        found[f"scope_{name}_cpu"] = percentile(worked, 0.95)

    def somebody(size: int) -> Library:
        seen = dict.fromkeys(chance.sample(there, min(size, len(there))), Role.READER)
        return library.scoped(Scope.of("somebody", seen))

    for kind in RetrieverKind:
        searched(kind, [somebody(1) for _ in asked], kind)
    one = somebody(1)
    one.search(asked[0])
    searched("again", [one] * len(asked), RetrieverKind.HYBRID)
    searched("ten", [somebody(10) for _ in asked], RetrieverKind.HYBRID)
    searched("many", [somebody(100) for _ in asked], RetrieverKind.HYBRID)
    return found


def question(words: list[str], chance: random.Random) -> str:
    """A dozen words that stand together, as people ask: with small words, and the company."""
    first = chance.randrange(max(1, len(words) - 12))
    company = next((word for word in words if word.startswith("Company")), "")
    return f"What does {company} say about {' '.join(words[first : first + 12])}?"


def _timed(work: Callable[..., Any], *arguments: Any, **more: Any) -> float:
    began = time.perf_counter()
    work(*arguments, **more)
    return time.perf_counter() - began


def _resident() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def one_size(
    folder: Path, chunks: int, collections: int, base: Callable[[], Base], clean: bool
) -> dict[str, Any]:
    """The figures of one size; the library is made if it is not there yet."""
    name = str(chunks) if collections == 1 else f"{chunks}-{collections}"
    made = folder / f"{name}.json"
    kept = folder / name
    if not made.is_file():
        began = time.perf_counter()
        documents = fill(kept, base(), chunks, collections)
        about = {"documents": documents, "made_seconds": time.perf_counter() - began}
        made.write_text(json.dumps(about))
    figures: dict[str, Any] = json.loads(made.read_text())
    figures["database_bytes"] = _bytes(kept, "library.sqlite3*")
    figures["vectors_bytes"] = _bytes(kept / "vectors", "*")
    with tempfile.TemporaryDirectory(dir=folder) as copy:
        shutil.copytree(kept, copy, dirs_exist_ok=True)
        command = [sys.executable, "-m", "benchmarks.scale", "--measure", copy]
        command += [] if clean else ["--no-clean"]
        with (
            subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process,
            Watch(process.pid) as watch,
        ):
            said = process.stdout.read() if process.stdout else b""
    if process.returncode:
        raise SystemExit(f"the measuring process ended with status {process.returncode}")
    return {**figures, **json.loads(said), "memory_peak": watch.result()["peak"]}


def _bytes(folder: Path, pattern: str) -> int:
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def table(sizes: dict[int, dict[str, Any]]) -> str:
    """One column for each size."""
    lines = [["chunks", *(f"{size:,}" for size in sizes)], ["---"] * (len(sizes) + 1)]
    for name, key, factor, form in ROWS:
        told = [form.format(f[key] * factor) if key in f else "" for f in sizes.values()]
        lines.append([name, *told])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(argv: list[str]) -> int:
    """Measure the sizes asked for and print them as a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("sizes", nargs="*", type=int, default=[1_000, 10_000, 100_000])
    parser.add_argument("--pdfs", type=Path, default=DEFAULT_PDFS, help="a folder or tar of PDFs")
    parser.add_argument("--folder", type=Path, help="where libraries are kept")
    parser.add_argument("--collections", type=int, default=1, help="that documents are dealt to")
    parser.add_argument("--no-clean", action="store_true", help="do not wait for the clean-up")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.measure:
        print(json.dumps(measure(given.measure, not given.no_clean)))
        return 0
    with tempfile.TemporaryDirectory(prefix="scale-") as temporary:
        folder: Path = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)

        def base() -> Base:
            return Base.of(corpus.unpack(given.pdfs, Path(temporary) / "pdfs"))

        clean, several = not given.no_clean, given.collections
        found = {n: one_size(folder, n, several, base, clean) for n in given.sizes}
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
