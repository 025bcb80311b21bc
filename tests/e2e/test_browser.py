"""The main job in a real browser: drop a PDF, ask, read the highlighted quote on its page."""

from __future__ import annotations

import io
import re

import pytest
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]


WIDTH, HEIGHT = 595.0, 842.0
LEFT, BASELINE, SIZE = 72.0, 420.0, 12.0
QUOTE = "The Skerry lighthouse was automated in the spring of 1987."
FILLER = ("Tides around the island are strong.", "Visitors need sturdy shoes.")
MARKER = '[data-testid="stMarkdownContainer"] a[href^="#cite:"]'


def lighthouse() -> bytes:
    """Two pages; the quote stands alone on a known line of the second."""
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(WIDTH, HEIGHT), invariant=1)
    canvas.setFont("Helvetica", SIZE)
    canvas.drawString(LEFT, 700, "A guide to the island and its harbour.")
    canvas.showPage()
    canvas.setFont("Helvetica", SIZE)
    canvas.drawString(LEFT, 700, FILLER[0])
    canvas.drawString(LEFT, BASELINE, QUOTE)
    canvas.drawString(LEFT, 200, FILLER[1])
    canvas.showPage()
    canvas.save()
    return data.getvalue()


def drop(page, name: str, data: bytes, seen: str = "") -> None:
    """`seen`: a part of the name that is shown as it is, if not all of it is."""
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        {"name": name, "mimeType": "application/pdf", "buffer": data}
    )
    row = page.locator('[class*="st-key-doc-"]').filter(has_text=seen or name)
    row.get_by_text("Ready").first.wait_for()  # for a moment a row may be there twice


def ask(page, question: str) -> None:
    answered = page.locator(".how").count()
    page.get_by_test_id("stChatInputTextArea").fill(question)
    # While a file is on its way to the server, Enter does nothing and the button is off.
    page.locator('[data-testid="stChatInputSubmitButton"]:enabled').wait_for()
    page.get_by_test_id("stChatInputTextArea").press("Enter")
    page.locator(".how").nth(answered).wait_for()


def settled(page, selector: str) -> dict[str, float]:
    """Where an element is, once it has come to rest."""
    page.locator(selector).first.wait_for()
    before = None
    while before != (now := page.locator(selector).first.bounding_box()):
        before = now
        page.wait_for_timeout(300)
    return before


def test_the_first_minute_with_the_sample(browser):
    page = browser.open()
    page.get_by_text("Drop your files here, then ask about them").wait_for()
    page.get_by_role("button", name="Try it with a sample").click()
    page.get_by_text("For example:").wait_for()
    page.locator('[class*="st-key-doc-"]').get_by_text("Ready").wait_for()
    page.locator('[class*="st-key-example-"] button').first.click()
    page.locator(".how").first.wait_for()
    page.locator(MARKER).first.click()
    settled(page, ".box.quote")
    assert page.locator("#sheet img").evaluate("image => image.naturalWidth") > 600


def test_a_dropped_pdf_shows_its_highlighted_line_on_the_page(browser):
    page = browser.open()
    drop(page, "lighthouse.pdf", lighthouse())
    ask(page, "When was the Skerry lighthouse automated?")
    marker = page.locator(MARKER).first
    marker.hover()
    card = page.locator("#card")
    card.wait_for()
    assert "lighthouse.pdf · page 2" in card.inner_text() and QUOTE in card.inner_text()
    marker.click()
    sheet, box = settled(page, "#sheet"), settled(page, ".box.quote")
    assert page.get_by_text("Page 2 of 2").is_visible()
    assert page.locator("blockquote.quoted").inner_text() == QUOTE
    scale = sheet["width"] / WIDTH
    line = {
        "left": sheet["x"] + LEFT * scale,
        "right": sheet["x"] + (LEFT + stringWidth(QUOTE, "Helvetica", SIZE)) * scale,
        "top": sheet["y"] + (HEIGHT - BASELINE - 0.7 * SIZE) * scale,
        "bottom": sheet["y"] + (HEIGHT - BASELINE) * scale,
    }
    assert box["x"] <= line["left"] and box["x"] + box["width"] >= line["right"] - 1
    assert box["y"] <= line["top"] and box["y"] + box["height"] >= line["bottom"]
    assert box["width"] < 1.1 * (line["right"] - line["left"])
    assert box["height"] < 3 * SIZE * scale
    assert box["y"] >= 0 and box["y"] + box["height"] <= 900, "it is scrolled into view"
    assert page.locator("#sheet img").evaluate("image => image.naturalWidth") > 600
    page.set_viewport_size({"width": 390, "height": 844})
    tools = page.locator(".st-key-source_tools > div:visible")
    assert settled(page, ".st-key-source_tools")["height"] < 60 and tools.count() == 6, "one row"
    page.set_viewport_size({"width": 1440, "height": 900})
    page.locator("#view").press("Escape")
    page.locator("#sheet").wait_for(state="detached")
    page.wait_for_timeout(600)
    assert page.evaluate("document.activeElement.getAttribute('href')").startswith("#cite:")


def test_words_are_found_in_a_document_and_selected_on_its_picture(browser):
    page = browser.open()
    drop(page, "lighthouse.pdf", lighthouse())
    page.get_by_role("button", name="lighthouse.pdf", exact=True).click()
    page.locator("#sheet").wait_for()
    page.get_by_role("textbox", name="Find in this document").fill("sturdy")
    page.keyboard.press("Enter")
    page.get_by_text("Place 1 of 1").wait_for()
    page.get_by_text("Page 2 of 2").wait_for()
    box, sheet = settled(page, ".box.quote"), settled(page, "#sheet")
    scale = sheet["width"] / WIDTH
    assert abs(box["y"] - sheet["y"] - (HEIGHT - 200 - SIZE) * scale) < SIZE * scale
    line = page.locator("#text span", has_text=QUOTE)
    wide = stringWidth(QUOTE, "Helvetica", SIZE) * scale
    assert abs(line.bounding_box()["width"] - wide) < 0.03 * wide, "it lies on the picture's line"
    line.dblclick(position={"x": 0.45 * wide, "y": 4})
    assert page.evaluate("getSelection().toString().trim()") in QUOTE.split()
    page.get_by_role("textbox", name="Find in this document").fill("")
    page.keyboard.press("Enter")
    page.get_by_text("Page 1 of 2").wait_for()


def test_hostile_names_and_texts_are_only_text(browser):
    page = browser.open(width=1024, height=768, scheme="dark")
    name = "<img src=x onerror=alert(1)> :red[x] $a$ [l](evil.example) :smile:.md"
    text = (
        "The password of the vault is ![x](http://evil.example/a.png) <b>swordfish</b> $x$ :red[y] "
        "[1](#cite:00000000-1) :smile: https://evil.example/leak today.\n"
    )
    drop(page, name, text.encode(), seen="<img src=x")
    ask(page, "What is the password of the vault?")
    answer = page.get_by_test_id("stChatMessage").last
    said = answer.get_by_test_id("stMarkdownContainer").first.inner_text()
    assert "![x](http://evil.example/a.png) <b>swordfish</b> $x$ :red[y]" in said
    assert answer.locator("img, .katex, b:text('swordfish')").count() == 0
    links = answer.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert links and all(re.fullmatch(r"#cite:[0-9a-f]{16}-1", link) for link in links)
    row = page.locator('[class*="st-key-doc-"]').filter(has_text="<img")
    assert name in row.inner_text().replace("\u2060", "")  # what parts a colon from its name
    page.locator(MARKER).first.click()
    page.locator("#words mark").wait_for()
    assert "<b>swordfish</b>" in page.locator("#words mark").inner_text()
    assert page.locator("#words img").count() == 0


def test_on_a_phone_the_source_is_a_sheet_over_everything(browser):
    page = browser.open(width=390, height=844)
    assert page.locator(".st-key-head b").inner_text() == "Ask your documents"
    opened: list = []
    page.on("filechooser", lambda chooser: opened.append(chooser))
    for _ in range(30):  # the button may be drawn before the page listens to it
        page.locator(".st-key-head button").click()
        page.wait_for_timeout(1000)
        if opened:
            break
    assert opened, "the phone's own dialog for files"
    page.locator('[data-testid="stChatInput"] input[type="file"]').set_input_files(
        {
            "name": "phone.txt",
            "mimeType": "text/plain",
            "buffer": b"The phone box is painted red.\n",
        }
    )
    page.get_by_role("button", name="phone.txt").first.wait_for()
    ask(page, "What colour is the phone box painted?")
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390, "nothing sticks out sideways"
    page.locator(MARKER).first.click()
    panel = settled(page, ".st-key-source")
    assert (panel["x"], panel["width"]) == (0, 390)
    assert 0 < panel["y"] < 80, "the conversation looks out above it"
    page.locator(".st-key-source_close button").click()
    page.locator(".st-key-source").wait_for(state="hidden")
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("button", name="Settings").wait_for()
    page.get_by_test_id("stSidebarCollapseButton").locator("button").click()
    page.locator('[data-testid="stSidebar"][data-collapsed="true"]').wait_for(state="attached")
