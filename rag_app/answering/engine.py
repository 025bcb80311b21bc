"""The writer's process as the app sees it: requests of token ids, streams of token ids.

Started when it is first needed, and anew if it died. Knows nothing of messages or text."""

from __future__ import annotations

import atexit
import itertools
import queue
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO

from rag_app.environment import child_environment
from rag_app.errors import ChatModelError
from rag_app.reading.frames import Header, read_frame, write_frame
from rag_app.supervision import python

_GOODBYE = 2.0  # seconds that the process may take to end by itself
_UNUSED = 600.0  # seconds after which a process ends if another model is asked
_DIED = (
    "The language model's process ended; there may be too little memory for it. "
    "Ask again, or choose the smaller one with RAG_APP_WRITER=small."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. `ends`: tokens after which nothing follows. `logs`: how likely each token was is
    told. `idle`: only computed while nobody waits for another."""

    ids: Sequence[int]
    most_tokens: int
    ends: Sequence[int]
    logs: bool = False
    idle: bool = False

    def as_header(self, number: int) -> Header:
        """As it is handed over."""
        return {
            "id": number,
            "ids": list(self.ids),
            "most": self.most_tokens,
            "ends": list(self.ends),
            "logs": self.logs,
            "idle": self.idle,
        }


class Ticket:
    """An answer that is being written; `ended` says why it ended, "" as long as it has not."""

    def __init__(self, engine: Engine, process: subprocess.Popen[bytes], number: int) -> None:
        self._engine, self.process, self.number = engine, process, number
        self.said: queue.SimpleQueue[Header] = queue.SimpleQueue()
        self.ended = ""
        self.tokens: list[tuple[int, float]] = []  # so far, with their logarithms where asked for

    def steps(self) -> Iterator[Sequence[int]]:
        """The tokens that are written, as they come. Raises ChatModelError."""
        while not self.ended:
            said = self.said.get()
            if "tokens" in said:
                self.tokens += zip(said["tokens"], said["logs"], strict=False)
                yield said["tokens"]
            self.ended = said.get("end", "")
        if self.ended in ("died", "refused", "ignored"):
            raise ChatModelError(_why(self.ended, said))

    def let_go(self) -> None:
        """Nobody waits for the rest: end the computation with the step that is under way."""
        if not self.ended:
            self.ended = "cancelled"
            self._engine.cancel(self.number)


def _why(ended: str, said: Header) -> str:
    if ended == "died":
        return str(said.get("why") or _DIED)
    if ended == "ignored":
        return "The question and its passages are too long for the language model. Ask for less."
    return f"The language model cannot write this ({said.get('why', '')[:120].strip()})."


class Engine:
    """One model in a process of its own; any number of requests at once, from any thread."""

    def __init__(self, folder: Path, threads: int) -> None:
        self._folder, self._threads = folder, threads
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._tickets: dict[int, Ticket] = {}
        self._ready = threading.Event()
        self._failed = ""
        self._used = time.monotonic()  # when it was wanted last
        self.speed: float | None = None  # tokens a second that it reads, once it is loaded
        atexit.register(self.close)

    @property
    def pid(self) -> int | None:
        """The process that computes, None if there is none."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def begin(self) -> None:
        """Start the process, without waiting for it."""
        with self._lock:
            self._start_if_needed()

    def load(self) -> None:
        """Until the first token would come at once. Raises ChatModelError."""
        with self._lock:
            self._start_if_needed()
            ready = self._ready
        ready.wait()
        if self._failed:
            raise ChatModelError(self._failed)

    def ask(self, asked: Asked) -> Ticket:
        """Hand a request over; the model need not be loaded yet. Raises ChatModelError."""
        with self._lock:
            process = self._start_if_needed()
            ticket = Ticket(self, process, next(self._numbers))
            self._tickets[ticket.number] = ticket
            with suppress(OSError):  # it has died: whoever listens to it tells the ticket
                self._send(process, asked.as_header(ticket.number))
            if process.poll() is not None:
                ticket.said.put({"end": "died", "why": self._failed})
        for other in [one for one in _ENGINES if one is not self and one.unused]:
            threading.Thread(
                target=other.close, args=(True,), name="rag-app-writer-ends", daemon=True
            ).start()
        return ticket

    @property
    def unused(self) -> bool:
        """Whether its process holds memory for nobody."""
        idle = time.monotonic() - self._used > _UNUSED and not self._tickets
        return idle and self._ready.is_set() and self.pid is not None

    def cancel(self, number: int) -> None:
        """Drop a request."""
        with self._lock:
            if self._tickets.pop(number, None) and self._process is not None:
                with suppress(OSError):
                    self._send(self._process, {"cancel": number})

    def close(self, unused: bool = False) -> None:
        """End the process; the next request would start another. `unused`: only if it is."""
        with self._lock:
            if unused and not self.unused:
                return
            process, self._process = self._process, None
        if process is None:
            return
        _close(process.stdin)
        try:
            process.wait(_GOODBYE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _send(self, process: subprocess.Popen[bytes], header: Header) -> None:
        assert process.stdin is not None
        write_frame(process.stdin, header)

    def _start_if_needed(self) -> subprocess.Popen[bytes]:
        self._used = time.monotonic()
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._ready, self._failed = threading.Event(), ""
        self._process = subprocess.Popen(
            python("rag_app.answering.engine_child", str(self._folder), str(self._threads)),
            env=child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        threading.Thread(
            target=self._listen,
            args=(self._process, self._ready),
            name="rag-app-writer",
            daemon=True,
        ).start()
        return self._process

    def _listen(self, process: subprocess.Popen[bytes], ready: threading.Event) -> None:
        """Hand every token to who asked for it; at the end everybody hears of it."""
        assert process.stdout is not None
        while frame := read_frame(process.stdout):
            said = frame[0]
            if "ready" in said:
                self.speed = said["speed"]
                ready.set()
            elif "failed" in said:
                self._failed = (
                    f"The language model in {self._folder} cannot be loaded; it may be damaged, or "
                    f"there may be too little memory ({said['failed'][:120]})."
                )
            else:
                self._deliver(said)
        process.stdout.close()
        process.wait()
        with self._lock:
            _close(process.stdin)
            followed = self._process not in (None, process)  # by another, which is asked by now
            if not followed and not ready.is_set() and not self._failed:
                self._failed = _DIED
            for ticket in [one for one in self._tickets.values() if one.process is process]:
                del self._tickets[ticket.number]
                ticket.said.put({"end": "died", "why": self._failed})
            ready.set()

    def _deliver(self, said: Header) -> None:
        with self._lock:
            ticket = self._tickets.get(said["id"])
            if ticket is not None:
                ticket.said.put(said)
                if "end" in said:
                    del self._tickets[ticket.number]


def _close(stream: IO[bytes] | None) -> None:
    """Close a pipe; what was still to be written may have no reader."""
    if stream is not None:
        with suppress(OSError):
            stream.close()


_ENGINES: list[Engine] = []


@lru_cache(maxsize=4)
def engine_of(folder: str, threads: int) -> Engine:
    """The one engine of a folder, shared by everybody who asks it."""
    _ENGINES.append(Engine(Path(folder), threads))
    return _ENGINES[-1]
