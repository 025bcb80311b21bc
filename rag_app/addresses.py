"""Addresses as people write them: of servers, of models on servers, of places of files. Pure."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from rag_app.errors import SettingsError

# Addresses of servers that language models answer at. Only what every parser of addresses reads
# the same way counts as one: plain names, no password, nothing behind the path.
_ADDRESS = re.compile(
    r"https?://(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:/[\w.~%/+=:-]*)?",
    re.IGNORECASE | re.ASCII,
)
PORTS = {"http": 80, "https": 443}


def checked_url(text: str) -> str:
    """An address of a server, without a slash at its end. Raises SettingsError."""
    url = text.strip().rstrip("/")
    try:
        usable = _ADDRESS.fullmatch(url) and urlsplit(url).port != 0
    except ValueError:  # no port, or no IPv6 address
        usable = False
    if not usable:
        said = "".join(c for c in " ".join(url.split()) if c.isprintable())[:80]
        raise SettingsError(
            f"“{said}” is no address of a server. Write it like http://127.0.0.1:8000/v1"
        )
    return url


def model_at(text: str) -> tuple[str, str]:
    """(model, address of its server) of MODEL@URL; an address that is not given is empty.

    The model is empty where none is named. Raises SettingsError for what is no address."""
    model, at, url = text.rpartition("@http")
    if not at:
        model, url = url, ""
    if "://" in model:  # an address that is none must not end as the name of a hosted model
        checked_url(model.rpartition("@")[2])
        model = ""
    return model.strip(), checked_url(f"http{url}") if at else ""


# Places of files. Keys are never part of an address, which is shown: no “@” and nothing behind “?”.
_PLACE = re.compile(r"(?:(?:s3|gs|az)://[\w.-]+(?:/[^?#@\x00-\x1f]*)?|file:///[^?#\x00-\x1f]*)")


def checked_files_url(text: str) -> str:
    """An address of a bucket or folder, without a slash at its end. Raises ValueError."""
    url = text.strip().rstrip("/")
    if not _PLACE.fullmatch(url):
        raise ValueError("write it like s3://BUCKET/PREFIX, without a key in it")
    return url


def origin_of(url: str) -> str:
    """The server that an address names, whatever the path: scheme, host and port."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or PORTS[parts.scheme]}"


def is_at(origin: str, host: str | None) -> bool:
    """Whether a page's origin, as its browser says it, is the server that a Host header names."""
    try:
        return urlsplit(origin).netloc == host
    except ValueError:
        return False  # no address


def is_loopback(address: str | None) -> bool:
    """Whether an address is one that other computers cannot reach; no address is all of them."""
    if address == "localhost":
        return True
    try:
        return ip_address((address or "").strip("[]")).is_loopback
    except ValueError:
        return False  # a name
