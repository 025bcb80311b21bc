"""Follow-up questions made standalone by rule, before anything is searched. Pure; English rules.

"how old is he?" gets the name, "and in 2021?" the question it varies, "was the tour a success?" the
topic. Whatever the user typed stays, but for a pronoun that gives way to what it stands for; a
question that stands alone, or that no rule understands, stays as it is. Small talk is nothing to
lean on, and a wish only for what points at what it was about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rag_app.answering.follow_up_ellipsis import completed
from rag_app.answering.follow_up_focus import Focus, Turn
from rag_app.answering.follow_up_names import Kind, names
from rag_app.answering.follow_up_prompt import cleaned, rewrite_prompt
from rag_app.answering.follow_up_words import STOP, words
from rag_app.answering.small_talk import talk
from rag_app.answering.wishes import subject, wanted
from rag_app.text.languages import is_english

__all__ = ["Turn", "cleaned", "rewrite_prompt", "standalone"]

LONGEST_FOLLOW_UP = 400  # characters; who types more has said what it is about
RECENT = 12  # turns that are looked at

_FAMILIES = {
    "he": "he him his himself",
    "she": "she her hers herself",
    "they": "they them their theirs themselves",
    "it": "it its itself",
}
_FAMILY = {word: family for family, listed in _FAMILIES.items() for word in listed.split()}
_PRONOUN = re.compile(
    rf"(?<![\w'’-])({'|'.join(_FAMILY)})(?=['’](?:s|d|ll|re|ve)\b|[^\w'’-]|\Z)", re.IGNORECASE
)
_OF_THEM = re.compile(r"\bof (?:them|those|these)\b(?=\s*(?:[?.!,]|\Z|\w))", re.IGNORECASE)
_WORD = re.compile(r"[\w'’]+")
_FOREIGN = words("they them")  # seldom the one who was named a few words before
_OWNING = words("his their theirs its hers")
_NEXT_WORD = re.compile(r"\s+([\w'’-]+)")
_IDLE_IT = re.compile(
    r"it(?:['’]s)?\s+(?:(?:is|was|be|would|not)\s+)*(?:true|possible|likely|important|necessary|clear"
    r"|legal|allowed|safe|rain\w*|take\b.*\bto|cost\b.*\bto|mean\b.*\bto|like\s+to|ok|okay)\b",
    re.IGNORECASE,
)
_THERE = re.compile(
    r"(?P<moves>\b(?:go|goes|went|gone|move|moves|moved|moving|travel\w*|return\w*|come|came|get|got"
    r"|fly|flew|sent|send)\s+(?:back\s+|out\s+|over\s+)?)?\bthere\b(?=\s*(?:[?.!,;]|\Z|(?:in|on|from|until"
    r"|for|after|before|during|with|as|at|by)\b))",
    re.IGNORECASE,
)
_EXPECTING = re.compile(
    r"\b(?:is|are|was|were|be|been|isn't|aren't|wasn't|weren't)\s+\Z", re.IGNORECASE
)
_ASKS_WHAT_IT_IS = re.compile(  # "What are superlinear returns?": of its own, whatever was said
    r"\W*(?:what|who)(?:['’]s| is| are) "
    r"(?:an? )?(?!the\b|this\b|that\b|his\b|her\b|its\b|their\b)[\w'’ -]+\??\W*\Z"
    r"|\W*(?:define|explain|describe) ",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"\b(?:the|this|that|these|those|he|she|it|they|him|her|his|hers|its|their|theirs|them|there"
    r"|then|others?|another|else|more|same|such|first|last|next|further|later|after|before|also"
    r"|some|any|anything|anyone|ones?|own|back|again|happen\w*)\b",
    re.IGNORECASE,
)
_POINTED = re.compile(
    r"\b(?:this|that)(?:\s+(?:album|song|single|book|novel|film|movie|show|series|play|musical|poem|record"
    r"|report|contract|agreement|policy|law|case|project|product|company|firm)\b"
    r"(?!\s+(?:of|by|called|named|on)\b|['’-])|(?=\s*(?:[?.!,]|\Z)))",
    re.IGNORECASE,
)


def standalone(question: str, turns: Sequence[Turn]) -> str:
    """The question with what it leaves to `turns` (the last one is the most recent) put in."""
    if len(question) > LONGEST_FOLLOW_UP or not question.strip():
        return question
    focus = Focus()
    for turn in turns[-RECENT:]:
        if talk(turn.question) or _is_foreign(turn.question):
            continue
        if wanted(turn.question):
            focus = focus.after_wish(subject(turn.question))
            continue
        made, meant = _resolved(turn.question, focus)
        focus = focus.after(turn, made, meant)
    return _resolved(question, focus)[0]


def _is_foreign(question: str) -> bool:
    """Whether a question is in another language, whose first word would pass for a name."""
    return "?" in question and not is_english(question[:LONGEST_FOLLOW_UP])


def _resolved(question: str, focus: Focus) -> tuple[str, Mapping[str, str]]:
    """The question standalone, and what each of its pronouns was taken for."""
    if len(question) > LONGEST_FOLLOW_UP or not question.strip():
        return question, {}
    if whole := completed(question, focus):
        return whole, {}
    meant: dict[str, str] = {}
    made = _with_several(question, focus)
    made = _with_referents(made, focus, meant)
    made = _with_full_names(_with_work(_with_place(made, focus), focus), focus)
    named = focus.topic is not None and not focus.topic.text.islower()  # no word looked for
    if focus.topic and named and meant.keys() <= {"it"} and _wants_anchor(question, focus):
        made = _anchored(made, focus.topic.text)
    return made, meant


def _with_several(question: str, focus: Focus) -> str:
    return _OF_THEM.sub(f"of {focus.several}", question, count=1) if focus.several else question


def _with_referents(question: str, focus: Focus, meant: dict[str, str]) -> str:
    own = names(question)

    def put_in(pronoun: re.Match[str]) -> str:
        family = _FAMILY[pronoun[1].lower()]
        inside = pronoun[1].lower() not in _FOREIGN and any(
            name.start < pronoun.start() for name in own
        )
        idle = family == "it" and _IDLE_IT.match(question, pronoun.start())
        if family in meant or inside or idle or _is_it_department(question, pronoun[0]):
            return pronoun[0]
        found = focus.referent(family)
        if not found or found.lower() in question.lower():
            return pronoun[0]
        meant[family] = found
        return found + ("'s" if _owns(question, pronoun) else "")

    return _PRONOUN.sub(put_in, question)


def _is_it_department(question: str, word: str) -> bool:
    return word == "IT" and not question.isupper()


def _owns(question: str, pronoun: re.Match[str]) -> bool:
    word = pronoun[1].lower()
    follows = _NEXT_WORD.match(question, pronoun.end())
    return word in _OWNING or (
        word == "her" and follows is not None and follows[1].lower() not in STOP
    )


def _with_place(question: str, focus: Focus) -> str:
    def put_in(there: re.Match[str]) -> str:
        moves = there["moves"] or ""
        if not moves and _EXPECTING.search(question[: there.start()]):
            return there[0]  # "how many are there"
        return f"{moves}{'to' if moves else 'in'} {focus.place}"

    return _THERE.sub(put_in, question, count=1) if focus.place else question


def _with_work(question: str, focus: Focus) -> str:
    """Say which album "this album" is: the one that was named last."""
    if not focus.work or focus.work.lower() in question.lower():
        return question
    return _POINTED.sub(lambda that: f"{that[0]} {focus.work}", question, count=1)


def _with_full_names(question: str, focus: Focus) -> str:
    """Say which Wilson: the Brian Wilson of whom there was talk."""
    for name in names(question):
        full = _full(name.text, focus)
        if full and full not in question:
            part = re.compile(rf"(?<!\w){re.escape(name.text)}(?!\w)")
            question = part.sub(full.replace("\\", r"\\"), question, count=1)
    return question


def _full(name: str, focus: Focus) -> str:
    for known in reversed(focus.known):
        parts = known.text.split()
        if known.kind is Kind.PERSON and len(parts) > 1 and name in (parts[0], parts[-1]):
            return known.text
    return ""


def _wants_anchor(question: str, focus: Focus) -> bool:
    """Whether this is English and names nothing, neither of its own nor of what was said.

    What asks what something is stands alone."""
    if _ASKS_WHAT_IT_IS.match(question) and not _LEANS.search(question):
        return False
    said = question.lower()
    spoken = _WORD.findall(said)
    return (
        len(spoken) > 1
        and not STOP.isdisjoint(spoken)
        and not names(question)
        and not any(known.text.lower() in said for known in focus.known)
    )


def _anchored(question: str, anchor: str) -> str:
    if anchor.lower() in question.lower():
        return question
    body = question.rstrip(" ?.!…\n\t")
    return f"{body} ({anchor}){question[len(body) :].strip()}"
