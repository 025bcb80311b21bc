"""Packed files that are torn, lie or are bombs: each ends in a sentence, whatever reads it."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from offices import docx, opendocument, packed, paragraph, pptx, shape, xlsx
from old_offices import compound, slides, word

from rag_app.errors import DamagedFile, DocumentError, LimitReached, UnsupportedFormat
from rag_app.reading import detect
from rag_app.reading.archive import Archive, count_members
from rag_app.reading.detection import reader
from rag_app.reading.limits import MAX_MEMBERS, Limits
from rag_app.reading.sandbox import Sandbox
from rag_app.text.formats import FORMATS

ODT = opendocument("text", "<text:p>The words of a text.</text:p>")
SAMPLES = {
    ".docx": (docx(paragraph("The words of a text.")), "word/document.xml"),
    ".pptx": (pptx(shape("The words of a text.")), "ppt/slides/slide1.xml"),
    ".xlsx": (xlsx(A=[["The words of a text."]]), "xl/worksheets/sheet1.xml"),
    ".odt": (ODT, "content.xml"),
    ".odp": (opendocument("presentation", "<draw:page/>"), "content.xml"),
    ".epub": (
        packed(
            {
                "mimetype": "application/epub+zip",
                "META-INF/container.xml": '<c><rootfile full-path="b.opf"/></c>',
                "b.opf": '<p><manifest><item id="a" href="a.html" media-type="text/html"/>'
                '</manifest><spine><itemref idref="a"/></spine></p>',
                "a.html": "<p>The words of a text.</p>",
            }
        ),
        "a.html",
    ),
}
READABLE = [suffix for suffix in SAMPLES if suffix != ".odp"]


def replaced(suffix: str, data: bytes) -> bytes:
    """The sample with another text in its largest part."""
    sample, part = SAMPLES[suffix]
    with zipfile.ZipFile(io.BytesIO(sample)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return packed({**parts, part: data})


def read(path, suffix, limits=None):
    return reader(suffix)(path, limits=limits or Limits())


@pytest.mark.parametrize("suffix", READABLE)
def test_the_content_says_what_a_packed_file_is(file, suffix):
    path = file(SAMPLES[suffix][0])
    for name in ("a.txt", "a", "a.zip", "a.pdf", f"a{suffix}"):
        assert detect(path, name) == suffix
    assert "The words of a text." in read(path, suffix).pages[0].text


@pytest.mark.parametrize("suffix", SAMPLES)
def test_a_bomb_is_refused_before_it_goes_off(file, suffix):
    with pytest.raises(LimitReached, match="unpacks to more than"):
        read(file(replaced(suffix, b"<p>" + b"0" * 30_000_000)), suffix)


@pytest.mark.parametrize("suffix", SAMPLES)
def test_parts_that_grow_too_large_together_name_the_limit(file, suffix):
    limits = Limits(max_unpacked_mb=1)
    noise = bytes(range(32, 127)) * 12_000
    with pytest.raises(LimitReached, match="more than 1 MB"):
        read(file(replaced(suffix, noise)), suffix, limits)


def test_a_part_that_states_a_false_size_is_found_out(file):
    data = bytearray(packed({"a": bytes(range(256)) * 4_096}))
    at = data.rfind(b"PK\x01\x02")
    struct.pack_into("<I", data, at + 24, 10)  # a list that says ten bytes
    with Archive(file(bytes(data)), Limits()) as archive, pytest.raises(DamagedFile):
        archive.verify()


def test_too_many_packed_files_are_not_even_listed(file):
    data = bytearray(b"\0" * 65_000 * 46 + packed({"a": "x"}))
    data[:4] = b"PK\x03\x04"
    at = data.rfind(b"PK\x05\x06")
    struct.pack_into("<HH", data, at + 8, 65_000, 65_000)
    path = file(bytes(data))
    assert count_members(path) == 65_000
    with pytest.raises(LimitReached, match=f"{MAX_MEMBERS:,}"):
        Archive(path, Limits())
    with pytest.raises(LimitReached):
        detect(path, "a.docx")


def test_a_list_that_states_a_false_number_is_counted_by_its_size(file):
    data = bytearray(b"\0" * 10_000_000 + packed({"a": "x"}))
    struct.pack_into("<I", data, data.rfind(b"PK\x05\x06") + 12, 9_000_000)
    assert count_members(file(bytes(data))) > MAX_MEMBERS


def test_a_list_larger_than_its_file_is_torn(file):
    data = bytearray(packed({"a": "x"}))
    struct.pack_into("<I", data, data.rfind(b"PK\x05\x06") + 12, 100_000_000)
    assert count_members(file(bytes(data))) == -1


@pytest.mark.parametrize("suffix", SAMPLES)
def test_a_torn_file_says_so(file, suffix):
    data = SAMPLES[suffix][0]
    path = file(data[: len(data) // 2])
    assert detect(path, f"a{suffix}") == suffix
    with pytest.raises(DamagedFile, match="damaged"):
        read(path, suffix)


@pytest.mark.parametrize("suffix", SAMPLES)
def test_a_file_without_its_parts_says_so(file, suffix):
    with pytest.raises(DamagedFile):
        read(file(packed({"other": "x"})), suffix)


@pytest.mark.parametrize("suffix", [s for s in SAMPLES if s not in (".epub", ".xlsx")])
def test_a_file_that_declares_entities_is_refused(file, suffix):
    bomb = b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'
    with pytest.raises((DamagedFile, DocumentError)) as error:
        read(file(replaced(suffix, bomb)), suffix)
    if suffix != ".pptx":  # there a damaged slide is told, and the others are read
        assert "entities" in str(error.value)


def test_a_locked_archive_says_so(file):
    data = bytearray(SAMPLES[".docx"][0])
    for at in range(len(data) - 4):
        if data[at : at + 4] in (b"PK\x03\x04", b"PK\x01\x02"):
            data[at + (6 if data[at + 2] == 3 else 8)] |= 1
    with pytest.raises(UnsupportedFormat, match="password"):
        read(file(bytes(data)), ".docx")


@pytest.mark.parametrize("name", ["notes.zip", "notes.docx"])
def test_an_archive_is_an_archive_whatever_its_name_says(file, name):
    inner = docx(paragraph("hidden"))
    assert detect(file(packed({"inner.docx": inner, "word/readme": "x"})), name) == ".zip"


@pytest.mark.parametrize(
    ("part", "what"), [("Index/Document.iwa", "Apple Pages"), ("visio/document.xml", "Visio")]
)
def test_a_packed_file_of_another_program_is_named(file, part, what):
    with pytest.raises(UnsupportedFormat, match=what):
        detect(file(packed({part: "x"})), "a")


MUTABLE = {suffix: SAMPLES[suffix][0] for suffix in READABLE} | {
    ".doc": compound(word("Care\rPart\x07Nut\x07\x07\r\x13 x \x14y\x15\r", headings=1)),
    ".ppt": compound(slides("Opening\nWelcome", "Costs\n12 million", notes="Be brief.")),
    ".msg": compound({"__properties_version1.0": b"\0" * 64, "__substg1.0_1000001F": b"a\0"}),
    ".rtf": rb"{\rtf1\ansi{\fonttbl{\f0\fcharset204 A;}}\trowd\intbl a\cell\row\'e9\u26481?{\b x}}",
    ".html": b"<title>a</title><table><tr><td colspan=2>b<td>$</table><h1>c</h1><li>d<pre>e",
    ".eml": b'From: a\nContent-Type: multipart/mixed; boundary="b"\n\n--b\n\nx\n--b--\n',
    ".xml": b"<a b='c'><title>d</title><p>e<i>f</i></p><g/></a>",
    ".json": b'{"nbformat": 4, "cells": [{"source": ["a"], "outputs": [{"text": "b"}]}]}',
    ".csv": b'a,b\n"c ""d""",e\nf,g\n',
}


@pytest.mark.parametrize("suffix", MUTABLE)
@given(st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_broken_ends_in_a_sentence(file, suffix, data):
    broken = bytearray(MUTABLE[suffix])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(broken) - 1))
        broken[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        broken = broken or bytearray(b" ")
    path = file(bytes(broken))
    try:
        reading = read(path, detect(path, f"a{suffix}"))
    except DocumentError as error:
        assert str(error).endswith(".")
        return
    assert [page.number for page in reading.pages] == list(range(1, len(reading.pages) + 1))
    for each in reading.headings:
        assert reading.pages[each.page - 1].text[each.start :].strip()


def test_every_family_reads_in_the_sandbox(tmp_path):
    box = Sandbox(Limits(seconds=60))
    try:
        for suffix, data in MUTABLE.items():
            path = tmp_path / "stored"
            path.write_bytes(data)
            assert box.read(path, suffix) == read(path, suffix)
    finally:
        box.close()


def test_every_reader_is_a_suffix_with_a_dot():
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in FORMATS)
