"""Questions and passages through two different encoders (DPR: Karpukhin et al. 2020, section 3.1).

Each comes from a local folder in the format of transformers, as safetensors, with no code of its
own. DPR ranks by inner product and Chroma's collection by cosine, so with INNER_PRODUCT vectors
get one more dimension: a passage p becomes (p/m, sqrt(1 - |p|²/m²)) of unit length and a question
q becomes (q/|q|, 0), whose cosine is q·p / (|q| m): the same order for every question, as long as
no passage is longer than m. One that is longer is taken for one of length m."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rag_app.errors import ModelUnavailable
from rag_app.retrieval.embedding import Embedder, batches

if TYPE_CHECKING:
    from torch import Tensor


_DPR = ("DPRQuestionEncoder", "DPRContextEncoder")  # AutoModel takes both for the first
_READ = ("*.safetensors", "config.json", "tokenizer*.json", "vocab.*", "special_tokens_map.json")


class Similarity(StrEnum):
    """What makes a passage near to a question."""

    COSINE = "cosine"
    INNER_PRODUCT = "inner_product"


@dataclass(frozen=True, slots=True)
class EncoderSource:
    """Where an encoder lies, and how its output becomes one vector.

    `pooling`: the first token's vector, or the mean over the tokens; DPR models bring their own.
    `prefix` is put before every text ("query: ")."""

    folder: Path
    pooling: Literal["cls", "mean"] = "cls"
    prefix: str = ""
    longest: int = 256  # tokens; what comes after is not read


class TextEncoder:
    """One encoder, loaded when it is first needed. Thread-safe, except for training."""

    def __init__(self, source: EncoderSource) -> None:
        self.source = source
        self._loading = threading.Lock()
        self._computing = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def load(self) -> tuple[Any, Any]:
        """(tokenizer, network). Raises ModelUnavailable."""
        with self._loading:
            if self._loaded is None:
                try:
                    self._loaded = _load(self.source.folder)
                except (ImportError, OSError, RuntimeError, ValueError, KeyError) as error:
                    raise ModelUnavailable(
                        f"The encoder in {self.source.folder.name} could not be loaded: {error}"
                    ) from error
            return self._loaded

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """One row for each text, (n, d); gradients flow if they are on."""
        tokenizer, network = self.load()
        read = tokenizer(
            [self.source.prefix + text for text in texts],
            padding=True,
            truncation=True,
            max_length=min(self.source.longest, tokenizer.model_max_length),
            return_tensors="pt",
        ).to(network.device)
        mask: Tensor = read["attention_mask"]
        out = network(input_ids=read["input_ids"], attention_mask=mask)
        if type(network).__name__ in _DPR:
            return _float(out.pooler_output)
        hidden = _float(out.last_hidden_state)
        if self.source.pooling == "cls":
            return hidden[:, 0]
        weights = mask[..., None].to(hidden.dtype)
        return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)

    def embed(self, texts: Sequence[str]) -> Tensor:
        """The same without gradients, in batches; a text has the same vector in any batch."""
        import torch

        tokenizer, _ = self.load()
        with self._computing:  # a tokenizer must not be entered twice
            lengths = [
                min(len(ids), self.source.longest)
                for ids in tokenizer(list(texts), truncation=False, verbose=False)["input_ids"]
            ]
        rows: list[Tensor] = [torch.empty(0)] * len(texts)
        for batch, _length in batches(lengths):
            with self._computing, torch.inference_mode():
                vectors = self.vectors([texts[i] for i in batch])
            for place, vector in zip(batch, vectors, strict=True):
                rows[place] = vector
        return torch.stack(rows)

    @cached_property
    def fingerprint(self) -> str:
        """Of the files and how they are used. Raises ModelUnavailable."""
        folder = self.source.folder
        if not any(folder.glob("*.safetensors")):
            raise ModelUnavailable(
                f"There are no weights in {folder.name}: a file *.safetensors is needed."
            )
        digest = hashlib.sha256(
            repr((self.source.pooling, self.source.prefix, self.source.longest)).encode()
        )
        for path in sorted({path for pattern in _READ for path in folder.glob(pattern)}):
            with path.open("rb") as file:
                digest.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()


def _float(vectors: Tensor) -> Tensor:
    return vectors.float()


def _load(folder: Path) -> tuple[Any, Any]:
    import transformers
    from transformers.utils import logging

    local = {"local_files_only": True, "trust_remote_code": False}
    logging.disable_progress_bar()
    if not folder.is_dir():  # else its name would be looked up on the hub
        raise FileNotFoundError(f"there is no folder {folder}")
    config = transformers.AutoConfig.from_pretrained(folder, **local)
    named = next(iter(config.architectures or []), "")
    model = getattr(transformers, named) if named in _DPR else transformers.AutoModel
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **local)
    options = local if model is transformers.AutoModel else {"local_files_only": True}
    network, told = model.from_pretrained(
        folder, use_safetensors=True, output_loading_info=True, **options
    )
    missing = [name for name in told["missing_keys"] if "pooler" not in name]  # not used
    if missing:
        raise ValueError(f"weights are missing, {sorted(missing)[0]} among them")
    return tokenizer, network.eval()


class TwoEncoders(Embedder):
    """`Embeddings` of which questions and passages have encoders of their own.

    `norm_bound` is the m above; None: sqrt(d), which no vector out of a LayerNorm with weights of
    at most 1 exceeds. The fingerprint is that of the passages' side alone, since they are what is
    kept: after training, a new question encoder finds in the index that is there."""

    def __init__(
        self,
        question: EncoderSource,
        passage: EncoderSource,
        similarity: Similarity = Similarity.INNER_PRODUCT,
        norm_bound: float | None = None,
    ) -> None:
        self.question, self.passage = TextEncoder(question), TextEncoder(passage)
        self._similarity = similarity
        self._norm_bound = norm_bound
        self.clipped = 0  # passages so far that were longer than the bound

    @property
    def fingerprint(self) -> str:
        """Of the passages' vectors. Raises ModelUnavailable."""
        options = f"{self.passage.fingerprint} {self._similarity} {self._norm_bound}"
        return f"two-encoders-{hashlib.sha256(options.encode()).hexdigest()[:12]}"

    def warm(self) -> None:
        """Load both models now. Raises ModelUnavailable, also if they do not fit together."""
        sizes = [encoder.embed(["size"]).shape[1] for encoder in (self.question, self.passage)]
        if sizes[0] != sizes[1]:
            raise ModelUnavailable(
                f"The question encoder gives vectors of {sizes[0]} numbers and the passage encoder "
                f"of {sizes[1]}; they were not made for each other."
            )

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector of unit length a text, in the order of `texts`."""
        import torch

        if not texts:
            return []
        vectors = self.passage.embed(texts)
        norms = vectors.norm(dim=1, keepdim=True).clamp(min=1e-12)
        if self._similarity == Similarity.INNER_PRODUCT:
            bound = self._bound(vectors.shape[1])
            self.clipped += int((norms > bound * (1 + 1e-6)).sum())
            shrunk = vectors / torch.maximum(norms, torch.full_like(norms, bound))
            rest = (1 - shrunk.square().sum(dim=1, keepdim=True)).clamp(min=0).sqrt()
            vectors, norms = torch.cat([shrunk, rest], dim=1), torch.ones_like(norms)
        found: list[list[float]] = (vectors / norms).tolist()
        return found

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, of unit length."""
        return self.embed_question(text)[0]

    def embed_question(self, text: str) -> tuple[list[float], float]:
        """(the vector of a question, what a cosine is to be multiplied by to be the score).

        The score is the one that p(z|x) is the softmax of: q·p with INNER_PRODUCT."""
        return self.as_query(self.question.embed([text])[0].tolist())

    def as_query(self, vector: Sequence[float]) -> tuple[list[float], float]:
        """The same of a vector that the question encoder made, as while it is trained."""
        norm = max(math.hypot(*vector), 1e-12)
        unit = [number / norm for number in vector]
        if self._similarity == Similarity.COSINE:
            return unit, 1.0
        return [*unit, 0.0], norm * self._bound(len(vector))

    def as_passage(self, vector: Sequence[float]) -> list[float]:
        """What the passage encoder made, from what `embed_documents` made of it.

        With COSINE its length is not known any more, and 1."""
        if self._similarity == Similarity.COSINE:
            return list(vector)
        bound = self._bound(len(vector) - 1)
        return [number * bound for number in vector[:-1]]

    def _bound(self, size: int) -> float:
        return self._norm_bound or math.sqrt(size)


# Questions through an encoder that learnt from answers; passages as before.
#
# The index stays as it is: only the question's side was trained (Lewis et al. 2020, section 2.4).


class TunedQuestions(Embedder):
    """An embedder whose questions go another way. Both sides are of unit length."""

    def __init__(self, passages: Embedder, folder: Path) -> None:
        self._passages = passages
        self.english = passages.english
        self._questions = TextEncoder(EncoderSource(folder, pooling="mean"))

    @property
    def fingerprint(self) -> str:
        """That of the passages: their vectors are the index."""
        return self._passages.fingerprint

    def warm(self) -> None:
        """Load both models now. Raises ModelUnavailable."""
        self._passages.warm()
        self._questions.load()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Passages, and every text that is compared with passages."""
        return self._passages.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question. Raises ModelUnavailable."""
        import torch

        vector = torch.nn.functional.normalize(self._questions.embed([text])[0], dim=0)
        found: list[float] = vector.tolist()
        return found

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """As the passages' model counts them."""
        return self._passages.count_tokens(texts)
