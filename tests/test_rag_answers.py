"""RAG decoding as a generator of the app, with a model of random weights in a folder."""

from __future__ import annotations

import pytest

from rag_app.answering import generator_factory
from rag_app.answering.chain import cite
from rag_app.answering.chat_models import ChatSettings
from rag_app.answering.generator_factory import GeneratorFactory
from rag_app.answering.model_spec import RAG, ModelSpec
from rag_app.answering.span_model import SpanModel
from rag_app.export.messages import sentence
from rag_app.research import rag_decoding
from rag_app.types import Draft
from tests import toy_models as toys
from tests.fakes import WordEmbedder
from tests.test_chat import PASSAGES

WORDS = sorted(
    {w.strip(".,?") for p in PASSAGES for w in p.chunk.text.split()}
    | set(["What", "does", "the", "ferry", "cost"])
)


@pytest.fixture(scope="module", params=["bart", "llama"])
def folder(request, tmp_path_factory):
    words = toys.tokenizer(WORDS)
    made = getattr(toys, request.param)(len(words))
    return toys.save(tmp_path_factory.mktemp(request.param) / "model", made, words)


def generate(kind: str, folder, passages=PASSAGES, cancelled=lambda: False):
    workshop = GeneratorFactory(
        WordEmbedder(), SpanModel(), 0.2, ChatSettings(most_tokens=6), 2_000
    )
    generator = workshop.build(ModelSpec(kind, str(folder)))
    return list(generator.generate("What does the ferry cost?", passages, cancelled))


@pytest.mark.parametrize("kind", RAG)
def test_citations_carry_their_passages_share_of_the_answer(kind, folder):
    *pieces, last = generate(kind, folder)
    draft = last.draft
    assert isinstance(draft, Draft)
    if draft.generator == "reader":  # random weights may say nothing
        assert "wrote nothing" in sentence(draft.notes[0])
        return
    assert "".join(piece.text for piece in pieces).split() == draft.sentences[0].split()
    assert sum(draft.shares) == pytest.approx(1.0, abs=1e-4)
    text, citations = cite(draft, PASSAGES)
    assert citations and text.count("[") >= len(citations)
    assert [c.share for c in citations] == sorted((c.share for c in citations), reverse=True)
    for citation in citations:
        passage = PASSAGES[citation.page - 1]
        assert citation.quote in passage.chunk.text
        assert citation.share == draft.shares[citation.page - 1]


@pytest.mark.parametrize("kind", RAG[1:])
def test_the_choice_says_how_thoroughly_sequences_are_scored(kind, folder, monkeypatch):
    plans = []
    real = rag_decoding.decode_sequence
    monkeypatch.setattr(
        rag_decoding, "decode_sequence", lambda m, i, p, **o: plans.append(p) or real(m, i, p, **o)
    )
    generate(kind, folder)
    assert [plan.thorough for plan in plans] == [kind == "rag-sequence"]


def test_a_stop_ends_it(folder):
    assert all(
        piece.draft is None for piece in generate("rag-token", folder, cancelled=lambda: True)
    )


def test_without_passages_another_generator_says_so(folder):
    *_, last = generate("rag-sequence", folder, passages=[])
    assert last.draft is not None and last.draft.abstained


def test_a_folder_that_holds_no_model_leaves_the_question_to_another(tmp_path):
    *_, last = generate("rag-token", tmp_path / "nowhere")
    assert last.draft is not None and last.draft.generator == "reader"
    assert "could not be loaded" in sentence(last.draft.notes[0])


def test_decoding_that_breaks_leaves_the_question_to_another(folder, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("out of memory")

    monkeypatch.setattr("rag_app.research.rag_decoding.decode_sequence", broken)
    generator_factory._loaded.cache_clear()
    *_, last = generate("rag-sequence", folder)
    assert last.draft is not None and last.draft.generator == "reader"
