"""The conversation: questions, answers as they come, and under each what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from rag_app.answering.choice import parse
from rag_app.highlighting import CITE, link_citations, mark
from rag_app.library import Library
from rag_app.types import Answer, Citation
from rag_app.ui import adding, generation, texts
from rag_app.ui.boundary import caught
from rag_app.ui.generation import Moment
from rag_app.ui.state import Exchange, current, say

_SHOWN = 20
_NEAREST = 3
_AT_ONCE = 0.4  # seconds an answer may take and be drawn without a word about waiting


def draw(library: Library) -> None:
    """The conversation so far."""
    session = current()
    exchanges = session.exchanges
    if len(exchanges) > _SHOWN and not session.show_earlier:
        st.button(texts.EARLIER, key="earlier", type="tertiary", on_click=_show_earlier)
        exchanges = exchanges[-_SHOWN:]
    for exchange in exchanges:
        _exchange(library, exchange)


def field(library: Library) -> None:
    """The field for the next question; files can be dropped on it, too."""
    session, documents = current(), library.documents()
    chosen = session.chosen(documents)
    hint = texts.ASK if chosen is None else texts.ask_some(len(chosen), len(documents))
    st.chat_input(
        hint if documents else texts.ASK_NOTHING_YET,
        key="question",
        accept_file="multiple",
        disabled=any(exchange.running for exchange in session.exchanges[-1:]),
        on_submit=_submitted,
        args=(library,),
    )


def submit(
    library: Library,
    question: str,
    uploads: Sequence[adding.Upload] = (),
    only: list[str] | None = None,
) -> None:
    """Take files and a question, or either; the answer is made in the background.

    Of `only` these documents if they are given, else of those that are ticked."""
    session = current()
    first = adding.add(library, session, uploads) if uploads else []
    exchange = Exchange(question, tuple(upload.name for upload in uploads), first=tuple(first))
    session.exchanges.append(exchange)
    if not question.strip() and uploads:
        return
    exchange.documents = only or session.chosen(library.documents())
    if exchange.documents == []:
        exchange.error = texts.NONE_CHOSEN
        return
    _begin(library, exchange)


def _begin(library: Library, exchange: Exchange) -> None:
    """Have the answer made by who answers now."""
    by = current().generator
    exchange.quoting = parse(by or library.settings.generator).kind in texts.QUOTING
    exchange.seen = False
    session = current()
    if not exchange.kept:
        if session.conversation is None:
            session.conversation = library.conversations.start(exchange.question)
        exchange.id = library.conversations.ask(
            session.conversation, exchange.question, exchange.documents
        )
        exchange.kept = True
    exchange.generation = generation.ask(
        library,
        exchange.id,
        exchange.question,
        exchange.documents,
        exchange.first,
        by,
        session.turns_before(exchange),
        session.language,
    )


@caught(say)
def _again(library: Library, exchange: Exchange) -> None:
    _begin(library, exchange)


@caught(say)
def _submitted(library: Library) -> None:
    given = st.session_state["question"]
    if given:
        submit(library, given.text, given.files)


def _show_earlier() -> None:
    current().show_earlier = True


def _exchange(library: Library, exchange: Exchange) -> None:
    with st.chat_message("user"):
        files = "".join(f"<div class='attached'>{escape(f)}</div>" for f in exchange.files[:8])
        more = len(exchange.files) - 8
        files += f"<div class='attached'>{texts.waiting_more(more)}</div>" if more > 0 else ""
        st.html(f"<div class='question'>{mark(exchange.question, ())}</div>{files}")
    with st.chat_message("assistant"):
        if exchange.error or exchange.generation is None:
            _sentence(exchange.error or texts.ATTACHED)
            return
        at_once = exchange.seen or exchange.generation.wait(_AT_ONCE)
        exchange.seen = True
        if exchange.running or not at_once:
            st.fragment(_live, run_every=0.3)(library, exchange)
        else:
            _finished(exchange, exchange.generation.now())
            if exchange is current().exchanges[-1]:
                st.button(
                    texts.AGAIN,
                    key="again",
                    type="tertiary",
                    icon=":material/refresh:",
                    on_click=_again,
                    args=(library, exchange),
                )


def _live(library: Library, exchange: Exchange) -> None:
    """An answer in the making. It looks every 0.3 s, and draws the page anew when it is done."""
    running = exchange.generation
    if running is None or running.now().done:
        st.rerun()
        return
    moment = running.now()
    reading = set(exchange.first) & library.progress().keys() and not moment.passages
    if moment.text:
        st.markdown(link_citations(moment.text, (), exchange.id, plain=exchange.quoting))
    with st.container(key="working", horizontal=True, vertical_alignment="center"):
        waiting = texts.WARMING if library.warm_state == "warming" else texts.SEARCHING
        waiting = texts.READING_FIRST if reading else waiting
        st.html(f"<p class='working' role='status'>{'' if moment.text else waiting}</p>")
        st.button(texts.STOP, key="stop", icon=":material/stop:", on_click=running.stop)


def _finished(exchange: Exchange, moment: Moment) -> None:
    if moment.text and not moment.answer:
        st.markdown(link_citations(moment.text, (), exchange.id, plain=exchange.quoting))
    if moment.error:
        _sentence(moment.error)
    elif moment.answer is None:
        _sentence(texts.STOPPED)
    elif moment.answer.abstained:
        _abstained(exchange, moment.answer)
    else:
        _answer(exchange, moment.answer)


def _answer(exchange: Exchange, answer: Answer) -> None:
    plain = answer.generator in texts.QUOTING
    if answer.short_answer and not answer.text.startswith(answer.short_answer):
        st.html(f"<p class='short'>{mark(answer.short_answer, ())}</p>")
    st.markdown(link_citations(answer.text, answer.citations, exchange.id, plain=plain))
    _how(answer)
    if answer.citations:
        with st.expander(texts.sources(len(answer.citations))):
            cards = [
                _card(exchange.id, str(c.number), c.name, c.page, mark(*_context(answer, c)))
                for c in answer.citations
            ]
            st.html("".join(cards))


def _abstained(exchange: Exchange, answer: Answer) -> None:
    nearest = answer.passages[:_NEAREST]
    st.markdown(texts.ABSTAINED if nearest else texts.ABSTAINED_EMPTY)
    st.html(
        "".join(
            _card(exchange.id, f"p{n}", p.name, p.chunk.page, mark(p.chunk.text, ()))
            for n, p in enumerate(nearest, start=1)
        )
    )
    _how(answer)


def _how(answer: Answer) -> None:
    notes = "".join(f"<p class='how'>{escape(note)}</p>" for note in answer.notes)
    st.html(f"<p class='how'>{escape(texts.how_made(answer))}</p>{notes}")


def _context(answer: Answer, citation: Citation) -> tuple[str, list[tuple[int, int]]]:
    """The passage that holds the quote, and where in it the quote stands."""
    for passage in answer.passages:
        chunk = passage.chunk
        same_page = (chunk.document_id, chunk.page) == (citation.document_id, citation.page)
        if same_page and chunk.start <= citation.start and citation.end <= chunk.end:
            return chunk.text, [(citation.start - chunk.start, citation.end - chunk.start)]
    return citation.quote, [(0, len(citation.quote))]


def _card(exchange_id: str, number: str, name: str, page: int, passage: str) -> str:
    """A source as HTML; `passage` is HTML already."""
    badge = "" if number.startswith("p") else f"<span class='badge'>{number}</span>"
    return (
        f"<article class='card'><header>{badge}<b>{escape(name)}</b>"
        f"<span>{escape(texts.page(page))}</span>"
        f"<a href='{CITE}{exchange_id}-{number}'>{texts.OPEN_SOURCE}</a></header>"
        f"<p class='passage'>{passage}</p></article>"
    )


def _sentence(text: str) -> None:
    """What the app itself says, where an answer would stand."""
    st.html(f"<p class='sorry'>{escape(text)}</p>")
