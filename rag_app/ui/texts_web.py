"""The English words around pages of the web. A part of texts.py, which has grown long.

Pure: words and numbers in, a sentence out."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlsplit

from rag_app.ui.texts import size

ADD_PAGE = "Add a web page"
ADDRESS = "Address of the page"
EXAMPLE = "https://example.org/page"
FETCH = "Fetch it"
CANCEL = "Cancel"
STOP = "Stop"
GOES_OUT = (
    "This goes to the internet: the app fetches this one page now, because you ask for it. "
    "Nothing of yours is sent along."
)
NOTHING_TYPED = "Paste the address of a page first, such as https://example.org/page."
FROM = "From"  # before the name of a site
ENOUGH = "Wait until the pages before it have come, then fetch the next."


def fetching(site: str, done: int, total: int) -> str:
    """How far a page is."""
    if total and done < total:
        return f"Fetching from {site}: {size(done)} of {size(total)}"
    return f"Fetching from {site}: {size(done)}" if done else f"Fetching from {site}…"


def origin(address: str, at: str) -> tuple[str, str]:
    """The site that a document is from, and when it was fetched, in the time of this computer."""
    site = (urlsplit(address).hostname or address).removeprefix("www.")
    return site, fetched(at)


def fetched(at: str) -> str:
    """When something was fetched."""
    moment = datetime.fromisoformat(at).astimezone()
    return f"fetched {moment.day} {moment:%B %Y}"
