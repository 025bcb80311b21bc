"""Question encoder and generator learn together from pairs of question and answer.

As Lewis et al. 2020, section 2.4: no one says which passage answers; the loss is -log p(y|x) with
the passages summed out, so that those which make the answer likely are drawn nearer. The passage
encoder and the index of its vectors stay as they are. Knows no store: a function gives passages."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from rag_app.errors import RagAppError
from rag_app.research.rag import (
    RagGenerator,
    joined,
    log_priors,
    sequence_log_prob,
    token_log_prob,
)
from rag_app.retrieval.embedding import minilm_folder
from rag_app.retrieval.sentence_models import TextEncoder
from rag_app.text.jsonl import UnfitFile, read_lines, text_of

if TYPE_CHECKING:
    from torch import Tensor


# Questions with the answers to learn, read from JSONL.

_EXAMPLE = '{"question": "…", "answer": "…"}'


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """A question and the answer to learn."""

    question: str
    answer: str


def read_pairs(path: Path) -> list[TrainingPair]:
    """Lines of {"question": …, "answer": …}. Raises UnfitFile naming the first bad line."""
    pairs = read_lines(
        path,
        lambda row, _: TrainingPair(text_of(row["question"]), text_of(row["answer"])),
        _EXAMPLE,
    )
    if not pairs:
        raise UnfitFile(f"There is no question in {path}.")
    return pairs


QUESTION_ENCODER, GENERATOR = "question_encoder", "generator"  # folders of what was learnt


class LearningError(RagAppError):
    """Training cannot begin or go on; the message says what to change."""

    code = "learning"


@dataclass(frozen=True, slots=True)
class RetrievedCandidate:
    """A passage that was found, and its vector in the index, which does not change."""

    text: str
    vector: Sequence[float]


# (vector of a question, k) -> the k passages of the largest inner product, best first.
Search = Callable[[Sequence[float], int], Sequence[RetrievedCandidate]]


def passage_search(passages: Sequence[tuple[str, Sequence[float]]]) -> Search:
    """Search by inner product over all passages, (text, vector) each, exactly. Raises
    LearningError."""
    if not passages:
        raise LearningError("The library holds no passages yet. Add documents first.")
    index = np.asarray([vector for _, vector in passages], np.float32)

    def search(vector: Sequence[float], k: int) -> list[RetrievedCandidate]:
        order = np.argsort(-(index @ np.asarray(vector, np.float32)), kind="stable")[:k]
        return [RetrievedCandidate(passages[i][0], index[i].tolist()) for i in order]

    return search


@dataclass(frozen=True, slots=True)
class LearningConfig:
    """How to learn. The rates are the usual ones for models that have been trained before."""

    marginal: Literal["sequence", "token"] = "sequence"  # RAG-Sequence or RAG-Token
    top_k: int = 5
    steps: int = 1_000
    batch: int = 8  # pairs a step; the generator reads batch * top_k texts
    generator_rate: float = 3e-5
    encoder_rate: float = 1e-5
    warmup: float = 0.05  # share of the steps in which the rates rise; then they fall to nothing
    clip: float = 1.0  # largest norm of the gradient, of each model
    score_scale: float = 1.0  # times the inner product; above 1 for vectors of unit length
    longest_input: int = 300  # tokens of question and passage
    longest_answer: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.top_k, self.steps, self.batch) < 1:
            raise ValueError("top_k, steps and batch must be at least 1")


@dataclass(frozen=True, slots=True)
class LearningStep:
    """Told after every step, from 1 on; `loss` is the mean of -log p(y|x) over the batch."""

    step: int
    steps: int
    loss: float


@dataclass(frozen=True, slots=True)
class Learner:
    """What learns: both are changed in place."""

    encoder: TextEncoder
    generator: RagGenerator

    @classmethod
    def load(cls, question_encoder: Path, generator: Path) -> Learner:
        """Both from local folders. Raises ModelUnavailable."""
        encoder = TextEncoder(question_encoder)
        encoder.load()
        return cls(encoder, RagGenerator.load(generator))


def learn(
    learner: Learner,
    pairs: Sequence[TrainingPair],
    search: Search,
    config: LearningConfig = LearningConfig(),
) -> Iterator[LearningStep]:
    """Train step by step, as long as it is iterated over; then both models are in eval mode.

    A pair's loss is -log p(y|x) over the top k passages of the question encoder as it is by then.
    The same seed on the same machine gives the same models. Raises LearningError."""
    import torch

    if not pairs:
        raise LearningError("There is nothing to learn from: no questions with answers.")
    torch.manual_seed(config.seed)
    models = torch.nn.ModuleList([learner.encoder.load()[1], learner.generator.model])
    rates = zip(models, (config.encoder_rate, config.generator_rate), strict=True)
    optimizer = torch.optim.AdamW([{"params": m.parameters(), "lr": rate} for m, rate in rates])
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: _rate(n, config))
    try:
        models.train()
        for step, batch in zip(range(1, config.steps + 1), _batches(pairs, config), strict=False):
            optimizer.zero_grad()
            loss = _loss(learner, search, config, batch)
            loss.backward()  # type: ignore[no-untyped-call]
            norms = [torch.nn.utils.clip_grad_norm_(m.parameters(), config.clip) for m in models]
            if not all(map(torch.isfinite, [loss, *norms])):
                raise LearningError(
                    f"The loss is not a number any more at step {step}; lower the learning rates."
                )
            optimizer.step()
            schedule.step()
            yield LearningStep(step, config.steps, loss.item())
    finally:
        models.eval()


def _rate(step: int, config: LearningConfig) -> float:
    warm = max(1, round(config.warmup * config.steps))
    return min((step + 1) / warm, (config.steps - step) / max(1, config.steps - warm), 1.0)


def _batches(pairs: Sequence[TrainingPair], config: LearningConfig) -> Iterator[list[TrainingPair]]:
    """Shuffled anew each time all have been seen."""
    chance = random.Random(config.seed)
    endless = (pair for _ in count() for pair in chance.sample(pairs, len(pairs)))
    while True:
        yield list(islice(endless, config.batch))


def _loss(
    learner: Learner, search: Search, config: LearningConfig, batch: Sequence[TrainingPair]
) -> Tensor:
    """Mean of -log p(y|x) over a batch."""
    import torch

    generator = learner.generator
    vectors = learner.encoder.vectors([pair.question for pair in batch])
    found = [search(vector.tolist(), config.top_k) for vector in vectors.detach()]
    k = min(map(len, found))
    if not k:
        raise LearningError("No passages are found for some question; add documents first.")
    kept = vectors.new_tensor([[c.vector for c in row[:k]] for row in found])
    priors = log_priors(torch.einsum("bd,bkd->bk", vectors, kept) * config.score_scale)
    texts = [
        joined(pair.question, candidate.text, generator.tokenizer, config.longest_input)
        for pair, row in zip(batch, found, strict=True)
        for candidate in row[:k]
    ]
    answers = [pair.answer for pair in batch]
    log_probs = generator.answer_log_probs(
        texts, answers, config.longest_input, config.longest_answer
    )
    marginal = sequence_log_prob if config.marginal == "sequence" else token_log_prob
    return -marginal(log_probs.to(priors.device), priors).mean()


def check_new(folder: Path) -> None:
    """Raises LearningError if `save` would not write to `folder`: ask before training."""
    if folder.exists():
        raise LearningError(f"{folder.name} is there already; give the name of a new folder.")


def save(learner: Learner, folder: Path) -> None:
    """Write both models to a new folder, whole or not at all. Raises LearningError.

    `folder / QUESTION_ENCODER` goes with the passage encoder that there was."""
    check_new(folder)
    begun = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(begun, ignore_errors=True)
    for part in learner.encoder.load():
        part.save_pretrained(begun / QUESTION_ENCODER)
    learner.generator.save(begun / GENERATOR)
    begun.rename(folder)


# `rag-app train`: the question encoder and a seq2seq generator learn from answers, over a library.
#
# The passages and their vectors stay fixed; what was learnt lies in a folder of its own and is used
# by two settings.


def train(
    passages: Sequence[tuple[str, Sequence[float]]],
    pairs: Path,
    generator: Path,
    out: Path,
    config: LearningConfig,
) -> Iterator[LearningStep]:
    """Learn step by step over passages, (text, vector) each; `out` is written when all are done.

    Raises LearningError, ModelUnavailable, UnfitFile."""
    check_new(out)
    asked = read_pairs(pairs)
    search = passage_search(passages)
    learner = Learner.load(minilm_folder(), generator)
    yield from learn(learner, asked, search, config)
    save(learner, out)
