"""A written answer in a real browser: chosen on the page, streamed, cited, stopped, translated."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rag_app.ui import texts, texts_answers
from tests.e2e.conftest import serving
from tests.e2e.test_browser import MARKER, QUOTE, drop, lighthouse, settled
from tests.servers import Script, scripted_server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

PICTURES = os.environ.get("RAG_APP_PICTURES")  # a folder: what was seen is kept there


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app of this module's own: near tables, a model would be asked for a query first."""
    with serving(tmp_path_factory.mktemp("written")) as address:
        yield address


@pytest.fixture
def server():
    with scripted_server() as (url, script):
        yield url, script


def choose(page, url: str) -> None:
    """Have a model on a server answer, as a person does it."""
    name = f"model-{urlsplit(url).port}"  # what was chosen in an earlier session is still chosen
    page.get_by_role("button", name=re.compile("^Who answers:")).click()
    page.get_by_text("A language model on another server").click()
    page.get_by_label("Address of the server").fill(url)
    page.get_by_label("Address of the server").press("Enter")
    page.get_by_label("Name of the model").fill(name)
    page.get_by_label("Name of the model").press("Enter")
    page.get_by_role("button", name=re.compile(f"^Who answers: {name}")).wait_for()
    page.keyboard.press("Escape")


def ask(page, question: str) -> None:
    page.get_by_test_id("stChatInputTextArea").fill(question)
    page.keyboard.press("Enter")


def picture(page, name: str) -> None:
    if PICTURES:
        page.wait_for_timeout(800)
        page.screenshot(path=str(Path(PICTURES) / f"{name}.png"))


def begin(browser, url: str, **looks):
    page = browser.open(**looks)
    if not page.get_by_role("button", name="lighthouse.pdf").count():
        drop(page, "lighthouse.pdf", lighthouse())
    choose(page, url)
    return page


def test_a_written_answer_streams_and_its_sentences_lead_to_the_page(browser, server):
    url, script = server
    page = begin(browser, url)
    script.words = [
        "The Skerry lighthouse ",
        "was automated ",
        "in the spring of 1987. ",
        "It is **painted** green. ![x](http://evil.example/x.png) <b>bold</b>",
    ]
    _hold_after(script, page, "When was the Skerry lighthouse automated?")
    page.get_by_text("Written by model-").wait_for()
    answer = page.get_by_test_id("stChatMessage").last
    assert "It is painted green." in answer.inner_text()
    assert answer.locator("img[src*=evil]").count() == 0 and "<b>" in answer.inner_text()
    assert page.get_by_text("Where no small number stands beside a sentence").is_visible()
    assert page.locator(MARKER).count() == 1
    page.locator(MARKER).first.click()
    settled(page, ".box.quote")
    assert page.locator("blockquote.quoted").inner_text() == QUOTE
    picture(page, "written")


def _hold_after(script: Script, page, question: str) -> None:
    """Ask, and see the first words before the last are sent."""
    script.pause_before = 2
    ask(page, question)
    said = page.get_by_test_id("stMarkdownContainer")
    said.filter(has_text="The Skerry lighthouse was automated").last.wait_for()
    page.get_by_role("button", name="Stop").wait_for()
    assert page.get_by_text("Written by").count() == 0
    assert page.locator(".reading a").first.inner_text() == "lighthouse.pdf, page 2"
    picture(page, "streaming")
    script.hold.set()


def test_who_waits_for_the_writer_sees_what_is_done_and_for_how_long(browser, server):
    url, script = server
    page = begin(browser, url)
    script.hold.clear()
    ask(page, "When was the Skerry lighthouse automated?")
    waiting = page.locator(".working", has_text=texts.WRITING)
    waiting.locator("span", has_text=re.compile(r"^[3-9] s$")).wait_for()
    assert page.locator(".reading a").count(), "the sources stand there meanwhile"
    message = page.get_by_test_id("stChatMessage").last
    assert "1987" in message.locator(".card mark").inner_text(), "and what most likely answers"
    picture(page, "waiting")
    message.get_by_text("See it there").click()
    page.locator("#sheet").wait_for()
    script.hold.set()
    page.get_by_text("Written by model-").wait_for()
    assert waiting.count() == 0 and page.get_by_text(texts_answers.PERHAPS).count() == 0


def test_stop_keeps_what_was_written(browser, server):
    url, script = server
    page = begin(browser, url, width=1024, height=768, scheme="dark")
    script.words = ["Half of the truth ", "is here. ", *["Never sent. "] * 2_000]
    script.pause_before = 2
    ask(page, "When was the Skerry lighthouse automated?")
    answer = page.get_by_test_id("stChatMessage").last
    answer.get_by_text("Half of the truth is here.").first.wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped.").wait_for()
    script.hold.set()
    assert "Half of the truth is here." in answer.inner_text()
    assert page.get_by_text("Never sent.").count() == 0
    assert script.gone.wait(10), "the server is not left writing"
    picture(page, "stopped")


def test_a_server_that_is_gone_leaves_the_question_to_quotes(browser, server):
    url, script = server
    page = begin(browser, url)
    script.status = 401
    ask(page, "When was the Skerry lighthouse automated?")
    page.get_by_text("did not accept the key").wait_for()
    assert page.get_by_text("Quoted from your documents").is_visible()
    assert QUOTE in page.get_by_test_id("stChatMessage").last.inner_text()
    assert "sk-123" not in page.content()


def test_the_quote_of_a_source_is_translated(browser, server):
    url, script = server
    page = begin(browser, url)
    ask(page, "When was the Skerry lighthouse automated?")
    page.get_by_text("Written by model-").wait_for()
    page.get_by_role("button", name=re.compile("Summarise, compare")).click()
    picture(page, "tasks")
    page.get_by_text("Translate…").click()
    field = page.get_by_label("Text to translate; your documents help with names and terms")
    field.fill(QUOTE)
    script.words = ["Le phare de Skerry fut automatisé au printemps 1987."]
    page.get_by_label("Into").fill("French")
    page.keyboard.press("Enter")
    picture(page, "translate")
    page.get_by_role("dialog").get_by_role("button", name="Translate").click()
    page.get_by_text("Le phare de Skerry").first.wait_for()
    assert f"Translate into French: {QUOTE}" in script.prompt
