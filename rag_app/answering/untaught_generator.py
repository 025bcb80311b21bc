"""Answers by a small writer that was taught nothing: examples in its prompt, and asked thrice.

It is asked whether the excerpts answer the question, then for the answer, then whether they state
exactly that; the excerpts are read once for all three."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rag_app.answering import abstention
from rag_app.answering.abstention import Signals
from rag_app.answering.chat_generator import ChatGenerator, Grounding, Writing, nothing
from rag_app.answering.evidence import LEFT_OUT, Excerpt, closest
from rag_app.answering.generation import (
    Generator,
    TokenBudget,
    Writer,
)
from rag_app.answering.prompts import ANSWER_IN, GROUNDED, QUESTION, Message, marked
from rag_app.errors import ChatModelError
from rag_app.retrieval.embedding import Embedder
from rag_app.text.languages import is_english
from rag_app.text.sentences import one_line
from rag_app.types import Draft, Note

Certainty = Callable[[Sequence[Message]], float]
"""Messages that ask for Yes or No to the chance of Yes. Raises ChatModelError."""

_DECIDE = "Do the passages above answer this question? Write only Yes or No."
_CONFIRM = (
    "Proposed answer: {0}\n"
    "Do the passages state exactly this answer to the question? Write only Yes or No."
)
_NEAREST = 2  # sentences that are said again after the question
_NEAR, _NEW = "Nearest sentences: ", "New passages:"

# What a small model learns from: to say No where something is forbidden or not said, to answer both
# halves of a question and in its language. The same before every question, so it is read once.
_EXAMPLE = """[mark] Invoice 2231.pdf – Qty | Item | Price | Sum
2 | Brake cable | 4.50 | 9.00
1 | Labour, 1.5 h | 48.00 | 72.00

[mark] Bike shop handbook.pdf – Opening hours
The shop is open from Tuesday to Saturday, 9:30 to 18:00.
…
In July it closes at 16:00.
Bikes for repair are taken in until half an hour before closing; without a deposit of £20 no \
repair is begun."""
_OPEN = "The shop is open from Tuesday to Saturday, 9:30 to 18:00."
_TAKEN = (
    "Bikes for repair are taken in until half an hour before closing; without a deposit of £20 no "
    "repair is begun."
)
_CABLE, _LABOUR = "2 | Brake cable | 4.50 | 9.00", "1 | Labour, 1.5 h | 48.00 | 72.00"
_TURNS = (  # question, nearest sentences, what is asked for, reply
    (
        "can i come by on a monday",
        _OPEN,
        ANSWER_IN.format("English"),
        "No, the bike shop is open only from Tuesday to Saturday.",
    ),
    ("who owns the bike shop?", _TAKEN, _DECIDE, "No"),
    (
        "until when do they take bikes in july and what must i pay first",
        f"{_TAKEN} {LEFT_OUT} In July it closes at 16:00.",
        ANSWER_IN.format("English"),
        "In July, bikes for repair are taken in until 15:30, half an hour before closing, and you "
        "first have to pay a deposit of £20.",
    ),
    ("What is the deposit for a repair?", _TAKEN, _DECIDE, "Yes"),
    (
        "What is the deposit for a repair?",
        _TAKEN,
        _CONFIRM.format("The deposit for a repair is £48.00."),
        "No",
    ),
    (
        "Was hat die Arbeit gekostet?",
        _LABOUR,
        ANSWER_IN.format("German"),
        "Die Arbeit (1,5 Stunden) hat 72.00 gekostet, bei 48.00 pro Stunde.",
    ),
    (
        "How much was the labour per hour?",
        _LABOUR,
        _CONFIRM.format("The labour was 48.00 per hour."),
        "Yes",
    ),
    ("How much is a new chain?", _CABLE, _DECIDE, "No"),
    (
        "list what was on the invoice",
        f"{_CABLE} {LEFT_OUT} {_LABOUR}",
        ANSWER_IN.format("English"),
        "Invoice 2231 lists 2 brake cables (9.00) and 1.5 hours of labour (72.00).",
    ),
)


class UntaughtGenerator(ChatGenerator):
    """A small chat model that can be asked for chances, as a generator."""

    def __init__(
        self,
        writer: Writer,
        embedder: Embedder,
        safety: Generator,
        grounding: Grounding,
        certainty: Certainty,
    ) -> None:
        super().__init__(writer, embedder, safety, grounding)
        self._certainty = certainty

    def _asked(self, asked: Writing, room: TokenBudget) -> Sequence[Message]:
        said = ANSWER_IN.format(asked.language)
        self._gather(asked, room, _after_examples(asked.question, (), said))
        self._look_before(asked)
        return _after_examples(asked.question, asked.excerpts, said)

    def _look_before(self, asked: Writing) -> None:
        """What is known before a word is written; a doubtful answer is not shown half-written."""
        says_yes = self._certainty(_after_examples(asked.question, asked.excerpts, _DECIDE))
        asked.signals = Signals(says_yes=says_yes)
        evidence = asked.evidence
        if evidence is not None and evidence.answers and is_english(asked.wordings[-1]):
            asked.signals = Signals(evidence.score, evidence.lead, asked.ranked, says_yes)
        asked.shows = abstention.before(asked.signals) >= self._grounding.caution

    def _sayable(self, asked: Writing, raw: str) -> str:
        return super()._sayable(asked, raw) if asked.shows else ""

    def _judged(self, asked: Writing, raw: str, notes: tuple[Note, ...]) -> Draft:
        """The draft, or an abstention that carries the closest sentence."""
        draft = super()._judged(asked, raw, notes)
        if draft.abstained:
            return draft
        kept = "".join(draft.sentences)
        last = _CONFIRM.format(one_line(kept))
        try:
            confirms = self._certainty(_after_examples(asked.question, asked.excerpts, last))
        except ChatModelError:  # the answer is there, only nobody who confirms it
            return draft
        signals = replace(asked.signals, confirms=confirms, supported=draft.confidence)
        if self._grounding.watch:
            self._grounding.watch(signals)
        chance = abstention.after(signals)
        if chance < self._grounding.caution:
            return nothing(asked, chance, notes)
        return replace(draft, confidence=chance)


def _after_examples(question: str, excerpts: Sequence[Excerpt], last: str) -> list[Message]:
    messages = [("system", GROUNDED)]
    for number, (asked, near, told, reply) in enumerate(_TURNS):
        before = f"{_EXAMPLE}\n\n" if number == 0 else ""
        messages.append(("human", f"{before}[mark] {QUESTION}{asked}\n{_NEAR}{near}\n{told}"))
        messages.append(("ai", reply))
    data, mark = marked([(one.title, one.shown) for one in excerpts])
    nearest = f" {LEFT_OUT} ".join(one_line(text) for _, text in closest(excerpts, _NEAREST))
    shown_now = f"{data}[{mark}] {QUESTION}{one_line(question)}\n{_NEAR}{nearest}"
    return [*messages, ("human", f"{_NEW}\n{shown_now}\n{last}")]
