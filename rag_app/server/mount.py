"""The routes of the API, and what has to run while they are served."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from rag_app.errors import RagAppError
from rag_app.library import Library
from rag_app.server import api, completions, tools
from rag_app.server.desk import Desk, Presence
from rag_app.server.gate import BodyLimit, Gate, KeyHolder
from rag_app.server.problems import response_to
from rag_app.settings import Settings

log = logging.getLogger(__name__)

_MCP = "/mcp"
_SERVE_FIRST = 1.0  # seconds: to open a library takes from whatever runs beside it


@dataclass(frozen=True)
class Mounted:
    """Routes for the app that serves, and what it runs beside them."""

    routes: list[BaseRoute]
    desk: Desk
    protocol: MCPServer[Any]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Inside the block requests can be answered; the library is opened without waiting."""
        async with self.protocol.session_manager.run(), anyio.create_task_group() as tasks:
            tasks.start_soon(self._open)
            yield
            tasks.cancel_scope.cancel()

    async def _open(self) -> None:
        await anyio.sleep(_SERVE_FIRST)
        try:
            await self.desk.open()
        except RagAppError as error:  # every request is told, too
            log.warning("the library could not be opened: %s", error)


def mounted(opening: Callable[[], Library], holder: KeyHolder, settings: Settings) -> Mounted:
    """The API over the library that `opening` opens, or has opened."""
    desk = Desk(opening)
    protocol = tools.server(desk)
    # Whoever serves checks by what name it is called; the gate, from what page.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    served = protocol.streamable_http_app(
        streamable_http_path=_MCP, stateless_http=True, json_response=True,
        transport_security=unchecked,
    )  # fmt: skip
    documented = BodyLimit(api.application(desk, settings), response_to, api.UPLOADS)
    completed = BodyLimit(completions.application(desk), completions.refuse)
    spoken = BodyLimit(Presence(served), response_to)
    routes: list[BaseRoute] = [
        _under(api.PREFIX, Gate(documented, holder, response_to, api.OPEN)),
        _under(completions.PREFIX, Gate(completed, holder, completions.refuse)),
        Route(_MCP, endpoint=Gate(spoken, holder, response_to)),
    ]
    return Mounted(routes, desk, protocol)


def _under(prefix: str, app: ASGIApp) -> Mount:
    """Everything under a prefix, also a path that holds line breaks, which a dot does not match."""
    mount = Mount(prefix, app=app)
    mount.path_regex = re.compile(mount.path_regex.pattern, re.DOTALL)
    return mount
