from __future__ import annotations

import pytest
from pdfs import PARAGRAPH, Line, changed, drawn, locked, outlined, paragraph, pdf, scan, turned
from pypdf.generic import DecodedStreamObject, NameObject

from rag_app.errors import DamagedFile, LimitReached, NoText, PasswordNeeded, WrongPassword
from rag_app.reading.limits import Limits
from rag_app.reading.pdf import About, read_pdf, resolve_hyphens
from rag_app.reading.pdf_page import ranges, unlock

TEXT = "\r\n".join(PARAGRAPH)


@pytest.fixture
def read(file):
    return lambda data, limits=None, **more: read_pdf(file(data), limits=limits or Limits(), **more)


def texts(reading) -> list[str]:
    return [page.text for page in reading.pages]


def test_pages_have_their_text_and_their_size(read):
    reading = read(pdf(paragraph(), "Second."))
    assert texts(reading) == [TEXT, "Second."]
    assert [(page.number, page.width, page.height) for page in reading.pages] == [
        (1, 612, 792),
        (2, 612, 792),
    ]
    assert (reading.title, reading.headings, reading.warnings) == ("", (), ())


@pytest.mark.parametrize("by_word", [False, True])
@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_text_that_is_shown_turned_keeps_its_order(read, degrees, by_word):
    reading = read(turned(pdf(paragraph(), by_word=by_word), degrees))
    assert texts(reading) == [TEXT]
    assert reading.pages[0].width == (792 if degrees % 180 else 612)


@pytest.mark.parametrize("by_word", [False, True])
@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_text_that_is_drawn_sideways_keeps_its_order(read, degrees, by_word):
    def draw(canvas):
        canvas.translate(306, 396)
        canvas.rotate(degrees)
        for y, text in enumerate(PARAGRAPH):
            x = -250
            for word in text.split(" ") if by_word else [text]:
                canvas.drawString(x, 100 - 14 * y, word)
                x += canvas.stringWidth(word + " ")
        canvas.showPage()

    assert texts(read(drawn(draw))) == [TEXT]


def test_letters_of_formulas_and_old_scripts_are_kept_whole(read):
    far = {"A": "𝐸", "B": "𝑚", "C": "𐲀"}

    def map_far(writer):
        rows = "".join(f"<{ord(a):02x}> <{b.encode('utf-16-be').hex()}>\n" for a, b in far.items())
        cmap = DecodedStreamObject()
        cmap.set_data(
            "/CMapName /X def 1 begincodespacerange <00> <ff> endcodespacerange\n"
            f"{len(far)} beginbfchar\n{rows}endbfchar".encode()
        )
        for font in writer.pages[0]["/Resources"]["/Font"].values():
            font.get_object()[NameObject("/ToUnicode")] = writer._add_object(cmap)

    text = texts(read(changed(pdf("AB x C"), map_far)))[0]
    assert text.replace("\u2060", "") == "𝐸𝑚 x 𐲀"
    assert text.startswith("𝐸𝑚\u2060\u2060 ")  # two places each, as PDFium counts


def test_columns_are_read_one_after_the_other(read):
    left, right = (
        paragraph(["Left one", "left two."]),
        paragraph(["Right one", "right two."], x=330),
    )
    assert texts(read(pdf([*left, *right]))) == ["Left one\r\nleft two.\r\nRight one\r\nright two."]


def test_pages_without_text_are_named(read):
    def draw(canvas):
        for number in range(1, 10):
            if number in (3, 7, 8, 9):
                scan(canvas)
            elif number == 5:
                canvas.showPage()  # blank: nothing is missing
            else:
                canvas.drawString(72, 700, f"Page {number}")
                canvas.showPage()

    reading = read(drawn(draw))
    assert reading.warnings == ("No text on pages 3, 7–9 (they may be scans).",)
    assert len(reading.pages) == 9


def test_a_pdf_of_scans_has_no_text_and_says_which_pages(read):
    with pytest.raises(NoText, match="pages 1–2 may be scanned"):
        read(drawn(lambda canvas: (scan(canvas), scan(canvas))))


def test_a_blank_pdf_has_no_text(read):
    with pytest.raises(NoText, match="nothing stands on page 1"):
        read(pdf(""))


@pytest.mark.parametrize("data", [b"%PDF-1.7\n", pdf("Hello")[:300], b"%PDF-1.4\n" + b"x" * 5_000])
def test_a_torn_pdf_says_so(read, data):
    with pytest.raises(DamagedFile, match=r"damaged.*fresh copy"):
        read(data)


def test_what_is_left_of_a_torn_pdf_is_read(read):
    data = pdf("First page", "Second page")
    assert texts(read(data[: data.index(b"startxref")])) == ["First page", "Second page"]


@pytest.mark.parametrize("algorithm", ["AES-256", "AES-128", "RC4-128"])
def test_a_locked_pdf_needs_its_password_and_an_unlocked_copy_reads_the_same(
    read, file, tmp_path, algorithm
):
    plain = pdf(paragraph(), "Second.", title="A fine title")
    before, data = read(plain), locked(plain, "word", algorithm)
    with pytest.raises(PasswordNeeded) as error:
        read(data)
    assert type(error.value) is PasswordNeeded
    locked_one, copy = file(data), tmp_path / "copy.pdf"
    unlock(locked_one, "word", copy)
    assert read_pdf(copy, limits=Limits()) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.pdf", "stored.pdf"]


@pytest.mark.parametrize("algorithm", ["AES-256", "AES-128", "RC4-128"])
def test_a_wrong_password_writes_no_copy(file, tmp_path, algorithm):
    with pytest.raises(WrongPassword):
        unlock(file(locked(pdf("Secret"), "word", algorithm)), "no", tmp_path / "copy.pdf")
    assert [path.name for path in tmp_path.iterdir()] == ["stored.pdf"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("The Harbour of 1931", "The Harbour of 1931"),
        ("  spaced \r\n out ", "spaced out"),
        ("Microsoft Word - draft.doc", ""),
        ("untitled", ""),
        ("(anonymous)", ""),
        ("0001410636-23-000020", ""),
        ("C:\\temp\\print", ""),
        ("report.docx", ""),
        ("Slide 1", ""),
    ],
)
def test_only_a_sensible_title_is_kept(read, given, kept):
    assert read(pdf("Hello", title=given)).title == kept


def test_the_outline_gives_headings_where_their_words_stand(read):
    data = pdf("Intro. PART  I begins", "Item 1. Business here", "Nothing")
    entries = [("Part I", 1, 1), ("Item 1. Business", 2, 2), ("Absent words", 3, 1)]
    headings = read(outlined(data, entries)).headings
    assert [(h.page, h.start, h.level, h.text) for h in headings] == [
        (1, 7, 1, "Part I"),
        (2, 0, 2, "Item 1. Business"),
        (3, 0, 1, "Absent words"),
    ]


def test_page_labels_are_kept_where_they_say_more_than_the_number(read):
    data = changed(pdf("a", "b", "c"), lambda writer: writer.set_page_label(0, 1, style="/r"))
    assert [page.label for page in read(data).pages] == ["i", "ii", "1"]
    assert [page.label for page in read(pdf("a", "b")).pages] == ["", ""]


def test_filled_in_form_fields_are_text(read):
    def draw(canvas):
        canvas.drawString(72, 700, "Name:")
        canvas.acroForm.textfield(
            name="name", value="Ada Lovelace", x=120, y=690, width=200, height=20
        )
        canvas.showPage()

    assert "Ada Lovelace" in texts(read(drawn(draw)))[0]


def test_too_many_pages_name_the_limit(read):
    with pytest.raises(LimitReached, match="RAG_APP_MAX_PAGES"):
        read(pdf("a", "b", "c"), Limits(max_pages=2))


def test_too_many_characters_name_the_limit_and_the_page(read):
    with pytest.raises(LimitReached, match=r"page 2.*RAG_APP_MAX_CHARACTERS"):
        read(pdf("a" * 60, "b" * 60), Limits(max_characters=100))


def test_every_page_is_told(read):
    told = []
    read(pdf("a", "b"), on_page=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]


def test_what_pypdf_cannot_follow_costs_no_text(read, monkeypatch):
    def fail(*_args, **_more):
        raise RecursionError

    monkeypatch.setattr("rag_app.reading.pdf.pypdf.PdfReader", fail)
    reading = read(pdf("Hello", title="A fine title"))
    assert (texts(reading), reading.title) == (["Hello"], "")


def test_pypdf_is_stopped_where_it_does_not_end(file, monkeypatch):
    monkeypatch.setattr("rag_app.reading.pdf._SECONDS", 0.1)
    about = About(file(pdf("Hello")))

    def hang(_reader):
        while True:
            pass

    assert about._asked(hang, "nothing", 0.1) == "nothing"


def test_pypdf_gives_a_second_opinion_where_pdfium_is_silent(read, monkeypatch):
    monkeypatch.setattr("rag_app.reading.pdf.characters", lambda _text: "")
    assert texts(read(pdf("Hello there")))[0].strip() == "Hello there"


@pytest.mark.parametrize(
    ("numbers", "written"), [([1], "1"), ([3, 7, 8, 9], "3, 7–9"), ([1, 2, 4, 5], "1–2, 4–5")]
)
def test_page_numbers_are_written_as_ranges(numbers, written):
    assert ranges(numbers) == written


def test_a_word_broken_at_a_line_end_is_told_from_a_word_with_a_hyphen():
    texts = ["infor~mation of a forward~looking kind, non~GAAP, 3~4", "information forward looking"]
    expected = "infor\u00admation of a forward-looking kind, non-GAAP, 3-4"
    assert resolve_hyphens(texts, "~") == [expected, texts[1]]


def test_a_text_that_breaks_words_also_breaks_those_it_has_only_once():
    texts = [
        "infor~mation or sen~tence, a syl~lable and one well~known",
        "information sentence well known",
    ]
    assert resolve_hyphens(texts, "~")[0].count("\u00ad") == 3
    texts = ["other-than~temporarily, trade~offs and self~insurance", "insurance"]
    assert "\u00ad" not in resolve_hyphens(texts, "~")[0]


def test_a_hyphen_at_a_line_end_is_one_character(read):
    lines = [
        Line(72, 700, "These are well-"),
        Line(72, 686, "known words, well"),
        Line(72, 672, "and known."),
    ]
    assert "well-known words" in texts(read(pdf(lines)))[0].replace("\r\n", "")
