"""Answers written by a chat model from the sentences that matter, and matched to them afterwards.

The reader scores the passages; the likeliest sentences are shown to the model; what it writes is
held against them: a number that stands in none of them is not said, and every sentence gets its
sources. One probability then decides whether that is the answer or "I don't know". Where the model
fails, another generator answers instead, and a note says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain

from rag_app.answering.abstention import Signals
from rag_app.answering.attribution import (
    Supported,
    claim_of,
    claims_of,
    invented,
    known_figures,
    percentages,
    pieces_of,
    pointed,
    support,
    support_in,
)
from rag_app.answering.evidence import (
    CLOSEST,
    EVEN,
    CountTokens,
    Excerpt,
    Ranking,
    RowsOf,
    SectionsOf,
    closest,
    gather,
    in_sections,
    places,
)
from rag_app.answering.extraction import Reader, SpanEvidence
from rag_app.answering.generation import (
    Cancelled,
    FollowUp,
    Generator,
    Messages,
    Piece,
    TokenBudget,
    Writer,
    finished,
    instead,
    pieces,
    repeats_itself,
    says_not_found,
    shown,
    without_repeats,
)
from rag_app.answering.prompts import Message, grounded_messages, says_nothing
from rag_app.answering.span_model import log_sum
from rag_app.errors import ChatModelError, ModelUnavailable
from rag_app.retrieval.embedding import Embedder
from rag_app.text.languages import NAMES, decimal_comma, is_english, language
from rag_app.types import Basis, Draft, Note, NoteKind, Passage, Span

SERVED_CONTEXT, OWN_CONTEXT = 3_000, 800
"""Tokens of excerpts for a model on a server, and for one that computes on this machine."""
ITS_OWN = "the language of the question"
_AROUND = 6  # tokens around each message
_A_SENTENCE = 4  # words from which a sentence is not said twice by right
_LEAST_ROOM = 100  # tokens of excerpts without which a question cannot be asked

Sources = Callable[[str], Sequence[Passage]]  # a written text to where its sources may stand
Otherwise = Callable[[], Iterator[Piece]]  # what is said if the model fails
_Close = Callable[[str, tuple[Note, ...]], Draft]  # a whole reply and its notes to a draft
_Said = Callable[[str], str]  # a reply so far to as much of it as may be shown


@dataclass(frozen=True, slots=True)
class Grounding:
    """What decides what a writer reads, and whether what it writes is the answer."""

    reader: Reader | None = None
    caution: float = 0.0  # chance of being right under which the answer is "I don't know"
    context: int = SERVED_CONTEXT  # tokens of excerpts
    watch: Callable[[Signals], None] | None = None  # told what was known, for who fits the chance
    ranking: Ranking | None = None  # which sentences hold an answer
    rows: RowsOf | None = None  # of tables, with the names of their columns
    sections: SectionsOf | None = None


@dataclass(slots=True)
class Writing:
    """One question on its way to an answer."""

    question: str
    wordings: tuple[str, ...]  # the same, and in the documents' language if that is another
    passages: Sequence[Passage]
    evidence: SpanEvidence | None
    language: str = ""
    follow_up: FollowUp | None = None  # as it was typed, if it leans on the turn before it
    ranked: float | None = None  # the ranker's log-odds that any sentence holds the answer
    excerpts: tuple[Excerpt, ...] = ()  # that may be shown
    excerpts_read: tuple[Excerpt, ...] = ()  # what the answer is written from
    answers: int | None = None  # the place that surely answers, by its number
    weighed: bool = False  # the word that decides is one of two that were weighed
    known: frozenset[str] = frozenset()  # figures that may be said
    shares: frozenset[str] = frozenset()  # those of them that are percentages
    thousands: frozenset[str] = frozenset()  # as they stand there with points: "3.412"
    signals: Signals = field(default_factory=Signals)
    chance: float = 0.0  # of being right, as far as that is known

    @property
    def places(self) -> list[tuple[Excerpt, ...]]:
        """What may be shown, as it is read one by one."""
        return places(self.excerpts, self.question)

    def show(self, excerpts: tuple[Excerpt, ...]) -> None:
        """These are what the model sees, all of them, if it is not told otherwise."""
        self.excerpts = excerpts
        self.read(excerpts)

    def read(self, excerpts: tuple[Excerpt, ...]) -> None:
        """Of these it sees only some; with the question they hold all figures that it may say."""
        texts = [text for one in excerpts for text in (one.title, *one.texts, *one.lines)]
        asked = [self.question, self.follow_up.text] if self.follow_up else [self.question]
        self.excerpts_read = excerpts
        seen = "\n".join([*asked, *texts])
        self.known = frozenset(known_figures(seen))
        self.shares = frozenset(percentages(seen))
        abroad = (one.shown for one in excerpts if decimal_comma(language(one.shown)))
        self.thousands = frozenset(chain.from_iterable(map(pointed, abroad)))


class ChatGenerator:
    """A chat model as a generator."""

    reads: int | None = None
    """Tokens of documents that a task is carried out with; None: all of them, part by part."""

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
        searched: str = "",
        follow_up: FollowUp | None = None,
    ) -> Iterator[Piece]:
        """Yield pieces as they are written, then the draft with its sources.

        `language`: of the answer, by its English name; empty: the question's. `searched`: the
        question in the documents' language, by which their sentences are weighed, too; so is
        `follow_up`: as it was typed, with the turn before it."""
        if not passages:
            yield Piece(draft=Draft((), (), 0.0, abstained=True))
            return
        asked = self._begun(question, passages, language, searched)
        asked.follow_up = follow_up
        known = self._known(asked)
        if known is not None:
            yield from pieces(known)
            return
        for piece in self._composed(
            self._replies(asked, cancelled),
            lambda raw: self._sayable(asked, raw),
            lambda raw, notes: self._stressed(asked, self._judged(asked, raw, notes)),
            lambda: self._safety.generate(question, passages, cancelled),
            cancelled,
        ):
            draft = piece.draft
            yield piece if draft is None else Piece(draft=self._completed(asked, draft, cancelled))

    # What other ways of asking a chat model do otherwise

    def _known(self, asked: Writing) -> Draft | None:
        """The answer, where nothing needs to be written."""
        return None

    def _replies(self, asked: Writing, cancelled: Cancelled) -> Iterator[str]:
        """What is written, as far as it is. Raises ChatModelError."""
        return self.writer.write(lambda room: self._asked(asked, room), cancelled)

    def _sayable(self, asked: Writing, raw: str) -> str:
        """As much of a reply so far as may be shown."""
        return sayable(shown(raw), asked.known)

    def _judged(self, asked: Writing, raw: str, notes: tuple[Note, ...]) -> Draft:
        """The draft, or an abstention that carries the closest sentence.

        The share of it that is supported stands for the chance that it is right."""
        kept = without_invented(finished(raw), asked.known)
        if says_not_found(finished(raw)) or not any(c.isalnum() for c in kept):
            return nothing(asked, 0.0, notes)
        return self._supported(asked, kept, notes, asked.question)

    def _completed(self, asked: Writing, draft: Draft, cancelled: Cancelled) -> Draft:
        """The draft, once its text is shown, with what else is to be said."""
        return draft

    def _supported(self, asked: Writing, text: str, notes: tuple[Note, ...], told: str) -> Draft:
        """The text with its sources among the excerpts; figures that were `told` need none."""
        return self._matched(
            text, notes, lambda: support_in(text, asked.excerpts_read, self._embedder, told)
        )

    def _stressed(self, asked: Writing, draft: Draft) -> Draft:
        """The draft with the words that answer, which the reader finds in what was written."""
        reader = self._grounding.reader
        if reader is None or draft.abstained or asked.language != "English":
            return draft
        try:
            words = reader.stressed(asked.question, "".join(draft.sentences))
        except ModelUnavailable:  # figures are bold, too
            return draft
        return replace(draft, stressed=words)

    def _begun(
        self, question: str, passages: Sequence[Passage], language: str, searched: str
    ) -> Writing:
        wordings = tuple(filter(None, (question, searched)))
        evidence = self._evidence(wordings[-1], passages)
        return Writing(question, wordings, passages, evidence, language or language_of(question))

    def compose(
        self,
        asked: Sequence[Messages],
        sources: Sources,
        otherwise: Otherwise,
        cancelled: Cancelled,
        rests_on: Sequence[Span] = (),
        most: Sequence[int] | None = None,
    ) -> Iterator[Piece]:
        """The same for any messages, the replies to which are paragraphs of one text; its sources
        are looked for when it is there, but where each reply `rests_on` a known place. With `most`
        each reply ends after so many sentences, or where it begins to say one again."""
        said: list[str] = []

        def close(raw: str, notes: tuple[Note, ...]) -> Draft:
            if rests_on:
                known = [
                    Supported(f"{finished(without_repeats(reply))}\n\n", (span,))
                    for reply, span in zip(said, rests_on, strict=False)
                ]
                return self._matched(raw, notes, lambda: known)
            paragraphs = raw.split("\n\n")  # of which a section may have nothing to say
            text = finished("\n\n".join(one for one in paragraphs if not says_nothing(one)))
            if not text or says_not_found(text):
                return Draft((), (), 0.0, abstained=True, notes=notes)
            return self._matched(text, notes, lambda: support(text, sources(text), self._embedder))

        replies = self._in_turn(asked, cancelled, said, most)
        yield from self._composed(replies, shown, close, otherwise, cancelled, len(asked))

    def _in_turn(
        self,
        asked: Sequence[Messages],
        cancelled: Cancelled,
        said: list[str],
        most: Sequence[int] | None,
    ) -> Iterator[str]:
        """The replies to several messages, one behind the other, as far as they are; `said` holds
        each by itself, also one that breaks off."""
        before = ""
        for at, messages in enumerate(asked):
            said.append("")
            for raw in self.writer.write(messages, cancelled):
                ended = None if most is None else ended_after(raw, most[at])
                said[-1] = self._reckoned(raw if ended is None else ended)
                yield before + said[-1]
                if ended is not None:
                    break
            if cancelled() or repeats_itself(said[-1]):
                return
            before = f"{before}{said[-1].strip()}\n\n"

    def _reckoned(self, reply: str) -> str:
        """A reply with the sums worked out that it leaves to code."""
        return reply

    def _composed(
        self,
        replies: Iterator[str],
        sayable: _Said,
        close: _Close,
        otherwise: Otherwise,
        cancelled: Cancelled,
        replied: int = 1,
    ) -> Iterator[Piece]:
        raw, said = "", ""
        notes: tuple[Note, ...] = ()
        try:
            for raw in replies:
                now = sayable(raw)
                if len(now) > len(said):
                    yield Piece(now[len(said) :])
                    said = now
        except ChatModelError as error:
            if not _says_something(raw):
                yield from instead(otherwise(), self._safety.name, str(error))
                return
            notes = (Note(NoteKind.BROKEN_OFF, (str(error),)),)
        if cancelled():
            return
        if repeats_itself(raw):
            raw, notes = without_repeats(raw), (*notes, Note(NoteKind.REPEATED))
        elif len(raw) >= replied * self.writer.longest:
            notes = (*notes, Note(NoteKind.CUT))
        if not _says_something(raw):
            yield from instead(otherwise(), self._safety.name, f"{self.name} wrote nothing.")
            return
        draft = close(raw, notes)
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
        except ModelUnavailable:  # the ranker and the writer are left
            return None

    def _asked(self, asked: Writing, room: TokenBudget) -> Sequence[Message]:
        """The question with the excerpts that fit. Raises ChatModelError if there is no room."""
        self._gather(asked, room, grounded_messages(asked.question, (), asked.language))
        return grounded_messages(asked.question, asked.excerpts, asked.language)

    def _gather(self, asked: Writing, room: TokenBudget, bare: Sequence[Message]) -> None:
        """Choose what is shown; `bare`: the messages without it. Raises ChatModelError."""
        if asked.excerpts:
            return
        given = self._grounding
        count = room.count or self._embedder.count_tokens
        left = room.tokens - sum(size + _AROUND for size in count([text for _, text in bare]))
        if left < _LEAST_ROOM:
            raise ChatModelError(
                f"The window of {self.name} is too small for the question and one passage. Choose "
                "a model with a larger window, or lower RAG_APP_CHAT_TOKENS."
            )
        asked.show(self._excerpts(asked, count, min(left, given.context)))

    def _excerpts(self, asked: Writing, count: CountTokens, most: int) -> tuple[Excerpt, ...]:
        passages = in_sections(asked.passages, self._grounding.sections)
        given = (asked.wordings, passages, count, most)
        ranking, beside = self._grounding.ranking, asked.follow_up.text if asked.follow_up else ""
        rows = self._grounding.rows
        if ranking is not None:
            try:
                found = gather(*given, ranking, beside, rows)
            except ModelUnavailable:  # the words are left
                pass
            else:
                asked.ranked = log_sum([odds for one in found for odds in one.odds])
                return found
        return gather(*given, beside=beside, rows=rows)

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


def _says_something(raw: str) -> bool:
    return any(c.isalnum() for c in finished(raw))


def ended_after(raw: str, most: int) -> str | None:
    """A reply so far up to where it has said enough: `most` whole sentences, or all before the
    first that it says again; None: it has not."""
    whole = pieces_of(raw)[:-1]  # the last may not be at its end
    words = [tuple(piece.split()) for piece in whole]
    for number, said in enumerate(words[:most]):
        if len(said) >= _A_SENTENCE and said in words[:number]:
            return "".join(whole[:number]).rstrip()
    return "".join(whole[:most]).rstrip() if len(whole) >= most else None


def language_of(question: str) -> str:
    """By its English name: a small model that is told no language writes that of the passages."""
    return "English" if is_english(question) else NAMES.get(language(question), ITS_OWN)


def nothing(asked: Writing, chance: float, notes: tuple[Note, ...]) -> Draft:
    """An abstention that carries the closest sentences."""
    near = tuple(span for span, _ in closest(asked.excerpts, CLOSEST, EVEN))
    return Draft((), (), chance, abstained=True, notes=notes, closest=near)


def without_invented(text: str, known: Set[str]) -> str:
    """A text without the sentences that hold a number that is not known."""
    return "".join(p for p, said in claims_of(text) if not invented(claim_of(said), known)).strip()


def sayable(text: str, known: Set[str]) -> str:
    """As much of a text as holds no number that is not known.

    A number at its end may still grow: it is held back."""
    said = ""
    for piece, marked in claims_of(text):
        if invented(claim_of(marked), known):
            words = marked.split(" ")
            good = next(
                n for n in range(len(words)) if invented(claim_of(" ".join(words[: n + 1])), known)
            )
            return said + "".join(f"{word} " for word in piece.split(" ")[:good])
        said += piece
    head, space, last = said.rpartition(" ")
    return head + space if any(c.isdigit() for c in last) else said
