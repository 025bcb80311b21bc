from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from rag_app.errors import ModelUnavailable, RagAppError
from rag_app.research.end_to_end import (
    GENERATOR,
    QUESTION_ENCODER,
    Learner,
    LearningConfig,
    LearningError,
    Search,
    TrainingPair,
    check_new,
    learn,
    passage_search,
    read_pairs,
    save,
)
from rag_app.research.rag import RagGenerator, plain_join
from rag_app.research.rag_decoding import Decoding, decode_sequence, decode_token
from rag_app.retrieval.sentence_models import TextEncoder
from rag_app.text.jsonl import UnfitFile
from tests import toy_models as toys

# A world of ten gates. The generator has no word for any place, so it cannot learn the colours by
# heart: it has to be given the right passage, and only the question encoder can see which that is.
PLACES = [f"place{number}" for number in range(10)]
COLOURS = [f"colour{number}" for number in (3, 7, 0, 9, 5, 1, 8, 2, 6, 4)]
ASKED = (
    "what colour is the gate of {}",
    "tell me how {} painted its gate",
    "{} has a gate of which colour",
    "name the colour that {} chose",
    "at {} which colour do you see",
    "the gate in {} looks how",
    "do you know which colour {} likes",
    "which gate has {}",
)
FOUND = 8  # passages of the ten
TOY = LearningConfig(
    top_k=FOUND,
    steps=160,
    generator_rate=3e-4,
    encoder_rate=5e-3,
    score_scale=0.3,
    longest_input=40,
)


def passages(colours: Sequence[str] = COLOURS) -> list[str]:
    return [f"the gate of {at} is {what}" for at, what in zip(PLACES, colours, strict=True)]


def pairs(held_out: bool) -> list[TrainingPair]:
    """Every place is asked for in six ways; in the other two, which differ, it is held out."""
    return [
        TrainingPair(asked.format(place), COLOURS[at])
        for at, place in enumerate(PLACES)
        for way, asked in enumerate(ASKED)
        if ((at + way) % 4 == 0) == held_out
    ]


def words(places: bool) -> list[str]:
    texts = [*ASKED, *passages(), "//"]
    every = sorted({word for text in texts for word in text.split()} - {"{}"})
    return [word for word in every if places or word not in PLACES]


@dataclass
class World:
    folder: Path
    vectors: list[list[float]]

    def learner(self) -> Learner:
        question = self.folder / "question"
        return Learner.load(question, self.folder / "generator")

    def search(self, colours: Sequence[str] = COLOURS) -> Search:
        return passage_search(list(zip(passages(colours), self.vectors, strict=False)))


def write_encoder(folder: Path, seed: int) -> TextEncoder:
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    tokenizer = toys.tokenizer(words(places=True))
    config = toys.bert_config(len(tokenizer), 32, initializer_range=0.3)
    return TextEncoder(toys.save(folder, BertModel(BertConfig(**config)), tokenizer))


def write_reader(folder: Path) -> None:
    """A generator that can read, as BART can before it is taught any facts."""
    tokenizer = toys.tokenizer(words(places=False))
    generator = RagGenerator(toys.bart(len(tokenizer), 0, 32, 0.05), tokenizer)
    optimizer = torch.optim.AdamW(generator.model.parameters(), lr=5e-3)
    chance = random.Random(0)
    for _ in range(150):
        seen = [chance.choice(COLOURS) for _ in range(16)]
        texts = [
            plain_join(chance.choice(ASKED).format("x"), f"the gate of x is {what}")
            for what in seen
        ]
        loss = -generator.answer_log_probs(texts, seen, 40, 5).sum(dim=2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    generator.save(folder)


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> World:
    folder = tmp_path_factory.mktemp("world")
    write_encoder(folder / "question", seed=1)
    write_reader(folder / "generator")
    vectors = write_encoder(folder / "passage", seed=2).embed(passages())
    apart = vectors - vectors.mean(dim=0)  # a random BERT says much the same of everything
    return World(folder, (3 * torch.nn.functional.normalize(apart)).tolist())


def recall_and_exact_match(
    learner: Learner, search: Search, asked: Sequence[TrainingPair], config: LearningConfig = TOY
) -> tuple[float, float]:
    decode = decode_sequence if config.marginal == "sequence" else decode_token
    first = right = 0
    for pair in asked:
        vector = learner.encoder.embed([pair.question])[0].numpy()
        found = search(vector.tolist(), FOUND)
        scores = [config.score_scale * float(np.dot(vector, c.vector)) for c in found]
        inputs = learner.generator.inputs(pair.question, [c.text for c in found], scores, 40)
        answer = decode(
            learner.generator.model, inputs, Decoding(4), tokenizer=learner.generator.tokenizer
        )
        first += any(f"of {place} is" in found[0].text for place in pair.question.split())
        right += answer.text == pair.answer
    return first / len(asked), right / len(asked)


def test_who_learns_from_answers_alone_finds_and_answers_what_was_held_out(world, tmp_path):
    held_out, learner = pairs(held_out=True), world.learner()
    recall, exact = recall_and_exact_match(learner, world.search(), held_out)
    assert recall <= 0.3 and exact <= 0.3  # by chance: 0.1
    losses = [step.loss for step in learn(learner, pairs(False), world.search(), TOY)]
    assert len(losses) == TOY.steps and np.mean(losses[-10:]) < 0.3 * np.mean(losses[:10])
    recall, exact = recall_and_exact_match(learner, world.search(), held_out)
    assert recall >= 0.8 and exact >= 0.8

    save(learner, tmp_path / "learnt")
    again = Learner.load(
        tmp_path / "learnt" / QUESTION_ENCODER,
        tmp_path / "learnt" / GENERATOR,
    )
    assert recall_and_exact_match(again, world.search(), held_out) == (recall, exact)

    # Section 4.5 of the paper: when the passages change, so do the answers, without training.
    repainted = dict(zip(COLOURS, COLOURS[3:] + COLOURS[:3], strict=True))
    asked = [TrainingPair(pair.question, repainted[pair.answer]) for pair in held_out]
    search = world.search([repainted[colour] for colour in COLOURS])
    assert recall_and_exact_match(learner, search, asked)[1] >= 0.8


@pytest.mark.parametrize("marginal", ["sequence", "token"])
def test_the_loss_is_that_of_transformers_with_the_same_gradient(world, marginal):
    import transformers

    kind = {
        "sequence": transformers.RagSequenceForGeneration,
        "token": transformers.RagTokenForGeneration,
    }[marginal]
    learner, pair = world.learner(), pairs(False)[0]
    config = replace(TOY, marginal=marginal, batch=1, steps=1, clip=1e9)
    (step,) = learn(learner, [pair], world.search(), config)
    ours = learner.encoder.load()[1].embeddings.word_embeddings.weight.grad.clone()

    learner = world.learner()
    vector = learner.encoder.vectors([pair.question])
    found = world.search()(vector[0].tolist(), FOUND)
    scores = vector @ torch.tensor([c.vector for c in found]).T * config.score_scale
    words_of = learner.generator.tokenizer
    read = words_of(
        [plain_join(pair.question, c.text) for c in found], padding=True, return_tensors="pt"
    )
    answer = words_of(pair.answer, return_tensors="pt")["input_ids"]
    encoder = transformers.BertModel(transformers.BertConfig(**toys.bert_config(9)))
    theirs = kind(question_encoder=encoder, generator=learner.generator.model).eval()
    loss = theirs(
        context_input_ids=read["input_ids"],
        context_attention_mask=read["attention_mask"],
        doc_scores=scores,
        labels=torch.cat([torch.tensor([[toys.START]]), answer], dim=1),
        n_docs=FOUND,
    ).loss
    assert step.loss == pytest.approx(loss.item(), abs=1e-4)
    loss.sum().backward()
    expected = learner.encoder.load()[1].embeddings.word_embeddings.weight.grad
    assert torch.allclose(ours, expected, atol=1e-4) and float(ours.abs().max()) > 1e-3


@pytest.mark.parametrize("marginal", ["sequence", "token"])
def test_the_same_seed_learns_the_same(world, marginal):
    config = replace(TOY, marginal=marginal, steps=4)
    losses = [
        [step.loss for step in learn(world.learner(), pairs(False), world.search(), config)]
        for config in (config, config, replace(config, seed=1))
    ]
    assert losses[0] == losses[1] != losses[2]


def test_learning_can_be_left_at_any_step(world):
    learner = world.learner()
    steps = learn(learner, pairs(False), world.search(), TOY)
    assert [step.step for step in islice(steps, 2)] == [1, 2]
    steps.close()
    assert not learner.encoder.load()[1].training and not learner.generator.model.training


def test_a_causal_generator_learns_too(world, tmp_path):
    tokenizer = toys.tokenizer(words(places=False))
    toys.save(tmp_path / "causal", toys.gpt2(len(tokenizer)), tokenizer)
    learner = Learner.load(world.folder / "question", tmp_path / "causal")
    config = replace(TOY, steps=30, generator_rate=1e-2)
    losses = [step.loss for step in learn(learner, pairs(False), world.search(), config)]
    assert losses[-1] < 0.7 * losses[0]


def test_a_loss_that_is_no_number_is_an_error_and_not_a_model(world):
    learner = world.learner()
    with torch.no_grad():
        learner.generator.model.lm_head.weight.fill_(torch.nan)
    with pytest.raises(LearningError, match="lower the learning rates"):
        list(learn(learner, pairs(False), world.search(), TOY))


def test_nothing_to_learn_from_and_nothing_found_say_so(world):
    with pytest.raises(LearningError, match="nothing to learn from"):
        list(learn(world.learner(), [], world.search(), TOY))
    with pytest.raises(LearningError, match="add documents first"):
        list(learn(world.learner(), pairs(False), lambda vector, k: [], TOY))


def test_what_was_learnt_replaces_nothing(world, tmp_path):
    check_new(tmp_path / "new")
    with pytest.raises(LearningError, match="there already"):
        save(world.learner(), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_generator_that_is_not_there_says_so(world):
    with pytest.raises(ModelUnavailable, match="no folder"):
        Learner.load(world.folder / "question", world.folder / "facebook" / "bart")


@pytest.mark.parametrize("options", [{"top_k": 0}, {"steps": 0}, {"batch": 0}])
def test_a_plan_of_nothing_is_refused(options):
    with pytest.raises(ValueError, match="at least 1"):
        LearningConfig(**options)


def test_pairs_are_read_line_by_line(tmp_path):
    path = tmp_path / "pairs.jsonl"
    rows = [{"question": " Who? ", "answer": "Ada"}, {"question": "Was\u2028wo?", "answer": "Köln"}]
    path.write_text(
        "\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n", "utf-8"
    )
    assert read_pairs(path) == [TrainingPair("Who?", "Ada"), TrainingPair("Was\u2028wo?", "Köln")]


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "7", '{"question": "Who?"}', '{"question": "Who?", "answer": 3}',
     '{"question": " ", "answer": "Ada"}'],
)  # fmt: skip
def test_a_bad_line_is_named_in_one_sentence(tmp_path, line):
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"question": "Who?", "answer": "Ada"}\n' + line, "utf-8")
    with pytest.raises(RagAppError, match=r"Line 2 of .*pairs\.jsonl") as raised:
        read_pairs(path)
    assert "\n" not in str(raised.value)


def test_a_file_of_no_pairs_says_so(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n")
    with pytest.raises(UnfitFile, match="no question in"):
        read_pairs(path)


def test_the_search_in_memory_is_by_inner_product():
    search = passage_search([("short", [1.0, 0.0]), ("long", [3.0, 3.0])])
    best, other = search([1.0, 0.1], 2)
    assert (best.text, other.text) == ("long", "short")
    assert math.isclose(best.vector[0], 3.0) and len(search([1.0, 0.0], 1)) == 1
