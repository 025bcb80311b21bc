"""The end of the conversation stays in view while answers grow, until somebody looks elsewhere.

Streamlit does this for a field for questions that stands by itself; ours is in a part of the page
that is drawn anew alone."""

from __future__ import annotations

import streamlit as st

from rag_app.ui import texts_answers
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


# What a closed list holds need not be drawn in every run of the page. A popover that reports itself
# (`on_change`) does so in the click that closes it; if that click presses something in another part
# of the page, Streamlit complains of two fragments at once and runs one of them.

_in_sight = st.components.v2.component(
    "rag_app_in_sight", html="<i hidden></i>", js=asset("in_sight.js")
)


def in_sight(key: str) -> bool:
    """Whether the list in which this is drawn is open. Call it in a fragment inside the list."""
    shown = bool(st.session_state.get(key, {}).get("shown"))
    _in_sight(key=key, data={"shown": shown}, on_shown_change=lambda: None)
    return shown


# Keys: every action of the page by one of them, listed under "?".

_keys = st.components.v2.component(
    "rag_app_keys", html="<dialog></dialog>", css=asset("keys.css"), js=asset("keys.js")
)

PRESSES = {
    "/": '[class*="st-key-question"] textarea',
    "u": '[class*="st-key-drop-"] input[type="file"]',
    "n": "new_conversation",
    "h": "conversations_list",
    "s": "search_open",
    "d": '[class*="st-key-name-"] button',
    "f": "filter",
    "t": "task_menu",
    "e": "export",
    "a": "who",
    ",": "settings",
    "y": '.acts [data-act^="copy:"]',
    "r": '.acts [data-act^="say:"]',
    "w": '.acts [data-act^="why:"]',
    "i": '.acts [data-act^="edit:"]',
    "m": '.acts [data-act^="again:"]',
    "g": '.acts [data-act^="up:"]',
    "b": '.acts [data-act^="down:"]',
    ".": '[class*="st-key-stop-"] button',
    "[": "source_previous",
    "]": "source_next",
    "k": "quote_previous",
    "j": "quote_next",
    "l": "source_find",
    "+": '[class*="st-key-source"] >>> [data-by="1"]',
    "-": '[class*="st-key-source"] >>> [data-by="-1"]',
    "o": "source_download",
    "x": "source_translate",
    "q": "source_close",
}
"""By key: what is pressed or written into, the key of a widget or a selector."""


def keys() -> None:
    """Listen for keys, everywhere but where something is being written."""
    _keys(
        key="shortcuts",
        data={
            "presses": PRESSES,
            "groups": [
                [group, list(each.items())] for group, each in texts_answers.SHORTCUTS.items()
            ],
            "title": texts_answers.SHORTCUTS_TITLE,
            "note": texts_answers.SHORTCUTS_NOTE,
            "close": texts_answers.SHORTCUTS_CLOSE,
        },
    )
