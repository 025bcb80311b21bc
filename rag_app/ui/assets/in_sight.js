// What a list holds is mounted when the list is opened, and goes when it is closed.
export default function ({ data, setStateValue }) {
  if (!data.shown) setStateValue('shown', true);
  // A moment later: what closes a list is often a press elsewhere, and Streamlit sends what changes
  // in one go as a change of one part of the page only.
  return () => setTimeout(() => setStateValue('shown', false), 100);
}
