"""Whether the browser runs on the computer that the app runs on, as far as can be told.

Where it may not, nothing on the page reaches the disk of the app's computer."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

import streamlit as st

_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via")


def same_computer() -> bool:
    """Whether only this computer can reach the app, and this browser does so directly."""
    return all(map(is_loopback, _ends())) and not is_forwarded(st.context.headers)


def _ends() -> tuple[str | None, str | None]:
    """The address that the app listens on (None: all there are), and that of the browser."""
    listens: str | None = st.get_option("server.address")
    return listens, st.context.ip_address or "localhost"  # Streamlit says None for this computer


def is_loopback(address: str | None) -> bool:
    """Whether an address is one that other computers cannot reach; no address is all of them."""
    if not address:
        return False
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def is_forwarded(headers: Mapping[str, str]) -> bool:
    """Whether a request came through another server, or by a name that is not this computer's."""
    host = headers.get("Host")
    named = urlsplit(f"//{host}").hostname if host else None
    return any(name in headers for name in _FORWARDED) or not (named is None or is_loopback(named))
