"""The reader as a generator: forms of answer, agreement, abstention. The weights are the real ones
where words matter; where only the way of adding up matters, a script stands in for the network."""

from __future__ import annotations

import math

import pytest

from rag_app.answering.chain import cite
from rag_app.answering.extraction import Reader, SpanEvidence, agreement
from rag_app.answering.span_model import (
    Calibration,
    LibraryFit,
    Logistic,
    PassageSpans,
    ScoredSpan,
    SpanAnswer,
    SpanModel,
    Vote,
)
from rag_app.errors import ModelUnavailable
from rag_app.types import Chunk, Draft, Passage


def passages(*texts: str, pages: list[int] | None = None) -> list[Passage]:
    numbers = pages or list(range(1, len(texts) + 1))
    return [
        Passage(Chunk("d", n, i, 100 * i, 100 * i + len(text), text), "ferry.txt", 1 / len(texts))
        for i, (n, text) in enumerate(zip(numbers, texts, strict=True))
    ]


class ScriptedModel(SpanModel):
    """Sees the spans it is told to see, each with its log-odds against "no answer"."""

    calibration = Calibration(Logistic(1, 0), LibraryFit(1.0, 0.0, 0.0))

    def __init__(self, **odds: float) -> None:
        super().__init__()
        self.odds = {words.replace("_", " "): value for words, value in odds.items()}

    def read_pairs(self, pairs):
        seen = []
        for _, text in pairs:
            spans = [
                ScoredSpan(text.index(words), text.index(words) + len(words), value - 9.0)
                for words, value in self.odds.items()
                if words in text
            ]
            seen.append(PassageSpans(tuple(sorted(spans, key=lambda s: -s.log_prob)), -9.0))
        return seen


def answer(question: str, *texts: str, caution: float = 0.0, **odds: float) -> Draft:
    return Reader(ScriptedModel(**odds), caution).answer(question, passages(*texts))


def said(draft: Draft) -> list[str]:
    return [sentence.strip() for sentence in draft.sentences]


def test_the_answer_is_the_span_in_its_sentence_with_the_place_of_the_sentence():
    text = "It is old. The head-\nquarters are in Oregon. It rains."
    draft = answer("Where are the headquarters?", text, Oregon=3.0)
    assert draft.short_answer == "Oregon"
    assert said(draft) == ["The head- quarters are in Oregon."]
    [[span]] = draft.evidence
    assert text[span.start : span.end] == "The head-\nquarters are in Oregon."


def test_passages_that_agree_are_all_cited_with_the_sentence():
    texts = ["Oregon it is.", "It is in Oregon, they say.", "It may be Ohio."]
    draft = answer("Where is it?", *texts, Oregon=1.0, Ohio=1.4)
    assert draft.short_answer == "Oregon"
    assert [span.page for span in draft.evidence[0]] == [1, 2]
    text, citations = cite(draft, passages(*texts))
    assert text.endswith("[1][2]")
    assert [c.quote for c in citations] == texts[:2]


def test_a_list_gathers_what_is_nearly_as_probable_but_no_two_cuts_of_the_same():
    texts = ["Branches are in Oslo, Norway.", "There is one in Lund. Another is in Turku."]
    odds = {"Oslo": 3.0, "Oslo,_Norway": 2.9, "Lund": 2.8, "Turku": 2.5, "one": 0.5}
    draft = answer("Which cities have branches?", *texts, **odds)
    assert draft.short_answer == "Oslo, Lund, Turku"
    assert len(draft.sentences) == 3
    assert answer("Where is the branch?", *texts, **odds).short_answer == "Oslo"


def test_a_list_holds_nothing_that_is_more_likely_no_answer():
    draft = answer("Which cities?", "Oslo. Lund.", Oslo=0.2, Lund=-0.1)
    assert draft.short_answer == "Oslo"


def test_a_question_for_a_reason_is_answered_by_sentences_in_the_order_of_the_page():
    text = "Rain fell for weeks. Nobody cared. So the dam broke. Cows slept."
    draft = answer("Why did the valley flood?", text, Rain=2.0, dam=2.6, Cows=-5.0)
    assert said(draft) == ["Rain fell for weeks.", "So the dam broke."]
    assert len(draft.evidence) == 2


def test_a_yes_or_no_question_gets_the_deciding_sentence_and_no_stub():
    draft = answer(
        "Is smoking allowed?", "Smoking is not allowed. Dogs are.", Smoking=2.0, Dogs=1.9
    )
    assert said(draft) == ["Smoking is not allowed."]
    assert draft.short_answer == ""


def test_what_is_about_another_year_gives_way():
    texts = ["We plan 760,000 trips in 2026.", "There were 684,200 trips in 2025."]
    odds = {"760,000": 3.0, "684,200": 1.0}
    assert answer("How many trips in 2025?", *texts, **odds).short_answer == "684,200"
    assert answer("How many trips?", *texts, **odds).short_answer == "760,000"


@pytest.mark.parametrize("asked", ["Is it due on Monday?", "Is it due on Monday, Ann? Yours, Bo"])
def test_what_stands_in_a_question_gives_way(asked):
    odds = {"Monday": 3.0, "Friday": 1.0}
    assert answer("When is it due?", asked, "It is due on Friday.", **odds).short_answer == "Friday"
    said = asked.replace("?", ".")
    assert answer("When is it due?", said, "It is due on Friday.", **odds).short_answer == "Monday"


def test_more_caution_abstains_where_less_answers():
    said = {"question": "Where?", "Oslo": 0.0}
    question = said.pop("question")
    assert not answer(question, "In Oslo.", caution=0.4, **said).abstained
    silent = answer(question, "In Oslo.", caution=0.6, **said)
    assert silent.abstained and silent.confidence == pytest.approx(0.5)


def test_a_text_agrees_as_far_as_it_says_what_the_reader_holds_for_likely():
    found = passages("The ferry costs 4 euros.", "The bus takes 20 minutes.")
    cost = SpanAnswer((Vote(0, 16, 23, 2.0),), 2.0)
    time = SpanAnswer((Vote(1, 14, 24, 0.0),), 0.0)
    evidence = SpanEvidence((cost, time))
    sure = 1 / (1 + math.exp(-2.0))
    assert agreement(evidence, found, "It is 4 Euros.") == pytest.approx(sure)
    assert agreement(evidence, found, "Twenty (20) minutes.") == pytest.approx(1 - sure)
    assert agreement(evidence, found, "4 euros for 20 minutes") == pytest.approx(1.0)
    assert agreement(evidence, found, "It is free.") == 0.0


def test_no_passages_and_empty_ones_are_no_answer():
    assert answer("Where?").abstained
    draft = answer("Where?", "", "…")
    assert draft.abstained and draft.confidence == 0.0


@pytest.fixture(scope="module")
def reader(weights):
    return Reader(SpanModel(), caution=0.4)


FERRY = passages(
    "The ferry leaves every twenty minutes. A single ticket costs four euros.",
    "Bicycles travel free of charge on the ferry. The captain is Maria Lund.",
    "Grass grows in the meadow and the wind moves it to and fro all day.",
)


def test_the_real_reader_answers_from_the_passage_that_knows(reader):
    draft = reader.answer("Who is the captain of the ferry?", FERRY)
    assert draft.short_answer == "Maria Lund"
    assert draft.evidence[0][0].page == 2


def test_the_real_reader_keeps_silent_on_what_is_not_there(reader):
    assert reader.answer("What is the capital of France?", FERRY).abstained


@pytest.mark.parametrize(
    ("question", "said", "words"),
    [
        ("Who leads the Lunt project?", "Mehmet Aydin leads the Lunt project.", "Mehmet Aydin"),
        ("By when?", "They are to be handed in by the 3rd of May.", "3rd of May"),
        ("What is the capital of France?", "The ferry leaves every twenty minutes.", ""),
        ("Who is the captain?", "", ""),
    ],
)
def test_the_words_that_answer_stand_out_of_a_sentence(reader, question, said, words):
    assert reader.stressed(question, said) == words


def test_after_a_stop_nothing_is_said(reader):
    assert list(reader.generate("Who is the captain?", FERRY, lambda: True)) == []


def test_without_weights_it_says_so(tmp_path):
    with pytest.raises(ModelUnavailable):
        list(Reader(SpanModel(tmp_path), 0.5).generate("Who?", FERRY, lambda: False))
