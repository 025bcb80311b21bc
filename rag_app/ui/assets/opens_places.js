// A click on a button inside reports its number as what is to be opened; once the source that it
// opened is closed, the focus is back on it.
const opensPlaces = (parentElement, inside, setTriggerValue) => {
  parentElement.__listening?.abort();
  const on = { signal: (parentElement.__listening = new AbortController()).signal };
  const back = () => setTimeout(() => {
    const last = parentElement.__last;
    if (last?.isConnected) last.focus({ preventScroll: true });
    parentElement.__last = null;
  }, 300);
  document.addEventListener('rag-app-source-closed', back, on);
  document.addEventListener('click', event => {
    if (event.target instanceof Element && event.target.closest('.st-key-source_close')) back();
  }, { ...on, capture: true });
  inside.onclick = event => {
    const button = event.target instanceof Element ? event.target.closest('button') : null;
    if (!button) return;
    parentElement.__last = button;
    setTriggerValue('open', Number(button.dataset.row));
  };
};
