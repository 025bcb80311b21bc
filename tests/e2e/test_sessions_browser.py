"""Several people at once in a real browser, a library of a hundred documents, and what is about
the library as a whole: its check, folders that it is kept in step with."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import listed, serving
from tests.e2e.test_browser import MARKER, QUOTE, ask, drop, lighthouse
from tests.e2e.test_conversation_browser import LOST
from tests.e2e.test_documents_browser import findings
from tests.e2e.test_written_browser import choose
from tests.servers import scripted_server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]

PEOPLE = b"No,Name,City\n1,Ann Bell,Colne\n2,Cy Dunn,Selby\n3,Eve Fox,Ryde\n"
WHEN = "When was the Skerry lighthouse automated?"
MANY = 100
WORDS = ["The Skerry lighthouse was automated ", "in the spring ", "of 1987."]

log = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app of this module's own: its library grows."""
    with serving(tmp_path_factory.mktemp("sessions")) as address:
        yield address


def row(page, name: str):
    return page.locator('[class*="st-key-doc-"]').filter(has_text=name)


def ready(browser, **how):
    """A page with the lighthouse."""
    page = browser.open(**how)
    listed(page)
    if not row(page, "lighthouse.pdf").count():
        drop(page, "lighthouse.pdf", lighthouse())
    return page


def library_menu(page, choice: str) -> None:
    page.locator(".st-key-menu-documents button").click()
    page.get_by_text(choice, exact=True).click()


def test_whatever_a_browser_complains_about_is_noted(browser):
    page = browser.open()
    page.evaluate("console.error('provoked')")
    page.evaluate("console.warn('provoked')")
    page.evaluate("setTimeout(() => { throw new Error('provoked') })")
    other = page.context.new_page()
    other.goto(page.url)
    other.evaluate("console.error('provoked in a second tab')")
    with pytest.raises(Exception, match="evil"):  # the page itself may not reach it
        page.goto("http://evil.example/provoked")
    page.wait_for_timeout(500)
    assert len(browser.complaints) >= 4
    assert {c.partition(":")[0] for c in browser.complaints} == {"console", "page", "request"}
    browser.forgive("provoked", "ERR_")


def test_two_people_share_the_library_and_not_their_conversations(browser):
    one, two = ready(browser), browser.open()
    drop(one, "crane.txt", b"The crane of Selby lifts forty tons.\n")
    row(two, "crane.txt").get_by_text("Ready").first.wait_for()  # without a click
    ask(one, WHEN)
    ask(two, "What does the crane of Selby lift?")
    assert QUOTE in one.get_by_test_id("stChatMessage").last.inner_text()
    assert "forty tons" in two.get_by_test_id("stChatMessage").last.inner_text()
    for page in (one, two):
        assert page.locator(".question").count() == 1
    assert one.url != two.url
    two.goto(one.url)
    two.locator(MARKER).first.wait_for()
    assert QUOTE in two.get_by_test_id("stChatMessage").last.inner_text()


def test_a_reload_in_mid_answer_finds_its_first_words_and_then_the_rest(browser):
    with scripted_server() as (url, script):
        page = ready(browser)
        choose(page, url)
        script.words, script.pause_before = WORDS, 2
        page.get_by_test_id("stChatInputTextArea").fill(WHEN)
        page.keyboard.press("Enter")
        page.get_by_text("in the spring").first.wait_for()
        page.reload()
        page.get_by_text("in the spring").first.wait_for()
        page.get_by_role("button", name="Stop").wait_for()
        assert page.get_by_text("Written by").count() == 0
        script.hold.set()
        page.get_by_text("Written by").first.wait_for()
        assert page.locator(MARKER).count() == 1
        assert page.locator(".question").count() == 1


def test_a_network_cut_in_mid_answer_loses_no_word_of_it(browser):
    with scripted_server() as (url, script):
        page = ready(browser)
        choose(page, url)
        script.words, script.pause_before = WORDS, 2
        page.get_by_test_id("stChatInputTextArea").fill(WHEN)
        page.keyboard.press("Enter")
        page.get_by_text("in the spring").first.wait_for()
        page.context.set_offline(True)
        page.get_by_text("The connection is lost.").wait_for()
        script.hold.set()
        page.wait_for_timeout(1500)
        page.context.set_offline(False)
        page.get_by_text("The connection is lost.").wait_for(state="hidden")
        page.get_by_text("Written by").first.wait_for()
        assert page.locator(MARKER).count() == 1
        browser.forgive(*LOST)


def test_a_library_is_checked_while_others_ask(browser):
    page = ready(browser, scheme="dark")
    drop(page, "people.csv", PEOPLE)  # of rows there are questions without a writer
    library_menu(page, "Check my library…")
    page.get_by_role("heading", name="Check my library").wait_for()
    assert findings(page) == []
    page.get_by_role("button", name="Check now").or_(
        page.get_by_role("button", name="Check again")
    ).click()
    other = browser.open()
    ask(other, WHEN)
    page.locator(".figures").wait_for()
    assert page.get_by_text("times the right page was among the first 5").is_visible()
    page.get_by_role("button", name="Check again").wait_for()
    assert findings(page) == []
    page.wait_for_function("document.querySelector('.stMain').scrollTop === 0")
    page.get_by_text("What went well").first.click()
    page.locator(".st-key-check").get_by_role("button", name="Ann Bell").first.click()
    page.locator(".st-key-source").get_by_text("Colne").first.wait_for()
    page.reload()
    library_menu(page, "Check my library…")
    page.locator(".figures").wait_for()


def test_a_folder_is_kept_in_step_from_the_page(browser, tmp_path):
    (tmp_path / "vane.txt").write_text("The weather vane of Selby turns north.\n")
    page = ready(browser)
    library_menu(page, "Keep in step with a folder…")
    field = page.get_by_role("textbox", name="Where the folder is")
    field.fill("Papers")
    page.get_by_role("button", name="Keep in step", exact=True).click()
    page.get_by_text("Type the whole way to the folder").wait_for()
    field.fill(str(tmp_path))
    page.get_by_role("button", name="Keep in step", exact=True).click()
    page.get_by_text("1 file in your library").wait_for()
    assert findings(page) == []
    row(page, "vane.txt").get_by_text("Ready").first.wait_for()
    (tmp_path / "vane.txt").unlink()
    row(page, "vane.txt").wait_for(state="detached")
    page.get_by_role("button", name="No longer keep it in step").first.click()
    page.get_by_text("No folder is kept in step yet.").wait_for()


def test_the_picture_of_a_page_fits_a_phone_and_grows_when_wanted(browser):
    page = ready(browser, width=390, height=844, scheme="dark")
    ask(page, WHEN)
    page.locator(MARKER).first.click()
    page.locator(".box.quote").first.wait_for()
    scroll = page.locator("#scroll")
    assert scroll.evaluate("e => e.scrollWidth <= e.clientWidth"), "nothing to scroll sideways"
    page.get_by_role("button", name="Larger").click()
    assert scroll.evaluate("e => e.scrollWidth > 1.4 * e.clientWidth")
    box = page.locator(".box.quote").first.bounding_box()
    assert box["x"] < 390 and 0 <= box["y"] < 844
    page.get_by_role("button", name="Smaller").click()
    assert scroll.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert findings(page) == []


def test_menus_and_dialogs_can_be_read_in_the_dark(browser):
    page = ready(browser, scheme="dark")
    page.get_by_role("button", name="Settings").click()
    page.get_by_text("Balanced").wait_for()
    assert findings(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("button", name="Answers:").click()
    page.get_by_text("Who answers?").wait_for()
    assert findings(page) == []
    page.keyboard.press("Escape")
    page.get_by_test_id("stPopoverButton").filter(has_text="Conversations").click()
    page.get_by_placeholder("Search conversations").wait_for()
    assert findings(page) == []


def test_a_hundred_documents_stay_quick(browser):
    page = ready(browser)
    before = page.locator(".st-key-documents_head h2 span").inner_text()
    began = time.monotonic()
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        [
            {"name": f"boat {n}.txt", "mimeType": "text/plain", "buffer": f"Boat {n} is {n * 7} "
             f"feet long. It was built in {1850 + n}.\n".encode()}
            for n in range(MANY)
        ]
    )  # fmt: skip
    page.get_by_text(f"Show all ({int(before) + MANY})").wait_for()
    page.locator(".st-key-queue").wait_for(state="detached", timeout=300_000)
    added = time.monotonic() - began
    began = time.monotonic()
    page.reload()
    page.get_by_test_id("stChatInputTextArea").wait_for()
    row(page, "boat").first.wait_for()
    loaded = time.monotonic() - began
    assert page.locator('[class*="st-key-doc-"]').count() == 30
    began = time.monotonic()
    row(page, "boat").first.locator("label").first.click()
    page.locator(f'[placeholder^="Ask {int(before) + MANY - 1} of"]').wait_for()
    ticked = time.monotonic() - began
    began = time.monotonic()
    ask(page, "When was Boat 37 built?")
    answered = time.monotonic() - began
    assert "1887" in page.get_by_test_id("stChatMessage").last.inner_text()
    log.info("add %.1f s, load %.2f s, tick %.2f s, ask %.2f s", added, loaded, ticked, answered)
