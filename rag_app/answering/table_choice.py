"""Which tables a question is likely about: by what was found, what they are called and hold.

Where sheets fit about as well as the one that answers, their names go with the answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from rag_app.scope import Scope
from rag_app.storage import Store
from rag_app.tables.describing import alike
from rag_app.tables.joining import with_likes
from rag_app.tables.values import with_months
from rag_app.text.formats import TABLES
from rag_app.text.languages import compared
from rag_app.types import Document, Draft, Note, NoteKind, Passage, Table

FIRST = 3  # passages
_MOST_TABLES = 3
_NEAR_BEST = 0.5  # of the best table's score that another must have to be shown too
_HOLDS = 0.5  # of what the document holds that holds most of a question's words
_SAME = 1.0  # what it counts that the answer before came from a table
_OFFERED = 4  # sheets; of 80 questions of an office the right one of twelve is among them in 73


class TableChoice:
    """Chooses among the tables of documents.

    A question that leans on an answer `before`, from these documents, is likely about the same."""

    def __init__(
        self, store: Store, scope: Scope, documents: Sequence[Document], before: Sequence[str] = ()
    ) -> None:
        self._store, self._scope, self._before = store, scope, before
        self._names = {document.id: document.name for document in documents}
        self._sheets = sheets(documents)

    def chosen(self, question: str, passages: Sequence[Passage]) -> list[Table]:
        """Those that a question is likely about, the likeliest first, and the sheets like them."""
        scored = self._scored(question, passages)
        best = [
            table for score, table in scored[:_MOST_TABLES] if score >= _NEAR_BEST * scored[0][0]
        ]
        return with_likes(best, [table for _, table in scored])

    def which(self, question: str, passages: Sequence[Passage]) -> Draft | None:
        """An abstention with the names of the sheets that may be meant, where these are several."""
        scored = self._scored(question, passages)
        sure = bool(scored) and scored[0][0] >= _HOLDS  # of tables: then any other may be meant
        names = self._others([table for score, table in scored if sure or score > 0.0], ())
        return _noted(Draft((), (), 0.0, abstained=True), names) if len(names) > 1 else None

    def is_about(self, question: str, used: Collection[str], likeliest: Table) -> bool:
        """Whether the sheets among the documents that were used have the likeliest table, or hold
        about as much of what was asked for as any sheet does: a query over the wrong table is as
        sure of itself as one over the right."""
        if likeliest.document_id in used:
            return True
        held = self._held(_words(question))
        sheets = self._sheets - {*self._before}
        best = max((held.get(one, 0.0) for one in sheets), default=0.0)
        own = sheets & {*used}
        return not own or sum(held.get(one, 0.0) for one in own) >= _HOLDS * best

    def with_others(self, draft: Draft, tables: Sequence[Table], used: Collection[str]) -> Draft:
        """A draft with the names of the sheets among these tables that it did not use."""
        names = self._others(tables, used)
        return _noted(draft, names) if names else draft

    def _others(self, tables: Sequence[Table], used: Collection[str]) -> list[str]:
        found = dict.fromkeys(table.document_id for table in tables)
        others = [one for one in found if one in self._sheets and one not in used]
        return [self._names[one] for one in others[:_OFFERED]]

    def _scored(self, question: str, passages: Sequence[Passage]) -> list[tuple[float, Table]]:
        """What a document of much else holds says little of a table in it."""
        asked = _words(question)
        held = {one: share for one, share in self._held(asked).items() if one in self._sheets}
        scored = [
            (
                found_near(table, passages)
                + _called(table, self._names, asked)
                + held.get(table.document_id, 0.0)
                + (_SAME if table.document_id in self._before else 0.0),
                table,
            )
            for table in self._store.tables.of(self._scope, list(self._names))
        ]
        return sorted(scored, key=lambda one: -one[0])

    def _held(self, words: Sequence[str]) -> dict[str, float]:
        """By document: the share of the words that it holds, those weighing most that few hold."""
        search = self._store.words
        found: dict[str, float] = {}
        total = 0.0
        for word in words:
            holding = search.documents_with(word, self._scope)
            total += 1 / len(holding) if holding else 0.0
            for document in holding:
                found[document] = found.get(document, 0.0) + 1 / len(holding)
        return {document: weight / total for document, weight in found.items()}


def _noted(draft: Draft, names: Sequence[str]) -> Draft:
    note = Note(NoteKind.OTHER_SHEETS, tuple(names))
    return replace(draft, notes=(*draft.notes, note))


def found_near(table: Table, passages: Sequence[Passage]) -> float:
    """How much of what was found lies on a table's pages, the first passages most."""
    return sum(
        1 / (2 + rank)
        for rank, passage in enumerate(passages)
        if passage.chunk.document_id == table.document_id
        and table.first_page <= passage.chunk.page <= table.last_page
    )


def sheet_found(passages: Sequence[Passage], documents: Sequence[Document]) -> bool:
    """Whether a sheet is among the first that was found."""
    known = sheets(documents)
    return any(p.chunk.document_id in known for p in passages[:FIRST])


def sheets(documents: Sequence[Document]) -> set[str]:
    """The documents that are nothing but tables."""
    return {one.id for one in documents if one.suffix in TABLES}


def _words(question: str) -> list[str]:
    return [word for word in dict.fromkeys(compared(question)) if len(word) > 2]


def _called(table: Table, names: dict[str, str], asked: Sequence[str]) -> float:
    """The share of a question's words that a table is called by, or its columns."""
    told = [names.get(table.document_id, ""), table.name, table.title]
    told += [column.name for column in table.columns]
    words = with_months(dict.fromkeys(word for text in told for word in compared(text)))
    return len(alike(words, with_months(asked))) / len(asked) if asked else 0.0
