"""The source beside the chat: the page a quote comes from, with the quote highlighted on it."""

from __future__ import annotations

import re
from html import escape

import streamlit as st

from rag_app.errors import UnknownDocument
from rag_app.highlighting import areas, escape_markdown, excerpt, mark
from rag_app.library import Library
from rag_app.types import Box, Citation, Document, Page, PagePicture
from rag_app.ui import cites, tasks_menu, texts, viewer
from rag_app.ui.boundary import caught
from rag_app.ui.state import Opened, Place, Session, current

_AROUND = 4_000  # characters of a text shown before and after a quote
_WHOLE = 12_000  # a text up to this long is shown whole

_KEY = re.compile(r"(?P<exchange>[0-9a-f]{16})-(?P<passage>p?)(?P<number>[1-9]\d{0,2})")


def place_of(session: Session, key: str) -> Place | None:
    """The place a link `#cite:<key>` points at; None if it is none of this session's."""
    found = _KEY.fullmatch(key)
    if found is None:
        return None
    if found["passage"]:
        return _passage_place(session, found["exchange"], int(found["number"]))
    for citation in citations_of(session, found["exchange"]):
        if citation.number == int(found["number"]):
            return Place(
                citation.document_id,
                citation.name,
                citation.page,
                citation.start,
                citation.end,
                citation.quote,
                citation.boxes,
                found["exchange"],
            )
    return None


def _passage_place(session: Session, exchange_id: str, number: int) -> Place | None:
    exchange = session.exchange(exchange_id)
    passages = exchange.generation.now().passages if exchange and exchange.generation else ()
    for passage in passages[number - 1 : number]:
        chunk = passage.chunk
        return Place(
            chunk.document_id,
            passage.name,
            chunk.page,
            chunk.start,
            chunk.end,
            chunk.text,
            exchange_id=exchange_id,
        )
    return None


def citations_of(session: Session, exchange_id: str) -> tuple[Citation, ...]:
    """The citations of one of the session's answers."""
    exchange = session.exchange(exchange_id)
    answer = exchange.generation.now().answer if exchange and exchange.generation else None
    return answer.citations if answer else ()


@st.fragment
def draw(library: Library) -> None:
    """The panel, or nothing, and the listener that opens it. Call it before the chat is drawn.

    A click on a citation reruns this fragment only."""
    session = current()
    with caught(_complain):
        clicked = cites.clicked()
        place = place_of(session, clicked) if clicked else None
        if place:
            session.opened = Opened(place, place.page)
        if session.opened:
            with st.container(key="source"):
                _panel(library, session.opened)


def _complain(sentence: str) -> None:
    st.error(escape_markdown(sentence))


def _panel(library: Library, opened: Opened) -> None:
    place = opened.place
    with st.container(key="source_top"):
        _head(place)
        try:
            document = library.document(place.document_id)
        except UnknownDocument:
            quote = mark(place.quote, ())
            kept = f"<blockquote>{quote}</blockquote>" if place.quote else ""
            st.html(f"<p class='note'>{texts.GONE}</p>{kept}")
            return
        _tools(library, document, opened)
    if place.quote and opened.page == place.page:
        st.html(f"<blockquote class='quoted'>{mark(place.quote, ())}</blockquote>")
    _page(library, document, opened)


def _head(place: Place) -> None:
    with st.container(key="source_head", horizontal=True, vertical_alignment="center"):
        st.html(f"<h2 title='{escape(place.name)}'>{escape(place.name)}</h2>")
        st.button(
            texts.CLOSE,
            key="source_close",
            icon=":material/close:",
            type="tertiary",
            on_click=_close,
        )


def _tools(library: Library, document: Document, opened: Opened) -> None:
    page = library.page(document.id, opened.page)
    with st.container(key="source_tools", horizontal=True, vertical_alignment="center"):
        st.button(
            texts.PREVIOUS,
            key="source_previous",
            icon=":material/chevron_left:",
            disabled=opened.page <= 1,
            on_click=_turn,
            args=(-1,),
        )
        label = texts.page_of(opened.page, document.pages, page.label)
        st.html(f"<p class='where'>{escape(label)}</p>")
        st.button(
            texts.NEXT,
            key="source_next",
            icon=":material/chevron_right:",
            disabled=opened.page >= document.pages,
            on_click=_turn,
            args=(1,),
        )
        st.download_button(
            texts.DOWNLOAD,
            key="source_download",
            data=lambda: library.original(document.id).read_bytes(),
            file_name=re.sub(r'[\\/:*?"<>|\x00-\x1f]', "_", document.name),
            icon=":material/download:",
            on_click="ignore",
        )
        if opened.page == opened.place.page and opened.place.quote:
            tasks_menu.translate_button(opened.place)


def _page(library: Library, document: Document, opened: Opened) -> None:
    place = opened.place
    page = library.page(document.id, opened.page)
    here = opened.page == place.page
    view = viewer.View(
        f"{document.id[:16]}/{page.number}/{place.start}-{place.end}/{place.exchange_id}",
        texts.picture(document.name, page.number),
        focus=not opened.moved,
    )
    picture = _picture(library, document.id, page.number)
    if picture is None:
        viewer.show_text(view, _passage(page, place, here), _close)
        return
    quote = _boxes(library, place) if here else ()
    if here and place.quote and not quote:
        st.html(f"<p class='note'>{texts.NOT_PLACED}</p>")
        viewer.show_text(view, mark(page.text, [(place.start, place.end)]), _close)
        return
    others = [box for box in _others(document, opened) if box not in quote]
    viewer.show_picture(view, picture, areas(quote, picture), areas(others, picture), _close)


def _passage(page: Page, place: Place, here: bool) -> str:
    """The page's text, or as much of it as surrounds the quote, marked."""
    start, end = (place.start, place.end) if here else (0, 0)
    if len(page.text) <= _WHOLE:
        return mark(page.text, [(start, end)])
    text, new_start, new_end = excerpt(page, start, end, _AROUND)
    before = "…\n" if start > new_start else ""
    after = "\n…" if start - new_start + len(text) < len(page.text) else ""
    return before + mark(text, [(new_start, new_end)]) + after


def _boxes(library: Library, place: Place) -> tuple[Box, ...]:
    """Where the quote stands: frozen with a citation, looked up for a passage."""
    return place.boxes or library.boxes(place.document_id, place.page, place.start, place.end)


def _others(document: Document, opened: Opened) -> list[Box]:
    """The boxes of the answer's other quotes on this page."""
    return [
        box
        for citation in citations_of(current(), opened.place.exchange_id)
        if citation.document_id == document.id and citation.page == opened.page
        for box in citation.boxes
    ]


@st.cache_data(max_entries=64, show_spinner=False)
def _picture(_library: Library, document_id: str, number: int) -> PagePicture | None:
    return _library.picture(document_id, number)


def forget_pictures() -> None:
    """Deleted means gone: call it when a document is removed."""
    _picture.clear()


def _close() -> None:
    current().opened = None


def _turn(by: int) -> None:
    opened = current().opened
    if opened:
        opened.page += by
        opened.moved = True
