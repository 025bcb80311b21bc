"""The source beside the chat: the page a quote comes from, with the quote highlighted on it."""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from rag_app.errors import UnknownDocument
from rag_app.export.conversation import safe_name
from rag_app.export.readable import PageMarks, readable
from rag_app.library import Library
from rag_app.retrieval.retriever import Hit
from rag_app.storage.provenance import Origin
from rag_app.text.formats import TABLES
from rag_app.text.highlighting import Area, areas, mark
from rag_app.types import Box, Citation, Document, Page, PagePicture
from rag_app.ui import browser, state, tasks_menu, texts, texts_answers
from rag_app.ui.browser import asset
from rag_app.ui.jobs import caught
from rag_app.ui.state import Opened, Place, Session, current, open_place
from rag_app.ui.widgets import button, complain, text_button

# Places in documents that can be opened: what a link of the page points at.

_KEY = re.compile(r"(?P<exchange>[0-9a-f]{16})-(?P<passage>p?)(?P<number>[1-9]\d{0,2})")


def place_of(session: Session, key: str) -> Place | None:
    """The place a link `#cite:<key>` points at; None if it is none of this session's."""
    found = _KEY.fullmatch(key)
    if found is None:
        return None
    number = int(found["number"])
    if found["passage"]:
        return _passage_place(session, found["exchange"], number)
    return citation_place(session, found["exchange"], number)


def citation_place(session: Session, exchange_id: str, number: int) -> Place | None:
    """The place of a citation of one of the session's answers."""
    for citation in citations_of(session, exchange_id):
        if citation.number == number:
            c = citation
            at = c.document_id, c.name, c.page, c.start, c.end
            return Place(*at, c.quote, c.boxes, exchange_id, number)
    return None


def _passage_place(session: Session, exchange_id: str, number: int) -> Place | None:
    exchange = session.exchange(exchange_id)
    passages = exchange.generation.now().passages if exchange and exchange.generation else ()
    for passage in passages[number - 1 : number]:
        chunk = passage.chunk
        at = chunk.document_id, passage.name, chunk.page, chunk.start, chunk.end
        return Place(*at, chunk.text, exchange_id=exchange_id)
    return None


def citations_of(session: Session, exchange_id: str) -> tuple[Citation, ...]:
    """The citations of one of the session's answers, of an abstention what comes nearest."""
    exchange = session.exchange(exchange_id)
    answer = exchange.answer if exchange else None
    if answer is None:
        return ()
    return answer.citations or answer.closest


_AROUND = 4_000  # characters of a text shown before and after a quote
_STAYS = 240  # characters of a quote that has room above its page
_FOUND = 500  # places of words in a document
_WHOLE = 12_000  # a text up to this long is shown whole

_viewer = st.components.v2.component(
    "rag_app_viewer",
    html='<div id="view" tabindex="-1"></div>',
    css=asset("viewer.css"),
    js=asset("viewer.js"),
)


def draw(library: Library) -> None:
    """The panel, or nothing, and the listener that opens it. Call it before the chat is drawn.

    A click on a citation draws this alone."""
    browser.fragment(_draw, "source")(library)


def _draw(library: Library) -> None:
    session = current()
    with caught(complain):
        clicked = _clicked_citation()
        place = place_of(session, clicked) if clicked else None
        if place:
            open_place(place)
        if session.opened:
            with st.container(key="source"):
                _panel(library, session.opened)


def _panel(library: Library, opened: Opened) -> None:
    place = opened.place
    with st.container(key="source_top"):
        _head(place)
        try:
            document = library.document(place.document_id)
        except UnknownDocument:
            opened.forget()
            _quotes(opened)
            st.html(
                f"<p class='gone'><b>{texts_answers.SOURCE_REMOVED}</b>"
                f"<span>{texts.GONE}</span></p>"
            )
            return
        for origin in library.web.origins([document.id]).values():
            st.html(origin_html(origin))
        _tools(library, document, opened)
        _finding(library, document, opened)
        _quotes(opened)
        if _has_strip(library, document, opened) and len(place.quote) <= _STAYS:
            _strip(place)  # in view, however far the page is scrolled
    if _has_strip(library, document, opened) and len(place.quote) > _STAYS:
        _strip(place)
    _page(library, document, opened)
    if opened.moved and opened.page < document.pages:  # whoever turns pages turns on
        following = (document.id, opened.page + 1)
        drawing = partial(state.draw_ahead, library, [following])
        threading.Thread(target=drawing, name="rag-app-draw", daemon=True).start()


def _has_strip(library: Library, document: Document, opened: Opened) -> bool:
    """Whether the quote is said beside its page: where it is read as text, it is marked in it."""
    place = opened.place
    if not place.quote or place.passage or opened.page != place.page:
        return False
    return state.picture(library, document.id, opened.page) is not None


def _strip(place: Place) -> None:
    st.html(f"<blockquote class='quoted'>{mark(place.quote, place.inside)}</blockquote>")


def _head(place: Place) -> None:
    with st.container(key="source_head", horizontal=True, vertical_alignment="center"):
        st.html(f"<h2 title='{escape(place.name)}'>{escape(place.name)}</h2>")
        text_button(texts.CLOSE, "source_close", _close, icon="close")


def _tools(library: Library, document: Document, opened: Opened) -> None:
    page = library.page(document.id, opened.page)
    with st.container(key="source_tools", horizontal=True, vertical_alignment="center"):
        if document.pages > 1:
            _turning(document, page, opened)
        elif page.label:
            _where(document, page)
        if st.session_state.get("source_find", "") != opened.find:  # another place was opened
            st.session_state["source_find"] = opened.find
        st.text_input(
            texts.FIND,
            key="source_find",
            placeholder=texts.FIND_HINT,
            label_visibility="collapsed",
            icon=":material/search:",
            on_change=_find,
            args=(library, document),
        )
        st.download_button(
            texts.DOWNLOAD,
            key="source_download",
            data=partial(_file, library, document.id),
            file_name=safe_name(document.name),
            icon=":material/download:",
            on_click="ignore",
            mime=current().file_type,
        )
        if opened.page == opened.place.page and opened.place.quote:
            tasks_menu.translate_button(opened.place)
            if st.session_state.get("source_translate"):
                st.rerun()  # its dialog is drawn by the page, not by this part of it


def _file(library: Library, document_id: str) -> bytes:
    """A document as it was handed in, to be taken away. Raises UnknownDocument."""
    data = library.original(document_id).read_bytes()
    library.taken_away(document_id, "original")
    return data


def _turning(document: Document, page: Page, opened: Opened) -> None:
    button(
        texts.turn(document, -1),
        "source_previous",
        _turn,
        -1,
        icon="chevron_left",
        disabled=opened.page <= 1,
    )
    _where(document, page)
    button(
        texts.turn(document, +1),
        "source_next",
        _turn,
        1,
        icon="chevron_right",
        disabled=opened.page >= document.pages,
    )


def _where(document: Document, page: Page) -> None:
    st.html(f"<p class='where'>{escape(texts.page_of(document, page))}</p>")


def _finding(library: Library, document: Document, opened: Opened) -> None:
    """Which of the places found is shown, and the way to the others."""
    if not opened.find:
        return
    found = _places(library, document, opened.find)
    with st.container(key="source_found", horizontal=True, vertical_alignment="center"):
        if not found:
            st.html(f"<p class='where' role='status'>{texts.NOT_FOUND_HERE}</p>")
            return
        for key, label, icon, by in (
            ("found_previous", texts.FOUND_BEFORE, "keyboard_arrow_up", -1),
            ("found_next", texts.FOUND_NEXT, "keyboard_arrow_down", +1),
        ):
            text_button(label, key, _to_found, library, document, opened.at + by, icon=icon)
        said = texts.found_of(opened.at + 1, len(found))
        st.html(f"<p class='where' role='status'>{escape(said)}</p>")


def _places(library: Library, document: Document, words: str) -> list[Hit]:
    """Where the words stand in the document, in the order of its pages."""
    found = library.plain.find(words, [document.id])
    ids = [one for _, group in found.groups for one in group][:_FOUND]
    return sorted(library.plain.places(found, ids), key=lambda hit: (hit.page, hit.start))


def _quotes(opened: Opened) -> None:
    """From one quote of the answer to the next, whatever document they are in."""
    numbers = [c.number for c in citations_of(current(), opened.place.exchange_id)]
    if opened.place.number not in numbers or len(numbers) < 2:
        return
    at = numbers.index(opened.place.number)
    with st.container(key="source_quotes", horizontal=True, vertical_alignment="center"):
        text_button(
            texts_answers.EARLIER_QUOTE,
            "quote_previous",
            _to_quote,
            numbers[max(0, at - 1)],
            icon="keyboard_arrow_up",
            disabled=at == 0,
        )
        st.html(f"<p class='where'>{escape(texts_answers.quote_of(at + 1, len(numbers)))}</p>")
        text_button(
            texts_answers.LATER_QUOTE,
            "quote_next",
            _to_quote,
            numbers[min(at + 1, len(numbers) - 1)],
            icon="keyboard_arrow_down",
            disabled=at == len(numbers) - 1,
        )


def origin_html(origin: Origin) -> str:
    """Where a document came from and when, with a link that opens beside the app."""
    site, fetched = texts.origin(origin.address, origin.at)
    link = escape(origin.address, quote=True)
    return (
        f"<p class='facts'>{texts.FROM} <a href='{link}' target='_blank' rel='noopener noreferrer'>"
        f"{escape(site)}</a>, {escape(fetched)}</p>"
    )


def _page(library: Library, document: Document, opened: Opened) -> None:
    """A page to look at: its picture with boxes over the quoted lines, or its text made readable.

    What goes to the browser is data and escaped text only."""
    place = opened.place
    page = library.page(document.id, opened.page)
    here = opened.page == place.page
    shown = {
        "id": f"{document.id[:16]}/{page.number}/{place.start}-{place.end}/{place.exchange_id}"
        f"{place.words or ''}",  # the same again is left as it is
        "label": texts.picture(document, page),
        "focus": not opened.moved,
    }
    picture = state.picture(library, document.id, page.number)
    quote = _boxes(library, place) if here and picture else ()
    if picture and here and place.quote and not quote:
        st.html(f"<p class='note'>{texts.NOT_PLACED}</p>")
        picture = None
    if picture:
        shown |= _marked_picture(library, opened, picture, quote)
    else:
        shown["marked"] = _text(library, document, page, opened)
    _viewer(key="viewer", data=shown, on_close_change=_close)


def _marked_picture(
    library: Library, opened: Opened, picture: PagePicture, quote: Sequence[Box]
) -> dict[str, Any]:
    """The quote that is looked at, paler the answer's others, or a line beside a passage that was
    read; and the text of the page, which can be selected."""
    place = opened.place
    marked = _numbers(areas(quote, picture), place.number)
    others = [
        numbers
        for c in citations_of(current(), place.exchange_id)
        if (c.document_id, c.page) == (place.document_id, opened.page)
        and not (opened.page == place.page and c.number == place.number)
        for numbers in _numbers(areas([b for b in c.boxes if b not in quote], picture), c.number)
    ]
    lines = [
        [*_rounded(one), text]
        for text, box in state.lines(library, place.document_id, opened.page)
        for one in areas([box], picture, pad=0)
    ]
    return {
        "webp": base64.b64encode(picture.webp).decode("ascii"),
        "width": picture.width,
        "height": picture.height,
        "larger": texts.LARGER,
        "smaller": texts.SMALLER,
        "quote": [] if place.passage else marked,
        "others": others,
        "passage": marked if place.passage else [],
        "lines": lines,
    }


def _numbers(found: Sequence[Area], number: int) -> list[list[float]]:
    """Left, top, width, height and, of the first area only, the number to be shown beside it; 0: it
    has none."""
    return [[*_rounded(one), 0 if at else number] for at, one in enumerate(found)]


def _rounded(area: Area) -> list[float]:
    return [round(n, 3) for n in (area.left, area.top, area.width, area.height)]


def _text(library: Library, document: Document, page: Page, opened: Opened) -> str:
    """The page's text, or as much of it as surrounds the quote, readable and marked."""
    place = opened.place
    here = opened.page == place.page
    first, *more = place.words or ((place.start, place.end),)
    quote = first if here else (0, 0)
    passage = quote if place.passage else (0, 0)
    others = tuple(more if here else ()) + tuple(
        (c.start, c.end)
        for c in citations_of(current(), place.exchange_id)
        if (c.document_id, c.page) == (document.id, page.number) and c.quote
    )
    headings = [h for h in library.headings(document.id) if h.page == page.number]
    rows = document.suffix in TABLES
    window = None
    if len(page.text) > _WHOLE and not rows:
        window = (quote[0] - _AROUND, quote[1] + _AROUND)
    marks = PageMarks((0, 0) if place.passage else quote, others, passage)
    return readable(page.text, marks, headings, rows=rows, window=window)


def _boxes(library: Library, place: Place) -> tuple[Box, ...]:
    """Where the quote stands: frozen with a citation, looked up for a passage."""
    return place.boxes or tuple(
        box
        for start, end in place.words or ((place.start, place.end),)
        for box in library.boxes(place.document_id, place.page, start, end)
    )


def _close() -> None:
    current().opened = None


def _turn(by: int) -> None:
    opened = current().opened
    if opened:
        opened.page += by
        opened.moved = True


@caught(complain)
def _find(library: Library, document: Document) -> None:
    """Show the first place from the page that is open; without words, what was open before."""
    opened, words = current().opened, str(st.session_state["source_find"] or "").strip()
    if opened is None:
        return
    asked = opened.asked or opened.place
    opened.find, opened.asked = words, asked if words else None
    if not words:
        opened.place, opened.page = asked, asked.page
        return
    pages = [hit.page for hit in _places(library, document, words)]
    at = next((n for n, page in enumerate(pages) if page >= opened.page), 0)
    _to_found(library, document, at)


@caught(complain)
def _to_found(library: Library, document: Document, at: int) -> None:
    opened = current().opened
    found = _places(library, document, opened.find) if opened else []
    if opened is None or not found:
        return
    opened.at = at % len(found)
    hit = found[opened.at]
    opened.place = Place(
        document.id, document.name, hit.page, hit.start, hit.end, hit.text, words=hit.marks
    )
    opened.page, opened.moved = hit.page, True


def _to_quote(number: int) -> None:
    session, opened = current(), current().opened
    place = citation_place(session, opened.place.exchange_id, number) if opened else None
    if place:
        session.opened = Opened(place, place.page, moved=True)


# Footnotes: one listener for every citation link on the page, however old its answer is.
#
# Hovering or focusing a link shows its quote on a card; a click or Enter reports which one it was.
# Answers stay plain Markdown and cost nothing; without JavaScript the browser's tooltip remains.

CITES_KEY = "cites"

_listener = st.components.v2.component(
    "rag_app_cites",
    html='<div id="card" popover="manual" role="tooltip"><b></b><q></q></div>',
    css=asset("citations.css"),
    js=asset("citations.js"),
)


def _clicked_citation() -> str | None:
    """The citation that was just clicked: what stands in its link after `#cite:`.

    It comes from the browser, so it may be anything."""
    gone = {"gone": texts_answers.SOURCE_REMOVED}
    value = _listener(key=CITES_KEY, data=gone, on_open_change=lambda: None).open
    return value if isinstance(value, str) else None
