"""Other projects take part as they are, and libraries of any size are made of real text."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import report, scale
from benchmarks.environments import PEERS
from benchmarks.made_library import Base, MadeEmbedder, fill
from benchmarks.peer_pipelines import PIPELINES
from benchmarks.rate import operations
from rag_app.scope import OWN, WORKER
from rag_app.storage import Store
from rag_app.types import Status
from tests.test_benchmark import side

BASE = Base(
    ("The lighthouse was painted red in 1931.", "Ferries leave every forty minutes."),
    ("harbour", "gull", "ferry"),
)


def test_every_peer_has_a_pipeline_and_exact_versions():
    assert set(PEERS) == set(PIPELINES)
    assert all("==" in package for peer in PEERS.values() for package in peer.packages)


def test_a_peer_has_rows_of_its_own_and_what_its_model_did_not_read_is_said():
    peer = {**side(seconds=20), "share_read": 0.34, "versions": {"txtai": "9"}}
    rows = report.rows({"ingest": {"ours": side(), "tutorial": side(seconds=60), "txtai": peer}})
    told = {row.what: row for row in rows}
    assert told["rag-app against txtai"].figure == "2.0 x"
    assert told["rag-app against txtai"].target == ""
    assert told["rag-app against tutorial pipeline"].met
    assert "the model read 34% of the text" in told["txtai: 500 pages to fully searchable"].figure


def test_the_share_of_the_matrix_rate_is_held_against_what_was_promised():
    part = {"share": 0.39, "dtype": "bfloat16", "matrix_tflops": 0.8}
    rows = report.rows({"embedding": {**part, "texts_per_second": 90.0, "tokens": 180.0}})
    assert [row.met for row in rows] == [True, False]


def test_the_arithmetic_of_a_network_is_counted_by_hand():
    assert operations(1, layers=1, width=2, inner=3) == 2 * (4 * 4 + 2 * 2 * 3) + 4 * 2


def test_a_made_library_is_whole(tmp_path):
    assert fill(tmp_path, BASE, 400) == 2
    store = Store(tmp_path / "library.sqlite3")
    try:
        documents = store.documents(WORKER)
        assert [d.status for d in documents] == [Status.READY] * 2
        for indexed in store.indexed(documents[1].id, WORKER):
            assert indexed.chunk.text == indexed.words
        assert len(store.search_words(["company0"], [], 500, OWN)) == 400
    finally:
        store.close()
    found = scale.measure(tmp_path, clean=True)
    assert found["hybrid_p95"] >= found["hybrid_median"] > 0
    assert found["clean_seconds"] > 0


def test_made_vectors_of_one_passage_lie_together():
    embedder = MadeEmbedder()
    one, again, other = (
        embedder.around([place], seed)[0] for place, seed in ((3, 1), (3, 2), (4, 3))
    )
    assert np.linalg.norm(one) == pytest.approx(1)
    assert one @ again > 0.4 > abs(one @ other)


def test_the_table_has_a_column_for_each_size():
    told = scale.table({1_000: {"documents": 5, "hybrid_p95": 0.012}, 10_000: {"documents": 50}})
    assert "| chunks | 1,000 | 10,000 |" in told
    assert "| whole search, p95 | 12 ms |  |" in told
