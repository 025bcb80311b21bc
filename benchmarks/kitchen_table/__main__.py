"""Ask everyday questions over everyday documents, and say how many answers were right.

    python -m benchmarks.kitchen_table                                the part to work with
    python -m benchmarks.kitchen_table --kinds fact,list --every 5    a quick look
    python -m benchmarks.kitchen_table --generator quotes --out build/quotes.jsonl
    python -m benchmarks.kitchen_table --peers --writer FOLDER        with other projects beside
    python -m benchmarks.kitchen_table --folder benchmarks/strangers/seventeen

With --out each answer is kept at once, and a run that was broken off goes on where it was. Settings
are those of the environment (RAG_APP_…), which say what is measured. The tables go to standard
output, everything else to standard error."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.kitchen_table import figures, ours, peers
from benchmarks.kitchen_table.questions import HERE, PARTS, Question, chosen, documents, questions
from benchmarks.kitchen_table.rows import Kept, Row, Said
from rag_app.settings import Settings


class Run:
    """The questions of one run, and what came of them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.paths = documents(options.asked)
        self.questions = chosen(questions(options.asked), options.kinds, options.every)
        self._kept = Kept(options.out)

    def missing(self, by: str) -> list[Question]:
        """What a side has not been asked yet."""
        return self._kept.missing(by, self.questions)

    def note(self, by: str, question: Question, said: Said) -> None:
        """Judge an answer, keep it, and say so."""
        row = Row.of(by, question, said)
        self._kept.add(row)
        done = len(self._kept.of(by, self.questions))
        line = f"{by} {done}/{len(self.questions)} {row.id} {row.verdict} {row.seconds.end:.1f} s"
        print(f"{line}  {row.error}", file=sys.stderr, flush=True)

    def rows(self, by: str) -> list[Row]:
        """A side's rows, those of earlier runs included."""
        return self._kept.of(by, self.questions)


def ask_ours(run: Run) -> str:
    """The app's answers; returns what the app is called in the rows."""
    generator = run.options.generator or Settings.load().generator
    by = f"rag-app {generator}"
    if not run.missing(by):
        return by
    with ExitStack() as undone:
        given: Path | None = run.options.data_dir
        folder = given or Path(undone.enter_context(tempfile.TemporaryDirectory(prefix="kitchen-")))
        library = undone.enter_context(ours.opened(folder, generator, run.paths))
        for question in run.missing(by):
            run.note(by, question, ours.ask(library, question))
    return by


def ask_peer(run: Run, key: str) -> str:
    """A peer's answers; returns what it is called in the rows."""
    by = f"{peers.name(key)} {run.options.writer.name}"
    missing = {question.id: question for question in run.missing(by)}
    if missing:
        for found, said in peers.answers(
            key, run.paths, list(missing.values()), run.options.writer
        ):
            run.note(by, missing[found], said)
    return by


def main(argv: Sequence[str]) -> int:
    """Ask, judge, print; the exit status."""
    options = _options(argv)
    if options.peers and not options.writer:
        print("--peers needs --writer, the folder of the app’s language model.", file=sys.stderr)
        return 2
    run = Run(options)
    sides = [ask_ours(run)]
    sides += [ask_peer(run, key) for key in peers.KEYS] if options.peers else []
    whose = options.folder or options.part
    print(f"# {whose}: {len(run.questions)} questions, {len(run.paths)} documents")
    for by in sides:
        print("\n" + figures.report(by, run.rows(by)))
    return 0


def _kinds(text: str) -> tuple[str, ...]:
    kinds = tuple(kind.strip() for kind in text.split(",") if kind.strip())
    return kinds


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError("give a whole number from 1 on")
    return int(text)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kitchen_table",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--part", choices=PARTS, default="dev", help="aside: for final runs only")
    which.add_argument("--folder", type=Path, help="documents and questions like these elsewhere")
    parser.add_argument("--kinds", type=_kinds, default=(), help="only these, parted by commas")
    parser.add_argument("--every", type=_count, default=1, help="only every n-th question")
    parser.add_argument("--generator", help="instead of the one in the settings")
    parser.add_argument("--data-dir", type=Path, help="keep the library here, or use the one there")
    parser.add_argument("--peers", action="store_true", help="ask other projects, too")
    parser.add_argument("--writer", type=Path, help="folder of the language model, for the peers")
    parser.add_argument("--out", type=Path, help="keep the answers here, a line of JSON each")
    options = parser.parse_args(argv)
    options.asked = options.folder.resolve() if options.folder else HERE / options.part
    known = {one.kind for one in questions(options.asked)}
    if unknown := [kind for kind in options.kinds if kind not in known]:
        parser.error(f"no such kind: {', '.join(unknown)}")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
