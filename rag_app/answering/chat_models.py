"""A choice to a LangChain chat model, and what went wrong in one sentence.

Keys are handed in and kept in memory only: never shown, logged or stored."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.answering.choice import OLLAMA_URL, WRITER, Choice
from rag_app.downloads.downloading import is_hub_id, local_folder
from rag_app.errors import ChatModelError, RagAppError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from pydantic import SecretStr

_NO_KEY = "none"  # servers on one's own machine want a key and do not look at it


@dataclass(frozen=True, slots=True)
class Terms:
    """How a chat model is asked."""

    key: SecretStr | None = None
    seconds: float = 60.0  # longest silence of a server
    most_tokens: int = 700  # longest answer
    models: Path = Path()  # where models of the hub are kept
    writers: Path = Path()  # where the language models that come with the app are kept
    threads: int = 0  # CPU threads of those; 0: all cores


def open_model(choice: Choice, terms: Terms) -> BaseChatModel:
    """The chat model of a choice. Raises ChatModelError."""
    if choice.kind == WRITER:
        from rag_app.answering.openvino_chat import open_writer

        return open_writer(choice.model, terms.writers, terms.most_tokens, terms.threads)
    key = _checked_key(terms)
    if choice.kind == "local":
        from rag_app.answering.local_chat import open_local

        folder = local_folder(choice.model, terms.models)
        if not folder.is_dir() and is_hub_id(choice.model):
            raise ChatModelError(
                f"{choice.model} is not on this computer yet. Fetch it with: "
                f"rag-app download {choice.model}"
            )
        return open_local(str(folder), terms.most_tokens)
    if choice.kind in ("openai", "ollama"):
        return _openai_compatible(choice, terms, key)
    return _by_provider(choice, terms, key)


def begin(choice: Choice, terms: Terms) -> None:
    """Start to load the language model that comes with the app, without waiting for it.

    What is wrong with it is said when it is asked."""
    if choice.kind == WRITER:
        from rag_app.answering.openvino_chat import open_writer

        with suppress(ChatModelError):
            open_writer(choice.model, terms.writers, terms.most_tokens, terms.threads).begin()


def _checked_key(terms: Terms) -> str:
    key = terms.key.get_secret_value().strip() if terms.key else ""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ChatModelError(
            "The key for the chat model holds a line break, a space or a letter that no key has. "
            "Copy it again, without anything around it."
        )
    return key


def _openai_compatible(choice: Choice, terms: Terms, key: str) -> BaseChatModel:
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
        timeout=terms.seconds,
        max_retries=0,
        max_completion_tokens=None if url else terms.most_tokens,
        temperature=0.0 if url else None,  # newer models of OpenAI take no temperature
        use_responses_api=False,
        stream_usage=False,
        extra_body={"max_tokens": terms.most_tokens} if url else None,
    )


def _by_provider(choice: Choice, terms: Terms, key: str) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    given: dict[str, Any] = {"timeout": terms.seconds, "max_tokens": terms.most_tokens}
    given |= {"api_key": key} if key else {}
    given |= {"base_url": choice.url} if choice.url else {}
    try:
        model: BaseChatModel = init_chat_model(choice.model, model_provider=choice.kind, **given)
    except ImportError as error:
        raise ChatModelError(
            f"Models of “{choice.kind}” need a package that is not installed. "
            f"Install it with: pip install langchain-{choice.kind.replace('_', '-')}"
        ) from error
    except ValueError as error:
        raise ChatModelError(
            f"“{choice.kind}” is no provider that this app knows, or its settings are not "
            "complete. Any OpenAI-compatible server works with openai:MODEL@URL."
        ) from error
    return model


def explain(error: Exception, choice: Choice) -> ChatModelError:
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


def _refusal(status: int, choice: Choice, where: str) -> str:
    if status in (401, 403):
        return f"{where} did not accept the key. Check RAG_APP_CHAT_KEY and what it may use."
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


def _breakdown(error: Exception, choice: Choice, where: str) -> str:
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
