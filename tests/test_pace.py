"""How long what is looked at again and again will still take."""

from __future__ import annotations

from rag_app.ui.jobs import Pace


def paced(*moments: tuple[float, float, float]) -> list[float | None]:
    """What is said at each moment: when it is, how much is done, of how much."""
    now, said = [0.0], []
    pace = Pace(lambda: now[0])
    for now[0], done, total in moments:
        said.append(pace.left("work", done, total))
    return said


def test_nothing_is_said_before_anything_was_done():
    assert paced((0, 0, 10), (5, 0, 10)) == [None, None]


def test_the_rest_takes_as_long_as_what_was_done():
    assert paced((0, 2, 10), (4, 4, 10), (12, 8, 10)) == [None, 12.0, 4.0]


def test_work_that_begins_anew_is_measured_anew():
    assert paced((0, 0, 10), (4, 4, 10), (6, 0, 10), (8, 5, 10)) == [None, 6.0, None, 2.0]


def test_a_second_says_nothing_of_the_rest():
    assert paced((0, 0, 100), (0.9, 1, 100), (2, 4, 100)) == [None, None, 48.0]
