// The cleanup of an earlier call is not run when data or theme change: hence the AbortController.
const SELECTOR = 'a[href^="#cite:"]';
const SPLIT = ' — ';
export default function ({ data, parentElement, setTriggerValue }) {
  parentElement.__listening?.abort();
  const controller = parentElement.__listening = new AbortController();
  const on = { signal: controller.signal };
  const card = parentElement.querySelector('#card');
  let current = null, last = null;
  const link = event => event.target instanceof Element ? event.target.closest(SELECTOR) : null;
  const hide = () => { if (card.matches(':popover-open')) card.hidePopover(); };
  const place = () => {
    const at = current.getBoundingClientRect();
    if (!current.isConnected || at.bottom < 0 || at.top > innerHeight) return hide();
    const size = card.getBoundingClientRect();
    card.style.left = Math.max(8, Math.min(at.left - 12, innerWidth - size.width - 8)) + 'px';
    const above = at.top > size.height + 12;
    card.style.top = (above ? at.top - size.height - 6 : at.bottom + 6) + 'px';
  };
  const show = anchor => {
    if (anchor.title) {
      anchor.dataset.said = anchor.title;
      anchor.removeAttribute('title');
      anchor.setAttribute('aria-description', anchor.dataset.said);
    }
    const said = anchor.dataset.said;
    if (!said) return;
    const cut = said.indexOf(SPLIT), gone = cut < 0 && said.endsWith(' —');  // nothing is quoted
    const [where, quote] = gone ? [said.slice(0, -2), data.gone]
      : cut < 0 ? ['', said] : [said.slice(0, cut), said.slice(cut + SPLIT.length)];
    card.querySelector('b').textContent = where;
    card.querySelector('q').textContent = quote;
    card.classList.toggle('gone', gone);
    current = anchor;
    card.showPopover();
    place();
  };
  const hold = anchor => {  // the chat gets narrower beside the source: the marker stays in place
    const scroller = anchor.closest('main'), y = anchor.getBoundingClientRect().top;
    if (!scroller) return;
    const observer = new ResizeObserver(() => {
      scroller.scrollTop += anchor.getBoundingClientRect().top - y;
    });
    observer.observe(scroller.firstElementChild);
    setTimeout(() => observer.disconnect(), 1500);
  };
  const back = () => setTimeout(() => {
    if (last?.isConnected) last.focus({ preventScroll: true });
  }, 250);
  document.addEventListener('pointerover', event => {
    const anchor = link(event);
    anchor ? show(anchor) : hide();
  }, on);
  document.addEventListener('focusin', event => { const a = link(event); if (a) show(a); }, on);
  document.addEventListener('focusout', event => { if (link(event)) hide(); }, on);
  document.addEventListener('keydown', event => { if (event.key === 'Escape') hide(); }, on);
  document.addEventListener('scroll', () => { if (card.matches(':popover-open')) place(); },
    { ...on, capture: true, passive: true });
  document.addEventListener('click', event => {
    if (event.target instanceof Element && event.target.closest('.st-key-source_close')) back();
    const anchor = link(event);
    if (!anchor || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    hide();
    hold(anchor);
    last = anchor;
    setTriggerValue('open', anchor.getAttribute('href').slice('#cite:'.length));
  }, { ...on, capture: true });
  document.addEventListener('rag-app-source-closed', back, on);
  return () => controller.abort();
}
