from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_app.retrieval.chunking import chunk_pages, estimate_tokens, search_text, sections_of
from rag_app.text.structure import dated, is_older
from rag_app.types import Heading, Page

ID = "d" * 64


def squeezed(text: str) -> str:
    return "".join(text.split())


def prose(count: int, word: str = "harbour") -> str:
    return " ".join(f"Sentence {n} tells of the {word} and its cranes." for n in range(count))


PIECES = st.sampled_from(
    [
        "Word. ",
        "NOTE 1 HEADING\n",
        "a b c 12.5 7\n",
        "• item\n",
        "x" * 40,
        "漢字",
        "\r\n\r\n",
        " ",
        "\u00a0",
        "# T\n",
    ]
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=60).map("".join))


@example(["0 " + 45 * "0"], 20, [])  # cut at its space, the rest is still too long
@given(st.lists(TEXTS, max_size=4), st.integers(20, 60), st.lists(st.integers(0, 200), max_size=3))
def test_chunks_are_slices_that_cover_every_page_once(texts, most, starts):
    pages = [Page(number, text) for number, text in enumerate(texts, 1)]
    headings = [Heading(1, start, 1, f"At {start}") for start in starts] if pages else []
    chunks = chunk_pages(ID, pages, headings, max_tokens=most)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    for page in pages:
        own = [chunk for chunk in chunks if chunk.page == page.number]
        assert all(chunk.text == page.text[chunk.start : chunk.end] for chunk in own)
        assert all(a.end <= b.start for a, b in pairwise(own))
        assert "".join(squeezed(chunk.text) for chunk in own) == squeezed(page.text)
    assert all(estimate_tokens(chunk.text) <= most * 1.1 + 1e-6 for chunk in chunks)


def test_whole_sentences_fill_a_chunk():
    chunks = chunk_pages(ID, [Page(1, prose(60))], max_tokens=100)
    assert all(chunk.text.endswith("cranes.") for chunk in chunks)
    assert all(estimate_tokens(chunk.text) > 60 for chunk in chunks)


def test_a_chunk_never_crosses_a_page():
    chunks = chunk_pages(ID, [Page(1, "One."), Page(2, "Two.")])
    assert [(chunk.page, chunk.text) for chunk in chunks] == [(1, "One."), (2, "Two.")]


def test_a_heading_begins_a_chunk():
    text = f"{prose(8)}\n\nPUMPS AND PIPES\n{prose(6, 'pump')}"
    chunks = chunk_pages(ID, [Page(1, text)])
    assert [chunk.text.startswith("PUMPS") for chunk in chunks] == [False, True]
    assert [chunk.heading for chunk in chunks] == ["", "PUMPS AND PIPES"]


def test_a_heading_is_not_left_behind_at_the_end_of_a_chunk():
    text = f"{prose(3)}\n\nPUMPS AND PIPES\n{prose(5, 'pump')}"
    full = int(estimate_tokens(prose(3) + " PUMPS AND PIPES")) + 2
    chunks = chunk_pages(ID, [Page(1, text)], max_tokens=full)
    assert chunks[1].text.startswith("PUMPS")


def test_the_readers_headings_give_the_section_path():
    pages = [
        Page(1, "Part I\nItem 1. Business\n" + prose(3)),
        Page(2, prose(2)),
        Page(3, "Part II\n" + prose(2)),
    ]
    headings = [
        Heading(1, 0, 1, "Part I"),
        Heading(1, 7, 2, "Item 1. Business"),
        Heading(3, 0, 1, "Part II"),
    ]
    chunks = chunk_pages(ID, pages, headings)
    assert [chunk.heading for chunk in chunks] == ["Part I > Item 1. Business"] * 2 + ["Part II"]


def test_headings_are_guessed_where_the_reader_found_none():
    pages = [
        Page(1, "PART I\r\nItem 1. Business\r\n" + prose(2)),
        Page(2, "NOTE 2 — INVENTORIES\r\n" + prose(2)),
        Page(3, "# Pumps\n## Old Pumps\n" + prose(2)),
    ]
    assert [chunk.heading for chunk in chunk_pages(ID, pages)] == [
        "PART I > Item 1. Business",
        "PART I > Item 1. Business > NOTE 2 — INVENTORIES",
        "Pumps > Old Pumps",
    ]


@pytest.mark.parametrize(
    "line",
    ["Revenues $ 44,538 $ 37,403", "We sold pumps.", "Products 12", "Yes ☒ No ☐", "and of Pumps"],
)
def test_rows_and_sentences_are_no_headings(line):
    assert chunk_pages(ID, [Page(1, f"{line}\r\n{prose(2)}")])[0].heading == ""


def test_a_running_title_is_no_heading():
    pages = [Page(n, f"ANNUAL REPORT PAGE {n}\r\n{prose(2)}") for n in range(1, 9)]
    assert {chunk.heading for chunk in chunk_pages(ID, pages)} == {""}


def test_a_monster_is_cut_at_spaces_or_anywhere():
    spaced, solid = "word " * 900, "字" * 900
    for text in (spaced, solid):
        chunks = chunk_pages(ID, [Page(1, text)])
        assert all(150 < estimate_tokens(chunk.text) <= 220 for chunk in chunks[:-1])
    assert all(chunk.text.split()[-1] == "word" for chunk in chunk_pages(ID, [Page(1, spaced)]))


def test_a_scrap_at_the_end_of_a_page_joins_the_chunk_before():
    text = f"{prose(9)}\n\n71"
    assert len(chunk_pages(ID, [Page(1, text)], max_tokens=int(estimate_tokens(prose(9))) + 1)) == 1


def test_nothing_makes_no_chunk():
    assert chunk_pages(ID, []) == chunk_pages(ID, [Page(1, " \r\n")]) == []


def test_many_pages_take_linear_time():
    assert (
        len(chunk_pages(ID, [Page(n, f"PART {n} OF IT\n{prose(2)}") for n in range(1, 4_001)]))
        == 4_000
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("infor-\r\nmation  and\tmore ", "information and more"),
        ("infor\u00admation", "information"),
        ("COVID-\n19 and non-\nGAAP", "COVID- 19 and non- GAAP"),
        ("well-known", "well-known"),
    ],
)
def test_words_broken_at_a_line_end_are_whole_for_searching(text, expected):
    assert search_text(text) == expected


@pytest.mark.parametrize(
    ("text", "real"),
    [  # counted with the tokenizer of all-MiniLM-L6-v2
        ("The following table summarizes our consolidated results of operations for the year.", 15),
        ("Revenues $ 44,538 $ 37,403 $ 39,117", 14),
        ("東京都の人口", 6),
    ],
)
def test_the_estimate_is_near_the_tokenizer(text, real):
    assert estimate_tokens(text) == pytest.approx(real, rel=0.15)


@pytest.mark.parametrize(
    "unit",
    ["あ", "漢字。", "한글", "ก้", "ລາຄາ", "ကျွန်း", "слово", "كلمة", "शब्द", "x", "1", "𝕏", "👍🏽"],
)
@pytest.mark.parametrize("most", [20, 200])
def test_text_without_a_space_is_cut_all_the_same(unit, most):
    text = unit * (4_000 // len(unit))
    chunks = chunk_pages(ID, [Page(1, text)], max_tokens=most)
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(estimate_tokens(chunk.text) <= most * 1.1 for chunk in chunks)
    assert max(len(chunk.text) for chunk in chunks) <= 4 * most


@pytest.mark.parametrize(
    ("text", "fewest", "most"),
    [  # about as many as models of many languages have, and never more than characters
        ("東京都の人口は千四百万人です。", 13, 15),
        ("섬으로 가는 배표의 가격은 사 유로입니다.", 12, 20),
        ("Билет на паром до острова стоит четыре евро.", 9, 16),
        ("ค่าโดยสารเรือข้ามฟากไปเกาะราคาสี่ยูโร", 10, 18),
        ("سعر تذكرة العبارة إلى الجزيرة أربعة يورو.", 9, 15),
    ],
)
def test_other_scripts_are_estimated_as_models_of_many_languages_count(text, fewest, most):
    assert fewest <= estimate_tokens(text) <= most


def test_endless_text_takes_linear_time():
    import time

    def once(size: int) -> float:
        began = time.thread_time()  # of computing: others may be busy on the machine
        chunk_pages(ID, [Page(1, "あいうえお" * size)])
        return time.thread_time() - began

    def seconds(size: int) -> float:
        return min(once(size) for _ in range(3))

    assert seconds(20_000) < 8 * max(seconds(5_000), 0.02)


def test_a_message_pasted_into_a_text_begins_a_section():
    first = "From: Ada Pym <ada@mill.example>\nTo: all\nDate: 12 Jan 2026\nSubject: Lift\n\n"
    second = "-----\nVon: Bo Reed\nGesendet: 13. Januar 2026\nBetreff: AW: Lift\n\n"
    third = "> From: Cy Orr\n> Date: 14 Jan 2026\n\n"
    text = "".join(head + prose(20) + "\n\n" for head in (first, second, third))
    headings = [chunk.heading for chunk in chunk_pages(ID, [Page(1, text)])]
    assert list(dict.fromkeys(headings)) == [
        "Lift, Ada Pym, 12 Jan 2026",
        "AW: Lift, Bo Reed, 13. Januar 2026",
        "Cy Orr, 14 Jan 2026",
    ]


@pytest.mark.parametrize(
    "head",
    [
        "From: Bo Reed\nTo: Cy, Dora,\n Emil\nDate: 3 May\nSubject: Roof\n",
        "From: Bo Reed\n\nTo: Cy;\nDora\n\nDate: 3 May\n\nSubject: Roof\n\n",
        "**From:** Bo Reed <bo@mill.example>\r\n**Sent:** 3 May\r\n**Subject:** Roof\r\n",
    ],
)
def test_the_head_of_a_message_may_be_folded_or_have_lines_between(head):
    (chunk,) = chunk_pages(ID, [Page(1, f"{head}\n{prose(2)}")])
    assert chunk.heading == "Roof, Bo Reed, 3 May"


def test_messages_are_sections_among_headings_of_a_reader_too_and_end_with_the_next():
    parts = [
        f"# Letters\n{prose(9)}\n",
        f"From: Bo Reed\nDate: 3 May\n{prose(9)}\n",
        f"# Bills\n{prose(9)}\n",
    ]
    text = "".join(parts)
    headings = [Heading(1, text.index(f"# {name}"), 1, name) for name in ("Letters", "Bills")]
    found = [chunk.heading for chunk in chunk_pages(ID, [Page(1, text)], headings)]
    assert list(dict.fromkeys(found)) == ["Letters", "Letters > Bo Reed, 3 May", "Bills"]


def test_below_the_subject_of_a_mail_lines_in_capitals_are_headings_of_the_message_they_are_in():
    pasted = "From: Ann Lee\nDate: 3 May 2026\nSubject: Works\n\n1. NOISE\n\nIt begins at nine."
    text = f"Summer\n\nLOCKING UP\n\nWe lock up at ten.\n\n-----\n{pasted}"
    chunks = chunk_pages(ID, [Page(1, text)], [Heading(1, 0, 1, "Summer")], max_tokens=8)
    paths = {chunk.text.strip(): chunk.heading for chunk in chunks}
    assert paths["We lock up at ten."] == "Summer > LOCKING UP"
    assert paths["It begins at nine."] == "Summer > Works, Ann Lee, 3 May 2026 > 1. NOISE"


@pytest.mark.parametrize(
    ("quoted", "said"),
    [
        ("On 2 May 2025 Bo Reed wrote:\n> Orders by 5.\n> Bills in 30 days.\n", True),
        ("> On 2 May 2025 Bo Reed wrote:\n>\n> Orders by 5.\n", True),
        ("On 2 May 2025,\nBo Reed wrote:\n> Orders by 5.\n> Bills in 30 days.\n\n", True),
        ("On 2 May 2025 Bo Reed wrote:\n> Orders by 5.\n> And?\nBy 2, please.\n", False),
        ("Remember:\n> Orders by 5.\n> Bills in 30 days.\n", False),
        ("On 2 May 2025 Bo Reed wrote a letter.\n> Orders by 5.\n> Bills.\n", False),
    ],
)
def test_a_message_quoted_below_its_answer_is_a_section_of_its_own(quoted, said):
    page = Page(1, f"Terms\n\n{prose(4)}\n\n{quoted}")
    (chunk,) = chunk_pages(ID, [page], [Heading(1, 0, 1, "Terms")])
    found = [one.heading for one in sections_of(chunk, page, [Heading(1, 0, 1, "Terms")])]
    own = "Terms > On 2 May 2025{} Bo Reed wrote".format("," if "2025," in quoted else "")
    assert found == ["Terms", own] if said else found == ["Terms"]


@pytest.mark.parametrize(
    "line", ["From: " + "<a@" * 60_000, "From: x" + " " * 200_000 + "y", " " * 200_000]
)
def test_a_hostile_line_takes_no_longer_than_its_length(line):
    began = time.perf_counter()
    chunk_pages(ID, [Page(1, f"{line}\nDate: 3 May\nSubject: Roof\n{prose(1)}")])
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    "lines",
    [
        "From: 8.30\nTo: 17.00",
        "From: 10 am\nTo: 4 pm\nDate: 14 June",
        "Subject: Lift",
        "Date: 4 May\nTo: Bo",
    ],
)
def test_a_label_or_two_are_no_head_of_a_message(lines):
    assert chunk_pages(ID, [Page(1, f"{lines}\n{prose(2)}")])[0].heading == ""


def test_a_chunk_of_two_sections_is_cut_where_the_second_begins():
    text = "2. Open day\nThe fair is on 14 June.\n3. Next meeting\n24 September, seven o'clock.\n"
    headings = [
        Heading(1, 0, 2, "Minutes"),
        Heading(1, 0, 3, "2. Open day"),
        Heading(1, text.index("3. Next"), 3, "3. Next meeting"),
    ]
    page = Page(1, text)
    (chunk,) = chunk_pages(ID, [page], headings)
    pieces = sections_of(chunk, page, headings)
    assert [piece.heading for piece in pieces] == [
        "Minutes > 2. Open day",
        "Minutes > 3. Next meeting",
    ]
    assert "".join(piece.text for piece in pieces) == chunk.text
    assert all(text[piece.start : piece.end] == piece.text for piece in pieces)


def test_headings_that_are_guessed_on_a_page_stand_under_what_the_chunk_does():
    first = f"# The kitchen\n\n{prose(30)}"
    page = Page(2, f"## Green sauce\n\n{prose(2)}\n\n## Hot sauce\n\n{prose(2)}\n")
    chunk = chunk_pages(ID, [Page(1, first), page])[-1]
    assert chunk.heading.startswith("The kitchen > ")
    assert [piece.heading for piece in sections_of(chunk, page, ())] == [
        "The kitchen > Green sauce",
        "The kitchen > Hot sauce",
    ]


def test_what_stands_before_the_first_heading_of_a_page_is_under_none_of_them():
    page = Page(2, f"{prose(2)}\n\nPUMPS AND PIPES\n\n{prose(6)}\n")
    chunk = chunk_pages(ID, [Page(1, prose(40)), page])[-1]
    assert [piece.heading for piece in sections_of(chunk, page, ())] == ["", "PUMPS AND PIPES"]


def test_a_heading_that_ends_like_another_is_not_taken_for_it():
    page = Page(1, f"{prose(1)}\n\n# Bread\n{prose(1)}\n## White Bread\n{prose(8)}\n")
    (chunk,) = chunk_pages(ID, [page])
    own = replace(chunk, heading="Bread > White Bread")
    assert [piece.heading for piece in sections_of(own, page, ())] == [
        "",
        "Bread",
        "Bread > White Bread",
    ]


def test_a_section_that_began_on_the_page_before_keeps_its_heading():
    page = Page(2, f"{prose(6)}\n\n8. Next Meeting\n{prose(1)}\n")
    (chunk,) = chunk_pages(ID, [page])
    own = replace(chunk, heading="Rules of the Club > 6. Parking of Cars")
    assert [piece.heading for piece in sections_of(own, page, ())] == [
        "Rules of the Club > 6. Parking of Cars",
        "Rules of the Club > 8. Next Meeting",
    ]


def test_a_chunk_of_another_reading_is_not_cut():
    page = Page(1, f"PUMPS AND PIPES\n\n{prose(3)}\n\nVALVES AND TAPS\n\n{prose(3)}")
    chunk = replace(chunk_pages(ID, [page])[0], text="Something else.")
    assert sections_of(chunk, page, ()) == [chunk]


def test_a_chunk_of_one_section_stays_whole():
    page = Page(1, f"PUMPS AND PIPES\n\n{prose(2)}")
    chunk = chunk_pages(ID, [page])[0]
    assert sections_of(chunk, page, ()) == [chunk]


@pytest.mark.parametrize(
    ("title", "date"),
    [
        ("Re: Net Loft, Gwil, Tue, 3 Nov 2026 18:42", (2026, 11, 3)),
        ("minutes 3rd März 2026", (2026, 3, 3)),
        ("choir_minutes_2026-03-11.pdf", (2026, 3, 11)),
        ("terms v4 Feb 2026.docx", (2026, 2)),
        ("rules 2019, changed May 2021", (2021, 5)),
        ("schedule 2026-27.pdf", (2026,)),
        ("bookings summer 2026", (2026,)),
        ("ACME_2022_10K.pdf", (2022,)),
        ("part 12026 and B2026", ()),
        ("", ()),
    ],
)
def test_a_title_is_as_old_as_the_last_date_in_it(title, date):
    assert dated(title) == date


def test_one_date_is_before_another_as_far_as_both_are_told():
    assert is_older((2024,), (2026, 3)) and is_older((2026, 2), (2026, 3, 1))
    assert not is_older((2026,), (2026, 3)) and not is_older((), (2026,))
