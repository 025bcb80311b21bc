"""What is said of a thing that a question only names."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.answer_language import AnyLanguage, said_of, thing
from rag_app.answering.generation import Piece
from rag_app.types import Chunk, Draft, Note, NoteKind, Passage

HEATING = (
    "Manual of the heating\n\nThe warranty covers parts and labour for two years from the sale.\n\n"
    "Without a receipt the warranty ends after a year in all of the cases.\n\n"
    "The user acceptance model (UAM), which is new, explains why people reject machines."
)


def passages(text: str = HEATING) -> list[Passage]:
    return [Passage(Chunk("d", 1, 0, 7, 7 + len(text), text), "heating.txt", 1.0)]


class Silent:
    """A generator that never finds an answer."""

    name = "silent"

    def warm(self) -> None:
        """Nothing to load."""

    def generate(self, question, passages, cancelled):
        yield Piece(draft=Draft((), (), 0.1, abstained=True))


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What is the warranty?", "warranty"),
        ("warranty", "warranty"),
        ("What's a user acceptance model?", "user acceptance model"),
        ("Explain the warranty.", "warranty"),
        ("What is the capital of France?", ""),
        ("What is it?", ""),
        ("What is the largest ship?", ""),
        ("Who was Ada Byron?", ""),
        ("What is the company's revenue?", ""),
        ("How long is the warranty?", ""),
        ("why", ""),
        ("", ""),
    ],
)
def test_a_question_may_only_name_a_thing(question, named):
    assert thing(question) == named


@pytest.mark.parametrize("question", ["warranty", "What is the warranty?", "Explain the warranty"])
def test_sentences_that_begin_with_the_thing_are_quoted(question):
    draft = said_of(question, passages(), 0.5)
    assert draft is not None and len(draft.sentences) == 1
    assert draft.sentences[0].startswith("The warranty covers") and draft.notes == (
        Note(NoteKind.ABOUT_THE_THING),
    )
    span = draft.evidence[0][0]
    assert HEATING[span.start - 7 : span.end - 7].startswith("The warranty covers")


def test_a_thing_of_several_words_is_found_whole():
    draft = said_of("What is the user acceptance model?", passages(), 0.5)
    assert draft is not None and "explains why" in draft.sentences[0]
    assert said_of("What is the dance acceptance model?", passages(), 0.5) is None


def test_a_thing_that_is_only_mentioned_is_not_defined():
    assert said_of("What is a receipt?", passages(), 0.5) is None
    assert said_of("heating", passages(), 0.5) is None
    assert said_of("warranty", [], 0.5) is None


@pytest.mark.parametrize(("caution", "abstains"), [(0.4, False), (0.5, False), (0.6, True)])
def test_it_answers_where_the_reader_finds_nothing_and_even_odds_are_enough(caution, abstains):
    *_, last = AnyLanguage(Silent(), caution).generate("What is the warranty?", passages(), bool)
    assert last.draft is not None and last.draft.abstained is abstains


@given(st.text(max_size=60))
def test_whatever_is_asked_a_thing_is_a_piece_of_it(question):
    assert thing(question) in question


def test_a_long_question_names_no_thing_and_takes_no_time():
    began = time.monotonic()
    assert thing("what is" + " " * 3_900 + "(x") == thing("- " * 2_000 + "(") == ""
    assert time.monotonic() - began < 1
