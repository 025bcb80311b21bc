# ruff: noqa: F811 - the fixtures are those of test_app
"""Conversations that are kept, as a person meets them."""

from __future__ import annotations

import streamlit as st
from streamlit.testing.v1 import AppTest

from rag_app.types import Delta
from rag_app.ui import browser, composer, conversation_list, texts
from rag_app.ui.live_answer import Generation
from tests.test_app import APP, FERRY, MUSEUM, Page, opened, page  # noqa: F401 - fixtures


def reloaded(page: Page) -> Page:
    """The same address in a new browser session."""
    again = Page.__new__(Page)
    again._opened = page._opened
    again.at = AppTest.from_file(str(APP), default_timeout=30)
    for key, value in page.at.query_params.items():
        again.at.query_params[key] = value
    again.at.run()
    return again


def listed(page: Page) -> list[str]:
    return [c.title for c in page.library.conversations.listed()]


def show_list(page: Page) -> None:
    """Open the list of conversations, as a click on its button does."""
    page.at.session_state[conversation_list.SEEN] = {"shown": True}
    page.run()


def choose(page: Page, choice: str) -> None:
    """Choose from the menu of the first conversation, as its button would report it."""
    show_list(page)
    [first, *_] = page.library.conversations.listed()
    menu = next(m for m in page.at.get("menu_button") if f"menu-c{first.id}" in m.proto.id)
    assert choice in menu.proto.options


def test_a_reload_finds_the_conversation_with_its_sources(page):
    page.drop(("ferry.txt", FERRY))
    page.ask("What does the ferry to the island cost?")
    again = reloaded(page)
    assert "The ferry to the island costs four euros." in again.said()
    assert "Quoted from your documents" in again.said()
    again.follow(again.link())
    assert "ferry.txt" in again.html()


def test_a_run_that_is_broken_off_while_it_asks_does_not_ask_twice(page, monkeypatch):
    page.drop(("ferry.txt", FERRY))
    real, broken_off = composer.who.subject, []

    def subject() -> str:
        if not broken_off:
            broken_off.append(True)
            st.rerun()
        return real()

    monkeypatch.setattr(composer.who, "subject", subject)
    page.ask("What does the ferry to the island cost?")
    assert broken_off and listed(page) == ["What does the ferry to the island cost?"]
    [conversation] = page.library.conversations.listed()
    assert len(page.library.conversations.exchanges(conversation.id)) == 1
    assert len(page.at.chat_message) == 2


def test_a_question_that_arrives_twice_in_one_moment_is_asked_once(page, monkeypatch):
    page.drop(("ferry.txt", FERRY))
    asked = "What does the ferry to the island cost?"
    page.ask(asked)
    page.ask(asked)
    assert len(page.at.chat_message) == 2
    monkeypatch.setattr(composer, "_ONE_PRESS", 0.0)
    page.ask(asked)
    [conversation] = page.library.conversations.listed()
    assert len(page.library.conversations.exchanges(conversation.id)) == 2


def test_who_asks_at_once_waits_for_the_first_documents_unless_work_is_paused(page):
    library = page.library
    library.pause()
    page.drop(("ferry.txt", FERRY))
    assert "still being read" in page.ask("What does the ferry to the island cost?")
    library.resume()
    assert "costs four euros" in page.ask("What does the ferry to the island cost now?")


def test_a_question_that_came_with_a_file_is_answered_while_work_is_paused(page):
    page.drop(("museum.txt", MUSEUM))
    page.library.pause()
    page.at.chat_input[0].upload("ferry.txt", FERRY, "text/plain")
    assert "Mondays" in page.ask("When is the museum closed?")


def test_a_new_conversation_begins_empty_and_the_earlier_one_is_listed_and_opened(page):
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    page.ask("What does the ferry to the island cost?")
    page.click("new_conversation")
    assert not page.at.chat_message
    page.ask("When is the museum closed?")
    assert listed(page) == [
        "When is the museum closed?", "What does the ferry to the island cost?"
    ]  # fmt: skip
    earlier = page.library.conversations.listed()[1].id
    show_list(page)
    page.click(f"open-{earlier}")
    assert "costs four euros" in page.said()
    page.ask("Do dogs travel free of charge?")
    assert len(page.library.conversations.exchanges(earlier)) == 2


def go_to(page: Page, monkeypatch, conversation: str) -> None:
    """As the browser's Back and Forward would: the address of another conversation, or of none."""
    page.at.query_params.pop("c", None)
    if conversation:
        page.at.query_params["c"] = conversation
    with monkeypatch.context() as during:
        during.setattr(browser, "moved", lambda: True)
        page.run()


def test_back_and_forward_lead_through_the_conversations(page, monkeypatch):
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    page.ask("What does the ferry to the island cost?")
    ferry = page.at.query_params["c"]
    page.click("new_conversation")
    assert "c" not in page.at.query_params
    page.ask("When is the museum closed?")
    museum = page.at.query_params["c"]
    go_to(page, monkeypatch, "")
    assert not page.at.chat_message and "c" not in page.at.query_params
    go_to(page, monkeypatch, ferry)
    assert "costs four euros" in page.said() and page.at.query_params["c"] == ferry
    go_to(page, monkeypatch, museum)
    assert "Mondays" in page.said()
    page.library.conversations.delete(ferry)
    go_to(page, monkeypatch, ferry)
    assert not page.at.chat_message and "c" not in page.at.query_params


def test_an_address_that_comes_late_leaves_the_conversation_as_it_is(page):
    page.drop(("ferry.txt", FERRY))
    page.ask("What does the ferry to the island cost?")
    conversation = page.at.query_params.pop("c")
    page.run()
    assert "costs four euros" in page.said() and page.at.query_params["c"] == conversation


def test_conversations_are_searched(page):
    page.drop(("ferry.txt", FERRY))
    page.ask("What does the ferry to the island cost?")
    show_list(page)
    words = page.at.text_input(key="conversation_words")
    words.set_value("penguin")
    page.run()
    assert texts.NO_CONVERSATIONS in page.html()
    page.at.text_input(key="conversation_words").set_value("euros")
    page.run()
    assert texts.NO_CONVERSATIONS not in page.html()


def test_conversations_that_are_not_listed_are_counted_below_those_that_are(page):
    for number in range(conversation_list.LISTED + 2):
        page.library.conversations.start(f"Question {number}?")
    show_list(page)
    assert texts.older_conversations(2) in page.html()


def test_a_conversation_is_renamed(page):
    page.drop(("ferry.txt", FERRY))
    page.ask("What does the ferry to the island cost?")
    [one] = page.library.conversations.listed()
    choose(page, texts.RENAME)
    page.at.session_state["session"].renaming = one.id
    page.run()
    page.at.text_input(key=f"title-{one.id}").set_value("Prices")
    page.click("title_save")
    assert listed(page) == ["Prices"]
    assert page.at.session_state["session"].renaming is None


def test_a_conversation_is_deleted_only_after_a_question(page):
    page.drop(("ferry.txt", FERRY))
    page.ask("What does the ferry to the island cost?")
    [one] = page.library.conversations.listed()
    choose(page, texts.DELETE)
    page.at.session_state["session"].deleting = one.id
    page.run()
    assert "This cannot be undone." in page.html()
    page.click("delete_keep")
    assert listed(page) == [one.title]
    page.at.session_state["session"].deleting = one.id
    page.run()
    page.click(f"delete-{one.id}")
    assert listed(page) == [] and not page.at.chat_message


def in_the_making(page: Page, monkeypatch) -> Generation:
    """An answer that ends only when it is stopped."""

    def never(_question, _documents, cancelled, **_manner):
        yield Delta("The ferry")
        cancelled.wait(30)

    page.drop(("ferry.txt", FERRY))
    monkeypatch.setattr(page.library, "ask", never)
    page.at.chat_input[0].set_value("What does the ferry to the island cost?")
    page.run()
    [exchange] = page.at.session_state["session"].exchanges
    assert exchange.running
    return exchange.generation


def test_the_answer_of_a_conversation_that_is_deleted_is_stopped(page, monkeypatch):
    making = in_the_making(page, monkeypatch)
    [one] = page.library.conversations.listed()
    page.click("new_conversation")
    assert not making.stopping
    page.at.session_state["session"].deleting = one.id
    show_list(page)
    page.click(f"delete-{one.id}")
    assert making.stopping and making.wait(5)


def test_no_answer_goes_on_when_everything_is_deleted(page, monkeypatch):
    making = in_the_making(page, monkeypatch)
    page.click("settings")
    page.click("clear")
    page.click("clear_now")
    assert making.stopping and making.wait(5)


def test_a_removed_document_is_said_and_its_words_are_gone_from_the_conversation(page):
    page.drop(("ferry.txt", FERRY))
    page.ask("What does the ferry to the island cost?")
    [document] = page.library.documents()
    page.library.remove(document.id)
    again = reloaded(page)
    assert "four euros" not in again.said()
    assert "has been removed" in again.said()


def test_an_address_of_a_conversation_that_is_gone_begins_anew(page):
    page.at.query_params["c"] = "nowhere"
    page.run()
    assert texts.EMPTY in page.html()
