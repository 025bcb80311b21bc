"""What a conversation is about after some turns: who "he" is, where "there" is. Pure; English.

Knows nothing of how a question is rewritten. What cannot be told stays empty: a question that is
left alone does less harm than one about somebody else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag_app.answering.follow_up_names import Kind, Name, names
from rag_app.answering.follow_up_words import ASKS, LONGEST, phrase

_WHO = re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE)
_ASIDE = re.compile(r" ?\(([^)]*)\)?")
_OF_PERSON = re.compile(r"(?:er|or|ist|ian|man|woman|actress)\b", re.IGNORECASE)
_PLURAL = re.compile(
    r"\b(?:what|which|how many)\s+((?:(?!(?:is|was|does|has)\b)[\w-]+\s){0,2}?"
    r"(?!(?:is|was|does|has)\b)[\w-]+(?<![su'’i])s)\b(?!['’])",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:the|an?|our|my)\b", re.IGNORECASE)
_ENDS_PLURAL = re.compile(r"(?<![su])s\Z|(?:people|men|women|children)\Z", re.IGNORECASE)
_ONE_OF_US = (Kind.PERSON, Kind.OTHER)
_KEPT_NAMES = 60
_TITLE = 80  # characters
_TITLE_WORDS = 6
_SHORT = 6  # words of an answer that is nothing but what was asked for


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that was asked and the answer that was given, as both were shown."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Focus:
    """What a question may point at. None and empty: nothing yet."""

    topic: Name | None = None
    titled: bool = False  # the topic was said alone, "Frank Zappa", and is not given up lightly
    known: tuple[Name, ...] = ()  # every name so far, the latest last
    meant: Mapping[str, str] = field(default_factory=dict)  # "he", "it" … -> what it stood for last
    person: str = ""  # whom the last turn named, if it asked "who …"
    group: str = ""  # named last
    place: str = ""  # named last
    work: str = ""  # a title named last, or an answer that is only a name
    thing: str = ""  # what the last turn was about, a work before other names
    several: str = ""  # "the albums", asked for last
    about: str = ""  # "the notice period", for want of names
    wish: str = ""  # what a wish was about, as long as the turns after it point at that
    question: str = ""  # the last one, standalone

    def after(self, turn: Turn, question: str, meant: Mapping[str, str]) -> Focus:
        """The focus after one more turn: `question` is what was made of it, `meant` how."""
        title = _title(turn.question[:LONGEST]) if self.topic is None else None
        asked, told = names(turn.question), names(turn.answer)
        about = "" if title else phrase(turn.question)
        work = _work(turn.answer, told) or _last(asked, Kind.WORK)
        several = _PLURAL.search(turn.question[:LONGEST])
        return replace(
            self,
            topic=title or self._next_topic(asked, told, meant),
            titled=self.titled or title is not None,
            known=(*self.known, *([title] if title else []), *asked, *told)[-_KEPT_NAMES:],
            meant=self._still_meant(meant, bool(asked or about)),
            person=(_person(told) or about) if _WHO.search(turn.question) else "",
            group=_last([*asked, *told], Kind.GROUP) or self.group,
            place=_last([*asked, *told], Kind.PLACE) or self.place,
            work=work or self.work,
            thing=work or _last(asked, Kind.OTHER, Kind.GROUP),
            several=f"the {several[1]}" if several else self.several,
            about=about or self.about,
            wish=self.wish if meant else "",
            question=" ".join(question.split())[: LONGEST + 1],
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
            work="",
            thing="",
            several="",
            about="",
            wish=thing,
            question="",
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
            topic = self._topic(Kind.PERSON, Kind.OTHER, Kind.GROUP, Kind.WORK)
            known = self.meant.get(family) or self.wish or topic
            return known or self.group or self._about_several()
        if family == "it":
            topic = self._topic(Kind.OTHER, Kind.GROUP, Kind.WORK, Kind.PLACE)
            return self.thing or self.meant.get(family) or self.wish or topic or self.about
        topic = self._topic(*_ONE_OF_US)
        taken = self.meant.get("she" if family == "he" else "he")
        return self.meant.get(family) or ("" if topic == taken else topic) or self.person

    def _about_several(self) -> str:
        """What the talk is about if "they" can mean it: a plural, or a name without capitals."""
        single = _ARTICLE.match(self.about) and not _ENDS_PLURAL.search(self.about)
        return "" if single else self.about

    def _topic(self, *kinds: Kind) -> str:
        return self.topic.text if self.topic and self.topic.kind in kinds else ""


def _title(question: str) -> Name | None:
    """The topic of a turn that only names one: "Frank Zappa", "Hugo (film)"."""
    bare = _ASIDE.sub("", question).strip(" .!")
    if not 0 < len(bare) <= _TITLE or len(bare.split()) > _TITLE_WORDS:
        return None
    if bare.endswith("?") or ASKS.match(bare):
        return None
    seen = names(bare)
    kind = seen[0].kind if seen and seen[0].text == bare else Kind.OTHER
    if aside := _ASIDE.search(question):
        kind = Kind.PERSON if _OF_PERSON.search(aside[1]) else Kind.GROUP
    return Name(bare, kind, 0)


def _last(found: Sequence[Name], *kinds: Kind) -> str:
    return next((name.text for name in reversed(found) if name.kind in kinds), "")


def _person(told: Sequence[Name]) -> str:
    return next((name.text for name in told if name.kind is Kind.PERSON), "")


def _work(answer: str, told: Sequence[Name]) -> str:
    alone = told[0].text if len(told) == 1 and len(answer.split()) <= _SHORT else ""
    return _last(told, Kind.WORK) or alone
