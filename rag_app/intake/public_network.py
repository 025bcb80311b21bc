"""Connections to public addresses only, and none for longer than one deadline.

A name is looked up once, every address it has must be allowed, and the connection goes to one of
the very addresses that were looked at: a name that means something else a moment later changes
nothing. Knows nothing of HTTP; TLS still checks the certificate against the name."""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import httpcore

from rag_app.errors import AddressNotPublic, FetchStopped, LimitReached, SiteSilent

Resolve = Callable[[str, int], list[Any]]  # as socket.getaddrinfo gives it

_SLICE = 0.25  # seconds between looks whether somebody still wants it
_CONNECT = 10.0  # seconds for one connection
_TRY = 4.0  # the same while there is another address to try
_SILENCE = 30.0  # longest time without a byte
_NAT64 = ip_network("64:ff9b::/96")
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
