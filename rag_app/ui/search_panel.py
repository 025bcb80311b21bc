"""Plain search, in the place of the conversation: where words stand, without asking anything."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from rag_app.library import Library
from rag_app.retrieval.retriever import Hit, TextMatches
from rag_app.text.highlighting import escape_markdown
from rag_app.types import Document, askable
from rag_app.ui import browser, texts
from rag_app.ui import texts_library as words
from rag_app.ui.jobs import caught
from rag_app.ui.state import Place, Search, current, open_place, say
from rag_app.ui.widgets import button, page_head, text_button

_DOCUMENTS = 8  # on one page of results
_PLACES = 3  # of a document that are shown at first
_ALL_PLACES = 200


def open_button(library: Library) -> None:
    """The way in, at the top of the panel."""
    # Its place is always there: if what follows moved, the field for files would begin anew and
    # lose what is just being dropped on it.
    with st.container(key="search_place"):
        if any(map(askable, library.documents())):
            text_button(words.SEARCH, "search_open", begin, icon="search")


def draw(library: Library) -> None:
    """The field and what was found."""
    search = current().search
    with st.container(key="search"):
        page_head(words.SEARCH_TITLE, "search", leave)
        key = f"search_words-{search.number}"
        st.text_input(
            words.SEARCH_TITLE,
            value=search.query,
            key=key,
            placeholder=words.SEARCH_HINT,
            label_visibility="collapsed",
            icon=":material/search:",
            live="300ms",
            on_change=_typed,
            args=(key,),
        )
        _results(library, search)


def begin(query: str = "", within: str = "") -> None:
    """Open the search, in one document or in all that are ticked."""
    session = current()
    session.search = Search(True, query, within, number=session.search.number + 1)


def leave() -> None:
    """Back to where the search was begun."""
    current().search = Search(number=current().search.number + 1)


def _results(library: Library, search: Search) -> None:
    documents = {d.id: d for d in library.documents()}
    chosen = current().chosen(documents.values())
    only = [search.within] if search.within else chosen
    _where(search, documents, chosen)
    if not search.query.strip():
        st.html(f"<p class='note'>{words.SEARCH_HELP}</p>")
        return
    found = library.plain.find(search.query, only)
    groups = [(documents[i], ids) for i, ids in found.groups if i in documents]
    if not groups:
        st.html(f"<p class='sorry'>{words.NOTHING_FOUND}</p>")
        st.html(f"<p class='note'>{words.NOTHING_FOUND_WHY}</p>")
        return
    if found.loose:
        st.html(f"<p class='note'>{words.LOOSE}</p>")
    said = words.found(found.places, len(groups), found.more)
    st.html(f"<p class='facts' role='status'>{escape(said)}</p>")
    shown = groups[: _DOCUMENTS * search.pages]
    for document, ids in shown:
        _group(library, search, found, document, ids)
    if len(groups) > len(shown):
        more = partial(_change, pages=search.pages + 1)
        button(words.MORE_DOCUMENTS, "search_more", more)


def _where(search: Search, documents: dict[str, Document], chosen: list[str] | None) -> None:
    """Which documents are searched, if not all."""
    if search.within in documents:
        said = words.within_one(documents[search.within].name)
    elif chosen is not None:
        said = words.within(len(chosen), len(documents))
    else:
        return
    with st.container(key="search_where", horizontal=True, vertical_alignment="center"):
        st.html(f"<p class='facts'>{escape(said)}</p>")
        text_button(words.EVERYWHERE, "search_all", _everywhere)


def _group(
    library: Library, search: Search, found: TextMatches, document: Document, ids: tuple[str, ...]
) -> None:
    """One document with its places: at first the best, when unfolded all in the order of pages."""
    unfolded = search.unfolded == document.id
    hits = library.plain.places(found, ids[: _ALL_PLACES if unfolded else _PLACES])
    if unfolded:
        hits.sort(key=lambda hit: (hit.page, hit.start))
    with st.container(key=f"found-{document.id[:16]}"):
        st.html(f"<h3>{escape(document.name)} <span>{len(ids):,}</span></h3>")
        rows = [
            browser.Row(
                hit.text,
                texts.page(library.page_name(document.id, hit.page, start=hit.start)),
                hit.inside,
            )
            for hit in hits
        ]
        browser.show_list(
            f"places-{document.id[:16]}", document.name, rows,
            lambda number: _open(document, hits[number]),
        )  # fmt: skip
        if len(ids) > _PLACES:
            label = words.FEWER_PLACES if unfolded else words.places(len(ids))
            text_button(
                escape_markdown(label), f"unfold-{document.id[:16]}",
                partial(_change, unfolded="" if unfolded else document.id),
            )  # fmt: skip


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


@caught(say)
def _open(document: Document, hit: Hit) -> None:
    at = hit.page, hit.start, hit.end
    open_place(Place(document.id, document.name, *at, hit.text, words=hit.marks))


def _change(**changes: Any) -> None:
    session = current()
    session.search = replace(session.search, **changes)


def _typed(key: str) -> None:
    _change(query=str(st.session_state[key] or ""), pages=1, unfolded="")


def _everywhere() -> None:
    if not current().search.within:
        current().untick(())
    _change(within="")
