from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.answer_language import (
    EVEN_ODDS,
    AnyLanguage,
    by_words,
    in_any_language,
)
from rag_app.answering.extraction import QuoteGenerator
from rag_app.answering.generation import pieces
from rag_app.text import languages
from rag_app.text.languages import (
    decimal_comma,
    is_english,
    language,
    language_of,
    month_called,
)
from rag_app.types import Chunk, Draft, Note, NoteKind, Page, Passage, Span
from tests.fakes import WordEmbedder

GERMAN = "Eine Fahrkarte für die Fähre zur Insel kostet vier Euro. Hunde fahren umsonst mit."
ENGLISH = "The ferry to the island costs four euros. Dogs travel free of charge with us."


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("march", 3), ("sept", 9), ("Okt", 10), ("März", 3), ("agosto", 8), ("septmber", 9),
        ("января", 1), ("maj", 5), ("juil", 7),
        ("out", 0), ("set", 0), ("market", 0), ("general", 0), ("outstanding", 0), ("", 0),
    ],
)  # fmt: skip
def test_a_month_is_called_by_its_name_and_not_by_how_another_language_shortens_it(word, number):
    assert month_called(word) == number


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ENGLISH, "en"),
        (GERMAN, "de"),
        ("Le billet du bateau pour l’île coûte quatre euros.", "fr"),
        ("島へ渡るフェリーの料金は四ユーロです。犬は無料です。", "ja"),
        ("", ""),
        ("12.5 % 4,538 2018 A1 B2", ""),
        ("EBITDA", ""),
        ("日本語 あいうえお", "ja"),
        ("港口", ""),
    ],
)
def test_a_text_is_in_a_language_or_cannot_be_told(text, code):
    assert language(text) == code


def test_most_of_a_document_decides():
    pages = [Page(1, ENGLISH), *(Page(n, GERMAN * 20) for n in range(2, 9)), Page(9, ENGLISH)]
    assert language_of(pages) == "de"
    assert language_of([]) == language_of([Page(1, " \n")]) == ""


@pytest.mark.parametrize(
    "question",
    [
        "What does the ferry cost?",
        "ferry tickets",
        "Salamanca",
        "EBITDA 2018",
        "What does 東京 mean?",
        "Who wrote “Die Verwandlung”?",
        "when is Schuetzenfest",
        "Is Łódź larger than Kraków?",
        "?",
        "2 + 2",
    ],
)
def test_questions_in_english_or_too_short_to_tell_count_as_english(question):
    assert is_english(question)


@pytest.mark.parametrize(
    "question",
    [
        "Was kostet die Fähre?",
        "Combien coûte le billet ?",
        "¿Cuánto cuesta?",
        "Hvor mange dage skal jeg have fri?",
        "iPhoneの価格",
        "水",
        "билет",
        "כרטיס",
        "ตั๋ว",
    ],
)
def test_questions_in_other_languages_do_not(question):
    assert not is_english(question)


@given(st.text(max_size=80))
def test_any_text_has_at_most_a_code_of_two_letters(text):
    assert len(language(text)) in (0, 2)
    is_english(text)


def test_plain_english_needs_no_model(monkeypatch):
    monkeypatch.setattr(languages, "_identifier", None)  # asking it would fail
    assert language(ENGLISH) == "en" and is_english("What does the ferry cost?")


def passage(text: str) -> Passage:
    return Passage(Chunk("d" * 64, 1, 0, 0, len(text), text), "a.txt", 1.0)


class Sure:
    """Quotes the whole first passage and is sure of it."""

    name = "sure"

    def __init__(self) -> None:
        self.asked = 0

    def warm(self) -> None:
        """Nothing to load."""

    def generate(self, question, passages, cancelled):
        self.asked += 1
        chunk = passages[0].chunk
        span = Span(chunk.document_id, 1, chunk.start, chunk.end)
        yield from pieces(Draft((chunk.text,), ((span,),), 0.9))


def last(generator, question, text):
    *_, piece = generator.generate(question, [passage(text)], lambda: False)
    return piece.draft


def test_english_is_answered_as_ever():
    draft = last(AnyLanguage(Sure(), 0.5), "What does the ferry cost?", ENGLISH)
    assert (draft.confidence, draft.notes) == (0.9, ())


def test_an_english_question_to_another_language_has_even_odds():
    draft = last(AnyLanguage(Sure(), 0.5), "What does the ferry cost?", GERMAN)
    assert (draft.confidence, draft.notes) == (EVEN_ODDS, (Note(NoteKind.NOT_ENGLISH),))
    assert draft.sentences == (GERMAN,)


def test_another_language_is_answered_by_words():
    sure = Sure()
    draft = last(AnyLanguage(sure, 0.5), "Was kostet eine Fahrkarte für die Fähre?", GERMAN)
    assert sure.asked == 0 and not draft.abstained
    assert (draft.confidence, draft.notes) == (EVEN_ODDS, (Note(NoteKind.FOUND_BY_WORDS),))
    assert draft.short_answer == GERMAN.split(". ")[0] + "."


@pytest.mark.parametrize(
    ("question", "caution"),
    [("Was kostet eine Fahrkarte für die Fähre?", 0.6), ("Wer schrieb diesen Roman?", 0.5)],
)
def test_who_asks_for_more_or_for_something_else_gets_no_answer(question, caution):
    draft = by_words(question, [passage(GERMAN)], caution)
    assert (
        draft.abstained
        and draft.confidence <= EVEN_ODDS
        and draft.notes == (Note(NoteKind.FOUND_BY_WORDS),)
    )


def test_nothing_found_is_no_answer():
    assert by_words("水", [], 0.0).abstained
    assert by_words("Wie?", [passage("...")], 0.0).abstained


def test_only_what_was_fitted_on_english_is_replaced():
    quotes, sure = QuoteGenerator(WordEmbedder(), 0.5), Sure()
    assert isinstance(in_any_language(quotes, 0.5), AnyLanguage)
    assert in_any_language(sure, 0.5) is sure


def test_where_decimals_come_after_a_comma_is_known_by_code_and_by_name():
    assert [decimal_comma(one) for one in ("de", "German", "fr", "Polish")] == [True] * 4
    assert [decimal_comma(one) for one in ("en", "English", "", "xx", "Klingon")] == [False] * 5
