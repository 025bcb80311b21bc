"""One page or file of the web, fetched because a person has just asked for it.

Follows a few redirects, each of them checked as the first address was. Knows nothing of the
library."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass

import httpx

from rag_app.errors import PageRefused
from rag_app.intake import web_address as web
from rag_app.intake.one_request import MOVED, SAVE_IT, SIGN_IN, Answer, Wish, request
from rag_app.intake.public_network import Clock, PublicNetwork
from rag_app.reading.web import decode_html

_REDIRECTS = 5
_HEAD = 1 << 20  # bytes in which a page says its title
_SIGN_IN = re.compile(r"(?<![a-z])(log-?in|sign-?in|sso|oauth2?|accounts)(?![a-z])", re.IGNORECASE)
_REFRESH = re.compile(
    r"<meta[^>]{1,100}refresh[^>]{1,60}content\s*=\s*[\"']?\s*[0-3]\s*[;,]\s*url\s*=\s*"
    r"[\"']?([^\"'>\s]{1,2000})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class WebPage:
    """What an address led to."""

    asked: str  # the address as it was given, in its full form
    address: str  # where that led to
    name: str  # that a document of it is to have; untrusted
    data: bytes


def fetch(address: str, wish: Wish) -> WebPage:
    """The page or file at an address. Raises AddressError, LimitReached or UnsupportedFormat."""
    asked = url = web.parse(address)
    network = PublicNetwork(Clock(wish.seconds, wish.cancelled), wish.own_networks, wish.resolve)
    refreshed = False
    for _ in range(_REDIRECTS + 1):
        answer = request(url, network, wish)
        onward = _joined(answer, answer.headers.get("location", ""))
        if answer.status not in MOVED or onward is None:
            onward = None if refreshed else _joined(answer, _refresh(answer))
            refreshed = True
        if onward is None or onward == url:
            return _page(asked, answer)
        url = onward
    raise PageRefused(
        f"{web.site(url)} sends from one address to the next without end. Open the page in your "
        "browser, and paste the address that it has there."
    )


def _joined(answer: Answer, location: str) -> httpx.URL | None:
    """The address that an answer sends to, if any. Raises AddressError."""
    if not location:
        return None
    try:
        return web.checked(answer.url.join(location))
    except httpx.InvalidURL as error:
        raise PageRefused(
            f"{web.site(answer.url)} sends on to an address that is none. {SAVE_IT}"
        ) from error


def _refresh(answer: Answer) -> str:
    """Where a page that only sends on leads to: old sites and many manuals do it that way."""
    if not web.is_html(answer.kind, answer.data):
        return ""
    found = _REFRESH.search(answer.data[:4_096].decode("latin-1"))
    return found[1] if found else ""


def _page(asked: httpx.URL, answer: Answer) -> WebPage:
    """The answer as a file that the library can take."""
    url, data = answer.url, answer.data
    if url != asked and _SIGN_IN.search(_path(url)) and not _SIGN_IN.search(_path(asked)):
        raise PageRefused(f"{web.site(asked)} {SIGN_IN}")
    if not data:
        raise PageRefused(f"{web.site(url)} gave an empty page. {SAVE_IT}")
    if web.is_html(answer.kind, data):
        data = _as_read(data, answer.charset)
        head = data if len(data) <= _HEAD else data[:_HEAD].rpartition(b"<")[0]
        name = web.page_name(url, web.title(decode_html(head)[0]))
    else:
        name = web.file_name(url, answer.kind, answer.headers.get("content-disposition", ""))
    return WebPage(str(asked), str(url), name, data)


def _path(url: httpx.URL) -> str:
    return f"{url.host}{url.path}"


def _as_read(data: bytes, charset: str) -> bytes:
    """The page so that its reader, who does not know what the site said, reads what is meant.

    Many a site says of all its pages that they are Western; UTF-8 shows in the bytes."""
    if not charset:
        return data
    meant = decode_html(data, charset)[0]
    with contextlib.suppress(UnicodeDecodeError):
        meant = meant if data.isascii() else data.decode("utf-8-sig")
    if len(data) <= _HEAD and decode_html(data)[0] == meant:  # guessing in a long one takes long
        return data
    return b"\xef\xbb\xbf" + meant.encode("utf-8", "replace")
