export default function ({ data, parentElement, setTriggerValue }) {
  const list = parentElement.querySelector('#list');
  const shown = JSON.stringify(data);
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
  list.onclick = event => {
    const button = event.target instanceof Element ? event.target.closest('button') : null;
    if (!button) return;
    parentElement.__last = button;
    setTriggerValue('open', Number(button.dataset.row));
  };
  if (list.dataset.shown === shown) return;
  list.dataset.shown = shown;
  list.setAttribute('aria-label', data.label);
  list.className = data.small ? 'small' : '';
  list.replaceChildren(...data.rows.map((row, number) => {
    const item = document.createElement('li'), button = document.createElement('button');
    const words = document.createElement('span');
    button.type = 'button';
    button.dataset.row = number;
    button.dataset.level = row.level;
    for (const [text, marked] of row.parts) {
      const part = document.createElement(marked ? 'mark' : 'span');
      part.textContent = text;
      words.append(part);
    }
    if (row.lead) {
      const lead = document.createElement('span');
      lead.className = 'lead';
      lead.textContent = row.lead;
      button.append(lead);
    }
    button.append(words);
    if (row.note) {
      const note = document.createElement('span');
      note.className = 'note';
      note.textContent = row.note;
      button.append(note);
    }
    item.append(button);
    return item;
  }));
  return () => parentElement.__listening?.abort();
}
