"""Pages fetched over a real loopback server: what comes, what is refused, and how that is said."""

from __future__ import annotations

import datetime
import gzip
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace

import pytest

from rag_app.errors import (
    AddressError,
    AddressNotPublic,
    FetchStopped,
    LimitReached,
    PageRefused,
    RagAppError,
    SiteSilent,
    UnsupportedFormat,
)
from rag_app.ingestion.web_address import Clock, PublicNetwork, is_public
from rag_app.ingestion.web_fetch import FetchRequest, fetch
from rag_app.reading.encodings import decode_html
from tests.web_sites import HTML, Site, web_site

LOOK_UP = socket.getaddrinfo  # the real one: tests may ask for names of this computer only
HOME = {"127.0.0.1": "127.0.0.1"}
HERE = FetchRequest(1 << 20, 20.0, "127.0.0.0/8, ::1")
PAGE = "<!doctype html><title>Harbour &amp; tides</title><p>High tide is at six."


@pytest.fixture
def site() -> Iterator[Site]:
    with web_site() as running:
        yield running


def names(**known: str | list[str]):
    """A resolver that knows these names only, and what it was asked."""

    def resolve(host: str, port: int):
        if host not in known:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        given = known[host]
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in ([given] if isinstance(given, str) else given)
        ]

    return resolve


def test_a_page_is_fetched_and_called_by_its_title(site):
    address = site.page("/tides", PAGE)
    page = fetch(address + "#today", HERE)
    assert (page.asked, page.address, page.name) == (address, address, "Harbour & tides.html")
    assert page.data == PAGE.encode()


def test_nothing_is_told_but_an_honest_name_and_no_cookie_comes_back(site):
    site.status("/from", 302, Location="/to", Set_Cookie="who=me")
    site.page("/to", PAGE)
    fetch(f"{site.address}/from", HERE)
    assert [path for path, _ in site.asked] == ["/from", "/to"]
    for _, headers in site.asked:
        assert set(headers) == {"host", "user-agent", "accept", "accept-encoding", "connection"}
        assert headers["user-agent"].startswith("rag-app/")


def test_a_file_keeps_the_name_that_it_has_there(site):
    pdf = b"%PDF-1.7\n..."
    assert fetch(site.page("/a/Fares%202026.pdf?x=1", pdf, "application/pdf"), HERE).name == (
        "Fares 2026.pdf"
    )
    given = site.page(
        "/get?id=3",
        b"a,b\n1,2\n",
        "text/csv",
        Content_Disposition='attachment; filename="../w.csv"',
    )
    assert fetch(given, HERE).name == ".. - w.csv"
    assert fetch(site.page("/data", b"a,b\n", "text/csv"), HERE).name == "data.csv"
    assert fetch(site.page("/", b"plain", "text/plain"), HERE).name == "127.0.0.1.txt"


def test_what_it_is_shows_in_the_bytes_whatever_the_site_says(site):
    wrong = site.page("/x", b"%PDF-1.7\n<html>", "text/html")
    assert fetch(wrong, HERE).name == "x.html" and fetch(wrong, HERE).data.startswith(b"%PDF")
    nameless = site.page("/y", PAGE, "application/octet-stream")
    assert fetch(nameless, HERE).name == "Harbour & tides.html"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<p>Привет, мир".encode("cp1251"), "text/html; charset=windows-1251"),
        ("<p>Привет, мир".encode(), "text/html; charset=iso-8859-1"),
        ("<meta charset=windows-1252><p>Привет, мир".encode(), "text/html; charset=utf-8"),
        ("<p>Привет, мир".encode(), "text/html"),
        ("\ufeff<p>Привет, мир".encode(), "text/html; charset=koi8-r"),
        ("<p>Привет, мир こ".encode("iso2022_jp"), "text/html; charset=ISO-2022-JP"),
    ],
)
def test_a_page_is_read_in_the_encoding_that_the_site_names(site, body, kind):
    page = fetch(site.page("/", body, kind), HERE)
    assert "Привет, мир" in decode_html(page.data)[0]


def test_a_long_page_is_called_and_read_as_a_short_one_is(site):
    long = "<title>Приливы</title>" + "<p>ж" * 400_000
    wish = replace(HERE, max_bytes=8 << 20)
    for number, kind in enumerate(("text/html", HTML, "text/html; charset=latin1")):
        page = fetch(site.page(f"/{number}", long, kind), wish)
        assert page.name == "Приливы.html" and "<p>ж<p>ж" in decode_html(page.data)[0]


def test_packed_pages_are_unpacked(site):
    raw = zlib.compressobj(wbits=-15)
    for path, packed, how in (
        ("/gz", gzip.compress(PAGE.encode()), "gzip"),
        ("/df", zlib.compress(PAGE.encode()), "deflate"),
    ):
        assert fetch(site.page(path, packed, Content_Encoding=how), HERE).data == PAGE.encode()
    torn = site.page("/torn", gzip.compress(PAGE.encode())[:-12], Content_Encoding="gzip")
    with pytest.raises(SiteSilent, match="damaged"):
        fetch(torn, HERE)
    with pytest.raises(SiteSilent, match="damaged"):
        fetch(site.page("/no", raw.compress(b"x") + b"no gzip", Content_Encoding="gzip"), HERE)


def test_a_page_that_is_packed_in_several_pieces_is_whole(site):
    packed = b"".join(gzip.compress(piece) for piece in (b"<p>The first", b" and the", b" last"))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
    for path, sent in (("/", [packed]), ("/byte", [packed[n : n + 1] for n in range(len(packed))])):
        page = fetch(site.raw(path, head, *sent, b"\0\0 and what is none"), HERE)
        assert page.data == b"<p>The first and the last"
    with pytest.raises(SiteSilent, match="damaged"):
        fetch(site.raw("/torn", head, packed[:-4]), HERE)
    bombs = gzip.compress(bytes(800 << 10)) * 2
    with pytest.raises(LimitReached, match="RAG_APP_MAX_FILE_MB"):
        fetch(site.raw("/bombs", head, bombs), HERE)


@pytest.mark.parametrize("how", ["br", "gzip, gzip", "zstd"])
def test_what_is_packed_otherwise_is_refused(site, how):
    bomb = gzip.compress(gzip.compress(bytes(1000)))
    with pytest.raises(SiteSilent, match="not asked for"):
        fetch(site.page("/", bomb, Content_Encoding=how), HERE)


def test_a_bomb_is_given_up_where_it_passes_the_limit(site):
    bomb = gzip.compress(bytes(16 << 20), 1)
    with pytest.raises(LimitReached, match="RAG_APP_MAX_FILE_MB"):
        fetch(site.page("/", bomb, Content_Encoding="gzip"), HERE)


def test_too_large_is_said_before_or_while_it_comes(site):
    said = site.raw("/said", b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", b"x")
    unsaid = site.page("/unsaid", b"")
    site.give("/unsaid", lambda _, to: _endless(to))
    for address in (said, unsaid):
        with pytest.raises(LimitReached, match="larger than 1 MB"):
            fetch(address, HERE)


def _endless(to) -> None:
    to.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while True:
        to.wfile.write(b"<p>more" * 10_000)


@pytest.mark.parametrize("dripping", ["head", "body"])
def test_a_slow_drip_ends_with_the_time(site, dripping):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    drops = [b"X: y\r\n"] * 500 if dripping == "head" else [b"\r\n", *[b"drop "] * 500]
    address = site.raw("/", head, *drops, pause=0.05)
    began = time.monotonic()
    with pytest.raises(LimitReached, match="RAG_APP_FETCH_SECONDS"):
        fetch(address, replace(HERE, seconds=0.6))
    assert time.monotonic() - began < 5


def test_who_does_not_want_to_wait_stops_it(site):
    address = site.raw("/", b"HTTP/1.1 200 OK\r\n\r\n", *[b"drop"] * 500, pause=0.05)
    cancelled = threading.Event()
    threading.Timer(0.3, cancelled.set).start()
    with pytest.raises(FetchStopped):
        fetch(address, replace(HERE, cancelled=cancelled))


def test_how_far_it_is_is_told(site):
    told: list[tuple[int, int]] = []
    body = b"<p>" + b"x" * 300_000
    fetch(site.page("/", body), replace(HERE, told=lambda *now: told.append(now)))
    assert told[-1] == (len(body), len(body)) and len(told) > 1


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (404, "no such page"), (410, "any more"), (401, "sign in"), (403, "to everybody"),
        (429, "wait"), (500, "trouble"), (503, "trouble"), (418, "does not give"),
        (204, "does not"),
    ],
)  # fmt: skip
def test_a_page_that_is_not_given_says_why(site, status, says):
    with pytest.raises(PageRefused, match=says) as refused:
        fetch(site.status("/", status), HERE)
    assert str(status) in str(refused.value)


def test_films_and_sound_are_refused_before_they_come(site):
    for kind in ("video/mp4", "audio/mpeg"):
        address = site.raw("/", f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode(), b"x")
        with pytest.raises(UnsupportedFormat, match="transcript"):
            fetch(address, HERE)


def test_redirects_are_followed_and_their_end_is_the_address(site):
    site.status("/a", 301, Location="/b?c=d")
    site.status("/b?c=d", 307, Location=f"{site.address}/e")
    site.page("/e", PAGE)
    page = fetch(f"{site.address}/a", HERE)
    assert (page.asked, page.address) == (f"{site.address}/a", f"{site.address}/e")


def test_a_page_that_only_sends_on_is_followed_once(site):
    site.page("/", '<html><meta http-equiv="refresh" content="0; url=latest/index.html">')
    site.page("/latest/index.html", PAGE)
    assert fetch(f"{site.address}/", HERE).address == f"{site.address}/latest/index.html"
    for path, other in (("/x", "/y"), ("/y", "/x")):
        site.page(
            path, f'<html><title>{path[1]}</title><meta http-equiv=refresh content="0;url={other}">'
        )
    assert fetch(f"{site.address}/x", HERE).name == "y.html"


def test_where_a_page_sends_on_to_is_written_as_in_html(site):
    to = "/read?a=1&amp;b=&#50;&copy=3"
    site.page("/", f'<html><meta http-equiv="refresh" content="0; url={to}">')
    site.page("/read?a=1&b=2&copy=3", PAGE)
    assert fetch(f"{site.address}/", HERE).address == f"{site.address}/read?a=1&b=2&copy=3"


def test_redirects_without_end_are_given_up(site):
    site.status("/a", 302, Location="/b")
    site.status("/b", 302, Location="/a")
    with pytest.raises(PageRefused, match="without end"):
        fetch(f"{site.address}/a", HERE)
    assert len(site.asked) == 6


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://x.org/", "http://me:it@x.org/"])
def test_a_redirect_to_anything_else_is_refused(site, location):
    with pytest.raises(AddressError):
        fetch(site.status("/", 302, Location=location), HERE)


def test_a_redirect_to_where_one_signs_in_says_so(site):
    site.status("/doc", 302, Location="/user/login?next=doc")
    site.page("/user/login?next=doc", PAGE)
    with pytest.raises(PageRefused, match="sign in"):
        fetch(f"{site.address}/doc", HERE)
    assert fetch(f"{site.address}/user/login?next=doc", HERE).name == "Harbour & tides.html"


# Who may be connected to


PRIVATE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "0.0.0.0", "224.0.0.1", "239.1.1.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "240.0.0.1",
    "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "fec0::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "2001:db8::1",
    "192.0.0.192", "192.0.0.9", "168.63.129.16", "192.88.99.1", "192.31.196.1", "192.52.193.1",
    "192.175.48.1", "3fff::1", "3fff:fff::1", "2001:1::1", "2001:4:112::1", "2001:20::1",
    "2620:4f:8000::1", "100::1", "100:0:0:1::1", "5f00::1", "64:ff9b:1::808:808", "4000::1",
    "::ffff:168.63.129.16", "64:ff9b::c058:6301", "2002:c000:c0::1", "::8.8.8.8",
]  # fmt: skip
PUBLIC = [
    "93.184.216.34", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101",
    "168.63.129.17", "192.0.1.1", "192.88.98.1", "2001:4860:4860::8888", "2001:200::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_nothing_private_is_public(address):
    assert not is_public(address)
    with pytest.raises(AddressNotPublic, match="RAG_APP_OWN_NETWORKS"):
        fetch(
            "http://site.example/",
            FetchRequest(99, 9.0, resolve=names(**{"site.example": address})),
        )


@pytest.mark.parametrize("address", PUBLIC)
def test_what_everybody_can_reach_is_public(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "127.1"]
)
def test_this_computer_is_not_public_however_it_is_written(site, host):
    port = site.address.rpartition(":")[2]
    with pytest.raises(AddressNotPublic):
        fetch(
            f"http://{host}:{port}/", FetchRequest(99, 9.0, resolve=lambda *asked: LOOK_UP(*asked))
        )
    assert site.asked == []


def test_one_private_address_among_public_ones_is_enough_to_refuse():
    known = names(**{"site.example": ["1.1.1.1", "10.0.0.1"]})
    with pytest.raises(AddressNotPublic):
        fetch("https://site.example/", FetchRequest(99, 9.0, resolve=known))


def test_a_redirect_into_the_own_network_is_refused(site):
    """The first is allowed, the second is looked at anew."""
    with web_site(six=True) as inner:
        secret = inner.page("/secret", PAGE)
        with pytest.raises(AddressNotPublic):
            fetch(site.status("/", 302, Location=secret), replace(HERE, own_networks="127.0.0.1"))
        assert inner.asked == []
        assert fetch(secret, HERE).data == PAGE.encode()  # IPv6, where it is allowed


def test_the_connection_goes_to_the_address_that_was_looked_at(site):
    """A name that means something else at every look: what was checked is what is connected to."""
    port = site.address.rpartition(":")[2]
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    asked = []

    def rebinding(host: str, port: int):
        asked.append(host)
        return names(**{host: next(answers)})(host, port)

    site.page("/", PAGE)
    page = fetch(f"http://rebind.example:{port}/", replace(HERE, resolve=rebinding))
    assert page.data == PAGE.encode() and asked == ["rebind.example"]
    assert site.asked[0][1]["host"] == f"rebind.example:{port}"


def test_the_next_address_is_tried_where_one_does_not_answer(site):
    port = site.address.rpartition(":")[2]
    site.page("/", PAGE)
    known = names(**{"site.example": ["127.0.0.77", "127.0.0.1"]})
    assert fetch(f"http://site.example:{port}/", replace(HERE, resolve=known)).data


def test_a_site_that_cannot_be_reached_says_what_to_look_at():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(SiteSilent, match="does not answer"):
        fetch(f"http://127.0.0.1:{port}/", HERE)
    with pytest.raises(SiteSilent, match="There is no site nowhere"):
        fetch("nowhere.example", replace(HERE, resolve=names()))
    for host in ("a..b", "x" * 64 + ".org"):
        with pytest.raises(AddressError):
            fetch(f"http://{host}/", replace(HERE, resolve=lambda *asked: LOOK_UP(*asked)))

    def offline(host: str, port: int):
        raise socket.gaierror(socket.EAI_AGAIN, "temporary failure")

    with pytest.raises(SiteSilent, match="offline"):
        fetch("site.example", replace(HERE, resolve=offline))


def test_a_look_up_that_hangs_is_not_waited_for():
    hanging = threading.Event()

    def resolve(host: str, port: int):
        hanging.wait(30)
        return []

    with pytest.raises(LimitReached):
        fetch("site.example", replace(HERE, resolve=resolve, seconds=0.4))
    hanging.set()


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n<p>torn",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000,
        b"",
    ],
)
def test_what_does_not_speak_as_sites_do_is_said(site, said):
    with pytest.raises(SiteSilent, match="broke off"):
        fetch(site.raw("/", said), HERE)


def certificate(tmp_path, host: str) -> ssl.SSLContext:
    """The server's side of TLS for a name, its certificate in the folder."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path / "site.pem"
    pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


def test_the_certificate_must_be_that_of_the_name(tmp_path, monkeypatch):
    serving = certificate(tmp_path, "site.example")
    known = names(**{"site.example": "127.0.0.1", "other.example": "127.0.0.1"} | HOME)
    wish = replace(HERE, resolve=known)
    with web_site(wrap=lambda plain: serving.wrap_socket(plain, server_side=True)) as site:
        site.page("/", PAGE)
        port = site.address.rpartition(":")[2]
        with pytest.raises(SiteSilent, match="cannot prove"):  # nobody vouches for it
            fetch(f"https://site.example:{port}/", wish)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "site.pem"))
        assert fetch(f"https://site.example:{port}/", wish).data == PAGE.encode()
        with pytest.raises(SiteSilent, match="prove that it is other"):
            fetch(f"https://other.example:{port}/", wish)
        with pytest.raises(SiteSilent, match="cannot prove"):
            fetch(f"https://127.0.0.1:{port}/", wish)


def test_every_failure_may_be_shown():
    assert all(
        issubclass(error, RagAppError)
        for error in (AddressNotPublic, FetchStopped, PageRefused, SiteSilent)
    )
    clock = Clock(0.0, threading.Event())
    with pytest.raises(LimitReached):
        PublicNetwork(clock, resolve=names()).connect_tcp("x.example", 80)
