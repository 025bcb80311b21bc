"""Office files with a password ask for it, as locked PDFs do, and are opened with it."""

from __future__ import annotations

import io
import random
import zipfile
from pathlib import Path

import pytest
from msoffcrypto.method.ecma376_agile import ECMA376Agile

from rag_app.errors import UnknownDocument, WrongPassword
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Finished, Status
from tests.fakes import WordEmbedder
from tests.offices import docx, paragraph, pptx, shape, xlsx
from tests.old_offices import compound, word

SENTENCE = "The safe in the cellar holds nine coins."


def locked(data: bytes, password: str) -> bytes:
    """The file as Office writes it with a password: a container that holds it encrypted."""
    target = io.BytesIO(data)
    with zipfile.ZipFile(target, "a") as archive:  # smaller ones come out wrong
        archive.writestr("noise.bin", random.Random(0).randbytes(5_000))
    target.seek(0)
    return ECMA376Agile.encrypt(password, target, spin_count=1_000)


FILES = {
    "letter.docx": docx(paragraph(SENTENCE)),
    "talk.pptx": pptx(shape("Cellar", "title") + shape(SENTENCE)),
    "coins.xlsx": xlsx(Coins=[["what", "said"], ["safe", SENTENCE]]),
}


@pytest.fixture
def library(tmp_path):
    settings = Settings.load(data_dir=tmp_path / "data", caution=0.2)
    with Library(settings, embedder=WordEmbedder()) as opened:
        yield opened


def added(library: Library, name: str, data: bytes, password: str | None = None):
    document = library.add(name, data, password=password).document
    [document] = library.wait([document.id], timeout=30)
    return document


def answer(library: Library):
    [*_, last] = library.ask("What does the safe in the cellar hold?")
    assert isinstance(last, Finished)
    return last.answer


@pytest.mark.parametrize("name", FILES)
def test_a_locked_office_file_asks_for_its_password_and_opens_with_it(library, name):
    document = added(library, name, locked(FILES[name], "sesame"))
    assert (document.status, document.error_code) == (Status.FAILED, "password_needed")
    assert document.error == "This document is locked. Enter its password to read it."
    with pytest.raises(WrongPassword, match="does not open the document"):
        library.unlock(document.id, "simsim")
    library.unlock(document.id, "sesame")
    [document] = library.wait([document.id], timeout=30)
    assert document.status is Status.READY
    [citation, *_] = answer(library).citations
    page = library.page(citation.document_id, citation.page)
    assert "nine coins" in page.text[citation.start : citation.end]


def test_the_password_may_come_with_the_file(library):
    document = added(library, "a.docx", locked(FILES["letter.docx"], "sesame"), "sesame")
    assert document.status is Status.READY


def test_a_wrong_password_that_comes_with_the_file_is_told(library):
    document = added(library, "a.docx", locked(FILES["letter.docx"], "sesame"), "simsim")
    assert (document.status, document.error_code) == (Status.FAILED, "wrong_password")


def test_what_excel_locks_for_nobody_opens_by_itself(library):
    document = added(library, "coins.xlsx", locked(FILES["coins.xlsx"], "VelvetSweatshop"))
    assert document.status is Status.READY


def test_a_password_for_a_file_without_one_does_no_harm(library):
    document = added(library, "old.doc", compound(word(f"{SENTENCE}\r")), "sesame")
    assert document.status is Status.READY


def test_a_removed_document_takes_its_unlocked_copy_along(library):
    document = added(library, "a.docx", locked(FILES["letter.docx"], "sesame"), "sesame")
    library.remove(document.id)
    assert not [path for path in (library.folder / "files").iterdir() if path.is_file()]


def test_a_document_that_is_removed_while_it_is_unlocked_leaves_no_copy(library, monkeypatch):
    document = added(library, "a.docx", locked(FILES["letter.docx"], "sesame"))
    unlock = library._keeping._viewer.unlock

    def removed_meanwhile(path: Path, password: str, target: Path) -> None:
        unlock(path, password, target)
        library.remove(document.id)

    monkeypatch.setattr(library._keeping._viewer, "unlock", removed_meanwhile)
    with pytest.raises(UnknownDocument):
        library.unlock(document.id, "sesame")
    assert not [path for path in (library.folder / "files").iterdir() if path.is_file()]


def test_a_torn_locked_file_says_so(library):
    data = bytearray(locked(FILES["letter.docx"], "sesame"))
    at = bytes(data).index(b"<encryption")
    data[at : at + 400] = bytes(400)
    document = added(library, "a.docx", bytes(data))
    assert document.status is Status.FAILED
    assert "locked in a way that cannot be opened here" in (document.error or "")
