"""The edge between this app and the person in front of it: every failure becomes one sentence.

The only place where any exception is caught. Ours say what to do next; anything else is our bug,
which is logged with its traceback and shown as a neutral line."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from rag_app.errors import RagAppError
from rag_app.export.conversation import export
from rag_app.library import Library
from rag_app.supervision import LongWork, Work
from rag_app.types import Added
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


_TOO_SOON = 1.0  # seconds in which a pace says nothing of the rest


class Pace:
    """How long what is looked at again and again will still take, as fast as it has been."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: dict[str, tuple[float, float]] = {}  # when, and how much was done then
        self._last: dict[str, tuple[float, float]] = {}  # how much was done, of how much

    def left(self, work: str, done: float, total: float) -> float | None:
        """Seconds until `done` is `total`; None as long as nothing is known of its speed."""
        before, of = self._last.get(work, (done, total))
        self._last[work] = done, total
        if work not in self._begun or done < before or total != of:  # it begins (anew)
            self._begun[work] = self._clock(), done
        began, first = self._begun[work]
        seconds = self._clock() - began
        known = done > first and seconds > _TOO_SOON
        return seconds / (done - first) * (total - done) if known else None


class Job(LongWork):
    """Whatever goes wrong is a sentence. Knows nothing of Streamlit."""

    def __init__(self, name: str, work: Work) -> None:
        super().__init__(name, caught(self._fail)(work))

    def _fail(self, sentence: str) -> None:
        self.error = sentence


class Exporting(Job):
    """A conversation becomes a web page; then `made` is the file. `of`: what it is made of, so that
    one can tell whether that is still so."""

    def __init__(self, library: Library, conversation: str, of: object) -> None:
        self.of = of
        self.made = b""
        self._library, self._conversation = library, conversation
        super().__init__("rag-app-export", self._export)

    def _export(self, tell: Callable[[int, int], None], _: threading.Event) -> None:
        self.made = export(self._library, self._conversation, "html", tell)


# One page of the web being fetched in a thread of its own, so that nothing waits for it.
#
# Knows nothing of Streamlit.


class Fetching(Job):
    """Fetches until it is done or stopped; then `added` is what came of it, or `error` why not.

    What is told of it is in bytes."""

    def __init__(self, library: Library, address: str, added_by: str = "") -> None:
        self.address, self._added_by = address, added_by
        self.added: Added | None = None
        self._library = library
        super().__init__("rag-app-fetch", self._fetch)

    @property
    def site(self) -> str:
        """Whom it is fetched from, as far as the address says."""
        given = self.address.strip()
        try:
            named = urlsplit(given if "://" in given else f"//{given}").hostname or given
        except ValueError:
            named = given
        return named.removeprefix("www.")[:60]

    @property
    def running(self) -> bool:
        """Whether it is still under way; one that was stopped is not waited for."""
        return super().running and not self.stopping

    def _fetch(self, tell: Callable[[int, int], None], stop: threading.Event) -> None:
        self.added = self._library.web.add(
            self.address, told=tell, cancelled=stop, added_by=self._added_by
        )
