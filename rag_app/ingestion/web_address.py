"""What a person pasted as a web address, what the page behind it is to be called, and connections
to public addresses alone.

Knows nothing of redirects. What a site says of itself is untrusted: it is only ever shown."""

from __future__ import annotations

import queue
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from email.message import Message
from html import unescape
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import httpcore
import httpx

from rag_app.errors import AddressError, AddressNotPublic, FetchStopped, LimitReached, SiteSilent

_LONGEST = 4_000  # characters
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(?!\d)", re.IGNORECASE)
_DOTTED = re.compile(r"[^.][.:][^.]|^localhost$|^::")
_TITLE = re.compile(r"<title\b[^>]{0,300}>", re.IGNORECASE)
_TITLE_ENDS = re.compile(r"</title", re.IGNORECASE)
_LONGEST_TITLE = 2_000  # characters, as they are written
_IN_NAMES = re.compile(r"\s*[\\/›]+\s*")  # would be taken for folders, or for files inside files
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}")
_NAMED = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "multipart/related": ".mhtml",
    "application/pdf": ".pdf",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/json": ".json",
    "application/xml": ".xml",
    "text/xml": ".xml",
    "application/rtf": ".rtf",
    "text/rtf": ".rtf",
    "application/epub+zip": ".epub",
    "application/zip": ".zip",
    "application/msword": ".doc",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.ms-powerpoint": ".ppt",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.presentation": ".odp",
    "message/rfc822": ".eml",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/tiff": ".tiff",
}


def parse(given: str) -> httpx.URL:
    """The address that was pasted; https:// is put before it where nothing else is.

    Raises AddressError."""
    text = given.strip().strip("<>\"'“”").strip()
    if not text:
        raise AddressError("Paste the address of a page first, such as https://example.org/page.")
    scheme = _SCHEME.match(text)
    if scheme and scheme[1].lower() not in ("http", "https"):
        raise AddressError(
            "Only addresses that begin with http:// or https:// can be fetched. "
            "If you have it as a file, add the file."
        )
    url = checked(text if scheme else f"https://{text}", given)
    if not scheme and not _DOTTED.search(url.host):
        raise _no_address(given)
    return url


def checked(text: str | httpx.URL, given: str = "") -> httpx.URL:
    """An address that may be fetched as far as its looks go, without its #part.

    Raises AddressError."""
    try:
        url = httpx.URL(text)
        host = url.host
    except (httpx.InvalidURL, ValueError) as error:
        raise _no_address(given or str(text)) from error
    if url.scheme not in ("http", "https") or len(str(url)) > _LONGEST:
        raise _no_address(given or str(text))
    if not host or any(c.isspace() for c in str(text).strip()):
        raise _no_address(given or str(text))
    if url.userinfo:
        raise AddressError(
            "This address holds a name or a password before the @, which is not sent anywhere. "
            "Leave that out; if the page wants you to sign in, open it in your browser, save it "
            "there, and add the file."
        )
    return url.copy_with(fragment=None)


def _no_address(given: str) -> AddressError:
    shown = given.strip()[:100]
    return AddressError(
        f"“{shown}” is not the address of a page. Copy it from the address bar of your browser; "
        "it looks like https://example.org/page."
    )


def site(url: httpx.URL) -> str:
    """The name of the site, as it is shown."""
    return url.host.removeprefix("www.")


def is_html(kind: str, head: bytes) -> bool:
    """Whether an answer is a web page, by its header and by how it begins."""
    opening = head[:1_024].lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    named = _NAMED.get(kind) == ".html" and b"<" in head[:4_096] and b"%PDF-" not in head[:1_024]
    return named or opening.startswith((b"<!doctype html", b"<html"))


def title(markup: str) -> str:
    """The title of a web page on one line, empty if it has none."""
    begins = _TITLE.search(markup)
    if begins is None:
        return ""
    ends = _TITLE_ENDS.search(markup, begins.end(), begins.end() + _LONGEST_TITLE)
    return " ".join(unescape(markup[begins.end() : ends.start()]).split()) if ends else ""


def page_name(url: httpx.URL, titled: str) -> str:
    """What a web page is called: by its title, else by its site and the end of its address."""
    last = _last_part(url)
    shown = titled or " - ".join(filter(None, (site(url), PurePosixPath(last).stem)))
    return f"{_IN_NAMES.sub(' - ', shown).strip(' .-') or site(url)}.html"


def file_name(url: httpx.URL, kind: str, disposition: str) -> str:
    """What a file is called that an address led to: as the site says, else as the address ends."""
    said = Message()
    said["content-disposition"] = disposition.replace("\r", " ").replace("\n", " ")
    last = (said.get_filename() if disposition else "") or _last_part(url) or site(url)
    name = _IN_NAMES.sub(" - ", last)
    named = PurePosixPath(name).suffix if last != site(url) else ""
    return name if _SUFFIX.fullmatch(named) else f"{name}{_NAMED.get(kind, '')}"


def _last_part(url: httpx.URL) -> str:
    """The end of the path, as it reads."""
    parts = [part for part in url.raw_path.decode("ascii").partition("?")[0].split("/") if part]
    return unquote(parts[-1], errors="replace").strip() if parts else ""


# Connections to public addresses only, and none for longer than one deadline.
#
# A name is looked up once, every address it has must be allowed, and the connection goes to one of
# the very addresses that were looked at: a name that means something else a moment later changes
# nothing. Knows nothing of HTTP; TLS still checks the certificate against the name.

Resolve = Callable[[str, int], list[Any]]  # as socket.getaddrinfo gives it

_SLICE = 0.25  # seconds between looks whether somebody still wants it
_CONNECT = 10.0  # seconds for one connection
_TRY = 4.0  # the same while there is another address to try
_SILENCE = 30.0  # longest time without a byte
_NAT64 = ip_network("64:ff9b::/96")
# Special addresses behind which no web page lies, and that not every Python knows of: its tables
# follow the registries of IANA years later, and clouds choose addresses of their own.
_SPECIAL = tuple(
    ip_network(one)
    for one in (
        "168.63.129.16/32",  # what Azure tells a machine about itself
        "192.0.0.0/24",  # protocols; 192.0.0.192 is what Oracle's cloud tells a machine
        "192.31.196.0/24",  # AS112, as are 192.175.48.0/24 and 2620:4f:8000::/48
        "192.52.193.0/24",  # relays of multicast
        "192.88.99.0/24",  # relays of 6to4
        "192.175.48.0/24",
        "2001::/23",  # protocols, Teredo among them
        "2620:4f:8000::/48",
        "3fff::/20",  # examples
    )
)
_AT_MOST = 8  # addresses that are tried
_UNREACHABLE = "Look at the connection of this computer to the internet, then try again."


class Clock:
    """How much time is left, and whether the person still wants it."""

    def __init__(self, seconds: float, cancelled: threading.Event) -> None:
        self.seconds, self._cancelled = seconds, cancelled
        self._end = time.monotonic() + seconds

    def left(self, most: float) -> float:
        """Seconds to wait now. Raises LimitReached when time is over, or FetchStopped."""
        if self._cancelled.is_set():
            raise FetchStopped("Stopped; nothing was added.")
        left = self._end - time.monotonic()
        if left <= 0:
            raise LimitReached(
                f"This took longer than the {self.seconds:g} seconds set by RAG_APP_FETCH_SECONDS. "
                "Try again later; or open the page in your browser, save it there, and add the "
                "file."
            )
        return min(most, left)


def look_up(host: str, port: int) -> list[Any]:
    """What the system knows of a name."""
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


def is_public(address: str) -> bool:
    """Whether an IP address is one that everybody may reach."""
    ip = _inner(ip_address(address.partition("%")[0]))
    if ip.is_multicast or ip.is_reserved or ip.is_unspecified:
        return False
    if any(ip in network for network in _SPECIAL):
        return False
    return ip.is_global and not getattr(ip, "is_site_local", False)


def _inner(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(ip, IPv6Address):
        if ip in _NAT64:
            return IPv4Address(int(ip) & 0xFFFFFFFF)
        return ip.ipv4_mapped or ip.sixtofour or ip
    return ip


class PublicNetwork(httpcore.NetworkBackend):
    """Opens connections for httpcore. `own`: networks that are allowed besides public ones."""

    def __init__(self, clock: Clock, own: str = "", resolve: Resolve = look_up) -> None:
        self._clock, self._resolve = clock, resolve
        self._own = [ip_network(one.strip(), strict=False) for one in own.split(",") if one.strip()]

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to an allowed address of `host`. Raises AddressError or LimitReached."""
        addresses = self._allowed(host, port)
        for number, address in enumerate(addresses, start=1):
            last = number == len(addresses)
            wait = self._clock.left(_CONNECT if last else _TRY)
            try:
                plain = httpcore.SyncBackend().connect_tcp(address, port, wait)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                self._clock.left(_SLICE)
                if last:
                    raise SiteSilent(
                        f"{host} does not answer. Look whether it opens in your browser, and try "
                        "again later."
                    ) from error
            else:
                return _Timed(plain, self._clock, host)
        raise SiteSilent(f"{host} has no address. {_UNREACHABLE}")

    def _allowed(self, host: str, port: int) -> list[str]:
        """The addresses of a name; all of them have to be allowed."""
        found = dict.fromkeys(str(entry[4][0]) for entry in self._looked_up(host, port))
        for address in found:
            ip = ip_address(address.partition("%")[0])
            if not is_public(address) and not any(_inner(ip) in own for own in self._own):
                raise AddressNotPublic(
                    f"{host} lies on this computer or in a network of its own. Only public pages "
                    "are fetched by address, unless RAG_APP_OWN_NETWORKS allows more. Open the "
                    "page in your browser, save it there, and add the file."
                )
        return [*found][:_AT_MOST]

    def _looked_up(self, host: str, port: int) -> list[Any]:
        """What is known of a name. The system may take its time over it; we do not."""
        answer: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def ask() -> None:
            found: Any = OSError("the look-up ended")
            try:
                found = self._resolve(host, port)
            except (OSError, UnicodeError) as error:
                found = error
            finally:
                answer.put(found)

        threading.Thread(target=ask, name="rag-app-look-up", daemon=True).start()
        while True:
            try:
                found = answer.get(timeout=self._clock.left(_SLICE))
            except queue.Empty:
                continue
            if isinstance(found, Exception):
                raise _unknown(host, found) from found
            return list(found)


def _unknown(host: str, error: Exception) -> SiteSilent:
    if getattr(error, "errno", None) == socket.EAI_AGAIN:
        return SiteSilent(
            f"{host} could not be looked up: this computer seems to be offline. {_UNREACHABLE}"
        )
    return SiteSilent(
        f"There is no site {host}, or this computer is offline. Check the spelling of the "
        "address, and the connection to the internet."
    )


class _Timed(httpcore.NetworkStream):
    """A connection on which no wait is longer than the clock allows, or than a long silence."""

    def __init__(self, stream: httpcore.NetworkStream, clock: Clock, host: str) -> None:
        self._stream, self._clock, self._host = stream, clock, host

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """The next bytes."""
        silent_at = time.monotonic() + _SILENCE
        while True:
            wait = self._clock.left(_SLICE)
            try:
                return self._stream.read(max_bytes, wait)
            except httpcore.ReadTimeout as error:
                if time.monotonic() >= silent_at:
                    raise SiteSilent(
                        f"{self._host} has fallen silent. Try again later; or open the page in "
                        "your browser, save it there, and add the file."
                    ) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes."""
        self._stream.write(buffer, self._clock.left(_CONNECT))

    def close(self) -> None:
        """Hang up."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """The same, encrypted; the certificate must be that of `server_hostname`."""
        try:
            wait = self._clock.left(_CONNECT)
            secured = self._stream.start_tls(ssl_context, server_hostname, wait)
        except httpcore.ConnectError as error:
            raise SiteSilent(
                f"{self._host} cannot prove that it is {self._host}, or does not speak https. "
                "Look whether your browser warns of it, too; if it is safe, save the page there, "
                "and add the file."
            ) from error
        return _Timed(secured, self._clock, self._host)

    def get_extra_info(self, info: str) -> Any:
        """What httpcore wants to know of the connection."""
        return self._stream.get_extra_info(info)
