"""A visitor of the page without a browser: what a browser sends is sent, and what comes is read.

So that twenty people can be asked for on two cores without the work of twenty browsers in the
figures. Speaks what Streamlit's own page speaks (its `proto` messages over a WebSocket)."""

from __future__ import annotations

import time
from contextlib import ExitStack
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

FINISHED = "class='how'"  # stands under an answer that has come to its end


class Visitor:
    """One session of the page."""

    def __init__(self, address: str) -> None:
        self._open = ExitStack()
        at = f"ws://{urlsplit(address).netloc}/_stcore/stream"
        self._socket = self._open.enter_context(
            connect(at, proxy=None, max_size=None, ping_interval=None, close_timeout=1)
        )
        self._cached: list[str] = []
        self._repeats: dict[str, float] = {}  # parts of the page that ask to be run again
        self._due: dict[str, float] = {}
        self._field = self._part = ""
        self.received = 0  # bytes of messages since a question was sent
        self._run()
        while not self._field:
            self._read(60.0)

    def ask(self, question: str, at: float = 0.0, patience: float = 60.0) -> float:
        """Seconds from sending until the answer is finished; sent at that time, if one is given.

        Raises TimeoutError."""
        time.sleep(max(0.0, at - time.time()))
        began, self.received = time.monotonic(), 0
        self._run(question)
        seen = False
        while (taken := time.monotonic() - began) < patience:
            now = time.monotonic()
            for part in [one for one, due in self._due.items() if due <= now]:
                self._due[part] = now + self._repeats[part]
                self._run(part=part, repeated=True)
            wait = min(self._due.values(), default=now + 1.0) - time.monotonic()
            for text in self._read(max(0.001, wait)):
                seen = seen or question in text
                if seen and FINISHED in text:
                    return time.monotonic() - began
        raise TimeoutError(f"no answer after {taken:.0f} s")

    def close(self) -> None:
        """Go away."""
        self._open.close()

    def _run(self, question: str = "", part: str = "", repeated: bool = False) -> None:
        """Have the page run, or a part of it; with what was typed into its field."""
        message = BackMsg()
        state = message.rerun_script
        state.cached_message_hashes.extend(self._cached)
        state.fragment_id = self._part if question else part
        state.is_auto_rerun = repeated
        if question:
            typed = state.widget_states.widgets.add(id=self._field)
            typed.chat_input_value.data = question
        self._socket.send(message.SerializeToString())

    def _read(self, patience: float) -> list[str]:
        """The texts of the next message; none if none comes in time."""
        try:
            data = self._socket.recv(patience)
        except TimeoutError:
            return []
        self.received += len(data)
        message = ForwardMsg.FromString(data if isinstance(data, bytes) else data.encode())
        if message.metadata.cacheable and message.hash:
            self._cached.append(message.hash)
        if message.HasField("auto_rerun"):
            repeat = message.auto_rerun
            self._repeats[repeat.fragment_id] = repeat.interval
            self._due[repeat.fragment_id] = time.monotonic() + repeat.interval
        for part in message.stop_auto_rerun.fragment_ids:
            self._due.pop(part, None)
        element = message.delta.new_element
        if element.HasField("chat_input"):
            self._field, self._part = element.chat_input.id, message.delta.fragment_id
        return [element.html.body, element.markdown.body]
