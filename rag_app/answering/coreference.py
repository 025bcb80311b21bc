"""What a conversation names and what its pronouns stand for. Pure; English rules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from rag_app.answering.task_router import subject, wanted
from rag_app.text.languages import STOP, is_english, words

# What a question without names is about. Knows nothing of capitals: people leave them out.

_LONGEST_ASKED = 200
LONGEST = 600  # characters of one text that are looked at: a page that is quoted is no topic
_ASKS = re.compile(
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
        if word.lower().endswith("ed"):
            return run[:at]
    return run[:-1] if len(run) > 1 else run


def _trimmed(run: list[str]) -> str:
    while run and run[-1].lower() in STOP:
        run = run[:-1]
    return " ".join(run) if any(word.lower() not in STOP for word in run) else ""


# What turns of a conversation name: persons, firms, titles, places, years. Pure; English rules.
#
# Knows nothing of questions and pronouns. A name is seen by its capitals or its quotation marks, so
# a text with neither has none.


class NameKind(Enum):
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
    kind: NameKind
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
        Name(quoted[1].rstrip(" ,.;"), NameKind.WORK, quoted.start(1))
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


def _kind(said: str, before: str) -> NameKind:
    parts = [part.strip(",").lower() for part in said.split()]
    if parts[0] in _TITLED:
        return NameKind.PERSON
    if _FIRM & set(parts) or parts[0] == "the" or before == "the" or "&" in parts or "and" in parts:
        return NameKind.GROUP
    if before in _PLACED:
        return NameKind.PLACE
    personal = 2 <= len(parts) <= 4 and not any(letter.isdigit() for letter in said)
    return NameKind.PERSON if personal else NameKind.OTHER


# What a conversation is about after some turns: who "he" is. Pure; English.
#
# What cannot be told stays empty: a question that is left alone does less harm than one about
# somebody else.

_WHO = re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE)
_ASIDE = re.compile(r" ?\(([^)]*)\)?")
_OF_PERSON = re.compile(r"(?:er|or|ist|ian|man|woman|actress)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:the|an?|our|my)\b", re.IGNORECASE)
_ENDS_PLURAL = re.compile(r"(?<![su])s\Z|(?:people|men|women|children)\Z", re.IGNORECASE)
_ONE_OF_US = (NameKind.PERSON, NameKind.OTHER)
_KEPT_NAMES = 60
_TITLE = 80  # characters
_TITLE_WORDS = 6
_SHORT = 6  # words of an answer that is nothing but what was asked for


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that was asked and the answer that was given, as both were shown."""

    question: str
    answer: str
    computed_from: tuple[str, ...] = ()  # ids of the documents whose tables gave the answer


@dataclass(frozen=True, slots=True)
class Focus:
    """What a question may point at. None and empty: nothing yet."""

    topic: Name | None = None
    titled: bool = False  # the topic was said alone, "Frank Zappa", and is not given up lightly
    known: tuple[Name, ...] = ()  # every name so far, the latest last
    meant: Mapping[str, str] = field(default_factory=dict)  # "he", "it" … -> what it stood for last
    person: str = ""  # whom the last turn named, if it asked "who …"
    group: str = ""  # named last
    thing: str = ""  # what the last turn was about, a work before other names
    about: str = ""  # "the notice period", for want of names
    wish: str = ""  # what a wish was about, as long as the turns after it point at that

    def after(self, turn: Turn, meant: Mapping[str, str]) -> Focus:
        """The focus after one more turn; `meant`: what its pronouns were taken for."""
        title = _title(turn.question[:LONGEST]) if self.topic is None else None
        asked, told = names(turn.question), names(turn.answer)
        about = "" if title else phrase(turn.question)
        work = _work(turn.answer, told) or _last(asked, NameKind.WORK)
        return replace(
            self,
            topic=title or self._next_topic(asked, told, meant),
            titled=self.titled or title is not None,
            known=(*self.known, *([title] if title else []), *asked, *told)[-_KEPT_NAMES:],
            meant=self._still_meant(meant, bool(asked or about)),
            person=(_person(told) or about) if _WHO.search(turn.question) else "",
            group=_last([*asked, *told], NameKind.GROUP) or self.group,
            thing=work or _last(asked, NameKind.OTHER, NameKind.GROUP),
            about=about or self.about,
            wish=self.wish if meant else "",
        )

    def after_wish(self, thing: str) -> Focus:
        """The focus after a wish about documents, `thing`: what does not point at it is alone.

        Whoever was named before stays known."""
        return replace(
            self,
            topic=None,
            titled=False,
            meant={},
            person="",
            thing="",
            about="",
            wish=thing,
        )

    def _next_topic(
        self, asked: Sequence[Name], told: Sequence[Name], meant: Mapping[str, str]
    ) -> Name | None:
        if self.titled or (self.topic and (meant or not asked)):
            return self.topic
        if asked:
            return asked[0]
        return next((name for name in told if name.start <= 4 and name.kind in _ONE_OF_US), None)

    def _still_meant(self, meant: Mapping[str, str], named: bool) -> Mapping[str, str]:
        """A question with a subject of its own ends what "it" and "they" stood for."""
        if meant or not named:
            return {**self.meant, **meant}
        return {family: one for family, one in self.meant.items() if family in ("he", "she")}

    def referent(self, family: str) -> str:
        """What "he", "she", "they" or "it" stands for; empty if that cannot be told."""
        if family == "they":
            topic = self._topic(NameKind.PERSON, NameKind.OTHER, NameKind.GROUP, NameKind.WORK)
            known = self.meant.get(family) or self.wish or topic
            return known or self.group or self._about_several()
        if family == "it":
            topic = self._topic(NameKind.OTHER, NameKind.GROUP, NameKind.WORK, NameKind.PLACE)
            return self.thing or self.meant.get(family) or self.wish or topic or self.about
        topic = self._topic(*_ONE_OF_US)
        taken = self.meant.get("she" if family == "he" else "he")
        return self.meant.get(family) or ("" if topic == taken else topic) or self.person

    def _about_several(self) -> str:
        """What the talk is about if "they" can mean it: a plural, or a name without capitals."""
        single = _ARTICLE.match(self.about) and not _ENDS_PLURAL.search(self.about)
        return "" if single else self.about

    def _topic(self, *kinds: NameKind) -> str:
        return self.topic.text if self.topic and self.topic.kind in kinds else ""


def _title(question: str) -> Name | None:
    """The topic of a turn that only names one: "Frank Zappa", "Hugo (film)"."""
    bare = _ASIDE.sub("", question).strip(" .!")
    if not 0 < len(bare) <= _TITLE or len(bare.split()) > _TITLE_WORDS:
        return None
    if bare.endswith("?") or _ASKS.match(bare):
        return None
    seen = names(bare)
    kind = seen[0].kind if seen and seen[0].text == bare else NameKind.OTHER
    if aside := _ASIDE.search(question):
        kind = NameKind.PERSON if _OF_PERSON.search(aside[1]) else NameKind.GROUP
    return Name(bare, kind, 0)


def _last(found: Sequence[Name], *kinds: NameKind) -> str:
    return next((name.text for name in reversed(found) if name.kind in kinds), "")


def _person(told: Sequence[Name]) -> str:
    return next((name.text for name in told if name.kind is NameKind.PERSON), "")


def _work(answer: str, told: Sequence[Name]) -> str:
    alone = told[0].text if len(told) == 1 and len(answer.split()) <= _SHORT else ""
    return _last(told, NameKind.WORK) or alone


# A question with what its pronouns stand for, or the topic behind it. Pure; English rules.

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
_WORD = re.compile(r"[\w'’]+")
_OWNING = words("his their theirs its hers")
_NEXT_WORD = re.compile(r"\s+([\w'’-]+)")
_IDLE_IT = re.compile(
    r"it(?:['’]s)?\s+(?:(?:is|was|be|would|not)\s+)*(?:true|possible|likely|important|necessary|clear"
    r"|legal|allowed|safe|rain\w*|take\b.*\bto|cost\b.*\bto|mean\b.*\bto|like\s+to|ok|okay)\b",
    re.IGNORECASE,
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


def standalone(question: str, turns: Sequence[Turn]) -> str:
    """The question with what it leaves to `turns` (the last one is the most recent) put in."""
    if len(question) > LONGEST_FOLLOW_UP or not question.strip():
        return question
    focus = Focus()
    of_rows = False
    for turn in turns[-RECENT:]:
        if _is_foreign(turn.question):
            continue
        if wanted(turn.question):
            focus = focus.after_wish(subject(turn.question))
            continue
        focus = focus.after(turn, _resolved(turn.question, focus, of_rows)[1])
        of_rows = bool(turn.computed_from)
    return _resolved(question, focus, of_rows)[0]


def _is_foreign(question: str) -> bool:
    """Whether a question is in another language, whose first word would pass for a name."""
    return "?" in question and not is_english(question[:LONGEST_FOLLOW_UP])


def _resolved(question: str, focus: Focus, of_rows: bool = False) -> tuple[str, Mapping[str, str]]:
    """The question standalone, and what each of its pronouns was taken for.

    Some rows of a table, `of_rows`, are no topic: who asks for the most after the total of a room
    asks for that of all."""
    if len(question) > LONGEST_FOLLOW_UP or not question.strip():
        return question, {}
    meant: dict[str, str] = {}
    made = _with_full_names(_with_referents(question, focus, meant), focus)
    named = focus.topic is not None and not focus.topic.text.islower()  # no word looked for
    leaves_open = meant.keys() <= {"it"} and not of_rows and _wants_anchor(question, focus)
    if focus.topic and named and leaves_open:
        made = _anchored(made, focus.topic.text)
    return made, meant


def _with_referents(question: str, focus: Focus, meant: dict[str, str]) -> str:
    own = names(question)

    def put_in(pronoun: re.Match[str]) -> str:
        family = _FAMILY[pronoun[1].lower()]
        inside = any(name.start < pronoun.start() for name in own)
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
        if known.kind is NameKind.PERSON and len(parts) > 1 and name in (parts[0], parts[-1]):
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


def is_anchored(made: str, question: str) -> bool:
    """Whether a question got nothing but a topic behind it."""
    return made.startswith(question.rstrip(_ENDING) + " (")


_ENDING = " ?.!…\n\t"


def _anchored(question: str, anchor: str) -> str:
    if anchor.lower() in question.lower():
        return question
    body = question.rstrip(_ENDING)
    return f"{body} ({anchor}){question[len(body) :].strip()}"
