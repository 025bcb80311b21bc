"""One page or file of the web, fetched because a person has just asked for it.

Follows a few redirects, each of them checked as the first address was. Knows nothing of the
library."""

from __future__ import annotations

import contextlib
import html
import re
import ssl
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpcore
import httpx

from rag_app.errors import LimitReached, PageRefused, SiteSilent, UnsupportedFormat
from rag_app.ingestion import web_address as web
from rag_app.ingestion.web_address import Clock, PublicNetwork, Resolve, look_up, site
from rag_app.reading.encodings import decode_html
from rag_app.settings import Settings, app_version
from rag_app.supervision import Told, untold

# One request to one site, within limits on time and on bytes as they are unpacked.
#
# No cookies, nothing of who asks, and an honest name. Every failure is a sentence.

MOVED = (301, 302, 303, 307, 308)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)")
_GZIP = ("gzip", "x-gzip")
_BLOCK = 1 << 20  # bytes unpacked at once
_MEMBER = b"\x1f\x8b"  # of which a packed body may have several: how each begins
_ANY_WRAPPING = 47  # of zlib: gzip or deflate, whichever it is
SAVE_IT = "Open the page in your browser, save it there or print it to a PDF, and add the file."
SIGN_IN = f"wants you to sign in. {SAVE_IT}"
_STATUS = {
    401: SIGN_IN,
    403: "does not show this page to everybody, or not to programs. " + SAVE_IT,
    404: "has no such page. Check the address; the page may have moved.",
    407: "is behind a proxy that wants you to sign in. " + SAVE_IT,
    410: "has no such page any more. Search for it; it may have moved.",
    429: "asks to wait. Try again in a few minutes.",
    451: "may not show this page here.",
}


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What may be fetched, and who is told how far it is."""

    max_bytes: int
    seconds: float
    own_networks: str = ""
    told: Told = untold
    cancelled: threading.Event = field(default_factory=threading.Event)
    resolve: Resolve = look_up

    @classmethod
    def from_settings(
        cls, settings: Settings, told: Told | None = None, cancelled: threading.Event | None = None
    ) -> FetchRequest:
        """What the settings allow."""
        return cls(
            settings.max_file_mb << 20,
            settings.fetch_seconds,
            settings.own_networks,
            told or untold,
            cancelled or threading.Event(),
        )


@dataclass(frozen=True, slots=True)
class SiteResponse:
    """What a site said; `data` is empty if it sends on to another address."""

    url: httpx.URL
    status: int
    headers: httpx.Headers
    data: bytes

    @property
    def says(self) -> str:
        """What the site says that it is."""
        return str(self.headers.get("content-type", ""))

    @property
    def kind(self) -> str:
        """The type that the site says it is of."""
        return self.says.partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """The encoding that the site says it is in, empty if it does not say."""
        said = _CHARSET.search(self.says)
        return said[1] if said else ""


def request(url: httpx.URL, network: PublicNetwork, wish: FetchRequest) -> SiteResponse:
    """One request and what came of it. Raises AddressError, LimitReached, UnsupportedFormat."""
    target = httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )
    headers = [
        (b"Host", url.netloc),
        (b"User-Agent", _user_agent()),
        (b"Accept", b"text/html, application/xhtml+xml, application/pdf, */*;q=0.8"),
        (b"Accept-Encoding", b"gzip"),
        (b"Connection", b"close"),
    ]
    try:
        with (
            httpcore.HTTPConnection(
                target.origin, ssl_context=_tls(url), network_backend=network
            ) as connection,
            connection.stream("GET", target, headers=headers) as response,
        ):
            return _taken(url, response, wish)
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
        raise SiteSilent(
            f"{site(url)} broke off, or does not speak as web sites do. Try again later; or "
            "open the page in your browser, save it there, and add the file."
        ) from error


def _tls(url: httpx.URL) -> ssl.SSLContext | None:
    """Which certificates are believed: those that browsers believe, and this computer's own."""
    if url.scheme != "https":
        return None
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


def _user_agent() -> bytes:
    return f"rag-app/{app_version()} (one page, because a person asked for it)".encode()


def _taken(url: httpx.URL, response: httpcore.Response, wish: FetchRequest) -> SiteResponse:
    headers = httpx.Headers(response.headers)
    answer = SiteResponse(url, response.status, headers, b"")
    if response.status in MOVED and "location" in headers:
        return answer
    if response.status not in (200, 203):
        problem = "has a trouble of its own. Try again later."
        known = problem if response.status >= 500 else f"does not give this page. {SAVE_IT}"
        said = _STATUS.get(response.status, known)
        raise PageRefused(f"{site(url)} {said} (It says {response.status}.)")
    if answer.kind.startswith(("video/", "audio/")):
        what = "a film" if answer.kind.startswith("video/") else "sound"
        raise UnsupportedFormat(
            f"This address leads to {what}, which cannot be read. If there is a transcript, or "
            "there are subtitles, add these."
        )
    said = headers.get("content-length", "")
    total = int(said) if said.isdecimal() and len(said) < 16 else 0
    packed = _packing(url, headers)
    data = bytearray()
    for block in _unpacked(url, _counted(response, total, wish), packed):
        data += block
        _check_size(len(data), wish)
    return SiteResponse(url, response.status, headers, bytes(data))


def _packing(url: httpx.URL, headers: httpx.Headers) -> bool:
    """Whether what comes is packed."""
    said = headers.get("content-encoding", "").strip().lower()
    if said not in ("", "identity", "deflate", *_GZIP):
        raise SiteSilent(
            f"{site(url)} sends the page packed in a way that was not asked for. {SAVE_IT}"
        )
    return said not in ("", "identity")


def _counted(response: httpcore.Response, total: int, wish: FetchRequest) -> Iterator[bytes]:
    """What comes over the line, as far as it may."""
    _check_size(total, wish)
    done = 0
    for block in response.iter_stream():
        done += len(block)
        _check_size(done, wish)
        wish.told(done, total)
        yield block


def _check_size(size: int, wish: FetchRequest) -> None:
    if size > wish.max_bytes:
        raise LimitReached(
            f"This page is larger than {wish.max_bytes >> 20} MB, the limit set by "
            "RAG_APP_MAX_FILE_MB. Raise the limit, or save a part of the page as a file and add "
            "that."
        )


def _unpacked(url: httpx.URL, blocks: Iterator[bytes], packed: bool) -> Iterator[bytes]:
    """The bytes themselves, never much more than `_BLOCK` at once, whatever they were packed to."""
    if not packed:
        yield from blocks
        return
    unpacking, rest = zlib.decompressobj(_ANY_WRAPPING), b""
    try:
        for block in blocks:
            rest += block
            while len(rest) > unpacking.eof:  # one byte does not tell whether there is more
                if unpacking.eof and not rest.startswith(_MEMBER):
                    return
                if unpacking.eof:
                    unpacking = zlib.decompressobj(_ANY_WRAPPING)
                yield unpacking.decompress(rest, _BLOCK)
                rest = unpacking.unused_data or unpacking.unconsumed_tail
        while not unpacking.eof and (more := unpacking.decompress(b"", _BLOCK)):
            yield more
    except zlib.error as error:
        raise _torn(url) from error
    if not unpacking.eof:
        raise _torn(url)


def _torn(url: httpx.URL) -> SiteSilent:
    return SiteSilent(
        f"The page from {site(url)} arrived damaged. Try again; if it stays so, open it in your "
        "browser, save it there, and add the file."
    )


_REDIRECTS = 5
_HEAD = 1 << 20  # bytes in which a page says its title
_SIGN_IN = re.compile(r"(?<![a-z])(log-?in|sign-?in|sso|oauth2?|accounts)(?![a-z])", re.IGNORECASE)
_REFRESH = re.compile(
    r"<meta[^>]{1,100}refresh[^>]{1,60}content\s*=\s*[\"']?\s*[0-3]\s*[;,]\s*url\s*=\s*"
    r"[\"']?([^\"'>\s]{1,2000})",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&#?\w{1,32};")  # only whole: "&copy=1" is part of an address


@dataclass(frozen=True, slots=True)
class WebPage:
    """What an address led to."""

    asked: str  # the address as it was given, in its full form
    address: str  # where that led to
    name: str  # that a document of it is to have; untrusted
    data: bytes


def fetch(address: str, wish: FetchRequest) -> WebPage:
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


def _joined(answer: SiteResponse, location: str) -> httpx.URL | None:
    """The address that an answer sends to, if any. Raises AddressError."""
    if not location:
        return None
    try:
        return web.checked(answer.url.join(location))
    except httpx.InvalidURL as error:
        raise PageRefused(
            f"{web.site(answer.url)} sends on to an address that is none. {SAVE_IT}"
        ) from error


def _refresh(answer: SiteResponse) -> str:
    """Where a page that only sends on leads to: old sites and many manuals do it that way."""
    if not web.is_html(answer.kind, answer.data):
        return ""
    found = _REFRESH.search(answer.data[:4_096].decode("latin-1"))
    return _ENTITY.sub(lambda one: html.unescape(one[0]), found[1]) if found else ""


def _page(asked: httpx.URL, answer: SiteResponse) -> WebPage:
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
