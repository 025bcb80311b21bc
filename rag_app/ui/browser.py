"""The end of the conversation stays in view while answers grow, until somebody looks elsewhere.

Streamlit does this for a field for questions that stands by itself; ours is in a part of the page
that is drawn anew alone."""

from __future__ import annotations

import streamlit as st

from rag_app.ui.style import asset

_follow = st.components.v2.component("rag_app_follow", html="<i hidden></i>", js=asset("follow.js"))


def end(questions: int) -> None:
    """Follow the end of a conversation of so many questions; of none, what is shown stays."""
    _follow(key="follow", data={"questions": questions})


# What has to happen on the page when a document's page or the search is opened.
#
# On a phone the panel on the left is put away; everywhere the new page is shown from its top. And
# where a dialog's button is gone once it was pressed, the focus stays in the dialog; it comes
# back to the question's field once that is open again.

_aside = st.components.v2.component(
    "rag_app_aside", html="<i hidden></i>", js=asset("view_change.js")
)


def opened(view: str, questions: int) -> None:
    """Say which page is shown (empty: the conversation), and how many questions there are."""
    _aside(key="aside", data={"view": view, "questions": questions})
