"""A file in every format that holds one known sentence at one known place."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from offices import docx, opendocument, packed, paragraph, pptx, shape, table, xlsx
from old_offices import compound, slides, word
from pdfs import pdf

SENTENCE = "The lantern keeper counted forty-seven herons."
QUESTION = "What did the lantern keeper count?"
_BEFORE = "Barley is sown in spring."
_AFTER = "Wheat is cut in August."
_ROWS, _AT = 400, 321  # rows of a long table, and the one with the sentence


@dataclass(frozen=True)
class Case:
    """A file, and where its sentence is to be found.

    `row`: of a table; `inside`: of the document that comes out of it; `pictured`: with boxes."""

    name: str
    data: bytes
    page: int = 1
    label: str = ""
    heading: str = ""
    row: int = 0
    inside: str = ""
    pictured: bool = False


def _lines(*lines: str) -> bytes:
    return "\n\n".join(lines).encode()


def _long_table() -> Iterable[list[str | float]]:
    yield ["number", "note"]
    for number in range(2, _ROWS):
        yield [number, SENTENCE if number == _AT else f"{_BEFORE} Field {number}."]


def _csv(separator: str) -> bytes:
    return "\n".join(separator.join(map(str, row)) for row in _long_table()).encode()


def _xls() -> bytes:
    def record(kind: int, *fields: bytes) -> bytes:
        data = b"".join(fields)
        return struct.pack("<HH", kind, len(data)) + data

    def begin(kind: int) -> bytes:
        return record(0x0809, struct.pack("<HHHII", 0x0600, kind, 0, 0, 0))

    name = struct.pack("<BB", 6, 0) + b"Herons"
    sheet_at = len(begin(5)) + 4 + 6 + len(name) + 4
    rows = list(_long_table())
    book = begin(5) + record(0x85, struct.pack("<IBB", sheet_at, 0, 0), name) + record(10)
    book += begin(16) + record(0x0200, struct.pack("<IIHHH", 0, len(rows), 0, 2, 0))
    for number, (first, second) in enumerate(rows):
        for column, cell in ((0, str(first)), (1, str(second))):
            place = struct.pack("<HHHHB", number, column, 0, len(cell), 0)
            book += record(0x0204, place, cell.encode("latin-1"))
    return compound({"Workbook": book + record(10)})


def _ods() -> bytes:
    def row(cells: Iterable[object]) -> str:
        inside = "".join(
            '<table:table-cell office:value-type="string">'
            f"<text:p>{each}</text:p></table:table-cell>"
            for each in cells
        )
        return f"<table:table-row>{inside}</table:table-row>"

    rows = "".join(map(row, _long_table()))
    return opendocument("spreadsheet", f'<table:table table:name="Herons">{rows}</table:table>')


def _odp() -> bytes:
    def slide(title: str, text: str) -> str:
        shapes = "".join(
            f'<draw:frame presentation:class="{kind}"><draw:text-box><text:p>{words}</text:p>'
            "</draw:text-box></draw:frame>"
            for kind, words in (("title", title), ("outline", text))
        )
        return f"<draw:page>{shapes}</draw:page>"

    return opendocument("presentation", slide("Fields", _BEFORE) + slide("Herons", SENTENCE))


def _odt() -> bytes:
    def section(title: str, text: str) -> str:
        return f'<text:h text:outline-level="1">{title}</text:h><text:p>{text}</text:p>'

    return opendocument("text", section("Fields", _BEFORE) + section("Herons", SENTENCE))


def _docx() -> bytes:
    body = paragraph("Fields", "Heading1") + paragraph(_BEFORE)
    return docx(body + paragraph("Herons", "Heading1") + paragraph(SENTENCE))


def _epub() -> bytes:
    chapters = [f"<h1>Fields</h1><p>{_BEFORE}</p>", f"<h1>Herons</h1><p>{SENTENCE}</p>"]
    items = "".join(f'<item id="c{n}" href="c{n}.xhtml"/>' for n in range(2))
    package = (
        f"<package><manifest>{items}</manifest>"
        '<spine><itemref idref="c0"/><itemref idref="c1"/></spine></package>'
    )
    rootfile = '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>'
    parts = {"mimetype": "application/epub+zip", "META-INF/container.xml": rootfile}
    texts = {f"c{number}.xhtml": text for number, text in enumerate(chapters)}
    return packed(parts | {"b.opf": package} | texts)


def _letter(subject: str, text: str) -> str:
    headers = "From: Ann <a@example.org>\nTo: Ed <e@example.org>\nMessage-ID: <1@example.org>\n"
    return f"{headers}Subject: {subject}\n\n{text}\n"


def _with_attachment() -> bytes:
    parts = (
        f"Content-Type: text/plain\n\n{_BEFORE}",
        f"Content-Type: text/plain\nContent-Disposition: attachment; filename=herons.txt\n\n"
        f"{SENTENCE}",
    )
    head = _letter("Fields", "").rstrip("\n") + '\nContent-Type: multipart/mixed; boundary="b"\n\n'
    return (head + "".join(f"--b\n{part}\n" for part in parts) + "--b--\n").encode()


def _mbox() -> bytes:
    letters = (_letter("Fields", _BEFORE), _letter("Herons", SENTENCE))
    return "".join(f"From a@b Mon Mar  3 10:00:00 2025\n{each}\n" for each in letters).encode()


def _msg() -> bytes:
    texts = {"0037": "Herons", "0C1A": "Ann", "1000": SENTENCE}
    named = {f"__substg1.0_{tag}001F": text.encode("utf-16-le") for tag, text in texts.items()}
    return compound({"__properties_version1.0": bytes(48)} | named)


def _mhtml() -> bytes:
    return (
        "From: <Saved by Blink>\r\nSubject: x\r\nMIME-Version: 1.0\r\n"
        'Content-Type: multipart/related; boundary="b"\r\n\r\n--b\r\n'
        f"Content-Type: text/html\r\n\r\n{_web()}\r\n--b--\r\n"
    ).encode()


def _web() -> str:
    return (
        "<!doctype html><title>Birds</title>"
        f"<h1>Fields</h1><p>{_BEFORE}</p><h1>Herons</h1><p>{SENTENCE}</p>"
    )


def _notebook() -> bytes:
    cells = [
        {"cell_type": "markdown", "source": ["# Fields\n", _BEFORE]},
        {"cell_type": "markdown", "source": ["# Herons\n", SENTENCE]},
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def _xml() -> bytes:
    sections = "".join(
        f"<section><title>{title}</title><p>{text}</p></section>"
        for title, text in (("Fields", _BEFORE), ("Herons", SENTENCE))
    )
    return f'<?xml version="1.0"?><book>{sections}</book>'.encode()


def _rtf() -> bytes:
    styles = "{\\stylesheet{\\s0 Normal;}{\\s1 heading 1;}}"
    texts = "".join(
        f"\\pard\\s1\\outlinelevel0 {title}\\par\\pard\\s0 {text}\\par"
        for title, text in (("Fields", _BEFORE), ("Herons", SENTENCE))
    )
    return f"{{\\rtf1\\ansi{styles}{texts}}}".encode()


def cases() -> Iterator[Case]:
    """All of them."""
    yield Case("fields.pdf", pdf(_BEFORE, SENTENCE, _AFTER), page=2, pictured=True)
    yield Case("fields.docx", _docx(), heading="Herons")
    yield Case("table.docx", docx(table(["what", "said"], ["keeper", SENTENCE])))
    yield Case(
        "talk.pptx",
        pptx(shape(_BEFORE), shape("Herons", "title") + shape(SENTENCE)),
        page=2,
        heading="Herons",
    )
    yield Case(
        "notes.pptx",
        pptx(shape(_BEFORE), shape("Herons", "title"), notes={2: SENTENCE}),
        page=2,
        heading="Herons",
    )
    yield Case("book.xlsx", xlsx(Fields=[[_BEFORE]], Herons=_long_table()), label="Herons", row=_AT)
    yield Case("book.xls", _xls(), label="Herons", row=_AT)
    yield Case("book.ods", _ods(), label="Herons", row=_AT)
    yield Case("table.csv", _csv(","), row=_AT)
    yield Case("table.tsv", _csv("\t"), row=_AT)
    yield Case("page.html", _web().encode(), heading="Herons")
    yield Case("page.mhtml", _mhtml(), heading="Herons")
    yield Case("birds.epub", _epub(), page=2, heading="Herons")
    yield Case("one.eml", _letter("Herons", SENTENCE).encode(), heading="Herons")
    yield Case("two.mbox", _mbox(), page=2, label="message 2", heading="Herons")
    yield Case("three.msg", _msg(), heading="Herons")
    yield Case("with.eml", _with_attachment(), inside="with.eml › herons.txt")
    yield Case("fields.rtf", _rtf(), heading="Herons")
    yield Case("fields.odt", _odt(), heading="Herons")
    yield Case("talk.odp", _odp(), page=2, heading="Herons")
    yield Case("old.doc", compound(word(f"Herons\r{SENTENCE}\r", headings=1)), heading="Herons")
    old = slides(f"Fields\n{_BEFORE}", f"Herons\n{SENTENCE}")
    yield Case("old.ppt", compound(old), page=2, heading="Herons")
    yield Case("data.json", json.dumps({"a": _BEFORE, "b": SENTENCE}, indent=1).encode())
    yield Case("data.jsonl", json.dumps({"a": _BEFORE}).encode() + b"\n" + _json_line())
    yield Case("work.ipynb", _notebook(), heading="Herons")
    yield Case("data.xml", _xml(), heading="Herons")
    yield Case("read.md", _lines("# Fields", _BEFORE, "# Herons", SENTENCE), heading="Herons")
    yield Case(
        "read.rst",
        _lines("Fields\n======", _BEFORE, "Herons\n======", SENTENCE),
        heading="Herons",
    )
    yield Case(
        "read.tex",
        _lines("\\section{Fields}", _BEFORE, "\\section{Herons}", SENTENCE),
        heading="Herons",
    )
    yield Case("read.adoc", _lines("== Fields", _BEFORE, "== Herons", SENTENCE), heading="Herons")
    yield Case("read.org", _lines("* Fields", _BEFORE, "* Herons", SENTENCE), heading="Herons")
    yield Case("read.txt", _lines(_BEFORE, SENTENCE, _AFTER))
    yield Case("code.py", f'"""{_BEFORE}"""\n\n# {SENTENCE}\nHERONS = 47\n'.encode())
    archive = packed({"a/fields.txt": _BEFORE, "a/herons.txt": f"{SENTENCE}\n\n{_AFTER}"})
    yield Case("all.zip", archive, inside="all.zip › a/herons.txt")


def _json_line() -> bytes:
    return json.dumps({"b": SENTENCE}).encode() + b"\n"
