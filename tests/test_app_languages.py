# ruff: noqa: F811 - the fixtures are those of test_app and test_meaning
"""The languages of the documents, as a person chooses them on the page."""

from __future__ import annotations

import pytest

from rag_app.evaluation.self_check import Check
from rag_app.retrieval.embedding_choice import ENGLISH, MANY
from rag_app.retrieval.sentence_models import FolderEmbedder
from rag_app.ui import settings_panel, texts_library, who
from rag_app.ui import texts_library as words
from rag_app.ui.state import Session
from tests.hub import hub
from tests.test_app import FERRY, Page, opened, page  # noqa: F401 - fixtures
from tests.test_meaning import files  # noqa: F401 - a fixture
from tests.test_reindexing import gate, toys, until  # noqa: F401 - fixtures

FAEHRE = (
    "Die Fähre zur Insel kostet vier Euro, und Hunde fahren umsonst mit. Kinder unter sechs "
    "Jahren zahlen nichts, wenn sie von ihren Eltern begleitet werden."
).encode()


@pytest.fixture(autouse=True)
def at_home(monkeypatch):
    monkeypatch.setattr(who, "_ends", lambda: ("127.0.0.1", "localhost"))


def pick(page: Page, which: str) -> None:
    page.at.radio(key="settings_languages").set_value(which)
    page.run()


def bars(page: Page) -> list[str]:
    return [bar.proto.text for bar in page.at.get("progress")]


def settled(page: Page) -> None:
    until(lambda: not settings_panel.languages_working(page.library))
    page.run()


def test_english_comes_with_the_app_and_the_other_says_its_size_before(page):
    page.click("settings")
    radio = page.at.radio(key="settings_languages")
    assert radio.value == words.ENGLISH and not radio.disabled
    assert "languages_use" not in page.buttons()
    assert words.in_use(ENGLISH) in page.html()
    pick(page, words.SEVERAL)
    [button] = [b for b in page.at.button if b.key == "languages_use"]
    assert "490 MB" in button.label and words.BACKGROUND in page.html()
    assert page.library.meaning.fetching is None, "nothing is fetched before it is asked for"


def test_the_model_for_many_languages_is_fetched_with_one_button_and_takes_over(
    page, files, monkeypatch
):
    page.drop(("ferry.txt", FERRY))
    page.click("settings")
    pick(page, words.SEVERAL)
    with hub({MANY.name: files}) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        served.pause.clear()
        page.click("languages_use")
        page.until(lambda: any("Downloading: " in text for text in bars(page)))
        assert page.at.radio(key="settings_languages").disabled
        served.pause.set()
        until(lambda: not page.library.meaning.fetching.running, 60)
    settled(page)
    assert not bars(page) and page.library.meaning.answering == MANY.name
    assert words.in_use(MANY.name) in page.html()
    assert page.at.radio(key="settings_languages").value == words.SEVERAL
    pick(page, words.ENGLISH)
    page.click("languages_use")
    settled(page)
    assert page.library.meaning.answering == ENGLISH
    pick(page, words.SEVERAL)
    [button] = [b for b in page.at.button if b.key == "languages_use"]
    assert button.label == words.USE, "it is here already"


def test_a_download_can_be_stopped_and_offers_to_go_on(page, files, monkeypatch):
    page.click("settings")
    pick(page, words.SEVERAL)
    with hub({MANY.name: files}) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        served.stops_after = len(files["model.safetensors"]) // 2
        page.click("languages_use")
        until(served.stopped.is_set, 60)
        page.run()
        page.click("languages_stop")
        settled(page)
        [button] = [b for b in page.at.button if b.key == "languages_use"]
        assert button.label.startswith("Go on with the download (")
        assert "role='alert'" not in page.html(), "to stop it is no failure"
        served.stops_after = 0
        served.go_on.set()
        page.click("languages_use")
        until(lambda: page.library.meaning.here, 60)
    settled(page)
    assert page.library.meaning.answering == MANY.name


def test_without_a_network_that_is_said_and_it_can_be_tried_again(page, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    page.click("settings")
    pick(page, words.SEVERAL)
    page.click("languages_use")
    until(lambda: not page.library.meaning.fetching.running, 60)
    page.run()
    assert "could not be reached. Check the connection" in page.html()
    assert "languages_use" in page.buttons()
    pick(page, words.ENGLISH)
    assert "could not be reached" not in page.html()


def test_what_was_fetched_and_is_no_model_to_find_with_says_so(page, monkeypatch):
    files = {"config.json": b"{}", "model.safetensors": b"x" * 100}
    page.click("settings")
    pick(page, words.SEVERAL)
    with hub({MANY.name: files}) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        page.click("languages_use")
        until(lambda: not page.library.meaning.fetching.running, 60)
    page.run()
    assert "no model of sentence-transformers" in page.html()
    assert page.library.meaning.choice == ENGLISH


def test_a_folder_is_chosen_by_who_knows_and_what_is_none_says_so(page, toys, tmp_path):
    page.drop(("ferry.txt", FERRY))
    page.click("settings")
    pick(page, words.OWN)
    assert "languages_use" not in page.buttons()
    page.at.text_input(key="settings_model_folder").set_value(str(tmp_path))
    page.run()
    page.click("languages_use")
    assert "no model of sentence-transformers" in page.html()
    assert page.library.meaning.choice == ENGLISH
    page.at.text_input(key="settings_model_folder").set_value(str(toys["first"]))
    page.run()
    page.click("languages_use")
    settled(page)
    assert "no model of" not in page.html() and str(toys["first"]) in page.html()
    fingerprint = FolderEmbedder(toys["first"]).fingerprint
    assert page.library._opened.embedder.fingerprint == fingerprint


def test_who_sits_elsewhere_cannot_choose_for_everybody(page, toys, monkeypatch):
    page.click("settings")
    pick(page, words.OWN)
    page.at.text_input(key="settings_model_folder").set_value(str(toys["first"]))
    page.run()
    monkeypatch.setattr(who, "_ends", lambda: ("0.0.0.0", "10.0.0.7"))
    page.click("languages_use")  # a button that was there before
    assert page.library.meaning.choice == ENGLISH
    assert words.ONLY_HERE in page.html() and "languages_use" not in page.buttons()
    assert page.at.radio(key="settings_languages").disabled


def test_nor_do_anything_else_to_it(page, monkeypatch):
    monkeypatch.setattr(who, "_ends", lambda: ("0.0.0.0", "10.0.0.7"))
    page.drop(("faehre.txt", FAEHRE))
    assert "languages_open" not in page.buttons() and "languages_no" not in page.buttons()
    session = Session()
    monkeypatch.setattr(settings_panel, "current", lambda: session)
    settings_panel._change(page.library, lambda meaning: pytest.fail("it was reached"))
    assert session.refused_model == words.ONLY_HERE


def test_while_a_model_takes_over_the_page_says_how_far_it_is_and_the_way_back(page, toys, gate):
    page.drop(("ferry.txt", FERRY))
    gate.clear()
    page.library.meaning.choose(str(toys["first"]))
    page.run()
    [said] = bars(page)
    assert said.startswith("Another model learns what your documents mean")
    assert "four euros" in page.ask("What does the ferry to the island cost?")
    page.click("settings")
    assert len(bars(page)) == 2, "in the panel and in the settings"
    page.click("languages_stay")
    gate.set()
    settled(page)
    assert not bars(page) and page.library.meaning.choice == ENGLISH
    assert page.at.radio(key="settings_languages").value == words.ENGLISH
    assert words.in_use(ENGLISH) in page.html()


def test_the_way_back_may_lead_to_a_model_that_is_not_the_first(page, toys, gate):
    page.drop(("ferry.txt", FERRY))
    page.library.meaning.choose(str(toys["first"]))
    settled(page)
    gate.clear()
    page.click("settings")
    pick(page, words.ENGLISH)
    page.library.meaning.choose(str(toys["second"]))
    page.run()
    page.click("languages_stay")
    gate.set()
    settled(page)
    assert page.library.meaning.answering == str(toys["first"])
    assert page.at.radio(key="settings_languages").value == words.OWN
    assert not page.at.warning, "Streamlit has nothing to complain about"


def test_what_the_environment_chooses_is_shown_and_cannot_be_changed(toys, opened, monkeypatch):
    monkeypatch.setenv("RAG_APP_EMBEDDING", str(toys["first"]))
    page = Page(opened)
    page.click("settings")
    radio = page.at.radio(key="settings_languages")
    assert radio.disabled and radio.value == words.OWN
    assert words.FIXED in page.html() and "languages_use" not in page.buttons()


@pytest.fixture
def english(opened, monkeypatch):
    """As with the built-in model."""
    from tests.fakes import WordEmbedder

    monkeypatch.setattr(WordEmbedder, "english", True)


def test_documents_that_are_not_english_get_one_hint_that_can_be_sent_away(english, page, opened):
    page.drop(("ferry.txt", FERRY))
    assert "languages_open" not in page.buttons()
    page.drop(("faehre.txt", FAEHRE), ("insel.txt", FAEHRE + b" Montags nicht."))
    assert "Most of your documents are in German." in page.html()
    page.click("languages_open")
    assert page.at.radio(key="settings_languages").value == words.ENGLISH
    page.click("languages_no")
    assert "languages_open" not in page.buttons()
    assert "languages_open" not in Page(opened).buttons(), "nor in another window"


def test_the_hint_is_gone_once_a_model_was_chosen(english, page, toys):
    page.drop(("faehre.txt", FAEHRE))
    assert "languages_open" in page.buttons()
    page.library.meaning.choose(str(toys["first"]))
    settled(page)
    assert "languages_open" not in page.buttons()
    page.library.meaning.choose(ENGLISH)
    settled(page)
    assert "languages_open" not in page.buttons()


def test_the_check_of_the_library_says_where_that_is_chosen():
    said = texts_library.advice(Check(), 0, ["German"])
    assert words.LANGUAGES in " ".join(said)
