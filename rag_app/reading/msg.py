"""Reads messages saved by Outlook (.msg)."""

from __future__ import annotations

import codecs
import datetime as dt
import re
import struct
from collections.abc import Iterator
from email.header import Header
from email.mime.application import MIMEApplication
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

from rag_app.reading.limits import Limits
from rag_app.reading.mail import Attached, Letter, add_letter, finished, take_attachments
from rag_app.reading.ole import Compound
from rag_app.reading.rtf import add_rtf
from rag_app.reading.sections import OnPage, PageBuilder
from rag_app.reading.unpacking import Unpacking
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
_DATA, _MESSAGE = "__substg1.0_37010102", "__substg1.0_3701000D"
_DEEPEST = 10  # messages attached to messages attached to …
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
    sections, unpacking = PageBuilder(limits), Unpacking(limits)
    add_letter(letter, sections)
    take_attachments(letter, unpacking)
    if not letter.plain.strip() and not letter.html:
        add_rtf(unpacked(compound.read(f"__substg1.0_{_RTF}0102")), sections)
    return finished(sections, letter.subject, letter.attachments, unpacking, on_page)


def _letter(compound: Compound, folder: str = "") -> Letter:
    """The message in a container, or the one in a folder of it: attached to another."""

    def text(property_id: str) -> str:
        return _text(compound, property_id, folder)

    sender = text(_SENDER)
    address = text(_SMTP) or text(_ADDRESS)
    if "@" in address and address != sender:
        sender = f"{sender} <{address}>".strip()
    said = {
        "From": sender,
        "To": text(_TO),
        "Cc": text(_CC),
        "Date": _time(compound.read(f"{folder}{_PROPERTIES}"), 24 if folder else 32),
        "Subject": text(_SUBJECT),
    }
    headers = tuple((name, _line(value)) for name, value in said.items() if value.strip())
    return Letter(headers, text(_BODY), _html(compound, folder), _attachments(compound, folder))


def _html(compound: Compound, folder: str) -> str:
    data = compound.read(f"{folder}__substg1.0_{_HTML}0102")
    return decode_html(data)[0] if data else _text(compound, _HTML, folder)


def _attachments(compound: Compound, above: str) -> tuple[Attached, ...]:
    inside = (name.removeprefix(above) for name in compound.names if name.startswith(above))
    folders = dict.fromkeys(found.group() for name in inside if (found := _ATTACHMENT.match(name)))
    return tuple(each for folder in folders for each in _attached(compound, f"{above}{folder}/"))


def _attached(compound: Compound, folder: str) -> Iterator[Attached]:
    """The file in a folder, or the message, as an e-mail."""
    named = (_line(_text(compound, each, folder)) for each in _FILE_NAMES)
    name, message = next(filter(None, named), ""), f"{folder}{_MESSAGE}/"
    if f"{message}{_PROPERTIES}" in compound:
        name = f"{name or _line(_text(compound, _SUBJECT, message)) or 'message'}.eml"
        yield Attached(name, lambda: _as_email(compound, message))
    elif name:
        yield Attached(name, lambda: compound.read(f"{folder}{_DATA}"))


def _as_email(compound: Compound, folder: str) -> bytes:
    """A message attached to a message, as a file of its own that any mail program opens."""
    if folder.count(_MESSAGE) > _DEEPEST:
        return b""
    letter = _letter(compound, folder)
    whole = MIMEMultipart()
    for name, value in letter.headers:
        whole[name] = str(Header(value, "utf-8"))
    if letter.plain.strip():
        whole.attach(MIMEText(letter.plain, "plain", "utf-8"))
    elif letter.html:
        whole.attach(MIMEText(letter.html, "html", "utf-8"))
    else:
        rtf = unpacked(compound.read(f"{folder}__substg1.0_{_RTF}0102"))
        if rtf:
            whole.attach(_file("message.rtf", rtf))
    for attached in letter.attachments:
        whole.attach(_file(attached.name, attached.data()))
    return whole.as_bytes()


def _file(name: str, data: bytes) -> MIMEApplication:
    part = MIMEApplication(data)
    part.add_header("Content-Disposition", "attachment", filename=("utf-8", "", name))
    return part


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


def _properties(data: bytes, start: int = 32) -> dict[int, int]:
    """The properties of a message that are numbers, by tag; they begin at `start`."""
    places = range(start, len(data) - 15, 16)
    return {tag: value for tag, _, value in (struct.unpack_from("<IIQ", data, at) for at in places)}


def _time(properties: bytes, start: int) -> str:
    """When the message was sent, else when it came, in UTC."""
    ticks = next(filter(None, map(_properties(properties, start).get, _TIMES)), 0)
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
