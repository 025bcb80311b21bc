from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rag_app.errors import ModelUnavailable
from rag_app.retrieval.dual_encoder import EncoderSource, Similarity, TextEncoder, TwoEncoders
from rag_app.retrieval.embedding import Embedder
from rag_app.storage.chroma import ChromaVectors
from tests import toy_models as toys

WORDS = [f"word{number}" for number in range(40)]
TEXTS = ["word1 word2", "word3", " ".join(WORDS), "word7 word8 word9 word1", "unheard of", ""]
WIDTH = 16


def config(width: int = WIDTH, **more: object) -> dict[str, object]:
    return toys.bert_config(len(WORDS) + 4, width, initializer_range=0.6, **more)


def write_dpr(folder: Path, kind: str, seed: int, **more: object) -> Path:
    import transformers

    torch.manual_seed(seed)
    model = getattr(transformers, kind)(transformers.DPRConfig(**config(**more)))
    return toys.save(folder, model, toys.tokenizer(WORDS))


def write_bert(folder: Path, seed: int, width: int = WIDTH) -> Path:
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    return toys.save(folder, BertModel(BertConfig(**config(width))), toys.tokenizer(WORDS))


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("encoders")
    return {
        "question": write_dpr(root / "question", "DPRQuestionEncoder", 1, projection_dim=12),
        "passage": write_dpr(root / "passage", "DPRContextEncoder", 2, projection_dim=12),
        "bert": write_bert(root / "bert", 3),
        "wide": write_bert(root / "wide", 4, width=32),
    }


def dpr(folders: dict[str, Path], **options: object) -> TwoEncoders:
    question, passage = EncoderSource(folders["question"]), EncoderSource(folders["passage"])
    return TwoEncoders(question, passage, **options)


def test_it_is_an_embedder_of_two_models(folders):
    embedder = dpr(folders)
    embedder.warm()
    assert isinstance(embedder, Embedder)
    same = np.dot(embedder.embed_query(TEXTS[0]), embedder.embed_documents([TEXTS[0]])[0])
    assert same < 0.999


def test_vectors_are_those_of_transformers_own_dpr_classes(folders):
    from transformers import DPRContextEncoder, DPRQuestionEncoder

    read = toys.tokenizer(WORDS)(TEXTS, padding=True, return_tensors="pt")
    for name, kind in (("question", DPRQuestionEncoder), ("passage", DPRContextEncoder)):
        with torch.no_grad():
            expected = kind.from_pretrained(folders[name])(
                read["input_ids"], attention_mask=read["attention_mask"]
            ).pooler_output
        found = TextEncoder(EncoderSource(folders[name])).embed(TEXTS)
        assert torch.allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("similarity", Similarity)
def test_the_cosine_of_the_vectors_is_the_score_of_the_models(folders, similarity):
    embedder = dpr(folders, similarity=similarity, norm_bound=40.0)
    passages = np.array(embedder.embed_documents(TEXTS))
    assert np.allclose(np.linalg.norm(passages, axis=1), 1.0, atol=1e-4)
    raw = embedder.passage.embed(TEXTS)
    for text in TEXTS:
        question, scale = embedder.embed_question(text)
        assert np.linalg.norm(question) == pytest.approx(1.0, abs=1e-4)
        one = embedder.question.embed([text])[0]
        if similarity == Similarity.COSINE:
            expected = torch.nn.functional.cosine_similarity(raw, one[None])
        else:
            expected = raw @ one
        assert np.allclose(passages @ question * scale, expected.numpy(), atol=1e-3)
        assert question == embedder.embed_query(text)
        assert embedder.as_query(one.tolist())[0] == pytest.approx(question)
    assert embedder.clipped == 0
    if similarity == Similarity.INNER_PRODUCT:
        back = [embedder.as_passage(row) for row in passages.tolist()]
        assert np.allclose(back, raw.numpy(), atol=1e-3)


class Fixed(TextEncoder):
    """Gives the vectors it was made with."""

    def __init__(self, rows: list[list[float]]) -> None:
        super().__init__(EncoderSource(Path()))
        self.rows = torch.tensor(rows)

    def embed(self, texts):
        return self.rows[: len(texts)]


coordinate = st.floats(-3, 3, width=32)


@given(
    st.lists(st.lists(coordinate, min_size=4, max_size=4), min_size=1, max_size=8),
    st.lists(coordinate, min_size=4, max_size=4),
)
def test_inner_products_survive_in_a_space_of_cosines(passages, question):
    embedder = TwoEncoders(EncoderSource(Path()), EncoderSource(Path()), norm_bound=6.0)
    embedder.passage, embedder.question = Fixed(passages), Fixed([question])
    found = np.array(embedder.embed_documents([""] * len(passages)))
    asked, scale = embedder.embed_question("")
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)
    expected = np.array(passages) @ np.array(question)
    assert np.allclose(found @ asked * scale, expected, atol=1e-3)


def test_the_collection_of_cosines_ranks_by_inner_product(tmp_path):
    chance = np.random.default_rng(4)
    passages = (chance.normal(size=(50, 8)) * chance.uniform(0.2, 3, size=(50, 1))).tolist()
    question = chance.normal(size=8).tolist()
    embedder = TwoEncoders(EncoderSource(Path()), EncoderSource(Path()), norm_bound=12.0)
    embedder.passage, embedder.question = Fixed(passages), Fixed([question])
    vectors = ChromaVectors(tmp_path / "vectors", "two-encoders-test")
    ids = [str(number) for number in range(50)]
    vectors.upsert("document", ids, embedder.embed_documents([""] * 50))
    asked, scale = embedder.embed_question("")
    found = vectors.search(asked, 5)
    vectors.close()
    scores = np.array(passages) @ np.array(question)
    assert [int(i) for i, _ in found] == np.argsort(-scores)[:5].tolist()
    best = [cosine * scale for _, cosine in found]
    assert best == pytest.approx(np.sort(scores)[::-1][:5].tolist(), abs=1e-3)


def test_a_passage_over_the_bound_is_taken_for_one_at_the_bound():
    embedder = TwoEncoders(EncoderSource(Path()), EncoderSource(Path()), norm_bound=2.0)
    embedder.passage = Fixed([[3.0, 4.0], [0.3, 0.4]])
    long, short = embedder.embed_documents(["", ""])
    assert long == pytest.approx([0.6, 0.8, 0.0], abs=1e-6)
    assert short[:2] == pytest.approx([0.15, 0.2]) and embedder.clipped == 1


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_any_encoder_will_do_and_padding_leaves_no_trace(folders, pooling):
    from transformers import BertModel

    encoder = TextEncoder(EncoderSource(folders["bert"], pooling))
    network, words = BertModel.from_pretrained(folders["bert"]), toys.tokenizer(WORDS)
    for text, vector in zip(TEXTS, encoder.embed(TEXTS), strict=True):
        with torch.no_grad():
            hidden = network(**words(text, return_tensors="pt")).last_hidden_state[0]
        expected = hidden[0] if pooling == "cls" else hidden.mean(dim=0)
        assert torch.allclose(vector, expected, atol=1e-4)


def test_a_prefix_and_a_limit_are_part_of_how_a_text_is_read(folders):
    plain = TextEncoder(EncoderSource(folders["bert"]))
    prefixed = TextEncoder(EncoderSource(folders["bert"], prefix="word5 "))
    assert torch.allclose(prefixed.embed(["word1"]), plain.embed(["word5 word1"]), atol=1e-5)
    short = TextEncoder(EncoderSource(folders["bert"], longest=4))
    assert torch.allclose(short.embed([TEXTS[2]]), plain.embed(["word0 word1"]), atol=1e-5)


def test_the_fingerprint_is_that_of_the_passages_vectors(folders, tmp_path):
    made = dpr(folders).fingerprint
    assert made == dpr(folders).fingerprint
    assert made != dpr(folders, similarity=Similarity.COSINE).fingerprint
    assert made != dpr(folders, norm_bound=9.0).fingerprint
    learnt = write_dpr(tmp_path / "learnt", "DPRQuestionEncoder", 9, projection_dim=12)
    passage = EncoderSource(folders["passage"])
    assert made == TwoEncoders(EncoderSource(learnt), passage).fingerprint
    other = write_dpr(tmp_path / "other", "DPRContextEncoder", 9, projection_dim=12)
    question = EncoderSource(folders["question"])
    assert made != TwoEncoders(question, EncoderSource(other)).fingerprint


def test_models_that_do_not_fit_together_say_so(folders):
    embedder = TwoEncoders(EncoderSource(folders["bert"]), EncoderSource(folders["wide"]))
    with pytest.raises(ModelUnavailable, match=r"16 numbers .* 32"):
        embedder.warm()


def test_a_folder_without_safetensors_says_so(folders, tmp_path):
    (tmp_path / "config.json").write_bytes((folders["bert"] / "config.json").read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"cbuiltins\neval\n")
    embedder = TwoEncoders(EncoderSource(folders["bert"]), EncoderSource(tmp_path))
    with pytest.raises(ModelUnavailable, match="safetensors"):
        embedder.fingerprint  # noqa: B018 - asking is the point
    with pytest.raises(ModelUnavailable, match="could not be loaded"):
        embedder.warm()


def test_a_folder_that_is_not_there_is_not_looked_for_elsewhere(tmp_path):
    with pytest.raises(ModelUnavailable, match="no folder"):
        TextEncoder(EncoderSource(tmp_path / "bert-base-uncased")).load()


def test_weights_of_another_model_are_not_taken_for_an_encoder(folders, tmp_path):
    import shutil

    mixed = shutil.copytree(folders["passage"], tmp_path / "mixed")
    shutil.copy(folders["bert"] / "model.safetensors", mixed / "model.safetensors")
    with pytest.raises(ModelUnavailable, match="weights are missing"):
        TextEncoder(EncoderSource(mixed)).load()


def test_nothing_to_embed_is_no_vector(folders):
    assert dpr(folders).embed_documents([]) == []


def test_threads_may_embed_at_once(folders):
    embedder = dpr(folders)
    expected = np.array(embedder.embed_documents(TEXTS))
    results: list[list[list[float]]] = []
    threads = [
        threading.Thread(target=lambda: results.append(embedder.embed_documents(TEXTS)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.allclose(found, expected, atol=1e-5) for found in results)
    assert len(results) == 4
