"""Documents as they are looked at: pages, pictures, places on them, passages."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Generator, Iterator
from pathlib import Path

from rag_app.errors import RagAppError
from rag_app.librarian.stock import Stock
from rag_app.questions import EMBEDDED
from rag_app.reading.sandbox import Sandbox
from rag_app.text.page_names import page_name
from rag_app.types import Box, Citation, Event, Finished, PagePicture

log = logging.getLogger(__name__)


class Showing:
    """Gives what there is to see; `viewer` draws pages and never waits behind one being read."""

    def __init__(self, stock: Stock, viewer: Sandbox) -> None:
        self._stock, self._viewer = stock, viewer

    def original(self, document_id: str) -> Path:
        """The file as it was handed in. Raises UnknownDocument."""
        return self._stock.original(self._stock.store.document(document_id))

    def page_name(self, document_id: str, number: int, name: str) -> str:
        """What a page is called, by the document's name if it is gone."""
        known = self._stock.store.page_label(document_id, number) or (name, "", 0)
        suffix, label, total = known
        return page_name(suffix, number, label, total)

    def picture(self, document_id: str, number: int, scale: float) -> PagePicture | None:
        """The page as it looks, see `Library.picture`."""
        document = self._stock.store.document(document_id)
        if self._stock.store.page(document_id, number).width is None:
            return None
        return self._viewer.render(self._stock.readable(document), number, scale)

    def boxes(self, document_id: str, page: int, start: int, end: int) -> tuple[Box, ...]:
        """Where a span of a page stands on its picture, see `Library.boxes`."""
        document = self._stock.store.document(document_id)
        if self._stock.store.page(document_id, page).width is None:
            return ()
        recognised = self._stock.store.scans.boxes(document_id, page, start, end)
        if recognised is not None:
            return recognised
        return self._viewer.boxes(self._stock.readable(document), page, start, end)

    def located(self, events: Iterator[Event]) -> Generator[Event, None, None]:
        """The same events; the finished answer has the boxes of its quotes."""
        for event in events:
            if isinstance(event, Finished):
                cited = tuple(self._with_boxes(citation) for citation in event.answer.citations)
                yield Finished(dataclasses.replace(event.answer, citations=cited))
            else:
                yield event

    def _with_boxes(self, citation: Citation) -> Citation:
        try:
            boxes = self.boxes(citation.document_id, citation.page, citation.start, citation.end)
        except RagAppError as error:  # the quote stands without its place on the picture
            log.warning("no boxes for a citation: %s", error)
            return citation
        return dataclasses.replace(citation, boxes=boxes)

    def vectors(self) -> list[tuple[str, list[float]]]:
        """Every passage's text and vector, of the documents that are ready."""
        found = []
        for document in self._stock.store.documents():
            if document.status in EMBEDDED:
                vectors = self._stock.vectors.vectors(document.id)
                found += [
                    (indexed.chunk.text, vectors[indexed.chunk.id])
                    for indexed in self._stock.store.indexed(document.id)
                    if indexed.chunk.id in vectors
                ]
        return found
