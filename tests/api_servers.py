"""The API over loopback, with a library that answers fast: for tests with real clients."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette

from rag_app.library import Library
from rag_app.scope import OWN, Scope
from rag_app.server.gate import KeyHolder
from rag_app.server.mount import mounted
from rag_app.settings import Settings

KEY = "ragapp_a-key-of-the-tests"


@dataclass(frozen=True)
class Keys:
    """Known keys, each with the view that it opens."""

    known: Mapping[str, Scope]

    def scope_of_key(self, secret: str) -> Scope | None:
        return self.known.get(secret)


@dataclass(frozen=True)
class Served:
    """A server that runs, and the library behind it."""

    url: str
    library: Any

    def client(self, key: str | None = KEY) -> httpx.Client:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False)


class _Server(uvicorn.Server):
    """In a thread: signals are the test's; `up` says that it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = threading.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.up.set()


@contextmanager
def api_server(
    library: Library | Any,
    keys: Mapping[str, Scope] | None = None,
    opening: Callable[[], Any] | None = None,
    holder: KeyHolder | None = None,
) -> Iterator[Served]:
    """The API of a library until the block ends."""
    settings: Settings = library.settings
    made = mounted(opening or (lambda: library), holder or Keys(keys or {KEY: OWN}), settings)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> Any:
        async with made.running():
            yield

    app = Starlette(routes=made.routes, lifespan=lifespan)
    config = uvicorn.Config(
        app, "127.0.0.1", 0, access_log=False, log_level="error", ws="none", lifespan="on"
    )
    server = _Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert server.up.wait(30)
        [sock] = server.servers[0].sockets
        yield Served(f"http://127.0.0.1:{sock.getsockname()[1]}", library)
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()
