"""A finished answer: what it says, how it was made, and what it rests on."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from html import escape

import altair as alt
import streamlit as st

from rag_app.errors import RagAppError
from rag_app.export import messages
from rag_app.export.conversation import file_name, where_in
from rag_app.export.readable import CELLS, PageMarks, header_row, readable
from rag_app.library import Library
from rag_app.text import formats
from rag_app.text.highlighting import CITE, escape_formula, escape_markdown, link_citations, mark
from rag_app.types import (
    Answer,
    Basis,
    Cell,
    Chunk,
    Citation,
    Computation,
    Document,
    NoteKind,
    Passage,
    RetrieverKind,
    Task,
)
from rag_app.ui import composer, texts
from rag_app.ui import texts_answers as words
from rag_app.ui.jobs import caught
from rag_app.ui.live_answer import Moment
from rag_app.ui.state import ShownExchange, current, say
from rag_app.ui.widgets import button, table

_NEAREST = 3
_HEEDED = (NoteKind.UNSUPPORTED, NoteKind.OTHERWISE)  # seen before an answer is relied on


def draw(library: Library, exchange: ShownExchange, moment: Moment) -> None:
    """Whatever came of a question."""
    if moment.text and not moment.answer:
        st.markdown(link_citations(moment.text, (), exchange.id, plain=exchange.quoting))
    if moment.error:  # an answer that there was before is as good as it was
        sentence(moment.error)
    if moment.answer is None:
        if not moment.error:
            sentence(texts.STOPPED)
    elif moment.answer.task is Task.CHITCHAT:
        sentence(moment.answer.text)
    elif any(note.kind is NoteKind.WHICH_DOCUMENTS for note in moment.answer.notes):
        _which(library, exchange, moment.answer)
    else:
        (_abstained if moment.answer.abstained else _answer)(library, exchange, moment.answer)
        lead = words.other_sheets(moment.answer.abstained)
        _offered(library, exchange, moment.answer, NoteKind.OTHER_SHEETS, lead)


def _which(library: Library, exchange: ShownExchange, answer: Answer) -> None:
    """It was not clear which documents are meant: a button for each that could be."""
    sentence(answer.text)
    _offered(library, exchange, answer, NoteKind.WHICH_DOCUMENTS)


def _offered(
    library: Library, exchange: ShownExchange, answer: Answer, kind: NoteKind, lead: str = ""
) -> None:
    """A button for each document that a note of this kind names, to ask the same of it alone."""
    named = [name for note in answer.notes if note.kind is kind for name in note.values]
    if not named:
        return
    documents = library.documents()  # those of one name are told apart by where they are
    meant = [one for name in dict.fromkeys(named) for one in documents if one.name == name]
    if not meant:
        return
    with st.container(key=f"which-{exchange.id}", horizontal=True, gap="small"):
        if lead:
            st.html(f"<p class='how'>{escape(lead)}</p>")
        for number, (label, one) in enumerate(zip(_called(library, meant), meant, strict=True)):
            button(
                escape_markdown(label),
                f"which-{exchange.id}-{number}",
                _of_one,
                library,
                answer.query,
                one.id,
            )


def _called(library: Library, documents: Sequence[Document]) -> list[str]:
    """The names of documents, with the collection's where several are called alike."""
    names = [one.name for one in documents]
    if len({*names}) == len(names):
        return names
    held = {of.id: of.name for of, _ in library.access.collections_of(library.scope.subject)}
    return [
        words.in_collection(one.name, held.get(one.collection, ""))
        if names.count(one.name) > 1
        else one.name
        for one in documents
    ]


@caught(say)
def _of_one(library: Library, question: str, document_id: str) -> None:
    composer.submit(library, question, only=[document_id])


def sentence(text: str) -> None:
    """What the app itself says, where an answer would stand."""
    st.html(f"<p class='sorry'>{escape(text)}</p>")


def _answer(library: Library, exchange: ShownExchange, answer: Answer) -> None:
    plain, where = answer.basis is not Basis.WRITTEN, where_in(library)
    if answer.short_answer not in answer.text:  # else it is bold in the sentence that says it
        st.html(f"<p class='short'>{mark(answer.short_answer, ())}</p>")
    st.markdown(
        link_citations(
            answer.text,
            answer.citations,
            exchange.id,
            plain=plain,
            where=where,
            stressed=answer.stressed or answer.short_answer,
        )
    )
    _how(answer)
    if answer.computation:
        _computed(library, exchange.id, answer, answer.computation)
    elif answer.citations:
        with st.expander(texts.sources(len(answer.citations))):
            st.html("".join(_source(exchange.id, answer, c, where(c)) for c in answer.citations))


# What was computed: the figures as a table and a chart, the rows that they rest on, the query.

_LINE_HEIGHT, _BAR_HEIGHT = 240, 34  # of a chart, of one bar of it; pixels
_BAR_BESIDE = 16  # of one more bar of the same name
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]*%?")  # it computes nothing, whatever it begins with
_SHOWN_ROWS = 12  # of a result, before the rest is only in the file
_NAME_WIDTH, _NAME_LINES = 24, 2  # of a name beside its bar; characters


def _computed(library: Library, exchange_id: str, answer: Answer, computed: Computation) -> None:
    if len(computed.rows) > 1:
        _chart(computed)
        most = formats.shown_of(len(computed.rows), _SHOWN_ROWS)
        shown = (map(escape, row) for row in computed.rows[:most])
        st.html(table(messages.headings(computed), shown))
        if more := len(computed.rows) - most:
            st.html(f"<p class='note'>{words.more_rows(more)}</p>")
        st.download_button(
            words.RESULT_FILE,
            partial(_result_file, library, exchange_id, computed),
            file_name(answer.question, "csv"),
            current().file_type,
            key=f"result-{exchange_id}",
            on_click="ignore",  # drawn anew in the meantime, it would be another file, and gone
            type="tertiary",
            icon=":material/download:",
        )
    rows = sum(used.count for used in computed.used)
    if rows:
        with st.expander(words.rows_behind(rows)), st.container(key=f"rows-{exchange_id}"):
            st.html(_rows_behind(exchange_id, answer, computed))
    if computed.sql:
        with st.expander(words.HOW_COMPUTED):
            st.code(computed.sql, language=None, wrap_lines=True)  # SQL's colours are pale


def _result_file(library: Library, exchange_id: str, computed: Computation) -> bytes:
    """A result, to be taken away. Raises UnknownDocument for what is not shared any more."""
    for used in computed.used:
        library.document(used.document_id)
    library.taken_away(exchange_id, "csv")
    return _csv(computed)


def _chart(computed: Computation) -> None:
    """Bars, or a line over days and months, where names stand beside figures."""
    width = len(computed.columns)
    figures = [at for at in range(width) if _has_figures(computed, at)]
    if width < 2 or 0 in figures or figures != list(range(1, width)):
        return
    columns = messages.headings(computed)[1:]
    names = _names([row[0] for row in computed.rows])
    if len({*columns}) < len(columns) or (not computed.over_time and len({*names}) < len(names)):
        return  # bars of one name would lie on each other, or be a sum that nobody asked for
    rows = [
        {"name": name, "figure": column, "value": numbers[at]}
        for name, numbers in zip(names, computed.numbers, strict=True)
        for at, column in enumerate(columns, start=1)
        if numbers[at] is not None
    ]
    chart = alt.Chart(alt.InlineData(values=rows))
    value, name = alt.value("#4f74dd"), alt.X("name:N", title=None, sort=None)
    colour = alt.Color("figure:N", title=None, sort=None) if len(columns) > 1 else value
    if computed.over_time:
        drawn = chart.mark_line(point=True).encode(
            x=name, y=alt.Y("value:Q", title=None), color=colour
        )
    else:
        lines = alt.Axis(labelExpr="split(datum.label, '\\n')", labelLimit=0)
        named = alt.Y("name:N", title=None, sort=None, axis=lines)
        drawn = chart.mark_bar(cornerRadiusEnd=3, height={"band": 0.6}).encode(
            x=alt.X("value:Q", title=None, stack=None), y=named, color=colour
        )
        if len(columns) > 1:
            drawn = drawn.encode(yOffset=alt.YOffset("figure:N", sort=None))
    bars = _BAR_HEIGHT + _BAR_BESIDE * (len(columns) - 1)
    tall = _LINE_HEIGHT if computed.over_time else bars * len(computed.rows) + _BAR_HEIGHT
    st.altair_chart(drawn.properties(height=tall))


def _has_figures(computed: Computation, at: int) -> bool:
    """Whether a column of a result has figures, and beside them nothing but gaps."""
    texts_beside = (
        row[at]
        for row, numbers in zip(computed.rows, computed.numbers, strict=True)
        if numbers[at] is None
    )
    filled = any(numbers[at] is not None for numbers in computed.numbers)
    return filled and not any(any(map(str.isalnum, text)) for text in texts_beside)


def _names(texts: Sequence[str]) -> list[str]:
    """Names on a few lines, cut where they still differ then."""
    wrapped = [
        "\n".join(textwrap.wrap(text, _NAME_WIDTH, max_lines=_NAME_LINES, placeholder=" …"))
        for text in texts
    ]
    return wrapped if len(set(wrapped)) == len(set(texts)) else list(texts)


def _rows_behind(exchange_id: str, answer: Answer, computed: Computation) -> str:
    """The rows, each cell that is cited a link to its place."""
    numbers = {(c.document_id, c.page, c.start): c.number for c in answer.citations}
    parts = []
    for used in computed.used:
        rows = [
            [
                _linked(cell, numbers.get((used.document_id, cell.page, cell.start)), exchange_id)
                for cell in row
            ]
            for row in used.rows
        ]
        title = " · ".join(filter(None, (used.name, used.table)))
        parts.append(f"<h4>{escape(title)}</h4>{table(used.columns, rows)}")
        if more := used.count - len(used.rows):
            parts.append(f"<p class='note'>{words.more_rows(more)}</p>")
    return "".join(parts)


def _linked(cell: Cell, number: int | None, exchange_id: str) -> str:
    said = escape(cell.text)
    return f"<a href='{CITE}{exchange_id}-{number}'>{said}</a>" if number else said


def _csv(computed: Computation) -> bytes:
    """The figures for other programs; what would be a formula there is a text."""
    out = io.StringIO()
    rows = csv.writer(out)
    for row in (messages.headings(computed), *computed.rows):
        rows.writerow(one if _NUMBER.fullmatch(one) else escape_formula(one) for one in row)
    return out.getvalue().encode("utf-8-sig")


def _abstained(library: Library, exchange: ShownExchange, answer: Answer) -> None:
    nearest = answer.passages[:_NEAREST]
    if answer.closest:
        _closest(library, exchange.id, answer)
    else:
        tail = texts.ABSTAINED if nearest else texts.ABSTAINED_EMPTY
        st.html(f"<p class='sorry'>{escape(f'{answer.text} {tail}')}</p>")
    cards = "".join(
        _card(exchange.id, f"p{n}", p.name, _where(library, p), _marked(p.chunk.text))
        for n, p in enumerate(nearest, start=1)
    )
    if cards:
        with st.expander(words.LOOKED_AT) if answer.closest else nullcontext():
            st.html(f"<div class='near'>{cards}</div>")
        st.html(f"<p class='how'>{escape(texts.ABSTAINED_TRY)}</p>")
    _how(answer)


def _closest(library: Library, exchange_id: str, answer: Answer) -> None:
    """The sentences that come nearest lead, and it is said what they are."""
    cards = "".join(
        _card(
            exchange_id,
            str(near.number),
            near.name,
            where_in(library)(near),
            _nearest_quote(near, answer.passages),
        )
        for near in answer.closest
    )
    st.html(f"<p class='sorry'>{escape(f'{answer.text} {messages.CLOSEST}')}</p>{cards}")


def perhaps(
    library: Library, exchange_id: str, near: Citation, passages: Sequence[Passage]
) -> None:
    """The sentence that may hold the answer, as long as that is being written."""
    number = next((n for n, p in enumerate(passages, start=1) if p.chunk.holds(near)), 1)
    passage = _nearest_quote(near, passages)
    card = _card(exchange_id, f"p{number}", near.name, where_in(library)(near), passage)
    st.html(f"<p class='note'>{words.PERHAPS}</p>{card}")


def read_from(library: Library, exchange_id: str, passages: Sequence[Passage]) -> None:
    """The sources of an answer that is being written, each to be opened already."""
    pages: dict[tuple[str, int], tuple[int, Passage]] = {}
    for number, passage in enumerate(passages, start=1):
        pages.setdefault((passage.chunk.document_id, passage.chunk.page), (number, passage))
    links = "".join(
        f"<a href='{CITE}{exchange_id}-p{number}'>"
        f"{escape(formats.beside(passage.name, _where(library, passage)))}</a>"
        for number, passage in list(pages.values())[:_NEAREST]
    )
    st.html(f"<p class='reading'>{words.READ_FROM} {links}</p>")


def _where(library: Library, passage: Passage) -> str:
    chunk = passage.chunk
    return library.page_name(chunk.document_id, chunk.page, passage.name, chunk.start)


def _how(answer: Answer) -> None:
    apart = (NoteKind.OTHER_SHEETS, *_HEEDED)
    shown = tuple(note for note in answer.notes if note.kind not in apart)
    remarks = messages.remarks(replace(answer, notes=shown))
    notes = "".join(f"<p class='how'>{escape(one)}</p>" for one in remarks)
    for note in answer.notes:
        if note.kind in _HEEDED:
            st.html(f"<p class='heed'>{escape(messages.sentence(note))}</p>")
    st.html(f"<p class='how'>{escape(texts.how_made(answer))}</p>{notes}")


def _source(exchange_id: str, answer: Answer, citation: Citation, where: str) -> str:
    if not citation.quote:
        removed = f"<p class='passage removed'>{words.SOURCE_REMOVED}</p>"
        return _card("", str(citation.number), citation.name, where, removed)
    passage = _marked(*_context(answer.passages, citation, _ROWS_AROUND))
    return _card(exchange_id, str(citation.number), citation.name, where, passage)


def _marked(text: str, quotes: Sequence[tuple[int, int]] = ()) -> str:
    """A passage with its quotes marked; its paragraphs apart, rows of a table as a table."""
    quote, *others = quotes or [(0, 0)]
    shown = readable(text, PageMarks(quote, tuple(others)), whole=False)
    return f"<div class='passage' tabindex='0'>{shown}</div>"  # it may have to be scrolled


def _context(
    passages: Sequence[Passage], citation: Citation, rows: tuple[int, int]
) -> tuple[str, list[tuple[int, int]]]:
    """The passage that holds the quote, and where in it the quote stands."""
    for passage in passages:
        chunk = passage.chunk
        if chunk.holds(citation):
            quote = citation.start - chunk.start, citation.end - chunk.start
            text, place = around(chunk.text, *quote, _names_of_columns(chunk), rows)
            return text, [place]
    return citation.quote, [(0, len(citation.quote))]


def _nearest_quote(near: Citation, passages: Sequence[Passage]) -> str:
    """A sentence that may answer, as HTML; a row under the names of its columns."""
    if CELLS in near.quote:
        return _marked(*_context(passages, near, (0, 0)))
    return _marked(near.quote, [(0, len(near.quote))])


_BEFORE, _BEHIND = 220, 420  # characters of a passage that are shown around a quote
_ROWS_AROUND = 2, 4  # rows before and behind it


def around(
    text: str, start: int, end: int, names: str | None = None, rows: tuple[int, int] = _ROWS_AROUND
) -> tuple[str, tuple[int, int]]:
    """A passage cut so that a quote is seen at once, and where it stands now: between words, or
    between rows of a table, under the names of their columns.

    `names`: of the columns, where the passage begins in the middle of a table; None: it begins with
    them, if with a table."""
    if CELLS in text:
        return _rows_around(text, start, end, names, rows)
    low = text.rfind(" ", 0, start - _BEFORE) + 1 if start > _BEFORE else 0
    high = text.find(" ", end + _BEHIND)
    begun, ended = "… " if low else "", " …" if high >= 0 else ""
    kept = f"{begun}{text[low : high if high >= 0 else None]}{ended}"
    moved = len(begun) - low
    return kept, (start + moved, end + moved)


def _rows_around(
    text: str, start: int, end: int, names: str | None, rows: tuple[int, int]
) -> tuple[str, tuple[int, int]]:
    lines = text.split("\n")
    first, last = text.count("\n", 0, start), text.count("\n", 0, max(start, end - 1))
    if not all(CELLS in line for line in lines[first : last + 1]):
        return text, (start, end)  # a sentence beside a table
    top = next((n + 1 for n in range(first - 1, -1, -1) if CELLS not in lines[n]), 0)
    bottom = next((n for n in range(last, len(lines)) if CELLS not in lines[n]), len(lines))
    head = names or ""
    if top > 0 or names is None:
        at = header_row([line.split(CELLS) for line in lines[top:first]])
        head, top = ("", top) if at is None else (lines[top + at], top + at + 1)
    if head.count(CELLS) != lines[first].count(CELLS):
        head = ""
    low, high = max(top, first - rows[0]), min(bottom, last + 1 + rows[1])
    before = f"{head}\n{CELLS.join(['---'] * (head.count(CELLS) + 1))}\n" if head else ""
    moved = len(before) - sum(len(line) + 1 for line in lines[:low])
    return before + "\n".join(lines[low:high]), (start + moved, end + moved)


def _names_of_columns(chunk: Chunk) -> str | None:
    """Those that stand in the heading of a chunk of rows; None: it begins with them itself."""
    return None if chunk.start == 0 else chunk.heading.rpartition(" > ")[2]


def _card(exchange_id: str, number: str, name: str, where: str, passage: str) -> str:
    """A source as HTML; `passage` is HTML already. Without an exchange there is no place to see."""
    badge = "" if number.startswith("p") else f"<span class='badge'>{number}</span>"
    link = f"<a href='{CITE}{exchange_id}-{number}'>{texts.OPEN_SOURCE}</a>" if exchange_id else ""
    return (
        f"<article class='card'><header>{badge}<b>{escape(name)}</b>"
        f"<span>{escape(texts.page(where))}</span>"
        f"{link}</header>{passage}</article>"
    )


# Why this answer? What was searched for and where, by whom it was made, how sure that is, and the
# passages it was made from with their scores.

_AT_ONCE = 3  # passages that are seen without asking for more
_LOOKED_THROUGH = 60  # places of a ranking in which a passage is looked for


@dataclass(frozen=True, slots=True)
class Places:
    """By chunk id: in which place each search finds it, from 1."""

    by_words: dict[str, int]
    by_meaning: dict[str, int]


def draw_why(library: Library, exchange: ShownExchange) -> None:
    """The explanation under an answer."""
    answer = exchange.answer
    if answer is None:
        return
    task = answer.task not in (Task.QUESTION, Task.COMPUTATION)
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
        title = words.WHY_READ if task else words.WHY_PASSAGES
        items = [
            _passage(library, exchange, answer, number, places)
            for number, _ in enumerate(answer.passages, start=1)
        ]
        found = _list(items) if items else f"<p>{words.WHY_NONE}</p>"
        note = "" if task or not items else f"<p class='note'>{words.WHY_SCORE}</p>"
        st.html(f"<dl class='why'>{facts}</dl><h4>{escape(title)}</h4>{found}{note}")


def _list(items: list[str]) -> str:
    shown, rest = "".join(items[:_AT_ONCE]), items[_AT_ONCE:]
    more = ""
    if rest:
        label = escape(words.more_passages(len(rest)))
        more = f"<details><summary>{label}</summary><ul>{''.join(rest)}</ul></details>"
    return f"<div class='found'><ul>{shown}</ul>{more}</div>"


def _facts(library: Library, exchange: ShownExchange, answer: Answer) -> list[tuple[str, str]]:
    names = None
    if exchange.documents is not None:
        known = {document.id: document.name for document in library.documents()}
        names = [known.get(one, words.SOURCE_REMOVED) for one in exchange.documents]
    chosen = current().caution
    caution = library.settings.caution if chosen is None else chosen
    return [
        (words.WHY_UNDERSTOOD, f"“{answer.query}”"),
        (words.WHY_SEARCHED, words.searched(names)),
        (words.WHY_MADE, words.made_by(answer)),
        (words.WHY_SURE, words.how_sure(answer, caution)),
        (words.WHY_TOOK, words.took(answer)),
    ]


def _passage(
    library: Library, exchange: ShownExchange, answer: Answer, number: int, places: Places | None
) -> str:
    passage = answer.passages[number - 1]
    chunk = passage.chunk
    cited = [
        (c.number, (c.start - chunk.start, c.end - chunk.start))
        for c in answer.citations
        if chunk.holds(c)
    ]
    said = [words.share(passage.score)]
    if places:
        found = places.by_words.get(chunk.id), places.by_meaning.get(chunk.id)
        best = max(p.score for p in answer.passages) or 1.0
        fits = words.strength(passage.score / best, *found)
        said = [fits, *said, words.found_by(*found)]
    said.append(words.cited_as([n for n, _ in cited]))
    where = texts.page(_where(library, passage))
    facts = "".join(f"<span>{escape(one)}</span>" for one in said if one)
    return (
        f"<li><header><b>{escape(passage.name)}</b><span>{escape(where)}</span>"
        f"<a href='{CITE}{exchange.id}-p{number}'>{texts.OPEN_SOURCE}</a></header>"
        f"<p class='score'>{facts}</p>"
        f"{_marked(chunk.text, [span for _, span in cited])}</li>"
    )


def _places(library: Library, exchange: ShownExchange, answer: Answer) -> Places | None:
    """Where each kind of search finds the passages now; None if it cannot be searched."""
    question = answer.query

    def places(kind: RetrieverKind) -> dict[str, int]:
        found = library.search(question, _LOOKED_THROUGH, exchange.documents, kind)
        return {passage.chunk.id: place for place, passage in enumerate(found, start=1)}

    try:
        return Places(places(RetrieverKind.BM25), places(RetrieverKind.DENSE))
    except RagAppError:  # the documents are gone, or there is no model: the rest is still true
        return None
