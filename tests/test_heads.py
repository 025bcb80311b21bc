from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.retrieval.chunking import Placing, leaning, page_heads
from rag_app.storage import Indexed
from rag_app.types import Chunk, Page
from tests.fakes import WordEmbedder


def numbered(*texts: str) -> list[Page]:
    return [Page(number, text) for number, text in enumerate(texts, 1)]


def test_a_head_is_what_a_page_begins_with():
    heads = page_heads(numbered("Balance sheet\n2019 2018\nBoats   12\n\n", "7\n\n"))
    assert heads == {1: "Balance sheet Boats 12"}


def test_what_runs_through_the_document_is_no_head():
    pages = [f"Harbour Lines Ltd.\nChapter {'abcdefgh'[n] * 3}\ntext" for n in range(8)]
    heads = page_heads(numbered(*pages))
    assert heads[3] == "Chapter ccc"


def test_a_head_is_short():
    assert len(page_heads(numbered("word " * 400))[1]) <= 160


def indexed(page: int, ordinal: int, words: str) -> Indexed:
    return Indexed(Chunk("d" * 64, page, ordinal, 0, len(words), words), "", words)


def test_chunks_lean_to_the_head_of_their_page():
    pages = numbered("Balance sheet\nboats twelve ropes nine", "alone")
    chunks = [indexed(1, 0, "Balance sheet boats twelve"), indexed(1, 1, "ropes nine")]
    embedder = WordEmbedder()
    placed = Placing(embedder, pages, [*chunks, indexed(2, 2, "alone")]).embed(chunks)
    [asked] = embedder.embed_documents(["balance sheet"])
    [alone] = embedder.embed_documents(["ropes nine"])
    near = sum(a * b for a, b in zip(asked, placed[1], strict=True))
    assert near > sum(a * b for a, b in zip(asked, alone, strict=True))
    assert math.hypot(*placed[1]) == pytest.approx(1.0)


def test_what_is_alone_on_its_page_stays_as_it_is():
    embedder = WordEmbedder()
    one = indexed(1, 0, "alone here")
    assert Placing(embedder, numbered("alone here"), [one]).embed([one]) == [
        embedder.embed_query("alone here")
    ]
    assert embedder.embedded == ["alone here"]


class Exchanged(WordEmbedder):
    """A model that another takes over from between two calls."""

    @property
    def fingerprint(self) -> str:
        return str(len(self.embedded))


def test_no_vector_is_mixed_of_two_models():
    embedder = Exchanged()
    chunks = [indexed(1, 0, "ropes"), indexed(1, 1, "boats")]
    made = Placing(embedder, numbered("Harbour"), chunks).embed(chunks)
    assert made == [embedder.embed_query("ropes"), embedder.embed_query("boats")]


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=3), st.sampled_from([0, 1, 2]))
def test_a_vector_leans_and_keeps_its_length(head, axis):
    vector = [float(axis == place) for place in range(3)]
    leant = leaning(vector, head)
    assert math.hypot(*leant) == pytest.approx(1.0)
    assert leant[axis] > 0.5
