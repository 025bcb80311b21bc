"""Sentences are found each by itself, beside passages, where the larger model of them is there."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from rag_app import open_library as opening
from rag_app.errors import ModelUnavailable
from rag_app.retrieval import sentence_index
from rag_app.retrieval.sentence_index import titled
from rag_app.scope import WORKER
from rag_app.storage.queue import UNCLEANED
from tests.fakes import WordEmbedder
from tests.test_library import FERRY, MUSEUM, add, open_library

SAYS_THE_SAME = {"hound": "dogs", "gratis": "free"}
QUESTION = "hound gratis harbour"
OTHERS = [f"Cabin {n} has a view of the harbour and two beds.\n\n".encode() * 3 for n in range(12)]


class Knowing(WordEmbedder):
    """Knows two words of the question by those of the answer."""

    fingerprint = "knowing"

    def embed_query(self, text):
        return super().embed_query(" ".join(SAYS_THE_SAME.get(w, w) for w in text.split()))


@pytest.fixture
def knowing(monkeypatch):
    embedder = Knowing()
    monkeypatch.setattr(opening, "similar", lambda settings: embedder)
    monkeypatch.setattr(sentence_index, "_PAUSE", 0.05)
    return embedder


def until(true, seconds=30):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def caught_up(library):
    index = library._opened.sentences
    until(lambda: index.covers(library.documents()))
    return index


def kept(library, document_id):
    return library._reindexing.live.beside.vectors.ids(document_id)


def test_what_the_words_and_the_passages_do_not_say_a_sentence_does(knowing, tmp_path):
    with open_library(tmp_path / "data") as library:
        for number, text in enumerate(OTHERS):
            add(library, f"cabin {number}.txt", text)
        add(library, "ferry.txt", FERRY)
        caught_up(library)
        assert library.search(QUESTION)[0].name == "ferry.txt"
        without = library.retriever(3).model_copy(update={"sentences": None})
        assert without.passages(QUESTION)[0].name != "ferry.txt"


def test_each_sentence_is_embedded_under_its_title_once_and_for_good(knowing, tmp_path):
    data = tmp_path / "data"
    with open_library(data) as library:
        ferry = add(library, "ferry.txt", FERRY)
        caught_up(library)
        assert knowing.embedded == [
            titled("ferry.txt", "The ferry to the island costs four euros."),
            titled("ferry.txt", "Dogs travel free of charge."),
        ]
        assert len(kept(library, ferry)) == 2
    with open_library(data) as library:
        caught_up(library)
    assert len(knowing.embedded) == 2


def test_who_ranks_sentences_is_given_the_vectors_that_are_there(knowing, tmp_path):
    data = tmp_path / "data"
    with open_library(data) as library:
        add(library, "ferry.txt", FERRY)
        caught_up(library)
    for _ in range(2):  # also after a start, from what is kept
        with open_library(data) as library:
            index = caught_up(library)
            dogs = titled("ferry.txt", "Dogs travel free of charge.")
            assert index.holds(dogs) and not index.holds("Dogs travel free of charge.")
            made = index.embed_documents([dogs, "something else", dogs])
            assert np.allclose(made[0], knowing.embed_query(dogs), atol=1e-3)
            assert made[0] == made[2] != made[1]
            assert knowing.embedded[2:] == ["something else"]
            del knowing.embedded[2:]


def test_another_name_is_another_title(knowing, tmp_path):
    with open_library(tmp_path / "data") as library:
        ferry = add(library, "ferry.txt", FERRY)
        index, before = caught_up(library), kept(library, ferry)
        with library._store.database.write() as db:  # as when what it came out of goes
            db.execute("UPDATE documents SET name = 'boat.txt' WHERE id = ?", (ferry,))
        assert library.wait_for_sentences(20)
        assert index.holds(titled("boat.txt", "Dogs travel free of charge."))
        assert not index.holds(titled("ferry.txt", "Dogs travel free of charge."))
        assert len(kept(library, ferry)) == 2 and not kept(library, ferry) & before


def test_vectors_that_were_lost_are_made_again(knowing, tmp_path):
    with open_library(tmp_path / "data") as library:
        ferry = add(library, "ferry.txt", FERRY)
        caught_up(library)
        library._reindexing.live.beside.vectors.delete(ferry)
        add(library, "museum.txt", MUSEUM)
        assert library.wait_for_sentences(20)
        assert len(kept(library, ferry)) == 2


def test_a_step_that_meets_a_removal_leaves_nothing_and_is_cleaned_after(knowing, tmp_path):
    with open_library(tmp_path / "data") as library:
        knowing.gate.clear()
        ferry = add(library, "ferry.txt", FERRY)
        index = library._opened.sentences
        real = index._vectors.upsert

        def removed_under_it(document_id, *given):
            library.remove(document_id)
            assert library.wait_until_clean(60)
            real(document_id, *given)

        index._vectors.upsert = removed_under_it
        knowing.gate.set()
        until(lambda: not library.documents())
        until(lambda: library._store.queue.marked(UNCLEANED))
        assert kept(library, ferry) == set() and not index.holds(titled("ferry.txt", "Dogs"))


def test_no_document_wins_by_having_its_sentences_first(knowing, tmp_path):
    with open_library(tmp_path / "data") as library:
        ferry = add(library, "ferry.txt", FERRY)
        index, retriever = caught_up(library), library.retriever(3)
        some = retriever._by_sentence(index, QUESTION, [None])
        assert {one.partition("-")[0] for one in some.scores} == {ferry[:16]}
        index._busy = lambda: True  # it makes none by itself
        add(library, "museum.txt", MUSEUM)
        index.nearest = lambda *given: pytest.fail("those of the ferry alone are there")
        assert retriever.passages(QUESTION)
        made = {text for text in knowing.embedded if ";" in text}
        add(library, "cabin.txt", OTHERS[0])
        calm = {"hurries": False, "reranker": None}
        assert retriever.model_copy(update=calm).passages("what else")
        assert {text for text in knowing.embedded if ";" in text} == made


def test_until_then_those_of_the_likeliest_passages_are_compared_and_kept(knowing, tmp_path):
    with open_library(tmp_path / "data") as library:
        index = library._opened.sentences
        index._busy = lambda: True  # it makes none by itself
        for number, text in enumerate(OTHERS):
            add(library, f"cabin {number}.txt", text)
        add(library, "ferry.txt", FERRY)
        for _ in range(2):
            assert not index.covers(library.documents())
            assert library.search(QUESTION)[0].name == "ferry.txt"
        assert titled("ferry.txt", "Dogs travel free of charge.") in index._ahead
        index._busy = lambda: False
        caught_up(library)
        assert len(knowing.embedded) == len(set(knowing.embedded)) > 0
        until(lambda: not index._ahead)  # they are where all are


def test_nobody_waits_for_sentences_of_a_library_that_is_too_large(knowing, monkeypatch, tmp_path):
    monkeypatch.setattr(sentence_index, "MOST_PASSAGES", 0)
    with open_library(tmp_path / "data") as library:
        add(library, "ferry.txt", FERRY)
        assert not library._opened.sentences.will_cover(library.documents())
        assert library.search(QUESTION) and not knowing.embedded


def test_after_a_start_what_is_kept_is_not_made_again_for_who_asks_at_once(knowing, tmp_path):
    data = tmp_path / "data"
    with open_library(data) as library:
        add(library, "ferry.txt", FERRY)
        caught_up(library)
    made = list(knowing.embedded)
    with open_library(data) as library:
        index = library._opened.sentences
        index.covers = lambda documents: False  # it has not looked yet
        assert library.search(QUESTION) and knowing.embedded == made


def test_what_nobody_waits_for_waits_until_the_sentences_are_nearly_done(knowing, tmp_path):
    knowing.gate.clear()
    with open_library(tmp_path / "data") as library:
        add(library, "ferry.txt", FERRY)
        index = library._opened.sentences
        until(lambda: index.nearly_done)
        assert library._opened.overviews._makers.busy()
        knowing.gate.set()
        caught_up(library)
        until(lambda: not index.nearly_done)
        index._left, index._each = 10_000, 0.1
        assert not index.nearly_done, "it would take too long"


def test_sentences_wait_for_answers_and_not_for_the_writer_to_be_loaded(knowing, tmp_path):
    with open_library(tmp_path / "data") as library:
        opened = library._opened
        opened.warming.state = "warming"
        add(library, "ferry.txt", FERRY)
        caught_up(library)
        stop = threading.Event()
        with opened.underway.breaking_off(stop):
            assert opened._waited_for()
            museum = add(library, "museum.txt", MUSEUM)
            until(lambda: opened.sentences._left > 0)
            assert not kept(library, museum)
        caught_up(library)


def test_what_is_removed_leaves_no_sentence_behind(knowing, tmp_path):
    with open_library(tmp_path / "data") as library:
        ferry, museum = add(library, "ferry.txt", FERRY), add(library, "museum.txt", MUSEUM)
        index = caught_up(library)
        library.remove(ferry)
        assert kept(library, ferry) == set() and len(kept(library, museum)) == 2
        assert library.wait_until_clean(60)
        found = index.nearest("ferry to the island", 8, WORKER)
        assert {one.partition("-")[0] for one in found.scores} == {museum[:16]}
        until(lambda: not index.holds(titled("ferry.txt", "Dogs travel free of charge.")))


def test_only_of_the_documents_asked_for(knowing, tmp_path):
    with open_library(tmp_path / "data") as library:
        add(library, "ferry.txt", FERRY)
        museum = add(library, "museum.txt", MUSEUM)
        index = caught_up(library)
        [best] = index.nearest("free", 8, WORKER, [museum]).scores
        assert best.startswith(museum[:16])


def test_a_library_that_is_too_large_is_left_as_it_is(knowing, tmp_path, monkeypatch):
    monkeypatch.setattr(sentence_index, "MOST_PASSAGES", 1)
    with open_library(tmp_path / "data") as library:
        add(library, "ferry.txt", FERRY)
        caught_up(library)
        add(library, "museum.txt", MUSEUM)
        index = library._opened.sentences
        until(lambda: not index.covers([library.document("ferry.txt")]))
        assert library.search("ferry")[0].name == "ferry.txt"


def test_a_model_that_cannot_be_loaded_leaves_the_rest_as_it_is(knowing, tmp_path, monkeypatch):
    def torn(texts):
        raise ModelUnavailable("It is torn.")

    monkeypatch.setattr(knowing, "embed_documents", torn)
    with open_library(tmp_path / "data") as library:
        add(library, "ferry.txt", FERRY)
        until(lambda: not library._opened.sentences._thread.is_alive())
        assert library.search("ferry")[0].name == "ferry.txt"


def test_without_the_model_there_is_no_index(tmp_path):
    with open_library(tmp_path / "data") as library:
        add(library, "ferry.txt", FERRY)
        assert library._opened.sentences is None
        assert [one.name for one in (tmp_path / "data").glob("vectors*")] == ["vectors"]


def test_who_waits_for_it_does_not_wait_for_what_is_paused(knowing, tmp_path):
    data = tmp_path / "data"
    with open_library(data) as library:
        add(library, "ferry.txt", FERRY)
        caught_up(library)
        library.pause()
        library.add("museum.txt", MUSEUM)
        index = library._opened.sentences
        assert library._opened._busy()
        index._done = {}
        index._vectors.delete(library.document("ferry.txt").id)
        assert library.wait_for_sentences(10)
        assert index.covers([library.document("ferry.txt")])


def test_a_model_that_is_torn_later_leaves_the_question_answered(knowing, tmp_path, monkeypatch):
    def torn(text):
        raise ModelUnavailable("It is torn.")

    with open_library(tmp_path / "data") as library:
        add(library, "ferry.txt", FERRY)
        caught_up(library)
        monkeypatch.setattr(knowing, "embed_query", torn)
        assert library.search("ferry")[0].name == "ferry.txt"
