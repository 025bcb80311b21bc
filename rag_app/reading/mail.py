"""Reads e-mails (.eml), mailboxes (.mbox), messages of Outlook (.msg), and web pages saved as one
file (.mhtml). Attachments are named, and unpacked for whoever wants them."""

from __future__ import annotations

import codecs
import dataclasses
import datetime as dt
import email
import email.header
import mimetypes
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.header import Header
from email.message import Message
from email.mime.application import MIMEApplication
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

from rag_app.errors import DamagedFile
from rag_app.reading.encodings import decode, decode_html, named_text
from rag_app.reading.limits import Limits, Unpacking
from rag_app.reading.ole import Compound
from rag_app.reading.plain_text import has_columns, with_tables
from rag_app.reading.rtf import add_rtf
from rag_app.reading.sections import PageBuilder
from rag_app.reading.web import add_html
from rag_app.supervision import Told, untold
from rag_app.types import Reading

# A message, whatever it was kept in: its header lines, its body, and what is attached to it.

_NAMED = 10  # attachments that a warning names
_TAGS = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>|\s+", re.DOTALL | re.IGNORECASE)
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


@dataclass(frozen=True, slots=True)
class Attached:
    """A file in a message; its bytes are decoded when they are asked for."""

    name: str
    data: Callable[[], bytes]
    is_decoration: bool = False  # a picture that the text shows: a logo, most often


@dataclass(frozen=True, slots=True)
class Body:
    """A part of what a message says, as plain text, as a web page, or the same as both."""

    plain: str
    html: str


@dataclass(frozen=True, slots=True)
class Letter:
    """A message, whatever it was kept in: header lines, what it says, and what is attached."""

    headers: tuple[tuple[str, str], ...]
    bodies: tuple[Body, ...]
    attachments: tuple[Attached, ...]

    @property
    def subject(self) -> str:
        """What it is about, empty if it does not say."""
        return dict(self.headers).get("Subject", "")


def add_letter(letter: Letter, sections: PageBuilder) -> None:
    """Add a message: its header lines, then its body."""
    sections.heading(letter.subject, 1)
    for name, value in letter.headers:
        sections.row(f"{name}: {value}")
    for attached in letter.attachments[:_NAMED]:
        sections.row(f"Attachment: {attached.name}")
    for body in letter.bodies:
        if body.html and len(body.plain.strip()) * 3 < len(_TAGS.sub("", body.html)):
            add_html(body.html, sections)
            continue
        columns = has_columns(body.plain)
        for paragraph in re.split(r"\n\s*\n", body.plain.replace("\r\n", "\n")):
            sections.paragraph(paragraph, exact=columns and has_columns(paragraph, 1))


def take_attachments(letter: Letter, unpacking: Unpacking, prefix: str = "") -> None:
    """Unpack what is attached to a message, if that is wanted."""
    if unpacking.wanted:
        for attached in letter.attachments:
            if not attached.is_decoration:
                unpacking.take(prefix + attached.name, iter((attached.data(),)))


def finished(
    sections: PageBuilder,
    title: str,
    attachments: Iterable[Attached],
    unpacking: Unpacking,
) -> Reading:
    """The reading of messages; what was attached to them is named. Raises NoText."""
    names = [attached.name for attached in attachments]
    warnings = unpacking.warnings()
    if names and not unpacking.wanted:
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        warnings.append(
            f"Attachments are not read: {', '.join(names[:_NAMED])}{more}. "
            "Save the ones you need and add them."
        )
    reading = with_tables(sections.reading(title, warnings))
    return dataclasses.replace(reading, parts=unpacking.parts)


_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_FOLDED = re.compile(r"\r?\n[ \t]")  # a line of a calendar that goes on
# What a line of a calendar begins with: colons within quotes belong to it, if the quotes end.
_BEGINS = re.compile(r'([^:;]*+)((?:"[^"]*+"|[^":])*+|[^:]*+):')
_MORE = re.compile(r';([^=;:"]*+)=((?:"[^"]*+"|[^";])*+)')  # of its beginning: a name and a value
_ESCAPE = re.compile(r"\\(.)")
_MOMENTS = {"DTSTART": "Start", "DTEND": "End"}
_APPOINTED = {
    "SUMMARY": "Summary",
    **_MOMENTS,
    "LOCATION": "Location",
    "DESCRIPTION": "Description",
}
_APPOINTMENT = 2  # how deep it stands
_FOLDS = re.compile(r"[\r\n]+\s*")


def read_eml(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections of one message. Raises DamagedFile, NoText or LimitReached."""
    letter = parse(path.read_bytes())
    sections, unpacking = PageBuilder(limits), Unpacking(limits)
    add_letter(letter, sections)
    take_attachments(letter, unpacking)
    return finished(sections, letter.subject, letter.attachments, unpacking)


def read_mbox(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The messages of a mailbox, each on a page of its own or more.

    Raises DamagedFile, NoText or LimitReached."""
    sections, unpacking = PageBuilder(limits), Unpacking(limits)
    attachments: list[Attached] = []
    for number, data in enumerate(_messages(path), 1):
        letter = parse(data)
        sections.new_page(f"message {number}")
        add_letter(letter, sections)
        take_attachments(letter, unpacking, f"message {number}/")
        # Only the names: what is attached to one message is held no longer than that message.
        attachments += [Attached(each.name, bytes) for each in letter.attachments]
    return finished(sections, "", attachments, unpacking)


def read_mhtml(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections of a saved web page. Raises DamagedFile, NoText or LimitReached."""
    message = _parsed(path.read_bytes())
    sections = PageBuilder(limits)
    title = ""
    for part in message.walk():
        if part.get_content_type() in ("text/html", "application/xhtml+xml"):
            title = title or add_html(_html(part), sections)
    return sections.reading(title or _header(message, "Subject"))


def parse(data: bytes) -> Letter:
    """A message as it was sent. Raises DamagedFile."""
    message = _parsed(data)
    said: dict[int, tuple[list[str], list[str]]] = {}
    attachments: list[Attached] = []
    for part, whole in _own_parts(message):
        plain, html = said.setdefault(id(whole), ([], []))
        kind = part.get_content_type()
        uncut = part.get_content_maintype() == "multipart"  # a boundary that is nowhere: as a text
        nameless = part.get_content_maintype() == "text" and not _name(part)
        if part.get_content_disposition() == "attachment" or not (
            uncut or kind in ("text/plain", "text/html") or nameless
        ):
            attachments += _attached(part, len(attachments) + 1)
        elif kind == "text/calendar":  # says more than what stands beside it
            said[id(part)] = [_appointments(_plain(part))], []
        elif kind == "text/html":
            html.append(_html(part))
        elif uncut or kind == "text/plain" or whole is part:
            plain.append(_plain(part))
    headers = tuple((name, value) for name in _HEADERS if (value := _header(message, name)))
    bodies = (Body("\n\n".join(plain), "\n".join(html)) for plain, html in said.values())
    return Letter(headers, tuple(bodies), tuple(attachments))


def _parsed(data: bytes) -> Message:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF8)):
        data = decode(data)[0].encode("utf-8", "replace")
    try:
        return email.message_from_bytes(data)
    except (ValueError, RecursionError, HeaderParseError, LookupError) as error:
        raise DamagedFile(
            "This message is built in a way that cannot be followed. "
            "Open it in a mail program and save it again, or print it to a PDF."
        ) from error


def _own_parts(message: Message) -> Iterator[tuple[Message, Message]]:
    """The parts of a message, not those of messages that are attached to it; each with the part
    that says the same in other forms, too, or itself."""
    waiting: list[tuple[Message, Message | None]] = [(message, None)]
    while waiting:
        part, whole = waiting.pop()
        inside = part.get_payload()
        if part.get_content_maintype() == "multipart" and isinstance(inside, list):
            if whole is None and part.get_content_subtype() == "alternative":
                whole = part
            waiting += [(each, whole) for each in reversed(inside) if isinstance(each, Message)]
        else:
            yield part, part if whole is None else whole


def _attached(part: Message, number: int) -> Iterator[Attached]:
    """A part that is no text of the message, if it is a file: at most one."""
    name, kind = _name(part), part.get_content_type()
    disposition = part.get_content_disposition()
    inside = part.get_payload()
    message = inside[0] if isinstance(inside, list) and inside else None
    if kind == "message/rfc822" and isinstance(message, Message):
        named = name or f"{_header(message, 'Subject') or f'message {number}'}.eml"
        yield Attached(named, lambda: _as_bytes(message))
    elif name or disposition == "attachment":
        named = name or f"attachment {number}{mimetypes.guess_extension(kind) or ''}"
        shown = part.get("Content-ID") is not None and disposition != "attachment"
        decoration = shown and part.get_content_maintype() == "image"
        yield Attached(named, lambda: _payload(part), decoration)


def _as_bytes(message: Message) -> bytes:
    """A message inside a message, as a file of its own; nothing if it is too odd to be written."""
    try:
        return message.as_bytes()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, HeaderParseError):
        return b""


def _payload(part: Message) -> bytes:
    try:
        data = part.get_payload(decode=True)
    except (ValueError, AssertionError, LookupError):
        return b""
    return data if isinstance(data, bytes) else b""


def _charset(part: Message) -> str:
    try:
        return part.get_content_charset() or ""
    except (ValueError, LookupError, AttributeError):
        return ""


def _plain(part: Message) -> str:
    data, charset = _payload(part), _charset(part)
    text = None if charset in ("us-ascii", "ascii") else named_text(data, charset)
    return decode(data)[0] if text is None else text


def _appointments(text: str) -> str:
    """What a calendar says of each appointment, a line for each; not what it says of time zones and
    of alarms, which stand deeper."""
    depth, lines = 0, []
    for line in _FOLDED.sub("", text).splitlines():
        begins = _BEGINS.match(line)
        if begins is None:
            continue
        name, value = begins[1].upper(), line[begins.end() :]
        depth += (name == "BEGIN") - (name == "END")
        label = _APPOINTED.get(name) if depth <= _APPOINTMENT else None
        if label and value.strip():
            more = {each[1].upper(): each[2].strip('"') for each in _MORE.finditer(begins[2])}
            zone = more.get("TZID", "")
            shown = _when(value.strip(), zone, name) if name in _MOMENTS else _unescaped(value)
            lines.append(f"{label}: {shown}")
    return "\n".join(lines)


def _when(value: str, zone: str, name: str) -> str:
    """A day, or a time of it; the end of whole days is the day after the last."""
    whole = "T" not in value
    try:
        when = dt.datetime.strptime(value.rstrip("Z"), "%Y%m%d" if whole else "%Y%m%dT%H%M%S")
        when -= dt.timedelta(days=whole and name == "DTEND")
    except (ValueError, OverflowError):
        return value
    if whole:
        return f"{when:%Y-%m-%d}"
    place = " UTC" if value.endswith("Z") else f" ({zone})" if zone else ""
    return f"{when:%Y-%m-%d %H:%M}{place}"


def _unescaped(value: str) -> str:
    return _ESCAPE.sub(lambda sign: "\n" if sign[1] in "nN" else sign[1], value).strip()


def _html(part: Message) -> str:
    return decode_html(_payload(part), _charset(part))[0]


def _name(part: Message) -> str:
    try:
        return _words(part.get_filename() or "")
    except (ValueError, LookupError, AttributeError):
        return ""


def _header(message: Message, name: str) -> str:
    value = message.get(name)
    return "" if value is None else _words(str(value))


def _words(raw: str) -> str:
    """A header as people read it: "=?utf-8?q?Gr=C3=BC=C3=9Fe?=" is "Grüße"."""
    raw = _FOLDS.sub(" ", raw)
    try:
        pieces = email.header.decode_header(raw)
    except (HeaderParseError, ValueError):
        return raw
    return " ".join("".join(_piece(*piece) for piece in pieces).split())


def _piece(data: bytes | str, charset: str | None) -> str:
    if isinstance(data, str):
        return data
    text = named_text(data, charset or "")
    return decode(data)[0] if text is None else text


def _messages(path: Path) -> Iterator[bytes]:
    """The messages of a mailbox: each begins with a line "From " after an empty line."""
    lines: list[bytes] = []
    blank = True
    with path.open("rb") as file:
        for line in file:
            if blank and line.startswith(b"From "):
                if any(each.strip() for each in lines):
                    yield b"".join(lines)
                lines = []
            else:
                lines.append(line[1:] if line.startswith(b">From ") else line)
            blank = not line.strip()
    if any(each.strip() for each in lines):
        yield b"".join(lines)


def read_msg(compound: Compound, limits: Limits) -> Reading:
    """The sections of a message. Raises DamagedFile, NoText or LimitReached."""
    letter = _letter(compound)
    sections, unpacking = PageBuilder(limits), Unpacking(limits)
    add_letter(letter, sections)
    take_attachments(letter, unpacking)
    if not any(body.plain.strip() or body.html for body in letter.bodies):
        add_rtf(unpacked(compound.read(f"__substg1.0_{_RTF}0102")), sections)
    return finished(sections, letter.subject, letter.attachments, unpacking)


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
    body = Body(text(_BODY), _html_of_message(compound, folder))
    return Letter(headers, (body,), _attachments(compound, folder))


def _html_of_message(compound: Compound, folder: str) -> str:
    data = compound.read(f"{folder}__substg1.0_{_HTML}0102")
    return decode_html(data)[0] if data else _text(compound, _HTML, folder)


def _attachments(compound: Compound, above: str) -> tuple[Attached, ...]:
    inside = (name.removeprefix(above) for name in compound.names if name.startswith(above))
    folders = dict.fromkeys(found.group() for name in inside if (found := _ATTACHMENT.match(name)))
    return tuple(
        each for folder in folders for each in _attached_to_message(compound, f"{above}{folder}/")
    )


def _attached_to_message(compound: Compound, folder: str) -> Iterator[Attached]:
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
    (body,) = letter.bodies
    if body.plain.strip():
        whole.attach(MIMEText(body.plain, "plain", "utf-8"))
    elif body.html:
        whole.attach(MIMEText(body.html, "html", "utf-8"))
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
