"""The folder that Chroma keeps its files in: opened, begun anew, cleared of what is left over."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection

_COUNT_AND_SIZE = struct.Struct("<QQ")  # of vectors, and of the bytes that each takes
_MOST_UNUSED = 64 << 20
FRESH, SPENT, _TORN = ".fresh", ".spent", ".torn"  # folders beside the one in use
_HNSW: Any = {"space": "cosine", "ef_construction": 100, "ef_search": 100, "max_neighbors": 16}


def blank_unused(folder: Path) -> bool:
    """Overwrite what Chroma's graph files hold beyond their last vector.

    A new one is written with whatever its memory held before: parts of texts and of vectors."""
    found = False
    for header in folder.glob("*/header.bin"):
        count, size = _COUNT_AND_SIZE.unpack_from(header.read_bytes().ljust(36, b"\0"), 20)
        for name, each in (("data_level0.bin", size), ("length.bin", 4)):
            path = header.with_name(name)
            unused = path.stat().st_size - count * each if path.is_file() else 0
            if 0 < unused < _MOST_UNUSED:
                with path.open("r+b") as file:
                    file.seek(count * each)
                    file.write(bytes(unused))
            found = True
    return found


def open_or_begin_anew(folder: Path, name: str) -> tuple[Client, Collection]:
    """A client and its collection. A folder that Chroma cannot open is renamed and begun anew."""
    from chromadb.api.shared_system_client import SharedSystemClient

    _finish_exchange(folder)
    try:
        return _open_chroma(folder, name)
    except Exception:  # noqa: BLE001 - Chroma raises what its parts raise; a cache may be begun anew
        SharedSystemClient.clear_system_cache()
        # Renamed, not deleted: something of the broken client may still hold its files open.
        folder.rename(folder.with_name(f"{folder.name}{_TORN}"))
        return _open_chroma(folder, name)


def _finish_exchange(folder: Path) -> None:
    """Clear away what a killed process left: the folder that is whole stays."""
    fresh = folder.with_name(f"{folder.name}{FRESH}")
    if fresh.is_dir() and not folder.is_dir():  # killed between the two renames
        fresh.rename(folder)
    for left in (FRESH, SPENT, _TORN):
        shutil.rmtree(folder.with_name(f"{folder.name}{left}"), ignore_errors=True)


def _open_chroma(folder: Path, name: str) -> tuple[Client, Collection]:
    import chromadb
    from chromadb.config import Settings

    folder.mkdir(parents=True, exist_ok=True)
    client: Any = chromadb.PersistentClient(
        path=str(folder), settings=Settings(anonymized_telemetry=False)
    )
    collection = client.get_or_create_collection(
        name,
        embedding_function=None,
        configuration={"hnsw": _HNSW},
    )
    collection.count()  # a torn index shows here, not at the first question
    return client, collection
