"""The files that are begun first are there: one that was renamed would be begun last."""

from __future__ import annotations

from pathlib import Path

from tests import order

HERE = Path(__file__).parent


def test_every_file_that_is_begun_first_is_there_and_named_once():
    there = {path.name for path in HERE.rglob("test_*.py")}
    assert {*order.LONGEST} <= there and len({*order.LONGEST}) == len(order.LONGEST)


def test_files_keep_their_place_among_those_that_are_not_named():
    files = ["test_a.py", order.LONGEST[1], "test_b.py", order.LONGEST[0]]
    assert sorted(files, key=order.place) == [*order.LONGEST[:2], "test_a.py", "test_b.py"]
