"""A finished answer: what it says, how it was made, and what it rests on."""

from __future__ import annotations

from html import escape

import streamlit as st

from rag_app.export.conversation import where_in
from rag_app.highlighting import CITE, link_citations, mark
from rag_app.library import Library
from rag_app.questions import APP
from rag_app.types import QUOTING, Answer, Citation, Passage
from rag_app.ui import texts, texts_answers
from rag_app.ui.generation import Moment
from rag_app.ui.state import Exchange

_NEAREST = 3


def draw(library: Library, exchange: Exchange, moment: Moment) -> None:
    """Whatever came of a question."""
    if moment.text and not moment.answer:
        st.markdown(link_citations(moment.text, (), exchange.id, plain=exchange.quoting))
    if moment.error:
        sentence(moment.error)
    elif moment.answer is None:
        sentence(texts.STOPPED)
    elif moment.answer.generator == APP:
        sentence(moment.answer.text)
    elif moment.answer.abstained:
        _abstained(library, exchange, moment.answer)
    else:
        _answer(library, exchange, moment.answer)


def sentence(text: str) -> None:
    """What the app itself says, where an answer would stand."""
    st.html(f"<p class='sorry'>{escape(text)}</p>")


def _answer(library: Library, exchange: Exchange, answer: Answer) -> None:
    plain, where = answer.generator in QUOTING, where_in(library)
    if answer.short_answer and not answer.text.startswith(answer.short_answer):
        st.html(f"<p class='short'>{mark(answer.short_answer, ())}</p>")
    st.markdown(
        link_citations(answer.text, answer.citations, exchange.id, plain=plain, where=where)
    )
    _how(answer)
    if answer.citations:
        with st.expander(texts.sources(len(answer.citations))):
            st.html("".join(_source(exchange.id, answer, c, where(c)) for c in answer.citations))


def _abstained(library: Library, exchange: Exchange, answer: Answer) -> None:
    nearest = answer.passages[:_NEAREST]
    st.markdown(texts.ABSTAINED if nearest else texts.ABSTAINED_EMPTY)
    cards = "".join(
        _card(exchange.id, f"p{n}", p.name, _where(library, p), mark(p.chunk.text, ()))
        for n, p in enumerate(nearest, start=1)
    )
    if cards:
        tip = f"<p class='how'>{escape(texts.ABSTAINED_TRY)}</p>"
        st.html(f"<div class='near'>{cards}</div>{tip}")
    _how(answer)


def _where(library: Library, passage: Passage) -> str:
    return library.page_name(passage.chunk.document_id, passage.chunk.page, passage.name)


def _how(answer: Answer) -> None:
    notes = "".join(f"<p class='how'>{escape(note)}</p>" for note in answer.notes)
    st.html(f"<p class='how'>{escape(texts.how_made(answer))}</p>{notes}")


def _source(exchange_id: str, answer: Answer, citation: Citation, where: str) -> str:
    if not citation.quote:
        removed = f"<i class='removed'>{texts_answers.SOURCE_REMOVED}</i>"
        return _card(exchange_id, str(citation.number), citation.name, where, removed)
    passage = mark(*_context(answer, citation))
    return _card(exchange_id, str(citation.number), citation.name, where, passage)


def _context(answer: Answer, citation: Citation) -> tuple[str, list[tuple[int, int]]]:
    """The passage that holds the quote, and where in it the quote stands."""
    for passage in answer.passages:
        chunk = passage.chunk
        same_page = (chunk.document_id, chunk.page) == (citation.document_id, citation.page)
        if same_page and chunk.start <= citation.start and citation.end <= chunk.end:
            return chunk.text, [(citation.start - chunk.start, citation.end - chunk.start)]
    return citation.quote, [(0, len(citation.quote))]


def _card(exchange_id: str, number: str, name: str, where: str, passage: str) -> str:
    """A source as HTML; `passage` is HTML already."""
    badge = "" if number.startswith("p") else f"<span class='badge'>{number}</span>"
    return (
        f"<article class='card'><header>{badge}<b>{escape(name)}</b>"
        f"<span>{escape(texts.page(where))}</span>"
        f"<a href='{CITE}{exchange_id}-{number}'>{texts.OPEN_SOURCE}</a></header>"
        f"<p class='passage'>{passage}</p></article>"
    )
