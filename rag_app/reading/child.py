"""The child process that parses other people's files, shut in before it sees the first one.

Requests come in over standard input and answers go out over standard output, as frames. When the
parent goes away, so does the child, whatever it is doing."""

from __future__ import annotations

import json
import logging
import os
import queue
import sys
import threading
import time
import traceback
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import BinaryIO

from rag_app.errors import RagAppError
from rag_app.reading.confinement import Allowed, all_but_computing, confine, no_core_dumps
from rag_app.reading.detection import reader
from rag_app.reading.frames import (
    Header,
    claim_stdout,
    listen,
    pack,
    pack_boxes,
    pack_recognised,
    write_frame,
)
from rag_app.reading.limits import Limits
from rag_app.supervision import held
from rag_app.text.formats import PICTURES

_PROGRESS_EVERY = 0.1  # seconds
_MIB = 1 << 20
_NICE = 5
_GUESSED = "This file does not say its encoding; it was read as {}."


def main(memory_mb: str, reach: str) -> None:
    """Serve requests until standard input ends; `reach` as `confine` takes it, in JSON."""
    out = claim_stdout()
    logging.disable(logging.CRITICAL)
    _limit_memory(int(memory_mb))
    try:
        _shut_in(Allowed(**json.loads(reach)))
    except OSError:  # rather no reading than reading with open doors
        write_frame(out, {"error": "crash", "message": traceback.format_exc()})
        return
    requests: queue.SimpleQueue[Header] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(requests,), daemon=True).start()
    while True:
        _serve(requests.get(), out)


def _limit_memory(mebibytes: int) -> None:
    """Let the process grow by so much and no more, where the system can see to that."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    statm = Path("/proc/self/statm")
    pages = int(statm.read_text().split()[0]) if statm.exists() else 0
    most = pages * resource.getpagesize() + mebibytes * _MIB
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    if statm.exists():  # elsewhere the limit counts what is mapped and never used
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _shut_in(reach: Allowed) -> None:
    """Give up what reading a file does not take, as far as the system can see to that."""
    if sys.platform.startswith("linux"):
        no_core_dumps()
    confine(reach, all_but_computing(os.getpid()))


def _serve(request: Header, out: BinaryIO) -> None:
    with held() as attempt:  # the edge of the process: the parent decides
        _answer(request, out)
    match attempt.error:
        case None:
            return
        case RagAppError() as error:
            write_frame(out, {"error": error.code, "message": str(error)})
        case error if isinstance(error, MemoryError) or "bad_alloc" in str(error):  # onnxruntime's
            write_frame(out, {"error": "memory"})
        case error:
            said = "".join(traceback.format_exception(error))
            write_frame(out, {"error": "crash", "message": said})


def _answer(request: Header, out: BinaryIO) -> None:
    task, path = request["task"], Path(request["path"])
    if task == "read":
        _read(request, path, out)
        return
    if task in ("load", "recognise"):
        _recognise(request, path, out)
        return
    from rag_app.reading import ocr, pdf_page

    if task == "render":
        render = ocr.render if path.suffix in PICTURES else pdf_page.render
        picture = render(path, request["number"], request["scale"])
        size = [picture.width, picture.height]
        write_frame(out, {"done": True, "size": size}, picture.webp)
    elif task == "boxes":
        each = pdf_page.boxes_of_spans(path, request["number"], request["spans"])
        write_frame(out, {"done": True, "boxes": [pack_boxes(boxes) for boxes in each]})
    elif task in ("start", "unlock"):
        if task == "unlock":
            _unlock(request, path)
        write_frame(out, {"done": True})


def _unlock(request: Header, path: Path) -> None:
    password, target = request["password"], Path(request["target"])
    if path.suffix == ".pdf":
        from rag_app.reading.pdf_page import unlock
    else:
        from rag_app.reading.ole import unlock
    unlock(path, password, target)


def _recognise(request: Header, path: Path, out: BinaryIO) -> None:
    from rag_app.reading import ocr

    if request["task"] == "load":
        _step_back()
        ocr.load(request["threads"])
        write_frame(out, {"done": True})
    else:
        found = ocr.recognise(path, request["number"], request["threads"])
        write_frame(out, {"done": True, **pack_recognised(found)})


@cache
def _step_back() -> None:
    """Let whoever waits for an answer go first: this goes on for minutes."""
    if hasattr(os, "nice"):
        os.nice(_NICE)


def _read(request: Header, path: Path, out: BinaryIO) -> None:
    told = 0.0

    def on_page(done: int, total: int) -> None:
        nonlocal told
        if done == total or time.monotonic() - told > _PROGRESS_EVERY:
            told = time.monotonic()
            write_frame(out, {"progress": [done, total]})

    read = reader(request["suffix"])
    limits = Limits(*request["limits"])
    reading = read(path, limits=limits, on_page=on_page)
    on_page(len(reading.pages), len(reading.pages))
    if reading.encoding:
        said = _GUESSED.format(reading.encoding)
        reading = replace(reading, warnings=(said, *reading.warnings))
    for header, body in pack(reading):
        write_frame(out, header, body)
