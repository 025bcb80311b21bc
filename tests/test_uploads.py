"""How much memory files on their way may take: at the door, without a server, and over HTTP."""

from __future__ import annotations

import asyncio
import http.client
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import FileURLsRequest, FileURLsResponse
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.ui import composer, texts, uploads
from rag_app.ui.state import Session
from rag_app.ui.uploads import UploadAddresses, UploadLimit, UploadMemory
from tests.fakes import WordEmbedder
from tests.test_web_guard import Served, serving

MIB = 1 << 20
ADDRESS = "/_stcore/upload_file/{}/file-{}"


def body(name: str, size: int) -> bytes:
    """A file as a browser sends it, of so many bytes in all."""
    head = f'--b\r\nContent-Disposition: form-data; name="f"; filename="{name}"\r\n\r\n'.encode()
    return head + bytes(size - len(head) - 7) + b"\r\n--b--"


def request(
    announced: int | None, path: str = ADDRESS.format("anna", 1), method: str = "PUT"
) -> dict[str, object]:
    """The beginning of a request whose body is said to have so many bytes."""
    headers = [] if announced is None else [(b"content-length", str(announced).encode())]
    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    return scope | {"query_string": b"", "root_path": ""}


@dataclass
class Server:
    """Streamlit's part, played: keeps what is uploaded, and gives answers."""

    most: int
    kept: int = 0
    memory: UploadMemory = field(init=False)
    app: Starlette = field(init=False)

    def __post_init__(self) -> None:
        self.memory = UploadMemory(self.most, lambda: self.kept, lambda one: one != "stranger")
        limit = Middleware(UploadLimit, memory=self.memory)
        route = Route(ADDRESS.format("{session}", "{file}"), self.take, methods=["PUT", "DELETE"])
        self.app = Starlette(routes=[route], middleware=[limit])

    async def take(self, request: Request) -> Response:
        self.kept += sum([len(piece) async for piece in request.stream()])
        return PlainTextResponse("", 204)

    async def put(
        self, pieces: list[bytes], announced: int | None = None, session: str = "anna"
    ) -> tuple[int, str]:
        """(status, text) of what is answered to pieces of a body, with its length or without."""
        coming = [
            {"type": "http.request", "body": one, "more_body": n < len(pieces)}
            for n, one in enumerate(pieces, 1)
        ]
        said: list[Message] = []

        async def receive() -> Message:
            await asyncio.sleep(0)
            return coming.pop(0)

        async def send(message: Message) -> None:
            said.append(message)

        await self.app(request(announced, ADDRESS.format(session, 1)), receive, send)
        return said[0]["status"], said[-1].get("body", b"").decode()

    def upload(self, name: str, size: int, **given) -> tuple[int, str]:
        return asyncio.run(self.put([body(name, size)], size, **given))


def test_files_are_taken_until_the_total_is_full_and_again_when_some_are_gone():
    server = Server(10 * MIB)
    assert server.upload("a.pdf", 6 * MIB)[0] == 204
    status, said = server.upload("b.pdf", 5 * MIB, session="ben")
    assert (status, said) == (503, texts.upload_refused("b.pdf", 10 * MIB, never=False))
    assert server.upload("c.pdf", 4 * MIB, session="ben")[0] == 204
    server.kept = 0
    assert server.upload("b.pdf", 5 * MIB)[0] == 204


def test_a_file_larger_than_the_total_is_refused_for_good():
    server = Server(MIB)
    status, said = server.upload("big.pdf", 2 * MIB)
    assert (status, said) == (413, texts.upload_refused("big.pdf", MIB, never=True))
    assert "RAG_APP_UPLOAD_MB" in said and server.kept == 0


@pytest.mark.parametrize("announced", [None, 10])
def test_what_arrives_counts_whatever_was_announced(announced):
    server = Server(4 * MIB)
    pieces = [body("sly.pdf", MIB)] * 20
    status, said = asyncio.run(server.put(pieces, announced))
    assert status == 413 and "“sly.pdf”" in said and server.kept == 0
    assert asyncio.run(server.put([bytes(MIB)] * 4))[0] == 204


def test_what_is_under_way_counts_too_and_only_while_it_is():
    server = Server(10 * MIB)

    async def both() -> list[tuple[int, str]]:
        slow = server.put([bytes(3 * MIB), bytes(3 * MIB)], 6 * MIB)
        return await asyncio.gather(slow, server.put([body("b.pdf", 5 * MIB)], 5 * MIB))

    assert [status for status, _ in asyncio.run(both())] == [204, 503]
    server.kept = 0
    assert server.upload("b.pdf", 10 * MIB)[0] == 204


def test_who_sends_nothing_for_long_gives_the_room_back(monkeypatch):
    monkeypatch.setattr(uploads, "_LONGEST_SILENCE", 0.05)
    server, said = Server(10 * MIB), []

    async def silent() -> Message:
        await asyncio.sleep(60)
        raise AssertionError("nobody waits for so long")

    async def send(message: Message) -> None:
        said.append(message)

    asyncio.run(server.app(request(9 * MIB), silent, send))
    assert said[0]["status"] == 408 and said[-1]["body"].decode() == texts.UPLOAD_SILENT
    assert server.upload("b.pdf", 10 * MIB)[0] == 204


def test_a_browser_that_goes_away_leaves_nothing_counted():
    server = Server(10 * MIB)

    async def gone() -> Message:
        return {"type": "http.disconnect"}

    async def send(_: Message) -> None:
        """Nobody is there."""

    with pytest.raises(ClientDisconnect):
        asyncio.run(server.app(request(9 * MIB), gone, send))
    assert server.upload("b.pdf", 10 * MIB)[0] == 204


def test_a_session_is_told_once_of_its_own_files_and_strangers_leave_no_trace():
    server = Server(MIB)
    for session, name in [
        ("anna", "a.pdf"),
        ("anna", "b.pdf"),
        ("ben", "c.pdf"),
        ("stranger", "d"),
    ]:
        server.upload(name, 2 * MIB, session=session)
    assert server.memory.refused("anna")
    assert ["“a.pdf”" in one or "“b.pdf”" in one for one in server.memory.told("anna")] == [
        True
    ] * 2
    assert not server.memory.refused("anna") and server.memory.told("anna") == []
    assert len(server.memory.told("ben")) == 1
    assert not server.memory.refused("stranger")


def test_a_file_name_is_shown_as_a_name():
    server = Server(MIB)
    _, said = server.upload("..\\..\\x\x07/plans/é.pdf", 2 * MIB)
    assert said.startswith("“é.pdf” was")


def test_other_requests_pass_untouched():
    server = Server(0)
    paths = ["/_stcore/upload_file/anna/1/more", "/upload_file/anna/1", "/"]

    async def ask(path: str, method: str) -> int:
        said: list[Message] = []

        async def send(message: Message) -> None:
            said.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        await server.app(request(9, path, method), receive, send)
        return said[0]["status"]

    assert [asyncio.run(ask(path, "PUT")) for path in paths] == [404] * 3
    assert asyncio.run(ask(ADDRESS.format("anna", 1), "DELETE")) == 204


@dataclass(eq=False)
class File:
    """A file that the page took from Streamlit."""

    name: str
    size: int
    file_id: str = "1"
    closed: bool = False

    def getvalue(self) -> bytes:
        assert not self.closed
        return b"The ferry leaves at noon."

    def close(self) -> None:
        self.closed = True


def test_what_the_page_took_and_has_not_handed_over_counts():
    memory = UploadMemory(10, lambda: 0)
    held = File("a.txt", 8)
    memory.hold([held])
    asking = uploads.Arrival("session")
    assert not memory.take(asking, 3) and memory.quiet("session") > 1e9
    assert memory.take(asking, 2)
    uploads.let_go(held)
    assert memory.take(asking, 10) and memory.quiet("session") == 0
    memory.give_back(asking)
    assert 0 < memory.quiet("session") < 60


@pytest.fixture
def library(tmp_path):
    with Library(Settings.load(data_dir=tmp_path / "data"), embedder=WordEmbedder()) as opened:
        opened.pause()
        yield opened


def files(*names: str) -> list[File]:
    return [File(name, 25, file_id=name) for name in names]


def test_a_file_is_let_go_of_as_soon_as_the_library_has_it(library, monkeypatch):
    dropped, session, real, open_then = files("a.txt", "b/.x", "c.exe"), Session(), library.add, []

    def add(name: str, data: bytes, added_by: str):
        open_then.append([one.name for one in dropped if not one.closed])
        assert added_by == session.id
        return real(name, data, added_by=added_by)

    monkeypatch.setattr(library, "add", add)
    composer.add(library, session, dropped)
    assert open_then == [["a.txt", "b/.x", "c.exe"], ["c.exe"]]
    assert all(one.closed for one in dropped)
    assert (session.receipt.added, session.receipt.known) == (1, 1)  # the same bytes again


class Stopped(BaseException):
    """As Streamlit ends a run that another one overtakes."""


def test_a_drop_that_was_broken_off_goes_on_with_the_files_that_are_left(library):
    def stop(share: float) -> None:
        if share:
            raise Stopped

    session, (first, second) = Session(), files("a.txt", "b.txt")
    second.getvalue = lambda: b"The boat is blue."
    with pytest.raises(Stopped):
        composer.add(library, session, [first, second], stop)
    assert session.adding and first.closed and not second.closed
    composer.add(library, session, [second])  # Streamlit lists no file that is gone
    assert session.receipt.added == 2 and not session.adding
    composer.add(library, session, files("c.txt"))
    assert session.receipt.added + session.receipt.known == 1


def test_a_receipt_says_what_was_refused_at_the_door_and_what_came_through(library, monkeypatch):
    session = Session()
    monkeypatch.setattr(uploads, "told", lambda: ["“big.pdf” was not uploaded."])
    composer.note_refused(session)
    monkeypatch.setattr(uploads, "told", list)
    composer.note_refused(session)
    composer.add(library, session, files("a.txt"))
    assert session.receipt.refused == ["“big.pdf” was not uploaded."]
    assert session.receipt.added == 1
    composer.add(library, session, files("b.txt"))
    assert session.receipt.refused == []  # another drop
    monkeypatch.setattr(uploads, "told", lambda: ["“huge.pdf” was not uploaded."])
    composer.add(library, session, files("c.txt"))  # before the page has looked
    assert session.receipt.refused == ["“huge.pdf” was not uploaded."]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The app with room for one MiB."""
    with serving(tmp_path_factory.mktemp("served"), RAG_APP_UPLOAD_MB="1") as running:
        yield running


@pytest.mark.timeout(300)
@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_the_running_app_refuses_and_tells_the_page(served):
    address = f"ws://127.0.0.1:{served.port}/_stcore/stream"
    line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    with closing(line), connect(address, proxy=None, max_size=None) as page:
        page.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        session = ""
        while not session:
            message = ForwardMsg.FromString(page.recv(timeout=60))
            session = message.new_session.initialize.session_id
        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        line.request("PUT", ADDRESS.format(session, 1), body("big.pdf", 2 * MIB), headers)
        answer = line.getresponse()
        said = answer.read().decode()
        assert (answer.status, said) == (413, texts.upload_refused("big.pdf", MIB, never=True))
        page.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        drawn = b""
        while "“big.pdf” was not uploaded".encode() not in drawn:
            drawn = page.recv(timeout=60)


@pytest.mark.timeout(300)
@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_where_a_file_is_to_be_sent_is_said_however_often_the_page_is_drawn(served):
    address = f"ws://127.0.0.1:{served.port}/_stcore/stream"
    with connect(address, proxy=None, max_size=None) as page:
        asked = {f"request-{number:02}" for number in range(40)}
        for request_id in sorted(asked):
            page.send(asking(request_id)["bytes"])
            page.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        while asked:
            message = ForwardMsg.FromString(page.recv(timeout=60))
            asked.discard(message.file_urls_response.response_id)


def asking(request_id: str) -> Message:
    """A page that asks where to send a file."""
    wish = FileURLsRequest(request_id=request_id, file_names=["a.txt"])
    said = BackMsg(file_urls_request=wish).SerializeToString()
    return {"type": "websocket.receive", "bytes": said}


def answering(request_id: str) -> Message:
    said = ForwardMsg(file_urls_response=FileURLsResponse(response_id=request_id))
    return {"type": "websocket.send", "bytes": said.SerializeToString()}


def test_a_request_for_addresses_is_made_again_until_it_is_answered(monkeypatch):
    monkeypatch.setattr(uploads, "_UNANSWERED", 0.05)
    heard: list[Message] = []
    sent: list[Message] = []

    async def run() -> None:
        coming: asyncio.Queue[Message] = asyncio.Queue()

        async def send(message: Message) -> None:
            sent.append(message)

        async def forgetful(_scope, receive, send) -> None:
            """Answers what it hears the third time, and what is "known" at once."""
            while (message := await receive())["type"] == "websocket.receive":
                heard.append(message)
                if message == asking("known"):
                    await send(answering("known"))
                elif heard.count(message) == 3:
                    await send(answering("lost"))

        for request_id in ("known", "lost"):
            coming.put_nowait(asking(request_id))
        coming.put_nowait({"type": "websocket.receive", "text": "no bytes"})
        coming.put_nowait({"type": "websocket.receive", "bytes": b"\xff no message"})
        scope = {"type": "websocket", "path": "/app/_stcore/stream"}
        served = asyncio.create_task(UploadAddresses(forgetful)(scope, coming.get, send))
        while answering("lost") not in sent:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        coming.put_nowait({"type": "websocket.disconnect"})
        await served

    asyncio.run(asyncio.wait_for(run(), 20))
    assert heard.count(asking("known")) == 1
    assert heard.count(asking("lost")) == 3
    assert len(heard) == 6
    assert sent == [answering("known"), answering("lost")]
