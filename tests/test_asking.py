from __future__ import annotations

import pytest

from rag_app.answering.extraction import AnswerType, form, other_year

FORMS = {
    AnswerType.FACT: [
        "Where is the world headquarters?",
        "how many dogs live there",
        "How old must riders be?",
        "Can you tell me when it was founded?",
        "Is it easier or harder to change the law?",
        "revenue 2023",
        "船はいつ出ますか",
        "Was kostet die Kaution?",
        "Am wievielten ist die Miete fällig?",
        "¿Has pagado la renta?",
        "",
        "?",
    ],
    AnswerType.LIST: [
        "Which countries border France?",
        "What are the three kinds of rock?",
        "Please list all suppliers",
        "Who are the directors?",
        "Name three of the ferries.",
    ],
    AnswerType.EXPLANATION: [
        "Why did the number of trips fall?",
        "how do i cancel",
        "Could you explain the fee?",
        "What is the policy on late returns?",
        "What does the contract say about termination?",
        "What happens if I am late?",
    ],
    AnswerType.DECISION: [
        "Is smoking allowed?",
        "Does the membership include insurance?",
        "can I bring a dog",
        "Was the Kaution paid?",
    ],
}


@pytest.mark.parametrize(
    ("wanted", "question"), [(f, question) for f, asked in FORMS.items() for question in asked]
)
def test_the_form_of_answer_follows_from_the_question(wanted, question):
    assert form(question) is wanted


@pytest.mark.parametrize(
    ("question", "sentence", "other"),
    [
        ("How many trips in 2025?", "We plan for 760,000 trips in 2026.", True),
        ("How many trips in 2025?", "684,200 trips in 2025, 2,026 on one day", False),
        ("How many trips in 2025?", "From 2024 to 2025 trips rose.", False),
        ("How many trips in 2025?", "Trips cost $2,026 or 2026.50 each.", False),
        ("How many trips?", "We plan for 760,000 trips in 2026.", False),
        ("How many trips in 2025?", "Many.", False),
    ],
)
def test_a_sentence_about_another_year_is_told_from_one_about_none(question, sentence, other):
    assert other_year(question, sentence) is other
