"""Originals in a folder, in a folder that several machines see, and in a bucket keep one contract;
and what is said and done while a bucket cannot be used."""

from __future__ import annotations

import hashlib
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rag_app.errors import (
    DiskFull,
    FilesDiffer,
    FilesError,
    FilesFull,
    FilesMissing,
    FilesRefused,
    FilesUnreachable,
    SettingsError,
)
from rag_app.ingestion import service
from rag_app.library import Library
from rag_app.scope import HOME
from rag_app.settings import Settings
from rag_app.storage import object_store
from rag_app.storage.backup import back_up
from rag_app.storage.object_store import Bucket, LocalCopies, RemoteOriginals, originals_of
from rag_app.storage.originals import UNLOCKED, Originals
from rag_app.storage.restoring import restore
from rag_app.types import Status
from tests.fakes import WordEmbedder
from tests.object_stores import KEY, SECRET, Way, keys, make_bucket, moto_server, way_to
from tests.pdfs import locked, pdf

pytest.importorskip("obstore", reason="of the extra “cluster”")
FERRY = b"The ferry to the island costs four euros."
MOST = 1 << 25
BUCKET = "documents"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    pytest.importorskip("moto", reason="of the extra “dev”")
    with moto_server() as address:
        yield address


@pytest.fixture
def way(server, monkeypatch) -> Iterator[type[Way]]:
    """An empty bucket, the way to it, and an environment that leads there."""
    make_bucket(server, BUCKET)
    with way_to(server) as way:
        given = {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": way.address,
            "AWS_ALLOW_HTTP": "true",
        }
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        yield way


def place(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kind == "s3":
        request.getfixturevalue("way")
        return f"s3://{BUCKET}/pre fix/of-ours"
    (tmp_path / "share").mkdir()
    return (tmp_path / "share").as_uri()


@pytest.fixture(params=["folder", "file", "s3"])
def originals(request, tmp_path) -> Originals:
    if request.param == "folder":
        return Originals(tmp_path / "files", MOST)
    return remote(Bucket(place(request.param, request, tmp_path), 60), tmp_path)


@pytest.fixture(params=["file", "s3"])
def bucket(request, tmp_path) -> Bucket:
    return Bucket(place(request.param, request, tmp_path), 60)


def remote(bucket: Bucket, tmp_path: Path) -> RemoteOriginals:
    copies = LocalCopies(tmp_path / "reading" / "copies", MOST)
    return RemoteOriginals(tmp_path / "files", MOST, bucket, copies)


def kept(originals: Originals, *texts: bytes, suffix: str = ".txt") -> list[str]:
    ids = []
    for text in texts:
        incoming = originals.receive("../../a\n?.txt", text, HOME)
        originals.keep(originals.send(incoming, suffix), suffix)
        assert not incoming.path.exists()
        ids.append(incoming.content_id)
    return ids


def read(originals: Originals, document_id: str, suffix: str = ".txt") -> bytes:
    with originals.reading(document_id, suffix) as path:
        return path.read_bytes()


def looked(originals: Originals, known: set[str]) -> bool:
    return originals.sort_out(known) | originals.look(known)


# The contract


def test_what_is_kept_is_there_under_its_hash_and_can_be_read_again_and_again(originals):
    [one] = kept(originals, FERRY)
    assert one == hashlib.sha256(FERRY).hexdigest()
    assert originals.has(one, ".txt") and not originals.has(one, ".pdf")
    assert not originals.has("0" * 64, ".txt")
    assert read(originals, one) == read(originals, one) == FERRY
    with originals.original(one, ".txt") as path:
        assert path.read_bytes() == FERRY and path.suffix == ".txt"
    assert kept(originals, FERRY) == [one]  # the same again


def test_a_file_that_is_lost_is_not_there_to_be_read(originals):
    with originals.reading("0" * 64, ".txt") as path:
        assert not path.exists()
    with originals.original("0" * 64, ".pdf") as path:
        assert not path.exists()


def test_the_unlocked_copy_is_what_is_read_and_goes_with_the_original(originals):
    [one] = kept(originals, b"locked", suffix=".pdf")
    assert read(originals, one, ".pdf") == b"locked"
    with originals.unlocking(one, ".pdf") as copy:
        copy.write_bytes(b"open")
    assert read(originals, one, ".pdf") == b"open"
    with originals.original(one, ".pdf") as path:
        assert path.read_bytes() == b"locked"
    originals.forget(one, ".pdf")
    assert not originals.has(one, ".pdf")
    assert not looked(originals, set())
    originals.forget(one, ".pdf")  # again: nothing happens
    with originals.unlocking(one, ".pdf"):
        pass  # it was not locked


def test_what_nobody_knows_is_offered_kept_and_deleted_only_when_somebody_says_so(originals):
    one, two, three = kept(originals, b"one", b"two", b"three")
    assert not looked(originals, {one, two, three}) and originals.set_aside() == []
    assert looked(originals, {one})
    assert {each.document_id for each in originals.set_aside()} == {two, three}
    back = next(each for each in originals.set_aside() if each.document_id == two)
    incoming = originals.taken_back(back)
    assert incoming.path.read_bytes() == b"two" and incoming.content_id == two
    originals.keep(incoming, ".txt")
    originals.taken(back, incoming.content_id)
    assert [each.document_id for each in originals.set_aside()] == [three]
    originals.delete_set_aside({one, two})
    assert originals.set_aside() == [] and not looked(originals, {one, two})
    assert read(originals, one) == b"one" and read(originals, two) == b"two"


def test_what_became_somebodys_meanwhile_is_not_deleted_with_what_is_set_aside(bucket, tmp_path):
    """Another process may add what this one saw and did not know."""
    originals = remote(bucket, tmp_path)
    [one] = kept(originals, b"one")
    assert originals.look(set())
    originals.delete_set_aside({one})
    assert originals.has(one, ".txt")


def test_what_was_set_aside_goes_with_a_removal(originals):
    [one] = kept(originals, b"one")
    looked(originals, set())
    kept(originals, b"one")
    originals.forget(one, ".txt")
    assert originals.set_aside() == [] and not looked(originals, set())


# In a bucket


def test_other_bytes_under_the_same_name_are_not_overwritten_and_said(bucket, tmp_path):
    originals = remote(bucket, tmp_path)
    incoming = originals.receive("a.txt", FERRY, HOME)
    (tmp_path / "other").write_bytes(FERRY.upper())
    bucket.put_new(f"{incoming.content_id}.txt", tmp_path / "other")
    with pytest.raises(FileExistsError):
        bucket.put_new(f"{incoming.content_id}.txt", incoming.path)
    with pytest.raises(FilesDiffer, match="were not overwritten"):
        originals.keep(incoming, ".txt")
    with pytest.raises(FilesDiffer):
        originals.send(incoming, ".txt")
    (tmp_path / "other").write_bytes(FERRY[:-5])
    bucket.put(f"{incoming.content_id}.txt", tmp_path / "other")
    with pytest.raises(FilesDiffer):
        originals.keep(incoming, ".txt")
    assert incoming.path.exists()


@pytest.mark.parametrize("moment", ["_holds", "_size"])
def test_a_file_that_is_removed_while_it_is_looked_at_is_sent_again(
    moment, bucket, tmp_path, monkeypatch
):
    """Somebody removes a document, and another brings the same file just then."""
    originals = remote(bucket, tmp_path)
    [one] = kept(originals, FERRY)
    key, look, looks = f"{one}.txt", getattr(bucket, moment), []

    def removed_before(*which):
        looks.append(which)
        if len(looks) == (1 if moment == "_holds" else 2):
            bucket.delete(key)
        return look(*which)

    monkeypatch.setattr(bucket, moment, removed_before)
    (tmp_path / "again").write_bytes(FERRY)
    bucket.put_same(key, tmp_path / "again")
    monkeypatch.undo()
    assert bucket.size(key) == len(FERRY)


def test_a_file_that_comes_and_goes_all_the_time_is_said(bucket, tmp_path, monkeypatch):
    (tmp_path / "one").write_bytes(FERRY)
    monkeypatch.setattr(bucket, "size", lambda key: len(FERRY))
    with pytest.raises(FilesError, match="comes and goes"):
        bucket.put_same("none.txt", tmp_path / "one")


def test_two_that_bring_the_same_file_at_once_both_have_it(bucket, tmp_path):
    originals = remote(bucket, tmp_path)
    each = [originals.receive("a.txt", FERRY, HOME) for _ in range(4)]
    sending = [threading.Thread(target=originals.send, args=(one, ".txt")) for one in each]
    for thread in sending:
        thread.start()
    for thread in sending:
        thread.join()
    assert read(originals, each[0].content_id) == FERRY


def test_a_large_file_goes_and_comes_in_pieces(bucket, tmp_path, monkeypatch):
    monkeypatch.setattr(object_store, "PIECE", 5 << 20)  # the least that S3 takes
    big = tmp_path / "big.bin"
    big.write_bytes(b"ferry!" * (2 << 20))
    bucket.put_new("big", big)
    with pytest.raises(FileExistsError):
        bucket.put_new("big", big)
    bucket.put_same("big", big)
    assert [len(block) for block in bucket.blocks("big")] == [5 << 20, 5 << 20, 2 << 20]
    bucket.fetch("big", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == big.read_bytes()
    assert [one.key for one in bucket.objects()] == ["big"]  # nothing is left on its way
    with pytest.raises(FileNotFoundError):
        bucket.fetch("none", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_large_file_is_never_in_memory(tmp_path):
    """Measured in a process of its own: what one has taken once, it keeps."""
    (tmp_path / "share").mkdir()
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from rag_app.storage.object_store import Bucket\n"
        "folder = Path(sys.argv[1]); big = folder / 'big'\n"
        "with big.open('wb') as file: file.truncate(160 << 20)\n"
        "bucket = Bucket((folder / 'share').as_uri(), 60); bucket.size('none')\n"
        "taken = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10\n"
        "before = taken(); bucket.put_same('big', big); bucket.put_same('big', big)\n"
        "bucket.fetch('big', folder / 'again'); print(taken() - before)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True
    )
    assert int(said.stdout) < 80, said.stdout


def test_what_was_abandoned_on_its_way_goes_after_a_day(bucket, tmp_path, monkeypatch):
    (tmp_path / "half").write_bytes(b"half")
    bucket.put("incoming-0123", tmp_path / "half")
    remote(bucket, tmp_path).look(set())
    assert bucket.size("incoming-0123") == 4
    monkeypatch.setattr(object_store, "_ABANDONED", -object_store._ABANDONED)
    remote(bucket, tmp_path).look(set())
    assert bucket.size("incoming-0123") is None


def test_what_lies_in_the_folder_from_before_is_still_found(bucket, tmp_path):
    [one] = kept(Originals(tmp_path / "files", MOST), FERRY)
    originals = remote(bucket, tmp_path)
    assert originals.has(one, ".txt") and read(originals, one) == FERRY
    originals.forget(one, ".txt")
    assert not originals.has(one, ".txt")


# Copies


@pytest.fixture
def copies(tmp_path) -> Iterator[LocalCopies]:
    copies = LocalCopies(tmp_path / "copies", 10)
    yield copies
    copies.close()


def held(copies: LocalCopies, key: str, data: bytes, fetched: list[str]) -> Path:
    def fetch(target: Path) -> None:
        fetched.append(key)
        target.write_bytes(data)

    with copies.holding(key, fetch) as path:
        assert path.read_bytes() == data
        return path


def test_copies_are_made_once_and_take_no_more_than_they_may(copies):
    fetched: list[str] = []
    first = held(copies, "a.txt", b"12345", fetched)
    held(copies, "b.txt", b"12345", fetched)
    assert held(copies, "a.txt", b"12345", fetched) == first and fetched == ["a.txt", "b.txt"]
    held(copies, "c.txt", b"12345", fetched)
    assert not copies.has("b.txt") and copies.has("a.txt") and copies.has("c.txt")
    huge = held(copies, "d.txt", b"1234567890 and more", fetched)
    assert huge.exists() and not copies.has("a.txt")  # it may be about to be opened


def test_a_copy_that_is_being_read_stays_and_one_that_is_idle_goes(copies, monkeypatch):
    with copies.holding("a.txt", lambda target: target.write_bytes(b"1234567890")) as path:
        held(copies, "b.txt", b"1234567890", [])
        held(copies, "c.txt", b"1234567890", [])
        assert path.read_bytes() == b"1234567890"
    monkeypatch.setattr(object_store, "_IDLE", 0.0)
    copies.tidy()
    assert not any(copies.has(key) for key in ("a.txt", "b.txt", "c.txt"))


def test_a_copy_that_could_not_be_made_whole_is_none(copies, tmp_path):
    def broken(target: Path) -> None:
        target.write_bytes(b"half")
        raise FilesUnreachable("It broke off.")

    with pytest.raises(FilesUnreachable), copies.holding("a.txt", broken):
        pass
    assert not copies.has("a.txt") and list((tmp_path / "copies").iterdir()) == []


# When it cannot be used


def whole(error: pytest.ExceptionInfo[FilesError], caplog: pytest.LogCaptureFixture) -> str:
    """A sentence for people, and no key in it or in the log."""
    said = str(error.value)
    assert said.endswith((".", "itself.")) and "\n" not in said and len(said) < 300, said
    for secret in (SECRET, KEY):
        assert secret not in said and secret not in caplog.text
    assert error.value.__suppress_context__  # a traceback does not tell it either
    return said


@pytest.mark.parametrize(
    ("mode", "kind", "words"),
    [
        ("refuse", FilesRefused, "does not let the app in"),
        ("vanish", FilesUnreachable, "cannot be reached"),
        ("stall", FilesUnreachable, "RAG_APP_FILES_SECONDS"),
    ],
)
def test_a_bucket_that_does_not_work_is_said_in_a_sentence(
    way, tmp_path, caplog, mode, kind, words
):
    caplog.set_level(logging.DEBUG)
    bucket = Bucket(f"s3://{BUCKET}/x", 1.0)
    (tmp_path / "a").write_bytes(FERRY)
    way.mode = mode
    began = time.monotonic()
    for act in (
        lambda: bucket.put_same("a", tmp_path / "a"),
        lambda: bucket.put("a", tmp_path / "a"),
        lambda: bucket.fetch("a", tmp_path / "b"),
        lambda: list(bucket.objects()),
        lambda: bucket.delete("a"),
    ):
        with pytest.raises(kind) as error:
            act()
        assert words in whole(error, caplog)
    assert time.monotonic() - began < 60
    way.mode = ""
    assert keys(way.behind, BUCKET) == []


def test_full_is_told_from_refused_where_the_server_says_it(way, tmp_path):
    bucket = Bucket(f"s3://{BUCKET}/x", 20)
    (tmp_path / "a").write_bytes(FERRY)
    way.mode = "refuse"
    with pytest.raises(FilesRefused, match="AccessDenied"):
        bucket.put_new("a", tmp_path / "a")
    way.mode, way.only = "full", "PUT"
    with pytest.raises(FilesFull, match=r"no room left.*QuotaExceeded"):
        bucket.put_same("a", tmp_path / "a")


def test_a_bucket_or_folder_that_is_not_there_is_said_and_never_made(way, tmp_path, caplog):
    (tmp_path / "a").write_bytes(FERRY)
    for url in ("s3://nobodys-bucket/x", (tmp_path / "unmounted").as_uri()):
        bucket = Bucket(url, 20)
        for act in (
            lambda bucket=bucket: bucket.put_same("a", tmp_path / "a"),
            lambda bucket=bucket: bucket.fetch("a", tmp_path / "b"),
            lambda bucket=bucket: list(bucket.objects()),
        ):
            with pytest.raises(FilesMissing) as error:
                act()
            assert url in whole(error, caplog)
    assert not (tmp_path / "unmounted").exists()


def test_an_upload_that_breaks_off_once_is_tried_again(way, tmp_path):
    """What has a condition is sent once by obstore itself."""
    bucket = Bucket(f"s3://{BUCKET}/x", 20)
    (tmp_path / "a").write_bytes(FERRY)
    way.mode, way.only = "vanish", "PUT"
    real = bucket.put_new

    def mended(key: str, path: Path) -> None:
        try:
            real(key, path)
        finally:
            way.mode = ""

    bucket.put_new = mended  # type: ignore[method-assign]
    bucket.put_same("a", tmp_path / "a")
    assert b"".join(bucket.blocks("a")) == FERRY


@pytest.mark.parametrize(
    "url",
    ["s3://KEY:SECRET@bucket/x", "http://bucket/x", "s3://", "s3://b?key=1", "file://host/x", "/x"],
)
def test_an_address_with_a_key_in_it_or_of_another_kind_is_refused(tmp_path, url):
    with pytest.raises(SettingsError, match="RAG_APP_FILES_URL") as error:
        Settings.load(data_dir=tmp_path, files_url=url)
    assert "SECRET" not in str(error.value)


# A library


def open_library(folder: Path, seconds: float = 60, url: str = f"s3://{BUCKET}/lib") -> Library:
    settings = Settings.load(data_dir=folder, files_url=url, files_seconds=seconds)
    return Library(settings, embedder=WordEmbedder())


def soon(said: Callable[[], bool]) -> bool:
    until = time.monotonic() + 60
    while not said() and time.monotonic() < until:
        time.sleep(0.02)
    return said()


def ready(library: Library, document_id: str) -> bool:
    [document] = library.wait([document_id], timeout=60)
    return document.status is Status.READY


def test_a_library_keeps_its_originals_in_a_bucket_and_nothing_of_them_here(way, tmp_path):
    with open_library(tmp_path / "data") as library:
        ferry = library.add("ferry.txt", FERRY).document
        assert ready(library, ferry.id) and library.search("ferry")
        assert library.add("again.txt", FERRY).duplicate
        assert keys(way.behind, BUCKET) == [f"lib/{ferry.id}.txt"]
        assert library.original(ferry.id).read_bytes() == FERRY
        library.retry(ferry.id)
        assert ready(library, ferry.id)
    assert not [p for p in (tmp_path / "data" / "files").rglob("*") if p.is_file()]
    assert not [p for p in (tmp_path / "data" / "reading").rglob("*.txt")]
    with open_library(tmp_path / "data") as library:
        library.remove(ferry.id)
        assert keys(way.behind, BUCKET) == []


def test_a_page_is_drawn_from_a_copy_and_a_locked_file_is_unlocked(way, tmp_path):
    with open_library(tmp_path / "data") as library:
        data = locked(pdf("Ferries cost four euros."), "key")
        document = library.add("locked.pdf", data).document
        [failed] = library.wait([document.id], timeout=60)
        assert failed.status is Status.FAILED
        library.unlock(document.id, "key")
        assert ready(library, document.id)
        picture = library.picture(document.id, 1)
        assert picture is not None and picture.webp
        assert library.boxes(document.id, 1, 0, 5)
        there = sorted(keys(way.behind, BUCKET))
        assert there == [f"lib/{document.id}.pdf", f"lib/{document.id}{UNLOCKED}.pdf"]
        library.remove(document.id)
        assert keys(way.behind, BUCKET) == []


def test_what_cannot_be_sent_is_not_accepted_and_nothing_of_it_stays(way, tmp_path):
    with open_library(tmp_path / "data", seconds=2) as library:
        way.mode, way.only = "vanish", "PUT"
        with pytest.raises(FilesUnreachable):
            library.add("ferry.txt", FERRY)
        assert library.documents() == []
        assert not [p for p in (tmp_path / "data" / "files").rglob("*") if p.is_file()]
        way.mode = ""
        assert ready(library, library.add("ferry.txt", FERRY).document.id)


def test_work_waits_while_the_bucket_is_away_and_then_goes_on(way, tmp_path):
    with open_library(tmp_path / "data") as library:
        library.pause()
        ferry = library.add("ferry.txt", FERRY).document
    with open_library(tmp_path / "data", seconds=1) as library:
        way.mode = "refuse"
        library.resume()
        assert soon(lambda: "does not let the app in" in library.trouble)
        assert library.document(ferry.id).status is Status.RECEIVED
        way.mode = ""
        assert ready(library, ferry.id)
        assert soon(lambda: not library.trouble)


def test_what_is_removed_while_the_bucket_is_away_goes_when_it_is_back(way, monkeypatch, tmp_path):
    monkeypatch.setattr(service, "_AGAIN", 0.5)
    with open_library(tmp_path / "data", seconds=1) as library:
        ferry = library.add("ferry.txt", FERRY).document
        assert ready(library, ferry.id)
        way.mode = "refuse"
        library.remove(ferry.id)
        assert library.documents() == []
        assert not library.wait_until_clean(0.1)
    with open_library(tmp_path / "data", seconds=1) as library:  # it opens without its bucket
        way.mode = ""
        assert library.add("ferry.txt", FERRY).document.id == ferry.id  # and may come again
        assert ready(library, ferry.id)
        library.remove(ferry.id)
        assert library.wait_until_clean(60) and keys(way.behind, BUCKET) == []


def test_a_lost_database_offers_what_is_in_the_bucket_again(way, tmp_path):
    with open_library(tmp_path / "data") as library:
        ferry = library.add("ferry.txt", FERRY).document
        assert ready(library, ferry.id)
    (tmp_path / "data" / "library.sqlite3").unlink()
    with open_library(tmp_path / "data") as library:
        until = time.monotonic() + 60
        while not library.set_aside() and time.monotonic() < until:
            time.sleep(0.02)
        [added] = library.add_set_aside().added
        assert added.document.id == ferry.id and ready(library, ferry.id)
        assert library.set_aside() == []
        library.delete_set_aside()
        assert keys(way.behind, BUCKET) == [f"lib/{ferry.id}.txt"]


def test_a_backup_holds_what_is_in_the_bucket_and_is_restored_to_one(way, tmp_path):
    url = f"s3://{BUCKET}/lib"
    with open_library(tmp_path / "data") as library:
        ferry = library.add("ferry.txt", FERRY).document
        assert ready(library, ferry.id)
        (tmp_path / "strange").write_bytes(b"nobody's")
        Bucket(url, 60).put(f"{'a' * 64}.txt", tmp_path / "strange")
        _, manifest = back_up(tmp_path / "data", tmp_path / "b.zip", bucket=Bucket(url, 60))
    assert not manifest.lost
    assert f"files/set-aside/{'a' * 64}.txt" in manifest.members
    other = f"s3://{BUCKET}/other"
    restore(tmp_path / "b.zip", tmp_path / "again", bucket=Bucket(other, 60))
    there = {one.key for one in Bucket(other, 60).objects()}
    assert there == {f"{ferry.id}.txt", f"{'a' * 64}.txt"}
    assert not [p for p in (tmp_path / "again" / "files").rglob("*") if p.is_file()]
    with open_library(tmp_path / "again", url=other) as library:
        library.retry(ferry.id)
        assert ready(library, ferry.id)
    restore(tmp_path / "b.zip", tmp_path / "folder")  # and to a folder
    assert (tmp_path / "folder" / "files" / f"{ferry.id}.txt").read_bytes() == FERRY


def test_a_backup_is_whole_or_none_when_the_bucket_is_away(way, tmp_path):
    with open_library(tmp_path / "data") as library:
        assert ready(library, library.add("ferry.txt", FERRY).document.id)
    way.mode = "refuse"
    with pytest.raises(FilesRefused):
        back_up(tmp_path / "data", tmp_path / "b.zip", bucket=Bucket(f"s3://{BUCKET}/lib", 1))
    assert not (tmp_path / "b.zip").exists()


def test_a_full_disk_here_is_told_from_a_full_bucket(way, tmp_path, monkeypatch):
    originals = remote(Bucket(f"s3://{BUCKET}/x", 20), tmp_path)
    [one] = kept(originals, FERRY)
    originals.close()

    def full(self: Bucket, key: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Bucket, "fetch", full)
    with pytest.raises(DiskFull):
        read(originals, one)


def test_without_an_address_obstore_is_never_imported(tmp_path):
    code = (
        "import sys; from pathlib import Path; from rag_app.settings import Settings\n"
        "from rag_app.storage.object_store import originals_of\n"
        "import rag_app.library, rag_app.storage.backup\n"
        "made = originals_of(Settings.load(data_dir=Path(sys.argv[1])))\n"
        "assert 'obstore' not in sys.modules and type(made).__name__ == 'Originals'"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True)


def test_without_the_package_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(object_store, "find_spec", lambda name: None)
    settings = Settings.load(data_dir=tmp_path, files_url="s3://bucket/x")
    with pytest.raises(SettingsError, match=r"rag-app\[cluster\]"):
        originals_of(settings)


def test_a_refused_file_leaves_no_copy_of_what_stays_set_aside(tmp_path):
    (share := tmp_path / "share").mkdir()
    (share / f"{'a' * 64}.txt").write_bytes(bytes(range(256)) * 9)
    with open_library(tmp_path / "data", url=share.as_uri()) as library:
        assert soon(lambda: bool(library.set_aside()))
        assert len(library.add_set_aside().refused) == 1
        assert not list((tmp_path / "data" / "files").glob("incoming-*"))
        assert len(library.set_aside()) == 1
