// What a list holds is mounted when the list is opened, and goes when it is closed. Once one of it was
// chosen the list closes: what it opened lies below.
let last = null;
export default function ({ data, setStateValue }) {
  const before = last;
  last = data.chosen;
  if (!data.shown) setStateValue('shown', true);
  else if (data.chosen && before !== null && data.chosen !== before)
    document.querySelector(`.st-key-${data.list} button[aria-expanded="true"]`)?.click();
  // What closes a list is often a press elsewhere: said when that is over, see view_change.js.
  return () => {
    last = null;
    document.dispatchEvent(
      new CustomEvent('rag-app:report', { detail: () => setStateValue('shown', false) }));
  };
}
