"""Written answers through the app's own code: how many are right, wrong, and withheld.

    python -m benchmarks.written_answers WRITER rows.jsonl --kitchen a/dev b/dev --half odd
    python -m benchmarks.written_answers WRITER rows.jsonl --squad squad_v2_dev.jsonl.gz --most 100
    python -m benchmarks.written_answers WRITER rows.jsonl --written clapnq_dev_half.jsonl --most 60
    python -m benchmarks.written_answers UNTAUGHT rows.jsonl --written … --plain
    python -m benchmarks.written_answers --fit rows.jsonl more.jsonl --against held.jsonl
    python -m benchmarks.written_answers --report rows.jsonl --caution 0.3

WRITER is the folder of the writer's weights. Nothing is withheld while rows are collected, so that
a report can be made for any caution. Rows that are there already are not asked again. A question of
the kitchen table is right if its answer matches all that it must and nothing that it must not; one
of SQuAD if it holds a gold answer; one that nothing answers, if it is withheld. Answers of several
sentences are compared by ROUGE-L (Lin 2004). With --plain the model is asked as LangChain's
tutorial asks it, with all of the passages: what the app is to be ahead of."""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import string
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.kitchen_table.judging import refusing
from benchmarks.kitchen_table.langchain_side import PROMPT
from rag_app.answering import abstention
from rag_app.answering.abstention import Signals
from rag_app.answering.chat_generator import OWN_CONTEXT, Grounding
from rag_app.answering.coreference import standalone
from rag_app.answering.extraction import QuoteGenerator, Reader
from rag_app.answering.generation import FollowUp, Writer
from rag_app.answering.query_rewriting import Turn, follow_up
from rag_app.answering.sentence_ranker import SentenceRanker, similar
from rag_app.answering.span_model import SpanModel
from rag_app.answering.writer_generator import TaughtGenerator
from rag_app.environment import quiet_dependencies
from rag_app.library import Library
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.retrieval.ranking import TOKEN, fused, stem
from rag_app.retrieval.retriever import HybridRetriever
from rag_app.settings import Settings
from rag_app.types import Chunk, Passage
from training import metrics

READ = 8  # passages of a question
EVERY = 10_000  # sentences: in a library they are at hand
_LONGEST = 3_600.0  # seconds that making vectors of sentences takes
CAUTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
_WEIGHTS = {
    "_BEFORE": ("score", "says_yes"),
    "_BEFORE_WRITER": ("says_yes",),
    "_AFTER": ("says_yes", "backed", "ranked", "agrees"),
    "_AFTER_WRITER": ("says_yes", "backed", "ranked"),
}


@dataclass(frozen=True)
class Asked:
    """One question, what it is answered from, and how its answer is judged."""

    id: str
    kind: str  # "unanswerable": it is right to withhold an answer
    question: str
    passages: tuple[Passage, ...]
    must: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    golds: tuple[str, ...] = ()
    follow_up: FollowUp | None = None  # as it was typed, if it leans on the turn before it

    def right(self, answer: str) -> bool:
        """Whether an answer that was given is the wanted one."""
        if self.golds:
            said = f" {normalised(answer)} "
            return any(f" {normalised(gold)} " in said for gold in self.golds)
        found = [bool(re.search(one, answer, re.IGNORECASE)) for one in self.must]
        not_found = [not re.search(one, answer, re.IGNORECASE) for one in self.must_not]
        return bool(found) and all(found) and all(not_found)

    def row(
        self, text: str, withheld: bool, began: float, first: float, signals: Signals | None
    ) -> dict[str, Any]:
        """What is kept of an answer; `began`: by `time.perf_counter`, `first`: seconds."""
        return {
            "id": self.id,
            "kind": self.kind,
            "question": self.question,
            "text": text,
            "right": self.right(text) if self.kind != "written" else None,
            "f1": max((metrics.f1(gold, text) for gold in self.golds), default=0.0),
            "rouge_l": max((rouge_l(text, gold) for gold in self.golds), default=0.0),
            "withheld": withheld,
            "first": round(first, 2),
            "seconds": round(time.perf_counter() - began, 2),
            "signals": asdict(signals) if signals else None,
        }


def rouge_l(said: str, reference: str) -> float:
    """F1 of the longest common subsequence of two texts' words, stemmed (Lin 2004)."""
    one, other = (
        [stem(word) for word in TOKEN.findall(text.lower())] for text in (said, reference)
    )
    lengths = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for at, wanted in enumerate(other, 1):
            before, lengths[at] = (
                lengths[at],
                before + 1 if word == wanted else max(lengths[at], lengths[at - 1]),
            )
    return 2 * lengths[-1] / max(1, len(one) + len(other))


def normalised(text: str) -> str:
    """As SQuAD compares: lower case, without punctuation and articles."""
    bare = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(?:a|an|the)\b", " ", bare).split())


# Questions


def of_kitchen(folders: Sequence[Path], half: str) -> Iterator[Asked]:
    """The questions of one half (odd or even numbers), asked of all documents in one library."""
    rows = [
        json.loads(line)
        for folder in folders
        for line in (folder / "questions.jsonl").read_text("utf-8").splitlines()
    ]
    with (
        tempfile.TemporaryDirectory() as place,
        Library(Settings.load(data_dir=Path(place))) as library,
    ):
        files = [f for folder in folders for f in sorted((folder / "documents").iterdir())]
        added = [library.add(file.name, file.read_bytes()) for file in files]
        library.wait([one.document.id for one in added])
        library.wait_for_sentences(_LONGEST)
        for row in rows:
            if half != "all" and (int(row["id"][-3:]) % 2 == 1) != (half == "odd"):
                continue
            turns = tuple(Turn(t["question"], t.get("answer", "")) for t in row["turns"])
            asked = standalone(row["question"], turns) if turns else row["question"]
            leaning = follow_up(row["question"], turns)
            wordings = [asked, leaning.text] if leaning else [asked]
            found = _found(library.retriever(READ), wordings)
            must, must_not = tuple(row["must"]), tuple(row["must_not"])
            yield Asked(row["id"], row["kind"], asked, found, must, must_not, follow_up=leaning)


def _found(retriever: HybridRetriever, wordings: Sequence[str]) -> tuple[Passage, ...]:
    """As the app's chain finds passages."""
    lists = [retriever.unread.passages(wording) for wording in wordings]
    best = fused(lists, [1.0] * len(lists), retriever.unread.k)
    return tuple(retriever.read(wordings, best))


def of_squad(file: Path, most: int) -> Iterator[Asked]:
    """As many answerable as unanswerable questions: the paragraph and two more of its article."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    contexts: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        contexts[row["title"]][row["context"]] = None
    rng = random.Random(7)
    kinds = [[r for r in rows if r["answers"]], [r for r in rows if not r["answers"]]]
    for row in (one for kind in kinds for one in rng.sample(kind, most // 2)):
        others = [c for c in contexts[row["title"]] if c != row["context"]]
        texts = [row["context"], *rng.sample(others, min(2, len(others)))]
        rng.shuffle(texts)
        golds = tuple(dict.fromkeys(a["text"] for a in row["answers"]))
        kind = "answerable" if golds else "unanswerable"
        name = row["title"].replace("_", " ")
        yield Asked(row["id"], kind, row["question"], passages_of(name, texts), golds=golds)


def of_written(file: Path, most: int) -> Iterator[Asked]:
    """Questions with one passage each; the references are whole answers."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for row in random.Random(7).sample(rows, min(most, len(rows))):
        texts = [passage["text"] for passage in row["passages"]]
        found = passages_of(row["passages"][0]["title"], texts)
        kind = "written" if row["references"] else "unanswerable"
        yield Asked(row["id"], kind, row["question"], found, golds=tuple(row["references"]))


def passages_of(name: str, texts: Sequence[str]) -> tuple[Passage, ...]:
    """Texts as if each was a page of one document."""
    chunks = [Chunk(name, n, n, 0, len(text), text) for n, text in enumerate(texts, 1)]
    return tuple(Passage(chunk, f"{name}.txt", 1 / len(texts)) for chunk in chunks)


# Answers


class PlainDesk:
    """A model from a folder with the prompt of LangChain's tutorial and whole passages."""

    def __init__(self, folder: Path) -> None:
        from rag_app.answering.local_chat import OpenVinoChatModel

        self._model = OpenVinoChatModel(folder=str(folder), most_tokens=200)

    def answer(self, asked: Asked) -> dict[str, Any]:
        """One row."""
        began, first, text = time.perf_counter(), 0.0, ""
        context = "\n\n".join(passage.chunk.text for passage in asked.passages)
        prompt = PROMPT.format(question=asked.question, context=context)
        for piece in self._model.stream(prompt):
            first = first or time.perf_counter() - began
            text += str(piece.content)
        return asked.row(text, refusing(text), began, first, None)


class Desk:
    """The app's own generator with a writer from a folder; remembers what was known."""

    def __init__(self, folder: Path, context: int) -> None:
        from rag_app.answering.local_chat import OpenVinoChatModel

        self._model = OpenVinoChatModel(folder=str(folder), most_tokens=200)
        writer = Writer("writer", lambda: self._model, _as_it_is, window=4_096, most_tokens=200)
        embedder = MiniLmEmbedder()
        self._known = threading.local()
        grounding = Grounding(
            Reader(SpanModel(), 0.0),
            0.0,
            context,
            self._watch,
            SentenceRanker(similar=similar(Settings.load()), compared=EVERY).score,
        )
        safety = QuoteGenerator(embedder, 0.0)
        self._generator = TaughtGenerator(writer, embedder, safety, grounding)

    def _watch(self, signals: Signals) -> None:
        self._known.signals = signals

    def answer(self, asked: Asked) -> dict[str, Any]:
        """One row."""
        began, first = time.perf_counter(), 0.0
        self._known.signals = Signals()
        draft = None
        for piece in self._generator.generate(
            asked.question, asked.passages, lambda: False, follow_up=asked.follow_up
        ):
            first = first or time.perf_counter() - began
            draft = piece.draft
        assert draft is not None
        text = "".join(draft.sentences)
        row = asked.row(text, draft.abstained, began, first, self._known.signals)
        return row | {"by": draft.generator, "cited": sum(map(bool, draft.evidence))}


def _as_it_is(error: Exception) -> Any:
    return error


def collect(desk: Desk | PlainDesk, asked: Sequence[Asked], into: Path, at_once: int) -> None:
    """A row for every question that has none yet, in no order: what is there is a fair sample."""
    known = {row["id"] for row in rows_of([into])} if into.exists() else set()
    left = [one for one in random.Random(1).sample(asked, len(asked)) if one.id not in known]
    with into.open("a", encoding="utf-8") as file, ThreadPoolExecutor(at_once) as pool:
        for row in pool.map(desk.answer, left):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()


# Figures


def rows_of(files: Sequence[Path]) -> list[dict[str, Any]]:
    """The rows of several files."""
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def chance(row: dict[str, Any]) -> float:
    """Of being right, by the fit that the app has now; 1 where nothing is known."""
    return 1.0 if row["signals"] is None else abstention.after(Signals(**row["signals"]))


def verdict(row: dict[str, Any], caution: float) -> str:
    """right, wrong or silent."""
    withheld = row["withheld"] or chance(row) < caution
    if row["kind"] == "unanswerable":
        return "right" if withheld else "wrong"
    if withheld:
        return "silent"
    return "right" if row["right"] or row["right"] is None else "wrong"


def report(rows: Sequence[dict[str, Any]], caution: float) -> None:
    """Right, wrong and silent, by kind and for several cautions."""
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        kinds[row["kind"]][verdict(row, caution)] += 1
    for kind, found in sorted(kinds.items()):
        counts = " ".join(f"{key} {found[key]:3}" for key in ("right", "wrong", "silent"))
        print(f"{kind:22} {counts}")
    for at in sorted({*CAUTIONS, caution}):
        found = Counter(verdict(row, at) for row in rows)
        no = [row for row in rows if row["kind"] == "unanswerable"]
        said = [row for row in rows if verdict(row, at) in ("right", "wrong") and row not in no]
        shares = {k: round(found[k] / len(rows), 3) for k in ("right", "wrong", "silent")}
        refused = sum(verdict(row, at) == "right" for row in no) / max(1, len(no))
        good = sum(bool(row["right"]) for row in said) / max(1, len(said))
        print(f"caution {at:.2f} {shares} refused {refused:.2f} right when said {good:.2f}")
    firsts = [row["first"] for row in rows]
    print(f"first word {np.median(firsts):.1f} s, F1 {np.mean([row['f1'] for row in rows]):.3f}")
    if written := [row for row in rows if row["kind"] == "written"]:
        for at in sorted({0.0, *CAUTIONS, caution}):
            said = [row["rouge_l"] * (verdict(row, at) != "silent") for row in written]
            print(f"caution {at:.2f} ROUGE-L {np.mean(said):.3f}")


def fit(rows: Sequence[dict[str, Any]], held: Sequence[dict[str, Any]]) -> None:
    """The weights of abstention.py, and how well they tell right from wrong elsewhere."""
    for name, used in _WEIGHTS.items():
        model = LogisticRegression(C=1.0).fit(*_table(rows, used))
        weights = {"bias": float(model.intercept_[0])} | dict(
            zip(used, map(float, model.coef_[0]), strict=True)
        )
        print(name, "=", {key: round(value, 3) for key, value in weights.items()})
        for label, some in (("fitted on", rows), ("held out", held)):
            if some:
                values, rights = _table(some, used)
                chances = model.predict_proba(values)[:, 1]
                ece = metrics.ece(metrics.bins(chances.tolist(), rights.astype(float).tolist()))
                area = roc_auc_score(rights, chances)
                print(f"  {label} {len(some)}: AUROC {area:.3f}, ECE {ece:.3f}")


def _table(rows: Sequence[dict[str, Any]], used: Sequence[str]) -> tuple[Any, Any]:
    known = [abstention.features(Signals(**row["signals"])) for row in rows if _judged(row)]
    rights = [bool(row["right"]) for row in rows if _judged(row)]
    return np.array([[one[name] for name in used] for one in known]), np.array(rights)


def _judged(row: dict[str, Any]) -> bool:
    """Whether a row says anything of the probability: an answer was written, and can be judged."""
    return row["right"] is not None and not row["withheld"] and not row["by"]


def main() -> None:
    """Collect, fit or report."""
    quiet_dependencies()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("writer", type=Path, nargs="?", help="folder of the writer's weights")
    parser.add_argument("rows", type=Path, nargs="?", help="file of rows to add to")
    parser.add_argument("--kitchen", type=Path, nargs="+", default=[])
    parser.add_argument("--half", choices=("odd", "even", "all"), default="odd")
    parser.add_argument("--squad", type=Path)
    parser.add_argument("--written", type=Path)
    parser.add_argument("--plain", action="store_true", help="a plain prompt, nothing of the app's")
    parser.add_argument("--most", type=int, default=100, help="questions of --squad or --written")
    parser.add_argument("--context", type=int, default=OWN_CONTEXT, help="tokens of excerpts")
    parser.add_argument("--at-once", type=int, default=1, help="questions; more blur the seconds")
    parser.add_argument("--fit", type=Path, nargs="+", default=[])
    parser.add_argument("--against", type=Path, nargs="+", default=[], help="rows held out")
    parser.add_argument("--report", type=Path, nargs="+", default=[])
    parser.add_argument("--caution", type=float, default=0.3)
    given = parser.parse_args()
    if given.writer and given.rows:
        asked = [*of_kitchen(given.kitchen, given.half)] if given.kitchen else []
        asked += of_squad(given.squad, given.most) if given.squad else ()
        asked += of_written(given.written, given.most) if given.written else ()
        desk = PlainDesk(given.writer) if given.plain else Desk(given.writer, given.context)
        collect(desk, asked, given.rows, given.at_once)
    if given.fit:
        fit(rows_of(given.fit), rows_of(given.against))
    if given.report:
        report(rows_of(given.report), given.caution)


if __name__ == "__main__":
    main()
