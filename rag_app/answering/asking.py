"""What form of answer a question asks for, by its words. Pure; English."""

from __future__ import annotations

import re
from enum import StrEnum


class Form(StrEnum):
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


def form(question: str) -> Form:
    """The form of answer that fits a question."""
    said = " ".join(question.lower().replace("’", "'").split())
    bare = _POLITE.sub("", said, count=1) or said
    if _EXPLAINS.match(bare):
        return Form.EXPLANATION
    if _DECIDES.match(bare):
        return Form.DECISION
    return Form.LIST if _LISTS.match(bare) else Form.FACT


_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d(?![\d]|[.,]\d)")


def other_year(question: str, sentence: str) -> bool:
    """Whether the question names a year and the sentence names only others."""
    asked = set(_YEAR.findall(question))
    named = set(_YEAR.findall(sentence))
    return bool(asked and named) and not asked & named
