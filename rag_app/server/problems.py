"""What is answered when something is wrong: problem details (RFC 9457) with the app's sentences."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from rag_app import errors
from rag_app.errors import QuotaReached, RagAppError

MEDIA_TYPE = "application/problem+json"
FAILED = "Something went wrong on our side. Please try that again."


class RequestError(RagAppError):
    """A request that makes no sense as it is."""

    code = "bad_request"


class KeyNeeded(RequestError):
    """There is no key, or one that opens nothing."""

    code = "key_needed"


class KeyInAddress(RequestError):
    """A key stands in the address, where servers and browsers write it down."""

    code = "key_in_address"


class ForeignPage(RequestError):
    """A browser asks for a page of another site."""

    code = "foreign_page"


class UnfitForm(RequestError):
    """What is uploaded is no form with one file."""

    code = "unfit_form"


class BrokenOff(UnfitForm):
    """An upload stopped before its end."""

    code = "broken_off"


class TooLarge(RequestError):
    """The body is larger than any request needs."""

    code = "too_large"


class UnknownModel(RequestError):
    """Nobody of this name is offered to answer."""

    code = "unknown_model"


class NoPicture(RequestError):
    """The page is of a format that has no looks."""

    code = "no_picture"


# The status of an error is that of the first of its classes that stands here.
STATUSES: dict[type[RagAppError], HTTPStatus] = {
    RagAppError: HTTPStatus.BAD_REQUEST,
    RequestError: HTTPStatus.BAD_REQUEST,
    KeyNeeded: HTTPStatus.UNAUTHORIZED,
    ForeignPage: HTTPStatus.FORBIDDEN,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    UnknownModel: HTTPStatus.NOT_FOUND,
    NoPicture: HTTPStatus.NOT_FOUND,
    UnfitForm: HTTPStatus.UNPROCESSABLE_ENTITY,
    BrokenOff: HTTPStatus.REQUEST_TIMEOUT,
    errors.UnknownDocument: HTTPStatus.NOT_FOUND,
    errors.UnknownConversation: HTTPStatus.NOT_FOUND,
    errors.UnknownCollection: HTTPStatus.NOT_FOUND,
    errors.NotAllowed: HTTPStatus.FORBIDDEN,
    errors.QuotaReached: HTTPStatus.TOO_MANY_REQUESTS,
    errors.QuestionError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.SettingsError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.QueryError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.DocumentError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.CollectionGone: HTTPStatus.NOT_FOUND,
    errors.UnsupportedFormat: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    errors.LimitReached: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.ChatModelError: HTTPStatus.BAD_GATEWAY,
    errors.ModelUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.LibraryInUse: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.LibraryDamaged: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.LibraryClosed: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.DatabaseUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.DiskFull: HTTPStatus.INSUFFICIENT_STORAGE,
    errors.FilesError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.FilesFull: HTTPStatus.INSUFFICIENT_STORAGE,
}


def status_of(error: RagAppError) -> HTTPStatus:
    """What an error is called over HTTP."""
    return next(STATUSES[cls] for cls in type(error).__mro__ if cls in STATUSES)


def problem_json(status: int, code: str, detail: str, **more: Any) -> dict[str, Any]:
    """A problem as it is written; `detail` is a sentence for people, `code` is for programs."""
    phrase = HTTPStatus(status).phrase
    said = {"type": "about:blank", "title": phrase, "status": int(status), "code": code}
    return said | {"detail": detail} | more


def of_error(error: RagAppError) -> dict[str, Any]:
    """The problem that an error is."""
    return problem_json(status_of(error), error.code, str(error))


_SOON, _LATER = 30, 3_600  # seconds: something is loaded or closed; somebody has to mend it


def retry_after(error: RagAppError) -> dict[str, str]:
    """The header that says when to try again, of what can be free or there again by then."""
    status = status_of(error)
    if isinstance(error, QuotaReached):
        seconds = _LATER if error.retry_after is None else math.ceil(error.retry_after)
    elif status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        seconds = _SOON
    else:
        return {}
    return {"Retry-After": str(max(1, seconds))}


def response_to(error: RagAppError) -> Response:
    """An error as a response."""
    return response(of_error(error), retry_after(error))


def response(problem: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """A problem as a response."""
    body = json.dumps(problem, ensure_ascii=False).encode()
    return Response(body, problem["status"], headers, MEDIA_TYPE)
