"""Settings: typed, read once, read from the environment in one place.

Every setting can be given as RAG_APP_<NAME> in the environment or as an argument of `Settings`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_cache_path
from pydantic import (
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableSetting

from rag_app.addresses import PORTS, checked_files_url, checked_url, is_loopback
from rag_app.errors import SettingsError

# What ends up in headers and rules is nothing but names: of hosts, and of sites.
_HOST = r"(\*\.)?[\w.-]+"
_NAMES = {
    "allowed_hosts": re.compile(rf"{_HOST}|[0-9a-fA-F:.]+", re.ASCII),
    "frame_ancestors": re.compile(rf"https?://{_HOST}(:\d+)?", re.ASCII),
}
_HEADER = re.compile(r"[A-Za-z0-9-]+")


def app_version() -> str:
    """Which version of the app this is; "0" where it runs without having been installed."""
    try:
        return version("rag-app")
    except PackageNotFoundError:
        return "0"


QUEUES = ("read", "embed", "recognise")
"""Kinds of work on documents, which different machines may do."""

_DATABASES = ("postgresql://", "postgres://")
_METADATA = "/.well-known/openid-configuration"
_PROVIDER = ("oidc_url", "oidc_client", "oidc_secret")  # what sign-in by a provider needs of it
_SECRET_CHARACTERS = 32  # at least, in a secret that signs
_PLAIN_HTTP = ("AWS_ALLOW_HTTP", "AZURE_ALLOW_HTTP", "GOOGLE_ALLOW_HTTP")
_SECRET_PART = re.compile(r"(?<=://)[^/@\s]*(?=@)|(?<=\?)[^']*")  # of an address that has a key


def plain_http_is_allowed() -> bool:
    """Whether the environment says, as object stores have it, that buckets may be reached
    unencrypted."""
    return any(os.environ.get(name, "").lower() in ("true", "1") for name in _PLAIN_HTTP)


def _variables(names: Sequence[str]) -> str:
    """Settings as the environment calls them."""
    *first, last = (f"RAG_APP_{name.upper()}" for name in names)
    return f"{', '.join(first)} and {last}" if first else last


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

    database_url: SecretStr | None = Field(
        None,
        description="PostgreSQL database (16 to 18) that holds the library, such as "
        "postgresql://USER:PASSWORD@HOST/NAME; never shown, logged or stored; empty: a file in "
        "the data directory",
    )
    files_url: str = Field(
        "",
        description="where the originals are kept: `s3://BUCKET/PREFIX`, `gs://…`, `az://…`, "
        "`file:///FOLDER`; empty: in the data directory",
    )
    files_seconds: float = Field(
        60, gt=0, description="longest time one request to that place may take"
    )
    files_copies_mb: int = Field(
        2_048,
        ge=1,
        description="most that copies of originals from there may take in the data directory "
        "while nothing works on them, in MiB",
    )

    queues: str = Field(
        ",".join(QUEUES),
        description="what this process works on of the documents that wait: `read`, `embed`, "
        "`recognise`, separated by commas; `none`: it leaves all of it to `rag-app worker` (a "
        "library on PostgreSQL)",
    )
    max_file_mb: int = Field(200, ge=1, description="largest file taken, in MiB")
    max_pages: int = Field(10_000, ge=1, description="most pages read from one document")
    max_characters: int = Field(
        50_000_000, ge=1_000, description="most text read from one document"
    )
    max_table_characters: int = Field(400_000_000, ge=1_000, description="most text of a CSV")
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
        description="model that finds by meaning: a folder of sentence-transformers, the name of a "
        "model fetched with `rag-app download`, or `openai:MODEL@URL`, on a server; empty: the "
        "built-in one, for English",
    )
    embedding_key: SecretStr | None = Field(
        None,
        description="key of the server that `RAG_APP_EMBEDDING` names, sent to no other; never "
        "shown, logged or stored",
    )
    embedding_seconds: float = Field(
        30, gt=0, description="longest time for one request to that server, tried again and all"
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
    upload_mb: int = Field(
        512,
        ge=1,
        description="most that files on their way from browsers may have in memory, of all "
        "sessions together, in MiB; while the page takes them over, as much again is needed",
    )
    metrics: SecretStr | None = Field(
        None,
        description="token with which /metrics may be read (`Authorization: Bearer …`), 32 "
        "characters at least; empty: nobody may",
    )
    log: Literal["text", "json"] = Field(
        "text",
        description="how the log on standard error is written: `text`, or `json`, one "
        "object a line",
    )
    traces: Literal["off", "otlp"] = Field(
        "off",
        description="`otlp`: what questions and documents spend their time on is sent where "
        "OpenTelemetry's own variables (OTEL_EXPORTER_OTLP_ENDPOINT …) say",
    )
    drain_seconds: float = Field(
        0,
        ge=0,
        description="seconds that answers being made are let finish after SIGTERM; "
        "/health/ready says no meanwhile",
    )
    secrets_dir: Path | None = Field(
        None,
        description="folder of files that hold settings, each called by its variable in small "
        "letters, such as rag_app_oidc_secret; the environment goes before them",
    )
    api: bool = Field(False, description="whether programs with a key may ask, see docs/api.md")
    sign_in: Literal["none", "oidc", "headers"] = Field(
        "none",
        description="how people sign in: `none`, `oidc` (a provider that speaks OpenID Connect), "
        "`headers` (a proxy in front of the app signs them in)",
    )
    open_to_all: bool = Field(
        False,
        description="whether everybody may reach the page without signing in; only together with "
        "`RAG_APP_SIGN_IN=none` written out",
    )
    public_url: str = Field(
        "", description="where browsers reach the page, such as https://documents.example.org"
    )
    oidc_url: str = Field("", description="address of the provider: its issuer, or its metadata")
    oidc_issuer: str = Field(
        "",
        description="what the provider calls itself in its tokens; empty: `RAG_APP_OIDC_URL`",
    )
    oidc_client: str = Field("", description="what the provider calls the app (client id)")
    oidc_secret: SecretStr | None = Field(
        None, description="the app's secret at the provider; never shown, logged or stored"
    )
    oidc_scopes: str = Field(
        "openid email profile", description="what the provider is asked for, separated by spaces"
    )
    oidc_prompt: str = Field(
        "",
        description="what the provider asks people at every sign-in, such as `select_account`; "
        "empty: what it finds necessary",
    )
    groups_claim: str = Field(
        "groups", description="claim of the provider's tokens that names a person's groups"
    )
    cookie_secret: SecretStr | None = Field(
        None,
        description="signs the cookies of who signed in; the same for all processes that serve one "
        "page; empty: one is made and kept in the data directory",
    )
    user_header: str = Field(
        "X-Forwarded-User", description="header in which the proxy says who asks"
    )
    email_header: str = Field(
        "X-Forwarded-Email", description="header with their e-mail address; empty: none"
    )
    groups_header: str = Field(
        "X-Forwarded-Groups",
        description="header with their groups, separated by commas; empty: none",
    )
    proxies: str = Field(
        "127.0.0.1",
        description="addresses or networks of the proxies that are believed; separated by commas",
    )
    administrators: str = Field(
        "",
        description="subjects or e-mail addresses of those who manage people, where people sign "
        "in; separated by commas; empty: whoever signs in first",
    )
    audit_questions: bool = Field(
        False, description="whether the log of who did what holds the words of questions"
    )
    audit_days: int = Field(365, ge=1, description="days that entries of that log are kept")
    threads: int = Field(0, ge=0, description="CPU threads for the models; 0: all cores")
    writer: str = Field(
        "default",
        description="language model that comes with the app: `default`, `small` (a third of the "
        "size, twice as fast, less able), one of the larger ones, or `off`",
    )
    models_dir: Path = Field(
        default_factory=_default_models_dir,
        description="where that model is kept, shared by every checkout",
    )

    @model_validator(mode="after")
    def _database_is_one(self) -> Settings:
        """Raises SettingsError, which does not repeat what may hold a password."""
        if self.database_address and not self.database_address.startswith(_DATABASES):
            raise SettingsError(
                "RAG_APP_DATABASE_URL is no address of a PostgreSQL database. Write it like "
                "postgresql://USER:PASSWORD@HOST/NAME, or leave it empty."
            )
        return self

    @field_validator("queues")
    @classmethod
    def _are_queues(cls, given: str) -> str:
        if given.strip() != "none" and not {*map(str.strip, given.split(","))} <= {*QUEUES}:
            raise ValueError(f"it is neither none nor some of {', '.join(QUEUES)}")
        return given

    @model_validator(mode="after")
    def _somebody_works(self) -> Settings:
        """Raises SettingsError where a library would never be worked on."""
        if self.works_on != frozenset(QUEUES) and not self.database_address:
            raise SettingsError(
                "RAG_APP_QUEUES leaves work to other processes, which share a library on "
                "PostgreSQL: set RAG_APP_DATABASE_URL too, or leave RAG_APP_QUEUES out."
            )
        return self

    @field_validator("files_url")
    @classmethod
    def _is_a_place(cls, given: str) -> str:
        return checked_files_url(given) if given.strip() else ""

    @field_validator("own_networks", "proxies")
    @classmethod
    def _are_networks(cls, given: str, field: ValidationInfo) -> str:
        for one in given.split(","):
            network = ip_network(one.strip(), strict=False) if one.strip() else None
            if network and not network.prefixlen and field.field_name == "proxies":
                raise ValueError(f"{network} is everybody")
        return given

    @field_validator("chat_key_url", "chat_servers", "public_url", "oidc_url", "oidc_issuer")
    @classmethod
    def _are_addresses(cls, given: str, field: ValidationInfo) -> str:
        listed = given.split(",") if field.field_name == "chat_servers" else [given]
        try:
            return ",".join(checked_url(one) for one in listed if one.strip())
        except SettingsError as error:
            raise ValueError(str(error).rstrip(".")) from error

    @field_validator("public_url")
    @classmethod
    def _as_browsers_write_it(cls, given: str) -> str:
        scheme, rest, place = given.partition("://")
        name, slash, path = place.partition("/")
        plain = name.lower().removesuffix(f":{PORTS.get(scheme.lower(), 0)}")
        return f"{scheme.lower()}{rest}{plain}{slash}{path}"

    @field_validator("user_header", "email_header", "groups_header")
    @classmethod
    def _is_header(cls, given: str, field: ValidationInfo) -> str:
        if not (_HEADER.fullmatch(given) or (not given and field.field_name != "user_header")):
            raise ValueError("it is no name of a header")
        return given

    @field_validator("allowed_hosts", "frame_ancestors")
    @classmethod
    def _are_names(cls, given: str, field: ValidationInfo) -> str:
        for one in (part.strip() for part in given.split(",")):
            if one and not _NAMES[field.field_name or ""].fullmatch(one):
                raise ValueError(f"{one} is not written like the example in docs/settings.md")
        return given

    @model_validator(mode="after")
    def _people_can_sign_in(self) -> Settings:
        """Raises SettingsError where what is set does not go together."""
        given = [name for name in _PROVIDER if getattr(self, name)]
        if self.sign_in != "oidc" and given:
            raise SettingsError(
                f"RAG_APP_SIGN_IN is {self.sign_in}, and only oidc takes {_variables(given)}: "
                "set it to oidc, or leave the rest out."
            )
        missing = [name for name in (*_PROVIDER, "public_url") if not getattr(self, name)]
        if self.sign_in == "oidc" and missing:
            raise SettingsError(
                f"RAG_APP_SIGN_IN=oidc needs {_variables(missing)} as well: docs/server.md says "
                "what each of them is."
            )
        return self

    @field_validator("cookie_secret", "metrics")
    @classmethod
    def _is_long(cls, given: SecretStr | None, field: ValidationInfo) -> SecretStr | None:
        if given and 0 < len(given.get_secret_value()) < _SECRET_CHARACTERS:
            raise SettingsError(
                f"RAG_APP_{(field.field_name or '').upper()} must have {_SECRET_CHARACTERS} "
                "characters at least: make one with `openssl rand -hex 32`."
            )
        return given

    @classmethod
    def load(cls, **given: Any) -> Settings:
        """Settings from the environment, with `given` before it, and files of secrets after it.

        Raises SettingsError naming the first setting that cannot be used."""
        folder = os.environ.get("RAG_APP_SECRETS_DIR")
        if folder and not Path(folder).is_dir():
            raise SettingsError(
                f"RAG_APP_SECRETS_DIR cannot be {folder!r}: there is no such folder."
            )
        named = {name: value for name, value in given.items() if value is not None}
        try:
            return cls(**{"_secrets_dir": folder or None, **named})
        except ValidationError as error:
            first = error.errors()[0]
            name = "_".join(str(part) for part in first["loc"]).upper()
            given_as = _SECRET_PART.sub("…", repr(first.get("input")))
            why = first["msg"].removeprefix("Value error, ").lower()
            raise SettingsError(f"RAG_APP_{name} cannot be {given_as}: {why}.") from None
        except UnreadableSetting as error:  # a file of secrets, as a rule
            raise SettingsError(f"A setting cannot be read: {error} ({error.__cause__}).") from None

    @property
    def folder(self) -> Path:
        """The data directory, as it is wherever the process goes."""
        return self.data_dir.expanduser().resolve()

    @property
    def database_address(self) -> str:
        """The database that holds the library, password and all; empty: a file in the folder."""
        return self.database_url.get_secret_value().strip() if self.database_url else ""

    @property
    def works_on(self) -> frozenset[str]:
        """Which of `QUEUES` this process takes documents from."""
        return frozenset(QUEUES) & {*map(str.strip, self.queues.split(","))}

    @property
    def answers_by(self) -> str:
        """What answers, written on one line."""
        return self.generator or ("reader" if self.writer == "off" else f"writer:{self.writer}")

    @property
    def shared_servers(self) -> tuple[str, ...]:
        """Addresses of the servers that anybody who reaches the page may choose."""
        return tuple(filter(None, self.chat_servers.split(",")))

    @property
    def named_administrators(self) -> frozenset[str]:
        """Subjects and e-mail addresses of those who manage people."""
        return frozenset(filter(None, (one.strip() for one in self.administrators.split(","))))

    @property
    def metadata_url(self) -> str:
        """Where the provider that signs people in describes itself."""
        return self.oidc_url.removesuffix(_METADATA) + _METADATA

    @property
    def issuer(self) -> str:
        """What that provider calls itself, without a slash at its end."""
        return self.oidc_issuer or self.oidc_url.removesuffix(_METADATA)

    def exposed_on(self, address: str | None) -> str:
        """Why the page may not be served on an address (None: on all there are); empty: it may."""
        wanted = self.open_to_all and "sign_in" in self.model_fields_set
        if self.sign_in != "none" or wanted or is_loopback(address):
            return ""
        return (
            f"Nobody signs in, and everybody who reaches {address or 'this computer'} could read "
            "and delete everything. Set RAG_APP_SIGN_IN to oidc or headers (docs/server.md); or, "
            "if they all may, set both RAG_APP_SIGN_IN=none and RAG_APP_OPEN_TO_ALL=yes."
        )

    @property
    def models_folder(self) -> Path:
        """Where the language model that comes with the app is kept."""
        return self.models_dir.expanduser().resolve()

    @classmethod
    def names(cls) -> list[str]:
        """Every environment variable that is read."""
        return [f"RAG_APP_{name.upper()}" for name in cls.model_fields]
