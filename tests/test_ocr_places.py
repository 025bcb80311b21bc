"""Where recognised words stand: reading order, offsets, boxes. Pure."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rag_app.reading.ocr import Line, arrange, longest_side
from rag_app.storage.contents import boxes_of
from rag_app.types import Box, Word

HEIGHT = 20.0


def line(text: str, x: float, y: float, width: float | None = None) -> Line:
    """A line with its words placed by counting characters."""
    width = width or 9.0 * len(text)
    words, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        share = width / len(text)
        words.append((start, at, Box(x + start * share, y, x + at * share, y + HEIGHT)))
    return Line(text, Box(x, y, x + width, y + HEIGHT), tuple(words))


def column(x: float, y: float, texts: list[str], width: float = 400) -> list[Line]:
    return [line(text, x, y + 24 * n, width) for n, text in enumerate(texts)]


def read(*lines: Line) -> list[str]:
    return [each for each in arrange(lines).text.split("\n") if each]


def test_lines_are_read_from_top_to_bottom():
    assert read(*reversed(column(50, 50, ["one", "two", "three"]))) == ["one", "two", "three"]


def test_two_columns_are_read_one_after_the_other():
    left = column(50, 100, [f"left {n}" for n in range(6)])
    right = column(470, 104, [f"right {n}" for n in range(6)])
    title, foot = line("A title across", 50, 40, 820), line("8", 455, 400, 10)
    read_ = read(*right, foot, *left, title)
    assert read_ == [
        "A title across",
        *(f"left {n}" for n in range(6)),
        *(f"right {n}" for n in range(6)),
        "8",
    ]


def test_columns_above_and_below_a_line_across_are_told_apart():
    lines = []
    for top, name in ((100, "a"), (300, "b")):
        lines += column(50, top, [f"{name} left {n}" for n in range(4)])
        lines += column(470, top, [f"{name} right {n}" for n in range(4)])
    lines.append(line("between", 50, 250, 820))
    texts = [text.split()[0] for text in read(*lines)]
    assert texts == ["a"] * 8 + ["between"] + ["b"] * 8


def test_a_table_is_read_row_by_row():
    cells = [("Pier", "Built", "Length"), ("North", "1901", "240 m"), ("South", "1934", "310 m")]
    lines = [
        line(text, 50 + 200 * x, 100 + 24 * y)
        for y, row in enumerate(cells)
        for x, text in enumerate(row)
    ]
    assert read(*lines) == ["   ".join(row) for row in cells]


def test_pieces_of_one_line_are_joined_by_a_space():
    assert read(line("The first", 50, 50), line("half", 140, 52)) == ["The first half"]


def test_a_space_between_lines_is_a_paragraph():
    lines = [line(f"line {n}", 50, 50 + 24 * n + (30 if n > 2 else 0)) for n in range(6)]
    assert arrange(lines).text.count("\n\n") == 1


def test_a_page_without_lines_has_no_text():
    assert arrange([]).text == "" and arrange([]).words == ()


WORDS = st.lists(st.text("abcdefg漢字", min_size=1, max_size=7), min_size=1, max_size=5)
LINES = st.lists(
    st.builds(
        lambda words, x, y: line(" ".join(words), x, y),
        WORDS,
        st.floats(0, 600),
        st.floats(0, 800),
    ),
    max_size=25,
)


@given(LINES)
def test_every_word_is_in_the_text_once_and_at_its_offsets(lines):
    found = arrange(lines)
    told = sorted(found.text[w.start : w.end] for w in found.words)
    assert told == sorted(word for each in lines for word in each.text.split())
    assert sorted(found.text.split()) == told
    places = [(w.start, w.end) for w in found.words]
    assert all(before[1] <= after[0] for before, after in pairwise(places))
    assert found.text == found.text.strip()


def test_words_of_one_line_have_one_box():
    words = [Word(0, 3, 0, Box(10, 10, 30, 20)), Word(4, 7, 0, Box(35, 11, 55, 21))]
    assert boxes_of(words, 0, 7) == (Box(10, 10, 55, 21),)
    assert boxes_of(words, 0, 3) == (Box(10, 10, 30, 20),)


def test_words_of_two_lines_have_two():
    words = [Word(0, 3, 0, Box(10, 10, 30, 20)), Word(4, 7, 1, Box(10, 30, 30, 40))]
    assert len(boxes_of(words, 1, 5)) == 2


def test_a_line_that_is_askew_has_boxes_in_steps():
    words = [
        Word(5 * n, 5 * n + 4, 0, Box(50 * n, 6 * n, 50 * n + 40, 6 * n + 12)) for n in range(6)
    ]
    assert 1 < len(boxes_of(words, 0, 30)) <= 6


def test_a_line_that_runs_up_has_one_box():
    words = [Word(0, 3, 0, Box(10, 60, 20, 90)), Word(4, 7, 0, Box(11, 20, 21, 55))]
    assert boxes_of(words, 0, 7) == (Box(10, 20, 21, 90),)


def test_a_part_of_a_word_is_cut_by_its_characters():
    [box] = boxes_of([Word(0, 10, 0, Box(0, 0, 100, 10))], 2, 5)
    assert box == Box(20, 0, 50, 10)


@given(st.integers(0, 60), st.integers(0, 60))
def test_no_span_has_boxes_beyond_its_words(start, end):
    words = [
        Word(
            6 * n,
            6 * n + 5,
            n // 4,
            Box(n % 4 * 50, n // 4 * 20, n % 4 * 50 + 40, n // 4 * 20 + 12),
        )
        for n in range(10)
    ]
    boxes = boxes_of(words, start, end)
    touched = [w for w in words if w.start < end and w.end > start and start < end]
    assert bool(boxes) == bool(touched)
    for box in boxes:
        assert any(w.box.y0 == box.y0 for w in touched)
        assert min(w.box.x0 for w in touched) <= box.x0 < box.x1 <= max(w.box.x1 for w in touched)


@given(st.floats(1, 20_000))
def test_a_page_is_looked_at_neither_too_coarsely_nor_too_finely(points):
    pixels = longest_side(points)
    assert pixels <= 2_600 and pixels <= 6 * points
    assert pixels >= 1_700 or pixels == 6 * points
    if 850 <= points <= 1_300:
        assert pixels == 2 * points
