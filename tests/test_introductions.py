"""What a document is: said by the writer, kept if it holds no figure that the document does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rag_app.answering.suggested_questions import (
    READ,
    introduced,
    opening,
    understood_introduction,
)
from rag_app.storage.overviews import Introduction
from rag_app.types import Page

TEXT = "Tenancy agreement for 3 Mill Lane. The rent is £795 a month, the deposit £915."
REPLY = """Tenancy of Mill Lane
tenancy agreement
A tenancy agreement for a flat. The rent is £795 a month.
How much is the rent?
- What is the deposit?
Who pays £12?
"""


def test_a_reply_is_title_kind_sentences_and_questions():
    made = understood_introduction(REPLY, "a.pdf", TEXT)
    assert made == Introduction(
        "Tenancy of Mill Lane",
        "tenancy agreement",
        "A tenancy agreement for a flat. The rent is £795 a month.",
        ("How much is the rent?", "What is the deposit?"),
    )


def test_a_sentence_with_a_figure_that_stands_nowhere_is_left_out():
    reply = REPLY.replace("£795", "£800")
    made = understood_introduction(reply, "a.pdf", TEXT)
    assert made is not None and made.about == "A tenancy agreement for a flat."


def test_a_title_with_a_name_that_the_document_does_not_know_is_the_files():
    reply = REPLY.replace("Tenancy of Mill Lane\ntenancy", "Brightwater payments\nBrightwater")
    made = understood_introduction(reply, "who owes me.csv", TEXT)
    assert made is not None and (made.title, made.kind) == ("who owes me", "")


def test_no_more_than_two_sentences_are_kept():
    reply = REPLY.replace("a month.", "a month. The deposit is £915. It is paid first.")
    made = understood_introduction(reply, "a.pdf", TEXT)
    assert made is not None
    assert made.about == "A tenancy agreement for a flat. The rent is £795 a month."


def test_questions_among_the_sentences_are_none_of_them():
    reply = REPLY.replace("a month.", "a month. Three questions: what is it, and who pays.")
    made = understood_introduction(reply, "a.pdf", TEXT)
    assert made is not None
    assert made.about == "A tenancy agreement for a flat. The rent is £795 a month."


@pytest.mark.parametrize("reply", ["", "A title", "One\nTwo", f"{'x' * 200}\nkind\nAbout."])
def test_what_is_no_introduction_is_none(reply):
    assert understood_introduction(reply, "a.pdf", TEXT) is None


def test_a_reply_without_a_title_is_begun_with_the_name_of_the_file():
    begun: list[str] = []

    def write(beginning: str) -> Iterator[str]:
        begun.append(beginning)
        if not beginning:
            yield "tenancy\n" * 5
        else:
            said = "tenancy agreement\nA tenancy agreement for a flat.\nWhat is the rent?"
            yield beginning + said

    *_, made = introduced(write, "mill_lane  14.pdf", TEXT)
    assert begun == ["", "mill lane 14\n"]
    assert made == Introduction(
        "mill lane 14",
        "tenancy agreement",
        "A tenancy agreement for a flat.",
        ("What is the rent?",),
    )


def test_one_reply_is_enough_and_two_are_all():
    begun: list[str] = []
    *_, made = introduced(lambda one: begun.append(one) or [REPLY], "a.pdf", TEXT)
    assert made.questions
    nothing = list(introduced(lambda one: begun.append(one) or [""], "a.pdf", TEXT))
    assert nothing == [Introduction("a")], "the name of the file"
    assert begun == ["", "", "a\n"]


def test_an_introduction_is_there_line_by_line_and_ends_with_the_third_question():
    lines = [*REPLY.splitlines()[:5], *["How many people are in the hall?"] * 9]
    read: list[str] = []

    def write(_beginning: str) -> Iterator[str]:
        for number in range(len(lines)):
            read.append("\n".join([*lines[:number], lines[number][:9]]))
            yield read[-1]

    told = list(introduced(write, "mill_lane.pdf", TEXT))
    assert told[0].about and not told[0].questions and len(told[-1].questions) == 3
    assert len(read) < len(lines) - 4, "what goes on and on is not waited for"


def test_the_beginning_is_cut_between_words():
    pages = [Page(1, "word " * 400), Page(2, "more")]
    text = opening(pages)
    assert len(text) <= READ and text.endswith("word")
    assert opening([Page(1, " short "), Page(2, "too")]) == "short\n\ntoo"


def test_lines_copied_from_the_document_are_no_sentence_about_it():
    reply = "Tenancy of Mill Lane\nagreement\nThe Landlord and the Tenant\nWhat is the rent?"
    made = understood_introduction(reply, "a.pdf", TEXT)
    assert made == Introduction("Tenancy of Mill Lane", "agreement", "", ("What is the rent?",))


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("minutes of 14 January, two sentences, questions", "minutes of 14 January"),
        ("letter, two pages", "letter, two pages"),
        ("questions", "questions"),
    ],
)
def test_what_a_writer_says_of_its_own_task_is_not_what_a_document_is(said, kind):
    reply = REPLY.replace("tenancy agreement\n", f"{said}\n", 1)
    made = understood_introduction(reply, "a.pdf", f"{TEXT} 14 January")
    assert made is not None and made.kind == kind
