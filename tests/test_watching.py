from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rag_app.errors import DocumentError, QuestionError
from rag_app.ingestion import watching
from rag_app.ingestion.watching import Watching, look
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.storage.originals import Originals
from rag_app.types import Added, RetrieverKind, Status
from tests.fakes import WordEmbedder

pytestmark = pytest.mark.usefixtures("either_database")


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    monkeypatch.setattr(watching, "SETTLE", 0.15)
    monkeypatch.setattr(watching, "RESCAN", 0.5)
    monkeypatch.setattr(watching, "_CALM", 0.02)


@pytest.fixture
def folder(tmp_path) -> Path:
    made = tmp_path / "papers"
    made.mkdir()
    return made


def open_library(tmp_path: Path) -> Library:
    return Library(Settings.load(data_dir=tmp_path / "data"), embedder=WordEmbedder())


@pytest.fixture
def library(tmp_path):
    with open_library(tmp_path) as opened:
        yield opened


def until(true, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def names(library: Library) -> list[str]:
    return sorted(d.name for d in library.documents())


def finds(library: Library, word: str) -> list[str]:
    try:
        return [p.name for p in library.search(f'"{word}"', retriever=RetrieverKind.BM25)]
    except QuestionError:  # nothing has been read yet
        return []


def test_what_happens_in_the_folder_happens_in_the_library(library, folder):
    (folder / "deep").mkdir()
    (folder / "a.txt").write_text("The first apple.")
    (folder / "deep" / "b.txt").write_text("The second banana.")
    library.watch(folder)
    until(lambda: names(library) == ["a.txt", "b.txt"])
    (folder / "c.md").write_text("# The third cherry")
    until(lambda: names(library) == ["a.txt", "b.txt", "c.md"])
    (folder / "a.txt").write_text("The changed apricot.")
    until(lambda: finds(library, "apricot") == ["a.txt"] and not finds(library, "apple"))
    [moved] = [d.id for d in library.documents() if d.name == "a.txt"]
    (folder / "a.txt").rename(folder / "moved.txt")
    (folder / "deep" / "b.txt").unlink()
    until(lambda: names(library) == ["c.md", "moved.txt"])  # the same document under its new name
    assert library.document(moved).name == "moved.txt"
    until(lambda: library.watched()[0].files == 2)  # a moment after its document has gone
    [watched] = library.watched()
    assert (watched.files, watched.refused, watched.trouble) == (2, (), "")


def test_what_changed_while_the_app_was_closed_is_made_up_for(tmp_path, folder):
    (folder / "a.txt").write_text("The first apple.")
    (folder / "b.txt").write_text("The second banana.")
    with open_library(tmp_path) as library:
        library.watch(folder)
        until(lambda: names(library) == ["a.txt", "b.txt"])
    (folder / "a.txt").unlink()
    (folder / "b.txt").write_text("The changed blackberry.")
    (folder / "c.txt").write_text("The new cherry.")
    with open_library(tmp_path) as library:
        until(lambda: names(library) == ["b.txt", "c.txt"])
        until(lambda: finds(library, "blackberry") == ["b.txt"])


def test_a_file_that_is_still_written_waits(library, folder, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(watching, "time", SimpleNamespace(monotonic=lambda: now[0]))
    library.watch(folder)
    seen = library._opened.keeping.watching._since
    with (folder / "long.txt").open("w") as file:
        for n in range(12):
            now[0] += watching.SETTLE / 2  # in all six times as long as a file has to stay as it is
            file.write(f"Line {n} of a long text.\n")
            file.flush()
            size = (folder / "long.txt").stat().st_size
            until(lambda size=size: [s.size for s, _ in [*seen.values()] if s] == [size])
            assert names(library) == []
    now[0] += 2 * watching.SETTLE
    until(lambda: names(library) == ["long.txt"])
    until(lambda: finds(library, "Line 11 of") == ["long.txt"])
    assert len(list((library.settings.data_dir / "files").iterdir())) == 1


def test_hidden_files_links_and_our_own_data_are_left_alone(tmp_path, library):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("not for you")
    home = tmp_path / "home"
    home.mkdir()
    for name in (".hidden.txt", "~$open.docx", "half.txt.part", "program.exe"):
        (home / name).write_text("no")
    (home / ".git").mkdir()
    (home / ".git" / "x.txt").write_text("no")
    (home / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (home / "links").symlink_to(tmp_path / "outside")
    (home / "data").mkdir()
    (home / "data" / "ours.txt").write_text("no")
    (home / "good.txt").write_text("yes")
    assert list(look(home, home / "data").files) == ["good.txt"]
    with pytest.raises(DocumentError, match="the library itself"):
        library.watch(library.settings.data_dir / "files")
    with pytest.raises(DocumentError, match="no folder"):
        library.watch(tmp_path / "nowhere")
    with pytest.raises(DocumentError, match="not watched"):
        library.unwatch(home)


def test_a_folder_that_vanishes_removes_nothing_and_says_so(library, folder, tmp_path):
    (folder / "a.txt").write_text("The first apple.")
    library.watch(folder)
    until(lambda: names(library) == ["a.txt"])
    folder.rename(tmp_path / "unplugged")
    until(lambda: "not plugged in" in library.watched()[0].trouble)
    folder.mkdir()  # the empty place where a disk is put in
    until(lambda: "not the one it was" in library.watched()[0].trouble)
    time.sleep(0.5)
    assert names(library) == ["a.txt"]
    folder.rmdir()
    (tmp_path / "unplugged").rename(folder)
    until(lambda: library.watched()[0].trouble == "")
    (folder / "b.txt").write_text("The second banana.")
    until(lambda: names(library) == ["a.txt", "b.txt"])
    for path in folder.iterdir():
        path.unlink()  # emptied by hand, that is
    until(lambda: names(library) == [])


def test_what_a_person_handed_in_stays_when_the_file_goes(library, folder):
    (folder / "a.txt").write_text("The first apple.")
    (folder / "b.txt").write_text("The second banana.")
    shutil.copy(folder / "b.txt", folder / "copy.txt")
    library.watch(folder)
    until(lambda: library.watched()[0].files == 3)
    library.add("mine.txt", b"The first apple.")
    (folder / "a.txt").unlink()
    (folder / "b.txt").unlink()
    until(lambda: library.watched()[0].files == 1)
    assert len(names(library)) == 2
    library.unwatch(folder)
    (folder / "copy.txt").unlink()
    time.sleep(0.5)
    assert len(names(library)) == 2 and library.watched() == []


def test_a_file_that_cannot_be_read_is_named_and_tried_again_when_it_changes(library, folder):
    (folder / "a.txt").write_text("")
    library.watch(folder)
    until(lambda: bool(library.watched()[0].refused))
    [(path, why)] = library.watched()[0].refused
    assert path == "a.txt" and "empty" in why
    (folder / "a.txt").write_text("Words at last.")
    until(lambda: names(library) == ["a.txt"] and library.watched()[0].refused == ())


def test_a_file_that_is_refused_for_a_while_is_taken_once_that_has_passed(
    library, folder, monkeypatch
):
    tries: list[str] = []
    receive, times = Originals.receive, [2]

    def denied(self, name, data, collection):
        tries.append(name)
        if len(tries) > times[0]:
            return receive(self, name, data, collection)
        raise DocumentError("Permission denied. Check that you may open it, then add it again.")

    monkeypatch.setattr(Originals, "receive", denied)
    (folder / "a.txt").write_text("The first apple.")
    library.watch(folder)
    until(lambda: bool(library.watched()[0].refused))
    until(lambda: names(library) == ["a.txt"] and library.watched()[0].refused == ())
    assert len(tries) == 3


def test_a_file_that_was_refused_is_tried_after_a_restart_and_else_ever_more_seldom(
    tmp_path, folder, monkeypatch
):
    now = [100.0]
    monkeypatch.setattr(watching, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(watching, "RESCAN", 30.0)
    (folder / "a.txt").write_text("")
    monkeypatch.setattr(Watching, "start", lambda self: None)  # looked at from here

    def tries(looking: Watching, seconds: int) -> list[float]:
        """After how many seconds from now on it is tried."""
        began, at, take = now[0] + 1, list[float](), looking._asked.take

        def noted(name: str, path: Path) -> Added:
            at.append(now[0] - began)
            return take(name, path)

        looking._asked = replace(looking._asked, take=noted)
        for _ in range(seconds):
            now[0] += 1
            looking.look()
        looking._asked = replace(looking._asked, take=take)
        return at

    with open_library(tmp_path) as library:
        library.watch(folder)
        assert tries(library._opened.keeping.watching, 250) == [1, 31, 91, 211]
    with open_library(tmp_path) as library:
        assert tries(library._opened.keeping.watching, 100) == [0, 30, 90]
        (folder / "a.txt").write_text("Words at last.")
        assert tries(library._opened.keeping.watching, 100) == [1]
        assert library.watched()[0].refused == ()


def test_a_file_that_is_put_back_as_it_was_is_not_lost(library, folder):
    (folder / "a.txt").write_text("The first apple.")
    library.watch(folder)
    until(lambda: finds(library, "apple") == ["a.txt"])
    (folder / "a.txt").write_bytes(b" \n" * 9)  # no text in it
    until(lambda: Status.FAILED in {d.status for d in library.documents()})
    (folder / "a.txt").write_text("The first apple.")
    until(lambda: Status.FAILED not in {d.status for d in library.documents()})
    assert names(library) == finds(library, "apple") == ["a.txt"]


def test_a_file_that_becomes_one_that_is_here_and_cannot_be_read_stays_what_it_was(library, folder):
    (folder / "a.txt").write_text("The first apple.")
    (folder / "blank.txt").write_bytes(b" \n" * 9)
    library.watch(folder)
    until(lambda: finds(library, "apple") == ["a.txt"])
    until(lambda: Status.FAILED in {d.status for d in library.documents()})
    (folder / "a.txt").write_bytes(b" \n" * 9)
    until(lambda: bool(library.watched()[0].refused))
    assert finds(library, "apple") == ["a.txt"] and names(library) == ["a.txt", "blank.txt"]
    [(path, why)] = library.watched()[0].refused
    assert path == "a.txt" and "here as “blank.txt”, which cannot be read: " in why
    (folder / "a.txt").write_text("The second apricot.")
    until(lambda: finds(library, "apricot") == ["a.txt"])
    assert names(library) == ["a.txt", "blank.txt"] and library.watched()[0].refused == ()


@pytest.mark.parametrize("at_once", [False, True])
def test_a_file_that_is_renamed_has_its_new_name_here_and_the_old_is_free(library, folder, at_once):
    (folder / "prices.txt").write_text("The apple of 2024.")
    library.watch(folder)
    until(lambda: finds(library, "apple") == ["prices.txt"])
    (folder / "prices.txt").rename(folder / "prices old.txt")
    if not at_once:
        until(lambda: names(library) == ["prices old.txt"])
    (folder / "prices.txt").write_text("The banana, of 2025.")
    until(lambda: finds(library, "banana") == ["prices.txt"])
    until(lambda: finds(library, "apple") == ["prices old.txt"])
    assert names(library) == ["prices old.txt", "prices.txt"]


def test_a_document_removed_here_does_not_come_back_until_its_file_changes(library, folder):
    (folder / "a.txt").write_text("The first apple.")
    library.watch(folder)
    until(lambda: names(library) == ["a.txt"])
    library.remove(library.documents()[0].id)
    time.sleep(0.8)
    assert names(library) == []
    os.utime(folder / "a.txt", (1, 1))
    until(lambda: names(library) == ["a.txt"])


def test_a_file_that_changes_while_it_is_taken_is_taken_again(library, folder, monkeypatch):
    receive = Originals.receive

    def slow(self, name, data, collection):
        received = receive(self, name, data, collection)
        if (folder / "a.txt").read_text() == "half of it":
            (folder / "a.txt").write_text("The whole of it at last.")
        return received

    monkeypatch.setattr(Originals, "receive", slow)
    (folder / "a.txt").write_text("half of it")
    library.watch(folder)
    until(lambda: finds(library, "whole") == ["a.txt"] and not finds(library, "half"))
    assert names(library) == ["a.txt"]
