from __future__ import annotations

import time

import pytest
from offices import packed

from rag_app.errors import DamagedFile, NoText, UnsupportedFormat
from rag_app.reading.ebooks import read_epub
from rag_app.reading.limits import Limits
from rag_app.reading.mail import read_mhtml
from rag_app.reading.web import LaidOut as at
from rag_app.reading.web import compacted, read_html, spread


@pytest.fixture
def read(file):
    return lambda data: read_html(
        file(data if isinstance(data, bytes) else data.encode()), limits=Limits()
    )


def test_a_page_is_read_as_a_browser_shows_it(read):
    reading = read(
        "<!doctype html><title>The  Harbour</title><style>p{}</style><script>var x</script>"
        "<nav><a href=/>Home</a></nav><h1>Ships</h1><p>They come\n at <b>noon</b>.<br>Always.</p>"
        "<ul><li>tugs<li>ferries</ul><p hidden>unseen</p><div style='display: none'>unseen</div>"
        "<template>unseen</template><pre>  one\n    two</pre>"
    )
    assert reading.title == "The Harbour"
    assert reading.pages[0].text == (
        "Ships\n\nThey come at noon.\nAlways.\n\n- tugs\n- ferries\n\n  one\n    two"
    )
    assert [(h.level, h.text) for h in reading.headings] == [(1, "Ships")]


def test_a_sentence_is_found_on_its_page_under_its_heading(read):
    filler = f"<p>{'Words that fill the page. ' * 80}</p>"
    parts = "".join(f"<h2>Part {n}</h2>{filler}" for n in range(8))
    reading = read(f"<h1>Manual</h1>{parts}<h2>Oil</h2><p>Change the oil after 300 hours.</p>")
    page = next(page for page in reading.pages if "after 300 hours" in page.text)
    oil = reading.headings[-1]
    assert (oil.page, oil.text) == (page.number, "Oil")
    assert page.text[oil.start :].startswith("Oil\n\nChange the oil")
    assert page.number > 3


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ('<h3><button aria-expanded="false">How long?</button></h3>', "<div>Two years.</div>"),
        ("<h3>3 <span><button>How long?</button></span></h3>", "<div>Two years.</div>"),
        ('<h3><button aria-controls="x a">How long?</button></h3>', "<p hidden id=a>Two years."),
        (
            '<dl><dt><button aria-controls="a">How long?</button></dt>',
            '<dd id=a aria-hidden="true" style="display:none">Two years.</dd></dl>',
        ),
        ("<details><summary><button>How long?</button></summary>", "Two years.</details>"),
    ],
)
def test_a_question_that_opens_its_answer_is_read_with_it(read, question, answer):
    said = read(f"<h1>FAQ</h1>{question}{answer}").pages[0].text.replace("3 How", "How")
    assert said == "FAQ\n\nHow long?\n\nTwo years."


def test_a_heading_of_very_many_buttons_is_read_at_once(read):
    began = time.monotonic()
    read("<p>Prices</p><h1>" + "<button>more</button>" * 8_000)
    assert time.monotonic() - began < 3


def test_a_button_that_is_not_shown_is_no_heading(read):
    assert read("<p>5</p><h2><button hidden>Hide</button></h2>").pages[0].text == "5"


def test_a_button_beside_a_heading_is_no_part_of_it(read):
    page = '<h2>Prices <button aria-controls="a">Hide</button></h2><p>5</p><p id=a hidden>No.</p>'
    assert read(page).pages[0].text == "Prices\n\n5"


def test_names_of_columns_that_sort_a_table_are_read(read):
    page = "<table><tr><th><button>Part</button><th>Price <button>Sort</button><tr><td>A<td>2"
    assert read(page).pages[0].text == "Part | Price\nA | 2"


def test_a_table_reads_as_rows(read):
    text = "<table><tr><th>Part<th>Price<tr><td>Bolt<td><b>2</b>.50<tr><td><td>9</table>"
    assert read(text).pages[0].text == "Part | Price\nBolt | 2.50\n | 9"


def test_a_table_for_layout_is_not_a_table(read):
    inner = "<table><tr><td>a<td>b</table>"
    text = f"<table><tr><td><p>Left.</p>{inner}<td><h2>Right</h2></table>"
    assert read(text).pages[0].text == "Left.\n\na | b\n\nRight"


def test_what_stands_around_the_main_part_is_left_out(read):
    text = "<header>Sign in</header><main><header>On ships</header>Text.</main><footer>©</footer>"
    assert read(text).pages[0].text == "On ships\n\nText."


def test_tags_of_other_namespaces_do_not_break_a_line(read):
    text = "<p>It was $<ix:nonFraction>78</ix:nonFraction> in <my-el>May</my-el>.</p>"
    assert read(text).pages[0].text == "It was $78 in May."


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<meta charset="windows-1252">', "cp1252"),
        ('<meta http-equiv=x content="text/html; charset=shift_jis">', "shift_jis"),
        ('<?xml version="1.0" encoding="utf-8"?>', "utf-8"),
        ("", "utf-16"),
        ('<meta charset="latin1">', "cp1252"),
    ],
)
def test_a_page_is_read_in_the_encoding_it_names(read, head, encoding):
    words = "東京の港" if encoding == "shift_jis" else "Grüße – “schön”"
    reading = read(f"{head}<html><p>{words}</p>".encode(encoding))
    assert reading.pages[0].text == words
    assert reading.warnings == ()


def test_a_page_that_names_the_wrong_encoding_is_guessed(read):
    words = "Schöne Grüße aus der Küche und über die Straße. " * 9
    reading = read(f'<meta charset="utf-8"><p>{words}'.encode("cp1252"))
    assert reading.pages[0].text == words.strip()
    assert (reading.encoding, reading.warnings) == ("windows-1252", ())


def test_a_page_deeper_than_any_stack_is_read(read):
    assert read("<div>" * 5_000 + "deep").pages[0].text == "deep"


def test_a_page_without_words_has_no_text(read):
    with pytest.raises(NoText):
        read("<html><script>var x = 1</script>")


def test_signs_are_put_to_their_numbers():
    rows = [
        [at(), *spread("2025", 3), *spread("2024", 3)],
        [
            at("Net loss"),
            at("$"),
            at("(1,200"),
            at(")"),
            at("$"),
            at("90"),
            at(),
        ],
        [
            at("Share"),
            at(),
            at("12"),
            at("%"),
            at(),
            at("-"),
            at(),
        ],
    ]
    assert compacted(rows)[0] == [
        ["", "2025", "2024"],
        ["Net loss", "$(1,200)", "$90"],
        ["Share", "12%", "-"],
    ]


def test_columns_that_are_never_both_filled_stay_two():
    rows = [
        [at("Debit"), at("Credit")],
        [at("5"), at()],
        [at(), at("7")],
    ]
    assert compacted(rows)[0] == [["Debit", "Credit"], ["5", ""], ["", "7"]]


def test_a_page_saved_as_one_file_is_read(file):
    data = (
        b"From: <Saved by Blink>\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/related; boundary="b"\r\n\r\n--b\r\n'
        b"Content-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
        b"<html><h1>Tide=\r\ns</h1><p>High at 9=3A30.</p>\r\n--b\r\nContent-Type: image/png\r\n"
        b"Content-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n--b--\r\n"
    )
    reading = read_mhtml(file(data), limits=Limits())
    assert reading.pages[0].text == "Tides\n\nHigh at 9:30."
    assert reading.title == "Tides"


def book(*chapters: str, spine: str = "", **more: str) -> bytes:
    items = "".join(
        f'<item id="c{n}" href="text/c%20{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in range(len(chapters))
    )
    order = spine or "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    package = (
        '<package xmlns:dc="urn:dc"><metadata><dc:title>Sea Tales</dc:title></metadata>'
        f"<manifest>{items}</manifest><spine>{order}</spine></package>"
    )
    rootfile = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
    parts = {"mimetype": "application/epub+zip", "META-INF/container.xml": rootfile}
    parts |= {"OPS/book.opf": package}
    parts |= {f"OPS/text/c {n}.xhtml": text for n, text in enumerate(chapters)}
    return packed(parts | {f"META-INF/{name}.xml": text for name, text in more.items()})


def test_a_chapter_begins_on_a_page_of_its_own(file):
    chapters = ["<h1>One</h1><p>Calm&nbsp;sea.</p>", "<h1>Two</h1><p>A storm came.</p>"]
    reading = read_epub(file(book(*chapters)), limits=Limits())
    assert reading.title == "Sea Tales"
    assert [page.text for page in reading.pages] == ["One\n\nCalm sea.", "Two\n\nA storm came."]
    assert [(h.page, h.text) for h in reading.headings] == [(1, "One"), (2, "Two")]


EMPTY = (
    "<head><title/><script src='a.js'/><link href='a'/></head><body><h2 id='a'/>"
    "<iframe src='b'/><textarea/><select/><o:p/><ix:header/>"
    "<p>The pump<br/> is <a id='p9'/>blue.</p></body></html>"
)


@pytest.mark.parametrize("head", ['<?xml version="1.0"?><html>', '<html lang="en">'])
def test_an_empty_element_of_a_chapter_ends_where_it_begins(file, head):
    reading = read_epub(file(book(head + EMPTY, "<p>It works.</p>")), limits=Limits())
    assert [page.text for page in reading.pages] == ["The pump\nis blue.", "It works."]


@pytest.mark.parametrize(
    "head", ['\n<?xml version="1.0"?><html>', '<html xmlns="http://www.w3.org/1999/xhtml">']
)
def test_an_empty_element_of_xhtml_ends_where_it_begins(read, head):
    assert read(head + EMPTY).pages[0].text == "The pump\nis blue."


@pytest.mark.parametrize(
    "program",
    [
        "<script>var s = $('<script/>'); s.x('<p/>');</script>",
        "<SCRIPT>//<![CDATA[\nx('<script/>')//]]></SCRIPT >",
        "<style>p:after { content: '<style/>' }</style>",
        "<style-guide></style-guide><title/>",
        "<!-- <textarea/> --><!--><p/><!-- <select/> -->",
    ],
)
def test_what_a_program_says_of_elements_is_none(read, program):
    page = f'<?xml version="1.0"?><html><head>{program}</head><body><p>One<BR/>two.<br /></p>'
    assert read(page).pages[0].text == "One\ntwo."


def test_a_page_of_scripts_without_an_end_is_read_at_once(read):
    began = time.monotonic()
    page = '<?xml version="1.0"?><p>Words.</p>' + "<script>" * 20_000
    assert read(page + "<!--" * 20_000).pages[0].text == "Words."
    assert time.monotonic() - began < 3


def test_chapters_come_in_the_order_of_the_book(file):
    order = '<itemref idref="c1"/><itemref idref="gone"/><itemref idref="c0"/>'
    reading = read_epub(file(book("<p>first</p>", "<p>second</p>", spine=order)), limits=Limits())
    assert [page.text for page in reading.pages] == ["second", "first"]


def test_a_book_with_a_lock_says_so(file):
    lock = '<e><EncryptedData><EncryptionMethod Algorithm="urn:aes"/></EncryptedData></e>'
    with pytest.raises(UnsupportedFormat, match="DRM"):
        read_epub(file(book("<p>secret</p>", encryption=lock)), limits=Limits())


def test_a_book_whose_fonts_are_locked_is_read(file):
    lock = '<e><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/></e>'
    reading = read_epub(file(book("<p>open</p>", encryption=lock)), limits=Limits())
    assert reading.pages[0].text == "open"


def test_a_torn_book_says_so(file):
    with pytest.raises(DamagedFile, match="damaged"):
        read_epub(file(book("<p>words</p>")[:-40]), limits=Limits())


def test_of_a_page_that_shows_nothing_its_title_is_read(read):
    reading = read("<html><head><title>Opening hours</title></head><body></body></html>")
    assert reading.pages[0].text == reading.title == "Opening hours"
