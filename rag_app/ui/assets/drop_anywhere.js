// A file that is dropped beside the fields that take files would be opened by the browser, and the
// page be gone. It is given to the line for files, which shows itself while one is dragged along.
const FIELDS = '[class*="st-key-drop-"], [class*="st-key-question"]';
let line = '';
const holdsFiles = event => !!event.dataTransfer?.types.includes('Files');
const mark = on => document.documentElement.toggleAttribute('data-dragging', on);
addEventListener('dragover', event => {
  if (!holdsFiles(event)) return;
  event.preventDefault();
  mark(!!document.querySelector(line));
}, { capture: true });
addEventListener('dragleave', event => { if (!event.relatedTarget) mark(false); },
  { capture: true, passive: true });
addEventListener('drop', event => {
  mark(false);
  if (!holdsFiles(event) || event.target.closest?.(FIELDS)) return;
  event.preventDefault();
  const input = document.querySelector(line), given = new DataTransfer();
  for (const item of event.dataTransfer.items)  // of a folder there is no file to be had here
    if (item.kind === 'file' && item.webkitGetAsEntry()?.isFile !== false)
      given.items.add(item.getAsFile());
  if (!input || input.disabled || !given.files.length) return;
  input.files = given.files;
  input.dispatchEvent(new Event('change', { bubbles: true }));
}, { capture: true });
export default function ({ data }) { line = data.line; }
