"""Files inside documents become documents of their own; charts' numbers do not."""

from __future__ import annotations

import struct
import zipfile
from dataclasses import replace
from io import BytesIO

import pytest
from offices import docx, paragraph, pptx, relations, shape, xlsx
from old_offices import compound, word
from pdfs import changed, pdf
from PIL import Image

from rag_app.errors import NoText
from rag_app.library import Library
from rag_app.reading import detect
from rag_app.reading.detection import reader
from rag_app.reading.limits import Limits
from rag_app.settings import Settings
from rag_app.types import Finished
from tests.fakes import WordEmbedder

INNER = docx(paragraph("The heron sleeps at noon."))


def holding(data: bytes, **parts: bytes) -> bytes:
    """The packed file with more parts; "__" stands for the slashes in their names."""
    target = BytesIO(data)
    with zipfile.ZipFile(target, "a") as archive:
        for name, each in parts.items():
            folder, _, last = name.rpartition("__")
            archive.writestr(f"{folder.replace('__', '/')}/{last.replace('_', '.')}", each)
    return target.getvalue()


def native(name: str, data: bytes) -> bytes:
    """A container with a file as Windows packs it."""
    place = f"C:\\{name}".encode() + b"\0"
    packed = struct.pack("<IH", 0, 2) + name.encode() + b"\0" + place
    packed += struct.pack("<II", 0x30000, len(place)) + place + struct.pack("<I", len(data)) + data
    return compound({"\x01Ole10Native": packed})


def picture(size: int = 200) -> bytes:
    target = BytesIO()
    Image.effect_noise((size, size), 90).save(target, "PNG")
    return target.getvalue()


@pytest.fixture
def read(tmp_path, file):
    def reading(data: bytes, name: str, **more):
        path = file(data)
        folder = tmp_path / "parts"
        folder.mkdir()
        limits = replace(Limits(), parts_folder=str(folder), ocr_pages=5, **more)
        found = reader(detect(path, name))(path, limits=limits)
        return found, {part.name: (folder / part.file).read_bytes() for part in found.parts}

    return reading


@pytest.mark.parametrize(
    ("name", "data", "folder"),
    [
        ("a.docx", docx(paragraph("Outer.")), "word"),
        ("a.pptx", pptx(shape("Outer.")), "ppt"),
        ("a.xlsx", xlsx(One=[["Outer."]]), "xl"),
    ],
)
def test_documents_put_into_office_files_are_taken_out(read, name, data, folder):
    parts = {
        f"{folder}__embeddings__Inner_docx": INNER,
        f"{folder}__embeddings__one_bin": native("notes.txt", b"Rye is ripe."),
        f"{folder}__embeddings__two_bin": compound({"CONTENTS": pdf("A page.")}),
        f"{folder}__embeddings__three_bin": compound(word("Old words.\r")),
        f"{folder}__embeddings__four_bin": compound({"Equation Native": b"x"}),
        f"{folder}__embeddings__five_bin": b"no container",
        f"{folder}__media__image1_png": picture(),
    }
    reading, found = read(holding(data, **parts), name)
    assert "Outer." in reading.pages[0].text and len(reading.pages) == 1
    kinds = sorted(each.rpartition(".")[2] for each in found)
    assert kinds == ["doc", "docx", "pdf", "txt"]
    assert found["Inner.docx"] == INNER
    assert found["notes.txt"] == b"Rye is ripe."


def test_the_numbers_behind_a_chart_are_no_document(read):
    chart = relations(("package", "../embeddings/Sheet1.xlsx")).encode()
    data = holding(
        docx(paragraph("Outer.")),
        word__embeddings__Sheet1_xlsx=xlsx(One=[["1"]]),
        word__charts__chart1_xml=b"<c/>",
        word__charts___rels__chart1_xml_rels=chart,
    )
    assert read(data, "a.docx")[1] == {}


def test_pictures_are_taken_where_there_is_no_text(read):
    data = holding(
        pptx(shape("")), ppt__media__image1_png=picture(), ppt__media__dot_png=picture(2)
    )
    reading, found = read(data, "a.pptx")
    assert list(found) == ["image1.png"]
    assert reading.pages[0].text == "Files in this document:\nimage1.png"
    assert reading.title == ""


def test_where_nothing_can_be_taken_out_an_empty_document_says_so(file):
    path = file(holding(docx(paragraph("")), word__media__image1_png=picture()))
    with pytest.raises(NoText):
        reader(".docx")(path, limits=Limits())


def test_what_is_over_the_limit_stays_inside_and_is_named(read):
    parts = {f"word__embeddings__{letter}_docx": INNER for letter in "abc"}
    reading, found = read(holding(docx(paragraph("Outer.")), **parts), "a.docx", parts_left=1)
    assert list(found) == ["a.docx"]
    assert "RAG_APP_MAX_PARTS" in reading.warnings[0] and "b.docx" in reading.warnings[0]


def test_files_attached_to_a_pdf_are_taken_out(read):
    data = changed(pdf("Invoice."), lambda writer: writer.add_attachment("sum.txt", b"12 coins"))
    assert read(data, "a.pdf")[1] == {"sum.txt": b"12 coins"}


def test_a_pdf_of_attachments_alone_is_no_failure(read):
    data = changed(pdf(""), lambda writer: writer.add_attachment("sum.txt", b"12 coins"))
    reading, found = read(data, "a.pdf")
    assert found and reading.pages[0].text == ""


def test_an_answer_from_a_file_inside_cites_that_file(tmp_path):
    settings = Settings.load(data_dir=tmp_path / "data", caution=0.2, ocr=False)
    with Library(settings, embedder=WordEmbedder()) as library:
        data = holding(docx(paragraph("Outer.")), word__embeddings__Inner_docx=INNER)
        library.wait([library.add("outer.docx", data).document.id], timeout=30)
        library.wait([each.id for each in library.documents()], timeout=30)
        [*_, last] = library.ask("When does the heron sleep?")
        assert isinstance(last, Finished)
        [citation, *_] = last.answer.citations
        assert citation.name == "outer.docx › Inner.docx"
        assert citation.quote == "The heron sleeps at noon."
