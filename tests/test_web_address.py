"""Web addresses as people paste them, names as sites give them, and pages as documents."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app import cli
from rag_app.errors import AddressError, FetchStopped, PageRefused, SettingsError
from rag_app.export.conversation import export
from rag_app.ingestion import web_address as web
from rag_app.library import Library
from rag_app.scope import WORKER
from rag_app.settings import Settings
from rag_app.storage import Store
from rag_app.storage.engines import open_database
from rag_app.storage.originals import INSIDE, display_name
from rag_app.storage.provenance import Origin
from rag_app.types import Finished, Status
from rag_app.ui.jobs import Fetching
from rag_app.ui.source import origin_html
from tests.fakes import WordEmbedder
from tests.web_sites import Site, web_site

pytestmark = pytest.mark.usefixtures("either_database")

FERRY = "<!doctype html><title>{0}</title><p>The ferry to the island costs {1} euros."


# What is pasted


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c"),
        ("  <http://Example.ORG> \n", "http://example.org"),
        ("example.org/page", "https://example.org/page"),
        ("example.org:8443/page", "https://example.org:8443/page"),
        ("HTTPS://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
        ("http://intranet/wiki", "http://intranet/wiki"),
        ("https://[2606:4700::1111]/", "https://[2606:4700::1111]/"),
    ],
)
def test_an_address_is_taken_as_a_browser_would(given, meant):
    assert str(web.parse(given)) == meant


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("", "Paste the address"), ("hello", "is not the address"), ("a b.org", "is not the"),
        ("ftp://example.org", "http://"), ("javascript:alert(1)", "http://"),
        ("file:///etc/passwd", "http://"), ("mailto:a@b.org", "http://"), ("https://", "is not"),
        ("https://me:secret@example.org", "before the @"), ("http://a.b\x00c/", "is not"),
        ("https://example.org/" + "x" * 5000, "is not"), ("http://[::1", "is not"),
    ],
)  # fmt: skip
def test_what_is_no_address_is_said_with_what_to_do(given, says):
    with pytest.raises(AddressError, match=says) as refused:
        web.parse(given)
    assert "secret" not in str(refused.value)


@given(st.text(max_size=60))
def test_whatever_is_pasted_is_an_address_or_a_sentence(given):
    try:
        url = web.parse(given)
    except AddressError as error:
        assert str(error).endswith(".")
    else:
        assert url.scheme in ("http", "https") and url.host and not url.userinfo


@pytest.mark.parametrize(
    ("path", "title", "name"),
    [
        ("/", "Harbour / Tides › Today", "Harbour - Tides - Today.html"),
        ("/", "A\u202eB\n  C", "A B C.html"),
        ("/a/opening%20hours.html?x=1", "", "example.org - opening hours.html"),
        ("/", "", "example.org.html"),
        ("/", "...", "example.org.html"),
        ("/%2e%2e%2f%2e%2e%2fetc", "", "example.org - etc.html"),
    ],
)
def test_a_page_is_called_by_its_title_or_its_address(path, title, name):
    titled = web.title(f"<head><title lang=en>{title}</title>") if title else ""
    made = web.page_name(httpx.URL(f"https://www.example.org{path}"), titled)
    assert display_name(made) == name


@given(st.text(max_size=300), st.text(max_size=40))
def test_no_name_is_a_way_to_anywhere(title, disposition):
    url = httpx.URL("https://example.org/x/y.pdf")
    shown = [web.page_name(url, " ".join(title.split()))]
    shown.append(web.file_name(url, "application/pdf", f'attachment; filename="{disposition}"'))
    for name in map(display_name, shown):
        assert name and not set(name) & set("/\\") and INSIDE not in name and len(name) <= 160


# Pages as documents


@pytest.fixture
def site() -> Iterator[Site]:
    with web_site() as running:
        yield running


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    settings = Settings.load(
        data_dir=tmp_path / "data", own_networks="127.0.0.0/8", generator="quotes"
    )
    with Library(settings, embedder=WordEmbedder()) as opened:
        yield opened


def test_a_page_is_a_document_that_knows_where_it_is_from(library, site):
    site.status("/from", 302, Location="/to")
    site.page("/to", FERRY.format("Fares", "four"))
    added = library.web.add(f"{site.address}/from")
    [document] = library.wait([added.document.id])
    assert (document.name, document.status, document.suffix) == ("Fares.html", "ready", ".html")
    report = library.report(document.id)
    assert report.address == f"{site.address}/to" and report.fetched_at.startswith("20")
    assert library.search("ferry")[0].name == "Fares.html"
    library.remove(document.id)
    assert library.web.origins([document.id]) == {}


def test_nothing_is_fetched_unless_somebody_asks(library, site):
    site.page("/p", FERRY.format("Fares", "four") + f"<img src={site.address}/pixel>")
    added = library.web.add(f"{site.address}/p")
    library.wait([added.document.id])
    library.report(added.document.id)
    assert [path for path, _ in site.asked] == ["/p"]


def test_the_same_page_again_is_known_and_the_day_is_that_of_the_last_look(library, site):
    site.page("/p", FERRY.format("Fares", "four"))
    first = library.web.add(f"{site.address}/p").document
    store = library.web._store
    store.fetched.note(first.id, Origin(f"{site.address}/p", f"{site.address}/p", "2020-01-01"))
    again = library.web.add(f"{site.address}/p")
    assert again.duplicate and "Already in your library" in again.warnings[0]
    assert library.report(first.id).fetched_at > "2026"
    other = library.web.add(site.page("/q", FERRY.format("Fares", "four")))
    assert other.duplicate and library.report(first.id).address == f"{site.address}/p"


def test_a_changed_page_can_take_the_place_of_the_older_one(library, site):
    address = site.page("/p", FERRY.format("Fares", "four"))
    first = library.web.add(address).document
    library.wait([first.id])
    site.page("/p", FERRY.format("New fares", "five"))
    changed = library.web.add(address)
    assert "has changed" in changed.warnings[0]
    assert library.web.earlier(changed.document.id) == library.document(first.id)
    assert library.web.earlier(first.id) is None
    library.replace(first.id, changed.document.id)
    library.wait([changed.document.id])
    assert [d.id for d in library.documents()] == [changed.document.id]
    assert library.web.earlier(changed.document.id) is None


def test_pages_of_one_title_are_not_taken_for_versions_of_each_other(library, site):
    library.web.add(site.page("/a", FERRY.format("Home", "four")))
    second = library.web.add(site.page("/b", FERRY.format("Home", "five")), replace=True)
    assert library.web.earlier(second.document.id) is None
    assert [d.name for d in library.documents()] == ["Home.html", "Home (2).html"]


def test_a_refused_page_leaves_nothing_behind(library, site):
    with pytest.raises(PageRefused):
        library.web.add(site.status("/", 404))
    assert library.documents() == [] and not list((library.folder / "files").iterdir())


def test_a_page_is_fetched_beside_everything_else_and_can_be_stopped(library, site):
    slow = site.raw("/", b"HTTP/1.1 200 OK\r\n\r\n", *[b"drop"] * 500, pause=0.05)
    one = Fetching(library, slow)
    assert one.running and one.site == "127.0.0.1"
    one.stop()
    assert not one.running and one.wait(10) and one.added is None and "Stopped" in one.error
    done = Fetching(library, site.page("/p", FERRY.format("Fares", "four")))
    assert done.wait(30) and done.added is not None and done.done > 0
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(FetchStopped):
        library.web.add(slow, cancelled=cancelled)


def test_an_export_says_where_cited_pages_are_from(library, site):
    library.wait(
        [library.web.add(site.page("/p?a=%3Cb%3E", FERRY.format("F", "four"))).document.id]
    )
    [finished] = [e for e in library.ask("What does the ferry cost?") if isinstance(e, Finished)]
    conversation = library.conversations.start("What does the ferry cost?")
    exchange = library.conversations.ask(conversation, "What does the ferry cost?")
    library.conversations.answer(exchange, finished.answer)
    made = [export(library, conversation, form).decode() for form in ("md", "html")]
    for text in made:
        assert f"{site.address}/p?a=%3Cb%3E" in text and "fetched 20" in text


def test_the_link_to_a_page_is_only_ever_an_address():
    origin = Origin("x", "https://example.org/'><script>", "2026-11-21T10:00:00+00:00")
    shown = origin_html(origin)
    assert "<script>" not in shown and "rel='noopener noreferrer'" in shown
    assert "example.org" in shown and "21 November 2026" in shown


# The store, the settings, the command line


def test_where_a_document_was_fetched_goes_with_the_document():
    store = Store(open_database(Settings.load()))
    with store.database.write() as db:
        db.execute(
            "INSERT INTO documents (id, name, suffix, size, status, added_at) "
            "VALUES ('a', 'a.txt', '.txt', 1, 'ready', '2026')"
        )
    assert [d.name for d in store.documents(WORKER)] == ["a.txt"]
    assert store.fetched.of("a") is None
    store.fetched.note("a", Origin("x", "y", "2026"))
    store.fetched.note("nobody", Origin("x", "y", "2026"))
    assert store.fetched.of("a") == Origin("x", "y", "2026")
    store.remove("a")
    assert store.fetched.all(["a", "nobody"], WORKER) == {}
    store.close()


def test_networks_that_are_none_are_named():
    assert Settings.load(own_networks=" 10.0.0.0/8, ::1 ").own_networks
    with pytest.raises(SettingsError, match="RAG_APP_OWN_NETWORKS cannot be"):
        Settings.load(own_networks="home")


def test_the_command_line_adds_addresses_as_it_adds_files(tmp_path, monkeypatch, capsys, site):
    monkeypatch.setattr("rag_app.open_library.MiniLmEmbedder", lambda threads: WordEmbedder())
    monkeypatch.setenv("RAG_APP_OWN_NETWORKS", "127.0.0.1")
    address = site.page("/p", FERRY.format("Fares", "four"))

    def run(*arguments: str):
        status = cli.main([*arguments, "--data-dir", str(tmp_path / "data"), "--json"])
        return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    status, [added] = run("add", address)
    assert (status, added["path"], added["status"]) == (0, address, "ready")
    assert (added["name"], added["address"]) == ("Fares.html", address)
    assert run("add", address)[1][0]["status"] == "duplicate"
    site.page("/p", FERRY.format("Fares", "five"))
    assert "has changed" in run("add", address)[1][0]["warnings"][0]
    site.page("/p", FERRY.format("Fares", "six"))
    assert run("add", "--replace", address)[1][0]["status"] == "ready"
    status, [refused] = run("add", f"{site.address}/nowhere")
    assert status == 1 and refused["document_id"] is None and "404" in refused["error"]
    assert refused["name"] == f"{site.address}/nowhere"
    [documents] = run("documents")[1]
    assert {d["address"] for d in documents} == {address}
    assert cli.main(["add", "--watch", address, "--data-dir", str(tmp_path / "data")]) == 2


def test_a_page_that_cannot_be_read_fails_like_a_file(library, site):
    script = "<!doctype html><div id=root></div><script>show()</script>"
    [document] = library.wait([library.web.add(site.page("/", script)).document.id])
    assert document.status is Status.FAILED and "print it there" in (document.error or "")
