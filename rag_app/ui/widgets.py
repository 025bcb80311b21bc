"""Widgets in one call: buttons, the head of a page, one of many, tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any, TypeVar

import streamlit as st

from rag_app.text.highlighting import escape_markdown
from rag_app.ui import texts, texts_library
from rag_app.ui.jobs import Pace

Act = Callable[..., None]
K = TypeVar("K")
T = TypeVar("T")


def button(
    label: str, key: str, on_click: Act | None = None, *args: object, icon: str = "", **rest: Any
) -> bool:
    """As `st.button`; the icon is said by its bare name."""
    return st.button(label, key, on_click=on_click, args=args, icon=_icon(icon), **rest)


def text_button(
    label: str, key: str, on_click: Act | None = None, *args: object, **rest: Any
) -> bool:
    """A button without a frame."""
    return button(label, key, on_click, *args, type="tertiary", **rest)


def submit_button(
    label: str, key: str, on_click: Act, *args: object, icon: str = "", **rest: Any
) -> bool:
    """The same in a form."""
    return st.form_submit_button(
        label, key=key, on_click=on_click, args=args, icon=_icon(icon), **rest
    )


def _icon(name: str) -> str | None:
    return f":material/{name}:" if name else None


def progress_bar(pace: Pace, name: str, done: float, total: float, said: str) -> None:
    """How far something is, and how long it still takes; `name` is that of its pace."""
    left = pace.left(name, done, total)
    st.progress(texts.share(done, total), texts.left(said, left))


def page_head(title: str, key: str, leave: Act) -> None:
    """The way back to the conversation, and what the page is called."""
    text_button(texts_library.BACK, f"{key}_back", leave, icon="arrow_back")
    st.html(f"<h2 class='about'>{title}</h2>")


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A small table; the cells are HTML already."""
    head = "".join(f"<th>{escape(one)}</th>" for one in columns)
    body = "".join("<tr>" + "".join(f"<td>{one}</td>" for one in row) + "</tr>" for row in rows)
    inner = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f"<div class='cells' tabindex='0'><table>{inner}</table></div>"


def complain(sentence: str) -> None:
    """What went wrong in a part of the page, said there."""
    st.error(escape_markdown(sentence))


def choose(
    label: str, offered: Mapping[K, T], named: Callable[[T], str], key: str, empty: str
) -> T | None:
    """One of what is offered, by its id; `empty` is said while none is chosen."""
    if st.session_state.get(key) not in (None, *offered):
        del st.session_state[key]  # has gone since, by whomever
    picked = st.selectbox(
        label, list(offered), index=None, key=key, placeholder=empty,
        format_func=lambda one: named(offered[one]),
    )  # fmt: skip
    return None if picked is None else offered[picked]
