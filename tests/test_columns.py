from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.retrieval.chunking import chunk_pages
from rag_app.text.structure import columns_above
from rag_app.types import Heading, Page

HEAD = "Item | Shelf | Price in euros"
ROWS = [f"article {number} | left side of the hall | {number * 2.5}" for number in range(60)]
TABLE = "\n".join([HEAD, *ROWS])


def test_every_chunk_of_a_long_table_knows_its_columns():
    page = Page(1, f"Stock\n\n{TABLE}")
    chunks = chunk_pages("d" * 64, [page], [Heading(1, 0, 1, "Stock")])
    assert len(chunks) > 3
    assert chunks[0].heading == "Stock"  # it holds them itself
    assert {chunk.heading for chunk in chunks[1:]} == {f"Stock > {HEAD}"}


@pytest.mark.parametrize("row", [1, 30, 59])
def test_the_names_are_found_from_any_row(row):
    assert columns_above(TABLE, TABLE.index(ROWS[row])) == HEAD


def test_a_title_above_the_names_is_not_taken_for_them():
    text = f"Stock of | May\n{TABLE}"
    assert columns_above(text, text.index(ROWS[5])) == HEAD


def test_the_names_of_a_markdown_table_have_no_borders():
    text = "| Item | Shelf |\n|---|---|\n| bolt | 3 |\n| nut | 4 |"
    assert columns_above(text, text.index("| nut")) == "Item | Shelf"


@pytest.mark.parametrize(
    "text",
    [
        "One | two\n\nProse about it.",
        "1 | 2 | 3\n4 | 5 | 6\n7 | 8 | 9",
        "A long cell that says so much that it cannot be a name of any column at all | x\na | 9",
        "Nothing here.\nNor here.",
        HEAD,
    ],
)
def test_what_has_no_names_above_it_gets_none(text):
    assert columns_above(text, text.rindex("\n") + 1 if "\n" in text else 0) == ""


def test_many_columns_are_cut_between_two():
    names = [f"column number {number}" for number in range(30)]
    text = " | ".join(names) + "\n" + " | ".join("x" * 30) + "\n" + " | ".join("y" * 30)
    assert columns_above(text, text.rindex("\n") + 1) == " | ".join(names[:6])


@given(st.text("ab |\n", max_size=60), st.integers(0, 60))
def test_any_text_and_any_place_will_do(text, start):
    assert "\n" not in columns_above(text, min(start, len(text)))
