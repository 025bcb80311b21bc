"""A conversation to take away: Markdown, one web page, or JSON; and rated answers to learn from.

What was quoted is written as it was frozen with the answer; a removed source is said to be
removed. docs/export.md describes the JSON. The web page fetches nothing, runs nothing and escapes
everything. The pages that were quoted stand at its end, as pictures or text, with the quotes
highlighted; how it is laid out says conversation.html.j2."""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from html import escape
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markdown_it import MarkdownIt

from rag_app.answering.chain import MARKER
from rag_app.errors import RagAppError, UnknownConversation
from rag_app.export.json_contract import answer_json
from rag_app.export.messages import CLOSEST, headings, remarks, sureness
from rag_app.export.readable import PageMarks, readable
from rag_app.library import Library
from rag_app.storage import Conversation, Exchange
from rag_app.storage.conversations import REMOVED
from rag_app.storage.provenance import Origin
from rag_app.supervision import Told, untold
from rag_app.text.formats import TABLES, beside, count, page_name
from rag_app.text.highlighting import Area, areas, mark
from rag_app.types import Answer, Basis, Citation

FORMATS = ("md", "html", "json")
VERSION = 1  # of the JSON; it grows when a key changes its meaning or goes

Where = Callable[[Citation], str]
"""Which page a quote stands on, in words."""

_INDENT = re.compile(r"(?<=\n)[ \t]+")
_LIST = re.compile(r"^(\d{0,9})([-+=.)])", re.MULTILINE)
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$])")
_UNSAFE_NAME = re.compile(r'[\\/:*?"<>|\x00-\x1f]+')
_LONGEST_NAME = 60  # characters of a file's name
_AROUND = 1_500  # characters of a text shown before and after its quotes


def conversation(library: Library, wanted: str) -> Conversation:
    """A conversation by its id, the beginning of its id, or its title.

    Raises UnknownConversation if none or more than one is meant."""
    listed = library.conversations.listed()
    found = [one for one in listed if wanted in (one.id, one.title)]
    found = found or [one for one in listed if wanted and one.id.startswith(wanted)]
    if len(found) > 1:
        raise UnknownConversation(f"“{wanted}” could be any of {len(found)} conversations.")
    if not found:
        raise UnknownConversation(f"There is no conversation “{wanted}”.")
    return found[0]


def export(library: Library, conversation_id: str, form: str, told: Told = untold) -> bytes:
    """A conversation as a file. `form` is one of FORMATS. Of a web page `told` hears how many of
    its quoted pages are drawn, of how many. Raises UnknownConversation."""
    meant = conversation(library, conversation_id)
    exchanges = library.conversations.exchanges(meant.id)
    if form == "html":
        return as_html(library, meant, exchanges, told).encode()
    if form == "json":
        return json.dumps(as_json(meant, exchanges), ensure_ascii=False, indent=2).encode()
    said = as_markdown(meant, exchanges, where_in(library))
    return (said + _from_the_web(library, exchanges)).encode()


def where_in(library: Library) -> Where:
    """What says which page of a document a quote stands on."""
    return lambda c: library.page_name(c.document_id, c.page, c.name, c.start)


def _by_name(citation: Citation) -> str:
    return page_name(citation.name, citation.page)


def _from_the_web(library: Library, exchanges: Iterable[Exchange]) -> str:
    """Where the cited pages of the web were fetched, as the end of a Markdown text."""
    cited = {
        c.document_id: c.name for e in exchanges if e.answer for c in e.answer.citations if c.quote
    }
    lines = [
        f"- {_escaped(cited[id_])}: <{origin.address}>, fetched {day(origin.at)}"
        for id_, origin in library.web.origins(cited).items()
    ]
    return "\n".join(["", "## From the web", "", *sorted(lines), ""]) if lines else ""


def file_name(title: str, form: str) -> str:
    """What the file is to be called."""
    name = safe_name(title).strip(" .")
    if len(name) > _LONGEST_NAME:  # cut between words, if there are any
        short = name[:_LONGEST_NAME]
        name = short.rpartition(" ")[0] or short
    return f"{name.strip() or 'conversation'}.{form}"


def safe_name(name: str) -> str:
    """A name without what no system's file names hold."""
    return _UNSAFE_NAME.sub(" ", name)


def as_text(answer: Answer, where: Where = _by_name) -> str:
    """An answer with its footnotes, as plain text; `where` says which page one stands on."""
    said = answer.text
    if answer.short_answer and not said.startswith(answer.short_answer):
        said = f"{answer.short_answer}\n\n{said}"
    if answer.closest:
        said = f"{said} {CLOSEST}"
    listed = answer.citations or answer.closest
    notes = "\n".join(f"[{c.number}] {source(c, where)}" for c in listed)
    return f"{said}\n\n{notes}" if notes else said


def source(citation: Citation, where: Where = _by_name) -> str:
    """Where a quote stands, and the quote, on one line."""
    place = beside(citation.name, where(citation))
    quote = " ".join(citation.quote.split())
    return f"{place}: “{quote}”" if quote else f"{place} (source removed)"


def as_json(meant: Conversation, exchanges: Iterable[Exchange]) -> dict[str, Any]:
    """A conversation as the contract has it (docs/export.md)."""
    return {
        "format": "rag-app conversation",
        "version": VERSION,
        "id": meant.id,
        "title": meant.title,
        "started_at": meant.started_at,
        "changed_at": meant.changed_at,
        "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "exchanges": [_exchange_json(exchange) for exchange in exchanges],
    }


def _exchange_json(exchange: Exchange) -> dict[str, Any]:
    said = None
    if exchange.answer:
        said = answer_json(exchange.answer)
        for citation in said["citations"]:
            citation["removed"] = not citation["quote"]
    return {
        "id": exchange.id,
        "question": exchange.question,
        "asked_at": exchange.asked_at,
        "documents": None if exchange.documents is None else list(exchange.documents),
        "answer": said,
        "error": exchange.error,
        "rating": exchange.rating,
        "reason": exchange.reason,
    }


def as_markdown(meant: Conversation, exchanges: Iterable[Exchange], where: Where = _by_name) -> str:
    """A conversation as Markdown, its sources as footnotes."""
    parts = [f"# {_escaped(meant.title)}", f"*{day(meant.started_at)}*"]
    for number, exchange in enumerate(exchanges, start=1):
        parts += [f"## {number}. {_escaped(exchange.question)}", *_said(number, exchange, where)]
    return "\n\n".join(parts) + "\n"


def _said(number: int, exchange: Exchange, where: Where) -> Iterator[str]:
    answer = exchange.answer
    if answer is None:
        yield f"*{_escaped(exchange.error or 'There is no answer.')}*"
        return
    plain = answer.basis is not Basis.WRITTEN
    if answer.short_answer and not answer.text.startswith(answer.short_answer):
        yield f"**{_escaped(answer.short_answer)}**"
    yield _with_notes(number, answer, plain)
    if answer.closest:
        near = [f"- {_escaped(source(one, where))}" for one in answer.closest]
        yield "\n".join([CLOSEST, "", *near])
    if sure := sureness(answer):
        yield f"*{sure.capitalize()}.*"
    for remark in remarks(answer):
        yield f"*{_escaped(remark)}*"
    notes = [f"[^{number}-{c.number}]: {_escaped(source(c, where))}" for c in answer.citations]
    if notes:
        yield "\n".join(notes)


def _with_notes(number: int, answer: Answer, plain: bool) -> str:
    known = {citation.number for citation in answer.citations}
    pieces, done = [], 0
    for marker in MARKER.finditer(answer.text):
        pieces.append(_inline(answer.text[done : marker.start()], plain))
        if int(marker[1]) in known:
            pieces.append(f"[^{number}-{marker[1]}]")
        done = marker.end()
    return "".join([*pieces, _inline(answer.text[done:], plain)])


def _inline(text: str, plain: bool) -> str:
    """Text of an answer: a model's own Markdown stays, but for markup, pictures and links."""
    if plain:
        return _LIST.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", _INDENT.sub("", text)))
    return (
        text.replace("\\", "\\\\")
        .replace("<", "&lt;")
        .replace("[", "\\[")
        .replace("!\\[", "\\!\\[")
    )


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def rated(exchanges: Iterable[Exchange]) -> Iterator[dict[str, Any]]:
    """Lines that `rag-app train` learns from: a question that stands by itself, and its answer.

    Of answers that were rated bad the key is "rejected" instead, so that nothing learns them."""
    for exchange in exchanges:
        answer = exchange.answer
        if answer is None or answer.abstained or REMOVED in answer.text:
            continue
        said = (answer.short_answer or MARKER.sub("", answer.text)).strip()
        if said:
            yield {
                "question": answer.query,
                "answer" if exchange.rating > 0 else "rejected": said,
                "asked": exchange.question,
                "asked_at": exchange.asked_at,
                "generator": answer.generator,
                "reason": exchange.reason,
                "documents": sorted({citation.name for citation in answer.citations}),
            }


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
    room.globals.update(
        mark=mark,
        remarks=remarks,
        sureness=sureness,
        closest=CLOSEST,
        day=day,
        text=_text,
        headings=headings,
        count=count,
        texts_of=lambda used: [[cell.text for cell in row] for row in used.rows],
    )
    return room.get_template("conversation.html.j2")


def as_html(
    library: Library, meant: Conversation, exchanges: Sequence[Exchange], told: Told = untold
) -> str:
    """The whole page. Pages of removed documents are left out, their quotes say so."""
    quoted, pages = _quoted_pages(exchanges), {}
    for done, (key, one) in enumerate(quoted.items()):
        told(done, len(quoted))
        if _look_up(library, one):
            pages[key] = one
    origins = library.web.origins({one.document_id for one in pages.values()})
    for one in pages.values():
        one.origin = origins.get(one.document_id)
    return _template().render(
        title=meant.title,
        started_at=meant.started_at,
        exchanges=exchanges,
        pages=list(pages.values()),
        numbers=defaultdict(int, zip(pages, range(1, len(pages) + 1), strict=True)),
        where=where_in(library),
    )


def day(moment: str) -> str:
    """The day of a time in ISO 8601, where the app runs, as its page says it; what is no time as it
    is."""
    try:
        return datetime.fromisoformat(moment).astimezone().date().isoformat()
    except ValueError:
        return moment


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
        quoted.where = where_in(library)(quoted.quotes[0][1])
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
