"""Reads files in a child process, because parsers of other people's files hang and crash, and may
be led to do what a stranger wants.

A file comes into the folder of the child, its workspace, as a link, and what is made of it goes
out. The child may read the one half of it and write to the other. After every request both are
empty, so that nothing stays of a document that is removed.

Whatever happens to the child is one RagAppError here, and the next request finds a fresh child. It
sees the file of its request in its workspace, and nothing else of a person's."""

from __future__ import annotations

import errno
import json
import logging
import os
import queue
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from rag_app.environment import child_environment
from rag_app.errors import (
    DamagedFile,
    DiskFull,
    DocumentError,
    LimitReached,
    ModelUnavailable,
    RagAppError,
    TooOld,
    UnsupportedFormat,
    error_class,
)
from rag_app.reading import conversion
from rag_app.reading.confinement import Allowed, seen_by_python
from rag_app.reading.frames import (
    Frame,
    Header,
    read_frame,
    unpack,
    unpack_boxes,
    unpack_recognised,
    write_frame,
)
from rag_app.reading.limits import Limits
from rag_app.supervision import python, search_path
from rag_app.types import Box, PagePicture, Reading, Recognised

FOLDER = "reading"  # of the data directory: a link needs the disk that the originals are on
_PART = re.compile(r"\d{1,9}")
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Workspace:
    """A folder of its own under `within`, or among the system's temporary ones.

    Gone with this object, or when the next library is opened."""

    def __init__(self, within: Path | None) -> None:
        self.folder = _made(within)
        self.inbox, self.outbox = self.folder / "in", self.folder / "out"
        with or_full():
            self.inbox.mkdir()
            self.outbox.mkdir()
        self.remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._count = 0

    @property
    def is_there(self) -> bool:
        """Whether it can be used: people and systems tidy up temporary files."""
        return self.inbox.is_dir() and self.outbox.is_dir()

    @contextmanager
    def holding(self, path: Path) -> Iterator[Path]:
        """The file as the process sees it, inside the block; after it, the workspace is empty.

        A file that is not there is not there for the process either. Raises DiskFull."""
        self._count += 1
        shown = self.inbox / f"{self._count}{path.suffix}"
        try:
            with or_full(), suppress(FileNotFoundError):
                _link(path.resolve(), shown)
            yield shown
        finally:
            _clear(self.inbox)
            _clear(self.outbox)

    def hand_over_parts(self, folder: Path) -> None:
        """Move the files that were unpacked to another folder. Raises DiskFull."""
        for path in list(self.outbox.iterdir()):
            if _PART.fullmatch(path.name):
                _move(path, folder / path.name)

    def hand_over(self, name: str, target: Path) -> None:
        """Move a file that may have been made. Raises DiskFull."""
        _move(self.outbox / name, target)


def swept(data_dir: Path) -> Path:
    """The folder of workspaces of a library, without what a killed process left there."""
    folder = data_dir / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def _made(within: Path | None) -> Path:
    """A new folder. Where there is no room for it the system may have some elsewhere."""
    if within is not None:
        with suppress(OSError):
            within.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(dir=within)).resolve()
    with or_full():
        return Path(tempfile.mkdtemp(prefix="rag-app-")).resolve()


def _link(path: Path, target: Path) -> None:
    """A second name for a file, or a copy where the file system knows no such thing."""
    try:
        os.link(path, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(path, target)


def _move(path: Path, target: Path) -> None:
    """Move a file; nothing else that a process could have put in its place."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return
    except FileNotFoundError:
        return
    with or_full():
        try:
            path.replace(target)
        except OSError:  # another disk
            unfinished = target.with_name(f"{target.name}.part")
            try:
                shutil.copyfile(path, unfinished, follow_symlinks=False)
                unfinished.replace(target)
            finally:
                unfinished.unlink(missing_ok=True)


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):  # still open, on Windows; it goes with the folder
                path.unlink()


@contextmanager
def or_full() -> Iterator[None]:
    """Raises DiskFull for an OSError that means that."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull.now() from error
        raise


# A child process that answers requests, as its parent sees it.


class Child:
    """One running child. Not for two threads at once."""

    def __init__(self, memory_mb: int, workspace: Workspace) -> None:
        temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(workspace.outbox))
        environment = child_environment(**temporary)
        libraries = environment.get("LD_LIBRARY_PATH", "")
        seen = seen_by_python(search_path(), libraries, workspace.folder)
        reach = Allowed([*seen, str(workspace.inbox)], [str(workspace.outbox)])
        given = (str(memory_mb), json.dumps(asdict(reach)))
        self._process = subprocess.Popen(
            python("rag_app.reading.child", *given, site=False),
            env=environment,
            cwd=workspace.outbox,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._frames: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can take a request."""
        return self._process.poll() is None

    def send(self, request: Header) -> None:
        """Hand over a request. Raises OSError if the child is gone."""
        assert self._process.stdin is not None
        write_frame(self._process.stdin, request)

    def receive(self, timeout: float) -> Frame | None:
        """The next frame, None if the child has died. Raises queue.Empty after so many seconds."""
        return self._frames.get(timeout=max(0.0, timeout))

    def end(self) -> int:
        """Kill it if it still runs, and give its exit status back; below 0: the signal."""
        if self.alive:
            self._process.kill()
        status = self._process.wait()
        self._listener.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            try:
                stream.close()
            except OSError:  # what was still to be written has no reader
                continue
        return status

    def _listen(self) -> None:
        assert self._process.stdout is not None
        try:
            while frame := read_frame(self._process.stdout):
                self._frames.put(frame)
        finally:
            self._frames.put(None)


# What is said of a file whose reading came to no good end, as errors for people.

log = logging.getLogger(__name__)


class OutOfMemory(LimitReached):
    """A file takes more memory than there may be."""


class ReaderKilled(DamagedFile):
    """The system ended the reader, whatever it was reading."""


class UsedUp(OutOfMemory):
    """The same in a child whose memory earlier files may have used up."""


def refused(header: Header, request: Header, limits: Limits, worked: bool) -> RagAppError:
    """What the child said; `worked`: it has done something else before."""
    code = header["error"]
    if code == "memory":
        return too_big(limits, worked)
    if code == "crash":
        log.error("reading failed in the child (%s):\n%s", request["task"], header["message"])
        return DamagedFile(
            "This file is built in a way that the reader cannot follow. "
            "Save it again from the program that made it, or print it to a new PDF."
        )
    return error_class(code)(header["message"])


def died(status: int, request: Header, limits: Limits, worked: bool) -> RagAppError:
    """What it means that the child ended with this status; below 0: the signal."""
    log.error("the reading child ended with status %s (%s)", status, request["task"])
    if status == -signal.SIGABRT:  # how PDFium ends where it is given no memory
        return too_big(limits, worked)
    if status == -getattr(signal, "SIGKILL", 9):
        return ReaderKilled(
            "Reading this file was stopped by the system, most likely because memory ran out. "
            "Close other programs and try it again."
        )
    return DamagedFile(
        "This file makes the reader crash. The other files are not affected. "
        "Save it again from the program that made it, or print it to a new PDF."
    )


def too_slow(request: Header, seconds: float, limits: Limits) -> RagAppError:
    """What is said when the time is over."""
    if request["task"] == "recognise":
        return LimitReached(
            f"It takes more than the {seconds:g} seconds a page set by RAG_APP_OCR_SECONDS."
        )
    if request["task"] in {"render", "boxes"} and seconds < limits.seconds:
        return LimitReached(
            f"Page {request['number']} takes more than {seconds:g} seconds to draw. "
            "Its text can still be read and searched."
        )
    return LimitReached(
        f"Reading this file takes more than the {limits.seconds:g} seconds set by "
        "RAG_APP_READ_SECONDS. Split it, or raise the limit."
    )


def too_big(limits: Limits, worked: bool) -> OutOfMemory:
    """What is said when there is no more memory."""
    return (UsedUp if worked else OutOfMemory)(
        f"Reading this file takes more than the {limits.memory_mb:,} MB of memory set by "
        "RAG_APP_READ_MEMORY_MB. Split it, or raise the limit."
    )


_Result = TypeVar("_Result")

_POLL = 0.05  # seconds between looks at `cancelled`
_SECONDS_FOR_A_PAGE = 30.0  # somebody waits for it
_HERE = "."  # the outbox of the workspace, as the child calls it
_SECONDS_TO_LOAD = 120.0  # what recognises text: some seconds on a machine that is not busy


class Cancelled(Exception):
    """The caller's event was set; nothing is wrong with the file."""


class Sandbox:
    """One child process, started when needed. Thread-safe: requests wait for each other.

    Its workspace is made under `workspaces`, best on the disk that the files are on."""

    def __init__(self, limits: Limits, workspaces: Path | None = None) -> None:
        self._limits, self._workspaces = limits, workspaces
        self._busy = threading.Lock()
        self._child: Child | None = None
        self._workspace: Workspace | None = None
        self._worked = False  # the child has done something else before

    @property
    def child_pid(self) -> int | None:
        """The process id of the child, None while there is none."""
        child = self._child
        return child.pid if child else None

    def start(self) -> None:
        """Have the child there, with what draws pages loaded, before anybody waits for it.

        It is as urgent as the thread that begins it: best not by one that gives way to others."""
        with suppress(RagAppError), self._busy, self._heard_out():
            list(self._ask({"task": "start", "path": ""}, _SECONDS_TO_LOAD, None))

    def read(
        self,
        path: Path,
        suffix: str,
        *,
        on_page: Callable[[int, int], None] | None = None,
        cancelled: threading.Event | None = None,
        limits: Limits | None = None,
    ) -> Reading:
        """The file's pages, read as the format `suffix`; `limits` instead of the sandbox's own.

        `on_page` gets pages done and pages in all. Raises DocumentError, or Cancelled soon after
        the event is set."""
        limits = limits or self._limits

        def reading_of(path: Path, suffix: str, seconds: float) -> Reading:
            request = _request("read", path) | {"suffix": suffix}
            return _twice(lambda: self._read(request, seconds, limits, on_page, cancelled))

        try:
            return reading_of(path, suffix, self._limits.seconds)
        except TooOld as error:
            program = conversion.converter()
            if program is None:
                raise UnsupportedFormat(str(error)) from None
        began = time.monotonic()
        seconds, check = self._limits.seconds, partial(_check, cancelled)
        with conversion.converted(program, path, seconds, check) as copy:
            return reading_of(copy, conversion.SUFFIX, seconds - (time.monotonic() - began))

    def _read(
        self,
        request: Header,
        seconds: float,
        limits: Limits,
        on_page: Callable[[int, int], None] | None,
        cancelled: threading.Event | None,
    ) -> Reading:
        frames: list[Frame] = []
        here = replace(limits, parts_folder=_HERE if limits.parts_folder else "")
        request = request | {"limits": astuple(here)}
        with self._answers(request, seconds, cancelled) as answers:
            for header, body in answers:
                if "progress" not in header:
                    frames.append((header, body))
                elif on_page:
                    on_page(*header["progress"])
            if limits.parts_folder:
                self._room().hand_over_parts(Path(limits.parts_folder))
        return unpack(frames)

    def render(self, path: Path, number: int, scale: float) -> PagePicture:
        """A PDF page's picture; pages count from 1. Raises DocumentError."""
        header, body = self._one(_request("render", path) | {"number": number, "scale": scale})
        return PagePicture(body, *header["size"])

    def boxes(self, path: Path, number: int, start: int, end: int) -> tuple[Box, ...]:
        """Where a span of a PDF page's text stands on its picture. Raises DocumentError."""
        [found] = self.boxes_of_spans(path, number, [(start, end)])
        return found

    def boxes_of_spans(
        self, path: Path, number: int, spans: Sequence[tuple[int, int]]
    ) -> list[tuple[Box, ...]]:
        """The same for many spans of one page. Raises DocumentError."""
        header, _ = self._one(_request("boxes", path) | {"number": number, "spans": spans})
        return [unpack_boxes(rows) for rows in header["boxes"]]

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
        made = f"unlocked{target.suffix}"
        wanted = {"password": password, "target": f"{_HERE}/{made}"}
        with self._answers(_request("unlock", path) | wanted, self._limits.seconds) as answers:
            for _ in answers:
                pass
            self._room().hand_over(made, target)

    def close(self) -> None:
        """End the child, and its workspace. The sandbox can still be used; it makes others."""
        with self._busy:
            self._end()
            if self._workspace:
                self._workspace.remove()
                self._workspace = None

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
        """The frames that answer a request, and the workspace as it is meanwhile."""
        while not self._busy.acquire(timeout=_POLL):
            _check(cancelled)
        try:
            with self._room().holding(Path(request["path"])) as shown, self._heard_out():
                yield self._ask(request | {"path": str(shown)}, seconds, cancelled)
        finally:
            self._busy.release()

    def _room(self) -> Workspace:
        """The workspace, or a new one, and child, if somebody has removed it."""
        if self._workspace is None or not self._workspace.is_there:
            self._end()
            self._workspace = Workspace(self._workspaces)
        return self._workspace

    @contextmanager
    def _heard_out(self) -> Iterator[None]:
        """A child whose answer is not heard out in the block is ended."""
        heard = False
        try:
            yield
            heard = True
        except _ChildRefused as refusal:
            heard = not isinstance(refusal.error, OutOfMemory)  # it does not get back what it took
            raise refusal.error from None
        finally:
            if not heard:
                self._end()

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
                raise _ChildRefused(refused(frame[0], request, self._limits, self._worked))
            yield frame
            if "done" in frame[0]:
                self._worked = self._worked or request["task"] not in ("load", "start")
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
        self._child, self._worked = Child(self._limits.memory_mb, self._room()), False
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


class _ChildRefused(Exception):
    """The child answered with an error and is well."""

    def __init__(self, error: RagAppError) -> None:
        super().__init__(str(error))
        self.error = error


def _request(task: str, path: Path) -> Header:
    return {"task": task, "path": str(path.absolute())}


def _check(cancelled: threading.Event | None) -> None:
    if cancelled and cancelled.is_set():
        raise Cancelled
