// One key is enough where nothing is being written. What a key does is what a click does: the page
// says which element (data.presses), and the list under "?" says it to people (data.groups).
const WRITING = 'input, textarea, select, [contenteditable="true"], [role="dialog"], [role="menu"]';
const COLLAPSED = 'header button[aria-controls][aria-expanded="false"]';
const seen = one => one.getClientRects().length && !one.disabled;
const inside = (outer, inner) => [...document.querySelectorAll(`${outer} *`)]
  .flatMap(one => [...one.shadowRoot?.querySelectorAll(inner) ?? []]);
const full = one => /^\w+$/.test(one) ? `.st-key-${one} :is(button, input)` : one;
const find = selector => {
  const [outer, inner] = selector.split(' >>> ');
  const all = inner ? inside(outer, inner) : [...document.querySelectorAll(outer)];
  return all.filter(seen).at(outer.startsWith('.acts') ? -1 : 0);  // of the last answer
};
const answer = () => find('.acts button')?.dataset.act.split(':')[1];
const press = (selector, focus, again) => {
  const one = find(selector), hidden = one ? null : document.querySelector(selector.split(' >>> ')[0]);
  if (one && (focus || one.matches('textarea, input:not([type="file"])'))) one.focus();
  else if (one) one.click();
  else if (hidden?.type === 'file') hidden.click();
  else if (hidden && again && find(COLLAPSED)) {
    find(COLLAPSED).click();  // it is in the panel, which was put away
    setTimeout(press, 500, selector, focus, false);
  }
};
// What is pressed while the page is drawn anew would meet elements that are about to go: it is held
// until the page has come to rest, one key after the other. Streamlit says on its page whether it is.
const REST = 150, PATIENCE = 3000;  // milliseconds
const STATE = 'data-test-script-state', AT_ONCE = ['?', '.'], WRITES = ['/', 'f'];
let moved = -REST, held = [], timer = null, act = () => {};
const stir = () => { moved = performance.now(); };
new MutationObserver(stir).observe(document.body, { subtree: true, attributeFilter: [STATE] });
const atRest = () => performance.now() - moved > REST
  && !document.querySelector(`[${STATE}]:not([${STATE}="notRunning"])`);
const pressNow = key => { act(key); stir(); };
const later = () => { timer ??= setTimeout(turn, 50); };
const turn = () => {
  timer = null;
  if (atRest() || performance.now() - held[0].at > PATIENCE) pressNow(held.shift().key);
  if (held.length) later();
};
const take = ({ key, repeat }) => {
  if (AT_ONCE.includes(key) || !held.length && atRest()) return pressNow(key);
  if (repeat || WRITES.includes(held.at(-1)?.key)) return;  // what follows is meant for the field
  if (WRITES.includes(key)) act(key);
  held.push({ key, at: performance.now() });
  later();
};
const list = (dialog, data) => {
  dialog.replaceChildren();
  const add = (parent, tag, text = '') => {
    const one = document.createElement(tag);
    one.textContent = text;
    parent.append(one);
    return one;
  };
  dialog.setAttribute('aria-label', data.title);
  const head = add(dialog, 'header');
  add(head, 'h2', data.title);
  const close = add(head, 'button', data.close);
  close.type = 'button';
  close.onclick = () => dialog.close();
  const help = add(dialog, 'div');
  for (const [asked, said] of data.help) {
    const one = add(help, 'section');
    add(one, 'h3', asked);
    add(one, 'p', said);
  }
  add(dialog, 'h2', data.keyboard);
  add(dialog, 'p', data.note);
  const columns = add(dialog, 'div');
  for (const [title, rows] of data.groups) {
    const group = add(columns, 'section');
    add(group, 'h3', title);
    const keys = add(group, 'dl');
    for (const [key, label] of rows) {
      add(add(keys, 'dt'), 'kbd', key);
      add(keys, 'dd', label);
    }
  }
};
export default function ({ data, parentElement }) {
  parentElement.__keys?.abort();
  const controller = parentElement.__keys = new AbortController(), on = { signal: controller.signal };
  const dialog = parentElement.querySelector('dialog');
  dialog.onclose = () => dialog.replaceChildren();  // its words are no words of the page
  dialog.onclick = event => { if (event.target === dialog) dialog.close(); };
  act = key => {
    if (key === '?') {
      list(dialog, data);
      dialog.showModal();
    } else if (key in data.presses) press(full(data.presses[key]), key === 'd', true);
    else press(`main a[href="#cite:${answer()}-${key}"]`);
  };
  document.addEventListener('keydown', event => {
    const [used] = event.composedPath();
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || dialog.open) return;
    if (used instanceof Element && used.closest(WRITING)) return;
    const known = /^[1-9]$/.test(event.key) || event.key in data.presses;
    if (event.key !== '?' && !(data.listens && known)) return;
    event.preventDefault();
    take(event);
  }, on);
  document.addEventListener('click', ({ target }) => {
    const button = target instanceof Element && target.closest('[data-key]');
    if (button) act(button.dataset.key);
  }, on);
  return () => controller.abort();
}
