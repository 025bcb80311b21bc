"""Reads rich text (.rtf): paragraphs, headings by their styles, tables as rows.

A control word is a backslash, letters and perhaps a number; braces group. What a group is for is
said by its first word: many are not text (fonts, pictures, fields' codes)."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from pathlib import Path

from rag_app.errors import DamagedFile
from rag_app.reading.limits import Limits
from rag_app.reading.sections import PageBuilder
from rag_app.supervision import Told, untold
from rag_app.types import Reading

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])"
    rb"|([{}])|([^\\{}\r\n]+)|[\r\n]+|\\"
)
_PICTURES = re.compile(rb"[0-9a-fA-F\r\n]{4096,}")
_MOST_GROUPS = 10_000  # inside each other
_HIDDEN = frozenset(
    b"fonttbl colortbl filetbl listtable listoverridetable revtbl rsidtbl pict object objdata "
    b"fldinst header headerl headerr headerf footer footerl footerr footerf themedata datastore "
    b"latentstyles xmlnstbl generator bkmkstart bkmkend datafield shpinst pgptbl userprops "
    b"colorschememapping mmathPr nonshppict template operator wgrffmtfilter pnseclvl "
    b"annotation atnid atnauthor atnref author company comment keywords doccomm subject "
    b"category manager hlinkbase creatim revtim printim buptim xe tc".split()
)
_SHOWN = frozenset(
    b"shptxt footnote shppict".split()
)  # groups marked \* that are read all the same
_MARKS = (b"pntext", b"listtext")  # of a list; a paragraph may have both, for old readers and new
_UNSEEN = (b"v", b"deleted")  # hidden, and deleted with tracked changes
_SYMBOLS = {
    b"tab": "\t", b"line": "\n", b"emdash": "—", b"endash": "–", b"emspace": " ", b"enspace": " ",
    b"qmspace": " ", b"bullet": "•", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“",
    b"rdblquote": "”", b"~": "\u00a0", b"-": "\u00ad", b"_": "‑", b"{": "{", b"}": "}",
    b"\\": "\\", b"\n": "\n", b"\r": "\n", b"softline": "\n", b"column": "\n",
}  # fmt: skip
_CHARSETS = {
    77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "big5",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257",
    204: "cp1251", 222: "cp874", 238: "cp1250", 255: "cp850",
}  # fmt: skip
_STYLE_NAME = re.compile(r"heading (\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _RtfGroup:
    """What holds inside a pair of braces."""

    hidden: bool = False
    place: str = ""  # "", or a group with text of its own: "stylesheet", "fonttbl", "title"
    codec: str = ""  # of the font in use
    skip: int = 1  # characters that follow one in Unicode, for old readers
    unseen: frozenset[bytes] = frozenset()  # why its text is not shown
    is_shape: bool = False  # hidden, but for the text in it
    boxes: int = 0  # of texts in shapes that it is in


def read_rtf(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections, title and headings of a rich text. Raises DamagedFile, NoText, LimitReached."""
    sections = PageBuilder(limits)
    title = add_rtf(path.read_bytes(), sections)
    return sections.reading(title)


def add_rtf(data: bytes, sections: PageBuilder) -> str:
    """Add the text of a document in RTF, and give its title back. Raises DamagedFile."""
    parser = _Parser(sections)
    for token in _TOKEN.finditer(_PICTURES.sub(b"", data)):
        parser.take(token)
    parser.end()
    return parser.title


class _Parser:
    """Follows the words and groups of one document."""

    def __init__(self, sections: PageBuilder) -> None:
        self.title = ""
        self._sections = sections
        self._codec = "cp1252"
        self._fonts: dict[int, str] = {}
        self._styles: dict[int, int] = {}
        self._font = self._style = self._level = self._ignore = 0
        self._group = _RtfGroup()
        self._above: list[_RtfGroup] = []
        self._pieces: list[str] = []
        self._bytes = bytearray()
        self._cells: list[str] = []
        self._rows: list[list[str]] = []
        self._in_table = self._starred = self._is_marked = False
        self._around: list[tuple[list[str], list[str], list[list[str]], bool, int]] = []

    def take(self, token: re.Match[bytes]) -> None:
        """Go one token further."""
        word, number, byte, symbol, brace, text = token.groups()
        if byte is None and not (text and self._bytes):
            self._decode()
        if brace:
            self._open() if brace == b"{" else self._close()
        elif word:
            self._word(word, int(number) if number else None)
        elif byte:
            self._raw(bytes([int(byte, 16)]))
        elif text:
            self._raw(text)
        elif symbol == b"*":
            self._starred = True
        elif symbol:
            self._put(_SYMBOLS.get(symbol, ""))

    def end(self) -> None:
        """Add what is left."""
        self._decode()
        self._paragraph()
        self._end_table()

    def _open(self) -> None:
        if len(self._above) >= _MOST_GROUPS:
            raise DamagedFile(
                f"More than {_MOST_GROUPS:,} groups stand inside each other in this file, more "
                "than is followed. Save it again from the program that made it."
            )
        self._above.append(self._group)

    def _close(self) -> None:
        group = self._group
        self._group = self._above.pop() if self._above else _RtfGroup()
        if group.place and not self._group.place:
            self._pieces, self._level = [], 0
        if group.boxes > self._group.boxes:
            self._close_box()

    def _open_box(self) -> None:
        """The text of a shape stands apart from the paragraph or the table that it is in."""
        if not self._in_table:
            self._end_table()
        around = self._pieces, self._cells, self._rows, self._in_table, self._level
        self._around.append(around)
        self._pieces, self._cells, self._rows, self._in_table, self._level = [], [], [], False, 0

    def _close_box(self) -> None:
        self._in_table = False
        self._paragraph()
        around = self._around.pop()
        self._pieces, self._cells, self._rows, self._in_table, self._level = around

    def _word(self, word: bytes, number: int | None) -> None:
        starred, self._starred = self._starred, False
        group = self._group
        if word == b"shptxt" and group.is_shape:
            self._group = replace(group, hidden=False, is_shape=False, boxes=group.boxes + 1)
            self._open_box()
        elif word in _HIDDEN or (starred and word not in _SHOWN):
            place = "fonttbl" if word == b"fonttbl" else group.place
            shape = word == b"shpinst" and not group.hidden
            self._group = replace(group, hidden=True, place=place, is_shape=shape)
        elif word in _MARKS:
            self._group = replace(group, hidden=group.hidden or self._is_marked)
            self._is_marked = True
        elif word in _UNSEEN:
            without = group.unseen - {word}
            self._group = replace(group, unseen=without if number == 0 else without | {word})
        elif word == b"plain":
            self._group = replace(group, unseen=frozenset())
        elif word in (b"stylesheet", b"info", b"title"):
            self._group = replace(self._group, place=word.decode())
        elif word in (b"f", b"fcharset", b"ansicpg", b"mac", b"pca", b"pc", b"uc", b"u", b"bin"):
            self._letters(word, number or 0)
        elif word == b"s":
            self._style = number or 0
            self._level = self._styles.get(self._style, 0)
        elif word == b"outlinelevel":
            self._level = (number or 0) + 1 if (number or 0) < 9 else 0
        elif not self._group.hidden and not self._group.place:
            self._layout(word)

    def _letters(self, word: bytes, number: int) -> None:
        """Words about the encoding of what follows."""
        if word == b"f":
            self._font = number
            self._group = replace(self._group, codec=self._fonts.get(number, ""))
        elif word == b"fcharset" and self._group.place == "fonttbl":
            self._fonts[self._font] = _CHARSETS.get(number, "")
        elif word == b"uc":
            self._group = replace(self._group, skip=max(0, min(8, number)))
        elif word == b"u":
            self._put(chr(number % 0x10000))
            self._ignore = self._group.skip
        elif word != b"bin":
            self._codec = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}.get(
                word, _known(f"cp{number}")
            )

    def _layout(self, word: bytes) -> None:
        if word in _SYMBOLS:
            self._put(_SYMBOLS[word])
        elif word in (b"par", b"sect", b"page"):
            self._paragraph()
        elif word == b"pard":
            self._in_table, self._level = False, 0
        elif word == b"intbl":
            self._in_table = True
        elif word in (b"cell", b"nestcell"):
            self._cells.append("".join(self._pieces))
            self._pieces = []
        elif word in (b"row", b"nestrow"):
            self._rows.append(self._cells)
            self._cells = []

    def _raw(self, data: bytes) -> None:
        """Bytes of text, to be decoded when all that belong together are there."""
        if self._ignore:
            data, self._ignore = data[self._ignore :], max(0, self._ignore - len(data))
        self._bytes += data

    def _decode(self) -> None:
        if self._bytes:
            self._put(self._bytes.decode(self._group.codec or self._codec, "replace"))
            self._bytes.clear()

    def _put(self, text: str) -> None:
        self._ignore = 0
        place = self._group.place
        if place == "title" and not self._group.hidden:
            self.title += text
        elif place == "stylesheet":
            named = _STYLE_NAME.match(text.strip())
            if named:
                self._styles[self._style] = int(named.group(1))
        elif not (self._group.hidden or self._group.unseen or place):
            self._pieces.append(text)

    def _paragraph(self) -> None:
        self._is_marked = False
        if self._in_table:
            self._pieces.append(" ")
            return
        self._end_table()
        text = _whole("".join(self._pieces))
        self._pieces = []
        if self._level:
            self._sections.heading(text, self._level)
        else:
            self._sections.paragraph(text)

    def _end_table(self) -> None:
        rows, self._rows = self._rows, []
        if self._cells:
            rows, self._cells = [*rows, self._cells], []
        if rows:
            self._sections.table([_whole(cell) for cell in row] for row in rows)


def _whole(text: str) -> str:
    """The text with characters put together that RTF writes as two halves."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _known(codec: str) -> str:
    try:
        return codecs.lookup(codec).name
    except LookupError:
        return "cp1252"
