"""What was chosen on the page, kept from one start to the next in a file of the data directory.

Only choices: nothing of documents, questions or keys."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StrictBool

from rag_app.storage.database import kept_as

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Preferences:
    """Choices, each empty or None where the settings decide."""

    generator: str = ""  # what answers, written on one line
    language: str = ""  # of the answers, its English name
    caution: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    top_k: Annotated[int, Field(ge=1, le=50)] | None = None
    keys: StrictBool = True  # one alone does something on the page
    embedding: str = ""  # what finds by meaning: a folder, or the name of a model that was fetched
    languages_settled: StrictBool = False  # the documents' need not be brought up again
    speed_settled: StrictBool = False  # neither need a quicker language model


_CHANGING = threading.Lock()


class PreferenceFile:
    """Reads and writes them. A file that cannot be read counts as none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def of(cls, folder: Path, owner: str) -> PreferenceFile:
        """A person's file, by `Scope.subject`; a name that others gave is never used as a path."""
        if not owner:
            return cls(folder / "preferences.json")
        digest = hashlib.sha256(owner.encode()).hexdigest()
        return cls(folder / f"preferences-{digest}.json")

    def read(self) -> Preferences:
        """What was chosen."""
        try:
            return kept_as(Preferences, json.loads(self._path.read_text("utf-8")))
        except FileNotFoundError:
            return Preferences()
        except (OSError, ValueError) as error:
            log.warning("what was chosen earlier cannot be read: %s", error)
            return Preferences()

    def change(self, **chosen: Any) -> None:
        """Keep these choices beside the others."""
        with _CHANGING:
            self.write(replace(self.read(), **chosen))

    def write(self, chosen: Preferences) -> None:
        """Keep it, all of it or nothing; a full disk costs no more than the choice."""
        try:
            write_json(self._path, asdict(chosen))
        except OSError as error:
            log.warning("what was chosen cannot be kept: %s", error)

    def clear(self) -> None:
        """Forget it."""
        self._path.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Write a file, all of it or nothing of it. Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(value, file)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
