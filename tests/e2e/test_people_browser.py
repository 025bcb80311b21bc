"""Two people signed in, in two real browsers on one library: what each sees of the other."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from rag_app.ui import texts, texts_access
from tests.e2e.conftest import Browser, eventually, listed
from tests.e2e.test_browser import ask, drop
from tests.e2e.test_documents_browser import search
from tests.e2e.test_sign_in_browser import PRETTY, serving_people, sign_in, visit

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

VAULT = b"The vault of the Heliotrope club opens with a brass key from Ostend.\n"
OPENS = "What opens the vault of the Heliotrope club?"
CRANE = b"The crane of Selby lifts forty tons of granite.\n"
LIFTS = "What does the crane of Selby lift?"
HERS = ("vault.txt", "Heliotrope", "Ostend", "brass")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app with an API whose people a provider signs in."""
    with serving_people(tmp_path_factory.mktemp("people"), RAG_APP_API="yes") as address:
        yield address


def enter(browser: Browser, who: str):
    page = visit(browser)
    sign_in(page, who)
    listed(page)
    return page


def documents(page) -> list[str]:
    """The names in the panel."""
    return sorted(page.locator('[class*="st-key-name-"]').all_inner_texts())


def says_nothing(page, *words: str) -> None:
    """Nothing that the page holds, shown or not, says one of these words."""
    page.locator('[data-test-script-state="notRunning"]').wait_for(state="attached")
    content = page.content()
    assert [word for word in words if word in content] == []


def key_of(page) -> str:
    """A key that a person makes for a program."""
    page.get_by_role("button", name=texts_access.KEYS, exact=True).click()
    page.get_by_label(texts_access.KEY_NAME).fill("script")
    page.get_by_role("button", name=texts_access.MAKE_KEY).click()
    key = page.get_by_role("dialog").locator("code").inner_text().strip()
    page.get_by_role("button", name=texts_access.KEY_COPIED).click()
    # Else both come in one go, which no hand is quick enough for: Streamlit complains of it.
    page.get_by_label(texts_access.KEY_NAME).wait_for()
    leave_dialog(page)
    return key


def leave_dialog(page) -> None:
    # What had the focus may be gone a moment ago; the dialog takes it in the next frame.
    # By a locator: a function that has to be polled is eval, which the page's policy forbids.
    page.locator("[role='dialog']:focus-within").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")


def choose(page, label: str, option: str) -> None:
    """Pick one of the options of a field."""
    page.get_by_label(label, exact=True).last.click()
    page.get_by_role("option", name=option).click()


def share_with_bob(page) -> None:
    """Make a collection and let Bob read it."""
    page.get_by_role("button", name=texts_access.SHARE, exact=True).click()
    page.get_by_label(texts_access.NEW_COLLECTION).fill("Team")
    page.get_by_role("button", name=texts_access.MAKE_COLLECTION).click()
    page.get_by_role("heading", name=texts_access.WHO_MAY).wait_for()
    choose(page, texts_access.GIVE_TO, "Bob")
    page.get_by_role("button", name=texts_access.GIVE, exact=True).click()
    page.get_by_label("Bob").first.wait_for()
    leave_dialog(page)


def take_back(page) -> None:
    page.get_by_role("button", name=texts_access.SHARE, exact=True).click()
    page.get_by_label("Bob").first.wait_for()
    page.get_by_role("button", name=texts_access.TAKE_BACK).last.click()
    page.get_by_label("Bob").wait_for(state="detached")
    leave_dialog(page)


@pytest.fixture
def two(browser):
    """Ada's page and Bob's."""
    ada, bob = enter(browser, "ada"), enter(browser, "bob")
    yield ada, bob
    browser.forgive(*PRETTY)


def test_two_people_see_of_each_other_what_is_shared_and_while_it_is(two):
    ada, bob = two
    drop(ada, "vault.txt", VAULT)
    ask(ada, OPENS)
    assert "brass" in ada.get_by_test_id("stChatMessage").last.inner_text()
    hers = ada.url

    # What is hers alone
    bob.get_by_text(texts.NO_DOCUMENTS).wait_for()
    says_nothing(bob, *HERS)
    drop(bob, "crane.txt", CRANE)
    assert documents(bob) == ["crane.txt"] and documents(ada) == ["vault.txt"]
    says_nothing(bob, *HERS)  # suggestions, too
    ask(bob, OPENS)
    answered = bob.get_by_test_id("stChatMessage").last.inner_text()
    assert "Ostend" not in answered and "vault.txt" not in answered
    search(bob, "Ostend")
    bob.get_by_text("This stands nowhere").wait_for()
    bob.get_by_role("button", name="Back").click()
    bob.get_by_test_id("stPopoverButton").filter(has_text="Conversations").click()
    bob.get_by_placeholder("Search conversations").wait_for()
    assert bob.get_by_text(OPENS).count() >= 1  # his own, of the same words
    bob.keyboard.press("Escape")
    bob.goto(hers)
    listed(bob)
    says_nothing(bob, "Ostend", "brass", "vault.txt")

    # What others have is not told by adding it
    drop(bob, "mine.txt", VAULT)
    assert documents(bob) == ["crane.txt", "mine.txt"]
    says_nothing(bob, "already", "vault.txt")
    assert documents(ada) == ["vault.txt"]
    by_program(ada, bob)

    # What is shared
    share_with_bob(ada)
    choose(ada, texts_access.ADD_TO, "Team")
    drop(ada, "granite.txt", b"Granite of Peterhead is pink and hard.\n")
    eventually(bob, lambda: "granite.txt" in documents(bob))  # without a click
    ask(bob, "What colour is granite of Peterhead?")
    assert "pink" in bob.get_by_test_id("stChatMessage").last.inner_text()
    bob.get_by_role("button", name="granite.txt", exact=True).first.click()
    bob.get_by_text("Peterhead is pink").last.wait_for()
    menu = bob.locator('[class*="st-key-doc-"]').filter(has_text="granite.txt")
    menu.get_by_test_id("stMenuButton").get_by_role("button").first.click()
    bob.get_by_role("menuitem").first.wait_for()
    assert texts.REMOVE not in bob.get_by_role("menuitem").all_inner_texts()
    bob.keyboard.press("Escape")

    # What is taken back
    take_back(ada)
    bob.locator(".st-key-settings button").click()  # anything
    bob.get_by_role("dialog").wait_for()
    leave_dialog(bob)
    eventually(bob, lambda: documents(bob) == ["crane.txt", "mine.txt"])
    says_nothing(bob, "is pink")
    search(bob, "Peterhead")
    bob.get_by_text("This stands nowhere").wait_for()
    assert documents(ada) == ["granite.txt", "vault.txt"]


def by_program(ada, bob) -> None:
    """Another's document, by its guessed id."""
    her_key, his_key = key_of(ada), key_of(bob)
    at = ada.url.partition("?")[0].rstrip("/")

    def get(key: str, path: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.get(f"{at}/api/v1{path}", headers=headers, timeout=60, trust_env=False)

    [hers] = [d["document_id"] for d in get(her_key, "/documents").json()["documents"]]
    assert "Ostend" in get(her_key, f"/documents/{hers}/pages/1").json()["text"]
    for rest in ("", "/original", "/pages/1", "/progress"):
        guessed, none = (get(his_key, f"/documents/{one}{rest}") for one in (hers, "0" * 64))
        assert guessed.status_code == none.status_code == 404
        assert guessed.text == none.text
    assert get(his_key, "/documents").json()["total"] == 2
