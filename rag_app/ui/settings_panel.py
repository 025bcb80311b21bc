"""Settings a person understands: how careful, how much to read, language, limits, where it is."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import streamlit as st

from rag_app.errors import SettingsError
from rag_app.library import Library
from rag_app.retrieval.embedding_choice import ENGLISH, MANY, EmbeddingChoice
from rag_app.ui import (
    browser,
    check_panel,
    live_answer,
    model_picker,
    state,
    texts,
    texts_answers,
    who,
)
from rag_app.ui import texts_library as words
from rag_app.ui.jobs import caught
from rag_app.ui.state import Session, current, open_dialog, open_page, say
from rag_app.ui.widgets import button, progress_bar, text_button

OPEN = "settings"  # the name of its dialog
_CAUTIONS = {"more": 0.3, "balanced": None, "careful": 0.65}
_READ = {"little": 4, "normal": None, "much": 16}


def open_button() -> None:
    """Opens it."""
    text_button(texts.SETTINGS, "settings", open_dialog, OPEN, icon="tune")


def draw(library: Library) -> None:
    """The dialog, if it is open."""
    session = current()
    if session.dialog != OPEN:
        return

    @st.dialog(texts.SETTINGS, on_dismiss=_close)
    def show() -> None:
        _choice(library, "caution", session.caution, _CAUTIONS, texts.CAUTION, texts.CAUTIONS)
        _choice(library, "top_k", session.top_k, _READ, texts.READ_MUCH, texts.READS)
        picked = model_picker.language_box("settings_language", texts.LANGUAGE_NEEDS_MODEL)
        if picked != session.language:
            model_picker.change(library, language=picked)
        _choose_keys(library, session)
        if library.scope.runs_the_app:  # there is one index for all
            _choose_languages(library)
        if button(texts.CHECK, "settings_check", icon="fact_check"):
            _close()
            open_page(check_panel.PAGE)
            st.rerun()
        st.html(texts.limits_set(library.settings))
        held = library.size_on_disk()
        folder = str(library.folder) if library.scope.runs_the_app else ""
        st.html(texts.kept_where(folder, len(library.documents()), held))
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


def _choose_keys(library: Library, session: Session) -> None:
    """Words that are dictated would press them, too."""
    wanted = st.checkbox(texts_answers.ONE_KEY, session.keys, key="settings_keys")
    st.html(f"<p class='note'>{texts_answers.ONE_KEY_NOTE}</p>")
    if wanted != session.keys:
        model_picker.change(library, keys=wanted)


def _everything(library: Library, session: Session) -> None:
    """Deleting takes two clicks."""
    if not session.asked_to_clear:
        button(texts.DELETE_EVERYTHING, "clear", _ask_to_clear, icon="delete_forever")
        return
    sure = texts.DELETE_SURE if library.scope.runs_the_app else texts.DELETE_MINE_SURE
    st.html(f"<p class='failed' role='alert'>{escape(sure)}</p>")
    with st.container(key="confirm-clear", horizontal=True):
        if button(texts.DELETE_NOW, "clear_now", type="primary"):
            _clear(library)
            st.rerun()
        button(texts.SETTINGS_KEEP, "clear_keep", _keep)


@caught(say)
def _clear(library: Library) -> None:
    before = current()
    live_answer.end_of(who.subject())
    library.clear()
    state.forget_pictures()
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
    options = list(words.OPTIONS)
    st.session_state.setdefault(_CHOICE, _kind(meaning.choice))
    picked = st.radio(
        words.LANGUAGES,
        options,
        format_func=words.OPTIONS.__getitem__,
        captions=[words.CAPTIONS[option] for option in options],
        key=_CHOICE,
        disabled=meaning.fixed or busy or not who.same_computer(),
    )
    if meaning.fixed:
        st.html(f"<p class='note'>{words.FIXED}</p>")
    elif not who.same_computer():
        st.html(f"<p class='note'>{words.ONLY_HERE}</p>")
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
        st.progress(texts.share(work.done, work.total), words.reindexing(work, wait))


def languages_hint(library: Library) -> None:
    """Brings it up, once, where most documents are not in English."""
    documents = library.documents()
    if not who.same_computer() or not library.meaning.worth_a_hint(documents):
        return
    with st.container(key="languages_hint"):
        st.html(f"<p class='note' role='status'>{escape(words.hint(documents))}</p>")
        with st.container(key="languages_hint_buttons", horizontal=True):
            text_button(words.CHOOSE_LANGUAGE_MODEL, "languages_open", open_dialog, OPEN)
            text_button(words.NOT_NOW, "languages_no", _change, library, EmbeddingChoice.settle)


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
    if fetched:
        button(
            again, "languages_use", _change, library, EmbeddingChoice.choose, wanted, icon="check",
            type="primary",
        )  # fmt: skip
    else:
        fetch = words.fetch(meaning.arrived)
        button(
            fetch, "languages_use", _change, library, EmbeddingChoice.fetch, icon="download",
            type="primary",
        )  # fmt: skip
    if fetched and wanted == MANY.name and (meaning.notice or current().refused_model):
        button(
            words.FETCH_AGAIN, "languages_again", _change, library,
            EmbeddingChoice.fetch_again, icon="download",
        )  # fmt: skip
    st.html(f"<p class='note'>{words.BACKGROUND}</p>")


def _progress(library: Library, was_busy: bool) -> None:
    """How far it is, and the way back; the page is drawn anew when it is done."""
    fetch, work = library.meaning.fetching, library.reindexing()
    if was_busy and not languages_working(library):
        st.rerun()
    languages_under_way(library)
    if not who.same_computer():
        return
    if fetch is not None and fetch.running:
        button(
            words.STOPPING if fetch.stopping else words.STOP_FETCHING,
            "languages_stop", _change, library, _stop, disabled=fetch.stopping,
        )  # fmt: skip
    elif work is not None and not library.meaning.fixed:
        button(words.STAY, "languages_stay", _change, library, _stay)


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


def _refuse(sentence: str) -> None:
    current().refused_model = sentence


@caught(_refuse)
def _change(library: Library, step: Callable[..., object], *of: object) -> None:
    """There is one index for all: raises SettingsError where the browser is elsewhere and a button
    was there before, or the browser was tampered with."""
    _refuse("")
    if not who.same_computer():
        raise SettingsError(words.ONLY_HERE)
    step(library.meaning, *of)


def _stop(meaning: EmbeddingChoice) -> None:
    if meaning.fetching is not None:
        meaning.fetching.stop()


def _stay(meaning: EmbeddingChoice) -> None:
    """Leave it at the model that answers, and show that one as chosen."""
    meaning.choose(meaning.answering)
    st.session_state[_CHOICE] = _kind(meaning.choice)
