"""The edge between this app and the person in front of it: every failure becomes one sentence.

The only place where any exception is caught. Ours say what to do next; anything else is our bug,
which is logged with its traceback and shown as a neutral line."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rag_app.errors import RagAppError
from rag_app.ui import texts

log = logging.getLogger(__name__)


@contextmanager
def caught(show: Callable[[str], object]) -> Iterator[None]:
    """Hand the sentence for whatever goes wrong inside to `show`. Also usable as a decorator."""
    try:
        yield
    except RagAppError as error:
        show(str(error))
    except Exception:  # the one boundary
        log.exception("an unexpected error reached the page")
        show(texts.UNEXPECTED)
