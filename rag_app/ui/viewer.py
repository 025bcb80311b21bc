"""A page to look at: its picture with boxes over the quoted lines, or its text made readable.

The first box or mark is scrolled into view. What comes in is data and escaped text only."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from rag_app.text.highlighting import Area
from rag_app.types import PagePicture
from rag_app.ui import texts, texts_answers
from rag_app.ui.style import asset

KEY = "viewer"

_HTML = '<div id="view" tabindex="-1"></div>'

_viewer = st.components.v2.component(
    "rag_app_viewer", html=_HTML, css=asset("viewer.css"), js=asset("viewer.js")
)


@dataclass(frozen=True, slots=True)
class View:
    """What is shown: `id` names it (the same again is left as it is), `label` is read aloud."""

    id: str
    label: str
    focus: bool = False


@dataclass(frozen=True, slots=True)
class Quoted:
    """Where a quote stands on a picture, and its number; 0: it has none."""

    areas: tuple[Area, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True)
class Marks:
    """What lies on a picture: the quote that is looked at, paler other quotes, a line beside what
    was read, and the text, which can be selected."""

    quote: Quoted = Quoted()
    others: Sequence[Quoted] = ()
    passage: Quoted = Quoted()
    lines: Sequence[tuple[str, Area]] = ()


def show_picture(
    view: View,
    picture: PagePicture,
    marks: Marks,
    on_close: Callable[[], None],
) -> None:
    """Draw a page's picture with what is marked on it, and its text where it stands."""
    data = {
        "webp": base64.b64encode(picture.webp).decode("ascii"),
        "width": picture.width,
        "height": picture.height,
        "larger": texts.LARGER,
        "smaller": texts.SMALLER,
        "quote": _numbers(marks.quote),
        "others": [numbers for other in marks.others for numbers in _numbers(other)],
        "passage": _numbers(marks.passage),
        "lines": [[*_rounded(area), text] for text, area in marks.lines],
    }
    _mount(view, data, on_close)


def show_text(view: View, marked: str, on_close: Callable[[], None]) -> None:
    """Draw text that `readable` made safe."""
    _mount(view, {"marked": marked}, on_close)


def _numbers(quoted: Quoted) -> list[list[float]]:
    """Left, top, width, height and, of the first area only, the number to be shown beside it."""
    return [
        [*_rounded(one), number]
        for one, number in zip(quoted.areas, [quoted.number, *[0] * 999], strict=False)
    ]


def _rounded(area: Area) -> list[float]:
    return [round(n, 3) for n in (area.left, area.top, area.width, area.height)]


def _mount(view: View, data: dict[str, Any], on_close: Callable[[], None]) -> None:
    _viewer(key=KEY, data=dataclasses.asdict(view) | data, on_close_change=on_close)


# Footnotes: one listener for every citation link on the page, however old its answer is.
#
# Hovering or focusing a link shows its quote on a card; a click or Enter reports which one it was.
# Answers stay plain Markdown and cost nothing; without JavaScript the browser's tooltip remains.

CITES_KEY = "cites"

_CITES_HTML = '<div id="card" popover="manual" role="tooltip"><b></b><q></q></div>'

_listener = st.components.v2.component(
    "rag_app_cites", html=_CITES_HTML, css=asset("citations.css"), js=asset("citations.js")
)


def clicked() -> str | None:
    """The citation that was just clicked: what stands in its link after `#cite:`.

    It comes from the browser, so it may be anything."""
    gone = {"gone": texts_answers.SOURCE_REMOVED}
    value = _listener(key=CITES_KEY, data=gone, on_open_change=lambda: None).open
    return value if isinstance(value, str) else None
