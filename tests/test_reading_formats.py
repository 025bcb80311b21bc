from __future__ import annotations

import zipfile

import pytest
from pdfs import pdf

from rag_app.errors import DamagedFile, EmptyFile, UnsupportedFormat
from rag_app.reading import READERS, detect
from rag_app.reading.formats import reader


@pytest.fixture
def file(tmp_path):
    def write(data: bytes):
        path = tmp_path / "stored"
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize("suffix", READERS)
def test_every_format_has_a_reader(suffix):
    assert callable(reader(suffix))


@pytest.mark.parametrize("name", ["a.pdf", "A.PDF", "a.txt", "a", "a.docx"])
def test_a_pdf_is_a_pdf_whatever_its_name(file, name):
    assert detect(file(pdf("Hello")), name) == ".pdf"


def test_a_pdf_may_begin_with_other_bytes(file):
    assert detect(file(b"\x00junk\r\n" * 20 + pdf("Hello")), "a.pdf") == ".pdf"


def test_a_text_about_pdfs_is_a_text(file):
    assert detect(file(b"Every PDF begins with %PDF-1.7 or so."), "about.txt") == ".txt"


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a.txt", ".txt"),
        ("README.MD", ".md"),
        ("a.markdown", ".md"),
        ("data.csv", ".txt"),
        ("a", ".txt"),
    ],
)
def test_the_name_tells_texts_apart(file, name, suffix):
    assert detect(file("Grüße, world".encode()), name) == suffix


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "cp1251", "utf-8-sig"]
)
def test_a_text_in_another_encoding_is_a_text(file, encoding):
    words = "Слова и дела на каждый день. " if encoding == "cp1251" else "Grüße und schöne Wörter. "
    assert detect(file((words * 20).encode(encoding)), "a.txt") == ".txt"


def test_a_character_cut_by_the_end_of_the_sample_is_no_error(file):
    assert detect(file(b"a" + "é".encode() * 40_000), "a.txt") == ".txt"


def test_no_bytes_are_an_empty_file(file):
    with pytest.raises(EmptyFile, match=r"“a\.pdf” is empty \(0 bytes\)"):
        detect(file(b""), "a.pdf")


@pytest.mark.parametrize(
    "data", [b"just words", b"PK\x03\x04word/document.xml", bytes(range(256)) * 9]
)
def test_a_file_called_pdf_that_is_none_is_damaged(file, data):
    with pytest.raises(DamagedFile, match=r"“a\.pdf” is called \.pdf but is not a PDF"):
        detect(file(data), "a.pdf")


@pytest.mark.parametrize(
    ("data", "name", "what"),
    [
        (b"PK\x03\x04" + b"\0" * 26 + b"word/document.xml", "a.docx", "a Word document"),
        (b"PK\x03\x04" + b"\0" * 26 + b"xl/workbook.xml", "a.xlsx", "an Excel workbook"),
        (b"PK\x03\x04" + b"\0" * 26 + b"ppt/slides", "a.pptx", "a PowerPoint presentation"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "a.doc", "older Microsoft Office"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 99, "a.txt", "a picture"),
        (b"MZ\x90\0" + b"\0" * 99, "a.exe", "a Windows program"),
        (b"{\\rtf1 hello}", "a.rtf", "an RTF document"),
        (b"<!DOCTYPE html><p>Hi", "a.html", "a web page"),
        (b"<!-- made by hand --><p>Hi", "a.htm", "a web page"),
        (bytes(range(256)) * 9, "a.txt", "a binary file"),
        (b"\0\0\0\x18ftypmp42", "a.mp4", "a film"),
    ],
)
def test_what_cannot_be_read_is_named(file, data, name, what):
    with pytest.raises(UnsupportedFormat) as error:
        detect(file(data), name)
    assert name in str(error.value)
    assert what in str(error.value)
    assert "PDF, .txt and .md files can be added" in str(error.value)
    assert str(file(b"")) not in str(error.value)


def test_a_zip_is_named(tmp_path):
    path = tmp_path / "stored"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "hello")
    with pytest.raises(UnsupportedFormat, match="a ZIP archive"):
        detect(path, "notes.zip")
