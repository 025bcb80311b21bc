"""Streamlit's command line, with our modules loaded beside it: `python -m rag_app.ui.start run …`.

Streamlit runs the app's script when the first browser comes. What takes a second to import is
there by then."""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import signal
import sys
import threading

# Nothing of Streamlit's: that is the main thread's.
_AHEAD = ("rag_app.library", "chromadb", "pandas", "altair")
_LANGUAGES = "rag_app.text.languages"

_ended = threading.Event()


def _load() -> None:
    for name in _AHEAD:
        importlib.import_module(name)
    importlib.import_module(_LANGUAGES).warm()  # half a second of the first question


_ahead = threading.Thread(target=_load, name="rag-app-ahead", daemon=True)


def _end(*_: object) -> None:
    """The server, which has ended by then, passes a signal on: who asked for it gets no failure."""
    if _ahead.is_alive():
        # Nothing is open yet, and Python can hang at its end while a thread loads native code.
        os._exit(0)
    _ended.set()
    sys.exit(0)


def _leave() -> None:
    """Go without taking Python apart, once all else that was to be done at the end is done.

    Python ends a thread that wants the interpreter then by unwinding it; inside native code of
    C++, as the models' is, that aborts the process ("terminate called without an active exception",
    github.com/pytorch/pytorch/issues/38228)."""
    if _ended.is_set():
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    atexit.register(_leave)  # before anything else is imported: what is registered first runs last
    from streamlit.web.cli import main

    for asked in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asked, _end)
    _ahead.start()
    main(prog_name="streamlit")
