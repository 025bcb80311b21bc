"""How the page looks beyond what the theme in .streamlit/config.toml can say, and what happens in
the browser: what is in view, keys, and lists of places that can be opened.

Rules and scripts are files under `assets/`; layout.css begins with what they may hold on to."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import ParamSpec

import streamlit as st
from PIL import Image, ImageDraw
from streamlit.runtime.scriptrunner import get_script_run_ctx

from rag_app.ui import texts, texts_answers, texts_library
from rag_app.ui.state import current

# Later ones win where two say something of the same element.
_SHEETS = ("layout", "documents", "pages", "chat", "welcome", "source", "answers", "library")


@cache
def asset(name: str) -> str:
    """A CSS or JavaScript file of the package, as text."""
    return (files("rag_app.ui") / "assets" / name).read_text(encoding="utf-8")


@cache
def css() -> str:
    """All rules of the page as one <style> element; the words in them come from the texts."""
    words = {"drop-here": texts.DROP_HERE, "folder-here": texts_library.FOLDER_HERE}
    # A JSON string is a CSS string as long as nothing in it is escaped.
    said = "".join(f"--{name}: {json.dumps(text)}; " for name, text in words.items())
    rules = "".join(asset(f"{sheet}.css") for sheet in _SHEETS)
    return f"<style>:root {{ {said}}}\n{rules}</style>"


@cache
def icon() -> str:
    """The page's icon as the address of itself, drawn here: a sheet with one line marked.

    A named one would be fetched, and files of the app are only for who is signed in."""
    image = Image.new("RGBA", (64, 64))
    pen = ImageDraw.Draw(image)
    pen.rounded_rectangle((10, 4, 54, 60), 8, fill="#2f5bd0")
    for top, colour in ((16, "#ffffff"), (28, "#ffd84d"), (40, "#ffffff")):
        pen.rounded_rectangle((18, top, 46, top + 6), 3, fill=colour)
    written = io.BytesIO()
    image.save(written, "PNG")
    return f"data:image/png;base64,{base64.b64encode(written.getvalue()).decode('ascii')}"


def moved() -> bool:
    """Whether the browser's Back or Forward brought this run of the page.

    That the address is another one does not tell: a browser that has not heard of the latest yet
    sends the one before."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.is_history_navigation


P = ParamSpec("P")


def fragment(draw: Callable[P, None], key: str, every: float | None = None) -> Callable[P, None]:
    """As `st.fragment`, every so many seconds, in a container of its own (`key` is the page's).

    Streamlit throws away what a fragment drew and the browser has not got yet when the fragment is
    run again. Where others stand beside it they then move to its place, and are drawn over, or the
    page breaks ("Bad delta path index")."""

    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        with st.container(key=f"alone-{key}"):
            st.fragment(draw, run_every=every)(*args, **kwargs)

    return drawn


# The end of the conversation stays in view while answers grow, until somebody looks elsewhere.
#
# Streamlit does this for a field for questions that stands by itself; ours is in a part of the page
# that is drawn anew alone.

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


def in_sight(key: str, inside: str, chosen: str) -> bool:
    """Whether the list in which this is drawn is open. Call it in a fragment inside the list.

    `inside`: the list's key; it closes when another of its entries is `chosen`."""
    shown = bool(st.session_state.get(key, {}).get("shown"))
    data = {"shown": shown, "list": inside, "chosen": chosen}
    _in_sight(key=key, data=data, on_shown_change=lambda: None)
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
    """Listen for keys, everywhere but where something is being written; for "?" alone if the
    others are turned off."""
    listens = current().keys
    _keys(
        key="shortcuts",
        data={
            "listens": listens,
            "presses": PRESSES,
            "groups": [
                [group, list(each.items())] for group, each in texts_answers.SHORTCUTS.items()
            ],
            "help": list(texts_answers.HELP.items()),
            "title": texts_answers.HELP_TITLE,
            "keyboard": texts_answers.SHORTCUTS_TITLE,
            "note": texts_answers.SHORTCUTS_NOTE if listens else texts_answers.SHORTCUTS_OFF,
            "close": texts_answers.HELP_CLOSE,
        },
    )


# Files that are dropped anywhere on the page are taken as if they had been dropped on their line.

_drops = st.components.v2.component(
    "rag_app_drops", html="<i hidden></i>", js=asset("drop_anywhere.js")
)


def take_drops() -> None:
    """Give what is dropped beside the fields that take files to the line for them."""
    _drops(key="drops", data={"line": PRESSES["u"]})


# A list of places that can be opened: an outline, sentences of a summary, hits of a search.
#
# One component for as many rows as there are; a click or Enter reports which one it was. What comes
# in is shown as text, never as markup.

_OPENS_PLACES = asset("opens_places.js")

_list = st.components.v2.component(
    "rag_app_listing",
    html='<ol id="list"></ol>',
    css=asset("listing.css"),
    js=_OPENS_PLACES + asset("listing.js"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One place: its text with the spans that are marked, what stands beside it, how deep it is;
    `lead` stands before it in a column of its own."""

    text: str
    note: str = ""
    marks: Sequence[tuple[int, int]] = ()
    level: int = 1
    lead: str = ""


def show_list(
    key: str, label: str, rows: Sequence[Row], on_open: Callable[[int], None], small: bool = False
) -> None:
    """Draw the rows; `on_open` gets the number of the one that is clicked."""
    data = {
        "label": label,
        "small": small,
        "rows": [
            {
                "parts": _parts(row),
                "note": row.note,
                "lead": row.lead,
                "level": max(1, min(4, row.level)),
            }
            for row in rows
        ],
    }

    def clicked() -> None:
        number = row_of(st.session_state[key].open, len(rows))
        if number is not None:
            on_open(number)

    _list(key=key, data=data, on_open_change=clicked)


# A map of a document: its title in the middle, the parts of its outline on both sides, joined by
# lines. It is a list to who hears it read and to whoever goes through it by keys.

_map = st.components.v2.component(
    "rag_app_map",
    html='<div id="map"></div>',
    css=asset("mind_map.css"),
    js=_OPENS_PLACES + asset("mind_map.js"),
)


@dataclass(frozen=True, slots=True)
class Branch:
    """A part of a document: its heading, those under it, and topics, each with a number that is
    reported when it is clicked; `more` says what is left out."""

    title: tuple[int, str]
    note: str = ""
    headings: Sequence[tuple[int, str]] = ()
    topics: Sequence[tuple[int, str]] = ()
    more: str = ""


def show_map(
    key: str, label: str, root: str, branches: Sequence[Branch], on_open: Callable[[int], None]
) -> None:
    """Draw the branches around the root; `on_open` gets the number of what is clicked."""
    data = {"label": label, "root": root, "branches": [asdict(one) for one in branches]}
    numbers = {number for one in branches for number, _ in (one.title, *one.headings, *one.topics)}

    def clicked() -> None:
        number = row_of(st.session_state[key].open, max(numbers, default=-1) + 1)
        if number in numbers:
            on_open(number)

    _map(key=key, data=data, on_open_change=clicked)


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
