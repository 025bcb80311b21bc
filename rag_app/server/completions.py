"""/v1: what programs expect that can talk to OpenAI: chat completions and the list of models.

The last message of the user is the question, those before it are its turns. Citations come as
annotations, each with the sentence of the content that it supports."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rag_app.answering.chain import MARKER
from rag_app.answering.query_rewriting import Turn
from rag_app.errors import RagAppError
from rag_app.export.messages import sentence
from rag_app.library import Library
from rag_app.server import problems
from rag_app.server.api import pages_at, within
from rag_app.server.desk import Ask, Desk, EventStream, frame, generator_of, offered, whole_answer
from rag_app.server.gate import view_of
from rag_app.server.schemas import CollectionIds
from rag_app.text.sentences import sentences
from rag_app.types import Answer, Citation, Delta, Event, Finished, NoteKind

PREFIX = "/v1"
_MOST_TURNS = 50
_MARKERS = re.compile(rf"(?:{MARKER.pattern})+")
_DONE = b"data: [DONE]\n\n"

# What a request says


class _MessagePart(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: str
    text: str = ""


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[_MessagePart] | None = None

    @property
    def text(self) -> str:
        """What it says. Raises UnfitMessage if that is not text alone."""
        if isinstance(self.content, list):
            if any(part.type not in ("text", "refusal") for part in self.content):
                raise UnfitMessage(
                    "Messages can hold text only. Add pictures and files as documents."
                )
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class _Completion(BaseModel):
    """What is heeded; every other parameter, as temperature, changes nothing and is ignored."""

    model_config = ConfigDict(extra="ignore")
    model: str
    messages: Annotated[list[_Message], Field(min_length=1)]
    stream: bool | None = False
    n: int | None = 1
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: dict[str, Any] | None = None
    logprobs: bool | None = None
    modalities: list[str] | None = None
    collections: CollectionIds | None = None  # ours: to be asked of, of those that the key opens

    def check(self) -> None:
        """Raises UnsupportedParameter for what would change the answer and cannot be had."""
        wanted = {
            "n": self.n not in (None, 1),
            "tools": bool(self.tools),
            "functions": bool(self.functions),
            "response_format": (self.response_format or {}).get("type", "text") != "text",
            "logprobs": bool(self.logprobs),
            "modalities": self.modalities not in (None, ["text"]),
        }
        for parameter, asked in wanted.items():
            if asked:
                raise UnsupportedParameter(parameter)

    def look(self, library: Library) -> None:
        """Raises UnknownModel or UnknownCollection for what cannot be asked."""
        generator_of(library, self.model)
        within(library, self.collections)

    def asked(self) -> tuple[str, list[Turn]]:
        """The question, and what was said before it. Raises UnfitMessage."""
        said = [one for one in self.messages if one.role in ("user", "assistant")]
        while said and said[-1].role != "user":
            said.pop()
        if not said:
            raise UnfitMessage("No message of the user is there. The last one is the question.")
        turns: list[Turn] = []
        for message in said[:-1]:
            if message.role == "user":
                turns.append(Turn(message.text, ""))
            elif turns:
                turns[-1] = Turn(turns[-1].question, MARKER.sub("", message.text))
        return said[-1].text, turns[-_MOST_TURNS:]


class UnfitMessage(problems.RequestError):
    """The messages are none that can be answered."""

    code = "unfit_messages"


class UnsupportedParameter(problems.RequestError):
    """A parameter that cannot be heeded, and would change the answer."""

    code = "unsupported_parameter"

    def __init__(self, parameter: str) -> None:
        super().__init__(
            f"“{parameter}” is not supported here: answers come from the documents. Leave it out."
        )
        self.parameter = parameter


# What is answered


def application(desk: Desk) -> Starlette:
    """What is mounted at `PREFIX`, behind the gate."""

    async def complete(request: Request) -> Response:
        wish = await _read(request)
        wish.check()
        question, turns = wish.asked()
        ask = _asking(wish, question, turns)
        reply = _Reply(wish.model, pages_at(request))
        if wish.stream:
            await desk.call(view_of(request.scope), wish.look)
            return EventStream(desk, ask, _Chunks(reply))
        answer = await whole_answer(request.receive, desk, request.scope, ask)
        return Response() if answer is None else JSONResponse(reply.whole(answer))

    async def list_models(request: Request) -> Response:
        names = await desk.call(view_of(request.scope), offered)
        return JSONResponse({"object": "list", "data": [_model(name) for name in names]})

    async def show_model(request: Request) -> Response:
        name = request.path_params["model"]
        await desk.call(view_of(request.scope), lambda library: generator_of(library, name))
        return JSONResponse(_model(name))

    return Starlette(
        routes=[
            Route("/chat/completions", complete, methods=["POST"]),
            Route("/models", list_models, methods=["GET"]),
            Route("/models/{model:path}", show_model, methods=["GET"]),
        ],
        exception_handlers={RagAppError: _told, HTTPException: _http, ClientDisconnect: _gone},
    )


async def _read(request: Request) -> _Completion:
    try:
        return _Completion.model_validate_json(await request.body())
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False)[0]
        at = ".".join(map(str, first["loc"]))
        raise UnfitMessage(f"This does not fit: {at or 'the body'}: {first['msg']}.") from error


def _asking(wish: _Completion, question: str, turns: Sequence[Turn]) -> Ask:
    def begin(library: Library, stop: threading.Event) -> Iterator[Event]:
        asked = within(library, wish.collections)
        return asked.ask(question, None, stop, generator_of(library, wish.model), turns)

    return begin


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "rag-app"}


class _Reply:
    """One answer as OpenAI would say it; how many tokens it took is not known, and not said."""

    def __init__(self, model: str, pages_at: str) -> None:
        self._model, self._pages_at = model, pages_at
        self._id, self._created = f"chatcmpl-{secrets.token_hex(12)}", int(time.time())

    def whole(self, answer: Answer) -> dict[str, Any]:
        """The answer at once."""
        message: dict[str, Any] = {"role": "assistant", "content": told(answer), "refusal": None}
        message["annotations"] = self.annotations(answer, answer.text)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return self._said("chat.completion", choice)

    def chunk(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        """A piece of it."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return frame(self._said("chat.completion.chunk", choice))

    def _said(self, kind: str, choice: dict[str, Any]) -> dict[str, Any]:
        said = {"id": self._id, "object": kind, "created": self._created, "model": self._model}
        return said | {"choices": [choice]}

    def annotations(self, answer: Answer, content: str) -> list[dict[str, Any]]:
        """The citations, each with where in `content` the sentence stands that it supports."""
        cited = {citation.number: citation for citation in answer.citations}
        placed = [
            (cited.pop(number), start, end)
            for number, start, end in supported(answer.text, content)
            if number in cited
        ]
        placed += [(citation, len(content), len(content)) for citation in cited.values()]
        return [self._annotation(*one) for one in placed]

    def _annotation(self, citation: Citation, start: int, end: int) -> dict[str, Any]:
        page = f"{self._pages_at}/{quote(citation.document_id)}/pages/{citation.page}"
        return {
            "type": "url_citation",
            "url_citation": {
                "url": page,
                "title": citation.name,
                "start_index": start,
                "end_index": end,
                "number": citation.number,
                "document_id": citation.document_id,
                "page": citation.page,
                "start": citation.start,
                "end": citation.end,
                "quote": citation.quote,
            },
        }


def supported(text: str, content: str) -> Iterator[tuple[int, int, int]]:
    """(number of a citation, start, end) of the sentences before the markers of an answer's text,
    as they stand in `content`: that text, or what was streamed before there were markers."""
    begin, look = 0, 0
    for run in _MARKERS.finditer(text):
        before = text[begin : run.start()]
        begin = run.end()
        spans = sentences(before)
        if not spans:
            continue
        first, last = spans[-1]
        words = before[first:last].split()
        found = re.compile(r"\s+".join(map(re.escape, words))).search(content, look)
        if found is None:
            continue
        look = found.end()
        for number in MARKER.findall(run[0]):
            yield int(number), *found.span()


def told(answer: Answer) -> str:
    """An answer's text, and what another document says otherwise, for which no field is there."""
    against = [sentence(note) for note in answer.notes if note.kind is NoteKind.OTHERWISE]
    return "\n\n".join([answer.text, *against])


class _Chunks:
    """The events as chunks. Markers are known at the end only: what is streamed has none."""

    def __init__(self, reply: _Reply) -> None:
        self._reply, self._said, self._begun = reply, "", False

    def of(self, event: Event) -> Iterable[bytes]:
        """The chunks of an event."""
        if not self._begun:
            self._begun = True
            yield self._reply.chunk({"role": "assistant", "content": ""})
        match event:
            case Delta(text):
                self._said += text
                yield self._reply.chunk({"content": text})
            case Finished(answer):
                yield from self._end(answer)

    def _end(self, answer: Answer) -> Iterator[bytes]:
        """What is still to be said: an answer that became another is said in full, of one to which
        something was added that."""
        final, said = MARKER.sub("", told(answer)), MARKER.sub("", self._said).rstrip()
        if final.split() != said.split():
            new = f"\n\n{final}" if said.strip() else final
            rest = final[len(said) :] if said and final.startswith(said) else new
            self._said += rest
            yield self._reply.chunk({"content": rest})
        noted = self._reply.annotations(answer, self._said)
        if noted:
            yield self._reply.chunk({"annotations": noted})
        yield self._reply.chunk({}, "stop")
        yield _DONE

    def failed(self, error: RagAppError | None) -> bytes:
        """What went wrong in the middle."""
        if error is None:
            return frame(_error(500, problems.FAILED, "failed"))
        return frame(_error(problems.status_of(error), str(error), error.code))

    def refused(self, error: RagAppError) -> Response:
        """What went wrong at once."""
        return refuse(error)


# What is wrong, as OpenAI says it


def _error(status: int, message: str, code: str, parameter: str | None = None) -> dict[str, Any]:
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": parameter, "code": code}}


def refuse(error: RagAppError) -> Response:
    """An error as a response."""
    status = problems.status_of(error)
    parameter = error.parameter if isinstance(error, UnsupportedParameter) else None
    code = "model_not_found" if isinstance(error, problems.UnknownModel) else error.code
    said = _error(status, str(error), code, parameter)
    return JSONResponse(said, status, problems.retry_after(error))


async def _told(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RagAppError)
    return refuse(error)


async def _http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = _error(error.status_code, str(error.detail), "bad_request")
    return JSONResponse(said, error.status_code, error.headers)


async def _gone(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # nobody reads it
