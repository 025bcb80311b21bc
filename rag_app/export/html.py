"""A conversation as one web page: nothing is fetched, nothing runs, everything is escaped.

The pages that were quoted stand at its end, as pictures or text, with the quotes highlighted."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from markdown_it import MarkdownIt

from rag_app.answering.chain import MARKER
from rag_app.errors import RagAppError
from rag_app.export.messages import remarks
from rag_app.export.readable import TABLES, PageMarks, readable
from rag_app.library import Library
from rag_app.storage import Conversation, Exchange
from rag_app.storage.provenance import Origin
from rag_app.text.highlighting import areas, mark
from rag_app.text.page_names import beside
from rag_app.types import Answer, Basis, Citation, Task

_AROUND = 1_500  # characters of a text shown before and after its quotes

_STYLE = """
:root { color-scheme: light dark; --soft: light-dark(#5b6272, #a4abba);
  --line: light-dark(#e3e6ed, #2f343f); --wash: light-dark(#e8eefc, #263150);
  --accent: light-dark(#2f5bd0, #9db5ff); }
body { margin: 0 auto; max-width: 50rem; padding: 2.5rem 1.25rem 5rem; overflow-wrap: anywhere;
  font: 1rem/1.6 system-ui, sans-serif; color: light-dark(#1f2430, #e7e9ee);
  background: light-dark(#ffffff, #15171c); }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.1rem; margin: 3rem 0 1rem; }
.date, .how, .note { color: var(--soft); font-size: .85rem; margin: .25rem 0; }
article { margin: 2.25rem 0; }
.question { background: var(--wash); border-radius: 1rem 1rem .3rem 1rem; padding: .7rem 1.05rem;
  margin: 0 0 1rem auto; width: fit-content; max-width: 85%; white-space: pre-wrap; }
.short { font-size: 1.15rem; font-weight: 600; margin: 0 0 .5rem; }
.plain { white-space: pre-wrap; }
a { color: var(--accent); }
a.n { text-decoration: none; font-weight: 600; font-size: .75em; vertical-align: .15em;
  background: var(--wash); border-radius: .5em; padding: .05em .45em; margin: 0 .1em; }
ol.sources { list-style: none; margin: 1rem 0 0; padding: 0; font-size: .875rem; }
ol.sources li { padding: .55rem 0; border-top: 1px solid var(--line); }
blockquote { margin: .25rem 0 0; padding-left: .8rem; border-left: 3px solid #e5b800; }
figure { margin: 2rem 0; }
figcaption { font-size: .875rem; margin-bottom: .5rem; }
.sheet { position: relative; background: #fff; border: 1px solid var(--line);
  border-radius: .5rem; overflow: hidden; }
.sheet img { display: block; width: 100%; }
.sheet span { position: absolute; background: #ffdf5e; mix-blend-mode: multiply;
  border-radius: 2px; }
.words { border: 1px solid var(--line); border-radius: .5rem; padding: .5rem 1.25rem; }
.words p { white-space: pre-wrap; }
.words dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
.words dt { color: var(--soft); }
.words dd { margin: 0; }
.rows { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; }
.number { text-align: right; }
mark, tr.cited td { background: #ffe58a; color: #1d1b16; }
@media print { article, figure { break-inside: avoid; } }
"""


@dataclass
class _QuotedPage:
    """A page that was quoted, and its quotes with the labels they have: "3.1"."""

    document_id: str
    name: str
    page: int
    quotes: list[tuple[str, Citation]] = field(default_factory=list)


def as_html(library: Library, meant: Conversation, exchanges: Sequence[Exchange]) -> str:
    """The whole page. Pages of removed documents are left out, their quotes say so."""
    pages = _quoted_pages(exchanges)
    shown = {key: picture for key, quoted in pages.items() if (picture := _page(library, quoted))}
    numbers = {key: number for number, key in enumerate(shown, start=1)}
    said = "".join(_exchange(library, n, one, numbers) for n, one in enumerate(exchanges, start=1))
    origins = library.web.origins({document_id for document_id, _ in shown})
    figures = "".join(
        f"<figure id='page-{numbers[key]}'><figcaption>"
        f"{_place(pages[key], _where(library, pages[key]))}{_from(origins.get(key[0]))} "
        f"{_labels(pages[key])}</figcaption>"
        f"{picture}</figure>"
        for key, picture in shown.items()
    )
    title = escape(meant.title)
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>"
        f"<p class='date'>{escape(day(meant.started_at))}</p><main>{said}</main>"
        f"{f'<section><h2>Where the quotes stand</h2>{figures}</section>' if figures else ''}"
        "</body></html>\n"
    )


def _where(library: Library, quoted: _QuotedPage | Citation) -> str:
    return library.page_name(quoted.document_id, quoted.page, quoted.name)


def _place(quoted: _QuotedPage | Citation, where: str) -> str:
    return beside(f"<b>{escape(quoted.name)}</b>", escape(where))


def day(moment: str) -> str:
    """The day of a time in ISO 8601."""
    return moment.partition("T")[0]


def _from(origin: Origin | None) -> str:
    """Where a page of the web was fetched."""
    if origin is None:
        return ""
    link = escape(origin.address, quote=True)
    said = f"<a href='{link}' rel='noopener noreferrer'>{escape(origin.address)}</a>"
    return f", from {said}, fetched {escape(day(origin.at))}"


def _quoted_pages(exchanges: Iterable[Exchange]) -> dict[tuple[str, int], _QuotedPage]:
    pages: dict[tuple[str, int], _QuotedPage] = {}
    for number, exchange in enumerate(exchanges, start=1):
        for citation in exchange.answer.citations if exchange.answer else ():
            key = (citation.document_id, citation.page)
            if citation.quote:
                quoted = pages.setdefault(key, _QuotedPage(key[0], citation.name, key[1]))
                quoted.quotes.append((f"{number}.{citation.number}", citation))
    return pages


def _labels(quoted: _QuotedPage) -> str:
    return "".join(
        f"<a class='n' href='#s-{label.replace('.', '-')}'>{label}</a>"
        for label, _ in quoted.quotes
    )


def _exchange(
    library: Library, number: int, exchange: Exchange, pages: dict[tuple[str, int], int]
) -> str:
    answer = exchange.answer
    asked = f"<article><div class='question'>{escape(exchange.question)}</div>"
    if answer is None:
        said = exchange.error or "There is no answer."
        return f"{asked}<p class='note'>{escape(said)}</p></article>"
    short = ""
    if answer.short_answer and not answer.text.startswith(answer.short_answer):
        short = f"<p class='short'>{escape(answer.short_answer)}</p>"
    notes = "".join(f"<p class='how'>{escape(one)}</p>" for one in remarks(answer))
    items = "".join(
        _source(number, citation, _where(library, citation), pages) for citation in answer.citations
    )
    sources = f"<ol class='sources'>{items}</ol>" if items else ""
    return f"{asked}{short}{_text(number, answer)}<p class='how'>{_made(answer)}</p>{notes}" + (
        f"{sources}</article>"
    )


def _made(answer: Answer) -> str:
    if answer.task is Task.CHITCHAT:
        return "Said by the app itself"
    if answer.basis is not Basis.WRITTEN:
        return "Quoted from the documents"
    return f"Written by {escape(answer.generator)} from the documents"


def _source(number: int, citation: Citation, where: str, pages: dict[tuple[str, int], int]) -> str:
    place = _place(citation, where)
    page = pages.get((citation.document_id, citation.page))
    if not citation.quote:
        said = "<p class='note'>Source removed</p>"
    else:
        said = f"<blockquote>{mark(citation.quote, ())}</blockquote>"
    link = f" · <a href='#page-{page}'>see it there</a>" if page else ""
    label = f"<a class='n' href='#a-{number}-{citation.number}'>{citation.number}</a>"
    return f"<li id='s-{number}-{citation.number}'>{label} {place}{link}{said}</li>"


def _text(number: int, answer: Answer) -> str:
    known = {citation.number for citation in answer.citations}
    seen: set[int] = set()

    def note(marker: re.Match[str]) -> str:
        one = int(marker[1])
        if one not in known:
            return ""
        name = "" if one in seen else f" id='a-{number}-{one}'"
        seen.add(one)
        return f"<a class='n' href='#s-{number}-{one}'{name}>{one}</a>"

    def words(tokens: Sequence[Any], index: int, *_: object) -> str:
        return MARKER.sub(note, escape(tokens[index].content))

    if answer.basis is not Basis.WRITTEN:
        return f"<p class='plain'>{MARKER.sub(note, escape(answer.text))}</p>"
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.disable(["link", "image", "autolink", "reference", "html_inline", "html_block"])
    reader.add_render_rule("text", lambda _, *given: words(*given))
    return str(reader.render(answer.text))


def _page(library: Library, quoted: _QuotedPage) -> str:
    """The page with its quotes highlighted, empty if it is not there any more."""
    try:
        return _picture(library, quoted) or _words(library, quoted)
    except RagAppError:
        return ""


def _picture(library: Library, quoted: _QuotedPage) -> str:
    boxes = [box for _, citation in quoted.quotes for box in citation.boxes]
    picture = library.picture(quoted.document_id, quoted.page) if boxes else None
    if picture is None:
        return ""
    data = base64.b64encode(picture.webp).decode("ascii")
    marks = "".join(
        f"<span style='left:{a.left:.2f}%;top:{a.top:.2f}%;width:{a.width:.2f}%;"
        f"height:{a.height:.2f}%'></span>"
        for a in areas(boxes, picture)
    )
    said = escape(f"{beside(quoted.name, _where(library, quoted))}, the quotes highlighted")
    return f"<div class='sheet'><img alt='{said}' src='data:image/webp;base64,{data}'>{marks}</div>"


def _words(library: Library, quoted: _QuotedPage) -> str:
    spans = tuple((c.start, c.end) for _, c in quoted.quotes)
    page = library.page(quoted.document_id, quoted.page)
    window = (min(a for a, _ in spans) - _AROUND, max(b for _, b in spans) + _AROUND)
    headings = [h for h in library.headings(quoted.document_id) if h.page == quoted.page]
    rows = library.document(quoted.document_id).suffix in TABLES
    marked = readable(
        page.text, PageMarks((0, 0), spans), headings, rows=rows, window=None if rows else window
    )
    for tag in ("mark", "tr"):  # every quote is as strong as the others
        marked = marked.replace(f"<{tag} class='other'>", f"<{tag} class='cited'>")
    return f"<div class='words'>{marked}</div>"
