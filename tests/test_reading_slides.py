from __future__ import annotations

import pytest
from offices import opendocument, pptx, shape

from rag_app.errors import DamagedFile, NoText
from rag_app.reading.limits import Limits
from rag_app.reading.ooxml import read_pptx
from rag_app.reading.opendocument import read_odp


@pytest.fixture
def read(file):
    return lambda data: read_pptx(file(data), limits=Limits())


def test_a_slide_is_a_page_with_its_title_and_notes(read):
    first = shape("Opening", "title") + shape("Welcome to\nthe harbour", "body")
    second = shape("Costs", "title") + shape("The crane costs 12 million.", "body")
    reading = read(pptx(first, second, notes={2: "Mention the discount."}))
    assert [page.label for page in reading.pages] == ["", ""]
    assert reading.pages[1].text == (
        "Costs\n\nThe crane costs 12 million.\n\nNotes: Mention the discount."
    )
    assert [(h.page, h.text) for h in reading.headings] == [(1, "Opening"), (2, "Costs")]
    assert reading.title == "Opening"


def test_shapes_are_read_from_top_to_bottom_and_numbers_of_slides_are_not(read):
    shapes = shape("low", y=900_000) + shape("high", y=100_000) + shape("7", "sldNum")
    assert read(pptx(shapes)).pages[0].text == "high\n\nlow"


def test_a_table_on_a_slide_reads_as_rows(read):
    cells = "".join(f"<a:tc><a:p><a:r><a:t>{each}</a:t></a:r></a:p></a:tc>" for each in "ab")
    frame = (
        f"<p:graphicFrame><a:tbl><a:tr>{cells}</a:tr><a:tr>{cells}</a:tr></a:tbl></p:graphicFrame>"
    )
    assert read(pptx(frame)).pages[0].text == "a | b\na | b"


def test_a_formula_on_a_slide_is_read_in_one_line(read):
    parts = "<num><a:t>1</a:t></num><den><a:t>2</a:t></den>"
    formula = f"<a:r><a:t>Take 3</a:t></a:r><oMath><f>{parts}</f></oMath>"
    slide = shape("of").replace("<a:p>", f"<a:p>{formula}")
    assert read(pptx(slide)).pages[0].text == "Take 3 1/2of"


def test_after_a_slide_without_words_the_others_keep_their_numbers(read):
    reading = read(pptx(shape("one"), shape(""), shape("three")))
    assert [(page.number, page.label) for page in reading.pages] == [(1, ""), (2, "slide 3")]


def test_slides_without_words_have_no_text(read):
    with pytest.raises(NoText):
        read(pptx(shape("")))


def test_a_damaged_slide_is_told_and_the_others_are_read(read):
    reading = read(pptx(shape("one"), "<broken", shape("three")))
    assert [page.text for page in reading.pages] == ["one", "three"]
    assert "Slide 2 is damaged" in reading.warnings[0]


def test_a_torn_presentation_says_so(read):
    with pytest.raises(DamagedFile, match="damaged"):
        read(pptx(shape("one"))[:-50])


def test_a_slide_of_opendocument_is_a_page(file):
    def frame(kind, text):
        box = f"<draw:text-box><text:p>{text}</text:p></draw:text-box>"
        return f'<draw:frame presentation:class="{kind}">{box}</draw:frame>'

    notes = f"<presentation:notes>{frame('notes', 'Speak slowly.')}</presentation:notes>"
    body = f"<draw:page>{frame('title', 'Opening')}{frame('outline', 'Hello')}</draw:page>"
    body += f"<draw:page>{frame('outline', 'Body')}{frame('title', 'Second')}{notes}</draw:page>"
    reading = read_odp(file(opendocument("presentation", body, "Talk")), limits=Limits())
    assert reading.title == "Talk"
    assert [page.text for page in reading.pages] == [
        "Opening\n\nHello",
        "Second\n\nBody\n\nNotes: Speak slowly.",
    ]
    assert [(h.page, h.text) for h in reading.headings] == [(1, "Opening"), (2, "Second")]


def test_of_slides_that_say_nothing_else_the_footer_is_read(read):
    slide = shape("Harbour board", "ftr") + shape("7", "sldNum")
    assert [page.text for page in read(pptx(slide, slide)).pages] == ["Harbour board"]
    assert "board" not in read(pptx(slide + shape("Ships"), slide)).pages[0].text
