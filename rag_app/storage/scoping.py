"""What a scope sees, as a condition of SQL, so that nothing else ever leaves the database.

Collections are named in it, never documents: it does not grow with what is in them."""

from __future__ import annotations

import json

from rag_app.scope import WORKER, Scope
from rag_app.storage.database import Database


def seen(scope: Scope, column: str = "collection") -> tuple[str, list[str]]:
    """A condition that lets rows of a scope's collections through, and its arguments."""
    if scope.everything:
        return "TRUE", []
    return f"{column} IN (SELECT value FROM json_each(?))", [json.dumps(scope.collections)]


def document_seen(scope: Scope, column: str) -> tuple[str, list[str]]:
    """The same for rows that name a document in a column."""
    if scope.everything:
        return "TRUE", []
    only, given = seen(scope, "s.collection")
    return f"EXISTS (SELECT 1 FROM documents s WHERE s.id = {column} AND {only})", given


class Reach:
    """Which scopes see all that there is. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._there: tuple[int, frozenset[str]] | None = None  # collections, as of so many commits

    def widest(self, scope: Scope) -> Scope:
        """The scope, or that of the `WORKER` where it sees every document that there is: then
        nothing has to be told apart, and searches need no filter."""
        if scope.everything:
            return scope
        commits, there = self._database.commits, self._there
        if there is None or there[0] != commits:
            with self._database.read() as db:
                rows = db.execute("SELECT DISTINCT collection FROM documents").fetchall()
            there = self._there = (commits, frozenset(row[0] for row in rows))
        return WORKER if all(map(scope.sees, there[1])) else scope
