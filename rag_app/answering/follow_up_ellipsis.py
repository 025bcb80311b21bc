"""Questions that are only the part that is new, beside the question they vary. Pure; English.

"and in 2021?" varies the year of the last question, "what about Norway?" its last name, "why?" asks
about the whole of it. No telling word that was typed gets lost: what the varied question does not
hold stands before it."""

from __future__ import annotations

import re

from rag_app.answering.follow_up_focus import Focus
from rag_app.answering.follow_up_names import YEAR, names, years
from rag_app.answering.follow_up_words import ASKS, LONGEST, STOP, phrase

_MOST_WORDS = 8  # of a fragment; more of them say what is asked
_WORD = re.compile(r"\w")
_WORDS = re.compile(r"\w+")
_ENDS = " ?.!…"
_RELATION = (
    r"(?:in|for|since|until|before|after|during|by|from|between|on|at|under|with|without|of|to)"
)
_RELATES = re.compile(rf"({_RELATION})\s+", re.IGNORECASE)
_LEAD = re.compile(
    r"(?:(?:and|or|but|so|then|ok|okay|also|now|well)\b[\s,]*)*(?:what|how) about\b"
    r"|(?:and|or|but|same|likewise)\b(?!\s+(?:who|what|when|where|which|why|how|if|tell|list|show"
    r"|give|explain|describe)\b)"
    rf"|(?={_RELATION}\s)",
    re.IGNORECASE,
)
_NOUN = r"(?: (?!(?:he|she|it|they|them|this|that|these|those|of)\b)[\w-]+)"
_BARE = re.compile(
    r"(?:(?:and|but|so|ok|okay)\b[\s,]*)*(?:why(?: (?:is|was) (?:that|this)| not| so(?: \w+)?)?"
    r"|when|where|whom?|since when|until when"
    r"|how(?: (?:so|come|long|often|far|much|many|big|large|soon))?"
    rf"|(?:which|how many|how much){_NOUN}{{0,2}}"
    rf"|{_RELATION} (?:what|which|whom|how many|how much){_NOUN}{{0,3}}"
    r"|what (?:year|month|day|date|time|kind|type|sort|country|city|place|page|section)"
    rf"{_NOUN}{{0,1}})\s*(?P<end>[?.!…]*)",
    re.IGNORECASE,
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|am|be|been|do|does|did|has|have|had|can|could|will|would|shall|should"
    r"|may|might|must|happened|happens|happen)\b",
    re.IGNORECASE,
)
_WH = re.compile(r"(?:what|which|whom?|whose|how|where|when)\b", re.IGNORECASE)
_ASKS_WHY = re.compile(r"\W*(?:(?:and|but|so|ok|okay)\W+)*why\b", re.IGNORECASE)
_DECIDES = re.compile(
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b", re.IGNORECASE
)
_DETERMINED = re.compile(r"(?:the|an?|any|some|other|another|our|my)\b", re.IGNORECASE)
_ASKS_OF_ONE = re.compile(  # "What is the warranty": another thing can stand in its place
    r"(.*\b(?:is|are|was|were)\s+)(?:the|our|my|an?)\s+[\w'’-]+(?:\s+[\w'’-]+)?", re.IGNORECASE
)
_POINTS = re.compile(
    r"\b(?:it|its|they|them|their|he|him|his|she|her|this|that|these|those)\b", re.IGNORECASE
)
_BELONGS = re.compile(r"\b(?:of|in|under|for|at)\s.+", re.IGNORECASE)


def completed(question: str, focus: Focus) -> str:
    """The fragment with the question that it varies; empty if this is no fragment."""
    said = question.strip()
    if not _WORD.search(focus.question) or len(focus.question) > LONGEST:
        return ""
    if len(said.split()) > _MOST_WORDS:
        return ""
    bare = _BARE.fullmatch(said)
    if bare and (_ASKS_WHY.match(said) or not _FINITE.search(said)):
        return _asked_of_all(said[: bare.start("end")].rstrip(), focus)
    lead = _LEAD.match(said)
    new = said[lead.end() if lead else 0 :].strip(_ENDS + ",")
    if not new or _FINITE.search(new) or not (lead or _is_single(said, new)):
        return ""
    return _varied(said.rstrip(_ENDS), new, focus)


def _is_single(said: str, new: str) -> bool:
    """Whether it is one name or year with a question mark: "2021?", "Norway?"."""
    named = [name.text for name in names(new)] + years(new)
    return said.endswith("?") and named == [new]


def _asked_of_all(asked: str, focus: Focus) -> str:
    """Make "why?" after "did they leave?" into "why did they leave?"."""
    before = focus.question.strip(_ENDS)
    joint = " " if _DECIDES.match(before) else ": "
    return f"{asked}{joint}{_lowered(before)}?"


def _varied(start: str, new: str, focus: Focus) -> str:
    if _POINTS.search(new):
        return ""  # "what about his wife?" says what is asked, and pronouns are another's work
    before = focus.question.strip(_ENDS)
    relation = _RELATES.match(new)
    bare = new[relation.end() :] if relation else new
    if years(bare):
        varied = _in_year(before, years(bare)[-1])
    elif _DETERMINED.match(bare) and (kept := _kept(start, before)):
        return f"{start} {kept}?"
    elif _DETERMINED.match(bare) and (asks := _ASKS_OF_ONE.fullmatch(before)):
        varied = f"{asks[1]}{bare}"
    else:
        varied = _with_other_name(before, bare, relation[1] if relation else "", focus)
        if varied == before and relation and not _WH.match(bare):
            varied = f"{before} {new}"
    return _with_what_was_typed(start, varied)


def _with_what_was_typed(start: str, varied: str) -> str:
    """The varied question alone if it holds all that was typed: a reader is led astray by more."""
    lost = {word.lower() for word in _WORDS.findall(start)} - STOP
    lost -= {word.lower() for word in _WORDS.findall(varied)}
    return f"{start}: {_lowered(varied)}?" if lost else f"{varied}?"


def _in_year(before: str, year: str) -> str:
    """The question about another year; one that names several years, or none, gets this one."""
    if len(set(years(before))) == 1:
        return YEAR.sub(year, before)
    return before if year in before else f"{before} in {year}"


def _kept(start: str, before: str) -> str:
    """What another thing that is asked about has in common with the last one."""
    anchors = dict.fromkeys([*(name.text for name in names(before)), *years(before)])
    if kept := [one for one in anchors if one.lower() not in start.lower()]:
        return f"({', '.join(kept)})"
    owner = _BELONGS.search(phrase(before))
    return owner[0] if owner else ""


def _with_other_name(before: str, new: str, relation: str, focus: Focus) -> str:
    """The question with the name in `new` in the place of the last one there.

    With a relation, "in Norway", only of one that has the same."""
    named = [name.text for name in names(new)]
    named += [known.text for known in focus.known if known.text.lower() == new.lower()]
    held = [
        name
        for name in names(before)
        if name.text.lower() not in new.lower()
        and before[: name.start].lower().endswith(f"{relation} ".lower().lstrip())
    ]
    if not named or not held:
        return before
    old = held[-1]
    return before[: old.start] + named[0] + before[old.start + len(old.text) :]


def _lowered(question: str) -> str:
    """A question that goes on after another text: no capital unless it begins with a name."""
    return question[:1].lower() + question[1:] if ASKS.match(question) else question
