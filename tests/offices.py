"""Office files made by hand, as small as they can be: XML that is packed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TYPES = "application/vnd.openxmlformats-officedocument."
_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    """A ZIP file of these parts."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return target.getvalue()


def relations(*targets: tuple[str, str]) -> str:
    """The relations of a part: (kind, target), with ids rId1, rId2 …"""
    rows = "".join(
        f'<Relationship Id="rId{number}" Type="{R}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{_RELS}">{rows}</Relationships>'


def _office(main: str, kind: str, parts: Mapping[str, str | bytes]) -> bytes:
    types = f'<Types><Override PartName="/{main}" ContentType="{_TYPES}{kind}.main+xml"/></Types>'
    title = parts.get("title", "")
    core = f'<c:p xmlns:c="urn:core" xmlns:dc="urn:dc"><dc:title>{title!s}</dc:title></c:p>'
    rest = {name: data for name, data in parts.items() if name != "title"}
    own = {"[Content_Types].xml": types, "_rels/.rels": relations(("officeDocument", main))}
    return packed({**own, "docProps/core.xml": core, **rest})


def paragraph(text: str, style: str = "", more: str = "") -> str:
    """A paragraph of Word."""
    chosen = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{chosen}{more}</w:pPr><w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def table(*rows: Iterable[str]) -> str:
    """A table of Word."""
    cells = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def docx(body: str, title: str = "", styles: str = "", **parts: str) -> bytes:
    """A Word document; `parts` are "footnotes", "header1" … with what is in their root element."""
    headings = "".join(
        f'<w:style w:styleId="Heading{n}"><w:name w:val="heading {n}"/></w:style>'
        for n in (1, 2, 3)
    )
    files: dict[str, str | bytes] = {
        "title": title,
        "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>',
        "word/styles.xml": f'<w:styles xmlns:w="{W}">{headings}{styles}</w:styles>',
    }
    kinds = [("styles", "styles.xml")]
    for name, inside in parts.items():
        files[f"word/{name}.xml"] = f'<w:root xmlns:w="{W}">{inside}</w:root>'
        kinds.append((name.rstrip("0123456789"), f"{name}.xml"))
    files["word/_rels/document.xml.rels"] = relations(*kinds)
    return _office("word/document.xml", "wordprocessingml.document", files)


def shape(text: str, kind: str = "", y: int = 0) -> str:
    """A shape of a slide; `kind` is that of a placeholder ("title")."""
    place = f'<p:nvPr><p:ph type="{kind}"/></p:nvPr>' if kind else "<p:nvPr/>"
    off = f'<p:spPr><a:xfrm><a:off x="0" y="{y}"/></a:xfrm></p:spPr>'
    lines = "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in text.split("\n"))
    return f"<p:sp><p:nvSpPr>{place}</p:nvSpPr>{off}<p:txBody>{lines}</p:txBody></p:sp>"


def pptx(*slides: str, notes: Mapping[int, str] | None = None) -> bytes:
    """A presentation of slides, each given as its shapes; `notes` by number from 1."""
    files: dict[str, str | bytes] = {}
    ids = "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in range(1, len(slides) + 1))
    space = f'xmlns:p="{P}" xmlns:r="{R}" xmlns:a="{A}"'
    for number, shapes in enumerate(slides, 1):
        tree = f"<p:cSld><p:spTree>{shapes}</p:spTree></p:cSld>"
        files[f"ppt/slides/slide{number}.xml"] = f"<p:sld {space}>{tree}</p:sld>"
        if notes and number in notes:
            said = f"<p:cSld><p:spTree>{shape(notes[number], 'body')}</p:spTree></p:cSld>"
            files[f"ppt/notesSlides/n{number}.xml"] = f"<p:notes {space}>{said}</p:notes>"
            files[f"ppt/slides/_rels/slide{number}.xml.rels"] = relations(
                ("notesSlide", f"../notesSlides/n{number}.xml")
            )
    files["ppt/presentation.xml"] = (
        f"<p:presentation {space}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"
    )
    files["ppt/_rels/presentation.xml.rels"] = relations(
        *(("slide", f"slides/slide{number}.xml") for number in range(1, len(slides) + 1))
    )
    return _office("ppt/presentation.xml", "presentationml.presentation", files)


def xlsx(**sheets: Iterable[Iterable[str | float]]) -> bytes:
    """A workbook of sheets by name, each given as its rows."""
    return workbook(
        {
            name: f"<sheetData>{''.join(map(_row, enumerate(rows, 1)))}</sheetData>"
            for name, rows in sheets.items()
        }
    )


def workbook(
    sheets: Mapping[str, str], styles: str = "", *, asks_to_compute: bool = False
) -> bytes:
    """A workbook of sheets by name, each given as what is inside its XML; `asks_to_compute`: it
    has whoever opens it compute its formulas."""
    files: dict[str, str | bytes] = {}
    listed = ""
    for number, (name, inside) in enumerate(sheets.items(), 1):
        listed += f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>'
        files[f"xl/worksheets/sheet{number}.xml"] = f'<worksheet xmlns="{S}">{inside}</worksheet>'
    files["xl/workbook.xml"] = (
        f'<workbook xmlns="{S}" xmlns:r="{R}"><sheets>{listed}</sheets>'
        f'<calcPr fullCalcOnLoad="{asks_to_compute:d}"/></workbook>'
    )
    targets = [("worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(sheets) + 1)]
    if styles:
        files["xl/styles.xml"] = f'<styleSheet xmlns="{S}">{styles}</styleSheet>'
        targets.append(("styles", "styles.xml"))
    files["xl/_rels/workbook.xml.rels"] = relations(*targets)
    return _office("xl/workbook.xml", "spreadsheetml.sheet", files)


def _row(numbered: tuple[int, Iterable[str | float]]) -> str:
    number, cells = numbered
    written = ""
    for column, cell in enumerate(cells):
        place = f'r="{chr(ord("A") + column)}{number}"'
        if isinstance(cell, str):
            written += f'<c {place} t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
        else:
            written += f"<c {place}><v>{cell}</v></c>"
    return f'<row r="{number}">{written}</row>'


_ODF = (
    "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table", "presentation", "meta", "style")
    )
    + ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:dc="urn:dc"'
    + ' xmlns:number="urn:oasis:names:tc:opendocument:xmlns:datastyle:1.0"'
)


def opendocument(
    kind: str, body: str, title: str = "", manifest: str = "", own: str = "", styles: str = ""
) -> bytes:
    """An OpenDocument file; `kind` is "text", "presentation" or "spreadsheet", `own` the styles
    that stand with its content, `styles` those apart."""
    inside = f"<office:automatic-styles>{own}</office:automatic-styles>"
    inside += f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    meta = f"<office:meta><dc:title>{title}</dc:title></office:meta>"
    return packed(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"<office:document-content{_ODF}>{inside}</office:document-content>",
            "styles.xml": f"<office:document-styles{_ODF}>{styles}</office:document-styles>",
            "meta.xml": f"<office:document-meta{_ODF}>{meta}</office:document-meta>",
            "META-INF/manifest.xml": f"<manifest>{manifest}</manifest>",
        }
    )
