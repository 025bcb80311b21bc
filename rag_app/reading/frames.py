"""What parent and child say to each other: a JSON header and raw bytes, lengths first.

Only plain data crosses: a child that read a hostile file cannot make the parent run anything."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from typing import IO, Any

from rag_app.types import Box, Heading, Page, Part, Reading, Recognised, Word

Header = dict[str, Any]

_LENGTHS = struct.Struct(">II")
_BATCH = 1_000_000  # characters of pages in one frame


def write_frame(stream: IO[bytes], header: Header, body: bytes = b"") -> None:
    """Write one frame and flush it."""
    text = json.dumps(header, ensure_ascii=False).encode("utf-8", "replace")
    stream.write(_LENGTHS.pack(len(text), len(body)) + text)
    stream.write(body)
    stream.flush()


def read_frame(stream: IO[bytes]) -> tuple[Header, bytes] | None:
    """The next frame, None at the end of the stream, even if it ends inside a frame."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    of_header, of_body = _LENGTHS.unpack(lengths)
    header, body = stream.read(of_header), stream.read(of_body)
    if len(header) < of_header or len(body) < of_body:
        return None
    return json.loads(header), body


def pack(reading: Reading) -> Iterator[Header]:
    """A reading as headers of frames, the last of which has "done"."""
    batch: list[Page] = []
    filled = 0
    for page in reading.pages:
        batch.append(page)
        filled += len(page.text)
        if filled >= _BATCH:
            yield {"pages": _rows(batch)}
            batch, filled = [], 0
    yield {"pages": _rows(batch)}
    headings = [[h.page, h.start, h.level, h.text] for h in reading.headings]
    yield {
        "done": True,
        "title": reading.title,
        "headings": headings,
        "warnings": list(reading.warnings),
        "parts": [[part.name, part.file] for part in reading.parts],
        "tables": reading.tables,
        "scans": list(reading.scans),
    }


def _rows(pages: Iterable[Page]) -> list[list[Any]]:
    return [[p.number, p.text, p.label, p.width, p.height] for p in pages]


def unpack(headers: Iterable[Header]) -> Reading:
    """The reading that `pack` made these headers of."""
    pages: list[Page] = []
    last: Header = {}
    for header in headers:
        pages += [Page(*row) for row in header.get("pages", ())]
        last = header
    headings = tuple(Heading(*row) for row in last["headings"])
    parts = tuple(Part(*row) for row in last["parts"])
    return Reading(
        tuple(pages),
        last["title"],
        headings,
        tuple(last["warnings"]),
        parts,
        last["tables"],
        tuple(last["scans"]),
    )


def pack_boxes(boxes: Iterable[Box]) -> list[list[float]]:
    """Boxes as plain numbers."""
    return [[box.x0, box.y0, box.x1, box.y1] for box in boxes]


def unpack_boxes(rows: Iterable[Iterable[float]]) -> tuple[Box, ...]:
    """The boxes that `pack_boxes` made these rows of."""
    return tuple(Box(*row) for row in rows)


def pack_recognised(found: Recognised) -> Header:
    """What was recognised on a page as a header."""
    words = [
        [w.start, w.end, w.line, *row]
        for w, row in zip(found.words, pack_boxes(w.box for w in found.words), strict=True)
    ]
    return {"text": found.text, "words": words}


def unpack_recognised(header: Header) -> Recognised:
    """What `pack_recognised` made this header of."""
    words = (Word(start, end, line, Box(*box)) for start, end, line, *box in header["words"])
    return Recognised(header["text"], tuple(words))
