"""Two people in two browsers do what chance says; what each page holds is what they may see.

    PEOPLE_STEPS=130 python -m pytest tests/e2e/test_random_people_browser.py     four minutes

The same bytes, by the same names, are in several collections on purpose."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from rag_app.scope import Role
from rag_app.ui import texts, texts_access
from tests.e2e.conftest import eventually, listed
from tests.e2e.test_browser import ask
from tests.e2e.test_documents_browser import menu, search
from tests.e2e.test_people_browser import choose, documents, enter, leave_dialog
from tests.e2e.test_sign_in_browser import PRETTY, serving_people
from tests.who_may_see import content, place, secret

STEPS = int(os.environ.get("PEOPLE_STEPS", "10"))
SEED = int(os.environ.get("PEOPLE_SEED", "7"))
pytestmark = [pytest.mark.browser, pytest.mark.timeout(300 + 30 * STEPS)]

TEXTS, SHARED, QUIET = 6, "Team", '[data-test-script-state="notRunning"]'


def name_of(number: int) -> str:
    return f"paper{number}.txt"


@dataclass
class Pair:
    """Who may see what: Ada, who shares a collection, and Bob, who has a role in it at times."""

    pages: dict[str, object]
    chance: random.Random
    role: Role | None = None
    kept: set[tuple[str, int]] = field(default_factory=set)  # (whose, number of the text)
    steps: list[str] = field(default_factory=list)

    def readable(self, person: str) -> set[str]:
        return {person} | ({SHARED} if person == "ada" or self.role else set())

    def changeable(self, person: str) -> list[str]:
        edits = person == "ada" or (self.role is not None and self.role >= Role.EDITOR)
        return [person, *([SHARED] if edits else [])]

    def seen(self, person: str) -> list[int]:
        """The numbers of the texts, one for each document."""
        return [n for whose, n in self.kept if whose in self.readable(person)]

    def check(self, person: str) -> None:
        """What a page lists is what its person may see, and nothing else is anywhere on it."""
        page, seen = self.pages[person], self.seen(person)
        eventually(page, lambda: documents(page) == sorted(map(name_of, seen)))
        page.locator(QUIET).wait_for(state="attached")
        held = page.content()
        assert [n for n in range(TEXTS) if n not in seen and secret(n) in held] == [], self.steps


def add(pair: Pair, person: str) -> None:
    page, whose = pair.pages[person], pair.chance.choice(pair.changeable(person))
    number = pair.chance.randrange(TEXTS)
    if SHARED in pair.changeable(person):
        page.get_by_label(texts_access.ADD_TO, exact=True).last.click()
        offered = page.get_by_role("option")
        offered.first.wait_for()
        shared = offered.filter(has_text=SHARED)
        (shared if whose == SHARED else offered.filter(has_not_text=SHARED)).first.click()
        page.locator(QUIET).wait_for(state="attached")
    name, data = name_of(number), content(name_of(number), number)
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        {"name": name, "mimeType": "text/plain", "buffer": data}
    )
    pair.kept.add((whose, number))
    eventually(page, lambda: documents(page) == sorted(map(name_of, pair.seen(person))))
    rows = page.locator('[class*="st-key-doc-"]')
    eventually(page, lambda: rows.filter(has_not_text="Ready").count() == 0)


def remove(pair: Pair, person: str) -> None:
    page, seen = pair.pages[person], pair.seen(person)
    once = [
        (whose, n)
        for whose, n in sorted(pair.kept)
        if whose in pair.changeable(person) and seen.count(n) == 1
    ]
    if once:
        eventually(page, lambda: documents(page) == sorted(map(name_of, seen)))  # without a click
        gone = pair.chance.choice(once)
        menu(page, name_of(gone[1]), texts.REMOVE)
        page.locator('[class*="st-key-remove-"] button').click()
        pair.kept.discard(gone)


def change_role(pair: Pair, _: str) -> None:
    page, role = pair.pages["ada"], pair.chance.choice([None, Role.READER, Role.EDITOR])
    page.get_by_role("button", name=texts_access.SHARE, exact=True).click()
    page.get_by_role("heading", name=texts_access.WHO_MAY).wait_for()
    if pair.role:
        page.get_by_label("Bob").first.wait_for()
        page.get_by_role("button", name=texts_access.TAKE_BACK).last.click()
        page.get_by_label("Bob").wait_for(state="detached")
    if role:
        choose(page, texts_access.GIVE_TO, "Bob")
        choose(page, texts_access.ROLE, texts_access.ROLES[role])
        page.get_by_role("button", name=texts_access.GIVE, exact=True).click()
        page.get_by_label("Bob").first.wait_for()
    leave_dialog(page)
    pair.role = role
    offered = pair.pages["bob"].get_by_label(texts_access.ADD_TO, exact=True)
    eventually(page, lambda: offered.count() == int(role is Role.EDITOR))  # on an idle page


def question(pair: Pair, person: str) -> None:
    number = pair.chance.randrange(TEXTS)
    if pair.seen(person):
        ask(pair.pages[person], f"Who is the keeper of the lighthouse at {place(number)}?")


def look_for(pair: Pair, person: str) -> None:
    page, number = pair.pages[person], pair.chance.randrange(TEXTS)
    if not pair.seen(person):
        return
    search(page, place(number))
    if number in pair.seen(person):
        page.locator("main").get_by_text(secret(number)).first.wait_for()
    else:
        page.get_by_text("This stands nowhere").wait_for()
    page.get_by_role("button", name="Back").click()


def begin_anew(pair: Pair, person: str) -> None:
    """A page that is loaded anew, now and then by the address of the other's conversation."""
    page, other = pair.pages[person], pair.pages["bob" if person == "ada" else "ada"]
    page.goto(pair.chance.choice([page.url, other.url]))
    listed(page)


DO: list[Callable[[Pair, str], None]] = [
    add, add, remove, change_role, change_role, question, look_for, begin_anew,
]  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app whose people a provider signs in."""
    with serving_people(tmp_path_factory.mktemp("random")) as address:
        yield address


@pytest.fixture
def pair(browser):
    """Both signed in, and a collection that Ada may share."""
    ada, bob = enter(browser, "ada"), enter(browser, "bob")
    ada.get_by_role("button", name=texts_access.SHARE, exact=True).click()
    ada.get_by_label(texts_access.NEW_COLLECTION).fill(SHARED)
    ada.get_by_role("button", name=texts_access.MAKE_COLLECTION).click()
    ada.get_by_role("heading", name=texts_access.WHO_MAY).wait_for()
    leave_dialog(ada)
    yield Pair({"ada": ada, "bob": bob}, random.Random(SEED))
    browser.forgive(*PRETTY)


def test_no_page_ever_holds_what_its_person_may_not_see(pair: Pair):
    for _ in range(STEPS):
        does, person = pair.chance.choice(DO), pair.chance.choice(["ada", "bob"])
        pair.steps.append(f"{does.__name__} by {person}, who sees {sorted(pair.seen(person))}")
        does(pair, person)
        for one in pair.pages if does is change_role else [person]:
            pair.check(one)
    for person in pair.pages:
        begin_anew(pair, person)
        pair.check(person)
