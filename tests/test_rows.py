"""Vectors read from a document's own file are those that were written, or none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_app.storage.chroma import ChromaVectors
from rag_app.storage.vectors import VectorFiles
from tests.fakes import ListVectors

DOCUMENT = "f" * 64
chunks = st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True)


def vector(number, time):
    return [number / 8, time / 64, 1.0]


@settings(max_examples=40)
@given(st.lists(st.tuples(chunks, st.integers(0, 300)), max_size=6), chunks)
def test_what_is_read_is_what_was_written_last_whatever_was_torn(tmp_path_factory, writes, asked):
    folder = tmp_path_factory.mktemp("r")
    rows = VectorFiles(folder)
    for time, (numbers, torn) in enumerate(writes):
        rows.append(DOCUMENT, [f"c-{n}" for n in numbers], [vector(n, time) for n in numbers])
        (file,) = folder.iterdir()
        with file.open("r+b") as opened:  # the end is lost, as when a process is killed
            opened.truncate(max(0, file.stat().st_size - torn))
    found = rows.read(DOCUMENT, [f"c-{n}" for n in asked])
    written = {n: {t for t, (ns, _) in enumerate(writes) if n in ns} for n in asked}
    if found is None:
        torn = any(lost for _, lost in writes)
        assert torn or not all(written.values())
        return
    for n, row in zip(asked, found, strict=True):
        assert row[0] == n / 8 and row[1] * 64 in written[n]
    if not any(torn for _, torn in writes):
        assert [row[1] * 64 for row in found] == [max(written[n]) for n in asked]


def test_a_document_without_a_file_and_ids_that_are_too_long_are_left_to_chroma(tmp_path):
    rows = VectorFiles(tmp_path / "rows")
    assert rows.read(DOCUMENT, ["c-0"]) is None
    rows.append(DOCUMENT, ["c" * 80], [[1.0]])
    assert rows.read(DOCUMENT, ["c" * 80]) is None
    rows.forget(DOCUMENT)


def test_zeros_that_a_power_cut_leaves_are_no_vectors(tmp_path):
    rows = VectorFiles(tmp_path)
    rows.append(DOCUMENT, ["c-0"], [[1.0, 0.0]])
    (file,) = tmp_path.iterdir()
    with file.open("ab") as opened:
        opened.write(bytes(44 * 3))
    assert rows.read(DOCUMENT, ["c-0"]).tolist() == [[1.0, 0.0]]
    assert rows.read(DOCUMENT, ["c-0", "c-1"]) is None
    file.write_bytes(bytes(200))
    assert rows.read(DOCUMENT, ["c-0"]) is None


@pytest.fixture
def known():
    return {"a": [f"a-{n}" for n in range(5)], "b": ["b-0"]}


@pytest.fixture
def chroma(tmp_path, known):
    made = ChromaVectors(tmp_path / "vectors", "rows", lambda document: known.get(document, []))
    yield made
    made.close()


def test_a_chosen_document_is_found_alike_with_and_without_its_file(chroma, known, tmp_path):
    oracle = ListVectors()
    for document, ids in known.items():
        made = [[1.0, n / 8, -n / 4] for n in range(len(ids))]
        chroma.upsert(document, ids, made)
        oracle.upsert(document, ids, made)
    expected = oracle.search([0.5, 0.5, 1.0], 4, ["a"])
    (folder,) = (tmp_path / "vectors").glob("rows-*")
    for wanted_files in (2, 0):
        assert len(list(folder.iterdir())) == wanted_files
        found = chroma.search([0.5, 0.5, 1.0], 4, ["a"])
        assert [i for i, _ in found] == [i for i, _ in expected]
        assert np.allclose([s for _, s in found], [s for _, s in expected], atol=1e-3)
        for file in folder.iterdir():
            file.unlink()
        chroma._small.forget("a")


def test_a_removed_document_leaves_no_file_and_a_copy_has_its_own(chroma, known, tmp_path):
    import threading

    for document, ids in known.items():
        chroma.upsert(document, ids, [[1.0, 0.5]] * len(ids))
    chroma.delete("b")
    assert len(list((tmp_path / "vectors").glob("rows-*/*"))) == 1
    assert chroma.compact(["a"], threading.Event())
    assert len(list((tmp_path / "vectors").glob("rows-*/*"))) == 1
    assert [i for i, _ in chroma.search([1.0, 0.5], 9, ["a", "b"])] == known["a"]
