"""Twenty people ask at the same moment, each in a session of its own.

    python -m benchmarks.many_sessions --pdfs FOLDER_OR_TAR [--sessions 20] [--pages 1000]
        [--without-browsers]

One app, one Chromium, both on this machine: the browser's work for all the windows is in the
figures. Time runs from the Enter key until the answer stands on the page with how it was made.
Without browsers (`tests.page_client`) it runs from what is sent until the same has come."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks import corpus
from benchmarks.bench import DEFAULT_PDFS
from benchmarks.in_browser import FIELD, opened
from benchmarks.parts import percentile
from rag_app.library import Library
from rag_app.settings import Settings
from tests.e2e.conftest import ARGUMENTS, serving
from tests.page_client import Visitor

ROUNDS = (
    ("What is the name of the independent registered public accounting firm?", False),
    ("In which state is the company incorporated?", False),
    ("How many employees does the company have?", True),
    ("Where are the headquarters of the company?", True),
)
# Both moments are taken inside the page: reading them from outside would wait its turn.
WATCH = """
() => {
  const last = kind => [...document.querySelectorAll(kind)].pop();
  addEventListener('keydown', e => {
    if (e.key !== 'Enter') return;
    const asked = e.target.value.trim(), began = performance.now();
    window.took = null;
    const look = new MutationObserver(() => {
      const question = last('.question'), how = last('.how');
      if (!question || !how || question.textContent.trim() !== asked) return;
      if (question.compareDocumentPosition(how) & Node.DOCUMENT_POSITION_FOLLOWING) {
        window.took = performance.now() - began;
        look.disconnect();
      }
    });
    look.observe(document.body, {childList: true, subtree: true});
  }, true);
}
"""

PRESS = """
moment => {
  const field = document.querySelector('[data-testid=stChatInputTextArea]');
  const enter = {key: 'Enter', code: 'Enter', keyCode: 13, bubbles: true, cancelable: true};
  window.took = null;
  setTimeout(() => field.dispatchEvent(new KeyboardEvent('keydown', enter)), moment - Date.now());
}
"""


def fill(folder: Path, files: list[Path], pages: int) -> int:
    """A library of at least so many pages of these files; returns how many it has."""
    picked = corpus.pick(files, pages)
    with Library(Settings.load(data_dir=folder)) as library:
        added = [library.add(one.path.name, one.path.read_bytes()) for one in picked]
        library.wait([one.document.id for one in added])
    return sum(one.pages for one in picked)


def ask_all(pages: list[Any], question: str, together: bool = True) -> list[float]:
    """Everybody asks; seconds until each has the answer. Raises if one never gets it.

    All in the same millisecond, or (not `together`) as fast as one hand can press Enter in each."""
    for page in pages:
        page.get_by_test_id(FIELD).fill(question)
    moment = 1000 * (time.time() + 1.0)
    for page in pages:
        if together:
            page.evaluate(PRESS, moment)
        else:
            page.get_by_test_id(FIELD).press("Enter", no_wait_after=True)
    for page in pages:
        page.wait_for_function("() => window.took !== null", timeout=40_000)
    return [page.evaluate("() => window.took") / 1000 for page in pages]


def in_windows(address: str, sessions: int) -> None:
    """Everybody in a window of one Chromium."""
    with sync_playwright() as started:
        path = shutil.which("chromium")
        browser = started.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        began = time.perf_counter()
        pages = [opened(browser, address) for _ in range(sessions)]
        print(f"{len(pages)} sessions open after {time.perf_counter() - began:.1f} s")
        for page in pages:
            page.evaluate(WATCH)
        for question, together in ROUNDS:
            _report(together, partial(ask_all, pages, question, together))
        browser.close()


def without_browsers(address: str, sessions: int) -> None:
    """Everybody without a browser, and how many bytes the last question brought."""
    visitors = [Visitor(address) for _ in range(sessions)]
    with ThreadPoolExecutor(sessions) as threads:
        for question, _ in ROUNDS:
            ask = partial(Visitor.ask, question=question, at=time.time() + 1.0)
            _report(True, partial(threads.map, ask, visitors))
            print(f"bytes, median: {percentile([one.received for one in visitors], 0.5):,.0f}")
    for one in visitors:
        one.close()


def _report(together: bool, ask: Callable[[], Iterable[float]]) -> None:
    began = time.perf_counter()
    took = list(ask())
    print(
        f"{'in the same millisecond' if together else 'one after another'}: "
        f"median {percentile(took, 0.5):.2f} s, p95 {percentile(took, 0.95):.2f} s, "
        f"most {max(took):.2f} s, all {len(took)} in {time.perf_counter() - began:.1f}",
        flush=True,
    )


def main(argv: list[str]) -> int:
    """Make the library, open the windows, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--pdfs", type=Path, default=DEFAULT_PDFS, help="a folder or tar of PDFs")
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--without-browsers", action="store_true")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="sessions-") as temporary:
        folder = Path(temporary)
        files = corpus.unpack(given.pdfs, folder / "pdfs")
        print(f"{fill(folder / 'data', files, given.pages)} pages", flush=True)
        with serving(folder) as address:
            (without_browsers if given.without_browsers else in_windows)(address, given.sessions)
        if re.search(r"Traceback", (folder / "server.log").read_text()):
            raise SystemExit("the app's log has a traceback")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
