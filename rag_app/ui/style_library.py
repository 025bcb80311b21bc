"""How the pages look that are about the library as a whole. A part of style.py, which has grown
long."""

from __future__ import annotations

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
