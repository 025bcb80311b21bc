from __future__ import annotations

import pytest

from rag_app.answering.extraction import QuoteGenerator, candidates
from rag_app.answering.generation import Piece
from rag_app.types import Chunk, Draft, Passage
from tests.fakes import WordEmbedder


def passage(text: str, page: int = 1, start: int = 0, document: str = "d") -> Passage:
    return Passage(Chunk(document, page, page, start, start + len(text), text), "ferry.txt", 0.5)


FERRY = [
    passage("Dogs travel free of charge. A bicycle costs two euros on the ferry.", 1, 50),
    passage("The ferry leaves every twenty minutes. It is painted blue.", 2),
]


def generate(question: str, passages: list[Passage], caution: float = 0.3) -> Draft:
    generator = QuoteGenerator(WordEmbedder(), caution)
    pieces = list(generator.generate(question, passages, lambda: False))
    whole = sum(pieces[1:], pieces[0])
    assert isinstance(whole, Piece) and whole.draft is not None
    return whole.draft


def test_the_sentence_that_answers_is_quoted_from_its_place():
    draft = generate("What does a bicycle cost on the ferry?", FERRY)
    assert draft.sentences[0].strip() == "A bicycle costs two euros on the ferry."
    [span] = draft.evidence[0]
    assert (span.page, span.start) == (1, 50 + len("Dogs travel free of charge. "))
    assert not draft.abstained


def test_a_question_about_something_else_is_not_answered():
    draft = generate("Who painted the Mona Lisa in Florence?", FERRY)
    assert draft.abstained and draft.sentences == ()
    assert draft.confidence < 0.3


def test_more_caution_abstains_where_less_answers():
    question = "What does a bicycle cost on the ferry?"
    assert not generate(question, FERRY, 0.0).abstained
    assert generate(question, FERRY, 1.0).abstained


@pytest.mark.parametrize("text", ["", ".", "…", "😀 😀 😀", "1 2", "a"])
def test_passages_that_say_nothing_are_no_answer(text):
    assert generate("What is it?", [passage(text)]).abstained


def test_no_passages_are_no_answer():
    assert generate("What is it?", []).abstained


def test_a_sentence_that_stands_twice_is_a_candidate_once():
    twice = [passage("The ferry is blue today.", 1), passage("The ferry is  blue today.", 2)]
    assert [c.span.page for c in candidates(twice)] == [1]


def test_after_a_stop_nothing_is_said():
    generator = QuoteGenerator(WordEmbedder(), 0.3)
    assert list(generator.generate("ferry?", FERRY, lambda: True)) == []
