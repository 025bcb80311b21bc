from __future__ import annotations

import sys
from types import ModuleType

import pytest
from offices import packed
from pdfs import pdf

from rag_app.errors import DamagedFile, EmptyFile, UnsupportedFormat
from rag_app.reading import detect
from rag_app.reading.detection import NAMES, reader
from rag_app.reading.limits import Limits
from rag_app.text.formats import FORMATS, Format, at_the_beginning, how_many, page_name
from rag_app.types import Page, Reading


@pytest.fixture
def file(tmp_path):
    def write(data: bytes):
        path = tmp_path / "stored"
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize("suffix", FORMATS)
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
        ("data.csv", ".csv"),
        ("data.TSV", ".tsv"),
        ("a.json", ".json"),
        ("a.ndjson", ".jsonl"),
        ("a.tex", ".tex"),
        ("a.rest", ".rst"),
        ("a.py", ".txt"),
        ("a.docx", ".txt"),
        ("a.html", ".txt"),
        ("a.eml", ".txt"),
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
        (b"MZ\x90\0" + b"\0" * 99, "a.exe", "a Windows program"),
        (b"PK\x03\x04" + b"\0" * 99, "a.jar", "a ZIP archive"),
        (b"%!PS-Adobe-3.0", "a.ps", "a PostScript file"),
        (bytes(range(256)) * 9, "a.txt", "a binary file"),
        (b"\0\0\0\x18ftypmp42", "a.mp4", "a film"),
    ],
)
def test_what_cannot_be_read_is_named(file, data, name, what):
    with pytest.raises(UnsupportedFormat) as error:
        detect(file(data), name)
    assert name in str(error.value)
    assert what in str(error.value)
    assert "text files can be added" in str(error.value)
    assert str(file(b"")) not in str(error.value)


HEADERS = b"From: a@b\nTo: c@d\nSubject: x\nMIME-Version: 1.0\n"
RELATED = b'Subject: x\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary="b"\n\n--b\n'


@pytest.mark.parametrize(
    ("data", "suffix"),
    [
        (b"{\\rtf1 hello}", ".rtf"),
        (b"<!DOCTYPE html><p>Hi", ".html"),
        (b"\xef\xbb\xbf\r\n<HTML lang=en><p>Hi", ".html"),
        ("<html><p>Grüße".encode("utf-16"), ".html"),
        (b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML"><html>', ".html"),
        (b'<?xml version="1.0"?><book/>', ".xml"),
        (HEADERS + b"\nHello", ".eml"),
        (HEADERS.replace(b"\n", b"\r\n") + b"\r\nHello", ".eml"),
        (b"From a@b Mon Mar  3 10:00:00 2025\n" + HEADERS + b"\nHello", ".mbox"),
        (RELATED + b"\n<html>", ".mhtml"),
        (b"From: <Saved by Blink>\nTo: x\n" + RELATED, ".mhtml"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, ".doc"),
        (b"To: all\nFrom: me\nSubject: lunch\n\nA memo.", ".txt"),
        (b"From here on, all is well.", ".txt"),
        (b"MZ is where it began. <html> is a tag.", ".txt"),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a", "a.docx"])
def test_a_file_that_says_what_it_is_is_believed(file, data, suffix, name):
    assert detect(file(data), name) == suffix


@pytest.mark.parametrize(
    ("data", "name", "suffix"),
    [
        (b"<!-- made by hand --><p>Hi", "a.htm", ".html"),
        (b"<book/>", "a.xml", ".xml"),
        (b"Subject: x\nTo: all\n\nHello", "a.eml", ".eml"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "a.pps", ".ppt"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "a.MSG", ".msg"),
    ],
)
def test_where_a_file_leaves_a_doubt_its_name_decides(file, data, name, suffix):
    assert detect(file(data), name) == suffix


def test_a_web_page_called_pdf_is_a_failed_download(file):
    with pytest.raises(DamagedFile, match="is called"):
        detect(file(b"<!doctype html><h1>Sign in</h1>"), "a.pdf")


def test_files_worth_offering_have_names_once():
    assert len(set(NAMES)) == len(NAMES)
    assert set(FORMATS) <= set(NAMES)
    assert {".docm", ".htm", ".py"} <= set(NAMES)


def read_poem(path, *, limits, on_page=None):
    verses = path.read_text("latin-1").split("\n\n")
    return Reading(tuple(Page(number, verse) for number, verse in enumerate(verses, 1)))


@pytest.fixture
def poems(monkeypatch):
    """A format more: a record and a function."""
    module = ModuleType("rag_app.reading.poems")
    module.read_poem = read_poem
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def add(**known):
        poem = Format(".poem", "poems:read_poem", (".ode",), unit="verse", **known)
        monkeypatch.setitem(FORMATS, poem.suffix, poem)

    return add


@pytest.mark.parametrize(
    ("known", "data", "name"),
    [
        ({"start": rb"%(POEM|ODE)"}, b"%ODE\0 to joy", "a.txt"),
        ({"by_name": True}, b"O joy", "a.poem"),
        ({"by_name": True}, b"O joy", "a.ODE"),
        ({"parts": ("verses.xml",)}, packed({"verses.xml": "O joy"}), "a"),
        ({"media": (b"text/poem",)}, packed({"mimetype": "text/poem"}), "a.docx"),
        ({"torn": b"verses.xml"}, packed({"verses.xml": "O joy"})[:50], "a.zip.part"),
    ],
    ids=["beginning", "name", "name in capitals", "part", "media type", "torn"],
)
def test_a_format_that_was_added_is_detected(file, poems, known, data, name):
    poems(**known)
    assert detect(file(data), name) == ".poem"


def test_a_format_that_was_added_is_read_and_its_pages_named(file, poems):
    poems(by_name=True)
    path = file(b"O joy\n\nO spark")
    read = reader(detect(path, "joy.ode"))
    pages = read(path, limits=Limits()).pages
    assert [page.text for page in pages] == ["O joy", "O spark"]
    assert how_many("joy.ode", len(pages)) == "2 verses"
    assert at_the_beginning(page_name("joy.ode", pages[1].number)) == "Verse 2"
