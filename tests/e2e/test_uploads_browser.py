"""Files for which there is no room in memory, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import eventually, serving
from tests.e2e.test_sessions_browser import row

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

MIB = 1 << 20


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app that gives uploads two MiB of memory."""
    with serving(tmp_path_factory.mktemp("uploads"), RAG_APP_UPLOAD_MB="2") as address:
        yield address


def text(name: str, size: int) -> dict[str, object]:
    said = f"This is {name}. The ferry leaves at noon. ".encode()
    return {"name": name, "mimeType": "text/plain", "buffer": (said * (size // len(said) + 1))}


def drop(page, *files: dict[str, object]) -> None:
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(list(files))


def receipt(page):
    return page.locator(".st-key-receipt")


def test_a_file_that_is_too_large_is_refused_in_words_and_its_neighbours_are_taken(browser):
    page = browser.open()
    drop(page, text("large.txt", 30 * MIB), text("small.txt", 1_000))
    receipt(page).get_by_text("“large.txt” was not uploaded").wait_for()
    assert "RAG_APP_UPLOAD_MB" in receipt(page).inner_text()
    row(page, "small.txt").wait_for()
    eventually(page, lambda: "1 added, 1 refused" in receipt(page).inner_text())
    assert not row(page, "large.txt").count()
    browser.forgive("Failed to load resource", "File uploader error", "ERR_")


def test_a_refused_file_alone_is_said_without_a_touch_of_the_page(browser):
    page = browser.open()
    drop(page, text("alone.txt", 5 * MIB))
    receipt(page).get_by_text("“alone.txt” was not uploaded").wait_for()
    browser.forgive("Failed to load resource", "File uploader error", "ERR_")


def test_what_was_taken_makes_room_for_the_next(browser):
    page = browser.open()
    for number in range(4):  # twice as much as there is room for at once
        drop(page, text(f"part-{number}.txt", MIB))
        row(page, f"part-{number}.txt").wait_for()
    assert not receipt(page).count()


def test_what_is_dropped_while_what_came_before_is_taken_arrives(browser):
    page = browser.open()
    line = page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1}
    line.send("Network.emulateNetworkConditions", slow | {"uploadThroughput": 120_000})
    begun: list[str] = []
    page.on("request", lambda request: begun.append(request.method))
    fields = page.locator('[class*="st-key-drop-"] input[type="file"]')
    field = fields.first.element_handle()
    drop(page, text("first.txt", 1_000))
    eventually(page, lambda: fields.count() > 1)  # it was emptied, by another in its place
    field.set_input_files([text("meanwhile.txt", MIB)])
    eventually(page, lambda: begun.count("PUT") >= 2)  # and is on its way for some nine seconds
    page.wait_for_timeout(5_000)
    page.locator(".st-key-drop_mode button").click()  # the whole page is drawn again
    page.wait_for_timeout(500)
    assert not row(page, "meanwhile.txt").count()
    row(page, "meanwhile.txt").wait_for()
    page.locator('[data-test-script-state="notRunning"]').wait_for(state="attached")


def test_a_file_that_is_dropped_anywhere_on_the_page_is_added(browser):
    page = browser.open()
    dragged = page.evaluate_handle(
        "() => { const one = new DataTransfer();"
        "one.items.add(new File(['The gate is shut at nine.'], 'gate.txt', {type: 'text/plain'}));"
        "return one; }"
    )
    line = page.locator('[class*="st-key-drop-"] section').first
    line.wait_for()

    def shows() -> bool:  # the page listens a moment after it is drawn
        page.dispatch_event("main", "dragover", {"dataTransfer": dragged})
        return line.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"

    eventually(page, shows)
    page.dispatch_event("main", "drop", {"dataTransfer": dragged})
    row(page, "gate.txt").wait_for()
    assert line.evaluate("one => getComputedStyle(one).outlineStyle") != "solid"
    assert "/gate.txt" not in page.url, "the browser has not opened it"
