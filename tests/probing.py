"""The reading process, where every file is a program: what it can do there, a stranger's file could
make a parser do.

What such a program leaves in `said` is the text of the only page, or else the name of the error
that the system gave it."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from rag_app.reading import child, sandbox
from rag_app.reading.limits import Limits
from rag_app.reading.sandbox import Sandbox
from rag_app.types import Page, Reading


def main(memory_mb: str, reach: str) -> None:
    """The child's own `main`, with that reader for every format."""
    child.reader = lambda suffix: run
    child.main(memory_mb, reach)


def run(path: Path, **_: Any) -> Reading:
    """Do what is written in the file."""
    names: dict[str, Any] = {"path": path, "said": "done"}
    try:
        exec(path.read_text(encoding="utf-8"), names)
    except OSError as error:
        names["said"] = errno.errorcode[error.errno or 0]
    return Reading((Page(1, str(names["said"])),), "", ())


class Probe:
    """Runs programs in a reading process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
        real = sandbox.python
        monkeypatch.setattr(sandbox, "python", lambda _, *given, **how: real(module, *given, **how))
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.sandbox = Sandbox(Limits(seconds=60), folder / "reading")

    def file(self, program: str) -> Path:
        """The file of a program, which it knows as `path`, as every reader does."""
        path = self.folder / "stored.txt"
        path.write_text(program, encoding="utf-8")
        return path

    def __call__(self, program: str) -> str:
        return self.sandbox.read(self.file(program), ".txt").pages[0].text
