# ruff: noqa: F811 - the fixtures are those of test_app
"""What can be done with an answer, as a person meets it."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import pytest

from rag_app.errors import DiskFull, QuestionError
from rag_app.text.highlighting import escape_markdown
from rag_app.types import Computation, Finished
from rag_app.ui import answers, app_entry, chat, live_answer, texts, texts_answers
from rag_app.ui.live_answer import Generation
from rag_app.ui.state import Session
from tests.test_app import FERRY, MUSEUM, Page, opened, page  # noqa: F401 - fixtures
from tests.test_app_conversations import reloaded

FERRY_COSTS = "What does the ferry to the island cost?"
SHEET = b"boat,built,harbour\nSkerry,1987,North Quay\nGull,1990,Old Dock\n"
MAIL = (
    b"From: ada@example.org\r\nTo: charles@example.org\r\nSubject: Rent of the boathouse\r\n\r\n"
    b"The rent of the boathouse rises to 480 euros a month.\r\n"
)


def session(page: Page) -> Session:
    return page.at.session_state["session"]


def press(page: Page, act: str, exchange: int = -1) -> None:
    """Press a button under an answer, as the listener would report it."""
    said = f"{act}:{session(page).exchanges[exchange].id}"
    listener = chat.THUMBS if act in ("up", "down") else chat.ACTIONS
    page.at.session_state[listener] = {"act": said}
    page.run()
    del page.at.session_state[listener]  # a press happens once
    page.until(page.at_rest)


def kept(page: Page):
    return page.library.conversations.exchanges(session(page).conversation or "")


def asked(page: Page, *questions: str) -> Page:
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    for question in questions or (FERRY_COSTS,):
        page.ask(question)
    return page


def test_every_button_has_a_label_and_the_copy_its_footnotes(page):
    said = asked(page).said()
    for label in (texts_answers.GOOD, texts_answers.BAD, texts_answers.COPY, texts_answers.EDIT,
                  texts_answers.ANSWER_AGAIN, texts_answers.WHY):  # fmt: skip
        assert f"aria-label='{label}'" in said
    assert (
        "<span class='to-copy' hidden>four euros\n\n"
        "The ferry to the island costs four euros. [1]\n\n"
        "[1] ferry.txt: “The ferry to the island costs four euros.”</span>" in said
    )


def test_a_thumb_is_kept_shown_and_taken_back(page):
    asked(page)
    press(page, "up")
    assert kept(page)[0].rating == 1 and "aria-pressed='true'" in page.said()
    assert "aria-pressed='true'" in reloaded(page).said()
    press(page, "up")
    assert kept(page)[0].rating == 0 and "aria-pressed='true'" not in page.said()


def test_a_bad_answer_may_have_a_reason(page):
    asked(page)
    press(page, "down")
    assert kept(page)[0].rating == -1
    page.at.session_state["reason_kind"] = "not in the source"
    page.at.text_input(key="reason_text").set_value("it is older")
    next(b for b in page.at.button if b.label == texts_answers.SEND).click()
    page.run()
    assert kept(page)[0].reason == "not in the source: it is older"
    assert "reason_text" not in {t.key for t in page.at.text_input}


def test_a_reason_can_be_skipped(page):
    asked(page)
    press(page, "down")
    next(b for b in page.at.button if b.label == texts_answers.SKIP).click()
    page.run()
    assert (kept(page)[0].rating, kept(page)[0].reason) == (-1, "")


def test_answering_again_forgets_the_rating(page):
    asked(page)
    press(page, "up")
    press(page, "again")
    assert "four euros" in page.said() and kept(page)[0].rating == 0
    assert "aria-pressed='true'" not in page.said()


def test_an_answer_outlives_a_failure_to_answer_again(page, monkeypatch):
    asked(page)

    def fails(*_args, **_kept):
        raise QuestionError("Ask less.")

    monkeypatch.setattr(page.library, "ask", fails)
    press(page, "again")
    for each in (page, reloaded(page)):
        said = each.said()
        assert "<p class='sorry'>Ask less.</p>" in said
        assert "The ferry to the island costs four euros" in said
        assert "four euros" in session(each).exchanges[0].answer.text


def test_an_answer_outlives_that_answering_again_was_stopped(page, monkeypatch):
    asked(page)
    monkeypatch.setattr(page.library, "ask", lambda *_args, **_kept: iter(()))
    press(page, "again")
    assert "The ferry to the island costs four euros" in page.said()


def test_why_says_what_was_searched_by_whom_and_where_each_passage_was_found(page):
    asked(page)
    press(page, "why")
    said = page.html()
    assert f"“{FERRY_COSTS}”" in said and texts_answers.ALL_DOCUMENTS in said
    assert "No language model." in said and "of 100 answers with this figure" in said
    assert "found by its words and its meaning" in said and "cited as 1" in said
    assert "aria-expanded='true'" in said
    press(page, "why")
    assert "found by its words" not in page.html()


def test_why_names_the_question_that_was_really_searched(page):
    page.drop(
        ("prices.txt", b"The Harbour Line ferry costs four euros.\n\nIt costs two in 2021.\n")
    )
    page.ask("What does the Harbour Line ferry cost?")
    page.ask("and in 2021?")
    press(page, "why")
    assert "<dt>Searched for</dt><dd>“and in 2021?”" not in page.html()
    assert "Harbour Line" in page.html().split("<dt>Searched for</dt><dd>")[1].split("</dd>")[0]


def test_a_greeting_gets_one_sentence_without_passages(page):
    page.drop(("ferry.txt", FERRY))
    said = page.ask("hello")
    assert "<p class='sorry'>Hello!" in said
    assert "class='near'" not in said and texts.ABSTAINED not in said
    press(page, "why")
    assert "The app itself, without an answer" in page.html()


def test_why_not_says_how_far_it_was_from_an_answer(page):
    page.drop(("ferry.txt", FERRY))
    page.ask("Who discovered the moons of Jupiter?")
    press(page, "why")
    assert "under 20 % the app says that it does not know" in page.html()


def edit(page: Page, exchange: int, question: str, button: str) -> None:
    press(page, "edit", exchange)
    page.at.text_area[0].set_value(question)
    next(b for b in page.at.button if b.label == button).click()
    page.run()
    page.until(page.at_rest)


def test_a_changed_question_takes_the_place_of_the_old_one(page):
    asked(page)
    edit(page, 0, "When is the museum closed?", texts_answers.ASK_AGAIN)
    assert len(page.at.chat_message) == 2 and "Mondays" in page.said()
    [one] = kept(page)
    assert one.question == "When is the museum closed?"
    [listed] = page.library.conversations.listed()
    assert listed.title == "When is the museum closed?"


def test_a_changed_question_keeps_the_names_of_the_files_that_came_with_it(page):
    page.at.chat_input[0].set_value(FERRY_COSTS)
    page.at.chat_input[0].upload("ferry.txt", FERRY, "text/plain")
    page.run()
    page.until(page.at_rest)
    edit(page, 0, "What is the price of the ferry to the island?", texts_answers.ASK_AGAIN)
    assert session(page).exchanges[0].files == ("ferry.txt",)
    assert "<div class='attached'>ferry.txt</div>" in page.html()


def test_later_questions_go_only_after_that_was_said(page):
    asked(page, FERRY_COSTS, "When is the museum closed?", "Do dogs travel free of charge?")
    press(page, "edit", 0)
    assert texts_answers.drops(2) in page.html()
    next(b for b in page.at.button if b.label == texts_answers.CANCEL_EDIT).click()
    page.run()
    assert len(kept(page)) == 3 and not page.at.text_area
    edit(page, 1, "Is entry free for children?", texts_answers.ASK_AGAIN)
    assert [one.question for one in kept(page)] == [FERRY_COSTS, "Is entry free for children?"]
    assert len(page.at.chat_message) == 4


def test_a_changed_question_can_begin_a_new_conversation_with_what_came_before(page):
    asked(page, FERRY_COSTS, "When is the museum closed?", "Do dogs travel free of charge?")
    before = session(page).conversation
    edit(page, 1, "Is entry free for children?", texts_answers.ASK_ELSEWHERE)
    assert session(page).conversation != before
    assert [one.question for one in kept(page)] == [FERRY_COSTS, "Is entry free for children?"]
    assert len(page.library.conversations.exchanges(before or "")) == 3
    assert "four euros" in page.html() + "".join(m.value for m in page.at.markdown)


@pytest.mark.parametrize("button", [texts_answers.ASK_AGAIN, texts_answers.ASK_ELSEWHERE])
def test_a_question_that_is_changed_while_nothing_is_ticked_loses_nothing(page, button):
    asked(page, FERRY_COSTS, "When is the museum closed?")
    before = session(page).conversation
    session(page).untick(one.id for one in page.library.documents())
    page.run()
    edit(page, 0, "Is entry free for children?", button)
    assert [error.value for error in page.at.error] == [escape_markdown(texts.NONE_CHOSEN)]
    assert session(page).conversation == before
    assert [one.question for one in kept(page)] == [FERRY_COSTS, "When is the museum closed?"]
    assert page.at.text_area[0].value == "Is entry free for children?"  # to be asked once one is


def test_a_changed_question_is_asked_of_the_documents_that_it_was_asked_of(page):
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    ferry = page.library.document("ferry.txt").id
    page.at.session_state["session"].unticked = {page.library.document("museum.txt").id}
    page.ask(FERRY_COSTS)
    session(page).untick(())
    page.run()
    edit(page, 0, "Do dogs travel free of charge?", texts_answers.ASK_AGAIN)
    assert session(page).exchanges[0].documents == [ferry]
    session(page).untick({ferry})
    page.run()
    edit(page, 0, "What does the ferry cost?", texts_answers.ASK_AGAIN)
    assert session(page).exchanges[0].documents == [ferry]
    assert "four euros" in page.said()
    page.library.remove(ferry)
    page.run()
    edit(page, 0, "When is the museum closed?", texts_answers.ASK_AGAIN)
    assert "Mondays" in page.said()  # what was meant is gone: those that are ticked


@pytest.mark.parametrize("said", ["", "up", "up:xyz", "down:0000000000000000", "<b>", 7])
def test_a_forged_press_does_nothing(page, said):
    asked(page)
    for listener in (chat.ACTIONS, chat.THUMBS):
        page.at.session_state[listener] = {"act": said}
        page.run()
    assert kept(page)[0].rating == 0


def test_a_question_that_cannot_be_kept_says_so_in_its_place_and_is_asked_again(page, monkeypatch):
    page.drop(("ferry.txt", FERRY))

    def full(question: str) -> str:
        raise DiskFull.now()

    with monkeypatch.context() as while_full:
        while_full.setattr(page.library.conversations, "start", full)
        said = page.ask(FERRY_COSTS)
    assert str(DiskFull.now()) in said and texts.ATTACHED not in said
    assert "four euros" in page.ask(FERRY_COSTS)


def test_a_removed_document_leaves_the_memory_of_every_session(page, opened):
    asked(page)
    link = page.link()
    other = reloaded(page)
    press(other, "why")
    page.follow(link)
    page.library.remove(page.library.document("ferry.txt").id)
    for each in (page, other):
        each.run()
        everything = each.html() + "".join(m.value for m in each.at.markdown) + each.viewer()
        assert "four euros" not in everything
        assert texts_answers.SOURCE_REMOVED in everything
        memory = session(each)
        assert "four euros" not in repr([memory.opened, memory.exchanges[0].generation.now()])
    assert texts.GONE in page.html()


def test_two_windows_on_one_conversation_see_what_the_other_asked(page):
    asked(page)
    other = reloaded(page)
    other.ask("When is the museum closed?")
    page.run()
    assert len(page.at.chat_message) == 4 and "Mondays" in page.said()
    page.ask("Do dogs travel free of charge?")
    assert [one.question for one in kept(other)][-1] == "Do dogs travel free of charge?"
    press(other, "up", 0)
    page.run()
    assert session(page).exchanges[0].rating == 1


def test_an_answer_that_ends_while_the_store_is_read_is_the_one_that_is_shown(page, monkeypatch):
    asked(page)
    [one], conversations = session(page).exchanges, page.library.conversations
    newer, read = dataclasses.replace(one.answer, text="Five euros by now."), threading.Event()

    def again(_cancelled, _told):
        read.wait(5)
        conversations.answer(one.id, newer)
        yield Finished(newer)

    making = live_answer.RUNNING[one.id] = one.generation = Generation(again)
    exchange = type(conversations).exchange

    def slowly(self, exchange_id):
        found = exchange(self, exchange_id)
        read.set()
        assert making.wait(5)
        return found

    conversations.rate(one.id, 1)
    monkeypatch.setattr(type(conversations), "exchange", slowly)
    page.run()
    assert one.answer == newer


def test_an_answer_that_another_one_has_overtaken_is_not_waited_for(page):
    asked(page)
    [one], conversations = session(page).exchanges, page.library.conversations
    newer, end = dataclasses.replace(one.answer, text="Five euros by now."), threading.Event()
    one.generation = Generation(lambda _cancelled, _told: (end.wait(5), iter(()))[1])
    conversations.answer(one.id, newer)  # as another window does
    page.run()
    end.set()
    assert one.answer == newer


def test_a_conversation_deleted_in_another_window_is_said(page):
    asked(page)
    page.library.conversations.delete(session(page).conversation or "")
    page.run()
    assert not page.at.chat_message
    page.run()
    page.ask("When is the museum closed?")
    assert "Mondays" in page.said() and len(page.library.conversations.listed()) == 1


def test_what_is_said_stays_long_enough_to_be_read(page):
    def said() -> list[str]:
        return [error.value for error in page.at.error]

    session(page).say("It is full")
    for _ in range(3):  # runs that nobody asked for
        page.run()
        assert said() == ["It is full"]
    session(page).noticed -= app_entry._READABLE
    page.run()
    assert not said()
    session(page).say("It is full")
    page.run()
    assert said() == ["It is full"]


def test_only_the_last_exchanges_are_drawn_until_earlier_ones_are_wanted(page):
    page.drop(("ferry.txt", FERRY))
    page.ask(FERRY_COSTS)
    meant = session(page).conversation or ""
    [first] = kept(page)
    for number in range(50):
        one = page.library.conversations.ask(meant, f"Question {number}?")
        page.library.conversations.answer(one, first.answer)
    page.run()
    assert len(page.at.chat_message) == 20
    page.click("earlier")
    assert len(page.at.chat_message) == 60
    page.click("earlier")
    page.click("earlier")
    assert len(page.at.chat_message) == 102 and "earlier" not in page.buttons()


def test_the_panel_goes_from_quote_to_quote(page):
    asked(page)
    [one] = kept(page)
    [first] = one.answer.citations
    dogs = FERRY.decode().index("Dogs")
    second = dataclasses.replace(first, number=2, start=dogs, end=dogs + 4, quote="Dogs")
    both = dataclasses.replace(one.answer, citations=(first, second))
    page.library.conversations.answer(one.id, both)
    page.run()
    page.follow(page.link())
    assert texts_answers.quote_of(1, 2) in page.html()
    assert "<mark class='other'>" in page.viewer().replace("\\u003c", "<")
    page.click("quote_next")
    assert texts_answers.quote_of(2, 2) in page.html()
    page.click("quote_previous")
    assert texts_answers.quote_of(1, 2) in page.html()


def test_a_row_of_a_table_is_shown_under_its_columns(page):
    page.drop(("boats.csv", SHEET))
    page.ask("Skerry harbour North Quay boat built")
    page.follow(page.link())
    shown = page.viewer()
    assert "<th scope=col>boat</th>" in shown
    assert "<td>Skerry</td>" in shown and "<tr class='cited'>" in shown


def test_a_letter_has_its_head_and_its_subject(page):
    page.drop(("rent.eml", MAIL))
    page.ask("What does the rent of the boathouse rise to?")
    page.follow(page.link())
    assert "Rent of the boathouse" in page.viewer().split("<h3>")[1].split("</h3>")[0]
    assert "<dt>From:</dt><dd>ada@example.org</dd>" in page.viewer()


def test_a_conversation_can_be_taken_away_in_every_format(page):
    asked(page)
    labels = {button.proto.label for button in page.at.get("download_button")}
    assert set(texts_answers.EXPORT_FORMATS.values()) <= labels


# The chart under what was computed


@pytest.fixture
def drawn(monkeypatch):
    """Charts of results, as they are given to the browser."""

    def draw(columns: tuple[str, ...], *rows: tuple[Any, ...], over_time: bool = False):
        charts: list[dict[str, Any]] = []
        monkeypatch.setattr(answers.st, "altair_chart", lambda one: charts.append(one.to_dict()))
        said = tuple(tuple(map(str, row)) for row in rows)
        numbers = tuple((None, *row[1:]) for row in rows)
        answers._chart(Computation("", columns, said, numbers=numbers, over_time=over_time))
        return charts

    return draw


def test_figures_are_bars_each_as_long_as_its_own(drawn):
    [chart] = drawn(("Customer", "Total"), ("Acme", 500.0), ("Beta", 450.0))
    assert chart["encoding"]["x"]["stack"] is None
    assert "yOffset" not in chart["encoding"]


def test_a_name_that_comes_twice_is_no_bar_of_the_sum(drawn):
    rows = ("Acme", 500.0), ("Beta", 450.0), ("Acme", 400.0)
    assert not drawn(("Customer", "Total"), *rows)
    assert drawn(("Day", "Total"), *rows, over_time=True), "a line adds nothing up"


def test_two_figures_of_a_name_stand_beside_each_other(drawn):
    columns = ("Kind", "Least", "Most")
    [chart] = drawn(columns, ("Couple", 220.0, 380.0), ("Single", 120.0, 300.0))
    assert chart["encoding"]["x"]["stack"] is None
    assert chart["encoding"]["yOffset"]["field"] == "figure"
    [one] = drawn(columns[:2], ("Couple", 220.0), ("Single", 120.0))
    assert chart["height"] > one["height"], "there is room for both"


def test_figures_that_are_called_alike_are_no_chart(drawn):
    rows = ("Couple", 220.0, 380.0), ("Single", 120.0, 300.0)
    assert not drawn(("Kind", "Price", "Price"), *rows)
    assert not drawn(("Day", "Price", "Price"), *rows, over_time=True)
