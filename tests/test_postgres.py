"""What is PostgreSQL's own: statements in its words, and what becomes of them when it is away."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_app.access.access import Access
from rag_app.access.nouns import MACHINE, Identity
from rag_app.errors import (
    BackupError,
    DatabaseUnavailable,
    DiskFull,
    LibraryClosed,
    LibraryDamaged,
    SettingsError,
)
from rag_app.library import Library
from rag_app.scope import OWN, WORKER
from rag_app.settings import Settings
from rag_app.storage import Store
from rag_app.storage.database import ConstraintBroken
from rag_app.storage.engines import check_backed_up_here, open_database
from rag_app.storage.provenance import superseded
from rag_app.types import RetrieverKind, Status
from tests import postgres
from tests.fakes import WordEmbedder
from tests.test_disk_full import fill as fill_up
from tests.test_disk_full import text, until
from tests.test_store import document, fill

pytestmark = postgres.needs_postgres


@pytest.fixture
def url():
    with postgres.fresh_database(template=postgres.prepared()) as address:
        yield address


@pytest.fixture
def database(url):
    from rag_app.storage.postgres import PostgresDatabase

    opened = PostgresDatabase(url)
    yield opened
    opened.close()


def _on_server(url: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("SELECT ?, '?', \"a?\" WHERE x = :name", "SELECT %s, '?', \"a?\" WHERE x = %(name)s"),
        ("SELECT 5 % 2, '100%', x::text", "SELECT 5 %% 2, '100%%', x::text"),
        ("x LIKE ? ESCAPE '\\'", "x ILIKE %s ESCAPE '\\'"),
        ("json_extract(e.answer, '$.text')", "(e.answer::json ->> 'text')"),
        ("SELECT json_group_array(x.id)", "SELECT coalesce(json_agg(x.id), '[]')::text"),
        ("lower(tag) = lower(?)", 'lower(tag) = lower(%s COLLATE "C")'),
        ("it''s 'it''s ?'", "it''s 'it''s ?'"),
    ],
)
def test_a_statement_is_put_into_postgresql_s_words(written, said):
    from rag_app.storage.postgres import translated

    assert translated(written).text.decode() == said


def test_a_list_written_as_json_is_an_array(database):
    with database.read() as db:
        rows = db.execute(
            "SELECT ?, j.value, j.key FROM json_each(?) j WHERE j.value != ?",
            ("first", '["a\\u0000", 3, "%s?"]', "x"),
        ).fetchall()
    assert rows == [("first", "a\ufffd", 0), ("first", "3", 1), ("first", "%s?", 2)]


def test_a_text_with_a_nul_keeps_its_length(database):
    store = Store(database)
    kept = fill(store, 1, ["a\x00b"])
    assert store.page(kept, 1, WORKER).text == "a\ufffdb"


def test_what_another_process_writes_is_counted_and_seen(url, database):
    store, other = Store(database), Store(open_database(Settings.load(database_url=url)))
    assert store.documents(OWN) == []
    before = database.commits
    fill(other, 1, ["Cats purr."])
    assert database.commits > before == before
    assert [one.name for one in store.documents(OWN)] == ["1.txt"]
    other.close()


def test_one_writes_at_a_time_among_all_who_write(url, database):
    other = open_database(Settings.load(database_url=url))
    began, done = threading.Event(), []

    def count() -> None:
        began.set()
        with other.write() as db:
            db.execute("UPDATE marks SET value = value + 1 WHERE name = ?", ("n",))
        done.append(1)

    with database.write() as db:
        db.execute("INSERT INTO marks VALUES (?, ?)", ("n", 1))
        waiting = threading.Thread(target=count)
        waiting.start()
        began.wait(10)
        waiting.join(0.3)
        assert not done
    waiting.join(10)
    with database.read() as db:
        assert db.execute("SELECT value FROM marks").fetchall() == [(2,)]
    other.close()


def test_reads_and_writes_go_on_when_the_server_has_cut_every_connection(url, database):
    store = Store(database)
    fill(store, 1, ["Cats purr."])
    ended = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    _on_server(url, ended)
    assert len(store.documents(WORKER)) == 1
    _on_server(url, ended)
    store.add_document(document(2))
    assert len(store.documents(WORKER)) == 2


def test_a_write_that_is_cut_off_in_the_middle_says_to_try_again_and_changes_nothing(url, database):
    with pytest.raises(DatabaseUnavailable, match="Try again in a minute"), database.write() as db:
        db.execute("INSERT INTO marks VALUES (?, ?)", ("n", 1))
        _on_server(
            url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        db.execute("INSERT INTO marks VALUES (?, ?)", ("m", 1))
    with database.read() as db:
        assert db.execute("SELECT * FROM marks").fetchall() == []


def test_a_server_that_was_away_is_used_again_as_soon_as_it_is_back(monkeypatch):
    monkeypatch.setattr("rag_app.storage.postgres._PATIENCE", 1.0)
    server = postgres.another_server()
    store = Store(open_database(Settings.load(database_url=server.get_uri())))
    fill(store, 1, ["Cats purr."])
    postgres.stop(server, "fast")
    for _ in range(4):  # as long as the pool tries by itself, and longer
        with pytest.raises(DatabaseUnavailable, match="Try again in a minute"):
            store.documents(WORKER)
    server.ensure_postgres_running()
    store.add_document(document(2))
    assert len(store.documents(WORKER)) == 2
    store.close()
    server.cleanup()


def test_work_on_a_document_waits_for_the_server_and_goes_on(url, monkeypatch):
    away = iter([True, True])
    save = Store.save_reading

    def cut_off(store: Store, *given: object) -> None:
        if next(away, False):
            raise DatabaseUnavailable("The server is away.")
        save(store, *given)

    monkeypatch.setattr(Store, "save_reading", cut_off)
    monkeypatch.setenv("RAG_APP_DATABASE_URL", url)
    with Library(Settings.load(), embedder=WordEmbedder()) as library:
        added = library.add("a.txt", b"The ferry leaves at noon.").document.id
        assert library.wait([added], timeout=60)[0].status is Status.READY
    assert next(away, None) is None


def test_a_server_that_goes_in_the_middle_of_everything_loses_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr("rag_app.storage.postgres._PATIENCE", 1.0)
    server = postgres.another_server()
    settings = Settings.load(database_url=server.get_uri(), writer="off", generator="quotes")
    embedder = WordEmbedder()
    with Library(settings, embedder=embedder) as library:
        kept = [library.add("0.txt", b"The ferry leaves at noon.").document.id]
        library.wait(kept, timeout=60)
        embedder.gate.clear()  # the rest is in the middle of its work
        kept += [library.add(f"{n}.txt", f"Pier {n}.".encode()).document.id for n in range(1, 9)]
        until(lambda: any(p.stage == "embedding" for p in library.progress().values()))
        postgres.stop(server, "immediate")
        embedder.gate.set()
        for wanted in (
            lambda: [*library.ask("When does the ferry leave?")],
            lambda: library.search("ferry"),
            lambda: library.add("more.txt", b"Who knows?"),
            lambda: library.remove(kept[0]),
        ):
            with pytest.raises(DatabaseUnavailable, match="Try again in a minute"):
                wanted()
        server.ensure_postgres_running()
        until(lambda: _back(library))
        kept.append(library.add("more.txt", b"Who knows?").document.id)
        done = library.wait(kept, timeout=120)
        assert [d.status for d in done] == [Status.READY] * len(kept)
        assert library._opened.vectors.count() == len(library.documents()) == len(kept)
        assert "noon" in library.search("ferry")[0].chunk.text
    server.cleanup()


def _back(library: Library) -> bool:
    try:
        return bool(library.documents())
    except DatabaseUnavailable:
        return False


@pytest.fixture
def crowded() -> Iterator[tuple[str, Path]]:
    """The address of a database on a disk of 40 megabytes, and where that is."""
    import psycopg

    disk = Path(tempfile.mkdtemp(prefix="disk"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m,mode=777", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here (it takes root)")
    disk.chmod(0o777)
    try:
        tables = disk / "tables"
        tables.mkdir()
        with psycopg.connect(postgres.server()) as connection:
            [(data,)] = connection.execute("SHOW data_directory").fetchall()
        shutil.chown(tables, Path(data).stat().st_uid)
        _on_server(postgres.server(), f"CREATE TABLESPACE crowded LOCATION '{tables}'")
        with postgres.fresh_database("TABLESPACE crowded") as url:
            yield url, disk
        _on_server(postgres.server(), "DROP TABLESPACE crowded")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
        disk.rmdir()


def test_a_full_disk_of_the_server_is_one_sentence_and_work_goes_on(crowded, monkeypatch):
    url, disk = crowded
    monkeypatch.setattr("rag_app.ingestion.worker._PAUSE", 0.1)
    monkeypatch.setattr("rag_app.ingestion.worker._LONGEST_PAUSE", 0.2)
    settings = Settings.load(database_url=url, writer="off", generator="quotes")
    with Library(settings, embedder=WordEmbedder()) as library:
        first = library.add("first.txt", text("lighthouse")).document.id
        library.wait([first], timeout=60)
        filler = fill_up(disk, 0)
        accepted: list[str] = []
        with pytest.raises(DiskFull, match=r"^The disk of the database .* is full\. Make room"):
            for n in range(200):  # pages that are there already take some
                accepted.append(library.add(f"{n}.txt", text(f"beacon{n}x", 500)).document.id)
                until(lambda: library.trouble or not library.progress())
        assert library.search('"lighthouse of line 7"', retriever=RetrieverKind.BM25)
        filler.unlink()
        last = library.add("last.txt", text("harbour")).document.id
        done = library.wait([first, *accepted, last], timeout=120)
        assert [d.status for d in done] == [Status.READY] * len(done)


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_machine_whose_clock_is_wrong_goes_by_the_servers(url, monkeypatch, hours):
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + hours * 3_600)
    database = open_database(Settings.load(database_url=url))
    access = Access(database, Settings.load())
    before, after = (
        Identity("anna", expires=right() + 9_999, issued=right() + seconds) for seconds in (-30, 30)
    )
    assert access.admits(before)
    access.sign_out_everywhere(MACHINE, "anna")
    assert not access.admits(before) and access.admits(after)
    database.close()


def test_a_newer_version_is_the_one_that_came_later_whatever_its_machine_s_clock_said(database):
    store = Store(database)
    for number, name in ((3, "old.txt"), (2, "newer.txt"), (1, "newest.txt")):
        store.add_document(document(number, name))  # each a second "before" the other
    first, second, last = (document(n).id for n in (3, 2, 1))
    with database.write() as db:
        db.execute("UPDATE documents SET replaces = ? WHERE id <> ?", (first, first))
        assert superseded(db, last, first) == [first, second]
        assert superseded(db, second, first) == [first]


def test_a_server_that_does_not_answer_is_one_sentence_without_the_password():
    settings = Settings.load(database_url="postgresql://anna:hush@127.0.0.1:1/papers")
    with pytest.raises(DatabaseUnavailable) as told:
        open_database(settings)
    assert "“papers” on 127.0.0.1:1" in str(told.value) and "Try again" in str(told.value)
    assert "hush" not in str(told.value) + repr(settings)


@pytest.mark.parametrize(
    "wrong",
    [
        "mysql://anna:hush@host/papers",
        "hush",
        "postgresql://anna:hu%sh@host/x",
        "postgresql://[hush",
    ],
)
def test_an_address_that_is_none_is_refused_without_being_repeated(wrong):
    with pytest.raises(SettingsError, match="RAG_APP_DATABASE_URL") as told:
        open_database(Settings.load(database_url=wrong))
    assert "hu" not in str(told.value)


def test_a_library_of_a_newer_app_is_left_alone(url):
    _on_server(url, "UPDATE rag_app_schema SET version = 999")
    with pytest.raises(LibraryDamaged, match="made by a newer version of this app"):
        open_database(Settings.load(database_url=url))


def test_a_database_that_cannot_hold_every_letter_is_refused():
    options = "ENCODING 'LATIN1' LOCALE 'C'"
    with (
        postgres.fresh_database(options) as url,
        pytest.raises(LibraryDamaged, match=r"kept as LATIN1.*ENCODING 'UTF8'"),
    ):
        open_database(Settings.load(database_url=url))


def test_who_may_not_make_tables_is_told_which_right_is_missing(postgres_url):
    _on_server(postgres_url, "DROP ROLE IF EXISTS guest")
    _on_server(postgres_url, "CREATE ROLE guest LOGIN")
    with pytest.raises(LibraryDamaged, match='GRANT CREATE ON SCHEMA public TO "guest"'):
        open_database(Settings.load(database_url=postgres_url.replace("postgres:@", "guest@", 1)))


def test_where_nothing_can_be_written_reading_goes_on(url, database):
    store = Store(database)
    fill(store, 1, ["Cats purr."])
    name = f"{url.partition('@/')[2].partition('?')[0]}"
    _on_server(url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    reading = Store(open_database(Settings.load(database_url=url)))
    assert len(reading.documents(OWN)) == 1
    with pytest.raises(DatabaseUnavailable, match="Nothing can be written"):
        reading.add_document(document(2))
    reading.close()


def test_two_who_begin_at_once_make_one_library(postgres_url):
    opened = []

    def begin() -> None:
        opened.append(open_database(Settings.load(database_url=postgres_url)))

    threads = [threading.Thread(target=begin) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(opened) == 3
    for one in opened:
        one.close()


def test_a_rule_of_the_schema_holds_in_the_middle_of_a_transaction(database):
    with pytest.raises(ConstraintBroken), database.write() as db:
        db.execute("INSERT INTO marks VALUES (?, ?)", ("n", 1))
        db.execute("INSERT INTO marks VALUES (?, ?)", ("n", 1))
    with database.read() as db:
        assert db.execute("SELECT * FROM marks").fetchall() == []


def test_who_is_closed_says_so(database):
    database.close()
    with pytest.raises(LibraryClosed), database.read():
        pass


def test_what_is_left_alone_is_left_alone_for_another_hour_when_it_fails_again(database):
    store = Store(database)
    one = fill(store, 1, ["Cats purr."])
    for _ in range(2):
        [waiting] = store.queue.first_of_each([Status.SEARCHABLE], [])
        assert waiting.document_id == one
        store.claims.leave(one)
        assert store.queue.first_of_each([Status.SEARCHABLE], []) == []
        with database.write() as db:  # an hour later
            db.execute("UPDATE left_alone SET until = now() - interval '1 second'")


def test_who_adds_waits_for_another_who_adds_as_long_as_that_takes(url, monkeypatch):
    from rag_app.storage import postgres as engine

    short = engine._SESSION.replace(b"lock_timeout = '60s'", b"lock_timeout = '300ms'")
    monkeypatch.setattr(engine, "_SESSION", short)
    stores = [Store(engine.PostgresDatabase(url)) for _ in range(2)]
    theirs, ours = (store.claims.lock("adding") for store in stores)
    theirs.acquire()
    later = threading.Timer(1.0, theirs.release)
    later.start()
    with ours:
        later.join()  # a thread that lets go is not done when another process has it
        assert not theirs.acquire(blocking=False)
    assert theirs.acquire(blocking=False)
    theirs.release()
    for store in stores:
        store.close()


def test_space_of_what_was_removed_is_given_back(database):
    store = Store(database)
    store.remove(fill(store, 1, ["Cats purr."]))
    store.shred()


def test_a_backup_is_left_to_postgresql():
    settings = Settings.load(database_url="postgresql://host/papers")
    with pytest.raises(BackupError, match=r"pg_dump.*docs/server\.md"):
        check_backed_up_here(settings)
    check_backed_up_here(Settings.load())


def test_the_driver_is_not_even_imported_without_such_an_address(tmp_path):
    code = (
        "import sys; from rag_app.settings import Settings; "
        "from rag_app.storage.engines import open_database; import rag_app.open_library; "
        f"open_database(Settings.load(data_dir={str(tmp_path)!r})); "
        "sys.exit('psycopg' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
