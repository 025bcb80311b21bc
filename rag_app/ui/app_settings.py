"""The settings of the served page: they are the same for the server and for what it draws."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import streamlit as st

from rag_app.settings import Settings


def settings() -> Settings:
    """Settings from the environment, and what was given after `--` before them.

    The top level of .streamlit/secrets.toml counts as environment: that is where keys may stand."""
    st.secrets.load_if_toml_exists()
    return Settings.load(**_given())


def _given() -> dict[str, Any]:
    """Settings by name; None: not given."""
    parser = argparse.ArgumentParser(prog="rag-app", add_help=False, allow_abbrev=False)
    parser.add_argument("--data-dir")
    parser.add_argument("--api", action="store_true", default=None)
    known, _ = parser.parse_known_args(sys.argv[1:])
    return vars(known)
