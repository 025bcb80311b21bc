"""Words in PostgreSQL are those of SQLite, and so are their ranks."""

from __future__ import annotations

import random

import pytest

from rag_app.scope import OWN
from rag_app.storage import Indexed, Store
from rag_app.storage import postgres_words as words_module
from rag_app.storage.postgres_words import TsVectors, query_of, vectors
from rag_app.storage.words import searched
from rag_app.types import Chunk, Document, Page, Reading, Status

SAID = ["ferries", "ferry", "Éclair", "U.S.", "o'clock", "l'été", "12.5", "x²", "free-flight",
        "layer", "layers", "boundary",
        "机器学习", "東京", "กรุงเทพ", "हिन्दी", "ДОМА", "stra\u00dfe", "the"]  # fmt: skip
ID = "a" * 64


def filled(store: Store) -> Store:
    chance = random.Random(7)
    store.add_document(Document(ID, "a.txt", ".txt", 1, Status.RECEIVED, "2026-01-01"))
    texts = [" ".join(chance.choices(SAID, k=chance.randrange(2, 40))) for _ in range(80)]
    store.save_reading(ID, Reading((Page(1, "\n".join(texts)),)))
    at, held = 0, []
    for n, text in enumerate(texts):
        chunk = Chunk(ID, 1, n, at, at + len(text), text)
        held.append(Indexed(chunk, chance.choice(["Ferry", "the layers", ""]), text))
        at += len(text) + 1
    store.save_chunks(ID, held)
    return store


@pytest.fixture
def both(tmp_path, postgres_library):
    sqlite = filled(Store(tmp_path / "library.sqlite3"))
    yield sqlite, filled(Store(postgres_library))
    sqlite.close()


@pytest.mark.parametrize(
    ("words", "phrases"),
    [([one], []) for one in SAID]
    + [(SAID, []), (["ferry", "机器", "layers"], []), (["nowhere"], [])]
    + [([], [one]) for one in ("boundary layer", "ferry the", "机器学习", "the", "U.S. layers")]
    + [([], ["ferry", "the layers"])],
)
def test_ranks_are_those_of_sqlite(both, words, phrases):
    ours, theirs = (dict(one.search_words(words, phrases, 100, OWN)) for one in both)
    assert theirs == pytest.approx(ours, rel=1e-6)
    assert list(theirs)[:5] == list(ours)[:5]


def test_words_with_other_endings_are_found_alike(both):
    found = [
        [i for i, _ in one.search_words(["boundaries", "layered"], [], 20, OWN, endings=True)]
        for one in both
    ]
    assert found[0] and len({*found[0]} & {*found[1]}) >= 0.9 * len(found[0])


def test_nothing_of_a_query_is_syntax_of_the_server(both):
    for odd in ("'", "\\", ":*", "a & b", "!x", "<->", '"', "%s", "?"):
        for phrase in ([odd], []):
            assert isinstance(both[1].search_words([f"{odd}ferry"], phrase, 5, OWN), list)


def test_what_goes_is_found_no_more(both):
    both[1].save_chunks(ID, [])
    assert both[1].search_words(["ferry"], [], 5, OWN) == []
    with both[1].database.read() as db:
        assert db.execute("SELECT count(*) FROM chunk_words").fetchone()[0] == 0


def test_frequent_words_of_a_large_library_are_not_counted(both, monkeypatch):
    monkeypatch.setattr(words_module, "LARGE", 10)
    monkeypatch.setattr(words_module, "COMMON", 5)
    with both[1].database.write() as db:
        db.execute("ANALYZE chunk_words")
    with both[1].database.read() as db:
        index = TsVectors()
        rows, _ = index._measures(db)
        assert rows == 80 and index._frequent
        query = query_of('"layer"').written
        exact = db.execute(
            "SELECT count(*) FROM chunk_words WHERE found @@ ?::tsquery", (query,)
        ).fetchone()[0]
        assert index._held(db, [query], rows) == [pytest.approx(exact, abs=1)]


def test_a_word_that_is_very_long_is_found_by_all_of_what_is_kept(postgres_library):
    long = "a" * 5_000
    written, length = vectors([("", f"{long} b", "")])[0]
    assert length == 2 and len(written) < 600
    assert query_of(f'"{long}"').leaves[0].terms[0] in written


def test_words_of_a_script_without_spaces_stand_as_their_grams(postgres_library):
    context, words, grams = searched("", "機器 learning")
    written, _ = vectors([("", words or "機器 learning", grams)])[0]
    assert "'learn':2A" in written and "B" in written and context is None
