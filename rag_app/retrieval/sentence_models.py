"""Other embedding models than the built-in one: folders of sentence-transformers, and encoders of
questions that learnt from answers (`rag-app train`).

Weights in safetensors only, and no code of the model's own is run. Questions and passages are read
with the prefixes that the model's own configuration names (its `prompts`), or that models of its
family are known to want. With an encoder of questions, passages and the index of their vectors stay
as they are: only the question's side was trained (Lewis et al. 2020, section 2.4); the mean over
its tokens is the vector."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_app.environment import limit_torch
from rag_app.errors import ModelUnavailable
from rag_app.models.download import is_hub_id, local_folder
from rag_app.retrieval.bert import LoadedOnce
from rag_app.retrieval.embedding import Embedder, SentenceEmbedder, encode

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor
# Vectors of models that keep all texts close together, spread out.
#
# Models trained with a low temperature, as E5, give almost any two texts a cosine of 0.7 and
# more; they rank well, but a cosine says little by itself, and here it is added to other evidence
# and held against thresholds. What all vectors have in common is taken from each (Mu and
# Viswanath 2018), so that texts which have nothing to do with each other have a cosine about
# nought. Pure.

TEXTS = (
    "The bridge was closed for repairs until the end of autumn.",
    "Add the flour slowly and stir until there are no lumps.",
    "Profits fell in the third quarter because of higher costs.",
    "The patient was given two tablets a day after meals.",
    "Der Verein trifft sich jeden zweiten Dienstag im Rathaus.",
    "Das Gerät darf nicht ins Wasser getaucht werden.",
    "La bibliothèque est ouverte le samedi matin.",
    "Le moteur doit refroidir avant toute réparation.",
    "El contrato se renueva cada año salvo aviso previo.",
    "Los pájaros vuelven al valle en primavera.",
    "Il treno per la costa parte dal binario quattro.",
    "A chuva estragou quase toda a colheita de milho.",
    "De kinderen speelden de hele middag in de tuin.",
    "Firma szuka księgowego z doświadczeniem.",
    "Řeka se po bouřce vylila z břehů.",
    "Skolan börjar klockan åtta på vardagar.",
    "Öğrenciler sınav sonuçlarını yarın öğrenecek.",
    "Музей был основан в прошлом веке.",
    "Ціни на зерно знову зросли.",
    "Το πλοίο καθυστέρησε λόγω του ανέμου.",
    "تم توقيع الاتفاق في العاصمة أمس.",
    "הישיבה נדחתה לשבוע הבא.",
    "बैठक अगले सोमवार को होगी।",
    "নদীর ধারে একটি পুরনো মন্দির আছে।",
    "会议将在下个月举行。",
    "请在使用前仔细阅读说明书。",
    "山の上から海が見える。",
    "新しい駅は来年完成する予定です。",
    "새로운 법은 내년부터 시행됩니다.",
    "โรงเรียนปิดเพราะน้ำท่วม",
    "Giá vé đã tăng từ đầu năm nay.",
    "Mkutano ulifanyika katika ukumbi mkubwa.",
)
"""Texts that have nothing in common."""

_NOTHING = 1e-6  # a vector as short as that has no direction
_LONGEST_QUESTION = 256  # tokens; what comes after is not read


def in_common(vectors: Sequence[Sequence[float]]) -> list[float]:
    """What the vectors of `TEXTS` have in common."""
    common: list[float] = np.mean(np.asarray(vectors), axis=0).tolist()
    return common


def apart(vectors: Sequence[Sequence[float]], common: Sequence[float]) -> list[list[float]]:
    """The vectors without what they have in common, of unit length."""
    made = np.asarray(vectors)
    rest = made - np.asarray(common)
    lengths = np.linalg.norm(rest, axis=1, keepdims=True)
    spread: list[list[float]] = np.where(
        lengths > _NOTHING, rest / np.maximum(lengths, _NOTHING), made
    ).tolist()
    return spread


_LONGEST = 512  # tokens; passages are smaller, and memory grows with the square
_OURS = "sentence_transformers."
_TOKENIZERS = (
    *("tokenizer.json", "vocab.txt", "vocab.json"),
    *("tokenizer.model", "spiece.model", "sentencepiece.bpe.model"),
)
# The E5 models say on their model cards what they want to read, and not in their configuration
# (Wang et al. 2022, 2024). Those that follow instructions want something else.
_E5, _INSTRUCTED = re.compile(r"(?:^|[-_/])e5[-_](?:small|base|large)"), "instruct"
_OF_E5 = ("query: ", "passage: ")
_SPREAD = "spread 1"  # the way in which the vectors of E5 models are spread out
_PICKLED = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
_BLOCK, _BLOCKS = 1 << 16, 256  # of a large file, these many blocks tell it from any other


def is_e5(name: str) -> bool:
    """Whether a name is one of the E5 models, whose vectors lie close together."""
    return _E5.search(name.lower()) is not None


def prefixes_of(name: str) -> tuple[str, str]:
    """What a model wants to read before a question, and before a passage, by its family's name."""
    return _OF_E5 if is_e5(name) and _INSTRUCTED not in name.lower() else ("", "")


def embedder_of(choice: str, models: Path, threads: int, set_so: bool = False) -> Embedder:
    """The embedder of a folder, or of a model that was downloaded, by its name on the hub.

    `set_so`: a setting says so, not a person on the page or the command line.
    Raises ModelUnavailable for a folder that cannot be used."""
    embedder = FolderEmbedder(local_folder(choice, models), threads)
    if not embedder.folder.is_dir() and is_hub_id(choice):
        embedder.mend = f"Fetch it with: rag-app download {choice}"
    elif not set_so:
        embedder.mend = "Choose another one: under Settings, or with rag-app languages."
    embedder.check()
    return embedder


class FolderEmbedder(SentenceEmbedder["SentenceTransformer"]):
    """A model of sentence-transformers in a folder."""

    mend = "Check RAG_APP_EMBEDDING."

    def __init__(self, folder: Path, threads: int = 0) -> None:
        super().__init__(threads)
        self.folder = folder
        self._common: dict[bool, list[float]] = {}  # of all questions, and of all passages

    @cached_property
    def fingerprint(self) -> str:
        """Of all files that make the vectors. Raises ModelUnavailable."""
        digest = hashlib.sha256()
        try:
            for path in sorted(self.folder.rglob("*")):
                if path.is_file() and path.suffix in (".safetensors", ".json", ".txt", ".model"):
                    digest.update(str(path.relative_to(self.folder)).encode())
                    digest.update(_told_apart(path))
            digest.update(f"{self._known} {_SPREAD if self._is_e5 else ''}".encode())
        except OSError as error:
            raise self._unusable(f"it cannot be read ({error})") from error
        return f"folder-{digest.hexdigest()[:16]}"

    def check(self) -> None:
        """Raises ModelUnavailable, in one sentence, if the folder cannot be used."""
        folder = self.folder
        if not folder.is_dir():
            raise self._unusable("there is no such folder")
        modules = self._json("modules.json")
        if not isinstance(modules, list) or not modules:
            raise self._unusable("it is no model of sentence-transformers (modules.json)")
        for module in modules:
            kind = module.get("type", "") if isinstance(module, dict) else ""
            if not str(kind).startswith(_OURS):
                raise self._unusable(f"it wants to run code of its own ({kind})")
            self._check_weights(folder / str(module.get("path", "")))
        if not any(folder.rglob("*.safetensors")):
            raise self._unusable("it has no weights in safetensors")
        if not any(path.name in _TOKENIZERS for path in folder.rglob("*")):
            raise self._unusable("it has no tokenizer")
        self.fingerprint  # noqa: B018 - read now, so that a folder that cannot be read shows here

    def _check_weights(self, part: Path) -> None:
        if not part.resolve().is_relative_to(self.folder.resolve()):
            raise self._unusable("a part of it lies elsewhere")
        if any(part.glob("*.safetensors")):
            return
        if any(path.suffix in _PICKLED for path in part.glob("*")):
            raise self._unusable("it has weights that are not safetensors")

    def load(self, threads: int) -> SentenceTransformer:
        """The model, checked and tried."""
        from safetensors import SafetensorError
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        self.check()
        limit_torch(threads)
        logging.disable_progress_bar()
        try:
            model: Any = SentenceTransformer(
                str(self.folder),
                device="cpu",
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
        except SafetensorError as error:
            raise ValueError("its weights are damaged") from error
        if getattr(model.tokenizer, "pad_token_id", None) is None:
            raise ValueError("its tokenizer has no token for padding")
        made: SentenceTransformer = model.eval()
        encode(made, made.tokenizer(["A trial."])["input_ids"], 16)
        return made

    def encode(
        self, model: SentenceTransformer, tokens: Sequence[list[int]], length: int
    ) -> list[list[float]]:
        """Vectors of texts padded to `length` tokens, by whatever the model is made of."""
        return encode(model, tokens, length)

    def prefixes(self, model: SentenceTransformer) -> tuple[str, str]:
        """(of questions, of passages): the first that is not empty of those meant for a side."""
        given: dict[str, str] = model.prompts
        passage = (given.get(name) for name in ("document", "passage", "corpus"))
        named = given.get("query") or "", next(filter(None, passage), "")
        return named if any(named) else self._known

    @cached_property
    def _known(self) -> tuple[str, str]:
        """The prefixes of a model whose configuration names none, by the name of its family."""
        named = self._json("config_sentence_transformers.json")
        prompts = named.get("prompts") if isinstance(named, dict) else None
        if isinstance(prompts, dict) and any(prompts.values()):
            return "", ""
        return prefixes_of(self._family)

    @cached_property
    def _family(self) -> str:
        config = self._json("config.json")
        made_of = config.get("_name_or_path") if isinstance(config, dict) else ""
        return f"{self.folder.name}/{made_of}".lower()

    @cached_property
    def _is_e5(self) -> bool:
        return is_e5(self._family)

    def _embed(self, texts: list[str], question: bool) -> list[list[float]]:
        made = super()._embed(texts, question)
        if not (made and self._is_e5):
            return made
        if question not in self._common:
            self._common[question] = in_common(super()._embed(list(TEXTS), question))
        return apart(made, self._common[question])

    def longest(self, model: SentenceTransformer) -> int:
        """As the model says, up to a limit of ours."""
        return min(model.max_seq_length or _LONGEST, _LONGEST)

    def _json(self, name: str) -> Any:
        try:
            return json.loads((self.folder / name).read_text("utf-8"))
        except (OSError, ValueError):
            return None

    def _unusable(self, why: str) -> ModelUnavailable:
        return ModelUnavailable(
            f"The embedding model “{self.folder.name}” cannot be used: {why}. {self.mend}"
        )


def _told_apart(path: Path) -> bytes:
    """A digest of a file; of a large one, of its length and of blocks all over it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= _BLOCK * _BLOCKS:
            return hashlib.file_digest(file, "sha256").digest()
        digest = hashlib.sha256(str(size).encode())
        for number in range(_BLOCKS):
            file.seek(number * (size - _BLOCK) // (_BLOCKS - 1))
            digest.update(file.read(_BLOCK))
        return digest.digest()


class TextEncoder:
    """One encoder, loaded when it is first needed. Thread-safe, except for training.

    `load` gives its tokenizer and its network. Raises ModelUnavailable."""

    def __init__(self, folder: Path) -> None:
        self.load = LoadedOnce(
            f"The encoder in {folder.name}",
            lambda: _load(folder),
            lambda what, error: f"{what} could not be loaded: {error}",
        )
        self._computing = threading.Lock()

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """One row for each text, (n, d); gradients flow if they are on."""
        tokenizer, network = self.load()
        read = tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=min(_LONGEST_QUESTION, tokenizer.model_max_length),
            return_tensors="pt",
        ).to(network.device)
        mask: Tensor = read["attention_mask"]
        out = network(input_ids=read["input_ids"], attention_mask=mask)
        hidden: Tensor = out.last_hidden_state.float()
        weights = mask[..., None].to(hidden.dtype)
        return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)

    def embed(self, texts: Sequence[str]) -> Tensor:
        """The same without gradients, by one thread at a time: a tokenizer is not entered twice."""
        import torch

        with self._computing, torch.inference_mode():
            return self.vectors(texts)


def _load(folder: Path) -> tuple[Any, Any]:
    import transformers
    from transformers.utils import logging

    local = {"local_files_only": True, "trust_remote_code": False}
    logging.disable_progress_bar()
    if not folder.is_dir():  # else its name would be looked up on the hub
        raise FileNotFoundError(f"there is no folder {folder}")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **local)
    network, told = transformers.AutoModel.from_pretrained(
        folder, use_safetensors=True, output_loading_info=True, **local
    )
    missing = [name for name in told["missing_keys"] if "pooler" not in name]  # not used
    if missing:
        raise ValueError(f"weights are missing, {sorted(missing)[0]} among them")
    return tokenizer, network.eval()


class TunedQuestions(Embedder):
    """An embedder whose questions go another way. Both sides are of unit length."""

    def __init__(self, passages: Embedder, folder: Path, threads: int = 0) -> None:
        self._passages, self._threads = passages, threads
        self.english = passages.english
        self._questions = TextEncoder(folder)

    @property
    def fingerprint(self) -> str:
        """That of the passages: their vectors are the index."""
        return self._passages.fingerprint

    @property
    def trouble(self) -> str:
        """That of the passages."""
        return self._passages.trouble

    def warm(self) -> None:
        """Load both models now. Raises ModelUnavailable."""
        self._passages.warm()
        limit_torch(self._threads)
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
