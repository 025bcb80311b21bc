from __future__ import annotations

import struct

import pytest
from offices import opendocument
from old_offices import compound, slides, word

from rag_app.errors import DamagedFile, NoText, TooOld, UnsupportedFormat
from rag_app.reading.limits import Limits
from rag_app.reading.ole import read_ole
from rag_app.reading.opendocument import read_odt
from rag_app.reading.rtf import read_rtf


@pytest.fixture
def read(file):
    return lambda text: read_rtf(file(text.encode("ascii")), limits=Limits())


@pytest.fixture
def read_old(file):
    return lambda data, limits=None: read_ole(file(data), limits=limits or Limits())


HEAD = (
    r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}{\f1\fcharset204 Arial;}}"
    r"{\stylesheet{\s0 Normal;}{\s1 heading 1;}{\s2 heading 2;}}"
    r"{\info{\title The Pump}{\author Me}}"
)


def test_rich_text_has_paragraphs_headings_and_a_title(read):
    reading = read(HEAD + r"\pard\s1 Care\par\pard\s0 Oil it {\b every} year.\par Then rest.}")
    assert reading.title == "The Pump"
    assert reading.pages[0].text == "Care\n\nOil it every year.\n\nThen rest."
    assert [(h.level, h.text) for h in reading.headings] == [(1, "Care")]


def test_a_sentence_of_a_long_rich_text_is_on_its_page_under_its_heading(read):
    filler = r"\pard\s0 " + "Words that fill the page. " * 80 + r"\par"
    text = "".join(rf"\pard\s1 Part {n}\par{filler}" for n in range(6))
    reading = read(HEAD + text + r"\pard\s2 Oil\par\pard\s0 After 300 hours.\par}")
    assert reading.headings[-1].text == "Oil"
    assert "Oil\n\nAfter 300 hours." in reading.pages[reading.headings[-1].page - 1].text
    assert len(reading.pages) > 3


def test_a_table_of_rich_text_reads_as_rows(read):
    row = r"\trowd\cellx1\cellx2\pard\intbl {0}\cell {1}\cell\row"
    rows = "".join(
        row.replace("{0}", a).replace("{1}", b) for a, b in (("Part", "Price"), ("Nut", "2"))
    )
    assert read(HEAD + rows + r"\pard after\par}").pages[0].text == "Part | Price\nNut | 2\n\nafter"


def test_letters_of_any_script_are_read(read):
    text = r"Gr\'fc\'dfe {\f1 \'cc\'e8\'f0} \u26481?\u20140? \u-10179?\u-8704? {\uc0\u233}t\'e9"
    assert read(HEAD + text + "}").pages[0].text == "Grüße Мир 東京 😀 été"


def test_pictures_codes_of_fields_and_unknown_groups_are_no_text(read):
    text = r"{\pict\pngblip 89504e47}{\*\odd hidden}{\field{\*\fldinst HYPERLINK x}{\fldrslt here}}"
    assert read(HEAD + text + r"\bullet  \emdash}").pages[0].text == "here• —"


def test_what_is_hidden_or_deleted_in_rich_text_is_not_read(read):
    text = r"Pay 10{\v  secret} EUR\v  inner\v0 , {\deleted not }now.\v  no\plain  Yes."
    assert read(HEAD + text + "}").pages[0].text == "Pay 10 EUR, now. Yes."


def test_the_marks_of_a_list_in_rich_text_are_read_once(read):
    item = r"{\listtext\pard\plain 1.\tab}{\pntext\f0 1.\tab}\pard Oil it.\par"
    item += r"{\pntext\f0 2.\tab}\pard Wait.\par"
    assert read(HEAD + item + "}").pages[0].text == "1. Oil it.\n\n2. Wait."


def test_the_text_of_a_shape_in_rich_text_is_apart(read):
    box = r"{\shp{\*\shpinst\shpleft0{\sp{\sn x}{\sv y}}{\shptxt \pard In a box.\par}}}"
    text = r"\trowd\cellx1\pard\intbl One" + box + r" more\cell\row\pard " + box + r"After\par"
    hidden = r"{\header " + box + r"}"
    assert read(HEAD + hidden + text + "}").pages[0].text == (
        "In a box.\n\nOne more\n\nIn a box.\n\nAfter"
    )


def test_a_torn_rich_text_is_read_as_far_as_it_goes(read):
    assert read(HEAD + r"\pard The first words {\b and").pages[0].text == "The first words and"


def test_rich_text_without_words_has_no_text(read):
    with pytest.raises(NoText):
        read(HEAD + "}")


def test_groups_without_end_are_refused(read):
    with pytest.raises(DamagedFile, match="groups"):
        read("{\\rtf1" + "{" * 20_000)


def test_a_text_of_opendocument_is_read(file):
    body = (
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        '<text:h text:outline-level="2">Care</text:h>'
        '<text:p>Oil<text:s text:c="3"/>it<text:note><text:note-body><text:p>Often.</text:p>'
        "</text:note-body></text:note>.<text:line-break/>Then rest.</text:p>"
        "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item>"
        "<text:p>inner</text:p></text:list-item></text:list></text:list-item></text:list>"
        "<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Part"
        "</text:p></table:table-cell><table:table-cell><text:p>Price</text:p></table:table-cell>"
        "</table:table-row></table:table-header-rows><table:table-row>"
        "<table:table-cell><text:p>Nut</text:p></table:table-cell><table:table-cell "
        'table:number-columns-repeated="1000000"><text:p>2</text:p></table:table-cell>'
        "</table:table-row></table:table>"
    )
    reading = read_odt(file(opendocument("text", body, "The Pump")), limits=Limits())
    assert reading.title == "The Pump"
    assert [(h.level, h.text) for h in reading.headings] == [(2, "Care")]
    assert reading.pages[0].text == (
        "Care\n\nOil it [Often.].\nThen rest.\n\n- one\n- inner\n\nPart | Price\nNut | 2".replace(
            "- inner\n\nPart", "- inner\nPart"
        )
    )


def level(number: int, form: str, more: str = 'style:num-suffix="."', of: str = "list") -> str:
    """A level of a style of lists, or of that of headings."""
    tag = "list-level-style-number" if of == "list" else "outline-level-style"
    return f'<text:{tag} text:level="{number}" style:num-format="{form}" {more}/>'


def list_style(name: str, *levels: str) -> str:
    """A style of lists."""
    return f'<text:list-style style:name="{name}">{"".join(levels)}</text:list-style>'


def items(*texts: str, more: str = 'text:style-name="L1"') -> str:
    """A list; an item that is a list itself is given as such."""
    inside = (each if each.startswith("<") else f"<text:p>{each}</text:p>" for each in texts)
    listed = "".join(f"<text:list-item>{each}</text:list-item>" for each in inside)
    return f"<text:list {more}>{listed}</text:list>"


LETTERED = list_style("L1", level(1, "1"), level(2, "a", 'style:num-suffix=")"'))


def test_a_numbered_list_of_opendocument_keeps_its_numbers(file):
    body = items("Oil", f"<text:p>Wait</text:p>{items('An hour', 'A day', more='')}", "", "Rest")
    text = read_odt(file(opendocument("text", body, own=LETTERED)), limits=Limits()).pages[0].text
    assert text == "1. Oil\n2. Wait\na) An hour\nb) A day\n4. Rest"


@pytest.mark.parametrize(
    ("more", "numbers"),
    [
        ('text:style-name="L1"', "1. 1. "),
        ('text:style-name="L1" text:continue-numbering="true"', "1. 2. "),
        ('text:style-name="L1" text:continue-list="first"', "1. 2. "),
        ('text:style-name="L2"', "1. II- "),
        ('text:style-name="Other"', "1. - "),
    ],
)
def test_a_list_of_opendocument_begins_again_or_goes_on(file, more, numbers):
    first = items("x", more='text:style-name="L1" xml:id="first"')
    second = level(1, "I", 'text:start-value="2" style:num-suffix="-"')
    data = opendocument(
        "text", first + items("x", more=more), own=LETTERED, styles=list_style("L2", second)
    )
    assert read_odt(file(data), limits=Limits()).pages[0].text.replace("x", "") == (
        numbers.replace(" ", " \n", 1)
    )


def test_an_item_of_opendocument_may_say_its_number_and_show_those_above(file):
    deep = list_style("L1", level(1, "1", ""), level(2, "1", 'text:display-levels="2"'))
    body = items(f"<text:p>One</text:p>{items('Two', 'Three', more='')}", "Four")
    third = "<text:list-item><text:p>Three"
    body = body.replace(third, third.replace("item", 'item text:start-value="7"', 1))
    text = read_odt(file(opendocument("text", body, own=deep)), limits=Limits()).pages[0].text
    assert text == "1 One\n1.1 Two\n1.7 Three\n2 Four"


def test_headings_of_opendocument_have_their_numbers(file):
    head = '<text:h text:outline-level="{}"{}>{}</text:h><text:p>Text.</text:p>'
    outline = level(1, "1", of="h") + level(2, "1", 'text:display-levels="2"', "h")
    body = head.format(1, "", "Care") + head.format(2, "", "Oil")
    body += head.format(1, ' text:is-list-header="true"', "Annex")
    styles = f"<text:outline-style>{outline}</text:outline-style>"
    reading = read_odt(file(opendocument("text", body, styles=styles)), limits=Limits())
    assert [each.text for each in reading.headings] == ["1. Care", "1.1 Oil", "Annex"]


def test_heads_and_feet_of_the_pages_of_opendocument_come_last_and_once(file):
    edges = (
        "<style:header><text:p>Acme Ltd</text:p></style:header>"
        "<style:header-first><text:p>Acme Ltd</text:p></style:header-first>"
        '<style:footer style:display="false"><text:p>Hidden</text:p></style:footer>'
        "<style:footer><text:p><text:page-number>3</text:page-number></text:p></style:footer>"
        "<style:footer-left><text:p>Contract <text:s/>4711</text:p></style:footer-left>"
    )
    styles = f"<style:master-page>{edges}</style:master-page>"
    data = opendocument("text", "<text:p>Body.</text:p>", styles=styles)
    assert read_odt(file(data), limits=Limits()).pages[0].text == (
        "Body.\n\nHeaders and footers\n\nAcme Ltd\n\nContract 4711"
    )


def test_broken_styles_of_opendocument_are_told_and_the_text_is_read(file):
    data = opendocument("text", "<text:p>Body.</text:p>", styles="<style:header>")
    reading = read_odt(file(data), limits=Limits())
    assert reading.pages[0].text == "Body." and "styles" in reading.warnings[0]


NOTE = (
    "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Net of tax"
    "</text:p></text:note-body></text:note>"
)


@pytest.mark.parametrize("shape", ["custom-shape", "rect", "frame"])
def test_the_text_of_a_shape_is_apart_from_its_paragraph(file, shape):
    box = f"<draw:{shape}><text:p>Box one</text:p><text:p>two</text:p></draw:{shape}>"
    body = f"<text:p>{box}The paragraph.</text:p>"
    body += f"<text:list><text:list-item><text:p>{box}Item</text:p></text:list-item></text:list>"
    text = read_odt(file(opendocument("text", body)), limits=Limits()).pages[0].text
    assert text == "The paragraph.\n\nBox one\n\ntwo\n\n- Item\nBox one\ntwo"


def test_a_box_in_a_box_is_read_once(file):
    inner = "<draw:frame><draw:text-box><text:p>inner</text:p></draw:text-box></draw:frame>"
    outer = f"<draw:frame><draw:text-box><text:p>outer{inner}</text:p></draw:text-box></draw:frame>"
    body = f"<text:p>Around.{outer}</text:p>"
    text = read_odt(file(opendocument("text", body)), limits=Limits()).pages[0].text
    assert text == "Around.\n\nouter\n\ninner"


def test_a_note_in_a_cell_is_read_once(file):
    cells = (f"<text:p>Price{NOTE}</text:p>", "<text:p>5</text:p>")
    row = "".join(f"<table:table-cell>{each}</table:table-cell>" for each in cells)
    body = f"<table:table><table:table-row>{row}</table:table-row></table:table>"
    text = read_odt(file(opendocument("text", body)), limits=Limits()).pages[0].text
    assert text == "Price [Net of tax] | 5"


def test_an_opendocument_with_a_password_says_so(file):
    data = opendocument("text", "<text:p>x</text:p>", manifest="<f><encryption-data/></f>")
    with pytest.raises(UnsupportedFormat, match="password"):
        read_odt(file(data), limits=Limits())


def test_an_old_word_document_is_read(read_old):
    text = (
        "Care\rOil it \x13 LINK x \x14every\x15 year.\rPart\x07Price\x07\x07Nut\x072\x07\x07\rEnd\r"
    )
    reading = read_old(compound(word(text, headings=1)))
    assert reading.pages[0].text == "Care\n\nOil it every year.\n\nPart | Price\nNut | 2\n\nEnd"
    assert [(h.level, h.text) for h in reading.headings] == [(1, "Care")]


def test_an_old_word_document_locked_in_an_unknown_way_says_so(read_old):
    with pytest.raises(UnsupportedFormat, match="locked in a way"):
        read_old(compound(word("x\r", flags=0x0100)))


def test_an_old_word_document_without_its_table_is_damaged(read_old):
    with pytest.raises(DamagedFile):
        read_old(compound({**word("x\r"), "0Table": b""}))


def test_a_file_from_before_1997_asks_for_libreoffice(read_old):
    with pytest.raises(TooOld, match="needs LibreOffice, which is not installed"):
        read_old(compound(word("x\r", version=104)))


def test_an_old_presentation_has_slides_with_titles_and_notes(read_old):
    streams = slides("Opening\nWelcome", "Costs\n12 million – less", notes="Be brief.")
    reading = read_old(compound(streams))
    assert [page.text for page in reading.pages] == [
        "Opening\n\nWelcome",
        "Costs\n\n12 million – less\n\nNotes: Be brief.",
    ]
    assert [(h.page, h.text) for h in reading.headings] == [(1, "Opening"), (2, "Costs")]


def test_an_old_presentation_locked_in_an_unknown_way_says_so(read_old):
    streams = slides("x")
    user = streams["Current User"][:12] + struct.pack("<I", 0xF3D1C4DF) + b"\0" * 8
    with pytest.raises(UnsupportedFormat, match="locked in a way"):
        read_old(compound({**streams, "Current User": user}))


@pytest.mark.parametrize("name", ["EncryptedPackage", "\tDRMContent"])
def test_a_file_under_rights_management_says_so(read_old, name):
    with pytest.raises(UnsupportedFormat, match="rights management"):
        read_old(compound({name: b"x", "WordDocument": b"x"}))


def test_an_unknown_kind_of_old_file_says_so(read_old):
    with pytest.raises(UnsupportedFormat, match="older Office file"):
        read_old(compound({"VisioDocument": b"x"}))


@pytest.mark.parametrize("size", [8, 600, 1_500, 6_000])
def test_a_torn_old_file_says_so(read_old, size):
    with pytest.raises((DamagedFile, UnsupportedFormat)):
        read_old(compound(word("x\r"))[:size])
