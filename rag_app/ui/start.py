"""Streamlit's command line, with our modules loaded beside it: `python -m rag_app.ui.start run …`.

Streamlit runs the app's script when the first browser comes. What takes a second to import is
there by then."""

from __future__ import annotations

import importlib
import threading

from streamlit.web.cli import main

_AHEAD = ("rag_app.library", "chromadb")  # nothing of Streamlit's: that is the main thread's


def _load() -> None:
    for name in _AHEAD:
        importlib.import_module(name)


if __name__ == "__main__":
    threading.Thread(target=_load, name="rag-app-ahead", daemon=True).start()
    main(prog_name="streamlit")
