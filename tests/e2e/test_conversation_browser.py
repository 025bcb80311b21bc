"""What people do with answers, in a real browser: rate, copy, change the question, look behind a
quote, take the conversation away; with two windows, two hundred turns, and a network that fails."""

from __future__ import annotations

import io
import logging
import time

import pytest
from reportlab.pdfgen.canvas import Canvas

from rag_app.scope import OWN
from rag_app.storage.conversations import Conversations
from rag_app.storage.database import Database
from rag_app.ui.texts import NONE_CHOSEN
from tests.e2e.conftest import eventually, listed
from tests.e2e.test_browser import MARKER, ask, settled

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

HARBOUR = (
    b"The harbour of Selby has nine berths.\n\nThe harbour office of Selby opens at seven.\n\n"
    b"The crane of Selby lifts forty tons.\n"
)
CRANE = "What does the crane of Selby lift?"
BERTHS = "How many berths has the harbour of Selby?"
BOATS = "boat,built,home port\n" + "".join(f"Tern {n},{1900 + n},Quay {n}\n" for n in range(1, 40))
TURNS = 200
# What a browser itself says of a lost connection is no fault of the page.
LOST = ("ERR_INTERNET_DISCONNECTED", "WebSocket", "not responding", "disconnected", "_stcore")

log = logging.getLogger(__name__)


def act(page, kind: str, which: int = -1):
    """A button under an answer."""
    buttons = page.locator(f'[data-act^="{kind}:"]')
    buttons.nth(buttons.count() + which if which < 0 else which).click()


def drop(page, name: str, data: bytes):
    """Add a document and wait until it can be asked; its row."""
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": data}
    )
    row = page.locator('[class*="st-key-doc-"]').filter(has_text=name).first
    row.get_by_text("Ready").first.wait_for()
    return row


def opened(browser, *questions: str, name: str = "selby.txt", data: bytes = HARBOUR):
    """A session that has asked about a document; most tests share one."""
    page = browser.open()
    listed(page)
    row = page.locator('[class*="st-key-doc-"]').filter(has_text=name).first
    row = row if row.count() else drop(page, name, data)
    row.locator('[class*="st-key-menu-"] button').click()
    page.get_by_text("Ask only this one").click()  # the library is shared with other tests
    for question in questions or (CRANE,):
        ask(page, question)
    page.locator(".acts").last.wait_for()
    return page


def answered(page, text: str) -> None:
    """Wait for an answer that says this; passages that say it are out of sight."""
    page.get_by_test_id("stMarkdownContainer").filter(has_text=text).last.wait_for()


_A_HAND = 100  # milliseconds that it takes at least; Streamlit complains of two things at once


def test_a_question_right_after_a_tick_is_asked_of_what_was_left(browser):
    page = opened(browser)
    drop(page, "selby tides.txt", HARBOUR + b"\nTides.\n")
    for turn in range(3):
        page.get_by_role("button", name="None", exact=True).click()
        page.wait_for_timeout(_A_HAND)
        page.get_by_test_id("stChatInputTextArea").fill(BERTHS)
        page.keyboard.press("Enter")
        page.get_by_text(NONE_CHOSEN).nth(turn).wait_for()
        page.get_by_role("button", name="All", exact=True).click()
        page.wait_for_timeout(_A_HAND)
        ask(page, BERTHS)
    assert page.get_by_text(NONE_CHOSEN).count() == 3


def test_the_newest_answer_is_in_view_unless_somebody_looks_at_an_older_one(browser):
    left = "() => { const m = document.querySelector('.stMain'); return %s }"
    below = left % "m.scrollHeight - m.clientHeight - m.scrollTop"
    page = opened(browser, CRANE, BERTHS, CRANE, BERTHS)
    for question in (CRANE, BERTHS):
        eventually(page, lambda: page.evaluate(below) < 2)
        ask(page, question)
    eventually(page, lambda: page.evaluate(below) < 2)
    page.mouse.move(900, 400)
    page.mouse.wheel(0, -400)
    eventually(page, lambda: page.evaluate(below) > 200)
    act(page, "why", 0)
    page.locator(".why").wait_for()
    page.wait_for_timeout(500)
    assert page.evaluate(below) > 200
    ask(page, CRANE)
    eventually(page, lambda: page.evaluate(below) < 2)


def test_of_an_answer_without_room_the_beginning_is_seen(browser):
    page = opened(browser)
    ask(page, BERTHS)
    page.locator(".acts").nth(1).wait_for()
    page.set_viewport_size({"width": 390, "height": 320})
    page.wait_for_timeout(500)
    ask(page, f"{CRANE} {BERTHS}")
    page.locator(".acts").nth(2).wait_for()
    page.wait_for_timeout(500)
    last = page.locator(".question").last
    eventually(page, lambda: 0 < last.bounding_box()["y"] < 150)


def test_an_answer_is_rated_with_a_reason_that_a_reload_finds_again(browser):
    page = opened(browser)
    act(page, "up")
    page.locator('[data-act^="up:"][aria-pressed="true"]').wait_for()
    act(page, "down")
    page.get_by_text("What was wrong with it?").wait_for()
    page.get_by_text("The source does not say that").click()
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_text("What was wrong with it?").wait_for(state="detached")
    page.reload()
    page.locator('[data-act^="down:"][aria-pressed="true"]').wait_for()
    assert page.locator('[data-act^="up:"]').get_attribute("aria-pressed") == "false"


def test_an_answer_is_really_copied_with_its_footnotes(browser):
    page = opened(browser)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator('[data-act^="copy:"]').focus()
    page.keyboard.press("Enter")
    page.locator('[data-tip="Copied"]').wait_for()
    copied = page.evaluate("navigator.clipboard.readText()").replace("\r\n", "\n")
    said = "forty tons\n\nThe crane of Selby lifts forty tons. [1]\n\n[1] selby.txt"
    assert copied.startswith(said)
    assert copied.endswith("selby.txt: “The crane of Selby lifts forty tons.”")


VOICES = """
const heard = window.heard = { said: [], stopped: 0, changed: [], voices: [] };
window.SpeechSynthesisUtterance = class { constructor(text) { this.text = text; this.lang = ''; } };
Object.defineProperty(window, 'speechSynthesis', { value: {
  getVoices: () => heard.voices,
  speak: one => heard.said.push([one.text, one.lang]),
  cancel: () => { heard.stopped += 1; },
  addEventListener: (kind, changed) => heard.changed.push(changed),
} });
"""


def _spoken_to(browser):
    """A session whose browser has a voice, and the button that makes it speak."""
    page = opened(browser)
    page.context.add_init_script(VOICES.replace("voices: []", "voices: [{ lang: 'en-GB' }]"))
    page.reload()
    page.locator(".acts").last.wait_for()
    aloud = page.locator('[data-act^="say:"]').last
    aloud.click()
    assert aloud.get_attribute("aria-pressed") == "true"
    return page, aloud


def test_a_voice_falls_silent_when_its_button_goes_and_not_when_it_is_drawn_anew(browser):
    page, aloud = _spoken_to(browser)
    act(page, "up")
    page.locator('[data-act^="up:"][aria-pressed="true"]').wait_for()
    page.wait_for_timeout(1_500)
    eventually(page, lambda: aloud.get_attribute("aria-pressed") == "true")
    assert page.evaluate("heard.stopped") == 0
    page.locator(".st-key-new_conversation button").click()
    aloud.wait_for(state="detached")
    eventually(page, lambda: page.evaluate("heard.stopped") == 1)


def test_an_answer_is_read_aloud_where_the_browser_has_a_voice(browser):
    page = opened(browser)
    page.context.add_init_script(VOICES)
    page.reload()
    page.locator(".acts").last.wait_for()
    aloud = page.locator('[data-act^="say:"]').last
    assert not aloud.is_visible(), "there is no voice yet"
    page.evaluate("heard.voices = [{ lang: 'en-GB' }]; for (const one of heard.changed) one();")
    aloud.click()
    assert aloud.get_attribute("aria-pressed") == "true"
    [[said, tongue]] = page.evaluate("heard.said")
    assert said.strip() == "The crane of Selby lifts forty tons." and tongue in ("en", "")
    aloud.click()
    assert page.evaluate("heard.stopped") == 1
    assert aloud.get_attribute("aria-pressed") == "false"


def test_the_next_question_can_be_typed_without_a_click(browser):
    page = opened(browser)
    field = page.get_by_test_id("stChatInputTextArea")
    field.focus()
    page.keyboard.type(BERTHS)
    page.keyboard.press("Enter")
    answered(page, "nine berths")
    eventually(page, lambda: field.evaluate("one => one === document.activeElement"))


def test_opening_a_source_moves_nothing_sideways(browser):
    page = opened(browser)
    page.set_viewport_size({"width": 1024, "height": 768})
    page.locator(MARKER).first.click()
    page.locator("#view").wait_for()
    page.wait_for_timeout(500)  # until the quote has come into view
    moved = "[...document.querySelectorAll('*')].filter(e => e.scrollLeft && !e.matches('.rows'))"
    assert page.evaluate(f"{moved}.length") == 0


def test_a_question_is_changed_in_place_with_the_keyboard(browser):
    page = opened(browser, CRANE, BERTHS)
    page.locator('[data-act^="edit:"]').first.focus()
    page.keyboard.press("Enter")
    # The page's rules forbid `wait_for_function`, which evaluates a text in the page.
    eventually(page, lambda: page.evaluate("document.activeElement.tagName") == "TEXTAREA")
    assert page.get_by_text("1 later question of this conversation will be removed").is_visible()
    page.keyboard.press("Control+a")
    page.keyboard.type("When does the harbour office of Selby open?")
    page.keyboard.press("Control+Enter")
    answered(page, "opens at seven")
    page.locator(".acts").wait_for()
    assert page.get_by_test_id("stChatMessage").count() == 2
    page.reload()
    answered(page, "opens at seven")
    assert page.get_by_test_id("stChatMessage").count() == 2


def test_why_opens_under_the_answer_and_a_passage_of_it_beside_it(browser):
    page = opened(browser)
    act(page, "why")
    page.locator(".why").wait_for()
    said = page.locator('[class*="st-key-why-"]').inner_text()
    assert "No language model." in said and "found by its words" in said
    row = page.locator('[data-act^="why:"]').last
    assert row.get_attribute("aria-expanded") == "true"
    page.locator(".found a").first.click()
    page.locator("#words .beside").first.wait_for()
    assert not page.locator("#words mark:not(.other)").count(), "nothing of it is quoted"
    act(page, "why")
    page.locator(".why").wait_for(state="detached")


def test_footnotes_work_with_the_keyboard_alone(browser):
    page = opened(browser)
    page.locator(MARKER).last.focus()
    card = page.locator("#card")
    card.wait_for()
    assert "forty tons" in card.inner_text()
    page.keyboard.press("Escape")
    card.wait_for(state="hidden")
    page.keyboard.press("Enter")
    page.locator("#words mark").first.wait_for()
    page.wait_for_timeout(500)
    page.keyboard.press("Escape")
    page.locator("#words").wait_for(state="detached")
    page.wait_for_timeout(600)
    assert page.evaluate("document.activeElement.getAttribute('href')").startswith("#cite:")


def test_quotes_on_one_page_each_have_their_place_and_their_number(browser):
    page = browser.open()
    lines = [f"Pier {n} of Selby was built in {1900 + n} by the harbour office." for n in range(6)]
    drop(page, "piers.pdf", _page_of(lines))
    ask(page, "Summarise “piers.pdf”")
    page.locator(MARKER).first.click()
    settled(page, ".box.quote")
    page.get_by_text("Quote 1 of").wait_for()
    assert page.locator(".tag.quote").inner_text() == "1"
    assert page.locator(".box.other").count() >= 1
    first = page.locator(".box.quote").first.bounding_box()
    page.locator(".st-key-quote_next button").click()
    page.get_by_text("Quote 2 of").wait_for()
    settled(page, ".box.quote")
    assert page.locator(".tag.quote").inner_text() == "2"
    assert page.locator(".box.quote").first.bounding_box() != first


def _page_of(lines: list[str]) -> bytes:
    data = io.BytesIO()
    canvas = Canvas(data, invariant=1)
    for number, line in enumerate(lines):
        canvas.drawString(72, 740 - 60 * number, line)
    canvas.showPage()
    canvas.save()
    return data.getvalue()


def test_the_row_of_a_table_stands_highlighted_under_its_columns(browser):
    page = browser.open(width=390, height=844, scheme="dark")
    page.locator('[data-testid="stChatInput"] input[type="file"]').set_input_files(
        {"name": "terns.csv", "mimeType": "text/csv", "buffer": BOATS.encode()}
    )
    page.get_by_text("terns.csv").first.wait_for()
    ask(page, "boat Tern 31 built 1931 home port Quay 31")
    page.locator(f"{MARKER}, .card a").locator("visible=true").first.click()
    settled(page, "#words tr.cited")
    assert page.locator("#words .rows th").first.inner_text() == "boat"

    def both_in_view() -> bool:
        head = page.locator("#words .rows th").first.bounding_box()
        row = page.locator("#words tr.cited").first.bounding_box()
        return bool(head and row and 0 <= head["y"] < row["y"] and row["y"] + row["height"] <= 844)

    eventually(page, both_in_view)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_conversation_is_taken_away_as_a_page_that_needs_nothing(browser, tmp_path):
    page = opened(browser)
    page.get_by_role("button", name="Save", exact=True).click()
    for label, ending in (("Web page", "html"), ("Markdown", "md"), ("JSON", "json")):
        with page.expect_download() as download:
            page.get_by_role("button", name=label, exact=True).click()
        assert download.value.suggested_filename.endswith(f".{ending}")
        download.value.save_as(tmp_path / f"taken.{ending}")
    assert "[^1-1]" in (tmp_path / "taken.md").read_text("utf-8")
    away = page.context.new_page()
    away.on("console", lambda message: browser.complaints.append(message.text))
    away.goto((tmp_path / "taken.html").as_uri())
    assert away.locator("mark").first.inner_text() == "The crane of Selby lifts forty tons."
    away.locator("a.n").first.click()
    assert away.url.endswith("#s-1-1")


def test_keys_do_what_clicks_do_but_not_while_something_is_written(browser):
    page = opened(browser)
    field = page.get_by_test_id("stChatInputTextArea")
    field.fill("")
    field.press("1")
    assert not page.locator(".st-key-source").is_visible(), "it is written, not pressed"
    field.fill("")
    page.locator('[data-act^="copy:"]').focus()
    page.keyboard.press("1")
    page.locator("#words mark").wait_for()
    page.keyboard.press("q")
    page.locator("#words").wait_for(state="detached")
    page.keyboard.press("w")
    page.keyboard.press("/")  # while the page is drawn anew, which takes the focus with it
    page.locator(".why").wait_for()
    page.locator('[data-test-script-state="notRunning"]').wait_for(state="attached")
    page.wait_for_timeout(500)
    eventually(page, lambda: field.evaluate("field => field === document.activeElement"))
    page.locator('[data-act^="copy:"]').focus()
    for key in ("w", "1", "q", "i"):  # as fast as they can be pressed: each waits for its turn
        page.keyboard.press(key)
    page.locator('[class*="st-key-edited-"] textarea').wait_for()
    assert not page.locator(".why").count() and not page.locator(".st-key-source").is_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Cancel").click()
    page.locator('[class*="st-key-edited-"]').wait_for(state="detached")
    page.locator('[data-act^="copy:"]').focus()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Help").get_by_text("Open source 1").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Help").wait_for(state="hidden")


def test_keys_that_are_turned_off_press_nothing_but_the_list_of_them(browser):
    page = opened(browser)
    page.locator(".st-key-settings button").click()
    switch = page.locator(".st-key-settings_keys")
    switch.locator("label").click()
    eventually(page, lambda: not switch.locator("input").is_checked())
    page.wait_for_timeout(1_000)  # until it is kept
    page.keyboard.press("Escape")
    switch.wait_for(state="detached")
    try:
        page.wait_for_timeout(1_000)
        page.locator('[data-act^="copy:"]').focus()
        for key in ("1", "n", "b"):
            page.keyboard.press(key)
        page.keyboard.press("?")
        page.get_by_role("dialog", name="Help").get_by_text("turned off").wait_for()
        page.keyboard.press("Escape")
        page.wait_for_timeout(1_000)
        assert not page.locator(".st-key-source").is_visible()
        assert page.locator(MARKER).count(), "the conversation is still there"
        assert page.locator('[data-act^="down:"]').get_attribute("aria-pressed") == "false"
    finally:  # others share the choice
        page.locator(".st-key-settings button").click()
        switch.locator("label").click()
        eventually(page, lambda: switch.locator("input").is_checked())
        page.wait_for_timeout(1_000)


def test_a_conversation_is_found_by_words_and_says_what_was_asked_last(browser):
    page = opened(browser, CRANE, BERTHS)
    page.get_by_test_id("stPopoverButton").filter(has_text="Conversations").click()
    listed = page.get_by_test_id("stPopoverBody")
    listed.get_by_text(BERTHS).first.wait_for()
    listed.get_by_role("textbox").fill("zeppelin")
    page.keyboard.press("Enter")
    listed.get_by_text("No conversation holds this.").wait_for()
    listed.get_by_role("textbox").fill("crane")
    page.keyboard.press("Enter")
    listed.get_by_role("button", name=CRANE).first.wait_for()


def test_a_conversation_that_was_chosen_is_seen_and_not_the_list(browser):
    page = opened(browser, CRANE)
    page.get_by_role("button", name="New", exact=True).click()
    page.get_by_test_id("stPopoverButton").filter(has_text="Conversations").click()
    listed = page.get_by_test_id("stPopoverBody")
    listed.get_by_role("button", name=CRANE).first.click()
    listed.wait_for(state="hidden")
    page.get_by_test_id("stPopoverButton").filter(has_text="Conversations").click()
    listed.get_by_role("button", name=CRANE).first.wait_for()


@pytest.mark.parametrize("typed", ["", "crane"])
def test_what_is_pressed_beside_the_open_list_of_conversations_counts(browser, typed):
    page = opened(browser)
    page.get_by_test_id("stPopoverButton").filter(has_text="Conversations").click()
    words = page.get_by_placeholder("Search conversations")
    words.wait_for()
    words.press_sequentially(typed)  # it is sent when the field is left
    act(page, "up")  # this closes the list, too
    words.wait_for(state="hidden")
    page.reload()
    page.locator('[data-act^="up:"][aria-pressed="true"]').wait_for()


def test_a_question_does_not_send_the_browser_again_what_it_has(browser):
    context = browser.open().context
    page, came = context.new_page(), []
    page.on(
        "websocket", lambda socket: socket.on("framereceived", lambda frame: came.append(frame))
    )
    page.goto(context.pages[0].url)
    listed(page)
    page.wait_for_timeout(1_500)
    ours = b"speechSynthesis"  # in the script of the buttons under an answer
    assert any(ours in frame for frame in came)
    came.clear()
    drop(page, "selby sent.txt", HARBOUR + b"\nSent.\n")
    ask(page, CRANE)
    page.locator(".acts").last.wait_for()
    assert came
    assert not any(ours in frame for frame in came)


def test_what_one_window_removes_leaves_the_other(browser):
    page = opened(browser, BERTHS, name="selby removed.txt", data=HARBOUR + b"\nRemoved.\n")
    other = browser.open()
    row = other.locator('[class*="st-key-doc-"]').filter(has_text="selby removed.txt")
    row.locator('[class*="st-key-menu-"] button').click()
    other.get_by_text("Remove…").last.click()
    other.get_by_role("button", name="Remove", exact=True).click()
    row.wait_for(state="detached")
    act(page, "why")
    page.locator(".why").wait_for()
    eventually(page, lambda: "nine berths" not in page.content())
    page.locator(MARKER).last.hover()
    page.locator("#card").wait_for()
    assert "Source removed" in page.locator("#card").inner_text()
    page.locator(MARKER).last.click()
    page.locator("p.gone").wait_for()
    eventually(page, lambda: "nine berths" not in page.content())


def test_two_windows_on_one_conversation(browser):
    page = opened(browser)
    other = page.context.new_page()
    other.goto(page.url)
    other.locator(".acts").wait_for()
    ask(other, BERTHS)
    ask(page, "When does the harbour office of Selby open?")
    answered(page, "opens at seven")
    assert page.get_by_test_id("stChatMessage").count() == 6
    assert "nine berths" in page.get_by_test_id("stChatMessage").nth(3).inner_text()


def test_a_reload_in_mid_answer_finds_it(browser):
    page = opened(browser)
    page.get_by_test_id("stChatInputTextArea").fill(BERTHS)
    page.keyboard.press("Enter")
    page.get_by_text(BERTHS).first.wait_for()
    page.reload()
    answered(page, "nine berths")
    page.locator(".acts").nth(1).wait_for()


def test_a_network_that_fails_and_comes_back_loses_nothing(browser):
    page = opened(browser)
    page.get_by_test_id("stChatInputTextArea").fill(BERTHS)
    page.keyboard.press("Enter")
    page.get_by_text(BERTHS).first.wait_for()
    page.context.set_offline(True)
    page.get_by_text("The connection is lost.").wait_for()
    page.wait_for_timeout(3_000)
    page.context.set_offline(False)
    page.get_by_text("The connection is lost.").wait_for(state="hidden")
    answered(page, "nine berths")
    ask(page, "When does the harbour office of Selby open?")
    answered(page, "opens at seven")
    assert page.locator(".question").count() == 3
    browser.forgive(*LOST)


def test_one_press_on_a_busy_machine_asks_once(browser):
    page = opened(browser)
    page.add_init_script(  # a busy machine: what has to wait for nothing waits for a second
        "const wait = setTimeout; window.setTimeout = (f, t, ...all) => wait(f, t || 1000, ...all)"
    )
    sent: list[bytes] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda part: sent.append(part)))
    page.reload()
    answered(page, "forty tons")
    words = "".join(f"Barrel {n} holds {n * 7 % 1000} herrings.\n\n" for n in range(9_000))
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        {"name": "barrels.txt", "mimeType": "text/plain", "buffer": words.encode()}
    )
    page.get_by_text("Learning what it means").wait_for()  # the list looks again and again now
    page.get_by_test_id("stChatInputTextArea").fill(BERTHS)
    page.keyboard.press("Enter")
    eventually(page, lambda: sum(BERTHS.encode() in part for part in sent) >= 2)
    answered(page, "nine berths")
    assert page.locator(".question").count() == 2


def test_two_hundred_turns_stay_quick(browser, tmp_path_factory):
    page = opened(browser)
    meant = page.url.split("c=")[1]
    [data] = tmp_path_factory.getbasetemp().glob("browser0/data")
    database = Database(data / "library.sqlite3")
    conversations = Conversations(database, OWN)
    [first] = conversations.exchanges(meant)
    for number in range(TURNS - 1):
        one = conversations.ask(meant, f"{CRANE} ({number})")
        conversations.answer(one, first.answer)
    parts: list[object] = []  # of the page, as they are sent
    page.on("websocket", lambda socket: socket.on("framereceived", lambda part: parts.append(part)))
    began = time.monotonic()
    page.goto(page.url)
    page.get_by_text(f"({TURNS - 2})").first.wait_for()
    loaded = time.monotonic() - began
    assert page.get_by_test_id("stChatMessage").count() == 20
    page.locator(".acts").last.wait_for()
    page.wait_for_timeout(1_500)  # until the page has come to rest
    before, began = len(parts), time.monotonic()
    act(page, "up")
    page.locator('[data-act^="up:"][aria-pressed="true"]').wait_for()
    pressed = time.monotonic() - began
    eventually(page, lambda: conversations.exchange(one).rating == 1)
    assert len(parts) - before < 60, "a thumb has no conversation drawn anew"
    database.close()
    began = time.monotonic()
    page.get_by_test_id("stChatInputTextArea").fill(BERTHS)
    page.keyboard.press("Enter")
    answered(page, "nine berths")
    page.locator(".acts").last.wait_for()
    answered_in = time.monotonic() - began
    log.info("open %.2f s, press %.2f s, ask %.2f s", loaded, pressed, answered_in)
    page.get_by_text("Show 191 earlier questions").click()
    page.get_by_text("Show 171 earlier questions").wait_for()
    eventually(page, lambda: page.get_by_test_id("stChatMessage").count() == 60)


def test_back_and_forward_lead_through_the_conversations(browser):
    page = opened(browser, CRANE)
    answered(page, "forty tons")
    crane = page.url
    page.locator(".st-key-new_conversation button").click()
    page.locator(".acts").wait_for(state="detached")
    ask(page, BERTHS)
    answered(page, "nine berths")
    berths = page.url
    assert crane != berths
    page.go_back()  # to the new one
    page.locator(".acts").wait_for(state="detached")
    page.go_back()
    answered(page, "forty tons")
    page.wait_for_timeout(500)
    assert page.url == crane
    page.go_forward()
    page.locator(".acts").wait_for(state="detached")
    page.go_forward()
    answered(page, "nine berths")
    page.wait_for_timeout(500)
    assert page.url == berths
