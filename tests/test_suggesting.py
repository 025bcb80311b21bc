"""Questions made of sentences and headings, and topics made of texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.overview import key_topics
from rag_app.answering.suggested_questions import question_of, reported, suggestions
from rag_app.types import Chunk, Heading
from tests.fakes import WordEmbedder


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        (
            "The Skerry lighthouse was automated in the spring of 1987.",
            "When was the Skerry lighthouse automated?",
        ),
        (
            "An annual membership costs €96 and can be paid in twelve parts of €8.",
            "How much does an annual membership cost?",
        ),
        (
            "Every bicycle is inspected at least once every 21 days.",
            "How often is every bicycle inspected?",
        ),
        (
            "The combined ticket starts on 1 April 2026.",
            "When does the combined ticket start?",
        ),
        (
            "The company employs 6,500 people in Wales.",
            "How many people does the company employ in Wales?",
        ),
        (
            "530 people came to mend bicycles of their own.",
            "How many people came to mend bicycles of their own?",
        ),
        ("The harbour has 14 stations.", "How many stations does the harbour have?"),
        (
            "The bridge was closed because the storm had moved a pier.",
            "Why was the bridge closed?",
        ),
        (
            "The annual budget was approved by the board of directors.",
            "Who was the annual budget approved by?",
        ),
        (
            "The head office is located in Port Ellery, near the ferry.",
            "Where is the head office located?",
        ),
        ("The course lasts six weeks and ends with a test.", "How long does the course last?"),
        ("Net debt was $6,057 million at the end of June.", None),  # "Net" may be a name
        (
            "The net debt was $6,057 million at the end of June.",
            "How much was the net debt at the end of June?",
        ),
        ("In 2025, the fare rose by 13 percent.", "By how much did the fare rise in 2025?"),
        ("A chunk is an exact slice of its page.", "What is a chunk?"),
    ],
)
def test_a_sentence_becomes_the_question_that_it_answers(sentence, question):
    form = question_of(sentence)
    assert (form.question if form else None) == question


@pytest.mark.parametrize(
    "sentence",
    [
        "It was automated in 1987.",
        "We opened twelve shops in 2019.",
        "This is the first of three reports.",
        "Our revenue was €3 million in 2020.",
        "Such loans are held by banks in 2020.",
        "Yes.",
        "ROW 12 | 34 | 56 was added in 2020.",
        "While the board was elected in 2019, the chair was not.",
        "and the ferry was sold in 1998.",
        "3.6 The loft is reserved to the Landlord because it is his.",
        "2. The fee a month is £24.",
    ],
)
def test_a_sentence_that_leans_on_others_is_left_alone(sentence):
    assert question_of(sentence) is None


def test_a_name_keeps_its_capital_and_a_common_word_loses_it():
    said = "{} was founded in 1998."
    assert question_of(said.format("Adobe"), names={"Adobe"}).question == "When was Adobe founded?"
    form = question_of("Interest was paid in 1998.", small={"interest"})
    assert form.question == "When was interest paid?"


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        (
            "As of June 25, 2022, the Company had purchase obligations of $43.1 billion, with "
            "$43.0 billion payable within 12 months.",
            "What amount of purchase obligations did the Company have as of June 25, 2022?",
        ),
        (
            "The mill net sales decreased during the third quarter of 2022 compared to the same "
            "period in 2021 due primarily to lower sales of flour.",
            "Why did the mill net sales decrease during the third quarter of 2022?",
        ),
        (
            "The council paid $20 million to the owners of the harbour and left.",
            "How much did the council pay to the owners of the harbour?",
        ),
        (
            "[3] The tenant must return all keys to the landlord by September 21, 2020.",
            "By when must the tenant return all keys to the landlord?",
        ),
        (
            "The Harbour Act of 1978 removed the judge from the care of the lighthouses.",
            "What removed the judge from the care of the lighthouses?",
        ),
        (
            "The flour revenue increased primarily due to higher prices of grain.",
            "Why did the flour revenue increase?",
        ),
        ("The company bought the old mill at the end of the road.", None),  # who else
        ("In 2019, we raised $20 million for the new roof of the hall.", None),
        ("The rates were 4 % and 5 % in 2021 and 2022, respectively.", None),
        ("The amount recognised in 2022 was lower than the amount of 2021.", None),
    ],
)
def test_sentences_of_reports_become_questions(sentence, question):
    form = reported(sentence, names={"Harbour"})
    assert (form.question if form else None) == question


@given(st.text(max_size=200))
def test_any_text_gives_a_question_or_none(text):
    form = question_of(text)
    assert form is None or form.question.endswith("?")


def chunk(text: str, ordinal: int = 0, page: int = 1) -> Chunk:
    return Chunk("d" * 64, page, ordinal, 0, len(text), text)


def test_questions_come_with_the_place_that_answers_them():
    text = "Tides are strong here. The harbour has 14 stations. The ferry was built in 1998."
    found = suggestions([chunk(text)], [])
    assert [text[s.place.start : s.place.end] for s in found] == [
        "The harbour has 14 stations.",
        "The ferry was built in 1998.",
    ]


def test_headings_become_questions_about_their_sections():
    text = "Fees and Charges\nAll fees and charges are due on the first day."
    heading = Heading(1, 0, 1, "Fees and Charges")
    found = suggestions([chunk(text)], [heading, Heading(1, 0, 1, "Contents of the Report")])
    assert [s.question for s in found] == ["What does it say about fees and charges?"]


def test_no_kind_of_question_crowds_out_the_others():
    text = " ".join(f"The ship number {n} was built in 19{n}." for n in range(10, 60))
    text += " The harbour has 14 stations."
    kinds = [s.kind for s in suggestions([chunk(text)], [])]
    assert kinds[:2] == ["count", "date"] and kinds.count("date") == 6


TEXT = (
    "The electric ferry leaves the stone harbour at noon. The electric ferry is new.",
    "Ticket prices of the electric ferry are low. Everything else is the same.",
    "The stone harbour was dredged. Ticket prices at the stone harbour include the ferry.",
)


def test_topics_are_terms_that_come_back_and_no_empty_words():
    topics = key_topics(TEXT, [], WordEmbedder().embed_documents)
    assert {"Electric ferry", "Stone harbour", "Ticket prices"} <= {t.capitalize() for t in topics}
    assert not {"The", "Everything", "Else", "Same"} & set(topics)


def test_a_term_that_tells_a_document_from_others_comes_first():
    def rare(term: str) -> float:
        return 9.0 if "harbour" in term.lower() else 1.0

    assert key_topics(TEXT, [], WordEmbedder().embed_documents, rare)[0] == "Stone harbour"


@given(st.lists(st.text(max_size=80), max_size=8))
def test_any_texts_have_topics_or_none(texts):
    topics = key_topics(texts, texts[:1], WordEmbedder().embed_documents)
    assert len(topics) <= 7 and all(topics)
