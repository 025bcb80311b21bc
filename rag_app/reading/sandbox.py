"""Reads files in a child process, because parsers of other people's files hang and crash.

Whatever happens to the child is one RagAppError here, and the next request finds a fresh child."""

from __future__ import annotations

import logging
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path

from rag_app.errors import (
    DamagedFile,
    DocumentError,
    LimitReached,
    ModelUnavailable,
    RagAppError,
    error_class,
)
from rag_app.reading.frames import Header, unpack, unpack_boxes, unpack_recognised
from rag_app.reading.limits import Limits
from rag_app.reading.process import Child, Frame
from rag_app.types import Box, PagePicture, Reading, Recognised

log = logging.getLogger(__name__)

_POLL = 0.05  # seconds between looks at `cancelled`
_SECONDS_FOR_A_PAGE = 30.0  # somebody waits for it
_SECONDS_TO_LOAD = 120.0  # what recognises text: some seconds on a machine that is not busy


class Cancelled(Exception):
    """The caller's event was set; nothing is wrong with the file."""


class Sandbox:
    """One child process, started when needed. Thread-safe: requests wait for each other."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._busy = threading.Lock()
        self._child: Child | None = None

    @property
    def child_pid(self) -> int | None:
        """The process id of the child, None while there is none."""
        child = self._child
        return child.pid if child else None

    def read(
        self,
        path: Path,
        suffix: str,
        *,
        password: str | None = None,
        on_page: Callable[[int, int], None] | None = None,
        cancelled: threading.Event | None = None,
        limits: Limits | None = None,
    ) -> Reading:
        """The file's pages, read as the format `suffix`; `limits` instead of the sandbox's own.

        `on_page` gets pages done and pages in all. Raises DocumentError, or Cancelled soon after
        the event is set."""
        request = _request("read", path) | {
            "suffix": suffix,
            "password": password,
            "limits": astuple(limits or self._limits),
        }
        headers: list[Header] = []
        with self._answers(request, self._limits.seconds, cancelled) as answers:
            for header, _ in answers:
                if "progress" not in header:
                    headers.append(header)
                elif on_page:
                    on_page(*header["progress"])
        return unpack(headers)

    def render(self, path: Path, number: int, scale: float) -> PagePicture:
        """A PDF page's picture; pages count from 1. Raises DocumentError."""
        header, body = self._one(_request("render", path) | {"number": number, "scale": scale})
        return PagePicture(body, *header["size"])

    def boxes(self, path: Path, number: int, start: int, end: int) -> tuple[Box, ...]:
        """Where a span of a PDF page's text stands on its picture. Raises DocumentError."""
        span = {"number": number, "start": start, "end": end}
        header, _ = self._one(_request("boxes", path) | span)
        return unpack_boxes(header["boxes"])

    def recognise(
        self,
        path: Path,
        number: int,
        seconds: float,
        *,
        threads: int = 0,
        cancelled: threading.Event | None = None,
    ) -> Recognised:
        """The text of a page that is a picture; pages count from 1.

        Raises DocumentError, Cancelled, or ModelUnavailable if nothing can be recognised here."""
        load = _request("load", path) | {"threads": threads}
        try:
            with self._answers(load, _SECONDS_TO_LOAD, cancelled) as answers:
                list(answers)
        except DocumentError as error:
            raise ModelUnavailable(
                "Text in scans and pictures is not recognised, because that part of the app "
                "cannot be started. Install it anew with: pip install rapidocr"
            ) from error
        request = _request("recognise", path) | {"number": number, "threads": threads}
        with self._answers(request, seconds, cancelled) as answers:
            return unpack_recognised(list(answers)[-1][0])

    def unlock(self, path: Path, password: str, target: Path) -> None:
        """Write a copy of an encrypted PDF that opens without a password; its offsets are the same.

        Raises WrongPassword or another DocumentError; then nothing is written."""
        wanted = {"password": password, "target": str(target.absolute())}
        with self._answers(_request("unlock", path) | wanted, self._limits.seconds) as answers:
            for _ in answers:
                pass

    def close(self) -> None:
        """End the child. The sandbox can still be used; it starts another."""
        with self._busy:
            self._end()

    def _one(self, request: Header) -> Frame:
        seconds = min(self._limits.seconds, _SECONDS_FOR_A_PAGE)
        with self._answers(request, seconds) as answers:
            return list(answers)[-1]

    @contextmanager
    def _answers(
        self, request: Header, seconds: float, cancelled: threading.Event | None = None
    ) -> Iterator[Iterator[Frame]]:
        """The frames that answer a request. A child whose answer was not heard out is ended."""
        while not self._busy.acquire(timeout=_POLL):
            _check(cancelled)
        try:
            yield self._ask(request, seconds, cancelled)
        except _Refused as refused:
            raise refused.error from None
        except BaseException:
            self._end()
            raise
        finally:
            self._busy.release()

    def _ask(
        self, request: Header, seconds: float, cancelled: threading.Event | None
    ) -> Iterator[Frame]:
        until = time.monotonic() + seconds
        _check(cancelled)
        child = self._send(request)
        while True:
            try:
                frame = child.receive(min(_POLL, until - time.monotonic()))
            except queue.Empty:
                _check(cancelled)
                if time.monotonic() > until:
                    raise self._too_slow(request, seconds) from None
                continue
            if frame is None:
                raise self._died(request)
            if "error" in frame[0]:
                raise _Refused(self._error(frame[0], request))
            yield frame
            if "done" in frame[0]:
                return
            _check(cancelled)

    def _send(self, request: Header) -> Child:
        """Give the request to the child, or to a new one if that died while it was idle."""
        if self._child and self._child.alive:
            try:
                self._child.send(request)
            except OSError:
                self._end()
            else:
                return self._child
        self._end()
        self._child = Child(self._limits.memory_mb)
        self._child.send(request)
        return self._child

    def _end(self) -> int:
        child, self._child = self._child, None
        return child.end() if child else 0

    def _error(self, header: Header, request: Header) -> RagAppError:
        """What the child said, as an error for people."""
        code = header["error"]
        if code == "memory":
            return self._too_big()
        if code == "crash":
            log.error("reading failed in the child (%s):\n%s", request["task"], header["message"])
            return DamagedFile(
                "This file is built in a way that the reader cannot follow. "
                "Save it again from the program that made it, or print it to a new PDF."
            )
        return error_class(code)(header["message"])

    def _died(self, request: Header) -> RagAppError:
        status = self._end()
        log.error("the reading child ended with status %s (%s)", status, request["task"])
        if status == -signal.SIGABRT:  # how PDFium ends where it is given no memory
            return self._too_big()
        if status == -getattr(signal, "SIGKILL", 9):
            return DamagedFile(
                "Reading this file was stopped by the system, most likely because memory ran out. "
                "Close other programs and try it again."
            )
        return DamagedFile(
            "This file makes the reader crash. The other files are not affected. "
            "Save it again from the program that made it, or print it to a new PDF."
        )

    def _too_slow(self, request: Header, seconds: float) -> RagAppError:
        if request["task"] == "recognise":
            return LimitReached(
                f"It takes more than the {seconds:g} seconds a page set by RAG_APP_OCR_SECONDS."
            )
        if request["task"] in {"render", "boxes"} and seconds < self._limits.seconds:
            return LimitReached(
                f"Page {request['number']} takes more than {seconds:g} seconds to draw. "
                "Its text can still be read and searched."
            )
        return LimitReached(
            f"Reading this file takes more than the {seconds:g} seconds set by "
            "RAG_APP_READ_SECONDS. Split it, or raise the limit."
        )

    def _too_big(self) -> RagAppError:
        return LimitReached(
            f"Reading this file takes more than the {self._limits.memory_mb:,} MB of memory set by "
            "RAG_APP_READ_MEMORY_MB. Split it, or raise the limit."
        )


class _Refused(Exception):
    """The child answered with an error and is well."""

    def __init__(self, error: RagAppError) -> None:
        super().__init__(str(error))
        self.error = error


def _request(task: str, path: Path) -> Header:
    return {"task": task, "path": str(path.absolute())}


def _check(cancelled: threading.Event | None) -> None:
    if cancelled and cancelled.is_set():
        raise Cancelled
