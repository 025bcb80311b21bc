"""The data that makes the reader: spans, noise, made unanswerables, windows, rounds."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training_toys import BRIDGE, RIVER, example, tiny_source, write_set, write_tokenizer

from training import negatives, noise, unanswerable
from training.data import DataError, Example, Span, check, load, share_of
from training.features import Encoder
from training.mixture import Mixture, NoiseRates, SetPlan
from training.rounds import BATCH_TOKENS, examples_of, inference_batches, round_batches
from training.text import holds, normalise, sentences


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@st.composite
def examples(draw: st.DrawFn) -> Example:
    words = st.text("abcdefghijklmnopqrstuvwxyzÄéß.,'0123456789", min_size=1, max_size=14)
    context = " ".join(draw(st.lists(words, min_size=1, max_size=60)))
    start = draw(st.integers(0, len(context) - 1))
    end = draw(st.integers(start + 1, len(context)))
    return Example("x", "What is it called?", context, (Span(context[start:end], start),))


def test_a_set_is_read_as_it_was_written(tmp_path):
    write_set(tmp_path, "tiny", [BRIDGE])
    assert load(tmp_path / "tiny.jsonl.gz") == [BRIDGE]


def test_a_span_that_is_not_in_its_context_is_refused(tmp_path):
    write_set(tmp_path, "torn", [replace(BRIDGE, answers=(Span("1345", 3),))])
    with pytest.raises(DataError, match="1345"):
        load(tmp_path / "torn.jsonl.gz")


def test_the_shares_of_successive_rounds_walk_through_the_whole_set():
    rows = [replace(BRIDGE, id=str(number)) for number in range(10)]
    plan = SetPlan("tiny", 0.5)
    seen = {row.id for number in (0, 1) for row in share_of(plan, rows, number, seed=1)}
    assert len(seen) == 10


def test_one_context_gives_no_more_questions_than_its_cap():
    rows = [replace(BRIDGE, id=str(number)) for number in range(10)]
    assert len(share_of(SetPlan("tiny", 1.0, per_context=3), rows, 0, seed=1)) == 3


@given(examples(), st.integers(0, 1000))
@settings(max_examples=200)
def test_offsets_survive_every_kind_of_noise(row, seed):
    everything = NoiseRates(1.0, 1.0, 1.0, 1.0, 1.0)
    rough = noise.roughen(row, everything, ["Annual Report"], random.Random(seed))
    check(rough)
    old, new = row.answers[0].text, rough.answers[0].text
    assert new.replace("-\n", "").replace("\n", " ") == old.replace("-\n", "")


@given(examples(), st.integers(0, 1000))
def test_wrapping_changes_nothing_but_line_ends(row, seed):
    rough = noise.wrapped(row, random.Random(seed))
    assert rough.context.replace("-\n", "").replace("\n", " ") == row.context


def test_a_plain_question_has_no_capitals_and_no_mark():
    assert noise.plain_question("Where is Pisa?") == "where is pisa"
    assert noise.plain_question("?") == "?"


@given(st.integers(0, 500))
def test_a_misspelt_question_is_one_slip_away(seed):
    said = "where does the river reach the coast"
    slip = noise.misspell(said, random.Random(seed))
    assert abs(len(slip) - len(said)) <= 1
    assert sum(a != b for a, b in zip(said.split(), slip.split(), strict=True)) <= 1


@given(st.integers(0, 200))
def test_a_swapped_question_has_no_answer_and_keeps_its_passage(seed):
    twin = unanswerable.swapped(BRIDGE, [], random.Random(seed))
    if twin is not None:
        assert twin.answers == ()
        assert twin.context == BRIDGE.context
        assert twin.question != BRIDGE.question
        assert "1345" not in twin.question


def test_a_number_is_swapped_for_another_of_its_length():
    row = example("What did the flood of 1966 destroy?", "many paintings and books")
    twins = (unanswerable.swapped(row, [], random.Random(seed)) for seed in range(20))
    assert {twin.question for twin in twins if twin} <= {
        "What did the flood of 1345 destroy?",
        "What did the flood of 1854 destroy?",
    }


def test_a_turned_question_says_the_opposite():
    twins = [unanswerable.turned(BRIDGE, random.Random(seed)) for seed in range(20)]
    asked = {twin.question for twin in twins if twin}
    assert "When was the last bridge at Florence finished?" in asked
    assert "When wasn't the first bridge at Florence finished?" in asked


def test_a_passage_without_its_answer_does_not_hold_it():
    twin = unanswerable.without_answer(BRIDGE)
    assert twin is not None
    assert not holds(twin.context, ["1345"])
    assert "1966" in twin.context


def test_a_passage_that_is_all_answer_has_no_twin():
    assert unanswerable.without_answer(example("When?", "1345", "Built in 1345.")) is None


def test_a_gap_elsewhere_leaves_the_answer_in_place():
    twin = unanswerable.without_another(BRIDGE, random.Random(1))
    assert twin is not None
    check(twin)
    assert len(twin.context) < len(BRIDGE.context)
    assert twin.answers[0].text == "1345"


def bag(texts):
    vectors = np.zeros((len(texts), 64), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in normalise(text).split():
            vectors[row, sum(map(ord, word)) % 64] += 1
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def test_mined_negatives_are_near_and_never_hold_the_answer():
    pool = [
        RIVER,
        "The bridge at Pisa was finished by the Medici after the flood of the Arno.",
        "An old bridge near Florence was finished in 1345, they say.",
        "Bananas grow in warm lands.",
    ]
    found = negatives.mine([BRIDGE], negatives.open_pool(pool, bag(pool)), bag)
    assert found["river"][0] == 1
    assert not {0, 2} & set(found["river"])
    twin = negatives.negative(BRIDGE, found, pool, 0)
    assert twin is not None
    assert twin.answers == ()
    assert not holds(twin.context, ["1345"])


def test_a_question_without_neighbours_gives_no_negative():
    assert negatives.negative(BRIDGE, {}, [RIVER], 0) is None


def test_mining_is_done_once(tmp_path, monkeypatch):
    mixture = Mixture(sets=(SetPlan("tiny", 1.0, mined=True),))
    sets = {"tiny": [BRIDGE]}
    pool = [RIVER, "Another bridge at Pisa was finished first."]
    monkeypatch.setattr(negatives, "embed", bag)
    first = negatives.mined(mixture, sets, pool, tmp_path)
    monkeypatch.setattr(negatives, "embed", lambda texts: pytest.fail("searched again"))
    assert negatives.mined(mixture, sets, pool, tmp_path) == first == {"river": [1]}


def test_a_window_points_at_its_answer(tokenizer):
    encoder = Encoder(tokenizer, Mixture())
    window, whole = encoder.labelled([BRIDGE], "seed")[0], next(encoder.windows([BRIDGE]))
    assert list(window.ids) == list(whole.ids)
    start, end = window.start - window.first, window.end - window.first
    assert RIVER[whole.offsets[start][0] : whole.offsets[end][1]] == "1345"


def test_long_passages_become_overlapping_windows_and_nothing_is_lost(tokenizer):
    mixture = replace(Mixture(), max_tokens=40, stride=10)
    windows = list(Encoder(tokenizer, mixture).windows([BRIDGE]))
    assert len(windows) > 1
    assert all(len(window.ids) <= 40 for window in windows)
    covered = {offset for window in windows for offset in window.offsets}
    whole = next(Encoder(tokenizer, Mixture()).windows([BRIDGE]))
    assert covered == set(whole.offsets)


def test_an_empty_passage_is_one_window_without_places(tokenizer):
    windows = list(Encoder(tokenizer, Mixture()).windows([Example("e", "Who?", "", ())]))
    assert [window.offsets for window in windows] == [[]]


def test_a_round_is_the_same_every_time_and_another_round_differs(tokenizer):
    source = tiny_source()
    encoder = Encoder(tokenizer, source.mixture)
    again = round_batches(tiny_source(), Encoder(tokenizer, source.mixture), 1)
    assert round_batches(source, encoder, 1) == again
    assert round_batches(source, encoder, 2) != again


def test_a_round_holds_every_kind_of_made_example_with_exact_spans():
    rows = examples_of(tiny_source(), 0)
    kinds = {row.id.partition("#")[2] for row in rows}
    assert kinds == {"", "near", "cut", "swap", "turn", "gap"}
    for row in rows:
        check(row)
        assert bool(row.answers) == (row.id.partition("#")[2] in ("", "gap"))


def test_batches_keep_to_their_size_and_lose_no_window(tokenizer):
    source = tiny_source()
    encoder = Encoder(tokenizer, source.mixture)
    windows = list(encoder.windows(examples_of(source, 0)))
    found = inference_batches(windows)
    assert sum(len(batch.windows) for batch in found) == len(windows)
    assert all(len(batch.windows) * batch.width <= BATCH_TOKENS for batch in found)
    assert all(len(w.ids) <= batch.width for batch in found for w in batch.windows)


def test_sentences_cover_a_text_without_gaps():
    cuts = sentences(RIVER)
    assert "".join(RIVER[start:end] for start, end in cuts) == RIVER
    assert len(cuts) == 5
