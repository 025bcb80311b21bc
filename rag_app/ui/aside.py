"""What has to happen on the page when a document's page or the search is opened.

On a phone the panel on the left is put away; everywhere the new page is shown from its top."""

from __future__ import annotations

import streamlit as st

_JS = r"""
let last = null, holding = false;
const scroller = () => document.querySelector('.stMain');
const hold = () => { if (holding && scroller()?.scrollTop) scroller().scrollTo(0, 0); };
const keepHolding = until => {  // for a moment at every frame: it is pulled down at every frame
  hold();
  if (holding && performance.now() < until) requestAnimationFrame(() => keepHolding(until));
};
// The chat's scroller follows its end while it grows; a page is read from its top.
document.addEventListener('scroll', event => { if (event.target === scroller()) hold(); },
  { capture: true, passive: true });
for (const moved of ['wheel', 'touchmove', 'keydown', 'pointerdown'])
  document.addEventListener(moved, () => { holding = false; }, { capture: true, passive: true });
export default function ({ data }) {
  const now = data.view + '|' + data.questions, before = last;
  if (now === before) return;
  last = now;
  if (before === null) return;
  holding = !!data.view;
  keepHolding(performance.now() + 3000);
  if (!matchMedia('(max-width: 768px)').matches) return;
  if (document.querySelector('[data-testid="stSidebar"][data-collapsed="false"]'))
    document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
}
"""

_aside = st.components.v2.component("rag_app_aside", html="<i hidden></i>", js=_JS)


def opened(view: str, questions: int) -> None:
    """Say which page is shown (empty: the conversation), and how many questions there are."""
    _aside(key="aside", data={"view": view, "questions": questions})
