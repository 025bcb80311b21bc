"""Does a wish take the documents that it names? Filings, called as people call them.

    .venv/bin/python -m benchmarks.named_wishes FOLDER

All PDF files in FOLDER are one library, known by name, title and first page. Files that are called
"2022 Q3 AAPL.pdf" (sec10q) or "BOEING_2018_10K.pdf" (financebench) are wished for, each in two or
three ways; the one file is what is to be taken."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pypdfium2

from rag_app.answering.document_resolution import resolve_documents
from rag_app.answering.task_router import wanted
from rag_app.retrieval.document_names import DocumentMarks, Label, Names
from rag_app.types import Document, Status

_COMPANIES = {
    "AAPL": "Apple",
    "AMZN": "Amazon",
    "INTC": "Intel",
    "MSFT": "Microsoft",
    "NVDA": "NVIDIA",
}
_ORDINALS = {"1": "first", "2": "second", "3": "third", "4": "fourth"}
_QUARTERLY = re.compile(r"(?P<year>\d{4}) Q(?P<quarter>\d) (?P<ticker>\w+)\.pdf")
_FILING = re.compile(r"(?P<company>[A-Z0-9]+)_(?P<year>\d{4})(?P<quarter>Q\d)?_(?P<form>\w+)\.pdf")


def main() -> None:
    """Wish for every file and print how often it was taken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    labels = [_label(path) for path in sorted(parser.parse_args().folder.rglob("*.pdf"))]
    documents = [
        Document(one.id, one.name, ".pdf", 1, Status.READY, "", title=one.title) for one in labels
    ]
    asked = [(wish, one.name) for one in labels for wish in _wishes(one.name)]
    names = Names({one.id: DocumentMarks.of(one) for one in labels})
    taken = [_taken(wish, documents, names) for wish, _ in asked]
    pairs = list(zip(taken, (name for _, name in asked), strict=True))
    print(f"{len(documents)} documents, {len(asked)} wishes")
    print(f"exactly it: {sum(found == [name] for found, name in pairs)}")
    print(f"it among at most five: {sum(name in found[:5] for found, name in pairs)}")
    print(f"none: {sum(not found for found, _ in pairs)}")
    print(f"others only: {sum(bool(found) and name not in found for found, name in pairs)}")


def _label(path: Path) -> Label:
    pdf = pypdfium2.PdfDocument(path)
    opening = pdf[0].get_textpage().get_text_range()[:2_000]
    return Label(path.name, path.name, pdf.get_metadata_dict().get("Title") or "", opening)


def _wishes(name: str) -> Iterator[str]:
    if found := _QUARTERLY.fullmatch(name):
        year, quarter, ticker = found["year"], found["quarter"], found["ticker"]
        company = _COMPANIES[ticker]
        yield f"Summarise {company}'s report of Q{quarter} {year}"
        yield f"summarise the {ticker} 10-Q for the {_ORDINALS[quarter]} quarter of {year}"
        yield f"translate the {year} Q{quarter} {company} filing into French"
    elif found := _FILING.fullmatch(name):
        company, year, form = found["company"], found["year"], found["form"]
        if found["quarter"]:
            yield f"summarise {company.capitalize()}'s {found['quarter']} {year} report"
        else:
            yield f"Summarise the {year} annual report of {company.capitalize()}"
            yield f"give me a short summary of the {company} {form} for {year}"


def _taken(wish: str, documents: Sequence[Document], names: Names) -> list[str]:
    task = wanted(wish)
    return [d.name for d in resolve_documents(task, documents, names).documents] if task else []


if __name__ == "__main__":
    main()
