// The cleanup of an earlier call is not run when data or theme change: hence the AbortController.
const SELECTOR = 'button[data-act]';
export default function ({ data, parentElement, setTriggerValue }) {
  parentElement.__listening?.abort();
  const controller = parentElement.__listening = new AbortController();
  const on = { signal: controller.signal };
  const said = parentElement.querySelector('#said');
  const lost = parentElement.querySelector('#lost');
  const connection = () => {
    lost.textContent = navigator.onLine ? '' : data.offline;
    lost.togglePopover(!navigator.onLine);
  };
  if (data.kinds.includes('copy')) {  // it is enough that one listener says it
    addEventListener('offline', connection, on);
    addEventListener('online', connection, on);
    connection();
  }
  const soon = (times, look) => { if (!look() && times) setTimeout(soon, 120, times - 1, look); };
  const byHand = text => {  // where the page is not served safely there is no clipboard to ask
    const field = document.createElement('textarea');
    field.value = text;
    field.style.position = 'fixed';
    field.style.opacity = '0';
    document.body.append(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    return done;
  };
  const copy = async button => {
    const text = button.closest('.acts').querySelector('.to-copy').textContent;
    let done = true;
    try { await navigator.clipboard.writeText(text); } catch { done = byHand(text); }
    button.focus();
    said.textContent = done ? data.copied : data.failed;
    button.dataset.tip = said.textContent;
    button.classList.toggle('done', done);
    setTimeout(() => {
      said.textContent = '';
      delete button.dataset.tip;
      button.classList.remove('done');
    }, 1800);
  };
  const press = button => {  // at once; the page says the same a moment later
    const pressed = button.getAttribute('aria-pressed') !== 'true';
    for (const each of button.parentElement.querySelectorAll('[aria-pressed]'))
      each.setAttribute('aria-pressed', String(each === button && pressed));
  };
  const keepFocus = act => soon(12, () => {  // the row is drawn anew, and the focus is lost
    if (document.activeElement && document.activeElement !== document.body) return false;
    document.querySelector(`[data-act="${act}"]`)?.focus({ preventScroll: true });
    return false;
  });
  const intoView = (button, act) => {  // what opens under the row is seen from its beginning
    const scroller = button.closest('main');
    const y = Math.min(button.getBoundingClientRect().top, innerHeight * .4);
    const stop = new AbortController();
    for (const kind of ['wheel', 'touchmove', 'keydown'])
      addEventListener(kind, () => stop.abort(), { once: true, passive: true });
    soon(15, () => {
      const now = document.querySelector(`[data-act="${act}"]`);
      if (now && !stop.signal.aborted) scroller.scrollTop += now.getBoundingClientRect().top - y;
      return stop.signal.aborted;
    });
  };
  const intoField = () => soon(25, () => {
    const field = document.querySelector('[class*="st-key-edited-"] textarea');
    if (!field) return false;
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
    return true;
  });
  document.addEventListener('click', event => {
    const button = event.target instanceof Element ? event.target.closest(SELECTOR) : null;
    if (!button) return;
    const act = button.dataset.act, kind = act.split(':')[0];
    if (!data.kinds.includes(kind)) return;
    event.preventDefault();
    if (kind === 'copy') return copy(button);
    const opens = kind === 'why' ? 'aria-expanded' : kind === 'down' ? 'aria-pressed' : '';
    const toOpen = opens && button.getAttribute(opens) !== 'true';
    if (kind === 'up' || kind === 'down') press(button);
    setTriggerValue('act', act);
    kind === 'edit' ? intoField() : keepFocus(act);
    if (toOpen) intoView(button, act);
  }, on);
  return () => controller.abort();
}
