"""The conversation: questions, answers as they come, and under each what can be done with it.

The buttons under an answer are plain HTML, with two listeners for all of them. Copying and reading
aloud happen in the browser; every other press is reported and carried out by the page. Thumbs have
a listener of their own, so that a small part of the page can take them without the rest being drawn
anew. The other one also says it when the browser has lost the network."""

from __future__ import annotations

import re
import time
from html import escape

import streamlit as st

from rag_app.answering.chain import MARKER
from rag_app.export.conversation import as_text, where_in
from rag_app.library import Library
from rag_app.storage.conversations import title_of
from rag_app.supervision import held
from rag_app.text.highlighting import link_citations, mark
from rag_app.text.languages import language
from rag_app.types import Answer, Document
from rag_app.ui import (
    answers,
    browser,
    composer,
    live_answer,
    state,
    texts,
    uploads,
    who,
)
from rag_app.ui import texts_answers as words
from rag_app.ui.browser import asset
from rag_app.ui.jobs import caught
from rag_app.ui.state import EARLIER, Session, ShownExchange, current, say
from rag_app.ui.widgets import button, submit_button, text_button

# A question changed in place and asked again: it takes the place of the old one and of all that
# came after it, once that has been said, or begins a new conversation with what came before.


def draw_editing(library: Library, exchange: ShownExchange) -> None:
    """The field that stands where the question stood."""
    later = _after(current(), exchange)
    with st.form("editing", border=False):
        st.text_area(
            words.EDITED_QUESTION,
            value=exchange.question,
            key=f"edited-{exchange.id}",
            label_visibility="collapsed",
            height="content",
        )
        if later:
            st.html(f"<p class='note'>{words.drops(len(later))}</p>")
        with st.container(horizontal=True):  # Ctrl and Enter press the first one
            submit_button(
                words.ASK_AGAIN, "edit_ask", _ask, library, exchange.id, False, type="primary"
            )
            if later:
                submit_button(
                    words.ASK_ELSEWHERE, "edit_elsewhere", _ask, library, exchange.id, True
                )
            submit_button(words.CANCEL_EDIT, "edit_cancel", _cancel, type="tertiary")


def _after(session: Session, exchange: ShownExchange) -> list[ShownExchange]:
    """What was asked later."""
    rest = session.exchanges[session.exchanges.index(exchange) + 1 :]
    return [one for one in rest if one.question.strip()]


@caught(say)
def _ask(library: Library, exchange_id: str, elsewhere: bool) -> None:
    session = current()
    state.sync(library)
    exchange = session.exchange(exchange_id)
    question = str(st.session_state[f"edited-{exchange_id}"]).strip()
    if exchange is None or not question:
        return
    only = _meant(library, exchange)
    if only is None and session.chosen(library.documents()) == []:
        say(texts.NONE_CHOSEN)  # before anything is forgotten for it
        return
    session.editing = session.opened = None
    if elsewhere:
        _branch(library, session, exchange, question)
    else:
        _cut(library, session, exchange, question)
    composer.submit(library, question, only=only, came_with=exchange.files)


def _meant(library: Library, exchange: ShownExchange) -> list[str] | None:
    """The documents that a question was asked of, as far as they are there; None: what is ticked,
    where it was asked of all, or none of them is left."""
    before = set(exchange.documents or ())
    return [d.id for d in library.documents() if d.id in before] or None


def _cut(library: Library, session: Session, exchange: ShownExchange, question: str) -> None:
    """Forget the exchange and what came after it."""
    at = session.exchanges.index(exchange)
    live_answer.stop(gone.id for gone in session.exchanges[at:])
    if exchange.kept:
        _retitle(library, session, at, exchange, question)
        library.conversations.cut(exchange.id)
    del session.exchanges[at:]


def _retitle(
    library: Library, session: Session, at: int, exchange: ShownExchange, question: str
) -> None:
    """A conversation that is called by its first question goes by the changed one."""
    known = library.conversations.conversation(session.conversation or "")
    first = not any(one.kept for one in session.exchanges[:at])
    if known and first and known.title == title_of(exchange.question):
        library.conversations.rename(known.id, question)


def _branch(library: Library, session: Session, exchange: ShownExchange, question: str) -> None:
    """Go on in a new conversation that begins with what came before."""
    new = library.conversations.branch(exchange.id, question) if exchange.kept else None
    session.conversation, session.changes = new, 0
    session.exchanges = []
    if new:
        session.changes = library.conversations.changes(new)
        session.exchanges = state.exchanges_of(library, new)


def _cancel() -> None:
    current().editing = None


_AT_ONCE = 0.4  # seconds an answer may take and be drawn without a word about waiting
# Seconds for each answer in the making: a look takes a browser a tenth of a second of a core.
_LOOK_AGAIN = 0.3
_FEW = 4  # answers in the making; more are a crowd
_PATIENCE = 15.0  # seconds, in a crowd


def draw(library: Library) -> None:
    """The conversation so far, the last exchanges of it: drawing costs what is shown."""
    session = current()
    if not session.exchanges:
        return
    hidden = len(session.exchanges) - session.shown
    if hidden > 0:
        text_button(words.earlier(hidden), "earlier", _show_earlier)
    for exchange in session.exchanges[-session.shown :]:
        _exchange(library, session, exchange)


@caught(say)
def press(library: Library) -> None:
    """Carry out what was pressed under an answer. Call it before anything else is drawn:

    whatever has the page drawn anew from the start would lose the press."""
    session, found = current(), pressed()
    if found is None:
        return
    act, exchange = found
    if act == "again":
        composer.begin(library, session, exchange, who.subject())
    elif act == "edit":
        session.editing = exchange.id
    elif act == "why":
        session.explained ^= {exchange.id}


def field(library: Library) -> None:
    """The field for the next question; files can be dropped on it, too.

    It is never disabled: what is sent from it while a run is on its way would be lost, because what
    comes from a field that was disabled meanwhile is thrown away. Questions wait for each other."""
    session, documents = current(), library.documents()
    chosen = session.chosen(documents)
    hint = texts.ASK if chosen is None else texts.ask_some(len(chosen), len(documents))
    with st.bottom:
        _asked_of(session, chosen, documents)
        st.chat_input(
            hint if documents else texts.ASK_NOTHING_YET,
            key="question",
            accept_file="multiple",
            on_submit=_submitted,
        )


def _asked_of(session: Session, chosen: list[str] | None, documents: list[Document]) -> None:
    """Which documents are asked, if some are left out, and what takes them all again."""
    # Its place is always there, so that the field under it never moves.
    with st.container(key="asked_of", horizontal=True, vertical_alignment="center"):
        if chosen is not None:
            st.html(f"<p class='note'>{escape(texts.asking(len(chosen), len(documents)))}</p>")
            text_button(texts.ASK_ALL, "ask_all", lambda: session.untick(()))


@caught(say)
def take(library: Library) -> None:
    """Ask what was typed into the field. Call it before anything that speaks of questions is drawn.

    Not a callback's work: those of clicks that arrive together are called in any order, and the
    tick that was set before the question has to count."""
    session = current()
    while session.typed:
        given = session.typed[0]  # a run that is broken off while files are added comes again
        with held() as attempt:
            composer.submit(library, given.text, given.files)
        session.typed.pop(0)
        if attempt.error is not None:
            raise attempt.error


def _submitted() -> None:
    if given := st.session_state["question"]:
        uploads.shared().hold(given.files)
        current().typed.append(given)


def _show_earlier() -> None:
    current().shown += EARLIER


def _exchange(library: Library, session: Session, exchange: ShownExchange) -> None:
    with st.chat_message("user"):
        if session.editing == exchange.id:
            draw_editing(library, exchange)
        else:
            _question(exchange)
    with st.chat_message("assistant"):
        if exchange.error or exchange.generation is None:
            answers.sentence(exchange.error or texts.ATTACHED)
            return
        at_once = exchange.seen or _soon(library, exchange, exchange.generation)
        exchange.seen = True
        if exchange.running or not at_once:
            pause = _LOOK_AGAIN * min(max(live_answer.running(), 1), _FEW)
            browser.fragment(_live, f"answer-{exchange.id}", pause)(library, exchange)
            return
        exchange.drawn = True
        state.take_back(library, exchange)
        answers.draw(library, exchange, exchange.generation.now())
        explained = exchange.id in session.explained
        action_row(library, exchange, explained)
        draw_reason(library, exchange)
        if explained:
            answers.draw_why(library, exchange)


def _soon(
    library: Library,
    exchange: ShownExchange,
    made: live_answer.Generation | live_answer.FinishedGeneration,
) -> bool:
    """Whether an answer came while this run of the script waited for it.

    In a crowd the run waits long: pages that look again and again take from the answers. What a
    language model writes is shown as it comes, in a crowd, too."""
    if made.wait(_AT_ONCE) or not exchange.quoting:
        return made.now().done
    place, came, end = st.empty(), False, time.monotonic() + _PATIENCE
    while not came and live_answer.running() > _FEW and time.monotonic() < end:
        waited = made.now().seconds
        place.html(_working(_waiting(library), waited))  # a newer click may end this run here
        came = made.wait(_AT_ONCE)
    place.empty()
    return came


_UNSAID = 2.0  # seconds of waiting that are not counted aloud


def _waiting(library: Library, found: bool = False) -> str:
    if library.warm_state == "warming":
        return texts.WARMING
    return texts.WRITING if found else texts.SEARCHING


def _working(said: str, seconds: float = 0.0) -> str:
    """What is being done, and for how long by now; what is read aloud does not count along."""
    counted = f" <span aria-hidden='true'>{texts.waited(seconds)}</span>"
    clock = counted if said and seconds > _UNSAID else ""
    return f"<p class='working' role='status'>{said}{clock}</p>"


def _question(exchange: ShownExchange) -> None:
    files = "".join(f"<div class='attached'>{escape(f)}</div>" for f in exchange.files[:8])
    more = len(exchange.files) - 8
    files += f"<div class='attached'>{texts.waiting_more(more)}</div>" if more > 0 else ""
    st.html(f"<div class='question'>{mark(exchange.question, ())}</div>{files}")


def _parts(exchange: ShownExchange, moment: live_answer.Moment) -> str:
    """How far long work is, and how long it will still take."""
    done, total = moment.parts
    if total < 2:
        return ""
    left = current().pace.left(f"answer {exchange.id}", done, total)
    return texts.left(texts.in_parts(done, total), left)


def _live(library: Library, exchange: ShownExchange) -> None:
    """An answer in the making. It looks again and again, and has the page drawn when it is done."""
    running = exchange.generation
    if running is None or running.now().done:
        st.rerun()
        return
    moment = running.now()
    reading = set(exchange.first) & library.progress().keys() and not moment.passages
    if moment.text:
        st.markdown(link_citations(moment.text, (), exchange.id, plain=exchange.quoting))
    if moment.passages and not exchange.quoting:
        if moment.closest and not moment.text:
            answers.perhaps(library, exchange.id, moment.closest, moment.passages)
        answers.read_from(library, exchange.id, moment.passages)
    with st.container(key=f"working-{exchange.id}", horizontal=True, vertical_alignment="center"):
        found = bool(moment.passages) and not exchange.quoting
        waiting = texts.READING_FIRST if reading else _waiting(library, found)
        parts = _parts(exchange, moment)
        st.html(_working(parts or ("" if moment.text else waiting), 0 if parts else moment.seconds))
        button(texts.STOP, f"stop-{exchange.id}", running.stop, icon="stop")


# The row of buttons under an answer.

ACTIONS, THUMBS = "actions", "thumbs"

_KINDS = {ACTIONS: ("copy", "say", "again", "edit", "why"), THUMBS: ("up", "down")}
_ACT = re.compile(r"([a-z]+):([0-9a-f]{16})")

_HTML = '<div id="said" role="status"></div><div id="lost" role="alert" popover="manual"></div>'

_listener = st.components.v2.component(
    "rag_app_actions", html=_HTML, css=asset("answer_actions.css"), js=asset("answer_actions.js")
)


def pressed(key: str = ACTIONS) -> tuple[str, ShownExchange] | None:
    """Which button was just pressed, and under which answer. Call it before answers are drawn.

    It comes from the browser, so it may be anything."""
    with st.container(key=f"{key}_listener"):
        said = _listener(
            key=key,
            data={
                "kinds": _KINDS[key],
                "copied": words.COPIED,
                "failed": words.NOT_COPIED,
                "offline": words.OFFLINE,
            },
            on_act_change=lambda: None,
        ).act
    found = _ACT.fullmatch(said) if isinstance(said, str) else None
    exchange = current().exchange(found[2]) if found else None
    if found is None or exchange is None or exchange.running or found[1] not in _KINDS[key]:
        return None
    return found[1], exchange


def action_row(library: Library, exchange: ShownExchange, why: bool) -> None:
    """The buttons that make sense under an answer; `why`: that it says why is on."""
    answer = exchange.answer
    buttons = []
    if answer and exchange.kept:
        buttons += [
            _button("up", exchange, words.GOOD, pressed=exchange.rating > 0),
            _button("down", exchange, words.BAD, pressed=exchange.rating < 0),
        ]
    if answer:
        buttons.append(_button("copy", exchange, words.COPY))
        buttons.append(_aloud(library, exchange, answer))
    buttons.append(_button("again", exchange, words.ANSWER_AGAIN))
    buttons.append(_button("edit", exchange, words.EDIT))
    if answer:
        buttons.append(_button("why", exchange, words.WHY, expanded=why))
    copied = ""
    if answer:
        text = as_text(answer, where_in(library))
        copied = f"<span class='to-copy' hidden>{escape(text)}</span>"
    label = escape(words.ABOUT_ANSWER, quote=True)
    st.html(f"<div class='acts' role='group' aria-label='{label}'>{''.join(buttons)}{copied}</div>")


_MARKUP = re.compile(r"[*_`#|>]+")


def _aloud(library: Library, exchange: ShownExchange, answer: Answer) -> str:
    """Reads the answer with a voice of the browser, which shows the button if it has one."""
    said = _MARKUP.sub(" ", MARKER.sub("", answer.text))
    known = library.warm_state == "ready"  # or the page would wait for what tells languages
    spoken = f" data-lang='{language(said) if known else ''}' data-said='{escape(said)}'"
    return _button("say", exchange, words.READ_ALOUD, pressed=False, more=spoken)


def _button(
    act: str,
    exchange: ShownExchange,
    label: str,
    *,
    pressed: bool | None = None,
    expanded: bool | None = None,
    more: str = "",
) -> str:
    state = more + ("" if pressed is None else f" aria-pressed='{str(pressed).lower()}'")
    state += "" if expanded is None else f" aria-expanded='{str(expanded).lower()}'"
    return (
        f"<button type='button' data-act='{act}:{exchange.id}' aria-label='{escape(label)}'{state}>"
        f"<span>{escape(label)}</span></button>"
    )


# Thumbs: an answer is good or bad, and if it is bad, why. Kept with the answer in the store.
#
# A thumb is shown by the browser at once and taken by a part of the page that is only that: a
# conversation of any length is not drawn anew for it.


def listen(library: Library) -> None:
    """Take a thumb that was pressed. Call it before anything else is drawn: whatever has the page
    drawn anew from the start would lose it."""
    session = current()
    session.drawing = True
    try:
        browser.fragment(_take_thumb, "thumbs")(library)
    finally:
        session.drawing = False


def _take_thumb(library: Library) -> None:
    session = current()
    before = session.reasoning, session.notice
    with caught(say):
        found = pressed(THUMBS)
        if found is not None:
            rate(library, found[1], 1 if found[0] == "up" else -1)
    if (session.reasoning, session.notice) != before and not session.drawing:
        session.redraw = True
        st.rerun()  # what was asked under the answer, or what is to be said, is elsewhere


def rate(library: Library, exchange: ShownExchange, rating: int) -> None:
    """1 good, -1 bad; the same again takes it back."""
    session = current()
    exchange.rating = 0 if exchange.rating == rating else rating
    library.conversations.rate(exchange.id, exchange.rating)
    session.reasoning = exchange.id if exchange.rating < 0 else None


def draw_reason(library: Library, exchange: ShownExchange) -> None:
    """Asks for the reason of a bad rating, right after it was given."""
    if current().reasoning != exchange.id:
        return
    with st.form("reason", border=False), st.container(key="reason_box"):
        st.pills(
            words.WHAT_WAS_WRONG,
            list(words.REASONS),
            format_func=lambda reason: words.REASONS[reason],
            key="reason_kind",
        )
        st.text_input(
            words.REASON_TEXT,
            key="reason_text",
            placeholder=words.REASON_TEXT,
            label_visibility="collapsed",
            max_chars=1_000,
        )
        st.html(f"<p class='note'>{words.RATING_KEPT}</p>")
        with st.container(horizontal=True):
            submit_button(words.SEND, "reason_send", _send_reason, library, exchange.id)
            submit_button(words.SKIP, "reason_skip", _skip_reason, type="tertiary")


@caught(say)
def _send_reason(library: Library, exchange_id: str) -> None:
    kind, said = st.session_state["reason_kind"], st.session_state["reason_text"]
    reason = ": ".join(part.strip() for part in (kind, said) if part and part.strip())
    library.conversations.rate(exchange_id, -1, reason)
    current().reasoning = None


def _skip_reason() -> None:
    current().reasoning = None
