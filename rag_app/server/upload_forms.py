"""A file that is uploaded as a form: written to the disk while it comes, never held in memory."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import collapse_rfc2231_value
from pathlib import Path

import anyio
from anyio import to_thread
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from rag_app.errors import DiskFull, LimitReached
from rag_app.observing.measures import measures
from rag_app.server.problems import BrokenOff, UnfitForm
from rag_app.storage.originals import display_name, incoming_file

FILE = "file"
_PATIENCE = 60.0  # seconds without a byte
_BLOCK = 1 << 20  # bytes that are held
_LONGEST_FIELD = 4_096  # bytes
_MOST_FIELDS = 8
_PACKED = re.compile(r"(?:=\?[\w-]+\?[bqBQ]\?[^?]*\?=\s*)+")
_HOW = (
    "Send multipart/form-data with one file in the field “file”, as curl -F file=@report.pdf does."
)


@dataclass(frozen=True, slots=True)
class UploadedForm:
    """A file that has come, under a name that says nothing, and the other fields of its form."""

    name: str  # as the user calls it
    path: Path
    fields: dict[str, str]


@contextlib.asynccontextmanager
async def received(request: Request, folder: Path, most: int) -> AsyncIterator[UploadedForm]:
    """The file of a form, of at most so many bytes; it lies in the data directory until the block
    ends. Raises UnfitForm, BrokenOff, LimitReached or DiskFull."""
    try:
        handle, path = await to_thread.run_sync(incoming_file, folder)
        try:
            with os.fdopen(handle, "wb") as file:
                form = _Form(request.headers.get("content-type", ""), most)
                async for block in _blocks(request, form):
                    await to_thread.run_sync(file.write, block)
            yield UploadedForm(form.name, path, form.fields)
        finally:
            path.unlink(missing_ok=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull.now() from error
        raise


async def _blocks(request: Request, form: _Form) -> AsyncIterator[bytes]:
    """What is to be written, block by block."""
    body = aiter(request.stream())
    while True:
        try:
            with anyio.fail_after(_PATIENCE):
                piece = await anext(body, None)
        except (TimeoutError, ClientDisconnect) as error:
            raise BrokenOff("The upload stopped before its end. Send the file again.") from error
        if piece is None:
            break
        form.feed(piece)
        if len(form.held) >= _BLOCK:
            yield form.let_go()
    form.end()
    yield form.let_go()


class _Form:
    """Reads a form piece by piece; `held` is what of the file has come and is not written yet."""

    def __init__(self, content_type: str, most: int) -> None:
        kind, options = parse_options_header(content_type)
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            raise UnfitForm(f"This is no form. {_HOW}")
        self.name, self.fields, self.held = "", dict[str, str](), bytearray()
        self._most, self._size = most, 0
        self._header, self._value, self._headers = b"", b"", dict[bytes, bytes]()
        self._part, self._text, self._ended, self._files = "", bytearray(), False, 0
        try:
            self._parser = MultipartParser(
                options[b"boundary"],
                {
                    "on_part_begin": self._begin_part,
                    "on_header_field": self._take_header,
                    "on_header_value": self._take_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._end_headers,
                    "on_part_data": self._take_data,
                    "on_part_end": self._end_part,
                    "on_end": self._end,
                },
            )
        except FormParserError as error:
            raise UnfitForm(f"This is no form. {_HOW}") from error

    def feed(self, piece: bytes) -> None:
        """Read on. Raises UnfitForm or LimitReached."""
        try:
            self._parser.write(piece)
        except FormParserError as error:
            raise UnfitForm(f"This form cannot be read. {_HOW}") from error

    def end(self) -> None:
        """Nothing more comes. Raises UnfitForm or BrokenOff."""
        if not self._ended:
            raise BrokenOff("The upload stopped before its end. Send the file again.")
        if self._files != 1:
            raise UnfitForm(f"There is not one file in this form. {_HOW}")

    def let_go(self) -> bytes:
        """What is held, to be written."""
        block = bytes(self.held)
        self.held.clear()
        return block

    def _begin_part(self) -> None:
        self._headers.clear()
        self._text.clear()
        self._header = self._value = b""

    def _take_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _take_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header = self._value = b""

    def _end_headers(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._part = options.get(b"name", b"").decode("utf-8", "replace")
        if self._part == FILE:
            named = _named(self._headers[b"content-disposition"], options.get(b"filename", b""))
            if not named.strip():
                raise UnfitForm(f"The file has no name. {_HOW}")
            self.name = display_name(named)
            self._files += 1
            if self._files > 1:
                raise UnfitForm(f"There is more than one file in this form. {_HOW}")
        elif len(self.fields) >= _MOST_FIELDS:
            raise UnfitForm(f"This form has too many fields. {_HOW}")

    def _take_data(self, data: bytes, start: int, end: int) -> None:
        if self._part != FILE:
            self._text += data[start:end]
            if len(self._text) > _LONGEST_FIELD:
                raise UnfitForm(f"A field of this form is too long. {_HOW}")
            return
        self._size += end - start
        if self._size > self._most:
            measures().upload_refused(LimitReached.code)
            raise LimitReached(
                f"“{self.name}” is larger than {self._most >> 20} MB, the limit set by "
                "RAG_APP_MAX_FILE_MB. Split it, or raise the limit."
            )
        self.held += data[start:end]

    def _end_part(self) -> None:
        if self._part != FILE:
            self.fields[self._part] = self._text.decode("utf-8", "replace")

    def _end(self) -> None:
        self._ended = True


def _named(disposition: bytes, plain: bytes) -> str:
    """A file's name. Some clients say one beyond ASCII as RFC 8187 has it, others pack it as mail
    does (RFC 2047): .NET, and so PowerShell, do both."""
    about = Message()
    about["content-disposition"] = disposition.decode("utf-8", "replace")
    with contextlib.suppress(LookupError, ValueError, TypeError):  # whatever a client wrote there
        for key, value in about.get_params([], "content-disposition"):
            if key.lower() == "filename" and isinstance(value, tuple):
                return collapse_rfc2231_value(value).encode("utf-8", "replace").decode("utf-8")
    named = plain.decode("utf-8", "replace")
    if _PACKED.fullmatch(named):
        with contextlib.suppress(HeaderParseError, LookupError, ValueError):
            return str(make_header(decode_header(named)))
    return named
