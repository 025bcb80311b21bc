# ruff: noqa: F811 - the fixtures are those of test_app
"""The settings, as a person uses them."""

from __future__ import annotations

import json
from typing import Any

from rag_app.storage.preferences import Preferences
from rag_app.ui import texts as words
from tests.test_app import FERRY, MUSEUM, Page, opened, page  # noqa: F401 - fixtures
from tests.test_app_who import pick, write

UNANSWERABLE = "Which aardvark invented the ferry?"


def test_settings_say_the_limits_and_where_everything_is(page):
    page.drop(("ferry.txt", FERRY))
    page.click("settings")
    said = page.html()
    assert "200 MB" in said and "1 document" in said
    assert str(page.library.folder) in said


def test_answer_more_answers_what_would_be_left_open(page):
    page.drop(("ferry.txt", FERRY))
    page.click("settings")
    page.at.radio(key="settings_caution").set_value("careful")
    page.run()
    assert "could not find" in page.ask(UNANSWERABLE)
    page.at.radio(key="settings_caution").set_value("more")
    page.run()
    page.library.preferences.write(Preferences(caution=0.0))  # as unsure as can be
    assert "four euros" in Page([page.library]).ask(UNANSWERABLE)


def test_how_much_is_read_is_how_many_passages_an_answer_has(page):
    texts = "\n\n".join(f"The ferry number {n} to the island has {n} chairs." for n in range(900))
    page.drop(("ferries.txt", texts.encode()))
    page.click("settings")
    page.at.radio(key="settings_top_k").set_value("little")
    page.run()
    page.ask("How many chairs has the ferry number 7?")
    exchange = page.at.session_state["session"].exchanges[-1]
    assert len(exchange.generation.now().passages) == 4


def test_what_was_chosen_is_there_in_the_next_session(page, opened):
    pick(page, "server")
    write(page, url="http://127.0.0.1:9/v1", model="tiny")
    page.click("settings")
    page.at.selectbox(key="settings_language").set_value("German")
    page.run()
    session = Page(opened).at.session_state["session"]
    assert (session.generator, session.language) == (
        "openai:tiny@http://127.0.0.1:9/v1", "German"
    )  # fmt: skip


def test_single_keys_can_be_turned_off_and_stay_so(page, opened):
    def listener(of: Page) -> dict[str, Any]:
        [one] = [c for c in of.at.get("bidi_component") if "rag_app_keys" in c.proto.component_name]
        return json.loads(one.proto.json)

    assert listener(page)["listens"] and "Settings" in listener(page)["note"]
    page.click("settings")
    page.at.checkbox(key="settings_keys").uncheck()
    page.run()
    page.run()  # as after closing the dialog
    assert not listener(page)["listens"]
    assert "turned off" in listener(page)["note"]
    assert not listener(Page(opened))["listens"]
    page.at.checkbox(key="settings_keys").check()
    page.run()
    assert listener(Page(opened))["listens"]


def test_a_choice_that_makes_no_sense_any_more_is_left_out(page, opened):
    page.library.preferences.write(Preferences(generator="openai:m@ftp://x"))
    assert Page(opened).at.session_state["session"].generator is None


def test_deleting_everything_takes_two_clicks_and_leaves_nothing(page):
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    page.ask("What does the ferry to the island cost?")
    page.click("settings")
    page.click("clear")
    assert words.DELETE_SURE in page.html()
    page.click("clear_keep")
    assert len(page.library.documents()) == 2
    page.click("clear")
    page.click("clear_now")
    assert page.library.documents() == []
    assert page.library.conversations.listed() == []
    assert not page.at.chat_message
    page.drop(("ferry.txt", FERRY))
    assert [d.name for d in page.library.documents()] == ["ferry.txt"]
