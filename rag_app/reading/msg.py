"""Reads messages saved by Outlook (.msg)."""

from __future__ import annotations

import codecs
import datetime as dt
import re
import struct

from rag_app.reading.limits import Limits
from rag_app.reading.mail import Letter, add_letter, finished
from rag_app.reading.ole import Compound
from rag_app.reading.rtf import add_rtf
from rag_app.reading.sections import OnPage, Sections
from rag_app.reading.web import decode_html
from rag_app.types import Reading

_SUBJECT, _BODY, _HTML, _RTF = "0037", "1000", "1013", "1009"
_SENDER, _ADDRESS, _SMTP = "0C1A", "0C1F", "5D01"
_TO, _CC = "0E04", "0E03"
_TIMES = (0x00390040, 0x0E060040)  # sent, received
_CODE_PAGES = (0x3FFD0003, 0x3FDE0003)
_EPOCH = dt.datetime(1601, 1, 1)
_ATTACHMENT = re.compile(r"__attach_version1\.0_#[0-9a-f]{8}", re.IGNORECASE)
_FILE_NAMES = ("3707", "3704", "3001")
_PROPERTIES = "__properties_version1.0"
_RTF_START = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern "
    b"\\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0"
    b"\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_RING = 4_096


def read_msg(compound: Compound, limits: Limits, on_page: OnPage | None) -> Reading:
    """The sections of a message. Raises DamagedFile, NoText or LimitReached."""
    letter = _letter(compound)
    sections = Sections(limits)
    add_letter(letter, sections)
    if not letter.plain.strip() and not letter.html:
        add_rtf(unpacked(compound.read(f"__substg1.0_{_RTF}0102")), sections)
    return finished(sections, letter.subject, letter.attachments, on_page)


def _letter(compound: Compound) -> Letter:
    sender = _text(compound, _SENDER)
    address = _text(compound, _SMTP) or _text(compound, _ADDRESS)
    if "@" in address and address != sender:
        sender = f"{sender} <{address}>".strip()
    said = {
        "From": sender,
        "To": _text(compound, _TO),
        "Cc": _text(compound, _CC),
        "Date": _time(compound.read(_PROPERTIES)),
        "Subject": _text(compound, _SUBJECT),
    }
    headers = tuple((name, _line(value)) for name, value in said.items() if value.strip())
    return Letter(headers, _text(compound, _BODY), _html(compound), _attachments(compound))


def _html(compound: Compound) -> str:
    data = compound.read(f"__substg1.0_{_HTML}0102")
    return decode_html(data)[0] if data else _text(compound, _HTML)


def _attachments(compound: Compound) -> tuple[str, ...]:
    folders = dict.fromkeys(
        found.group() for name in compound.names if (found := _ATTACHMENT.match(name))
    )
    named = (
        next(filter(None, (_text(compound, each, f"{folder}/") for each in _FILE_NAMES)), "")
        for folder in folders
    )
    return tuple(_line(name) for name in named if name)


def _text(compound: Compound, property_id: str, folder: str = "") -> str:
    """A property of text, in Unicode or in an older encoding; empty if it is not there."""
    stem = f"{folder}__substg1.0_{property_id}"
    wide = compound.read(f"{stem}001F")
    if wide:
        return wide.decode("utf-16-le", "replace").rstrip("\0")
    narrow = compound.read(f"{stem}001E").rstrip(b"\0")
    if not narrow:
        return ""
    codec = _codec(compound.read(_PROPERTIES))
    try:
        return narrow.decode(codec or "utf-8")
    except UnicodeDecodeError:
        return narrow.decode("cp1252", "replace")


def _codec(properties: bytes) -> str:
    """The encoding of the message's older texts, empty if it does not say."""
    number = next(filter(None, map(_properties(properties).get, _CODE_PAGES)), 0) & 0xFFFF
    try:
        return "utf-8" if number == 65001 else codecs.lookup(f"cp{number}").name
    except LookupError:
        return ""


def _line(text: str) -> str:
    return " ".join(text.replace("\0", "").split())


def _properties(data: bytes) -> dict[int, int]:
    """The properties of a message that are numbers, by tag."""
    places = range(32, len(data) - 15, 16)
    return {tag: value for tag, _, value in (struct.unpack_from("<IIQ", data, at) for at in places)}


def _time(properties: bytes) -> str:
    """When the message was sent, else when it came, in UTC."""
    ticks = next(filter(None, map(_properties(properties).get, _TIMES)), 0)
    try:
        when = _EPOCH + dt.timedelta(microseconds=ticks // 10)
    except OverflowError:
        return ""
    return f"{when:%Y-%m-%d %H:%M} UTC" if ticks else ""


def unpacked(data: bytes) -> bytes:
    """The RTF that Outlook packs: bytes, and copies of what was in the last 4,096 of them."""
    if len(data) < 16:
        return b""
    size, kind = struct.unpack_from("<I4s", data, 4)
    if kind == b"MELA":
        return data[16 : 16 + size]
    ring = bytearray(_RTF_START.ljust(_RING, b"\0"))
    at, place, out = 16, len(_RTF_START), bytearray()
    while at < len(data) and len(out) < size:
        flags, at = data[at], at + 1
        for bit in range(8):
            copied = flags >> bit & 1
            if at + copied >= len(data):
                return bytes(out)
            if not copied:
                pieces = data[at : at + 1]
            else:
                start, length = (data[at] << 4) | (data[at + 1] >> 4), (data[at + 1] & 15) + 2
                if start == place:
                    return bytes(out)
                pieces = b""
                for step in range(length):  # what is copied may itself be copied
                    each = ring[(start + step) % _RING : (start + step) % _RING + 1]
                    ring[(place + step) % _RING] = each[0]
                    pieces += each
            at += 1 + copied
            for letter in pieces:
                ring[place] = letter
                place = (place + 1) % _RING
            out += pieces
    return bytes(out)
