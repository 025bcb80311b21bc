from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch

from rag_app.research.rag import (
    IGNORED,
    EncodedDocuments,
    Network,
    RagAnswer,
    RagInputs,
    sequence_log_prob,
    sequence_shares,
    token_log_prob,
    token_shares,
)
from rag_app.research.rag_decoding import (
    BeamLimits,
    Decoding,
    decode_sequence,
    decode_token,
    search,
    sequence_answers,
)
from tests import toy_models as toys

WORDS, LONGEST = 5, 3  # the vocabulary, the end among it; tokens of an answer
MAKERS = {
    "bart": toys.bart,
    "t5": toys.t5,
    "gpt2": toys.gpt2,
    "llama": toys.llama,
}
MODELS = {name: make(WORDS, seed=3) for name, make in MAKERS.items()}
WIDE = Decoding(max_new_tokens=LONGEST, beams=WORDS**LONGEST)

every_model = pytest.mark.parametrize("name", MODELS)


def inputs(seed: int = 1, documents: int = 3, words: int = WORDS) -> RagInputs:
    generator = torch.Generator().manual_seed(seed)
    mask = torch.tensor([[1] * (6 - cut) + [0] * cut for cut in range(documents)])
    ids = torch.randint(3, words, mask.shape, generator=generator) * mask
    return RagInputs.from_scores(ids, mask, torch.randn(documents, generator=generator))


def outcomes() -> list[tuple[int, ...]]:
    """All that can come out: texts that end, and texts of LONGEST tokens that do not."""
    going_on = [word for word in range(WORDS) if word != toys.END]
    ended = [
        (*begun, toys.END)
        for size in range(LONGEST)
        for begun in itertools.product(going_on, repeat=size)
    ]
    return ended + list(itertools.product(going_on, repeat=LONGEST))


def scored(name: str, texts: list[tuple[int, ...]]) -> torch.Tensor:
    """log p(y_i|x,z,y_<i) of every text, (texts, k, t)."""
    longest = max(map(len, texts))
    padded = [text + (IGNORED,) * (longest - len(text)) for text in texts]
    with torch.no_grad():
        return EncodedDocuments(Network.of(MODELS[name]), inputs()).log_probs(torch.tensor(padded))


@every_model
@pytest.mark.parametrize("probability", [sequence_log_prob, token_log_prob])
def test_the_probabilities_of_all_that_can_come_out_add_up_to_one(name, probability):
    total = probability(scored(name, outcomes()), inputs().log_priors).exp().sum()
    assert float(total) == pytest.approx(1.0, abs=1e-4)


@every_model
def test_thorough_decoding_with_all_candidates_finds_the_best_of_all(name):
    log_probs = scored(name, outcomes())
    totals = sequence_log_prob(log_probs, inputs().log_priors)
    order = totals.argsort(descending=True).tolist()
    answers = sequence_answers(MODELS[name], inputs(), WIDE)
    assert len(answers) == len(outcomes())
    best = answers[0]
    assert best.token_ids == outcomes()[order[0]]
    assert best.cut == (toys.END not in best.token_ids)
    assert [a.log_prob for a in answers] == pytest.approx(totals[order].tolist(), abs=1e-3)
    shares = sequence_shares(log_probs[order[0]], inputs().log_priors)
    assert best.shares == pytest.approx(shares.tolist(), abs=1e-3)


@every_model
def test_wide_beams_find_the_best_of_all_for_rag_token(name):
    log_probs = scored(name, outcomes())
    totals = token_log_prob(log_probs, inputs().log_priors)
    best = int(totals.argmax())
    answer = decode_token(MODELS[name], inputs(), WIDE)
    assert answer.token_ids == outcomes()[best]
    assert answer.log_prob == pytest.approx(float(totals[best]), abs=1e-3)
    parts = log_probs[best][:, : len(answer.token_ids)]
    by_token = token_shares(parts, inputs().log_priors)
    assert torch.allclose(torch.tensor(answer.token_shares), by_token.T, atol=1e-3)
    assert answer.shares == pytest.approx(by_token.mean(dim=1).tolist(), abs=1e-3)


@every_model
def test_greedy_rag_token_takes_the_likeliest_token_of_the_mixture_at_each_step(name):
    written: tuple[int, ...] = ()
    while len(written) < 6 and toys.END not in written:
        longer = [(*written, word) for word in range(WORDS)]
        totals = token_log_prob(scored(name, longer), inputs().log_priors)
        written = longer[int(totals.argmax())]
    answer = decode_token(MODELS[name], inputs(), Decoding(max_new_tokens=6))
    assert answer.token_ids == written
    assert answer.cut == (toys.END not in written)


@pytest.mark.parametrize("seed", range(4))
def test_greedy_rag_token_is_that_of_transformers(seed):
    from transformers import BertConfig, BertModel, RagTokenForGeneration

    model, given = toys.bart(17, seed=seed), inputs(seed, documents=4, words=17)
    encoder = BertModel(BertConfig(**toys.bert_config(17)))
    theirs = (
        RagTokenForGeneration(question_encoder=encoder, generator=model)
        .eval()
        .generate(
            context_input_ids=given.input_ids,
            context_attention_mask=given.attention_mask,
            doc_scores=given.log_priors[None],
            n_docs=4,
            max_new_tokens=7,
            num_beams=1,
            decoder_start_token_id=toys.START,
            eos_token_id=toys.END,
            pad_token_id=toys.PAD,
            bos_token_id=toys.START,
        )
    )
    ours = decode_token(model, given, Decoding(max_new_tokens=7)).token_ids
    assert theirs[0, 1 : len(ours) + 1].tolist() == list(ours)


@pytest.mark.parametrize("seed", range(12))
def test_thorough_decoding_is_that_of_transformers_where_no_document_is_padded(seed):
    from transformers import BertConfig, BertModel, RagSequenceForGeneration

    model, pad = toys.bart(17, seed=seed), 16  # beam search there takes padding of 0 for none
    model.config.pad_token_id = pad
    model.final_logits_bias[0, pad] = -1e4
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, pad, (4, 6), generator=generator)
    given = RagInputs.from_scores(ids, torch.ones_like(ids), torch.randn(4, generator=generator))
    encoder = BertModel(BertConfig(**toys.bert_config(17)))
    theirs = RagSequenceForGeneration(question_encoder=encoder, generator=model).eval()
    theirs.config.n_docs = 4  # the argument of generate does not reach its scoring
    (best,) = theirs.generate(
        context_input_ids=ids,
        context_attention_mask=given.attention_mask,
        doc_scores=given.log_priors[None],
        n_docs=4,
        num_beams=3,
        max_new_tokens=6,
        length_penalty=0.0,
        pad_token_id=pad,
    ).tolist()
    answers = sequence_answers(model, given, Decoding(6, beams=3))
    assert decode_sequence(model, given, Decoding(6, beams=3)) == answers[0]
    totals = {answer.token_ids: answer.log_prob for answer in answers}
    if (toys.END,) in totals:  # for the end alone the prior is lost there (rag.py)
        with torch.no_grad():
            end = EncodedDocuments(Network.of(model), given).log_probs(torch.tensor([[toys.END]]))
        totals[toys.END,] = float(end.sum(dim=-1).logsumexp(dim=-1))
    assert [token for token in best[1:] if token != pad] == list(max(totals, key=totals.get))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("width", [1, 3])
def test_what_is_kept_between_two_tokens_changes_nothing(make, width):
    model, given = make(31, seed=8), inputs(2, documents=4, words=31)
    with torch.no_grad():
        documents = EncodedDocuments(Network.of(model), given)
        for priors in (documents.priors, torch.zeros(1)):
            found, _ = search(documents, priors, BeamLimits(8, width, lambda: False))
            for group, texts in enumerate(found):
                for text in texts:
                    anew = documents.log_probs(torch.tensor([text.tokens]))[0]
                    beside = anew[group : group + 1] if len(found) > 1 else anew
                    assert torch.allclose(torch.tensor(text.parts).T, beside, atol=1e-3)
                    expected = token_log_prob(beside, priors)
                    assert text.log_prob == pytest.approx(float(expected), abs=1e-3)


def test_nothing_of_the_models_generation_settings_is_applied_and_they_are_left_alone():
    given, options = inputs(2, words=11), Decoding(5, beams=2)
    plain, told = toys.bart(11, seed=6), toys.bart(11, seed=6)
    for name, value in {
        "forced_bos_token_id": 7,
        "no_repeat_ngram_size": 1,
        "min_length": 5,
        "length_penalty": 3.0,
        "suppress_tokens": [4],
        "repetition_penalty": 4.0,
        "num_beams": 6,
    }.items():
        setattr(told.generation_config, name, value)
    for decode in (decode_token, decode_sequence):
        assert decode(told, given, options) == decode(plain, given, options)
    assert told.generation_config.num_beams == 6


def test_texts_that_end_at_different_times_leave_the_others_alone():
    model, given = toys.gpt2(9, seed=1), inputs(4, documents=3, words=9)
    limits = BeamLimits(7, 2, lambda: False)
    with torch.no_grad():
        network = Network.of(model)
        together, _ = search(EncodedDocuments(network, given), torch.zeros(1), limits)
        for document, texts in enumerate(together):
            one = RagInputs.from_scores(
                given.input_ids[document : document + 1],
                given.attention_mask[document : document + 1],
                torch.zeros(1),
            )
            (alone,), _ = search(EncodedDocuments(network, one), torch.zeros(1), limits)
            assert [text.tokens for text in alone] == [text.tokens for text in texts]


def test_fast_decoding_counts_a_candidate_only_where_it_was_found():
    model, given = toys.bart(WORDS, seed=2), inputs(2)
    fast = sequence_answers(model, given, Decoding(max_new_tokens=4, beams=2, thorough=False))
    thorough = sequence_answers(model, given, Decoding(max_new_tokens=4, beams=2))
    by_tokens = {answer.token_ids: answer for answer in thorough}
    assert {answer.token_ids for answer in fast} == set(by_tokens)
    assert any(0.0 in answer.shares for answer in fast)
    for answer in fast:
        assert answer.log_prob <= by_tokens[answer.token_ids].log_prob + 1e-4
        assert sum(answer.shares) == pytest.approx(1.0, abs=1e-4)


def test_fast_is_thorough_where_every_document_finds_everything():
    fast = sequence_answers(MODELS["t5"], inputs(), replace(WIDE, thorough=False))
    thorough = sequence_answers(MODELS["t5"], inputs(), WIDE)
    assert [a.log_prob for a in fast] == pytest.approx([a.log_prob for a in thorough], abs=1e-3)
    assert fast[0].token_ids == thorough[0].token_ids


def test_sequence_and_token_agree_on_a_single_document():
    model, given = toys.llama(29, seed=4), inputs(3, documents=1, words=29)
    options = Decoding(max_new_tokens=6, beams=3)
    token, sequence = decode_token(model, given, options), decode_sequence(model, given, options)
    assert token.token_ids == sequence.token_ids
    assert token.log_prob == pytest.approx(sequence.log_prob, abs=1e-3)
    assert token.shares == sequence.shares == (1.0,)


def test_more_beams_are_never_worse_on_these_models():
    for name, model in MODELS.items():
        greedy = decode_token(model, inputs(), Decoding(LONGEST))
        wide = decode_token(model, inputs(), WIDE)
        assert wide.log_prob >= greedy.log_prob - 1e-4, name


class Stop:
    """Says stop the n-th time it is asked."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


def endless(vocabulary: int = 11) -> object:
    """A model that never ends a text."""
    model = toys.bart(vocabulary, seed=6)
    model.final_logits_bias[0, toys.END] = -1e4
    return model


def test_a_stop_is_heeded_at_the_next_token():
    answer = decode_token(endless(), inputs(words=11), cancelled=Stop(3))
    assert len(answer.token_ids) == 3
    assert answer.cut and answer.cancelled


@pytest.mark.parametrize("after", [0, 1, 4])
def test_a_search_for_candidates_can_be_stopped_too(after):
    answer = decode_sequence(
        endless(), inputs(words=11), Decoding(6, beams=2), cancelled=Stop(after)
    )
    assert answer.cancelled and answer.cut and len(answer.token_ids) == after
    assert sum(answer.shares) == pytest.approx(1.0, abs=1e-4)


def test_the_scoring_of_candidates_can_be_stopped_and_leaves_what_the_search_found():
    options = Decoding(3, beams=2)
    stopped = sequence_answers(endless(), inputs(words=11), options, cancelled=Stop(3))
    fast = sequence_answers(endless(), inputs(words=11), replace(options, thorough=False))
    assert [a.log_prob for a in stopped] == pytest.approx([a.log_prob for a in fast])
    assert all(a.cancelled for a in stopped) and not any(a.cancelled for a in fast)


def test_an_answer_that_has_no_room_says_that_it_was_cut():
    answer = decode_token(endless(), inputs(words=11), Decoding(max_new_tokens=5))
    assert len(answer.token_ids) == 5
    assert answer.cut and not answer.cancelled
    model = endless()
    model.final_logits_bias[0, toys.END] = 1e4
    ended = decode_token(model, inputs(words=11), Decoding(max_new_tokens=5))
    assert ended.token_ids == (toys.END,) and not ended.cut


def test_tokens_stream_as_text_and_add_up_to_the_answer():
    words = toys.tokenizer([f"word{number}" for number in range(7)])
    pieces: list[tuple[int, str]] = []
    answer = decode_token(
        endless(),
        inputs(words=11),
        Decoding(max_new_tokens=5),
        tokenizer=words,
        on_token=lambda token, text: pieces.append((token, text)),
    )
    assert tuple(token for token, _ in pieces) == answer.token_ids
    assert "".join(text for _, text in pieces) == answer.text
    assert answer.text.startswith("word") or not answer.text


class Bytes:
    """A tokenizer whose tokens are bytes."""

    def decode(self, tokens, **_):
        return bytes(tokens).decode("utf-8", "replace")


def test_half_a_character_waits_for_its_other_half():
    from rag_app.research.rag_decoding import _TokenStream

    pieces: list[str] = []
    stream = _TokenStream(Bytes(), lambda _, text: pieces.append(text))
    for byte in "aß€".encode():
        stream.push(byte)
    assert pieces == ["a", "", "ß", "", "", "€"]


def test_only_one_beam_can_be_streamed():
    with pytest.raises(ValueError, match="one beam"):
        decode_token(endless(), inputs(), Decoding(beams=2), on_token=lambda token, text: None)


@pytest.mark.parametrize("options", [{"max_new_tokens": 0}, {"beams": 0}])
def test_a_search_of_nothing_is_refused(options):
    with pytest.raises(ValueError, match="at least 1"):
        Decoding(**options)


def with_a_broken_document(model: object) -> object:
    """The model says "not a number" beside documents that begin with token 4."""
    real = model.get_encoder().forward

    def broken(input_ids, **options):
        out = real(input_ids=input_ids, **options)
        out.last_hidden_state[input_ids[:, 0] == 4] = torch.nan
        return out

    model.get_encoder().forward = broken
    return model


@pytest.mark.parametrize("decode", [decode_token, decode_sequence])
def test_a_document_that_yields_no_numbers_has_no_share(decode):
    given = inputs(words=11)
    given.input_ids[:, 0] = torch.tensor([3, 4, 5])
    answer = decode(with_a_broken_document(toys.bart(11, seed=2)), given, Decoding(4, beams=2))
    assert answer.shares[1] == 0.0 and sum(answer.shares) == pytest.approx(1.0, abs=1e-4)
    assert answer.token_ids and answer.log_prob > -float("inf")


@pytest.mark.parametrize("decode", [decode_token, decode_sequence])
def test_a_model_that_yields_no_numbers_at_all_gives_an_empty_answer_that_is_cut(decode):
    given = inputs(words=11)
    given.input_ids[:, 0] = 4
    answer: RagAnswer = decode(with_a_broken_document(toys.bart(11)), given, Decoding(4, beams=2))
    assert answer.token_ids == () and answer.cut and answer.log_prob == -float("inf")
    assert answer.shares == pytest.approx(given.log_priors.exp().tolist(), abs=1e-4)
