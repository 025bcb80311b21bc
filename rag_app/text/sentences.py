"""Where the sentences of a text stand.

A span is a sentence, a heading, an item of a list or a row of a table. Spans come in order, do not
overlap, are trimmed, and every character that is not white space lies in exactly one of them.
Text from PDFs breaks its lines in the middle of sentences: a line end alone is no boundary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rag_app.text.languages import (
    ALPHABETS,
    UNSPACED,
    german_months,
    healed,
    language,
    magnitude,
    words,
)

# Marks that end a sentence wherever they stand: full-width ones, those of Arabic, Armenian, the
# scripts of India, Tibetan, Burmese, Khmer, Thai, Ethiopic, Mongolian.
_FULL_STOPS = "。！？｡؟۔։।॥།༎៕៚။።፧፨๚๛᠃᠉"
# Thai and Lao put a space where a sentence or a part of it ends, and no mark.
_THAI_SPACE = 60  # characters from which a space is taken for an end

_LINE = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")
_STOP = re.compile(
    r"(?<=[a-z)”])\.\d{1,2}(?=\s[A-Z])"  # a footnote's number after the full stop
    r"|[.!?…]+[\"'”’»)\]]*(?:\[[\w ]{1,20}\])*"  # "… of it.[12][citation needed]"
    rf"|(?:[{_FULL_STOPS}]|．(?!\d)|។(?!ល))+[」』”’»）)\]]*"
    r"|(?<=[\u0370-\u03ff\u1f00-\u1fff])[;\u037e](?=\s+[\u0370-\u03ff\u1f00-\u1fff«])"
    rf"|(?<=[{ALPHABETS}])[ \t]+(?=[{ALPHABETS}])"
)
_NO_SPACE_NEEDED = frozenset(_FULL_STOPS + "．។")
_WORD_BEFORE = re.compile(r"[^\s(\[“\"'‘]*\Z")
# "z.B", "i.d.R", "c.-à-d"
_DOTTED = re.compile(r"[^\W\d_]{1,2}\.-?(?:[^\W\d_]{1,2}[.-])*[^\W\d_]{1,2}")
_BEFORE_ORDINAL = re.compile(r"(?<!\S)([^\W\d_]{2,3})\s\Z")
_INITIAL = re.compile(r"[^\W\d_]\.")
_FIRST_WORD = re.compile(r"[\"'“‘(\[]*(\w*)")
_PAGE_NUMBER = re.compile(r"[^a-z].*\s(?!(?:19|20)\d\d\Z)\d{1,4}\Z")
_CLOSED = re.compile(rf"[.!?:;…：；．។{_FULL_STOPS}][\"'”’»)\]」』）]*\Z")
_UNSPACED = re.compile(f"[{UNSPACED}]")
# Of a slice all lines but the first, which may begin anywhere; "p\n> 0.05" is no quoted mail.
_QUOTED = re.compile(r"\r?\n[ \t]*>(?:[ \t]?>)*(?![ \t]?[\d=])")
_BULLET = re.compile(r"[•●○▪■□‣◦⁃∙➢❖\uf0b7\uf0a7](?:\s|\Z|(?=\w))")
_NUMBERED = re.compile(
    r"(?:[-–—*+·]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]"
    r"|(?:Item|ITEM|Part|PART|Note|NOTE)\s+(?:\d{1,3}[A-Z]?|[IVX]{1,5})[.:]?)(?:\s|\Z)"
)
# "05/10/2025, 09:53 - Ruth: …", "[2025-10-05 9.53.12] …": a message of a chat that was exported.
_STAMP = re.compile(r"\[?\d{1,4}([./-])\d{1,2}\1\d{1,4},? \d{1,2}[.:]\d{2}")
_HEADING = re.compile(
    r"#{1,6}\s|(?:item|part|note|section|chapter|article|appendix|exhibit|schedule)"
    r"\s+(?:\d{1,3}[a-z]?|[ivx]{1,5}|[a-z])\b[.:\s—–-]*\Z",
    re.IGNORECASE,
)
_VALUE = re.compile(r"[(\[$€£¥+\-–—~<>]*\d(?:[\d.,/:]*\d)?[)\]%*x]*|N/?[AM]|nm")
_FILLER = re.compile(r"[-–—]+|[$€£¥%]|\([a-z0-9]\)|[$€£¥][-–—]+")
# A row of a price list: "Day pass €6.00 any number of rides"
_PRICED = re.compile(r"[A-Z]\S*(?: \S+){0,3} [€$£¥]\s?\d[\d.,]*(?=\s|\Z)")
_RULED = re.compile(r"\S \| \S|\t.*\t|\|.*\||\S {3,}\S.* {3,}\S")


_BEFORE_NAME = words(
    "mr mrs ms dr prof st mt ft gen gov sen rep hon messrs rev sgt capt col lt vs v e.g i.e cf viz "
    "approx aprox al ca resp incl inkl excl est dept univ assn bros mme mlle jan feb mar apr jun "
    "jul aug sep sept oct nov dec"
)
_MONTHS = words("jan feb mar apr may jun jul aug sep oct nov dec")
_BEFORE_NUMBER = words(
    "no nos fig figs sec secs art arts vol vols p pp ch chap eq eqs ref refs app item items note "
    "notes section part ser para pt ex tbl rule rules reg ext tel apt nr abs env"
)
_MAY_END = words(
    "inc corp co cos ltd llc llp plc etc jr sr esq ph.d a.m p.m bhd pte gmbh n.v s.a b.v"
)
_STARTERS = words(
    "the this that these those it its in on at as if we our you your he she they there a an for "
    "from by with when while however but and or also although because since under to each all any "
    "not such some many most both other another after before during upon following based see "
    "accordingly additionally further furthermore moreover therefore thus refer where what which "
    "who why how is are was were did do does i"
)
_TELLING = 1_000  # characters that tell the language of a text
_SHORT = 3  # letters of "Mio", "Mrd": "million" ends a sentence like any word
_CONTINUES = words(
    "and or of the a an to in for by with from on at as that which is are was were be our its "
    "their his her this these any each no not than between under into such per &"
)


def sentences(text: str) -> list[tuple[int, int]]:
    """The spans (start, end) of all sentences of `text`, in order."""
    return [span for start, end in _units(text) for span in _split(text, start, end)]


def one_line(text: str) -> str:
    """A slice of a text as it is read: on one line, without hyphens that only break lines, and
    without what a mail that was answered has before its lines (RFC 3676, 4.5)."""
    bare, quoted = _QUOTED.subn("\n", text)
    text = bare if quoted == text.count("\n") else text
    return " ".join(healed(text).replace("\u00ad", "").split())


def _units(text: str) -> Iterator[tuple[int, int]]:
    """Runs of lines that belong together: a paragraph, a heading, an item, a row."""
    lines = _lines(text)
    widths = [end - start for start, end in lines]
    open_unit: tuple[int, int] | None = None
    for index, (start, end) in enumerate(lines):
        if start == end:
            continue
        if open_unit and _breaks(text, lines, index, max(widths[max(0, index - 3) : index + 4])):
            yield open_unit
            open_unit = None
        open_unit = (open_unit[0], end) if open_unit else (start, end)
    if open_unit:
        yield open_unit


def _lines(text: str) -> list[tuple[int, int]]:
    """The lines of a text, trimmed; a blank one is an empty span."""
    ends = [match.span() for match in _LINE.finditer(text)]
    starts = [0, *(after for _, after in ends)]
    stops = [*(before for before, _ in ends), len(text)]
    return [_trim(text, start, stop) for start, stop in zip(starts, stops, strict=True)]


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    return start + left, start + max(left, len(piece.rstrip()))


def _breaks(text: str, lines: list[tuple[int, int]], index: int, width: int) -> bool:
    """Whether line `index` begins something new; `width` is that of the widest line around."""
    before = text[slice(*lines[index - 1])]
    line = text[slice(*lines[index])]
    if not before or _BULLET.match(line) or _STAMP.match(line):
        return True
    if len(before) <= 4 and (_BULLET.fullmatch(before) or _NUMBERED.fullmatch(before)):
        return False  # a bullet on a line of its own belongs to the text under it
    if _is_row(before) or _is_row(line) or _HEADING.match(before) or _HEADING.match(line):
        return True
    word = line[0] if _UNSPACED.match(line) else line.split(None, 1)[0]
    short = len(before) + 1 + len(word) <= 0.8 * width  # the next word had room on the line
    closed = _CLOSED.search(before) is not None
    if (short or closed) and (_NUMBERED.match(line) or _is_capitals(line)):
        return True
    if line[0].islower() or _goes_on(before):
        return short and index == 1  # a running title over a sentence from the page before
    if _PRICED.match(before) and line[0].isupper():
        return True
    if _PAGE_NUMBER.match(before) and word.lower()[:3] in _MONTHS:
        return False  # "on 31 / December 2025"
    if _PAGE_NUMBER.match(before) or (before[0] == "(" and before[-1] == ")"):
        return True
    return short or (_is_capitals(before) and not line.isupper())


def _goes_on(line: str) -> bool:
    """Whether a line ends where no sentence and no heading can end."""
    return line[-1] in ",-–—(/&" or line.rsplit(None, 1)[-1].lower() in _CONTINUES


def _is_capitals(line: str) -> bool:
    return line.isupper() and len(line) > 3 and not line.endswith((".", ",", ";"))


def _is_row(line: str) -> bool:
    """Whether a line holds the cells of a table."""
    if _RULED.search(line):
        return True
    cells = line.split()
    if len(cells) < 2 or line[-1] in ".;?!" or not any(map(str.isdigit, line)):
        return False
    values = [_VALUE.fullmatch(cell) is not None for cell in cells]
    filled = [
        value or _FILLER.fullmatch(cell) is not None
        for value, cell in zip(values, cells, strict=True)
    ]
    tail = next((n for n, good in enumerate(reversed(filled)) if not good), len(cells))
    at_end, anywhere, share = (
        sum(values[len(cells) - tail :]),
        sum(values),
        sum(filled) / len(cells),
    )
    return (
        at_end >= 2
        or (anywhere >= 3 and share >= 0.4)
        or (anywhere and tail >= 2 and share >= 0.3)
        or (anywhere >= 2 and share >= 0.6)
    )


def _split(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentences of one unit."""
    at = start
    for stop in _STOP.finditer(text, start, end):
        if stop.end() < end and _ends(text, at, stop, end):
            yield _trim(text, at, stop.end())
            at = stop.end()
    last = _trim(text, at, end)
    if last[0] < last[1]:
        yield last


def _ends(text: str, start: int, stop: re.Match[str], end: int) -> bool:
    """Whether a sentence that began at `start` ends with the mark `stop`."""
    mark = stop.group()
    if mark[0] in _NO_SPACE_NEEDED:
        return True
    if mark.isspace():
        return stop.start() - start >= _THAI_SPACE
    if mark in ";\u037e":
        return True
    if not text[stop.end()].isspace():
        return False  # a decimal, an address, a file's name
    follows = text[stop.end() : min(end, stop.end() + 60)].lstrip()
    if not follows:
        return True
    if follows[0].islower():
        return False
    if mark[0] != "." or mark.startswith("..") or mark[1:2].isdigit() or mark[-1] == "]":
        return True
    if text[stop.start() - 1] in "\"'”’»":
        return True
    return not _is_abbreviation(text, start, stop.start(), follows)


def _is_abbreviation(text: str, start: int, dot: int, follows: str) -> bool:
    """Whether the full stop at `dot` belongs to a word that does not end its sentence here."""
    found = _WORD_BEFORE.search(text, max(start, dot - 40), dot)
    word = found.group() if found else ""
    key = word.lower()
    if not word:  # a full stop that stands apart, or dots that lead to a page number
        return not (text[max(start, dot - 2) : dot].strip().isalnum() and follows[0].isupper())
    if key in _BEFORE_NAME:
        return True
    street = key.endswith("str")  # "Hauptstr. 5"
    if (street or key in _BEFORE_NUMBER) and (follows[0].isdigit() or follows[0] == "#"):
        return True
    if word[0].islower() and key not in _MAY_END and _is_dotted(word, follows):
        return True
    if word[0].isupper() and len(word) <= _SHORT and magnitude(word):  # "5 Mio. Euro"
        return not _starts_sentence(follows)
    if word.isdigit() and len(word) <= 2:
        named = _first_word(follows).lower() in german_months()
        if named or _is_ordinal(text, start, dot - len(word)):
            return True
    if word[0].isdigit() and len(word) <= 4:
        return _is_number_of_part(text, start, dot - len(word), follows)
    if key in _MAY_END or (word[0].isupper() and (len(word) == 1 or "." in word[1:2])):
        return not _starts_sentence(follows)
    return False


def _is_ordinal(text: str, start: int, at: int) -> bool:
    """Whether the number at `at` counts what comes next: "im 2. Stock". That is how German writes
    it, behind a short word, an article or a preposition; so are "Es ist 2. Das" and the like."""
    found = _BEFORE_ORDINAL.search(text, max(start, at - 12), at)
    if not found or not (found[1].islower() or found.start(1) <= start + 1):
        return False
    return _language_of(text[:_TELLING]) == "de"


@lru_cache(maxsize=64)
def _language_of(beginning: str) -> str:
    """The language of a text by its beginning, told once for all its numbers."""
    return language(beginning)


def _is_dotted(word: str, follows: str) -> bool:
    """Whether a word is one of several that are short for others: "z.B.", and "z. B."."""
    alone = len(word) == 1 and _INITIAL.match(follows)
    return bool(alone or (_DOTTED.fullmatch(word) and not _starts_sentence(follows)))


def _first_word(follows: str) -> str:
    found = _FIRST_WORD.match(follows)
    return found.group(1) if found else ""


def _starts_sentence(follows: str) -> bool:
    word = _first_word(follows)
    name = len(word) > 1 and word.isupper()  # "ACME INC. AND SUBSIDIARIES"
    return word[:1].isupper() and not name and word.lower() in _STARTERS


def _is_number_of_part(text: str, start: int, at: int, follows: str) -> bool:
    """Whether the number at `at` opens its sentence ("2. Leases") or names a part ("Item 7A.")."""
    before = text[max(start, at - 12) : at].split()
    if not before or before[-1].lower() not in _BEFORE_NUMBER:
        return not before
    return at - start <= 12 or not _starts_sentence(follows)
