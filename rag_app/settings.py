"""Settings: typed, read once, and the one place that reads the environment.

Every setting can be given as RAG_APP_<NAME> in the environment or as an argument of `Settings`."""

from __future__ import annotations

import os
import re
import sys
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from platformdirs import user_cache_path
from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from rag_app.errors import SettingsError

# What the packages under us read from the environment when they are first imported.
_DEPENDENCIES = {
    "HF_HUB_OFFLINE": "1",  # no look-up of a newer model
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ANONYMIZED_TELEMETRY": "False",  # Chroma
    "LANGSMITH_TRACING": "false",  # LangChain would send questions and documents to a server
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING_V2": "false",
    "TOKENIZERS_PARALLELISM": "false",
    # Threads that wait by spinning take the CPU from whatever runs beside them (benchmarks/LOG.md).
    "OMP_WAIT_POLICY": "passive",
}

# What ends up in headers and rules is nothing but names: of hosts, and of sites.
_HOST = r"(\*\.)?[\w.-]+"
_NAMES = {
    "allowed_hosts": re.compile(rf"{_HOST}|[0-9a-fA-F:.]+", re.ASCII),
    "frame_ancestors": re.compile(rf"https?://{_HOST}(:\d+)?", re.ASCII),
}


def quiet_dependencies() -> None:
    """Keep the packages under us from calling home and from spinning.

    To be called before torch is imported; whatever the environment said gives way."""
    os.environ.update(_DEPENDENCIES)
    # OpenVINO reports every import of itself to its maker unless this is not there; None is how
    # Python is told so. What was imported by now has reported already.
    modules: dict[str, Any] = sys.modules
    modules.setdefault("openvino_telemetry", None)


def online_environment() -> dict[str, str]:
    """The environment of a child process that may fetch a model."""
    changed = {
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    return {**os.environ, **changed}


# Addresses of servers that language models answer at. Only what every parser of addresses reads
# the same way counts as one: plain names, no password, nothing behind the path.
_ADDRESS = re.compile(
    r"https?://(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:/[\w.~%/+=:-]*)?",
    re.IGNORECASE | re.ASCII,
)
_PORTS = {"http": 80, "https": 443}


def checked_url(text: str) -> str:
    """An address of a server, without a slash at its end. Raises SettingsError."""
    url = text.strip().rstrip("/")
    try:
        usable = _ADDRESS.fullmatch(url) and urlsplit(url).port != 0
    except ValueError:  # no port, or no IPv6 address
        usable = False
    if not usable:
        said = "".join(c for c in " ".join(url.split()) if c.isprintable())[:80]
        raise SettingsError(
            f"“{said}” is no address of a server. Write it like http://127.0.0.1:8000/v1"
        )
    return url


def origin_of(url: str) -> str:
    """The server that an address names, whatever the path: scheme, host and port."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"


def _default_data_dir() -> Path:
    """The user's own data folder for programs, as the XDG base directory specification names it."""
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "rag-app"


def _default_models_dir() -> Path:
    """The user's own cache folder for programs, as each system names it: what lies there can be
    fetched again."""
    return user_cache_path("rag-app", appauthor=False) / "models"


class Settings(BaseSettings):
    """What can be changed without changing code. Build it with `Settings.load`."""

    model_config = SettingsConfigDict(env_prefix="RAG_APP_", frozen=True, extra="forbid")

    data_dir: Path = Field(
        default_factory=_default_data_dir, description="where everything is kept"
    )

    max_file_mb: int = Field(200, ge=1, description="largest file taken, in MiB")
    max_pages: int = Field(10_000, ge=1, description="most pages read from one document")
    max_characters: int = Field(
        50_000_000, ge=1_000, description="most text read from one document"
    )
    read_seconds: float = Field(300, gt=0, description="longest time one document may take to read")
    read_memory_mb: int = Field(
        2_048, ge=256, description="most memory the reading process may take, in MiB"
    )
    max_unpacked_mb: int = Field(
        512, ge=1, description="most that the parts of a packed file may grow to, in MiB"
    )
    max_parts: int = Field(
        2_000, ge=1, description="most documents made of the files inside one file"
    )
    max_nesting: int = Field(
        3, ge=0, description="how deep files inside files are opened; 0: not at all"
    )
    ocr: bool = Field(True, description="whether text in scans and pictures is recognised (OCR)")
    ocr_pages: int = Field(
        500, ge=1, description="most scanned pages of one document whose text is recognised"
    )
    ocr_seconds: float = Field(
        300, gt=0, description="longest time the text of one page may take to be recognised"
    )
    fetch_seconds: float = Field(
        120, gt=0, description="longest time that fetching one web address may take"
    )
    own_networks: str = Field(
        "",
        description="networks of yours, such as 192.168.1.0/24, that web addresses may be fetched "
        "from besides public ones; separated by commas",
    )
    max_question_characters: int = Field(4_000, ge=10, description="longest question")

    chunk_tokens: int = Field(
        200, ge=20, le=240, description="largest chunk, in (estimated) tokens"
    )
    top_k: int = Field(8, ge=1, le=50, description="passages an answer is made from")
    candidates: int = Field(
        60, ge=1, le=1_000, description="candidates each index gives to the fusion"
    )
    caution: float = Field(
        0.45, ge=0, le=1, description="confidence under which the app says that it does not know"
    )
    generator: str = Field(
        "",
        description="what answers: `writer:default`, `reader`, `quotes`, `openai:MODEL@URL`, "
        "`ollama:MODEL`, `PROVIDER:MODEL`, `local:FOLDER`; empty: the language model that comes "
        "with the app, without it the reader",
    )
    chat_key: SecretStr | None = Field(
        None, description="key of the chat model; never shown, logged or stored"
    )
    chat_key_url: str = Field(
        "",
        description="address of the server that this key is for, which is sent to no other; "
        "empty: the one that `RAG_APP_GENERATOR` names",
    )
    chat_servers: str = Field(
        "",
        description="addresses of servers of language models that may also be chosen by those who "
        "reach the page from another computer; separated by commas",
    )
    chat_seconds: float = Field(60, gt=0, description="longest silence of a chat model")
    chat_tokens: int = Field(700, ge=16, description="longest answer of a chat model, in tokens")
    chat_window: int = Field(
        4_096, ge=256, description="tokens a chat model sees at once, question and answer included"
    )
    embedding: str = Field(
        "",
        description="model that finds by meaning: a folder of sentence-transformers, or the name "
        "of a model fetched with `rag-app download`; empty: the built-in one, for English",
    )
    question_encoder: str = Field(
        "", description="folder of a question encoder that `rag-app train` made; empty: none"
    )
    rerank: int = Field(
        20,
        ge=0,
        le=200,
        description="found passages that are read and put in order for a question; 0: none",
    )
    allowed_hosts: str = Field(
        "",
        description="names under which browsers may call the page, such as documents.example.org, "
        "besides this computer's own; separated by commas",
    )
    frame_ancestors: str = Field(
        "",
        description="sites that may show the page in a frame of theirs, such as "
        "https://intranet.example.org; separated by commas; empty: none",
    )
    metrics: bool = Field(
        False, description="whether /_stcore/metrics tells everybody what the server holds"
    )
    threads: int = Field(0, ge=0, description="CPU threads for the models; 0: all cores")
    writer: str = Field(
        "default",
        description="language model that comes with the app: `default`, `small` (a third of the "
        "size, three times as fast, less able), one of the larger ones, or `off`",
    )
    models_dir: Path = Field(
        default_factory=_default_models_dir,
        description="where that model is kept, shared by every checkout",
    )

    @field_validator("own_networks")
    @classmethod
    def _are_networks(cls, given: str) -> str:
        for one in given.split(","):
            if one.strip():
                ip_network(one.strip(), strict=False)
        return given

    @field_validator("chat_key_url", "chat_servers")
    @classmethod
    def _are_addresses(cls, given: str, field: ValidationInfo) -> str:
        listed = given.split(",") if field.field_name == "chat_servers" else [given]
        try:
            return ",".join(checked_url(one) for one in listed if one.strip())
        except SettingsError as error:
            raise ValueError(str(error).rstrip(".")) from error

    @field_validator("allowed_hosts", "frame_ancestors")
    @classmethod
    def _are_names(cls, given: str, field: ValidationInfo) -> str:
        for one in (part.strip() for part in given.split(",")):
            if one and not _NAMES[field.field_name or ""].fullmatch(one):
                raise ValueError(f"{one} is not written like the example in docs/settings.md")
        return given

    @classmethod
    def load(cls, **given: Any) -> Settings:
        """Settings from the environment, with `given` before it.

        Raises SettingsError naming the first setting that cannot be used."""
        try:
            return cls(**{name: value for name, value in given.items() if value is not None})
        except ValidationError as error:
            first = error.errors()[0]
            name = "_".join(str(part) for part in first["loc"]).upper()
            raise SettingsError(
                f"RAG_APP_{name} cannot be {first.get('input')!r}: {first['msg'].lower()}."
            ) from error

    @property
    def folder(self) -> Path:
        """The data directory, as it is wherever the process goes."""
        return self.data_dir.expanduser().resolve()

    @property
    def answers_by(self) -> str:
        """What answers, written on one line."""
        return self.generator or ("reader" if self.writer == "off" else f"writer:{self.writer}")

    @property
    def shared_servers(self) -> tuple[str, ...]:
        """Addresses of the servers that anybody who reaches the page may choose."""
        return tuple(filter(None, self.chat_servers.split(",")))

    @property
    def models_folder(self) -> Path:
        """Where the language model that comes with the app is kept."""
        return self.models_dir.expanduser().resolve()

    @classmethod
    def names(cls) -> list[str]:
        """Every environment variable that is read."""
        return [f"RAG_APP_{name.upper()}" for name in cls.model_fields]
