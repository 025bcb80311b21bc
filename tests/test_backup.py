"""A backup is a library at one moment, whole, and becomes the same library again."""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import rag_app.open_library
from rag_app import cli
from rag_app.access.nouns import MACHINE, Grantee, Identity
from rag_app.access.quotas import Limited
from rag_app.errors import BackupError, LibraryInUse
from rag_app.library import Library
from rag_app.scope import Role, Scope
from rag_app.settings import Settings
from rag_app.storage import backup
from rag_app.storage.backup import back_up
from rag_app.storage.object_store import Bucket
from rag_app.storage.restoring import restore
from rag_app.text.formats import FORMATS
from rag_app.types import RetrieverKind, Status
from tests.fakes import WordEmbedder
from tests.pdfs import locked as encrypted
from tests.pdfs import pdf
from tests.test_conversations import answer

FERRY = b"The ferry to the island costs four euros."
MUSEUM = b"The museum is closed on Mondays."


def open_library(folder: Path) -> Library:
    return Library(Settings.load(data_dir=folder), embedder=WordEmbedder())


def done(library: Library) -> None:
    for _ in range(2):  # what came out of others, too
        library.wait([d.id for d in library.documents()], timeout=60)


@pytest.fixture(scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of `folder`, which each test has a copy of."""
    folder = tmp_path_factory.mktemp("kept") / "data"
    with open_library(folder) as library:
        library.add("ferry.txt", FERRY)
        library.add("museum.txt", MUSEUM)
        conversation = library.conversations.start("What does it cost?")
        exchange = library.conversations.ask(conversation, "What does it cost?")
        library.conversations.answer(exchange, answer())
        library.preferences.change(top_k=5)
        done(library)
    return folder


@pytest.fixture
def folder(_folder, tmp_path) -> Path:
    """A closed library of two documents and a conversation."""
    return Path(shutil.copytree(_folder, tmp_path / "data"))


@pytest.fixture
def made(folder, tmp_path) -> Path:
    """A backup of it."""
    return back_up(folder, tmp_path / "made.zip")[0]


def told(folder: Path) -> dict[str, list[Any]]:
    """Every row of every table of a library, but of those that say how far the vectors are."""
    with sqlite3.connect(folder / "library.sqlite3") as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type='table'")]
        rows = {name: db.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables}
    db.close()
    return rows


def files(folder: Path) -> dict[str, bytes]:
    """What lies under the folder of originals."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in (folder / "files").rglob("*")
        if path.is_file()
    }


def names(archive: Path) -> set[str]:
    with zipfile.ZipFile(archive) as opened:
        return set(opened.namelist())


def manifest_of(archive: Path) -> dict[str, Any]:
    with zipfile.ZipFile(archive) as opened:
        return json.loads(opened.read("manifest.json"))


def check_whole(archive: Path, target: Path) -> list[str]:
    """Restore a backup; every document has its original, nothing else is there. Their names."""
    restore(archive, target)
    with sqlite3.connect(target / "library.sqlite3") as db:
        documents = db.execute("SELECT id, suffix, name FROM documents ORDER BY name").fetchall()
    db.close()
    assert set(files(target)) == {f"files/{id_}{suffix}" for id_, suffix, _ in documents}
    for id_, suffix, _ in documents:
        data = (target / "files" / f"{id_}{suffix}").read_bytes()
        assert hashlib.sha256(data).hexdigest() == id_
    with zipfile.ZipFile(archive) as opened:
        assert opened.testzip() is None
        for name, member in manifest_of(archive)["members"].items():
            data = opened.read(name)
            assert (hashlib.sha256(data).hexdigest(), len(data)) == tuple(member.values())
    return [name for _, _, name in documents]


# What is in it


def test_a_restored_library_is_the_same(tmp_path):
    folder, target = tmp_path / "data", tmp_path / "again"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("deep/ferry.txt", FERRY)
    watched = tmp_path / "watched"
    watched.mkdir()
    with open_library(folder) as library:
        library.add("museum.md", b"# Hours\n\n" + MUSEUM)
        library.add("all.zip", packed.getvalue())
        locked = library.add("secret.pdf", encrypted(pdf("The safe is behind the clock."), "x"))
        done(library)
        library.unlock(locked.document.id, "x")
        done(library)
        library.watch(watched)
        library.shelves.tag([locked.document.id], "mine")
        library.preferences.change(language="French", top_k=5)
        conversation = library.conversations.start("What does it cost?")
        exchange = library.conversations.ask(conversation, "What does it cost?", ["ferry"])
        library.conversations.answer(exchange, answer())
        library.pause()
    _, manifest = back_up(folder, tmp_path / "b.zip")
    assert (manifest.documents, manifest.conversations, manifest.lost) == (4, 1, {})
    assert restore(tmp_path / "b.zip", target) == manifest
    assert told(target) == told(folder)
    assert files(target) == files(folder) and len(files(folder)) == 5  # one is unlocked
    with open_library(target) as library:
        assert library.preferences.read().language == "French"
        [kept] = library.conversations.exchanges(conversation)
        assert kept.answer == answer()
        found = library.search('"behind the clock"', retriever=RetrieverKind.BM25)
        assert found[0].name == "secret.pdf"
        picture = library.picture(locked.document.id, 1, 1.0)
        assert picture is not None
        assert library.paused and [one.folder for one in library.watched()] == [str(watched)]


def test_a_library_of_several_people_is_restored_with_all_that_they_may(tmp_path, run):
    folder, target = tmp_path / "data", tmp_path / "again"

    def seen(library: Library) -> tuple[object, ...]:
        access = library.access
        who = [library.scoped(access.scope_of(one)) for one in ("anna", "ben", "cara")]
        return (
            *(access.people(), access.groups(), access.collections(MACHINE), access.owners()),
            *(access.grants(MACHINE, one.id) for one in access.collections(MACHINE)),
            *(access.api_keys.keys("ben"), access.quotas.own_limits("ben")),
            *(access.log.entries(), [view.scope for view in who]),
            *([view.documents() for view in who], [view.preferences.read() for view in who]),
            [[c.title for c in view.conversations.listed()] for view in who],
        )

    with open_library(folder) as library:
        access = library.access
        for one in ("anna", "ben", "cara"):
            access.arrive(Identity(one))
        shared = access.create_collection("anna", "Shared").id
        group = access.make_group("anna", "Readers").id
        access.join("anna", group, "cara")
        access.grant("anna", shared, Grantee.group(group), Role.READER)
        access.grant("anna", shared, Grantee.person("ben"), Role.EDITOR)
        access.quotas.set_limit(MACHINE, Limited.FILES, 9, "ben")
        made, secret = access.api_keys.create_key("ben", "script")
        ben = library.scoped(access.scope_of("ben"))
        ben.preferences.change(language="French")
        ben.conversations.start("What does it cost?")
        ben.add("ferry.txt", FERRY, collection=shared)
        ben.add("museum.txt", MUSEUM, collection=access.own_collection("ben"))
        for view in (ben, library):
            done(view)
        before = seen(library)
        assert run("backup", str(tmp_path / "b.zip"), "--data-dir", str(folder))[0] == 0
        access.api_keys.revoke_key("ben", made.id)
        access.revoke("anna", shared, Grantee.person("ben"))
        access.remove_person("anna", "cara")
    (folder / "cookie-secret").write_text("a secret")
    (folder / "api-key").write_text("a key")
    assert not {"cookie-secret", "api-key"} & names(tmp_path / "b.zip")
    status, out, err = run("restore", str(tmp_path / "b.zip"), "--data-dir", str(target))
    assert (status, err.count("\n")) == (0, 1) and out.startswith("restored  2 documents")
    assert "revoked since is there again" in err and "rag-app keys" in err
    with open_library(target) as library:
        done(library.scoped(library.access.scope_of("ben")))  # vectors are made again
        assert seen(library) == before
        assert library.access.api_keys.subject_of(secret) == "ben"
        assert library.access.scope_of("cara").collections
        assert library.scoped(library.access.scope_of("cara")).search("ferry")


def test_everybodys_conversations_are_counted(tmp_path):
    with open_library(tmp_path / "data") as library:
        for view in (library, *(library.scoped(Scope.of(who, {})) for who in ("anna", "ben"))):
            view.conversations.start("What does it cost?")
        assert back_up(tmp_path / "data", tmp_path / "b.zip")[1].conversations == 3


def test_vectors_are_made_again_after_a_restore(made, folder, tmp_path):
    target = tmp_path / "again"
    restore(made, target)
    assert {path.name for path in target.iterdir()} == {
        "library.sqlite3",
        "files",
        "preferences.json",
    }
    with open_library(target) as library:
        assert library.search("ferry", retriever=RetrieverKind.BM25)[0].name == "ferry.txt"
        done(library)
        assert [d.status for d in library.documents()] == [Status.READY] * 2
        assert library._opened.vectors.count() == 2
        found = library.search("island ferry", retriever=RetrieverKind.DENSE)
        assert found[0].name == "ferry.txt"


def test_the_library_can_be_open_meanwhile(folder, tmp_path):
    with open_library(folder) as library:
        library.add("late.txt", b"The last bus leaves at nine.")
        done(library)
        back_up(folder, tmp_path / "b.zip")
        restore(tmp_path / "b.zip", tmp_path / "again")
        assert [d.name for d in library.documents()] == ["ferry.txt", "museum.txt", "late.txt"]
    assert told(tmp_path / "again") == told(folder)


def test_what_a_killed_app_left_in_the_log_is_in_the_backup(tmp_path):
    code = (
        "import os\n"
        "from pathlib import Path\n"
        "from tests.test_backup import FERRY, done, open_library\n"
        f"library = open_library(Path({str(tmp_path / 'data')!r}))\n"
        "library.add('ferry.txt', FERRY)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent.parent, timeout=120)
    assert (tmp_path / "data" / "library.sqlite3-wal").stat().st_size
    _, manifest = back_up(tmp_path / "data", tmp_path / "b.zip")
    assert manifest.documents == 1


def test_a_backup_is_stored_flat_for_its_user_alone_and_says_what_is_in_it(made):
    if os.name == "posix":
        assert stat.S_IMODE(made.stat().st_mode) == 0o600
    with zipfile.ZipFile(made) as opened:
        packed = {info.filename: info.compress_type for info in opened.infolist()}
    originals = {name for name in packed if name.startswith("files/")}
    assert {packed[name] for name in originals} == {zipfile.ZIP_STORED}
    assert packed["library.sqlite3"] == zipfile.ZIP_DEFLATED
    said = manifest_of(made)
    assert said["format"] == 1 and said["created_at"].endswith("+00:00")
    assert (said["documents"], said["conversations"]) == (2, 1)
    assert set(packed) == {"manifest.json", *said["members"]}


def test_files_that_are_set_aside_are_in_it_and_offered_again(folder, tmp_path):
    (folder / "library.sqlite3").unlink()
    with open_library(folder) as library:
        assert len(library.set_aside()) == 2
        (folder / "files" / "set-aside" / "notes").write_text("nobody's")
        back_up(folder, tmp_path / "b.zip")
    restore(tmp_path / "b.zip", tmp_path / "again")
    with open_library(tmp_path / "again") as library:
        assert len(library.set_aside()) == 2 and library.documents() == []


def test_what_was_removed_just_before_is_not_in_it(tmp_path, monkeypatch):
    monkeypatch.setattr("rag_app.ingestion.service._SETTLE", 600.0)  # nothing is cleaned up
    with open_library(tmp_path / "data") as library:
        ids = [library.add(f"{n}.txt", f"beacon{n}x ".encode() * 999).document.id for n in "12"]
        done(library)
        library.remove(ids[0])
        back_up(tmp_path / "data", tmp_path / "b.zip")
    restore(tmp_path / "b.zip", tmp_path / "again")
    restored = (tmp_path / "again" / "library.sqlite3").read_bytes()
    assert b"beacon2x" in restored and b"beacon1x" not in restored


def test_lost_and_damaged_originals_are_named_and_the_rest_is_kept(folder, tmp_path):
    ferry, museum = (
        folder / "files" / f"{hashlib.sha256(d).hexdigest()}.txt" for d in (FERRY, MUSEUM)
    )
    ferry.unlink()
    museum.write_bytes(b"The museum is closed on Sundays.")
    _, manifest = back_up(folder, tmp_path / "b.zip")
    assert sorted(manifest.lost.values()) == ["ferry.txt", "museum.txt"]
    assert names(tmp_path / "b.zip") == {"manifest.json", "library.sqlite3", "preferences.json"}
    assert b"Sundays" not in (tmp_path / "b.zip").read_bytes()
    assert restore(tmp_path / "b.zip", tmp_path / "again").lost == manifest.lost
    with open_library(tmp_path / "again") as library:
        assert library.search("museum", retriever=RetrieverKind.BM25)[0].name == "museum.txt"


def test_every_format_has_names_that_a_backup_knows():
    for suffix in FORMATS:
        assert backup.KEPT.fullmatch(f"files/{'a' * 64}{suffix}"), suffix


# One moment


def test_backups_of_a_library_that_always_changes_have_no_hole(tmp_path):
    target, stop = tmp_path / "again", threading.Event()
    with open_library(tmp_path / "data") as library:
        kept = [
            library.add(f"kept{n}.txt", f"Kept words {n}.".encode()).document.name for n in range(5)
        ]

        def churn() -> None:
            chance, ids = random.Random(7), []
            for number in itertools.count():
                if stop.is_set():
                    return
                ids.append(library.add(f"{number}.txt", f"Words {number}.".encode()).document.id)
                if len(ids) > 6 or chance.random() < 0.5:
                    library.remove(ids.pop(chance.randrange(len(ids))))

        thread = threading.Thread(target=churn)
        thread.start()
        try:
            seen = set()
            for _ in range(30):
                back_up(tmp_path / "data", tmp_path / "b.zip", replace=True)
                there = check_whole(tmp_path / "b.zip", target)
                assert set(kept) <= set(there)
                seen.add(tuple(there))
                shutil.rmtree(target)
        finally:
            stop.set()
            thread.join()
    assert len(seen) > 5  # it did change


def at(when: str, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Do something once when the file of this name is about to be copied; the names in order."""
    real, copied = backup._Copying._copied, []

    def copy(self: Any, name: str, *of: str) -> bool:
        if name == when and name not in copied:
            act()
        copied.append(name)
        return real(self, name, *of)

    monkeypatch.setattr(backup._Copying, "_copied", copy)
    return copied


def test_what_is_removed_meanwhile_is_in_another_copy_no_more(folder, tmp_path, monkeypatch):
    with open_library(folder) as library:
        ferry, museum = (d.id for d in library.documents())

        def change() -> None:
            library.remove(ferry)  # copied already
            library.remove(museum)  # not copied yet
            library.add("late.txt", b"The last bus leaves at nine.")

        copied = at(f"files/{museum}.txt", change, monkeypatch)
        back_up(folder, tmp_path / "b.zip")
    assert copied.count(f"files/{ferry}.txt") == copied.count(f"files/{museum}.txt") == 1
    assert check_whole(tmp_path / "b.zip", tmp_path / "again") == ["late.txt"]
    assert FERRY not in (tmp_path / "b.zip").read_bytes()


class Pieces:
    """A bucket that gives a file in pieces; between two of them `meanwhile` happens, once."""

    def __init__(self, held: dict[str, bytes], meanwhile: Callable[[], object]) -> None:
        self._held, self._meanwhile = held, [meanwhile]

    def size(self, key: str) -> int | None:
        return len(self._held[key]) if key in self._held else None

    def objects(self) -> Iterator[Any]:
        return iter(())

    def blocks(self, key: str) -> Iterator[bytes]:
        if key not in self._held:
            raise FileNotFoundError(key)
        yield self._held[key][:9]
        if self._meanwhile:
            self._meanwhile.pop()()
        if key not in self._held:
            raise FileNotFoundError(key)
        yield self._held[key][9:]


def test_what_is_removed_in_the_middle_of_a_file_is_not_in_it(folder, tmp_path):
    with open_library(folder) as library:
        ferry = library.document("ferry.txt").id
        held = {path.name: path.read_bytes() for path in (folder / "files").iterdir()}

        def change() -> None:
            library.remove(ferry)
            del held[f"{ferry}.txt"]

        for path in (folder / "files").iterdir():
            path.unlink()
        back_up(folder, tmp_path / "b.zip", bucket=cast(Bucket, Pieces(held, change)))
    assert FERRY[:9] not in (tmp_path / "b.zip").read_bytes()
    assert check_whole(tmp_path / "b.zip", tmp_path / "again") == ["museum.txt"]


def test_what_is_removed_and_comes_back_again_and_again_is_not_lost(folder, tmp_path, monkeypatch):
    with open_library(folder) as library:
        ferry, removed = library.documents()[0].id, []
        copy, moment = backup._Copying._copied, backup._Copying._moment

        def removed_first(self: Any, name: str, *of: str) -> bool:
            if name == f"files/{ferry}.txt" and len(removed) < 3:
                removed.append(library.remove(ferry))
            return copy(self, name, *of)

        def back_first(self: Any) -> Any:
            library.add("ferry.txt", FERRY)
            return moment(self)

        monkeypatch.setattr(backup._Copying, "_copied", removed_first)
        monkeypatch.setattr(backup._Copying, "_moment", back_first)
        _, manifest = back_up(folder, tmp_path / "b.zip")
    assert manifest.lost == {} and len(check_whole(tmp_path / "b.zip", tmp_path / "again")) == 2
    assert len(removed) == 3


def test_an_unlocked_copy_that_goes_with_its_document_leaves_no_hole(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    with open_library(folder) as library:
        locked = library.add("a.pdf", encrypted(pdf("Behind the clock."), "x"), password="x")
        done(library)
        id_ = locked.document.id
        real = backup._Copying._copied

        def copy(self: Any, name: str, *of: str) -> bool:
            there = real(self, name, *of)
            if name == f"files/{id_}.unlocked.pdf" and library.documents():
                library.remove(id_)
            return there

        monkeypatch.setattr(backup._Copying, "_copied", copy)
        _, manifest = back_up(folder, tmp_path / "b.zip")
    assert manifest.documents == 0
    assert names(tmp_path / "b.zip") == {"manifest.json", "library.sqlite3"}


def test_a_copy_that_is_unlocked_and_goes_between_two_copies_leaves_no_hole(
    folder, tmp_path, monkeypatch
):
    """The document was copied for an earlier moment, at which it was locked."""
    with open_library(folder) as library:
        ferry = library.documents()[0].id
        locked = library.add("a.pdf", encrypted(pdf("Behind the clock."), "x")).document.id
        done(library)
        at(f"files/{ferry}.txt", lambda: library.remove(ferry), monkeypatch)
        copy, moment, moments = backup._Copying._copied, backup._Copying._moment, []

        def unlocked_first(self: Any) -> Any:
            moments.append(len(moments))
            if len(moments) == 2:
                library.unlock(locked, "x")
            return moment(self)

        def removed_first(self: Any, name: str, *of: str) -> bool:
            if len(moments) == 2 and name == f"files/{locked}.unlocked.pdf":
                library.remove(locked)
            return copy(self, name, *of)

        monkeypatch.setattr(backup._Copying, "_moment", unlocked_first)
        monkeypatch.setattr(backup._Copying, "_copied", removed_first)
        back_up(folder, tmp_path / "b.zip")
    assert len(moments) == 3
    assert check_whole(tmp_path / "b.zip", tmp_path / "again") == ["museum.txt"]


def test_a_file_that_is_added_again_meanwhile_is_in_it_once(folder, tmp_path, monkeypatch):
    (folder / "library.sqlite3").unlink()
    with open_library(folder) as library:
        first = library.set_aside()[0]
        aside = f"files/set-aside/{first.document_id}{first.suffix}"
        at(aside, library.add_set_aside, monkeypatch)
        _, manifest = back_up(folder, tmp_path / "b.zip")
    assert manifest.documents == 2
    assert len(check_whole(tmp_path / "b.zip", tmp_path / "again")) == 2


def test_a_library_that_never_rests_says_so(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(backup, "_MOST_COPIES", 3)
    monkeypatch.setattr(backup._Copying, "_taken", lambda self, one: False)
    with pytest.raises(BackupError, match=r"faster than they can be copied.*Try again"):
        back_up(folder, tmp_path / "b.zip")
    assert not list(tmp_path.glob("b.zip*"))


# Where it cannot be


def refused(tmp_path: Path, act: Callable[[], object]) -> str:
    """The one sentence or two that it is refused with; nothing is left behind."""
    before = {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises((BackupError, LibraryInUse)) as said:
        act()
    after = {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    logs = ("library.sqlite3-wal", "library.sqlite3-shm")  # of whoever reads a database
    assert {p for p in after if p.name not in logs} == {p for p in before if p.name not in logs}
    assert not list(tmp_path.rglob("*.part"))
    assert "\n" not in str(said.value) and str(said.value).endswith((".", ".zip", "”"))
    return str(said.value)


def test_places_for_a_backup_that_are_refused(folder, tmp_path):
    there = tmp_path / "there.zip"
    there.write_text("something else")
    watched = tmp_path / "watched"
    watched.mkdir()
    with open_library(folder) as library:
        library.watch(watched)
    for target, why in (
        (folder / "b.zip", "which the library keeps"),
        (folder / "new" / "b.zip", "which the library keeps"),
        (watched / "b.zip", "or watches"),
        (tmp_path, f"is a folder. Name a file in it: {tmp_path}/library.zip"),
        (there, "is there already"),
        (tmp_path / "nowhere" / "b.zip", "No such file"),
    ):
        assert why in refused(tmp_path, lambda target=target: back_up(folder, target))
    assert there.read_text() == "something else"
    no_file = refused(tmp_path, lambda: back_up(folder, Path(os.devnull), replace=True))
    assert no_file.endswith("Choose another name.")
    back_up(folder, there, replace=True)
    assert zipfile.is_zipfile(there)
    nobody = refused(tmp_path, lambda: back_up(tmp_path / "none", tmp_path / "b.zip"))
    assert "no library" in nobody and not (tmp_path / "none").exists()
    (tmp_path / "b.zip.part").write_text("mine")
    with pytest.raises(BackupError, match="in the way"):
        back_up(folder, tmp_path / "b.zip")


def test_a_link_into_the_data_directory_is_refused(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert "the library keeps" in refused(
        tmp_path, lambda: back_up(folder, tmp_path / "link" / "b.zip")
    )


def test_two_backups_to_one_file_do_not_meet(folder, tmp_path):
    with (
        backup.workshop((tmp_path / "b.zip").resolve()),
        pytest.raises(BackupError, match="Another rag-app"),
    ):
        back_up(folder, tmp_path / "b.zip")
    back_up(folder, tmp_path / "b.zip")


def test_a_damaged_database_is_said_when_it_is_copied_and_not_when_it_is_needed(folder, tmp_path):
    with sqlite3.connect(folder / "library.sqlite3") as db:
        page, root = db.execute(
            "SELECT (SELECT page_size FROM pragma_page_size), rootpage FROM sqlite_schema "
            "WHERE name = 'exchanges'"
        ).fetchone()
    db.close()
    with (folder / "library.sqlite3").open("r+b") as file:
        file.seek((root - 1) * page)
        file.write(b"\xff" * page)
    assert "is damaged" in refused(tmp_path, lambda: back_up(folder, tmp_path / "b.zip"))


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here (it takes root)")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("room", [0, 100_000, 600_000, 1_500_000])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path, small_disk, room):
    folder = tmp_path / "data"
    with open_library(folder) as library:
        library.add("large.txt", random.Random(1).randbytes(2_000_000).hex().encode())
    (small_disk / "filler").write_bytes(bytes(max(0, shutil.disk_usage(small_disk).free - room)))
    said = refused(tmp_path, lambda: back_up(folder, small_disk / "b.zip"))
    assert "the disk is full. Make room" in said
    made, _ = back_up(folder, tmp_path / "b.zip")
    assert "are free where" in refused(small_disk, lambda: restore(made, small_disk / "again"))
    assert {path.name for path in small_disk.iterdir()} == {"filler"}


def test_a_data_directory_that_is_a_disk_of_its_own_is_filled(made, small_disk):
    (small_disk / "lost+found").mkdir()
    restore(made, small_disk)
    with pytest.raises(BackupError, match="not empty"):
        restore(made, small_disk)
    with open_library(small_disk) as library:
        assert len(library.documents()) == 2
    assert not list(small_disk.glob("*.part"))


# Not restored


def test_only_an_empty_data_directory_is_restored_into(made, folder, tmp_path):
    assert "not empty" in refused(tmp_path, lambda: restore(made, folder))
    with open_library(folder):
        assert "is open in another rag-app" in refused(tmp_path, lambda: restore(made, folder))
    (tmp_path / "file").write_text("x")
    assert "is no folder" in refused(tmp_path, lambda: restore(made, tmp_path / "file"))
    (tmp_path / "empty").mkdir()
    restore(made, tmp_path / "empty")
    restore(made, tmp_path / "deep" / "er")
    assert told(tmp_path / "empty") == told(tmp_path / "deep" / "er") == told(folder)
    if os.name == "posix":
        inside = [tmp_path / "empty", *(tmp_path / "empty").rglob("*")]
        assert not [path for path in inside if path.stat().st_mode & 0o077]


def test_what_is_no_backup_is_refused(made, tmp_path):
    bad, target = tmp_path / "bad.zip", tmp_path / "again"

    def why(data: bytes | None) -> str:
        bad.unlink(missing_ok=True)
        if data is not None:
            bad.write_bytes(data)
        said = refused(tmp_path, lambda: restore(bad, target))
        assert not target.exists()
        return said

    def zipped(**members: str) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, text in members.items():
                archive.writestr(name.replace("_json", ".json"), text)
        return out.getvalue()

    whole = made.read_bytes()
    assert "no file" in why(None)
    assert "is no backup" in why(b"")
    assert "is no backup" in why(b"The ferry costs four euros." * 99)
    assert "is no backup" in why(whole[: len(whole) // 2])
    assert "is no backup" in why(zipped(letter="Dear all"))
    assert "is no backup" in why(zipped(manifest_json='{"manifest_version": 3}'))
    assert "is no backup" in why(zipped(manifest_json="[1, 2]"))
    assert "is damaged" in why(zipped(manifest_json="{"))
    assert "is damaged" in why(zipped(manifest_json="[" * 100_000))
    assert "is damaged" in why(zipped(manifest_json='{"format": 1}'))
    assert "an older version" in why(zipped(manifest_json='{"format": 0}'))
    assert "a newer version" in why(zipped(manifest_json='{"format": 2}'))
    assert "cannot be read" in refused(tmp_path, lambda: restore(tmp_path, target))


def test_one_flipped_bit_in_a_member_is_found(made, tmp_path):
    chance, whole, target = random.Random(3), made.read_bytes(), tmp_path / "again"
    with zipfile.ZipFile(made) as opened:
        found = [(i, i.header_offset + 30 + len(i.filename) + 20) for i in opened.infolist()]
    assert len(found) == 5
    refusals = unsaid = 0
    for info, start in found:
        length, inside = info.compress_size, zipfile.ZipFile(io.BytesIO(whole)).read(info.filename)
        for place in {0, length - 1, *(chance.randrange(length) for _ in range(6))}:
            data = bytearray(whole)
            data[start + place] ^= 1 << chance.randrange(8)
            # DEFLATE has bits that say nothing of the content: padding, codes that are not used.
            with contextlib.suppress(zipfile.BadZipFile, zlib.error, EOFError):
                if zipfile.ZipFile(io.BytesIO(data)).read(info.filename) == inside:
                    unsaid += 1
                    continue
            made.write_bytes(data)
            refused(tmp_path, lambda: restore(made, target))
            assert not target.exists()
            refusals += 1
    assert refusals > 5 * unsaid


def test_one_flipped_bit_anywhere_is_found_or_does_no_harm(made, folder, tmp_path):
    chance, whole, target = random.Random(4), made.read_bytes(), tmp_path / "again"
    before, refusals = (told(folder), files(folder)), 0
    for _ in range(150):
        # Members are many bytes, and what is around them few.
        place = chance.choice([chance.randrange(len(whole)), len(whole) - chance.randrange(1, 900)])
        data = bytearray(whole)
        data[place] ^= 1 << chance.randrange(8)
        made.write_bytes(data)
        try:
            restore(made, target)
        except BackupError as error:
            refusals += 1
            assert "\n" not in str(error) and not target.exists()
        else:
            assert (told(target), files(target)) == before
            shutil.rmtree(target)
    assert refusals > 75


def test_a_torn_file_is_refused_wherever_it_ends(made, tmp_path):
    whole = made.read_bytes()
    for end in range(0, len(whole), len(whole) // 40):
        made.write_bytes(whole[:end])
        refused(tmp_path, lambda: restore(made, tmp_path / "again"))


Members = dict[str, bytes | None]


def changed(made: Path, change: Callable[[dict[str, Any], Members], object], **how: Any) -> None:
    """Write a backup anew with other members, and a manifest that agrees with them unless `change`
    sees to that itself."""
    with zipfile.ZipFile(made) as opened:
        members: Members = {name: opened.read(name) for name in opened.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    change(manifest, members)
    with zipfile.ZipFile(made, "w") as opened:
        for name, data in members.items():
            if data is not None:
                info = zipfile.ZipInfo(name)
                info.external_attr = how.get("attributes", 0o600 << 16)
                info.compress_type = how.get("packed", zipfile.ZIP_STORED)
                opened.writestr(info, data)
        opened.writestr("manifest.json", json.dumps(manifest))


def listed(manifest: dict[str, Any], name: str, data: bytes) -> None:
    manifest["members"][name] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}


@pytest.mark.parametrize(
    "name",
    [
        "../evil.txt",
        "/tmp/evil.txt",
        "files/../../evil.txt",
        "files/" + "a" * 64,
        "files/" + "a" * 64 + ".txt/x",
        "files\\" + "a" * 64 + ".txt",
        "files/" + "A" * 64 + ".txt",
        "files/" + "a" * 64 + ".txt\n",
        "files/set-aside/../" + "a" * 64 + ".txt",
        "library.sqlite3-wal",
        "vectors/chroma.sqlite3",
        "lock",
        "C:evil.txt",
    ],
)
def test_names_that_no_backup_has_are_refused(made, tmp_path, name):
    for known in (True, False):

        def add(manifest: dict[str, Any], members: Members, known: bool = known) -> None:
            members[name] = b"evil"
            if known:
                listed(manifest, name, b"evil")

        whole = made.read_bytes()
        changed(made, add)
        assert "is damaged" in refused(tmp_path, lambda: restore(made, tmp_path / "again"))
        assert not list(tmp_path.rglob("*evil*"))
        made.write_bytes(whole)


def test_members_that_are_missing_double_locked_linked_or_not_what_they_say(made, tmp_path):
    whole, target = made.read_bytes(), tmp_path / "again"
    original = next(name for name in names(made) if name.startswith("files/"))

    def refuse(change: Callable[[dict[str, Any], Members], object], **how: Any) -> None:
        made.write_bytes(whole)
        changed(made, change, **how)
        said = refused(tmp_path, lambda: restore(made, target))
        assert "is damaged" in said and not target.exists()

    def nothing(manifest: dict[str, Any], members: Members) -> None:
        pass

    made.write_bytes(whole)
    changed(made, nothing)
    restore(made, target)  # that alone does no harm
    shutil.rmtree(target)
    refuse(lambda manifest, members: members.pop(original))
    refuse(lambda manifest, members: members.pop("library.sqlite3"))
    refuse(lambda manifest, members: (members.pop(original), manifest["members"].pop(original)))
    refuse(lambda manifest, members: listed(manifest, original, b"x"))
    refuse(
        lambda manifest, members: (
            listed(manifest, original, b"x"),
            members.update({original: b"x"}),
        )
    )
    for name in ("library.sqlite3", "preferences.json"):
        refuse(
            lambda manifest, members, name=name: manifest["members"][name].update(sha256="0" * 64)
        )
    refuse(lambda manifest, members: manifest["members"][original].update(size=-1))
    refuse(lambda manifest, members: manifest["members"][original].update(size="many"))
    refuse(lambda manifest, members: manifest.update(members=[]))
    refuse(lambda manifest, members: manifest.update(lost={"../x": "x"}))
    refuse(lambda manifest, members: manifest.update(lost={original: "\x1b[2J"}))
    refuse(lambda manifest, members: manifest.update(app_version="\ud800"))
    refuse(lambda manifest, members: manifest.update(created_at="yesterday"))
    refuse(nothing, attributes=(stat.S_IFLNK | 0o777) << 16)
    refuse(nothing, packed=zipfile.ZIP_DEFLATED)
    made.write_bytes(whole)
    with (
        pytest.warns(UserWarning, match="Duplicate"),
        zipfile.ZipFile(made, "a") as opened,
    ):
        opened.writestr(original, opened.read(original))
    assert "is damaged" in refused(tmp_path, lambda: restore(made, target))


def test_a_member_that_grows_is_not_written_on_and_on(made, tmp_path, monkeypatch):
    monkeypatch.setattr(backup, "BLOCK", 1000)
    whole = made.read_bytes()

    def bomb(manifest: dict[str, Any], members: Members) -> None:
        members["preferences.json"] = bytes(50_000_000)
        listed(manifest, "preferences.json", b"{}")

    changed(made, bomb)
    assert "is damaged" in refused(tmp_path, lambda: restore(made, tmp_path / "again"))
    made.write_bytes(whole)

    def huge(manifest: dict[str, Any], members: Members) -> None:
        manifest["members"]["library.sqlite3"]["size"] = 1 << 60

    changed(made, huge)
    assert refused(tmp_path, lambda: restore(made, tmp_path / "again"))


def with_database(made: Path, sql: str) -> None:
    """The backup with a database that was worked on, and a manifest that agrees."""
    path = made.with_name("changed.sqlite3")

    def change(manifest: dict[str, Any], members: Members) -> None:
        path.write_bytes(members["library.sqlite3"] or b"")
        db = sqlite3.connect(path)
        db.executescript(sql)
        db.execute("PRAGMA journal_mode = DELETE")
        db.close()
        members["library.sqlite3"] = path.read_bytes()
        listed(manifest, "library.sqlite3", path.read_bytes())

    changed(made, change)
    path.unlink()


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("PRAGMA user_version = 999", "was made by a newer version of this app"),
        ("DROP TABLE documents", "not one of a library"),
        ("DROP TABLE removals; CREATE TABLE removals (x)", "not one of a library"),
        ("UPDATE documents SET suffix = '/../../../x'", "names files that are not in it"),
        ("UPDATE documents SET id = '../' || id", "names files that are not in it"),
        ("INSERT INTO removals VALUES ('../../home/me/.profile', '')", "names files"),
    ],
)
def test_a_database_that_no_library_has_is_refused(made, tmp_path, sql, why):
    with_database(made, f"PRAGMA foreign_keys = OFF; {sql};")
    assert why in refused(tmp_path, lambda: restore(made, tmp_path / "again"))
    assert not (tmp_path / "again").exists()


def test_a_database_that_is_none_or_torn_is_refused(made, tmp_path):
    whole = made.read_bytes()
    for tear in (lambda data: b"no database", lambda data: data[:8192], lambda data: b""):

        def change(manifest: dict[str, Any], members: Members, tear: Any = tear) -> None:
            data = tear(members["library.sqlite3"])
            members["library.sqlite3"] = data
            listed(manifest, "library.sqlite3", data)

        changed(made, change)
        assert "is damaged" in refused(tmp_path, lambda: restore(made, tmp_path / "again"))
        made.write_bytes(whole)


# Killed


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is POSIX only")
@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_kill_in_the_middle_changes_nothing_and_the_next_try_works(tmp_path, command):
    folder, target, made = tmp_path / "data", tmp_path / "again", tmp_path / "b.zip"
    with open_library(folder) as library:
        library.pause()
        for n in range(20):
            library.add(f"{n}.txt", f"Words {n}. ".encode() * 5_000)
    before = told(folder), files(folder)
    back_up(folder, made)
    calls = {
        "backup": "back_up(Path(sys.argv[2]), Path(sys.argv[3]), replace=True, told=told)",
        "restore": "restore(Path(sys.argv[3]), Path(sys.argv[4]), told=told)",
    }
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from rag_app.storage.backup import back_up\n"
        "from rag_app.storage.restoring import restore\n"
        "def told(done, total):\n"
        "    if done > float(sys.argv[1]) * total:\n"
        "        print('now', flush=True)\n"
        "        time.sleep(600)\n"
        f"{calls[command]}\n"
    )
    earlier = made.read_bytes()
    for share in ("0", "0.5", "0.999"):
        words = [sys.executable, "-c", code, share, str(folder), str(made), str(target)]
        child = subprocess.Popen(words, stdout=subprocess.PIPE)
        assert child.stdout and child.stdout.readline() == b"now\n"
        child.kill()
        child.stdout.close()
        assert child.wait() == -signal.SIGKILL
        assert list(tmp_path.glob("*.part"))  # it was in the middle
        assert (told(folder), files(folder)) == before
        assert made.read_bytes() == earlier and not target.exists()
    if command == "backup":
        back_up(folder, made, replace=True)
    restore(made, target)
    assert (told(target), files(target)) == before
    assert not list(tmp_path.glob("*.part"))


# The commands


@pytest.fixture
def run(monkeypatch, capsys):
    monkeypatch.setattr(rag_app.open_library, "MiniLmEmbedder", lambda threads: WordEmbedder())

    def run(*arguments: str) -> tuple[int, str, str]:
        status = cli.main(list(arguments))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_the_commands_say_what_they_did(run, folder, tmp_path):
    made, target = tmp_path / "b.zip", tmp_path / "again"
    status, out, err = run("backup", str(made), "--data-dir", str(folder))
    assert (status, err) == (0, "") and out.startswith("backed up  2 documents, 1 conversation, as")
    status, out, err = run("backup", str(made), "--data-dir", str(folder))
    assert (status, out) == (1, "") and err.count("\n") == 1 and "--force" in err
    status, out, err = run("backup", str(made), "--force", "--data-dir", str(folder))
    assert status == 0
    status, out, err = run("restore", str(made), "--data-dir", str(target))
    assert (status, err) == (0, "") and out.startswith("restored  2 documents, 1 conversation")
    status, out, _ = run("documents", "--data-dir", str(target))
    assert status == 0 and "ferry.txt" in out
    status, out, err = run("restore", str(made), "--data-dir", str(target))
    assert (status, out) == (1, "") and err.startswith("rag-app: ") and err.count("\n") == 1
    with pytest.raises(SystemExit) as bad_use:
        run("backup")
    assert bad_use.value.code == 2


def test_a_backup_without_an_original_that_was_lost_says_so(run, folder, tmp_path):
    (folder / "files" / f"{hashlib.sha256(FERRY).hexdigest()}.txt").unlink()
    status, out, err = run("backup", str(tmp_path / "b.zip"), "--data-dir", str(folder))
    assert status == 1 and "backed up" in out and "“ferry.txt”" in err and err.count("\n") == 1


def test_how_far_it_is_is_told(folder, tmp_path):
    for act in (
        lambda told: back_up(folder, tmp_path / "b.zip", told=told),
        lambda told: restore(tmp_path / "b.zip", tmp_path / "again", told=told),
    ):
        heard: list[tuple[int, int]] = []
        act(lambda done, total, heard=heard: heard.append((done, total)))
        dones = [done for done, _ in heard]
        assert dones == sorted(dones) and heard[-1][0] >= heard[-1][1] > 0
