"""Plain search: words and exact phrases, where they stand, in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.ingestion.worker import index
from rag_app.retrieval.chunking import chunk_pages
from rag_app.retrieval.retriever import Hit, PlainSearch
from rag_app.scope import OWN
from rag_app.storage import Store
from rag_app.types import Document, Page, Reading, Status

TEXTS = {
    "ferry.txt": "The ferry to the island costs four euros.\n\nDogs travel free on every ferry.\n",
    "museum.txt": "The museum is closed on Mondays. Its book-\nings are made by telephone.\n",
    "board.txt": "The board approved the budget. A budget the board approved is binding.\n",
    "机器.txt": "机器学习很有用。今天天气很好。\n",
}


def added(store: Store, name: str, text: str) -> str:
    """A document that can be searched; its id."""
    document = Document(name.ljust(64, "0"), name, ".txt", 1, Status.RECEIVED, "2026-01-01")
    store.add_document(document)
    reading = Reading((Page(1, text),))
    store.save_reading(document.id, reading)
    store.save_chunks(document.id, index(document, reading.pages, reading, 200))
    return document.id


@pytest.fixture
def search(database):
    store = Store(database)
    for name, text in TEXTS.items():
        added(store, name, text)
    return PlainSearch(store.words, OWN)


def marked(search: PlainSearch, query: str, documents: list[str] | None = None) -> list[list[str]]:
    hits = places(search, query, documents)
    return [[hit.text[start:end] for start, end in hit.inside] for hit in hits]


def places(search: PlainSearch, query: str, documents: list[str] | None = None) -> list[Hit]:
    found = search.find(query, documents)
    return search.places(found, [one for _, ids in found.groups for one in ids])


def test_words_are_found_in_all_their_forms_and_marked(search):
    assert marked(search, "ferries") == [["ferry", "ferry"]]
    assert marked(search, "dog ferry") == [["Dogs", "ferry"]]


def test_all_words_must_stand_near_each_other_unless_nothing_holds_them_all(search):
    found = search.find("museum telephone")
    assert found.places == 1 and not found.loose
    found = search.find("museum ferry")
    assert found.places == 2 and found.loose


def test_a_phrase_is_found_word_for_word_only(search):
    assert marked(search, '"the board approved"') == [["The board approved", "the board approved"]]
    assert search.find('"board approves"').places == 0
    assert search.find('"the board approved" ferry').places == 0


def test_a_word_that_a_line_end_broke_is_found_and_marked_over_it(search):
    assert marked(search, "bookings") == [["book-\nings"]]


def test_scripts_without_spaces_are_searched_too(search):
    assert marked(search, "学习") == [["学习"]]
    assert marked(search, "“天气很好”") == [["天气很好"]]
    assert search.find("“好天气”").places == 0


def test_only_the_chosen_documents_are_searched(search):
    assert search.find("ferry", []).places == 0
    assert search.find("ferry", ["museum.txt".ljust(64, "0")]).places == 0


def test_a_title_alone_is_no_hit(tmp_path):
    store = Store(tmp_path / "library.sqlite3")
    added(store, "harbour.txt", "Boats lie here.\n")
    assert PlainSearch(store.words, OWN).find("harbour").places == 0
    store.close()


@given(query=st.text(max_size=40))
def test_no_query_is_syntax(query, tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("any") / "library.sqlite3")
    added(store, "a.txt", TEXTS["ferry.txt"])
    plain = PlainSearch(store.words, OWN)
    found = plain.find(query)
    for hit in plain.places(found, [one for _, ids in found.groups for one in ids]):
        assert 0 <= hit.start <= hit.end
        assert all(0 <= a < b <= len(hit.text) for a, b in hit.inside)
    store.close()


def test_a_hit_is_a_slice_of_its_page(search):
    found = search.find("ferry")
    (hit,) = search.places(found, found.groups[0][1])
    assert TEXTS["ferry.txt"][hit.start : hit.end] == hit.text


def test_a_hit_in_a_text_without_sentences_is_cut_between_words():
    text = "word " * 300 + "needle " + "word " * 300
    (chunk, *_) = chunk_pages("d", [Page(1, text)], max_tokens=2000)
    from rag_app.retrieval.retriever import _place

    hit = _place(chunk, frozenset(["needle"]))
    assert hit.text.strip() == " ".join(hit.text.split())
    assert [hit.text[a:b] for a, b in hit.inside] == ["needle"]
    assert len(hit.text) < 500 and set(hit.text.split()) == {"word", "needle"}


def test_a_place_is_what_is_said_and_not_the_heading_over_it(database):
    store = Store(database)
    said = "The deposit is 500 pounds. It is due in May. A scheme keeps the deposit."
    added(store, "lease.md", f"Deposit\n\n{said}\n")
    added(store, "poem.md", "Zeppelins\n\nNothing else is said.\n")
    search = PlainSearch(store.words, OWN)
    [hit] = places(search, "deposit")
    assert hit.text == said
    assert [hit.text[a:b] for a, b in hit.inside] == ["deposit", "deposit"]
    assert [hit.text for hit in places(search, "zeppelins")] == ["Zeppelins"]
