"""What is read of a web page: the article without what stands around it, and never too little."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from rag_app.errors import NoText
from rag_app.reading.limits import Limits
from rag_app.reading.sections import PageBuilder
from rag_app.reading.web import add_html, main_content, read_html

SENTENCES = "The ferry to the island leaves at noon and takes about forty minutes in calm weather. "
ARTICLE = f"<p>{SENTENCES * 4}</p><p>{SENTENCES * 3}</p>"
MENU = "<ul>" + "".join(f"<li><a href=/{n}>Menu {n}</a>" for n in range(40)) + "</ul>"
FOOTER = "<div class=foot>© 2026 Ferries of the North, all rights reserved.</div>"


def read(markup: str) -> str:
    sections = PageBuilder(Limits())
    title = add_html(markup, sections, main_content)
    return "\n\n".join(page.text for page in sections.reading(title).pages)


@pytest.mark.parametrize(
    "part",
    ["<main>{}</main>", "<div role=main>{}</div>", "<article>{}</article>",
     "<div itemprop=articleBody>{}</div>", "<main><div>{}</div></main>"],
)  # fmt: skip
def test_an_article_is_read_without_what_stands_around_it(part):
    text = read(f"<body>{MENU}{part.format('<h1>Ferries</h1>' + ARTICLE)}{MENU}{FOOTER}")
    assert "Menu 7" not in text and "rights" not in text
    assert text.startswith("Ferries\n\nThe ferry") and text.count("noon") == 7


def test_the_heading_of_the_page_stays_where_it_stands_outside():
    near = f"<div><h1>Ferries</h1><p>By Maria Lund, 3 May</p><article>{ARTICLE}</article></div>"
    assert read(f"<body>{MENU}{near}{FOOTER}").startswith("Ferries\n\nBy Maria Lund, 3 May\n\nThe")
    far = f"<header><h1>Ferries</h1>{MENU * 9}</header><article>{ARTICLE}</article>"
    text = read(f"<body>{far}{FOOTER}")
    assert text.startswith("Ferries\n\nThe ferry") and "Menu" not in text


def test_what_an_article_itself_holds_stays():
    inside = f"<header>Of 3 May</header>{ARTICLE}<aside>A note.</aside><ul><li><a>Source</a></ul>"
    text = read(f"<body>{MENU}<main><article>{inside}</article></main><footer>Foot</footer>")
    assert all(words in text for words in ("Of 3 May", "A note.", "Source"))
    assert "Foot" not in text


def test_a_menu_before_the_first_sentence_is_left_out_and_links_after_it_stay():
    inside = f"<h1>Ferries</h1><div>{MENU}</div>{ARTICLE}<h2>See also</h2>{MENU}"
    text = read(f"<body><main>{inside}</main>{FOOTER}")
    assert text.startswith("Ferries\n\nThe ferry") and text.count("Menu 7") == 1
    few = "<ul><li><a>One</a><li><a>Two</a></ul>"
    assert "- One\n- Two" in read(f"<body><main>{few}{ARTICLE}</main>{FOOTER}")
    said = MENU.replace("</a>", "</a>: what it costs")
    assert "Menu 7: what" in read(f"<body><main>{said}{ARTICLE}</main>{FOOTER}")


@pytest.mark.parametrize(
    "page",
    [
        f"<body>{MENU}{ARTICLE}{FOOTER}",  # no article is named
        f"<body><article>{ARTICLE}</article><div>{ARTICLE}</div>{MENU}{FOOTER}",  # half of it is
        "<body>" + "".join(f"<article>{ARTICLE}</article>" for _ in range(3)) + MENU + FOOTER,
        f"<body>{MENU}<main><p>Short.</main>{FOOTER}",
        f"<body><main></main>{MENU}{FOOTER}",
    ],
)
def test_a_page_without_one_article_is_read_whole(page):
    text = read(page)
    assert "Menu 7" in text and "rights" in text


def test_a_question_about_cookies_is_no_text_of_the_page():
    asks = "<div id=Cookie-Banner>We value your privacy and set cookies. <b>Accept all</b></div>"
    assert "privacy" not in read(f"<body>{asks}{MENU}{ARTICLE}")
    about = f"<body><div class=cookie-policy><p>{'We set these cookies for a year. ' * 20}</div>"
    assert "cookies for a year" in read(about)
    assert "cookies for a year" in read(about.replace("<body>", "<body class=cookies-on>"))


def test_links_that_are_not_shown_do_not_confuse_the_count():
    hidden = "<a hidden href=x>x</a>" * 5
    page = f"<body>{hidden}{MENU}<article>{ARTICLE}</article><p>{SENTENCES * 9}</p>"
    assert page and read(page).count("noon") == 16


def test_a_page_that_only_a_browser_can_show_says_so(file):
    script = b"<html><div id=root></div><script>show()</script>"
    with pytest.raises(NoText, match="print it there to a PDF"):
        read_html(file(script), limits=Limits())
    reading = read_html(file(b"<title>My app</title>" + script), limits=Limits())
    assert reading.pages[0].text == "My app" and "Only the title" in reading.warnings[0]


WORDS = st.text("abc ", max_size=200)
PIECES = st.recursive(
    st.builds("<p>{}</p>".format, WORDS) | st.builds("<a href=/>{}</a>".format, WORDS),
    lambda inner: st.builds(
        "<{0}>{1}</{0}>".format,
        st.sampled_from(["div", "article", "main", "section", "ul", "table", "aside", "h1"]),
        st.lists(inner, max_size=4).map("".join),
    ),
    max_leaves=25,
)


@given(PIECES)
def test_a_part_that_is_chosen_holds_most_sentences_and_is_never_empty(markup):
    parser = LexborHTMLParser(f"<body>{markup}")
    chosen = main_content(parser)
    if chosen.part is not None:
        assert len(chosen.part.text().strip()) >= 60
