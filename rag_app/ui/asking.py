"""A question on its way: kept in the conversation, then answered in the background."""

from __future__ import annotations

from collections.abc import Sequence

from rag_app.answering.choice import parse
from rag_app.library import Library
from rag_app.questions import Manner
from rag_app.types import QUOTING
from rag_app.ui import adding, generation, in_step, texts
from rag_app.ui.state import Exchange, Session, current


def submit(
    library: Library,
    question: str,
    uploads: Sequence[adding.Upload] = (),
    only: list[str] | None = None,
) -> None:
    """Take files and a question, or either; the answer is made in the background.

    Of `only` these documents if they are given, else of those that are ticked."""
    in_step.look(library)
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
    begin(library, session, exchange)


def begin(library: Library, session: Session, exchange: Exchange) -> None:
    """Have the answer made by who answers now."""
    by = session.generator
    exchange.quoting = parse(by or library.settings.generator).kind in QUOTING
    exchange.seen, exchange.drawn, exchange.rating = False, False, 0
    session.explained.discard(exchange.id)
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
        Manner(by, session.language, session.caution, session.top_k),
        session.turns_before(exchange),
        exchange.quoting,
    )
