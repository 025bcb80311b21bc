"""/api/v1: documents, search, answers and pages, as docs/api.md has it.

Every route says what it takes and gives in types, from which its OpenAPI description is made."""

from __future__ import annotations

import dataclasses
import io
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from PIL import Image
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from rag_app.answering.query_rewriting import Turn
from rag_app.errors import RagAppError, UnknownCollection, UnknownDocument
from rag_app.export.json_contract import answer_json, document_json, event_json, passage_json
from rag_app.library import Library
from rag_app.scope import Scope
from rag_app.server import problems, schemas
from rag_app.server.desk import Ask, Desk, Download, EventStream, frame, generator_of, whole_answer
from rag_app.server.gate import view_of
from rag_app.server.upload_forms import FILE, UploadedForm, received
from rag_app.settings import Settings
from rag_app.types import Event

PREFIX = "/api/v1"
OPEN = (f"{PREFIX}/health", f"{PREFIX}/openapi.json")
"""What is answered without a key."""
UPLOADS = f"{PREFIX}/documents"
_DESCRIPTION = (
    "Documents, search, and answers with the exact places they come from. Every request but "
    "`/health` and `/openapi.json` needs a key: `Authorization: Bearer KEY`. What is wrong is said "
    "as `application/problem+json` (RFC 9457)."
)
_LARGEST = 2**31 - 1
_NO_COLLECTION = (
    "Among the collections that are named is one that this key does not open. "
    f"GET {PREFIX}/collections lists those that it opens."
)
_SAID = {
    "400": "The request makes no sense as it is",
    "401": "There is no key, or it opens nothing",
    "403": "The key may see it, but not do this",
    "404": "There is no such thing that this key may see",
    "408": "The upload stopped before its end",
    "413": "It is larger than the limit that is named",
    "415": "No reader for this kind of file",
    "422": "What is asked does not fit, or cannot be done",
    "429": "A limit of who asks is reached; the sentence says when it is free again",
    "502": "The chat model cannot be reached, or breaks off",
    "503": "The library or a model cannot be used now",
    "507": "The disk is full",
}

DocumentPath = Annotated[str, Path(description="the SHA-256 of the file's bytes, in hex")]
PagePath = Annotated[int, Path(ge=1, le=_LARGEST, description="pages are numbered from 1")]
Offset = Annotated[int, Query(ge=0, le=_LARGEST)]


_RETRY_AFTER = {
    "Retry-After": {
        "description": "seconds after which it can be tried again",
        "schema": {"type": "integer", "minimum": 1},
    }
}


def _problems(*statuses: str) -> dict[int | str, dict[str, Any]]:
    content = {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    listed = sorted({"400", "401", "503", *statuses})
    made: dict[int | str, dict[str, Any]] = {
        status: {"description": _SAID[status], "content": content} for status in listed
    }
    for status in {"429", "503"} & made.keys():
        made[status]["headers"] = _RETRY_AFTER
    return made


_LONGEST = {"password": 1_000, "collection": 200}  # characters of fields of the form
_UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": [FILE],
                    "properties": {
                        FILE: {"type": "string", "format": "binary"},
                        "password": {"type": "string", "maxLength": _LONGEST["password"]},
                        "replace": {
                            "type": "string",
                            "enum": ["true", "false"],
                            "description": "whether a document of the same name gives way",
                        },
                        "collection": {
                            "type": "string",
                            "maxLength": _LONGEST["collection"],
                            "description": "the id of the collection that it is for; without it, "
                            "that of whoever holds the key",
                        },
                    },
                }
            }
        },
    }
}


def _event(name: str, said: type[BaseModel]) -> dict[str, Any]:
    data = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"$ref": f"#/components/schemas/{said.__name__}"},
    }
    return {
        "type": "object",
        "required": ["event", "data"],
        "properties": {"event": {"const": name}, "data": data},
    }


_EVENTS = {
    "oneOf": [
        _event("sources", schemas.Found),
        _event("closest", schemas.ClosestJson),
        _event("delta", schemas.DeltaJson),
        _event("finished", schemas.AnswerJson),
        _event("error", schemas.Problem),
    ]
}


def application(desk: Desk, settings: Settings) -> FastAPI:
    """What is mounted at `PREFIX`, behind the gate."""
    app = _Described(settings)
    app.add_exception_handler(RagAppError, _told)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _unfit)
    _add_list(app, desk)
    _add_upload(app, desk, settings)
    _add_document(app, desk)
    _add_original(app, desk)
    _add_pages(app, desk)
    _add_places(app, desk)
    _add_questions(app, desk)
    _add_surroundings(app, desk)
    return app


class _Described(FastAPI):
    """Says in its description what these routes really answer."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(
            title="rag-app",
            version="1",
            description=_DESCRIPTION,
            docs_url=None,
            redoc_url=None,
            servers=[{"url": PREFIX}],
            root_path_in_servers=False,
            redirect_slashes=False,
            generate_unique_id_function=lambda route: route.name,
        )
        self._longest = settings.max_question_characters

    def openapi(self) -> dict[str, Any]:
        """The description; what the framework says of errors gives way to what is answered."""
        if self.openapi_schema is None:
            made = super().openapi()
            parts = made["components"]["schemas"]
            for name in ("HTTPValidationError", "ValidationError"):
                parts.pop(name, None)
            for model in (schemas.Problem, schemas.DeltaJson):
                parts[model.__name__] = model.model_json_schema()
            parts["AskRequest"]["properties"]["question"]["maxLength"] = self._longest
            parts["SearchRequest"]["properties"]["query"]["maxLength"] = self._longest
            made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            made["security"] = [{"key": []}]
            for path in OPEN:
                for operation in made["paths"].get(path.removeprefix(PREFIX), {}).values():
                    operation["security"] = []
            self.openapi_schema = made
        return self.openapi_schema


# What is answered when something is wrong.


async def _told(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RagAppError)
    return problems.response_to(error)


_CODES = {404: "not_found", 405: "method_not_allowed", 413: problems.TooLarge.code}


async def _http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    code, detail = _CODES.get(status, "bad_request"), str(error.detail)
    if detail == status.phrase:
        detail = f"{detail}. docs/api.md and {PREFIX}/openapi.json say what can be asked here."
    return problems.response(problems.problem_json(status, code, detail), error.headers)


async def _unfit(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    broken = any(one["type"] == "json_invalid" for one in found)
    # What was sent is not sent back.
    listed = [{"at": ".".join(map(str, one["loc"])), "detail": one["msg"]} for one in found]
    where = ", ".join(dict.fromkeys(one["at"] for one in listed))
    status, detail = HTTPStatus.UNPROCESSABLE_ENTITY, f"This does not fit: {where}."
    if broken:
        status, detail = HTTPStatus.BAD_REQUEST, "The body is no JSON. Check its quotes and commas."
    code = "no_json" if broken else "unfit_request"
    return problems.response(problems.problem_json(status, code, detail, errors=listed))


# Documents


def _add_list(app: FastAPI, desk: Desk) -> None:
    @app.get("/documents", response_model=schemas.DocumentsJson, responses=_problems("422"))
    async def list_documents(
        request: Request,
        offset: Offset = 0,
        limit: Annotated[int, Query(ge=1, le=schemas.MOST_LISTED)] = 50,
    ) -> Any:
        """The documents, in the order in which they were added."""

        def part(library: Library) -> dict[str, Any]:
            known = library.documents()
            shown = _reports(library, [d.id for d in known[offset : offset + limit]])
            return {"documents": shown, "total": len(known), "offset": offset, "limit": limit}

        return await desk.call(view_of(request.scope), part)


def _add_upload(app: FastAPI, desk: Desk, settings: Settings) -> None:
    @app.post(
        "/documents",
        status_code=HTTPStatus.CREATED,
        response_model=schemas.AddedDocument,
        responses={
            200: {
                "model": schemas.AddedDocument,
                "description": "The same bytes were there already",
            },
            **_problems("403", "408", "413", "415", "422", "429", "507"),
        },
        openapi_extra=_UPLOAD,
    )
    async def add_document(request: Request, response: Response) -> Any:
        """Hand a file in. It is worked on in the background: ask for its progress."""
        view, most = view_of(request.scope), settings.max_file_mb << 20
        folder = await desk.call(view, lambda library: library.folder)
        async with received(request, folder, most) as upload:
            said = await desk.call(view, lambda library: _added(library, upload))
        response.headers["Location"] = f"{PREFIX}/documents/{said['document_id']}"
        response.status_code = HTTPStatus.OK if said["duplicate"] else HTTPStatus.CREATED
        return said


def _add_document(app: FastAPI, desk: Desk) -> None:
    @app.get(
        "/documents/{document_id}", response_model=schemas.DocumentJson, responses=_problems("404")
    )
    async def show_document(request: Request, document_id: DocumentPath) -> Any:
        """A document, and what became of it."""
        return await desk.call(
            view_of(request.scope), lambda library: document_json(library.report(document_id))
        )

    @app.delete(
        "/documents/{document_id}",
        status_code=HTTPStatus.NO_CONTENT,
        responses=_problems("403", "404", "507"),
    )
    async def remove_document(request: Request, document_id: DocumentPath) -> Response:
        """Forget a document: nothing finds it from now on."""

        def remove(library: Library) -> None:
            library.report(document_id)
            library.remove(document_id)

        await desk.call(view_of(request.scope), remove)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @app.get(
        "/documents/{document_id}/progress",
        response_model=schemas.ProgressJson,
        responses=_problems("404"),
    )
    async def show_progress(request: Request, document_id: DocumentPath) -> Any:
        """How far the work on a document is."""
        return await desk.call(
            view_of(request.scope), lambda library: _progress(library, document_id)
        )


def _add_original(app: FastAPI, desk: Desk) -> None:
    @app.get(
        "/documents/{document_id}/original",
        response_class=FileResponse,
        responses={
            200: {"content": {"application/octet-stream": {}}, "description": "The file"},
            **_problems("404"),
        },
    )
    async def download_original(request: Request, document_id: DocumentPath) -> Response:
        """The file as it was handed in. It is never shown: it may be a web page."""

        def found(library: Library) -> Response:
            document = library.report(document_id).document
            path = library.original(document_id)
            if not path.is_file():
                raise UnknownDocument("That document is not in the library any more.")
            library.taken_away(document_id, "original")
            return Download(path, filename=document.name, media_type="application/octet-stream")

        return await desk.call(view_of(request.scope), found)


def _reports(library: Library, ids: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for document_id in ids:
        try:
            found.append(document_json(library.report(document_id)))
        except UnknownDocument:  # it was removed since it was listed
            continue
    return found


def _added(library: Library, upload: UploadedForm) -> dict[str, Any]:
    password, replace = upload.fields.get("password") or None, upload.fields.get("replace", "false")
    if replace not in ("true", "false"):
        raise problems.UnfitForm("The field “replace” is either true or false.")
    for name, most in _LONGEST.items():
        if len(upload.fields.get(name, "")) > most:
            raise problems.UnfitForm(f"The field “{name}” has {most:,} characters at most.")
    added = library.add(
        upload.name,
        upload.path,
        password=password,
        replace=replace == "true",
        collection=upload.fields.get("collection", ""),
    )
    said = document_json(library.report(added.document.id))
    said["warnings"] = [*added.warnings, *said["warnings"]]
    return said | {"duplicate": added.duplicate}


def _progress(library: Library, document_id: str) -> dict[str, Any]:
    document = library.report(document_id).document
    work = library.progress([document]).get(document_id)
    return {
        "document_id": document_id,
        "status": document.status,
        "working": work is not None,
        "stage": work.stage if work else None,
        "done": work.done if work else 0,
        "total": work.total if work else 0,
        "unit": work.unit if work else "pages",
        "seconds_left": work.seconds_left if work else None,
    }


# Pages, and where on them a citation stands


def _add_pages(app: FastAPI, desk: Desk) -> None:
    @app.get(
        "/documents/{document_id}/pages/{page}",
        response_model=schemas.PageJson,
        responses=_problems("404", "422"),
    )
    async def show_page(request: Request, document_id: DocumentPath, page: PagePath) -> Any:
        """A page's text, into which the offsets of passages and citations point."""
        return await desk.call(
            view_of(request.scope), lambda library: page_json(library, document_id, page)
        )

    @app.get(
        "/documents/{document_id}/pages/{page}/picture",
        response_class=Response,
        responses={
            200: {"content": {"image/png": {}}, "description": "The page as it looks"},
            **_problems("404", "422"),
        },
    )
    async def draw_page(
        request: Request,
        document_id: DocumentPath,
        page: PagePath,
        scale: Annotated[float, Query(ge=0.1, le=4, description="pixels a point")] = 1.6,
    ) -> Response:
        """The page as it looks, if its format has looks."""

        def draw(library: Library) -> bytes:
            library.report(document_id)
            picture = library.picture(document_id, page, scale)
            if picture is None:
                raise problems.NoPicture("Pages of this format have no looks. Ask for the text.")
            png = io.BytesIO()
            with Image.open(io.BytesIO(picture.webp)) as image:
                image.save(png, "PNG")
            return png.getvalue()

        png = await desk.call(view_of(request.scope), draw)
        return Response(png, media_type="image/png")


def _add_places(app: FastAPI, desk: Desk) -> None:
    @app.get(
        "/documents/{document_id}/pages/{page}/boxes",
        response_model=schemas.Boxes,
        responses=_problems("404", "422"),
    )
    async def place(
        request: Request, document_id: DocumentPath, page: PagePath, start: Offset, end: Offset
    ) -> Any:
        """Where the page's text from `start` to `end` stands on its picture."""

        def found(library: Library) -> dict[str, Any]:
            library.report(document_id)
            longest = len(library.page(document_id, page).text)
            boxes = library.boxes(document_id, page, min(start, longest), min(end, longest))
            return {"boxes": [dataclasses.astuple(box) for box in boxes]}

        return await desk.call(view_of(request.scope), found)


def page_json(library: Library, document_id: str, number: int) -> dict[str, Any]:
    """A page of a document. Raises UnknownDocument."""
    document = library.report(document_id).document
    page = library.page(document_id, number)
    return {
        "document_id": document_id,
        "name": document.name,
        "page": page.number,
        "pages": document.pages,
        "title": library.page_name(document_id, number, document.name),
        "label": page.label,
        "text": page.text,
        "width": page.width,
        "height": page.height,
    }


# Search and answers


def _add_questions(app: FastAPI, desk: Desk) -> None:
    @app.post("/search", response_model=schemas.Found, responses=_problems("404", "413", "422"))
    async def search(request: Request, asked: schemas.SearchRequest) -> Any:
        """The best passages for a query."""

        def found(whole: Library) -> dict[str, Any]:
            library = within(whole, asked.collections)
            chosen = checked_documents(library, asked.documents)
            passages = library.search(asked.query, asked.k, chosen, asked.retriever)
            return {"passages": [passage_json(passage) for passage in passages]}

        return await desk.call(view_of(request.scope), found)

    @app.post(
        "/ask",
        response_model=schemas.AnswerJson,
        response_model_exclude_unset=True,
        responses={
            200: {
                "description": "The answer; with `stream`, its events",
                "content": {"text/event-stream": {"schema": _EVENTS}},
            },
            **_problems("404", "413", "422", "429", "502"),
        },
    )
    async def ask(request: Request, asked: schemas.AskRequest) -> Any:
        """The answer to a question, each sentence with the exact place that it comes from."""
        if asked.stream:
            return EventStream(desk, _asking(asked), _Events())
        answer = await whole_answer(request.receive, desk, request.scope, _asking(asked))
        return Response() if answer is None else answer_json(answer)  # None: nobody is there


def _asking(asked: schemas.AskRequest) -> Ask:
    def begin(whole: Library, stop: threading.Event) -> Iterator[Event]:
        library = within(whole, asked.collections)
        return library.ask(
            asked.question,
            checked_documents(library, asked.documents),
            stop,
            generator_of(library, asked.model),
            [Turn(turn.question, turn.answer) for turn in asked.turns],
            asked.language,
            asked.caution,
            asked.top_k,
        )

    return begin


def pages_at(request: Request) -> str:
    """The address before those of pages, as the request reached this app."""
    return f"{request.url.scheme}://{request.url.netloc}{UPLOADS}"


def within(library: Library, collections: Sequence[str] | None) -> Library:
    """The library, looking at these of its collections only; None: all of them.

    Raises UnknownCollection, whether there is one that is not seen, or none."""
    if collections is None:
        return library
    view = library.scope
    if not all(view.sees(one) for one in collections):
        raise UnknownCollection(_NO_COLLECTION)
    return library.scoped(view.within(collections))


def checked_documents(library: Library, ids: Sequence[str] | None) -> list[str] | None:
    """The ids of documents that there are. Raises UnknownDocument."""
    if ids is None:
        return None
    return [library.report(one).document.id for one in dict.fromkeys(ids)]


class _Events:
    """The events as docs/json.md has them."""

    def of(self, event: Event) -> Iterable[bytes]:
        """One event."""
        name, said = event_json(event)
        return [frame(said, name)]

    def failed(self, error: RagAppError | None) -> bytes:
        """A problem as an event."""
        ours = problems.problem_json(HTTPStatus.INTERNAL_SERVER_ERROR, "failed", problems.FAILED)
        return frame(problems.of_error(error) if error else ours, "error")

    def refused(self, error: RagAppError) -> Response:
        """A problem as a response."""
        return problems.response_to(error)


# What is around it


def _add_surroundings(app: FastAPI, desk: Desk) -> None:
    @app.get("/collections", response_model=schemas.CollectionsJson, responses=_problems())
    async def list_collections(request: Request) -> Any:
        """The collections that the key opens."""
        view = view_of(request.scope)
        return {"collections": await desk.call(view, partial(collections_json, view))}

    @app.get("/health", response_model=schemas.Health)
    async def health() -> Any:
        """Whether questions can be asked now; says nothing of what the library holds."""
        return {"status": "ok" if desk.opened else "starting"}


def collections_json(view: Scope, library: Library) -> list[dict[str, str]]:
    """The collections of a view, and what they are called by who may see them."""
    called = {one.id: one.name for one, _ in library.access.collections_of(view.subject)}
    held = [(one, view.role(one)) for one in view.collections]
    return [
        {"collection": one, "name": called.get(one, one), "role": role.name.lower()}
        for one, role in held
        if role
    ]
