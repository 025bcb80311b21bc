"""How an answer and its sources look in a real browser: what FOUND S16 and S9 complained of."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from reportlab.pdfgen.canvas import Canvas

from rag_app.ui import texts_answers
from tests.e2e.conftest import serving
from tests.e2e.test_access_browser import barriers
from tests.e2e.test_browser import MARKER, ask, settled
from tests.e2e.test_written_browser import picture

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

HEADING = "Who pays for what"
LONG = (
    "The ferry company pays for the renewal of the eleven wooden piles of the northern landing "
    "stage, for the steel ladder beside it, for the paint, the tar and the lamps, and for whoever "
    "has to dive under it in winter, and the parish of Skerry pays the sum of 1,240 pounds for the "
    "southern landing stage, its two benches and the shelter with the timetable."
)
STAGES = "Landing stage,Piles,Pounds\nNorthern,11,9300\nSouthern,7,1240\nEastern,4,870\n"
PAYS = "The parish of Skerry pays the sum of 1,240 pounds for the southern landing stage."
NOTICE = f"{HEADING}\n\n{PAYS}\n\nThe shelter was built in 1931.\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app of this module's own: its documents are all that is found."""
    with serving(tmp_path_factory.mktemp("answers")) as address:
        yield address


def sheet_of_lines() -> bytes:
    """A PDF whose page holds the heading and the long sentence over several lines."""
    data = io.BytesIO()
    canvas = Canvas(data, invariant=1)
    canvas.setFont("Helvetica-Bold", 16)
    canvas.drawString(72, 760, HEADING)
    canvas.setFont("Helvetica", 11)
    words, line, y = LONG.split(), "", 720
    for word in [*words, ""]:
        if not word or len(line) + len(word) > 80:
            canvas.drawString(72, y, line)
            line, y = "", y - 16
        line = f"{line} {word}".strip()
    canvas.save()
    return data.getvalue()


def begin(browser, name: str, kind: str, data: bytes, **looks):
    page = browser.open(**looks)
    if not page.get_by_role("button", name=name).count():
        page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
            {"name": name, "mimeType": kind, "buffer": data}
        )
        row = page.locator('[class*="st-key-doc-"]').filter(has_text=name)
        row.get_by_text("Ready").first.wait_for()
    return page


@pytest.mark.parametrize(
    ("width", "scheme"), [(1440, "light"), (390, "dark")], ids=["desktop", "phone"]
)
def test_a_long_quote_is_shown_whole_in_its_strip(browser, width, scheme):
    page = begin(browser, "piles.pdf", "application/pdf", sheet_of_lines())
    ask(page, "Who pays for the renewal of the wooden piles?")
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.locator(MARKER).last.click()
    settled(page, ".box.quote")
    strip = page.locator("blockquote.quoted")
    assert " ".join(strip.inner_text().split()) == LONG
    assert strip.evaluate("one => one.scrollHeight <= one.clientHeight + 1"), "never cut"
    picture(page, f"long-quote-{width}")


def test_a_heading_does_not_run_into_the_sentence_below_it(browser):
    page = begin(browser, "notice.txt", "text/plain", NOTICE.encode())
    ask(page, "When was the shelter built?")
    page.get_by_text("Sources (").last.click()
    card = page.locator(".card", has_text="notice.txt").locator("visible=true").first
    card.wait_for()
    blocks = card.locator(".passage > p").all_inner_texts()
    assert HEADING in blocks and PAYS in blocks
    assert card.locator("mark").inner_text() == "The shelter was built in 1931."
    picture(page, "paragraphs")


def test_the_figure_that_answers_is_bold_in_its_sentence(browser):
    page = begin(browser, "notice.txt", "text/plain", NOTICE.encode())
    ask(page, "When was the shelter built?")
    answer = page.get_by_test_id("stChatMessage").last
    assert "1931" in answer.locator("strong").first.inner_text()
    assert not answer.locator(".short").count(), "nothing is said twice"


def test_no_state_of_an_answer_has_barriers(browser):
    page = begin(browser, "notice.txt", "text/plain", NOTICE.encode())
    ask(page, "When was the shelter built?")
    page.get_by_text("Sources (").last.click()
    met = barriers(page, "quoted")
    page.get_by_role("button", name="Why this answer?").click()
    page.locator("dl.why").wait_for()
    met += barriers(page, "why")
    page.keyboard.press("Escape")
    page.locator('.acts [data-act^="edit:"]').last.click()
    page.get_by_role("button", name=texts_answers.ASK_AGAIN, exact=True).wait_for()
    met += barriers(page, "edited")
    page.keyboard.press("Escape")
    page.locator('.acts [data-act^="down:"]').last.click()
    met += barriers(page, "rated")
    ask(page, "How much is a zeppelin to Greenland?")
    met += barriers(page, "silence")
    assert not met, "\n".join(map(str, met))


def test_no_part_of_a_computed_answer_has_barriers(browser):
    page = begin(browser, "stages.csv", "text/csv", STAGES.encode())
    ask(page, "How many pounds for the southern landing stage?")
    page.get_by_text("Rows behind it (1)").last.click()
    page.get_by_text("How it was computed").last.click()
    row = page.locator("tr", has_text="Southern").locator("visible=true").first
    assert "1240" in row.inner_text().replace(",", ""), "the row stands as a row"
    met = barriers(page, "computed")
    assert not met, "\n".join(map(str, met))
