"""Settings a person understands: how careful, how much to read, language, limits, where it is."""

from __future__ import annotations

from html import escape

import streamlit as st

from rag_app.answering.answer_language import LANGUAGES
from rag_app.library import Library
from rag_app.ui import check_panel, language_panel, model_picker, source, texts
from rag_app.ui import texts as words
from rag_app.ui.jobs import caught
from rag_app.ui.state import Session, current, say

OPEN = "settings"  # the name of its dialog
_CAUTIONS = {"more": 0.3, "balanced": None, "careful": 0.65}
_READ = {"little": 4, "normal": None, "much": 16}


def button() -> None:
    """Opens it."""
    st.button(
        words.SETTINGS, key="settings", icon=":material/tune:", type="tertiary", on_click=_open
    )


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
            language_panel.choose(library)
        if st.button(words.CHECK, key="settings_check", icon=":material/fact_check:"):
            _close()
            check_panel.open_page()
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
        st.button(
            words.DELETE_EVERYTHING,
            key="clear",
            icon=":material/delete_forever:",
            on_click=_ask_to_clear,
        )
        return
    sure = words.DELETE_SURE if library.scope.runs_the_app else words.DELETE_MINE_SURE
    st.html(f"<p class='failed' role='alert'>{escape(sure)}</p>")
    with st.container(key="confirm-clear", horizontal=True):
        if st.button(words.DELETE_NOW, key="clear_now", type="primary"):
            _clear(library)
            st.rerun()
        st.button(words.SETTINGS_KEEP, key="clear_keep", on_click=_keep)


@caught(say)
def _clear(library: Library) -> None:
    before = current()
    library.clear()
    source.forget_pictures()
    st.session_state["session"] = Session(id=before.id, drops=before.drops + 1)
    st.query_params.clear()


def _open() -> None:
    current().dialog = OPEN


def _close() -> None:
    session = current()
    session.dialog, session.asked_to_clear, session.refused_model = "", False, ""


def _ask_to_clear() -> None:
    current().asked_to_clear = True


def _keep() -> None:
    current().asked_to_clear = False
