from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rag_app.research.rag import (
    IGNORED,
    EncodedDocuments,
    Network,
    RagInputs,
    joined,
    left_padded,
    log_priors,
    sequence_log_prob,
    sequence_shares,
    token_log_prob,
    token_log_probs,
    token_shares,
)
from tests import toy_models as toys

VOCABULARY, DOCUMENTS, LENGTH = 23, 4, 9
MASK = torch.tensor([[1] * (LENGTH - cut) + [0] * cut for cut in (0, 3, 1, 6)])


def inputs(seed: int = 5, ids: torch.Tensor | None = None) -> RagInputs:
    generator = torch.Generator().manual_seed(seed)
    if ids is None:
        ids = torch.randint(3, VOCABULARY, (DOCUMENTS, LENGTH), generator=generator) * MASK
    return RagInputs.from_scores(ids, MASK, torch.randn(DOCUMENTS, generator=generator))


def rag(kind: str, generator: object) -> object:
    from transformers import BertConfig, BertModel, RagSequenceForGeneration, RagTokenForGeneration

    classes = {"token": RagTokenForGeneration, "sequence": RagSequenceForGeneration}
    encoder = BertModel(BertConfig(**toys.bert_config(VOCABULARY)))
    made = classes[kind](question_encoder=encoder, generator=generator)
    made.config.n_docs = DOCUMENTS
    if not hasattr(made.config.generator, "bos_token_id"):  # T5's; RAG-Sequence asks for it
        made.config.generator.bos_token_id = None
    return made.eval()


def theirs(kind: str, model: object, given: RagInputs, labels: torch.Tensor, **more: object):
    many = len(labels)
    return rag(kind, model)(
        context_input_ids=given.input_ids.repeat(many, 1),
        context_attention_mask=given.attention_mask.repeat(many, 1),
        doc_scores=given.log_priors.repeat(many, 1),
        labels=labels,
        **more,
    )


def ours(model: object, given: RagInputs, targets: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return EncodedDocuments(Network.of(model), given).log_probs(targets)


SEQ2SEQ = [toys.bart(VOCABULARY), toys.t5(VOCABULARY)]
CAUSAL = [toys.gpt2(VOCABULARY), toys.llama(VOCABULARY)]
ANSWERS = torch.tensor(
    [
        [7, 8, 9, 4, toys.END],
        [5, toys.END, IGNORED, IGNORED, IGNORED],
        [22, 3, toys.END, IGNORED, IGNORED],
    ]
)


def labels(model: object, targets: torch.Tensor) -> torch.Tensor:
    start = torch.full((len(targets), 1), model.config.decoder_start_token_id)
    return torch.cat([start, targets.masked_fill(targets == IGNORED, toys.PAD)], dim=1)


@pytest.mark.parametrize("model", SEQ2SEQ, ids=["bart", "t5"])
def test_losses_are_those_of_transformers(model):
    found = ours(model, inputs(), ANSWERS)
    expected = theirs("sequence", model, inputs(), labels(model, ANSWERS)).loss
    assert torch.allclose(-sequence_log_prob(found, inputs().log_priors), expected, atol=1e-4)
    expected = theirs("token", model, inputs(), labels(model, ANSWERS)).loss
    assert torch.allclose(-token_log_prob(found, inputs().log_priors), expected, atol=1e-4)


@pytest.mark.parametrize("model", SEQ2SEQ, ids=["bart", "t5"])
def test_the_mixture_at_every_token_is_that_of_transformers(model):
    written = labels(model, ANSWERS[:1])
    mixed = theirs("token", model, inputs(), written, do_marginalize=True).logits[:, :-1]
    expected = mixed.gather(-1, ANSWERS[:1, :, None]).squeeze(-1)
    found = token_log_probs(ours(model, inputs(), ANSWERS[:1]), inputs().log_priors)
    assert torch.allclose(found, expected, atol=1e-4)


def test_a_first_token_left_out_by_transformers_is_left_out_by_leaving_it_out():
    model = SEQ2SEQ[0]
    with_bos = torch.tensor([[toys.START, 7, 9, toys.END]])
    expected = theirs(
        "sequence", model, inputs(), labels(model, with_bos), exclude_bos_score=True
    ).loss
    found = ours(model, inputs(), with_bos)[:, :, 1:]
    assert torch.allclose(-sequence_log_prob(found, inputs().log_priors), expected, atol=1e-4)


def test_the_prior_counts_for_an_answer_of_one_token_too():
    model, only_end = SEQ2SEQ[0], torch.tensor([[toys.END]])
    found = ours(model, inputs(), only_end)
    lost = theirs("sequence", model, inputs(), labels(model, only_end)).loss
    kept = theirs("token", model, inputs(), labels(model, only_end)).loss
    assert torch.allclose(-sequence_log_prob(found, inputs().log_priors), kept, atol=1e-4)
    assert torch.allclose(-found.sum(-1).logsumexp(1), lost, atol=1e-4)
    assert (kept - lost).abs() > 0.1


@pytest.mark.parametrize("model", CAUSAL, ids=["gpt2", "llama"])
def test_a_causal_model_reads_each_document_as_if_it_were_alone(model):
    found = ours(model, inputs(), ANSWERS)
    for row, targets in enumerate(ANSWERS):
        for document, (ids, mask) in enumerate(zip(inputs().input_ids, MASK, strict=True)):
            answer = targets[targets != IGNORED]
            whole = torch.cat([ids[mask.bool()], answer])[None]
            with torch.no_grad():
                log_probs = model(whole).logits[0, -len(answer) - 1 : -1].log_softmax(-1)
            expected = log_probs[torch.arange(len(answer)), answer]
            assert torch.allclose(found[row, document, : len(answer)], expected, atol=1e-4)
            assert (found[row, document, len(answer) :] == 0).all()


@pytest.mark.parametrize("model", SEQ2SEQ + CAUSAL, ids=["bart", "t5", "gpt2", "llama"])
def test_the_side_of_the_padding_changes_nothing(model):
    ids, mask = left_padded(inputs().input_ids, MASK)
    left = RagInputs(ids, mask, inputs().log_priors)
    right = ours(model, inputs(), ANSWERS)
    if model not in (SEQ2SEQ[0], SEQ2SEQ[1]):  # an encoder's positions are where the text stands
        assert torch.allclose(ours(model, left, ANSWERS), right, atol=1e-4)
    assert mask.sum() == MASK.sum() and bool((mask[:, -1] == 1).all())


def test_padding_on_the_left_takes_no_more_room_than_the_longest_row():
    ids = torch.tensor([[0, 5, 0, 0], [6, 7, 0, 0]])
    mask = torch.tensor([[0, 1, 0, 0], [1, 1, 0, 0]])
    moved, where = left_padded(ids, mask)
    assert moved.tolist() == [[0, 5], [6, 7]] and where.tolist() == [[0, 1], [1, 1]]


finite = st.floats(-30, 0)


@st.composite
def likelihoods(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    documents, length = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    size = documents * length
    numbers = draw(st.lists(finite, min_size=size, max_size=size))
    scores = draw(st.lists(st.floats(-20, 20), min_size=documents, max_size=documents))
    return torch.tensor(numbers).view(documents, length), log_priors(torch.tensor(scores))


@given(likelihoods())
def test_shares_are_a_distribution_and_follow_bayes(drawn):
    log_probs, priors = drawn
    shares = sequence_shares(log_probs, priors)
    expected = (priors + log_probs.sum(-1) - sequence_log_prob(log_probs, priors)).exp()
    assert torch.allclose(shares, expected, atol=1e-4)
    assert torch.allclose(token_shares(log_probs, priors).sum(0), torch.ones(1), atol=1e-5)


@given(likelihoods())
def test_sequence_and_token_agree_on_one_token_and_on_one_document(drawn):
    log_probs, priors = drawn
    first = log_probs[:, :1]
    assert torch.allclose(token_log_prob(first, priors), sequence_log_prob(first, priors))
    alone, sure = log_probs[:1], torch.zeros(1)
    assert torch.allclose(token_log_prob(alone, sure), alone.sum(), atol=1e-4)
    assert torch.allclose(sequence_log_prob(alone, sure), alone.sum(), atol=1e-4)


@given(st.lists(st.floats(width=32), min_size=1, max_size=6))
def test_priors_add_up_to_one_whatever_the_scores(scores):
    priors = log_priors(torch.tensor(scores)).exp()
    assert math.isclose(float(priors.sum()), 1.0, abs_tol=1e-4)
    numbers = [not math.isnan(score) and score != -math.inf for score in scores]
    if any(numbers):
        assert all(known or not share for known, share in zip(numbers, priors, strict=True))


def test_shares_fall_back_to_the_priors_where_nothing_is_possible():
    priors = log_priors(torch.tensor([1.0, 0.0]))
    nothing = torch.full((2, 3), -torch.inf)
    assert sequence_log_prob(nothing, priors) == -torch.inf
    assert torch.allclose(sequence_shares(nothing, priors), priors.exp())
    assert torch.allclose(token_shares(nothing, priors)[:, 0], priors.exp())


def test_inputs_of_other_shapes_are_refused():
    good = inputs()
    with pytest.raises(ValueError, match="of one shape"):
        RagInputs(good.input_ids, good.attention_mask[:, 1:], good.log_priors)
    with pytest.raises(ValueError, match="one number for each"):
        RagInputs(good.input_ids, good.attention_mask, good.log_priors[1:])
    with pytest.raises(ValueError, match="at least one token"):
        RagInputs(good.input_ids, torch.zeros_like(good.input_ids), good.log_priors)


def test_a_model_that_names_no_end_is_refused():
    model = toys.gpt2(VOCABULARY)
    model.config.eos_token_id = model.generation_config.eos_token_id = None
    with pytest.raises(ValueError, match="eos_token_id"):
        Network.of(model)


def test_a_decoder_that_names_no_beginning_is_refused():
    model = toys.bart(VOCABULARY)
    model.config.decoder_start_token_id = model.generation_config.decoder_start_token_id = None
    with pytest.raises(ValueError, match="begins a text"):
        Network.of(model)


def test_texts_are_read_as_one_batch_and_a_long_passage_gives_way_to_the_question():
    words = toys.tokenizer(["where", "is", "it", "here", "there"])
    text = joined("where is it", "here " * 50, words, 12)
    assert text.startswith("where is it // here here")
    given = RagInputs.from_texts([text, "here"], [2.0, 2.0], words, 12)
    assert given.input_ids.shape[0] == 2 and given.input_ids.shape[1] <= 12
    assert given.log_priors.exp().tolist() == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("evil", ["a </s> b", "a ＜/s＞ b", "</s></s>", "<</s>", "x <s> y <pad>"])
def test_no_passage_spells_a_control_token(evil):
    words = toys.tokenizer(["a", "b", "where", "//"])
    text = joined("where", evil, words, 40)
    within = words(text)["input_ids"][1:-1]
    assert not {toys.PAD, toys.END, toys.START} & set(within)
    assert joined("a", "b < /s", words, 40) == "a // b < /s"
