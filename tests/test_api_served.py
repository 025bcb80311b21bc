"""The API beside the page: one process, one library, one key in a file."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from rag_app import cli
from rag_app.cli import serve
from rag_app.scope import OWN
from rag_app.server.gate import PREFIX, KeyFile
from rag_app.server.problems import STATUSES
from tests.page_client import Visitor
from tests.pdfs import pdf
from tests.test_api import FERRY, until
from tests.test_web_guard import Served, is_guarded, serving

QUESTION = {"question": "What does the ferry cost?"}


# In the process of the page


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, httpx.Client]]:
    """The app with its API, and a client that has the key of its data directory."""
    if os.name != "posix":
        pytest.skip("signals are POSIX")
    given = {"RAG_APP_API": "yes", "RAG_APP_GENERATOR": "quotes", "RAG_APP_CAUTION": "0.2"}
    with serving(tmp_path_factory.mktemp("served"), **given) as running:
        told = {"Authorization": f"Bearer {KeyFile(running.data).key()}"}
        url = f"http://localhost:{running.port}"
        with httpx.Client(base_url=url, headers=told, timeout=60, trust_env=False) as client:
            until(lambda: client.get("/api/v1/health").json() == {"status": "ok"}, 60)
            yield running, client


def test_page_and_api_are_over_one_open_library(served):
    running, client = served
    added = client.post("/api/v1/documents", files={"file": ("ferry-times.txt", FERRY)})
    assert added.status_code == 201
    at = added.headers["Location"]
    until(lambda: client.get(at).json()["status"] == "ready", 60)
    with ExitStack() as pages:
        page = pages.enter_context(
            connect(f"ws://127.0.0.1:{running.port}/_stcore/stream", proxy=None, max_size=None)
        )
        page.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        drawn, kind = b"", None
        while kind != "script_finished":
            drawn += (received := page.recv(timeout=60))
            kind = ForwardMsg.FromString(received).WhichOneof("type")
        assert b"ferry-times.txt" in drawn
    answer = client.post("/api/v1/ask", json=QUESTION).json()
    assert answer["citations"][0]["name"] == "ferry-times.txt"
    visitor = Visitor(f"http://127.0.0.1:{running.port}")
    assert visitor.ask(QUESTION["question"]) > 0 and visitor.received > 1_000
    visitor.close()


def test_answers_are_streamed_through_the_servers_own_middleware(served):
    _, client = served
    told = {"Accept-Encoding": "gzip"}
    with client.stream(
        "POST", "/api/v1/ask", json=QUESTION | {"stream": True}, headers=told
    ) as sent:
        assert "content-encoding" not in sent.headers
        lines = [line for line in sent.iter_lines() if line.startswith("event")]
    assert lines[0] == "event: sources" and lines[-1] == "event: finished"


def test_tools_are_called_in_the_process_of_the_page(served):
    running, client = served

    async def call() -> object:
        async with (
            httpx2.AsyncClient(headers=dict(client.headers), trust_env=False) as line,
            Client(
                streamable_http_client(f"http://localhost:{running.port}/mcp", http_client=line)
            ) as made,
        ):
            return await made.call_tool("ask", QUESTION)

    assert not asyncio.run(call()).is_error


def test_what_the_api_answers_is_guarded_as_the_page_is(served):
    running, _ = served
    for path in ("/api/v1/documents", "/v1/models", "/mcp", "/api/v1/health"):
        _, headers, _ = running.get(path)
        assert is_guarded(headers)
        assert running.get(path, host="evil.example")[0] == 400
    assert running.asked == []


def test_the_log_holds_no_key(served):
    running, client = served
    key = KeyFile(running.data).key()
    assert client.get(f"/api/v1/documents?api_key={key}").status_code == 400
    assert client.get("/api/v1/documents").status_code == 200
    log = (running.data.parent / "server.log").read_text()
    assert "Key: rag-app api-key shows it" in log and PREFIX not in log and "missing" not in log


def test_a_new_key_counts_at_once_and_the_old_one_opens_nothing(served, capsys):
    running, client = served
    before = dict(client.headers)
    assert cli.main(["api-key", "--new", "--data-dir", str(running.data)]) == 0
    new = capsys.readouterr().out.strip()
    assert client.get("/v1/models").status_code == 401
    client.headers["Authorization"] = f"Bearer {new}"
    assert client.get("/v1/models").status_code == 200
    assert before["authorization"] != f"Bearer {new}"


@pytest.mark.timeout(300)
@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_without_being_wanted_there_is_no_api(tmp_path):
    with serving(tmp_path / "in") as running:
        for path in ("/api/v1/health", "/v1/models", "/mcp"):
            _, headers, said = running.get(path)
            assert headers["Content-Type"].startswith("text/html") or b"<!DOCTYPE" in said
        assert not (running.data / "api-key").exists()


def test_without_being_wanted_nothing_of_it_is_imported():
    code = (
        "import sys; sys.argv = ['app.py']\n"
        "from rag_app.ui import web_guard\n"
        "given = {'lifespan', 'middleware', 'exception_handlers', 'routes'}\n"
        "assert set(web_guard.options()) == given\n"
        "found = [m for m in sys.modules if m.split('.')[0] in ('fastapi', 'mcp')]\n"
        "found += [m for m in sys.modules if m.startswith('rag_app.server')]\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# How it is begun


@pytest.fixture
def started(monkeypatch) -> list[list[str]]:
    """The commands that would take the place of this process."""
    commands: list[list[str]] = []
    monkeypatch.setattr(os, "execve", lambda _, command, environment: commands.append(command))
    monkeypatch.setattr(subprocess, "call", lambda command, env: commands.append(command) or 0)
    return commands


@pytest.mark.parametrize("words", [["serve", "--api"], ["--api"], ["--api", "serve"]])
def test_it_is_begun_by_an_option(started, own_house, capsys, words):
    cli.main([*words, "--port", "9000"] if words[-1] != "--api" else ["--port", "9000", *words])
    command = started[0]
    assert command[-3:] == ["--data-dir", str(own_house.resolve()), "--api"]
    assert command[command.index("--server.port") + 1] == "9000"
    said = capsys.readouterr().out
    assert "rag-app api-key shows it" in said and PREFIX not in said
    assert KeyFile(own_house).path.exists()


def test_it_is_begun_by_a_setting(started, own_house, monkeypatch):
    monkeypatch.setenv("RAG_APP_API", "yes")
    cli.main([])
    assert started[0][-1] == "--api"


def test_without_either_it_is_not_begun(started, own_house, capsys):
    for words in ([], ["serve"]):
        cli.main(words)
    assert started[0] == started[-1] and "--api" not in started[0]
    assert capsys.readouterr().out == "" and not KeyFile(own_house).path.exists()


def test_on_a_terminal_the_key_is_shown(started, own_house, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    cli.main(["serve", "--api"])
    assert KeyFile(own_house).key() in capsys.readouterr().out


def test_without_its_packages_a_sentence_says_how_to_get_them(started, capsys, monkeypatch):
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    assert cli.main(["serve", "--api"]) == 1
    assert "pip install 'rag-app[server]'" in capsys.readouterr().err and not started


# The key


def test_the_key_is_made_once_and_is_its_users_alone(tmp_path):
    keys = KeyFile(tmp_path / "data")
    key = keys.key()
    assert key.startswith(PREFIX) and len(key) > 40 and KeyFile(tmp_path / "data").key() == key
    if os.name == "posix":
        assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["api-key"]


def test_the_key_opens_ones_own_view_and_nothing_else_does(tmp_path):
    keys = KeyFile(tmp_path)
    assert keys.scope_of_key("") is None and keys.scope_of_key("x") is None
    key = keys.key()
    assert keys.scope_of_key(key) == OWN
    for wrong in ("", key[:-1], f"{key}x", key.upper(), f" {key}", "\ud800", "ключ"):
        assert keys.scope_of_key(wrong) is None
    new = keys.renew()
    assert keys.scope_of_key(key) is None and keys.scope_of_key(new) == OWN


def test_an_empty_or_odd_file_opens_nothing(tmp_path):
    keys = KeyFile(tmp_path)
    keys.path.write_text("\n")
    assert keys.scope_of_key("") is None
    keys.path.write_bytes(b"\xff\xfe")
    assert keys.scope_of_key("\ufffd") is None
    assert cli.main(["api-key", "--data-dir", str(tmp_path)]) == 1
    assert keys.scope_of_key(keys.renew()) == OWN


# What is written about it


PAGE = (Path(__file__).parent.parent / "docs" / "api.md").read_text("utf-8")


def test_the_page_has_every_endpoint_and_no_other(served):
    _, client = served
    described = client.get("/api/v1/openapi.json").json()["paths"]
    there = {f"{method.upper()} {path}" for path, one in described.items() for method in one}
    told = set(re.findall(r"^\| `((?:GET|POST|DELETE) /\S+)` \|", PAGE, re.MULTILINE))
    assert told == there | {"GET /openapi.json"}


def test_the_page_has_every_status_of_an_error():
    told = {int(one) for one in re.findall(r"\b[45]\d\d\b", PAGE)}
    assert {int(status) for status in STATUSES.values()} <= told


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_lines_of_the_page_work(served, tmp_path):
    running, client = served
    lines = re.findall(r"^    (curl .*)$", PAGE, re.MULTILINE)
    assert len(lines) == 3
    (tmp_path / "lease.pdf").write_bytes(pdf("The rent is 900 euros a month."))
    told = os.environ | {"KEY": client.headers["Authorization"].removeprefix("Bearer ")}
    for line in lines:
        command = line.replace(":8501", f":{running.port}").replace("curl", "curl -sf", 1)
        said = subprocess.run(
            command, shell=True, cwd=tmp_path, env=told, check=True, capture_output=True
        )
        assert json.loads(said.stdout)
        until(lambda: not any(map(_is_worked_on, listed(client))), 60)
    assert "900 euros" in json.loads(said.stdout)["answer"]


def listed(client: httpx.Client) -> list[dict[str, str]]:
    return client.get("/api/v1/documents").json()["documents"]


def _is_worked_on(document: dict[str, str]) -> bool:
    return document["status"] not in ("ready", "failed")


def test_the_logging_of_the_process_stays_as_it_was():
    code = (
        "import logging\n"
        "from rag_app.server.desk import Desk\n"
        "from rag_app.server.tools import server\n"
        "server(Desk(lambda: None))\n"
        "root = logging.getLogger()\n"
        "assert root.handlers == [] and root.level == logging.WARNING, root.handlers"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
