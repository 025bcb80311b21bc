"""Does search find the same in both databases, and for how much?

    .venv/bin/python -m benchmarks.databases CRANFIELD [--questions 225] [--abstracts 1400]
    .venv/bin/python -m benchmarks.databases FOLDER --made 300000 [--pdfs FOLDER_OR_TAR]
    .venv/bin/python -m benchmarks.databases DATA_DIRECTORY --asked FILE

The same chunks and vectors are written to SQLite and Chroma, and to PostgreSQL with pgvector (of
the tests, or POSTGRES_SERVER); the same questions are asked of both, one after the other, the first
now here, now there. Time is CPU time, of this process and of the server's connections. A made
library (`made_library.py`) is kept in the folder, and moved as `rag-app move` does it; so is any
other, of which a file of questions with their pages is asked, as `rag-app evaluate` takes them."""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import corpus
from benchmarks.bench import DEFAULT_PDFS
from benchmarks.cranfield import abstracts, judgements, queries
from benchmarks.made_library import Base, MadeEmbedder, fill
from benchmarks.scale import ASKED, question
from rag_app.evaluation.metrics import (
    EvaluationQuestion,
    mean,
    ndcg,
    quantile,
    read_asked,
    recall,
)
from rag_app.ingestion.worker import index
from rag_app.library import Library
from rag_app.retrieval.embedding import Embedder, MiniLmEmbedder
from rag_app.retrieval.ranking import query_words
from rag_app.retrieval.retriever import HybridRetriever
from rag_app.scope import HOME, OWN
from rag_app.settings import QUEUES, Settings
from rag_app.storage import Store
from rag_app.storage.chroma import ChromaVectors
from rag_app.storage.database import AnyDatabase, Database
from rag_app.storage.moving import move
from rag_app.storage.pgvector import PgTables
from rag_app.storage.postgres import PostgresDatabase
from rag_app.storage.postgres_words import query_of
from rag_app.storage.vectors import VectorIndex
from rag_app.storage.words import any_of
from rag_app.types import Document, Page, Reading, RetrieverKind, Status
from tests.postgres import fresh_database

_DEPTH = 20  # of overlap
_TOKENS = 200  # of a chunk
_AT_ONCE = 64  # texts embedded together

Wanted = Mapping[str, float]
Find = Callable[[str], list[str]]


class RememberedEmbedder(MiniLmEmbedder):
    """Embeds a question once, so that it costs neither side anything."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, list[float]] = {}

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        if text not in self._known:
            self._known[text] = super().embed_query(text)
        return self._known[text]


@dataclass(frozen=True, slots=True)
class Side:
    """A library in one of the databases."""

    database: AnyDatabase
    store: Store
    vectors: VectorIndex

    def finder(self, kind: RetrieverKind, embedder: RememberedEmbedder) -> Find:
        """Ids of chunks, best first."""
        retriever = HybridRetriever(
            store=self.store,
            vectors=self.vectors,
            embedder=embedder,
            scope=OWN,
            kind=kind,
            k=_DEPTH,
        )
        return lambda question: [one.chunk.id for one in retriever.passages(question)]

    def by_words(self, question: str) -> list[str]:
        """Ids of chunks as the index of words ranks them."""
        found = self.store.search_words(*query_words(question), _DEPTH, OWN)
        return [chunk for chunk, _ in found]

    def by_ts_rank_cd(self, question: str) -> list[str]:
        """The same by PostgreSQL's own rank, in PostgreSQL."""
        asked = query_of(" OR ".join(any_of(query_words(question)[0]))).written
        with self.database.read() as db:
            rows = db.execute(
                "SELECT c.id FROM chunk_words w JOIN chunks c ON c.rowid = w.place "
                "WHERE w.found @@ ?::tsquery "
                "ORDER BY ts_rank_cd(w.found, ?::tsquery) DESC, w.place LIMIT ?",
                (asked, asked, _DEPTH),
            ).fetchall()
        return [row[0] for row in rows]

    def cpu(self) -> float:
        """Seconds of CPU so far: of this process, and of the server for its connections."""
        own = time.process_time()
        if isinstance(self.database, Database):
            return own
        with self.database.read() as db:
            rows = db.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            ).fetchall()
        ran = (Path(f"/proc/{pid}/schedstat").read_text("utf-8") for (pid,) in rows)
        return own + sum(int(one.split()[0]) for one in ran) / 1e9


@dataclass(slots=True)
class Compared:
    """What came of a way to find, in both."""

    found: tuple[list[list[str]], list[list[str]]] = field(default_factory=lambda: ([], []))
    cpu: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    clock: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    def row(self, name: str, wanted: Sequence[Wanted]) -> str:
        """A row of the table."""
        figures = [
            f"{_mean(measure(_documents(one), gold, 10) for one, gold in pairs):.4f}"
            for measure in (ndcg, recall)
            for pairs in (list(zip(side, wanted, strict=True)) for side in self.found)
        ]
        overlap = _mean(_overlap(*both) for both in zip(*self.found, strict=True))
        times = [
            f"{(quantile(theirs, share) or 0) / (quantile(ours, share) or 1):.1f}"
            for ours, theirs in [self.cpu]
            for share in (0.5, 0.95)
        ]
        ours = f"{1_000 * (quantile(self.cpu[0], 0.5) or 0):.1f}"
        return "| " + " | ".join([name, *figures, f"{overlap:.3f}", ours, *times]) + " |"

    def times(self, name: str) -> str:
        """A row of the table of a made library."""
        overlap = _mean(_overlap(*both) for both in zip(*self.found, strict=True))
        told = [
            f"{1_000 * (quantile(side, share) or 0):.0f}"
            for both in (self.clock, self.cpu)
            for share in (0.5, 0.95)
            for side in both
        ]
        return "| " + " | ".join([name, *told, f"{overlap:.3f}"]) + " |"


def main() -> None:
    """Fill both, ask both, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=225)
    parser.add_argument("--abstracts", type=int, default=1400)
    parser.add_argument("--made", type=int, help="a made library of so many passages")
    parser.add_argument("--pdfs", type=Path, default=DEFAULT_PDFS, help="that it is made of")
    parser.add_argument("--asked", type=Path, help="questions of a library that is there")
    given = parser.parse_args()
    if given.asked:
        _moved(given.folder, RememberedEmbedder(), read_asked(given.asked))
        return
    if given.made:
        folder = given.folder / str(given.made)
        with tempfile.TemporaryDirectory() as pdfs:
            fill(folder, Base.of(corpus.unpack(given.pdfs, Path(pdfs) / "pdfs")), given.made)
        _moved(folder, MadeEmbedder())
        return
    every = abstracts((given.folder / "cran.all.1400").read_text("utf-8"))
    texts = {number: text for number, text in every.items() if number <= given.abstracts}
    judged = judgements((given.folder / "QRelsCorrectedforTRECeval").read_text("utf-8"))
    told = {
        question: {_id(n)[:16]: float(g) for n, g in judged.get(number, {}).items() if n in texts}
        for number, question in enumerate(
            queries((given.folder / "cran.qry").read_text("utf-8")), start=1
        )
    }
    asked = [question for question, wanted in told.items() if wanted][: given.questions]
    wanted = [told[question] for question in asked]
    embedder = RememberedEmbedder()
    with ExitStack() as held:
        sides = _opened(held, embedder.fingerprint)
        print(f"{_fill(sides, texts, embedder)} chunks, {len(asked)} questions\n")
        print("| | nDCG@10 | PostgreSQL | recall@10 | PostgreSQL | overlap@20 | CPU ms |", end="")
        print(" p50 × | p95 × |\n|---|---|---|---|---|---|---|---|---|")
        for name, finders in _ways(sides, embedder):
            print(_compared(asked, sides, finders).row(name, wanted), flush=True)


def _moved(folder: Path, embedder: Embedder, told: Sequence[EvaluationQuestion] = ()) -> None:
    """A library, brought to PostgreSQL, and whole searches in both."""
    with ExitStack() as held:
        temporary = Path(held.enter_context(tempfile.TemporaryDirectory()))
        url, began = held.enter_context(fresh_database()), time.perf_counter()
        made = move(Settings.load(data_dir=folder, database_url=url))
        took = time.perf_counter() - began
        print(f"{made.rows['chunks']:,} passages, {made.vectors:,} vectors in {took:.0f} s\n")
        here = Settings.load(data_dir=folder, queues=",".join(QUEUES))
        there = Settings.load(data_dir=temporary, database_url=url, queues="none")
        both = [held.enter_context(Library(one, embedder=embedder)) for one in (here, there)]
        both[0].pause()
        held.callback(both[0].resume)
        asked = [one.question for one in told] or _questions(both[0])
        columns = [f"{one} | PostgreSQL" for one in ("clock ms p50", "p95", "CPU ms p50", "p95")]
        columns += ["overlap@20", "page recall@5 | PostgreSQL"]
        print(f"| | {' | '.join(columns)} |\n{'|---' * 12}|", flush=True)
        sides = [Side(one._store.database, one._store, one._vectors) for one in both]
        for kind in RetrieverKind:
            places: dict[str, tuple[str, int]] = {}
            finders = [_whole(library, kind, places) for library in both]
            found = _compared(asked, (sides[0], sides[1]), (finders[0], finders[1]))
            told_of = [_page_recall(told, side, places) for side in found.found]
            print(found.times(kind.value), " | ".join(told_of), "|", flush=True)


def _questions(library: Library) -> list[str]:
    documents, chance = library.documents(), random.Random(5)
    pages = [library.page(chance.choice(documents).id, 1).text.split() for _ in range(ASKED)]
    return [question(words, chance) for words in pages]


def _whole(library: Library, kind: RetrieverKind, places: dict[str, tuple[str, int]]) -> Find:
    def find(asked: str) -> list[str]:
        found = library.search(asked, _DEPTH, retriever=kind)
        places.update({one.chunk.id: (one.name, one.chunk.page) for one in found})
        return [one.chunk.id for one in found]

    return find


def _page_recall(
    told: Sequence[EvaluationQuestion],
    found: Sequence[Sequence[str]],
    places: Mapping[str, tuple[str, int]],
) -> str:
    pages = [list(dict.fromkeys(places[one] for one in ids)) for ids in found]
    each = [recall(p, t.pages, 5) for p, t in zip(pages, told, strict=False) if t.pages]
    return f"{mean(each):.3f}" if each else ""


def _opened(held: ExitStack, fingerprint: str) -> tuple[Side, Side]:
    folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
    url = held.enter_context(fresh_database())
    sqlite, postgres = Database(folder / "library.sqlite3"), PostgresDatabase(url)
    chroma = ChromaVectors(folder / "vectors", fingerprint)
    for one in (sqlite, postgres, chroma):
        held.callback(one.close)
    pgvector = PgTables(postgres).open(fingerprint)
    return Side(sqlite, Store(sqlite), chroma), Side(postgres, Store(postgres), pgvector)


def _fill(sides: Sequence[Side], texts: Mapping[int, str], embedder: MiniLmEmbedder) -> int:
    held = []
    for number, text in texts.items():
        name = f"{number:04d}.txt"
        document = Document(_id(number), name, ".txt", 1, Status.RECEIVED, "2026-01-01")
        reading = Reading((Page(1, text),))
        chunks = index(document, reading.pages, reading, _TOKENS)
        held += [(document.id, one) for one in chunks]
        for side in sides:
            side.store.add_document(document)
            side.store.save_reading(document.id, reading)
            side.store.save_chunks(document.id, chunks, "en")
    for first in range(0, len(held), _AT_ONCE):
        part = held[first : first + _AT_ONCE]
        made = embedder.embed_documents([one.for_embedding for _, one in part])
        vectors = {one.chunk.id: vector for (_, one), vector in zip(part, made, strict=True)}
        for document_id in dict.fromkeys(document_id for document_id, _ in part):
            ids = [one.chunk.id for owner, one in part if owner == document_id]
            for side in sides:
                side.vectors.upsert(document_id, ids, [vectors[i] for i in ids], HOME)
    return len(held)


def _ways(
    sides: tuple[Side, Side], embedder: RememberedEmbedder
) -> Iterator[tuple[str, tuple[Find, Find]]]:
    for kind in RetrieverKind:
        yield kind.value, (sides[0].finder(kind, embedder), sides[1].finder(kind, embedder))
    yield "index of words alone", (sides[0].by_words, sides[1].by_words)
    yield "the same, by ts_rank_cd", (sides[0].by_words, sides[1].by_ts_rank_cd)


def _compared(
    asked: Sequence[str], sides: tuple[Side, Side], finders: tuple[Find, Find]
) -> Compared:
    result = Compared()
    for find in finders:  # opened, and the questions embedded
        for asking in asked:
            find(asking)
    for number, asking in enumerate(asked):
        for which in (0, 1) if number % 2 else (1, 0):
            before, began = sides[which].cpu(), time.perf_counter()
            result.found[which].append(finders[which](asking))
            result.clock[which].append(time.perf_counter() - began)
            result.cpu[which].append(sides[which].cpu() - before)
    return result


def _id(number: int) -> str:
    return f"{number:04d}"[::-1].ljust(64, "0")


def _documents(found: Sequence[str]) -> list[str]:
    """The documents of chunks, by what their chunks' ids begin with."""
    return list(dict.fromkeys(one.rpartition("-")[0] for one in found))


def _overlap(ours: Sequence[str], theirs: Sequence[str]) -> float:
    return len({*ours} & {*theirs}) / len(ours) if ours else 1.0


def _mean(values: Iterator[float]) -> float:
    return mean(list(values)) or 0.0


if __name__ == "__main__":
    main()
