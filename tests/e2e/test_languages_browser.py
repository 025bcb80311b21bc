"""The languages of the documents in a real browser: another model changes what is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_app.retrieval.embedding_choice import MANY
from rag_app.ui import texts_library as words
from tests import sentence_models
from tests.e2e.conftest import serving
from tests.hub import Hub, hub

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

FILES = {
    "ferry.txt": b"The ferry to the island costs four euros.\n",
    "dogs.txt": b"Dogs travel free.\n",
    "museum.txt": b"The museum is closed on Mondays.\n",
}
QUESTION = "Hunde reisen kostenlos?"  # not a word of it stands in the documents
MEANS = {"Hunde": "Dogs", "reisen": "travel", "kostenlos?": "free"}


@pytest.fixture(scope="module")
def bilingual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model to which a few German words mean what English ones mean."""
    return sentence_models.write(tmp_path_factory.mktemp("model") / "bilingual", means=MEANS)


@pytest.fixture(scope="module")
def models(bilingual: Path) -> Iterator[Hub]:
    """A hub over loopback that has it as the model for many languages."""
    found = (path for path in bilingual.rglob("*") if path.is_file())
    files = {str(path.relative_to(bilingual)): path.read_bytes() for path in found}
    with hub({MANY.name: files}) as running:
        yield running


@pytest.fixture(scope="module")
def served(models: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app of this module's own, which knows no other hub."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("HF_ENDPOINT", models.url)
        with serving(tmp_path_factory.mktemp("languages")) as address:
            yield address


def ask(page) -> str:
    """The first of the closest passages, by the name of its document; empty if there is none."""
    before = page.locator(".sorry, .card").count()
    page.get_by_test_id("stChatInputTextArea").fill(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_function("n => document.querySelectorAll('.sorry, .card').length > n", arg=before)
    last = page.get_by_test_id("stChatMessage").last
    last.locator(".sorry, .card header b").first.wait_for()
    names = last.locator(".card header b").all_inner_texts()
    return names[0] if names else ""


def option(page, label: str):
    return page.get_by_role("dialog").locator("label").filter(has_text=label).first


def test_another_model_finds_what_a_question_in_another_language_means(browser, bilingual):
    page = browser.open()
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        [{"name": n, "mimeType": "text/plain", "buffer": data} for n, data in FILES.items()]
    )
    page.get_by_text("3 documents are ready to be asked.").wait_for()
    assert ask(page) != "dogs.txt"
    page.get_by_role("button", name="Settings").click()
    option(page, words.OPTIONS[words.OWN]).click()
    page.get_by_label(words.LANGUAGE_MODEL_FOLDER).fill(str(bilingual))
    page.get_by_label(words.LANGUAGE_MODEL_FOLDER).press("Enter")
    page.get_by_role("button", name=words.USE).click()
    page.get_by_text("with the model in").wait_for()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    page.get_by_role("dialog").wait_for(state="detached")
    assert ask(page) == "dogs.txt"
    page.reload()
    page.get_by_role("button", name="Settings").click()
    page.get_by_text("with the model in").wait_for()
    option(page, words.OPTIONS[words.ENGLISH]).click()
    page.get_by_role("button", name=words.USE).click()
    page.get_by_text("By meaning, documents in English").wait_for()


def test_the_model_for_many_languages_is_fetched_stopped_gone_on_with_and_finds(browser, models):
    page = browser.open()
    page.get_by_role("button", name="Settings").click()
    option(page, words.OPTIONS[words.SEVERAL]).click()
    dialog = page.get_by_role("dialog")
    models.down = True
    page.get_by_role("button", name="Download it (about 490 MB)").click()
    dialog.get_by_text("could not be reached").wait_for()
    models.down, models.stops_after = False, 8_000
    page.get_by_role("button", name="Download it (about 490 MB)").click()
    dialog.get_by_text("Downloading: ").wait_for()
    page.get_by_role("button", name=words.STOP_FETCHING).press("Enter")
    page.get_by_role("button", name="Go on with the download").wait_for()
    page.wait_for_function(
        "document.querySelector('[role=dialog]').contains(document.activeElement)"
    )
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    models.stops_after = 0
    models.go_on.set()
    page.get_by_role("button", name="Settings").click()
    option(page, words.OPTIONS[words.SEVERAL]).click()
    page.get_by_role("button", name="Go on with the download").click()
    dialog.get_by_text("in about 100 languages.").wait_for()
    dialog.get_by_role("button", name="Close").click()
    dialog.wait_for(state="detached")
    assert ask(page) == "dogs.txt"
