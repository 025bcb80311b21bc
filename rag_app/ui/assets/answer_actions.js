// The cleanup of an earlier call is not run when data or theme change: hence the AbortController.
const SELECTOR = 'button[data-act]';
// Reading aloud, by the browser's own voices; where it has none there is no button.
const voices = () => globalThis.speechSynthesis?.getVoices() ?? [];
const spoken = voice => voice.lang.slice(0, 2).toLowerCase();
const shows = new CSSStyleSheet();
document.adoptedStyleSheets = [...document.adoptedStyleSheets, shows];
const offer = () => {
  const known = [...new Set(voices().map(spoken))].map(one => `[data-lang="${CSS.escape(one)}"]`);
  const any = known.length ? `.acts [data-act^="say:"]:is([data-lang=""], ${known}) { display: inline-flex; }` : '';
  shows.replaceSync(any);
};
offer();
globalThis.speechSynthesis?.addEventListener('voiceschanged', offer);
const LOOKS = 400;  // milliseconds from one to the next
let saying = '', missed = 0, watch = null;
const setPressed = pressed => {
  const button = document.querySelector(`[data-act="${saying}"]`);
  button?.setAttribute('aria-pressed', String(pressed));
  return button;
};
const silence = () => {
  setPressed(false);
  clearInterval(watch);
  saying = '';
  speechSynthesis.cancel();
};
addEventListener('pagehide', () => { if (saying) silence(); });
// The button may be drawn anew, as if nothing were being said, or go: then nothing else would stop it.
const look = () => {
  missed = setPressed(true) ? 0 : missed + 1;
  if (missed > 1) silence();
};
const say = ({ dataset: { act, lang, said } }) => {
  const again = saying === act;
  if (saying) silence();
  if (again) return;
  // Sentence by sentence: some voices stop in the middle of what is long.
  const parts = said.split(/(?<=[.!?…。！？])\s+|\n+/).filter(one => one.trim());
  for (const [at, part] of parts.entries()) {
    const one = new SpeechSynthesisUtterance(part);
    if (lang) one.lang = lang;
    one.voice = voices().find(voice => lang && spoken(voice) === lang) ?? null;
    if (at === parts.length - 1) one.onend = () => { if (saying === act) silence(); };
    speechSynthesis.speak(one);
  }
  saying = act;
  missed = 0;
  watch = setInterval(look, LOOKS);
  setPressed(true);
};
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
    if (kind === 'say') return say(button);
    const opens = kind === 'why' ? 'aria-expanded' : kind === 'down' ? 'aria-pressed' : '';
    const toOpen = opens && button.getAttribute(opens) !== 'true';
    if (kind === 'up' || kind === 'down') press(button);
    setTriggerValue('act', act);
    kind === 'edit' ? intoField() : keepFocus(act);
    if (toOpen) intoView(button, act);
  }, on);
  return () => controller.abort();
}
