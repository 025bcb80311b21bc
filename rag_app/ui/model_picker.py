"""Who answers: the embedded reader, or a language model of the user's choice."""

from __future__ import annotations

from html import escape
from typing import Any

import streamlit as st

from rag_app.addresses import checked_url
from rag_app.answering.answer_language import LANGUAGES
from rag_app.answering.model_spec import QUOTING, WRITER, ModelSpec, parse
from rag_app.errors import RagAppError, SettingsError
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.text.highlighting import escape_markdown
from rag_app.ui import browser, texts, texts_answers, who
from rag_app.ui.state import Session, current
from rag_app.ui.widgets import button, progress_bar, text_button

# What a person chose: taken up when a session begins, kept when it changes.


def restore(library: Library) -> None:
    """What was chosen earlier, once in a session; what makes no sense any more is left out."""
    session = current()
    if session.restored:
        return
    session.restored = True
    kept = library.preferences.read()
    session.language = kept.language if kept.language in LANGUAGES else ""
    session.caution, session.top_k, session.keys = kept.caution, kept.top_k, kept.keys
    if not who.same_computer():
        return
    try:
        chosen = parse(kept.generator) if kept.generator else None
    except SettingsError:
        return
    if chosen and chosen.stays_here:
        session.generator = str(chosen)
    elif chosen:  # somebody else's questions may not go where one person chose to send theirs
        session.offered = str(chosen)


def change(library: Library, **chosen: Any) -> None:
    """Choose for this session, and for those that begin later.

    Who answers one who sits elsewhere is nobody else's choice."""
    session = current()
    for name, value in chosen.items():
        setattr(session, name, value)
    kept = of(session)
    if not who.same_computer():
        del kept["generator"]
    library.preferences.change(**kept)


def language_box(key: str, hint: str | None = None) -> str:
    """The field for the language of the answers; empty: the question's."""
    options = ["", *LANGUAGES]
    return st.selectbox(
        texts.ANSWERS_IN, options, options.index(current().language), key=key, help=hint,
        format_func=lambda one: one or texts.AS_ASKED,
    )  # fmt: skip


def of(session: Session) -> dict[str, Any]:
    """What a session has chosen; other choices are made for all sessions."""
    return {
        "generator": session.generator or "",
        "language": session.language,
        "caution": session.caution,
        "top_k": session.top_k,
        "keys": session.keys,
    }


def may_choose(choice: ModelSpec, settings: Settings) -> bool:
    """Whether the browser that is served may choose this. From another computer, nobody makes this
    one load a folder or call a server that the settings do not name."""
    given = choice.kind in (*QUOTING, WRITER) or choice == parse(settings.answers_by)
    shared = choice.kind == "openai" and choice.url in settings.shared_servers
    return given or shared or who.same_computer()


OFFERED = ("reader", "quotes")  # what needs nothing
_FAILED = "who_failed"  # the generator that could not be tried out
_SERVER, _FOLDER = "server", "folder"  # choices that need more than a click


def draw(library: Library) -> None:
    """The button at the top of the documents panel, and what opens under it."""
    session = current()
    if session.quicker and not library.models.missing(session.quicker):
        st.session_state["who_choice"] = session.quicker  # before the field that says so is drawn
        change(library, generator=session.quicker)
        session.quicker = ""
    now = session.generator or library.settings.answers_by
    with st.sidebar, st.container(key="who", horizontal=True, vertical_alignment="center"):
        label = escape_markdown(texts.who(parse(now)))
        with st.popover(label, icon=":material/edit_note:", type="tertiary"):
            _choose(library, session, now)
            goes = texts.where_it_goes(parse(now), who.same_computer())
            st.html(f"<p class='note' role='status'>{goes}</p>")
            _fetching(library, now, "who")
            _try_out(library, session, now)


def _choose(library: Library, session: Session, now: str) -> None:
    found = {
        str(ModelSpec("openai", model, server.url)): f"{model} · {server.name}"
        for server in session.servers
        for model in server.models
    }
    offered = [session.offered] if session.offered else []
    given = [library.settings.answers_by, *library.models.writers(), *OFFERED, now]
    given += [*offered, *found, *_fields(library.settings)]
    options = list(dict.fromkeys(given))
    picked = st.radio(
        texts.WHO_ANSWERS,
        options,
        index=options.index(now) if now in options else None,
        format_func=lambda one: escape_markdown(found.get(one) or texts.choice(one)),
        key="who_choice",
    )
    if who.same_computer():
        button(texts.LOOK_FOR_SERVERS, "who_look", _look, library, icon="search")
    if session.looked and not session.servers:
        st.html(f"<p class='note'>{texts.NO_SERVERS}</p>")
    try:
        written = _written(picked, library.settings)
        if written and written != now:
            _take(library, session, parse(written))
    except RagAppError as error:
        st.html(f"<p class='note' role='alert'>{escape(str(error))}</p>")


def _fields(settings: Settings) -> list[str]:
    """The choices with fields of their own that the browser that is served is offered."""
    if who.same_computer():
        return [_SERVER, _FOLDER]
    return [_SERVER] if settings.shared_servers else []


def _written(picked: str | None, settings: Settings) -> str:
    """The choice as one line, empty while something is missing. Raises SettingsError."""
    if picked == _SERVER:
        url = _address(settings)
        model = st.text_input(texts.MODEL, key="who_model").strip()
        st.html(f"<p class='note'>{texts.KEYS}</p>")
        return str(ModelSpec("openai", model, checked_url(url))) if url and model else ""
    if picked == _FOLDER:
        folder = st.text_input(texts.FOLDER, key="who_folder")
        return f"local:{folder.strip()}" if folder.strip() else ""
    return picked or ""


def _address(settings: Settings) -> str:
    """The address of a server, typed or one of those that the settings name."""
    if who.same_computer():
        example = "http://127.0.0.1:8000/v1"
        return st.text_input(texts.ADDRESS, key="who_url", placeholder=example).strip()
    return st.selectbox(texts.ADDRESS, settings.shared_servers, key="who_shared")


def _take(library: Library, session: Session, choice: ModelSpec) -> None:
    """Raises SettingsError for what the browser was not offered: it may have been tampered with."""
    if not may_choose(choice, library.settings):
        raise SettingsError(texts.NOT_FROM_ELSEWHERE)
    if session.generator != str(choice):
        session.tried = None
        change(library, generator=str(choice))
        st.rerun()


def _fetching(library: Library, now: str, place: str) -> None:
    """A part of the page that looks again while something is fetched. `place`: of its keys."""
    fetch = library.models.fetching
    running = fetch is not None and fetch.running
    every = 0.7 if running else None
    browser.fragment(_download, f"download-{place}", every)(library, now, running, place)


def _download(library: Library, now: str, was_running: bool, place: str) -> None:
    """Offered where the chosen model is not here yet; then how far it is."""
    fetch = library.models.fetching
    if fetch is not None and fetch.running:
        said = texts.downloading(fetch.done, fetch.total)
        progress_bar(current().pace, fetch.model, fetch.done, fetch.total, said)
        if who.manages(library):
            button(texts.STOP_FETCHING, f"{place}_stop", _stop, library)
        return
    if was_running:
        st.rerun()
    model = library.models.missing(now)
    if fetch is not None and fetch.error and fetch.model == model:
        st.html(f"<p class='note' role='alert'>{escape(fetch.error)}</p>")
    if model and not who.manages(library):
        st.html(f"<p class='note'>{texts.NOT_FETCHED}</p>")
    elif model:
        button(texts.FETCH_MODEL, f"{place}_download", _fetch, library, model, icon="download")


def _try_out(library: Library, session: Session, now: str) -> None:
    if now in QUOTING:
        return
    button(texts.TRY_OUT, "who_try", _tried, library, now)
    if session.tried:
        st.html(f"<p class='note' role='status'>{escape(session.tried)}</p>")
    model = library.models.fetched(now)
    if model and st.session_state.get(_FAILED) == now and who.manages(library):
        button(texts.FETCH_AGAIN, "who_again", _fetch_again, library, model, icon="download")


# Where the language model reads slowly here: brought up once, below what was waited for.


def slow_hint(library: Library) -> None:
    """Offers the quicker language model, fetches it if need be, and takes it."""
    session = current()
    now = session.generator or library.settings.answers_by
    wanted = session.quicker
    quicker = wanted or _worth_a_hint(library, session, now)
    if not quicker:
        return
    said = texts_answers.slow(parse(quicker), bool(library.models.missing(quicker)))
    with st.container(key="slow_hint"):
        st.html(f"<p class='note' role='status'>{escape(said)}</p>")
        if wanted:
            _fetching(library, wanted, "slow")
        with st.container(key="slow_hint_buttons", horizontal=True):
            if not wanted:
                text_button(
                    texts_answers.TAKE_QUICKER, "slow_take", _take_quicker, library, quicker
                )
            text_button(texts_answers.KEEP_SLOW, "slow_no", _settle_speed, library)


def _worth_a_hint(library: Library, session: Session, now: str) -> str:
    """The quicker choice, once an answer was waited for and unless that was settled."""
    written = any(one.generation and not one.quoting for one in session.exchanges)
    if not written or any(one.running for one in session.exchanges):
        return ""
    quicker = library.models.quicker(now)
    if not quicker or library.preferences.read().speed_settled:
        return ""
    return quicker if who.manages(library) or not library.models.missing(quicker) else ""


def _take_quicker(library: Library, quicker: str) -> None:
    current().quicker = quicker
    library.preferences.change(speed_settled=True)
    model = library.models.missing(quicker)
    if model and who.manages(library):
        library.models.fetch(model)


def _settle_speed(library: Library) -> None:
    session = current()
    if session.quicker:  # it is being fetched for this
        session.quicker = ""
        _stop(library)
    library.preferences.change(speed_settled=True)


def _look(library: Library) -> None:
    session = current()
    if who.same_computer():  # the button was there before
        session.servers, session.looked = library.models.servers(), True


def _tried(library: Library, generator: str) -> None:
    session = current()
    st.session_state[_FAILED] = ""
    try:
        session.tried = library.models.try_out(generator)
    except RagAppError as error:
        session.tried, st.session_state[_FAILED] = str(error), generator


# Models are kept for everybody: the buttons may have been there before.


def _fetch(library: Library, model: str) -> None:
    if who.manages(library):
        library.models.fetch(model)


def _stop(library: Library) -> None:
    if who.manages(library) and library.models.fetching is not None:
        library.models.fetching.end()


def _fetch_again(library: Library, model: str) -> None:
    current().tried, st.session_state[_FAILED] = None, ""
    if who.manages(library):
        library.models.fetch_again(model)
