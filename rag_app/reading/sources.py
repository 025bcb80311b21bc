"""Reads texts that are written to be typeset: reStructuredText, LaTeX, AsciiDoc and Org.

They are read as they are written; only what they say of headings and titles is understood."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from rag_app.reading.limits import Limits
from rag_app.reading.sections import OnPage
from rag_app.reading.text import load, with_headings
from rag_app.types import Reading

_Found = tuple[int, int, str]  # start, level, title

_LATEX = re.compile(
    r"^[^%\n]{0,200}?\\(part|chapter|section|subsection|subsubsection|paragraph)\*?"
    r"(?:\[[^\]\n]{0,200}\])?\{([^\n]{1,200}?)\}",
    re.MULTILINE,
)
_LATEX_TITLE = re.compile(
    r"^[^%\n]{0,200}?\\title(?:\[[^\]]{0,200}\])?\{([^}]{1,300})\}", re.MULTILINE
)
_LATEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_LATEX_CODE = re.compile(r"\\[a-zA-Z]+\*?|[{}~]")
_UNDERLINED = re.compile(
    r"^(\S[^\n]{0,200})\r?\n([=\-`:.'\"~^_*+#<>])\2{2,}[ \t]*\r?$", re.MULTILINE
)
_ASCIIDOC = re.compile(r"^(={1,6})[ \t]+(\S[^\n]{0,200})$", re.MULTILINE)
_ORG = re.compile(r"^(\*{1,8})[ \t]+(\S[^\n]{0,200})$", re.MULTILINE)
_ORG_TITLE = re.compile(r"^#\+title:[ \t]*(\S[^\n]{0,300})$", re.MULTILINE | re.IGNORECASE)


def read_latex(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
    """The sections, title and headings of a LaTeX source. Raises NoText or LimitReached."""
    return _read(path, limits, on_page, _latex_headings, _LATEX_TITLE)


def read_rst(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
    """The sections, title and headings of reStructuredText. Raises NoText or LimitReached."""
    return _read(path, limits, on_page, _rst_headings)


def read_asciidoc(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
    """The sections, title and headings of an AsciiDoc text. Raises NoText or LimitReached."""
    return _read(path, limits, on_page, lambda text: _marked(_ASCIIDOC, text))


def read_org(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
    """The sections, title and headings of an Org text. Raises NoText or LimitReached."""
    return _read(path, limits, on_page, lambda text: _marked(_ORG, text), _ORG_TITLE)


def _read(
    path: Path,
    limits: Limits,
    on_page: OnPage | None,
    headings: Callable[[str], Iterable[_Found]],
    title: re.Pattern[str] | None = None,
) -> Reading:
    text, warnings = load(path, limits)
    reading = with_headings(text, list(headings(text)), warnings, on_page)
    named = title.search(text) if title else None
    return replace(reading, title=_plain(named.group(1))) if named else reading


def _latex_headings(text: str) -> Iterator[_Found]:
    found = list(_LATEX.finditer(text))
    first = min((_LATEX_LEVELS.index(match.group(1)) for match in found), default=0)
    for match in found:
        level = _LATEX_LEVELS.index(match.group(1)) - first + 1
        yield match.start(1) - 1, level, _plain(match.group(2))


def _plain(title: str) -> str:
    """A title without commands."""
    return " ".join(_LATEX_CODE.sub(" ", title).split())


def _rst_headings(text: str) -> Iterator[_Found]:
    """Underlined lines; which sign stands for which level is told by the order they come in."""
    signs: list[str] = []
    for match in _UNDERLINED.finditer(text):
        title, sign = match.group(1).rstrip(), match.group(2)
        line = len(match.group().splitlines()[1].rstrip())
        if line < len(title) or not any(map(str.isalnum, title)):
            continue
        over = text[max(0, match.start() - 5) : match.start()].rstrip("\r\n").endswith(sign * 3)
        mark = sign * 2 if over else sign
        if mark not in signs:
            signs.append(mark)
        yield match.start(), signs.index(mark) + 1, title


def _marked(pattern: re.Pattern[str], text: str) -> Iterator[_Found]:
    """Headings with a sign in front for each level."""
    for match in pattern.finditer(text):
        yield match.start(), len(match.group(1)), match.group(2).strip()
