const NEAR = 80, ROOM = 64;  // pixels
const SOON = 400;  // milliseconds from a wheel's turn to the last scrolling that comes of it
let questions = 0, following = true, watched = null, dragging = false, moved = -SOON;
const scroller = () => document.querySelector('main');
// The end is seen, but for an answer that has no room: then what was asked, and how it begins.
const toEnd = () => {
  const main = scroller();
  if (!main || !questions || !following) return;
  const asked = [...main.querySelectorAll('.question')].at(-1)?.getBoundingClientRect().top;
  const above = main.scrollTop - main.getBoundingClientRect().top - ROOM;
  main.scrollTop = asked === undefined ? main.scrollHeight : Math.min(asked + above, main.scrollHeight);
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
    if (target instanceof Element && scroller()?.firstElementChild.contains(target)) following = false;
  }, { capture: true, passive: true });
export default function ({ data }) {
  const content = scroller()?.firstElementChild;
  if (content && content !== watched) {
    grown.disconnect();
    grown.observe(watched = content);
  }
  if (data.questions !== questions) following = true;
  questions = data.questions;
  toEnd();
}
