"""Streamlit's command line, with our modules loaded beside it: `python -m rag_app.ui.start run …`.

Streamlit runs the app's script when the first browser comes. What takes a second to import is
there by then."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading

from streamlit.web.cli import main

_AHEAD = ("rag_app.library", "chromadb")  # nothing of Streamlit's: that is the main thread's


def _load() -> None:
    for name in _AHEAD:
        importlib.import_module(name)


def _end(*_: object) -> None:
    """The server, which has ended by then, passes a signal on: who asked for it gets no failure."""
    if _ahead.is_alive():
        # Nothing is open yet, and Python can hang at its end while a thread loads native code.
        os._exit(0)
    sys.exit(0)


_ahead = threading.Thread(target=_load, name="rag-app-ahead", daemon=True)

if __name__ == "__main__":
    for asked in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asked, _end)
    _ahead.start()
    main(prog_name="streamlit")
