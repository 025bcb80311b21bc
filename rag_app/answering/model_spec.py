"""Which generator answers, written on one line. Pure.

reader                                    the embedded reader
quotes                                    whole sentences nearest in meaning
openai:MODEL[@URL]                        any OpenAI-compatible server
ollama:MODEL[@URL]                        Ollama
PROVIDER:MODEL                            any provider of LangChain whose package is there
writer:default, writer:small              the language model that comes with the app
local:FOLDER                              a transformers chat model on this machine
rag-token:FOLDER, rag-sequence:FOLDER     RAG decoding with a local model (Lewis et al. 2020)
rag-sequence-fast:FOLDER                  the same, candidates scored where they were found only
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from rag_app.addresses import model_at, origin_of
from rag_app.errors import SettingsError
from rag_app.models.catalogue import CATALOGUE

QUOTING = frozenset({"quotes", "reader"})
"""Generators whose words are the documents' own."""
RAG = ("rag-token", "rag-sequence", "rag-sequence-fast")
LOCAL = ("local", *RAG)
WRITER = "writer"
OLLAMA_URL = "http://127.0.0.1:11434"
_FORM = re.compile(r"([a-z][a-z0-9_-]*):(.+)", re.DOTALL)
_HOW = (
    "Write reader, quotes, openai:MODEL@URL, ollama:MODEL, PROVIDER:MODEL, writer:default, "
    "local:FOLDER, rag-token:FOLDER, rag-sequence:FOLDER or rag-sequence-fast:FOLDER."
)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A generator: its kind, which model, and where it is served."""

    kind: str
    model: str = ""
    url: str = ""

    def __str__(self) -> str:
        named = f"{self.kind}:{self.model}" if self.model else self.kind
        return f"{named}@{self.url}" if self.url else named

    @property
    def stays_here(self) -> bool:
        """Whether questions and passages stay on this computer."""
        if self.kind in (*QUOTING, *LOCAL, WRITER):
            return True
        host = urlsplit(self.url).hostname or ""
        return host in ("127.0.0.1", "localhost", "::1") or (self.kind == "ollama" and not host)

    @property
    def destination(self) -> str:
        """Whom a key would be sent to: a server, or a provider at the address that is its own."""
        if self.url or self.kind == "ollama":
            return origin_of(self.url or OLLAMA_URL)
        return self.kind

    @property
    def name(self) -> str:
        """What users are told answered them."""
        if self.kind == WRITER:
            return CATALOGUE[self.model].name
        return self.model.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1] or self.kind


def parse(text: str) -> ModelSpec:
    """The choice that a line says. Raises SettingsError with a sentence that says how."""
    line = text.strip()
    if line in QUOTING:
        return ModelSpec(line)
    found = _FORM.fullmatch(line)
    if not found or not line.isprintable():
        raise SettingsError(f"“{_short(line)}” is no generator. {_HOW}")
    kind, model = found.group(1), found.group(2).strip()
    if kind in LOCAL:
        return ModelSpec(kind, model)
    if kind == WRITER:
        if model not in CATALOGUE:
            raise SettingsError(
                f"“{_short(line)}” is no language model of the app. "
                f"Write {', '.join(f'{WRITER}:{key}' for key in CATALOGUE)}."
            )
        return ModelSpec(kind, model)
    model, url = model_at(model)
    if not model:
        raise SettingsError(f"“{_short(line)}” names no model. {_HOW}")
    return ModelSpec(kind, model, url)


def _short(text: str) -> str:
    return "".join(c for c in " ".join(text.split()) if c.isprintable())[:80]
