"""Turns bytes into text: in the encoding that is named, else in one guessed from the words."""

from __future__ import annotations

import codecs
import re

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COMMON = "cp1252"
_LIKELY = [
    *(f"cp{number}" for number in (1252, 1250, 1251, 1253, 1254, 1255, 1256)),
    *("iso8859_2", "iso8859_7", "iso8859_9", "koi8_r", "koi8_u", "cp866", "cp874", "tis_620"),
    *("cp932", "euc_jp", "iso2022_jp", "gb18030", "big5", "cp949"),
]
# What texts of Central Europe look like in windows-1252, and those of Western Europe never do.
_CENTRAL = re.compile(
    r"[^\W\d_][¹²³º¾¼½¶¤¦§©®¯°±µ·¸»«×÷¿][^\W\d_]|[šžŠŽ]|õ(?!e)|[a-z]¹(?=.*[a-z]¹)", re.DOTALL
)
_NAMES = {f"cp{number}": f"windows-{number}" for number in (874, *range(1250, 1259))}
_FEW = 4  # letters in UTF-8 for each byte that is not: text in another encoding has more such bytes
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_CHARSET = re.compile(
    rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]+)|<\?xml[^>]{0,100}encoding\s*=\s*[\"']([\w.-]+)",
    re.IGNORECASE,
)
_MEANT = {  # what is named, and the wider encoding that is meant, as browsers read it
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}


def is_text(head: bytes, *, whole: bool) -> bool:
    """Whether the first bytes of a file (or the whole of it) can be text."""
    if any(head.startswith(bom) for bom, _ in _BOMS):
        return True
    if _utf16(head):
        return True
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls > len(head) / 100 or b"\0" in head:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError:
        if _utf8(head) is not None:
            return True
        # some other encoding, if most of it is still letters and spaces
        plain = sum(1 for byte in head if 32 <= byte < 127 or byte >= 0xA0 or byte in b"\t\r\n")
        return plain >= len(head) * 0.9 and sum(byte in b" \r\n\t" for byte in head) * 40 >= len(
            head
        )
    return True


def _utf16(head: bytes) -> str:
    """The byte order of UTF-16 without a mark, empty if it is not that."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = max(1, len(head) // 2)
    if odd > half * 0.4 and even < half * 0.02:
        return "utf-16-le"
    return "utf-16-be" if even > half * 0.4 and odd < half * 0.02 else ""


def decode(data: bytes) -> tuple[str, str]:
    """The text, and the name of its encoding where that had to be guessed."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(encoding, errors="replace"), ""
    wide = _utf16(data[:65_536])
    if wide:
        return data.decode(wide, errors="replace"), ""
    text = _utf8(data)
    if text is not None:
        return text, ""
    encoding = _guess_encoding(data)
    return data.decode(encoding, errors="replace"), _NAMES.get(encoding, encoding)


def _utf8(data: bytes) -> str | None:
    """The text in UTF-8, even where a few bytes of it are something else: a letter that was cut, a
    line of an older program. None if that is not what it is in."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd") - data.count("\ufffd".encode())
    good = len(text) - len(text.encode("ascii", "ignore")) - bad
    return text if good >= _FEW * bad else None


def named_text(data: bytes, name: str) -> str | None:
    """The text in an encoding that is named; None if there is none such, or it is not in that."""
    codec = _codec(name)
    if codec.startswith("utf-8"):  # what is not in it is in something else; others have gaps
        return _utf8(data.removeprefix(codecs.BOM_UTF8))
    try:
        return data.decode(_MEANT.get(codec, codec), "replace") if codec else None
    except (LookupError, ValueError):
        return None


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name if name else ""
    except (LookupError, ValueError):
        return ""


def decode_html(data: bytes, charset: str = "") -> tuple[str, str]:
    """The text of a page in `charset`, else in the one it names, else in one that is guessed, and
    then the name of that."""
    if data.startswith(codecs.BOM_UTF8):  # goes before whatever is said of it
        return decode(data)
    named = _CHARSET.search(data[:4_096])
    for name in (charset, *((each or b"").decode() for each in (named.groups() if named else ()))):
        text = None if _codec(name).startswith("utf-16") else named_text(data, name)
        if text is not None:
            return text, ""
    return decode(data)


def _guess_encoding(data: bytes) -> str:
    from charset_normalizer import from_bytes

    found = from_bytes(data[:200_000], cp_isolation=_LIKELY)
    best = found.best()
    common = next((each for each in found if _COMMON in each.could_be_from_charset), None)
    if best is None or common is None:
        return best.encoding if best else _COMMON
    as_good = common.chaos <= best.chaos and common.coherence >= best.coherence
    letters = set(str(common))
    if letters & set("þðý") and letters & set("çü"):  # Icelandic has no ç and no ü
        return "cp1254"
    if _CENTRAL.search(str(common)):
        return next((each.encoding for each in found if each is not common), _COMMON)
    return _COMMON if as_good else best.encoding
