"""A choice to a LangChain chat model, and what went wrong in one sentence.

Keys are handed in and kept in memory only: never shown, logged or stored."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.answering.generation import explained
from rag_app.answering.model_spec import LOCAL, OLLAMA_URL, WRITER, ModelSpec, parse
from rag_app.errors import ChatModelError, ModelUnavailable, RagAppError
from rag_app.models.catalogue import CATALOGUE, DEFAULT, SENTENCES, SMALL, has_room
from rag_app.models.download import (
    Bring,
    Fetch,
    discard,
    folder_of,
    hub_download,
    is_hub_id,
    local_folder,
)
from rag_app.models.weights import Progress, ensure, is_ready
from rag_app.supervision import Told

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from pydantic import SecretStr


_READS_WELL = 90.0  # tokens a second, of the default; an answer wants some 500 of them
_NO_KEY = "none"  # servers on one's own machine want a key and do not look at it


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """How a chat model is asked."""

    key: SecretStr | None = None
    key_for: str = ""  # the `destination` that the key is sent to; to no other
    seconds: float = 60.0  # longest silence of a server
    most_tokens: int = 700  # longest answer
    models: Path = Path()  # where models of the hub are kept
    writers: Path = Path()  # where the language models that come with the app are kept
    threads: int = 0  # CPU threads of those; 0: all cores


def open_model(choice: ModelSpec, terms: ChatSettings) -> BaseChatModel:
    """The chat model of a choice. Raises ChatModelError."""
    if choice.kind == WRITER:
        from rag_app.answering.local_chat import open_writer

        return open_writer(choice.model, terms.writers, terms.most_tokens, terms.threads)
    if choice.kind == "local":
        from rag_app.answering.local_chat import open_local

        folder = local_folder(choice.model, terms.models)
        if not folder.is_dir() and is_hub_id(choice.model):
            raise ChatModelError(
                f"{choice.model} is not on this computer yet. Fetch it with: "
                f"rag-app download {choice.model}"
            )
        return open_local(str(folder), terms.most_tokens, terms.threads)
    key = _checked_key(terms) if terms.key_for == choice.destination else ""
    if choice.kind in ("openai", "ollama"):
        return _openai_compatible(choice, terms, key)
    return _by_provider(choice, terms, key)


def begin(choice: ModelSpec, terms: ChatSettings) -> None:
    """Start to load the language model that comes with the app, without waiting for it.

    What is wrong with it is said when it is asked."""
    if choice.kind == WRITER:
        from rag_app.answering.local_chat import open_writer

        with suppress(ChatModelError):
            open_writer(choice.model, terms.writers, terms.most_tokens, terms.threads).begin()


def reading_speed(choice: ModelSpec, terms: ChatSettings) -> float | None:
    """Tokens a second that a language model that comes with the app reads; None: not loaded."""
    from rag_app.answering.local_chat import open_writer

    with suppress(ChatModelError):
        return open_writer(choice.model, terms.writers, terms.most_tokens, terms.threads).speed
    return None


def _checked_key(terms: ChatSettings) -> str:
    key = terms.key.get_secret_value().strip() if terms.key else ""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ChatModelError(
            "The key for the chat model holds a line break, a space or a letter that no key has. "
            "Copy it again, without anything around it."
        )
    return key


def _openai_compatible(choice: ModelSpec, terms: ChatSettings, key: str) -> BaseChatModel:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    url = choice.url or (f"{OLLAMA_URL}/v1" if choice.kind == "ollama" else None)
    if choice.kind == "ollama" and url and not url.endswith("/v1"):
        url += "/v1"
    return ChatOpenAI(
        model=choice.model,
        base_url=url,
        # without an address it is OpenAI itself, whose key the environment may hold; that one must
        # never be sent to another server
        api_key=SecretStr(key or _NO_KEY) if key or url else None,
        http_client=_straight(),
        timeout=terms.seconds,
        max_retries=0,
        max_completion_tokens=None if url else terms.most_tokens,
        temperature=0.0 if url else None,  # newer models of OpenAI take no temperature
        use_responses_api=False,
        stream_usage=False,
        extra_body={"max_tokens": terms.most_tokens} if url else None,
    )


@cache
def _straight() -> object:
    """A client that follows no redirect: questions, passages and the key reach the server that was
    chosen, and nobody whom that server names."""
    from openai import DefaultHttpxClient

    return DefaultHttpxClient(follow_redirects=False)


def _by_provider(choice: ModelSpec, terms: ChatSettings, key: str) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    given: dict[str, Any] = {"timeout": terms.seconds, "max_tokens": terms.most_tokens}
    given |= {"api_key": key} if key else {}
    # nor is a key of the environment, which the provider's package would read, sent elsewhere
    given |= {"base_url": choice.url, "api_key": key or _NO_KEY} if choice.url else {}
    try:
        model: BaseChatModel = init_chat_model(choice.model, model_provider=choice.kind, **given)
    except ImportError as error:
        module = getattr(error.__cause__, "name", None) or f"langchain-{choice.kind}"
        raise ChatModelError(
            f"Models of “{choice.kind}” need a package that is not installed. "
            f"Install it with: pip install {module.replace('_', '-')}"
        ) from error
    except ValueError as error:
        raise ChatModelError(
            f"“{choice.kind}” is no provider that this app knows, or its settings are not "
            "complete. Any OpenAI-compatible server works with openai:MODEL@URL."
        ) from error
    return model


def explain(error: Exception, choice: ModelSpec) -> ChatModelError:
    """One sentence on what is wrong with a chat model and what to do. Never holds the key."""
    if isinstance(error, ChatModelError):
        return error
    if isinstance(error, RagAppError):
        return ChatModelError(str(error))
    where = choice.url or (OLLAMA_URL if choice.kind == "ollama" else choice.kind)
    status = getattr(error, "status_code", None) or getattr(
        getattr(error, "response", None), "status_code", None
    )
    if isinstance(status, int):
        return ChatModelError(_refusal(status, choice, where))
    return ChatModelError(_breakdown(error, choice, where))


def _refusal(status: int, choice: ModelSpec, where: str) -> str:
    if status in (401, 403):
        return (
            f"{where} did not accept the key. Check RAG_APP_CHAT_KEY, what it may use, and whether "
            "RAG_APP_CHAT_KEY_URL is the address of this server: it is sent to no other."
        )
    if 300 <= status < 400:
        return f"{where} sends on to another address, which is not followed. Choose that address."
    if status == 404:
        return f"{where} has no model “{choice.model}”. Choose one of those it offers."
    if status == 429:
        return f"{where} takes no more questions for now, or its credit is used up. Try later."
    if status in (400, 413, 422):
        return (
            f"{where} refused the question (status {status}); its window may be too small. "
            "Lower RAG_APP_CHAT_WINDOW or choose another model."
        )
    return f"{where} failed (status {status}). Look at the server's own messages, then try again."


def _breakdown(error: Exception, choice: ModelSpec, where: str) -> str:
    names = {cls.__name__ for cls in type(error).__mro__}
    if any("Timeout" in name for name in names):
        return f"{choice.name} was silent for too long. Try again, or choose a smaller model."
    if "OpenAIError" in names and "api_key" in str(error):
        return "OpenAI wants a key. Set OPENAI_API_KEY or RAG_APP_CHAT_KEY in the environment."
    if type(error) is ConnectionError:
        return f"{where} broke off. It may have been stopped; try again."
    if names & {"APIConnectionError", "ConnectError", "ConnectionError", "NetworkError"}:
        return f"No server answers at {where}. Start it, or check the address."
    if names & {"RemoteProtocolError", "ReadError", "StreamError", "IncompleteRead"}:
        return f"{where} broke off in the middle. It may have been stopped; try again."
    if isinstance(error, json.JSONDecodeError) or names & {"APIError", "ValidationError"}:
        return f"{where} sent what is no answer of an OpenAI-compatible server. Check the address."
    if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
        return f"There is not enough memory for {choice.name}. Choose a smaller model."
    return f"{choice.name} could not answer ({type(error).__name__}). Try another model."


# Servers of chat models that run on this machine, and whether a chosen model answers.
#
# Looks at this machine only, and only when it is asked to.

KNOWN = (
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("LM Studio", "http://127.0.0.1:1234/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
    ("vLLM", "http://127.0.0.1:8000/v1"),
)
_PATIENCE = 0.5  # seconds; a server on this machine answers at once
_MOST_MODELS = 100


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answered, and the models it offers."""

    name: str
    url: str
    models: tuple[str, ...]


def running(known: Sequence[tuple[str, str]] = KNOWN) -> list[Server]:
    """The servers of this machine that answer now, in the order of `known`."""
    with ThreadPoolExecutor(len(known) or 1) as pool:
        found = pool.map(lambda pair: Server(pair[0], pair[1], models(pair[1])), known)
    return [server for server in found if server.models]


def models(url: str) -> tuple[str, ...]:
    """The models a server offers; none if it does not answer as an OpenAI-compatible one does."""
    import httpx

    try:
        reply = httpx.get(f"{url}/models", timeout=_PATIENCE, trust_env=False)
        listed = reply.raise_for_status().json()["data"]
        names = [str(one["id"]) for one in listed[:_MOST_MODELS]]
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return ()
    return tuple(name for name in names if name.isprintable())


def try_out(choice: ModelSpec, terms: ChatSettings) -> str:
    """One sentence: that it works and how fast. Raises ChatModelError with one on what is wrong."""
    began = time.perf_counter()
    with explained(lambda error: explain(error, choice)):
        model = open_model(choice, terms)
        said = str(model.invoke([("human", "Reply with the word: ready")]).text)
    if not said.strip():
        raise ChatModelError(f"{choice.name} answers, but writes nothing. Choose another model.")
    return f"{choice.name} works: it answered in {time.perf_counter() - began:.1f} s."


# The chat models that can be chosen: what runs on this machine, and what can be fetched.


def _counted(on_progress: Told, before: int, total: int) -> Progress:
    """Tells how much of all has come; so much had `before` this model."""

    def took(doing: str, done: int, of: int) -> None:
        if of:  # it comes, and is not being checked or made ready
            on_progress(before + done, total)

    return took


class ChatModelCatalogue:
    """One download at a time; everything else is looked up when it is asked for."""

    def __init__(self, terms: ChatSettings) -> None:
        self._terms = terms
        self._lock = threading.Lock()
        self._fetch: Fetch | None = None

    def close(self) -> None:
        """Stop a download that is under way; what has arrived is kept."""
        if self._fetch is not None:
            self._fetch.end()

    def servers(self) -> list[Server]:
        """The servers of chat models that run on this machine now."""
        return running()

    def try_out(self, generator: str) -> str:
        """One sentence that a chat model works. Raises ChatModelError with one on what is wrong."""
        return try_out(parse(generator), self._terms)

    def missing(self, generator: str) -> str:
        """The name of a model that is chosen, can be fetched and is not here yet; else empty."""
        choice = parse(generator)
        if choice.kind == WRITER and choice.model in CATALOGUE:
            ready = is_ready(CATALOGUE[choice.model], self._terms.writers)
            return "" if ready else choice.model
        here = local_folder(choice.model, self._terms.models).is_dir()
        return choice.model if choice.kind in LOCAL and is_hub_id(choice.model) and not here else ""

    def fetched(self, generator: str) -> str:
        """The hub's name of a model that is chosen and was downloaded; else empty."""
        model = parse(generator).model
        return model if is_hub_id(model) and folder_of(model, self._terms.models).is_dir() else ""

    def fetch_again(self, model: str) -> Fetch:
        """Download a model anew: what is here of it is damaged."""
        if self._fetch is None or not self._fetch.running:
            discard(model, self._terms.models)
        return self.fetch(model)

    def fetch(self, model: str) -> Fetch:
        """Begin to download a model, or the download that is under way."""
        with self._lock:
            if self._fetch is None or not self._fetch.running:
                self._fetch = Fetch(model, self._bring(model))
            return self._fetch

    def _bring(self, model: str) -> Bring:
        if model not in CATALOGUE:
            return hub_download(model, self._terms.models)
        writer, cache = CATALOGUE[model], self._terms.writers
        total = writer.bytes + (0 if is_ready(SENTENCES, cache) else SENTENCES.bytes)

        def bring(on_progress: Told, cancelled: Callable[[], bool]) -> Path:
            folder = ensure(writer, cache, _counted(on_progress, 0, total), cancelled)
            with suppress(ModelUnavailable):  # it writes without what finds sentences for it, too
                ensure(SENTENCES, cache, _counted(on_progress, writer.bytes, total), cancelled)
            return folder

        return bring

    def writers(self) -> list[str]:
        """The language models that can come with the app and fit this computer, as choices."""
        cache = self._terms.writers
        found = [k for k, m in CATALOGUE.items() if is_ready(m, cache) or has_room(m)]
        return [f"{WRITER}:{key}" for key in found]

    def quicker(self, generator: str) -> str:
        """The choice that answers in about half the time, where the chosen language model reads
        slowly on this computer and a smaller one fits beside it; else empty."""
        choice, small = parse(generator), ModelSpec(WRITER, SMALL.key)
        if choice != ModelSpec(WRITER, DEFAULT.key) or self.missing(generator):
            return ""
        speed = reading_speed(choice, self._terms)
        if speed is None or speed >= _READS_WELL or not has_room(SMALL):
            return ""
        return str(small)

    @property
    def fetching(self) -> Fetch | None:
        """The last download that was begun."""
        return self._fetch
