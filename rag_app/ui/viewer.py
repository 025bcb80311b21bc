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

KEY = "viewer"

_HTML = '<div id="view" tabindex="-1"></div>'

_CSS = """
#view { outline: none; color: var(--st-text-color); font: 400 1rem/1.65 var(--st-font); }
#scroll { overflow-x: auto; border-radius: .5rem; }
#zoom { position: sticky; bottom: .75rem; z-index: 2; display: flex; justify-content: flex-end;
  gap: .35rem; margin-top: -2.9rem; padding: 0 .6rem .6rem; pointer-events: none; }
#zoom button { pointer-events: auto; box-shadow: 0 .1rem .6rem rgb(0 0 0 / .18);
  width: 2.5rem; height: 2.5rem; border: 1px solid var(--st-border-color);
  border-radius: .5rem; background: var(--st-background-color); color: var(--st-text-color);
  font: 400 1.2rem/1 var(--st-font); cursor: pointer; }
#zoom button:disabled { color: color-mix(in srgb, var(--st-text-color) 45%, transparent);
  cursor: default; }
#zoom button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
#sheet { position: relative; background: #fff; border-radius: .5rem;
  overflow: hidden; box-shadow: 0 0 0 1px rgb(0 0 0 / .08), 0 .25rem 1.25rem rgb(0 0 0 / .1); }
#sheet img { display: block; width: 100%; }
.box { position: absolute; border-radius: 2px; mix-blend-mode: multiply; }
.box.quote { background: #ffdf5e; box-shadow: 0 0 0 1px #e5b800; }
.box.other { background: #fff3bf; }
.tag { position: absolute; transform: translate(-55%, -62%); padding: 0 .4em; z-index: 1;
  border-radius: .5em; background: #2f5bd0; color: #fff; font: 600 .62rem/1.4 var(--st-font); }
.tag.other { background: #6b7280; }
#words { padding: .6rem 1.4rem; border: 1px solid var(--st-border-color); border-radius: .5rem;
  background: var(--st-background-color); overflow-wrap: anywhere; }
#words p { margin: .7rem 0; white-space: pre-wrap; unicode-bidi: plaintext; }
#words :is(h3, h4, h5, h6) { margin: 1.2rem 0 .5rem; font-size: 1.02rem; font-weight: 650;
  line-height: 1.35; }
#words h3 { font-size: 1.15rem; }
#words .cut { text-align: center; opacity: .6; }
#words dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem .9rem;
  margin: .8rem 0 1rem; padding-bottom: .9rem; border-bottom: 1px solid var(--st-border-color);
  font-size: .875rem; }
#words dt { opacity: .7; }
#words dd { margin: 0; }
.rows { overflow: auto; max-height: min(34rem, 68vh); margin: .7rem 0;
  border: 1px solid var(--st-border-color); border-radius: .5rem; }
.rows table { border-collapse: separate; border-spacing: 0; font-size: .85rem; line-height: 1.45;
  min-width: 100%; overflow-wrap: normal; }
.rows :is(th, td) { padding: .35rem .7rem; text-align: start; vertical-align: top;
  border-bottom: 1px solid var(--st-border-color); max-width: 26rem; }
.rows th { position: sticky; top: 0; z-index: 1; font-weight: 600; white-space: nowrap;
  background: var(--st-secondary-background-color); }
.rows tr:last-child td { border-bottom: 0; }
.rows .number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
.rows tr.cited > * { background: #ffe58a; color: #1d1b16; }
.rows tr.other > td { background: color-mix(in srgb, #ffe58a 30%, transparent); }
.rows tr.cited mark { background: #ffcf33; }
mark { background: #ffe58a; color: #1d1b16; border-radius: .2em; padding: .05em .1em;
  box-decoration-break: clone; -webkit-box-decoration-break: clone; }
mark.other { background: color-mix(in srgb, #ffe58a 38%, transparent); color: inherit; }
"""

_JS = r"""
const boxes = (sheet, areas, kind) => areas.map(([left, top, width, height, number]) => {
  const box = document.createElement('div');
  box.className = 'box ' + kind;
  Object.assign(box.style, { left: left + '%', top: top + '%', width: width + '%',
                             height: height + '%' });
  sheet.append(box);
  if (number) {  // at the first line of each quote
    const tag = document.createElement('div');
    tag.className = 'tag ' + kind;
    tag.textContent = number;
    Object.assign(tag.style, { left: left + '%', top: top + '%' });
    sheet.append(tag);
  }
  return box;
});
const ZOOMS = [100, 150, 225, 340];  // per cent of the width that is there
const zoom = (scroll, sheet, data) => {
  const bar = document.createElement('div');
  let now = 0;
  bar.id = 'zoom';
  const buttons = [[data.smaller, '\u2212', -1], [data.larger, '+', 1]].map(([label, sign, by]) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = sign;
    button.title = label;
    button.setAttribute('aria-label', label);
    button.onclick = () => {
      const middle = (scroll.scrollLeft + scroll.clientWidth / 2) / sheet.offsetWidth;
      now = Math.max(0, Math.min(ZOOMS.length - 1, now + by));
      sheet.style.width = ZOOMS[now] + '%';
      scroll.scrollLeft = middle * sheet.offsetWidth - scroll.clientWidth / 2;
      const [first] = sheet.getElementsByClassName('quote');
      first?.scrollIntoView({ block: 'center', inline: 'center' });
      bounds();
    };
    bar.append(button);
    return button;
  });
  const bounds = () => {
    buttons[0].disabled = now === 0;
    buttons[1].disabled = now === ZOOMS.length - 1;
  };
  bounds();
  return bar;
};
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
  view.replaceChildren(scroll, zoom(scroll, sheet, data));
  boxes(sheet, data.others, 'other');
  return boxes(sheet, data.quote, 'quote')[0];
};
const words = (view, data) => {
  const block = document.createElement('div');
  block.id = 'words';
  block.innerHTML = data.marked;  // escaped by rag_app.export.readable
  view.replaceChildren(block);
  return block.querySelector('tr.cited, mark:not(.other)') || block.querySelector('mark');
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
    const inline = first?.tagName === 'TR' ? 'nearest' : 'center';  // a row is read from its name
    if (first) first.scrollIntoView({ block: 'center', inline });
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


@dataclass(frozen=True, slots=True)
class Quoted:
    """Where a quote stands on a picture, and its number; 0: it has none."""

    areas: tuple[Area, ...] = ()
    number: int = 0


def show_picture(
    view: View,
    picture: PagePicture,
    quote: Quoted,
    others: Sequence[Quoted],
    on_close: Callable[[], None],
) -> None:
    """Draw a page's picture with the quote's areas, and paler those of other quotes."""
    data = {
        "webp": base64.b64encode(picture.webp).decode("ascii"),
        "width": picture.width,
        "height": picture.height,
        "larger": texts.LARGER,
        "smaller": texts.SMALLER,
        "quote": _numbers(quote),
        "others": [numbers for other in others for numbers in _numbers(other)],
    }
    _mount(view, data, on_close)


def show_text(view: View, marked: str, on_close: Callable[[], None]) -> None:
    """Draw text that `readable` made safe."""
    _mount(view, {"marked": marked}, on_close)


def _numbers(quoted: Quoted) -> list[list[float]]:
    """Left, top, width, height and, of the first area only, the number to be shown beside it."""
    return [
        [*(round(n, 3) for n in (one.left, one.top, one.width, one.height)), number]
        for one, number in zip(quoted.areas, [quoted.number, *[0] * 999], strict=False)
    ]


def _mount(view: View, data: dict[str, Any], on_close: Callable[[], None]) -> None:
    _viewer(key=KEY, data=dataclasses.asdict(view) | data, on_close_change=on_close)


# Footnotes: one listener for every citation link on the page, however old its answer is.
#
# Hovering or focusing a link shows its quote on a card; a click or Enter reports which one it was.
# Answers stay plain Markdown and cost nothing; without JavaScript the browser's tooltip remains.

CITES_KEY = "cites"

_CITES_HTML = '<div id="card" popover="manual" role="tooltip"><b></b><q></q></div>'

_CITES_CSS = """
#card { position: fixed; inset: auto; margin: 0; max-width: min(26rem, calc(100vw - 1rem));
  padding: .75rem .9rem; border: 1px solid var(--st-border-color); border-radius: .75rem;
  background: var(--st-background-color); color: var(--st-text-color);
  box-shadow: 0 .5rem 2rem rgb(0 0 0 / .16); font: 400 .875rem/1.5 var(--st-font);
  pointer-events: none; overflow-wrap: anywhere; unicode-bidi: isolate; }
#card b { display: block; margin-bottom: .25rem; font-weight: 600; font-size: .8rem; opacity: .75; }
#card q { quotes: "“" "”"; }
#card.gone q { quotes: none; font-style: italic; }
"""

# The cleanup of an earlier call is not run when data or theme change: hence the AbortController.
_CITES_JS = r"""
const SELECTOR = 'a[href^="#cite:"]';
const SPLIT = ' — ';
export default function ({ data, parentElement, setTriggerValue }) {
  parentElement.__listening?.abort();
  const controller = parentElement.__listening = new AbortController();
  const on = { signal: controller.signal };
  const card = parentElement.querySelector('#card');
  let current = null, last = null;
  const link = event => event.target instanceof Element ? event.target.closest(SELECTOR) : null;
  const hide = () => { if (card.matches(':popover-open')) card.hidePopover(); };
  const place = () => {
    const at = current.getBoundingClientRect();
    if (!current.isConnected || at.bottom < 0 || at.top > innerHeight) return hide();
    const size = card.getBoundingClientRect();
    card.style.left = Math.max(8, Math.min(at.left - 12, innerWidth - size.width - 8)) + 'px';
    const above = at.top > size.height + 12;
    card.style.top = (above ? at.top - size.height - 6 : at.bottom + 6) + 'px';
  };
  const show = anchor => {
    if (anchor.title) {
      anchor.dataset.said = anchor.title;
      anchor.removeAttribute('title');
      anchor.setAttribute('aria-description', anchor.dataset.said);
    }
    const said = anchor.dataset.said;
    if (!said) return;
    const cut = said.indexOf(SPLIT), gone = said.endsWith(' —');  // nothing is quoted any more
    const [where, quote] = gone ? [said.slice(0, -2), data.gone]
      : cut < 0 ? ['', said] : [said.slice(0, cut), said.slice(cut + SPLIT.length)];
    card.querySelector('b').textContent = where;
    card.querySelector('q').textContent = quote;
    card.classList.toggle('gone', gone);
    current = anchor;
    card.showPopover();
    place();
  };
  const hold = anchor => {  // the chat gets narrower beside the source: the marker stays in place
    const scroller = anchor.closest('.stMain'), y = anchor.getBoundingClientRect().top;
    const block = anchor.closest('.stMainBlockContainer');
    if (!scroller || !block) return;
    const observer = new ResizeObserver(() => {
      scroller.scrollTop += anchor.getBoundingClientRect().top - y;
    });
    observer.observe(block);
    setTimeout(() => observer.disconnect(), 1500);
  };
  const back = () => setTimeout(() => {
    if (last?.isConnected) last.focus({ preventScroll: true });
  }, 250);
  document.addEventListener('pointerover', event => {
    const anchor = link(event);
    anchor ? show(anchor) : hide();
  }, on);
  document.addEventListener('focusin', event => { const a = link(event); if (a) show(a); }, on);
  document.addEventListener('focusout', event => { if (link(event)) hide(); }, on);
  document.addEventListener('keydown', event => { if (event.key === 'Escape') hide(); }, on);
  document.addEventListener('scroll', () => { if (card.matches(':popover-open')) place(); },
    { ...on, capture: true, passive: true });
  document.addEventListener('click', event => {
    if (event.target instanceof Element && event.target.closest('.st-key-source_close')) back();
    const anchor = link(event);
    if (!anchor || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    hide();
    hold(anchor);
    last = anchor;
    setTriggerValue('open', anchor.getAttribute('href').slice('#cite:'.length));
  }, { ...on, capture: true });
  document.addEventListener('rag-app-source-closed', back, on);
  return () => controller.abort();
}
"""

_listener = st.components.v2.component(
    "rag_app_cites", html=_CITES_HTML, css=_CITES_CSS, js=_CITES_JS
)


def clicked() -> str | None:
    """The citation that was just clicked: what stands in its link after `#cite:`.

    It comes from the browser, so it may be anything."""
    gone = {"gone": texts_answers.SOURCE_REMOVED}
    value = _listener(key=CITES_KEY, data=gone, on_open_change=lambda: None).open
    return value if isinstance(value, str) else None
