"""The screens of access in a real browser: everybody can read and use them, in the light, in the
dark and on a phone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_app.ui import texts, texts_access
from tests.e2e.conftest import Browser, listed
from tests.e2e.test_documents_browser import findings
from tests.e2e.test_sign_in_browser import PRETTY, SIGN_IN, serving_people, sign_in, visit

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
PICTURES = os.environ.get("RAG_APP_PICTURES")  # a folder: what was seen is kept there


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app whose people a provider signs in; the first of them is its administrator."""
    with serving_people(tmp_path_factory.mktemp("access")) as address:
        yield address


def barriers(page, name: str) -> list[object]:
    """What is serious wherever and however the page is looked at, and what is wider than it is."""
    met: list[object] = []
    for size, at in ((DESK, "desk"), (PHONE, "phone")):
        page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            met += [(name, at, scheme, found) for found in findings(page)]
            if PICTURES:
                page.screenshot(path=str(Path(PICTURES) / f"{name}-{at}-{scheme}.png"))
        if page.evaluate("document.documentElement.scrollWidth") > size["width"]:
            met.append((name, at, "too wide"))
    page.set_viewport_size(DESK)
    page.emulate_media(color_scheme="light")
    return met


def entered(browser: Browser, who: str = "ada"):
    page = visit(browser)
    sign_in(page, who)
    listed(page)
    return page


def test_whoever_signs_in_meets_no_barriers(browser):
    page = visit(browser)
    page.locator(SIGN_IN).wait_for()
    assert barriers(page, "sign-in") == []
    sign_in(page)
    listed(page)
    assert barriers(page, "signed-in") == []
    browser.forgive(*PRETTY)


def test_keys_and_sharing_have_no_barriers(browser):
    page = entered(browser)
    page.get_by_role("button", name=texts_access.KEYS, exact=True).click()
    page.get_by_label(texts_access.KEY_NAME).fill("script")
    page.get_by_role("button", name=texts_access.MAKE_KEY).click()
    page.get_by_role("dialog").locator("code").wait_for()
    assert barriers(page, "key-made") == []
    page.get_by_role("button", name=texts_access.KEY_COPIED).click()
    page.get_by_role("button", name=texts_access.REVOKE_KEY).first.wait_for()
    assert barriers(page, "keys") == []
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("button", name=texts_access.SHARE, exact=True).click()
    page.get_by_label(texts_access.NEW_COLLECTION).fill("Team")
    page.get_by_role("button", name=texts_access.MAKE_COLLECTION).click()
    page.get_by_role("heading", name=texts_access.WHO_MAY).wait_for()
    assert barriers(page, "sharing") == []
    browser.forgive(*PRETTY)


def test_no_part_of_the_administration_has_barriers(browser):
    page = entered(browser)
    page.get_by_role("button", name=texts_access.ADMINISTRATION).click()
    page.get_by_role("heading", name=texts_access.ADMINISTRATION).wait_for()
    met: list[object] = []
    for name, title in texts_access.TABS.items():
        page.locator(".st-key-administration_tab").get_by_text(title, exact=True).click()
        page.locator('[data-test-script-state="notRunning"]').wait_for(state="attached")
        met += barriers(page, name)
    assert met == []
    browser.forgive(*PRETTY)


def test_who_is_signed_out_everywhere_sees_nothing_and_may_sign_in_again(browser):
    ada, bob = entered(browser), entered(browser, "bob")
    ada.get_by_role("button", name=texts_access.ADMINISTRATION).click()
    ada.get_by_role("heading", name=texts_access.ADMINISTRATION).wait_for()
    ada.get_by_label(texts_access.CHOOSE_PERSON, exact=True).last.click()
    ada.get_by_role("option", name="Bob").click()
    button = ada.get_by_role("button", name=texts_access.SIGN_OUT_PERSON)
    button.wait_for()
    assert barriers(ada, "person") == []
    button.click()
    bob.get_by_text(texts.SIGN_IN_INACTIVE).wait_for()  # with nothing done in it
    bob.reload()
    bob.get_by_text(texts.SIGN_IN_INACTIVE).wait_for()
    sign_in(bob, "bob")
    listed(bob)
    browser.forgive(*PRETTY, "code=1008")  # how the server ends the line of who was signed out
