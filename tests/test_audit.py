"""The log of who did what."""

from __future__ import annotations

import csv
import io
import json

import pytest

from rag_app.access.audit import Action, AuditLog, as_csv, as_json_lines, moment
from rag_app.access.nouns import Identity
from rag_app.errors import UnknownDocument
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.storage.database import ConstraintBroken
from tests.fakes import WordEmbedder

DAY = 86_400.0
NOW = 1_790_000_000.0  # 2026-09-21


class Now:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = NOW

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def log(database, now) -> AuditLog:
    return AuditLog(database, days=30, clock=now)


def test_what_was_done_is_found_again_the_newest_first(log, now):
    log.record("anna", Action.ADD, "d1", "report.pdf")
    now.seconds += 60
    log.record("ben", Action.REMOVE, "d1")
    newest, oldest = log.entries()
    assert (newest.subject, newest.action, newest.about) == ("ben", "remove", "d1")
    assert oldest.at == moment(NOW) and newest.at == moment(NOW + 60)
    assert log.entries(subject="anna") == (oldest,)
    assert log.entries(action=Action.REMOVE) == (newest,)
    assert log.entries(since=newest.at) == (newest,)
    assert log.entries(until=newest.at) == (oldest,)
    assert log.entries(limit=1) == (newest,)
    assert log.entries(before=newest.number) == (oldest,)


def test_the_words_of_questions_are_kept_only_where_the_settings_say_so(database, log):
    log.record("anna", Action.ASK, "c1", "What does she earn?")
    assert log.entries()[0].detail == ""
    AuditLog(database, questions=True).record("anna", Action.ASK, "c1", "What does she earn?")
    assert log.entries()[0].detail == "What does she earn?"


def test_what_comes_from_outside_is_kept_on_one_line(log):
    log.record("anna", Action.EXPORT, "a\nb", "x\x1b[31m" + "y" * 9_000)
    entry = log.entries()[0]
    assert entry.about == "a b" and entry.detail.startswith("x [31m")
    assert len(entry.detail) == 4_000


@pytest.mark.parametrize("words", [False, True])
def test_all_that_somebody_does_with_documents_is_written_down(tmp_path, either_database, words):
    del either_database
    settings = Settings.load(
        data_dir=tmp_path, caution=0.0, generator="quotes", audit_questions=words
    )
    question = "What does the ferry cost?"
    with Library(settings, embedder=WordEmbedder()) as library:
        library.access.arrive(Identity("anna"))
        anna = library.scoped(library.access.scope_of("anna"))

        def added(name: str, text: str, *, replace: bool = False) -> str:
            made = anna.add(name, text.encode(), replace=replace).document.id
            anna.wait([made], timeout=60)
            return made

        first, gone = added("ferry.txt", "Four euros."), added("dogs.txt", "Dogs travel free.")
        newer = added("ferry.txt", "The ferry costs five euros.", replace=True)
        newest = added("fares.txt", "The ferry costs six euros.")
        anna.replace(newer, newest)
        list(anna.ask(question))
        anna.remove(gone)
        with pytest.raises(UnknownDocument):
            anna.remove(gone)
        late = [added(f"{n}.txt", f"Boat number {n}.") for n in range(2)]
        library.add("of the machine itself.txt", b"Nobody who signed in added this.")
        anna.clear()
        noted = [(e.action, e.about, e.detail) for e in library.access.log.entries()][::-1]
        assert {e.subject for e in library.access.log.entries()} == {"anna"}
    assert noted == [
        ("sign-in", "", ""),
        ("add", first, ""),
        ("add", gone, ""),
        ("add", newer, ""),
        ("remove", first, f"gives way to: {newer}"),
        ("add", newest, ""),
        ("remove", newer, f"gives way to: {newest}"),
        ("ask", "", question if words else ""),
        ("remove", gone, ""),
        *(("add", one, "") for one in late),
        *(("remove", one, "") for one in (newest, *late)),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_log SET subject = 'ben'",
        "DELETE FROM audit_log",
        "INSERT OR REPLACE INTO audit_log SELECT number, at, 'ben', '', '', '' FROM audit_log",
        "UPDATE audit_horizon SET before = '9999'",
        "INSERT OR REPLACE INTO audit_horizon VALUES (1, '9999')",
        "DELETE FROM audit_horizon",
    ],
)
def test_entries_are_neither_changed_nor_deleted(databases, database, log, statement):
    if "OR REPLACE" in statement:
        databases.files()
    log.record("anna", Action.ADD, "d1")
    known = log.entries()
    with pytest.raises(ConstraintBroken), database.write() as db:
        db.execute(statement)
    assert log.entries() == known


def test_entries_go_when_they_are_as_old_as_they_are_kept(log, now):
    log.record("anna", Action.ADD, "old")
    now.seconds += 29 * DAY
    log.record("anna", Action.ADD, "young")
    assert log.purge() == 0
    now.seconds = NOW + 30 * DAY + 1
    assert log.purge() == 1
    assert [entry.about for entry in log.entries()] == ["young"]


def test_old_entries_go_by_the_way_once_a_day(log, now):
    log.record("anna", Action.ADD, "old")
    now.seconds += 40 * DAY
    log.record("anna", Action.ADD, "young")
    assert [entry.about for entry in log.entries()] == ["young"]


def test_a_clock_that_was_set_back_brings_nothing_back_and_breaks_nothing(log, now):
    now.seconds += 40 * DAY
    log.record("anna", Action.ADD, "first")
    log.purge()
    now.seconds = NOW
    log.record("anna", Action.ADD, "second")
    assert log.purge() == 0 and len(log.entries()) == 2


def test_an_export_holds_every_entry(log):
    for number in range(2_500):
        log.record("anna", Action.ADD, f"d{number}")
    lines = list(as_json_lines(log.every()))
    assert len(lines) == 2_500
    assert json.loads(lines[0])["about"] == "d2499" and json.loads(lines[-1])["about"] == "d0"


@pytest.mark.parametrize("evil", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0"])
def test_a_formula_is_a_text_in_a_spreadsheet(log, evil):
    log.record(evil, Action.ADD, evil, evil)
    names, cells = csv.reader(io.StringIO("".join(as_csv(log.every()))))
    assert names == ["number", "at", "subject", "action", "about", "detail"]
    assert cells[2] == cells[4] == cells[5] == f"'{evil}"
