from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_app.errors import LibraryDamaged, UnknownDocument
from rag_app.scope import OWN, WORKER, Role, Scope
from rag_app.storage import Indexed, Store
from rag_app.storage.database import ConstraintBroken
from rag_app.storage.provenance import Inside
from rag_app.types import Chunk, Document, Heading, Page, Reading, Status


def document(number: int = 1, name: str | None = None) -> Document:
    return Document(
        id=f"{number}".ljust(64, "0"),
        name=name or f"{number}.txt",
        suffix=".txt",
        size=9,
        status=Status.RECEIVED,
        added_at=f"2026-01-01T00:00:{number:02d}",
    )


def whole_page_chunks(document_id: str, pages: list[str]) -> list[Indexed]:
    return [
        Indexed(Chunk(document_id, n, n - 1, 0, len(text), text), "", text)
        for n, text in enumerate(pages, start=1)
    ]


def fill(store: Store, number: int, pages: list[str]) -> str:
    d = document(number)
    store.add_document(d)
    store.save_reading(d.id, Reading(tuple(Page(n, t) for n, t in enumerate(pages, 1))))
    store.save_chunks(d.id, whole_page_chunks(d.id, pages))
    return d.id


@pytest.fixture
def store(database):
    return Store(database)


def test_a_document_goes_through_its_states(store):
    d = document()
    store.add_document(d)
    assert store.documents(WORKER) == [d]
    reading = Reading((Page(1, "Tea is green."),), "On tea", (Heading(1, 0, 1, "Tea"),), ("w",))
    store.save_reading(d.id, reading)
    kept = store.document(d.id, WORKER)
    assert (kept.status, kept.pages, kept.title, kept.warnings) == (
        Status.READ,
        1,
        "On tea",
        ("w",),
    )
    assert store.pages(d.id, WORKER) == list(reading.pages)
    assert store.headings(d.id, WORKER) == list(reading.headings)
    store.save_chunks(d.id, whole_page_chunks(d.id, ["Tea is green."]))
    assert store.document(d.id, WORKER).status is Status.SEARCHABLE
    assert store.document(d.id, WORKER).chunks == 1
    store.set_failed(d.id, "It broke.", "damaged_file")
    assert store.document(d.id, WORKER).error == "It broke."
    store.set_status(d.id, Status.READY)
    assert store.document(d.id, WORKER).error is None


def test_a_document_whose_passages_were_written_anew_is_not_ready_by_those_before(store):
    one = fill(store, 1, ["Tea is green."])
    before = store.tables.written([one])[one]
    store.save_chunks(one, whole_page_chunks(one, ["Tea is black."]))
    store.scans.embedded(one, before)
    assert store.document(one, WORKER).status is Status.SEARCHABLE
    store.scans.embedded(one, store.tables.written([one])[one])
    assert store.document(one, WORKER).status is Status.READY


def test_a_scope_is_given_no_text_of_a_document_that_it_does_not_see(store):
    kept = fill(store, 1, ["Cats purr."])
    [chunk] = [indexed.chunk for indexed in store.indexed(kept, OWN)]
    assert store.page_label(kept, 1, OWN) and store.page(kept, 1, OWN).text == "Cats purr."
    other = Scope.of("bo", {"bo": Role.OWNER})
    assert store.pages(kept, other) == store.headings(kept, other) == []
    assert store.indexed(kept, other) == []
    assert store.chunks([chunk.id], other) == {} != store.chunks([chunk.id], OWN)
    assert store.page_label(kept, 1, other) is None and store.section(kept, 1, 9, other) == ""
    assert store.scans.words(kept, 1, other) is None
    with pytest.raises(UnknownDocument):
        store.page(kept, 1, other)


def test_what_was_kept_is_there_after_opening_again(databases):
    first = Store(databases.open())
    kept = fill(first, 1, ["Cats purr.", "Dogs bark."])
    first.close()
    second = Store(databases.open())
    assert second.page(kept, 2, WORKER).text == "Dogs bark."
    assert second.search_words(["purr"], [], 5, OWN)[0][0] == f"{kept[:16]}-0"


def test_saving_twice_is_saving_once(store):
    kept = fill(store, 1, ["Cats purr."])
    store.save_chunks(kept, whole_page_chunks(kept, ["Cats purr."]))
    store.add_document(document(1))
    assert len(store.documents(WORKER)) == 1
    assert len(store.search_words(["purr"], [], 5, OWN)) == 1
    assert len(store.indexed(kept, WORKER)) == 1


def test_words_are_found_by_their_stem_and_without_accents(store):
    kept = fill(store, 1, ["The cafés were opening early."])
    assert store.search_words(["opened"], [], 5, OWN)[0][0] == f"{kept[:16]}-0"
    assert store.search_words(["cafe"], [], 5, OWN)


def test_a_phrase_must_be_there_word_for_word(store):
    fill(store, 1, ["net income rose", "income net of tax"])
    found = store.search_words(["net", "income"], ["net income"], 5, OWN)
    assert [i[-1] for i, _ in found] == ["0"]


@pytest.mark.parametrize(
    "hostile", ['"', "NEAR(a b)", "a AND", "*", "col:x", "-", "'; DROP", "\x00"]
)
def test_query_syntax_in_a_question_is_only_text(store, hostile):
    kept = fill(store, 1, ["plain text"])
    store.search_words([hostile, "plain"], [], 5, OWN)
    store.search_words([], [hostile], 5, OWN)
    assert len(store.indexed(kept, WORKER)) == 1


def test_search_keeps_to_the_chosen_documents(store):
    one, two = fill(store, 1, ["shared word"]), fill(store, 2, ["shared word"])
    assert {i for i, _ in store.search_words(["shared"], [], 5, OWN, [two])} == {f"{two[:16]}-0"}
    assert len(store.search_words(["shared"], [], 5, OWN, [one, two])) == 2
    assert store.search_words(["shared"], [], 5, OWN, []) == []


def test_a_removed_document_leaves_no_text_in_the_file(tmp_path):
    store = Store(tmp_path / "library.sqlite3")
    marker = "xylophonemarker"
    kept = fill(store, 1, [f"The {marker} rests here. " * 40])
    other = fill(store, 2, ["Another document stays."])
    store.remove(kept)
    store.shred()
    assert store.removals() == [(kept, ".txt")]
    store.finish_removal(kept)
    assert store.removals() == []
    for file in tmp_path.iterdir():
        data = file.read_bytes().lower()
        assert marker.encode() not in data and b"xylophon" not in data, file.name
    assert store.search_words(["another"], [], 5, OWN)[0][0] == f"{other[:16]}-0"
    with pytest.raises(UnknownDocument):
        store.document(kept, WORKER)


def test_a_failed_write_changes_nothing(store):
    kept = fill(store, 1, ["Cats purr."])
    twice = whole_page_chunks(kept, ["Cats purr."]) * 2
    with pytest.raises(ConstraintBroken):
        store.save_chunks(kept, twice)
    assert store.search_words(["purr"], [], 5, OWN)
    assert store.document(kept, WORKER).chunks == 1


text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=60)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text, st.data())
def test_a_chunk_comes_back_as_the_slice_of_its_page(store, page, data):
    start = data.draw(st.integers(0, len(page) - 1))
    end = data.draw(st.integers(start + 1, len(page)))
    for kept in store.documents(WORKER):
        store.remove(kept.id)
    d = document()
    store.add_document(d)
    store.save_reading(d.id, Reading((Page(1, page),)))
    chunk = Chunk(d.id, 1, 0, start, end, page[start:end], "H")
    store.save_chunks(d.id, [Indexed(chunk, "c", "w")])
    assert store.chunks([chunk.id], WORKER) == {chunk.id: chunk}
    assert store.indexed(d.id, WORKER) == [Indexed(chunk, "c", "w")]


def test_a_file_that_is_no_library_is_one_sentence(tmp_path):
    (tmp_path / "s.sqlite3").write_bytes(b"this is no database at all" * 99)
    with pytest.raises(LibraryDamaged, match="Put a copy of it back"):
        Store(tmp_path / "s.sqlite3")


def test_a_replacement_waits_until_the_newer_can_be_searched(store):
    older = fill(store, 1, ["old"])
    store.add_document(document(2))
    newer = document(2).id
    store.want_replacement(newer, older)
    assert store.replacements() == []
    store.save_reading(newer, Reading((Page(1, "new"),)))
    store.save_chunks(newer, whole_page_chunks(newer, ["new"]))
    assert store.replacements() == [(newer, older)]
    store.replace(newer, older)
    assert [(d.id, d.name) for d in store.documents(WORKER)] == [(newer, "1.txt")]
    assert store.removals() == [(older, ".txt")] and store.replacements() == []


def test_what_was_handed_in_again_or_cannot_be_searched_any_more_replaces_nothing(store):
    older, newer = fill(store, 1, ["old"]), fill(store, 2, ["new"])
    store.want_replacement(newer, older)
    assert store.replacements() == [(newer, older)]
    store.set_status(newer, Status.RECEIVED)
    store.replace(newer, older)
    store.set_status(newer, Status.READY)
    store.keep(older)
    store.replace(newer, older)
    assert [d.name for d in store.documents(WORKER)] == ["1.txt", "2.txt"]


def test_what_stays_of_an_archive_does_not_take_the_name_of_the_newer_one(store):
    older, inner, newer = (document(n).id for n in (1, 2, 3))
    store.add_document(document(1, "x.zip"))
    store.add_document(document(2, "x.zip › x.zip"), inside=Inside(older, "x.zip"))
    store.provenance.handed_in(inner)
    store.provenance.came_again(inner, "x.zip")
    store.add_document(document(3, "x.zip (2)"))
    store.want_replacement(newer, older)
    store.set_status(newer, Status.SEARCHABLE)
    store.replace(newer, older)
    named = {d.id: d.name for d in store.documents(WORKER)}
    assert named == {inner: "x.zip › x.zip", newer: "x.zip"}
