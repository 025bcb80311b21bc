from __future__ import annotations

import re
import sqlite3
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.retrieval.chunking import search_text
from rag_app.retrieval.ranking import query_words
from rag_app.scope import OWN, WORKER
from rag_app.storage import Indexed, Store
from rag_app.storage.words import any_of, exactly, searched
from rag_app.text.languages import compared, folded, grams, healed, runs, spaced
from rag_app.types import Chunk
from tests.test_store import fill

ENGLISH = [
    "The ferry to the island costs four euros; dogs travel free.",
    "It’s the harbour’s “summer” timetable — see page 12 (€4.50, naïve café).",
    "Revenue grew 12.5 % to $4,538 million in fiscal 2018, e.g. in EMEA & Asia-Pacific.",
    "Don't feed the gulls: https://harbour.example/gulls?x=1 …",
]
HAN = "港口早上六点开门渡轮票价四欧元狗免费乘船水"
RUNS = st.text(st.sampled_from(HAN), min_size=2, max_size=12)
MIXED = st.text(
    st.sampled_from("港口六点のフェリー서울표ราคาตั๋วकीमतabc 12.、。\n\u3099e\u0301é"), max_size=40
)


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_indexed_as_it_stands(text):
    assert folded(text) is text
    assert searched(text, text) == (None, None, "")


@given(st.text(st.characters(max_codepoint=0x24F, exclude_characters="ßæœøłđıẞÆŒØŁĐ")))
def test_latin_text_is_indexed_as_it_stands(text):
    assert searched(text, text) == (None, None, "")


def test_english_is_looked_for_as_before():
    words, phrases = query_words('What does the "day pass" for the harbour\'s ferry cost?')
    assert any_of(words) == [f'"{word}"' for word in words]
    assert [part for phrase in phrases for part in exactly(phrase)] == ['"day pass"']


def test_the_ranking_of_english_is_that_of_the_plain_index(tmp_path):
    store = Store(tmp_path / "s.sqlite3")
    texts = [f"{a} {b}" for a in ENGLISH for b in ENGLISH if a != b]
    fill(store, 1, texts)
    plain = sqlite3.connect(":memory:")
    plain.execute(
        "CREATE VIRTUAL TABLE t USING fts5 (context, words, "
        "tokenize = 'porter unicode61 remove_diacritics 2')"
    )
    plain.executemany("INSERT INTO t VALUES ('', ?)", [(text,) for text in texts])
    for asked in ("ferry costs", "revenue in EMEA 2018", "gulls harbour timetable", "cafe euros"):
        words, _ = query_words(asked)
        expected = plain.execute(
            "SELECT -bm25(t, 0.5, 1.0) FROM t WHERE t MATCH ? ORDER BY 1 DESC",
            (" OR ".join(f'"{word}"' for word in words),),
        ).fetchall()
        found = store.search_words(words, [], 99, OWN)
        assert [score for _, score in found] == [score for (score,) in expected]
    plain.close()
    store.close()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "Strasse"),
        ("ﬁnancial", "financial"),
        ("ＡＢＣ１２", "ABC12"),
        ("ﾊﾞﾝｸ", "バンク"),
        ("كِتَابٌ", "كتاب"),
        ("ﻛﺘﺎب", "كتاب"),
        ("الكتاب", "كتاب"),
        ("وأحمد", "واحمد"),
        ("שָׁלוֹם", "שלום"),
        ("ёлка", "елка"),
        ("Ὀδυσσεύς", "Οδυσσευς"),
        ("đường", "dường"),
        ("٢٠٢٣", "2023"),
        ("२०२३", "2023"),
        ("한글", unicodedata.normalize("NFD", "한글")),
        ("é", "e\u0301"),
        ("क्‍ष", "क्ष"),
    ],
)
def test_spellings_of_the_same_word_are_one(one, other):
    assert folded(one) == folded(other)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("東京都の人口", "東京 京都 都の の人 人口 口"),
        ("서울에서 표", "서울 울에 에서 서 표"),
        ("ตั๋วเรือ", "ตั๋วเ วเรื เรือ รือ อ"),
        ("iPhoneの価格", "の価 価格 格"),
        ("หมายเลข ๔๒", "หมา มาย ายเ ยเล เลข ลข ข"),
        ("English", ""),
    ],
)
def test_runs_are_cut_into_overlapping_grams(text, cut):
    assert grams(folded(text)) == cut


def test_latin_words_beside_a_run_stand_alone():
    assert spaced("新しいiPhoneの価格").split() == ["\ue000", "iPhone", "\ue000"]


def test_a_run_is_whole_again_where_a_line_broke_it():
    assert healed("港口早上\r\n  六点开门。\nEnglish\n港口") == "港口早上六点开门。\nEnglish\n港口"
    assert search_text("渡轮票\n价 四\u3000欧元") == "渡轮票价 四 欧元"


@given(MIXED)
def test_what_is_made_for_the_index_is_made_once(text):
    once = folded(text)
    assert folded(once) == once
    assert all(run.grams for run in runs(once))
    assert "\ue000" not in grams(once)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("any") / "s.sqlite3")
    yield store
    store.close()


def held(store: Store, text: str) -> str:
    """The id of the only chunk of a document with this text."""
    return fill(store, 1, [search_text(text)])


@given(RUNS, st.data())
def test_every_part_of_a_run_is_found(stores, run, data):
    start = data.draw(st.integers(0, len(run) - 1))
    end = data.draw(st.integers(start + 1, len(run)))
    held(stores, f"前{run}。後")
    part = run[start:end]
    assert stores.search_words([part], [], 9, OWN)
    assert stores.search_words([], [part], 9, OWN)


@given(RUNS, RUNS)
def test_a_phrase_is_found_where_it_stands_and_nowhere_else(stores, text, phrase):
    held(stores, text)
    assert bool(stores.search_words([], [phrase], 9, OWN)) == (phrase in text)


@given(st.text(max_size=60))
def test_any_text_is_a_sound_query(stores, text):
    held(stores, "港口六点开门")
    stores.search_words(*query_words(text), 9, OWN)
    stores.search_words([text], [text], 9, OWN, endings=True)


@pytest.mark.parametrize(
    ("text", "asked", "found"),
    [
        ("新しいiPhoneの価格は", "iPhone", True),
        ("新しいiPhoneの価格は", "iphoneの価格", True),
        ("新しいiPhoneの価格は", "iPhoneの色", False),
        ("서울에서 부산까지", "서울에서 부산", True),
        ("서울에서 부산까지", "에서부산", False),
        ("水を飲む", "水", True),
        ("口水", "水", True),
        ("火を見る", "水", False),
        ("ราคาตั๋วเรือสี่ยูโร", "ตั๋ว", True),
        ("ราคาตั๋วเรือสี่ยูโร", "ตั๋วรถ", False),
        ("सड़क पर हिन्दी", "हिन्दी", True),
        ("सड़क पर हिन्दी", "हिन्दू", False),
        ("レオナルド・ダ・ヴィンチ", "レオナルド・ダ・ヴィンチ", True),
    ],
)
def test_phrases_are_exact_in_every_script(stores, text, asked, found):
    held(stores, text)
    assert bool(stores.search_words([], [asked], 9, OWN)) == found


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Билет на паром стоит четыре евро", "билеты"),
        ("Το εισιτήριο του πλοίου", "εισιτήρια"),
        ("تذكرة العبارة", "عبارة"),
        ("İstanbul’daki vapurların biletleri", "vapurdan"),
        ("L’histoire de l’île", "d’histoires"),
        ("Das Schiffahrtsmuseum der Häfen", "schiffahrt"),
    ],
)
def test_words_that_end_otherwise_are_found_too(stores, text, word):
    held(stores, text)
    assert stores.search_words([word.lower()], [], 9, OWN, endings=True)


def test_english_words_are_not_shortened(stores):
    held(stores, "An harbinger of spring")
    assert not stores.search_words(["harbi"], [], 9, OWN)


def test_what_was_removed_is_found_no_more(stores):
    document = held(stores, "港口早上六点开门 पानी")
    stores.remove(document)
    assert not stores.search_words(["港口", "पानी"], [], 9, OWN)
    rows = stores.database
    with rows.read() as db:
        db.execute("INSERT INTO chunk_words (chunk_words, rank) VALUES ('integrity-check', 1)")


def test_texts_are_compared_by_words_and_grams():
    assert compared("Die Straße, 東京都 ราคา!") == ["die", "strasse", "東京", "京都", "ราค", "าคา"]


def test_exactly_needs_both_words_and_grams():
    assert exactly("iPhoneの価格") == ['"iPhone \ue000 "', '"の価 価格"']
    assert re.fullmatch('".*" \\*', exactly("水")[0])


def test_indexed_words_stay_as_they_are_for_embedding(stores: Store, tmp_path: Path):
    text = "كِتَابٌ 東京都"
    document = held(stores, text)
    [indexed] = stores.indexed(document, WORKER)
    assert isinstance(indexed, Indexed) and isinstance(indexed.chunk, Chunk)
    assert indexed.for_embedding == text == indexed.chunk.text
