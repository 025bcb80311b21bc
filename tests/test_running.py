from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from rag_app.retrieval.chunking import chunk_pages
from rag_app.text.structure import own_texts
from rag_app.types import Page

BODY = ("Barley is sown in spring.", "Wheat is cut in August.", "Rye is threshed by hand.")


def page(number: int, text: str, label: str = "") -> Page:
    return Page(number, text, label, 612, 792)


def own(pages: list[Page]) -> list[str]:
    spans = zip(pages, own_texts(pages), strict=True)
    return [page.text[start:end].strip() for page, (start, end) in spans]


def laid_out(count: int, head: str = "ACME Annual Report", foot: str = "Page {}", first: int = 1):
    bodies = [BODY[number % 3] for number in range(count)]
    return [
        page(number, f"{head}\r\n{body}\r\n{foot.format(number - 1 + first)}")
        for number, body in enumerate(bodies, 1)
    ]


def test_heads_and_feet_are_left_out_after_the_first_time():
    texts = own(laid_out(6))
    assert texts[0] == "ACME Annual Report\r\nBarley is sown in spring.\r\nPage 1"
    assert texts[1:] == [BODY[number % 3] for number in range(1, 6)]


def test_numbers_may_begin_anywhere_and_stand_alone():
    texts = own(laid_out(5, head="{}", foot="{}", first=87))
    assert own(laid_out(5, foot="{}", first=87))[1:] == [BODY[n % 3] for n in range(1, 5)]
    assert "87" not in texts[0].splitlines()[-1]


def test_a_page_may_have_two_numbers():
    pages = [
        page(n, f"The Gazette {4711 + n}\r\nField {n * n} lies fallow.\r\nSheet {n:05}")
        for n in range(1, 9)
    ]
    assert own(pages)[1:] == [f"Field {n * n} lies fallow." for n in range(2, 9)]


def test_labels_count_as_numbers():
    labels = ("i", "ii", "iii", "iv", "v")
    pages = [page(n, f"{BODY[n % 3]}\r\n{label}", label) for n, label in enumerate(labels, 1)]
    assert own(pages) == [BODY[n % 3] for n in range(1, 6)]


def test_left_and_right_pages_may_have_heads_of_their_own():
    pages = [
        page(n, f"{'The Farm' if n % 2 else 'Chapter One'}\r\nField {n * n} lies fallow.")
        for n in range(1, 11)
    ]
    assert own(pages)[2:] == [f"Field {n * n} lies fallow." for n in range(3, 11)]


def test_what_is_said_on_few_pages_stays():
    pages = [page(n, f"Balance sheet\r\n{BODY[n % 3]} {n}") for n in range(1, 4)]
    pages += [page(n, f"{BODY[n % 3]} {n * 17}") for n in range(4, 30)]
    assert own(pages) == [each.text for each in pages]


def test_tables_with_years_keep_them():
    pages = [page(n, f"{BODY[n % 3]}\r\nSales {2010 + 3 * n} {n * n}.5") for n in range(1, 9)]
    assert own(pages) == [each.text for each in pages]


def test_a_page_that_says_nothing_else_stays():
    pages = [page(n, f"Page {n}") for n in range(1, 9)]
    assert own(pages) == [each.text for each in pages]


def test_texts_without_a_layout_have_no_heads():
    pages = [Page(n, f"ACME\n{BODY[n % 3]}") for n in range(1, 9)]
    assert own(pages) == [each.text for each in pages]


def test_chunks_do_not_hold_what_runs_through():
    chunks = chunk_pages("d" * 64, laid_out(6))
    assert [chunk.text for chunk in chunks[1:]] == [BODY[number % 3] for number in range(1, 6)]
    assert sum("ACME" in chunk.text for chunk in chunks) == 1


def test_a_line_of_spaces_takes_no_longer_than_its_length():
    began = time.perf_counter()
    assert own_texts([page(1, " " * 200_000 + "\nBarley.")]) == [(0, 200_008)]
    assert time.perf_counter() - began < 5


@given(st.lists(st.lists(st.sampled_from(["a", "b 1", "b 2", "3", "", "cd"]), max_size=6)))
def test_what_is_left_is_a_slice_with_text_wherever_there_was_any(pages):
    made = [page(n, "\r\n".join(lines)) for n, lines in enumerate(pages, 1)]
    for each, (start, end) in zip(made, own_texts(made), strict=True):
        assert 0 <= start <= end <= len(each.text)
        assert bool(each.text[start:end].strip()) == bool(each.text.strip())
