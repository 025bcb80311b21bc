"""Large tables stay open from one question to the next, and no longer than they are true."""

from __future__ import annotations

import pytest

from rag_app.errors import QueryError
from rag_app.reading.limits import Limits
from rag_app.reading.sheets import read_delimited
from rag_app.scope import WORKER
from rag_app.storage import Store
from rag_app.tables.building import typed_tables
from rag_app.tables.opening import OpenTables, TableOpener
from rag_app.types import Document, Status

DOCUMENT = Document("one", "one.csv", ".csv", 1, "2021", Status.READY)
TITLES = {"one": "one.csv"}


@pytest.fixture
def store(database):
    made = Store(database)
    made.add_document(DOCUMENT)
    yield made
    made.close()


def keep(store: Store, file, *amounts: int) -> None:
    rows = "".join(f"a{at},{amount}\n" for at, amount in enumerate(amounts))
    reading = read_delimited(file(f"name,amount\n{rows}".encode()), limits=Limits())
    store.save_reading("one", reading, typed_tables("one", reading))
    store.save_chunks("one", [])


def asked(opener: TableOpener, store: Store, titles=TITLES) -> tuple[OpenTables, object]:
    with opener.opened(store.tables.of(WORKER), titles, store.tables) as opened:
        return opened, opened.database.run("SELECT sum(amount) FROM t1").rows[0][0]


def is_open(opened: OpenTables) -> bool:
    try:
        opened.database.run("SELECT 1 FROM t1")
    except QueryError:
        return False
    return True


def test_large_tables_are_opened_once_for_many_questions(store, file):
    keep(store, file, 1, 2, 3)
    opener = TableOpener(large=3)
    first, total = asked(opener, store)
    again, same = asked(opener, store)
    assert first is again and total == same == 6
    opener.close()
    assert not is_open(first) and asked(opener, store)[0] is not first


def test_small_ones_are_closed_after_each(store, file):
    keep(store, file, 1, 2)
    opener = TableOpener(large=3)
    first, _ = asked(opener, store)
    assert not is_open(first) and asked(opener, store)[0] is not first


def test_a_document_that_is_read_again_is_opened_again(store, file):
    keep(store, file, 1, 2, 3)
    opener = TableOpener(large=3)
    first, _ = asked(opener, store)
    keep(store, file, 1, 2, 9)
    again, total = asked(opener, store)
    assert again is not first and total == 12 and not is_open(first)
    opener.close()


def test_a_document_that_is_called_otherwise_is_described_again(store, file):
    keep(store, file, 1, 2, 3)
    opener = TableOpener(large=3)
    asked(opener, store)
    again, _ = asked(opener, store, {"one": "two.csv"})
    assert again.described.text.startswith("t1: two.csv")
    opener.close()


def test_two_questions_at_once_have_a_database_each(store, file):
    keep(store, file, 1, 2, 3)
    opener = TableOpener(large=3)
    tables = store.tables.of(WORKER)
    with opener.opened(tables, TITLES, store.tables) as one:
        other = asked(opener, store)[0]
        assert other is not one and is_open(one) and is_open(other)
    assert is_open(one) and not is_open(other)
    opener.close()
    assert not is_open(one)


def test_tables_of_which_a_question_failed_are_not_kept(store, file):
    keep(store, file, 1, 2, 3)
    opener = TableOpener(large=3)
    asking = opener.opened(store.tables.of(WORKER), TITLES, store.tables)
    with pytest.raises(ZeroDivisionError), asking as opened:
        raise ZeroDivisionError
    assert not is_open(opened)


def test_they_are_closed_some_time_after_the_last_question(store, file):
    keep(store, file, 1, 2, 3)
    opener = TableOpener(large=3, kept=0.01)
    opened, _ = asked(opener, store)
    opener._timer.join(5.0) if opener._timer else None
    assert not is_open(opened)
