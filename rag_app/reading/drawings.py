"""Words in the drawings of Office files: paragraphs in shapes, charts as tables, diagrams."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from rag_app.reading.archive import Archive
from rag_app.reading.markup import tree
from rag_app.reading.office import related
from rag_app.reading.sections import Sections

SKIP = frozenset(["Fallback", "rPr", "extLst"])


def add_drawings(archive: Archive, part: str, sections: Sections) -> None:
    """Add the words of the charts (titles, then numbers) and diagrams that a part points to."""
    for kind in ("chart", "diagramData"):
        for name in related(archive, part, kind):
            with archive.open(name) as member:
                drawing = tree(member, SKIP)
            sections.paragraph("\n".join(paragraphs(drawing)))
            if kind == "chart":
                sections.table(_chart_rows(drawing))


def paragraphs(element: Element) -> Iterator[str]:
    """The paragraphs in a shape that are not empty."""
    for paragraph in element.iter("p"):
        text = "".join(
            "\n" if each.tag == "br" else each.text or ""
            for each in paragraph.iter()
            if each.tag in ("t", "br")
        ).strip()
        if text:
            yield text


def _chart_rows(chart: Element) -> Iterator[list[str]]:
    """The numbers that a chart shows: a row of categories, then a row for each series."""
    for number, series in enumerate(chart.iter("ser")):
        if number == 0:
            yield ["", *_points(series.find("cat"))]
        yield [" ".join(_points(series.find("tx"))), *_points(series.find("val"))]


def _points(element: Element | None) -> list[str]:
    return [] if element is None else [each.text or "" for each in element.iter("v")]
