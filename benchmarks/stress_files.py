"""The odd files that are added: where they are, of which kind, and what was checked by hand."""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
import unicodedata
from dataclasses import dataclass
from pathlib import Path

CHECKED = Path(__file__).with_name("stress_checked.json")
_SAME = {"jpeg": "jpg", "htm": "html", "tiff": "tif", "markdown": "md", "asciidoc": "adoc"}
# Scripts that put no spaces between words: each character counts as one.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_])+")


@dataclass(frozen=True, slots=True)
class File:
    """One file of the corpus; `name` is its path inside it."""

    name: str
    path: Path
    sha256: str

    @property
    def kind(self) -> str:
        """What its name says it is: "pdf", "docx" …"""
        suffix = self.path.suffix.lower().lstrip(".")
        return _SAME.get(suffix, suffix) or "none"


def corpus(source: Path, work: Path) -> list[File]:
    """The files of a folder, or of an archive (unpacked into `work` once), by name."""
    folder = source
    if source.is_file():
        folder = work / "corpus"
        if not folder.is_dir():
            unfinished = work / "corpus.part"
            with tarfile.open(source) as archive:
                archive.extractall(unfinished, filter="data")
            unfinished.rename(folder)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [File(path.relative_to(folder).as_posix(), path, _digest(path)) for path in paths]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def words(text: str) -> set[str]:
    """The different words and numbers of a text, however its letters are encoded."""
    return set(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def checked_by_hand(path: Path = CHECKED) -> dict[str, str]:
    """By the beginning of a file's SHA-256: why what was found in it is no text of its own."""
    return {entry["sha256"]: entry["why"] for entry in json.loads(path.read_text("utf-8"))}
