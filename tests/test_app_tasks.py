# ruff: noqa: F811 - the fixtures are those of test_app
"""The menu of tasks, as a person uses it, with a real server over loopback."""

from __future__ import annotations

import re

import pytest

from rag_app.answering.prompts import NOT_IN_DOCUMENTS
from rag_app.export import messages
from rag_app.text.highlighting import escape_markdown
from rag_app.types import Note, NoteKind
from rag_app.ui import texts, texts_answers
from tests.servers import scripted_server
from tests.test_app import FERRY, MUSEUM, Page, opened, page  # noqa: F401 - fixtures
from tests.test_app_who import pick, write


def menu(page: Page) -> list:
    return [m for m in page.at.get("menu_button") if m.key == "task_menu"]


def choose(page: Page, task: str) -> None:
    menu(page)[0].click(task)
    page.run()
    page.until(page.at_rest)


@pytest.fixture
def two(page):
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    return page


def test_there_is_no_menu_while_there_is_nothing_to_work_on(page):
    assert not menu(page)


def test_two_documents_are_compared_with_one_click(two):
    choose(two, "compare")
    said = two.said()
    assert "four euros" in said and "Mondays" in said


def test_what_is_ticked_is_what_is_summarised(two):
    two.at.session_state["session"].unticked = {two.library.document("museum.txt").id}
    two.run()
    choose(two, "summarise")
    assert "four euros" in two.said() and "Mondays" not in two.said()


@pytest.mark.parametrize("task", ["draft", "translate", "language"])
def test_what_needs_a_model_says_so_where_there_is_none(two, task):
    choose(two, task)
    assert texts.TASKS_NEED_MODEL in two.html()


def test_a_model_translates_what_was_written_into_the_field(two):
    with scripted_server() as (url, script):
        script.words = ["Die Fähre kostet vier Euro."]
        pick(two, "server")
        write(two, url=url, model="tiny")
        choose(two, "translate")
        two.at.text_area(key="task_text").set_value("The ferry costs four euros.")
        two.at.selectbox(key="task_into").set_value("German")
        two.click("task_go")
        two.until(lambda: "vier Euro" in two.said())
        assert "Translate into German: The ferry costs four euros." in script.prompt
        assert re.search(r"\n\[([a-z]{5})\] Wish: Translate", script.prompt)


def test_the_quote_of_an_opened_source_goes_into_the_field_for_translations(two):
    two.ask("What does the ferry cost?")
    two.follow(two.link())
    with scripted_server() as (url, _):
        pick(two, "server")
        write(two, url=url, model="tiny")
        two.click("source_translate")
        field = two.at.text_area(key="task_text")
        assert field.value == "The ferry to the island costs four euros."


def test_a_quote_is_translated_while_no_document_is_ticked(two):
    two.ask("What does the ferry cost?")
    two.follow(two.link())
    two.at.session_state["session"].untick(one.id for one in two.library.documents())
    with scripted_server() as (url, script):
        script.words = ["Die Fähre kostet vier Euro."]
        pick(two, "server")
        write(two, url=url, model="tiny")
        two.click("source_translate")
        assert not menu(two)
        two.click("task_go")
        two.until(lambda: "vier Euro" in two.said())
    assert "task_go" not in two.buttons()


def test_a_language_is_chosen_once_for_all_answers(two):
    with scripted_server() as (url, script):
        script.words = ["Le bac coûte quatre euros."]
        pick(two, "server")
        write(two, url=url, model="tiny")
        choose(two, "language")
        two.at.selectbox(key="task_language").set_value("French")
        two.click("task_go")
        assert texts.answers_in("French") in two.html()
        two.ask("What does the ferry cost?")
        assert "Answer in French," in script.prompt


@pytest.mark.parametrize(
    ("what", "asked"),
    [
        ("A letter to Ann", "Write a letter to Ann"),
        ("draft a letter", "draft a letter"),
        ("NIKE in one page", "Write NIKE in one page"),
        ("Write to Ann", "Write to Ann"),
    ],
)
def test_a_draft_is_asked_for_in_plain_words(what, asked):
    assert texts.draft(what) == asked


def test_documents_are_listed_as_people_do():
    assert texts.compare(["a", "b", "c"]) == "Compare “a”, “b” and “c”"
    assert texts.summarise("a") == "Summarise “a”"


def test_who_would_compare_many_documents_is_told_how_many_can_be(page):
    page.drop(("ferry.txt", FERRY), *((f"{n}.txt", f"Rain {n}.".encode()) for n in range(5)))
    assert "Compare some of them…" in menu(page)[0].options
    choose(page, "compare")
    assert [error.value for error in page.at.error] == [escape_markdown(texts.COMPARES_FEW)]


def test_where_it_is_not_clear_which_documents_are_meant_a_click_says_it(page):
    notes = [(f"note {n}.txt", f"Note {n} is about rain in May.".encode()) for n in range(6)]
    page.drop(("ferry.txt", FERRY), *notes)
    said = page.ask("Summarise it")
    assert "Which documents do you mean?" in said
    buttons = {b.label: b for b in offered(page)}
    assert len(buttons) == 7
    buttons["ferry.txt"].click()
    page.run()
    page.until(page.at_rest)
    assert "four euros" in page.said()


def offered(page: Page) -> list:
    return [b for b in page.at.button if (b.key or "").startswith("which-")]


FUEL = b"Date;Person;Cost\n01.05.2024;Ann Lee;61\n02.05.2024;Ben Okoro;58\n"
MEALS = b"Date;Person;Cost\n01.05.2024;Ann Lee;14\n03.05.2024;Cid Shaw;11\n"


@pytest.fixture
def sheets(page):
    page.drop(("fuel.csv", FUEL), ("meals.csv", MEALS))
    with scripted_server() as (url, script):
        pick(page, "server")
        write(page, url=url, model="tiny")
        page.script = script
        yield page


def test_what_was_computed_from_one_sheet_is_asked_of_another_that_fits_with_a_click(sheets):
    sheets.script.words = [
        "SQL: SELECT sum(cost) FROM t1 WHERE lower(person) = 'ann lee'\nSay: It cost {0}."
    ]
    said = sheets.ask("How much did Ann Lee cost in total?")
    (other,) = offered(sheets)
    assert texts_answers.other_sheets(False) in sheets.html()
    assert "You may have meant another sheet" not in sheets.html()
    of = {"fuel.csv": "61", "meals.csv": "14"}
    wanted = of.pop(other.label)
    assert f"It cost **{of.popitem()[1]}**" in said
    other.click()
    sheets.run()
    sheets.until(sheets.at_rest)
    assert f"It cost **{wanted}**" in sheets.said()
    assert len(offered(sheets)) == 1  # of one sheet that was chosen no other is meant


def test_where_no_sheet_answers_each_that_may_be_meant_can_be_asked_alone(sheets):
    sheets.script.words = [NOT_IN_DOCUMENTS]
    sheets.ask("What did we spend on parking in total?")
    assert texts_answers.other_sheets(True) in sheets.html()
    assert {button.label for button in offered(sheets)} == {"fuel.csv", "meals.csv"}


def test_that_nothing_supports_what_was_written_is_seen_before_anything_else_of_it(two):
    with scripted_server() as (url, script):
        script.words = ["The mayor of Skerry keeps nine green parrots in the town hall."]
        pick(two, "server")
        write(two, url=url, model="tiny")
        two.ask("Write a letter to Ann about the parrots")
        sentence = messages.sentence(Note(NoteKind.UNSUPPORTED))
        assert f"<p class='heed'>{sentence}</p>" in two.html()
        assert two.html().count(sentence) == 1
