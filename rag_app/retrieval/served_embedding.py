"""Embedding models on a server that speaks as OpenAI's does (`POST …/embeddings`): vLLM,
text-embeddings-inference, llama.cpp, Ollama, OpenAI itself. Written `openai:MODEL@URL`.

What runs under a name cannot be seen from outside. So how many numbers a vector has, and the vector
of one sentence, are written down when a model is used first; a server that gives others is refused,
for its vectors would say nothing beside those that are there. The address may change.

A server that is away is tried again, and after that costs no question more than it has to: for a
while it is not asked at all, and words alone find. Knows nothing of documents."""

from __future__ import annotations

import hashlib
import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from rag_app.addresses import is_loopback, model_at
from rag_app.errors import ModelAway, ModelUnavailable, SettingsError
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.sentence_models import TEXTS, apart, in_common, is_e5, prefixes_of
from rag_app.settings import Settings
from rag_app.storage.preferences import write_json

if TYPE_CHECKING:
    from httpx import Client, Response

SERVED = "openai:"
"""How the choice of such a model begins."""
_OPENAI = "https://api.openai.com/v1"
_PINS = "served.json"  # in the folder of models
_BATCH = 32  # texts of a request: what text-embeddings-inference takes unless it is told otherwise
_AT_ONCE = 4  # requests of one document; servers put them into one batch
_TRIES, _FIRST_PAUSE, _LONGEST_PAUSE = 4, 0.25, 8.0  # a pause is twice the one before it
_CONNECTING = 3.0  # seconds
_QUESTION = 4.0  # seconds in all for a question; then the words answer
_REST = 15.0  # seconds in which a server that was away is not asked again for a question
_CHARACTERS = 2_000  # of a text; what comes after is not embedded
_SHORTEST = 200  # characters of a text that is not cut further
_MOST_BYTES = 64 << 20  # of an answer
_AGAIN = (408, 425, 429, 500, 502, 503, 504, 529)
_TOO_LONG = (400, 413, 422)  # what servers say of more, or longer, texts than they take
_SAME = 0.98  # cosine: of one text by one model in other arithmetic it is 0.999 and more
_PROBE = TEXTS[0]
_NO_KEY = "none"  # servers on one's own machine want a key and do not look at it

Vectors = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Pin:
    """What is known of a model: how many numbers its vectors have, and one of them."""

    dimensions: int
    probe: list[float]


def served(choice: str, models: Path, settings: Settings, set_so: bool) -> ServedEmbedder:
    """The embedder of `openai:MODEL@URL`; its server is asked only if it never was before.

    The key is that of the setting, and goes nowhere else. Raises ModelUnavailable."""
    try:
        model, url = model_at(choice.removeprefix(SERVED))
    except SettingsError as error:
        raise ModelUnavailable(f"The embedding model cannot be used: {error}") from error
    if not model:
        raise ModelUnavailable(f"“{choice}” names no model. Write openai:MODEL@URL.")
    secret = settings.embedding_key if set_so else None
    key = secret.get_secret_value().strip() if secret else ""
    made = ServedEmbedder(model, url or _OPENAI, models / _PINS, key, settings.embedding_seconds)
    made.check()
    return made


def server_of(choice: str) -> str:
    """The server that texts are sent to where such a model is chosen; empty: none is."""
    return model_at(choice.removeprefix(SERVED))[1] or _OPENAI if choice.startswith(SERVED) else ""


class ServedEmbedder(Embedder):
    """A model on a server. Thread-safe."""

    def __init__(
        self, model: str, url: str, pins: Path, key: str = "", seconds: float = 30
    ) -> None:
        self.model, self.url = model, url
        self._pins, self._key, self._seconds = pins, key, seconds
        self._pin: Pin | None = None
        self._checking = threading.Lock()
        self._checked = False  # whether the server was seen to give the vectors that are pinned
        self._common: dict[bool, list[float]] = {}  # of all questions, and of all passages
        self._trouble, self._rests_until = "", 0.0

    @property
    def fingerprint(self) -> str:
        """Of the model's name and the number of its dimensions. Raises ModelUnavailable."""
        spread = "spread" if is_e5(self.model) else ""
        told = f"{self.model} {prefixes_of(self.model)} {spread}"
        digest = hashlib.sha256(told.encode()).hexdigest()
        return f"openai-{digest[:12]}-{self._known().dimensions}"

    @property
    def trouble(self) -> str:
        """One sentence while the server cannot be asked."""
        return self._trouble

    def check(self) -> None:
        """Know how many dimensions there are, by asking if that is not known yet. Raises
        ModelUnavailable."""
        self._known()

    def warm(self) -> None:
        """See that the server gives the vectors that are pinned. Raises ModelUnavailable."""
        with self._noted():
            self._verify(time.monotonic() + self._seconds)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, in the order of `texts`. Raises ModelUnavailable."""
        if not texts:
            return []
        with self._noted():
            return self._embed(texts, False, self._seconds)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, soon or not at all. Raises ModelUnavailable."""
        if self._trouble and time.monotonic() < self._rests_until:
            raise ModelAway(self._trouble)
        with self._noted():
            return self._embed([text], True, _QUESTION)[0]

    @contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except ModelUnavailable as error:
            self._trouble, self._rests_until = str(error), time.monotonic() + _REST
            raise
        self._trouble = ""

    # What it is

    def _known(self) -> Pin:
        with self._checking:
            if self._pin is None:
                self._pin = self._read_pin() or self._learn()
            return self._pin

    def _read_pin(self) -> Pin | None:
        try:
            kept = json.loads(self._pins.read_text("utf-8"))[self.model]
            return Pin(int(kept["dimensions"]), [float(one) for one in kept["probe"]])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _learn(self) -> Pin:
        probe = self._probed(time.monotonic() + self._seconds)
        pin = Pin(len(probe), [round(float(one), 6) for one in probe])
        try:
            kept = json.loads(self._pins.read_text("utf-8"))
        except (OSError, ValueError):
            kept = {}
        try:
            self._pins.parent.mkdir(parents=True, exist_ok=True)
            write_json(self._pins, {**kept, self.model: asdict(pin)})
        except OSError as error:
            raise self._unusable(f"what it is cannot be written down ({error})") from error
        return pin

    def _verify(self, until: float) -> None:
        """See once that the server gives what is pinned. Raises ModelUnavailable."""
        pin = self._known()
        if self._checked:
            return
        probe = self._probed(until)
        self._check_dimensions(len(probe), pin)
        if float(np.dot(probe, pin.probe)) < _SAME:
            raise self._unusable(
                "the server gives other vectors under this name than before. Serve the model that "
                "it was, or give the other one a name of its own"
            )
        self._checked = True

    def _check_dimensions(self, given: int, pin: Pin) -> None:
        if given != pin.dimensions:
            raise self._unusable(
                f"its vectors have {pin.dimensions} numbers, and the server gives {given}. Serve "
                "the model that it was, or give the other one a name of its own"
            )

    def _probed(self, until: float) -> Vectors:
        made: Vectors = self._asked([_PROBE], until)[0]
        return made

    # Texts to vectors

    def _embed(self, texts: list[str], question: bool, seconds: float) -> list[list[float]]:
        until = time.monotonic() + seconds
        self._verify(until)
        made = self._batched(texts, question, until)
        if not is_e5(self.model):
            return made
        if question not in self._common:
            self._common[question] = in_common(self._batched(list(TEXTS), question, until))
        return apart(made, self._common[question])

    def _batched(self, texts: Sequence[str], question: bool, until: float) -> list[list[float]]:
        """Every batch of a document has its time; all that a question needs has one."""
        before = prefixes_of(self.model)[0 if question else 1]
        whole = [before + text[:_CHARACTERS] for text in texts]
        parts = [whole[first : first + _BATCH] for first in range(0, len(whole), _BATCH)]

        def asked(part: list[str]) -> list[list[float]]:
            made = self._asked(part, until if question else time.monotonic() + self._seconds)
            self._check_dimensions(made.shape[1], self._known())
            vectors: list[list[float]] = made.tolist()
            return vectors

        if len(parts) == 1:
            return asked(parts[0])
        with ThreadPoolExecutor(min(_AT_ONCE, len(parts)), "rag-app-served") as pool:
            return [vector for made in pool.map(asked, parts) for vector in made]

    def _asked(self, texts: list[str], until: float) -> Vectors:
        """Vectors of unit length, tried again until a moment. Raises ModelUnavailable."""
        pause = _FIRST_PAUSE
        for attempt in range(1, _TRIES + 1):
            try:
                return self._once(texts, until)
            except _TooLong as error:
                return self._in_parts(texts, until, error)
            except _Later as error:
                wait = max(error.after, pause * random.uniform(0.75, 1.25))
                if attempt == _TRIES or time.monotonic() + wait > until:
                    raise self._away(str(error)) from error
                time.sleep(wait)
                pause = min(2 * pause, _LONGEST_PAUSE)
        raise AssertionError("the last try returns or raises")

    def _in_parts(self, texts: list[str], until: float, error: _TooLong) -> Vectors:
        """The same for more, or longer, texts than the server takes: half of them, half of one."""
        if len(texts) > 1:
            half = len(texts) // 2
            return np.vstack([self._asked(texts[:half], until), self._asked(texts[half:], until)])
        if len(texts[0]) <= _SHORTEST or time.monotonic() > until:
            raise self._away(str(error)) from error
        return self._asked([texts[0][: len(texts[0]) // 2]], until)

    def _once(self, texts: list[str], until: float) -> Vectors:
        """Raises _Later, _TooLong or ModelUnavailable."""
        import httpx

        asked = {"model": self.model, "input": texts, "encoding_format": "float"}
        left = max(until - time.monotonic(), 0.05)
        limits = httpx.Timeout(left, connect=min(left, _CONNECTING))
        try:
            with self._client.stream("POST", "/embeddings", json=asked, timeout=limits) as reply:
                self._look_at(reply)
                body = _whole(reply, until)
        except httpx.TimeoutException as error:
            raise _Later("does not answer in time") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _Later("does not answer") from error
        return self._vectors(body, len(texts))

    def _look_at(self, reply: Response) -> None:
        status = reply.status_code
        if status in _AGAIN:
            raise _Later(f"is too busy or fails (status {status})", _seconds_to_wait(reply))
        if status in _TOO_LONG:
            raise _TooLong(f"refuses what it is sent (status {status})")
        if status in (401, 403):
            raise self._away("does not accept the key (RAG_APP_EMBEDDING_KEY)")
        if status != 200:
            raise self._away(f"has no such model, or is none for embeddings (status {status})")

    def _vectors(self, body: bytes, wanted: int) -> Vectors:
        try:
            rows = sorted(json.loads(body)["data"], key=lambda one: int(one["index"]))
            made = np.array([row["embedding"] for row in rows], dtype=np.float64)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise self._away("sent what are no embeddings") from error
        if made.ndim != 2 or len(made) != wanted or not made.shape[1]:
            raise self._away("sent another number of vectors than texts it was given")
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        if not np.isfinite(made).all() or not lengths.all():
            raise self._unusable("the server gave a vector with something in it that is no number")
        unit: Vectors = made / lengths
        return unit

    @cached_property
    def _client(self) -> Client:
        """Follows no redirect: texts and key reach the server that was chosen, nobody else."""
        import httpx

        return httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {self._key or _NO_KEY}"},
            follow_redirects=False,
            trust_env=not is_loopback(urlsplit(self.url).hostname),
        )

    def _away(self, why: str) -> ModelAway:
        return ModelAway(f"The server of the embedding model “{self.model}” ({self.url}) {why}.")

    def _unusable(self, why: str) -> ModelUnavailable:
        return ModelUnavailable(f"The embedding model “{self.model}” cannot be used: {why}.")


class _Later(Exception):
    """It may work in a while."""

    def __init__(self, why: str, after: float = 0.0) -> None:
        super().__init__(why)
        self.after = after


class _TooLong(Exception):
    """It may work with less."""


def _whole(reply: Response, until: float) -> bytes:
    """The body, however slowly it comes, and however much it is. Raises _Later."""
    body = bytearray()
    for piece in reply.iter_bytes():
        body += piece
        if len(body) > _MOST_BYTES:
            raise _Later("sends without end")
        if time.monotonic() > until:
            raise _Later("does not answer in time")
    return bytes(body)


def _seconds_to_wait(reply: Response) -> float:
    said = reply.headers.get("retry-after", "")
    return float(min(int(said), 60)) if said.isdecimal() and len(said) < 6 else 0.0
