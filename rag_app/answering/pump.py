"""A slow stream read in a thread of its own, so that whoever waits for it can stop at once."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rag_app.answering.generator import Cancelled

_LOOK = 0.05  # seconds between two looks at `cancelled`


@dataclass(frozen=True, slots=True)
class Ended:
    """The stream is over, or broke with an error."""

    error: Exception | None = None


def pumped(stream: Iterable[str], cancelled: Cancelled) -> Iterator[str | Ended]:
    """The items of `stream`, then `Ended`; nothing more once `cancelled()` is true.

    While nothing comes, an empty item every 50 ms: time to show what was kept back.
    When the caller lets go, the thread reads one more item at most and closes the stream."""
    items: queue.SimpleQueue[str | Ended] = queue.SimpleQueue()
    left = threading.Event()

    def read() -> None:
        source = iter(stream)
        try:
            for item in source:
                if left.is_set():
                    break
                items.put(item)
            items.put(Ended())
        except Exception as error:  # noqa: BLE001 - handed to the caller, who knows the source
            items.put(Ended(error))
        finally:
            close = getattr(source, "close", None)
            if close is not None:
                close()

    threading.Thread(target=read, name="rag-app-stream", daemon=True).start()
    try:
        while not cancelled():
            try:
                item = items.get(timeout=_LOOK)
            except queue.Empty:
                item = ""
            yield item
            if isinstance(item, Ended):
                return
    finally:
        left.set()
