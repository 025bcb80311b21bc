"""What a page is called: by its format, and by what the document calls it."""

from __future__ import annotations

import pytest

from rag_app.text.formats import at_the_beginning, beside, how_many, page_name, shown_of, which_of


@pytest.mark.parametrize(
    ("name", "label", "said"),
    [
        ("report.pdf", "", "page 3"),
        ("report.pdf", "iv", "page 3"),  # what is printed is said where the page is shown
        ("talk.PPTX", "", "slide 3"),
        ("talk.odp", "slide 5", "slide 5"),  # slides without text are no pages
        ("prices.xlsx", "Prices, rows 41–80", "Prices, rows 41–80"),
        ("prices.csv", "rows 41–80", "rows 41–80"),
        ("mails.mbox", "message 9", "message 9"),
        ("letter.docx", "", ""),
        ("all.zip › plans/roof.pdf", "", "page 3"),
        ("fax.tiff", "", "page 3"),
        (".pptx", "", "slide 3"),
        ("A page of the web", "", ""),
    ],
)
def test_a_page_is_called_what_it_is(name, label, said):
    assert page_name(name, 3, label) == said


def test_what_is_there_only_once_needs_no_number():
    assert page_name("letter.txt", 1, total=1) == page_name("photo.png", 1, total=1) == ""
    assert page_name("one.pdf", 1, total=1) == "page 1"
    assert page_name("one.csv", 1, "rows 1–9", total=1) == "rows 1–9"
    assert beside("letter.txt", "") == "letter.txt"
    assert beside("one.pdf", "page 1") == "one.pdf, page 1"


def test_how_far_one_is_in_a_document():
    assert which_of("a.pdf", 5, 1200) == "page 5 of 1,200"
    assert which_of("a.pdf", 5, 12, "iii") == "page 5 of 12 (“iii”)"
    assert which_of("a.csv", 2, 5, "rows 41–80") == "rows 41–80 · 2 of 5"
    assert which_of("a.csv", 1, 1, "rows 1–6") == "rows 1–6"
    assert which_of("a.docx", 2, 5) == "part 2 of 5"
    assert which_of("a.docx", 1, 1) == ""


def test_pages_are_counted_as_what_they_are():
    assert how_many(".pptx", 1) == "1 slide"
    assert how_many(".docx", 1200) == "1,200 parts"


def test_a_row_that_alone_would_be_left_out_is_shown():
    assert [shown_of(number, 12) for number in (0, 3, 12, 13, 14, 50)] == [0, 3, 12, 13, 12, 12]


def test_names_of_a_document_keep_their_letters():
    assert at_the_beginning("page 3") == "Page 3"
    assert at_the_beginning("rows 1–9") == "Rows 1–9"
    assert at_the_beginning("iPads, rows 1–9") == "iPads, rows 1–9"
    assert at_the_beginning("") == ""
