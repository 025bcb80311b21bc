"""The languages of the documents: which model finds by meaning, and how far it is."""

from __future__ import annotations

from html import escape

import streamlit as st

from rag_app.errors import SettingsError
from rag_app.library import Library
from rag_app.retrieval.embedding_choice import ENGLISH, MANY
from rag_app.ui import folder_panel, texts, texts_library
from rag_app.ui import texts_library as words
from rag_app.ui.jobs import caught
from rag_app.ui.state import current, say

_LOOK_AGAIN = 0.7  # seconds
_CHOICE = "settings_languages"


def choose(library: Library) -> None:
    """A part of the settings."""
    meaning, busy = library.meaning, working(library)
    options = list(words.OPTIONS)
    st.session_state.setdefault(_CHOICE, _kind(meaning.choice))
    picked = st.radio(
        words.LANGUAGES,
        options,
        format_func=words.OPTIONS.__getitem__,
        captions=[words.CAPTIONS[option] for option in options],
        key=_CHOICE,
        disabled=meaning.fixed or busy or not folder_panel.same_computer(),
    )
    if meaning.fixed:
        st.html(f"<p class='note'>{words.FIXED}</p>")
    elif not folder_panel.same_computer():
        st.html(f"<p class='note'>{words.ONLY_HERE}</p>")
    elif not busy:
        _offer(library, picked)
    for sentence in filter(
        None, (current().refused_model, meaning.notice, _failed(library, picked))
    ):
        st.html(f"<p class='failed' role='alert'>{escape(sentence)}</p>")
    st.fragment(_progress, run_every=_LOOK_AGAIN if busy else None)(library, busy)


def working(library: Library) -> bool:
    """Whether a model is being fetched or about to take over."""
    fetch = library.meaning.fetching
    return library.reindexing() is not None or (fetch is not None and fetch.running)


def under_way(library: Library) -> None:
    """How far that is."""
    fetch, work = library.meaning.fetching, library.reindexing()
    if fetch is not None and fetch.running:
        left = current().pace.left(fetch.model, fetch.done, fetch.total)
        said = texts.left(words.fetching(fetch.done, fetch.total), left)
        st.progress(texts.share(fetch.done, fetch.total), said)
    elif work is not None:
        st.progress(texts.share(work.done, work.total), texts_library.reindexing(work))


def hint(library: Library, open_settings: str) -> None:
    """Brings it up, once, where most documents are not in English; `open_settings`: the dialog."""
    documents = library.documents()
    if not folder_panel.same_computer() or not library.meaning.worth_a_hint(documents):
        return
    with st.container(key="languages_hint"):
        st.html(f"<p class='note' role='status'>{escape(words.hint(documents))}</p>")
        with st.container(key="languages_hint_buttons", horizontal=True):
            st.button(
                words.CHOOSE_LANGUAGE_MODEL, key="languages_open", type="tertiary", on_click=_open,
                args=(open_settings,),
            )  # fmt: skip
            st.button(
                words.NOT_NOW, key="languages_no", type="tertiary", on_click=_settle,
                args=(library,),
            )  # fmt: skip


def _failed(library: Library, picked: str) -> str:
    """Why the model for many languages could not be fetched, while it is picked and not chosen."""
    fetch = library.meaning.fetching
    if fetch is None or fetch.running or fetch.stopping or picked != words.SEVERAL:
        return ""
    return "" if library.meaning.choice == MANY.name else fetch.error


def _kind(choice: str) -> str:
    if choice == ENGLISH:
        return words.ENGLISH
    return words.SEVERAL if choice == MANY.name else words.OWN


def _offer(library: Library, picked: str) -> None:
    """The button that carries out what is picked, where that is not so already."""
    meaning = library.meaning
    wanted = {words.ENGLISH: ENGLISH, words.SEVERAL: MANY.name}.get(picked)
    if wanted is None:
        own = meaning.choice if _kind(meaning.choice) == words.OWN else ""
        wanted = st.text_input(
            words.LANGUAGE_MODEL_FOLDER, value=own, key="settings_model_folder"
        ).strip()
        if not wanted:
            return
    if wanted == meaning.choice and not meaning.notice:
        st.html(f"<p class='note' role='status'>{words.in_use(meaning.answering)}</p>")
        return
    fetched = wanted != MANY.name or meaning.here
    again = words.TRY_AGAIN if wanted == meaning.choice else words.USE
    st.button(
        again if fetched else words.fetch(meaning.arrived),
        key="languages_use",
        icon=":material/check:" if fetched else ":material/download:",
        type="primary",
        on_click=_use if fetched else _fetch,
        args=(library, wanted) if fetched else (library,),
    )
    if fetched and wanted == MANY.name and (meaning.notice or current().refused_model):
        st.button(
            words.FETCH_AGAIN, key="languages_again", icon=":material/download:",
            on_click=_fetch_again, args=(library,),
        )  # fmt: skip
    st.html(f"<p class='note'>{words.BACKGROUND}</p>")


def _progress(library: Library, was_busy: bool) -> None:
    """How far it is, and the way back; the page is drawn anew when it is done."""
    fetch, work = library.meaning.fetching, library.reindexing()
    if was_busy and not working(library):
        st.rerun()
    under_way(library)
    if not folder_panel.same_computer():
        return
    if fetch is not None and fetch.running:
        st.button(
            words.STOPPING if fetch.stopping else words.STOP_FETCHING, key="languages_stop",
            on_click=_stop, args=(library,), disabled=fetch.stopping,
        )  # fmt: skip
    elif work is not None and not library.meaning.fixed:
        st.button(words.STAY, key="languages_stay", on_click=_stay, args=(library,))


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


@caught(say)
def _open(open_settings: str) -> None:
    current().dialog = open_settings


def _refuse(sentence: str) -> None:
    current().refused_model = sentence


def _only_here() -> None:
    """There is one index for all: raises SettingsError where the browser is elsewhere and a button
    was there before, or the browser was tampered with."""
    _refuse("")
    if not folder_panel.same_computer():
        raise SettingsError(words.ONLY_HERE)


@caught(_refuse)
def _settle(library: Library) -> None:
    _only_here()
    library.meaning.settle()


@caught(_refuse)
def _use(library: Library, choice: str) -> None:
    _only_here()
    library.meaning.choose(choice)


@caught(_refuse)
def _stop(library: Library) -> None:
    _only_here()
    if library.meaning.fetching is not None:
        library.meaning.fetching.ask_to_stop()


@caught(_refuse)
def _stay(library: Library) -> None:
    """Leave it at the model that answers, and show that one as chosen."""
    _only_here()
    library.meaning.choose(library.meaning.answering)
    st.session_state[_CHOICE] = _kind(library.meaning.choice)


@caught(_refuse)
def _fetch(library: Library) -> None:
    _only_here()
    library.meaning.fetch()


@caught(_refuse)
def _fetch_again(library: Library) -> None:
    _only_here()
    library.meaning.fetch_again()
