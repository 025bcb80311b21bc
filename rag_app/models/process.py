"""How a module of ours is run in a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parents[2]


def search_path() -> list[str]:
    """Where this process finds modules, and this package, which an editable install keeps off."""
    return [str(Path(entry).resolve()) for entry in [*sys.path, str(_HERE)]]


def python(module: str, *arguments: str, site: bool = True) -> list[str]:
    """The command that calls `main(*arguments)` of a module.

    This process's search path is handed on, so that the child finds the same packages; without
    `site` it starts in half the time."""
    start = (
        "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
        f"from {module} import main; sys.exit(main(*sys.argv[1:]))"
    )
    options = ["-P"] if site else ["-P", "-S"]
    return [sys.executable, *options, "-c", start, json.dumps(search_path()), *arguments]
