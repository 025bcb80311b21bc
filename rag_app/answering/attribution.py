"""Which sentence of the documents supports which sentence of a written answer, and whether every
number of it stands in a source. Pure.

Made after the answer is written, since small models cannot be trusted to cite. A sentence is
supported if a source sentence is near it in meaning and holds its telling words, names and
numbers; a number or a month that stands nowhere in the source is never supported.

What a model writes may be punctuated otherwise than what it read: "1.250" for "1,250", "14:05" for
"2.05 pm", "3" for "three". A number that can be read in more than one way has all those values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, pairwise
from unicodedata import numeric

import numpy as np

from rag_app.answering.abstention import chance_of
from rag_app.answering.evidence import Excerpt
from rag_app.answering.extraction import Candidate, candidates
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.ranking import TOKEN, rarity, stems, telling
from rag_app.text.languages import NUMBERS_ABROAD, is_english, magnitude, spelt_numbers
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Passage, Span

_NUMBER = re.compile(r"\d+(?:[.,:'’\u00a0\u202f]\d+)*")
_SCALED = re.compile(rf"({_NUMBER.pattern})(?:[-\s]?([^\W\d_]+))?")  # "1.5 million", "20k"
_APART = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?:[.,]\d+)*(?!\d)")  # 12 500, 12 500,50
_GROUPED = re.compile(r"\d{1,3}(?:([.,'’\u00a0\u202f])\d{3})(?:\1\d{3})*")
_POINTED = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?!\.?\d|,\d)")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_TIMES = re.compile(
    rf"\b({'|'.join(_MONTHS)}"
    r"|Mon(?=day)|Tues(?=day)|Wednes(?=day)|Thurs(?=day)|Fri(?=day)|Satur(?=day)|Sun(?=day))"
)
# Of a source, and of a question, in small letters, too, where that is no other word.
_SHORT = {name[:3]: name for name in _MONTHS} | {"Sept": "September"}
_SHORT |= {"Mon": "Mon", "Tue": "Tues", "Tues": "Tues", "Wed": "Wednes", "Thu": "Thurs"}
_SHORT |= {"Thur": "Thurs", "Thurs": "Thurs", "Fri": "Fri", "Sat": "Satur", "Sun": "Sun"}
_SHORTENED = re.compile(rf"\b(?:{'|'.join(sorted(_SHORT, key=len, reverse=True))})\b")
_SMALL = {name.lower(): name for name in _MONTHS if name not in ("March", "May")} | {
    short.lower(): name
    for short, name in _SHORT.items()
    if short not in ("Mar", "May", "Sat", "Sun")
}
_DATE = re.compile(r"(?<![\d./-])(\d{1,4})[./-](\d{1,2})[./-](\d{2}(?:\d\d)?)(?![\d./-])")
_TWELVE_HOURS = re.compile(r"(?<![\d.,:])(\d{1,2})(?:[.:](\d\d))?\s?([ap])\.?\s?m\b", re.IGNORECASE)
_NO_YEAR = re.compile(r"(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.(?!\d)")  # "bis 31.12."
_YEARS = re.compile(r"(?<![\d./-])((?:19|20)\d\d)[/–](\d\d)(?![\d./-])")  # "2025/26"
_HOURS = re.compile(r"(?<!\d)([01]?\d|2[0-4])\s?h\s?([0-5]\d)(?!\d)")  # 17h30
_FRACTION = re.compile(r"(?<![\d.,])(\d{0,9})\s?([¼-¾⅐-⅞])")
_POINT_FIRST = re.compile(r"(?<![\w.,)])\.(\d+)(?![\d.,])")  # ".5 mg"
_LAST_CENTURY = 68  # two digits of a year up to which it is of this one, as POSIX has it
_PERCENT = re.compile(rf"({_NUMBER.pattern})\s?%")
_WORD = re.compile(r"[^\W\d_]+")


def numbers(text: str) -> list[frozenset[str]]:
    """The numbers in digits of a text in order, each with all the values it may have."""
    return [
        frozenset(_values(number) | _scaled(number, magnitude(word)))
        for number, word in _SCALED.findall(text)
    ]


def figures(text: str) -> list[frozenset[str]]:
    """The same, with numbers in words but "one", and months and days of the week."""
    found = numbers(text)
    found += [frozenset({str(value)}) for value in spelt_numbers(text) if value != 1]
    return found + [frozenset({name}) for name in _TIMES.findall(text)]


def known_figures(text: str) -> set[str]:
    """All values that stand in a text, parts of dates and times of day among them."""
    known = {value for one in figures(text) for value in one}
    known |= {str(value) for value in spelt_numbers(text)}
    known |= {v for number in _APART.findall(text) for v in _values(number.replace(" ", ""))}
    words = _WORD.findall(text.lower())
    known |= {str(NUMBERS_ABROAD[word]) for word in words if word in NUMBERS_ABROAD}
    known |= {_SHORT[short] for short in _SHORTENED.findall(text)}
    known |= {_SMALL[word] for word in words if word in _SMALL}
    known |= {value for point in _POINT_FIRST.findall(text) for value in _values(f"0.{point}")}
    known |= {str(int(whole or 0) + numeric(part)) for whole, part in _FRACTION.findall(text)}
    return known | _dates(text) | _hours(text)


def _dates(text: str) -> set[str]:
    """The parts of the dates of a text, months by their names, years with their century."""
    known: set[str] = set()
    for date in _DATE.findall(text):
        known |= {_MONTHS[int(part) - 1] for part in date[:2] if 1 <= int(part) <= 12}
        if len(date[0]) <= len(date[2]) == 2:
            known.add(f"{19 if int(date[2]) > _LAST_CENTURY else 20}{int(date[2]):02}")
    for day, month in _NO_YEAR.findall(text):
        if 1 <= int(day) <= 31 and 1 <= int(month) <= 12:
            known |= {_plain(day), _plain(month), _MONTHS[int(month) - 1]}
    for first, last in _YEARS.findall(text):
        if (int(first) + 1) % 100 == int(last):
            known.add(str(int(first) + 1))
    return known


def _hours(text: str) -> set[str]:
    """The times of day of a text, counted to 24 and to 12, and the parts of times and dates."""
    known: set[str] = set()
    for hour, minutes, half in _TWELVE_HOURS.findall(text):
        if 1 <= int(hour) <= 12:
            known |= _values(f"{int(hour) % 12 + 12 * (half in 'pP')}:{minutes or '00'}")
    for hour, minutes in _HOURS.findall(text):
        known |= _values(f"{hour}:{minutes}") | _values(f"{int(hour) % 12 or 12}:{minutes}")
    for number in _NUMBER.findall(text):
        parts = re.split(r"\D", number)
        if _is_time_or_date(parts):
            if ":" in number or len(parts) == 3:
                known |= {_plain(part) for part in parts}
            midnight = parts[0] == "00" or (parts[0] == "0" and ":" in number)  # no price of 0.30
            if len(parts) == 2 and (midnight or int(parts[0]) > 12):
                known |= _values(f"{int(parts[0]) % 12 or 12}:{parts[1]}")
    return known


def percentages(text: str) -> set[str]:
    """The values of numbers that stand as percentages, and nowhere in the text as anything else."""
    found = {value for number in _PERCENT.findall(text) for value in _values(number)}
    other = _NUMBER.findall(_PERCENT.sub(" ", text))
    return found - {value for number in other for value in _values(number)}


def pointed(text: str) -> list[str]:
    """The numbers of a text that may be whole ones with points between their thousands."""
    return _POINTED.findall(text)


def missing(claim: str, known: Set[str]) -> list[frozenset[str]]:
    """The figures of a claim that are not among those known."""
    return [values for values in figures(_joined(claim, known)) if not values & known]


def invented(claim: str, known: Set[str]) -> bool:
    """Whether a claim has a number in digits that is not known.

    A word may count what the claim itself lists: "There are two ways"."""
    return any(not values & known for values in numbers(_joined(claim, known)))


def _joined(claim: str, known: Set[str]) -> str:
    """The claim with "12 500" as one number, if that is the one that is known."""

    def joined(found: re.Match[str]) -> str:
        whole = found.group().replace(" ", "")
        return whole if _values(whole) & known else found.group()

    return _APART.sub(joined, claim)


def levelled(text: str) -> str:
    """The text with each number in one writing, so that the same ones are the same words."""
    return _NUMBER.sub(lambda one: min(_values(one.group())).replace(".", "point"), text)


def _is_time_or_date(parts: list[str]) -> bool:
    if len(parts) == 3:
        return all(len(part) in (1, 2, 4) for part in parts)
    return len(parts) == 2 and len(parts[1]) == 2 and int(parts[0]) < 24 and int(parts[1]) < 60


def _values(number: str) -> set[str]:
    """The values a number may have, written as digits without groups and trailing zeros."""
    parts = re.split(r"\D", number)
    if len(parts) == 1:
        return {_plain(number)}
    values = set()
    whole = _GROUPED.fullmatch(number)
    if whole:
        values.add(_plain("".join(parts)))
    head = number[: -len(parts[-1]) - 1]
    if whole and len(parts) == 2 and parts[0].strip("0") and not _is_rate(number, parts):
        # Of a thousand and of a decimal with its noughts: "20,000" is no other way to write 20.
        values.add(".".join(parts))
    elif len(parts) == 2 or (_GROUPED.fullmatch(head) and number[len(head)] != head[len(parts[0])]):
        values.add(_plain(f"{''.join(parts[:-1])}.{parts[-1]}"))
    return values or {".".join(map(_plain, parts))}


def _is_rate(number: str, parts: Sequence[str]) -> bool:
    """Whether three figures may be decimals with a nought more than is said: "4.250%" is 4.25%."""
    return "." in number and bool(parts[1].strip("0"))


def _scaled(number: str, power: int) -> set[str]:
    """The values that a number has with a word for a power of ten behind it; none without one."""
    plain = (value for value in _values(number) if power and value.count(".") < 2)
    return {_plain(f"{value}e{power}") for value in plain}


def _plain(number: str) -> str:
    value = Decimal(number)
    whole = value == value.to_integral_value()
    return format(value.to_integral_value(), "f") if whole else str(value.normalize())


ENOUGH = 0.5  # chance of support from which a sentence is marked
SHOWN_ENOUGH = 0.3  # the same among the few sentences that the writer was shown
_MOST = 3  # sources of one sentence
_LOOKED_AT = 10
_SECOND = 0.15  # a second source must add this share of the sentence's telling words
_ASKED = 0.15  # weight of a word of the question: an answer repeats it, a source need not
_FEWEST_WORDS = 3  # "Yes." and "In short:" claim nothing by themselves

# Logistic regression; fitted by benchmarks/fit_support.py.
_BIAS, _MEANING, _WORDS, _NAMES = -7.865, 4.556, 7.835, 0.335

_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w’'-]+")
_CAPITAL = re.compile(r"\b[A-Z][\w’'-]+")
_MARKUP = re.compile(
    r"^[\s>#*+-]+|[*_`|]+"
    r"|</?[a-zA-Z][^<>]{0,500}>|(?<=\])\([^()\s]{0,500}\)|[\[\]]"  # tags, targets of links
)
_NUMBERED = re.compile(  # "2. Rent", "**2.** Rent", "- 2) Rent", "### 2. Rent"
    r"^([ \t>#*_+-]*)(\d{1,3}[.)])(?=[\s*_])", re.MULTILINE
)

Place = tuple[str, int]  # document and page


@dataclass(frozen=True, slots=True)
class Features:
    """How a source sentence fits a written one."""

    meaning: float  # cosine
    words: float  # share of the written sentence's telling words, rare ones counting more
    names: float  # share of its names; 1 without names

    @property
    def chance(self) -> float:
        """Chance that the source says the same."""
        told = _MEANING * self.meaning + _WORDS * self.words + _NAMES * self.names
        return chance_of(_BIAS + told)


@dataclass(frozen=True, slots=True)
class Supported:
    """A piece of a written answer and what supports it; `claims`: it says something to support."""

    text: str
    evidence: tuple[Span, ...] = ()
    claims: bool = True


def pieces_of(text: str) -> list[str]:
    """The sentences of a text with the white space after them: joined they are the text."""
    starts = [start for start, _ in sentences(text)]
    if not starts:
        return [text] if text else []
    bounds = [0, *starts[1:], len(text)]
    return [text[a:b] for a, b in pairwise(bounds)]


def claims_of(text: str) -> list[tuple[str, str]]:
    """The pieces of a text, each with the same as Markdown whose list numbers are no figures.

    Lines are numbered where they count up from 1; one that begins "37." says so."""
    runs: dict[str, list[re.Match[str]]] = {}
    marked = text
    for found in _NUMBERED.finditer(text):
        number, run = int(found[2][:-1]), runs.get(found[1], [])
        run = [*run, found] if number == len(run) + 1 else [found][: number == 1]
        runs[found[1]] = run
        for one in run[-2:] if len(run) > 1 else ():
            start, end = one.span(2)
            marked = f"{marked[:start]}{'*' * (end - start)}{marked[end:]}"
    pieces = pieces_of(text)
    ends = list(accumulate(map(len, pieces)))
    return [(p, marked[end - len(p) : end]) for p, end in zip(pieces, ends, strict=True)]


def support(
    text: str, passages: Sequence[Passage], embedder: Embedder, asked: str = ""
) -> list[Supported]:
    """Every sentence of the text with its sources. Raises ModelUnavailable.

    Numbers of the question that was `asked` need no source: a person said them."""
    return _supported(text, candidates(passages), _around(passages), embedder, asked, ENOUGH)


def support_in(
    text: str, excerpts: Sequence[Excerpt], embedder: Embedder, asked: str = ""
) -> list[Supported]:
    """The same where the sources can only be what was shown: a row of a table with the names of its
    columns, as the writer read it. Raises ModelUnavailable."""
    ranked = sorted(
        (
            (-odds, Candidate(span, one_line(line)))
            for excerpt in excerpts
            for odds, span, line in zip(excerpt.odds, excerpt.spans, excerpt.lines, strict=True)
        ),
        key=lambda one: one[0],
    )
    around: dict[Place, str] = {}
    for excerpt in excerpts:
        key = (excerpt.document_id, excerpt.page)
        around[key] = f"{around.get(key, '')} {excerpt.name} {excerpt.heading}"
    found = [candidate for _, candidate in ranked]
    return _supported(text, found, around, embedder, asked, SHOWN_ENOUGH)


def holding(wanted: Set[str], excerpts: Sequence[Excerpt]) -> tuple[Span, ...]:
    """Of each of these figures the likeliest sentence shown that holds it, each sentence once."""
    ranked = sorted(
        (
            (-odds, span, known_figures(text))
            for excerpt in excerpts
            for odds, span, text in zip(excerpt.odds, excerpt.spans, excerpt.texts, strict=True)
        ),
        key=lambda one: one[0],
    )
    first = (next((s for _, s, held in ranked if one in held), None) for one in sorted(wanted))
    return tuple(dict.fromkeys(span for span in first if span))


def _supported(
    text: str,
    found: Sequence[Candidate],
    around: Mapping[Place, str],
    embedder: Embedder,
    asked: str,
    enough: float,
) -> list[Supported]:
    pieces = pieces_of(text)
    claims = [claim_of(marked) for _, marked in claims_of(text)]
    to_judge = [c for c in claims if len(TOKEN.findall(c)) >= _FEWEST_WORDS]
    rows: dict[str, np.ndarray] = {}
    if to_judge and found:
        rows = dict(zip(to_judge, _similarity(to_judge, found, embedder), strict=True))
    held = [stems(levelled(c.text)) for c in found]
    said = stems(levelled(asked))
    judged = []
    for piece, claim in zip(pieces, claims, strict=True):
        one = Supported(piece, claims=claim in to_judge)
        if claim in rows:
            weights = rarity(telling(levelled(claim)), held)
            weights = {w: v * (_ASKED if w in said else 1.0) for w, v in weights.items()}
            chances = [
                features(claim, c.text, around[_place(c)], near, weights).chance
                for c, near in zip(found, rows[claim].tolist(), strict=True)
            ]
            one = _judged(piece, claim, found, chances, weights, around, asked, enough)
        judged.append(one)
    return judged


def claim_of(piece: str) -> str:
    """What a piece of Markdown says, in plain words."""
    return one_line(_MARKUP.sub(" ", piece))


def _similarity(
    claims: Sequence[str], found: Sequence[Candidate], embedder: Embedder
) -> np.ndarray:
    vectors = np.asarray(embedder.embed_documents([*claims, *(c.text for c in found)]))
    similarity: np.ndarray = vectors[: len(claims)] @ vectors[len(claims) :].T
    return similarity


def _place(candidate: Candidate) -> Place:
    return candidate.span.document_id, candidate.span.page


def _around(passages: Sequence[Passage]) -> dict[Place, str]:
    """What else is known of a sentence: its document's name and the heading it stands under."""
    around: dict[Place, str] = {}
    for passage in passages:
        key = (passage.chunk.document_id, passage.chunk.page)
        around[key] = f"{around.get(key, '')} {passage.name} {passage.chunk.heading}"
    return around


def _judged(
    piece: str,
    claim: str,
    found: Sequence[Candidate],
    chances: Sequence[float],
    weights: dict[str, float],
    around: Mapping[Place, str],
    asked: str,
    enough: float,
) -> Supported:
    """The sources of a claim, the likeliest first; none if they lack one of its figures."""
    scored = sorted(zip(chances, found, strict=True), key=lambda pair: -pair[0])
    kept: list[Candidate] = []
    for chance, candidate in scored[:_LOOKED_AT]:
        if chance < enough or len(kept) == _MOST:
            break
        if _adds(claim, candidate, kept, weights):
            kept.append(candidate)
    said = " ".join(f"{c.text} {around[_place(c)]}" for c in kept)
    if kept and not missing(claim, known_figures(f"{said} {asked}")):
        return Supported(piece, tuple(c.span for c in kept))
    other = _in_other_language(claim, found, known_figures(asked))
    return Supported(piece, (other.span,)) if other else Supported(piece)


def _in_other_language(claim: str, found: Sequence[Candidate], known: set[str]) -> Candidate | None:
    """The first source in another language that holds the claim's figures, or most of its names.

    Words and embeddings say little across languages; numbers and names stay what they are."""
    english = is_english(claim)
    words = set(_LONG_WORD.findall(claim.lower()))
    best, most = None, 0
    for candidate in found:
        here = known_figures(candidate.text)
        figured = len(missing(claim, known)) - len(missing(claim, known | here))
        if missing(claim, known | here) or is_english(candidate.text) == english:
            continue
        if not figured and not _has_names(candidate.text, claim, english):
            continue
        shared = 2 * figured + len(words & set(_LONG_WORD.findall(candidate.text.lower())))
        if shared > most:
            best, most = candidate, shared
    return best


def _has_names(source: str, claim: str, english: bool) -> bool:
    """Whether a source has most of a claim's names, or the claim, that is not in `english`, most of
    a source's: in German every noun looks like a name."""
    named, others = _NAME.findall(claim), _NAME.findall(source)
    wanted, there = (named, source) if english or len(named) <= len(others) else (others, claim)
    said = set(_CAPITAL.findall(there))
    return bool(wanted) and 2 * sum(name in said for name in wanted) >= len(wanted)


def _adds(
    claim: str, candidate: Candidate, kept: Sequence[Candidate], weights: dict[str, float]
) -> bool:
    """Whether a source holds numbers or telling words of the claim that none before it holds."""
    before = " ".join(c.text for c in kept)
    held, here = stems(levelled(before)), stems(levelled(candidate.text))
    new = sum(weight for word, weight in weights.items() if word in here and word not in held)
    lacking = missing(claim, known_figures(before))
    more = len(missing(claim, known_figures(f"{before} {candidate.text}"))) < len(lacking)
    return not kept or more or new >= _SECOND * sum(weights.values())


def features(
    claim: str, source: str, around: str, meaning: float, weights: dict[str, float]
) -> Features:
    """How well a source sentence fits; `around` is the name and heading it stands under."""
    said, near = stems(levelled(source)), stems(levelled(around))
    total = sum(weights.values())
    held = sum(w * (1.0 if t in said else 0.5 if t in near else 0.0) for t, w in weights.items())
    names = {name.lower() for name in _NAME.findall(claim)}
    known = f"{source} {around}".lower()
    return Features(
        meaning=meaning,
        words=held / total if total else 0.0,
        names=sum(name in known for name in names) / len(names) if names else 1.0,
    )
