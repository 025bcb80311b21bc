# ruff: noqa: F811 - the fixtures are those of test_app
"""Choosing who answers, as a person does it, with a real server over loopback."""

from __future__ import annotations

import threading
from html import escape

import pytest
import streamlit as st

from rag_app.answering import chat_models
from rag_app.answering.model_spec import parse
from rag_app.models.catalogue import SMALL
from rag_app.storage.preferences import Preferences
from rag_app.ui import model_picker, texts, who
from tests.hub import hub
from tests.servers import scripted_server
from tests.test_app import FERRY, Page, opened, page  # noqa: F401 - fixtures
from tests.test_app_answers import press
from tests.test_fetching_writers import make_ready
from tests.toy_chat import make


def pick(page: Page, choice: str) -> None:
    page.at.radio(key="who_choice").set_value(choice)
    page.run()


def write(page: Page, **fields: str) -> None:
    for key, value in fields.items():
        page.at.text_input(key=f"who_{key}").set_value(value)
    page.run()


def test_a_language_model_on_a_server_writes_the_answer(page):
    page.drop(("ferry.txt", FERRY))
    with scripted_server() as (url, script):
        script.words = ["The ferry to the island ", "costs **four** euros. ", "Whales sing at sea."]
        pick(page, "server")
        write(page, url=url, model="tiny")
        assert texts.PRIVATE in page.html()
        said = page.ask("What does the ferry cost?")
        assert "costs **four** euros. [1](#cite:" in said
        assert "Written by tiny from your documents" in said
        assert "Where no small number stands beside a sentence" in said
        page.click("who_try")
        assert "tiny works: it answered in" in page.html()


def test_servers_on_this_computer_are_found_and_offered(page, monkeypatch):
    with scripted_server() as (url, _):
        monkeypatch.setattr(chat_models.running, "__defaults__", ((("Ollama", url),),))
        page.click("who_look")
        assert "scripted · Ollama" in page.at.radio(key="who_choice").options


def test_no_server_on_this_computer_is_said(page, monkeypatch):
    monkeypatch.setattr(
        chat_models.running, "__defaults__", ((("Ollama", "http://127.0.0.1:9/v1"),),)
    )
    page.click("who_look")
    assert texts.NO_SERVERS in page.html()


def test_an_address_that_is_none_is_said_and_nothing_changes(page):
    pick(page, "server")
    write(page, url="ftp://x", model="tiny")
    assert "is no address of a server" in page.html()
    assert page.at.session_state["session"].generator is None


@pytest.mark.parametrize(
    ("choice", "goes"),
    [
        ("reader", texts.PRIVATE),
        ("ollama:x", texts.PRIVATE),
        ("openai:x@http://localhost:1/v1", texts.PRIVATE),
        ("local:/m", texts.PRIVATE),
        ("openai:x", "sent to <b>openai</b>"),
        ("openai:x@https://ai.example.com/v1", "sent to <b>ai.example.com</b>"),
        ("ollama:x@http://10.0.0.9:11434", "sent to <b>10.0.0.9</b>"),
    ],
)
def test_it_is_said_where_questions_go(choice, goes):
    assert goes in texts.where_it_goes(parse(choice))


def test_from_another_computer_nothing_is_said_to_stay_on_this_one(page, elsewhere):
    assert texts.PRIVATE in page.html()
    elsewhere()
    page.run()
    assert texts.PRIVATE not in page.html() and texts.PRIVATE_THERE in page.html()


def test_an_answer_can_be_made_again_by_another(page):
    page.drop(("ferry.txt", FERRY))
    page.ask("What does the ferry to the island cost?")
    assert "Quoted from your documents" in page.said()
    with scripted_server() as (url, script):
        script.words = ["The ferry to the island costs four euros, to be sure."]
        pick(page, "server")
        write(page, url=url, model="tiny")
        press(page, "again")
        page.until(lambda: "Written by tiny" in page.said())
        assert "four euros, to be sure. [1]" in page.said()
        assert len(page.at.session_state["session"].exchanges) == 1


def test_a_model_of_the_hub_is_downloaded_from_the_page(page, tmp_path, monkeypatch):
    made = make(tmp_path / "made")
    files = {path.name: path.read_bytes() for path in made.iterdir()}
    with hub({"people/tiny": files}) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        pick(page, "folder")
        write(page, folder="people/tiny")
        served.pause.clear()
        page.click("who_download")
        assert "who_stop" in page.buttons()
        served.pause.set()
        page.until(lambda: not page.library.models.fetching.running)
        page.run()
        assert page.library.models.fetching.error == ""
        assert "who_download" not in page.buttons() and "who_stop" not in page.buttons()
        page.click("who_try")
        assert "tiny works" in page.html() or "writes nothing" in page.html()


@pytest.fixture
def served():
    with scripted_server() as (url, script):
        yield url, script


@pytest.mark.parametrize("said_by", ["RAG_APP_CHAT_KEY_URL", "RAG_APP_GENERATOR"])
def test_a_key_in_the_secrets_of_streamlit_reaches_its_server_and_nothing_else(
    opened, monkeypatch, tmp_path, served, said_by
):
    theirs, script = served
    monkeypatch.setenv(
        said_by, f"openai:tiny@{theirs}" if said_by == "RAG_APP_GENERATOR" else theirs
    )
    secrets = tmp_path / "secrets.toml"
    secrets.write_text('RAG_APP_CHAT_KEY = "sk-quiet"\n')
    monkeypatch.setenv("RAG_APP_CHAT_KEY", "")  # so that it is put back afterwards
    monkeypatch.delenv("RAG_APP_CHAT_KEY")
    files = st.config.get_option("secrets.files")
    st.config.set_option("secrets.files", [str(secrets)])
    try:
        page = Page(opened)
        page.drop(("ferry.txt", FERRY))
        pick(page, "server")
        write(page, url=theirs, model="tiny")
        page.ask("What does the ferry cost?")
        assert script.headers[-1]["authorization"] == "Bearer sk-quiet"
        with scripted_server() as (elsewhere, other):
            write(page, url=elsewhere, model="tiny")
            page.click("who_try")
            page.ask("What does the ferry cost?")
            assert len(other.headers) >= 2 and "sk-quiet" not in repr(other.headers)
        assert "sk-quiet" not in page.html()
    finally:
        st.config.set_option("secrets.files", files)
        st.secrets._reset()


@pytest.fixture
def elsewhere(monkeypatch):
    """From now on the browser is on another computer."""

    def leave() -> None:
        monkeypatch.setattr(who, "_ends", lambda: ("0.0.0.0", "10.0.0.7"))

    return leave


def generator(page: Page) -> str | None:
    return page.at.session_state["session"].generator


@pytest.mark.parametrize(
    ("choice", "fields"),
    [
        ("server", {"url": "http://10.0.0.9:8000/v1", "model": "theirs"}),
        ("folder", {"folder": "/etc"}),
    ],
)
def test_from_another_computer_no_server_and_no_folder_can_be_chosen(
    page, elsewhere, monkeypatch, choice, fields
):
    elsewhere()
    page.run()
    offered = page.at.radio(key="who_choice").options
    assert not {texts.choice("server"), texts.choice("folder")} & set(offered)
    assert "who_look" not in page.buttons()
    # a browser that was tampered with: the page drew the fields, and is sent them filled in
    monkeypatch.setattr(model_picker, "_fields", lambda _: ["server", "folder"])
    monkeypatch.setattr(model_picker, "_address", lambda _: fields.get("url"))
    page.run()
    pick(page, choice)
    write(page, **{name: value for name, value in fields.items() if name != "url"})
    assert escape(texts.NOT_FROM_ELSEWHERE) in page.html()
    assert generator(page) is None
    pick(page, "quotes")
    assert generator(page) == "quotes"


def test_a_button_that_was_there_before_looks_for_no_servers(page, elsewhere, monkeypatch):
    monkeypatch.setattr(page.library.models, "servers", lambda: pytest.fail("it looked"))
    elsewhere()
    page.click("who_look")
    assert not page.at.session_state["session"].looked


def test_a_server_that_the_settings_name_can_be_chosen_by_all(opened, elsewhere, monkeypatch):
    with scripted_server() as (url, script):
        monkeypatch.setenv("RAG_APP_CHAT_SERVERS", f"https://ai.example.com, {url}")
        elsewhere()
        page = Page(opened)
        pick(page, "server")
        address = page.at.selectbox(key="who_shared")
        assert address.options == ["https://ai.example.com", url]
        address.set_value(url)
        write(page, model="tiny")
        assert generator(page) == f"openai:tiny@{url}"
        page.click("who_try")
        assert len(script.asked) == 1


def test_who_answers_one_person_is_no_default_for_others_elsewhere(opened, elsewhere):
    here = Page(opened)
    pick(here, "quotes")
    assert here.library.preferences.read().generator == "quotes"
    elsewhere()
    first = Page(opened)
    assert generator(first) is None
    pick(first, "quotes")
    second = Page(opened)
    assert generator(first) == "quotes" and generator(second) is None
    here.library.preferences.write(Preferences(generator="openai:m@http://127.0.0.1:9/v1"))
    third = Page(opened)
    assert generator(third) is None and not third.at.session_state["session"].offered


def test_a_choice_from_another_computer_is_not_kept(opened, elsewhere):
    elsewhere()
    there = Page(opened)
    pick(there, "quotes")
    assert there.library.preferences.read().generator == ""


def test_what_is_no_address_is_never_the_name_of_a_hosted_model(page):
    pick(page, "server")
    write(page, url="ai.example.com/v1", model="tiny")
    assert "is no address of a server" in page.html() and generator(page) is None


@pytest.fixture
def slow(page, monkeypatch):
    """A page on which a model took its time, and a smaller one would be quicker."""
    page.drop(("ferry.txt", FERRY))
    models = page.library.models
    monkeypatch.setattr(
        models, "quicker", lambda now: "writer:small" if now.startswith("openai") else ""
    )
    with scripted_server() as (url, script):
        script.words = ["The ferry to the island costs four euros."]
        pick(page, "server")
        write(page, url=url, model="tiny")
        page.ask("What does the ferry cost?")
        page.run()
        yield page


def arrives(page, monkeypatch, until):
    """The smaller model is fetched, as soon as that is let."""
    folder = page.library.settings.models_folder

    def ensure(model, cache, progress, cancelled):
        progress("fetching", 3, 10)
        until.wait(30)
        make_ready(model, folder)

    monkeypatch.setattr(chat_models, "ensure", ensure)


def test_where_answers_take_long_a_smaller_model_is_fetched_and_answers(slow, monkeypatch):
    may = threading.Event()
    arrives(slow, monkeypatch, may)
    assert "Answers take long on this computer" in slow.html() and "491.4 MB" in slow.html()
    slow.click("slow_take")
    assert "slow_stop" in slow.buttons() and "slow_take" not in slow.buttons()
    assert generator(slow).startswith("openai"), "until the other is here"
    may.set()
    slow.until(lambda: generator(slow) == "writer:small")
    assert "Answers take long" not in slow.html()
    assert slow.library.preferences.read().generator == "writer:small"


def test_a_smaller_model_that_is_here_answers_at_once(slow):
    make_ready(SMALL, slow.library.settings.models_folder)
    slow.click("slow_take")
    assert generator(slow) == "writer:small" and "slow_no" not in slow.buttons()


def test_a_smaller_model_that_is_not_wanted_is_not_brought_up_again(slow, opened):
    slow.click("slow_no")
    assert "slow_take" not in slow.buttons()
    assert slow.library.preferences.read().speed_settled
    slow.ask("Who pays for the ferry?")
    assert "slow_take" not in slow.buttons()


def test_nothing_is_said_of_slowness_before_an_answer_was_waited_for(page, monkeypatch):
    monkeypatch.setattr(page.library.models, "quicker", lambda now: "writer:small")
    page.drop(("ferry.txt", FERRY))
    assert "slow_take" not in page.buttons()
    page.ask("What does the ferry to the island cost?")  # quoted
    assert "slow_take" not in page.buttons()
