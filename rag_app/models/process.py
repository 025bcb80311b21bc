"""How a module of ours is run in a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parents[2]


def python(module: str, *arguments: str) -> list[str]:
    """The command that calls `main(*arguments)` of a module.

    This process's search path is handed on, so that the child finds the same packages."""
    search = json.dumps([str(Path(entry).resolve()) for entry in [*sys.path, str(_HERE)]])
    start = (
        "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
        f"from {module} import main; sys.exit(main(*sys.argv[1:]))"
    )
    return [sys.executable, "-P", "-c", start, search, *arguments]
