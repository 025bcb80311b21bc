"""The web app: settings, one shared library, the page."""

from __future__ import annotations

import argparse
import sys

import streamlit as st

from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.ui import page, texts
from rag_app.ui.jobs import caught

_PAGE_FIRST = 1.0  # seconds: loading models takes from whatever runs beside it


def run() -> None:
    """Draw the page once: what Streamlit's script has to do."""
    page.prepare()
    with caught(page.show_error):
        page.draw(open_library(settings()))


def settings() -> Settings:
    """Settings from the environment, and what was given after `--` before them.

    The top level of .streamlit/secrets.toml counts as environment: that is where keys may stand."""
    st.secrets.load_if_toml_exists()
    parser = argparse.ArgumentParser(prog="rag-app", add_help=False)
    parser.add_argument("--data-dir")
    given, _ = parser.parse_known_args(sys.argv[1:])
    return Settings.load(data_dir=given.data_dir)


@st.cache_resource(show_spinner=texts.OPENING, on_release=lambda library: library.close())
def open_library(chosen: Settings) -> Library:
    """The one library of this process, shared by all browser sessions."""
    library = Library(chosen)
    library.warm(after=_PAGE_FIRST)
    return library
