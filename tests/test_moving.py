"""A library that is moved to PostgreSQL is the same library: what is in it, found, and allowed."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_app import cli
from rag_app.access.nouns import MACHINE, Grantee, Identity
from rag_app.access.quotas import Limited
from rag_app.errors import MoveError
from rag_app.library import Library
from rag_app.scope import WORKER, Role
from rag_app.settings import Settings
from rag_app.storage import pgvector
from rag_app.storage.database import VERSIONS
from rag_app.storage.engines import open_database
from rag_app.storage.moving import _tables, move
from rag_app.storage.originals import own
from rag_app.storage.postgres_words import TsVectors
from rag_app.types import RetrieverKind
from tests import postgres
from tests.fakes import WordEmbedder
from tests.test_backup import done, files, told
from tests.test_conversations import answer
from tests.test_json_contract import FIELDS, hold

pytestmark = postgres.needs_postgres
QUESTIONS = ("What does the ferry cost?", "museum Mondays", "lighthouse keeper", "cliff", "Oslo")


def settings(folder: Path, url: str = "", **given: Any) -> Settings:
    return Settings.load(data_dir=folder, database_url=url, **given)


def opened(folder: Path, url: str = "", **given: Any) -> Library:
    made = {"generator": "quotes", "writer": "off"} | given
    return Library(settings(folder, url, **made), embedder=WordEmbedder())


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A closed library with something of all that a library may hold."""
    folder = tmp_path_factory.mktemp("whole") / "data"
    with opened(folder) as library:
        access = library.access
        for one in ("anna", "ben", "cara"):
            access.arrive(Identity(one, one.title(), f"{one}@example.org"))
        access.rename(MACHINE, "home", "Main hall")
        shared = access.create_collection("anna", "Shared").id
        group = access.make_group("anna", "Readers").id
        access.join("anna", group, "cara")
        access.grant("anna", shared, Grantee.group(group), Role.READER)
        access.grant("anna", shared, Grantee.person("ben"), Role.EDITOR)
        access.quotas.set_limit(MACHINE, Limited.FILES, 90, "ben")
        access.api_keys.create_key("ben", "script")
        ben = library.scoped(access.scope_of("ben"))
        for number in range(12):
            words = f"The lighthouse keeper{number}x stands on cliff {number % 3}. " * (1 + number)
            library.add(f"light{number}.txt", words.encode())
        library.add("prices.csv", b"ferry,price\nOslo,12\nBergen,14\nMolde,9\n")
        library.add("odd.txt", "The museum has Gr\u00f6\u00dfe and \U0001f6a2 on Mondays.".encode())
        library.add("broken.pdf", b"%PDF-1.4 and no more")
        ben.add("ferry.txt", b"The ferry to the island costs four euros.", collection=shared)
        own_one = access.own_collection("ben")
        ben.add("museum.txt", b"The museum is closed on Mondays.", collection=own_one)
        for view in (ben, library):
            done(view)
        ben.shelves.tag([d.id for d in ben.documents()][:1], "Ships")
        ben.preferences.change(language="French")
        for view in (ben, library):
            conversation = view.conversations.start("What does it cost?")
            exchange = view.conversations.ask(conversation, "What does it cost?")
            view.conversations.answer(exchange, answer())
        library.remove(next(d.id for d in library.documents() if d.name == "light5.txt"))
        assert library.wait_until_clean(60)
    return folder


@pytest.fixture
def folder(whole, tmp_path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(whole, tmp_path / "data"))


@pytest.fixture
def url() -> Iterator[str]:
    with postgres.empty_library() as made:
        yield made


def seen(library: Library) -> dict[str, Any]:
    """What people see of a library, and what they find."""
    access = library.access
    views = [library, *(library.scoped(access.scope_of(p)) for p in ("anna", "ben", "cara"))]
    found = {
        f"{n} {kind} {question}": [p.chunk.id for p in view.search(question, 10, None, kind)]
        for n, view in enumerate(views)
        for kind in RetrieverKind
        for question in QUESTIONS
    }
    assert sum(map(len, found.values())) > 100
    return found | {
        "people": (access.people(), access.groups(), access.collections(MACHINE)),
        "grants": [access.grants(MACHINE, one.id) for one in access.collections(MACHINE)],
        "keys": (access.api_keys.keys("ben"), access.quotas.own_limits("ben")),
        "log": access.log.entries(),
        "scopes": [view.scope for view in views],
        "documents": [view.documents() for view in views],
        "shelves": [view.shelves.all() for view in views],
        "chosen": [view.preferences.read() for view in views],
        "said": [
            [(c, view.conversations.exchanges(c.id)) for c in view.conversations.listed()]
            for view in views
        ],
        "read": [
            (library._store.pages(d.id, WORKER), library._store.indexed(d.id, WORKER))
            for d in library._store.documents(WORKER)
        ],
    }


def rows(url: str) -> dict[str, int]:
    """How many rows the tables have that have any."""
    database = open_database(Settings.load(database_url=url))
    with database.read() as db:
        tables = db.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()
        counted = {t: db.execute(f'SELECT count(*) FROM "{t}"').fetchone()[0] for (t,) in tables}
    database.close()
    return {table: number for table, number in counted.items() if number}


def test_it_is_the_same_library(folder, url):
    with opened(folder) as library:
        before, everybodys = seen(library), library._store.documents(WORKER)
        documents, passages = len(everybodys), sum(d.chunks for d in everybodys)
    kept = told(folder)
    moved = move(settings(folder, url))
    assert (moved.rows["documents"], moved.rows["chunks"]) == (documents, passages)
    assert moved.vectors == passages and moved.rows["people"] == 3
    assert moved.rows["tables"] and moved.rows["api_keys"] and moved.rows["audit_log"]
    assert told(folder) == kept
    with opened(folder, url) as library:
        embedder = library._opened.reindexing.live.current.embedder
        after = seen(library)
        for what in before:
            assert after[what] == before[what], what
        assert embedder.embedded == []  # the vectors came along
        assert library._opened.vectors.count() == passages
        assert all(library.original(d.id).is_file() for d in library.documents())


def test_the_app_goes_on_where_it_was(folder, url):
    move(settings(folder, url))
    with opened(folder, url) as library:
        added = library.add("late.txt", b"The last bus leaves at nine.")
        done(library)
        assert library.search("last bus", 1)[0].chunk.document_id == added.document.id
        assert library.documents()[-1].id == added.document.id
        library.access.create_collection("anna", "Another")  # the log's numbers go on, too
        assert library.conversations.start("And then?")
        library.remove(added.document.id)


def test_what_postgresql_cannot_keep_is_kept_as_a_mark(folder, url):
    with sqlite3.connect(folder / "library.sqlite3") as db:
        db.execute("UPDATE conversations SET title = ?", ("What\x00 does it cost?",))
    db.close()
    move(settings(folder, url))
    with opened(folder, url) as library:
        assert {c.title for c in library.conversations.listed()} == {"What\ufffd does it cost?"}


def test_a_graph_is_made_where_vectors_are_many(folder, url, monkeypatch):
    monkeypatch.setattr(pgvector, "_GRAPH_FROM", 5)
    move(settings(folder, url))
    database = open_database(Settings.load(database_url=url))
    with database.read() as db:
        made = db.execute("SELECT indexdef FROM pg_indexes WHERE indexname LIKE '%\\_graph'")
        assert ["hnsw" in row[0] for row in made.fetchall()] == [True]
        assert db.execute("SHOW maintenance_work_mem").fetchone()[0] == "64MB"
    database.close()


KILLED = """
import os, signal, sys
from pathlib import Path
from rag_app.settings import Settings
from rag_app.storage import chroma, moving, postgres, postgres_words
cls, name, left = {where}
real = getattr(cls, name)
def dying(*given, **named):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*given, **named)
setattr(cls, name, dying)
moving.move(Settings.load(data_dir=Path(sys.argv[1]), database_url=sys.argv[2]))
"""


@pytest.mark.parametrize(
    "where",
    [
        "postgres.PostgresConnection, 'take_in', 9",
        "postgres_words.TsVectors, 'index', 4",
        "chroma.ChromaVectors, 'of_chunks', 4",
        "moving._Move, '_check_counts', 0",
    ],
)
def test_who_is_killed_begins_again(folder, url, where):
    empty, kept, originals = rows(url), told(folder), files(folder)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED.format(where=where), str(folder), url],
        check=False,
        capture_output=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (rows(url), told(folder), files(folder)) == (empty, kept, originals)
    moved = move(settings(folder, url))
    assert moved.vectors == moved.rows["chunks"] > 0
    with opened(folder) as library:  # what it was moved from is a library still
        before = seen(library)
    with opened(folder, url) as library:
        assert seen(library) == before


def test_a_database_with_something_in_it_is_refused(folder, url):
    database = open_database(Settings.load(database_url=url))
    with database.write() as db:
        db.execute("INSERT INTO conversations (id, title, started_at, changed_at) "
                   "VALUES ('c', 'Anything', '', '')")  # fmt: skip
    before = rows(url)
    with pytest.raises(MoveError, match=r"There is a library in the database .* already.*another"):
        move(settings(folder, url))
    assert rows(url) == before
    with database.write() as db:
        db.execute("DELETE FROM conversations")
        db.execute("INSERT INTO workers (id, seen) VALUES ('w', now())")
    with pytest.raises(MoveError, match="Stop it everywhere"):
        move(settings(folder, url))
    with database.write() as db:
        db.execute("DELETE FROM workers")
    database.close()
    move(settings(folder, url))
    with pytest.raises(MoveError, match="already"):
        move(settings(folder, url))


def test_a_database_in_which_the_app_was_started_is_empty_still(folder, url, tmp_path):
    with opened(tmp_path / "other", url) as library:
        assert library.documents() == []
    move(settings(folder, url))
    with opened(folder, url) as library:
        assert [one.name for one in library.access.collections(MACHINE)].count("Main hall") == 1


def test_nothing_is_moved_that_is_open_or_is_not_there(folder, url, tmp_path):
    with pytest.raises(MoveError, match="set RAG_APP_DATABASE_URL to an empty"):
        move(settings(folder))
    with pytest.raises(MoveError, match=r"There is no library in .*nowhere"):
        move(settings(tmp_path / "nowhere", url))
    assert not (tmp_path / "nowhere").exists()
    lock = own(folder)
    code = (
        "import sys; from pathlib import Path; from rag_app.settings import Settings; "
        "from rag_app.storage.moving import move; from rag_app.errors import LibraryInUse\n"
        "try: move(Settings.load(data_dir=Path(sys.argv[1]), database_url=sys.argv[2]))\n"
        "except LibraryInUse: sys.exit(7)"
    )
    try:
        run = subprocess.run([sys.executable, "-c", code, str(folder), url], check=False)
    finally:
        lock.release()
    assert run.returncode == 7


def test_a_row_that_is_missing_in_the_end_undoes_all(folder, url, monkeypatch):
    monkeypatch.setattr(TsVectors, "index", lambda *_: None)
    empty = rows(url)
    with pytest.raises(MoveError, match="has 0 rows of chunk_words where the library has"):
        move(settings(folder, url))
    assert rows(url) == empty


def test_originals_go_to_the_object_store_once_the_rows_are_there(folder, url, tmp_path):
    (bucket := tmp_path / "bucket").mkdir()
    here = files(folder)
    chosen = settings(folder, url, files_url=f"file://{bucket}")
    moved = move(chosen)
    there = {path.name: path.read_bytes() for path in bucket.iterdir()}
    assert moved.originals == len(here) == len(there) > 10
    assert there == {Path(name).name: data for name, data in here.items()}
    assert files(folder) == {}
    with opened(folder, url, files_url=f"file://{bucket}") as library:
        assert [library.original(d.id).is_file() for d in library.documents()].count(True) > 10


def test_originals_stay_where_the_rows_do_not_arrive(folder, url, tmp_path, monkeypatch):
    monkeypatch.setattr(TsVectors, "index", lambda *_: None)
    (bucket := tmp_path / "bucket").mkdir()
    here = files(folder)
    with pytest.raises(MoveError):
        move(settings(folder, url, files_url=f"file://{bucket}"))
    assert files(folder) == here
    monkeypatch.undo()
    assert move(settings(folder, url, files_url=f"file://{bucket}")).originals == len(here)


def test_every_table_and_column_has_its_place_there(url, tmp_path):
    with sqlite3.connect(tmp_path / "library.sqlite3") as db:
        for step in VERSIONS:
            db.executescript(step.read_text("utf-8"))
        ours = {
            table: {row[0] for row in db.execute("SELECT name FROM pragma_table_info(?)", (table,))}
            for table in _tables(db)
        }
    db.close()
    assert len(ours) > 30 and {"documents", "chunks", "audit_log", "people"} <= ours.keys()
    database = open_database(Settings.load(database_url=url))
    with database.read() as theirs:
        for table, names in ours.items():
            assert theirs.columns(table) - {"rowid"} == names - {"rowid"}, table
    database.close()


def run(capsys: Any, *words: str) -> tuple[int, str, str]:
    status = cli.main(list(words))
    said = capsys.readouterr()
    return status, said.out, said.err


def test_by_the_command_line(folder, url, capsys, monkeypatch):
    status, out, err = run(capsys, "move", "--data-dir", str(folder))
    assert (status, out) == (1, "") and "set RAG_APP_DATABASE_URL" in err
    monkeypatch.setenv("RAG_APP_DATABASE_URL", url)
    status, out, err = run(capsys, "move", "--data-dir", str(folder))
    assert status == 0 and out.startswith("moved  16 documents, ") and "3 people" in out
    assert "library.sqlite3" in err and "delete these" in err
    status, _, err = run(capsys, "move", "--data-dir", str(folder))
    assert status == 1 and "already" in err


def test_as_json(folder, url, capsys, monkeypatch):
    monkeypatch.setenv("RAG_APP_DATABASE_URL", url)
    status, out, _ = run(capsys, "move", "--json", "--data-dir", str(folder))
    assert status == 0
    hold([json.loads(out)], FIELDS["rag-app move --json"])


def test_who_stops_it_moves_nothing(folder, url, capsys, monkeypatch):
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("RAG_APP_DATABASE_URL", url)
    monkeypatch.setattr("rag_app.storage.moving._Move._check_counts", stopped)
    empty = rows(url)
    status, _, err = run(capsys, "move", "--data-dir", str(folder))
    assert status == 130 and "Nothing was moved" in err and rows(url) == empty
