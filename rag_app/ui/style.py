"""How the page looks beyond what the theme in .streamlit/config.toml can say.

Colours are `light-dark(…)` pairs, which follow the theme at once. Hooks are our own keys
(`.st-key-…`) and Streamlit's test ids, never its generated class names."""

from __future__ import annotations

from functools import cache

from PIL import Image, ImageDraw

from rag_app.ui import texts, texts_library

# How answers look, and what stands around them. A part of style.py, which has grown long.

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


# How the pages look that are about the library as a whole. A part of style.py, which has grown
# long.

LIBRARY = """
button[kind^="primary"]:not(:disabled), button[kind^="primary"]:not(:disabled) p {
  color: light-dark(#ffffff, #15171c); }
/* What cannot be taken back is red. */
:is([class*="st-key-remove-"], [class*="st-key-delete-"], .st-key-clear_now) button:not(:disabled) {
  background: light-dark(#a3341f, #ffa893); border-color: light-dark(#a3341f, #ffa893); }
:is([class*="st-key-remove-"], [class*="st-key-delete-"], .st-key-clear_now) button:hover {
  background: light-dark(#86270f, #ffc2b3); border-color: light-dark(#86270f, #ffc2b3); }
/* Streamlit darkens the colour of what is open or pointed at, in the dark as well. */
.stApp button[kind="tertiary"]:is([aria-expanded="true"], :hover, :active),
.stApp [data-testid="stPopoverButton"]:is([aria-expanded="true"], :hover, :active) {
  color: var(--accent) !important; }
:is(.st-key-check, .st-key-folders) { gap: .8rem !important; }
:is(.st-key-check, .st-key-folders) h2.about { font-size: 1.5rem; font-weight: 650; margin: 0;
  padding: 0; letter-spacing: -.015em; line-height: 1.3; }
:is(.st-key-check, .st-key-folders) h3 { font-size: .95rem; font-weight: 600; margin: .6rem 0 0;
  padding: 0; overflow-wrap: anywhere; }
.st-key-check h4 { font-size: .875rem; font-weight: 600; margin: .4rem 0 0; padding: 0; }
:is(.st-key-check_back, .st-key-folders_back) button { color: var(--soft); padding-inline: 0;
  min-height: 2rem; }
:is(.st-key-check, .st-key-folders) .note { font-size: .9rem; max-width: 42rem; }
:is(.st-key-check, .st-key-folders) ul.notes { margin: .2rem 0 0; padding-left: 1.2rem;
  font-size: .9rem; }
:is(.st-key-check, .st-key-folders) ul.notes li { font-size: .9rem; overflow-wrap: anywhere; }
.figures { list-style: none; margin: 0 !important; padding: 0 !important; }
.figures li { display: grid; grid-template-columns: 6.5rem 1fr; gap: .2rem 1rem;
  align-items: baseline; margin: 0 !important; padding: .55rem 0 !important;
  border-top: 1px solid var(--line); }
.figures li:last-child { border-bottom: 1px solid var(--line); }
.figures b { font-size: 1.15rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.st-key-languages_hint { padding: .75rem .9rem; border-radius: .75rem; background: var(--wash);
  gap: .3rem !important; }
.st-key-languages_hint_buttons { gap: .2rem .9rem !important; }
.st-key-languages_hint_buttons button { min-height: 1.75rem; padding: 0; }
.st-key-languages_hint_buttons button p { font-size: .85rem; }
.st-key-settings_languages:has(input:disabled) :is(label, p, div) { color: var(--soft) !important;
  opacity: 1 !important; }
.st-key-languages_open button p { color: var(--accent); font-weight: 600; }
[class*="st-key-folder-"] { gap: .15rem !important; padding: .6rem 0;
  border-top: 1px solid var(--line); }
[class*="st-key-unwatch-"] button { padding-inline: 0; min-height: 2rem; }
.st-key-web_open button, .st-key-web_cancel button { min-height: 1.5rem; padding: 0 .2rem; }
.st-key-web_open button p { font-size: .8rem; }
[class*="st-key-web-"] { flex-wrap: nowrap !important; gap: .5rem !important; }
[class*="st-key-web-"] > :first-child { flex: 1 1 auto; min-width: 0; }
[class*="st-key-web-"] .working { font-size: .8rem; overflow-wrap: anywhere; }
[class*="st-key-web_stop-"] button { min-height: 1.75rem; padding: 0 .2rem; }
.st-key-web_address [data-testid="InputInstructions"] { display: none; }
.st-key-web_buttons { align-items: center !important; }
.facts a { color: var(--accent) !important; overflow-wrap: anywhere; }
"""


_LAYOUT = """
/* The theme follows the system; menus and dialogs hang outside of what Streamlit gives one. */
:root { color-scheme: light dark; }
:root { --panel: min(46vw, 48rem); --soft: light-dark(#5b6272, #a4abba);
  --line: light-dark(#e3e6ed, #2f343f); --tint: light-dark(#f5f6f9, #1d2027);
  --accent: light-dark(#2f5bd0, #9db5ff); --wash: light-dark(#e8eefc, #263150); }
/* What is drawn anew stays readable meanwhile. */
.stApp [data-stale] { opacity: 1 !important; transition: none !important; }
.stMainBlockContainer, [data-testid="stBottomBlockContainer"] { max-width: 50rem;
  margin-inline: auto; padding-inline: 1.5rem; }
[data-testid="stBottomBlockContainer"] { padding-block: .75rem 1.5rem; }
.stMainBlockContainer { padding-top: 2.5rem; }
[data-testid="stSidebar"][data-collapsed="false"] { min-width: 20rem; max-width: 20rem; }
/* The app's name stands beside the button that puts the panel away, and must not lie on it. */
[data-testid="stSidebarHeader"] { height: 2.75rem; padding-top: .75rem; margin-bottom: -1.5rem;
  position: relative; z-index: 1; pointer-events: none; }
[data-testid="stSidebarHeader"] button { pointer-events: auto; }
[data-testid="stSidebar"] [data-testid="stVerticalBlock"] { gap: .6rem; }
:is(.st-key-conversations, .st-key-who) { gap: .1rem 1rem !important; }
:is(.st-key-conversations, .st-key-who, .st-key-search_open) :is(button[kind="tertiary"],
  [data-testid="stPopoverButton"]) { min-height: 2rem; padding-block: .1rem; }
.st-key-search_open { margin-top: -.5rem; }
.st-key-source { position: fixed; inset: 0 0 0 auto; width: var(--panel); z-index: 99;
  overflow-y: auto; overscroll-behavior: contain; padding: 1.1rem 1.5rem 3rem; gap: .9rem;
  background: var(--tint); border-left: 1px solid var(--line); }
.st-key-source:not(:has(.st-key-source_close)) { display: none; }
@media (min-width: 1000px) {
  .stApp:has(.st-key-source_close) .stMain { padding-right: var(--panel); } }
@media (min-width: 1000px) and (max-width: 1320px) {
  .stApp:has(.st-key-source_close) [data-testid="stSidebar"],
  .stApp:has(.st-key-source_close) [data-testid="stExpandSidebarButton"] { display: none; } }
@media (max-width: 999px) {
  .st-key-source { width: 100vw; z-index: 1000000; border: 0; padding: 1rem 1rem 3rem; }
  .stMainBlockContainer, [data-testid="stBottomBlockContainer"] { padding-inline: 1rem; } }
"""

_DOCUMENTS = """
.brand { font-size: 1.15rem; font-weight: 650; margin: 0; padding: 0; letter-spacing: -.01em; }
.facts-list { display: grid; grid-template-columns: 1fr auto; gap: .25rem 1rem; margin: 0;
  font-size: .875rem; }
.facts-list :is(dt, dd) { margin: 0 !important; padding: 0 !important; font-weight: 400; }
.facts-list dd { color: var(--soft); }
.facts-list { padding: 0 !important; }
.facts-list dd { text-align: right; }
.facts-list + .note { margin-top: .5rem; }
[role="dialog"] .stHtml h3 { font-size: 1rem; margin: .5rem 0 .35rem; padding: 0; }
[role="dialog"] .stHtml code { overflow-wrap: anywhere; }
.limits, .facts, .note { color: var(--soft); font-size: .8rem; line-height: 1.45; margin: 0; }
.failed { color: light-dark(#a3341f, #ffa893); font-size: .8rem; line-height: 1.45; margin: 0;
  overflow-wrap: anywhere; }
[data-testid="stSidebar"] [data-testid="stFileUploader"] > label,
[data-testid="stSidebar"] [data-testid="stFileUploaderDropzoneInstructions"] { display: none; }
[data-testid="stSidebar"] [data-testid="stFileUploaderDropzone"] {
  flex-direction: row !important; align-items: center !important; justify-content: center;
  gap: .75rem; padding: .9rem .75rem;
  border: 1.5px dashed light-dark(#b9c0cf, #4b5364) !important; }
[data-testid="stFileUploaderDropzone"]::after { content: "DROP_HERE"; color: var(--soft);
  font-size: .8rem; }
[class*="st-key-drop-"][class*="-True"] [data-testid="stFileUploaderDropzone"]::after {
  content: "FOLDER_HERE"; }
.limits { text-align: center; text-wrap: balance; }
.st-key-documents_head { margin-top: 1rem; }
.st-key-documents_head h2 { font-size: .95rem; font-weight: 600; margin: 0; padding: 0; }
.st-key-documents_head h2 span { color: var(--soft); font-weight: 400; }
.st-key-documents_head [data-testid="stHtml"] { flex: 1; }
[class*="st-key-doc-"] { gap: 0 !important; padding: .1rem 0 .55rem;
  border-bottom: 1px solid var(--line); }
[class*="st-key-row-"] { flex-wrap: nowrap !important; gap: .25rem !important; }
[class*="st-key-row-"] > :first-child { flex: 1 1 auto; min-width: 0; }
[class*="st-key-row-"] label { width: 100%; min-width: 0; }
[class*="st-key-row-"] label p { overflow: hidden; display: -webkit-box; -webkit-line-clamp: 2;
  -webkit-box-orient: vertical; white-space: normal; overflow-wrap: anywhere;
  line-height: 1.4; font-weight: 500; }
[class*="st-key-row-"] label div { white-space: normal !important; }
[class*="st-key-row-"] label:has(:disabled) p { color: var(--soft); }
[class*="st-key-doc-"] [data-testid="stForm"] { margin-bottom: .4rem; }
[class*="st-key-menu-"] button { padding: .1rem .2rem; min-height: 2rem; color: var(--soft); }
[class*="st-key-menu-"] button p { font-size: 0; }
[class*="st-key-menu-"] button > div > div[aria-hidden] { display: none; }
[class*="st-key-doc-"] .facts, [class*="st-key-doc-"] .failed { padding-left: 1.6rem; }
[class*="st-key-doc-"] [data-testid="stProgress"], [class*="st-key-doc-"] [data-testid="stForm"],
[class*="st-key-confirm-"] { padding-left: 1.6rem; }
[class*="st-key-doc-"] [class*="st-key-confirm-"] { margin-top: .5rem; }
[role="dialog"] [class*="st-key-confirm-"] { padding-left: 0; }
.st-key-receipt { padding: .5rem .5rem .5rem .9rem; border-radius: .75rem; background: var(--wash);
  gap: .4rem !important; }
.st-key-receipt p { margin: 0; font-size: .875rem; }
.st-key-receipt > [data-testid="stElementContainer"]:has(> [data-testid="stHtml"]) { flex: 1; }
.st-key-receipt ul:empty { display: none; }
.st-key-receipt ul { margin: .3rem 0 0; padding-left: 1.1rem; font-size: .8rem;
  max-height: 14rem; overflow-y: auto; }
.st-key-receipt li { margin: 0 0 .2rem; overflow-wrap: anywhere; font-size: .8rem; }
"""

_CHAT = """
[data-testid="stChatMessage"] { background: transparent; padding: 0; gap: 0; }
[data-testid="stChatMessage"] > [data-testid^="stChatMessageAvatar"] { display: none; }
[data-testid="stChatMessage"]:has([data-testid="stChatMessageAvatarUser"]) {
  justify-content: flex-end; margin-top: 1.25rem; }
[data-testid="stChatMessage"]:has([data-testid="stChatMessageAvatarUser"])
  > [data-testid="stChatMessageContent"] { flex: 0 1 auto; width: auto; max-width: 85%; margin: 0;
  background: var(--wash); border-radius: 1.1rem 1.1rem .3rem 1.1rem; padding: .7rem 1.05rem; }
.question { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.5;
  max-height: 40vh; overflow-y: auto; }
.question:empty { display: none; }
.attached { margin-top: .25rem; font-size: .85rem; overflow-wrap: anywhere; }
.attached::before { content: "↥ "; color: var(--soft); }
[data-testid="stChatMessage"] [data-testid="stMarkdownContainer"] { line-height: 1.65;
  overflow-wrap: anywhere; }
a[href^="#cite:"] { text-decoration: none !important; font-weight: 600; color: var(--accent); }
[data-testid="stMarkdownContainer"] a[href^="#cite:"] { display: inline-block; min-width: 1.5em;
  margin: 0 .1em; padding: 0 .35em; border-radius: .5em; background: var(--wash);
  font-size: .75em; line-height: 1.55; text-align: center; vertical-align: .12em; }
a[href^="#cite:"]:hover { text-decoration: underline !important; }
a[href^="#cite:"]:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.short { font-size: 1.2rem; font-weight: 600; line-height: 1.4; margin: 0 0 .1rem;
  overflow-wrap: anywhere; }
.how { color: var(--soft); font-size: .8rem; margin: 0 0 .15rem; }
.card { border: 1px solid var(--line); border-radius: .75rem; padding: .8rem 1rem;
  margin: 0 0 .7rem; }
.card:last-child { margin-bottom: 0; }
.near .card { padding-block: .65rem; }
.near .passage { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 4;
  overflow: hidden; }
.card header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .6rem;
  font-size: .85rem; margin-bottom: .45rem; }
.card header b { font-weight: 600; overflow-wrap: anywhere; }
.card header span { color: var(--soft); }
.card header .badge { background: var(--wash); color: var(--accent); font-weight: 600;
  border-radius: .5em; padding: 0 .45em; }
.card header a { margin-left: auto; }
.passage { overflow-wrap: anywhere; margin: 0; font-size: .9rem;
  line-height: 1.6; max-height: 16rem; overflow-y: auto; unicode-bidi: plaintext; }
mark { background: light-dark(#ffe58a, #6a5613); color: inherit; border-radius: .2em;
  padding: .05em .1em; box-decoration-break: clone; -webkit-box-decoration-break: clone; }
.st-key-working > [data-testid="stElementContainer"]:has(.working) { width: auto !important;
  flex: 0 0 auto; }
.working { color: var(--soft); margin: 0; }
.working:empty { display: none; }
.sorry { margin: 0; padding: .65rem .95rem; border-radius: .75rem; background: var(--tint);
  border: 1px solid var(--line); overflow-wrap: anywhere; }
.working:not(:empty)::before { content: ""; display: inline-block; width: .55em; height: .55em;
  margin-right: .6em; border-radius: 50%; background: var(--accent);
  animation: breathe 1.2s steps(4, jump-none) infinite alternate; }
@keyframes breathe { from { opacity: .25; } to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { .working::before { animation: none !important; } }
"""

_PAGES = """
.st-key-about, .st-key-search { gap: .55rem !important; padding-bottom: 1.5rem; }
.st-key-about h2.about, .st-key-search h2.about { font-size: 1.5rem; font-weight: 650; margin: 0;
  padding: 0; letter-spacing: -.015em; overflow-wrap: anywhere; line-height: 1.3; }
.st-key-about h3 { font-size: .95rem; font-weight: 600; margin: 1rem 0 0; padding: 0; }
.st-key-about_back button, .st-key-search_back button { color: var(--soft); padding-inline: 0;
  min-height: 2rem; }
.st-key-about_tools { margin-top: .35rem; gap: .5rem !important; }
.st-key-about_topics { gap: .45rem !important; }
.st-key-about_topics button { border-radius: 2rem; min-height: 2rem; padding: .15rem .8rem; }
.st-key-about_topics button p { font-size: .875rem; }
[class*="st-key-suggested-"] button { justify-content: flex-start; text-align: left; width: 100%; }
.st-key-about ul.notes { margin: .2rem 0 0; padding-left: 1.2rem; font-size: .875rem;
  color: var(--soft); }
.skeleton { display: grid; gap: .7rem; margin-top: .3rem; }
.skeleton i { height: .8rem; border-radius: .4rem; background: var(--line);
  animation: breathe 1.2s steps(4, jump-none) infinite alternate; }
.skeleton i:nth-child(2) { width: 88%; } .skeleton i:nth-child(3) { width: 62%; }
@media (prefers-reduced-motion: reduce) { .skeleton i { animation: none; } }
[class*="st-key-found-"] { gap: .1rem !important; padding-top: .6rem;
  border-top: 1px solid var(--line); }
[class*="st-key-found-"] h3 { font-size: .95rem; font-weight: 600; margin: 0; padding: 0 .6rem;
  overflow-wrap: anywhere; }
[class*="st-key-found-"] h3 span { color: var(--soft); font-weight: 400; }
[class*="st-key-unfold-"] button { padding-inline: .6rem; min-height: 2rem; }
.st-key-search_where > [data-testid="stElementContainer"]:has(.facts) { width: auto !important;
  flex: 0 1 auto; }
.st-key-search_where button, .st-key-drop_mode button { min-height: 1.5rem; padding: 0 .2rem; }
.st-key-drop_mode button p { font-size: .8rem; }
.st-key-limits { align-items: center; gap: .1rem !important; }
.st-key-queue button, .st-key-collection_drop button { min-height: 1.75rem; padding: 0 .2rem; }
.st-key-queue button p { font-size: .85rem; }
.st-key-queue { gap: .25rem .9rem !important; }
.st-key-queue > [data-testid="stElementContainer"]:has(.facts) { width: 100% !important; }
.st-key-shelf_choice { max-height: 9.5rem; overflow-y: auto; }
"""

_REST = """
.st-key-welcome { align-items: center; text-align: center; padding-top: 14vh; gap: 1rem; }
.stMain:has([data-testid="stChatMessage"]) .st-key-welcome { padding-top: 3rem; }
.st-key-welcome h2 { font-size: clamp(1.6rem, 4vw, 2.1rem); font-weight: 650; padding: 0;
  letter-spacing: -.02em; margin: 0 0 .75rem; }
.st-key-welcome [data-testid="stHtml"] p { color: var(--soft); max-width: 34rem; margin: 0 auto;
  font-size: 1.05rem; line-height: 1.6; text-wrap: balance; }
.st-key-welcome [data-testid="stHtml"] p.private, .st-key-welcome [data-testid="stHtml"] p.example {
  font-size: .85rem; margin-top: .5rem; }
@media (width > 768px) { .st-key-welcome .narrow { display: none; } }
@media (width <= 768px) { .st-key-welcome .wide { display: none; } }
.st-key-source > :has(.st-key-source_top) { position: sticky; top: -1.1rem; z-index: 2;
  margin: -1.1rem -.5rem 0; padding: 1.1rem .5rem .6rem; background: var(--tint);
  width: calc(100% + 1rem) !important; max-width: none !important; }
.st-key-source_top { gap: .6rem !important; }
.st-key-source_head { flex-wrap: nowrap !important; }
.st-key-source_head [data-testid="stHtml"] { flex: 1; min-width: 0; }
.st-key-source_head h2 { font-size: 1.05rem; font-weight: 600; margin: 0; padding: 0;
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.st-key-source_close button p, .st-key-source_previous button p, .st-key-source_next button p {
  font-size: 0; }
.st-key-source_tools > [data-testid="stElementContainer"]:has(.where) { width: auto !important;
  flex: 0 1 auto; min-width: 0; }
.st-key-source_tools .where { margin: 0; font-size: .875rem; line-height: 1.3; color: var(--soft);
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.st-key-source_download { margin-left: auto; }
@media (max-width: 640px) {
  .st-key-source_tools { flex-wrap: nowrap !important; gap: .5rem !important; }
  :is(.st-key-source_download, .st-key-source_translate) button p { font-size: 0; } }
.st-key-source blockquote { margin: 0; padding: .1rem 0 .1rem .9rem; color: inherit;
  border-left: 3px solid light-dark(#e5b800, #b8951a); font-size: .9rem; line-height: 1.55;
  overflow-wrap: anywhere; max-height: 9rem; overflow-y: auto; }
"""

_ALL = _LAYOUT + _DOCUMENTS + _PAGES + _CHAT + _REST + ANSWERS + LIBRARY
CSS = f"<style>{_ALL}</style>".replace("DROP_HERE", texts.DROP_HERE)
CSS = CSS.replace("FOLDER_HERE", texts_library.FOLDER_HERE)


@cache
def icon() -> Image.Image:
    """The page's icon, drawn here: a sheet with one line marked (a named one would be fetched)."""
    image = Image.new("RGBA", (64, 64))
    pen = ImageDraw.Draw(image)
    pen.rounded_rectangle((10, 4, 54, 60), 8, fill="#2f5bd0")
    for top, colour in ((16, "#ffffff"), (28, "#ffd84d"), (40, "#ffffff")):
        pen.rounded_rectangle((18, top, 46, top + 6), 3, fill=colour)
    return image
