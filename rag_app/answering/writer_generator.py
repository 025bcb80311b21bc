"""Answers by a writer that was taught to answer from passages, as those that come with the app.

It reads the excerpts place by place, says first whether a place answers the question, and then
answers in a sentence or two; sums it leaves to code. How sure it is of its first word is weighed
with what reader and retrieval say, so one reading gives both the chance and the answer."""

from __future__ import annotations

import re
from collections.abc import Generator as Generated
from collections.abc import Iterator, Sequence, Set
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import chain

from rag_app.answering import abstention
from rag_app.answering.abstention import Signals
from rag_app.answering.arithmetic import Computed, computed, is_cut_off
from rag_app.answering.attribution import figures, holding, known_figures, missing, percentages
from rag_app.answering.chat_generator import (
    ChatGenerator,
    Writing,
    ended_after,
    nothing,
    sayable,
    without_invented,
)
from rag_app.answering.evidence import (
    FAR,
    Excerpt,
    in_sections,
    is_before,
    is_referred_to,
    is_taken_back,
    likeliest,
    meet,
    odds_of,
    quotes,
)
from rag_app.answering.extraction import AnswerType, agreement, form
from rag_app.answering.generation import (
    Cancelled,
    TokenBudget,
    shown,
)
from rag_app.answering.prompts import (
    Message,
    ReplyStatus,
    said_as,
    taught_messages,
    understood,
)
from rag_app.errors import ChatModelError, ModelUnavailable
from rag_app.tables.bands import bounded
from rag_app.text.languages import decimal_comma, is_english
from rag_app.text.sentences import one_line
from rag_app.types import Basis, Draft, Note, NoteKind, Passage, Span

# Log-odds of the reader's answer, and those less the next one's, from which it needs no writer: of
# the kitchen table's questions so were 7 of 198, all of them right (benchmarks/LOG.md).
_SURE_SCORE, _SURE_LEAD = 4.5, 3.0
_SURE_TOO = 5.5  # the ranker's log-odds of the sentence that is quoted so, at least
TASKED = 1_200  # tokens of documents that a task is carried out with: seconds of reading
_HOPE = 0.5  # of the caution, before a word is written: its sources may still speak for an answer
# Above the caution, from which an answer is shown while it is written: of 101 such answers ten were
# withheld once their sources were known, of 131 that were only above it twenty (benchmarks/LOG.md).
_SURER = 0.15
_PLACES = 4  # that are read at most, and
_CERTAIN = 3.0  # log-odds that a place answers, from which no other is read (benchmarks/LOG.md)
_RIVAL = 2.5  # the same of a place that is read beside one that answers: it may say otherwise
_RIVALS = 2  # that are looked at, at most
_EITHER = 0.7  # how sure one may be of an answer that another place contradicts
_DECIDED = re.compile(r"[^\W\d_]+(?=[,.](?:\s|\Z))")  # how an answer begins that decides something
_APART = 0.3  # log-odds by which a side must be the likelier to be said (benchmarks/LOG.md)
_SIGNS = {"Yes": 1.0, "No": -1.0}  # of answers in English
_BEGUN = said_as(ReplyStatus.ANSWERED, "").rstrip()
_PIECES = 60  # of an answer, sentences and lines, at most
_SEVERAL = 3  # figures of a sheet, the sum of which is one of rows that a writer has guessed


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the writer makes of one place, as far as it is written."""

    place: int  # counted from the likeliest
    status: ReplyStatus
    text: str
    raw: str
    sure: float  # how likely its first token was
    odds: float  # log-odds by which the place was chosen

    @property
    def says_yes(self) -> float:
        """Chance that the place answers, by the writer."""
        return 1.0 - self.sure if self.status is ReplyStatus.ABSENT else self.sure

    @property
    def log_odds(self) -> float:
        """The same as log-odds."""
        return abstention.log_odds(self.says_yes)

    @property
    def certain(self) -> bool:
        """Whether the place surely answers."""
        return self.status is ReplyStatus.ANSWERED and self.log_odds >= _CERTAIN

    @property
    def weight(self) -> float:
        """What speaks for it beside others."""
        return self.log_odds + self.odds


class TaughtGenerator(ChatGenerator):
    """The app's own writer as a generator."""

    reads = TASKED

    def _known(self, asked: Writing) -> Draft | None:
        """A plain fact of which the reader is sure: it is quoted at once."""
        evidence, reader = asked.evidence, self._grounding.reader
        if reader is None or evidence is None or not evidence.answers or self._grounding.watch:
            return None
        if evidence.score < _SURE_SCORE or evidence.lead < _SURE_LEAD:
            return None
        if not (is_english(asked.question) and asked.language == "English"):
            return None
        draft = reader.drafted(asked.question, asked.passages, evidence)
        cited = {span for spans in draft.evidence for span in spans}
        sections = in_sections(asked.passages, self._grounding.sections)
        if any(is_referred_to(one, sections) or is_taken_back(one, sections) for one in cited):
            return None  # what refers to it, or came after it, may change it
        if not self._is_likeliest(asked, cited, sections):
            return None
        return replace(draft, generator="reader")

    def _is_likeliest(self, asked: Writing, cited: Set[Span], sections: Sequence[Passage]) -> bool:
        """Whether the ranker surely takes one of these places, too, if it can tell."""
        if self._grounding.ranking is None:
            return True
        given = (asked.wordings, sections, self._grounding.ranking, self._grounding.rows)
        try:
            best = likeliest(*given, _SURE_TOO)
        except ModelUnavailable:
            return True
        return best is not None and any(meet(best, one) for one in cited)

    def _messages(
        self, asked: Writing, room: TokenBudget, place: int, excerpts: tuple[Excerpt, ...] = ()
    ) -> Sequence[Message]:
        leans = asked.follow_up
        question = leans.typed if leans else asked.question
        before = (leans.asked, leans.said) if leans else None
        self._gather(asked, room, taught_messages(question, (), asked.language, before))
        asked.read(excerpts or (asked.places[place] if asked.places else ()))
        parts = [(one.title, one.shown) for one in asked.excerpts_read]
        return taught_messages(question, parts, asked.language, before)

    def _replies(self, asked: Writing, cancelled: Cancelled) -> Iterator[str]:
        """What is written, as far as it is; no more than the status where there is little hope.

        Shown all excerpts at once a small model answers fewer questions rightly, and later, so
        each place is read by itself, the likeliest first, until one surely answers or the next is
        unlikely to; else that one speaks for which its own odds and the writer's speak most (as
        RAG-Sequence weighs passages: Lewis et al. 2020).
        Where all that is known speaks for an answer and the writer says that there is none, it is
        made to go on after the word with which an answer begins."""
        best: _Reading | None = None
        for place in range(_PLACES):
            if cancelled() or (place and not self._worth_reading(asked, place)):
                break
            written = self._read(asked, place, "", cancelled)
            reading = next(written, None)
            if reading is None:  # it said nothing that is known
                continue
            if reading.certain and self._is_likely(asked, reading):
                asked.answers = place
                yield from self._said(asked, reading, chain((reading,), written), cancelled)
                return
            written.close()
            best = max(best or reading, reading, key=lambda one: one.weight)
        if best is not None and not cancelled():
            begun = _BEGUN if best.status is ReplyStatus.ABSENT else ""
            written = self._read(asked, best.place, begun, cancelled)
            yield from self._said(asked, best, written, cancelled)

    def _is_likely(self, asked: Writing, reading: _Reading) -> bool:
        """Whether what is known speaks for a place of which the writer is sure, or no other is to
        be read."""
        self._look(asked, reading)
        following = reading.place + 1
        last = following >= _PLACES or not self._worth_reading(asked, following)
        return last or asked.chance >= self._grounding.caution

    def _worth_reading(self, asked: Writing, place: int) -> bool:
        """Whether there is another place, that may answer. Where nothing ranks, or something else
        was looked for besides, its odds do not tell."""
        if place >= len(asked.places):
            return False
        tell = asked.ranked is not None and not asked.follow_up
        return not tell or odds_of(asked.places[place]) >= FAR

    def _said(
        self,
        asked: Writing,
        reading: _Reading,
        written: Iterator[_Reading],
        cancelled: Cancelled,
    ) -> Iterator[str]:
        """What is written from the place that was chosen."""
        self._look(asked, reading)
        least = 1.0 if reading.status is ReplyStatus.ABSENT else _HOPE
        if asked.chance < least * self._grounding.caution:
            yield said_as(ReplyStatus.ABSENT, "")
            return
        if word := self._weighed(asked, reading.place, cancelled):
            written = self._read(asked, reading.place, f"{_BEGUN} {word},", cancelled)
        for one in written:
            if (ended := ended_after(one.text, _PIECES)) is not None:  # it goes round
                yield said_as(one.status, ended)
                return
            yield one.raw
            if self._worked_out(asked, one.text).wrong:  # it will not be said
                return

    def _weighed(self, asked: Writing, place: int, cancelled: Cancelled) -> str:
        """The word with which an answer begins that decides whether a quantity keeps to a bound, ""
        where none is to be decided, or the writer decides nothing.

        A small writer says No to most of them, whatever the number is. So it is asked for the same
        far below and far above the bound: where it says Yes more surely, there Yes is (as
        contextual calibration takes off what is said of anything: Zhao et al. 2021)."""
        if asked.follow_up or form(asked.question) is not AnswerType.DECISION or not asked.places:
            return ""
        excerpts = asked.places[place]
        _, likeliest_line = max(max(zip(one.odds, one.lines, strict=True)) for one in excerpts)
        given = bounded(asked.question, likeliest_line)
        if given is None:
            return ""
        shown = [(one.title, one.shown) for one in excerpts]
        below, above = (
            self._decides(taught_messages(question, shown, asked.language), cancelled)
            for question in (given.below, given.above)
        )
        if below is None or above is None or abs(above - below) < _APART:
            return ""  # the number is none that matters
        asked.weighed = True
        return "Yes" if (above > below) == given.is_above else "No"

    def _decides(self, messages: Sequence[Message], cancelled: Cancelled) -> float | None:
        """Log-odds of Yes over No with which an answer in English would begin; None if it would
        begin otherwise."""
        word, sure = self._begins(messages, cancelled)
        return _SIGNS[word] * abstention.log_odds(sure) if word in _SIGNS else None

    def _read(
        self,
        asked: Writing,
        place: int,
        begun: str,
        cancelled: Cancelled,
        excerpts: tuple[Excerpt, ...] = (),
    ) -> Generated[_Reading, None, None]:
        """What is written from one place, or some excerpts, as far as it is, once the status is
        known."""
        heard: list[float] = []

        def messages(room: TokenBudget) -> Sequence[Message]:
            return self._messages(asked, room, place, excerpts)

        for raw in self.writer.write_on(begun, messages, heard.append, cancelled):
            said = understood(begun + raw)
            if said is None and len(begun + raw) >= len(_BEGUN):  # no status will come
                return
            if said is not None:
                odds = odds_of(asked.excerpts_read)
                yield _Reading(place, *said, begun + raw, heard[0] if heard else 1.0, odds)

    def _completed(self, asked: Writing, draft: Draft, cancelled: Cancelled) -> Draft:
        """The draft as it stands beside other places, and its own words."""
        if self._grounding.watch and asked.signals.supported is not None:
            self._grounding.watch(asked.signals)
        if asked.follow_up:
            return draft
        if asked.answers is not None and asked.ranked is not None:
            draft = self._beside_others(asked, draft, asked.answers, cancelled)
        return self._consistent(asked, draft, cancelled)

    def _beside_others(
        self, asked: Writing, draft: Draft, place: int, cancelled: Cancelled
    ) -> Draft:
        """A draft from a place; where another likely one surely says something else, an older paper
        or what was changed elsewhere, what both say that are read together, and what says
        otherwise. Where the place surely answers, but not well enough to be said, what another
        surely says."""
        first, *others = asked.places[place:]
        if draft.abstained:
            return self._from_another(asked, others, cancelled) or draft
        if draft.basis is not Basis.WRITTEN or not any(draft.evidence):
            return draft
        for rival in others[:_RIVALS]:
            if cancelled() or odds_of(rival) < _RIVAL:
                break
            if _of_one_sheet(first[0], rival[0]) or quotes(rival, first):
                continue
            other = self._surely(asked, rival, cancelled)
            if other is not None and _is_otherwise(asked.question, draft, other):
                older = is_before(rival, first)  # which settles nothing
                both = None if older else self._surely(asked, (*first, *rival), cancelled)
                settled = _settled(asked.question, (draft, first), (other, rival), both)
                return self._stressed(asked, settled)
        return draft

    def _consistent(self, asked: Writing, draft: Draft, cancelled: Cancelled) -> Draft:
        """A draft without the word that decides it, where the writer decides otherwise once it is
        shown nothing but the rest of its own words: "Yes, spirits must come from the bar.". A word
        that stands so in what it was shown is a name, or the first of a list; "No dogs" is not."""
        word = _decided(draft)
        decides = form(asked.question) is AnswerType.DECISION and not asked.weighed
        if draft.abstained or not word or not decides:
            return draft
        own = word.title()
        named = re.compile(rf"(?:(?<=[^\W\d_] )|(?<=[,;] )){own}\b|\b{own}[,.]")
        if any(named.search(one.shown) for one in asked.excerpts_read):
            return draft
        rest = draft.sentences[0][len(word) + 1 :].lstrip()
        left = replace(draft, sentences=(rest[:1].upper() + rest[1:], *draft.sentences[1:]))
        if not any(c.isalnum() for c in rest):  # the word is a sentence of its own
            left = replace(draft, sentences=draft.sentences[1:], evidence=draft.evidence[1:])
        if not (told := _told(left)):
            return draft
        alone = taught_messages(asked.question, [("", told)], asked.language)
        again, _ = self._begins(alone, cancelled)
        return draft if again.lower() in ("", word) else self._stressed(asked, left)

    def _begins(self, messages: Sequence[Message], cancelled: Cancelled) -> tuple[str, float]:
        """The word that decides, with which the writer begins its answer, and how sure it is of
        it. "" if it begins with another, or cannot be asked: there is an answer already."""
        said, heard = "", list[float]()
        with suppress(ChatModelError):
            for raw in self.writer.write_on(_BEGUN, lambda _: messages, heard.append, cancelled):
                said = raw.strip()
                if len(said.split()) > 1 or _DECIDED.match(said):
                    break
        word = _DECIDED.match(said)
        return (word.group(), heard[0] if heard else 0.0) if word else ("", 0.0)

    def _from_another(
        self, asked: Writing, others: Sequence[tuple[Excerpt, ...]], cancelled: Cancelled
    ) -> Draft | None:
        """What the next place that surely answers says, if any does."""
        for place in others[:_RIVALS]:
            if cancelled() or odds_of(place) < FAR:
                return None
            other = self._surely(asked, place, cancelled)
            if other is not None:
                return self._stressed(asked, other)
        return None

    def _surely(
        self, asked: Writing, excerpts: tuple[Excerpt, ...], cancelled: Cancelled
    ) -> Draft | None:
        """What some excerpts say, with its source, if they surely answer; without it there is an
        answer already, so nothing is raised."""
        other, last = replace(asked), None
        with (
            suppress(ChatModelError),
            closing(self._read(other, 0, "", cancelled, excerpts)) as written,
        ):
            for last in written:
                if not last.certain or ended_after(last.text, _PIECES) is not None:
                    return None
            if last is None or cancelled() or len(last.raw) >= self.writer.longest:
                return None
            self._look(other, last)
            draft = self._judged(other, last.raw, ())
            ours = draft.basis is Basis.WRITTEN and all(draft.evidence) and not draft.abstained
            return draft if ours else None
        return None

    def _look(self, asked: Writing, reading: _Reading) -> None:
        """Whether what is known speaks for an answer, now that the writer has said its part."""
        asked.signals = Signals(says_yes=reading.says_yes, ranked=asked.ranked)
        evidence = asked.evidence
        if evidence is not None and evidence.answers and is_english(asked.wordings[-1]):
            asked.signals = replace(asked.signals, score=evidence.score, lead=evidence.lead)
        asked.chance = abstention.before(asked.signals)

    def _reckoned(self, reply: str) -> str:
        """Of the reply's own figures: whether a document has them is looked for afterwards."""
        return computed(reply, known_figures(reply)).text

    def _worked_out(self, asked: Writing, text: str) -> Computed:
        comma = decimal_comma(asked.language)
        return computed(text, asked.known, comma, asked.shares, asked.thousands)

    def _sayable(self, asked: Writing, raw: str) -> str:
        """As much of a reply so far as may be shown."""
        said = understood(raw)
        early = asked.chance >= self._grounding.caution + _SURER
        if said is None or said[0] is ReplyStatus.ABSENT or not early:
            return ""
        done = self._worked_out(asked, shown(said[1]))
        return "" if done.wrong else sayable(done.text, asked.known | done.figures)

    def _judged(self, asked: Writing, raw: str, notes: tuple[Note, ...]) -> Draft:
        """The draft, or an abstention that carries the closest sentence."""
        status, text = understood(raw) or (ReplyStatus.ANSWERED, raw)
        if status is ReplyStatus.ABSENT:
            return nothing(asked, asked.chance, notes)
        done = self._worked_out(asked, text)
        allowed = asked.known | done.figures
        kept = without_invented(done.text, allowed)
        if done.wrong or is_cut_off(text) or not any(c.isalnum() for c in kept):
            return nothing(asked, asked.chance, notes)
        told = " ".join([asked.question, *done.figures])
        draft = self._supported(asked, kept, notes, told)
        backed = _backed(asked, draft)
        if done.steps or not any(draft.evidence):
            places = _of_figures(asked, kept, done)
            guessed = len(done.operands) >= _SEVERAL or not any(draft.evidence)
            if done.steps and not places and guessed:  # figures that nobody can look up
                return nothing(asked, asked.chance, notes)
            draft = _resting_on(places, draft)
            backed = backed if done.steps else _backed(asked, draft)
        asked.signals = replace(asked.signals, supported=draft.confidence, backed=backed)
        if asked.evidence is not None and asked.signals.score is not None:
            agrees = agreement(asked.evidence, asked.passages, kept)
            asked.signals = replace(asked.signals, agrees=agrees)
        chance = abstention.after(asked.signals)
        if chance < self._grounding.caution:
            return nothing(asked, chance, notes)
        if done.steps:
            notes = (*draft.notes, Note(NoteKind.COMPUTED, done.steps))
            return replace(draft, confidence=chance, basis=Basis.COMPUTED, notes=notes)
        return replace(draft, confidence=chance)


def _of_one_sheet(first: Excerpt, second: Excerpt) -> bool:
    """Whether both are rows of one sheet, which say different things without contradiction."""
    return first.in_sheet and first.document_id == second.document_id


def _told(draft: Draft) -> str:
    return " ".join(draft.sentences)


def _decided(draft: Draft) -> str:
    """The word by which a draft decides something, "" if it does not."""
    found = _DECIDED.match(_told(draft))
    return found.group().lower() if found else ""


def _lacking(question: str, draft: Draft, other: Draft) -> list[frozenset[str]]:
    """The figures of another draft that neither this one nor the question has."""
    return missing(_told(other), known_figures(f"{question} {_told(draft)}"))


def _shares_lacking(question: str, draft: Draft, other: Draft) -> set[bool]:
    """Of the same only whether they are percentages."""
    shares = percentages(_told(other))
    return {not values.isdisjoint(shares) for values in _lacking(question, draft, other)}


def _contradict(question: str, draft: Draft, other: Draft) -> bool:
    """Whether each of two drafts has a figure that neither the other nor the question has, both or
    neither a percentage ("18 %, to 25 million" and "25 million, 19 before" are one thing said);
    or, of what is to be decided, they begin with different words, Yes and No."""
    match form(question):
        case AnswerType.FACT:
            ours = _shares_lacking(question, draft, other)
            return not ours.isdisjoint(_shares_lacking(question, other, draft))
        case AnswerType.DECISION:
            words = {_decided(draft), _decided(other)}
            return len(words) == 2 and "" not in words
        case _:  # two lists or reasons add to each other
            return False


def _is_otherwise(question: str, draft: Draft, other: Draft) -> bool:
    """Whether another draft contradicts one, or has other figures beside its own: "6, not 4". Two
    that decide the same ("Yes, up to £5,000", "Yes, up to £750") speak of two things."""
    if "" != _decided(draft) == _decided(other):
        return False
    fact = form(question) is AnswerType.FACT
    figured = bool(missing(_told(draft), known_figures(question)))
    more = fact and figured and bool(_lacking(question, draft, other))
    return more or _contradict(question, draft, other)


_Placed = tuple[Draft, Sequence[Excerpt]]  # what is said, and where


def _settled(question: str, ours: _Placed, theirs: _Placed, both: Draft | None) -> Draft:
    """Which of two drafts holds, by what the writer makes of `both` their places together."""
    (draft, _), (other, _) = ours, theirs
    if both is not None and _holds_to(question, draft, other, both):
        return _against(question, both, ours) if _contradict(question, both, draft) else both
    return _against(question, draft, theirs) if _contradict(question, draft, other) else draft


def _holds_to(question: str, draft: Draft, other: Draft, both: Draft) -> bool:
    """Whether a third draft says what the second has and the first has not."""
    if form(question) is AnswerType.DECISION:
        return _decided(both) == _decided(other)
    told = f"{question} {_told(both)}"
    return len(_lacking(told, draft, other)) < len(_lacking(question, draft, other))


def _against(question: str, draft: Draft, said: _Placed) -> Draft:
    """A draft with a note of what is said otherwise elsewhere, word for word: of its sources the
    first with a figure that the draft lacks, if any has one."""
    other, place = said
    cited = {span for spans in other.evidence for span in spans}
    texts = [
        (one, text)
        for one in place
        for span, text in zip(one.spans, one.texts, strict=True)
        if span in cited
    ]
    known = known_figures(f"{question} {_told(draft)}")
    texts.sort(key=lambda one: not missing(one[1], known))
    if not texts:
        return draft
    where, text = texts[0]
    same = any(span.document_id == where.document_id for spans in draft.evidence for span in spans)
    note = Note(NoteKind.OTHERWISE, (where.title if same else where.name, one_line(text)))
    return replace(draft, confidence=min(draft.confidence, _EITHER), notes=(*draft.notes, note))


def _of_figures(asked: Writing, text: str, done: Computed) -> tuple[Span, ...]:
    """Where the figures of an answer stand, or those of its sums, but for what was asked with.

    No sum of a sheet: what that comes to a query says, and which of its rows a writer adds it only
    guesses."""
    texts: Sequence[Excerpt] = asked.excerpts_read
    if done.steps:
        texts = [one for one in texts if not one.in_sheet]
    said = {value for one in figures(text) for value in one}
    wanted = done.operands if done.steps else said
    return holding(wanted - known_figures(asked.question), texts)


def _resting_on(places: tuple[Span, ...], draft: Draft) -> Draft:
    """A draft with these for sources of its first sentence, too, if there are any."""
    known = {span for spans in draft.evidence for span in spans}
    first = tuple(dict.fromkeys((*draft.evidence[0], *(p for p in places if p not in known))))
    if not places:
        return draft
    notes = tuple(note for note in draft.notes if note.kind is not NoteKind.UNSUPPORTED)
    return replace(draft, evidence=(first, *draft.evidence[1:]), notes=notes)


def _backed(asked: Writing, draft: Draft) -> float | None:
    """The ranker's odds of the likeliest source of a draft; None: it has no source."""
    if asked.ranked is None:
        return None
    odds = {
        span: odds for one in asked.excerpts for span, odds in zip(one.spans, one.odds, strict=True)
    }
    return max((odds[s] for spans in draft.evidence for s in spans if s in odds), default=None)
