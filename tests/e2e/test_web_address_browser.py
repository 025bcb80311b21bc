"""A page of the web in a real browser: pasted, fetched, asked, fetched again."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import serving
from tests.e2e.test_documents_browser import findings, menu, row
from tests.web_sites import Site, web_site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]

TIDES = """<!doctype html><html lang=en><head><meta charset=utf-8><title>Tides at Skagen</title>
</head><body><nav>Home About Contact</nav><main><h1>Tides at Skagen</h1>
<p>High tide is at {0} o'clock in the morning. The harbour was opened in 1907.</p>
<p>The harbour master is Maria Lund.</p></main></body></html>"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with web_site() as running:
        running.page("/tides", gzip.compress(TIDES.format("six").encode()), Content_Encoding="gzip")
        slow = [b"<p>drop after drop</p>"] * 600
        running.raw(
            "/slow", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", *slow, pause=0.1
        )
        yield running


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app that may fetch from this computer, as its owner may let it."""
    with serving(tmp_path_factory.mktemp("web"), RAG_APP_OWN_NETWORKS="127.0.0.0/8") as address:
        yield address


def fetch(page, address: str) -> None:
    """Paste an address and press Enter."""
    field = page.get_by_role("textbox", name="Address of the page")
    if not field.count():
        page.get_by_role("button", name="Add a web page").click()
    field.fill(address)
    field.press("Enter")


def test_a_page_becomes_a_document_that_says_where_it_is_from(browser, site):
    page = browser.open()
    page.get_by_role("button", name="Add a web page").click()
    page.get_by_text("This goes to the internet").wait_for()
    assert findings(page) == []
    fetch(page, f"{site.address}/tides")
    row(page, "Tides at Skagen.html").get_by_text("Ready").first.wait_for(state="attached")
    assert page.get_by_role("textbox", name="Address of the page").count() == 0
    menu(page, "Tides at Skagen.html", "About this document")
    link = page.locator(".st-key-about").get_by_role("link", name="127.0.0.1")
    link.wait_for()
    assert link.get_attribute("href") == f"{site.address}/tides"
    assert link.get_attribute("target") == "_blank"
    assert "noopener" in link.get_attribute("rel")
    assert "fetched" in page.locator(".st-key-about").inner_text()
    assert findings(page) == []
    page.get_by_test_id("stChatInputTextArea").fill("Who is the harbour master?")
    page.keyboard.press("Enter")
    page.locator(".how").first.wait_for()
    page.locator('[data-testid="stMarkdownContainer"] a[href^="#cite:"]').first.click()
    page.locator(".st-key-source").get_by_role("link", name="127.0.0.1").wait_for()


def test_the_same_page_again_is_known_and_a_changed_one_offers_to_replace(browser, site):
    page = browser.open()
    fetch(page, f"{site.address}/tides")
    page.get_by_text("Already in your library as “Tides at Skagen.html”").wait_for()
    page.get_by_role("button", name="OK").click()
    site.page("/tides", TIDES.format("seven"))
    fetch(page, f"{site.address}/tides")
    page.get_by_text("This page has changed").wait_for()
    page.get_by_role("button", name="Replace the older one").click()
    row(page, "Tides at Skagen (2).html").wait_for(state="detached")
    row(page, "Tides at Skagen.html").get_by_text("Ready").first.wait_for(state="attached")
    assert page.locator('[class*="st-key-doc-"]').count() == 1


def test_what_cannot_be_fetched_is_said_beside_the_field_and_can_be_mended(browser, site):
    page = browser.open()
    fetch(page, f"{site.address}/nowhere")
    page.get_by_text("has no such page").wait_for()
    field = page.get_by_role("textbox", name="Address of the page")
    assert field.input_value() == f"{site.address}/nowhere"
    assert findings(page) == []
    fetch(page, "https://10.0.0.1/")
    page.get_by_text("a network of its own").wait_for()
    fetch(page, "no address")
    page.get_by_text("is not the address of a page").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Add a web page").wait_for()


def test_a_slow_page_blocks_nothing_and_can_be_stopped(browser, site):
    page = browser.open()
    before = page.locator('[class*="st-key-doc-"]').count()
    fetch(page, f"{site.address}/slow")
    page.get_by_text("Fetching from 127.0.0.1").wait_for()
    page.get_by_role("button", name="Search the text").click()
    page.get_by_role("textbox", name="Search your documents").fill("harbour master")
    page.get_by_text("1 place in 1 document").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Fetching from 127.0.0.1").wait_for(state="detached")
    assert page.locator('[class*="st-key-doc-"]').count() == before


def test_the_keyboard_alone_adds_a_page_on_a_phone(browser, site):
    site.page("/fares", "<!doctype html><title>Fares</title><p>A ticket costs four euros.")
    page = browser.open(width=390, height=844)
    expand = page.get_by_test_id("stExpandSidebarButton")
    if expand.count() and expand.is_visible():
        expand.click()
    opener = page.get_by_role("button", name="Add a web page")
    opener.focus()
    page.keyboard.press("Enter")
    field = page.get_by_role("textbox", name="Address of the page")
    field.wait_for()
    field.focus()
    page.keyboard.type(f"{site.address}/fares")
    page.keyboard.press("Enter")
    row(page, "Fares.html").get_by_text("Ready").first.wait_for(state="attached")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
