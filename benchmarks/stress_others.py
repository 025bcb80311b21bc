"""Runs other readers over the same files, each in a child process under the same limits."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.stress_files import File

NAMES = ("markitdown", "langchain")
_SCRIPT = Path(__file__).with_name("stress_loaders.py")
_START_SECONDS = 180.0
Said = dict[str, Any]


class Other:
    """One reader; its child is started anew when it died or took too long."""

    def __init__(self, name: str, python: str, seconds: float, mebibytes: int) -> None:
        self._command = [python, str(_SCRIPT), name, str(mebibytes)]
        self._seconds = seconds
        self._child: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._listener = threading.Thread()

    def read(self, path: Path) -> Said:
        """{"text"}, {"none"}, {"raised"}, {"crashed"} or {"timed_out"}, and "seconds"."""
        child = self._running()
        begun = time.monotonic()
        assert child.stdin is not None
        try:
            child.stdin.write(json.dumps(str(path.absolute())) + "\n")
            child.stdin.flush()
            line = self._lines.get(timeout=self._seconds)
        except (OSError, queue.Empty):
            line = ""
        seconds = round(time.monotonic() - begun, 3)
        if line:
            return {**json.loads(line), "seconds": seconds}
        over = seconds >= self._seconds
        self.close()
        return {"timed_out" if over else "crashed": True, "seconds": seconds}

    def _running(self) -> subprocess.Popen[str]:
        if self._child and self._child.poll() is None:
            return self._child
        self.close()
        self._lines = queue.SimpleQueue()
        self._child = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        listening = (self._child, self._lines)
        self._listener = threading.Thread(target=_listen, args=listening, daemon=True)
        self._listener.start()
        if not self._lines.get(timeout=_START_SECONDS):
            raise SystemExit(f"{self._command[2]} cannot be started with {self._command[0]}.")
        return self._child

    def close(self) -> None:
        """End the child."""
        if self._child is None:
            return
        self._child.kill()
        self._child.wait()
        self._listener.join()
        for stream in (self._child.stdin, self._child.stdout):
            with contextlib.suppress(OSError):  # what was still to be written has no reader
                stream.close()  # type: ignore[union-attr]
        self._child = None


def _listen(child: subprocess.Popen[str], lines: queue.SimpleQueue[str]) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        lines.put(line)
    lines.put("")


def compare(
    files: list[File], name: str, python: str, folder: Path, seconds: float, mebibytes: int
) -> dict[str, Said]:
    """What a reader says of each file; kept in `folder`, so that an interruption loses one file."""
    folder.mkdir(parents=True, exist_ok=True)
    other = Other(name, python, seconds, mebibytes)
    said: dict[str, Said] = {}
    try:
        for file in files:
            kept = folder / f"{file.sha256[:16]}.json"
            if not kept.is_file():
                # A lone surrogate cannot be written down as it is.
                kept.write_text(json.dumps(other.read(file.path)), encoding="utf-8")
            said[file.name] = json.loads(kept.read_text("utf-8"))
    finally:
        other.close()
    return said
