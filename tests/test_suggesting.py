"""Questions that a piece of a document answers, and topics made of texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.overview import key_topics
from rag_app.answering.suggested_questions import placed
from rag_app.storage.overviews import Introduction
from rag_app.types import Chunk
from tests.fakes import WordEmbedder


def test_questions_come_with_the_sentence_that_answers_them():
    text = "Tides are strong here. The harbour has 14 stations. The ferry was built in 1998."
    asked = ("How many stations are there?", "Who runs it?", "When was the ferry built?")
    answers = {asked[0]: "14", asked[2]: "1998"}

    def find(question: str, read: str) -> tuple[int, int] | None:
        said = answers.get(question)
        return (read.index(said), read.index(said) + len(said)) if said else None

    chunk = Chunk("d" * 64, 3, 0, 100, 100 + len(text), text)
    found = list(placed(Introduction("Harbour", "guide", "", asked), chunk, find))
    assert [one.question for one in found] == [asked[0], asked[2]]
    assert [text[one.place.start - 100 : one.place.end - 100] for one in found] == [
        "The harbour has 14 stations.",
        "The ferry was built in 1998.",
    ]
    assert {one.place.page for one in found} == {3}


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
