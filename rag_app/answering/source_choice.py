"""Whether the texts that were found answer a question, a statement, or a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from rag_app.answering.calculations import Calculations
from rag_app.answering.generation import Cancelled, Generator, Piece, pieces
from rag_app.answering.table_answers import TableAnswers
from rag_app.answering.table_choice import FIRST, sheet_found, sheets
from rag_app.types import Basis, Document, Draft, NoteKind, Passage

# Chances of queries, in all: where a sheet was found, and where nothing else answers (LOG.md).
_HARDLY, _LIKELY = 0.1, 0.5


class WithTables:
    """A generator that first looks whether statements, where they are read, or tables answer, and
    looks at likely tables once more where nothing else does.

    Where texts were found beside sheets, and nothing says that something is to be computed, the
    app's own writer reads the texts first: the rent is in the agreement, and its sum over a year in
    the cash book. What it writes is shown when it is known to rest on one of them. A sum that it
    has made of them a sheet may hold as well: the surer of both is said."""

    def __init__(
        self,
        by: Generator,
        calculations: Calculations | None,
        tables: TableAnswers,
        documents: Sequence[Document],
        language: str,
        computes: bool,
        searched: str = "",
        before: Sequence[str] = (),
    ) -> None:
        self._by, self._calculations, self._tables = by, calculations, tables
        self._documents, self._language, self._before = documents, language, before
        self._computes, self._searched = computes, searched
        self._sheets = sheets(documents)

    @property
    def name(self) -> str:
        """Of the one that answers from passages."""
        return self._by.name

    def warm(self) -> None:
        """Load what it needs now. Raises ModelUnavailable."""
        self._by.warm()

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        """Yield pieces, the last one with the draft. Raises ModelUnavailable."""
        sheet, draft = sheet_found(passages, self._documents), None
        asked = (question, passages, self._documents, self._language, cancelled)
        of_tables = partial(self._tables.answer, *asked, self._searched, self._before)
        # That something is to be computed speaks for no table: only a writer tells.
        looks = bool(self._before or sheet or (self._computes and self._tables.has_writer))
        if not sheet and self._calculations and self._calculations.wants(question, passages):
            draft = self._calculations.answer(question, passages, self._language, cancelled)
        held: list[Piece] | None = None
        sure = 0.0  # of a sum that is made of texts
        if sheet and not (self._computes or self._before) and self._texts_found(passages):
            held = list(self._by.generate(question, passages, cancelled))
            of_texts = self._of_texts(held)
            if cancelled() or (of_texts and of_texts.basis is not Basis.COMPUTED):
                yield from held
                return
            sure = of_texts.confidence if of_texts else sure
        if draft is None and looks:
            least = 0.0 if self._before or self._computes else _HARDLY
            draft = of_tables(least)
        if draft is None or draft.abstained or draft.confidence < sure:
            shown = False
            read = partial(self._by.generate, question, passages, cancelled)
            for piece in self._unless_a_row(read() if held is None else held):
                told, shown = piece.draft, shown or bool(piece.text)
                again = self._tables.has_writer and not (looks or shown or cancelled())
                if told and told.abstained and again:
                    draft = of_tables(_LIKELY, unranked=False)
                    if draft is not None and not draft.abstained:
                        break
                if told and told.abstained and draft:  # which sheets may be meant
                    told = replace(told, notes=(*told.notes, *draft.notes))
                yield Piece(piece.text, told)
            else:
                return
        yield from pieces(replace(draft, generator=self.name))

    def _texts_found(self, passages: Sequence[Passage]) -> bool:
        """Whether a text is among the first that was found, and the app's own writer reads it."""
        first = (passage.chunk.document_id for passage in passages[:FIRST])
        return self._tables.has_taught_writer and any(one not in self._sheets for one in first)

    def _of_texts(self, said: Sequence[Piece]) -> Draft | None:
        """What a writer has written with a text among its sources; None: anything else."""
        draft = said[-1].draft if said else None
        if draft is None or any(note.kind is NoteKind.QUOTED_INSTEAD for note in draft.notes):
            return None
        spans = (span for each in draft.evidence for span in each)
        return draft if any(span.document_id not in self._sheets for span in spans) else None

    def _unless_a_row(self, said: Iterable[Piece]) -> Iterator[Piece]:
        """What is said without a writer; where something is to be computed, a row of a sheet that
        is quoted is no answer."""
        if not self._computes or self._tables.has_writer:
            yield from said
            return
        found = list(said)
        if not found:  # stopped
            return
        last = found[-1]
        spans = [span for each in last.draft.evidence for span in each] if last.draft else []
        if last.draft and spans and all(span.document_id in self._sheets for span in spans):
            sure, near = last.draft.confidence, tuple(spans)
            found = [Piece(draft=Draft((), (), sure, abstained=True, closest=near))]
        yield from found
