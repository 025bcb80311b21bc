"""What asks nothing: greetings, thanks, keys struck at random; and what is said to it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from itertools import pairwise

from rag_app.answering.ellipsis import words


class Talk(Enum):
    """What is said that asks nothing of documents."""

    GREETING = auto()
    THANKS = auto()
    ASSENT = auto()
    FAREWELL = auto()
    HELP = auto()


_SAID: Mapping[Talk, frozenset[str]] = {
    Talk.GREETING: words(
        "hi hello hey hiya howdy greetings hallo hola bonjour bonsoir salut coucou ciao salve olá "
        "ola oi hej hei moin servus ahoj cześć merhaba selam salam shalom namaste привет "
        "здравствуйте здравствуй γεια مرحبا مرحبًا שלום नमस्ते สวัสดี 안녕 안녕하세요 你好 您好 "
        "こんにちは"
    ),
    Talk.THANKS: words(
        "thanks thank thx ty cheers danke dankeschön merci gracias grazie obrigado obrigada dank "
        "bedankt tack takk tak kiitos dziękuję děkuji teşekkürler спасибо ευχαριστώ شكرا תודה "
        "धन्यवाद ขอบคุณ 감사합니다 고마워요 谢谢 謝謝 ありがとう"
    ),
    Talk.ASSENT: words(
        "ok okay okey k alright sure cool great awesome wow lol haha yes yeah yep no nope "
        "ja nein oui non sí да нет vale 好 好的 はい 네"
    ),
    Talk.FAREWELL: words(
        "bye goodbye tschüss tschüs adiós adieu arrivederci tchau пока 再见 さようなら"
    ),
}
_EVERY = frozenset().union(*_SAID.values())
_PHRASES: Mapping[Talk, frozenset[str]] = {
    Talk.GREETING: frozenset(
        (
            "good morning", "good afternoon", "good evening", "good day", "guten tag",
            "guten morgen", "guten abend", "grüß gott", "buenos días", "buenos dias",
            "buenas tardes", "buenas noches", "buongiorno", "buonasera", "bom dia", "boa tarde",
            "goedendag", "god dag", "dzień dobry", "dobrý den", "добрый день", "xin chào",
            "السلام عليكم", "how are you", "how are you doing", "how do you do", "what's up",
            "whats up",
        )
    ),
    Talk.THANKS: frozenset(("vielen dank", "muchas gracias", "merci beaucoup", "dank je")),
    Talk.ASSENT: frozenset(("got it", "i see", "very good", "well done", "good job", "d'accord")),
    Talk.FAREWELL: frozenset(("good night", "see you", "auf wiedersehen", "au revoir")),
    Talk.HELP: frozenset(
        (
            "help", "help me", "what can you do", "what can i do", "what can i ask",
            "what can i ask you", "what do you do", "who are you", "what are you",
            "how does this work", "how do you work", "how do i use this",
            "can you help me",
        )
    ),
}  # fmt: skip
_AROUND = words(
    "there all everyone everybody again you so very much many a lot for your the help and please "
    "then now my friend dear bot sir madam that was is this it's good answer"
)
_MOST_WORDS = 8
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_DRAWN_OUT = re.compile(r"(.)\1{2,}")  # "hellooo"
_END = re.compile(r"[\s!.,?…।！。？]+")

_REPLIES = {
    Talk.GREETING: "Hello! {0}",
    Talk.THANKS: "You are welcome. {0}",
    Talk.ASSENT: "All right. {0}",
    Talk.FAREWELL: "Goodbye. Your documents and this conversation stay here.",
    Talk.HELP: "I answer questions about your documents and show where it says so. {0}",
}
NO_QUESTION = "I cannot make out a question in that. {0}"
_ASK = "Ask what you want to know about your documents, or write “Summarise {0}”."
_LONGEST_NAME = 60  # characters

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "azertyuiop", "yxcvbnm")
_VOWELS = frozenset("aeiouyäöüåæøáéíóúàèìòùâêîôûãõœ")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{4}")
_MOST_STRUCK = 3  # words
_FEWEST_LETTERS = 5


def talk(said: str) -> Talk | None:
    """What small talk this is, if it is nothing else."""
    bare = _DRAWN_OUT.sub(r"\1", said.lower().replace("’", "'"))
    spoken = _WORD.findall(bare)
    if not 0 < len(spoken) <= _MOST_WORDS:
        return None
    for kind, heads in _SAID.items():
        if _END.sub("", bare) in heads:  # in scripts whose words hold marks
            return kind
    for kind, phrases in _PHRASES.items():
        if " ".join(spoken) in phrases:
            return kind
    found = [kind for word in spoken for kind, heads in _SAID.items() if word in heads]
    if not found or not (_AROUND | _EVERY).issuperset(spoken):
        return None
    return Talk.THANKS if Talk.THANKS in found else found[0]


def struck(said: str) -> bool:
    """Whether this looks like keys struck at random, or holds no word at all."""
    spoken = _WORD.findall(said.lower())
    return not spoken or (len(spoken) <= _MOST_STRUCK and all(map(_is_struck, spoken)))


def _is_struck(word: str) -> bool:
    if not (word.isascii() and word.isalpha()):
        return False
    if len(set(word)) == 1:
        return len(word) > _FEWEST_LETTERS - 2
    if len(word) < _FEWEST_LETTERS - (word in "asdf jkl"):
        return False
    if _VOWELS.isdisjoint(word) or any(_runs_along(word, row) for row in _ROWS):
        return True
    return any(set(word) <= set(row) for row in _ROWS) and bool(_CONSONANTS.search(word))


def _runs_along(word: str, row: str) -> bool:
    """Whether each key lies beside the one before it: "asdfgh", "poiuy"."""
    places = [row.find(letter) for letter in word]
    steps = [abs(b - a) for a, b in pairwise(places)]
    return min(places) >= 0 and max(steps) <= 1


def reply(kind: Talk | None, names: Sequence[str]) -> str:
    """What is said to small talk, or to what is no question; `names` of documents to work on."""
    shortest = min(names, key=len, default="")
    named = shortest if 0 < len(shortest) <= _LONGEST_NAME else "this document"
    said = NO_QUESTION if kind is None else _REPLIES[kind]
    return said.format(_ASK.format(named))
