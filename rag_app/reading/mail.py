"""Reads e-mails (.eml), mailboxes (.mbox) and web pages saved as one file (.mhtml).

Attachments are named, and unpacked for whoever wants them."""

from __future__ import annotations

import codecs
import dataclasses
import email
import email.header
import mimetypes
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.message import Message
from pathlib import Path

from rag_app.errors import DamagedFile
from rag_app.reading.limits import Limits
from rag_app.reading.plain_text import decode
from rag_app.reading.sections import OnPage, PageBuilder
from rag_app.reading.unpacking import Unpacking
from rag_app.reading.web import add_html, decode_html
from rag_app.types import Reading

# A message, whatever it was kept in: its header lines, its body, and what is attached to it.

_NAMED = 10  # attachments that a warning names
_TAGS = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>|\s+", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Attached:
    """A file in a message; its bytes are decoded when they are asked for."""

    name: str
    data: Callable[[], bytes]
    is_decoration: bool = False  # a picture that the text shows: a logo, most often


@dataclass(frozen=True, slots=True)
class Letter:
    """A message, whatever it was kept in: header lines, a body, and what is attached."""

    headers: tuple[tuple[str, str], ...]
    plain: str
    html: str
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
    if letter.html and len(letter.plain.strip()) * 3 < len(_TAGS.sub("", letter.html)):
        add_html(letter.html, sections)
    else:
        for paragraph in re.split(r"\n\s*\n", letter.plain.replace("\r\n", "\n")):
            sections.paragraph(paragraph)


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
    on_page: OnPage | None,
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
    reading = sections.reading(title, warnings)
    if on_page:
        on_page(len(reading.pages), len(reading.pages))
    return dataclasses.replace(reading, parts=unpacking.parts)


_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_FOLDS = re.compile(r"[\r\n]+\s*")


def read_eml(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
    """The sections of one message. Raises DamagedFile, NoText or LimitReached."""
    letter = parse(path.read_bytes())
    sections, unpacking = PageBuilder(limits), Unpacking(limits)
    add_letter(letter, sections)
    take_attachments(letter, unpacking)
    return finished(sections, letter.subject, letter.attachments, unpacking, on_page)


def read_mbox(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
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
    return finished(sections, "", attachments, unpacking, on_page)


def read_mhtml(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
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
    plain: list[str] = []
    html: list[str] = []
    attachments: list[Attached] = []
    for part in _own_parts(message):
        kind = part.get_content_type()
        if part.get_content_disposition() == "attachment" or kind not in (
            "text/plain",
            "text/html",
        ):
            attachments += _attached(part, len(attachments) + 1)
        elif kind == "text/html":
            html.append(_html(part))
        else:
            plain.append(_plain(part))
    headers = tuple((name, value) for name in _HEADERS if (value := _header(message, name)))
    return Letter(headers, "\n\n".join(plain), "\n".join(html), tuple(attachments))


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


def _own_parts(message: Message) -> Iterator[Message]:
    """The parts of a message, not those of messages that are attached to it."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        inside = part.get_payload()
        if part.get_content_maintype() == "multipart" and isinstance(inside, list):
            waiting += [each for each in reversed(inside) if isinstance(each, Message)]
        else:
            yield part


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
    if charset in ("", "us-ascii", "ascii", "utf-8"):
        return decode(data)[0]
    try:
        return data.decode(charset, "replace")
    except (LookupError, ValueError):
        return decode(data)[0]


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
    try:
        return data.decode(charset or "ascii", "strict" if not charset else "replace")
    except (LookupError, ValueError):
        return decode(data)[0] if data else ""


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
