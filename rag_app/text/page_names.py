"""What a page is called where it is named: only some formats have pages. Pure.

Slides are slides, tables have rows; what a text is cut into for reading are parts, since its own
program turns its pages elsewhere."""

from __future__ import annotations

from pathlib import PurePath

from rag_app.text.formats import FORMATS, all_that, format_of


def readable_name(name: str) -> str:
    """A file's name as a title: without its suffix, in words, on one line."""
    return " ".join(PurePath(name).stem.replace("_", " ").split())


# Numbers as people say them: with their noun, and as sizes of files.

TABLES = all_that(lambda each: each.table)
"""Suffixes of documents that are nothing but tables."""


def count(number: int, one: str, many: str | None = None) -> str:
    """The number with its noun: 1 page, 1,200 pages."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: int) -> str:
    """A number of bytes as people say it."""
    amount = float(number)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit != "MB" else f"{amount:.1f} MB"
        amount /= 1000
    return f"{amount:.1f} GB"


_PART = "part"
_ALONE = (_PART, "picture")  # need no number where there is one only
_LONGEST = 60  # characters of a section's name


def unit(name: str) -> str:
    """What a page of a document is; `name`: the document's, or only its suffix."""
    known = format_of("." + name.rpartition(".")[2].lower())
    return known.unit if known else _PART


def has_pages(name: str) -> bool:
    """Whether people know what a page of it is: a text is cut into parts only to be read."""
    return unit(name) != _PART


def page_name(name: str, number: int, label: str = "", total: int = 0) -> str:
    """Which page: "page 3", "slide 3", "Prices, rows 41–80"; `label`: what the document calls it.

    Nothing for what is the only one of `total` (0: not known) and has no name of its own, nor for a
    part: where a text was cut for reading says nothing to anybody. The numbers that a PDF prints on
    its pages are left to who shows the page itself."""
    own = unit(name)
    if label and own != "page":
        return label
    return "" if not has_pages(name) or (total == 1 and own in _ALONE) else f"{own} {number:,}"


def section_name(heading: str) -> str:
    """What a section is called where it is named: its heading, on one line and short."""
    line = " ".join(heading.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rsplit(' ', 1)[0]}…"


def beside(name: str, where: str) -> str:
    """A document's name, and which page of it, if that has to be said."""
    return f"{name}, {where}" if where else name


def which_of(name: str, number: int, total: int, label: str = "") -> str:
    """Which page of how many, and what the document itself calls it; nothing for the only part."""
    own = unit(name)
    if total == 1 and own in _ALONE and not label:
        return ""
    if not label or label == str(number):
        return f"{own} {number:,} of {total:,}"
    if own == "page":
        return f"{own} {number:,} of {total:,} (“{label}”)"
    return f"{label} · {number:,} of {total:,}" if total > 1 else label


def how_many(name: str, number: int) -> str:
    """So many pages: "12 slides"."""
    return count(number, unit(name))


def at_the_beginning(said: str) -> str:
    """The name of a page with a capital; what a document calls it stays as it is."""
    ours = {"message", "row", "rows", *(each.unit for each in FORMATS.values())}
    return said[:1].upper() + said[1:] if said.split(" ", 1)[0] in ours else said
