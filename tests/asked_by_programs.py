"""What a person's programs ask, over HTTP and by MCP, held against the model of `who_may_see`.

What is hidden is asked for side by side with what nobody has: both answers are the same, byte by
byte."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from rag_app.scope import Role
from tests.who_may_see import NAMES, NOWHERE, TEXTS, Known, Step, World, content

DOCUMENTS = "/api/v1/documents"
ID = "THE-ID"  # where in a request an id is put
_MCP = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
_FLEETING = ("date", "seconds", "content-length", "server")


def asked(
    world: World,
    person: str,
    method: str,
    path: str,
    known: str = "",
    within: list[str] | None = None,
    **given: Any,
) -> httpx.Response:
    """What somebody's key is answered; that of who was removed opens nothing.

    `known` is an id that they sent, and may be sent back; `within` are the collections asked."""
    told = {"Authorization": f"Bearer {world.keys[person]}", **given.pop("headers", {})}
    said = world.line.request(method, path, headers=told, **given)
    assert said.status_code < 500, (path, said.text)
    assert (said.status_code == 401) == (person in world.gone), (path, said.status_code)
    heads = [*said.headers.items()]
    world.check(person, repr([said.text, heads]).replace(known or NOWHERE, NOWHERE), within=within)
    return said


def same_as_nowhere(
    world: World, person: str, method: str, path: str, hidden: str = "", **given: Any
) -> int:
    """What is said of something hidden, a document or a collection, put for `ID`, is what is said
    of what nobody has."""
    hidden = hidden or world.hidden_id(person)
    one, other = (
        asked(world, person, method, path.replace(ID, id_), id_, **_filled(given, id_))
        for id_ in (hidden, NOWHERE)
    )
    assert one.status_code == other.status_code, (path, hidden)
    assert one.text.replace(hidden, NOWHERE) == other.text, (path, hidden)
    assert _steady(one) == _steady(other)
    return one.status_code


def _filled(given: dict[str, Any], id_: str) -> dict[str, Any]:
    files = {name: given[name] for name in given if name == "files"}
    told = {name: given[name] for name in given if name != "files"}
    return json.loads(json.dumps(told).replace(ID, id_)) | files


def _steady(answer: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in _FLEETING}


# /api/v1


def api_documents(world: World, person: str) -> None:
    said = asked(world, person, "GET", f"{DOCUMENTS}?limit=200")
    if person in world.gone:
        return
    listed, seen = said.json(), world.seen(person)
    assert {d["document_id"] for d in listed["documents"]} == set(seen)
    assert listed["total"] == len(seen)
    held = asked(world, person, "GET", "/api/v1/collections").json()["collections"]
    assert {one["collection"]: one["role"] for one in held} == {
        collection: role.name.lower() for collection, role in world.roles(person).items()
    }


LOOKS = ("", "/progress", "/original", "/pages/1", "/pages/1/picture", "/pages/2",
         "/pages/1/boxes?start=0&end=3")  # fmt: skip


def api_document(world: World, person: str) -> None:
    path = world.chance.choice(LOOKS)
    assert same_as_nowhere(world, person, "GET", f"{DOCUMENTS}/{ID}{path}") in (401, 404)
    for known in itertools.islice(world.seen(person).values(), 2):
        said = asked(world, person, "GET", f"{DOCUMENTS}/{known.id}{path}")
        assert said.status_code == 200 or path in ("/pages/1/picture", "/pages/2")
        if path == "/original":
            assert said.content == content(known.name, known.number)


def api_add(world: World, person: str) -> None:
    name, number = world.chance.choice(NAMES), world.chance.randrange(TEXTS)
    replace, data = world.chance.random() < 0.3, content(name, number)
    form = {"replace": "true"} if replace else {}
    said = asked(world, person, "POST", DOCUMENTS, files={"file": (name, data)}, data=form)
    if person in world.gone:
        return
    before = world.of_collection(world.own[person])
    added = said.json()
    assert added["duplicate"] == (added["document_id"] in before)  # whatever others have
    assert said.status_code == (200 if added["duplicate"] else 201)
    kept = Known(added["document_id"], world.own[person], number, name)
    world.settle(person, kept.id, kept, replace)


def api_add_to(world: World, person: str) -> None:
    """To a collection that is named."""
    where = world.chance.choice([*world.collections, world.hidden_collection(person)])
    name, number = world.chance.choice(NAMES), world.chance.randrange(TEXTS)
    files = {"file": (name, content(name, number))}
    if not world.scope(person).may(Role.EDITOR, where):
        form = {"data": {"collection": ID}, "files": files}
        assert same_as_nowhere(world, person, "POST", DOCUMENTS, where, **form) in (401, 403)
        return
    before = world.of_collection(where)
    form = {"data": {"collection": where}, "files": files}
    added = asked(world, person, "POST", DOCUMENTS, **form).json()
    assert added["duplicate"] == (added["document_id"] in before)  # whatever others have
    kept = Known(added["document_id"], where, number, name)
    world.settle(person, kept.id, kept, False)


def api_within(world: World, person: str) -> None:
    """Every door that looks only in collections that are named, of which one is hidden."""
    hidden, some = world.hidden_collection(person), world.some_collections(person)
    question, stream = world.question(), world.chance.random() < 0.5
    for path, wish in (
        ("/api/v1/search", {"query": question, "k": 20}),
        ("/api/v1/ask", {"question": question, "stream": stream}),
        ("/v1/chat/completions", _completion(question) | {"stream": stream}),
    ):
        named = {"json": wish | {"collections": [*some, ID]}}
        assert same_as_nowhere(world, person, "POST", path, hidden, **named) in (401, 404)
        if some:
            asked(world, person, "POST", path, within=some, json=wish | {"collections": some})
    for tool, wish in (("search", {"query": question}), ("ask", {"question": question})):
        named = call(tool, **wish, collections=[*some, ID])
        assert same_as_nowhere(world, person, "POST", "/mcp", hidden, **named) in (200, 401)
        if some:
            wished = call(tool, **wish, collections=some)
            asked(world, person, "POST", "/mcp", within=some, **wished)


def _completion(question: str) -> dict[str, Any]:
    return {"model": "quotes", "messages": [{"role": "user", "content": question}]}


def api_remove(world: World, person: str) -> None:
    assert same_as_nowhere(world, person, "DELETE", f"{DOCUMENTS}/{ID}") in (401, 404)
    seen = [*world.seen(person).values()]
    if not seen:
        return
    known = world.chance.choice(seen)
    said = asked(world, person, "DELETE", f"{DOCUMENTS}/{known.id}")
    if world.scope(person).may(Role.EDITOR, known.collection):
        assert said.status_code == 204
        world.forget(known.id)
    else:
        assert said.status_code == 403


def api_search(world: World, person: str) -> None:
    wish: dict[str, Any] = {"query": world.question(), "k": 20}
    if world.chance.random() < 0.3:
        known = [*world.seen(person)][:1]
        wish |= {"documents": [*known, ID]}
        assert same_as_nowhere(world, person, "POST", "/api/v1/search", json=wish) in (401, 404)
        return
    wish |= {"retriever": world.chance.choice(["hybrid", "dense", "bm25"])}
    said = asked(world, person, "POST", "/api/v1/search", json=wish)
    found = said.json().get("passages", [])
    assert {one["document_id"] for one in found} <= set(world.seen(person))


def api_ask(world: World, person: str) -> None:
    wish: dict[str, Any] = {"question": world.question(), "stream": world.chance.random() < 0.5}
    if world.chance.random() < 0.3:
        turn = {"question": world.question(), "answer": "I do not know."}
        wish |= {"question": "And who is the keeper there?", "turns": [turn]}
    if world.chance.random() < 0.2:
        wish |= {"documents": [ID]}
        assert same_as_nowhere(world, person, "POST", "/api/v1/ask", json=wish) in (401, 404)
        return
    asked(world, person, "POST", "/api/v1/ask", json=wish)


def api_complete(world: World, person: str) -> None:
    wish = _completion(world.question()) | {"stream": world.chance.random() < 0.5}
    asked(world, person, "POST", "/v1/chat/completions", json=wish)


# /mcp


def spoken(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """A request of the protocol, for who sends it without a client's library."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return {"json": request, "headers": _MCP}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return spoken("tools/call", {"name": name, "arguments": arguments})


def mcp_finds(world: World, person: str) -> None:
    question = world.question()
    for wish in (call("search", query=question), call("ask", question=question)):
        said = asked(world, person, "POST", "/mcp", **wish)
        assert person in world.gone or "result" in said.json()
    hidden = call("search", query=question, documents=[ID])
    assert same_as_nowhere(world, person, "POST", "/mcp", **hidden) in (200, 401)


def mcp_reads(world: World, person: str) -> None:
    for wish in (
        call("fetch", id=f"{ID}/1"),
        call("read_page", document=ID, page=1),
        call("ask", question=world.question(), documents=[ID]),
        spoken("resources/read", {"uri": f"library://{ID}/1"}),
    ):
        same_as_nowhere(world, person, "POST", "/mcp", **wish)
    for known in itertools.islice(world.seen(person).values(), 1):
        said = asked(world, person, "POST", "/mcp", **call("fetch", id=f"{known.id}/1")).json()
        page = said["result"]["structuredContent"]
        assert page["metadata"]["document_id"] == known.id
    listed = asked(world, person, "POST", "/mcp", **spoken("resources/list", {}))
    assert person in world.gone or listed.json()["result"]["resources"] == []


def mcp_client(world: World, person: str) -> None:
    """The same with the protocol's own client."""
    if person in world.gone:
        return
    hidden, question = world.hidden_id(person), world.question()

    async def talk() -> list[Any]:
        told = {"Authorization": f"Bearer {world.keys[person]}"}
        address = f"{str(world.line.base_url).rstrip('/')}/mcp"
        async with (
            httpx2.AsyncClient(headers=told, timeout=60, trust_env=False) as line,
            Client(streamable_http_client(address, http_client=line)) as client,
        ):
            return [
                await client.call_tool("search", {"query": question}),
                await client.call_tool("read_page", {"document": hidden, "page": 1}),
                await client.call_tool("list_collections", {}),
            ]

    found, refused, held = asyncio.run(talk())
    assert refused.is_error
    world.check(person, [found, refused, held])
    assert found.is_error == (not world.seen(person))  # who sees nothing is told so
    results = [] if found.is_error else found.structured_content["results"]
    assert {one["id"].partition("/")[0] for one in results} <= set(world.seen(person))
    listed = held.structured_content["collections"]
    assert {one["collection"] for one in listed} == set(world.roles(person))


WEIGHTS: dict[Step, int] = {
    api_documents: 6, api_document: 9, api_add: 5, api_remove: 3, api_search: 9, api_ask: 8,
    api_add_to: 5, api_within: 4, api_complete: 4, mcp_finds: 5, mcp_reads: 5, mcp_client: 1,
}  # fmt: skip
