"""A message, whatever it was kept in: its header lines, its body, and what is attached to it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rag_app.reading.sections import OnPage, Sections
from rag_app.reading.unpacking import Unpacking
from rag_app.reading.web import add_html
from rag_app.types import Reading

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


def add_letter(letter: Letter, sections: Sections) -> None:
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
    sections: Sections,
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
