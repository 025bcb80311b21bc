"""More sentences turned into questions: those of reports, rules and essays, which begin with a date
and go on after the point. Pure; English."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from rag_app.overview.question_forms import (
    DATE,
    MONEY,
    MONTH,
    PEOPLE,
    SUBJECT,
    Form,
    Rule,
    by_rules,
)
from rag_app.overview.question_verbs import BASE, PAST

_PERIOD = (
    r"(?:the )?(?:first|second|third|fourth|last|past|three|six|nine|twelve)[\w -]{0,40}?"
    r"(?: (?:of|ended) (?:fiscal (?:year )?)?[\w ]{0,12}\d{4})?"
)
_OPENING = re.compile(rf"(?P<when>As of|At|During|In|For|Since|On) (?P<d>{DATE}|{_PERIOD}), (?=\S)")
_FOOTNOTE = re.compile(r"(?:\[\d{1,3}\]|\(\d{1,3}\)) (?=[A-Z])")
_IN_DATE = re.compile(rf"(?<=\b)({MONTH} \d{{1,2}}), (?=\d{{4}})")
_DATE_AGAIN = re.compile(rf"\b({MONTH} \d{{1,2}}) (?=\d{{4}})")
_TWO_ANSWERS = re.compile(r"(?i)\brespectively\b|\b(?:this|these|those|we|our|it|they|you)\b")
_PAID = (
    "repurchased|paid|spent|returned|received|raised|borrowed|invested|earned|repaid|contributed|"
    "donated|collected|saved|lost"
)
_PLAIN = {
    "repurchased": "repurchase", "paid": "pay", "returned": "return", "raised": "raise",
    "borrowed": "borrow", "invested": "invest", "earned": "earn", "repaid": "repay",
    "contributed": "contribute", "donated": "donate", "collected": "collect", "saved": "save",
}  # fmt: skip
_MOSTLY = "primarily|mainly|largely|in part|partly|mostly"
_MOVED = "increased|decreased|declined|rose|fell|grew|dropped"
_WHEN = rf"(?P<r>(?: (?:as of|at|during|in|for|since|on) (?:{DATE}|{_PERIOD}))?)"
_NOUNS = r"(?:(?!(?:of|and|or|that|which|who|been|a|an|the)\b)[\w’'-]+ ){1,6}"
_FINITE = r"(?:is|are|was|were|has|have|had|be|been|will|would|can|could|that|which|who)"


def reported(
    sentence: str, small: Collection[str] = (), names: Collection[str] = ()
) -> Form | None:
    """The question that a sentence answers, if a rule fits; see `question_of`."""
    said = _straight(sentence)
    form = by_rules(_RULES, said, small, names) if said else None
    return Form(_DATE_AGAIN.sub(r"\1, ", form.question), form.kind) if form else None


def _straight(sentence: str) -> str:
    """The sentence without its end and with its opening "As of …," last; empty if it is unfit."""
    said = _FOOTNOTE.sub("", " ".join(sentence.split()), count=1)
    if not said.endswith(".") or _TWO_ANSWERS.search(said) or re.search(r"[;:\[\]“”\"|=]", said):
        return ""
    if not 6 <= len(said.split()) <= 40 or not said[0].isupper():
        return ""
    said = _IN_DATE.sub(r"\1 ", re.sub(r"\s?\([^()]*\)", "", said[:-1]))
    opening = _OPENING.match(said)
    rest = said[opening.end() :] if opening else said
    head = rest.split(", ", 1)[0]
    if len(head.split()) < 5 or head.count("(") != head.count(")"):
        return ""
    when = f" {opening['when'].lower()} {opening['d']}" if opening else ""
    return f"{head[0].upper()}{head[1:]}{when}"


def _had(found: re.Match[str], inside: Callable[[str], str]) -> str:
    does = {"has": "does", "have": "do", "had": "did"}[found["v"]]
    what = found["what"].removeprefix("an ").removeprefix("a ").strip()
    return f"what amount of {what} {does} {inside(found['s'])} have{found['r']}"


def _sum_moved(found: re.Match[str], inside: Callable[[str], str]) -> str:
    verb = _PLAIN.get(found["v"]) or PAST[found["v"]]
    return f"how much did {inside(found['s'])} {verb}{found['r']}"


def _reason(found: re.Match[str], inside: Callable[[str], str]) -> str:
    when = re.split(
        rf" (?:compared|relative|versus|from|{_MOSTLY}) ", f"{found['r']} ", maxsplit=1
    )[0]
    return f"why did {inside(found['s'])} {PAST[found['v']]}{when}"


def _until(found: re.Match[str], inside: Callable[[str], str]) -> str:
    return f"by when {found['m']} {inside(found['s'])} {found['r']}"


def _subject(found: re.Match[str], inside: Callable[[str], str]) -> str:
    words = found["s"].lower().split()
    if len(words) < 3 or words[-1] in ("company", "registrant") or not _telling(found["r"]):
        return ""
    who = "who" if words[-1] in PEOPLE else "what"
    return f"{who} {found['v']} {found['r']}"


def _telling(rest: str) -> bool:
    """Whether words say enough to be found by: a name, a number, or many of them."""
    return bool(re.search(r"[A-Z0-9]", rest)) or len(rest.split()) >= 7


_RULES = (
    Rule("reason", re.compile(
        rf"{SUBJECT}(?P<v>{_MOVED})(?P<r>(?: (?!due\b)[\w’'$.%-]+){{0,24}}?) "
        rf"(?:due|owing|thanks)(?: (?:{_MOSTLY}))? to .+"),
        _reason),
    Rule("sum", re.compile(
        rf"{SUBJECT}(?P<v>has|have|had) (?P<what>(?:an? )?{_NOUNS})of {MONEY}{_WHEN}(?: .*)?"),
        _had),
    Rule("sum", re.compile(
        rf"{SUBJECT}(?P<v>{_PAID}) {MONEY}(?P<r>(?: (?!and\b|or\b)[\w’'&-]+){{2,10}})(?: and .*)?"),
        _sum_moved),
    Rule("date", re.compile(
        rf"{SUBJECT}(?P<m>must|may|can|should|shall|will) "
        rf"(?P<r>(?!be\b)[a-z]+(?: (?!by\b)[\w’'-]+){{1,10}}?) (?:by|no later than) {DATE}"),
        _until),
    Rule("subject", re.compile(
        rf"{SUBJECT}(?P<v>(?!included|contained|compared|related)[a-z]{{2,}}ed|{'|'.join(BASE)}) "
        r"(?P<r>(?:the|an?|its|all|every|[A-Z][\w’'-]+|\d[\d,.]*)"
        rf"(?: (?!{_FINITE}\b)[\w’'$%-]+){{3,13}})"),
        _subject),
)  # fmt: skip
