"""Signing in by the headers of a proxy, over real connections: who is near and who is not."""

from __future__ import annotations

import http.client
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from rag_app.ui import texts
from tests.test_reindexing import until
from tests.test_web_guard import ROOT, Served, serving

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 is another neighbour on Linux"),
]
PROXY, STRANGER = "127.0.0.1", "127.0.0.2"
ADA = {"X-Forwarded-User": "ada of the engines", "X-Forwarded-Email": "ada@example.org"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An app that believes a proxy on this computer, whatever else its server was told to."""
    told = {"RAG_APP_SIGN_IN": "headers", "FORWARDED_ALLOW_IPS": "*"}
    with serving(tmp_path_factory.mktemp("served"), **told) as running:
        yield running


@contextmanager
def open_page(served: Served, neighbour: str, headers: dict[str, str], *earlier: str):
    """(what the page shows, the id of its session) to who connects from an address, and stays."""
    with connect(
        f"ws://127.0.0.1:{served.port}/_stcore/stream",
        source_address=(neighbour, 0),
        additional_headers=headers,
        subprotocols=["streamlit", *earlier],
        proxy=None,
        max_size=None,
    ) as page:
        page.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        shown, session, kind = b"", "", None
        while kind != "script_finished":
            shown += (received := page.recv(timeout=120))
            message = ForwardMsg.FromString(received)
            kind = message.WhichOneof("type")
            if kind == "new_session":
                session = message.new_session.initialize.session_id
        yield shown.decode("utf-8", "replace"), session


def drawn(served: Served, neighbour: str, headers: dict[str, str], *earlier: str):
    """The same for who leaves at once."""
    with open_page(served, neighbour, headers, *earlier) as seen:
        return seen


def test_a_proxy_that_is_believed_brings_somebody_in(served):
    shown, _ = drawn(served, PROXY, ADA)
    assert ADA["X-Forwarded-Email"] in shown and texts.DROP in shown
    assert texts.SIGN_IN_ELSEWHERE not in shown


@pytest.mark.parametrize("lie", [{}, {"X-Forwarded-For": PROXY}, {"Forwarded": f"for={PROXY}"}])
def test_the_same_headers_from_elsewhere_bring_in_nobody(served, lie):
    identity = {"X-Rag-App-Identity": '{"subject": "ada of the engines", "groups": []}'}
    shown, _ = drawn(served, STRANGER, {**ADA, **lie, **identity})
    assert texts.SIGN_IN_ELSEWHERE in shown
    assert ADA["X-Forwarded-Email"] not in shown and texts.DROP not in shown


def test_a_proxy_that_signed_nobody_in_brings_in_nobody(served):
    shown, _ = drawn(served, PROXY, {"X-Rag-App-Identity": '{"subject": "ada", "groups": []}'})
    assert texts.SIGN_IN_ELSEWHERE in shown and texts.DROP not in shown


def test_a_session_is_gone_on_with_by_whom_it_was_begun_only(served):
    _, begun = drawn(served, PROXY, ADA)
    again = ("token", begun)  # as Streamlit's page asks for it
    assert drawn(served, PROXY, ADA, *again)[1] == begun
    assert drawn(served, PROXY, {"X-Forwarded-User": "bob"}, *again)[1] != begun
    assert drawn(served, STRANGER, ADA, *again)[1] != begun
    assert drawn(served, PROXY, ADA, *again)[1] == begun


def test_a_window_that_is_loaded_anew_counts_once(served):
    cara = {"X-Forwarded-User": "cara"}
    drawn(served, PROXY, cara)  # whom nobody knew before
    command = [sys.executable, "-m", "rag_app.cli", "limits", "cara", "--set", "sessions", "2"]
    subprocess.run([*command, "--data-dir", str(served.data)], check=True, timeout=60, cwd=ROOT)
    refused = "You may use this in 2 windows at once"

    def is_refused() -> bool:
        return refused in drawn(served, PROXY, cara)[0]

    def third_is_refused() -> bool:
        with open_page(served, PROXY, cara), open_page(served, PROXY, cara):
            return is_refused()

    until(third_is_refused)  # as soon as the limit is heard of
    until(lambda: not is_refused())  # as soon as it is heard that they are gone
    assert not any(is_refused() for _ in range(3))


@pytest.mark.parametrize(("neighbour", "status"), [(PROXY, 404), (STRANGER, 401)])
def test_files_are_for_who_came_by_the_proxy(served, neighbour, status):
    line = http.client.HTTPConnection(
        "127.0.0.1", served.port, timeout=60, source_address=(neighbour, 0)
    )
    try:
        line.request("GET", "/media/none.png", headers=ADA)
        assert line.getresponse().status == status
    finally:
        line.close()
