let last = null;
// Whoever uses the keyboard would begin anew at the top of the page, and Escape would do nothing.
// A dialog that a key opens takes the focus only if nothing else happens to who had it before, and
// loses it when the colours change.
const LAYER = '[role="dialog"]', MODAL = 'section[role="dialog"]';
const FIELD = '.st-key-question textarea', pointer = matchMedia('(pointer: fine)');
let layer = null, used = null, height = 0, asking = false;
document.addEventListener('focusin', event => {
  used = event.target instanceof Element ? event.target : null;
  layer = used?.closest(LAYER) ?? null;
  height = used?.getBoundingClientRect().top ?? 0;
  asking = !!used?.matches(FIELD);
}, { capture: true, passive: true });
document.addEventListener('pointerdown', () => { asking = false; },
  { capture: true, passive: true });
document.addEventListener('focusout', event => {
  if (!event.relatedTarget) requestAnimationFrame(stay);
}, { capture: true, passive: true });
const stay = () => {
  if (document.activeElement !== document.body || !used) return;
  if (asking) {  // the field was closed while an answer was made
    const field = document.querySelector(FIELD);
    if (field && !field.disabled && pointer.matches) field.focus({ preventScroll: true });
    return;
  }
  const modal = [...document.querySelectorAll(MODAL)].at(-1);
  const there = used.isConnected && !used.disabled;
  if (modal && (there || modal !== layer)) return modal.focus({ preventScroll: true });
  if (there || !layer?.isConnected) return;
  const far = one => Math.abs(one.getBoundingClientRect().top - height);
  const near = [...layer.querySelectorAll('button, textarea, input:not([type="radio"]), :checked')]
    .filter(one => !one.disabled && one.getClientRects().length)
    .sort((a, b) => far(a) - far(b))[0];
  (near ?? layer).focus({ preventScroll: true });
};
new MutationObserver(() => {
  if (layer || asking) requestAnimationFrame(stay);
}).observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] });
// Streamlit takes what comes at once as a change of one part of the page only, and the rest is lost.
// What was written is sent when its field is left, and a list says that it has closed: a press in
// the same moment, as is usual on a touch screen or a busy machine, waits until that is on its way.
let leaving = false, pressed = 0;
const onItsWay = () => {
  leaving = true;
  setTimeout(() => setTimeout(() => { leaving = false; }));
};
document.addEventListener('focusout', ({ target }) => {
  if (target.matches?.('input, textarea')) onItsWay();
}, { capture: true, passive: true });
document.addEventListener('rag-app:report', ({ detail: report }) => {
  const go = () => {
    if (performance.now() - pressed < 50) return setTimeout(go, 50);
    onItsWay();
    report();
  };
  setTimeout(go, 100);
});
addEventListener('click', event => {
  if (!leaving) { pressed = performance.now(); return; }
  event.stopImmediatePropagation();
  event.preventDefault();
  const [target] = event.composedPath();
  setTimeout(() => target.dispatchEvent(new MouseEvent('click', event)));
}, { capture: true });
const writeInto = (field, tries) => {  // as soon as it is drawn
  const there = document.querySelector(field);
  if (there) there.focus();
  else if (tries) setTimeout(writeInto, 100, field, tries - 1);
};
// Whoever goes back finds the page where it was left. What is drawn in between moves it, so where it
// was is looked at when something is pressed.
const left = [];
let place = 0, viewed = null;
const scroller = () => document.querySelector('main');
for (const kind of ['pointerdown', 'keydown'])
  document.addEventListener(kind, () => { place = scroller()?.scrollTop ?? 0; },
    { capture: true, passive: true });
const scrollBack = (view, top, tries) => {  // as soon as there is as much of it again
  const main = scroller();
  if (!main || viewed !== view) return;
  if (main.scrollHeight - main.clientHeight >= top || !tries) main.scrollTo(0, top);
  else setTimeout(scrollBack, 50, view, top, tries - 1);
};
const show = view => {
  const before = viewed;
  viewed = view;
  if (before === null || before === view) return;
  const at = left.findLastIndex(one => one.view === view);
  if (at < 0) left.push({ view: before, top: place });
  const [back] = at < 0 ? [] : left.splice(at);
  if (back) scrollBack(view, back.top, 40);
  else if (view) scroller()?.scrollTo(0, 0);
};
export default function ({ data }) {
  const now = data.view + '|' + data.questions, before = last;
  if (now === before) return;
  last = now;
  show(data.view);
  if (before === null) return;
  if (data.view && pointer.matches) writeInto('.st-key-search input', 20);
  if (!matchMedia('(max-width: 768px)').matches) return;
  const collapse = '[data-testid="stSidebarCollapseButton"] [aria-expanded="true"]';
  document.querySelector(collapse)?.click();
}
