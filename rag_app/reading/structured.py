"""Reads data that has a structure of its own: JSON, JSON lines, notebooks and XML."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element
from xml.parsers import expat

from rag_app.errors import DamagedFile, NoText
from rag_app.reading.encodings import decode_html
from rag_app.reading.limits import Limits
from rag_app.reading.markup import BROKEN, tree
from rag_app.reading.plain_text import load, read_text, with_headings
from rag_app.reading.sections import PageBuilder
from rag_app.supervision import Told, untold
from rag_app.types import Reading

_LONG_LINE = 1_000  # characters; what has longer ones is not meant to be read as it is
_NUMBERED = re.compile(r"(\\\\)|(?:\\u[0-9a-fA-F]{4})+")  # "\u00fc", not "\\u00fc"
_TITLES = ("title", "name", "headline", "subject")
_HEADINGS = frozenset(["title", "head", "heading", "article-title", "caption", "invention-title"])
_PROSE = frozenset(["p", "para", "simpara", "paragraph", "abstract", "description", "text", "note"])
_SHORT = 80  # characters of a value that is shown with its name
_DEEPEST = 6  # level of a heading


def read_json(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections of a JSON text, set in lines if it has none; a notebook's cells.

    Raises NoText or LimitReached."""
    written, encoding = load(path, limits)
    text = _NUMBERED.sub(_letters, written)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        if _has_long_line(text):
            text = "\n".join(map(_spread, text.splitlines()))
        return with_headings(text, (), encoding)
    if isinstance(data, dict) and isinstance(data.get("cells"), list) and "nbformat" in data:
        return replace(_notebook(data["cells"], limits), encoding=encoding)
    if _has_long_line(text):
        text = _indented(data)
    return replace(with_headings(text, (), encoding), title=_title(data))


def _letters(numbered: re.Match[str]) -> str:
    """Letters that are written as numbers, but for those that JSON cannot have between quotes."""
    if numbered[1]:
        return numbered[0]
    letters = json.dumps(json.loads(f'"{numbered[0]}"'), ensure_ascii=False)[1:-1]
    return letters.encode("utf-8", "replace").decode()  # half a letter is none


def _has_long_line(text: str) -> bool:
    return any(len(line) > _LONG_LINE for line in text.splitlines())


def _indented(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)


def _spread(line: str) -> str:
    """A line of JSON lines, on several if it is long."""
    if len(line) <= _LONG_LINE:
        return line
    try:
        return _indented(json.loads(line)) + "\n"
    except (ValueError, RecursionError):
        return line


def _title(data: object) -> str:
    found = (data.get(name) for name in _TITLES) if isinstance(data, dict) else ()
    return next((each for each in found if isinstance(each, str) and len(each) < 200), "")


def _notebook(cells: list[Any], limits: Limits) -> Reading:
    """The cells of a Jupyter notebook; of their outputs those that are text."""
    sections = PageBuilder(limits)
    title = ""
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        source = _joined(cell.get("source"))
        if cell.get("cell_type") != "markdown":
            sections.paragraph(source, exact=True)
            for output in _outputs(cell):
                sections.paragraph(output, exact=True)
            continue
        for paragraph in source.split("\n\n"):
            first, _, rest = paragraph.strip().partition("\n")
            level = len(first) - len(first.lstrip("#"))
            if 0 < level <= _DEEPEST:
                sections.heading(first.lstrip("#"), level)
                title = title or (first.lstrip("# ") if level == 1 else "")
                sections.paragraph(rest)
            else:
                sections.paragraph(paragraph)
    return sections.reading(title)


def _outputs(cell: dict[str, Any]) -> Iterator[str]:
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            data = output.get("data")
            yield _joined(output.get("text"))
            yield _joined(data.get("text/plain") if isinstance(data, dict) else None)


def _joined(lines: object) -> str:
    """A text that may be kept as a list of lines."""
    if isinstance(lines, list):
        return "".join(each for each in lines if isinstance(each, str))
    return lines if isinstance(lines, str) else ""


def read_xml(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The text of an XML file: prose as paragraphs, short values with their names.

    Raises DamagedFile if it declares entities, NoText or LimitReached."""
    try:
        root = _root(path)
    except DamagedFile as error:
        if not isinstance(error.__cause__, BROKEN):
            raise
        reading = read_text(path, limits=limits, on_page=on_page)
        said = f"The XML in this file is broken ({error.__cause__}); it was read as plain text."
        return replace(reading, warnings=(*reading.warnings, said))
    return _xml(root, limits)


def _root(path: Path) -> Element:
    try:
        with path.open("rb") as file:
            return tree(file)
    except DamagedFile as error:
        if isinstance(error.__cause__, expat.ExpatError):
            raise
    text, _ = decode_html(path.read_bytes())  # knows more encodings
    return tree(io.BytesIO(text.encode("utf-8", "replace")), encoding="utf-8")


def _xml(root: Element, limits: Limits) -> Reading:
    sections = PageBuilder(limits)
    _add(root, 1, sections)
    if not sections.pages and sections.is_empty:
        raise NoText("There is no text in this XML file: its elements are empty.")
    title = next((each for each in root.iter() if each.tag in _HEADINGS), None)
    return sections.reading("" if title is None else "".join(title.itertext()))


def _add(element: Element, depth: int, sections: PageBuilder, wordless: bool = False) -> None:
    """Add an element: as a heading, a paragraph, a named value, or what is in it. Its attributes
    are said beside its name where that is: of a value, of what holds others, and of what has no
    word in it, or around it (`wordless`)."""
    wordless = wordless or not any(text.strip() for text in element.itertext())
    is_mixed = any((text or "").strip() for text in (element.text, *(c.tail for c in element)))
    said = ", ".join(f"{name}: {value}" for name, value in element.attrib.items())
    named = f"{element.tag} ({said})" if said else element.tag
    holds = len(element) and not is_mixed and element.tag not in _HEADINGS
    if said and (wordless or holds):
        sections.paragraph(named, tight=True)
    if element.tag in _HEADINGS:
        sections.heading(
            " ".join("".join(element.itertext()).split()), min(_DEEPEST, depth - 1) or 1
        )
    elif holds:
        for child in element:
            _add(child, depth + 1, sections, wordless)
    elif element.tag not in _PROSE and len(element) == 0 and len(element.text or "") <= _SHORT:
        if (element.text or "").strip():
            sections.paragraph(f"{named}: {(element.text or '').strip()}", tight=True)
    else:
        sections.paragraph("".join(element.itertext()))
