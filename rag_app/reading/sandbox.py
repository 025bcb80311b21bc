"""Reads files in a child process, because parsers of other people's files hang and crash.

Whatever happens to the child is one RagAppError here, and the next request finds a fresh child."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import TypeVar

from rag_app.errors import DocumentError, ModelUnavailable, RagAppError
from rag_app.reading.frames import Header, unpack, unpack_boxes, unpack_recognised
from rag_app.reading.limits import Limits
from rag_app.reading.process import Child, Frame
from rag_app.reading.verdicts import OutOfMemory, UsedUp, died, refused, too_slow
from rag_app.types import Box, PagePicture, Reading, Recognised

_Result = TypeVar("_Result")

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
        self._worked = False  # the child has done something else before

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

        def once() -> Reading:
            headers: list[Header] = []
            with self._answers(request, self._limits.seconds, cancelled) as answers:
                for header, _ in answers:
                    if "progress" not in header:
                        headers.append(header)
                    elif on_page:
                        on_page(*header["progress"])
            return unpack(headers)

        return _twice(once)

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
        return _twice(lambda: self._recognise(path, number, seconds, threads, cancelled))

    def _recognise(
        self,
        path: Path,
        number: int,
        seconds: float,
        threads: int,
        cancelled: threading.Event | None,
    ) -> Recognised:
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
        """Write a copy of a locked file that opens without a password; its offsets are the same.

        Raises WrongPassword or another DocumentError; then nothing is written, nor is it where the
        file is not locked."""
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

        def once() -> Frame:
            with self._answers(request, seconds) as answers:
                return list(answers)[-1]

        return _twice(once)

    @contextmanager
    def _answers(
        self, request: Header, seconds: float, cancelled: threading.Event | None = None
    ) -> Iterator[Iterator[Frame]]:
        """The frames that answer a request. A child whose answer was not heard out is ended."""
        while not self._busy.acquire(timeout=_POLL):
            _check(cancelled)
        try:
            yield self._ask(request, seconds, cancelled)
        except _Refused as refusal:
            if isinstance(refusal.error, OutOfMemory):  # it does not get back what it took
                self._end()
            raise refusal.error from None
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
                    raise too_slow(request, seconds, self._limits) from None
                continue
            if frame is None:
                raise died(self._end(), request, self._limits, self._worked)
            if "error" in frame[0]:
                raise _Refused(refused(frame[0], request, self._limits, self._worked))
            yield frame
            if "done" in frame[0]:
                self._worked = self._worked or request["task"] != "load"
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
        self._child, self._worked = Child(self._limits.memory_mb), False
        self._child.send(request)
        return self._child

    def _end(self) -> int:
        child, self._child = self._child, None
        return child.end() if child else 0


def _twice(work: Callable[[], _Result]) -> _Result:
    """Do it again in a fresh child where the memory of an older one was used up."""
    try:
        return work()
    except UsedUp:
        return work()


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
