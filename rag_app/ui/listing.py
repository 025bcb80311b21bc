"""A list of places that can be opened: an outline, sentences of a summary, hits of a search.

One component for as many rows as there are; a click or Enter reports which one it was. What comes
in is shown as text, never as markup."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from rag_app.ui.style import asset

_HTML = '<ol id="list"></ol>'

_list = st.components.v2.component(
    "rag_app_listing", html=_HTML, css=asset("listing.css"), js=asset("listing.js")
)


@dataclass(frozen=True, slots=True)
class Row:
    """One place: its text with the spans that are marked, what stands beside it, how deep it is."""

    text: str
    note: str = ""
    marks: Sequence[tuple[int, int]] = ()
    level: int = 1


def show(
    key: str, label: str, rows: Sequence[Row], on_open: Callable[[int], None], small: bool = False
) -> None:
    """Draw the rows; `on_open` gets the number of the one that is clicked."""
    data = {
        "label": label,
        "small": small,
        "rows": [
            {"parts": _parts(row), "note": row.note, "level": max(1, min(4, row.level))}
            for row in rows
        ],
    }

    def clicked() -> None:
        number = row_of(st.session_state[key].open, len(rows))
        if number is not None:
            on_open(number)

    _list(key=key, data=data, on_open_change=clicked)


def row_of(value: object, rows: int) -> int | None:
    """The row that the browser says was clicked, which may be anything; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < rows and value == int(value) else None


def _parts(row: Row) -> list[tuple[str, bool]]:
    """The text in pieces that are marked and pieces that are not."""
    parts: list[tuple[str, bool]] = []
    done = 0
    for start, end in row.marks:
        parts += [(row.text[done:start], False), (row.text[start:end], True)]
        done = end
    return [(text, marked) for text, marked in [*parts, (row.text[done:], False)] if text]
