"""What a document is, and what it may be asked. Pure.

An introduction is said by the app's own writer as soon as a document can be read: title, kind, two
sentences, three questions. Of the two sentences one that holds a figure which the document does not
is left out. Questions that it may be able to answer are also made of its own sentences and
headings: whether it really answers them has to be tried by asking; each comes with the place where
the answer should be found."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from rag_app.answering.attribution import known_figures, pieces_of
from rag_app.answering.chat_generator import without_invented
from rag_app.storage.overviews import Introduction
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Chunk, Heading, Page, Span

READ = 1_200  # characters of a document that are read
_TITLE_ROOM, _KIND_ROOM, _ABOUT_ROOM = 90, 60, 600  # characters that they may have
_QUESTIONS, _SENTENCES = 3, 2
_FEWEST_WORDS = 5
_ASKS = ("?", "？")
_LIST = re.compile(r"^\s*(?:[-*•]|\d[.)])\s+")


def opening(pages: list[Page]) -> str:
    """What of a document is read: its beginning, cut between words."""
    text = ""
    for page in pages:
        text = f"{text}\n\n{page.text.strip()}".strip()
        if len(text) > READ:
            return text[:READ].rsplit(maxsplit=1)[0]
    return text


def introduced(write: Callable[[str], str], name: str, text: str) -> Introduction | None:
    """What `write` says of a document; its argument is how the reply is to begin.

    A reply that is no introduction mostly has no title: then the file's name is one."""
    title = one_line(PurePath(name).stem.replace("_", " ")) or "Document"
    for begun in ("", f"{title}\n"):
        if made := understood_introduction(write(begun), name, text):
            return made
    return None


def understood_introduction(reply: str, name: str, text: str) -> Introduction | None:
    """What a writer said of a document; None: that is no introduction."""
    lines = [_LIST.sub("", one_line(line)) for line in reply.splitlines() if line.strip()]
    asked = [line for line in lines if line.endswith(_ASKS)]
    title, kind, *rest = [*(line for line in lines if line not in asked), "", ""]
    known = known_figures(f"{name}\n{text}")
    about = next(filter(_is_sentence, (without_invented(one, known) for one in rest)), "")
    about = "".join(pieces_of(about)[:_SENTENCES]).strip()
    questions = tuple(q for q in dict.fromkeys(asked) if without_invented(q, known))
    if not (about or questions) or not title or len(title) > _TITLE_ROOM or len(kind) > _KIND_ROOM:
        return None
    return Introduction(title, "" if kind == title else kind, about, questions[:_QUESTIONS])


def _is_sentence(text: str) -> bool:
    """What is copied from a document instead, a heading or a line of a list, is none."""
    ends = text.endswith((".", "!", "。"))
    return ends and len(text.split()) >= _FEWEST_WORDS and len(text) <= _ABOUT_ROOM


# Verbs that questions are made of: their forms as sentences have them, and after do, does, did.

BASE = {
    "employs": "employ", "operates": "operate", "runs": "run", "owns": "own", "carries": "carry",
    "makes": "make", "sells": "sell", "serves": "serve", "receives": "receive", "offers": "offer",
    "provides": "provide", "contains": "contain", "includes": "include", "uses": "use",
    "needs": "need", "holds": "hold", "covers": "cover", "requires": "require", "allows": "allow",
    "counts": "count", "takes": "take", "costs": "cost", "lasts": "last", "starts": "start",
    "begins": "begin", "opens": "open", "closes": "close", "ends": "end", "expires": "expire",
    "weighs": "weigh", "manages": "manage", "supports": "support", "publishes": "publish",
}  # fmt: skip
PAST = {
    "employed": "employ", "operated": "operate", "ran": "run", "owned": "own", "carried": "carry",
    "made": "make", "sold": "sell", "served": "serve", "received": "receive", "offered": "offer",
    "provided": "provide", "contained": "contain", "included": "include", "used": "use",
    "needed": "need", "held": "hold", "covered": "cover", "required": "require",
    "counted": "count", "took": "take", "cost": "cost", "lasted": "last", "started": "start",
    "began": "begin", "opened": "open", "closed": "close", "ended": "end", "expired": "expire",
    "added": "add", "built": "build", "completed": "complete", "recorded": "record",
    "hired": "hire", "trained": "train", "repaired": "repair", "sent": "send", "spent": "spend",
    "won": "win", "lost": "lose", "gained": "gain", "launched": "launch", "bought": "buy",
    "acquired": "acquire", "issued": "issue", "published": "publish", "signed": "sign",
    "rose": "rise", "grew": "grow", "fell": "fall", "increased": "increase",
    "decreased": "decrease", "declined": "decline", "dropped": "drop",
}  # fmt: skip


# Sentences turned into the questions that they answer, by rule. Pure; English.
#
# A rule asks for what stands in one place of a sentence (a number, a date, a reason…). It would
# rather say nothing than something crooked: sentences that lean on others, and subjects that are
# long or unclear, are left alone.

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
# "3.6 The loft", "2. The fee", "4) The fee": a paragraph and its number
_NUMBERED = re.compile(r"\b\d+(?:(?:\.\d+)+\.?|[.)]) (?=[A-Z])")
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
class QuestionForm:
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
) -> QuestionForm | None:
    """The question that a sentence answers, if a rule fits.

    `small` are words that the document writes with a small letter, `names` those that it writes
    with a capital inside sentences; a first word that is neither may be either."""
    said = _trimmed(sentence)
    return by_rules(_RULES, said, small, names) if said else None


def by_rules(
    rules: Sequence[Rule], said: str, small: Collection[str], names: Collection[str]
) -> QuestionForm | None:
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
            if 4 <= len(question.split()) <= 18 and not (
                _LEANS.search(question) or _NUMBERED.search(question)
            ):
                return QuestionForm(f"{question[0].upper()}{question[1:]}?", rule.kind)
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


# More sentences turned into questions: those of reports, rules and essays, which begin with a date
# and go on after the point. Pure; English.

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
) -> QuestionForm | None:
    """The question that a sentence answers, if a rule fits; see `question_of`."""
    said = _straight(sentence)
    form = by_rules(_REPORT_FORMS_RULES, said, small, names) if said else None
    return QuestionForm(_DATE_AGAIN.sub(r"\1, ", form.question), form.kind) if form else None


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


_REPORT_FORMS_RULES = (
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


_LOOKED_AT = 1_200  # chunks; of a longer document every n-th
_OF_A_KIND = 6
_SMALL = re.compile(r"(?<=[a-z,] )[a-z]{3,}\b")
_NAMED = re.compile(r"(?<=[a-z,] )[A-Z][\w’'&.-]*")
_TITLE = re.compile(
    r"(?!(?:In|On|At|By|For|From|To|With|How|What|Why|When|Where|Who)\b)"
    r"[A-Z][A-Za-z’'-]+(?: [A-Za-z’'-]+){1,6}"
)
_EMPTY_TITLE = re.compile(
    r"(?i)\b(?:contents|introduction|conclusion|summary|appendix|part|item|note|index|preface|"
    r"references|bibliography|section|chapter|page|table|figure|exhibit|schedule|signatures?)\b"
)
DRY, OF_HEADING = "subject", "heading"  # kinds that are good to check with; nobody asks like that
# Which kinds of questions people like best; the first that can be answered are shown.
_ORDER = (
    "cost", "count", "date", "how often", "reason", "how long", "sum", "who", "change", "where",
    "what", DRY, OF_HEADING,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A question, and the place that should answer it."""

    question: str
    kind: str
    place: Span


def suggestions(chunks: Sequence[Chunk], headings: Sequence[Heading]) -> list[Suggestion]:
    """Questions of all kinds, the most promising first, no two of a kind in a row if it can be."""
    read = chunks[:: max(1, -(-len(chunks) // _LOOKED_AT))]
    by_kind: dict[str, list[Suggestion]] = defaultdict(list)
    seen: set[str] = set()
    for one in (*_of_sentences(read), *_of_headings(chunks, headings)):
        if one.question not in seen and len(by_kind[one.kind]) < _OF_A_KIND:
            seen.add(one.question)
            by_kind[one.kind].append(one)
    rounds = range(max(map(len, by_kind.values()), default=0))
    return [by_kind[k][n] for n in rounds for k in _ORDER if n < len(by_kind.get(k, ()))]


def _of_sentences(chunks: Sequence[Chunk]) -> Iterator[Suggestion]:
    whole = [one_line(chunk.text) for chunk in chunks]
    small = _all(_SMALL, whole)
    names = _all(_NAMED, whole)
    for chunk in chunks:
        for start, end in sentences(chunk.text):
            said = one_line(chunk.text[start:end])
            form = question_of(said, small, names) or reported(said, small, names)
            if form:
                place = Span(chunk.document_id, chunk.page, chunk.start + start, chunk.start + end)
                yield Suggestion(form.question, form.kind, place)


def _all(pattern: re.Pattern[str], texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in pattern.findall(text)}


def _of_headings(chunks: Sequence[Chunk], headings: Sequence[Heading]) -> Iterator[Suggestion]:
    """What does it say about this section? Answered by any sentence of it."""
    whole = [one_line(chunk.text) for chunk in chunks[:200]]
    small, names = _all(_SMALL, whole), _all(_NAMED, whole)
    for heading in headings:
        title = " ".join(heading.text.split())
        if not _TITLE.fullmatch(title) or _EMPTY_TITLE.search(title):
            continue
        own = [c for c in chunks if c.page == heading.page and c.end > heading.start]
        if own:
            place = Span(own[0].document_id, heading.page, heading.start, own[-1].end)
            yield Suggestion(
                f"What does it say about {_inside(title, small, names)}?", OF_HEADING, place
            )


def _inside(title: str, small: set[str], names: set[str]) -> str:
    """A title inside a sentence: words that the document writes small are small."""
    first, *others = title.split()
    calm = first if first in names or first.isupper() else first.lower()
    return " ".join([calm, *(word.lower() if word.lower() in small else word for word in others)])
