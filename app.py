"""The web app for Streamlit's own command: `streamlit run app.py -- --data-dir DIR`.

`rag-app` does the same from wherever it is installed. Without --data-dir the settings decide; looks
and safe defaults are in .streamlit/config.toml beside this file.

Streamlit uses this file twice: it serves the `app`, and runs the file to draw the page."""

from __future__ import annotations

if __name__ == "__main__":
    from rag_app.ui.app_entry import run

    run()
else:
    from streamlit.starlette import App

    from rag_app.ui import web_guard

    app = App(__file__, **web_guard.options())  # Streamlit looks for this call in the text
