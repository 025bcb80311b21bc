"""Chat with your documents and see the exact lines every answer comes from.

The public names are looked up when they are first used, so that importing the package (which the
reading child does for every file) stays cheap."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Added": "types",
    "Answer": "types",
    "Citation": "types",
    "Document": "types",
    "Library": "library",
    "Passage": "types",
    "RagAppError": "errors",
    "Settings": "settings",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """A public name, from the module it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
