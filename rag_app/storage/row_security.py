"""A second lock under scopes, in PostgreSQL itself: row-level security on the tables that hold what
documents say, for a role that scoped reads take on.

The condition of a scope in every statement (`database.seen`) is the first lock. Under it a
connection that reads for a scope is another role, and is told its collections: a statement that
forgets its condition finds nothing of the others. The app's own user, who owns the tables, is not
held up: work on documents, writing, `rag-app move` and pg_dump are its own, and cost nothing more.

An administrator makes the role, once, since the app's user may not; it is named after that user,
so that libraries of two users on one server cannot open each other. Without it there is one lock.
The full-text index is not behind it, and the role may not read it at all: under a policy PostgreSQL
compares lexemes only after it has looked at each row's scope (`@@` is not leakproof), so that no
index is of use. Knows nothing of what the tables mean."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_app.storage.database import Connection

log = logging.getLogger(__name__)

_READER = "_reader"  # behind the name of the app's user: the role of scoped reads
_SETTING = "rag_app.collections"  # of a connection, as JSON
_LOCKING = 0x7261675F6C636B  # whoever makes policies holds the lock of this number
_POLICY = "of_seen_collections"
LOCKED = ("documents", "pages", "headings", "chunks", "scans", "tables", "table_blocks")
"""The tables behind the lock; those of vectors are, too, and are made later."""

# A subquery, which is hashed once: an array would be gone through for every row. Not set, or set
# to nothing, it is no collection.
_SEEN = (
    "collection IN (SELECT jsonb_array_elements_text("
    f"nullif(current_setting('{_SETTING}', true), '')::jsonb))"
)
_OF_SEEN = "EXISTS (SELECT 1 FROM documents seen WHERE seen.id = {table}.document_id)"

TELL = f"SELECT set_config('{_SETTING}', ?, false)"
"""The statement that tells a connection its collections, a list as JSON."""


def reader(db: Connection) -> str:
    """The role of scoped reads; empty where there is none that this user may be."""
    row = db.execute(
        "SELECT rolname FROM pg_roles WHERE rolname = session_user || ? "
        "AND current_user = session_user AND NOT rolsuper AND NOT rolbypassrls "
        "AND pg_has_role(session_user, oid, 'SET')",
        (_READER,),
    ).fetchone()
    return str(row[0]) if row else ""


def unlocked(db: Connection, tables: Iterable[str] = LOCKED) -> list[str]:
    """Those of the tables that are still to be put behind the lock: none where there is no role."""
    return [one for one in tables if not _is_locked(db, one)] if reader(db) else []


def lock(db: Connection, tables: Iterable[str] = LOCKED) -> str:
    """Put tables behind the lock that are not yet, in a transaction; the role that may look through
    it, empty where there is none, or where this user may not say who does."""
    role = reader(db)
    if not unlocked(db, tables := list(tables)):
        return role
    db.execute("SELECT pg_advisory_xact_lock(?)", (_LOCKING,))
    for table in unlocked(db, tables):  # another process may just have done it
        if not _is_owner(db, table):
            log.warning("there is no second lock under scopes: %s is another user's", table)
            return ""
        _lock(db, table, role)
    return role


def _is_owner(db: Connection, table: str) -> bool:
    owner = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass(?)"
    return bool(_only(db, owner, table))


def _is_locked(db: Connection, table: str) -> bool:
    there = "SELECT EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = to_regclass(?))"
    return bool(_only(db, there, table))


def _only(db: Connection, query: str, table: str) -> Any:
    row = db.execute(query, (table,)).fetchone()
    return row[0] if row else None


def _lock(db: Connection, table: str, role: str) -> None:
    quoted = '"' + role.replace('"', '""') + '"'
    held = table == "documents" or table not in LOCKED  # it names collections itself
    condition = _SEEN if held else _OF_SEEN.format(table=table)
    schema = db.execute("SELECT quote_ident(current_schema())").fetchone()[0]
    db.execute(f"GRANT USAGE ON SCHEMA {schema} TO {quoted}")
    db.execute(f"GRANT SELECT ON {table} TO {quoted}")
    db.execute(f"CREATE POLICY {_POLICY} ON {table} FOR SELECT TO {quoted} USING ({condition})")
    db.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
