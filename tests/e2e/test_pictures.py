"""The README's pictures, drawn anew when asked for: RAG_APP_SCREENSHOT=1 pytest THIS FILE."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

WANTED = os.environ.get("RAG_APP_SCREENSHOT")  # read before the tests' own house is set up
DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
QUESTION = "How often is every bicycle inspected?"
MARKER = '[data-testid="stMarkdownContainer"] a[href^="#cite:"]'

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not WANTED, reason="pictures are drawn when RAG_APP_SCREENSHOT is set"),
]


def answered(page):
    """The sample's question with its source opened beside it."""
    page.get_by_test_id("stChatInputTextArea").fill(QUESTION)
    page.keyboard.press("Enter")
    page.locator(".how").first.wait_for()
    page.locator(MARKER).first.click()
    page.locator(".box.quote").first.wait_for()
    page.wait_for_timeout(2000)


def test_pictures_for_the_readme(browser):
    page = browser.open()
    page.get_by_role("button", name="Try it with a sample").click()
    page.locator('[class*="st-key-doc-"]').get_by_text("Ready").wait_for()
    answered(page)
    page.mouse.move(700, 750)
    page.screenshot(path=str(DOCS / "screenshot.png"))

    page.locator(".st-key-source_close button").click()
    page.locator('[class*="st-key-doc-"] [class*="st-key-menu-"] button').first.click()
    page.get_by_text("About this document", exact=True).first.click()
    page.get_by_role("heading", name="Outline").wait_for()
    page.get_by_text("Trying out questions").wait_for(state="detached")
    page.wait_for_timeout(1500)
    page.screenshot(path=str(DOCS / "document.png"))

    phone = browser.open(width=390, height=844, scheme="dark")
    answered(phone)
    phone.screenshot(path=str(DOCS / "phone.png"))
