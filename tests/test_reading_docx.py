from __future__ import annotations

import pytest
from offices import docx, packed, paragraph, table

from rag_app.errors import LimitReached, NoText
from rag_app.reading.limits import Limits
from rag_app.reading.ooxml import read_docx


@pytest.fixture
def read(file):
    return lambda data, limits=None: read_docx(file(data), limits=limits or Limits())


def heading(text: str, level: int = 1) -> str:
    return paragraph(text, f"Heading{level}")


def listed(text: str, level: int = 0, of: int = 7) -> str:
    place = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{of}"/></w:numPr>'
    return paragraph(text, more=place)


def test_a_sentence_is_found_on_its_page_under_its_heading(read):
    filler = "Some words that fill the page. " * 60
    body = "".join(heading(f"Part {n}") + paragraph(filler) for n in range(6))
    body += heading("Warranty", 2) + paragraph("The pump is guaranteed for 27 months.")
    reading = read(docx(body, title="The Pump"))
    page = next(page for page in reading.pages if "guaranteed for 27 months" in page.text)
    last = reading.headings[-1]
    assert reading.title == "The Pump"
    assert (last.page, last.level, last.text) == (page.number, 2, "Warranty")
    assert page.text[last.start :].startswith("Warranty\n\nThe pump")
    assert page.number > 1
    assert all(len(page.text) <= 3_600 for page in reading.pages)


def test_a_heading_is_not_left_at_the_end_of_a_page(read):
    text = "A sentence that takes some room. " * 40
    reading = read(docx("".join(heading(f"H{n}") + paragraph(text) for n in range(9))))
    for found in reading.headings:
        assert len(reading.pages[found.page - 1].text) > found.start + 100


def test_a_table_reads_as_rows(read):
    reading = read(docx(table(["Part", "Price"], ["Bolt", "2.50"], ["Nut", ""])))
    assert reading.pages[0].text == "Part | Price\nBolt | 2.50\nNut"


def test_a_row_that_begins_in_a_later_column_stands_there(read):
    indented = '<w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>'
    row = f"{indented}<w:tc>{paragraph('Total')}</w:tc><w:tc>{paragraph('9')}</w:tc></w:tr>"
    whole = table(["Who", "Team", "Paid"], ["Ann", "A", "9"]).replace("</w:tbl>", f"{row}</w:tbl>")
    assert read(docx(whole)).pages[0].text == "Who | Team | Paid\nAnn | A | 9\n | Total | 9"


def test_a_table_over_several_pages_repeats_its_header(read):
    rows = [[f"item {n}", "x" * 60, str(n)] for n in range(120)]
    reading = read(docx(table(["Item", "Note", "Number"], *rows)))
    assert len(reading.pages) > 2
    assert all(page.text.startswith("Item | Note | Number\n") for page in reading.pages)


def test_numbers_that_word_makes_are_read(read):
    levels = (
        '<w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="decimal"/>'
        '<w:lvlText w:val="%1."/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:numFmt w:val="lowerRoman"/><w:lvlText w:val="%1.%2"/></w:lvl>'
    )
    numbering = (
        f'<w:abstractNum w:abstractNumId="1">{levels}</w:abstractNum>'
        '<w:num w:numId="7"><w:abstractNumId w:val="1"/></w:num>'
    )
    body = (
        listed("Term") + listed("Start", 1) + listed("End", 1) + listed("Fees") + listed("Due", 1)
    )
    text = read(docx(body, numbering=numbering)).pages[0].text
    assert text.split("\n") == ["3. Term", "3.i Start", "3.ii End", "4. Fees", "4.i Due"]


def typed(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def num(text: str) -> str:
    return f"<m:num>{typed(text)}</m:num>"


def den(text: str) -> str:
    return f"<m:den>{typed(text)}</m:den>"


def base(text: str) -> str:
    return f"<m:e>{typed(text)}</m:e>"


COUNTED = (
    '<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>'
)


def lists(*override: str) -> str:
    """Lists 7, 8 … that count as one where they do not override it."""
    return f'<w:abstractNum w:abstractNumId="1">{COUNTED}</w:abstractNum>' + "".join(
        f'<w:num w:numId="{number}"><w:abstractNumId w:val="1"/>{each}</w:num>'
        for number, each in enumerate(override, 7)
    )


def test_a_list_that_starts_again_starts_again(read):
    again = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    fifth = '<w:lvlOverride w:ilvl="1"><w:startOverride w:val="5"/></w:lvlOverride>'
    marked = [(7, 0), (7, 0), (8, 0), (8, 0), (9, 0), (10, 0), (10, 1), (10, 1), (10, 0), (10, 1)]
    body = "".join(listed("x", level, of) for of, level in marked)
    text = read(docx(body, numbering=lists("", again, "", again + fifth))).pages[0].text
    marks = [line.removesuffix(" x") for line in text.split("\n")]
    assert marks == ["1.", "2.", "1.", "2.", "3.", "1.", "1.5", "1.6", "2.", "2.5"]


def test_a_list_may_have_a_level_of_its_own(read):
    own = '<w:lvl w:ilvl="0"><w:numFmt w:val="upperLetter"/><w:lvlText w:val="%1)"/></w:lvl>'
    numbering = lists("", f'<w:lvlOverride w:ilvl="0">{own}</w:lvlOverride>')
    body = listed("a", of=8) + listed("b", 1, of=8) + listed("c", of=8)
    assert read(docx(body, numbering=numbering)).pages[0].text == "A) a\nA.1 b\nB) c"


def test_a_list_may_take_its_levels_from_a_style(read):
    numbering = (
        '<w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="Own"/></w:abstractNum>'
        f'<w:abstractNum w:abstractNumId="2"><w:styleLink w:val="Own"/>{COUNTED}</w:abstractNum>'
        '<w:num w:numId="7"><w:abstractNumId w:val="1"/></w:num>'
    )
    text = read(docx(listed("a") + listed("b"), numbering=numbering)).pages[0].text
    assert text == "1. a\n2. b"


def test_what_was_deleted_is_not_read_and_what_was_inserted_is(read):
    body = (
        "<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:r><w:tab/><w:t>text</w:t></w:r></w:p>"
    )
    assert read(docx(body)).pages[0].text == "new text"


def test_hidden_text_is_not_read(read):
    run = "<w:r><w:rPr><w:vanish{}/></w:rPr><w:t>{}</w:t></w:r>"
    whole = paragraph("gone").replace("<w:r>", "<w:r><w:rPr><w:vanish/></w:rPr>")
    body = "<w:p>" + run.format(' w:val="0"', "Shown") + run.format("", " secret") + "</w:p>"
    assert read(docx(body + whole)).pages[0].text == "Shown"


def test_a_list_may_begin_with_nought(read):
    numbering = lists("").replace("<w:numFmt", '<w:start w:val="0"/><w:numFmt')
    body = listed("a") + listed("b", 1) + listed("c", 1) + listed("d")
    assert read(docx(body, numbering=numbering)).pages[0].text == "0. a\n0.0 b\n0.1 c\n1. d"


def test_an_empty_paragraph_of_a_list_takes_a_number_as_in_word_and_is_no_line(read):
    body = listed("a") + listed("") + listed("b") + listed(" ", 1) + listed("c", 1)
    assert read(docx(body, numbering=lists(""))).pages[0].text == "1. a\n3. b\n3.2 c"


@pytest.mark.parametrize("gone", ["del", "moveFrom", "vanish"])
def test_a_paragraph_of_a_list_that_is_not_shown_takes_no_number(read, gone):
    run = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>old</w:t></w:r>"
    run = run if gone == "vanish" else f"<w:{gone}><w:r><w:t>old</w:t></w:r></w:{gone}>"
    left_out = listed("").replace("</w:pPr>", f"<w:rPr><w:{gone}/></w:rPr></w:pPr>{run}")
    body = listed("a") + left_out + listed("b")
    assert read(docx(body, numbering=lists(""))).pages[0].text == "1. a\n2. b"


def test_numbers_that_word_makes_in_a_table_are_read(read):
    rows = table(["No.", "Task"], ["", "Oil"], ["", "Wait"]).replace(paragraph(""), listed(""))
    text = read(docx(rows + listed("Rest"), numbering=lists(""))).pages[0].text
    assert text == "No. | Task\n1. | Oil\n2. | Wait\n3. Rest"


def test_text_that_a_style_hides_is_not_read(read):
    styles = (
        '<w:style w:styleId="Secret"><w:name w:val="Secret"/><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:styleId="More"><w:name w:val="More"/><w:basedOn w:val="Secret"/></w:style>'
    )
    run = '<w:r><w:rPr><w:rStyle w:val="More"/>{}</w:rPr><w:t>{}</w:t></w:r>'
    shown = run.format('<w:vanish w:val="0"/>', "Shown")
    body = f"<w:p>{run.format('', 'gone')}{shown}</w:p>"
    assert read(docx(body + paragraph("gone", "Secret"), styles=styles)).pages[0].text == "Shown"


@pytest.mark.parametrize(
    ("inside", "line"),
    [
        (f"<m:f>{num('1')}{den('2')}</m:f>", "1/2"),
        (f"{typed('2')}<m:f>{num('1')}{den('2')}</m:f>", "2 1/2"),
        (f"<m:f>{num('a+b')}{den('1.5')}</m:f>", "(a+b)/1.5"),
        (f"<m:f>{num('(a+b)')}{den('(a)(b)')}</m:f>", "(a+b)/((a)(b))"),
        (f"<m:f><m:fPr><m:type m:val='noBar'/></m:fPr>{num('n')}{den('k')}</m:f>", "n k"),
        (f"<m:sSup>{base('x')}<m:sup>{typed('2')}</m:sup></m:sSup>", "x^2"),
        (f"<m:sSub>{base('x')}<m:sub>{typed('i+1')}</m:sub></m:sSub>", "x_(i+1)"),
        (f"<m:rad><m:deg/>{base('9')}</m:rad>", "√9"),
        (f"{typed('2')}<m:d>{base('a+b')}</m:d>", "2(a+b)"),
        (f"<m:d><m:dPr><m:begChr m:val='['/><m:endChr/></m:dPr>{base('a')}</m:d>", "[a"),
        (f"<m:nary><m:sub>{typed('1')}</m:sub><m:sup/>{base('x')}</m:nary>", "∫_1x"),
    ],
)
def test_a_formula_is_read_in_one_line(read, inside, line):
    words = "<w:r><w:t>{}</w:t></w:r>"
    whole = f'<m:oMath xmlns:m="urn:m">{inside}</m:oMath>'
    body = f"<w:p>{words.format('Take ')}{whole}{words.format(' of it')}</w:p>"
    assert read(docx(body)).pages[0].text == f"Take {line} of it"


def test_a_fraction_behind_a_number_stands_apart(read):
    fraction = f'<m:oMath xmlns:m="urn:m"><m:f>{num("1")}{den("2")}</m:f></m:oMath>'
    assert read(docx(f"<w:p><w:r><w:t>2</w:t></w:r>{fraction}</w:p>")).pages[0].text == "2 1/2"


def test_boxes_and_ticks_of_wingdings_are_read(read):
    codes = ["F0FE", "F0FD", "F0A8", "006F", "F0FC", "F0B7"]
    runs = "".join(f'<w:r><w:sym w:font="Wingdings" w:char="{each}"/></w:r>' for each in codes)
    others = "".join(
        f'<w:r><w:sym w:font="{font}" w:char="F052"/></w:r>' for font in ("Wingdings 2", "Symbol")
    )
    assert read(docx(f"<w:p>{runs}{others}</w:p>")).pages[0].text == "☑☒☐☐✓•☑•"


@pytest.mark.parametrize("code", ["-1", "D800", "110000", "none"])
def test_a_symbol_that_is_no_character_leaves_the_text(read, code):
    run = f'<w:r><w:sym w:font="Own" w:char="{code}"/><w:t>Still here.</w:t></w:r>'
    assert read(docx(f"<w:p>{run}</w:p>")).pages[0].text.removeprefix("•") == "Still here."


def test_notes_headers_and_footers_come_last(read):
    note = f'<w:footnote w:type="separator">{paragraph("-")}</w:footnote>'
    note += f"<w:footnote>{paragraph('See the annex.')}</w:footnote>"
    data = docx(
        paragraph("Body."), footnotes=note, header1=paragraph("Acme Ltd"), footer1=paragraph("3")
    )
    assert read(data).pages[0].text == (
        "Body.\n\nFootnotes\n\n[1] See the annex.\n\nHeaders and footers\n\nAcme Ltd"
    )


def test_a_title_in_the_text_is_the_title(read):
    styles = '<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>'
    reading = read(docx(paragraph("Year in Review", "Titel"), styles=styles))
    assert reading.title == "Year in Review"


def test_a_style_takes_its_level_from_the_one_it_is_based_on(read):
    styles = '<w:style w:styleId="Own"><w:name w:val="Own"/><w:basedOn w:val="Heading2"/></w:style>'
    styles += '<w:style w:styleId="Loop"><w:name w:val="x"/><w:basedOn w:val="Loop"/></w:style>'
    body = paragraph("Scope", "Own") + paragraph("text", "Loop")
    assert [(h.level, h.text) for h in read(docx(body, styles=styles)).headings] == [(2, "Scope")]


def test_a_document_without_words_has_no_text(read):
    with pytest.raises(NoText):
        read(docx(paragraph("  ")))


def test_broken_styles_are_told_and_the_text_is_read(read):
    reading = read(docx(paragraph("Still here."), styles="<broken"))
    assert reading.pages[0].text == "Still here."
    assert "styles of this document are damaged" in reading.warnings[0]


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(max_characters=500), "RAG_APP_MAX_CHARACTERS"),
        (Limits(max_pages=2), "RAG_APP_MAX_PAGES"),
    ],
)
def test_too_long_a_document_names_the_limit(read, limits, name):
    with pytest.raises(LimitReached, match=name):
        read(docx(paragraph("A sentence. " * 90) * 10), limits)


def test_the_main_part_may_have_another_name(read):
    data = docx(paragraph("Hello"))
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["word/document2.xml"] = parts.pop("word/document.xml")
    parts["_rels/.rels"] = parts["_rels/.rels"].replace(b"document.xml", b"document2.xml")
    assert read(packed(parts)).pages[0].text == "Hello"


def _points(tag: str, *numbered: tuple[int, str]) -> str:
    points = "".join(f'<w:pt w:idx="{at}"><w:v>{text}</w:v></w:pt>' for at, text in numbered)
    return f"<w:{tag}><w:cache>{points}</w:cache></w:{tag}>"


def test_a_value_of_a_chart_stands_under_its_category(read):
    months = _points("cat", (0, "Jan"), (1, "Feb"), (2, "Mar"), (3, "Apr"))
    called = _points("tx", (0, "Boats"))
    boats = f"<w:ser>{called}{months}{_points('val', (0, '5'), (2, '7'), (3, '9'))}</w:ser>"
    crews = f"<w:ser><w:tx><w:v>Crews</w:v></w:tx>{_points('val', (1, '4'))}</w:ser>"
    text = read(docx(paragraph("Ports"), chart1=boats + crews)).pages[0].text
    assert text.endswith(" | Jan | Feb | Mar | Apr\nBoats | 5 |  | 7 | 9\nCrews |  | 4")
