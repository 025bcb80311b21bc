export default function ({ data, parentElement, setTriggerValue }) {
  const list = parentElement.querySelector('#list');
  const shown = JSON.stringify(data);
  opensPlaces(parentElement, list, setTriggerValue);
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
