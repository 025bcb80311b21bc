"""What parent and child say to each other: a JSON header and raw bytes, lengths first.

Only plain data crosses: a child that read a hostile file cannot make the parent run anything."""

from __future__ import annotations

import json
import os
import queue
import struct
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from typing import IO, Any, BinaryIO

from rag_app.types import Box, Grid, Heading, Merged, Page, Part, Reading, Recognised, Word

Header = dict[str, Any]
Frame = tuple[Header, bytes]

_LENGTHS = struct.Struct(">II")
_PLAIN = "title", "warnings", "tables", "scans", "encoding"  # of a reading, sent as they are
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


def listen(requests: queue.SimpleQueue[Header]) -> None:
    """Take in what a parent asks of its child; at the end of input it is gone, so go as well."""
    while frame := read_frame(sys.stdin.buffer):
        requests.put(frame[0])
    os._exit(0)


def pack(reading: Reading) -> Iterator[Frame]:
    """A reading as frames, the last of which has "done"."""
    batch: list[Page] = []
    filled = 0
    for page in reading.pages:
        batch.append(page)
        filled += len(page.text)
        if filled >= _BATCH:
            yield {"pages": [*map(astuple, batch)]}, b""
            batch, filled = [], 0
    yield {"pages": [*map(astuple, batch)]}, b""
    yield from map(_pack_grid, reading.grids)
    last = {name: getattr(reading, name) for name in _PLAIN}
    last |= {name: [*map(astuple, getattr(reading, name))] for name in ("headings", "parts")}
    yield {"done": True, **last}, b""


def unpack(frames: Iterable[Frame]) -> Reading:
    """The reading that `pack` made these frames of."""
    pages: list[Page] = []
    grids: list[Grid] = []
    last: Header = {}
    for header, body in frames:
        pages += [Page(*row) for row in header.get("pages", ())]
        if "grid" in header:
            grids.append(_unpack_grid(header, body))
        last = header
    plain: Header = {name: last[name] for name in _PLAIN}
    plain |= {name: tuple(one) for name, one in plain.items() if isinstance(one, list)}
    return Reading(
        pages=tuple(pages),
        grids=tuple(grids),
        headings=tuple(Heading(*row) for row in last["headings"]),
        parts=tuple(Part(*row) for row in last["parts"]),
        **plain,
    )


def _pack_grid(grid: Grid) -> Frame:
    """A grid as a frame: the numbers of its cells are the body."""
    columns = (grid.rows, grid.counts, grid.pages, grid.starts, grid.ends)
    header = {
        "grid": grid.name,
        "lengths": [len(column) for column in columns],
        "header_rows": grid.header_rows,
        "merged": [astuple(each) for each in grid.merged],
        "hidden_columns": grid.hidden_columns,
        "units": grid.units,
    }
    return header, zlib.compress(b"".join(column.tobytes() for column in columns), 1)


def _unpack_grid(header: Header, body: bytes) -> Grid:
    numbers = array("I")
    numbers.frombytes(zlib.decompress(body))
    columns, at = [], 0
    for length in header["lengths"]:
        columns.append(numbers[at : at + length])
        at += length
    rows, counts, pages, starts, ends = columns
    return Grid(
        *(header["grid"], rows, counts, pages, starts, ends),
        header["header_rows"],
        tuple(Merged(*each) for each in header["merged"]),
        tuple(header["hidden_columns"]),
        tuple(header["units"]),
    )


def pack_boxes(boxes: Iterable[Box]) -> list[list[float]]:
    """Boxes as plain numbers."""
    return [list(astuple(box)) for box in boxes]


def unpack_boxes(rows: Iterable[Iterable[float]]) -> tuple[Box, ...]:
    """The boxes that `pack_boxes` made these rows of."""
    return tuple(Box(*row) for row in rows)


def pack_recognised(found: Recognised) -> Header:
    """What was recognised on a page as a header."""
    words = [[w.start, w.end, w.line, *astuple(w.box)] for w in found.words]
    return {"text": found.text, "words": words}


def unpack_recognised(header: Header) -> Recognised:
    """What `pack_recognised` made this header of."""
    words = (Word(start, end, line, Box(*box)) for start, end, line, *box in header["words"])
    return Recognised(header["text"], tuple(words))


def claim_stdout() -> BinaryIO:
    """Standard output for frames alone: what libraries print goes to standard error."""
    ours = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(ours, "wb")
