"""The PDFs that are measured on: from a folder or a tar, whole files, in order of their names."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pypdf
import pypdfium2


@dataclass(frozen=True, slots=True)
class File:
    """One PDF and how many pages it has."""

    path: Path
    pages: int


def unpack(source: Path, folder: Path) -> list[Path]:
    """The PDFs of a folder, or of a tar (unpacked into `folder`), by name."""
    if source.is_dir():
        return sorted(source.glob("*.pdf"))
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    return sorted(folder.rglob("*.pdf"))


def page_count(path: Path) -> int:
    """How many pages a PDF has."""
    with pypdfium2.PdfDocument(path) as document:
        return len(document)


def pick(paths: list[Path], pages: int) -> list[File]:
    """The first whole files that have `pages` pages together (all of them, if they have fewer)."""
    picked: list[File] = []
    for path in paths:
        if sum(file.pages for file in picked) >= pages:
            break
        picked.append(File(path, page_count(path)))
    return picked


def bound_together(paths: list[Path], pages: int, target: Path) -> Path:
    """One PDF of exactly `pages` pages, bound from the first of `paths` (or what they have)."""
    writer = pypdf.PdfWriter()
    for path in paths:
        missing = pages - len(writer.pages)
        if missing <= 0:
            break
        reader = pypdf.PdfReader(path)
        writer.append(reader, pages=(0, min(missing, len(reader.pages))), import_outline=False)
    writer.write(target)
    return target


def first_words(path: Path, count: int = 6) -> str:
    """Some of the longer words of the first page that has text: what a user would look for."""
    with pypdfium2.PdfDocument(path) as document:
        words = document[0].get_textpage().get_text_range().split()
    return " ".join([word for word in words if word.isalpha() and len(word) > 4][:count])


def questions(source: Path) -> list[str]:
    """The questions that lie beside the PDFs, in questions.jsonl."""
    lines = (source.parent if source.is_file() else source) / "questions.jsonl"
    if not lines.is_file():
        return []
    return [json.loads(line)["question"] for line in lines.read_text("utf-8").splitlines() if line]
