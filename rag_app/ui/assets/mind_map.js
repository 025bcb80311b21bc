const made = (tag, name, text) => {
  const one = document.createElement(tag);
  one.className = name;
  one.textContent = text;
  return one;
};
const place = (name, [number, text]) => {
  const button = made('button', name, text);
  button.type = 'button';
  button.dataset.row = number;
  return button;
};
const inside = (list, item) => {
  const one = document.createElement('li');
  one.append(item);
  list.append(one);
};
const branch = data => {
  const one = document.createElement('li'), title = place('title', data.title);
  if (data.note) title.append(' ', made('small', '', data.note));
  one.append(title);
  for (const [kind, places] of [['heading', data.headings], ['topic', data.topics]]) {
    if (!places.length) continue;
    const list = made('ul', kind + 's', '');
    for (const each of places) inside(list, place(kind, each));
    one.append(list);
  }
  if (data.more) one.append(made('p', 'more', data.more));
  return one;
};
// The first of them on the left, so that as much stands on both sides.
const half = branches => {
  const size = each => 2 + each.headings.length + (each.topics.length ? 1 : 0);
  const all = branches.reduce((sum, each) => sum + size(each), 0);
  let sum = 0;
  const at = branches.findIndex(each => (sum += size(each)) >= all / 2);
  return Math.max(1, Math.min(branches.length - 1, at + 1));
};
const lines = (map, svg, root) => {
  const whole = map.getBoundingClientRect(), middle = root.getBoundingClientRect();
  const paths = [...map.querySelectorAll('ol > li')].map(item => {
    const before = item.parentElement.className === 'before';
    const title = item.querySelector('.title').getBoundingClientRect();
    const x = (before ? middle.left : middle.right) - whole.left;
    const y = middle.top + middle.height / 2 - whole.top;
    const end = (before ? title.right + 2 : title.left - 2) - whole.left;
    const down = title.top + title.height / 2 - whole.top, half = (x + end) / 2;
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', `M${x} ${y} C${half} ${y} ${half} ${down} ${end} ${down}`);
    return path;
  });
  svg.replaceChildren(...paths);
};
export default function ({ data, parentElement, setTriggerValue }) {
  const map = parentElement.querySelector('#map'), shown = JSON.stringify(data);
  opensPlaces(parentElement, map, setTriggerValue);
  if (map.dataset.shown !== shown) {
    map.dataset.shown = shown;
    const tree = made('div', '', ''), root = made('p', '', data.root), at = half(data.branches);
    tree.id = 'tree';
    root.id = 'root';
    tree.setAttribute('role', 'group');
    tree.setAttribute('aria-label', data.label);
    tree.append(root);
    for (const [side, some] of [['before', data.branches.slice(0, at)],
                                ['after', data.branches.slice(at)]]) {
      const list = made('ol', side, '');
      list.append(...some.map(branch));
      tree.append(list);
    }
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('aria-hidden', 'true');
    map.replaceChildren(svg, tree);
    parentElement.__resized?.disconnect();
    parentElement.__resized = new ResizeObserver(() => lines(map, svg, root));
    parentElement.__resized.observe(map);
  }
  return () => {
    parentElement.__listening?.abort();
    parentElement.__resized?.disconnect();
    map.dataset.shown = '';
  };
}
