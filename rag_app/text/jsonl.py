"""Files of JSON lines as people and programs hand them in: one way to read them.

The text is UTF-8, with or without a byte order mark; lines of white space are passed over. The
first line that cannot be used is named, and then nothing of the file is used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from rag_app.errors import RagAppError

_Row = TypeVar("_Row")
# What code that picks a row apart raises where the row is not as it should be.
_UNFIT = (ValueError, TypeError, KeyError, AttributeError, OverflowError)


class UnfitFile(RagAppError):
    """A file that was handed in cannot be used; the message says why and names the line."""

    code = "unfit_file"


def read_lines(path: Path, made: Callable[[Any, int], _Row], example: str) -> list[_Row]:
    """What is `made` of each line's value and number, from 1. Raises UnfitFile.

    `made` may raise what picking a value apart raises; then the `example` of a line is shown."""
    return [_row(line, number, path, made, example) for number, line in _lines(path)]


def text_of(value: Any) -> str:
    """A value that is a text with something in it, trimmed. Raises TypeError for any other."""
    if not isinstance(value, str) or not value.strip():
        raise TypeError("no text")
    return value.strip()


def texts_of(value: Any) -> list[str]:
    """A value that is a list of texts; none is an empty list. Raises TypeError for any other."""
    if not isinstance(value, list | None) or not all(isinstance(one, str) for one in value or ()):
        raise TypeError("no list of texts")
    return value or []


def _lines(path: Path) -> list[tuple[int, str]]:
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError as error:
        raise UnfitFile(f"There is no file {path}.") from error
    except OSError as error:
        raise UnfitFile(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise UnfitFile(f"{path} is not a text in UTF-8.") from error
    # Not splitlines(): JSON may hold what it takes for the end of a line (U+2028).
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _row(
    line: str, number: int, path: Path, made: Callable[[Any, int], _Row], example: str
) -> _Row:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UnfitFile(f"Line {number} of {path} is not JSON: {error}.") from error
    try:
        return made(value, number)
    except _UNFIT as error:
        raise UnfitFile(f"Line {number} of {path} should read like this: {example}.") from error
