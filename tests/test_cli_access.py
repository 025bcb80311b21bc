"""The commands about people and what they may."""

from __future__ import annotations

import csv
import io
import json
import time

import pytest

from rag_app import cli, open_library
from rag_app.access.access import Access
from rag_app.access.audit import Action
from rag_app.access.nouns import Grantee, Identity
from rag_app.library import Library
from rag_app.scope import Role
from rag_app.settings import Settings
from rag_app.storage.engines import open_database
from tests.fakes import WordEmbedder


@pytest.fixture
def access(either_database):
    """What the app that runs meanwhile sees."""
    database = open_database(Settings.load())
    made = Access(database, Settings.load())
    made.arrive(Identity("anna", "Anna", "anna@example.org"))
    made.arrive(Identity("ben", "Ben", "ben@example.org", frozenset({"sales"})))
    yield made
    database.close()


@pytest.fixture
def run(capsys):
    def command(*arguments: str) -> tuple[int, str, str]:
        status = cli.main(list(arguments))
        said = capsys.readouterr()
        return status, said.out, said.err

    return command


def test_people_are_listed_removed_and_restored(run, access):
    assert run("people")[1] == (
        "anna  Anna  anna@example.org  (administrator)\nben  Ben  ben@example.org\n"
    )
    assert run("people", "--remove", "BEN@example.org")[1].endswith("(removed)\n")
    assert not access.is_in(Identity("ben"))
    run("people", "--restore", "ben")
    run("people", "--sign-out", "ben")
    assert not access.is_in(Identity("ben", issued=time.time() - 1))
    run("people", "--administrator", "ben")
    assert access.is_administrator("ben")
    run("people", "--no-administrator", "anna")
    assert not access.is_administrator("anna")
    status, _, said = run("people", "--no-administrator", "ben")
    assert status == 1 and "first" in said


def test_groups_are_made_and_filled(run, access):
    run("groups", "--make", "Board")
    run("groups", "--join", "board", "anna")
    run("groups", "--rename", "Board", "The board")
    ids = {group.name: group.id for group in access.groups()}
    sales, board = f"{ids['sales']}  sales", f"{ids['The board']}  The board"
    assert run("groups")[1] == f"{sales}  ben\n{board}  anna\n"  # the log names them by ids
    run("groups", "--leave", "The board", "anna")
    run("groups", "--delete", "sales")
    assert run("groups")[1] == f"{board}\n"


def test_roles_are_given_and_taken_back_while_the_app_runs(run, access):
    with Library(Settings.load(), embedder=WordEmbedder()):
        assert run("grant", "editor", "home", "group:sales")[0] == 0
        assert access.scope_of("ben").role("home") is Role.EDITOR
        assert run("grant", "reader", "Home", "anna@example.org")[1] == (
            "anna@example.org is reader of Home\n"
        )
        assert run("revoke", "home", "group:sales")[0] == 0
        assert access.scope_of("ben").role("home") is None
        assert access.scope_of("anna").role("home") is Role.READER


def test_collections_are_made_renamed_handed_over_and_deleted(run, access):
    run("collections", "--make", "Team")
    run("collections", "--rename", "team", "The team")
    run("grant", "owner", "The team", "group:sales")
    run("people", "--remove", "ben")
    [own] = [one.id for one in access.collections("anna") if one.private_of == "ben"]
    run("collections", "--hand-over", own, "anna")
    said = run("collections")[1]
    assert "The team  group:sales: owner" in said and "Documents of Ben  anna: owner" in said
    assert "own of anna" in said
    run("collections", "--delete", "The team")
    assert [one.name for one in access.to_be_emptied()] == ["The team"]


def test_a_key_is_printed_once(run, access):
    status, secret, _ = run("keys", "ben", "--make", "script", "--days", "30")
    assert status == 0 and access.api_keys.subject_of(secret.strip()) == "ben"
    [key] = access.api_keys.keys("ben")
    listed = run("keys")[1]
    assert key.id in listed and "script" in listed and secret.strip() not in listed
    assert run("keys", "anna")[1] == ""
    run("keys", "--revoke", key.id)
    assert access.api_keys.subject_of(secret.strip()) is None
    status, _, said = run("keys", "--make", "script")
    assert status == 2 and "PERSON" in said


def test_limits_are_told_set_and_unset(run, access):
    assert run("limits")[1].splitlines() == [
        f"{what}  no limit" for what in ("bytes", "pages", "files", "questions", "sessions")
    ]
    said = run("limits", "--set", "files", "1,000", "--set", "questions", "30")[1]
    assert "files  1,000\n" in said and "questions  30\n" in said
    assert "files  5  (their own)" in run("limits", "ben", "--set", "files", "5")[1]
    run("limits", "BEN@example.org", "--set", "questions", "none")
    known = json.loads(run("limits", "ben", "--json")[1])
    assert (known["files"], known["questions"], known["person"]) == (5, None, "ben")
    assert known["own"] == ["files", "questions"]
    assert "files  1,000\n" in run("limits", "ben", "--unset", "files")[1]
    run("limits", "--unset", "files", "--unset", "questions")
    assert "files  no limit" in run("limits")[1]
    assert [e.subject for e in access.log.entries(action=Action.LIMIT)] == [""] * 7


def test_files_are_added_to_the_collection_that_is_named(run, access, tmp_path, monkeypatch):
    monkeypatch.setattr(open_library, "MiniLmEmbedder", lambda threads: WordEmbedder())
    run("collections", "--make", "Team")
    access.grant("anna", team := collection(access, "Team"), Grantee.person("ben"), Role.READER)
    file = tmp_path / "ferry.txt"
    file.write_text("The ferry to the island costs four euros.\n")
    assert run("add", str(file), "--collection", "team")[0] == 0
    assert run("add", str(file))[0] == 0
    with Library(Settings.load(), embedder=WordEmbedder()) as library:
        [shared] = library.scoped(access.scope_of("ben")).documents()
        assert shared.collection == team
        assert [d.collection for d in library.documents()] == ["home"]
    status, _, said = run("add", str(tmp_path), "--watch", "--collection", "team")
    assert status == 2 and "--watch" in said


def collection(access: Access, name: str) -> str:
    return next(one.id for one in access.collections("anna") if one.name == name)


def test_the_log_is_printed_for_people_and_for_programs(run, access):
    for _ in range(60):
        access.grant("anna", "home", Grantee.person("ben"), Role.READER)
    everything = run("audit", "--json")[1].splitlines()
    assert len(everything) > 60 and json.loads(everything[0])["action"] == "grant"
    assert len(run("audit")[1].splitlines()) == 50
    assert (
        len(run("audit", "--action", "sign-in", "--person", "ben", "--json")[1].splitlines()) == 1
    )
    assert len(run("audit", "--json", "--limit", "3")[1].splitlines()) == 3
    assert run("audit", "--until", "2020-01-01", "--json")[1] == ""
    assert run("audit", "--since", "2020-01-01T00:00+02:00", "--json")[1].splitlines() == everything
    rows = list(csv.reader(io.StringIO(run("audit", "--csv")[1])))
    assert rows[0][0] == "number" and len(rows) == len(everything) + 1


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        (("people", "--remove", "nobody"), 1, "Nobody is called “nobody”"),
        (("people", "--remove", ""), 2, "A name is empty"),
        (("groups", "--delete", "none"), 1, "No group is called “none”"),
        (("grant", "reader", "none", "ben"), 1, "No collection is called “none”"),
        (("grant", "reader", "My documents", "ben"), 1, "Use the id instead"),
        (("grant", "reader", "home", "group:none"), 1, "No group is called"),
        (("keys", "--revoke", "none"), 1, "no such key"),
        (("limits", "--set", "files", "many"), 2, "is no limit"),
        (("limits", "--set", "rows", "7"), 2, "Choose one of: bytes"),
        (("limits", "nobody", "--set", "files", "7"), 1, "Nobody is called"),
        (("add", __file__, "--collection", "none"), 1, "No collection is called “none”"),
        (("audit", "--since", "yesterday"), 2, "is no time"),
        (("audit", "--json", "--csv"), 2, "Choose one"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(run, access, command, status, said):
    got, _, error = run(*command)
    assert got == status and said in error


@pytest.mark.parametrize("below", ["", "library"])
def test_a_file_where_the_library_s_folder_should_be_is_said(run, tmp_path, below):
    (tmp_path / "file").write_bytes(b"x")
    got, _, error = run("people", "--data-dir", str(tmp_path / "file" / below))
    assert got == 1 and "cannot be used: " in error and "--data-dir" in error
