"""A small writer that was taught nothing: when it answers, and when it is "I don't know"."""

from __future__ import annotations

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from rag_app.answering.chat_generator import Grounding
from rag_app.answering.extraction import QuoteGenerator
from rag_app.answering.generation import Writer
from rag_app.answering.writer_generator import UntaughtGenerator
from rag_app.errors import ChatModelError
from tests.fakes import WordEmbedder
from tests.ferries import FERRY, PASSAGE, QUESTION, SureReader


class Judge:
    """Says Yes with a given chance, and remembers what it was asked."""

    def __init__(self, *chances: float) -> None:
        self._chances = list(chances)
        self.asked: list[str] = []

    def __call__(self, messages):
        self.asked.append(messages[-1][1])
        chance = self._chances.pop(0) if len(self._chances) > 1 else self._chances[0]
        if chance < 0:
            raise ChatModelError("The model is gone.")
        return chance


def written(text, reader, judge, caution, question=QUESTION):
    model = GenericFakeChatModel(messages=iter([AIMessage(text)]))
    writer = Writer("fake", lambda: model, lambda e: e, window=4_000, most_tokens=100)
    embedder = WordEmbedder()
    grounding = Grounding(reader, caution)
    generator = UntaughtGenerator(writer, embedder, QuoteGenerator(embedder, 0.0), grounding, judge)
    pieces = list(generator.generate(question, [PASSAGE], lambda: False))
    return [piece.text for piece in pieces if piece.text], pieces[-1].draft


def test_what_all_are_sure_of_is_said_as_it_is_written():
    pieces, draft = written("The ferry costs four euros.", SureReader(8.0), Judge(0.97), 0.3)
    assert "".join(pieces) == "The ferry costs four euros." == "".join(draft.sentences)
    assert not draft.abstained and draft.confidence > 0.5 and draft.evidence[0]


def test_what_all_doubt_is_not_said_but_the_closest_sentence_is_named():
    judge = Judge(0.05)
    pieces, draft = written("The ferry costs four euros.", SureReader(-9.0), judge, 0.4)
    assert pieces == [] and draft.abstained and draft.sentences == ()
    assert (
        FERRY[draft.closest[0].start - 50 : draft.closest[0].end - 50]
        == "The ferry costs four euros."
    )
    assert draft.confidence < 0.4 and "Proposed answer" in judge.asked[-1]


def test_a_doubtful_answer_that_is_confirmed_is_shown_when_it_is_whole():
    pieces, draft = written("The ferry costs four euros.", SureReader(-2.0), Judge(0.3, 0.99), 0.35)
    assert len(pieces) == 1 and not draft.abstained


def test_caution_decides_what_is_said():
    drafts = [
        written("The ferry costs four euros.", SureReader(0.0), Judge(0.55), caution)[1]
        for caution in (0.0, 0.999)
    ]
    assert [draft.abstained for draft in drafts] == [False, True]
    assert drafts[0].confidence == drafts[1].confidence


def test_an_answer_stays_if_nobody_is_left_to_confirm_it():
    _, draft = written("The ferry costs four euros.", SureReader(8.0), Judge(0.9, -1.0), 0.3)
    assert not draft.abstained and draft.confidence == 1.0


def test_a_judge_that_fails_leaves_the_question_to_another_generator():
    _, draft = written("The ferry costs four euros.", SureReader(8.0), Judge(-1.0), 0.3)
    assert draft.generator == "quotes" and "The model is gone." in draft.notes[0].values[0]


def test_of_a_question_in_another_language_the_reader_says_nothing():
    known = []
    judge, question = Judge(0.9), "Was kostet denn die Überfahrt mit der Fähre für Erwachsene?"
    model = GenericFakeChatModel(messages=iter([AIMessage("Die Fähre kostet vier Euro.")]))
    writer = Writer("fake", lambda: model, lambda e: e, window=4_000, most_tokens=100)
    grounding = Grounding(SureReader(-9.0), watch=known.append)
    embedder = WordEmbedder()
    safety = QuoteGenerator(embedder, 0.0)
    generator = UntaughtGenerator(writer, embedder, safety, grounding, judge)
    list(generator.generate(question, [PASSAGE], lambda: False))
    assert known[0].score is None and known[0].says_yes == 0.9


def test_what_is_asked_shares_its_beginning_so_that_excerpts_are_read_once():
    judge = Judge(0.9)
    written("The ferry costs four euros.", SureReader(8.0), judge, 0.3)
    first, last = (one.index("Question: What does") for one in (judge.asked[0], judge.asked[-1]))
    assert judge.asked[0][:first] == judge.asked[-1][:last]
    assert "The ferry costs four euros." in judge.asked[0][first:]  # the nearest are said again
