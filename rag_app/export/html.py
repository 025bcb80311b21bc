"""A conversation as one web page: nothing is fetched, nothing runs, everything is escaped.

The pages that were quoted stand at its end, as pictures or text, with the quotes highlighted. How
it is laid out says conversation.html.j2; here is what is put into it."""

from __future__ import annotations

import base64
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markdown_it import MarkdownIt

from rag_app.answering.chain import MARKER
from rag_app.errors import RagAppError
from rag_app.export.messages import remarks
from rag_app.export.readable import PageMarks, readable
from rag_app.library import Library
from rag_app.storage import Conversation, Exchange
from rag_app.storage.provenance import Origin
from rag_app.text.highlighting import Area, areas, mark
from rag_app.text.page_names import TABLES
from rag_app.types import Answer, Basis, Citation

_AROUND = 1_500  # characters of a text shown before and after its quotes


@dataclass
class _QuotedPage:
    """A page that was quoted, and its quotes with the labels they have: "3.1".

    It is shown as a picture (WebP in base64) or as words (HTML that is safe)."""

    document_id: str
    name: str
    page: int
    quotes: list[tuple[str, Citation]] = field(default_factory=list)
    where: str = ""
    origin: Origin | None = None
    picture: str = ""
    areas: tuple[Area, ...] = ()
    words: str = ""


@cache
def _template() -> Template:
    room = Environment(
        loader=PackageLoader("rag_app.export", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    room.globals.update(mark=mark, remarks=remarks, day=day, text=_text)
    return room.get_template("conversation.html.j2")


def as_html(library: Library, meant: Conversation, exchanges: Sequence[Exchange]) -> str:
    """The whole page. Pages of removed documents are left out, their quotes say so."""
    pages = {key: one for key, one in _quoted_pages(exchanges).items() if _look_up(library, one)}
    origins = library.web.origins({one.document_id for one in pages.values()})
    for one in pages.values():
        one.origin = origins.get(one.document_id)
    return _template().render(
        title=meant.title,
        started_at=meant.started_at,
        exchanges=exchanges,
        pages=list(pages.values()),
        numbers=defaultdict(int, zip(pages, range(1, len(pages) + 1), strict=True)),
        where=lambda one: library.page_name(one.document_id, one.page, one.name),
    )


def day(moment: str) -> str:
    """The day of a time in ISO 8601."""
    return moment.partition("T")[0]


def _quoted_pages(exchanges: Iterable[Exchange]) -> dict[tuple[str, int], _QuotedPage]:
    pages: dict[tuple[str, int], _QuotedPage] = {}
    for number, exchange in enumerate(exchanges, start=1):
        for citation in exchange.answer.citations if exchange.answer else ():
            key = (citation.document_id, citation.page)
            if citation.quote:
                quoted = pages.setdefault(key, _QuotedPage(key[0], citation.name, key[1]))
                quoted.quotes.append((f"{number}.{citation.number}", citation))
    return pages


def _text(number: int, answer: Answer) -> str:
    """An answer as HTML that is safe, its markers as links to its sources."""
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


def _look_up(library: Library, quoted: _QuotedPage) -> bool:
    """Take in how the page looks, with its quotes highlighted; False: it is not there any more."""
    try:
        quoted.where = library.page_name(quoted.document_id, quoted.page, quoted.name)
        if not _picture(library, quoted):
            quoted.words = _words(library, quoted)
    except RagAppError:
        return False
    return True


def _picture(library: Library, quoted: _QuotedPage) -> bool:
    boxes = [box for _, citation in quoted.quotes for box in citation.boxes]
    picture = library.picture(quoted.document_id, quoted.page) if boxes else None
    if picture is None:
        return False
    quoted.picture = base64.b64encode(picture.webp).decode("ascii")
    quoted.areas = areas(boxes, picture)
    return True


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
    return marked
