"""A check of the library in a thread of its own; every window sees the same one.

Knows nothing of Streamlit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from weakref import WeakKeyDictionary

from rag_app.evaluation.checking import check
from rag_app.library import Library
from rag_app.questions import Manner
from rag_app.ui.job import Job

_CHECKUPS: WeakKeyDictionary[Library, Job] = WeakKeyDictionary()
_BEGINNING = threading.Lock()


def of(library: Library) -> Job | None:
    """The check that runs, or the last one of this process."""
    return _CHECKUPS.get(library)


def begin(library: Library, manner: Manner) -> Job:
    """Check a library, unless that is being done already; stopped, the check before it stays."""

    def work(tell: Callable[[int, int], None], stop: threading.Event) -> None:
        check(library, manner=manner, progress=tell, stop=stop)

    with _BEGINNING:
        now = _CHECKUPS.get(library)
        if now is None or not now.running:
            now = _CHECKUPS[library] = Job("rag-app-check", work)
        return now
