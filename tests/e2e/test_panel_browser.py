"""The panel of documents in a real browser: room for many, names that open, boxes that select."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import eventually, listed, serving
from tests.e2e.test_documents_browser import menu, row

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

MANY = 14


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app with nothing in it."""
    with serving(tmp_path_factory.mktemp("panel")) as address:
        yield address


def _letter(number: int) -> bytes:
    return f"Letter {number} says that the gate is painted in colour {number}.\n".encode()


def filled(browser, **how):
    page = browser.open(**how)
    listed(page)
    if not page.get_by_text("Nothing here yet").count():
        return page
    page.locator('input[type="file"]').first.set_input_files(
        [
            {"name": f"letter {n}.txt", "mimeType": "text/plain", "buffer": _letter(n)}
            for n in range(MANY)
        ]
    )
    page.get_by_text(f"{MANY} added").wait_for()
    page.get_by_text(f"{MANY} documents are ready to be asked.").wait_for()
    page.get_by_role("button", name="Pause").wait_for(state="detached")
    return page


def test_ten_of_fourteen_documents_are_in_view(browser):
    page = filled(browser, width=1440, height=900)
    page.get_by_text(f"{MANY} added").wait_for(state="detached")
    rows = page.locator('[class*="st-key-doc-"]')
    rows.nth(MANY - 1).wait_for(state="attached")
    boxes = [rows.nth(n).bounding_box() for n in range(MANY)]
    assert sum(box["y"] + box["height"] <= 900 for box in boxes) >= 10


def test_nothing_sticks_out_of_the_panel(browser):
    page = filled(browser)
    right = page.get_by_role("textbox", name="Filter by name").bounding_box()
    for one in page.locator(".st-key-tools button").all():
        box = one.bounding_box()
        assert box and right and box["x"] + box["width"] <= right["x"] + right["width"] + 1


def test_what_only_listens_is_never_a_grey_bar(browser):
    page = browser.open()
    context = page.context
    context.route("**/BidiComponent*", lambda route: None)  # it never comes
    slow = context.new_page()
    slow.set_viewport_size({"width": 390, "height": 844})
    slow.goto(page.url)
    slow.get_by_test_id("stChatInputTextArea").wait_for()
    listening = ("follow", "aside", "shortcuts", "cites", "actions", "thumbs")
    for key in listening:
        for one in slow.locator(f".st-key-{key}").all():
            box = one.bounding_box()
            assert box is None or box["height"] <= 1, key


def test_a_name_opens_its_document_and_a_box_selects(browser):
    page = filled(browser)
    page.get_by_role("button", name="letter 3.txt", exact=True).click()
    page.locator(".st-key-source").get_by_text("letter 3.txt").wait_for()
    page.locator(".st-key-source").get_by_text("painted in colour 3").wait_for()
    assert not page.get_by_text("Asking").count(), "all of them are asked still"
    page.locator(".st-key-source_close button").click()
    row = page.locator('[class*="st-key-doc-"]').filter(has_text="letter 3.txt")
    row.locator("label").first.click()
    page.get_by_text(f"Asking {MANY - 1} of {MANY} documents").wait_for()
    page.get_by_role("button", name="Ask all").click()
    page.get_by_text("Asking").wait_for(state="detached")


def test_conversations_stand_under_their_day(browser):
    page = filled(browser)
    page.get_by_test_id("stChatInputTextArea").fill("What colour is the gate of letter 5?")
    page.keyboard.press("Enter")
    page.locator(".how").first.wait_for()
    page.get_by_role("button", name="Conversations").click()
    page.get_by_role("heading", name="Today").wait_for()


def test_a_small_sheet_never_waits_behind_a_long_text(browser):
    page = filled(browser)
    long = b"The warehouse holds barrels of salt and of tar for the boats.\n\n" * 60_000
    field = page.get_by_test_id("stFileUploaderDropzoneInput").first
    field.set_input_files({"name": "long.txt", "mimeType": "text/plain", "buffer": long})
    large, small = row(page, "long.txt"), row(page, "small.csv")
    large.get_by_text(re.compile("Reading|Making it searchable|Learning")).wait_for()
    sheet = b"boat,built\nTern,1931\nSkerry,1987\n"
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        {"name": "small.csv", "mimeType": "text/csv", "buffer": sheet}
    )
    small.get_by_text("Ready").wait_for()
    said = large.inner_text()
    assert "Ready" not in said, "the long one is still being worked on"
    eventually(page, lambda: re.search(r"about \d+ (s|min) left|almost done", large.inner_text()))
    for name in ("long.txt", "small.csv"):
        menu(page, name, re.compile("emove…$"))
        row(page, name).get_by_role("button", name="Remove", exact=True).click()
        row(page, name).wait_for(state="detached")
