"""Add hundreds of odd files to a fresh library, and say what became of each.

    make stress STRESS=stress.tar.gz                      every file, through the real app
    python -m benchmarks.stress FILES --compare           and what other readers make of them
    python -m benchmarks.stress FILES --only docx rtf     a quick look; nothing is written down

FILES is a folder or an archive. What was done stays in `--work` until all is done, so that the same
command goes on where it was interrupted. Figures go to results/stress.json and results/stress.md;
the exit status is 1 where a bar is missed."""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks import stress_others, stress_ours, stress_report
from benchmarks.stress_files import File, checked_by_hand, corpus
from benchmarks.stress_judging import Found, judged, outcome_of
from rag_app.library import Library
from rag_app.settings import Settings

HERE = Path(__file__).resolve().parent
_MISSING = (
    "Which files? Give a folder or a tar archive of documents: make stress STRESS=files.tar.gz"
)


def main(argv: list[str]) -> int:
    """Run it; status 1 if a bar is missed, 2 for bad use."""
    options = _options(argv)
    if options.files is None or not options.files.exists():
        print(_MISSING, file=sys.stderr)
        return 2
    work: Path = options.work or _usual_work(options.files)
    work.mkdir(parents=True, exist_ok=True)
    files = corpus(options.files, work)
    if options.only:
        files = [file for file in files if file.kind in options.only]
    if not files:
        print(f"There is no file to try in {options.files}.", file=sys.stderr)
        return 2
    settings = Settings.load(data_dir=work / "ours" / "data", ocr=not options.no_ocr)
    ours = _ours(files, settings, work / "ours", options)
    others = {
        name: stress_others.compare(
            files,
            name,
            options.compare_python,
            work / name,
            settings.read_seconds,
            settings.read_memory_mb,
        )
        for name in options.compare or ()
    }
    result = judged(files, ours, others, checked_by_hand(), settings)
    conditions = {
        "recognition": "on" if settings.ocr else "off",
        "embedding": "off" if options.no_embedding else "on",
        "files": options.files.name,
    }
    stress_report.write_details(result, work / "details.jsonl")
    text = stress_report.markdown(result, conditions)
    if not options.only:
        stress_report.keep(result, conditions, HERE / "results")
    print(text)
    print(f"Every file: {work / 'details.jsonl'}")
    return 0 if result.all_met else 1


def _ours(
    files: list[File], settings: Settings, folder: Path, options: argparse.Namespace
) -> Mapping[str, Found]:
    """What our own library says of each file."""
    finished = folder / "finished"
    if finished.exists() or options.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    journal = stress_ours.Journal(folder / "journal.jsonl")
    embedder = stress_ours.Nowhere() if options.no_embedding else None
    with Library(settings, embedder=embedder) as library:
        stress_ours.add_all(library, files, journal, again=options.again)
        ids = [note["document"] for note in journal.done.values() if "document" in note]
        stress_ours.finish(library, ids, options.patience)
        found = {file.name: outcome_of(library, journal.done[file.name]) for file in files}
    finished.touch()
    return found


def _usual_work(source: Path) -> Path:
    """A folder of its own for each corpus, so that a second run finds the first."""
    digest = hashlib.sha256(str(source.resolve()).encode()).hexdigest()[:8]
    return Path(tempfile.gettempdir()) / f"rag-app-stress-{digest}"


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Add odd files, and say what became of each.")
    parser.add_argument("files", type=Path, nargs="?", help="a folder, or a tar of files")
    parser.add_argument("--work", type=Path, help="where what was done is kept")
    parser.add_argument("--fresh", action="store_true", help="forget what was done of ours")
    parser.add_argument("--again", action="store_true", help="try the file again it ended at")
    parser.add_argument("--only", nargs="+", metavar="KIND", help="only names ending so")
    parser.add_argument("--no-ocr", action="store_true", help="leave scans and pictures alone")
    parser.add_argument("--no-embedding", action="store_true", help="read and index words only")
    parser.add_argument(
        "--patience", type=float, default=6 * 3600, help="seconds to wait for recognition"
    )
    parser.add_argument(
        "--compare",
        nargs="*",
        choices=stress_others.NAMES,
        help="also run other readers (all, or these): pip install -e .[compare]",
    )
    parser.add_argument(
        "--compare-python", default=sys.executable, help="the Python they are installed for"
    )
    options = parser.parse_args(argv)
    if options.compare == []:
        options.compare = list(stress_others.NAMES)
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
