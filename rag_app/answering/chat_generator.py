"""Answers written by a chat model from the sentences that matter, and matched to them afterwards.

The reader scores the passages; the likeliest sentences are shown to the model; what it writes is
held against them: a number that stands in none of them is not said, and every sentence gets its
sources. One probability then decides whether that is the answer or "I don't know". Where the model
fails, another generator answers instead, and a note says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from rag_app.answering import abstention
from rag_app.answering.abstention import Signals
from rag_app.answering.attribution import Supported, claim_of, pieces_of, support, support_in
from rag_app.answering.evidence import Excerpt, closest, gather
from rag_app.answering.extraction import Reader, SpanEvidence
from rag_app.answering.figures import invented, known_figures
from rag_app.answering.generation import (
    Cancelled,
    Generator,
    Messages,
    Piece,
    TokenBudget,
    Writer,
    finished,
    instead,
    repeats_itself,
    says_not_found,
    shown,
    without_repeats,
)
from rag_app.answering.prompts import (
    Message,
    confirmation_messages,
    decision_messages,
    grounded_messages,
)
from rag_app.errors import ChatModelError, ModelUnavailable
from rag_app.retrieval.embedding import Embedder
from rag_app.text.languages import NAMES, is_english, language
from rag_app.types import Basis, Draft, Note, NoteKind, Passage

SERVED, EMBEDDED = 3_000, 330
"""Tokens of excerpts for a model on a server, and for one that computes on this machine."""
_ITS_OWN = "the language of the question"
_AROUND = 6  # tokens around each message
_LEAST_ROOM = 100  # tokens of excerpts without which a question cannot be asked

Sources = Callable[[str], Sequence[Passage]]  # a written text to where its sources may stand
Otherwise = Callable[[], Iterator[Piece]]  # what is said if the model fails
Certainty = Callable[[Sequence[Message]], float]
"""Messages that ask for Yes or No to the chance of Yes. Raises ChatModelError."""
_Close = Callable[[str, tuple[Note, ...]], Draft]  # a finished text and its notes to a draft
_Said = Callable[[str], str]  # a text so far to as much of it as may be shown


@dataclass(frozen=True, slots=True)
class Grounding:
    """What decides what a writer reads, and whether what it writes is the answer."""

    reader: Reader | None = None
    certainty: Certainty | None = None  # of a model that can be asked for chances
    caution: float = 0.0  # chance of being right under which the answer is "I don't know"
    context: int = SERVED  # tokens of excerpts
    watch: Callable[[Signals], None] | None = None  # told what was known, for who fits the chance


@dataclass(slots=True)
class _Writing:
    """One question on its way to an answer."""

    question: str
    passages: Sequence[Passage]
    evidence: SpanEvidence | None
    language: str = ""
    near: float = 0.0
    excerpts: tuple[Excerpt, ...] = ()
    known: frozenset[str] = frozenset()  # figures that may be said
    signals: Signals = field(default_factory=Signals)
    shows: bool = True  # whether the answer is shown as it is written

    def show(self, excerpts: tuple[Excerpt, ...]) -> None:
        """These are what the model sees; with the question they hold all figures it may say."""
        texts = [text for one in excerpts for text in (one.title, *one.texts)]
        self.excerpts = excerpts
        self.known = frozenset(known_figures("\n".join([self.question, *texts])))

    def lacks(self, piece: str) -> bool:
        """Whether a piece of the answer holds a figure that stands nowhere."""
        return invented(claim_of(piece), self.known)


class ChatGenerator:
    """A chat model as a generator."""

    def __init__(
        self,
        writer: Writer,
        embedder: Embedder,
        safety: Generator,
        grounding: Grounding | None = None,
    ) -> None:
        self.name = writer.name
        self.writer = writer
        self._embedder = embedder
        self._safety = safety
        self._grounding = grounding or Grounding()

    def warm(self) -> None:
        """Load what answers if the chat model cannot. Raises ModelUnavailable."""
        self._safety.warm()

    def generate(
        self,
        question: str,
        passages: Sequence[Passage],
        cancelled: Cancelled,
        language: str = "",
    ) -> Iterator[Piece]:
        """Yield pieces as they are written, then the draft with its sources.

        `language`: of the answer, by its English name; empty: the question's."""
        if not passages:
            yield Piece(draft=Draft((), (), 0.0, abstained=True))
            return
        asked = _Writing(question, passages, self._evidence(question, passages), language)
        yield from self._composed(
            lambda room: self._asked(asked, room),
            lambda text: _sayable(text, asked) if asked.shows else "",
            lambda text, notes: self._judged(asked, text, notes),
            lambda: self._safety.generate(question, passages, cancelled),
            cancelled,
        )

    def compose(
        self, messages: Messages, sources: Sources, otherwise: Otherwise, cancelled: Cancelled
    ) -> Iterator[Piece]:
        """The same for any messages, the sources being looked for when the text is there."""

        def close(text: str, notes: tuple[Note, ...]) -> Draft:
            if says_not_found(text):
                return Draft((), (), 0.0, abstained=True, notes=notes)
            return self._matched(text, notes, lambda: support(text, sources(text), self._embedder))

        yield from self._composed(messages, lambda text: text, close, otherwise, cancelled)

    def _composed(
        self,
        messages: Messages,
        sayable: _Said,
        close: _Close,
        otherwise: Otherwise,
        cancelled: Cancelled,
    ) -> Iterator[Piece]:
        raw, said = "", ""
        notes: tuple[Note, ...] = ()
        try:
            for raw in self.writer.write(messages, cancelled):
                now = sayable(shown(raw))
                if len(now) > len(said):
                    yield Piece(now[len(said) :])
                    said = now
        except ChatModelError as error:
            if not raw.strip():
                yield from instead(otherwise(), self._safety.name, str(error))
                return
            notes = (Note(NoteKind.BROKEN_OFF, (str(error),)),)
        if cancelled():
            return
        if repeats_itself(raw):
            raw, notes = without_repeats(raw), (*notes, Note(NoteKind.REPEATED))
        elif len(raw) >= self.writer.longest:
            notes = (*notes, Note(NoteKind.CUT))
        text = finished(raw)
        if not any(c.isalnum() for c in text):
            yield from instead(otherwise(), self._safety.name, f"{self.name} wrote nothing.")
            return
        draft = close(text, notes)
        whole = "".join(draft.sentences)
        if not said and whole:
            yield Piece(whole)
        yield Piece(draft=draft)

    # What the model is shown

    def _evidence(self, question: str, passages: Sequence[Passage]) -> SpanEvidence | None:
        reader = self._grounding.reader
        if reader is None or not passages:
            return None
        try:
            return reader.evidence(question, passages)
        except ModelUnavailable:  # the words and their meaning are left
            return None

    def _asked(self, asked: _Writing, room: TokenBudget) -> Sequence[Message]:
        """The question with the excerpts that fit. Raises ChatModelError if there is no room."""
        given = self._grounding
        count = room.count or self._embedder.count_tokens
        small = given.certainty is not None
        tongue = asked.language or (_language_of(asked.question) if small else _ITS_OWN)
        bare = grounded_messages(asked.question, (), tongue, small=small)
        left = room.tokens - sum(size + _AROUND for size in count([text for _, text in bare]))
        if left < _LEAST_ROOM:
            raise ChatModelError(
                f"The window of {self.name} is too small for the question and one passage. Choose "
                "a model with a larger window, or lower RAG_APP_CHAT_TOKENS."
            )
        seen = asked.evidence.seen if asked.evidence else ()
        most = min(left, given.context)
        nearness = partial(self._nearness, asked)
        asked.show(gather(asked.question, asked.passages, seen, count, most, nearness))
        self._look_before(asked)
        return grounded_messages(asked.question, asked.excerpts, tongue, small=small)

    def _nearness(self, asked: _Writing, texts: Sequence[str]) -> Sequence[float]:
        try:
            vectors = np.asarray(self._embedder.embed_documents(list(texts)))
            near = vectors @ np.asarray(self._embedder.embed_query(asked.question))
        except ModelUnavailable:
            return [0.0] * len(texts)
        asked.near = float(near.max())
        found: list[float] = near.tolist()
        return found

    # How sure the answer is

    def _look_before(self, asked: _Writing) -> None:
        """What is known before a word is written; a doubtful answer is not shown half-written."""
        certainty, evidence = self._grounding.certainty, asked.evidence
        if certainty is None:
            return
        says_yes = certainty(decision_messages(asked.question, asked.excerpts))
        asked.signals = Signals(says_yes=says_yes)
        if evidence is not None and evidence.answers and is_english(asked.question):
            asked.signals = Signals(evidence.score, evidence.lead, asked.near, says_yes)
        asked.shows = abstention.before(asked.signals) >= self._grounding.caution

    def _judged(self, asked: _Writing, text: str, notes: tuple[Note, ...]) -> Draft:
        """The draft, or an abstention that carries the closest sentence."""
        kept = "".join(p for p in pieces_of(text) if not asked.lacks(p)).strip()
        if says_not_found(text) or not any(c.isalnum() for c in kept):
            return _nothing(asked, 0.0, notes)
        draft = self._matched(
            kept, notes, lambda: support_in(kept, asked.excerpts, self._embedder, asked.question)
        )
        certainty = self._grounding.certainty
        if certainty is None:  # the share of it that is supported stands for the chance
            return draft
        try:
            confirms = certainty(confirmation_messages(asked.question, asked.excerpts, kept))
        except ChatModelError:  # the answer is there, only nobody who confirms it
            return draft
        signals = replace(asked.signals, confirms=confirms, supported=draft.confidence)
        if self._grounding.watch:
            self._grounding.watch(signals)
        chance = abstention.after(signals)
        if chance < self._grounding.caution:
            return _nothing(asked, chance, notes)
        return replace(draft, confidence=chance)

    def _matched(
        self, text: str, notes: tuple[Note, ...], judge: Callable[[], list[Supported]]
    ) -> Draft:
        """The text with its sources; the confidence is the share of it that has any."""
        try:
            judged = judge()
        except ModelUnavailable as error:
            judged = [Supported(text)]
            notes = (*notes, Note(NoteKind.MODEL_FAILED, (str(error),)))
        claims = [one for one in judged if one.claims]
        held = sum(bool(one.evidence) for one in claims)
        if claims and not held:
            notes = (*notes, Note(NoteKind.UNSUPPORTED))
        elif held < len(claims):
            notes = (*notes, Note(NoteKind.PARTLY_SUPPORTED))
        return Draft(
            sentences=tuple(one.text for one in judged),
            evidence=tuple(one.evidence for one in judged),
            confidence=held / len(claims) if claims else 0.0,
            basis=Basis.WRITTEN,
            notes=notes,
        )


def _language_of(question: str) -> str:
    """By its English name: a small model that is told no language writes that of the passages."""
    return "English" if is_english(question) else NAMES.get(language(question), _ITS_OWN)


def _nothing(asked: _Writing, chance: float, notes: tuple[Note, ...]) -> Draft:
    [best, *_] = [*closest(asked.excerpts), (None, "")]
    return Draft((), (), chance, abstained=True, notes=notes, closest=best[0])


def _sayable(text: str, asked: _Writing) -> str:
    """As much of a text as holds no number that stands in no source.

    A number at its end may still grow: it is held back."""
    said = ""
    for piece in pieces_of(text):
        if asked.lacks(piece):
            words = piece.split(" ")
            good = next(n for n in range(len(words)) if asked.lacks(" ".join(words[: n + 1])))
            return said + "".join(f"{word} " for word in words[:good])
        said += piece
    head, space, last = said.rpartition(" ")
    return head + space if any(c.isdigit() for c in last) else said
