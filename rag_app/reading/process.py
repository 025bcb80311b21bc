"""A child process that answers requests, as its parent sees it."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path

from rag_app.reading.frames import Header, read_frame, write_frame

Frame = tuple[Header, bytes]

# The parent's own search path is handed on, so that the child finds the same packages, and this
# package's own folder, which an editable install keeps off that path; without site (-S) it starts
# in half the time.
_HERE = Path(__file__).resolve().parents[2]
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from rag_app.reading.child import main; main()"
)


class Child:
    """One running child. Not for two threads at once."""

    def __init__(self, memory_mb: int) -> None:
        search = json.dumps([str(Path(entry).resolve()) for entry in [*sys.path, str(_HERE)]])
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-S", "-c", _START, search, str(memory_mb)],
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
