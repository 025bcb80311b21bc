"""Cells of tables in PDFs: how many stand in the right row and column.

    python -m benchmarks.pdf_tables FOLDER [--show] [--part "drawn later"]

FOLDER holds the filings of FinanceBench as PDFs, and those of `benchmarks.pdf_tables.made`. What is
right was read off pictures of the pages
(tables.jsonl): pages drawn by lot from those that hold an answer, at most two of a filing, about
every third row of a table, and never the text that the app reads. A cell is right if its row is
called by its label and it stands where most cells of its column do; named, if that column's name
says its head, too. An empty cell is right where it is empty. Those "drawn later" come from all
pages with tables; of those "drawn last", pages with many figures, half was put aside."""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium

from rag_app.reading.limits import Limits
from rag_app.reading.pdf import read_pdf
from rag_app.tables.building import lay_out
from rag_app.tables.regions import Cells, Region, regions

TRUTH = Path(__file__).with_name("tables.jsonl")

Row = dict[str, Any]
Read = tuple[list[str], list[list[str]]]  # names of columns, rows of texts


def read(folder: Path, one: Row) -> list[Read]:
    """The tables of a page as the app finds them, totals and notes among their rows."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "page.pdf"
        whole = pdfium.PdfDocument(folder / one["document"])
        alone = pdfium.PdfDocument.new()
        alone.import_pages(whole, [one["page"] - 1])
        alone.save(path)
        reading = read_pdf(path, limits=Limits())
    texts = {page.number: page.text for page in reading.pages}
    return [
        _texts(held, region)
        for held in (Cells(grid, texts) for grid in reading.grids)
        for region in regions(held)
    ]


def _texts(held: Cells, region: Region) -> Read:
    columns = list(region.columns)
    rows = [[held.text(row, column) for column in columns] for row in region.rows]
    return list(lay_out(held, region).names), rows


def plain(text: str) -> str:
    """As it is compared: without spaces and signs of money, dashes all the same."""
    return re.sub(r"[\s$€£]", "", re.sub(r"[—–−]", "-", text)).casefold()


def judged(one: Row, tables: Sequence[Read]) -> Iterator[tuple[str, str, str]]:
    """(verdict, head, row's label) of each cell: named, right, wrong or missing."""
    found = [(label, values, _row(label, values, tables)) for label, *values in one["rows"]]
    heads = one["columns"]
    for number, head in enumerate(heads):
        at = Counter(
            (table, place)
            for _, values, (table, row) in found
            for place, text in enumerate(row)
            if place and values[number] and plain(text) == plain(values[number])
        )
        (table_of, column), _ = at.most_common(1)[0] if at else ((-1, -1), 0)
        for label, values, (table, row) in found:
            if not row:
                yield "missing", head, label
                continue
            text = row[column] if table == table_of and 0 <= column < len(row) else ""
            right = plain(text) == plain(values[number])
            named = right and _says(tables[table][0][column] if column >= 0 else "", head)
            yield ("named" if named else "right" if right else "wrong"), head, label


def _says(name: str, head: str) -> bool:
    return all(word.casefold() in name.casefold() for word in head.split())


def _row(label: str, values: Sequence[str], tables: Sequence[Read]) -> tuple[int, list[str]]:
    """The row that a label names, of several the one with the most of its values."""
    wanted = plain(label)
    rows = [
        (sum(plain(v) in map(plain, row) for v in values if v), -number, row)
        for number, (_, held) in enumerate(tables)
        for row in held
        if row and plain(row[0]) and (plain(row[0]) == wanted or plain(row[0]).endswith(wanted))
    ]
    best = max(rows, key=lambda each: each[:2], default=(0, 1, []))
    return -best[1], best[2]


def main(argv: Sequence[str]) -> int:
    """Read, judge and report; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--part", action="append", help="of the tables; all, if none is given")
    options = parser.parse_args(argv)
    totals: dict[str, Counter[str]] = {}
    for line in TRUTH.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        part = one.get("part", "worked with")
        if options.part and part not in options.part:
            continue
        tables = read(options.folder, one)
        verdicts = list(judged(one, tables))
        counts = Counter(verdict for verdict, _, _ in verdicts)
        totals.setdefault(part, Counter()).update(counts)
        print(one["document"], one["page"], dict(counts), flush=True)
        if options.show:
            for names, rows in tables:
                print("   ", names, len(rows))
            print("   ", [v for v in verdicts if v[0] in ("wrong", "missing")][:12])
    for part, total in totals.items():
        said, named = sum(total.values()), total["named"]
        right = named + total["right"]
        print(f"{part}: {said} cells, right {right / said:.3f}, named {named / said:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
