"""Reads PowerPoint presentations (.pptx): a slide is a page, its title a heading, notes below.

A slide's shapes are read as they stand on it, from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

from rag_app.errors import DamagedFile
from rag_app.reading.archive import Archive
from rag_app.reading.docx import SKIP, add_drawings, paragraphs
from rag_app.reading.embedded import finished
from rag_app.reading.limits import Limits
from rag_app.reading.markup import core_title, main_part, outermost, related, relations, tree
from rag_app.reading.sections import OnPage, PageBuilder
from rag_app.types import Reading

LONGEST_SLIDE = 20_000  # characters; a slide that has more is a document pasted in
_TITLES = ("title", "ctrTitle")
_SMALL_PRINT = ("sldNum", "dt", "ftr", "hdr", "sldImg")  # placeholders with nothing of the slide's
_NO_TITLES = ("", "powerpoint presentation", "slide 1", "presentation", "untitled")
_SHAPES = ("sp", "graphicFrame", "grpSp", "cxnSp")


def read_pptx(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
    """The slides of a presentation, in its order.

    Raises DamagedFile, UnsupportedFormat, NoText or LimitReached."""
    with Archive(path, limits) as archive:
        main = main_part(archive, "ppt/presentation.xml")
        slides = list(_slides(archive, main))
        sections = PageBuilder(limits, LONGEST_SLIDE)
        warnings: list[str] = []
        for number, part in enumerate(slides, 1):
            same = sections.pages + (not sections.is_empty) == number - 1
            sections.new_page("" if same else f"slide {number}")
            try:
                _add_slide(archive, part, sections)
            except DamagedFile:
                warnings.append(f"Slide {number} is damaged; what could be read of it is kept.")
            if on_page:
                on_page(number, len(slides))
        if sections.is_empty and not sections.pages:
            _add_small_print(archive, slides, sections)
        title = core_title(archive)
    reading = finished(path, sections, limits, title, warnings)
    if reading.title.lower() not in _NO_TITLES:
        return reading
    return replace(reading, title=reading.headings[0].text if reading.headings else "")


def _slides(archive: Archive, main: str) -> Iterator[str]:
    """The parts of the slides, as the presentation lists them."""
    targets = {each.id: each.target for each in relations(archive, main)}
    with archive.open(main) as member:
        for each in outermost(member, frozenset(["sldId"])):
            part = targets.get(each.get("r:id", ""), "")
            if part in archive:
                yield part


def _add_slide(archive: Archive, part: str, sections: PageBuilder) -> None:
    with archive.open(part) as member:
        slide = tree(member, SKIP)
    shapes = [each for each in _shapes(slide) if _placeholder(each) not in _SMALL_PRINT]
    titles = [each for each in shapes if _placeholder(each) in _TITLES]
    for title in titles:
        sections.heading(" ".join(paragraphs(title)), 1)
    for shape in sorted((each for each in shapes if each not in titles), key=_place):
        _add_shape(shape, sections)
    add_drawings(archive, part, sections)
    for notes in related(archive, part, "notesSlide"):
        _add_notes(archive, notes, sections)


def _add_small_print(archive: Archive, slides: Sequence[str], sections: PageBuilder) -> None:
    """Add the footers, which are all that slides without a text say."""
    said: dict[str, None] = {}
    for part in slides:
        with suppress(DamagedFile), archive.open(part) as member:
            for shape in _shapes(tree(member, SKIP)):
                if _placeholder(shape) != "sldNum":
                    said.update(dict.fromkeys(paragraphs(shape)))
    for text in said:
        sections.paragraph(text)


def _shapes(element: Element) -> Iterator[Element]:
    """The shapes of a slide; a group is one shape."""
    for child in element:
        if child.tag in _SHAPES:
            yield child
        elif child.tag in ("cSld", "spTree", "AlternateContent", "Choice"):
            yield from _shapes(child)


def _placeholder(shape: Element) -> str:
    """What a shape stands for in the layout: "title", "body", or nothing."""
    found = shape.find("*/nvPr/ph")
    return "" if found is None else found.get("type", "body")


def _place(shape: Element) -> tuple[int, int]:
    """Where a shape stands, top first. One without a place of its own is the body of the slide."""
    for offset in shape.iter("off"):
        try:
            return int(offset.get("y", "0")) // 100_000, int(offset.get("x", "0"))
        except ValueError:
            break
    return 0, 0


def _add_shape(shape: Element, sections: PageBuilder) -> None:
    tables = list(shape.iter("tbl"))
    for table in tables:
        sections.table(
            [" ".join(paragraphs(cell)) for cell in row.iter("tc")] for row in table.iter("tr")
        )
    if not tables:
        sections.paragraph("\n".join(paragraphs(shape)))


def _add_notes(archive: Archive, part: str, sections: PageBuilder) -> None:
    with archive.open(part) as member:
        notes = tree(member, SKIP)
    texts = [
        text
        for shape in _shapes(notes)
        if _placeholder(shape) not in _SMALL_PRINT
        for text in paragraphs(shape)
    ]
    if texts:
        sections.paragraph("Notes: " + "\n".join(texts))
