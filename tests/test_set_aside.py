"""A library whose database is lost, older than its files, or put back: no file is lost with it."""

from __future__ import annotations

import io
import shutil
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rag_app.errors import QuestionError
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.storage.originals import Originals
from rag_app.types import RetrieverKind, Status
from tests.fakes import WordEmbedder

FERRY = b"The ferry to the island costs four euros."
MUSEUM = b"The museum is closed on Mondays."


def open_library(folder: Path) -> Library:
    return Library(Settings.load(data_dir=folder), embedder=WordEmbedder())


def done(library: Library) -> list[str]:
    """The names of all documents once they are read, with what came out of them."""
    for _ in range(3):
        library.wait([d.id for d in library.documents()], timeout=60)
    assert {d.status for d in library.documents()} <= {Status.READY}
    return [d.name for d in library.documents()]


def lose(folder: Path) -> None:
    (folder / "library.sqlite3").unlink()


@pytest.fixture
def folder(tmp_path) -> Path:
    """A library of two documents."""
    with open_library(tmp_path / "data") as library:
        library.add("ferry.txt", FERRY)
        library.add("museum.txt", MUSEUM)
        done(library)
    return tmp_path / "data"


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "files").rglob("*") if path.is_file())


def test_an_empty_database_beside_full_files_offers_to_add_them_again(folder):
    before = files(folder)
    lose(folder)
    with open_library(folder) as library:
        assert library.documents() == [] and files(folder) == before
        offered = library.set_aside()
        assert sorted(one.document_id + one.suffix for one in offered) == before
        with pytest.raises(QuestionError):
            library.search("ferry")
        told: list[tuple[int, int]] = []
        again = library.add_set_aside(lambda done, total: told.append((done, total)))
        assert told == [(0, 2), (1, 2)] and again.refused == ()
        assert done(library) == [one.name for one in offered]
        assert library.set_aside() == [] and files(folder) == before
        assert library.search("ferry island", retriever=RetrieverKind.DENSE)
        back = library.add("ferry.txt", FERRY)
        assert back.duplicate and back.document.name == "ferry.txt"
        assert library.document("ferry.txt").status is Status.READY


def test_vectors_of_what_was_set_aside_are_nobodys_and_go(folder):
    lose(folder)
    with open_library(folder) as library:
        assert library._opened.vectors.count() == 2
        assert library.wait_until_clean(60)
        assert library._opened.vectors.count() == 0


def test_an_older_copy_of_the_database_loses_no_file_and_neither_does_the_newer(folder, tmp_path):
    shutil.copy(folder / "library.sqlite3", tmp_path / "older")
    with open_library(folder) as library:
        library.add("late.txt", b"The last bus leaves at nine.")
        done(library)
    before = files(folder)
    (folder / "library.sqlite3").rename(tmp_path / "newer")
    shutil.copy(tmp_path / "older", folder / "library.sqlite3")
    with open_library(folder) as library:
        assert len(library.set_aside()) == 1 and files(folder) == before
    shutil.copy(tmp_path / "newer", folder / "library.sqlite3")
    with open_library(folder) as library:
        assert library.set_aside() == [] and len(done(library)) == 3
        assert all(library.original(d.id).is_file() for d in library.documents())


def test_what_came_out_of_an_archive_belongs_to_it_again(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("deep/ferry.txt", FERRY)
    with open_library(tmp_path) as library:
        container = library.add("all.zip", packed.getvalue()).document.id
        assert done(library) == ["all.zip", "all.zip › deep/ferry.txt"]
    lose(tmp_path)
    with open_library(tmp_path) as library:
        library.add_set_aside()
        names = done(library)
        zipped = next(name for name in names if name.endswith(".zip"))
        assert sorted(names) == sorted([zipped, f"{zipped} › deep/ferry.txt"])
        library.add("all.zip", packed.getvalue())
        assert sorted(done(library)) == ["all.zip", "all.zip › deep/ferry.txt"]
        library.remove(container)
        assert library.documents() == [] and files(tmp_path) == []


def test_two_windows_that_add_them_again_add_them_once(folder):
    lose(folder)
    with open_library(folder) as library:
        with ThreadPoolExecutor(2) as both:
            first, second = both.map(lambda _: library.add_set_aside(), range(2))
        assert len(first.added) + len(second.added) == 2
        assert first.refused == second.refused == () and len(done(library)) == 2


def test_others_add_files_while_one_that_was_set_aside_is_fetched(folder, monkeypatch):
    lose(folder)
    taken_back, added = Originals.taken_back, []
    with open_library(folder) as library, ThreadPoolExecutor(1) as beside:

        def slowly(originals, one):
            task = beside.submit(library.add, f"{len(added)}.txt", f"Bus {len(added)}.".encode())
            added.append(task.result(timeout=20).document.name)
            return taken_back(originals, one)

        monkeypatch.setattr(Originals, "taken_back", slowly)
        assert len(library.add_set_aside().added) == 2
        assert added == ["0.txt", "1.txt"] and len(done(library)) == 4


def test_what_cannot_be_read_any_more_stays_set_aside(folder):
    lose(folder)
    with open_library(folder) as library:
        pass
    broken, other = sorted((folder / "files" / "set-aside").iterdir())
    broken.write_bytes(bytes(range(256)) * 9)
    with open_library(folder) as library:
        again = library.add_set_aside()
        assert [one.document.id for one in again.added] == [other.stem]
        [(name, why)] = again.refused
        assert broken.stem.startswith(name[10:22]) and why.endswith(".")
        assert broken.is_file() and len(library.set_aside()) == 1


def test_removed_is_gone_from_what_was_set_aside_too(folder):
    lose(folder)
    with open_library(folder) as library:
        ferry = library.add("ferry.txt", FERRY).document
        assert ferry.id not in [one.document_id for one in library.set_aside()]
        library.remove(ferry.id)
        assert not [name for name in files(folder) if name.startswith(ferry.id)]
        library.clear()
        assert files(folder) == [] and library.set_aside() == []
