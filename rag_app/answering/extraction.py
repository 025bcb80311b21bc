"""Answers in the documents' own words: generators that need no language model.

The reader reads every passage, adds up what agrees (RAG-Sequence over spans), and answers with the
span inside its sentence. Questions that ask for a reason, a rule or a decision are answered by the
sentences that hold the evidence. The simpler one quotes the sentences that are nearest to the
question in meaning and hold most of its telling words. Under the threshold of confidence both
abstain."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from rag_app.answering.abstention import chance_of
from rag_app.answering.generation import Cancelled, Piece, apart, pieces
from rag_app.answering.span_model import (
    SpanAnswer,
    SpanModel,
    Vote,
    log_sum,
    marginal,
    overlap,
)
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.ranking import TOKEN, rarity, stems, telling
from rag_app.text.languages import compared, language_of_question
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Draft, Passage, Span

# What form of answer a question asks for, by its words. Pure; English.


class AnswerType(StrEnum):
    """How an extractive answer is shown."""

    FACT = "fact"  # a span in its sentence
    LIST = "list"  # several spans
    EXPLANATION = "explanation"  # the best sentences: a stub of a span would not do
    DECISION = "decision"  # yes or no: the deciding sentence


_POLITE = re.compile(
    r"^\W*(?:(?:please|hi|hello|hey|thanks|ok|okay|so|and|but|also|then)\b[\s,]*)*"
    r"(?:(?:can|could|would|will) you (?:please |kindly )?(?=tell|say|explain|describe|list|name"
    r"|give|show|find|summari[sz]e)|i(?:'d| would) like to know |i want to know |do you know "
    r"(?=who|what|when|where|which|why|how|if|whether))?(?:please )?"
    r"(?:tell me (?=who|what|when|where|which|why|how|if|whether)|say )?",
    re.IGNORECASE,
)
_DECIDES = re.compile(
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might"
    r"|must|isn't|aren't|wasn't|weren't|don't|doesn't|didn't|hasn't|haven't|can't|couldn't|won't"
    r"|whether)\b(?!.*\bor\b)"
)
_MEASURED = (
    r"many|much|long|old|often|far|tall|big|large|high|deep|fast|wide|heavy|soon|late|early|close"
    r"|small|frequent(?:ly)?|quickly|thick|hot|cold|expensive|likely|strong|young|short|low"
)
_EXPLAINS = re.compile(
    rf"(?:why|how come|for what reason|how (?!(?:{_MEASURED})\b)\w|explain|describe|summari[sz]e"
    r"|tell me|in what way|what (?:is|are|was|were) (?:the |your |our |its |their )?(?:[\w-]+ )?"
    r"(?:polic(?:y|ies)|procedures?|process|reasons?|purpose|differences?|effects?|impact"
    r"|consequences?|conditions|terms|rules|steps|implications?|relationship|significance"
    r"|advantages?|disadvantages?|benefits|drawbacks|risks)\b"
    r"|what happens|what happened|what (?:does|do|did) .+ (?:mean|say about|do)\b|what about"
    r"|what (?:makes|made|causes|caused|leads?|led)\b)"
)
_NOT_PLURAL = r"(?:is|was|does|has|this|his|its|us|as|'s|causes|makes|happens|means|others?)\b"
_LISTS = re.compile(
    r"(?:list|enumerate|name (?:all|the|some|every|each|both|two|three|four|five|\d)"
    r"|(?:give|show|find)(?: me)? (?:a list|all|the names|some|examples)"
    rf"|(?:which|what)(?: (?!{_NOT_PLURAL})[\w-]+){{0,2}} (?!{_NOT_PLURAL})(?:[\w-]+(?<![su'i])s"
    r"|people|men|women|children|countries|criteria|media|phenomena|species|data)\b"
    r"|(?:what|who|which|where) (?:are|were)\b)"
)

_BEGINS_ABROAD = re.compile(r"(?:was|am|has)\b")  # other questions, in German and Spanish


def form(question: str) -> AnswerType:
    """The form of answer that fits a question."""
    said = " ".join(question.lower().replace("’", "'").split())
    bare = _POLITE.sub("", said, count=1) or said
    if _EXPLAINS.match(bare):
        return AnswerType.EXPLANATION
    if _DECIDES.match(bare):
        other = _BEGINS_ABROAD.match(bare) and language_of_question(question) != "en"
        return AnswerType.FACT if other else AnswerType.DECISION
    return AnswerType.LIST if _LISTS.match(bare) else AnswerType.FACT


_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d(?![\d]|[.,]\d)")


def other_year(question: str, sentence: str) -> bool:
    """Whether the question names a year and the sentence names only others."""
    asked = set(_YEAR.findall(question))
    named = set(_YEAR.findall(sentence))
    return bool(asked and named) and not asked & named


_MOST_SOURCES = 3  # citations of one sentence: passages that agree
_MOST_ITEMS = 8  # of a list
_MOST_SENTENCES = 3  # of an explanation
_STANDS_OUT = 3.0  # log-odds of words in a written answer against none (benchmarks/LOG.md)
_ITEM = math.log(0.3)  # an item of a list is at least so probable, the best being 1
_SENTENCE = math.log(0.25)  # the same for the sentences of an explanation
_OTHER_YEAR = -4.0  # log-odds of an answer whose sentence is about another year than the asked one
_MOST_COMPARED = 6  # answers of the reader that a written one is compared with
_FARTHEST = 10.0  # a lead over the second answer that counts no more when it grows


@dataclass(frozen=True, slots=True)
class SpanEvidence:
    """What the reader made of all passages, the most probable answer first."""

    answers: tuple[SpanAnswer, ...]

    @property
    def score(self) -> float:
        """Log-odds of the best answer."""
        return self.answers[0].log_odds

    @property
    def lead(self) -> float:
        """Log-odds of the best answer less those of the next that says something else."""
        best, *others = self.answers
        rivals = (a for a in others if not _same_place(a, best))
        return min(_FARTHEST, best.log_odds - max((a.log_odds for a in rivals), default=-math.inf))


def agreement(evidence: SpanEvidence, passages: Sequence[Passage], said: str) -> float:
    """How much of what the reader holds for the answer a text says, from 0 to 1.

    Of its likeliest answers the share of each one's words, weighed by how likely that one is."""
    held, words = _Held(passages), set(compared(said))
    likeliest = evidence.answers[:_MOST_COMPARED]
    chances = [math.exp(answer.log_odds - evidence.score) for answer in likeliest]
    spans = [compared(held.words(answer.votes[0])) for answer in likeliest]
    shares = [sum(word in words for word in span) / max(1, len(span)) for span in spans]
    return math.fsum(map(math.prod, zip(chances, shares, strict=True))) / math.fsum(chances)


class Reader:
    """The generator that ships with the app."""

    name = "reader"

    def __init__(self, model: SpanModel, caution: float) -> None:
        self._model = model
        self._caution = caution

    def warm(self) -> None:
        """Load the weights now. Raises ModelUnavailable."""
        self._model.warm()

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        """Yield the answer's sentences, then the draft. Raises ModelUnavailable."""
        draft = self.answer(question, passages)
        if cancelled():
            return
        yield from pieces(draft)

    def answer(self, question: str, passages: Sequence[Passage]) -> Draft:
        """The answer, or an abstention. Raises ModelUnavailable."""
        return self.drafted(question, passages, self.evidence(question, passages))

    def drafted(self, question: str, passages: Sequence[Passage], evidence: SpanEvidence) -> Draft:
        """The answer that evidence gives, or an abstention."""
        if not evidence.answers:
            return Draft((), (), 0.0, abstained=True)
        confidence = self._model.calibration.of_library(evidence.score, evidence.lead)
        wanted, held = form(question), _Held(passages)
        if confidence < self._caution:
            nearest = held.sentence(evidence.answers[0].votes[0])
            return Draft((), (), confidence, abstained=True, closest=(nearest,))
        if wanted in (AnswerType.EXPLANATION, AnswerType.DECISION):
            return _quoted(evidence, held, confidence, wanted)
        items = _items(evidence.answers) if wanted is AnswerType.LIST else [evidence.answers[0]]
        return _stated(items, held, confidence)

    def evidence(self, question: str, passages: Sequence[Passage]) -> SpanEvidence:
        """Scored spans of all passages and the answers they add up to."""
        texts, held = _texts(passages), _Held(passages)
        seen = self._model.read(question, texts)
        answers = [
            _weighed(question, answer, held)
            for answer in marginal(texts, seen, [p.score for p in passages])
        ]
        return SpanEvidence(tuple(sorted(answers, key=lambda a: -a.log_odds)))

    def stressed(self, question: str, said: str) -> str:
        """The words of an answer that answer, empty if none stand out. Raises ModelUnavailable."""
        found = self.find(question, said)
        return said[found[0] : found[1]] if found else ""

    def find(self, question: str, text: str) -> tuple[int, int] | None:
        """Where a text clearly answers a question, None if nowhere. Raises ModelUnavailable."""
        [seen] = self._model.read(question, [text])
        best = seen.spans[0] if seen.margin >= _STANDS_OUT else None
        return (best.start, best.end) if best else None


_ASKED = re.compile(r"[^.!?]*\?")  # goes on to a question mark


class _Held:
    """Passages, and the sentences of theirs that hold a span; a passage is split up once."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._chunks = [passage.chunk for passage in passages]
        self._sentences: dict[int, list[tuple[int, int]]] = {}

    def sentence(self, vote: Vote) -> Span:
        """The sentence (or sentences) that hold a span."""
        chunk = self._chunks[vote.passage]
        if vote.passage not in self._sentences:
            self._sentences[vote.passage] = sentences(chunk.text)
        touched = [
            (start, end)
            for start, end in self._sentences[vote.passage]
            if start < vote.end and vote.start < end
        ]
        start, end = (touched[0][0], touched[-1][1]) if touched else (vote.start, vote.end)
        return Span(chunk.document_id, chunk.page, chunk.start + start, chunk.start + end)

    def text(self, vote: Vote, place: Span) -> str:
        """What stands at a place in the passage of a span."""
        chunk = self._chunks[vote.passage]
        return chunk.text[place.start - chunk.start : place.end - chunk.start]

    def is_asked(self, vote: Vote) -> bool:
        """Whether a span stands in a question."""
        return _ASKED.match(self._chunks[vote.passage].text, vote.end) is not None

    def words(self, vote: Vote) -> str:
        """What stands at the span itself."""
        return one_line(self._chunks[vote.passage].text[vote.start : vote.end])


def _texts(passages: Sequence[Passage]) -> list[str]:
    return [passage.chunk.text for passage in passages]


def _weighed(question: str, answer: SpanAnswer, held: _Held) -> SpanAnswer:
    """The answer, less likely if what it stands in is about another year than the question, or is
    a question itself."""
    vote = answer.votes[0]
    if not other_year(question, held.text(vote, held.sentence(vote))) and not held.is_asked(vote):
        return answer
    return SpanAnswer(answer.votes, answer.log_odds + _OTHER_YEAR)


def _items(answers: Sequence[SpanAnswer]) -> list[SpanAnswer]:
    """The answers of a list: those nearly as probable as the best that say something else."""
    best, *others = answers
    kept = [best]
    for answer in others:
        near = answer.log_odds >= max(best.log_odds + _ITEM, 0.0)
        if near and not any(_same_place(answer, other) for other in kept):
            kept.append(answer)
    return kept[:_MOST_ITEMS]


def _same_place(a: SpanAnswer, b: SpanAnswer) -> bool:
    """Whether two answers are cuts of the same words: "Paris" and "Paris, France"."""
    return any(overlap(x, y) for x in a.votes for y in b.votes)


def _stated(items: Sequence[SpanAnswer], held: _Held, confidence: float) -> Draft:
    """Spans, each inside its sentence, with all passages that say the same."""
    evidence: dict[str, dict[Span, None]] = {}
    for item in items:
        places = [held.sentence(vote) for vote in item.votes]
        said = one_line(held.text(item.votes[0], places[0]))
        evidence.setdefault(said, {}).update(dict.fromkeys(places))
    return Draft(
        sentences=apart(list(evidence)),
        evidence=tuple(tuple(spans)[:_MOST_SOURCES] for spans in evidence.values()),
        confidence=confidence,
        short_answer=", ".join(held.words(item.votes[0]) for item in items),
    )


def _quoted(evidence: SpanEvidence, held: _Held, confidence: float, wanted: AnswerType) -> Draft:
    """The sentences that hold most of the probability, in the order of their text."""
    weights: dict[Span, list[float]] = {}
    texts: dict[Span, str] = {}
    for vote in (vote for answer in evidence.answers for vote in answer.votes):
        place = held.sentence(vote)
        texts[place] = one_line(held.text(vote, place))
        weights.setdefault(place, []).append(vote.log_odds)
    weight = {place: log_sum(odds) for place, odds in weights.items()}
    most = 1 if wanted is AnswerType.DECISION else _MOST_SENTENCES
    ranked = sorted(weight, key=lambda place: -weight[place])[:most]
    kept = [place for place in ranked if weight[place] >= weight[ranked[0]] + _SENTENCE]
    said = {texts[place]: place for place in reversed(_in_order(kept))}
    stub = "" if wanted is AnswerType.DECISION else held.words(evidence.answers[0].votes[0])
    return Draft(
        sentences=apart(list(reversed(said))),
        evidence=tuple((place,) for place in reversed(said.values())),
        confidence=confidence,
        short_answer=stub,
    )


def _in_order(places: Sequence[Span]) -> list[Span]:
    """Pages in the order of their best sentence, sentences of a page as they stand in it."""
    first: dict[tuple[str, int], int] = {}
    for rank, place in enumerate(places):
        first.setdefault((place.document_id, place.page), rank)
    return sorted(places, key=lambda p: (first[p.document_id, p.page], p.start))


_LOOKED_AT = 120  # sentences, for one question
_MOST_QUOTES = 3
_NEAR_THE_BEST = (
    0.93  # a further sentence is quoted if its score is at least this share of the best
)
_FEWEST_WORDS = 3  # a sentence with fewer says too little to be quoted

# Logistic regression on the best sentence's features; fitted by benchmarks/fit_quotes.py.
_BIAS, _MEANING, _WORDS = -6.587, 8.371, 3.864


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of a passage and how well it fits the question."""

    span: Span
    text: str
    meaning: float = 0.0  # cosine of sentence and question
    words: float = 0.0  # share of the question's telling words in it, rare ones counting more

    @property
    def score(self) -> float:
        """Log-odds that it answers the question."""
        return _BIAS + _MEANING * self.meaning + _WORDS * self.words


class QuoteGenerator:
    """The generator that needs nothing but the embedding model."""

    name = "quotes"

    def __init__(self, embedder: Embedder, caution: float) -> None:
        self._embedder = embedder
        self._caution = caution

    def warm(self) -> None:
        """Load the embedding model now. Raises ModelUnavailable."""
        self._embedder.warm()

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        """Yield the answer's sentences, then the draft. Raises ModelUnavailable."""
        ranked = self.rank(question, passages)
        if cancelled():
            return
        draft = self._draft(ranked)
        yield from pieces(draft)

    def rank(self, question: str, passages: Sequence[Passage]) -> list[Candidate]:
        """All sentences of the passages, the best first."""
        found = candidates(passages)
        if not found:
            return []
        meaning = self._meaning(question, found)
        words = word_overlap(question, passages, found)
        scored = [
            Candidate(c.span, c.text, float(m), w)
            for c, m, w in zip(found, meaning, words, strict=True)
        ]
        return sorted(scored, key=lambda c: c.score, reverse=True)

    def _meaning(self, question: str, found: Sequence[Candidate]) -> np.ndarray:
        vectors = np.asarray(self._embedder.embed_documents([c.text for c in found]))
        similarity: np.ndarray = vectors @ np.asarray(self._embedder.embed_query(question))
        return similarity

    def _draft(self, ranked: Sequence[Candidate]) -> Draft:
        if not ranked:
            return Draft((), (), 0.0, abstained=True)
        confidence = chance_of(ranked[0].score)
        if confidence < self._caution:
            return Draft((), (), confidence, abstained=True)
        least = ranked[0].score + math.log(_NEAR_THE_BEST)
        quoted = [c for c in ranked[:_MOST_QUOTES] if c.score >= least]
        return Draft(
            sentences=apart([c.text for c in quoted]),
            evidence=tuple((c.span,) for c in quoted),
            confidence=confidence,
            short_answer=quoted[0].text,
        )


def candidates(passages: Sequence[Passage]) -> list[Candidate]:
    """The sentences of the passages, each once, in the passages' order."""
    found: dict[str, Candidate] = {}
    for passage in passages:
        chunk = passage.chunk
        for start, end in sentences(chunk.text):
            text = one_line(chunk.text[start:end])
            if len(TOKEN.findall(text)) >= _FEWEST_WORDS and text not in found:
                span = Span(chunk.document_id, chunk.page, chunk.start + start, chunk.start + end)
                found[text] = Candidate(span, text)
    return list(found.values())[:_LOOKED_AT]


def word_overlap(
    question: str, passages: Sequence[Passage], found: Sequence[Candidate]
) -> list[float]:
    """For each sentence the share of the question's telling words that it holds, by rarity.

    A word that only stands in the heading or the document's name counts half: it says what the
    sentence is about."""
    held = [stems(c.text) for c in found]
    about = _context_words(passages)
    weight = rarity(telling(question), held)
    total = sum(weight.values())
    if not total:
        return [0.0] * len(found)
    return [
        sum(
            weight[w] * (1.0 if w in words else 0.5)
            for w in weight
            if w in words or w in about.get((c.span.document_id, c.span.page), ())
        )
        / total
        for c, words in zip(found, held, strict=True)
    ]


def _context_words(passages: Sequence[Passage]) -> dict[tuple[str, int], set[str]]:
    about: dict[tuple[str, int], set[str]] = {}
    for passage in passages:
        said = f"{passage.name} {passage.chunk.heading}"
        key = (passage.chunk.document_id, passage.chunk.page)
        about.setdefault(key, set()).update(stems(said))
    return about
