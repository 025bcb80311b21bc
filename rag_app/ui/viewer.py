"""A page to look at: its picture with boxes over the quoted lines, or its text with marks.

The first box or mark is scrolled into view. What comes in is data and escaped text only."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from rag_app.highlighting import Area
from rag_app.types import PagePicture

KEY = "viewer"

_HTML = '<div id="view" tabindex="-1"></div>'

_CSS = """
#view { outline: none; color: var(--st-text-color); font: 400 1rem/1.65 var(--st-font); }
#scroll { overflow-x: auto; border-radius: .5rem; }
#sheet { position: relative; min-width: 34rem; background: #fff; border-radius: .5rem;
  overflow: hidden; box-shadow: 0 0 0 1px rgb(0 0 0 / .08), 0 .25rem 1.25rem rgb(0 0 0 / .1); }
#sheet img { display: block; width: 100%; }
.box { position: absolute; border-radius: 2px; mix-blend-mode: multiply; }
.box.quote { background: #ffdf5e; box-shadow: 0 0 0 1px #e5b800; }
.box.other { background: #fff3bf; }
#words { padding: 1.25rem 1.4rem; border: 1px solid var(--st-border-color); border-radius: .5rem;
  background: var(--st-background-color); white-space: pre-wrap; overflow-wrap: anywhere;
  unicode-bidi: plaintext; }
mark { background: #ffe58a; color: #1d1b16; border-radius: .2em; padding: .05em .1em;
  box-decoration-break: clone; -webkit-box-decoration-break: clone; }
@media (min-width: 1000px) { #sheet { min-width: 0; } }
"""

_JS = r"""
const boxes = (sheet, areas, kind) => areas.map(([left, top, width, height]) => {
  const box = document.createElement('div');
  box.className = 'box ' + kind;
  Object.assign(box.style, { left: left + '%', top: top + '%', width: width + '%',
                             height: height + '%' });
  sheet.append(box);
  return box;
});
const picture = (view, data) => {
  const scroll = document.createElement('div'), sheet = document.createElement('div');
  const image = document.createElement('img');
  scroll.id = 'scroll';
  sheet.id = 'sheet';
  sheet.style.aspectRatio = data.width + ' / ' + data.height;
  image.alt = data.label;
  image.src = 'data:image/webp;base64,' + data.webp;
  sheet.append(image);
  scroll.append(sheet);
  view.replaceChildren(scroll);
  boxes(sheet, data.others, 'other');
  return boxes(sheet, data.quote, 'quote')[0];
};
const words = (view, data) => {
  const block = document.createElement('div');
  block.id = 'words';
  block.innerHTML = data.marked;  // escaped by rag_app.highlighting.mark
  view.replaceChildren(block);
  return block.querySelector('mark');
};
export default function ({ data, parentElement, setTriggerValue }) {
  const view = parentElement.querySelector('#view');
  view.onkeydown = event => {
    if (event.key !== 'Escape') return;
    document.dispatchEvent(new Event('rag-app-source-closed'));
    setTriggerValue('close', true);
  };
  if (view.dataset.shown === data.id) return;  // called again for a theme: stay where we are
  view.dataset.shown = data.id;
  view.setAttribute('aria-label', data.label);
  view.setAttribute('role', 'group');
  const first = (data.webp ? picture : words)(view, data);
  if (data.focus) view.focus({ preventScroll: true });
  requestAnimationFrame(() => {
    if (first) first.scrollIntoView({ block: 'center', inline: 'center' });
    else view.getRootNode().host?.closest('.st-key-source')?.scrollTo(0, 0);
  });
}
"""

_viewer = st.components.v2.component("rag_app_viewer", html=_HTML, css=_CSS, js=_JS)


@dataclass(frozen=True, slots=True)
class View:
    """What is shown: `id` names it (the same again is left as it is), `label` is read aloud."""

    id: str
    label: str
    focus: bool = False


def show_picture(
    view: View,
    picture: PagePicture,
    quote: Sequence[Area],
    others: Sequence[Area],
    on_close: Callable[[], None],
) -> None:
    """Draw a page's picture with the quote's areas, and paler those of other quotes."""
    data = {
        "webp": base64.b64encode(picture.webp).decode("ascii"),
        "width": picture.width,
        "height": picture.height,
        "quote": [_numbers(area) for area in quote],
        "others": [_numbers(area) for area in others],
    }
    _mount(view, data, on_close)


def show_text(view: View, marked: str, on_close: Callable[[], None]) -> None:
    """Draw text that `highlighting.mark` made safe."""
    _mount(view, {"marked": marked}, on_close)


def _numbers(area: Area) -> list[float]:
    return [round(n, 3) for n in (area.left, area.top, area.width, area.height)]


def _mount(view: View, data: dict[str, Any], on_close: Callable[[], None]) -> None:
    _viewer(key=KEY, data=dataclasses.asdict(view) | data, on_close_change=on_close)
