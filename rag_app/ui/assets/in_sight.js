// What a list holds is mounted when the list is opened, and goes when it is closed.
export default function ({ data, setStateValue }) {
  if (!data.shown) setStateValue('shown', true);
  // What closes a list is often a press elsewhere: said when that is over, see view_change.js.
  return () => document.dispatchEvent(
    new CustomEvent('rag-app:report', { detail: () => setStateValue('shown', false) }));
}
