"""A view of a library: everything in it keeps to the scope of who asks."""

from __future__ import annotations

import hashlib
import inspect
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from rag_app.access.audit import Action
from rag_app.access.nouns import MACHINE, Identity
from rag_app.access.quotas import Limited
from rag_app.answering.questioner import Questioner
from rag_app.errors import (
    CollectionGone,
    DocumentError,
    NotAllowed,
    QuotaReached,
    RagAppError,
    UnknownConversation,
    UnknownDocument,
)
from rag_app.ingestion.job_queue import JobQueue
from rag_app.ingestion.service import DocumentService
from rag_app.library import Library
from rag_app.scope import HOME, OWN, WORKER, Role, Scope
from rag_app.settings import Settings
from rag_app.storage.originals import Incoming, Originals, begun_for
from rag_app.storage.queue import EditableDocument, Queue, SeenDocument
from rag_app.storage.words import Choice, matching
from rag_app.types import Finished, RetrieverKind
from tests.databases import make_collections
from tests.fakes import WordEmbedder
from tests.web_sites import web_site

pytestmark = pytest.mark.usefixtures("either_database")

FERRY = b"The ferry to the island costs four euros.\n\nDogs travel free of charge.\n"
SECRET = b"The keeper of the lighthouse is called Ambrose Quill.\n\nHe collects corks.\n"
NOWHERE = "0" * 64

ANNA = Scope.of("anna", {"anna": Role.OWNER})
BEN = Scope.of("ben", {"ben": Role.OWNER})
GUEST = Scope.of("guest", {"anna": Role.READER})
BOTH = Scope.of("both", {"anna": Role.EDITOR, "ben": Role.EDITOR})


@pytest.fixture
def in_a_file(either_database):
    """What is looked at is how SQLite and Chroma do it; that PostgreSQL keeps to a scope is seen by
    what it finds, here, in test_vectors.py and in test_rare_words.py."""
    if either_database != "sqlite":
        pytest.skip("this is about SQLite and Chroma")


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Questioner, "introduces", True)  # as where the app's own writer answers
    settings = Settings.load(
        data_dir=tmp_path / "data", caution=0.0, generator="quotes", own_networks="127.0.0.0/8"
    )
    with Library(settings, embedder=WordEmbedder()) as opened:
        make_collections(opened._store.database, "anna", "ben")
        yield opened


def add(view: Library, name: str, data: bytes, **given: Any) -> str:
    added = view.add(name, data, **given)
    view.wait([added.document.id], timeout=60)
    return added.document.id


def answer(view: Library, question: str, **given: Any):
    [*_, last] = view.ask(question, **given)
    assert isinstance(last, Finished)
    return last.answer


# What anybody can call with the id of a document. A method that is new needs a place here, or in
# `WITHOUT` where it takes no id: then it gets a test of its own.

CALLS: dict[str, Callable[[Library, str], object]] = {
    "ask": lambda v, i: [
        e.answer.text for e in v.ask("Who?", [i], generator="quotes") if isinstance(e, Finished)
    ],
    "boxes": lambda v, i: v.boxes(i, 1, 0, 5),
    "lines": lambda v, i: v.lines(i, 1),
    "cancel": lambda v, i: v.cancel(i),
    "chunks": lambda v, i: v.chunks(i),
    "document": lambda v, i: v.document(i),
    "headings": lambda v, i: v.headings(i),
    "original": lambda v, i: v.original(i),
    "page": lambda v, i: v.page(i, 1),
    "page_name": lambda v, i: v.page_name(i, 1, "a.pdf"),
    "parts": lambda v, i: v.parts(i),
    "picture": lambda v, i: v.picture(i, 1),
    "remove": lambda v, i: v.remove(i),
    "replace": lambda v, i: v.replace(i, i),
    "report": lambda v, i: v.report(i),
    "retriever": lambda v, i: v.retriever(5, [i]).passages("keeper"),
    "retry": lambda v, i: v.retry(i),
    "search": lambda v, i: v.search("keeper", documents=[i]),
    "suggest": lambda v, i: list(v.suggest(i, (), threading.Event())),
    "to_replace": lambda v, i: v.to_replace(i),
    "unlock": lambda v, i: v.unlock(i, "secret"),
    "wait": lambda v, i: v.wait([i]),
    "checks.save": lambda v, i: (v.checks.save("{}", [(i, "row")]), v.checks.get()),
    "conversations.forget": lambda v, i: v.conversations.forget(i),
    "overviews.given_up": lambda v, i: v.overviews.given_up(i),
    "overviews.introduces": lambda v, i: v.overviews.introduces(i),
    "overviews.said": lambda v, i: v.overviews.said(i),
    "overviews.kept": lambda v, i: v.overviews.kept(i),
    "overviews.of": lambda v, i: v.overviews.of(i),
    "plain.find": lambda v, i: v.plain.find("keeper", [i]),
    "plain.places": lambda v, i: v.plain.places(v.plain.find("keeper"), [f"{i[:16]}-0"]),
    "shelves.collect": lambda v, i: (v.shelves.collect("s", [i]), v.shelves.all()),
    "shelves.put": lambda v, i: (v.shelves.put(i, "f"), v.shelves.all()),
    "shelves.retag": lambda v, i: (v.shelves.retag(i, ["t"]), v.shelves.all()),
    "shelves.tag": lambda v, i: (v.shelves.tag([i], "t"), v.shelves.all()),
    "shelves.untag": lambda v, i: (v.shelves.untag([i], "t"), v.shelves.all()),
    "web.earlier": lambda v, i: v.web.earlier(i),
    "web.origins": lambda v, i: v.web.origins([i]),
}
WITHOUT = set(
    """
    add add_set_aside cancel_waiting clear close delete_set_aside documents empty_deleted entitle
    figures pause paused prepare work_of_everybody taken_away
    progress reindexing resume scoped set_aside size_on_disk trouble unwatch vectors
    wait_until_clean warm warm_state watch watched wind_down
    checks.clear checks.get shelves.all shelves.drop preferences.change preferences.clear
    preferences.of preferences.read preferences.write overviews.start web.add loading.add
    conversations.answer conversations.ask conversations.branch conversations.changes
    conversations.conversation conversations.cut conversations.delete conversations.exchange
    conversations.exchanges conversations.fail conversations.listed conversations.order
    conversations.rate conversations.rated conversations.rename conversations.seen_by
    conversations.start
    """.split()  # noqa: SIM905 - easier to read and to add to
)
PARTS = (
    "checks",
    "conversations",
    "loading",
    "overviews",
    "plain",
    "preferences",
    "shelves",
    "web",
)
# Nothing of anybody's documents.
SHARED = {"access", "meaning", "models", "settings", "folder", "scope", "wait_for_sentences"}


def public(thing: object) -> set[str]:
    return {name for name, _ in inspect.getmembers(type(thing)) if not name.startswith("_")}


def outcome(call: Callable[[Library, str], object], view: Library, document_id: str) -> str:
    try:
        return repr(call(view, document_id)).replace(document_id, "ID")
    except RagAppError as error:
        return f"{type(error).__name__}: {error}".replace(document_id, "ID")


def test_every_public_method_is_known_to_these_tests(library):
    shown = public(library) - {"scope"}
    for part in PARTS:
        shown |= {f"{part}.{name}" for name in public(getattr(library, part))}
    assert shown == set(CALLS) | WITHOUT
    attributes = {name for name in vars(library) if not name.startswith("_")}
    assert attributes == {*PARTS, *SHARED}


def test_a_document_of_others_is_as_if_it_did_not_exist(library):
    theirs = add(library.scoped(BEN), "keeper.txt", SECRET)
    anna = library.scoped(ANNA)
    for method, call in CALLS.items():
        mine = add(anna, f"{method}.txt", FERRY + method.encode())  # some take it away
        assert outcome(call, anna, theirs) == outcome(call, anna, NOWHERE), method
        assert "UnknownDocument" not in outcome(call, anna, mine), method
        assert library.scoped(BEN).document(theirs).name == "keeper.txt", method


def test_what_acts_for_a_person_takes_a_document_that_was_looked_up_and_no_id():
    """mypy refuses an id, or a document that was only listed, where it takes one of these types;
    and they are made by the look-up in a scope, and where the app itself is at work."""
    keeping, editable, seen = DocumentService, EditableDocument, SeenDocument
    forced: dict[Callable[..., object], list[object]] = {
        keeping.remove: [editable],
        keeping.replace: [editable, editable],
        keeping.retry: [editable],
        keeping.unlock: [editable],
        JobQueue.cancel: [editable],
        keeping.to_replace: [seen],
        Queue.parts: [seen],
        Queue.report: [seen],
    }
    for method, types in forced.items():
        hints = get_type_hints(method)
        hints.pop("return"), hints.pop("password", None)
        assert list(hints.values()) == types, method
    package = Path(__file__).parents[1] / "rag_app"
    made = {
        path.relative_to(package).as_posix(): len(
            re.findall(r"(?:Seen|Editable)Document\(", path.read_text("utf-8"))
        )
        for path in package.rglob("*.py")
    }
    assert {name: times for name, times in made.items() if times} == {
        "library.py": 2,
        "open_library.py": 1,
        "ingestion/service.py": 2,  # of what was just added
        "ingestion/attachments.py": 1,  # of what is being read
    }


def test_nothing_that_lists_or_counts_tells_of_others(library):
    theirs = add(library.scoped(BEN), "keeper.txt", SECRET)
    anna = library.scoped(ANNA)
    assert anna.documents() == [] and anna.vectors() == [] and anna.progress() == {}
    assert anna.size_on_disk() == 0 and anna.cancel_waiting() == 0
    assert anna.reindexing() is None and anna.watched() == [] and anna.set_aside() == []
    assert anna.shelves.all().tags == {} and anna.conversations.listed() == []
    with pytest.raises(UnknownDocument) as same:
        anna.document("keeper.txt")
    with pytest.raises(UnknownDocument) as nothing:
        anna.document("nowhere.txt")
    assert str(same.value) == str(nothing.value).replace("nowhere", "keeper")
    assert [document.id for document in library.scoped(WORKER).documents()] == [theirs]


@pytest.mark.parametrize(
    "call",
    [
        lambda v: v.pause(),
        lambda v: v.resume(),
        lambda v: v.watch(Path("/")),
        lambda v: v.unwatch(Path("/")),
        lambda v: v.add_set_aside(),
        lambda v: v.delete_set_aside(),
        lambda v: v.wait_until_clean(0),
        lambda v: v.meaning.choose(""),
        lambda v: v.meaning.fetch(),
        lambda v: v.meaning.fetch_again(),
        lambda v: v.meaning.settle(),
        lambda v: v.meaning.forget(),
    ],
)
def test_what_concerns_everybody_is_for_whoever_runs_the_app(library, call):
    with pytest.raises(NotAllowed):
        call(library.scoped(ANNA))


def test_the_same_bytes_and_name_of_two_people_are_two_documents(library):
    ids = [add(library.scoped(who), "ferry.txt", FERRY) for who in (ANNA, BEN)]
    own = library.add("ferry.txt", FERRY)
    assert not own.duplicate and len({*ids, own.document.id}) == 3
    library.scoped(ANNA).remove(ids[0])
    assert [d.id for d in library.scoped(BEN).documents()] == [ids[1]]
    assert library.scoped(BEN).search("ferry")[0].chunk.document_id == ids[1]
    again = library.scoped(BEN).add("ferry.txt", FERRY)
    assert again.duplicate and again.document.id == ids[1]


def test_no_file_of_one_collection_has_the_id_of_a_file_in_another():
    def content_id(collection: str, data: bytes) -> str:
        digest = begun_for(collection)
        digest.update(data)
        return digest.hexdigest()

    theirs = content_id("anna", FERRY)
    for forged in (FERRY, b"anna\0" + FERRY, b"anna" + FERRY):
        assert content_id(HOME, forged) != theirs
    assert content_id("a", b"nna" + FERRY) != theirs
    assert content_id(HOME, FERRY) == hashlib.sha256(FERRY).hexdigest()


def test_a_name_gives_way_in_its_own_collection_only(library):
    first = add(library.scoped(ANNA), "a.txt", FERRY)
    add(library.scoped(BEN), "a.txt", SECRET, replace=True)
    assert [d.id for d in library.scoped(ANNA).documents()] == [first]
    newer = add(library.scoped(ANNA), "a.txt", b"The ferry costs five euros.", replace=True)
    assert [d.id for d in library.scoped(ANNA).documents()] == [newer]
    assert len(library.scoped(BEN).documents()) == 1


def test_a_reader_may_look_and_not_touch(library):
    ferry = add(library.scoped(ANNA), "ferry.txt", FERRY)
    guest = library.scoped(GUEST)
    assert guest.page(ferry, 1).text and guest.search("ferry")
    guest.shelves.tag([ferry], "mine")  # what they put it under is theirs
    assert guest.shelves.all().tags == {"mine": {ferry}}
    assert library.scoped(ANNA).shelves.all().tags == {}
    for call in (
        lambda: guest.remove(ferry),
        lambda: guest.retry(ferry),
        lambda: guest.cancel(ferry),
        lambda: guest.unlock(ferry, "x"),
        lambda: guest.replace(ferry, ferry),
        lambda: guest.add("b.txt", b"text"),
        lambda: guest.add("b.txt", b"text", collection="anna"),
        lambda: guest.web.add("http://127.0.0.1:1/", collection="anna"),
    ):
        with pytest.raises(NotAllowed) as error:
            call()
        assert str(error.value).endswith(".")
    assert guest.cancel_waiting() == 0
    guest.clear()
    assert library.scoped(ANNA).document(ferry)


def test_where_a_document_goes_must_be_clear(library):
    both = library.scoped(BOTH)
    with pytest.raises(DocumentError):
        both.add("a.txt", FERRY)
    one = add(both, "a.txt", FERRY, collection="ben")
    assert both.document(one).collection == "ben"
    with pytest.raises(NotAllowed) as there:
        library.scoped(ANNA).add("a.txt", FERRY, collection="ben")
    with pytest.raises(NotAllowed) as nowhere:
        library.scoped(ANNA).add("a.txt", FERRY, collection="nobody's")
    assert str(there.value) == str(nowhere.value)
    other = add(both, "b.txt", SECRET, collection="anna")
    with pytest.raises(NotAllowed):
        both.replace(one, other)
    assert library.add("a.txt", FERRY).document.collection == HOME


def test_what_is_in_an_archive_stays_in_the_collection_of_the_archive(library, tmp_path):
    import zipfile

    packed = tmp_path / "a.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("keeper.txt", SECRET.decode())
    anna = library.scoped(ANNA)
    box = add(anna, "a.zip", packed)
    anna.wait(anna.parts(box), timeout=60)
    assert {d.collection for d in anna.documents()} == {"anna"} and len(anna.documents()) == 2
    assert library.scoped(BEN).documents() == [] == library.documents()


def test_a_collection_that_is_deleted_while_a_file_comes_takes_nothing_in(library, monkeypatch):
    access, receive = library.access, Originals.receive
    team = access.create_collection(MACHINE, "Team").id
    anna = library.scoped(Scope.of("anna", {team: Role.EDITOR}))

    def received(self: Originals, *given: Any) -> Incoming:
        incoming = receive(self, *given)
        access.delete_collection(MACHINE, team)
        library.empty_deleted()
        return incoming

    monkeypatch.setattr(Originals, "receive", received)
    with pytest.raises(CollectionGone, match="was to be in has been deleted"):
        anna.add("ferry.txt", FERRY)
    assert library._store.documents(WORKER) == []
    assert not [path for path in (library.folder / "files").rglob("*") if path.is_file()]


def test_a_page_of_the_web_goes_where_it_is_told_and_replaces_nothing_of_others(library):
    page = "<!doctype html><title>Fares</title><p>The ferry costs {0} euros."
    with web_site() as site:
        site.page("/p", page.format("four"))
        theirs = library.scoped(BEN).web.add(f"{site.address}/p").document
        site.page("/p", page.format("five"))
        mine = library.scoped(ANNA).web.add(f"{site.address}/p", replace=True).document
    assert (mine.collection, theirs.collection) == ("anna", "ben")
    assert library.scoped(ANNA).web.earlier(mine.id) is None
    assert library.scoped(BEN).document(theirs.id)
    assert library.scoped(BEN).web.origins([mine.id]) == {}
    assert library.scoped(ANNA).report(mine.id).address.endswith("/p")


def test_a_page_of_the_web_counts_as_a_file_does_and_is_written_down(library):
    library.access.arrive(Identity("anna"))
    quotas = library.access.quotas
    view = library.scoped(library.access.scope_of("anna"))
    with web_site() as site:
        address = site.page("/p", "<!doctype html><title>Fares</title><p>Four euros a day.")
        other = site.page("/q", "<!doctype html><title>Boats</title><p>Two boats a day.")
        quotas.set_limit(MACHINE, Limited.BYTES, 10)
        with pytest.raises(QuotaReached, match="You may keep 10 bytes"):
            view.web.add(address)
        quotas.unset_limit(MACHINE, Limited.BYTES)
        quotas.set_limit(MACHINE, Limited.FILES, 1)
        added = view.web.add(address).document
        for again in (lambda: view.web.add(other), lambda: view.add("a.txt", FERRY)):
            with pytest.raises(QuotaReached, match="1 file a day"):
                again()
        assert [d.id for d in view.documents()] == [added.id]
        assert library.web.add(other).document.collection == HOME  # the computer's own counts not
        view.wait([added.id], timeout=60)
        quotas.unset_limit(MACHINE, Limited.FILES)
        quotas.set_limit(MACHINE, Limited.PAGES, 1)
        with pytest.raises(QuotaReached, match="You may keep 1 pages"):
            view.web.add(other)
        noted = library.access.log.entries(subject="anna", action=Action.ADD)
        assert [one.about for one in noted] == [added.id]
        quotas.unset_limit(MACHINE, Limited.PAGES)
        site.page("/p", "<!doctype html><title>Fares</title><p>Five euros a day.")
        newer = view.web.add(address, replace=True).document
    [gone] = library.access.log.entries(subject="anna", action=Action.REMOVE)
    assert (gone.about, gone.detail) == (added.id, f"gives way to: {newer.id}")


def test_what_is_taken_away_is_written_down_of_who_signed_in(library):
    library.access.arrive(Identity("anna"))
    view = library.scoped(library.access.scope_of("anna"))
    view.taken_away("an id", "original")
    library.taken_away("an id", "original")
    [entry] = library.access.log.entries(action=Action.EXPORT)
    assert (entry.subject, entry.about, entry.detail) == ("anna", "an id", "original")


def test_answers_are_made_of_what_is_seen(library):
    add(library.scoped(BEN), "keeper.txt", SECRET)
    add(library.scoped(ANNA), "ferry.txt", FERRY)
    said = answer(library.scoped(ANNA), "Who is the keeper of the lighthouse?")
    assert "Quill" not in repr(said)
    assert "Quill" in answer(library.scoped(BEN), "Who is the keeper of the lighthouse?").text
    for kind in RetrieverKind:
        found = library.scoped(ANNA).search("keeper of the lighthouse", retriever=kind)
        assert all("Quill" not in one.chunk.text for one in found)


def test_how_rare_a_name_is_depends_on_what_is_seen(library):
    anna, ben = library.scoped(ANNA), library.scoped(BEN)
    for n in range(4):
        add(ben, f"Acme report {n}.txt", f"The report number {n}.".encode())
    mine = add(anna, "Acme letter.txt", FERRY)
    add(anna, "Other letter.txt", SECRET)
    alone = anna.retriever(5)._named("What does Acme say?", anna.documents())
    assert set(alone) == {mine}
    seen = library.scoped(Scope.of("all", {"anna": Role.READER, "ben": Role.READER}))
    both = seen.retriever(5)._named("What does Acme say?", seen.documents())
    assert both.get(mine, 0.0) < alone[mine]


def test_views_share_what_is_open_and_only_the_first_closes_it(library):
    anna = library.scoped(ANNA)
    assert library.scoped(OWN) is library and anna.scoped(ANNA) is anna
    with anna:
        add(anna, "ferry.txt", FERRY)
    anna.close()
    assert anna.search("ferry") and library.documents() == []


def test_a_grant_that_is_taken_back_takes_the_words_of_its_documents_along(library):
    add(library.scoped(ANNA), "keeper.txt", SECRET)
    guest = library.scoped(GUEST)
    question = "Who is the keeper of the lighthouse?"
    conversation = guest.conversations.start(question)
    exchange = guest.conversations.ask(conversation, question)
    guest.conversations.answer(exchange, answer(guest, question))
    guest.conversations.rate(exchange, 1)
    assert "Quill" in repr(guest.conversations.exchange(exchange))
    assert guest.conversations.listed("Quill") and guest.conversations.rated()
    stranger = library.scoped(Scope.of("guest", {}))
    assert stranger.conversations.order(conversation) == [exchange]
    for kept in (
        stranger.conversations.exchange(exchange),
        stranger.conversations.exchanges(conversation),
        stranger.conversations.rated(),
    ):
        assert kept and "Quill" not in repr(kept)
    assert stranger.conversations.listed("Quill") == []
    assert len(stranger.conversations.listed("keeper")) == 1
    assert "Quill" in repr(library.scoped(GUEST).conversations.exchange(exchange))


def test_a_grant_that_is_taken_back_takes_what_was_noted_of_its_documents_along(library):
    keeper = add(library.scoped(ANNA), "keeper.txt", SECRET)
    guest, stranger = library.scoped(GUEST), library.scoped(Scope.of("guest", {}))
    guest.shelves.tag([keeper], "t")
    guest.shelves.put(keeper, "f")
    guest.shelves.collect("s", [keeper])
    guest.checks.save("{}", [(keeper, "of the keeper"), (None, "of nothing")])
    shelf = stranger.shelves.all()
    assert (shelf.folders, shelf.tags, shelf.sets) == ({}, {}, {"s": frozenset()})
    assert stranger.checks.get() == ("{}", ["of nothing"])
    assert library.scoped(ANNA).checks.get() is None
    again = library.scoped(GUEST).shelves.all()
    assert again.of(keeper).tags == ("t",) and again.sets == {"s": {keeper}}


def test_cancelling_what_waits_leaves_the_files_of_others(library):
    library.pause()
    ids = [library.scoped(who).add("a.txt", FERRY).document.id for who in (ANNA, BEN)]
    assert library.scoped(GUEST).cancel_waiting() == 0
    assert library.scoped(ANNA).cancel_waiting() == 1
    assert set(library.scoped(BEN).progress()) == {ids[1]}
    assert library.scoped(ANNA).progress() == {}


def test_a_conversation_of_others_is_as_if_it_did_not_exist(library):
    anna, ben = library.scoped(ANNA).conversations, library.scoped(BEN).conversations
    theirs = ben.start("Who keeps the lighthouse?")
    exchange = ben.ask(theirs, "Who keeps the lighthouse?")
    assert anna.conversation(theirs) is None and anna.exchange(exchange) is None
    assert anna.exchanges(theirs) == [] == anna.order(theirs)
    assert anna.changes(theirs) == anna.changes("there is none")
    assert anna.listed() == [] == anna.listed("lighthouse") and anna.rated() == []
    for unknown in (theirs, NOWHERE):
        with pytest.raises(UnknownConversation):
            anna.ask(unknown, "What?")
    anna.rename(theirs, "mine"), anna.delete(theirs), anna.cut(exchange)
    anna.rate(exchange, -1), anna.fail(exchange, "No.")
    branched = anna.branch(exchange, "And then?")
    assert anna.exchanges(branched) == []
    library.scoped(ANNA).entitle(theirs)
    [kept] = ben.exchanges(theirs)
    assert (kept.rating, kept.error) == (0, None)
    assert ben.conversation(theirs).title == "Who keeps the lighthouse?"


def test_a_document_that_is_removed_takes_its_words_out_of_everybodys_conversations(library):
    keeper = add(library.scoped(ANNA), "keeper.txt", SECRET)
    question = "Who is the keeper of the lighthouse?"
    for who in (ANNA, GUEST):
        view = library.scoped(who)
        exchange = view.conversations.ask(view.conversations.start(question), question)
        view.conversations.answer(exchange, answer(view, question))
    library.scoped(ANNA).remove(keeper)
    with library._store.database.read() as db:
        assert "Quill" not in repr(db.execute("SELECT answer FROM exchanges").fetchall())


def test_choices_on_the_page_are_each_persons_own(library):
    library.scoped(ANNA).preferences.change(language="German")
    assert library.scoped(BEN).preferences.read().language == ""
    assert library.preferences.read().language == ""
    assert library.scoped(ANNA).preferences.read().language == "German"
    library.scoped(ANNA).clear()
    assert library.scoped(ANNA).preferences.read().language == ""


def test_clearing_forgets_what_is_owned_and_nothing_else(library):
    add(library.scoped(ANNA), "a.txt", FERRY)
    ben = add(library.scoped(BEN), "b.txt", SECRET)
    mixed = library.scoped(Scope.of("anna", {"anna": Role.OWNER, "ben": Role.EDITOR}))
    mixed.clear()
    assert [d.id for d in mixed.documents()] == [ben]
    library.clear()
    assert [d.id for d in mixed.documents()] == [ben]


# Filtered in the query


def test_words_of_a_small_part_are_looked_for_in_an_index_of_its_own(library, in_a_file):
    for n, who in enumerate((ANNA, BEN)):
        add(library.scoped(who), f"{n}.txt", FERRY + str(n).encode())
    asked: list[str] = []
    with library._store.database.read() as db:
        db.set_trace_callback(asked.append)
    try:
        view = library.scoped(ANNA)
        found = view.plain.find("ferry")
        ids = [one for _, ids in found.groups for one in ids]
        assert view.search("ferry") and view.plain.places(found, ids)
    finally:
        with library._store.database.read() as db:
            db.set_trace_callback(None)
    assert asked and not any("MATCH" in sql for sql in asked)


def test_words_are_looked_for_in_the_collections_of_the_scope(library, in_a_file, monkeypatch):
    monkeypatch.setattr("rag_app.storage.words._SMALL", 0)
    monkeypatch.setattr("rag_app.storage.words._is_wide", lambda index: False)
    ids = [add(library.scoped(who), f"{n}.txt", FERRY + str(n).encode()) for who in (ANNA, BEN)
           for n in range(3)]  # fmt: skip
    asked: list[str] = []
    with library._store.database.read() as db:
        db.set_trace_callback(asked.append)
    try:
        found = library._store.search_words(["ferry"], [], 10, ANNA)
        hits = library.scoped(ANNA).plain.find("ferry")
    finally:
        with library._store.database.read() as db:
            db.set_trace_callback(None)
    assert {i[:16] for i, _ in found} == {i[:16] for i in ids[:3]} and hits.places == 3
    searches = [sql for sql in asked if "MATCH" in sql and "count(*)" not in sql]
    assert searches and all("d.collection IN" in sql for sql in searches)
    assert not any(i in sql or i[:16] in sql for sql in searches if "highlight" not in sql
                   for i in ids)  # fmt: skip
    with library._store.database.read() as db:
        which = matching(db, '"ferry"', Choice(ANNA))
        plan = [
            row[3]
            for row in db.execute(
                f"EXPLAIN QUERY PLAN {which.before}SELECT chunk_words.rowid "
                f"FROM {which.source} WHERE {which.condition}",
                which.given,
            )
        ]
    assert any("SEARCH d USING INDEX document_by_collection" in step for step in plan)
    assert not any(step.startswith("SCAN c") and "chunk_words" not in step for step in plan)


@pytest.mark.parametrize("small", [True, False])
def test_vectors_are_looked_for_in_the_collections_of_the_scope(
    library, monkeypatch, small, in_a_file
):
    ids = [add(library.scoped(who), f"{n}.txt", FERRY + str(n).encode()) for who in (ANNA, BEN)
           for n in range(3)]  # fmt: skip
    home = add(library, "home.txt", FERRY)
    chroma = library._reindexing.live.current.vectors
    if not small:
        monkeypatch.setattr(chroma._collections, "_few", 0)
        monkeypatch.setattr("rag_app.storage.vectors._WIDE", 1)
        monkeypatch.setattr("rag_app.storage.vectors._WIDER", 1)
    filters: list[object] = []
    fetched: list[str] = []  # by id, as the store knows those of a small collection
    collection = type(chroma._collection)
    for name in ("query", "get"):
        real = getattr(collection, name)

        def noted(*given: Any, _real: Any = real, **named: Any) -> Any:
            filters.append(named.get("where"))
            fetched.extend(given[1] if len(given) > 1 else ())
            return _real(*given, **named)

        monkeypatch.setattr(collection, name, noted)
    vector = WordEmbedder().embed_query("ferry")
    for scope, expected in ((ANNA, ids[:3]), (BEN, ids[3:]), (OWN, [home])):
        fetched.clear()
        found = chroma.search(vector, 3, scope)
        assert {i[:16] for i, _ in found} == {i[:16] for i in expected}
        assert {i[:16] for i in fetched} == ({i[:16] for i in expected} if small else set())
    assert any(filters) != small and not any(i in repr(filters) for i in [*ids, home])
    filters.clear()
    assert len(chroma.search(vector, 20, WORKER)) > 6 and filters == [None]


def test_on_ones_own_computer_no_search_is_filtered(library, in_a_file):
    add(library, "ferry.txt", FERRY)
    assert library._store.reach.widest(OWN) is WORKER
    assert matching_of(library, OWN).source == "chunk_words"
    add(library.scoped(ANNA), "ferry.txt", FERRY)
    assert library._store.reach.widest(OWN) is OWN
    assert matching_of(library, OWN).source != "chunk_words"


def matching_of(library: Library, scope: Scope):
    with library._store.database.read() as db:
        return matching(db, '"ferry"', Choice(library._store.reach.widest(scope)))


@pytest.mark.parametrize("apart", [2_000, 1])
def test_a_scope_is_searched_in_full_however_it_is_done(library, monkeypatch, apart):
    monkeypatch.setattr("rag_app.storage.words._APART", apart)
    monkeypatch.setattr("rag_app.storage.words._SMALL", 0)
    mine = [add(library.scoped(ANNA), f"{n}.txt", b"common words " * 3 + str(n).encode())
            for n in range(4)]  # fmt: skip
    for n in range(4):
        add(library.scoped(BEN), f"{n}.txt", b"common words " * 9 + str(n).encode())
    found = library._store.search_words(["common"], [], 50, ANNA)
    assert {i[:16] for i, _ in found} == {i[:16] for i in mine}
    monkeypatch.setattr("rag_app.storage.words._is_wide", lambda index: True)
    assert library._store.search_words(["common"], [], 50, ANNA) == found


def test_figures_of_all_are_for_who_runs_the_app(library):
    assert library.figures().answering == 0
    with pytest.raises(NotAllowed):
        library.scoped(ANNA).figures()


def test_a_view_that_is_prepared_has_its_vectors_before_it_is_asked(library, in_a_file):
    for who in (ANNA, BEN):
        add(library.scoped(who), "ferry.txt", FERRY)
    library.warm()
    while library.warm_state != "ready":
        assert library.warm_state in ("cold", "warming")
        time.sleep(0.05)
    chroma = library._reindexing.live.current.vectors
    library.prepare()  # the view of all has nothing to be prepared
    library.scoped(Scope("chloe")).prepare()  # nor has one that sees nothing
    library.scoped(ANNA).prepare()
    deadline = time.monotonic() + 30
    words = library._store.words._parts._parts
    while not (kept := list(chroma._collections._kept)) or not words:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert kept == ["anna"] and list(words) == [("anna",)]
