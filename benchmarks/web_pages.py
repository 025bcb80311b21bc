"""How much of a web page's article is read, and how much of what is read is the article.

    python -m benchmarks.web_pages FOLDER

FOLDER holds a folder for each page with `source.html`, the page, and `expected.html`, its article;
the test pages of mozilla/readability (Apache-2.0) are laid out like that. Words are compared as
bags, pages whose article has fewer than 100 words are left out."""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from rag_app.errors import NoText
from rag_app.reading.encodings import decode_html
from rag_app.reading.limits import Limits
from rag_app.reading.sections import PageBuilder
from rag_app.reading.web import Chosen, add_html, main_content

_WORD = re.compile(r"\w+")
_LEAST = 100  # words of an article
Choose = Callable[[LexborHTMLParser], Chosen]


def everything(parser: LexborHTMLParser) -> Chosen:
    """What `add_html` chooses by itself."""
    return Chosen()


def words(path: Path, choose: Choose) -> Counter[str]:
    """The words that are read of a page."""
    sections = PageBuilder(Limits())
    title = add_html(decode_html(path.read_bytes())[0], sections, choose)
    try:
        pages = sections.reading(title).pages
    except NoText:
        return Counter()
    return Counter(word.lower() for page in pages for word in _WORD.findall(page.text))


def shares(folder: Path, choose: Choose) -> list[tuple[float, float]]:
    """(share of the article that is read, share of what is read that is the article) by page."""
    found = []
    for expected in sorted(folder.glob("*/expected.html")):
        article = words(expected, everything)
        if article.total() >= _LEAST:
            read = words(expected.with_name("source.html"), choose)
            both = (read & article).total()
            found.append((both / article.total(), both / max(1, read.total())))
    return found


def main() -> None:
    """Print a line for everything read and one for the main part chosen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for name, choose in (("everything", everything), ("main part", main_content)):
        began = time.perf_counter()
        found = shares(folder, choose)
        seconds = time.perf_counter() - began
        recalls, precisions = ([each[n] for each in found] for n in (0, 1))
        print(
            f"{name:>10}: {len(found)} pages, article read {statistics.mean(recalls):.3f} "
            f"(least {min(recalls):.3f}); of what is read {statistics.mean(precisions):.3f} is the "
            f"article (median {statistics.median(precisions):.3f}, "
            f"worst tenth {statistics.quantiles(precisions, n=10)[0]:.3f}); {seconds:.1f} s"
        )


if __name__ == "__main__":
    main()
