"""The web app for Streamlit's own command: `streamlit run app.py -- --data-dir DIR`.

`rag-app` does the same from wherever it is installed. Without --data-dir the settings decide; looks
and safe defaults are in .streamlit/config.toml beside this file."""

from __future__ import annotations

from rag_app.ui.app_entry import run

run()
