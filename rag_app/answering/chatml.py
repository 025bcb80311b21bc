"""Messages to token ids in the model's own template, and token ids back to text.

What people and documents say is text and nothing else: "<|im_end|>" in a document is read as these
ten characters and never as the end of a message, because only the template's own parts may become
control tokens."""

from __future__ import annotations

import codecs
import json
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from rag_app.models.catalogue import TRAITS
from rag_app.models.convert import engine_package

_MARK = re.compile("\ue000([0-9]+)\ue001")  # stands for a text while the template is filled in

Said = tuple[str, str]  # role, text
Encode = Callable[[str], list[int]]
"""A text to ids, nothing added."""
Fill = Callable[[list[dict[str, str]]], str]
"""The messages of a conversation in the model's template."""


class TextTokens:
    """Conversations to ids, in which no text is more than text. For any number of threads."""

    def __init__(self, encode: Encode, fill: Fill, controls: Mapping[str, int]) -> None:
        self._encoded, self._fill = encode, fill
        longest_first = sorted(filter(None, controls), key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        self._numbers = frozenset(controls.values())
        self._templates: dict[tuple[str, ...], list[str]] = {}
        self._lock = threading.Lock()

    def of_text(self, text: str) -> list[int]:
        """The ids of a text, none of them a control token, whatever it says."""
        ids: list[int] = []
        for piece in self._pieces(_clean(text)):
            ids += self._encode(piece)
        return [number for number in ids if number not in self._numbers]

    def of_messages(self, messages: Sequence[Said]) -> list[int]:
        """The ids of a conversation, up to where the model is to go on."""
        ids: list[int] = []
        for part in self._template(tuple(role for role, _ in messages)):
            mark = _MARK.fullmatch(part)
            ids += self.of_text(messages[int(mark[1])][1]) if mark else self._encode(part)
        return ids

    def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has."""
        return [len(self.of_text(text)) for text in texts]

    def _pieces(self, text: str) -> Iterator[str]:
        """The text in pieces that hold no control token: each is cut after its first letter."""
        begin = 0
        while found := self._control.search(text, begin):
            yield text[begin : found.start() + 1]
            begin = found.start() + 1
        yield text[begin:]

    def _encode(self, text: str) -> list[int]:
        return self._encoded(text) if text else []

    def _template(self, roles: tuple[str, ...]) -> list[str]:
        """The model's template filled in with marks, in parts: its own, and the marks."""
        with self._lock:
            if roles not in self._templates:
                said = [
                    {"role": role, "content": f"\ue000{place}\ue001"}
                    for place, role in enumerate(roles)
                ]
                parts = re.split("(\ue000[0-9]+\ue001)", self._fill(said))
                self._templates[roles] = [part for part in parts if part]
            return self._templates[roles]


class Tokens(TextTokens):
    """The tokens of one model of the catalogue."""

    def __init__(self, folder: Path) -> None:
        traits = json.loads((folder / TRAITS).read_text(encoding="utf-8"))
        tokenizer: Any = engine_package().Tokenizer(str(folder))

        def encode(text: str) -> list[int]:
            encoded = tokenizer.encode(text, add_special_tokens=False)
            ids: list[int] = encoded.input_ids.data[0].tolist()
            return ids

        def fill(said: list[dict[str, str]]) -> str:
            more = {"enable_thinking": False}
            return str(tokenizer.apply_chat_template(said, True, extra_context=more))

        self.controls: dict[str, int] = traits["controls"]
        super().__init__(encode, fill, self.controls)
        self._tokenizer = tokenizer
        self.window: int = traits["window"]
        self.end: int = traits["end"]
        self._bytes: dict[int, bytes] = {}

    @property
    def ends(self) -> list[int]:
        """Tokens after which an answer is over: the end of a message, of a text, a new message."""
        names = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
        return sorted({self.end, *(self.controls[n] for n in names if n in self.controls)})

    def text_of(self, ids: Sequence[int]) -> str:
        """Ids as text, without control tokens."""
        return self.bytes_of(ids).decode("utf-8", "ignore")

    def bytes_of(self, ids: Sequence[int]) -> bytes:
        """Ids as bytes, of which a letter may lack some at the end.

        Not by the engine's own way back to text, which drops letters that are not whole."""
        with self._lock:
            if not self._bytes:
                self._bytes = {n: word for word, n in self._tokenizer.get_vocab().items()}
        return b"".join(self._bytes.get(n, b"") for n in ids if n not in self._numbers)


def _clean(text: str) -> str:
    """As the tokenizer would make it, so that what is looked for cannot appear afterwards."""
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


class Decoder:
    """Tokens to text as they come: a letter of several tokens is held back until it is whole."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._letters = codecs.getincrementaldecoder("utf-8")("replace")

    def take(self, ids: Sequence[int]) -> str:
        """The text that these tokens complete."""
        return self._letters.decode(self._tokens.bytes_of(ids))


@lru_cache(maxsize=4)
def tokens_of(folder: str) -> Tokens:
    """The tokens of the model in a folder, read once."""
    return Tokens(Path(folder))
