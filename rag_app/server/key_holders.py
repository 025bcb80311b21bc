"""Who holds a key, and whose view of the library it opens.

On one's own computer there is one key, in a file of the data directory."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
import tempfile
from pathlib import Path
from typing import Protocol

from rag_app.errors import SettingsError
from rag_app.scope import OWN, Scope

log = logging.getLogger(__name__)

PREFIX = "ragapp_"  # by which a key is known wherever it turns up
_NAME = "api-key"  # in the data directory
_BYTES = 32  # of chance in a key


class KeyHolder(Protocol):
    """Knows keys."""

    def scope_of_key(self, secret: str) -> Scope | None:
        """The view that a key opens; None for what is no key. May take as long as a file does."""
        ...


class KeyFile:
    """The one key of a library that is one person's; a file that nobody else can read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / _NAME

    def key(self) -> str:
        """The key, made at first use. Raises SettingsError if the file cannot be used."""
        return self._read() or self.renew()

    def renew(self) -> str:
        """A new key; the one before opens nothing from now on. Raises SettingsError."""
        key = PREFIX + secrets.token_urlsafe(_BYTES)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=f"{_NAME}.")  # 0600
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(f"{key}\n")
            Path(temporary).replace(self.path)
        except OSError as error:
            raise SettingsError(
                f"The key could not be written to {self.path}: {error.strerror or error}. "
                "Choose another folder with --data-dir."
            ) from error
        return key

    def scope_of_key(self, secret: str) -> Scope | None:
        """One's own view, for the key in the file; it is read anew, so that a new one counts."""
        try:
            known = self._read()
        except SettingsError as error:
            log.warning("%s", error)
            return None
        return OWN if known and _same(secret, known) else None

    def _read(self) -> str:
        try:
            return self.path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"The key in {self.path} cannot be read. Make a new one with: rag-app api-key --new"
            ) from error


def _same(one: str, other: str) -> bool:
    """Whether two texts are the same, in a time that says nothing of where or how they differ."""
    first, second = (
        hashlib.sha256(each.encode("utf-8", "replace")).digest() for each in (one, other)
    )
    return hmac.compare_digest(first, second)
