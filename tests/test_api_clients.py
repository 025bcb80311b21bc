"""The API with real clients: openai, that of MCP, and an agent of LangChain."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from rag_app.access.nouns import Identity
from rag_app.scope import readers_of
from rag_app.server.completions import supported
from rag_app.server.desk import generator_of, offered
from rag_app.server.problems import UnknownModel
from rag_app.settings import Settings
from rag_app.types import Answer, Finished, Note, NoteKind, Timing
from tests.api_servers import KEY, Served, api_server
from tests.pdfs import pdf
from tests.test_api import FERRY, Failing, Slow, open_library

if TYPE_CHECKING:
    import openai

QUESTION = "What does the ferry cost?"
SENTENCE = "The ferry to the island costs four euros."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with (
        open_library(tmp_path_factory.mktemp("clients"), max_file_mb=1) as library,
        api_server(library) as running,
    ):
        added = [
            library.add("ferry.txt", FERRY),
            library.add("prices.pdf", pdf("A day ticket costs nine euros.", "The pier is closed.")),
        ]
        library.wait([one.document.id for one in added], timeout=60)
        list(library.ask(QUESTION))  # models are loaded once, and clients are impatient
        yield running


# openai: chat completions


@pytest.fixture
def client(served) -> Iterator[openai.OpenAI]:
    import openai  # here: it takes seconds, and so in every process that looks for tests

    with openai.OpenAI(base_url=f"{served.url}/v1", api_key=KEY, max_retries=0) as made:
        yield made


def asked(*texts: str) -> list[Any]:
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]


def test_openai_lists_the_models_that_answer(client):
    names = [model.id for model in client.models.list()]
    assert names[0] == "quotes" and "reader" in names
    assert client.models.retrieve("quotes").id == "quotes"
    assert not [name for name in names if "/" in name or "@" in name]


def test_openai_gets_an_answer_with_its_citations(client, served):
    answer = client.chat.completions.create(model="quotes", messages=asked(QUESTION))
    [choice] = answer.choices
    assert choice.finish_reason == "stop" and answer.usage is None
    assert choice.message.content == f"{SENTENCE} [1]"
    [note] = choice.message.annotations
    cited = note.url_citation
    assert choice.message.content[cited.start_index : cited.end_index] == SENTENCE
    assert (cited.title, cited.page, cited.quote) == ("ferry.txt", 1, SENTENCE)
    with served.client() as reader:
        text = reader.get(cited.url).json()["text"]
        assert text[cited.start : cited.end] == cited.quote


def test_openai_streams_an_answer_and_its_citations_come_at_the_end(client):
    content, notes, reasons = "", [], []
    for chunk in client.chat.completions.create(
        model="quotes",
        messages=asked(QUESTION),
        stream=True,
        stream_options={"include_usage": True},
    ):
        [choice] = chunk.choices
        content += choice.delta.content or ""
        notes += getattr(choice.delta, "annotations", None) or []
        reasons.append(choice.finish_reason)
    assert content.strip() == SENTENCE and reasons[-1] == "stop"
    cited = notes[0]["url_citation"]
    assert content[cited["start_index"] : cited["end_index"]] == SENTENCE


def test_openai_says_what_was_said_before_and_gives_parts_of_text(client):
    said = asked(QUESTION, f"{SENTENCE} [1]", "And for dogs?")
    said.insert(0, {"role": "system", "content": "Answer in rhymes."})
    said[-1]["content"] = [{"type": "text", "text": "Do dogs travel free of charge?"}]
    answer = client.chat.completions.create(model="quotes", messages=said, temperature=0.9)
    assert "free of charge" in answer.choices[0].message.content


def test_an_answer_that_is_not_known_is_an_answer_without_citations(client):
    for stream in (False, True):
        answer = client.chat.completions.create(
            model="quotes", messages=asked("Who is the king of Ruritania?"), stream=stream
        )
        if stream:
            text = "".join(c.choices[0].delta.content or "" for c in answer)
        else:
            text, notes = answer.choices[0].message.content, answer.choices[0].message.annotations
            assert notes == []
        assert text == "I could not find an answer to this in your documents."


@pytest.mark.parametrize(
    ("wrong", "error", "code"),
    [
        ({"model": "gpt-9"}, "NotFoundError", "model_not_found"),
        ({"model": "openai:x@http://127.0.0.1:1"}, "NotFoundError", "model_not_found"),
        ({"n": 2}, "BadRequestError", "unsupported_parameter"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]},
         "BadRequestError", "unsupported_parameter"),
        ({"response_format": {"type": "json_object"}},
         "BadRequestError", "unsupported_parameter"),
        ({"messages": []}, "BadRequestError", "unfit_messages"),
        ({"messages": [{"role": "system", "content": "x"}]},
         "BadRequestError", "unfit_messages"),
        ({"messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]}]},
         "BadRequestError", "unfit_messages"),
        ({"messages": [{"role": "user", "content": "ferry " * 700}]},
         "UnprocessableEntityError", "question"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_openai_is_told_what_cannot_be_had(client, wrong, error, code, stream):
    import openai

    wish = {"model": "quotes", "messages": asked(QUESTION), "stream": stream} | wrong
    with pytest.raises(getattr(openai, error)) as refused:
        client.chat.completions.create(**wish)
    assert refused.value.code == code and refused.value.body["message"].endswith(".")


def test_openai_is_told_what_fails_in_the_middle(tmp_path):
    import openai

    with (
        open_library(tmp_path / "data", Failing()) as library,
        api_server(library) as running,
        openai.OpenAI(base_url=f"{running.url}/v1", api_key=KEY, max_retries=0) as client,
    ):
        library.wait([library.add("ferry.txt", FERRY).document.id], timeout=30)
        wish = {"model": "quotes", "messages": asked(QUESTION)}
        with pytest.raises(openai.APIError, match="broke off"):
            list(client.chat.completions.create(**wish, stream=True))
        with pytest.raises(openai.InternalServerError, match="broke off"):
            client.chat.completions.create(**wish)


def test_models_are_named_without_servers_and_folders():
    class Catalogue:
        def writers(self) -> list[str]:
            return ["writer:default", "writer:small"]

        def missing(self, line: str) -> str:
            return "small" if line == "writer:small" else ""

    class Shelf:
        models = Catalogue()

        def __init__(self, line: str) -> None:
            self.settings = Settings.load(generator=line)

    for line, name in (
        ("openai:llama@http://10.0.0.5:8000/v1", "openai:llama"),
        ("local:/home/ann/models/llama", "local:llama"),
        ("ollama:phi", "ollama:phi"),
    ):
        shelf = Shelf(line)
        known = offered(shelf)
        assert list(known) == [name, "writer:default", "quotes", "reader"]
        assert generator_of(shelf, name) is None and generator_of(shelf, None) is None
        assert generator_of(shelf, "reader") == "reader"
        for other in ({line} - {name}) | {"writer:small", "openai:x@http://10.0.0.5"}:
            with pytest.raises(UnknownModel):
                generator_of(shelf, other)


def test_openai_with_a_wrong_key_is_told_so(served):
    import openai

    with (
        openai.OpenAI(base_url=f"{served.url}/v1", api_key="wrong", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.models.list()


def test_citations_point_at_the_sentences_that_they_support():
    text = "Dogs bark. Cats do not.  They purr. [1][3]\n\nFish swim. [2]"
    found = [(n, text[a:b]) for n, a, b in supported(text, text)]
    assert found == [(1, "They purr."), (3, "They purr."), (2, "Fish swim.")]
    streamed = "Dogs bark. Cats do not. They\npurr.\n\nFish swim."
    found = [(n, streamed[a:b]) for n, a, b in supported(text, streamed)]
    assert found == [(1, "They\npurr."), (3, "They\npurr."), (2, "Fish swim.")]
    assert list(supported(text, "something else")) == []


@pytest.mark.parametrize(
    ("streamed", "text", "read"),
    [
        ("Dogs mew. ", "Dogs bark. [1]", "Dogs mew. \n\nDogs bark."),
        ("Dogs bark.", "Dogs bark. [1]\n\nDogs mew. [2]", "Dogs bark.\n\nDogs mew."),
        ("Dogs bark.", "Dogs bark. [1]", "Dogs bark."),
        ("", "Dogs bark. [1]", "Dogs bark."),
    ],
)
def test_of_an_answer_what_was_not_streamed_is_said_at_its_end(streamed, text, read):
    """In full, where it became another."""
    from rag_app.server.completions import _Chunks, _Reply
    from rag_app.types import Delta

    answer = Answer("q", text, "", False, 1.0, "w", (), (), Timing(0, 0))
    chunks = _Chunks(_Reply("m", "http://a"))
    sent = [*chunks.of(Delta(streamed)), *chunks.of(Finished(answer))]
    said = [json.loads(one.removeprefix(b"data: ")) for one in sent if b"[DONE]" not in one]
    assert "".join(s["choices"][0]["delta"].get("content") or "" for s in said) == read


def test_what_another_document_says_otherwise_is_said_behind_the_answer():
    from rag_app.server.completions import _Chunks, _Reply
    from rag_app.types import Delta

    note = Note(NoteKind.OTHERWISE, ("old.docx", "Dogs mew."))
    answer = Answer("q", "Dogs bark. [1]", "", False, 1, "w", (), (), Timing(0, 0), notes=(note,))
    reply = _Reply("m", "http://a")
    whole = reply.whole(answer)["choices"][0]["message"]["content"]
    assert whole.startswith("Dogs bark. [1]\n\n“old.docx” says otherwise: “Dogs mew.”")
    chunks = _Chunks(reply)
    sent = [*chunks.of(Delta("Dogs bark.")), *chunks.of(Finished(answer))]
    said = [json.loads(one.removeprefix(b"data: ")) for one in sent if b"[DONE]" not in one]
    streamed = "".join(s["choices"][0]["delta"].get("content") or "" for s in said)
    assert streamed == whole.replace(" [1]", "")


# The tools and resources of MCP


@asynccontextmanager
async def protocol(served: Served, key: str = KEY, mode: str = "auto") -> Any:
    told = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=told, timeout=30, trust_env=False) as line,
        Client(streamable_http_client(f"{served.url}/mcp", http_client=line), mode=mode) as made,
    ):
        yield made


def talk(served: Served, do: Callable[[Client], Any], **given: Any) -> Any:
    async def run() -> Any:
        async with protocol(served, **given) as made:
            return await do(made)

    return asyncio.run(run())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_mcp_lists_tools_that_only_read(served, mode):
    tools = talk(served, lambda client: client.list_tools(), mode=mode).tools
    assert {t.name for t in tools} == {"search", "fetch", "ask", "read_page", "list_collections"}
    assert all(t.annotations.read_only_hint and not t.annotations.destructive_hint for t in tools)
    assert all(t.description for t in tools)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_mcp_searches_and_fetches_what_it_found(served, mode):
    async def do(client: Client) -> Any:
        found = await client.call_tool("search", {"query": "ticket"})
        best = found.structured_content["results"][0]
        assert json.loads(found.content[0].text) == found.structured_content
        page = await client.call_tool("fetch", {"id": best["id"]})
        return best, page.structured_content

    best, page = talk(served, do, mode=mode)
    assert set(best) == {"id", "title", "url", "text"} and "nine euros" in best["text"]
    assert best["title"].startswith("prices.pdf, ")
    assert page["id"] == best["id"] and "A day ticket costs nine euros." in page["text"]
    with served.client() as reader:
        assert reader.get(best["url"]).json()["text"] == page["text"]


def test_mcp_asks_and_quotes(served):
    said = talk(served, lambda client: client.call_tool("ask", {"question": QUESTION}))
    answer = said.structured_content
    assert answer["answer"] == f"{SENTENCE} [1]" and not answer["abstained"]
    assert answer["quotes"][0]["quote"] == SENTENCE


@pytest.fixture
def two_collections(tmp_path) -> Iterator[tuple[Served, str]]:
    """A key that opens two collections, each with a text on what is asked, and one of them."""
    with open_library(tmp_path / "two") as library:
        library.access.arrive(Identity("anna"))
        made = [library.access.create_collection("anna", name).id for name in ("One", "Other")]
        view = library.scoped(library.access.scope_of("anna"))
        nine = b"The ferry to the mainland costs nine euros.\n"
        added = [
            view.add("ferry.txt", data, collection=where)
            for where, data in zip(made, (FERRY, nine), strict=True)
        ]
        view.wait([one.document.id for one in added], timeout=60)
        with api_server(library, {KEY: view.scope}) as running:
            yield running, made[0]


def test_mcp_looks_only_in_the_collections_that_are_named(two_collections):
    running, there = two_collections
    in_there = running.library.scoped(readers_of(there)).documents()

    async def do(client: Client) -> Any:
        wished = {"query": "ferry", "collections": [there]}
        found = await client.call_tool("search", wished)
        asked = await client.call_tool("ask", {"question": QUESTION, "collections": [there]})
        refused = [
            await client.call_tool(tool, {name: "ticket?", "collections": ["nowhere"]})
            for tool, name in (("search", "query"), ("ask", "question"))
        ]
        return found, asked, refused

    found, asked, refused = talk(running, do)
    [document] = [one.id for one in in_there]
    ids = {one["id"].partition("/")[0] for one in found.structured_content["results"]}
    assert ids == {document}
    assert {one["document_id"] for one in asked.structured_content["quotes"]} == {document}
    for one in refused:
        assert one.is_error and "does not open" in one.content[0].text


def test_mcp_reads_pages_as_tools_and_as_resources(served):
    document = served.library.document("prices.pdf").id

    async def do(client: Client) -> Any:
        page = await client.call_tool("read_page", {"document": document, "page": 2})
        resource = await client.read_resource(f"library://{document}/2")
        templates = await client.list_resource_templates()
        held = await client.call_tool("list_collections", {})
        return page, resource, templates, held

    page, resource, templates, held = talk(served, do)
    assert page.structured_content["text"] == resource.contents[0].text
    assert "pier" in resource.contents[0].text
    [template] = templates.resource_templates
    assert template.uri_template == "library://{document}/{page}"
    assert held.structured_content["collections"] == [
        {"collection": "home", "name": "home", "role": "owner"}
    ]


def test_mcp_says_in_a_sentence_what_is_not_there(served):
    async def do(client: Client) -> Any:
        tools = [
            await client.call_tool("fetch", {"id": "0" * 64 + "/1"}),
            await client.call_tool("read_page", {"document": "../../etc", "page": 1}),
            await client.call_tool("ask", {"question": "ferry " * 700}),
            await client.call_tool("search", {"query": "x", "documents": ["0" * 64]}),
        ]
        with pytest.raises(MCPError):
            await client.read_resource(f"library://{'0' * 64}/1")
        return tools

    for said in talk(served, do):
        assert said.is_error and said.content[0].text.endswith(".")
        assert "Traceback" not in said.content[0].text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_mcp_ends_the_work_of_a_client_that_goes_away(tmp_path, mode):
    generator = Slow()
    with open_library(tmp_path / "data", generator) as library, api_server(library) as running:
        library.wait([library.add("ferry.txt", FERRY).document.id], timeout=30)

        async def do(client: Client) -> None:
            asking = asyncio.create_task(client.call_tool("ask", {"question": QUESTION}))
            assert await asyncio.to_thread(generator.begun.wait, 20)
            asking.cancel()

        talk(running, do, mode=mode)
        assert generator.stopped.wait(1)


def test_mcp_takes_no_body_without_end(served):
    with served.client() as line:
        for content in (b"x" * (2 << 20), iter([b"x" * 65_536] * 32)):
            told = {"Content-Type": "application/json"}
            assert 400 <= line.post("/mcp", content=content, headers=told).status_code < 500


def test_mcp_with_a_wrong_key_is_refused(served):
    with pytest.raises(BaseException) as refused:  # a group of whatever ended the connection
        talk(served, lambda client: client.list_tools(), key="wrong")
    assert "401" in str(refused.value) or refused.group_contains(Exception)


# LangChain: an agent that uses the tools


class Scripted(BaseChatModel):
    """The brain of an agent: it searches, reads what it found, and says what it has read."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Scripted:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        read = [json.loads(str(m.content)) for m in messages if isinstance(m, ToolMessage)]
        match len(read):
            case 0:
                said = _call("search", {"query": "ticket"})
            case 1:
                said = _call("fetch", {"id": read[0]["results"][0]["id"]})
            case _:
                said = AIMessage(f"It says: {read[1]['text']}")
        return ChatResult(generations=[ChatGeneration(message=said)])


def _call(name: str, arguments: dict[str, Any]) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": name}])


def test_an_agent_of_langchain_finds_and_reads_with_the_tools(served):
    from langchain.agents import create_agent

    async def do(client: Client) -> Any:
        def tool(described: Any) -> StructuredTool:
            async def call(**given: Any) -> str:
                said = await client.call_tool(described.name, given)
                return said.content[0].text

            return StructuredTool(
                name=described.name,
                description=described.description,
                args_schema=described.input_schema,
                coroutine=call,
            )

        tools = [tool(one) for one in (await client.list_tools()).tools]
        agent = create_agent(Scripted(), tools)
        return await agent.ainvoke({"messages": [("user", "What does a day ticket cost?")]})

    messages = talk(served, do)["messages"]
    assert messages[-1].content.startswith("It says: A day ticket costs nine euros.")


def test_langchain_talks_to_it_as_to_any_server_of_openai(served):
    from langchain_openai import ChatOpenAI

    with httpx2.Client(trust_env=False) as line:
        model = ChatOpenAI(
            model="quotes", base_url=f"{served.url}/v1", api_key=KEY, http_client=line
        )
        assert model.invoke(QUESTION).content == f"{SENTENCE} [1]"
        streamed = "".join(str(chunk.content) for chunk in model.stream(QUESTION))
        assert streamed.strip() == SENTENCE


def test_the_three_faces_give_the_same_answer(served, client):
    with served.client() as line:
        first = line.post("/api/v1/ask", json={"question": QUESTION}).json()["answer"]
    second = client.chat.completions.create(model="quotes", messages=asked(QUESTION))
    third = talk(served, lambda one: one.call_tool("ask", {"question": QUESTION}))
    assert first == second.choices[0].message.content == third.structured_content["answer"]
