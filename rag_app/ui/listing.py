"""A list of places that can be opened: an outline, sentences of a summary, hits of a search.

One component for as many rows as there are; a click or Enter reports which one it was. What comes
in is shown as text, never as markup."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

_HTML = '<ol id="list"></ol>'

_CSS = """
#list { list-style: none; margin: 0; padding: 0; font: 400 1rem/1.5 var(--st-font); }
li { margin: 0; }
button { all: unset; box-sizing: border-box; display: flex; align-items: baseline; gap: .75rem;
  width: 100%; padding: .4rem .6rem; border-radius: .5rem; cursor: pointer;
  color: var(--st-text-color); overflow-wrap: anywhere; unicode-bidi: plaintext; }
button:hover { background: color-mix(in srgb, var(--st-primary-color) 9%, transparent); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: -2px; }
button span:first-child { flex: 1; min-width: 0; }
.note { flex: 0 0 auto; max-width: 45%; font-size: .8rem; text-align: end; opacity: .78;
  font-variant-numeric: tabular-nums; }
mark { background: light-dark(#ffe58a, #6a5613); color: inherit; border-radius: .2em;
  padding: .05em .1em; box-decoration-break: clone; -webkit-box-decoration-break: clone; }
[data-level="2"] { padding-left: 1.7rem; font-size: .95rem; }
[data-level="3"] { padding-left: 2.8rem; font-size: .9rem; }
[data-level="4"] { padding-left: 3.9rem; font-size: .9rem; }
.small button { padding-block: .3rem; font-size: .95rem; }
"""

_JS = r"""
export default function ({ data, parentElement, setTriggerValue }) {
  const list = parentElement.querySelector('#list');
  const shown = JSON.stringify(data);
  parentElement.__listening?.abort();
  const on = { signal: (parentElement.__listening = new AbortController()).signal };
  const back = () => setTimeout(() => {
    const last = parentElement.__last;
    if (last?.isConnected) last.focus({ preventScroll: true });
    parentElement.__last = null;
  }, 300);
  document.addEventListener('rag-app-source-closed', back, on);
  document.addEventListener('click', event => {
    if (event.target instanceof Element && event.target.closest('.st-key-source_close')) back();
  }, { ...on, capture: true });
  list.onclick = event => {
    const button = event.target instanceof Element ? event.target.closest('button') : null;
    if (!button) return;
    parentElement.__last = button;
    setTriggerValue('open', Number(button.dataset.row));
  };
  if (list.dataset.shown === shown) return;
  list.dataset.shown = shown;
  list.setAttribute('aria-label', data.label);
  list.className = data.small ? 'small' : '';
  list.replaceChildren(...data.rows.map((row, number) => {
    const item = document.createElement('li'), button = document.createElement('button');
    const words = document.createElement('span');
    button.type = 'button';
    button.dataset.row = number;
    button.dataset.level = row.level;
    for (const [text, marked] of row.parts) {
      const part = document.createElement(marked ? 'mark' : 'span');
      part.textContent = text;
      words.append(part);
    }
    button.append(words);
    if (row.note) {
      const note = document.createElement('span');
      note.className = 'note';
      note.textContent = row.note;
      button.append(note);
    }
    item.append(button);
    return item;
  }));
  return () => parentElement.__listening?.abort();
}
"""

_list = st.components.v2.component("rag_app_listing", html=_HTML, css=_CSS, js=_JS)


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
