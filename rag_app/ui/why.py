"""Why this answer? What was searched for and where, by whom it was made, how sure that is, and the
passages it was made from with their scores."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from html import escape

import streamlit as st

from rag_app.answering.wishes import wanted
from rag_app.errors import RagAppError
from rag_app.export.conversation import searched_for
from rag_app.highlighting import CITE, mark
from rag_app.library import Library
from rag_app.types import Answer, RetrieverKind
from rag_app.ui import texts, texts_answers
from rag_app.ui.state import Exchange, current

_AT_ONCE = 3  # passages that are seen without asking for more
_LOOKED_THROUGH = 60  # places of a ranking in which a passage is looked for


@dataclass(frozen=True, slots=True)
class Places:
    """By chunk id: in which place each search finds it, from 1."""

    words: dict[str, int]
    meaning: dict[str, int]


def draw(library: Library, exchange: Exchange) -> None:
    """The explanation under an answer."""
    answer = exchange.generation.now().answer if exchange.generation else None
    if answer is None:
        return
    task = wanted(searched_for(answer)) is not None
    places = None
    if answer.passages and not task:
        loading = library.warm_state == "warming"  # then it takes seconds
        with st.spinner(texts.WARMING) if loading else nullcontext():
            places = _places(library, exchange, answer)
    with st.container(key=f"why-{exchange.id}"):
        facts = "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
            for name, value in _facts(library, exchange, answer)
        )
        title = texts_answers.WHY_READ if task else texts_answers.WHY_PASSAGES
        items = [
            _passage(library, exchange, answer, number, places)
            for number, _ in enumerate(answer.passages, start=1)
        ]
        found = _list(items) if items else f"<p>{texts_answers.WHY_NONE}</p>"
        note = "" if task or not items else f"<p class='note'>{texts_answers.WHY_SCORE}</p>"
        st.html(f"<dl class='why'>{facts}</dl><h4>{escape(title)}</h4>{found}{note}")


def _list(items: list[str]) -> str:
    shown, rest = "".join(items[:_AT_ONCE]), items[_AT_ONCE:]
    more = ""
    if rest:
        label = escape(texts_answers.more_passages(len(rest)))
        more = f"<details><summary>{label}</summary><ul>{''.join(rest)}</ul></details>"
    return f"<div class='found'><ul>{shown}</ul>{more}</div>"


def _facts(library: Library, exchange: Exchange, answer: Answer) -> list[tuple[str, str]]:
    names = None
    if exchange.documents is not None:
        known = {document.id: document.name for document in library.documents()}
        names = [known.get(one, texts_answers.SOURCE_REMOVED) for one in exchange.documents]
    chosen = current().caution
    caution = library.settings.caution if chosen is None else chosen
    return [
        (texts_answers.WHY_UNDERSTOOD, f"“{searched_for(answer)}”"),
        (texts_answers.WHY_SEARCHED, texts_answers.searched(names)),
        (texts_answers.WHY_MADE, texts_answers.made_by(answer)),
        (texts_answers.WHY_SURE, texts_answers.how_sure(answer, caution)),
        (texts_answers.WHY_TOOK, texts_answers.took(answer)),
    ]


def _passage(
    library: Library,
    exchange: Exchange,
    answer: Answer,
    number: int,
    places: Places | None,
) -> str:
    passage = answer.passages[number - 1]
    chunk = passage.chunk
    cited = [
        (c.number, (c.start - chunk.start, c.end - chunk.start))
        for c in answer.citations
        if (c.document_id, c.page) == (chunk.document_id, chunk.page)
        and chunk.start <= c.start < c.end <= chunk.end
    ]
    said = [texts_answers.share(passage.score) if passage.score else ""]
    if places:
        found = places.words.get(chunk.id), places.meaning.get(chunk.id)
        best = max(p.score for p in answer.passages) or 1.0
        fits = texts_answers.strength(passage.score / best, *found)
        said = [fits, *said, texts_answers.found_by(*found)]
    said.append(texts_answers.cited_as([n for n, _ in cited]))
    where = texts.page(library.page_name(chunk.document_id, chunk.page, passage.name))
    facts = "".join(f"<span>{escape(one)}</span>" for one in said if one)
    return (
        f"<li><header><b>{escape(passage.name)}</b><span>{escape(where)}</span>"
        f"<a href='{CITE}{exchange.id}-p{number}'>{texts.OPEN_SOURCE}</a></header>"
        f"<p class='score'>{facts}</p>"
        f"<p class='passage'>{mark(chunk.text, [span for _, span in cited])}</p></li>"
    )


def _places(library: Library, exchange: Exchange, answer: Answer) -> Places | None:
    """Where each kind of search finds the passages now; None if it cannot be searched."""
    question = searched_for(answer)

    def places(kind: RetrieverKind) -> dict[str, int]:
        found = library.search(question, _LOOKED_THROUGH, exchange.documents, kind)
        return {passage.chunk.id: place for place, passage in enumerate(found, start=1)}

    try:
        return Places(places(RetrieverKind.BM25), places(RetrieverKind.DENSE))
    except RagAppError:  # the documents are gone, or there is no model: the rest is still true
        return None
