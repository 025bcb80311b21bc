"""The API as a program meets it: over real connections, with whatever may be wrong."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import psutil
import pytest

from rag_app import errors
from rag_app.access.audit import Action
from rag_app.access.nouns import MACHINE, Grantee, Identity
from rag_app.access.quotas import Limited
from rag_app.answering.generation import Cancelled, Piece, pieces
from rag_app.errors import ChatModelError
from rag_app.library import Library
from rag_app.scope import HOME, OWN, WORKER, Role, Scope
from rag_app.server import desk, problems
from rag_app.server.problems import STATUSES
from rag_app.settings import Settings
from rag_app.types import Draft, Passage
from rag_app.ui import web_guard
from tests.api_servers import KEY, Served, api_server
from tests.databases import make_collections
from tests.fakes import WordEmbedder
from tests.pdfs import pdf

FERRY = b"The ferry to the island costs four euros.\n\nDogs travel free of charge.\n"
ASKED = {"question": "What does the ferry cost?"}
UNKNOWN = "0" * 64


def open_library(folder: Path, generator=None, **given) -> Library:
    settings = Settings.load(data_dir=folder, caution=0.2, generator="quotes", **given)
    return Library(settings, embedder=WordEmbedder(), generator=generator)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A library of a text and a PDF behind the API."""
    with (
        open_library(tmp_path_factory.mktemp("api"), max_file_mb=1) as library,
        api_server(library) as running,
    ):
        added = [
            library.add("ferry.txt", FERRY),
            library.add("prices.pdf", pdf("A day ticket costs nine euros.", "The pier is closed.")),
        ]
        library.wait([one.document.id for one in added], timeout=60)
        list(library.ask(ASKED["question"]))  # models are loaded once, and clients are impatient
        yield running


def of(served: Served, name: str) -> str:
    return served.library.document(name).id


def is_problem(answer: httpx.Response, status: int, code: str) -> bool:
    said = answer.json()
    return (
        (answer.status_code, said["status"], said["code"]) == (status, status, code)
        and answer.headers["Content-Type"] == "application/problem+json"
        and said["detail"].endswith((".", "KEY."))
    )


def events(answer: httpx.Response) -> list[tuple[str, dict]]:
    found = []
    for block in answer.text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


# What it gives


def test_a_file_is_handed_in_worked_on_asked_and_removed(served):
    with served.client() as client:
        answer = client.post("/api/v1/documents", files={"file": ("dogs.md", b"# Dogs\n\nBark.\n")})
        assert answer.status_code == 201
        document = answer.json()["document_id"]
        at = answer.headers["Location"]
        assert at == f"/api/v1/documents/{document}"
        served.library.wait([document], timeout=30)
        assert client.get(at).json()["status"] == "ready"
        progress = client.get(f"{at}/progress").json()
        assert (progress["status"], progress["working"]) == ("ready", False)
        again = client.post("/api/v1/documents", files={"file": ("dogs.md", b"# Dogs\n\nBark.\n")})
        assert again.status_code == 200 and again.json()["duplicate"]
        original = client.get(f"{at}/original")
        assert original.content == b"# Dogs\n\nBark.\n"
        assert original.headers["Content-Type"] == "application/octet-stream"
        assert 'attachment; filename="dogs.md"' in original.headers["Content-Disposition"]
        assert client.delete(at).status_code == 204
        assert is_problem(client.get(at), 404, "unknown_document")
        assert is_problem(client.delete(at), 404, "unknown_document")


def test_documents_are_listed_page_by_page(served):
    with served.client() as client:
        whole = client.get("/api/v1/documents").json()
        assert [one["name"] for one in whole["documents"]] == ["ferry.txt", "prices.pdf"]
        part = client.get("/api/v1/documents?offset=1&limit=1").json()
        assert part["documents"] == whole["documents"][1:] and part["total"] == 2
        assert client.get("/api/v1/documents?offset=9").json()["documents"] == []


def test_a_search_gives_passages_and_only_of_the_documents_that_are_named(served):
    with served.client() as client:
        asked = {"query": "euros", "documents": [of(served, "prices.pdf")]}
        found = client.post("/api/v1/search", json=asked).json()["passages"]
        assert {one["name"] for one in found} == {"prices.pdf"}
        assert "nine euros" in found[0]["text"]


def test_an_answer_is_as_the_contract_has_it_whole_and_streamed(served):
    with served.client() as client:
        whole = client.post("/api/v1/ask", json=ASKED).json()
        [citation] = whole["citations"]
        assert citation["quote"] == "The ferry to the island costs four euros."
        streamed = client.post("/api/v1/ask", json=ASKED | {"stream": True})
        assert streamed.headers["Content-Type"].startswith("text/event-stream")
        names = [name for name, _ in events(streamed)]
        assert (names[0], names[-1]) == ("sources", "finished") and "delta" in names
        last = events(streamed)[-1][1]
        assert last | {"seconds": 0} == whole | {"seconds": 0}


def test_a_question_leans_on_its_turns(served):
    turns = [{"question": "What does the ferry cost?", "answer": "Four euros."}]
    with served.client() as client:
        asked = {"question": "And the ferry to the island?", "turns": turns}
        assert client.post("/api/v1/ask", json=asked).status_code == 200


def test_pages_have_text_a_picture_and_boxes(served):
    at = f"/api/v1/documents/{of(served, 'prices.pdf')}/pages/1"
    with served.client() as client:
        page = client.get(at).json()
        assert "nine euros" in page["text"] and (page["page"], page["pages"]) == (1, 2)
        start = page["text"].index("nine")
        [box] = client.get(f"{at}/boxes?start={start}&end={start + 4}").json()["boxes"]
        assert 0 <= box[0] < box[2] <= page["width"] and 0 <= box[1] < box[3] <= page["height"]
        picture = client.get(f"{at}/picture?scale=1")
        assert picture.headers["Content-Type"] == "image/png"
        assert picture.content.startswith(b"\x89PNG")
        text = f"/api/v1/documents/{of(served, 'ferry.txt')}/pages/1"
        assert is_problem(client.get(f"{text}/picture"), 404, "no_picture")
        assert client.get(f"{text}/boxes?start=0&end=3").json() == {"boxes": []}
        assert is_problem(client.get(f"{at[:-1]}9"), 404, "unknown_document")


def test_the_collections_of_a_key_are_listed(served):
    with served.client() as client:
        said = client.get("/api/v1/collections").json()
        assert said == {"collections": [{"collection": HOME, "name": HOME, "role": "owner"}]}


def test_health_and_description_need_no_key_and_say_nothing_of_the_library(served):
    with served.client(key=None) as client:
        assert client.get("/api/v1/health").json() == {"status": "ok"}
        described = client.get("/api/v1/openapi.json").json()
        assert described["openapi"].startswith("3.1")
        asked = described["components"]["schemas"]["AskRequest"]["properties"]["question"]
        assert asked["maxLength"] == 4_000


def test_a_path_with_a_line_break_is_answered_here_and_not_by_whoever_comes_next(served):
    for path in ("/api/v1/documents/a%0Ab", "/v1/models/a%0Ab"):
        with served.client(key=None) as stranger, served.client() as client:
            assert stranger.get(path).status_code == 401
            assert "json" in client.get(path).headers["Content-Type"]


# Who may ask


PATHS = ("/api/v1/documents", "/api/v1/nothing", "/v1/models", "/mcp")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", f"Basic {KEY}", KEY])
def test_without_a_key_or_with_a_wrong_one_nothing_is_answered(served, path, given):
    headers = {"Authorization": given} if given else {}
    answer = httpx.get(f"{served.url}{path}", headers=headers, trust_env=False)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("query", [f"api_key={KEY}", "Token=x", f"q={KEY}", f"q=%72agapp_x{KEY}"])
def test_a_key_in_the_address_is_refused_even_beside_one_in_the_header(served, path, query):
    with served.client() as client:
        answer = client.get(f"{path}?{query}")
        assert answer.status_code == 400 and "key_in_address" in answer.text
        assert KEY not in answer.text


@pytest.mark.parametrize("path", PATHS)
def test_pages_of_other_sites_are_refused_and_get_no_leave_to_read(served, path):
    with served.client() as client:
        for method in ("GET", "OPTIONS", "POST"):
            answer = client.request(method, path, headers={"Origin": "https://evil.example"})
            assert answer.status_code == 403
            assert not [name for name in answer.headers if name.startswith("access-control")]
        assert client.get("/v1/models", headers={"Origin": served.url}).status_code == 200


@pytest.mark.parametrize("origin", ["http://[", "https://[::1", "null", ""])
def test_an_origin_that_cannot_be_read_is_a_foreign_one(served, origin):
    with served.client() as client:
        for path in PATHS:
            answer = client.get(path, headers={"Origin": origin})
            assert answer.status_code == 403 and "foreign_page" in answer.text


def test_who_takes_nothing_of_an_original_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(desk, "_PATIENCE", 0.5)
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(64 << 20)  # more than lies between a server and who does not read
    document = SimpleNamespace(document=SimpleNamespace(id=UNKNOWN, name="large.bin"))
    library = SimpleNamespace(
        scoped=lambda scope: library,
        report=lambda document_id: document,
        original=lambda document_id: large,
        taken_away=lambda *of: None,
        settings=Settings.load(data_dir=tmp_path),
    )

    def is_open() -> bool:
        return str(large) in {one.path for one in psutil.Process().open_files()}

    with api_server(library) as running:
        at = httpx.URL(running.url)
        with socket.create_connection((at.host, at.port), timeout=30) as line:
            line.sendall(
                f"GET /api/v1/documents/{UNKNOWN}/original HTTP/1.1\r\nHost: x\r\n"
                f"Authorization: Bearer {KEY}\r\n\r\n".encode()
            )
            came = 0
            while came < 1 << 16:
                came += len(line.recv(1 << 16))
            end = time.monotonic() + 20
            while is_open() and time.monotonic() < end:
                time.sleep(0.05)
            assert not is_open()


def test_a_key_that_cannot_be_looked_up_now_is_answered_when_to_try_again(served):
    class Away:
        def scope_of_key(self, secret: str) -> Scope:
            raise errors.DatabaseUnavailable("The database cannot be reached.")

    with api_server(served.library, holder=Away()) as running, running.client() as client:
        for path in ("/api/v1/documents", "/v1/models", "/mcp"):
            answer = client.get(path)
            assert answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0
            assert "The database cannot be reached." in answer.text


def test_a_document_of_somebody_else_cannot_be_told_from_one_that_is_not_there(tmp_path):
    scopes = {name: Scope.of(name, {name: Role.OWNER}) for name in ("anna", "ben")}
    with (
        open_library(tmp_path) as library,
        api_server(library, scopes) as running,
        running.client("anna") as anna,
        running.client("ben") as ben,
    ):
        make_collections(library._store.database, *scopes)
        annas = library.scoped(scopes["anna"])
        document = annas.add("ferry.txt", FERRY).document.id
        annas.wait([document], timeout=30)
        assert anna.get(f"/api/v1/documents/{document}").status_code == 200
        for method, rest, body in (
            ("GET", "", None),
            ("DELETE", "", None),
            ("GET", "/progress", None),
            ("GET", "/original", None),
            ("GET", "/pages/1", None),
            ("GET", "/pages/1/picture", None),
            ("GET", "/pages/1/boxes?start=0&end=1", None),
            ("POST", "ask", {"question": "ferry?"}),
            ("POST", "search", {"query": "ferry"}),
        ):
            said = []
            for one in (document, UNKNOWN):
                path = f"/api/v1/documents/{one}{rest}" if not body else f"/api/v1/{rest}"
                answer = ben.request(
                    method, path, json=body and body | {"documents": [one]} if body else None
                )
                assert answer.status_code == 404, (method, rest)
                said.append(answer.json())
            assert said[0] == said[1]
        assert annas.document(document).status == "ready"
        assert ben.get("/api/v1/documents").json()["total"] == 0
        listed = ben.get("/api/v1/collections").json()["collections"]
        assert listed == [{"collection": "ben", "name": "ben", "role": "owner"}]


# Where several people share one library


@pytest.fixture
def shared(tmp_path) -> Iterator[Served]:
    """Anna's and Ben's keys on one library; Anna's Team is Ben's to read."""
    with open_library(tmp_path / "shared") as library:
        access = library.access
        for name in ("anna", "ben"):
            access.arrive(Identity(name, name.title()))
        made = access.create_collection("anna", "Team")
        access.grant("anna", made.id, Grantee.person("ben"), Role.READER)
        views = {name: access.scope_of(name) for name in ("anna", "ben")}
        with api_server(library, views) as running:
            yield running


def collections(client: httpx.Client) -> dict[str, tuple[str, str]]:
    """By name: the id and the role."""
    listed = client.get("/api/v1/collections").json()["collections"]
    return {one["name"]: (one["collection"], one["role"]) for one in listed}


def hand_in(client: httpx.Client, name: str, data: bytes, **fields: str) -> httpx.Response:
    return client.post("/api/v1/documents", files={"file": (name, data)}, data=fields)


def test_a_file_goes_to_the_collection_that_is_named_or_to_ones_own(shared):
    with shared.client("anna") as anna, shared.client("ben") as ben:
        (team, role), (_, bens) = collections(anna)["Team"], collections(ben)["Team"]
        assert (role, bens) == ("owner", "reader")
        assert hand_in(anna, "ferry.txt", FERRY, collection=team).status_code == 201
        own = hand_in(anna, "ferry.txt", FERRY)
        assert own.status_code == 201 and own.json()["name"] == "ferry.txt"  # another collection
        [seen] = ben.get("/api/v1/documents").json()["documents"]
        assert seen["name"] == "ferry.txt" and seen["document_id"] != own.json()["document_id"]
        again = hand_in(anna, "ferry.txt", FERRY, collection=team)
        assert again.status_code == 200 and again.json()["duplicate"]


def test_where_one_may_not_add_it_is_not_told_what_there_is(shared):
    with shared.client("anna") as anna, shared.client("ben") as ben:
        team, own = collections(anna)["Team"][0], collections(anna)["My documents"][0]
        refused = [
            hand_in(ben, "ferry.txt", FERRY, collection=where).json()
            for where in (team, own, HOME, "nowhere", "../home", "' OR 1=1")
        ]
        assert all(one == refused[0] and one["status"] == 403 for one in refused)
        assert ben.get("/api/v1/documents").json()["total"] == 0
        assert not incoming(shared)


def _asked_of(ids: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """The same question at every door, of these collections."""
    chat = {"model": "quotes", "messages": [{"role": "user", "content": "What is the ferry?"}]}
    return [
        ("/api/v1/search", {"query": "ferry", "collections": ids}),
        ("/api/v1/ask", {"question": "What is the ferry?", "collections": ids}),
        ("/api/v1/ask", {"question": "What is the ferry?", "collections": ids, "stream": True}),
        ("/v1/chat/completions", chat | {"collections": ids}),
        ("/v1/chat/completions", chat | {"collections": ids, "stream": True}),
    ]


def test_only_the_collections_that_are_named_are_looked_in(shared):
    with shared.client("anna") as anna:
        team, own = collections(anna)["Team"][0], collections(anna)["My documents"][0]
        in_team = hand_in(anna, "ferry.txt", FERRY, collection=team).json()["document_id"]
        other = b"A ferry to the mainland leaves at nine.\n"
        in_own = hand_in(anna, "other ferry.txt", other).json()["document_id"]
        shared.library.scoped(WORKER).wait([in_team, in_own], timeout=30)
        for ids, meant in (
            ([team], {in_team}),
            ([own], {in_own}),
            ([team, own], {in_team, in_own}),
        ):
            (path, body), *_ = _asked_of(ids)
            found = anna.post(path, json=body).json()["passages"]
            assert {one["document_id"] for one in found} == meant
        for path, body in _asked_of([own])[1:]:
            said = anna.post(path, json=body)
            assert said.status_code == 200 and in_team not in said.text, path


def test_a_collection_that_the_key_does_not_open_cannot_be_told_from_none(shared):
    with shared.client("anna") as anna, shared.client("ben") as ben:
        team, own = collections(anna)["Team"][0], collections(anna)["My documents"][0]
        for hidden, nowhere in zip(
            _asked_of([team, own]), _asked_of([team, "nowhere"]), strict=True
        ):
            one, other = (ben.post(path, json=body) for path, body in (hidden, nowhere))
            assert one.status_code == other.status_code == 404
            assert one.content == other.content and own not in one.text
            assert "does not open" in one.text


def test_who_has_to_wait_is_told_how_long(shared):
    with shared.client("ben") as ben:
        shared.library.access.quotas.set_limit(MACHINE, Limited.QUESTIONS, 1)
        own = collections(ben)["My documents"][0]
        made = hand_in(ben, "ferry.txt", FERRY).json()["document_id"]
        shared.library.scoped(WORKER).wait([made], timeout=30)
        asked = [ben.post(path, json=body) for path, body in _asked_of([own])[1:]]
        assert [one.status_code for one in asked] == [200, 429, 429, 429]
        assert all(1 <= int(one.headers["Retry-After"]) <= 60 for one in asked[1:])
        found = ben.post("/api/v1/search", json={"query": "ferry"})
        assert found.status_code == 200  # no question


def test_every_error_that_waiting_helps_says_how_long():
    assert problems.retry_after(errors.QuotaReached("", 0.2)) == {"Retry-After": "1"}
    assert problems.retry_after(errors.QuotaReached("")) == {"Retry-After": "3600"}
    for error, status in STATUSES.items():
        if status == 503:
            assert int(problems.retry_after(error(""))["Retry-After"]) > 0
    assert problems.retry_after(errors.QuestionError("")) == {}


def test_a_full_quota_in_the_middle_of_an_upload_leaves_nothing_behind(shared):
    access = shared.library.access
    with shared.client("ben") as ben:
        access.quotas.set_limit(MACHINE, Limited.BYTES, len(FERRY) + 10)
        assert hand_in(ben, "ferry.txt", FERRY).status_code == 201
        with ThreadPoolExecutor(4) as many:
            said = [*many.map(lambda n: hand_in(ben, f"{n}.txt", FERRY + b"%d" % n), range(4))]
        for one in said:
            assert is_problem(one, 429, "quota") and "are taken" in one.json()["detail"]
        assert ben.get("/api/v1/documents").json()["total"] == 1
        assert not incoming(shared)
    assert len(access.log.entries(subject="ben", action=Action.ADD)) == 1


def test_a_file_that_is_taken_away_is_written_down(shared):
    with shared.client("ben") as ben:
        made = hand_in(ben, "ferry.txt", FERRY).json()["document_id"]
        assert ben.get(f"/api/v1/documents/{made}/original").content == FERRY
        assert ben.get(f"/api/v1/documents/{UNKNOWN}/original").status_code == 404
    [entry] = shared.library.access.log.entries(subject="ben", action=Action.EXPORT)
    assert (entry.about, entry.detail) == (made, "original")


def test_a_persons_key_in_the_address_is_refused_wherever_it_stands(shared):
    _, key = shared.library.access.api_keys.create_key("ben", "script")
    with shared.client("ben") as ben:
        for address in (f"documents?q={key}", f"documents?{key}", f"documents/{key}", f"{key}/x"):
            answer = ben.get(f"/api/v1/{address}")
            assert answer.status_code == 400 and "key_in_address" in answer.text
            assert key not in answer.text


# What may be wrong with an upload


def test_a_path_in_a_name_is_a_name(served):
    with served.client() as client:
        for name in ("../../etc/passwd.txt", "C:\\temp\\passwd.txt", "/etc/passwd.txt"):
            answer = client.post("/api/v1/documents", files={"file": (name, name.encode())})
            assert answer.json()["name"].startswith("passwd")
            assert client.delete(answer.headers["Location"]).status_code == 204


def incoming(served: Served) -> list[Path]:
    return [*(served.library.folder / "files").glob("incoming-*")]


def test_files_that_cannot_be_taken_are_refused_with_a_sentence(served):
    with served.client() as client:

        def send(name: str, data: bytes) -> httpx.Response:
            return client.post("/api/v1/documents", files={"file": (name, data)})

        assert is_problem(send("empty.txt", b""), 422, "empty_file")
        assert is_problem(send("large.txt", b"x" * ((1 << 20) + 1)), 413, "limit_reached")
        assert is_problem(send("a.exe", b"MZ" + b"\x00" * 99), 415, "unsupported_format")
        assert not incoming(served)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", b"x"),
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=b", b"no form at all"),
        ("multipart/form-data; boundary=b", b"--b--\r\n"),
        ("multipart/form-data; boundary=b",
         b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nx\r\n--b--\r\n'),
        ("multipart/form-data; boundary=b",
         b'--b\r\nContent-Disposition: form-data; name="replace"\r\n\r\ntrue\r\n--b--\r\n'),
        ("multipart/form-data; boundary=b",
         2 * b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n'
         + b"--b--\r\n"),
    ],
)  # fmt: skip
def test_a_form_without_one_file_is_refused(served, kind, body):
    with served.client() as client:
        answer = client.post("/api/v1/documents", content=body, headers={"Content-Type": kind})
        assert is_problem(answer, 422, "unfit_form")
    assert not incoming(served)


@pytest.mark.parametrize(
    "said",
    [
        'filename="=?utf-8?B?QsO8Y2hlci50eHQ=?="',  # PowerShell
        """filename="=?utf-8?B?QsO8Y2hlci50eHQ=?="; filename*=utf-8''B%C3%BCcher.txt""",  # .NET
        """filename*=UTF-8''B%C3%BCcher.txt""",
        """filename="B.txt"; filename*=iso-8859-1'de'B%FCcher.txt""",
        'filename="Bücher.txt"',
        """filename="Bücher.txt"; filename*=punycode''%ff""",  # what cannot be read is passed over
        """filename="Bücher.txt"; filename*=idna''%ff""",
    ],
)
def test_a_file_keeps_its_name_however_a_client_says_it(served, said):
    head = f'--b\r\nContent-Disposition: form-data; name="file"; {said}\r\n\r\n'
    with served.client() as client:
        answer = client.post(
            "/api/v1/documents",
            content=f"{head}The books are on the shelf.\r\n--b--\r\n".encode(),
            headers={"Content-Type": "multipart/form-data; boundary=b"},
        )
        assert answer.status_code == 201 and answer.json()["name"] == "Bücher.txt"
        assert client.delete(answer.headers["Location"]).status_code == 204


def test_an_upload_that_breaks_off_leaves_nothing_behind(served, caplog):
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    line = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=30)
    line.putrequest("POST", "/api/v1/documents")
    for name, value in (
        ("Authorization", f"Bearer {KEY}"),
        ("Content-Type", "multipart/form-data; boundary=b"),
        ("Content-Length", "100000"),
    ):
        line.putheader(name, value)
    line.endheaders()
    line.send(head + b"x" * 1_000)
    until(lambda: incoming(served))
    line.sock.shutdown(socket.SHUT_RDWR)
    line.close()
    until(lambda: not incoming(served))
    with served.client() as client:
        cut = client.post(
            "/api/v1/documents",
            content=head + b"x" * 1_000,
            headers={"Content-Type": "multipart/form-data; boundary=b"},
        )
        assert is_problem(cut, 408, "broken_off")
    assert not caplog.records  # it is nothing to be alarmed at


def until(true, seconds: float = 10.0) -> None:
    """Waits for what another process or thread does and nobody tells."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_large_upload_is_never_held_in_memory(tmp_path):
    """Twenty times the block that is held, while the most of it that is seen is one block."""
    from rag_app.server import upload_forms

    held = []
    real = upload_forms._Form.let_go

    def let_go(form):
        held.append(len(form.held))
        return real(form)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upload_forms._Form, "let_go", let_go)
        with (
            open_library(tmp_path / "data") as library,
            api_server(library) as running,
            running.client() as client,
        ):
            data = b"The ferry leaves at noon.\n" * 800_000
            answer = client.post("/api/v1/documents", files={"file": ("long.txt", data)})
            assert answer.status_code == 201
            assert sum(held) == len(data) and max(held) < 2 << 20
            assert client.delete(answer.headers["Location"]).status_code == 204


# What may be wrong with a question


def test_questions_that_make_no_sense_are_refused_with_a_sentence(served):
    with served.client() as client:

        def ask(**body) -> httpx.Response:
            return client.post("/api/v1/ask", json=body)

        broken = client.post(
            "/api/v1/ask", content="{", headers={"Content-Type": "application/json"}
        )
        assert is_problem(broken, 400, "no_json")
        assert is_problem(ask(), 422, "unfit_request")
        assert is_problem(ask(question="  "), 422, "unfit_request")
        assert is_problem(ask(question="x", nonsense=1), 422, "unfit_request")
        for other in ({"top_k": True}, {"top_k": "3"}, {"caution": True}, {"stream": 1}):
            assert is_problem(ask(question="x", **other), 422, "unfit_request"), other
        assert ask(question="x", top_k=3.0, caution=1).status_code == 200
        assert is_problem(ask(question="ferry " * 700), 422, "question")
        assert is_problem(ask(question="ferry " * 700, stream=True), 422, "question")
        assert is_problem(ask(question="ferry " * 200_000), 413, "too_large")
        pieces_of_it = iter([b'{"question": "', *[b"x" * 65_536] * 20, b'"}'])  # length unknown
        told = {"Content-Type": "application/json"}
        assert is_problem(client.post("/api/v1/ask", content=pieces_of_it, headers=told), 413,
                          "too_large")  # fmt: skip
        assert is_problem(ask(question="x", model="openai:x@http://127.0.0.1:1"), 404,
                          "unknown_model")  # fmt: skip
        assert is_problem(ask(question="x", documents=[UNKNOWN]), 404, "unknown_document")
        assert is_problem(client.get("/api/v1/ask"), 405, "method_not_allowed")
        surrogate = client.post(
            "/api/v1/ask",
            content=b'{"question": "\\ud800"}',
            headers={"Content-Type": "application/json"},
        )
        assert surrogate.status_code == 422


def test_what_was_sent_is_not_sent_back(served):
    with served.client() as client:
        answer = client.post("/api/v1/ask", json={"question": {"secret": "hush"}})
        assert answer.status_code == 422 and "hush" not in answer.text


def test_every_error_has_a_status_of_its_own_class():
    assert all(400 <= status < 600 for status in STATUSES.values())


# Answers that take their time


class Slow:
    """A generator that says a word, waits until it is let go or cancelled, and ends."""

    name = "slow"

    def __init__(self) -> None:
        self.begun, self.go, self.stopped = (threading.Event() for _ in range(3))
        self.running = 0

    def warm(self) -> None:
        """Nothing to load."""

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        yield Piece("Well. ")
        self.begun.set()
        while not self.go.wait(0.02):
            if cancelled():
                self.stopped.set()
                return
        yield from pieces(Draft(("Done.",), ((),), 1.0))


class Failing(Slow):
    name = "failing"

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        yield Piece("Well. ")
        raise ChatModelError("The server broke off. Try again.")


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[Served, Slow]]:
    generator = Slow()
    with (
        open_library(tmp_path / "data", generator) as library,
        api_server(library) as running,
    ):
        library.wait([library.add("ferry.txt", FERRY).document.id], timeout=30)
        try:
            yield running, generator
        finally:
            generator.go.set()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/ask", ASKED),
        (
            "/v1/chat/completions",
            {"model": "quotes", "messages": [{"role": "user", "content": ASKED["question"]}]},
        ),
    ],
)
def test_a_client_that_goes_away_ends_the_work_at_once(slow, path, body, stream):
    running, generator = slow
    line = http.client.HTTPConnection(running.url.removeprefix("http://"), timeout=30)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    line.request("POST", path, json.dumps(body | {"stream": stream}), headers)
    assert generator.begun.wait(10)
    line.sock.shutdown(socket.SHUT_RDWR)
    line.close()
    assert generator.stopped.wait(0.5)


def test_who_waits_for_an_answer_does_not_hold_up_others(slow):
    running, generator = slow
    with running.client() as client, ThreadPoolExecutor(12) as pool:
        waiting = [pool.submit(lambda: client.post("/api/v1/ask", json=ASKED)) for _ in range(12)]
        assert generator.begun.wait(10)
        assert client.get("/api/v1/documents").status_code == 200
        assert client.post("/api/v1/search", json={"query": "ferry"}).status_code == 200
        generator.go.set()
        assert all(one.result().status_code == 200 for one in waiting)


@pytest.fixture
def talking(tmp_path, monkeypatch) -> Iterator[tuple[Served, Slow]]:
    """Ben's key and a slow generator; Anna's Team is Ben's to read, and holds a text."""
    generator = Slow()
    with open_library(tmp_path / "data", generator) as library:
        monkeypatch.setattr(web_guard, "library", lambda: library)
        access = library.access
        for name in ("anna", "ben"):
            access.arrive(Identity(name))
        team = access.create_collection("anna", "Team").id
        access.grant("anna", team, Grantee.person("ben"), Role.READER)
        hers = library.scoped(access.scope_of("anna"))
        hers.wait([hers.add("ferry.txt", FERRY, collection=team).document.id], timeout=30)
        try:
            with api_server(library, holder=web_guard.PeopleKeys()) as running:
                yield running, generator
        finally:
            generator.go.set()


def test_what_the_first_search_of_a_person_waits_for_is_made_ready_once(talking, monkeypatch):
    served, _ = talking
    prepared: list[str] = []
    monkeypatch.setattr(Library, "prepare", lambda view: prepared.append(view.scope.subject))
    keys = [served.library.access.api_keys.create_key(one, "script")[1] for one in ("ben", "anna")]

    def come() -> None:
        for key in (*keys, keys[0]):
            with served.client(key) as client:
                assert client.get("/api/v1/documents").status_code == 200

    monkeypatch.setattr(Library, "warm_state", "warming")
    come()
    assert prepared == []  # it would be for nothing
    monkeypatch.setattr(Library, "warm_state", "ready")
    come()
    assert prepared == ["ben", "anna"]


def _is_removed(served: Served) -> None:
    served.library.access.remove_person(MACHINE, "ben")


def _loses_a_role(served: Served) -> None:
    access = served.library.access
    [team] = access.given_to("ben")
    access.revoke("anna", team, Grantee.person("ben"))


@pytest.mark.parametrize(
    ("happens", "code"), [(_is_removed, "key_needed"), (_loses_a_role, "not_allowed")]
)
@pytest.mark.parametrize(("door", "every"), [(1, 60), (2, 0), (2, 60), (3, 60), (4, 0), (5, 60)])
def test_the_answer_of_who_is_removed_while_asking_ends(
    talking, monkeypatch, happens, code, door, every
):
    monkeypatch.setattr(desk, "_LOOK_EVERY", every)
    served, generator = talking
    call = {"name": "ask", "arguments": {"question": ASKED["question"]}}
    spoken = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    own = served.library.access.own_collection("ben")
    path, body = [*_asked_of([own]), ("/mcp", spoken)][door]
    body.pop("collections", None)
    key = served.library.access.api_keys.create_key("ben", "script")[1]
    with served.client(key) as ben, ThreadPoolExecutor(1) as pool:
        ben.headers["Accept"] = "application/json, text/event-stream"
        asked = pool.submit(lambda: ben.post(path, json=body))
        assert generator.begun.wait(20)
        happens(served)
        generator.go.set()
        said = asked.result()
    streamed = body.get("stream") and said.status_code == 200
    assert streamed or door == 5 or said.status_code in (401, 403)
    assert "finished" not in said.text and "annotations" not in said.text
    assert every or "Done." not in said.text
    assert code in said.text or (door == 5 and said.json()["result"]["isError"])


class Lengthy(Slow):
    """More than the buffers between two programs hold."""

    name = "lengthy"
    pieces = 0

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        if question.startswith("Short"):
            yield from pieces(Draft(("Done.",), ((),), 1.0))
            return
        for _ in range(400):
            self.pieces += 1
            yield Piece("x" * 65_536)
            if cancelled():
                return


def test_who_reads_slowly_holds_no_thread(tmp_path):
    generator = Lengthy()
    with (
        ExitStack() as lines,
        open_library(tmp_path / "data", generator) as library,
        api_server(library) as running,
        running.client() as client,
    ):
        library.wait([library.add("ferry.txt", FERRY).document.id], timeout=30)
        for _ in range(12):  # more than there are threads for answers
            line = lines.enter_context(
                socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2])))
            )
            body = json.dumps(ASKED | {"stream": True})
            line.sendall(
                f"POST /api/v1/ask HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
                "Content-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
            )
        until(lambda: generator.pieces >= 12)
        came = client.post("/api/v1/ask", json={"question": "Short: what does the ferry cost?"})
        assert came.json()["answer"] == "Done."
        assert generator.pieces < 12 * 400  # they are still at it
        lines.close()


def test_a_model_that_fails_in_the_middle_says_so_as_an_event(tmp_path):
    with (
        open_library(tmp_path / "data", Failing()) as library,
        api_server(library) as running,
        running.client() as client,
    ):
        library.wait([library.add("ferry.txt", FERRY).document.id], timeout=30)
        said = events(client.post("/api/v1/ask", json=ASKED | {"stream": True}))
        assert said[-1][0] == "error" and said[-1][1]["code"] == "chat_model"
        assert is_problem(client.post("/api/v1/ask", json=ASKED), 502, "chat_model")


def test_twenty_at_once_are_all_answered(served):
    with served.client() as client, ThreadPoolExecutor(20) as pool:
        asked = list(pool.map(lambda _: client.post("/api/v1/ask", json=ASKED), range(20)))
        texts = {one.json()["answer"] for one in asked}
        assert texts == {"The ferry to the island costs four euros. [1]"}


def test_a_library_that_cannot_be_opened_is_a_sentence(tmp_path):
    with open_library(tmp_path / "data") as library:
        again = lambda: open_library(tmp_path / "data")  # noqa: E731
        with api_server(library, opening=again) as running, running.client() as client:
            assert is_problem(client.get("/api/v1/documents"), 503, "library_in_use")
            assert client.get("/api/v1/health").json() == {"status": "starting"}


def test_ones_own_view_is_all_of_ones_own_library(served):
    assert served.library.scoped(OWN) is served.library
