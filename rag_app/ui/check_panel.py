"""“Check my library”: how well it finds and answers, measured with questions of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from html import escape
from weakref import WeakKeyDictionary

import streamlit as st

from rag_app.access.access import Access
from rag_app.answering.ask_options import AskOptions
from rag_app.answering.model_spec import QUOTING, parse
from rag_app.evaluation.self_check import Check, Tried, check, last
from rag_app.library import Library
from rag_app.text.languages import NAMES
from rag_app.types import Document, Span, askable
from rag_app.ui import browser, texts
from rag_app.ui import texts_library as words
from rag_app.ui.jobs import Job, caught
from rag_app.ui.state import Place, current, open_page, open_place, say
from rag_app.ui.widgets import button, page_head, progress_bar

# A check of the library in a thread of its own; every window of a person sees the same one.
#
# Knows nothing of Streamlit.

# Of each open library by whose they are. A page has a view of its own in every run, so not by view;
# people and what they may (`access`) there is once.
_CHECKUPS: WeakKeyDictionary[Access, dict[str, Job]] = WeakKeyDictionary()
_BEGINNING = threading.Lock()


def of(library: Library) -> Job | None:
    """The check that runs, or the last one of this process, of what this person sees."""
    return _CHECKUPS.get(library.access, {}).get(library.scope.subject)


def begin(library: Library, manner: AskOptions) -> Job:
    """Check a library, unless that is being done already; stopped, the check before it stays."""

    def work(tell: Callable[[int, int], None], stop: threading.Event) -> None:
        check(library, manner=manner, progress=tell, stop=stop)

    with _BEGINNING:
        now = of(library)
        if now is None or not now.running:
            now = Job("rag-app-check", work)
            _CHECKUPS.setdefault(library.access, {})[library.scope.subject] = now
        return now


PAGE = "check"  # its name among the pages that stand in the place of the conversation
_LOOK_AGAIN = 0.7  # seconds


def draw(library: Library) -> None:
    """The page: what it is about, how far it is, what came of it."""
    documents = library.documents()
    able = any(askable(document) for document in documents)
    now = of(library)
    with st.container(key="check"):
        page_head(words.CHECK, "check", open_page)
        found = last(library)
        if found is None or not found.tried:
            st.html(f"<p class='note'>{words.CHECK_WHAT}</p>")
        if now is not None and now.running:
            browser.fragment(_running, "check", _LOOK_AGAIN)(now)
        else:
            _begin(library, able, found is None)
            if now is not None and now.error:
                st.html(f"<p class='failed' role='alert'>{escape(now.error)}</p>")
        if found is not None:
            _found(library, documents, found)


def stage(library: Library) -> str:
    """Where the check is: the page is read from its top again when it is done."""
    now = of(library)
    return "running" if now is not None and now.running else ""


def _begin(library: Library, able: bool, first: bool) -> None:
    button(
        words.CHECK_NOW if first else words.CHECK_AGAIN, "check_now", _check, library,
        icon="fact_check", type="primary" if first else "secondary", disabled=not able,
    )  # fmt: skip
    st.html(f"<p class='note'>{words.CHECK_TIME if able else words.CHECK_NOTHING}</p>")


def _running(now: Job) -> None:
    """How far it is; the page is drawn anew when it is done."""
    if not now.running:
        st.rerun()
    if now.stopping:
        st.progress(texts.share(now.done, now.total), words.CHECK_STOPPING)
    else:
        said = words.check_progress(now.done, now.total)
        progress_bar(current().pace, f"check {id(now)}", now.done, now.total, said)
    button(words.CHECK_STOP, "check_stop", now.stop, icon="stop", disabled=now.stopping)


def _found(library: Library, documents: Sequence[Document], found: Check) -> None:
    if not found.known:
        st.html(f"<p class='sorry'>{words.NO_QUESTIONS}</p>")
        return
    st.html(f"<p class='facts'>{escape(words.check_when(found))}</p>")
    items = "".join(
        f"<li><b>{escape(part)}</b><span>{escape(what)}</span></li>"
        for part, what in words.figures(found)
    )
    st.html(f"<ul class='figures'>{items}</ul>")
    able = [document for document in documents if askable(document)]
    unread = sum(library.report(document.id).pages_without_text for document in able)
    said = words.advice(found, unread, _foreign(library, able))
    if said:
        st.html(f"<ul class='notes'>{''.join(f'<li>{escape(one)}</li>' for one in said)}</ul>")
    names = {document.id: document.name for document in documents}
    _faults(library, names, found)
    well = [one for one in found.tried if one.right]
    if well:
        with st.expander(words.went_well(len(well))):
            _rows(library, "check_well", words.WENT_WELL, names, well)


def _foreign(library: Library, documents: Sequence[Document]) -> list[str]:
    """The languages that the built-in model does not know well, if it is the one that finds."""
    if library.meaning.choice:
        return []
    codes = {document.language for document in documents} - {"", "en"}
    return sorted(NAMES[code] for code in codes if code in NAMES)[:3]


def _faults(library: Library, names: dict[str, str], found: Check) -> None:
    if not found.missed:
        st.html(f"<p class='note'>{words.ALL_WELL}</p>")
        return
    st.html(f"<h3>{words.WENT_WRONG}</h3><p class='note'>{words.WENT_WRONG_HINT}</p>")
    for kind in words.FAULTS:
        tried = [one for one in found.missed if words.fault(one) == kind]
        if tried:
            label = words.faults(kind, len(tried))
            st.html(f"<h4>{escape(label)}</h4>")
            _rows(library, f"check_{kind}", label, names, tried)


def _rows(
    library: Library, key: str, label: str, names: dict[str, str], tried: Sequence[Tried]
) -> None:
    places = [one.place or one.quoted for one in tried]
    rows = [
        browser.Row(one.question, _where(library, place, names))
        for one, place in zip(tried, places, strict=True)
    ]
    browser.show_list(key, label, rows, lambda number: _open(library, names, places[number]))


def _where(library: Library, place: Span | None, names: dict[str, str]) -> str:
    if place is None or place.document_id not in names:
        return ""
    name = f"{names[place.document_id]} · " if len(names) > 1 else ""
    return (
        f"{name}{texts.page(library.page_name(place.document_id, place.page, start=place.start))}"
    )


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


@caught(say)
def _open(library: Library, names: dict[str, str], place: Span | None) -> None:
    if place is None:
        return
    quote = library.page(place.document_id, place.page).text[place.start : place.end]
    at = place.page, place.start, place.end
    open_place(Place(place.document_id, names[place.document_id], *at, quote))


@caught(say)
def _check(library: Library) -> None:
    """By what needs nothing and sends nothing, whoever else may be chosen to answer."""
    session = current()
    by = session.generator or library.settings.answers_by
    built_in = by if parse(by).kind in QUOTING else "quotes"
    begin(library, AskOptions(built_in, "", session.caution, session.top_k))
