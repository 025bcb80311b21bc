"""Places in documents that can be opened: what a link of the page points at."""

from __future__ import annotations

import re

from rag_app.types import Citation
from rag_app.ui.state import Place, Session

_KEY = re.compile(r"(?P<exchange>[0-9a-f]{16})-(?P<passage>p?)(?P<number>[1-9]\d{0,2})")


def place_of(session: Session, key: str) -> Place | None:
    """The place a link `#cite:<key>` points at; None if it is none of this session's."""
    found = _KEY.fullmatch(key)
    if found is None:
        return None
    number = int(found["number"])
    if found["passage"]:
        return _passage_place(session, found["exchange"], number)
    return citation_place(session, found["exchange"], number)


def citation_place(session: Session, exchange_id: str, number: int) -> Place | None:
    """The place of a citation of one of the session's answers."""
    for citation in citations_of(session, exchange_id):
        if citation.number == number:
            return Place(
                citation.document_id,
                citation.name,
                citation.page,
                citation.start,
                citation.end,
                citation.quote,
                citation.boxes,
                exchange_id,
                number,
            )
    return None


def _passage_place(session: Session, exchange_id: str, number: int) -> Place | None:
    exchange = session.exchange(exchange_id)
    passages = exchange.generation.now().passages if exchange and exchange.generation else ()
    for passage in passages[number - 1 : number]:
        chunk = passage.chunk
        return Place(
            chunk.document_id,
            passage.name,
            chunk.page,
            chunk.start,
            chunk.end,
            chunk.text,
            exchange_id=exchange_id,
        )
    return None


def citations_of(session: Session, exchange_id: str) -> tuple[Citation, ...]:
    """The citations of one of the session's answers."""
    exchange = session.exchange(exchange_id)
    answer = exchange.generation.now().answer if exchange and exchange.generation else None
    return answer.citations if answer else ()
