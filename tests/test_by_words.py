"""In a large library fewer chunks are scored, and the same ones come first."""

from __future__ import annotations

import random

import pytest

from rag_app.scope import OWN
from rag_app.storage import Indexed, Store
from rag_app.storage import words as words_module
from rag_app.types import Chunk, Document, Page, Reading, Status

WORDS = [f"word{n}" for n in range(40)]
DOCUMENTS = 6
EACH = 30


@pytest.fixture
def store(database):
    made = Store(database)
    chance = random.Random(4)
    for number in range(DOCUMENTS):
        document = f"{number:064x}"[::-1]
        # Early words stand nearly everywhere, late ones nearly nowhere.
        texts = [
            " ".join([*(w for n, w in enumerate(WORDS) if chance.random() < 1 / (1 + n)), "end"])
            for _ in range(EACH)
        ]
        made.add_document(Document(document, f"{number}.txt", ".txt", 1, Status.RECEIVED, "now"))
        made.save_reading(document, Reading((Page(1, "\n".join(texts)),)))
        starts = [sum(len(t) + 1 for t in texts[:n]) for n in range(EACH)]
        made.save_chunks(
            document,
            [
                Indexed(Chunk(document, 1, n, at, at + len(text), text), "", text)
                for n, (at, text) in enumerate(zip(starts, texts, strict=True))
            ],
        )
    return made


def large(monkeypatch, scored):
    """The library counts as a large one, of which so many chunks are scored."""
    monkeypatch.setattr(words_module, "_SMALL", 20)
    monkeypatch.setattr(words_module, "_SCORED", scored)


def rounded(found):
    return [(i, round(score, 6)) for i, score in found]


@pytest.mark.parametrize("asked", [[3, 9, 30], [2, 5, 6, 12, 39], [25], [20, 21, 22, 4]])
def test_the_best_are_those_of_the_whole_query(store, monkeypatch, asked):
    words = [WORDS[n] for n in asked]
    whole = rounded(store.search_words(words, [], 10, OWN))
    large(monkeypatch, 60)
    monkeypatch.setattr(words_module, "_LEAST", 10)
    monkeypatch.setattr(words_module, "_EVERYWHERE", 1)
    narrow = rounded(store.search_words(words, [], 10, OWN))
    assert narrow[:3] == whole[:3]
    assert len({i for i, _ in narrow} & {i for i, _ in whole}) >= 0.8 * len(whole)


def test_words_that_stand_everywhere_are_still_found(store, monkeypatch):
    large(monkeypatch, 20)
    assert len(store.search_words(["end"], [], 10, OWN)) == 10
    assert len(store.search_words(["word0", "end", "nowhere"], [], 10, OWN)) == 10


def test_one_rare_word_does_not_hide_the_others(store, monkeypatch):
    large(monkeypatch, 60)
    monkeypatch.setattr(words_module, "_LEAST", 15)
    found = store.search_words([WORDS[8], WORDS[7], "nowhere"], [], 20, OWN)
    assert len(found) >= 15


def test_a_chosen_document_is_searched_by_every_word(store, monkeypatch):
    chosen = [f"{2:064x}"[::-1], f"{4:064x}"[::-1]]
    words = [WORDS[5], WORDS[9], WORDS[30]]
    whole = rounded(store.search_words(words, [], 10, OWN, chosen))
    large(monkeypatch, 60)
    monkeypatch.setattr(words_module, "_LEAST", 10)
    assert rounded(store.search_words(words, [], 10, OWN, chosen)) == whole
    assert {i[:16] for i, _ in whole} == {one[:16] for one in chosen}
    assert store.search_words(words, [], 10, OWN, []) == []


def test_words_are_counted_again_when_the_library_has_grown(store, monkeypatch):
    large(monkeypatch, 20)
    store.search_words(["late"], [], 5, OWN)
    document = "f" * 64
    text = "late news"
    store.add_document(Document(document, "new.txt", ".txt", 1, Status.RECEIVED, "now"))
    store.save_reading(document, Reading((Page(1, text),)))
    chunk = Chunk(document, 1, 0, 0, len(text), text)
    store.save_chunks(document, [Indexed(chunk, "", text)])
    assert [i for i, _ in store.search_words(["late"], [], 5, OWN)] == [chunk.id]


@pytest.mark.parametrize("count", [1, 3, 5])
def test_of_many_documents_only_the_chosen_are_found(store, monkeypatch, count):
    chosen = [f"{number:064x}"[::-1] for number in range(count)]
    words = [WORDS[n] for n in (1, 4, 9)]
    exact = rounded(store.search_words(words, [], 8, OWN, chosen))
    monkeypatch.setattr(words_module, "_FEW", 0)
    picked = rounded(store.search_words(words, [], 8, OWN, chosen))
    assert [score for _, score in picked] == [score for _, score in exact]
    assert {i.rpartition("-")[0] for i, _ in picked} <= {d[:16] for d in chosen}


def test_the_chosen_are_found_where_the_best_are_all_of_others(store, monkeypatch):
    monkeypatch.setattr(words_module, "_FEW", 0)
    monkeypatch.setattr(words_module, "_WIDE", 1)
    monkeypatch.setattr(words_module, "_WIDER", 1)
    last = f"{DOCUMENTS - 1:064x}"[::-1]
    found = store.search_words([WORDS[0]], [], 3, OWN, [last])
    assert len(found) == 3 and all(i.startswith(last[:16]) for i, _ in found)


def test_in_a_very_large_library_rare_words_alone_come_after_rare_words_with_others(
    store, monkeypatch
):
    rare = {i for i, _ in store.search_words([WORDS[30]], [], 60, OWN)}
    common = {i for i, _ in store.search_words([WORDS[2]], [], 200, OWN)}
    large(monkeypatch, 60)
    for name, value in (("LARGE", 20), ("COMMON", 5), ("_EVERYWHERE", 1), ("_LEAST", 1)):
        monkeypatch.setattr(words_module, name, value)
    asked, both = [WORDS[2], WORDS[30]], rare & common
    assert both and rare - both
    few = {i for i, _ in store.search_words(asked, [], len(both), OWN)}
    assert few == both
    assert {i for i, _ in store.search_words(asked, [], len(rare), OWN)} == rare


def test_common_words_are_estimated_close_to_their_count(store, databases, monkeypatch):
    if databases.kind == "postgres":
        pytest.skip("estimated by the server's own statistics: test_postgres_words.py")
    monkeypatch.setattr(words_module, "_SAMPLES", 6)
    monkeypatch.setattr(words_module, "_SAMPLED", 2)
    with store.database.read() as db:
        exact = words_module._counted(db, '"end"', 0, DOCUMENTS * EACH)
        assert exact == DOCUMENTS * EACH
        assert words_module._estimated(db, '"end"', DOCUMENTS * EACH) == exact
