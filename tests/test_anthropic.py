"""A provider of LangChain through `init_chat_model`: Anthropic's own client and protocol."""

from __future__ import annotations

import importlib.util
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic import SecretStr

from rag_app.answering.model_spec import ModelSpec
from rag_app.export.messages import sentence
from tests.test_chat import PASSAGES, workshop

# looked for, not imported: that takes seconds, and so in every process that looks for tests
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("langchain_anthropic") is None,
    reason="langchain_anthropic is not installed (make install-dev)",
)


class Server(BaseHTTPRequestHandler):
    """Speaks the streaming of Anthropic's messages API."""

    words: tuple[str, ...] = ()
    status = 200
    asked: list[dict] = []  # noqa: RUF012 - replaced for each test
    headers_seen: list[str] = []  # noqa: RUF012

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.headers_seen.append(str(self.headers))
        self.send_response(self.status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if self.status != 200:
            return
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "tiny",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        self._send("message_start", message=message)
        self._send("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for word in self.words:
            self._send("content_block_delta", index=0, delta={"type": "text_delta", "text": word})
        self._send("content_block_stop", index=0)
        delta = {"stop_reason": "end_turn", "stop_sequence": None}
        self._send("message_delta", delta=delta, usage={"output_tokens": 3})
        self._send("message_stop")

    def _send(self, kind: str, **values: object) -> None:
        data = json.dumps({"type": kind} | values)
        self.wfile.write(f"event: {kind}\ndata: {data}\n\n".encode())


@contextmanager
def running(handler):
    served = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}"
    served.shutdown()
    thread.join()
    served.server_close()


@pytest.fixture
def server():
    handler = type("Handler", (Server,), {"asked": [], "headers_seen": []})
    with running(handler) as url:
        yield url, handler


def answer(url: str, mine: bool = True):
    choice = ModelSpec("anthropic", "tiny", url)
    key_for = choice.destination if mine else "http://127.0.0.1:9"
    generator = workshop(key=SecretStr("sk-ant"), key_for=key_for).build(choice)
    pieces = list(generator.generate("What does the ferry cost?", PASSAGES, lambda: False))
    return pieces[-1].draft


def test_it_writes_and_its_sentences_are_matched_to_their_sources(server):
    url, handler = server
    handler.words = ("The ferry costs ", "four euros. ", "Whales sing.")
    draft = answer(url)
    assert "".join(draft.sentences).strip() == "The ferry costs four euros. Whales sing."
    assert draft.evidence[0] and not draft.evidence[1]
    [asked] = handler.asked
    assert asked["model"] == "tiny" and asked["stream"] and "data" in asked["system"]
    assert "guide.txt" in json.dumps(asked["messages"])
    [headers] = handler.headers_seen
    assert headers.count("sk-ant") == 1


def test_a_key_that_it_refuses_is_said_and_the_question_is_answered_by_the_reader(server):
    url, handler = server
    handler.status = 401
    draft = answer(url)
    assert draft.generator == "reader" and draft.sentences
    assert "did not accept the key" in sentence(draft.notes[0]) and "sk-ant" not in repr(draft)


def test_neither_a_key_for_another_server_nor_that_of_the_provider_is_sent(server, monkeypatch):
    url, handler = server
    handler.words = ("The ferry costs four euros.",)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-anthropic")
    answer(url, mine=False)
    [headers] = handler.headers_seen
    assert "sk-" not in headers


def test_a_key_does_not_follow_to_where_a_server_sends_on(server):
    url, handler = server
    sending_on = type("SendingOn", (Server,), {"asked": [], "headers_seen": []})
    sending_on.do_POST = lambda self: (
        self.send_response(307),
        self.send_header("Location", url + self.path),
        self.send_header("Content-Length", "0"),
        self.end_headers(),
    )
    handler.words = ("The ferry costs four euros.",)
    with running(sending_on) as first:
        answer(first)
    assert handler.headers_seen and "sk-ant" not in "".join(handler.headers_seen)
