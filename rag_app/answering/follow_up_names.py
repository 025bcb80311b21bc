"""What turns of a conversation name: persons, firms, titles, places, years. Pure; English rules.

Knows nothing of questions and pronouns. A name is seen by its capitals or its quotation marks, so
a text with neither has none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from rag_app.answering.follow_up_words import LONGEST, STOP, words


class Kind(Enum):
    """What a name seems to stand for."""

    PERSON = auto()
    GROUP = auto()
    PLACE = auto()
    WORK = auto()  # in quotation marks
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Name:
    """A name and where it stands in its text."""

    text: str
    kind: Kind
    start: int


_MONTHS = words(
    "january february march april may june july august september october november december jan feb "
    "mar apr jun jul aug sep sept oct nov dec "
    "monday tuesday wednesday thursday friday saturday sunday"
)
_FIRM = words(
    "inc inc. corp corp. corporation company co co. ltd ltd. limited llc llp plc gmbh ag group "
    "holdings bank band orchestra university committee council ministry department association "
    "party team club institute foundation society union league agency commission court college"
)
_TITLED = words("mr mr. mrs mrs. ms ms. dr dr. prof prof. sir lord lady president king queen")
_JOINS = words("of de da del der van von du la le & al bin ibn")
_PLACED = words("in at to from near into")
_LONGEST_NAME = 80  # characters
_TOKEN = re.compile(r"\w(?:[\w'’&.-]*\w)?\.?|([^\w\s])\1*|\n\s*\n")
_BEFORE_SENTENCE = frozenset('.!?:;"')
_QUOTED = re.compile(r"[\"“«] ?([^\s\"“”«»][^\"“”«»\n]{1,80}?)[\"”»]")
_MARK = re.compile(r"\[\d+\]")
_INITIAL = re.compile(
    r"(?:\w\.)+\Z|(?:mr|mrs|ms|dr|prof|st|sgt|col|gen|jr|sr|vs|inc|corp|co|ltd)\.\Z", re.IGNORECASE
)
_POSSESSIVE = re.compile(r"['’]s?\Z")
YEAR = re.compile(r"(?<![\w.,$€£])(?:1[5-9]|20)\d\d(?!\w|[.,]\d|%)")


def years(text: str) -> list[str]:
    """The years that a text names, in order."""
    return YEAR.findall(text[:LONGEST])


def names(text: str) -> list[Name]:
    """The names in a text, in order; none overlaps another."""
    seen = _MARK.sub(lambda mark: " " * len(mark[0]), text[:LONGEST])
    found = [
        Name(quoted[1].rstrip(" ,.;"), Kind.WORK, quoted.start(1))
        for quoted in _QUOTED.finditer(seen)
    ]
    seen = _QUOTED.sub(lambda quoted: '"' * len(quoted[0]), seen)
    found += _capitalised(seen)
    kept = [name for name in found if 0 < len(name.text) <= _LONGEST_NAME]
    return sorted(kept, key=lambda name: name.start)


def _capitalised(text: str) -> list[Name]:
    tokens = [(match[0], match.start()) for match in _TOKEN.finditer(text)]
    if _shouted(tokens):
        return []
    found = []
    at = 0
    while at < len(tokens):
        end = _run(tokens, at)
        if end > at:
            name = _name(text, tokens, at, end)
            if name is not None:
                found.append(name)
        at = max(end, at + 1)
    return found


def _shouted(tokens: list[tuple[str, int]]) -> bool:
    """Whether capitals say nothing here, because nearly everything has them."""
    letters = [token for token, _ in tokens if token[0].isalpha()]
    return len(letters) > 4 and sum(token.isupper() for token in letters) > 0.8 * len(letters)


def _run(tokens: list[tuple[str, int]], start: int) -> int:
    """Where the run of capitalised words that begins here ends; `start` if none begins."""
    if not _is_capital(tokens, start):
        return start
    end = start + 1
    while (
        end < len(tokens)
        and not _POSSESSIVE.search(tokens[end - 1][0])
        and not _ends(tokens, end - 1)
    ):
        if _is_capital(tokens, end):
            end += 1
        elif joined := _joined(tokens, end):
            end = joined
        else:
            break
    return end


def _is_capital(tokens: list[tuple[str, int]], at: int) -> bool:
    token = tokens[at][0]
    if not token[0].isupper():
        return False
    bare = _POSSESSIVE.sub("", token).lower().rstrip(".")
    if bare in _MONTHS:
        return False
    if bare not in STOP:
        return True
    follows = at + 1 < len(tokens) and tokens[at + 1][0][0].isupper()
    return bare == "the" and follows and not _begins(tokens, at)


def _begins(tokens: list[tuple[str, int]], at: int) -> bool:
    """Whether a sentence begins here, so that a capital means nothing."""
    before = tokens[at - 1][0] if at else "."
    return before[0] in _BEFORE_SENTENCE or before.isspace() or _ends(tokens, at - 1)


def _ends(tokens: list[tuple[str, int]], at: int) -> bool:
    token = tokens[at][0]
    return token.endswith(".") and not _INITIAL.match(token)


def _joined(tokens: list[tuple[str, int]], at: int) -> int:
    """The end of "of Invention" or "and the Mothers" inside a name; 0 if it is none."""
    ahead = [token for token, _ in tokens[at : at + 3]]
    for small in (1, 2):
        inside = ahead[:small]
        joins = inside[0] in _JOINS and inside[-1] in _JOINS | {"the"}
        joins = joins or inside == ["and", "the"]
        if (
            joins
            and len(ahead) > small
            and ahead[small][0].isupper()
            and ahead[small].lower() not in _MONTHS
        ):
            return at + small + 1
    return 0


def _name(text: str, tokens: list[tuple[str, int]], at: int, end: int) -> Name | None:
    first, last = tokens[at], tokens[end - 1]
    if end - at == 1 and _begins(tokens, at) and end < len(tokens):
        goes_on = tokens[end][0][0].islower() or tokens[end][0] == ","
        if goes_on and not first[0].isupper() and not _POSSESSIVE.search(first[0]):
            return None  # a sentence's first word
    said = text[first[1] : last[1] + len(last[0])]
    said = _POSSESSIVE.sub("", " ".join(said.split()))
    if not _INITIAL.match(said.split()[-1]):
        said = said.rstrip(".")
    before = tokens[at - 1][0].lower() if at else ""
    return Name(said, _kind(said, before), first[1])


def _kind(said: str, before: str) -> Kind:
    parts = [part.strip(",").lower() for part in said.split()]
    if parts[0] in _TITLED:
        return Kind.PERSON
    if _FIRM & set(parts) or parts[0] == "the" or before == "the" or "&" in parts or "and" in parts:
        return Kind.GROUP
    if before in _PLACED:
        return Kind.PLACE
    personal = 2 <= len(parts) <= 4 and not any(letter.isdigit() for letter in said)
    return Kind.PERSON if personal else Kind.OTHER
