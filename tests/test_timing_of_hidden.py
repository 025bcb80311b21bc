"""What is hidden costs about what something costs that is nowhere; the figures are in
benchmarks/LOG.md."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

from benchmarks.timing_of_hidden import MINE, auroc, doors, ids_of, library_of_two, timed

PAIRS = 300


def test_how_well_two_kinds_of_times_are_told_apart():
    assert auroc(([3.0, 4.0], [1.0, 2.0])) == 1.0
    assert auroc(([1.0, 2.0], [3.0, 4.0])) == 0.0
    assert auroc(([1.0, 2.0], [1.0, 2.0])) == auroc(([1.0], [1.0])) == 0.5


@pytest.mark.timeout(300)
def test_nothing_of_a_hidden_document_is_read_before_it_is_refused(tmp_path: Path, monkeypatch):
    monkeypatch.delenv("RAG_APP_DATABASE_URL", raising=False)
    with library_of_two(tmp_path / "data", 20) as library:
        hidden, nowhere = ids_of(library)
        for name, do in doors(library.scoped(MINE)).items():
            times = timed(do, hidden, nowhere, PAIRS, time.thread_time)
            one, other = map(statistics.median, times)
            assert one < 2 * other, name
