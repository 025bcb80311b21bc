"""Which language a text is in, and its words as they are searched, in any script. Pure.

py3langid's model (in its wheel) is loaded at the first text that is not plainly English, unless
somebody who waits for no text did it before.

SQLite's index takes a run of letters for a word. Scripts that put no spaces between words (Chinese,
Japanese, Thai, Khmer, Lao, Burmese and others) and Korean, whose particles cling to words, are cut
into overlapping grams: two characters, or three clusters of an alphabet. A run ends with shorter
grams, so that the beginning of a gram can be looked for and no phrase goes on into the next run.
For finding only: what is made of words has no offsets."""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Any

from rag_app.types import Page


def words(text: str) -> frozenset[str]:
    """The words of a list written as a text."""
    return frozenset(text.split())


# Words that questions are made of; ranking has a list of its own, which is measured with it.
STOP = words(
    "a an the this that these those and or but so nor yet if then than as of in on at to from by "
    "for with without about into over under after before during between through against since "
    "until upon off up down out i me my mine we us our ours you your yours he him his she her hers "
    "it its they them their theirs who whom whose which what when where why how is are was were be "
    "been being am do does did done doing has have had having can could will would shall should "
    "may might must not no yes any some all each every both either neither none other others "
    "another else more most much many few less least very too also just only even still again "
    "ever never there here now once same such own tell me say please ok okay isn't aren't wasn't "
    "weren't don't doesn't didn't hasn't haven't can't couldn't won't wouldn't"
)

RUN = "\ue000"
"""Stands among the words for a run that was cut into grams: a private character, and a word."""

_HAN_KANA = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
_HANGUL = "\u1100-\u11ff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
ALPHABETS = (  # Thai, Lao, Burmese, Khmer, Tai, Balinese, Javanese; neither digits nor stops
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d"
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u1950-\u1974\u1980-\u19c9\u1a20-\u1a7c\u1b00-\u1b4c"
    "\ua980-\ua9c0\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a-\uaa7f"
)
UNSPACED = _HAN_KANA + ALPHABETS
"""Characters of scripts without spaces, as they stand in a class of a regular expression."""

_WRAPPED = re.compile(  # a line that ends in the middle of a run
    f"(?<=[{UNSPACED}、，；：])[ \t]*(?:\r\n|\r|\n)[ \t]*(?=[{UNSPACED}])"
)

_KINDS = [unicodedata.category(chr(code)) for code in range(0x10000)]
_PLACES = "".join("m" if kind[0] == "M" else " " for kind in _KINDS)
SIGNS = "".join(f"{chr(m.start())}-{chr(m.end() - 1)}" for m in re.finditer("m+", _PLACES))
"""Combining marks and vowel signs, in the same way."""
_LETTERS = rf"[^\W_](?:[^\W_]|[{SIGNS}])*"
WORD = re.compile(rf"{_LETTERS}(?:['’.&-]{_LETTERS})*")
"""A word as a question has it: with its vowel signs, and with what joins its parts."""

_RUN = rf"(?P<pairs>[{_HAN_KANA}]+|[{_HANGUL}]+)|(?P<clusters>[{ALPHABETS}]+)"
_RUNS = re.compile(_RUN)
_PARTS = re.compile(rf"{_RUN}|(?:(?![{UNSPACED}{_HANGUL}])(?:[^\W_]|[{SIGNS}]))+")
_CLUSTER = re.compile(rf".[{SIGNS}]*", re.DOTALL)

# What is not searched as it stands: all that is neither Latin nor punctuation, and a few letters.
_ODD = re.compile("[ßæœøłđıẞÆŒØŁĐ\u0300-\u1dff\u1f00-\u1fff\u2c00-\u2dff\u2e80-\U0010ffff]")
_FORMS = re.compile(  # the same letters in other clothes: ligatures, presentation forms, formulas
    "[\u2e80-\u2fdf\uf900-\ufaff\ufb00-\ufdff\ufe70-\ufefc\uff01-\uffee\U0001d400-\U0001d7ff"
    "\U0002f800-\U0002fa1f]+"
)
NOT_LATIN = re.compile("[\u0370-\u1dff\u2c00-\ud7ff\uf900-\ufdff\ufe70-\ufefc\uff66-\uffdc]")
_GREEK = re.compile("[\u0370-\u03ff\u1f00-\u1fff]+")
_ACCENT = re.compile("[\u0300-\u036f]")
_UNSEEN = re.compile(  # vowel points, tatweel, variation selectors, joiners that shape letters
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\ufe00-\ufe0f\U000e0100-\U000e01ef]"
    f"|(?<=[\u0900-\u0dff{ALPHABETS}])[\u200b-\u200d\u2060]+"
)
_ARABIC = "\u0620-\u063f\u0641-\u064a"
_ARTICLE = re.compile(f"(?<![{_ARABIC}])(?:[وفبك]?ال|لل)(?=[{_ARABIC}]{{3}})")  # clings to its word
_ALIKE = str.maketrans(
    dict(zip("øłđıØŁĐёЁ", "oldioldее", strict=True))
    | {"ß": "ss", "ẞ": "ss", "æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe"}
    | dict(zip("آأإٱىیےةکھہ", "ااااييىهكهه", strict=True))
    | {chr(n): str(unicodedata.decimal(chr(n))) for n, kind in enumerate(_KINDS) if kind == "Nd"}
)


@dataclass(frozen=True, slots=True)
class Run:
    """A run's grams, one after the other, and the shorter ones at its end.

    `open`: what goes on from here may make the last gram a longer one."""

    grams: tuple[str, ...]
    tail: tuple[str, ...]
    open: bool


def healed(text: str) -> str:
    """The text without line ends inside runs of scripts that have no spaces."""
    return _WRAPPED.sub("", text)


def folded(text: str) -> str:
    """The text with one spelling for what is the same word; English comes back as it is."""
    if not _ODD.search(text):
        return text
    text = _FORMS.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    text = _UNSEEN.sub("", unicodedata.normalize("NFC", text)).translate(_ALIKE)
    return _ARTICLE.sub("", _GREEK.sub(lambda match: _bare(match[0]), text))


def spaced(text: str) -> str:
    """A folded text in which `RUN`, set apart, stands for every run."""
    return _RUNS.sub(f" {RUN} ", text)


def runs(text: str) -> list[Run]:
    """The runs of a folded text, in order."""
    return [_run(match) for match in _RUNS.finditer(text)]


def grams(text: str) -> str:
    """The grams of all runs of a folded text, spaces between them: what the index holds."""
    return " ".join(gram for run in runs(text) for gram in (*run.grams, *run.tail))


def compared(text: str) -> list[str]:
    """The words and grams of a text in order, folded and in lower case: to compare texts by."""
    found: list[str] = []
    for match in _PARTS.finditer(folded(text).lower()):
        found += _run(match).grams if match.lastgroup else (match[0],)
    return found


def _bare(greek: str) -> str:
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", greek)))


def _run(match: re.Match[str]) -> Run:
    units = _CLUSTER.findall(match[0])
    size = 2 if match.lastgroup == "pairs" else 3
    cut = tuple("".join(units[at : at + size]) for at in range(len(units)))
    whole = max(1, len(units) - size + 1)
    return Run(cut[:whole], cut[whole:], size == 3 or len(units) < size)


NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech",
    "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish", "fr": "French",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian",
    "ms": "Malay", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sr": "Serbian",
    "sv": "Swedish", "ta": "Tamil", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian",
    "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
"""English names of languages, by ISO 639-1 code."""

_SCALED_IN = ("en_GB", "de", "fr", "es", "it", "nl")
_MONTHS_IN = ("en", "de", "es", "fr", "it", "nl", "pt", "da", "sv", "pl", "ru")
_SHORTENED_IN = ("en", "de", "fr")  # as no English word is
_ALSO_SHORT = {"sept": 9, "фев": 2, "сен": 9, "ноя": 11}  # what CLDR has not
# Letters that a month begins with, else 4: neither "list" nor "Jane" is one.
_FEWEST_BEGIN = {"pl": 5, "pt": 5}
_MISSPELT, _NEARLY = 6, 0.85  # letters of a month that may be misspelt; how near it is then
_CALLED_IN = ("en", "de", "es", "fr")  # languages in which people say what a language is called
_INFLECTED = ("", "e", "en", "er")  # "ins Deutsche", "auf Englisch"
_WINDOWS, _WINDOW = 8, 1_000  # pieces of a document that are looked at, and their length
_FEWEST_LETTERS = 20  # in fewer, a language is a guess
_WORTH = 4  # Latin letters that one of another script is worth: few languages share it
_SURE = 0.5  # chance from which a document's language is told
_HARDLY_ENGLISH = 0.01  # chance of English under which a question is in another language
_PLAIN = 0.06  # share of words that only English has, from which a document is English

_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_WORD = re.compile(r"[^\W\d_]+")
_ONLY_ENGLISH = frozenset(
    "the and which what how does did who when where why were have this that with from they".split()  # noqa: SIM905 - easier to read
)

_loading = threading.Lock()
_model: Any = None


def warm() -> None:
    """Load the model and the names of units now, so that no question waits for them."""
    _identifier()
    _units_called()


def language(text: str) -> str:
    """ISO 639-1 code of what most of a text is in; "" if that cannot be told."""
    words = _WORD.findall(text.lower())
    others = len(NOT_LATIN.findall(text))
    if len(_LATIN.findall(text)) + _WORTH * others < _FEWEST_LETTERS:
        return ""
    if text.isascii() and sum(word in _ONLY_ENGLISH for word in words) >= _PLAIN * len(words):
        return "en"
    code, chance = _identifier().classify(text)
    return code if chance >= _SURE and len(code) == 2 else ""


def language_of(pages: Sequence[Page]) -> str:
    """The language of a document, from pieces all over it."""
    text = " ".join(page.text for page in pages if page.text.strip())
    step = max(_WINDOW, len(text) // _WINDOWS)
    return language(" ".join(text[at : at + _WINDOW] for at in range(0, len(text), step)))


def likeliest(text: str, before: Mapping[str, float]) -> str:
    """ISO 639-1 code of the likeliest language of a few words, never "".

    `before`: how likely languages are beforehand, as logarithms of odds; others count 0."""
    chances: dict[str, float] = dict(_identifier().rank(text.lower()))
    score = {c: math.log(chances.get(c, 0.0) + 1e-9) + before.get(c, 0.0) for c in NAMES}
    return max(score, key=lambda code: score[code])


def language_called(word: str) -> str:
    """The English name of the language that a word is the English, German, Spanish or French name
    of; empty if it is of none."""
    said, called = _unmarked(word), _called()
    stems = (said.removesuffix(end) for end in _INFLECTED)
    return next((called[stem] for stem in stems if stem in called), "")


@cache
def _called() -> dict[str, str]:
    """English names of languages by what they are called, as CLDR has it."""
    from babel import Locale

    return {
        _unmarked(called): name
        for spoken in reversed(_CALLED_IN)  # of a name that means two, the English one counts
        for code, name in NAMES.items()
        if (called := Locale.parse(spoken).languages.get(code))
    }


@cache
def decimal_comma(called: str) -> bool:
    """Whether decimals come after a comma in a language, given by its code or its English name, as
    CLDR has it; not where it is not known."""
    from babel import Locale, UnknownLocaleError

    codes = {name: code for code, name in NAMES.items()}
    try:
        symbols = Locale.parse(codes.get(called, called)).number_symbols
    except (UnknownLocaleError, ValueError, TypeError):
        return False
    return bool(symbols.get("latn", {}).get("decimal") == ",")


@cache
def german_months() -> frozenset[str]:
    """What German calls the months, in small letters. Of the languages that write "6. November"
    (CLDR) it alone begins them with a capital, as a sentence begins."""
    from babel import Locale

    named = Locale.parse("de").months["format"]
    names = (name for width in ("wide", "abbreviated") for name in named[width].values())
    return frozenset(name.lower().strip(".") for name in names)


@lru_cache(maxsize=4096)
def month_called(word: str) -> int:
    """The number of the month that a word of a sentence is; 0 if it is none. What is short for one
    counts in few languages: "out" is October in Portuguese."""
    known, said = _months_called(), _unmarked(word)
    near = [said] if len(said) < _MISSPELT else get_close_matches(said, known, 1, _NEARLY)
    return next((known[one] for one in near if one in known), 0)


@lru_cache(maxsize=4096)
def month_named(word: str) -> int:
    """The number of the month that a word of a cell is in any language, or is short for, be it by
    CLDR or as the beginning of its name; 0 if it is none."""
    said = _unmarked(word).strip(".")
    return _months_called(_MONTHS_IN).get(said) or _months_begun().get(said, 0)


@cache
def _months_begun() -> dict[str, int]:
    """The beginnings of the names of months, those that are of one month only."""
    from babel import Locale

    found: dict[str, set[int]] = {}
    for spoken in _MONTHS_IN:
        for form in ("format", "stand-alone"):
            for number, name in Locale.parse(spoken).months[form]["wide"].items():
                said = _unmarked(name)
                for end in range(_FEWEST_BEGIN.get(spoken, 4), len(said)):
                    found.setdefault(said[:end], set()).add(number)
    return {begun: min(numbers) for begun, numbers in found.items() if len(numbers) == 1}


@cache
def _months_called(shortened_in: Collection[str] = _SHORTENED_IN) -> dict[str, int]:
    from babel import Locale

    return {
        _unmarked(name).strip("."): number
        for spoken in _MONTHS_IN
        for width in ("wide", "abbreviated")[: 2 if spoken in shortened_in else 1]
        for form in ("format", "stand-alone")
        for number, name in Locale.parse(spoken).months[form][width].items()
    } | _ALSO_SHORT


@cache
def _magnitudes() -> dict[str, int]:
    from babel import Locale

    found: dict[str, int] = {}
    for spoken in _SCALED_IN:
        lengths = Locale.parse(spoken).compact_decimal_formats.values()
        for sizes in (each for length in lengths for each in length.values()):
            for size, form in sizes.items():
                word = form.pattern.strip("0'. \u00a0").lower()
                if word.isalpha() and (len(word) > 1 or word == "k") and "0" in form.pattern:
                    found.setdefault(word, len(size) - form.pattern.count("0"))
    return found


def magnitude(word: str) -> int:
    """The power of ten that a word behind figures means, as CLDR has it ("million", "Mio.", "k");
    0 if none. Of a word that means two the English one counts, and of single letters only "k"."""
    word = word.strip(".")
    return _magnitudes().get(word if len(word) == 1 else word.lower(), 0)


@cache
def _weekdays_called() -> dict[str, int]:
    from babel import Locale

    return {
        _unmarked(name).strip("."): number + 1
        for spoken in _MEASURED_IN
        for width in ("wide", "abbreviated")
        for number, name in Locale.parse(spoken).days["format"][width].items()
        if spoken == "en" or width == "wide"
    }


def weekday_called(word: str) -> int:
    """The day of the week that a word is, Monday 1, or more of them ("Saturdays"); 0 if none. What
    is short for one counts in English alone."""
    said = _unmarked(word)
    known = _weekdays_called()
    return known.get(said) or known.get(said.removesuffix("s"), 0)


@cache
def words_for_and() -> frozenset[str]:
    """What stands between the last two of a list in the languages of users, by CLDR."""
    from babel import Locale

    patterns = (Locale.parse(spoken).list_patterns["standard"]["2"] for spoken in _MEASURED_IN)
    return frozenset(pattern.format("", "").strip() for pattern in patterns)


UNITS = frozenset(
    [
        *("duration-second", "duration-minute", "duration-hour", "duration-day", "duration-week"),
        *("duration-month", "duration-year", "mass-gram", "mass-kilogram", "mass-tonne"),
        *("length-millimeter", "length-centimeter", "length-meter", "length-kilometer"),
        *("length-inch", "length-foot", "length-mile", "volume-milliliter", "volume-liter"),
        "energy-kilowatt-hour",
    ]
)
"""What is measured in everyday papers, as CLDR calls it."""
_MEASURED_IN = ("en", "de", "es", "fr", "it", "nl", "pt", "pl")
_COUNTS = (1, 2, 5)  # of which units are called otherwise
_ENDING = 4  # letters of a unit that tell it, less an ending: "Jahren"


def unit_called(word: str, begun: str = "") -> str:
    """The unit that a word is, by CLDR's name of it, long or short, in the languages of users; ""
    if it is none. Of a unit that is `begun` the beginning of its name is enough: "kilo"."""
    names = _units_called()
    if begun:
        part = word.removesuffix("s")
        return (
            begun if any(n.startswith(part) for n, unit in names.items() if unit == begun) else ""
        )
    return names.get(word) or (names.get(word[:-1], "") if len(word) > _ENDING else "")


@cache
def _units_called() -> dict[str, str]:
    from babel.units import format_unit

    names: dict[str, str] = {}
    for spoken in _MEASURED_IN:
        for unit in sorted(UNITS):
            for length in ("long", "short"):
                for count in _COUNTS:
                    said = format_unit(count, unit, length=length, locale=spoken)
                    name = said.strip("0123456789.\u00a0\u202f ").lower()
                    if len(name) > 1 and name.isalpha():
                        names.setdefault(name, unit)
    return names


def _unmarked(word: str) -> str:
    """A word without capitals and accents, which people leave out."""
    marked = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in marked if not unicodedata.combining(letter))


def is_english(text: str) -> bool:
    """Whether a text is in English, or too short to be told from it."""
    words = _WORD.findall(text.lower())
    listed = sum(word in _ONLY_ENGLISH for word in words) if text.isascii() else 0
    if listed > 1:
        return True
    others = len(NOT_LATIN.findall(text))
    if 3 * others > len(_LATIN.findall(text)):
        return False
    if len(words) < 2:
        return True
    chances: dict[str, float] = dict(_identifier().rank(text))
    # One word may be another language's, too: "have" is Danish.
    other_surely = max(chances.values()) >= _SURE
    return chances["en"] >= _HARDLY_ENGLISH or bool(listed and not other_surely)


def _identifier() -> Any:
    global _model
    with _loading:
        if _model is None:
            from py3langid.langid import MODEL_FILE, LanguageIdentifier

            _model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        return _model


_BEFORE = {"en": 3.0, "de": 1.5, "es": 1.5, "fr": 1.0}
"""How likely languages are before a word is read, as logarithms of odds: a few words of English
hold names of anywhere (kitchen-table questions, benchmarks/LOG-routing.md)."""


def language_of_question(question: str) -> str:
    """ISO 639-1 code of the language that a question, however short, is most likely in."""
    return likeliest(question, _BEFORE)


# Numbers in words.

_DIGITS = "one two three four five six seven eight nine"
_ENGLISH = (
    f"{_DIGITS} ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ABROAD = (
    "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "deux trois quatre cinq six sept huit neuf dix onze douze",
)
_NUMBERS = {word: at for at, word in enumerate(_ENGLISH.split(), start=1)} | {
    word: 10 * at for at, word in enumerate(_TENS.split(), start=2)
}
NUMBERS_ABROAD = {
    word: at
    for words_of_one in _ABROAD
    for at, word in enumerate(words_of_one.split(), start=2)
    if word not in _NUMBERS
}
"""Small numbers as they are called in German, Spanish and French. "Once" and "sept" are English
words, too; "six" is read as one."""
_SCALES = {"hundred": 100, "thousand": 1000}
_SPOKEN = re.compile(r"[^\W\d_]+")
_A_DIGIT, _A_TEN, _A_UNIT = (each.replace(" ", "|") for each in (_DIGITS, _TENS, _ENGLISH))
_TO_99 = rf"(?:(?:{_A_TEN})(?:[-\s]+(?:{_A_DIGIT}))?|{_A_UNIT})"
_TO_999 = (
    rf"(?:(?:a|{_TO_99})[-\s]+hundred(?:(?:\s+and)?[-\s]+{_TO_99}(?![-\s]+hundred))?|{_TO_99})"
)
_SPELT = re.compile(  # "one hundred and two hundred" are two numbers
    rf"(?<![^\W\d_])(?:(?:a|{_TO_999})[-\s]+thousand"
    rf"(?:(?:,|\s+and)?[-\s]+{_TO_999}(?![-\s]+(?:hundred|thousand)))?|{_TO_999})(?![^\W\d_])"
)


def spelt_numbers(text: str) -> list[int]:
    """The numbers in English words of a text, each whole: "two hundred and twenty-five"."""
    return [_number(spelt) for spelt in _SPELT.findall(text.lower())]


def in_digits(text: str) -> str:
    """A text in small letters with its numbers in digits; small ones of other languages, too, where
    it is not in English."""
    written = _SPELT.sub(lambda found: str(_number(found[0])), text.lower())
    if is_english(text):
        return written
    return _SPOKEN.sub(lambda found: str(NUMBERS_ABROAD.get(found[0], found[0])), written)


def _number(spelt: str) -> int:
    whole = part = 0
    for word in _SPOKEN.findall(spelt):
        if word in _SCALES:
            part = max(part, 1) * _SCALES[word]
        if word == "thousand":
            whole, part = part, 0
        part += _NUMBERS.get(word, 0)
    return whole + part
