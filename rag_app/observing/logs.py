"""Lines of a log as JSON objects, one a line, and what every line of a request has in common.

Who asks stands in them as an opaque word: the same for one person, and nothing that leads back to
them without the app's secret."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from rag_app.settings import Settings

_SANE = re.compile(r"[A-Za-z0-9._:-]{1,64}")  # an id that others gave a request
_OTHERS = ("streamlit", "uvicorn", "websockets")  # whose loggers write by themselves
_request: ContextVar[str] = ContextVar("rag_app_request", default="")
_subject: ContextVar[str] = ContextVar("rag_app_subject", default="")
_key = [secrets.token_bytes(32)]  # of the opaque words


def request_id(given: str = "") -> str:
    """The id that a request came with, if it is one that can be written down; else a new one."""
    return given if _SANE.fullmatch(given) else secrets.token_hex(8)


def further_id() -> str:
    """The id of something that a request brings about, which begins with that request's."""
    return "-".join(filter(None, (_request.get()[:48], secrets.token_hex(4))))


@contextmanager
def about(request: str | None = None, subject: str | None = None) -> Iterator[None]:
    """Lines that this thread or task writes inside are about a request, and of whom it is."""
    before = _request.get(), _subject.get()
    _request.set(before[0] if request is None else request)
    _subject.set(before[1] if subject is None else subject)
    try:
        yield
    finally:
        _request.set(before[0])
        _subject.set(before[1])


def begin(request: str) -> None:
    """Lines that this thread writes from now on are about a request."""
    _request.set(request_id(request) if request else "")
    _subject.set("")


def opaque(subject: str) -> str:
    """A word for somebody that does not say who it is; empty: nobody signed in."""
    if not subject:
        return ""
    return hashlib.blake2b(subject.encode(), key=_key[0], digest_size=8).hexdigest()


class JsonLines(logging.Formatter):
    """A record as one JSON object; further facts of it are in `facts` (`extra`)."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        said = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "request": _request.get() or None,
            "subject": _subject.get() or None,
            "logger": record.name,
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return json.dumps(said, default=str)  # ASCII: no reader of lines finds an end inside


def set_up(settings: Settings) -> None:
    """Write the log of this process as the settings say; twice is once."""
    if settings.cookie_secret:  # then processes that serve one page use the same words
        secret = settings.cookie_secret.get_secret_value().encode()
        _key[0] = hashlib.blake2b(secret, person=b"rag-app log", digest_size=32).digest()
    if settings.log != "json":
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    logging.getLogger("rag_app").setLevel(logging.INFO)
    for name in [*logging.root.manager.loggerDict]:
        if name.partition(".")[0] in _OTHERS:
            logger = logging.getLogger(name)
            logger.handlers[:], logger.propagate = [], True
    logging.getLogger("uvicorn.access").propagate = False  # it would write whole addresses down
    logging.captureWarnings(True)
