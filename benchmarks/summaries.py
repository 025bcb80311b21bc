"""How much of what people wrote as a summary does a summary without a chat model say?

    .venv/bin/python -m benchmarks.summaries WORK SQUAD.jsonl.gz… PAPER.md…

Two kinds of documents whose own summary is hidden: articles of an encyclopaedia without their
first two paragraphs, and papers without their abstract. What is left goes into a library in WORK
(kept, with every vector, for the next run); “Summarise this document” is asked of each; the answer
is compared with what was hidden by ROUGE (Lin 2004), beside the first and six random sentences."""

from __future__ import annotations

import gzip
import json
import pickle
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rag_app.environment import quiet_dependencies
from rag_app.library import Library
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.retrieval.ranking import TOKEN, stem
from rag_app.settings import Settings
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Finished

ARTICLES = 14
PARAGRAPHS = 30  # of an article
SENTENCES = 6
_ABSTRACT = re.compile(
    r"(?im)^\W*abstract\W*$(?P<abstract>.*?)(?=^\W*(?:\d\W*)?introduction\W*$)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Case:
    """A document without its summary, and the summary."""

    name: str
    text: str
    hidden: str


class Remembering(MiniLmEmbedder):
    """The built-in model, its vectors kept in a file."""

    def __init__(self, file: Path) -> None:
        super().__init__(1)
        self._file = file
        self._known = pickle.loads(file.read_bytes()) if file.exists() else {}

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Vectors of the texts; only of new ones is the model asked."""
        new = list({text for text in texts if text not in self._known})
        if new:
            self._known.update(zip(new, super().embed_documents(new), strict=True))
        return [self._known[text] for text in texts]

    def keep(self) -> None:
        """Write what is known to the file."""
        self._file.write_bytes(pickle.dumps(self._known))


def articles(files: Sequence[Path]) -> list[Case]:
    """Articles that begin with what they are about."""
    found: dict[str, dict[str, None]] = {}
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                found.setdefault(row["title"], {})[row["context"]] = None
    cases = []
    for title, contexts in found.items():
        named = title.replace("_", " ")
        texts = list(contexts)
        if named.split()[0].lower() in texts[0][:60].lower() and "%" not in named:
            body = "\n\n".join(texts[2 : 2 + PARAGRAPHS])
            cases.append(Case(f"{named}.md", f"# {named}\n\n{body}", " ".join(texts[:2])))
    return random.Random(4).sample(cases, ARTICLES)


def papers(files: Sequence[Path]) -> list[Case]:
    """Papers in Markdown that have an abstract."""
    cases = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        found = _ABSTRACT.search(text)
        if found:
            rest = text[: found.start()] + text[found.end() :]
            cases.append(Case(f"{file.name[-24:]}", rest, found["abstract"]))
    return cases


def rouge(said: str, reference: str, n: int) -> float:
    """F1 of the n-grams that two texts share, of stemmed words."""
    one, other = (Counter(_grams(text, n)) for text in (said, reference))
    shared = sum((one & other).values())
    total = sum(one.values()) + sum(other.values())
    return 2 * shared / total if total else 0.0


def _grams(text: str, n: int) -> list[tuple[str, ...]]:
    words = [stem(word) for word in TOKEN.findall(text.lower())]
    return list(zip(*(words[at:] for at in range(n)), strict=False))


def _split(case: Case) -> list[str]:
    cuts = [one_line(case.text[a:b]) for a, b in sentences(case.text)]
    return [cut for cut in cuts if len(cut.split()) > 5]


def main() -> None:
    """Ask, compare, print."""
    quiet_dependencies()
    work, *files = map(Path, sys.argv[1:])
    work.mkdir(parents=True, exist_ok=True)
    of_kind = {
        "articles": articles([f for f in files if f.suffix == ".gz"]),
        "papers": papers([f for f in files if f.suffix == ".md"]),
    }
    embedder = Remembering(work / "vectors.pickle")
    settings = Settings.load(data_dir=work / "library", generator="quotes", threads=1)
    with Library(settings, embedder=embedder) as library:
        for kind, cases in of_kind.items():
            ids = {c.name: library.add(c.name, c.text.encode()).document.id for c in cases}
            library.wait(list(ids.values()), timeout=3_600)
            embedder.keep()

            def asked(case: Case, ids: dict[str, str] = ids) -> str:
                events = library.ask("Summarise this document", documents=[ids[case.name]])
                answer = next(e.answer for e in events if isinstance(e, Finished))
                return " ".join(one_line(c.quote) for c in answer.citations)

            compared(f"{kind}, {len(cases)}: as asked", cases, asked, say=True)
            compared("  the first sentences", cases, lambda c: " ".join(_split(c)[:SENTENCES]))
            rng = random.Random(1)
            compared(
                "  random ones",
                cases,
                lambda c, rng=rng: " ".join(rng.sample(_split(c), SENTENCES)),
            )
            embedder.keep()


def compared(
    what: str, cases: Sequence[Case], summarised: Callable[[Case], str], *, say: bool = False
) -> None:
    """Print how near summaries are to what was hidden."""
    rows = []
    for case in cases:
        said = summarised(case)
        rows.append((rouge(said, case.hidden, 1), rouge(said, case.hidden, 2)))
        if say:
            print(f"{case.name[:40]:40} {rows[-1][0]:.3f} {rows[-1][1]:.3f} | {said}")
    one, two = np.mean(np.array(rows), axis=0) if rows else (0.0, 0.0)
    print(f"** {what}: ROUGE-1 {one:.3f}, ROUGE-2 {two:.3f}", flush=True)


if __name__ == "__main__":
    main()
