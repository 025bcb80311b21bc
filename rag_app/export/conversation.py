"""A conversation to take away: Markdown, one web page, or JSON; and rated answers to learn from.

What was quoted is written as it was frozen with the answer; a removed source is said to be
removed. docs/export.md describes the JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from rag_app.answering.chain import MARKER
from rag_app.errors import UnknownConversation
from rag_app.export.html import as_html, day
from rag_app.export.json_contract import answer_json
from rag_app.export.messages import remarks
from rag_app.library import Library
from rag_app.storage import Conversation, Exchange
from rag_app.storage.conversations import REMOVED
from rag_app.text.page_names import beside, page_name
from rag_app.types import Answer, Basis, Citation

FORMATS = ("md", "html", "json")
VERSION = 1  # of the JSON; it grows when a key changes its meaning or goes

Where = Callable[[Citation], str]
"""Which page a quote stands on, in words."""

_INDENT = re.compile(r"(?<=\n)[ \t]+")
_LIST = re.compile(r"^(\d{0,9})([-+=.)])", re.MULTILINE)
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$])")
_UNSAFE_NAME = re.compile(r'[\\/:*?"<>|\x00-\x1f]+')


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


def export(library: Library, conversation_id: str, form: str) -> bytes:
    """A conversation as a file. `form` is one of FORMATS. Raises UnknownConversation."""
    meant = conversation(library, conversation_id)
    exchanges = library.conversations.exchanges(meant.id)
    if form == "html":
        return as_html(library, meant, exchanges).encode()
    if form == "json":
        return json.dumps(as_json(meant, exchanges), ensure_ascii=False, indent=2).encode()
    said = as_markdown(meant, exchanges, where_in(library))
    return (said + _from_the_web(library, exchanges)).encode()


def where_in(library: Library) -> Where:
    """What says which page of a document a quote stands on."""
    return lambda c: library.page_name(c.document_id, c.page, c.name)


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
    name = safe_name(title).strip(" .")[:60].strip() or "conversation"
    return f"{name}.{form}"


def safe_name(name: str) -> str:
    """A name without what no system's file names hold."""
    return _UNSAFE_NAME.sub(" ", name)


def as_text(answer: Answer, where: Where = _by_name) -> str:
    """An answer with its footnotes, as plain text; `where` says which page one stands on."""
    said = answer.text
    if answer.short_answer and not said.startswith(answer.short_answer):
        said = f"{answer.short_answer}\n\n{said}"
    notes = "\n".join(f"[{c.number}] {source(c, where)}" for c in answer.citations)
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
