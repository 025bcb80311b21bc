"""Wishes that lean on the wish before them: "again but shorter", "and the lease?", "compare them".

Pure; English. What is no such wish stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rag_app.answering.follow_up_focus import Turn
from rag_app.answering.follow_up_names import YEAR, years
from rag_app.answering.follow_up_words import LONGEST
from rag_app.answering.in_language import LANGUAGES, language_of_task
from rag_app.answering.small_talk import talk
from rag_app.answering.wishes import Kind, objects, rest, wanted

Names = Callable[[str], bool]  # whether a wish names documents

_MOST_WORDS = 12
_FILLS = (
    r"(?:(?:and|now|then|please|again|but|ok|okay|can|could|would|you|make|do|try|give|say|write|tell|put"
    r"|me|it|that|this|them|the|a|an|summary|comparison|same|once|more|as)\b[\s,]*)*"
)
_LANGUAGE = rf"(?:in(?:to)? )(?P<language>{'|'.join(LANGUAGES)})"
_HOW = (
    r"(?P<how>(?:(?:even|much|far|a bit|a little|slightly)\s+)?(?:shorter|briefer|longer|simpler)"
    r"|(?:in |with )?more detail(?:s|ed)?|(?:in|as) (?:(?:\w+|\d+) )?(?:\w+ )?"
    r"(?:sentences?|lines?|bullets?|points?|words|language)"
    rf"|{_LANGUAGE})"
)
_CHANGES = re.compile(
    rf"\W*{_FILLS}{_HOW}(?:[\s,]+(?:please|version|one|summary|again|this time))*\W*", re.IGNORECASE
)
_REPEATS = re.compile(
    r"\W*(?:please\W+)?(?:(?:do|say|try|repeat)\s+(?:it|that|this)(?:\s+again)?|again|repeat"
    r"|once (?:more|again)|one more time|the same again|try again)(?:\W+please)?\W*",
    re.IGNORECASE,
)
_TRANSLATES = re.compile(
    rf"\W*{_FILLS}translate\s+(?:it|that|this|them|the (?:summary|comparison|answer))\s+"
    rf"(?:in|to|into)\s+(?P<language>{'|'.join(LANGUAGES)})\b\W*",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"\W*(?:(?:and|now|also|then|ok|okay|but)\b\W*)*(?:(?:what|how) about\b|and\b|now\b|also\b"
    r"|(?:do )?the same (?:for|with|of)\b)\W*(?:(?:for|of|in|with)\b\W*)?(?P<what>.+?)[\s?.!…]*",
    re.IGNORECASE | re.DOTALL,
)
_MOST_NAMED = 8  # words that name the next document
_VERB = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|who|what|when|why)\b",
    re.IGNORECASE,
)
_POINTS = re.compile(r"\W*(?:of\s+|between\s+)?(?:it|them|these|those|both|that)\W*", re.IGNORECASE)
_ONE_OF_A_YEAR = re.compile(rf"(?:the )?(?:one (?:of|from) )?{YEAR.pattern}(?: one)?")
_REPEATED = {Kind.SUMMARY: "Summarise", Kind.TRANSLATION: "Translate"}
_TAIL = re.compile(rf",? in (?:{'|'.join(LANGUAGES)})\Z")


def written_out(turns: Sequence[Turn], names: Names) -> list[Turn]:
    """The turns with the wishes written out that repeat or vary the one before; the rest stays.

    A wish is leaned on from right after it only, small talk aside."""
    last, made = "", []
    for turn in turns:
        small = talk(turn.question) is not None
        last = last if small else _whole(turn.question, last, names)
        made.append(turn if small or not last else Turn(last, turn.answer))
    return made


def _whole(said: str, last: str, names: Names) -> str:
    """The same after the wish `last`; empty if this is no wish."""
    task = wanted(said)
    if not last or len(said) > LONGEST:
        return said if task else ""
    if found := _TRANSLATES.fullmatch(said):
        return _changed(last, f"in {found['language'].capitalize()}")
    if task is not None:
        return _with_objects(said, objects(last))
    if len(said.split()) > _MOST_WORDS:
        return ""
    if _REPEATS.fullmatch(said):
        return last
    if found := _CHANGES.fullmatch(said):
        language = found["language"]
        return _changed(last, f"in {language.capitalize()}" if language else found["how"].strip())
    return _next(said, last, names)


def _with_objects(said: str, meant: str) -> str:
    """The wish with what "it" or "them" stands for."""
    pointed = objects(said)
    if not meant or not _POINTS.fullmatch(pointed):
        return said
    at = said.index(pointed, len(said) - len(rest(said)))
    return said[:at] + meant + said[at + len(pointed) :]


def _changed(wish: str, how: str) -> str:
    """The wish with one thing more: "Summarise the lease, shorter"; a language stands last."""
    bare = wish.rstrip(" .!?")
    tail = _TAIL.search(bare)
    bare = _TAIL.sub("", bare)
    kept = tail[0] if tail and not _TAIL.fullmatch(f", {how}") else ""
    return f"{bare}, {how}{kept}"


def _next(said: str, last: str, names: Names) -> str:
    """The last wish with other documents: "and the lease?"; empty if that names none."""
    found, task = _NEXT.fullmatch(said), wanted(last)
    if not found or task is None or task.kind not in _REPEATED:
        return ""
    what = found["what"]
    if len(what.split()) > _MOST_NAMED or _VERB.search(what):
        return ""
    if _ONE_OF_A_YEAR.fullmatch(what) and len(set(years(last))) == 1:
        return YEAR.sub(years(what)[-1], last)
    wish = f"{_REPEATED[task.kind]} {what}"
    if not names(wish):
        return ""
    language = language_of_task(last)
    return _changed(wish, f"in {language}") if language else wish
