"""Rows of a table as bytes: values by column (Parquet), and where the cells stand.

Both are small: what repeats is said once, and places are kept as distances. Knows nothing of
documents or the store."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rag_app.tables.typing import WIDTH, ColumnRule, Typed
from rag_app.types import Column, ColumnKind

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = NDArray[np.uint32]

_KEPT = 50_000  # different texts of a column of which the value is remembered


def arrow_type(column: Column) -> pa.DataType:
    """How the values of a column are kept."""
    import pyarrow as pa

    if column.kind is ColumnKind.NUMBER:
        return pa.decimal128(WIDTH, column.places) if column.places < WIDTH else pa.float64()
    return {
        ColumnKind.TEXT: pa.string(),
        ColumnKind.INTEGER: pa.int64(),
        ColumnKind.YEAR: pa.int64(),
        ColumnKind.RANK: pa.int64(),
        ColumnKind.DATE: pa.date32(),
        ColumnKind.TIME: pa.timestamp("s"),
        ColumnKind.DURATION: pa.float64(),
    }[column.kind]


class ColumnWriter:
    """Turns the texts of a column into values, block by block."""

    def __init__(self, column: Column, rule: ColumnRule) -> None:
        self._rule = rule
        self._known: dict[str, Typed] = {}
        self._type = arrow_type(column)
        self.has_text = False  # so far a text said more than its value

    def arrays(self, texts: Sequence[str]) -> list[pa.Array]:
        """The values, the texts that say more than these, and the units."""
        import pyarrow as pa

        typed = list(map(self._typed, texts))
        values = pa.array([each.value for each in typed], type=self._type)
        beside = [None if each.plain else text for each, text in zip(typed, texts, strict=True)]
        self.has_text = self.has_text or any(each is not None for each in beside)
        units = [each.unit or None for each in typed] if len(self._rule.units) > 1 else None
        return [
            values,
            pa.array(beside, type=pa.string()),
            pa.array(units, type=pa.string()) if units else pa.nulls(len(texts), pa.string()),
        ]

    def _typed(self, text: str) -> Typed:
        known = self._known.get(text)
        if known is None:
            known = self._rule.typed(text)
            if len(self._known) < _KEPT:
                self._known[text] = known
        return known


def pack_values(writers: Sequence[ColumnWriter], texts: Iterable[Sequence[str]]) -> bytes:
    """The values of a block, from the texts of each of its columns."""
    import pyarrow as pa
    from pyarrow import parquet

    arrays: list[pa.Array] = []
    for writer, of_column in zip(writers, texts, strict=True):
        arrays += writer.arrays(of_column)
    table = pa.Table.from_arrays(arrays, names=[str(number) for number in range(len(arrays))])
    sink = io.BytesIO()
    parquet.write_table(table, sink, compression="zstd", write_statistics=False, store_schema=False)
    return sink.getvalue()


def unpack_values(blocks: Iterable[bytes], columns: Sequence[Column]) -> pa.Table:
    """The values of a table, with the names that queries know."""
    import pyarrow as pa
    from pyarrow import parquet

    names = {}
    for place, column in enumerate(columns):
        names[str(3 * place)] = column.sql_name
        if column.has_text:
            names[str(3 * place + 1)] = column.text_name
        if len(column.units) > 1:
            names[str(3 * place + 2)] = column.unit_name
    parts = [parquet.read_table(pa.BufferReader(each), columns=[*names]) for each in blocks]
    return pa.concat_tables(parts).rename_columns([*names.values()])


def block_values(block: bytes, place: int) -> list[Any]:
    """The values of one column of a block."""
    import pyarrow as pa
    from pyarrow import parquet

    found = parquet.read_table(pa.BufferReader(block), columns=[str(3 * place)])
    return list(found.column(0).to_pylist())


def pack_places(pages: Numbers, starts: Numbers, ends: Numbers) -> bytes:
    """Where cells stand, as arrays of rows and columns."""
    gaps = starts.astype(np.int64)
    gaps[:, 1:] -= ends[:, :-1]
    gaps[1:, 0] -= ends[:-1, -1]
    turns = np.diff(pages.astype(np.int64).ravel(), prepend=0)
    parts = (turns, gaps.T.ravel(), (ends - starts).T.ravel())
    numbers = np.concatenate([part.astype(np.int32) for part in parts])
    # Bytes of the same weight side by side: nearly all of the upper ones are zero.
    planes = numbers.view(np.uint8).reshape(-1, 4).T
    return zlib.compress(np.ascontiguousarray(planes).tobytes(), 6)


def unpack_places(packed: bytes, rows: int) -> tuple[Numbers, Numbers, Numbers]:
    """The pages, starts and ends that `pack_places` made these bytes of."""
    planes = np.frombuffer(zlib.decompress(packed), dtype=np.uint8).reshape(4, -1)
    numbers = np.ascontiguousarray(planes.T).view(np.int32).ravel()
    count = len(numbers) // 3
    turns, gaps, lengths = (numbers[i * count : (i + 1) * count].astype(np.int64) for i in range(3))
    width = count // rows
    pages = np.cumsum(turns).reshape(rows, width)
    steps = np.empty((rows, 2 * width), dtype=np.int64)
    steps[:, 0::2] = gaps.reshape(width, rows).T
    steps[:, 1::2] = lengths.reshape(width, rows).T
    edges = np.cumsum(steps.ravel()).reshape(rows, 2 * width)
    starts, ends = edges[:, 0::2], edges[:, 1::2]
    return pages.astype(np.uint32), starts.astype(np.uint32), ends.astype(np.uint32)
