"""Words that questions are made of, and what a question without names is about. Pure; English.

Knows nothing of capitals: people leave them out."""

from __future__ import annotations

import re

_LONGEST_ASKED = 200
LONGEST = 600  # characters of one text that are looked at: a page that is quoted is no topic


def words(text: str) -> frozenset[str]:
    """The words of a list written as a text."""
    return frozenset(text.split())


STOP = words(
    "a an the this that these those and or but so nor yet if then than as of in on at to from by "
    "for with without about into over under after before during between through against since "
    "until upon off up down out i me my mine we us our ours you your yours he him his she her hers "
    "it its they them their theirs who whom whose which what when where why how is are was were be "
    "been being am do does did done doing has have had having can could will would shall should "
    "may might must not no yes any some all each every both either neither none other others "
    "another else more most much many few less least very too also just only even still again "
    "ever never there here now once same such own tell me say please ok okay isn't aren't wasn't "
    "weren't don't doesn't didn't hasn't haven't can't couldn't won't wouldn't"
)
_VERBS = words(
    "get got make made earn start begin end occur happen take go come work release say think play "
    "become find feel leave join win lose form call use need want cost pay sell buy change last "
    "mean cover require provide include apply expire grow fall rise increase decrease report"
)
ASKS = re.compile(
    r"(?:who|what|when|where|which|why|how|is|are|was|were|do|does|did|can|could|has|have|had|will"
    r"|would|should|tell|list|name|give|show|explain|describe|and|but|or|so|any|there)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"\b(?:is|are|was|were|about)\s+((?:the|our|my|an?)\s+[\w'’& -]+)", re.IGNORECASE
)
_HELPED = re.compile(
    r"\b(?:do|does|did|has|have|had|will|would|can|could|should)\s+"
    r"((?:the\s+|our\s+|my\s+)?(?:[\w'’&-]+\s*){1,6})",
    re.IGNORECASE,
)
_OF = re.compile(
    r"\b(?:of|for|about|by|at|with)\s+((?:the\s+)?(?:[\w'’&-]+\s*){1,5})", re.IGNORECASE
)


def phrase(question: str) -> str:
    """What a question is about: "the notice period" of "what is the notice period?"."""
    said = question[:_LONGEST_ASKED]
    if found := _SUBJECT.search(said):
        return _trimmed(found[1].split())
    if found := _OF.search(said):
        return _trimmed(_until_stop(found[1].split()))
    if found := _HELPED.search(said):
        return _trimmed(_until_verb(_until_stop(found[1].split())))
    return ""


def _until_stop(run: list[str]) -> list[str]:
    for at, word in enumerate(run):
        if word.lower() in STOP and not (at == 0 and word.lower() in ("the", "our", "my")):
            return run[:at]
    return run


def _until_verb(run: list[str]) -> list[str]:
    for at, word in enumerate(run[1:], 1):
        if word.lower() in _VERBS or word.lower().endswith("ed"):
            return run[:at]
    return run[:-1] if len(run) > 1 else run


def _trimmed(run: list[str]) -> str:
    while run and run[-1].lower() in STOP:
        run = run[:-1]
    return " ".join(run) if any(word.lower() not in STOP for word in run) else ""
