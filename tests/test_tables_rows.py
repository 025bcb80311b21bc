"""Rows of tables in which each cell stands with the name of its column."""

from __future__ import annotations

import pytest
from fakes import WordEmbedder

from rag_app.answering.evidence import gather, places
from rag_app.library import Library
from rag_app.reading.limits import Limits
from rag_app.reading.sheets import read_delimited
from rag_app.settings import Settings
from rag_app.storage import Store
from rag_app.tables.building import typed_tables
from rag_app.tables.rows import rows_in
from rag_app.types import Chunk, Document, Passage, Reading, Status
from tests.test_reading_pdf_tables import drawn

ID = "e" * 64
DOSES = [
    ["Medicine", "Morning", "Night", "Remark"],
    ["Ramelin", "1", "0", ""],
    ["Dortane", "0", "1", "was 20 mg"],
    ["Fulvex", "1", "1", "with a meal"],
]
LABELLED = [
    "Medicine: Ramelin; Morning: 1; Night: 0",
    "Medicine: Dortane; Morning: 0; Night: 1; Remark: was 20 mg",
    "Medicine: Fulvex; Morning: 1; Night: 1; Remark: with a meal",
]


@pytest.fixture
def store(database):
    made = Store(database)
    yield made
    made.close()


def kept(store: Store, reading: Reading) -> Chunk:
    store.add_document(Document(ID, "doses.pdf", ".pdf", 1, Status.RECEIVED, "2021"))
    store.save_reading(ID, reading, typed_tables(ID, reading))
    page = reading.pages[0]
    return Chunk(ID, page.number, 0, 0, len(page.text), page.text)


def test_a_row_says_the_names_of_its_columns_and_stands_where_it_stood(store, tmp_path):
    chunk = kept(store, drawn(tmp_path / "a.pdf", DOSES))
    header, *rows = rows_in(store.tables, chunk.text, chunk)
    assert header.text == "" and "Medicine" in chunk.text[header.start : header.end]
    assert [row.text for row in rows] == LABELLED
    assert chunk.text[rows[1].start : rows[1].end].startswith("Dortane")


FACTS = [["Rated output", "2.8 kW"], ["Fuel", "unleaded petrol, E5"], ["Colour", "green"]]


def test_what_a_table_of_two_columns_says_of_each_stands_behind_its_label(store, tmp_path):
    chunk = kept(store, drawn(tmp_path / "a.pdf", FACTS))
    said = [row.text for row in rows_in(store.tables, chunk.text, chunk)]
    assert said == ["Rated output: 2.8 kW", "Fuel: unleaded petrol, E5", "Colour: green"]


def test_only_rows_of_the_chunk_are_given_and_none_of_a_document_that_is_gone(store, tmp_path):
    chunk = kept(store, drawn(tmp_path / "a.pdf", DOSES))
    at = chunk.text.index("Dortane")
    part = Chunk(ID, chunk.page, 1, at, at + 7, "Dortane")
    assert [row.text for row in rows_in(store.tables, chunk.text, part)] == [LABELLED[1]]
    store.remove(ID)
    assert rows_in(store.tables, chunk.text, chunk) == []


def test_rows_that_are_written_with_signs_between_their_cells_say_the_same(store, file):
    sheet = "\n".join(";".join(row) for row in DOSES).encode()
    chunk = kept(store, read_delimited(file(sheet), limits=Limits()))
    header, *rows = rows_in(store.tables, chunk.text, chunk)
    assert header.text == "" and [row.text for row in rows] == LABELLED


def test_a_row_with_signs_between_its_cells_is_ranked_as_it_stands_and_shown_with_names(
    store, file
):
    sheet = "\n".join(";".join(row) for row in DOSES).encode()
    chunk = kept(store, read_delimited(file(sheet), limits=Limits()))
    ranked: list[str] = []

    def ranking(question, passages):
        ranked.extend(one.text[a:b] for one in passages for a, b in one.sentences)
        return [[float("Dortane" in one.text[a:b]) for a, b in one.sentences] for one in passages]

    (shown,) = gather(
        ["What is taken at night?"],
        [Passage(chunk, "doses.csv", 1.0)],
        lambda texts: [len(text.split()) for text in texts],
        10,
        ranking,
        rows=lambda one: rows_in(store.tables, chunk.text, one),
    )
    assert shown.lines == (LABELLED[1],) and shown.texts == (" | ".join(DOSES[2]),)
    assert ranked == chunk.text.splitlines()
    assert places([shown, shown]) == [(shown, shown)]  # rows of one table are read together


def test_what_stands_between_the_cells_of_a_row_is_not_lost(store, tmp_path):
    chunk = kept(store, drawn(tmp_path / "a.pdf", DOSES))
    rows = rows_in(store.tables, chunk.text, chunk)
    between = chunk.text.index("Dortane") + len("Dortane")
    text = f"{chunk.text[:between]}!{chunk.text[between + 1 :]}"
    assert rows_in(store.tables, text, chunk) == rows  # nothing that could be read
    text = f"{chunk.text[:between]}B{chunk.text[between + 1 :]}"
    assert [row.text for row in rows_in(store.tables, text, chunk)][2] == f"{LABELLED[1]}; B"


def test_a_writer_is_shown_rows_with_names_and_cites_them_as_they_stand(store, tmp_path):
    chunk = kept(store, drawn(tmp_path / "a.pdf", DOSES))
    (shown,) = gather(
        ["What is taken at night?"],
        [Passage(chunk, "doses.pdf", 1.0)],
        lambda texts: [len(text.split()) for text in texts],
        500,
        rows=lambda one: rows_in(store.tables, chunk.text, one),
    )
    assert all(line in shown.shown.split("\n") for line in LABELLED)
    for span, text in zip(shown.spans, shown.texts, strict=True):
        assert chunk.text[span.start : span.end] == text
    assert not any("Medicine" in text for text in shown.texts)
    words = " ".join(shown.texts).split()
    assert all(word in words for word in chunk.text.split() if word not in DOSES[0])


def test_the_app_gives_its_writer_the_rows_of_its_tables(tmp_path):
    drawn(tmp_path / "doses.pdf", DOSES)
    settings = Settings.load(data_dir=tmp_path / "data")
    with Library(settings, embedder=WordEmbedder()) as library:
        added = library.add("doses.pdf", (tmp_path / "doses.pdf").read_bytes()).document.id
        library.wait([added], timeout=60)
        chunks = library.chunks(added)
        rows = library._questioner._workshop.rows
        assert {row.text for chunk in chunks for row in rows(chunk)} >= set(LABELLED)
        library.remove(added)
        assert [row for chunk in chunks for row in rows(chunk)] == []
