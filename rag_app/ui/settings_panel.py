"""Settings a person understands: how careful, how much to read, language, limits, where it is."""

from __future__ import annotations

from html import escape

import streamlit as st

from rag_app.answering.answer_language import LANGUAGES
from rag_app.errors import SettingsError
from rag_app.library import Library
from rag_app.retrieval.embedding_choice import ENGLISH, MANY
from rag_app.ui import (
    browser,
    check_panel,
    folder_panel,
    model_picker,
    source,
    texts,
    texts_library,
)
from rag_app.ui import texts as words
from rag_app.ui.jobs import caught
from rag_app.ui.state import Session, current, open_dialog, open_page, say
from rag_app.ui.widgets import button, progress_bar, text_button

OPEN = "settings"  # the name of its dialog
_CAUTIONS = {"more": 0.3, "balanced": None, "careful": 0.65}
_READ = {"little": 4, "normal": None, "much": 16}


def open_button() -> None:
    """Opens it."""
    text_button(words.SETTINGS, "settings", open_dialog, OPEN, icon="tune")


def draw(library: Library) -> None:
    """The dialog, if it is open."""
    session = current()
    if session.dialog != OPEN:
        return

    @st.dialog(words.SETTINGS, on_dismiss=_close)
    def show() -> None:
        _choice(library, "caution", session.caution, _CAUTIONS, words.CAUTION, words.CAUTIONS)
        _choice(library, "top_k", session.top_k, _READ, words.READ_MUCH, words.READS)
        options = ["", *LANGUAGES]
        picked = st.selectbox(
            texts.ANSWERS_IN,
            options,
            index=options.index(session.language),
            format_func=lambda one: one or texts.AS_ASKED,
            key="settings_language",
            help=words.LANGUAGE_NEEDS_MODEL,
        )
        if picked != session.language:
            model_picker.change(library, language=picked)
        if library.scope.runs_the_app:  # there is one index for all
            _choose_languages(library)
        if button(words.CHECK, "settings_check", icon="fact_check"):
            _close()
            open_page(check_panel.PAGE)
            st.rerun()
        st.html(words.limits_set(library.settings))
        held = library.size_on_disk()
        folder = str(library.folder) if library.scope.runs_the_app else ""
        st.html(words.kept_where(folder, len(library.documents()), held))
        _everything(library, session)

    show()


def _choice(
    library: Library,
    name: str,
    now: float | None,
    values: dict[str, float | None] | dict[str, int | None],
    title: str,
    labels: dict[str, tuple[str, str]],
) -> None:
    options = list(values)
    here = next((option for option in options if values[option] == now), None)
    picked = st.radio(
        title,
        options,
        index=None if here is None else options.index(here),
        format_func=lambda option: labels[option][0],
        captions=[labels[option][1] for option in options],
        key=f"settings_{name}",
    )
    if picked is not None and values[picked] != now:
        model_picker.change(library, **{name: values[picked]})


def _everything(library: Library, session: Session) -> None:
    """Deleting takes two clicks."""
    if not session.asked_to_clear:
        button(words.DELETE_EVERYTHING, "clear", _ask_to_clear, icon="delete_forever")
        return
    sure = words.DELETE_SURE if library.scope.runs_the_app else words.DELETE_MINE_SURE
    st.html(f"<p class='failed' role='alert'>{escape(sure)}</p>")
    with st.container(key="confirm-clear", horizontal=True):
        if button(words.DELETE_NOW, "clear_now", type="primary"):
            _clear(library)
            st.rerun()
        button(words.SETTINGS_KEEP, "clear_keep", _keep)


@caught(say)
def _clear(library: Library) -> None:
    before = current()
    library.clear()
    source.forget_pictures()
    st.session_state["session"] = Session(id=before.id, drops=before.drops + 1)
    st.query_params.clear()


def _close() -> None:
    session = current()
    session.dialog, session.asked_to_clear, session.refused_model = "", False, ""


def _ask_to_clear() -> None:
    current().asked_to_clear = True


def _keep() -> None:
    current().asked_to_clear = False


# The languages of the documents: which model finds by meaning, and how far it is.

_LOOK_AGAIN = 0.7  # seconds
_CHOICE = "settings_languages"


def _choose_languages(library: Library) -> None:
    """A part of the settings."""
    meaning, busy = library.meaning, languages_working(library)
    options = list(texts_library.OPTIONS)
    st.session_state.setdefault(_CHOICE, _kind(meaning.choice))
    picked = st.radio(
        texts_library.LANGUAGES,
        options,
        format_func=texts_library.OPTIONS.__getitem__,
        captions=[texts_library.CAPTIONS[option] for option in options],
        key=_CHOICE,
        disabled=meaning.fixed or busy or not folder_panel.same_computer(),
    )
    if meaning.fixed:
        st.html(f"<p class='note'>{texts_library.FIXED}</p>")
    elif not folder_panel.same_computer():
        st.html(f"<p class='note'>{texts_library.ONLY_HERE}</p>")
    elif not busy:
        _offer(library, picked)
    for sentence in filter(
        None, (current().refused_model, meaning.notice, _failed(library, picked))
    ):
        st.html(f"<p class='failed' role='alert'>{escape(sentence)}</p>")
    browser.fragment(_progress, "languages", _LOOK_AGAIN if busy else None)(library, busy)


def languages_working(library: Library) -> bool:
    """Whether a model is being fetched or about to take over."""
    fetch = library.meaning.fetching
    return library.reindexing() is not None or (fetch is not None and fetch.running)


def languages_under_way(library: Library) -> None:
    """How far that is."""
    fetch, work = library.meaning.fetching, library.reindexing()
    if fetch is not None and fetch.running:
        said = texts.downloading(fetch.done, fetch.total)
        progress_bar(current().pace, fetch.model, fetch.done, fetch.total, said)
    elif work is not None:
        wait = current().pace.left("meaning", work.done, work.total)
        st.progress(texts.share(work.done, work.total), texts_library.reindexing(work, wait))


def languages_hint(library: Library) -> None:
    """Brings it up, once, where most documents are not in English."""
    documents = library.documents()
    if not folder_panel.same_computer() or not library.meaning.worth_a_hint(documents):
        return
    with st.container(key="languages_hint"):
        st.html(f"<p class='note' role='status'>{escape(texts_library.hint(documents))}</p>")
        with st.container(key="languages_hint_buttons", horizontal=True):
            text_button(texts_library.CHOOSE_LANGUAGE_MODEL, "languages_open", open_dialog, OPEN)
            text_button(texts_library.NOT_NOW, "languages_no", _settle, library)


def _failed(library: Library, picked: str) -> str:
    """Why the model for many languages could not be fetched, while it is picked and not chosen."""
    fetch = library.meaning.fetching
    if fetch is None or fetch.running or fetch.stopping or picked != texts_library.SEVERAL:
        return ""
    return "" if library.meaning.choice == MANY.name else fetch.error


def _kind(choice: str) -> str:
    if choice == ENGLISH:
        return texts_library.ENGLISH
    return texts_library.SEVERAL if choice == MANY.name else texts_library.OWN


def _offer(library: Library, picked: str) -> None:
    """The button that carries out what is picked, where that is not so already."""
    meaning = library.meaning
    wanted = {texts_library.ENGLISH: ENGLISH, texts_library.SEVERAL: MANY.name}.get(picked)
    if wanted is None:
        own = meaning.choice if _kind(meaning.choice) == texts_library.OWN else ""
        wanted = st.text_input(
            texts_library.LANGUAGE_MODEL_FOLDER, value=own, key="settings_model_folder"
        ).strip()
        if not wanted:
            return
    if wanted == meaning.choice and not meaning.notice:
        st.html(f"<p class='note' role='status'>{texts_library.in_use(meaning.answering)}</p>")
        return
    fetched = wanted != MANY.name or meaning.here
    again = texts_library.TRY_AGAIN if wanted == meaning.choice else texts_library.USE
    if fetched:
        button(again, "languages_use", _use, library, wanted, icon="check", type="primary")
    else:
        fetch = texts_library.fetch(meaning.arrived)
        button(fetch, "languages_use", _fetch, library, icon="download", type="primary")
    if fetched and wanted == MANY.name and (meaning.notice or current().refused_model):
        button(texts_library.FETCH_AGAIN, "languages_again", _fetch_again, library, icon="download")
    st.html(f"<p class='note'>{texts_library.BACKGROUND}</p>")


def _progress(library: Library, was_busy: bool) -> None:
    """How far it is, and the way back; the page is drawn anew when it is done."""
    fetch, work = library.meaning.fetching, library.reindexing()
    if was_busy and not languages_working(library):
        st.rerun()
    languages_under_way(library)
    if not folder_panel.same_computer():
        return
    if fetch is not None and fetch.running:
        button(
            texts_library.STOPPING if fetch.stopping else texts_library.STOP_FETCHING,
            "languages_stop", _stop, library, disabled=fetch.stopping,
        )  # fmt: skip
    elif work is not None and not library.meaning.fixed:
        button(texts_library.STAY, "languages_stay", _stay, library)


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


def _refuse(sentence: str) -> None:
    current().refused_model = sentence


def _only_here() -> None:
    """There is one index for all: raises SettingsError where the browser is elsewhere and a button
    was there before, or the browser was tampered with."""
    _refuse("")
    if not folder_panel.same_computer():
        raise SettingsError(texts_library.ONLY_HERE)


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
        library.meaning.fetching.stop()


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
