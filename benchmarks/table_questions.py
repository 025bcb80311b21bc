"""Questions that are computed from tables: how many are right, wrong, and withheld.

    python -m benchmarks.table_questions WRITER rows.jsonl --sheets dev
    python -m benchmarks.table_questions WRITER rows.jsonl --wikitables FOLDER --most 200
    python -m benchmarks.table_questions --ranked rows.jsonl --wikitables FOLDER --most 400
    python -m benchmarks.table_questions --app rows.jsonl --sheets dev
    python -m benchmarks.table_questions --report rows.jsonl

WRITER is the folder of the writer's weights; FOLDER holds questions.jsonl.gz and tables.tar.gz of
WikiTableQuestions (Pasupat and Liang 2015). Questions on sheets are asked of all twelve in one
library; those of WikiTableQuestions of the one table they are about, of tables whose number ends in
7 (nothing is taught from these). Nothing is withheld while rows are collected; with --ranked the
writer has nothing to say, and the ranker of queries answers alone; with --app questions on sheets
are asked of the app as it is installed, which withholds and quotes."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
import sys
import tarfile
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.kitchen_table import ours
from benchmarks.kitchen_table.questions import Question
from rag_app.answering.generation import Cancelled, Messages, TokenBudget, Tokens, Writer
from rag_app.answering.local_chat import OpenVinoChatModel
from rag_app.answering.prompts import query_said_as
from rag_app.answering.query_ranking import QueryRanker
from rag_app.answering.query_reading import QueryReader
from rag_app.answering.table_answers import TableAnswers, TriedQuery
from rag_app.environment import quiet_dependencies
from rag_app.errors import ChatModelError
from rag_app.library import Library
from rag_app.reading.limits import Limits
from rag_app.reading.sheets import read_delimited
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.scope import OWN, WORKER
from rag_app.settings import Settings
from rag_app.storage import Store
from rag_app.tables.building import typed_tables
from rag_app.tables.values import Convention, date
from rag_app.types import Document, Draft, Passage, Status

SHEETS = Path(__file__).resolve().parent / "office_sheets"
CAUTIONS = (0.0, 0.3, 0.5, 0.7, 0.9)
READ = 8  # passages of a question
_NUMBER = re.compile(r"-?\d[\d.,\u00a0\u202f ]*\d|-?\d")

Row = dict[str, Any]


class RememberingWriter(Writer):
    """Replies are kept by what was asked, so that a second run asks only what has changed."""

    def __init__(self, folder: Path | None, kept: Path) -> None:
        self._is_silent = folder is None
        super().__init__(
            "writer",
            lambda: OpenVinoChatModel(folder=str(folder), most_tokens=160),
            lambda e: ChatModelError(str(e)),
            window=4_000,
            most_tokens=160,
        )
        self._kept = kept
        rows = _kept_rows(kept)
        self._known = {row["asked"]: row for row in rows}
        self.said: list[Row] = []  # since the last question
        self.saved = 0.0  # seconds that a reply took when it was written

    def write_on(
        self,
        begun: str,
        messages: Messages,
        hear: Callable[[float], None],
        cancelled: Cancelled,
        hear_each: Callable[[Tokens], None] | None = None,
    ) -> Iterator[str]:
        """The whole reply, from what is kept if it is there. Raises ChatModelError."""
        if self._is_silent:
            yield query_said_as("", "")
            return
        told = list(messages(TokenBudget(4_000)))
        key = hashlib.sha256(json.dumps([begun, told]).encode()).hexdigest()
        if key not in self._known:
            heard: list[float] = []
            each: list[tuple[str, float]] = []
            began = time.perf_counter()
            *_, reply = super().write_on(begun, messages, heard.append, cancelled, each.extend)
            seconds = time.perf_counter() - began
            row = {"asked": key, "reply": reply, "sure": (heard or [0.0])[0], "seconds": seconds}
            self._known[key] = row | {"each": each}
            with self._kept.open("a", encoding="utf-8") as out:
                out.write(json.dumps(self._known[key], ensure_ascii=False) + "\n")
        else:
            self.saved += self._known[key]["seconds"]
        known = self._known[key]
        self.said.append({"told": told[-1][1], "reply": known["reply"], "sure": known["sure"]})
        hear(known["sure"])
        if hear_each:
            hear_each(known.get("each", []))
        yield known["reply"]


class Asker:
    """Asks one question of tables and writes down what came of it."""

    def __init__(self, folder: Path | None, store: Store, rows: Path) -> None:
        self._writer = writer = RememberingWriter(folder, rows.with_suffix(".replies.jsonl"))
        self._seen: TriedQuery | None = None
        ranker = QueryRanker(MiniLmEmbedder(), QueryReader())
        by = writer if folder else None  # else the writer's silence would be the answer
        self._answers = TableAnswers(store, OWN, by, 0.0, True, self._watch, ranker=ranker)

    def _watch(self, tried: TriedQuery | None) -> None:
        self._seen = tried

    def ask(
        self, question: str, passages: Sequence[Passage], documents: Sequence[Document], lang: str
    ) -> tuple[Draft | None, Row]:
        """The draft, and what is kept of it."""
        began = time.perf_counter()
        self._seen, self._writer.said, self._writer.saved = None, [], 0.0
        draft = self._answers.answer(question, passages, documents, lang, lambda: False)
        seconds = time.perf_counter() - began + self._writer.saved
        row: Row = {"seconds": seconds, "answer": "", "said": self._writer.said}
        if draft and draft.computation:
            row |= {
                "answer": "".join(draft.sentences),
                "sql": draft.computation.sql,
                "result": draft.computation.rows,
                "chance": draft.confidence,
            }
        if self._seen:
            known = ("says_yes", "sure_of_columns", "agrees", "ranked")
            row |= {name: getattr(self._seen, name) for name in known}
        return draft, row


def of_sheets(folder: Path | None, part: str, kept: Path, done: set[str]) -> Iterator[Row]:
    """The rows of our own questions."""
    asked = [json.loads(line) for line in (SHEETS / "questions.jsonl").read_text().splitlines()]
    random.Random(5).shuffle(asked)  # so that a part of them is a fair sample
    with (
        tempfile.TemporaryDirectory() as place,
        Library(Settings.load(data_dir=Path(place))) as library,
    ):
        files = sorted((SHEETS / "documents").iterdir())
        added = [library.add(file.name, file.read_bytes()) for file in files]
        library.wait([one.document.id for one in added])
        with closing(Store(Path(place) / "library.sqlite3")) as store:
            asker = Asker(folder, store, kept)
            for one in asked:
                if one["part"] != part or one["id"] in done:
                    continue
                passages = library.search(one["question"], READ)
                _, row = asker.ask(one["question"], passages, library.documents(), one["language"])
                judged = judge(one, row["answer"])
                yield (
                    {"id": one["id"], "kind": one["kind"], "q": one["question"]}
                    | row
                    | {
                        "gold": one["values"],
                        "verdict": judged,
                    }
                )


def judge(one: Row, answer: str) -> str:
    """right, wrong or silent; for what nothing answers, silence is right."""
    if not answer:
        return "right" if one["kind"] == "none" else "silent"
    if one["kind"] == "none":
        return "wrong"
    good = all(holds(answer, value, one["tolerance"]) for value in one["values"])
    bad = any(holds(answer, value, one["tolerance"]) for value in one["must_not"])
    return "right" if good and not bad else "wrong"


def holds(answer: str, value: str, tolerance: float) -> bool:
    """Whether an answer says a value: a figure within a tolerance, a date, or a text."""
    wanted = figures(value)
    if wanted and re.fullmatch(r"[-\d.,]+", value):
        return any(abs(abs(a) - abs(wanted[0])) <= tolerance for a in figures(answer))
    if found := re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", value):
        year, _, day = map(int, found.groups())
        return {year, day} <= {int(n) for n in re.findall(r"\d+", answer)}
    return plain(value) in plain(answer)


def figures(text: str) -> list[float]:
    """All numbers of a text, in each way that it can be read."""
    found: list[float] = []
    for match in _NUMBER.findall(text):
        bare = re.sub(r"[\u00a0\u202f ]", "", match)
        for read in (bare.replace(",", ""), bare.replace(".", "").replace(",", ".")):
            try:
                found.append(float(read))
            except ValueError:
                continue
    return found


def plain(text: str) -> str:
    """Folded, without marks and capitals."""
    bare = unicodedata.normalize("NFKD", text.lower())
    return re.sub(r"[^a-z0-9]+", " ", "".join(c for c in bare if not unicodedata.combining(c)))


def of_app(part: str, done: set[str]) -> Iterator[Row]:
    """The rows of our own questions, as the app answers them."""
    asked = [json.loads(line) for line in (SHEETS / "questions.jsonl").read_text().splitlines()]
    random.Random(5).shuffle(asked)
    files = sorted((SHEETS / "documents").iterdir())
    generator = Settings.load().answers_by
    with (
        tempfile.TemporaryDirectory() as place,
        ours.opened(Path(place), generator, files) as library,
    ):
        for one in asked:
            if one["part"] != part or one["id"] in done:
                continue
            asking = Question(one["id"], one["kind"], one["question"], (), (), (), (), "")
            said = ours.ask(library, asking)
            answer = "" if said.abstained else said.answer
            yield {
                **{"id": one["id"], "kind": one["kind"], "q": one["question"], "said": said.answer},
                **{"seconds": said.seconds.end, "answer": answer, "chance": said.confidence or 0.0},
                **{"gold": one["values"], "verdict": judge(one, answer)},
            }


def of_wikitables(
    folder: Path | None, data: Path, most: int, rows: Path, done: set[str]
) -> Iterator[Row]:
    """The rows of WikiTableQuestions on tables that are held."""
    with gzip.open(data / "questions.jsonl.gz", "rt", encoding="utf-8") as lines:
        asked = [json.loads(line) for line in lines]
    asked = [one for one in asked if re.search(r"7\.csv$", one["documents"][0])]
    asked = random.Random(5).sample(asked, min(most, len(asked)))
    with tarfile.open(data / "tables.tar.gz") as tar:
        texts = {Path(m.name).name: m for m in tar.getmembers() if m.isfile()}
        with (
            tempfile.TemporaryDirectory() as place,
            closing(Store(Path(place) / "t.sqlite")) as store,
        ):
            asker = Asker(folder, store, rows)
            for one in asked:
                if one["id"] in done:
                    continue
                name = one["documents"][0]
                held = tar.extractfile(texts[name])
                document = kept(store, name, held.read() if held else b"", Path(place))
                _, row = asker.ask(one["question"], (), [document], "English")
                out = [cell for r in row.get("result", ()) for cell in r]
                good = same(out, one["answers"])
                verdict = ("right" if good else "wrong") if row["answer"] else "silent"
                yield (
                    {"id": one["id"], "kind": "wikitables", "q": one["question"]}
                    | row
                    | {
                        "gold": one["answers"],
                        "verdict": verdict,
                    }
                )


def kept(store: Store, name: str, content: bytes, folder: Path) -> Document:
    """A table in the store as the app keeps it."""
    key = hashlib.sha256(content).hexdigest()
    document = Document(key, name, ".csv", len(content), Status.READY, "2026")
    if store.documents(WORKER, [key]):
        return document
    path = folder / name
    path.write_bytes(content)
    reading = read_delimited(path, limits=Limits())
    store.add_document(document)
    store.save_reading(key, reading, typed_tables(key, reading))
    return document


def same(out: Sequence[str], gold: Sequence[str]) -> bool:
    """Whether values are the wanted ones, as sets of numbers and folded texts."""
    return {_value(one) for one in out} == {_value(one) for one in gold}


def _value(text: str) -> str:
    bare = plain(text).strip()
    try:
        return f"{float(text.replace(',', '').strip()):g}"
    except ValueError:
        pass
    day = date(text, Convention())
    return str(day.date()) if day else bare


def report(rows: Sequence[Row]) -> None:
    """Shares by caution, and verdicts by kind."""
    for caution in CAUTIONS:
        said = Counter(
            one["verdict"]
            if one.get("chance", 1.0) >= caution
            else ("right" if one["kind"] == "none" else "silent")
            for one in rows
        )
        total = len(rows)
        shares = ", ".join(f"{name} {said[name] / total:.2f}" for name in ("right", "wrong"))
        print(f"caution {caution}: {shares} of {total}")
    for kind in sorted({one["kind"] for one in rows}):
        print(kind, dict(Counter(one["verdict"] for one in rows if one["kind"] == kind)))
    times = sorted(one["seconds"] for one in rows)
    print(f"seconds: median {times[len(times) // 2]:.1f}, longest {times[-1]:.1f}")


def main(argv: Sequence[str]) -> int:
    """Ask and report; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("writer", type=Path, nargs="?")
    parser.add_argument("rows", type=Path, nargs="?")
    parser.add_argument("--sheets", choices=("dev", "aside"))
    parser.add_argument("--wikitables", type=Path)
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--app", type=Path, metavar="ROWS")
    parser.add_argument("--ranked", type=Path, metavar="ROWS")
    options = parser.parse_args(argv)
    if options.report:
        report(_kept_rows(options.report))
        return 0
    quiet_dependencies()
    rows = options.app or options.ranked or options.rows
    done = {one["id"] for one in _kept_rows(rows)}
    if options.app:
        asked = of_app(options.sheets or "dev", done)
    elif options.sheets:
        asked = of_sheets(options.writer, options.sheets, rows, done)
    else:
        asked = of_wikitables(options.writer, options.wikitables, options.most, rows, done)
    with rows.open("a", encoding="utf-8") as out:
        for row in asked:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            out.flush()
    report(_kept_rows(rows))
    return 0


def _kept_rows(path: Path) -> list[Row]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
