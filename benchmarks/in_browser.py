"""How long a person waits, measured in a real Chromium: `python -m benchmarks.in_browser`.

A library of 100 documents; how soon the page answers clicks while one of 1,000 pages is being
embedded; a second start; several sessions at once. Needs chromium and the `dev` extra."""

from __future__ import annotations

import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from reportlab.pdfgen.canvas import Canvas

from tests.e2e.conftest import ARGUMENTS, serving

SAMPLE = Path("rag_app/samples/Harbour Cycles - Annual Report 2025.pdf")
QUESTION = "How often is every bicycle inspected?"
FIELD = "stChatInputTextArea"
WORDS = "harbour boat salt barrel rope tide winter cargo pilot quay storm chart anchor crew port"


# Both moments are taken inside the page, at a frame: who asks from outside for what is not there
# yet asks again after 20, 50, 100, 100 and 500 ms, and measures that.
WATCH = """
seen => {
  window.took = null;
  const find = root => {
    const found = root.querySelector(seen);
    if (found?.checkVisibility()) return true;
    return [...root.querySelectorAll('*')].some(each => each.shadowRoot && find(each.shadowRoot));
  };
  const begin = event => {
    for (const kind of ['click', 'input']) removeEventListener(kind, begin, true);
    const look = () => {
      if (find(document)) window.took = performance.now() - event.timeStamp;
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  };
  for (const kind of ['click', 'input']) addEventListener(kind, begin, true);
}
"""


def book(path: Path, pages: int, seed: int) -> Path:
    """A PDF of made sentences, 30 lines a page."""
    chance, words, canvas = random.Random(seed), WORDS.split(), Canvas(str(path))
    for page in range(pages):
        canvas.setFont("Helvetica", 11)
        canvas.drawString(60, 800, f"Chapter {page // 10}")
        for line in range(30):
            text = " ".join(chance.choice(words) for _ in range(11)).capitalize()
            canvas.drawString(60, 770 - 24 * line, f"{text} {page}.")
        canvas.showPage()
    canvas.save()
    return path


def seconds(act: Callable[[], object]) -> float:
    """How long something takes."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def reaction(
    page: Any, name: str, act: Callable[[], object], seen: str,
    undo: Callable[[], object] = lambda: None,
) -> None:  # fmt: skip
    """Print how long it takes from the click or the key of `act` until `seen` is on the page.

    `seen` is a CSS selector; shadow roots are looked through. Seven times."""
    taken = []
    for _ in range(7):
        page.wait_for_timeout(400)
        page.evaluate(WATCH, seen)
        act()
        page.wait_for_function("() => window.took !== null")
        taken.append(page.evaluate("() => window.took"))
        undo()
    print(f"{name}: median {statistics.median(taken):.0f} ms, most {max(taken):.0f} ms", flush=True)


def opened(browser: Any, address: str) -> Any:
    """A fresh session, as soon as its field can be typed into."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(address)
    page.get_by_test_id(FIELD).wait_for()
    return page


def ask(page: Any, question: str) -> None:
    """Ask and wait for the whole answer."""
    before = page.locator(".how").count()
    page.get_by_test_id(FIELD).fill(question)
    page.keyboard.press("Enter")
    page.locator(".how").nth(before).wait_for()


def first_start(browser: Any, address: str, folder: Path) -> None:
    """Fill the library, then click while the long document is being embedded."""
    page = opened(browser, address)
    files = [book(folder / f"paper-{n:02}.pdf", 3, n) for n in range(99)]
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files([SAMPLE, *files])
    page.get_by_text("of 100 documents finished").wait_for()
    page.get_by_text("of 100 documents finished").wait_for(state="detached")
    long = book(folder / "long.pdf", 1000, 1)
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(long)
    row = page.locator('[class*="st-key-doc-"]').filter(has_text="long.pdf")
    row.get_by_text("Learning what it means").wait_for()
    clicks(page)
    other = opened(browser, address)
    print(f"question to answer meanwhile: {seconds(lambda: ask(other, QUESTION)):.1f} s")
    print(f"still embedding at the end: {bool(row.get_by_text('Learning').count())}", flush=True)


def clicks(page: Any) -> None:
    """What people do most on the document side."""
    button, back = page.get_by_role, ".st-key-search_back button"
    field = page.get_by_role("textbox", name="Search your documents")
    reaction(
        page, "untick all documents",
        lambda: button("button", name="None", exact=True).click(),
        f'[data-testid="{FIELD}"][placeholder^="Tick what you want"]',
        lambda: button("button", name="All", exact=True).click(),
    )  # fmt: skip
    reaction(
        page, "open the search", button("button", name="Search the text").click,
        ".st-key-search input", lambda: page.locator(back).click(),
    )  # fmt: skip
    button("button", name="Search the text").click()
    reaction(
        page, "search, with the 300 ms after the last key",
        lambda: field.fill("electric bicycle"),
        "#list mark",
        lambda: (field.fill(""), page.locator("#list mark").first.wait_for(state="detached")),
    )  # fmt: skip
    field.fill("electric bicycle")
    reaction(
        page, "open a hit: the panel beside it",
        lambda: page.locator("#list button").first.click(), ".st-key-source_head",
        lambda: page.locator(".st-key-source_close button").click(),
    )  # fmt: skip
    reaction(
        page, "open a hit on its page", lambda: page.locator("#list button").first.click(),
        "#sheet .box.quote",
        lambda: page.locator(".st-key-source_close button").click(),
    )  # fmt: skip
    page.locator(back).click()


def second_start(browser: Any, address: str) -> None:
    """A page, its first answer, and four sessions that ask at once."""
    time.sleep(3)  # who starts a server takes a moment to open the browser
    began = time.perf_counter()
    page = opened(browser, address)
    print(f"second start, page interactive: {time.perf_counter() - began:.1f} s")
    ask(page, QUESTION)
    print(f"second start, first answer: {time.perf_counter() - began:.1f} s")
    pages = [opened(browser, address) for _ in range(4)]
    began = time.perf_counter()
    for each in pages:
        each.get_by_test_id(FIELD).fill("What does an annual membership cost?")
        each.keyboard.press("Enter")
    for each in pages:
        each.locator(".how").first.wait_for()
    print(f"four sessions at once, all answered: {time.perf_counter() - began:.1f} s")


def main() -> int:
    """Everything, on a library of its own."""
    folder = Path(tempfile.mkdtemp())
    try:
        with sync_playwright() as started:
            path = shutil.which("chromium")
            browser = started.chromium.launch(executable_path=path, args=list(ARGUMENTS))
            with serving(folder) as address:
                first_start(browser, address, folder)
            with serving(folder) as address:
                second_start(browser, address)
            browser.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
