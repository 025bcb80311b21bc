const boxes = (sheet, areas, kind) => areas.map(([left, top, width, height, number]) => {
  const box = document.createElement('div');
  box.className = 'box ' + kind;
  Object.assign(box.style, { left: left + '%', top: top + '%', width: width + '%',
                             height: height + '%' });
  sheet.append(box);
  if (number) {  // at the first line of each quote
    const tag = document.createElement('div');
    tag.className = 'tag ' + kind;
    tag.textContent = number;
    Object.assign(tag.style, { left: left + '%', top: top + '%' });
    sheet.append(tag);
  }
  return box;
});
// A line at the left of a passage: it was read, and nothing of it is quoted.
const beside = (sheet, areas) => {
  if (!areas.length) return null;
  const left = Math.min(...areas.map(area => area[0])) - 1.2;
  const top = Math.min(...areas.map(area => area[1]));
  const bottom = Math.max(...areas.map(area => area[1] + area[3]));
  const [line] = boxes(sheet, [[Math.max(0, left), top, .5, bottom - top, 0]], 'beside');
  return line;
};
// The page's words, where the picture has them: not seen, but selected, copied and read aloud.
const letters = (sheet, { lines, width, height }) => {
  const text = document.createElement('div');
  text.id = 'text';
  const spans = lines.map(([left, top, , high, said]) => {
    const span = document.createElement('span');
    span.textContent = said;
    Object.assign(span.style, { left: left + '%', top: top + '%',
                                fontSize: high * .8 * height / width + 'cqw',
                                lineHeight: high * height / width + 'cqw' });
    text.append(span);
    return span;
  });
  sheet.append(text);
  const wide = sheet.offsetWidth, are = spans.map(span => span.offsetWidth);
  spans.forEach((span, n) => {
    span.style.transform = `scaleX(${lines[n][2] * wide / 100 / (are[n] || 1)})`;
  });
};
const ZOOMS = [100, 150, 225, 340];  // per cent of the width that is there
const zoom = (scroll, sheet, data) => {
  const bar = document.createElement('div');
  let now = 0;
  bar.id = 'zoom';
  const buttons = [[data.smaller, '\u2212', -1], [data.larger, '+', 1]].map(([label, sign, by]) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = sign;
    button.title = label;
    button.dataset.by = by;
    button.setAttribute('aria-label', label);
    button.onclick = () => {
      const middle = (scroll.scrollLeft + scroll.clientWidth / 2) / sheet.offsetWidth;
      now = Math.max(0, Math.min(ZOOMS.length - 1, now + by));
      sheet.style.width = ZOOMS[now] + '%';
      scroll.scrollLeft = middle * sheet.offsetWidth - scroll.clientWidth / 2;
      const [first] = sheet.getElementsByClassName('quote');
      first?.scrollIntoView({ block: 'center', inline: 'center' });
      bounds();
    };
    bar.append(button);
    return button;
  });
  const bounds = () => {
    buttons[0].disabled = now === 0;
    buttons[1].disabled = now === ZOOMS.length - 1;
  };
  bounds();
  return bar;
};
const picture = (view, data) => {
  const scroll = document.createElement('div'), sheet = document.createElement('div');
  const image = document.createElement('img');
  scroll.id = 'scroll';
  sheet.id = 'sheet';
  sheet.style.aspectRatio = data.width + ' / ' + data.height;
  image.alt = data.label;
  image.src = 'data:image/webp;base64,' + data.webp;
  sheet.append(image);
  scroll.append(sheet);
  view.replaceChildren(scroll, zoom(scroll, sheet, data));
  boxes(sheet, data.others, 'other');
  const read = beside(sheet, data.passage), quote = boxes(sheet, data.quote, 'quote')[0];
  letters(sheet, data);
  return quote ?? read;
};
const words = (view, data) => {
  const block = document.createElement('div');
  block.id = 'words';
  block.innerHTML = data.marked;  // escaped by rag_app.export.readable
  view.replaceChildren(block);
  return block.querySelector('tr.cited, mark:not(.other)') || block.querySelector('mark')
    || block.querySelector('.beside');
};
export default function ({ data, parentElement, setTriggerValue }) {
  const view = parentElement.querySelector('#view');
  view.onkeydown = event => {
    if (event.key !== 'Escape') return;
    document.dispatchEvent(new Event('rag-app-source-closed'));
    setTriggerValue('close', true);
  };
  if (view.dataset.shown === data.id) return;  // called again for a theme: stay where we are
  view.dataset.shown = data.id;
  view.setAttribute('aria-label', data.label);
  view.setAttribute('role', 'group');
  const first = (data.webp ? picture : words)(view, data);
  if (data.focus) view.focus({ preventScroll: true });
  requestAnimationFrame(() => {
    const inline = first?.tagName === 'TR' ? 'nearest' : 'center';  // a row is read from its name
    if (first) first.scrollIntoView({ block: 'center', inline });
    else view.getRootNode().host?.closest('.st-key-source')?.scrollTo(0, 0);
  });
}
