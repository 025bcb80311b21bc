"""Measure what the README promises, side by side with what people would build instead.

    make bench                                     all of it, on at least 500 pages
    python -m benchmarks.bench --only first-page   or ingest, embedding, ask, memory
    python -m benchmarks.bench --pages 50          a quick look; nothing is written down
    python -m benchmarks.bench --no-peers          without the projects that have to be installed

Each part and each side runs in a process of its own, one after the other, so that neither warms the
other. What was measured on which files goes to RESULTS.md and results/bench.json."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import corpus, report
from benchmarks.environments import PEERS, python_of
from benchmarks.processes import ROOT, run_part

HERE = Path(__file__).resolve().parent
DEFAULT_PDFS = ROOT.parent / "shared" / "data" / "financebench" / "pdfs.tar"
FULL = 500
LONG = 300
MANY = 1_000
FEW = 10


@dataclass(frozen=True, slots=True)
class Bench:
    """What all parts need to know."""

    paths: list[Path]
    questions: list[str]
    work: Path
    pages: int
    threads: int
    peers: bool = True

    def job(self, name: str, paths: list[Path], **more: Any) -> dict[str, Any]:
        """The order to a part: the files, a data directory by that name, the threads."""
        files = [str(path) for path in paths]
        data_dir = str(self.work / name)
        return {"files": files, "data_dir": data_dir, "threads": self.threads, **more}

    def first(self, pages: int) -> list[Path]:
        """The first whole files with so many pages."""
        return [file.path for file in corpus.pick(self.paths, pages)]


def ingest(bench: Bench) -> report.Figures:
    """Pages a second, all sides; a project that cannot be installed is left out."""
    files = bench.first(bench.pages)
    found = {
        "ours": run_part("ours", bench.job("ours", files)),
        "tutorial": run_part("tutorial", bench.job("tutorial", files)),
    }
    for key, peer in PEERS.items() if bench.peers else ():
        python = python_of(key)
        if python is None:
            print(f"{peer.name} could not be installed and is left out", file=sys.stderr)
            continue
        names = [package.partition("==")[0] for package in peer.packages]
        job = bench.job(key, files, peer=key, packages=names)
        found[key] = run_part("peer", job, str(python))
    return found


def embedding(bench: Bench) -> report.Figures:
    """The share of the machine's matrix rate that the embedding reaches."""
    return run_part("embedding", bench.job("embedding", bench.first(1)))


def first_page(bench: Bench) -> report.Figures:
    """Seconds until the first page of a long PDF is found by words."""
    bound = corpus.bound_together(bench.paths, min(LONG, bench.pages), bench.work / "long.pdf")
    words = corpus.first_words(bound)
    return run_part("first-page", bench.job("first-page", [bound], words=words))


def ask(bench: Bench) -> report.Figures:
    """Seconds from question to answer, over the files of `ingest` (made anew if it did not run)."""
    files = bench.first(bench.pages)
    asked = bench.questions if bench.pages >= FULL else bench.questions[:FEW]
    return run_part("ask", bench.job("ours", files, questions=asked))


def memory(bench: Bench) -> report.Figures:
    """The peak of memory while a thousand pages are added."""
    files = bench.first(MANY if bench.pages >= FULL else bench.pages)
    return run_part("ours", bench.job("memory", files))


PARTS = {
    "ingest": ingest,
    "embedding": embedding,
    "first-page": first_page,
    "ask": ask,
    "memory": memory,
}


def main(argv: list[str]) -> int:
    """Run the parts asked for; status 1 if a promise is not kept."""
    options = _options(argv)
    source: Path = options.pdfs
    if not source.exists():
        print(f"No PDFs at {source}: give a folder or a tar of PDFs with --pdfs.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        work = Path(folder)
        bench = Bench(
            paths=corpus.unpack(source, work / "pdfs"),
            questions=corpus.questions(source) or ["What is this document about?"],
            work=work,
            pages=options.pages,
            threads=options.threads,
            peers=not options.no_peers,
        )
        results = {}
        for part in options.only or PARTS:
            print(f"{part} …", file=sys.stderr, flush=True)
            results[part] = {**PARTS[part](bench), "machine": report.machine(options.threads)}
    if options.pages >= FULL:
        report.keep(results, HERE)
    made = report.rows(results)
    print(report.table(made))
    return 0 if all(row.met for row in made) or options.pages < FULL else 1


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what the README promises.")
    parser.add_argument("--pdfs", type=Path, default=DEFAULT_PDFS, help="a folder or tar of PDFs")
    parser.add_argument("--pages", type=int, default=FULL, help=f"at least (default {FULL})")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="only these parts")
    parser.add_argument("--no-peers", action="store_true", help="install no other projects")
    parser.add_argument(
        "--threads", type=int, default=os.cpu_count() or 1, help="CPU threads, for all sides"
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
