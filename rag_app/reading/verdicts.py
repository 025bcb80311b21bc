"""What is said of a file whose reading came to no good end, as errors for people."""

from __future__ import annotations

import logging
import signal

from rag_app.errors import DamagedFile, LimitReached, RagAppError, error_class
from rag_app.reading.frames import Header
from rag_app.reading.limits import Limits

log = logging.getLogger(__name__)


class OutOfMemory(LimitReached):
    """A file takes more memory than there may be."""


class UsedUp(OutOfMemory):
    """The same in a child whose memory earlier files may have used up."""


def refused(header: Header, request: Header, limits: Limits, worked: bool) -> RagAppError:
    """What the child said; `worked`: it has done something else before."""
    code = header["error"]
    if code == "memory":
        return too_big(limits, worked)
    if code == "crash":
        log.error("reading failed in the child (%s):\n%s", request["task"], header["message"])
        return DamagedFile(
            "This file is built in a way that the reader cannot follow. "
            "Save it again from the program that made it, or print it to a new PDF."
        )
    return error_class(code)(header["message"])


def died(status: int, request: Header, limits: Limits, worked: bool) -> RagAppError:
    """What it means that the child ended with this status; below 0: the signal."""
    log.error("the reading child ended with status %s (%s)", status, request["task"])
    if status == -signal.SIGABRT:  # how PDFium ends where it is given no memory
        return too_big(limits, worked)
    if status == -getattr(signal, "SIGKILL", 9):
        return DamagedFile(
            "Reading this file was stopped by the system, most likely because memory ran out. "
            "Close other programs and try it again."
        )
    return DamagedFile(
        "This file makes the reader crash. The other files are not affected. "
        "Save it again from the program that made it, or print it to a new PDF."
    )


def too_slow(request: Header, seconds: float, limits: Limits) -> RagAppError:
    """What is said when the time is over."""
    if request["task"] == "recognise":
        return LimitReached(
            f"It takes more than the {seconds:g} seconds a page set by RAG_APP_OCR_SECONDS."
        )
    if request["task"] in {"render", "boxes"} and seconds < limits.seconds:
        return LimitReached(
            f"Page {request['number']} takes more than {seconds:g} seconds to draw. "
            "Its text can still be read and searched."
        )
    return LimitReached(
        f"Reading this file takes more than the {seconds:g} seconds set by "
        "RAG_APP_READ_SECONDS. Split it, or raise the limit."
    )


def too_big(limits: Limits, worked: bool) -> OutOfMemory:
    """What is said when there is no more memory."""
    return (UsedUp if worked else OutOfMemory)(
        f"Reading this file takes more than the {limits.memory_mb:,} MB of memory set by "
        "RAG_APP_READ_MEMORY_MB. Split it, or raise the limit."
    )
