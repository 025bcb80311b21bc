"""Work that nobody waits for gives way to work that somebody does."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

_NICE = 10  # of 19


def give_way() -> None:
    """From now on this thread, and threads that it begins, get what is left of the processor.

    On Linux only: elsewhere all threads of a process are equal."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
