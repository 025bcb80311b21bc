"""What is shown is what was read: no markup of a document or a model survives, no text is lost."""

from __future__ import annotations

import html
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.text.highlighting import (
    areas,
    escape_markdown,
    link_citations,
    mark,
    merge_boxes,
    merge_spans,
)
from rag_app.types import Box, Citation, PagePicture

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</mark><mark>",
    "![x](http://evil.example/a.png)",
    '[1](#cite:m-1 "forged")',
    "[ref]: #cite:m-1",
    "[ref]",
    ":red[alarm]",
    ":material/home:",
    ":material_delete:",
    "\\:material_delete\\:",
    ":material\\_delete:",
    ":material&lowbar;delete:",
    "&colon;material_delete&#58;",
    ":streamlit:",
    ":smile:",
    "`a:b:c`",
    " -> ",
    ":::warn\n",
    "$$x^2$$",
    "`",
    "```\n",
    "   ```\n",
    "~~~\n",
    "\\",
    "`[x](http://evil.example)`",
    "http://evil.example",
    "www.evil.example",
    "[1]",
    "[2]",
    "[9]",
    "!",
    "[",
    "&lt;b&gt;",
    "\r",
    "\n",
    "\n\n",
    "- ",
    "> ",
    "# ",
    "| a | b |\n|---|---|\n| ",
    " | ",
    "    ",
    "word",
    "*em*",
)
hostile_texts = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=6), max_size=14).map("".join)
spans = st.lists(st.tuples(st.integers(-5, 80), st.integers(-5, 80)), max_size=6)
CITATIONS = (
    Citation(1, "d", "Annual report.pdf", 3, 0, 5, "Costs"),
    Citation(2, "d", 'a "b" `c` <i>$x$</i>.pdf', 4, 0, 5, 'He said "no" [1] \\ `x` <b>\n\n$5$'),
)


def visible(markup: str) -> str:
    return html.unescape(re.sub(r"</?mark>", "", markup))


@given(hostile_texts, spans)
def test_marked_text_reads_exactly_as_the_text(text, marked):
    shown = mark(text, marked)
    assert visible(shown) == text
    assert set(re.findall(r"<[^>]*>", shown)) <= {"<mark>", "</mark>"}


@given(hostile_texts, spans)
def test_marks_cover_what_was_asked_for_and_never_nest(text, marked):
    shown = mark(text, marked)
    asked = {i for a, b in marked for i in range(max(0, a), min(len(text), b))}
    pieces = re.split(r"(</?mark>)", shown)
    covered, position, inside = set(), 0, False
    for piece in pieces:
        if piece in ("<mark>", "</mark>"):
            assert inside == (piece == "</mark>")
            inside = not inside
            continue
        length = len(html.unescape(piece))
        covered |= set(range(position, position + length)) if inside else set()
        position += length
    assert covered == asked


@given(spans, st.integers(0, 60))
def test_merged_spans_are_sorted_and_apart(marked, length):
    merged = merge_spans(marked, length)
    assert all(a < b for a, b in merged)
    assert all(first[1] < second[0] for first, second in pairwise(merged))


coordinates = st.floats(0, 500, allow_nan=False)
boxes = st.builds(
    lambda x, y, w, h: Box(x, y, x + w, y + h),
    coordinates,
    coordinates,
    st.floats(1, 100),
    st.floats(1, 30),
)


@given(st.lists(boxes, max_size=8))
def test_every_box_lies_inside_a_merged_one(given_boxes):
    merged = merge_boxes(given_boxes)
    for box in given_boxes:
        assert any(
            m.x0 <= box.x0 and m.y0 <= box.y0 and m.x1 >= box.x1 and m.y1 >= box.y1 for m in merged
        )
    assert len(merged) <= len(given_boxes)


def test_boxes_of_one_line_become_one_and_columns_stay_apart():
    left = (Box(50, 100, 90, 112), Box(93, 101, 150, 111))
    right = (Box(300, 100, 400, 112),)
    assert merge_boxes(left + right) == (Box(50, 100, 150, 112), Box(300, 100, 400, 112))


def test_areas_are_percentages_of_the_picture():
    (area,) = areas([Box(100, 200, 300, 220)], PagePicture(b"", 600, 800), pad=0)
    assert (area.left, area.top) == pytest.approx((100 / 6, 25))
    assert (area.width, area.height) == pytest.approx((100 / 3, 2.5))


@given(st.lists(boxes, max_size=5))
def test_areas_stay_on_the_picture(given_boxes):
    for area in areas(given_boxes, PagePicture(b"", 300, 200)):
        assert area.left >= 0
        assert area.top >= 0
        assert area.left + area.width <= 100.001
        assert area.top + area.height <= 100.001


def test_a_marker_becomes_a_link_with_document_page_and_quote():
    assert link_citations("Costs rose [1].", CITATIONS, "m") == (
        'Costs rose [1](#cite:m-1 "Annual report&#46;pdf · page 3 — Costs").'
    ).replace("&#46;", ".")


def test_a_marker_without_a_citation_is_dropped():
    assert link_citations("Costs rose [7]. So [9] it is", CITATIONS, "m") == (
        "Costs rose. So  it is"
    )


def test_emphasis_lists_and_code_survive_and_code_is_left_alone():
    text = "**Bold**\n\n- one\n- two `a[1] < $b`\n\n```python\nx = [1][0]\n```\n"
    assert link_citations(text, CITATIONS, "m") == text


def drawn(markdown: str) -> list[str]:
    """What Streamlit makes a picture of in the text that Markdown leaves (not in code)."""
    source = markdown.replace(":material/", ":material_")  # its first step, on the whole source
    texts = [t.content for t in parse(source) if t.type == "text"]
    return [
        one for text in texts for one in re.findall(r":(?:material_\w+|streamlit|smile):", text)
    ]


@given(hostile_texts, st.booleans())
def test_no_text_of_an_answer_draws_an_icon(text, plain):
    assert not drawn(link_citations(text, CITATIONS, "m", plain=plain))


@given(hostile_texts)
def test_no_name_draws_an_icon(text):
    assert not drawn(escape_markdown(text))


@pytest.mark.parametrize("text", [":material_delete:", "x:material/home:y", ":+1:", ":a:", ":100:"])
def test_a_name_between_colons_is_shown_as_it_was_written(text):
    for shown in (escape_markdown(text), *(link_citations(text, (), "m", plain=p) for p in (0, 1))):
        [inline] = [t for t in parse(shown) if t.type == "inline"]
        said = "".join(child.content for child in inline.children)
        assert said.replace("\u2060", "") == text and ":\u2060" in said


@pytest.mark.parametrize(
    "text", ["10:30:45", "1:2:3", "2001:db8:85a3:8d3:1319", "00:1a:2b:3c", "a: b:"]
)
def test_times_and_addresses_of_devices_can_be_copied(text):
    assert "\u2060" not in escape_markdown(text) + link_citations(text, (), "m")


def test_signs_of_a_name_are_not_turned_into_others():
    assert escape_markdown("a -> b -- c") == "a \\-\\>\u2060 b \\-\\-\u2060 c"


def test_signs_of_plain_text_are_not_turned_into_others():
    shown = link_citations("a -> b -- c :streamlit:", (), "m", plain=True)
    assert "->" not in shown.replace("\\", "") and "--" not in shown.replace("\\", "")
    assert shown.replace("\\", "").replace("\u2060", "") == "a -> b -- c &#58;streamlit&#58;"


def test_plain_text_means_nothing():
    shown = link_citations("# 5 * 3 * 2 = _x_\n    - 1. and $2 [1]", CITATIONS[:1], "m", plain=True)
    assert shown.startswith("\\# 5 \\* 3 \\* 2 \\= \\_x\\_\n\\- 1\\. and \\$2 [1](#cite:m-1 ")


def parse(markdown: str) -> list:
    """Every token that a CommonMark parser (with tables) finds, flat."""
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(markdown)
    return tokens + [child for token in tokens for child in token.children or []]


def assert_harmless(markdown: str, ids: set[str]) -> None:
    tokens = parse(markdown)
    assert not {t.type for t in tokens} & {"image", "html_inline", "html_block"}
    for link in (t for t in tokens if t.type == "link_open"):
        number = link.attrs["href"].removeprefix("#cite:m-")
        assert number in ids
        assert "forged" not in link.attrs["title"]
    texts = [t.content for t in tokens if t.type == "text"]
    assert not any(re.search(r"https?://|www\.", text, re.IGNORECASE) for text in texts)


@given(hostile_texts, st.booleans())
def test_no_link_image_or_html_of_the_text_survives(text, plain):
    assert_harmless(link_citations(text, CITATIONS, "m", plain=plain), {"1", "2"})


@pytest.mark.parametrize(
    "text",
    [
        "```\n   ```\n[x](http://evil.example)\n```",
        " ~~~\n```\n~~~\n[x](http://evil.example)\n```",
        "`a\r# [x](http://evil.example)`",
        "| `a | [x](http://evil.example)` |\n|---|---|",
        "\\`[x](http://evil.example)`",
        "- ```\n  x\n[x](http://evil.example)\n```",
        "![9][1](http://evil.example)",
        "![1]",
        "http[9]://evil.example",
        "[[9]1]",
        "[1]: http://evil.example",
        "``[x](http://evil.example)`",
        "````\n```\n[x](http://evil.example)\n````",
    ],
)
def test_known_tricks_do_not_work(text):
    assert_harmless(link_citations(text, CITATIONS, "m"), {"1", "2"})


ADDRESSES = (
    "Write to anna@ferry.example, (joe.b+c@my-site.co.uk) or mailto:bob@x.org. "
    "See www.ferry.example, https://ferry.example/x or HTTP://A.B/C."
)


@pytest.mark.parametrize("plain", [True, False])
def test_addresses_of_mail_and_web_stay_text(plain):
    shown = link_citations(ADDRESSES, (), "m", plain=plain)
    assert not re.search(r"(?i)\w\\?@\w|www\\?\.|https?\\?:", shown)
    # whatever is coloured is text of its own: nothing else was added
    bare = re.sub(r":gray\[(\w+|@)\]", r"\1", shown)
    assert html.unescape(re.sub(r"\\(\W)", r"\1", bare)) == ADDRESSES


@pytest.mark.parametrize(
    "text", ["a\\@b.org", "www\\.b.org", "https\\://b.org", "a&#64;b.org", "a&commat;b.org"]
)
def test_what_a_model_disguises_is_no_address_either(text):
    shown = link_citations(text, (), "m")
    assert ":gray[" in shown or "&amp;" in shown


def test_an_address_in_a_label_is_no_link():
    shown = escape_markdown(ADDRESSES)
    assert "@ferry" not in shown and "@\u2060ferry" in shown and "www\u2060" in shown


def test_where_a_quote_stands_is_said_in_the_words_of_its_format():
    cited = (Citation(1, "d", "prices.xlsx", 2, 0, 5, "4 euros"),)
    shown = link_citations("x [1]", cited, "m", where=lambda c: "Prices, rows 41–80")
    assert '"prices.xlsx · Prices, rows 41&#8211;80 — 4 euros"' in shown
    assert '"prices.xlsx — 4 euros"' in link_citations("x [1]", cited, "m", where=lambda c: "")


@pytest.mark.parametrize(
    "name", ["Contract — draft.pdf", "a — — b.pdf", "a  —\u2003b.pdf", "minutes —", "a—b.pdf"]
)
@pytest.mark.parametrize("where", ["page 4", ""])
def test_a_dash_in_a_name_is_not_taken_for_the_one_before_the_quote(name, where):
    cited = (Citation(1, "d", name, 4, 0, 5, "Doors — all — are open"),)
    made = parse(link_citations("x [1]", cited, "m", where=lambda c: where))
    (link,) = [token for token in made if token.type == "link_open"]
    said, dash, quote = link.attrs["title"].partition(" — ")
    assert (dash, quote) == (" — ", "Doors — all — are open")
    alone = " ".join(name.split()).replace("—", "–") if "a—b" not in name else name
    assert said == " · ".join(filter(None, (alone, where)))


def test_the_title_of_a_link_arrives_as_it_was_written():
    (link,) = [t for t in parse(link_citations("x [2]", CITATIONS, "m")) if t.type == "link_open"]
    assert link.attrs["title"] == (
        'a "b" `c` <i>$x$</i>.pdf · page 4 — He said "no" [1] \\ `x` <b> $5$'
    )


@given(hostile_texts)
def test_an_escaped_name_is_one_line_of_plain_text(text):
    tokens = parse(escape_markdown(text))
    assert {t.type for t in tokens} <= {"paragraph_open", "paragraph_close", "inline", "text"}, (
        escape_markdown(text)
    )


@pytest.mark.parametrize(
    "name", ["<img src=x onerror=alert(1)>.pdf", ":red[x].pdf", "$a$ *b* _c_.pdf", "../../x.pdf"]
)
def test_an_escaped_name_shows_every_character(name):
    inline = next(t for t in parse(escape_markdown(name)) if t.type == "inline")
    assert "".join(child.content for child in inline.children) == name


def test_a_row_that_is_quoted_has_no_bars():
    row = "| Kind | Full | Half |\n|---|---|---|\n| Couple | £380 | £220 | [1]"
    shown = link_citations(row.splitlines()[2], CITATIONS[:1], "m", plain=True)
    assert "|" not in shown
    assert shown.startswith("Couple · £380 · £220 ")
    shown = link_citations(row, CITATIONS[:1], "m", plain=True)
    assert "| Kind | Full | Half |\n|---|---|---|\n| Couple | £380 | £220 [1](" in shown


def _plain(text: str, stressed: str = "") -> str:
    return link_citations(text, [], "0" * 16, plain=True, stressed=stressed)


def test_figures_and_the_answer_itself_are_bold():
    said = _plain("Rent is £1,175.00 from 22 November 2025, says Ada Brandt.", "Ada Brandt")
    assert said.count("**") == 6
    assert "**£1\\,175\\.00**" in said and "**22 November 2025**" in said
    assert "**Ada Brandt**" in said


@pytest.mark.parametrize(
    ("said", "bold"),
    [
        ("Due on the 5th day of each month", ["5th"]),
        ("It ends on 5 March and begins on March 12th", ["5 March", "March 12th"]),
        ("On the 5th of March 2026 at 10am or 11 pm", ["5th of March 2026", "10am", "11 pm"]),
        ("El 5 de marzo de 2026, am 5. März 2026", ["5 de marzo de 2026", "5. März 2026"]),
        ("By Mar 31, 2026 in section 6a of B2", ["Mar 31, 2026"]),
    ],
)
def test_ordinals_and_days_are_bold_as_a_whole(said, bold):
    shown = link_citations(said, [], "0" * 16, stressed="")
    assert re.findall(r"\*\*(.+?)\*\*", shown) == bold


def test_words_that_answer_are_not_bold_in_the_middle_of_a_date_or_a_figure():
    assert "**" not in _plain("a (01.05.2024, 61.14)", "01.05") + _plain("a (61.14)", "14")
    assert "**14**" in _plain("from 14. On", "14")


def test_what_numbers_a_paragraph_or_is_part_of_a_name_is_not_bold():
    assert "**" not in _plain("6.1 The WM8140 and its E2 lamp")
    assert "**" not in link_citations("Rent is £5.", [], "0" * 16, plain=True)
    assert "****" not in link_citations("It is **£5 now**", [], "0" * 16, stressed="")


def test_a_quoted_list_is_a_list_and_quoted_rows_are_a_table():
    assert "\n- flour\n- salt\n" in _plain("You need:\n• flour\n• salt\nStir.")
    assert "\n1. flour\n2. salt" in _plain("1) flour\n2) salt")
    assert "| Couple | a |\n|---|---|\n| Single | b |" in _plain("Couple | a\nSingle | b")
    assert _plain("Couple | a") == "Couple · a"


def test_a_text_cannot_bring_the_marks_that_are_ours():
    assert _plain("\ue000not bold\ue001 \ue002item") == "not bold item"
    assert "\n- " not in _plain("- alone is no list")
