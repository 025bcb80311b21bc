"""Sentences turned into the questions that they answer, by rule. Pure; English.

A rule asks for what stands in one place of a sentence (a number, a date, a reason…). It would
rather say nothing than something crooked: sentences that lean on others, and subjects that are long
or unclear, are left alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from rag_app.overview.question_verbs import BASE, PAST

_PRONOUNS = (
    r"(?!(?i:it|its|this|that|these|those|there|here|he|she|they|we|you|i|our|your|his|her|their|my|"
    r"if|when|while|although|as|in|on|at|by|for|from|to|with|of|but|and|or|so|such|however|also|"
    r"which|who|what|both|none|some|note|see|please|after|before|during|since|under|each of|"
    r"one of|any|no|not|other|another|because|due|indicate|let|make)\b)"
)
# A subject: a few words without a comma, a bracket or a clause of its own.
SUBJECT = rf"(?P<s>{_PRONOUNS}(?:(?!(?:that|which|who|where|is|are|was|were|has|have|had|will|if|whether|because|while|when|than|it|they|we|believes?|expects?|means|says?|shows?|includes?|provides?)\b)[\w’'&€$£/.-]+ ){{1,8}}?)"  # noqa: E501
_BE = r"(?P<be>is|are|was|were|will be|must be|can be|has been|have been)"
MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"(?:1[5-9]|20)\d\d"
DATE = (
    rf"(?:(?:early|late|mid|the (?:spring|summer|autumn|winter|fall|beginning|end|middle) of) )?"
    rf"(?:the )?(?:\d{{1,2}} {MONTH}(?: {_YEAR})?|{MONTH} \d{{1,2}},? {_YEAR}|"
    rf"{MONTH}(?: {_YEAR})?|{_YEAR})"
)
_NUMBERS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen twenty "
    "thirty forty fifty sixty"
).replace(" ", "|")
_ABOUT = (
    r"(?:about |around |some |over |more than |nearly |almost |only |just |up to |at least |"
    r"a total of |approximately )?"
)
_COUNT = rf"{_ABOUT}(?!{_YEAR}\b)(?P<n>\d{{1,3}}(?:,\d{{3}})*|\d+|{_NUMBERS})"
_THINGS = (
    r"(?P<things>(?:(?!(?:per|percent|million|billion|of|in|on|at|by|for|to|from|and|or|than|years?|"
    r"days?|hours?|minutes?|months?|weeks?)\b)[a-z][\w-]* ){0,2}"
    r"(?!(?:is|was|has|does|years|days|hours|minutes|months|weeks|times|thousands|millions)\b)"
    r"(?:[a-z][\w-]*[^s\W]s|people|children|staff|women|men))"
)
MONEY = (
    r"(?:about |around |over |more than |nearly |almost |only |just |approximately )?"
    r"(?:[€$£¥]\s?\d[\d.,]*(?:\s?(?:million|billion|m|bn|k)\b)?"
    r"|\d[\d.,]*(?: million| billion)? (?:euros?|dollars?|pounds?|EUR|USD|GBP)"
    r"|(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty) (?:euros?|dollars?|pounds?))"  # noqa: E501
)
_CUT = r"(?:as|compared|versus|and|but|which|that|who|while|up|down|from|because|or)\b"
_REST = rf"(?P<r>(?: (?!{_CUT})[\w’'&€$£%/.-]+){{0,9}})(?: {_CUT}.*)?"
_PART = r"(?P<p>(?:\w+ly )?(?:\w+ed|born|built|bought|begun|chosen|drawn|given|held|kept|led|made|paid|put|run|sent|set|shown|sold|spent|taken|taught|told|won|written|found|lost|known))"  # noqa: E501

_DO = "|".join([*BASE, *PAST])
_DETERMINERS = frozenset(["The", "A", "An", "Every", "Each", "All", "Most", "Many"])
_LEANS = re.compile(
    r"\b(?:our|ours|we|us|my|(?:its|their)(?! own)|his|her|your|above|below|such|these|those)\b",
    re.IGNORECASE,
)
_TITLED = re.compile(r"(?:Mr|Mrs|Ms|Dr|Prof|Sir|Lady|Judge|President)\b")
_VAGUE = re.compile(
    r"^The \S+ $|\b(?:first|second|third|last|latter|former|following|only|other|rest|same) $"
)
PEOPLE = frozenset(
    """
    director board committee manager company team council staff government ministry minister
    president chair court parliament department agency members shareholders owner
    """.split()  # noqa: SIM905 - easier to read and to add to
)


@dataclass(frozen=True, slots=True)
class Form:
    """A question that a sentence answers, and which kind of question it is."""

    question: str
    kind: str


@dataclass(frozen=True, slots=True)
class Rule:
    """What a sentence looks like, and what is asked then."""

    kind: str
    pattern: re.Pattern[str]
    ask: Callable[[re.Match[str], Callable[[str], str]], str]


def question_of(
    sentence: str, small: Collection[str] = (), names: Collection[str] = ()
) -> Form | None:
    """The question that a sentence answers, if a rule fits.

    `small` are words that the document writes with a small letter, `names` those that it writes
    with a capital inside sentences; a first word that is neither may be either."""
    said = _trimmed(sentence)
    return by_rules(_RULES, said, small, names) if said else None


def by_rules(
    rules: Sequence[Rule], said: str, small: Collection[str], names: Collection[str]
) -> Form | None:
    """The question of the first rule that fits a sentence without its full stop."""
    first = said.split(" ", 1)[0]
    if not (
        first in _DETERMINERS or first.lower() in small or first in names or first[0].isdigit()
    ):
        return None

    def inside(subject: str) -> str:
        """A subject as it stands inside a question."""
        subject = subject.strip()
        first, *others = subject.split()
        named = any(word[0].isupper() for word in others[:2])
        lower = first in _DETERMINERS or (first.lower() in small and not named)
        return subject[0].lower() + subject[1:] if lower else subject

    for rule in rules:
        found = rule.pattern.fullmatch(said)
        if found:
            question = " ".join(rule.ask(found, inside).split())
            if 4 <= len(question.split()) <= 18 and not _LEANS.search(question):
                return Form(f"{question[0].upper()}{question[1:]}?", rule.kind)
    return None


def _trimmed(sentence: str) -> str | None:
    """The sentence without its full stop and its opening "In 2025, …"; None if it is unfit."""
    said = " ".join(sentence.split())
    if not said.endswith(".") or not re.match(r"[^\W\d_]|\d+[^\w]", said) or said[0].islower():
        return None
    if not 5 <= len(said.split()) <= 32 or re.search(r"[;:\[\]“”\"|]", said):
        return None
    said = re.sub(r"\s?\([^()]*\)", "", said[:-1])
    opening = re.match(
        rf"(?P<when>In|During|By|Since|On) (?P<d>{DATE}|[A-Z]\w+),? (?=[A-Z\dtae])", said
    )
    if opening and ", " in said[: opening.end()]:
        rest = said[opening.end() :]
        said = f"{rest[0].upper()}{rest[1:]} {opening['when'].lower()} {opening['d']}"
    # A clause after a comma is not asked for.
    head, comma, _ = said.partition(", ")
    return head if comma and len(head.split()) >= 5 else said if not comma else None


def _do(verb: str) -> tuple[str, str]:
    """do, does or did, and the verb after it."""
    return ("did", PAST[verb]) if verb in PAST else ("does", BASE[verb])


def _be(found: re.Match[str], subject: str) -> str:
    """The verb before the subject: "was it", "will it be"."""
    first, _, rest = found["be"].partition(" ")
    return f"{first} {subject} {rest}"


def _many(found: re.Match[str], inside: Callable[[str], str]) -> str:
    does, verb = _do(found["v"])
    return f"how many {found['things']} {does} {inside(found['s'])} {verb}{found['r']}"


def _has(found: re.Match[str], inside: Callable[[str], str]) -> str:
    does = {"has": "does", "have": "do", "had": "did"}[found["v"]]
    return f"how many {found['things']} {does} {inside(found['s'])} have{found['r']}"


def _cost(found: re.Match[str], inside: Callable[[str], str]) -> str:
    does = "does" if found["v"] == "costs" else "do" if found["s"].strip()[-1] == "s" else "did"
    return f"how much {does} {inside(found['s'])} cost{found['r']}"


def _worth(found: re.Match[str], inside: Callable[[str], str]) -> str:
    were = found["s"].partition(" of ")[0].strip().endswith("s")
    be = found.groupdict().get("be") or ("were" if were else "was")
    return f"how much {be} {inside(found['s'])}{found['r']}"


def _change(found: re.Match[str], inside: Callable[[str], str]) -> str:
    return f"by how much did {inside(found['s'])} {_do(found['v'])[1]}{found['r']}"


def _when_done(found: re.Match[str], inside: Callable[[str], str]) -> str:
    return f"when {_be(found, inside(found['s']))} {found['p']}{found['r']}"


def _when_does(found: re.Match[str], inside: Callable[[str], str]) -> str:
    does, verb = _do(found["v"])
    return f"when {does} {inside(found['s'])} {verb}{found['r']}"


def _long(found: re.Match[str], inside: Callable[[str], str]) -> str:
    does, verb = _do(found["v"])
    return f"how long {does} {inside(found['s'])} {verb}"


def _who(found: re.Match[str], inside: Callable[[str], str]) -> str:
    by = found["by"].strip()
    person = any(w[0].isupper() for w in by.split()) or PEOPLE & set(by.lower().split())
    return f"{'who' if person else 'what'} {_be(found, inside(found['s']))} {found['p']} by"


def _what(found: re.Match[str], inside: Callable[[str], str]) -> str:
    subject = found["s"]
    if subject.startswith(("Every ", "Each ", "All ", "Most ", "Many ")) or _VAGUE.search(subject):
        return ""
    return f"{'who' if _TITLED.match(subject) else 'what'} {found['be']} {inside(subject)}"


def _rule(kind: str, pattern: str, ask: Callable[..., str]) -> Rule:
    return Rule(kind, re.compile(pattern), ask)


_RULES = (
    _rule("reason", rf"{SUBJECT}{_BE} (?P<r>[\w’'% -]{{3,60}}?) because .+",
          lambda m, inside: f"why {_be(m, inside(m['s']))} {m['r']}"),
    _rule("how often", rf"{SUBJECT}{_BE} {_PART}(?P<r>(?: [\w’'-]+){{0,4}}?) "
          r"(?:at least )?(?:every|(?:once|twice|\w+ times) (?:a|per|every|each) (?:\w+ )?"
          r"(?:\d+ )?(?:hour|day|week|month|quarter|year|season)s?|(?:daily|weekly|"
          r"monthly|yearly|annually|quarterly)(?= (?:and|by|in|at|on|to)\b|$))(?: .*)?",
          lambda m, inside: f"how often {_be(m, inside(m['s']))} {m['p']}{m['r']}"),
    _rule("cost", rf"{SUBJECT}(?P<v>costs?) {MONEY}{_REST}", _cost),
    _rule("change", rf"{SUBJECT}(?P<v>rose|grew|fell|increased|decreased|declined|dropped) by "
          rf"{_ABOUT}\d[\d.,]*\s?(?:%|per cent|percent){_REST}", _change),
    _rule("sum", rf"{SUBJECT}(?:rose|grew|fell|increased|decreased|declined|dropped)"
          rf"(?: by [\d.,]+ ?(?:%|per cent|percent))? to {MONEY}{_REST}", _worth),
    _rule("sum", rf"{SUBJECT}(?:amounted to|totall?ed|reached|came to|stood at) {MONEY}{_REST}",
          _worth),
    _rule("sum", rf"{SUBJECT}(?P<be>is|are|was|were) {MONEY}{_REST}", _worth),
    _rule("date", rf"{SUBJECT}{_BE} {_PART}(?P<r>(?: [\w’'-]+){{0,6}}?) "
          rf"(?:in|on|since|by|at|from|until) {DATE}(?: .*)?", _when_done),
    _rule("date", rf"{SUBJECT}(?P<v>{_DO})(?P<r>(?: (?!\w+ed\b)[\w’'-]+){{0,5}}?) "
          rf"(?:in|on|from) {DATE}", _when_does),
    _rule("count", rf"{_COUNT[0:]} {_THINGS}(?P<r> (?:is|are|was|were|have|has|had|took|take|live|"
          rf"work|attended|visited|joined|left|died|voted|use|used|came)\b(?: [\w’'%-]+){{0,10}})",
          lambda m, inside: f"how many {m['things']}{m['r']}"),
    _rule("count", rf"{SUBJECT}(?P<v>has|have|had) {_COUNT} {_THINGS}{_REST}", _has),
    _rule("count", rf"{SUBJECT}(?P<v>{_DO}) {_COUNT} {_THINGS}{_REST}", _many),
    _rule("how long", rf"{SUBJECT}(?P<v>lasts|takes|lasted|took) {_ABOUT}"
          rf"(?:\d+|a|an|one|{_NUMBERS}) (?:to \w+ )?(?:minute|hour|day|week|month|year)s?\b.*",
          _long),
    _rule("who", rf"{SUBJECT}{_BE} {_PART} by "
          r"(?P<by>(?:the |a |an )?[\w’'&.-]+(?: [\w’'&.-]+){0,5})", _who),
    _rule("where", rf"{SUBJECT}(?P<be>is|are|was|were) (?P<p>located|situated|stored|kept|buried|"
          r"displayed|headquartered|based|held) (?:in|at) .+",
          lambda m, inside: f"where {_be(m, inside(m['s']))} {m['p']}"),
    _rule("what", rf"{SUBJECT}(?P<be>is|was) (?:a|an|the) .+",
          _what),
)  # fmt: skip
