"""A conversation as a file: as a web page with the highlighted pages, as Markdown, as JSON."""

from __future__ import annotations

from functools import partial

import streamlit as st

from rag_app.export.conversation import export, file_name
from rag_app.library import Library
from rag_app.store import Conversation
from rag_app.ui import texts_answers
from rag_app.ui.state import current


def draw(library: Library, one: Conversation) -> None:
    """A button for each format; a file is made when its button is pressed."""
    with st.container(key=f"exporting-{one.id}"):
        st.html(f"<p class='note'>{texts_answers.EXPORT_AS}</p>")
        with st.container(horizontal=True, gap="small"):
            for form, label in texts_answers.EXPORT_FORMATS.items():
                st.download_button(
                    label,
                    key=f"export-{form}-{one.id}",
                    data=partial(export, library, one.id, form),
                    file_name=file_name(one.title, form),
                    on_click="ignore",
                )
            st.button(
                texts_answers.EXPORT_CLOSE,
                key=f"export-close-{one.id}",
                type="tertiary",
                on_click=_close,
            )


def _close() -> None:
    current().exporting = None
