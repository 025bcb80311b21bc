"""What a person pasted as a web address, and what the page behind it is to be called.

Pure: nothing is fetched here. What a site says of itself is untrusted: it is only ever shown."""

from __future__ import annotations

import re
from email.message import Message
from html import unescape
from pathlib import PurePosixPath
from urllib.parse import unquote

import httpx

from rag_app.errors import AddressError

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
