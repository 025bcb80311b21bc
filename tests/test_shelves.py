"""Folders, tags and sets: where documents are put, and what becomes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.scope import OWN
from rag_app.storage import Store
from rag_app.storage.documents import DocumentGroups, Shelved, cleaned, cleaned_folder
from rag_app.types import Document, Status


def add(store: Store, name: str) -> str:
    document = Document(name.ljust(64, "0"), name, ".txt", 1, Status.RECEIVED, "2026-01-01")
    store.add_document(document)
    return document.id


@pytest.fixture
def store(database):
    return Store(database)


def test_a_document_is_in_one_folder_and_in_those_around_it(store):
    shelves, one = DocumentGroups(store.database, OWN), add(store, "a")
    shelves.put(one, "Old")
    shelves.put(one, "Contracts/ 2025 /")
    shelf = shelves.all()
    assert shelf.folders == {"Contracts": {one}, "Contracts/2025": {one}}
    assert shelf.of(one).folder == "Contracts/2025"
    shelves.put(one, "")
    assert shelves.all().folders == {}


def test_tags_that_differ_in_case_only_are_the_same(store):
    shelves, one, two = DocumentGroups(store.database, OWN), add(store, "a"), add(store, "b")
    shelves.tag([one], "Budget")
    shelves.tag([one, two], "#budget")
    assert shelves.all().tags == {"Budget": {one, two}}
    shelves.untag([one], "BUDGET")
    assert shelves.all().of(two) == Shelved("", ("Budget",))
    shelves.tag([one], "École")
    shelves.untag([one], "École")
    shelves.retag(two, ["x", "", "y"])
    assert set(shelves.all().tags) == {"x", "y"}


def test_a_set_is_a_choice_under_a_name(store):
    shelves, one, two = DocumentGroups(store.database, OWN), add(store, "a"), add(store, "b")
    assert shelves.collect("  My   board ", [one, two]) == "My board"
    shelves.collect("my board", [two])
    assert shelves.all().sets == {"my board": {two}}
    shelves.drop("MY BOARD")
    assert shelves.all().sets == {}
    assert shelves.collect(" ", [one]) == ""


def test_what_is_removed_leaves_its_shelves(store):
    shelves, one = DocumentGroups(store.database, OWN), add(store, "a")
    shelves.put(one, "F")
    shelves.tag([one], "t")
    shelves.collect("c", [one])
    store.remove(one)
    shelf = shelves.all()
    assert (shelf.folders, shelf.tags, shelf.sets) == ({}, {}, {"c": frozenset()})


def test_a_newer_version_stands_where_the_older_one_stood(store):
    shelves, older, newer = DocumentGroups(store.database, OWN), add(store, "a"), add(store, "b")
    shelves.put(older, "F")
    shelves.tag([older], "t")
    shelves.collect("c", [older])
    store.want_replacement(newer, older)
    store.set_status(newer, Status.SEARCHABLE)
    store.replace(newer, older)
    shelf = shelves.all()
    assert shelf.of(newer) == Shelved("F", ("t",)) and shelf.sets == {"c": {newer}}


def test_a_document_that_is_gone_is_put_nowhere(store):
    shelves = DocumentGroups(store.database, OWN)
    shelves.put("gone", "F")
    shelves.tag(["gone"], "t")
    shelves.collect("c", ["gone"])
    assert shelves.all().of("gone") == Shelved()


@given(name=st.text(max_size=200))
def test_a_name_is_one_short_line(name):
    kept = cleaned(name)
    assert len(kept) <= 80 and kept == cleaned(kept) and kept.isprintable()
    assert not any(part.strip(".") == "" for part in cleaned_folder(name).split("/")[1:])
