"""Pictures of pages, kept for a while for all sessions."""

from __future__ import annotations

import streamlit as st

from rag_app.library import Library
from rag_app.types import PagePicture


@st.cache_data(max_entries=64, show_spinner=False)
def picture(_library: Library, document_id: str, number: int) -> PagePicture | None:
    """The page as it looks; None if the format has no looks."""
    return _library.picture(document_id, number)


def forget() -> None:
    """Deleted means gone: call it when a document is removed."""
    picture.clear()
