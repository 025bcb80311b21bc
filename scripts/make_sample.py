"""Draw the sample document into `rag_app/samples/`: a report, and the questions to ask it.

    python scripts/make_sample.py [FOLDER]

The same bytes every time, with an outline, page labels, two columns, tables and a chart, so that
the first thing a user opens shows what the app can do. It does not answer the last question."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reportlab.lib.colors import white
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    FrameBreak,
    ListFlowable,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
)

sys.path.insert(0, str(Path(__file__).resolve().parent))
import sample_text as text
from sample_art import HEIGHT, INK, NAVY, PALE, SAND, TEAL, WIDTH, Bars, Tiles, cover, wave

NAME = "Harbour Cycles - Annual Report 2025.pdf"
MARGIN = 18 * mm
GUTTER = 8 * mm
HEAD = 15 * mm  # of a page in two columns
BODY = ParagraphStyle("body", fontSize=11, leading=16.5, textColor=INK, spaceAfter=8)
COLUMN = ParagraphStyle("column", BODY, fontSize=10.2, leading=14.8)
CELL = ParagraphStyle("cell", BODY, fontSize=9.8, leading=13, spaceAfter=0)
SIGNED = ParagraphStyle("signed", BODY, fontName="Helvetica-Oblique", textColor=TEAL)
HEADING = ParagraphStyle(
    "heading", BODY, fontName="Helvetica-Bold", fontSize=22, leading=27, textColor=NAVY
)
SUBHEADING = ParagraphStyle(
    "subheading", HEADING, fontSize=12.5, leading=16, textColor=TEAL, spaceBefore=6, spaceAfter=4
)


class Report(BaseDocTemplate):
    """Pages with a running foot; every heading goes into the outline as it is drawn."""

    def afterFlowable(self, flowable: Flowable) -> None:
        """Enter a heading into the outline."""
        if isinstance(flowable, Paragraph) and flowable.style in (HEADING, SUBHEADING):
            title, level = flowable.getPlainText(), int(flowable.style is SUBHEADING)
            self.canv.bookmarkPage(title)
            self.canv.addOutlineEntry(title, title, level=level)


def draw_cover(canvas: Canvas, _document: Any) -> None:
    """The cover, and what a reader's window shows: title, outline, page labels."""
    canvas.setTitle(text.TITLE)
    canvas.setAuthor(text.AUTHOR)
    canvas.setSubject(text.SUBJECT)
    canvas.showOutline()
    canvas.addPageLabel(0, prefix="Cover")
    canvas.addPageLabel(1, style="ARABIC", start=1)
    cover(canvas, ("Harbour", "Cycles"), text.SUBTITLE)
    canvas.setFont("Helvetica", 9)
    canvas.drawString(MARGIN, 14 * mm, text.SUBJECT)


def draw_foot(canvas: Canvas, document: Any) -> None:
    """The band at the head and the running foot of a page."""
    canvas.setFillColor(TEAL)
    canvas.rect(0, HEIGHT - 7 * mm, WIDTH, 7 * mm, stroke=0, fill=1)
    wave(canvas, 17 * mm, 1.6 * mm, document.page, SAND)
    wave(canvas, 11 * mm, 1.6 * mm, document.page + 2.5, PALE)
    canvas.setFillColor(INK)
    canvas.setFont("Helvetica", 8)
    canvas.drawString(MARGIN, 6 * mm, text.TITLE)
    canvas.drawRightString(WIDTH - MARGIN, 6 * mm, str(document.page - 1))


def paragraphs(texts: Sequence[str], style: ParagraphStyle = BODY) -> list[Flowable]:
    """One paragraph for each text."""
    return [Paragraph(each, style) for each in texts]


def table(
    rows: Sequence[Sequence[str]], widths: Sequence[float], bold: Sequence[int] = ()
) -> Table:
    """A table with a dark head, every other row shaded, `bold` rows being totals."""
    look: list[tuple[Any, ...]] = [
        ("FONT", (0, 0), (-1, -1), "Helvetica", 9.8),
        ("TEXTCOLOR", (0, 0), (-1, -1), INK),
        ("BACKGROUND", (0, 0), (-1, 0), NAVY),
        ("TEXTCOLOR", (0, 0), (-1, 0), white),
        ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 9.8),
        ("ROWBACKGROUNDS", (0, 1), (-1, -1), (white, SAND)),
        ("TOPPADDING", (0, 0), (-1, -1), 5),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 6),
        ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
    ]
    for row in bold:
        look += [("FONT", (0, row), (-1, row), "Helvetica-Bold", 9.8)]
        look += [("BACKGROUND", (0, row), (-1, row), PALE)]
    return Table(rows, colWidths=[width * mm for width in widths], style=look, spaceAfter=10)


def section(title: str, *content: Flowable | Sequence[Flowable]) -> list[Flowable]:
    """A page that begins with a heading."""
    story: list[Flowable] = [Paragraph(title, HEADING)]
    for each in content:
        story += [each] if isinstance(each, Flowable) else each
    return [*story, PageBreak()]


def numbers(
    rows: Sequence[Sequence[str]], widths: Sequence[float], bold: Sequence[int] = ()
) -> Table:
    """A table whose columns after the first are figures."""
    made = table(rows, widths, bold)
    made.setStyle([("ALIGN", (1, 0), (-1, -1), "RIGHT")])
    return made


def story() -> list[Flowable]:
    """The whole report."""
    intro, rules = text.SAFETY
    head, *tickets = text.PRICES
    priced = [head, *([*row[:2], Paragraph(row[2], CELL)] for row in tickets)]
    columns: list[Flowable] = [FrameBreak()]
    for number, (title, *rest) in enumerate(text.COLUMNS):
        columns += [FrameBreak()] if number == 2 else []
        columns += [Paragraph(title, SUBHEADING), *paragraphs(rest, COLUMN)]
    contact = [
        [Paragraph(f"<b>{who}</b>", CELL), Paragraph(how, CELL)] for who, how in text.CONTACT
    ]
    return [
        NextPageTemplate("page"),
        PageBreak(),
        *section(
            "A year uphill",
            Tiles(text.TILES),
            Spacer(0, 6),
            paragraphs(text.LETTER),
            Paragraph(text.SIGNED, SIGNED),
        ),
        *section(
            "Riding in 2025",
            paragraphs(text.RIDING),
            Paragraph("Trips by quarter", SUBHEADING),
            Bars(text.QUARTERS, ("2025", "2024")),
            Paragraph("The five busiest stations", SUBHEADING),
            numbers(text.STATIONS, (56, 22, 32, 24)),
            NextPageTemplate("columns"),
        ),
        *section("On the street and in the workshop", columns, NextPageTemplate("page")),
        *section(
            "Safety policy",
            Paragraph(intro, BODY),
            ListFlowable(paragraphs(rules), bulletColor=TEAL, bulletFontName="Helvetica-Bold"),
        ),
        *section("Prices", table(priced, (41, 20, 73)), paragraphs(text.PRICE_NOTES)),
        *section(
            "Income and costs",
            numbers(text.MONEY, (86, 24, 24), text.MONEY_TOTALS),
            paragraphs(text.MONEY_NOTES),
        ),
        *section(
            "Outlook and contact",
            paragraphs(text.OUTLOOK),
            Paragraph("New stations in 2026", SUBHEADING),
            numbers(text.PLANNED, (74, 30, 30)),
            Paragraph("How to reach us", SUBHEADING),
            Table(
                contact,
                colWidths=(32 * mm, 102 * mm),
                style=[("LINEBELOW", (0, 0), (-1, -1), 0.5, PALE)],
            ),
        )[:-1],
    ]


def frame(x: float, y: float, width: float, height: float) -> Frame:
    """A frame without padding."""
    return Frame(x, y, width, height, 0, 0, 0, 0)


def frames(count: int) -> list[Frame]:
    """One frame between the margins, or a head over `count` columns."""
    full = WIDTH - 2 * MARGIN
    bottom, height = 22 * mm, HEIGHT - 38 * mm
    if count == 1:
        return [frame(MARGIN, bottom, full, height)]
    width = (full - GUTTER * (count - 1)) / count
    starts = [MARGIN + number * (width + GUTTER) for number in range(count)]
    return [
        frame(MARGIN, bottom + height - HEAD, full, HEAD),
        *(frame(x, bottom, width, height - HEAD) for x in starts),
    ]


def main(folder: Path) -> None:
    """Write the report and its questions."""
    folder.mkdir(parents=True, exist_ok=True)
    report = Report(str(folder / NAME), pagesize=(WIDTH, HEIGHT), invariant=1, pageCompression=1)
    report.addPageTemplates(
        [
            PageTemplate("cover", frames(1), onPage=draw_cover),
            PageTemplate("page", frames(1), onPage=draw_foot),
            PageTemplate("columns", frames(2), onPage=draw_foot),
        ]
    )
    report.build(story())
    (folder / "questions.txt").write_text("\n".join(text.QUESTIONS) + "\n", encoding="utf-8")


if __name__ == "__main__":
    default = Path(__file__).resolve().parent.parent / "rag_app" / "samples"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
