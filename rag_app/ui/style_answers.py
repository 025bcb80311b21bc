"""How answers look, and what stands around them. A part of style.py, which has grown long."""

from __future__ import annotations

ANSWERS = """
.st-key-actions_listener, .st-key-thumbs_listener { position: absolute; width: 0 !important; }
.near + .how { margin-top: .6rem; }
/* Addresses are text of their own, so that nothing links them; that is not to be seen. */
.stMarkdownColoredText { color: inherit !important; }
/* Bringing a quote into view must not move the page sideways. */
[data-testid="stAppViewContainer"] { overflow: clip !important; }
.acts { display: flex; flex-wrap: wrap; align-items: center; gap: .1rem; margin: .15rem 0 0 -.4rem;
  color: var(--soft); }
.acts button { position: relative; display: inline-flex; align-items: center; height: 2rem;
  min-width: 2rem; padding: 0 .4rem; border: 0; border-radius: .55rem; background: transparent;
  color: inherit; font: inherit; font-size: .8rem; cursor: pointer; }
.acts button::before { font: 400 1.15rem/1 "Material Symbols Rounded"; letter-spacing: normal;
  font-feature-settings: "liga"; -webkit-font-smoothing: antialiased; }
.acts button > span { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; }
.acts button:hover, .acts button[aria-expanded="true"] { background: var(--wash);
  color: light-dark(#1f2430, #e7e9ee); }
.acts button:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.acts button[aria-pressed="true"] { color: var(--accent); background: var(--wash); }
.acts button[aria-pressed="true"]::before { font-variation-settings: "FILL" 1; }
.acts [data-act^="up:"]::before { content: "thumb_up" / ""; }
.acts [data-act^="down:"]::before { content: "thumb_down" / ""; }
.acts [data-act^="copy:"]::before { content: "content_copy" / ""; }
.acts [data-act^="copy:"].done::before { content: "check" / ""; }
.acts [data-act^="again:"]::before { content: "refresh" / ""; }
.acts [data-act^="edit:"]::before { content: "edit" / ""; }
.acts [data-act^="why:"]::before { content: "help" / ""; }
.acts [data-act^="why:"] { gap: .35rem; padding-right: .65rem; }
.acts [data-act^="why:"] > span { position: static; width: auto; height: auto; clip-path: none; }
.acts button:not([data-act^="why:"]):is(:hover, :focus-visible)::after, .acts .done::after {
  content: attr(aria-label) / ""; position: absolute; bottom: calc(100% + .3rem); left: 0;
  z-index: 3; padding: .25rem .5rem; border-radius: .45rem; white-space: nowrap;
  pointer-events: none; font-size: .75rem; background: light-dark(#1f2430, #e7e9ee);
  color: light-dark(#ffffff, #15171c); }
.acts button[data-tip]::after { content: attr(data-tip) / "" !important; }
.to-copy { display: none; }
.removed { color: var(--soft); }
.st-key-reason, [data-testid="stForm"]:has(.st-key-reason_kind) { gap: .6rem; }
[data-testid="stForm"]:has(.st-key-reason_kind) { padding: .9rem 1rem; border-radius: .75rem;
  background: var(--tint); border: 1px solid var(--line); }
[data-testid="stChatMessage"]:has([class*="st-key-edited-"])
  > [data-testid="stChatMessageContent"] { flex: 1 1 auto; max-width: 100%; }
[class*="st-key-why-"] { padding: 1rem 1.1rem; border: 1px solid var(--line);
  border-radius: .75rem; background: var(--tint); }
.why { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.1rem;
  margin: 0 !important; padding: 0 !important; font-size: .875rem; line-height: 1.5; }
.why dt { color: var(--soft); font-weight: 400; margin: 0; padding: 0; }
.why dd { margin: 0; padding: 0; overflow-wrap: anywhere; }
[class*="st-key-why-"] .note { margin-top: .7rem; }
[class*="st-key-why-"] h4 { font-size: .875rem; font-weight: 600; margin: 1rem 0 0; padding: 0; }
.found ul { margin: .5rem 0 0; padding: 0; list-style: none; }
.found summary { padding: .5rem 0; font-size: .85rem; cursor: pointer; color: var(--accent);
  border-top: 1px solid var(--line); }
.found summary:focus-visible { outline: 2px solid var(--accent); }
.found li { margin: 0 !important; padding: .7rem 0 !important; font-size: .85rem;
  border-top: 1px solid var(--line); }
.found header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .6rem; }
.found header b { font-weight: 600; overflow-wrap: anywhere; }
.found header span, .found .score { color: var(--soft); }
.found header a { margin-left: auto; }
.found .score { display: flex; flex-wrap: wrap; align-items: center; gap: .1rem .9rem;
  margin: .2rem 0 .35rem; font-size: .8rem; }
.found .passage { font-size: .85rem; line-height: 1.5; max-height: 7.65rem; }
@media (max-width: 640px) {
  .why { grid-template-columns: 1fr; gap: 0; }
  .why dd { margin-bottom: .5rem; } }
.st-key-source_quotes { flex-wrap: nowrap !important; gap: .25rem !important; }
.st-key-source_quotes .where { margin: 0; font-size: .875rem; color: var(--soft);
  font-variant-numeric: tabular-nums; }
.st-key-source_quotes > [data-testid="stElementContainer"]:has(.where) { width: auto !important;
  flex: 0 0 auto; }
.st-key-quote_previous button p, .st-key-quote_next button p { font-size: 0; }
.gone { display: flex; gap: .6rem; align-items: baseline; padding: .8rem 1rem; margin: 0;
  border: 1px dashed var(--line); border-radius: .75rem; }
.gone b { white-space: nowrap; font-weight: 600; }
[class*="st-key-exporting-"], [class*="st-key-renaming-"], [class*="st-key-deleting-"] {
  padding: .25rem 0 .5rem; gap: .35rem !important; }
[data-testid="stPopoverBody"]:has(.st-key-conversation_words) { width: min(24rem, 94vw); }
[data-testid="stPopoverBody"] [class*="st-key-row-c"] [data-testid="stButton"] button
  :is(div, span) { justify-content: flex-start; }
[class*="st-key-row-c"] button:disabled p { color: light-dark(#1f2430, #e7e9ee);
  font-weight: 600; }
"""
