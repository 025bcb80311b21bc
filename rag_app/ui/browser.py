"""The end of the conversation stays in view while answers grow, until somebody looks elsewhere.

Streamlit does this for a field for questions that stands by itself; ours is in a part of the page
that is drawn anew alone."""

from __future__ import annotations

import streamlit as st

_JS = r"""
const NEAR = 80;  // pixels
const SOON = 400;  // milliseconds from a wheel's turn to the last scrolling that comes of it
let questions = 0, following = true, watched = null, dragging = false, moved = -SOON;
const scroller = () => document.querySelector('.stMain');
const toEnd = () => {
  const main = scroller();
  if (main && questions && following) main.scrollTop = main.scrollHeight;
};
const grown = new ResizeObserver(toEnd);
// The browser scrolls by itself, too, where something above is drawn anew.
const move = ({ target }) => {
  if (!(target instanceof Element && target.matches('input, textarea'))) moved = performance.now();
};
for (const kind of ['wheel', 'touchmove', 'keydown'])
  document.addEventListener(kind, move, { capture: true, passive: true });
for (const kind of ['pointerdown', 'pointerup', 'pointercancel'])
  document.addEventListener(kind, event => {
    dragging = event.type === 'pointerdown';
    move(event);
  }, { capture: true, passive: true });
document.addEventListener('scroll', ({ target }) => {
  if (target === scroller() && (dragging || performance.now() - moved < SOON))
    following = target.scrollHeight - target.clientHeight - target.scrollTop < NEAR;
}, { capture: true, passive: true });
// What is opened in an answer is looked at where it is.
for (const used of ['pointerdown', 'keydown'])
  document.addEventListener(used, ({ target }) => {
    if (target instanceof Element && target.closest('.stMainBlockContainer')) following = false;
  }, { capture: true, passive: true });
export default function ({ data }) {
  const content = document.querySelector('.stMainBlockContainer');
  if (content && content !== watched) {
    grown.disconnect();
    grown.observe(watched = content);
  }
  if (data.questions !== questions) following = true;
  questions = data.questions;
  toEnd();
}
"""

_follow = st.components.v2.component("rag_app_follow", html="<i hidden></i>", js=_JS)


def end(questions: int) -> None:
    """Follow the end of a conversation of so many questions; of none, what is shown stays."""
    _follow(key="follow", data={"questions": questions})


# What has to happen on the page when a document's page or the search is opened.
#
# On a phone the panel on the left is put away; everywhere the new page is shown from its top. And
# where a dialog's button is gone once it was pressed, the focus stays in the dialog; it comes
# back to the question's field once that is open again.

_ASIDE_JS = r"""
let last = null;
// Whoever uses the keyboard would begin anew at the top of the page, and Escape would do nothing.
const LAYER = '[role="dialog"], [data-testid="stPopoverBody"]';
const FIELD = '[data-testid="stChatInputTextArea"]', pointer = matchMedia('(pointer: fine)');
let layer = null, used = null, height = 0, asking = false;
document.addEventListener('focusin', event => {
  used = event.target instanceof Element ? event.target : null;
  layer = used?.closest(LAYER) ?? null;
  height = used?.getBoundingClientRect().top ?? 0;
  asking = !!used?.matches(FIELD);
}, { capture: true, passive: true });
document.addEventListener('pointerdown', () => { asking = false; },
  { capture: true, passive: true });
const stay = () => {
  if (document.activeElement !== document.body || !used) return;
  if (asking) {  // the field was closed while an answer was made
    const field = document.querySelector(FIELD);
    if (field && !field.disabled && pointer.matches) field.focus({ preventScroll: true });
    return;
  }
  if (used.isConnected && !used.disabled || !layer?.isConnected) return;
  const far = one => Math.abs(one.getBoundingClientRect().top - height);
  const near = [...layer.querySelectorAll('button, textarea, input:not([type="radio"]), :checked')]
    .filter(one => !one.disabled && one.getClientRects().length)
    .sort((a, b) => far(a) - far(b))[0];
  (near ?? layer).focus({ preventScroll: true });
};
new MutationObserver(() => { if (layer || asking) requestAnimationFrame(stay); })
  .observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] });
export default function ({ data }) {
  const now = data.view + '|' + data.questions, before = last;
  if (now === before) return;
  last = now;
  if (before === null) return;
  if (data.view) document.querySelector('.stMain')?.scrollTo(0, 0);
  if (!matchMedia('(max-width: 768px)').matches) return;
  if (document.querySelector('[data-testid="stSidebar"][data-collapsed="false"]'))
    document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
}
"""

_aside = st.components.v2.component("rag_app_aside", html="<i hidden></i>", js=_ASIDE_JS)


def opened(view: str, questions: int) -> None:
    """Say which page is shown (empty: the conversation), and how many questions there are."""
    _aside(key="aside", data={"view": view, "questions": questions})
