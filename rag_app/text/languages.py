"""Which language a text is in. Pure.

py3langid's model (in its wheel) is loaded at the first text that is not plainly English, unless
somebody who waits for no text did it before."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from rag_app.types import Page

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

_WINDOWS, _WINDOW = 8, 1_000  # pieces of a document that are looked at, and their length
_FEWEST_LETTERS = 20  # in fewer, a language is a guess
_WORTH = 4  # Latin letters that one of another script is worth: few languages share it
_SURE = 0.5  # chance from which a document's language is told
_HARDLY_ENGLISH = 0.01  # chance of English under which a question is in another language
_PLAIN = 0.06  # share of words that only English has, from which a document is English

_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_WORD = re.compile(r"[^\W\d_]+")
_OTHER_SCRIPT = re.compile("[\u0370-\u1dff\u2c00-\ud7ff\uf900-\ufdff\ufe70-\ufefc\uff66-\uffdc]")
_ONLY_ENGLISH = frozenset(
    "the and which what how does did who when where why were have this that with from they".split()  # noqa: SIM905 - easier to read
)

_loading = threading.Lock()
_model: Any = None


def warm() -> None:
    """Load the model now, so that no question waits for it."""
    _identifier()


def language(text: str) -> str:
    """ISO 639-1 code of what most of a text is in; "" if that cannot be told."""
    words = _WORD.findall(text.lower())
    others = len(_OTHER_SCRIPT.findall(text))
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


def is_english(text: str) -> bool:
    """Whether a text is in English, or too short to be told from it."""
    words = _WORD.findall(text.lower())
    if text.isascii() and any(word in _ONLY_ENGLISH for word in words):
        return True
    others = len(_OTHER_SCRIPT.findall(text))
    if 3 * others > len(_LATIN.findall(text)):
        return False
    if len(words) < 2:
        return True
    chances: dict[str, float] = dict(_identifier().rank(text))
    return chances["en"] >= _HARDLY_ENGLISH


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
