"""`rag-app load`: a bucket or a folder, again and again; what changed, failed, or broke off."""

from __future__ import annotations

import json
import re
import shutil
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import rag_app.open_library
from rag_app import cli
from rag_app.cli import server_commands
from rag_app.ingestion import loading
from rag_app.library import Library
from rag_app.settings import Settings
from tests.fakes import WordEmbedder
from tests.object_stores import KEY, SECRET, keys, straight_to
from tests.test_remote_originals import BUCKET, server, way

pytest.importorskip("obstore", reason="of the extra “cluster”")
__all__ = ["server", "way"]  # fixtures
FERRY, MUSEUM = "The ferry costs four euros.", "The museum is closed on Mondays."


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command with the word embedder; returns (status, out, err)."""
    monkeypatch.setattr(rag_app.open_library, "MiniLmEmbedder", lambda threads: WordEmbedder())

    def run(*arguments: str):
        status = cli.main([*arguments, "--data-dir", str(tmp_path / "data")])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture(params=["folder", "file", "s3"])
def source(request, tmp_path) -> SimpleNamespace:
    """A place of files, how it is named, and how files are put there and taken away."""
    if request.param == "s3":
        behind = request.getfixturevalue("way").behind
        store = straight_to(behind, BUCKET)
        return SimpleNamespace(
            name=f"s3://{BUCKET}/in",
            put=lambda path, text: store.put(f"in/{path}", text.encode()),
            delete=lambda path: store.delete(f"in/{path}"),
        )
    folder = tmp_path / "source"
    folder.mkdir()

    def put(path: str, text: str) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)

    name = folder.as_uri() if request.param == "file" else str(folder)
    return SimpleNamespace(name=name, put=put, delete=lambda path: (folder / path).unlink())


def documents(run) -> dict[str, str]:
    return {one["name"]: one["document_id"] for one in json.loads(run("documents", "--json")[1])}


def said(out: str) -> tuple[int, ...]:
    """(loaded, pages, there, failed) of the last line."""
    return tuple(int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", out.splitlines()[-1]))


def test_all_that_can_be_read_is_taken_and_a_second_run_does_nothing(run, source):
    source.put("ferry.txt", FERRY)
    source.put("deep/er/museum.md", MUSEUM)
    source.put("deep/no.bin", "?")
    source.put(".hidden.txt", "?")
    status, out, _ = run("load", source.name)
    assert (status, said(out)) == (0, (2, 2, 0, 0)), out
    before = documents(run)
    assert set(before) == {"ferry.txt", "museum.md"}
    status, out, _ = run("load", source.name)
    assert (status, said(out)) == (0, (0, 0, 2, 0)) and documents(run) == before
    assert run("load", source.name, "--json")[1] == ""


def test_what_changed_takes_the_place_of_what_it_was(run, source):
    source.put("ferry.txt", FERRY)
    source.put("museum.txt", MUSEUM)
    run("load", source.name)
    before = documents(run)
    source.put("ferry.txt", FERRY.replace("four", "seventeen"))
    _, out, _ = run("load", source.name)
    assert said(out) == (1, 1, 1, 0)
    after = documents(run)
    assert set(after) == set(before) and after["museum.txt"] == before["museum.txt"]
    assert after["ferry.txt"] != before["ferry.txt"]
    source.delete("museum.txt")  # what is gone there stays here
    assert said(run("load", source.name)[1]) == (0, 0, 1, 0) and documents(run) == after


def test_what_was_removed_here_is_not_loaded_again_unless_it_changes(run, source):
    source.put("ferry.txt", FERRY)
    run("load", source.name)
    run("remove", "ferry.txt")
    assert said(run("load", source.name)[1]) == (0, 0, 1, 0) and documents(run) == {}
    source.put("ferry.txt", MUSEUM)
    assert said(run("load", source.name)[1]) == (1, 1, 0, 0)


def test_one_file_that_lies_at_two_places_stays_while_it_is_at_one(run, source):
    source.put("a/ferry.txt", FERRY)
    source.put("b/ferry.txt", FERRY)
    assert run("load", source.name)[0] == 0
    [before] = documents(run).values()
    source.put("b/ferry.txt", MUSEUM)
    run("load", source.name)
    after = documents(run)
    assert before in after.values() and len(after) == 2


def test_what_a_file_was_stays_while_what_it_is_now_is_not_read(tmp_path):
    (folder := tmp_path / "in").mkdir()
    (folder / "ferry.txt").write_text(FERRY)
    settings = Settings.load(data_dir=tmp_path / "data")
    with Library(settings, embedder=WordEmbedder()) as library:
        there = loading.source_of(str(folder), settings)

        def load() -> list[str]:
            added = [library.loading.add(there, found) for found in there.files()]
            library.wait([one.document.id for one in added if one])
            return sorted(document.name for document in library.documents())

        assert load() == ["ferry.txt"]
        (folder / "blank.txt").write_text(" \n \n")
        shutil.copy(folder / "blank.txt", folder / "ferry.txt")
        library.pause()
        for found in there.files():
            library.loading.add(there, found)
        library.resume()
        for _ in range(2):
            for found in there.files():  # each tries what failed again, and fails before the next
                if again := library.loading.add(there, found):
                    library.wait([again.document.id])
        assert load() == ["blank.txt", "ferry.txt"]
        (folder / "ferry.txt").write_text(MUSEUM)
        assert load() == ["blank.txt", "ferry.txt"]
        assert library.search("museum")[0].name == "ferry.txt"


def test_what_came_out_of_an_archive_too_stays_when_its_file_changes(run, source, tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("ferry.txt", FERRY)
    run("add", str(tmp_path / "all.zip"))
    source.put("ferry.txt", FERRY)
    run("load", source.name)
    before = set(documents(run).values())
    assert len(before) == 2  # the archive, and what is in it and in the source
    source.put("ferry.txt", MUSEUM)
    run("load", source.name)
    assert before < set(documents(run).values())


def test_what_fails_is_said_at_the_end_and_tried_again(run, source, monkeypatch):
    monkeypatch.setenv("RAG_APP_MAX_FILE_MB", "1")
    source.put("ferry.txt", FERRY)
    source.put("empty.txt", "")
    source.put("huge.txt", "x" * ((1 << 20) + 1))  # which is read in the end: no larger than needed
    source.put("torn.pdf", "no pdf at all")
    status, out, _ = run("load", source.name)
    assert status == 1 and said(out) == (1, 1, 0, 3)
    failed = {line.split(": ")[0].split("/")[-1].split()[-1]: line for line in out.splitlines()[:3]}
    assert "RAG_APP_MAX_FILE_MB" in failed["huge.txt"] and "0 bytes" in failed["empty.txt"]
    assert "not a PDF" in failed["torn.pdf"]
    source.put("empty.txt", MUSEUM)
    monkeypatch.setenv("RAG_APP_MAX_FILE_MB", "5")
    status, out, _ = run("load", source.name)
    assert status == 1 and said(out)[0] == 2 and said(out)[2:] == (1, 1)


def test_as_json_there_is_one_object_for_each_file_that_was_taken(run, source):
    source.put("ferry.txt", FERRY)
    source.put("torn.pdf", "no pdf at all")
    status, out, err = run("load", source.name, "--json")
    became = {one["path"].rpartition("/")[2]: one for one in map(json.loads, out.splitlines())}
    assert status == 1 and became["ferry.txt"]["status"] == "ready" and err == ""
    assert became["torn.pdf"]["status"] == "failed" and became["torn.pdf"]["error"]


def test_strange_names_are_files_like_others(run, source):
    for name in ("ü é 日本.txt", "a+b&c=d%41.txt", "'one' \"two\".txt", "<i>.txt", "a;b?c#d.txt"):
        source.put(name, f"{name} {FERRY}")
    status, out, _ = run("load", source.name)
    assert status == 0 and said(out)[0] == 5, out
    assert "ü é 日本.txt" in documents(run) and "a+b&c=d%41.txt" in documents(run)


def test_a_collection_is_loaded_into_and_remembered_apart(run, source):
    source.put("ferry.txt", FERRY)
    assert run("collections", "--make", "Harbour")[0] == 0
    assert said(run("load", source.name, "--collection", "Harbour")[1]) == (1, 1, 0, 0)
    assert said(run("load", source.name)[1]) == (1, 1, 0, 0)
    assert said(run("load", source.name, "--collection", "Harbour")[1]) == (0, 0, 1, 0)
    assert said(run("load", source.name)[1]) == (0, 0, 1, 0)


def test_thousands_of_tiny_files_are_never_all_under_way(run, tmp_path, monkeypatch):
    monkeypatch.setattr(server_commands, "_AHEAD", 10)
    monkeypatch.setattr(server_commands, "_TOLD_EVERY", (0.0, 0.0))
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number:03}.txt").write_text(f"{number} {FERRY}")
    most = [0]
    real = loading.Loading.add

    def counted(self, *given):
        waiting = len(self._remove.__self__.progress())
        most[0] = max(most[0], waiting)
        return real(self, *given)

    monkeypatch.setattr(loading.Loading, "add", counted)
    status, out, err = run("load", str(folder))
    assert (status, said(out)) == (0, (60, 60, 0, 0)) and most[0] <= 10
    assert re.search(r"\d+ of 60 files, \d+ pages?, [\d,]+ files a minute", err)


def test_a_run_that_was_stopped_goes_on_where_it_ended(run, tmp_path, monkeypatch):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(8):
        (folder / f"{number}.txt").write_text(f"{number} {FERRY}")
    real, taken = loading.Loading.add, []

    def stopped(self, source, found, *given):
        if len(taken) == 3:
            raise KeyboardInterrupt
        taken.append(found.path)
        return real(self, source, found, *given)

    monkeypatch.setattr(server_commands, "_AT_ONCE", 1)
    monkeypatch.setattr(loading.Loading, "add", stopped)
    status, _, err = run("load", str(folder))
    assert status == 130 and "goes on at the next start" in err
    monkeypatch.setattr(loading.Loading, "add", real)
    status, out, _ = run("load", str(folder))
    loaded, _, there, failed = said(out)
    assert status == 0 and loaded + there == 8 and failed == 0 and loaded >= 5
    assert len(documents(run)) == 8


def test_what_was_begun_before_is_waited_for(run, tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "ferry.txt").write_text(FERRY)
    settings = Settings.load(data_dir=tmp_path / "data")
    with Library(settings, embedder=WordEmbedder()) as library:
        library.pause()
        place = loading.source_of(str(tmp_path / "source"), settings)
        [found] = place.files()
        assert library.loading.add(place, found) is not None
    assert run("queue", "--resume")[0] == 0
    run("load", str(tmp_path / "source"))
    assert json.loads(run("documents", "--json")[1])[0]["status"] == "ready"


@pytest.mark.parametrize(
    ("mode", "words"),
    [("refuse", "does not let the app in"), ("stall", "RAG_APP_FILES_SECONDS")],
)
def test_a_bucket_that_does_not_list_is_said_and_status_is_1(run, way, monkeypatch, mode, words):
    monkeypatch.setenv("RAG_APP_FILES_SECONDS", "1")
    way.mode = mode
    status, out, err = run("load", f"s3://{BUCKET}/in")
    assert status == 1 and words in err and "goes on where it ended" in err
    assert said(out) == (0, 0, 0, 0)


def test_a_bucket_that_goes_in_the_middle_loses_nothing(run, way, monkeypatch):
    monkeypatch.setenv("RAG_APP_FILES_SECONDS", "2")
    monkeypatch.setattr(server_commands, "_AT_ONCE", 1)
    for number in range(6):
        straight_to(way.behind, BUCKET).put(f"in/{number}.txt", f"{number} {FERRY}".encode())
    real, taken = loading.Loading.add, []

    def going(self, source, found, *given):
        taken.append(found.path)
        if len(taken) == 3:
            way.mode = "refuse"
        return real(self, source, found, *given)

    monkeypatch.setattr(loading.Loading, "add", going)
    status, out, err = run("load", f"s3://{BUCKET}/in")
    assert status == 1 and "does not let the app in" in err and said(out) == (2, 2, 0, 0)
    way.mode = ""
    status, out, _ = run("load", f"s3://{BUCKET}/in")
    assert (status, said(out)) == (0, (4, 4, 2, 0))


@pytest.mark.parametrize("key", ["in/../up.txt", "in/a//b.txt", "in/./c.txt", "in/x\x01y.txt"])
def test_a_name_that_no_file_can_have_is_said_or_taken(run, way, key):
    boto3 = pytest.importorskip("boto3")
    given = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
    store = boto3.client("s3", endpoint_url=way.behind, **given)
    store.put_object(Bucket=BUCKET, Key=key, Body=MUSEUM.encode())
    status, out, err = run("load", f"s3://{BUCKET}/in")
    assert "Traceback" not in err
    if status:
        assert "a name that no file can have here" in err and err.count("\n") == 1
    else:
        assert said(out) == (1, 1, 0, 0)


def test_originals_in_one_bucket_and_what_is_loaded_in_another_place_of_it(run, way, monkeypatch):
    monkeypatch.setenv("RAG_APP_FILES_URL", f"s3://{BUCKET}/kept")
    straight_to(way.behind, BUCKET).put("in/ferry.txt", FERRY.encode())
    assert said(run("load", f"s3://{BUCKET}/in")[1]) == (1, 1, 0, 0)
    assert len([key for key in keys(way.behind, BUCKET) if key.startswith("kept/")]) == 1
    for around in (f"s3://{BUCKET}", f"s3://{BUCKET}/kept", f"s3://{BUCKET}/kept/deeper"):
        status, _, err = run("load", around)
        assert status == 2 and "originals of this library" in err


@pytest.mark.parametrize("name", ["/no/such/folder", "ftp://bucket/x", "s3://KEY:SECRET@bucket/x"])
def test_a_source_that_is_none_is_bad_use(run, name):
    status, _, err = run("load", name)
    assert status == 2 and err.count("\n") == 1 and "SECRET" not in err


def test_our_own_data_is_never_loaded(run, tmp_path):
    (tmp_path / "ferry.txt").write_text(FERRY)
    assert said(run("load", str(tmp_path))[1])[0] == 1
    assert said(run("load", str(tmp_path))[1]) == (0, 0, 1, 0)


def test_how_far_it_is_says_how_long_it_will_take(monkeypatch, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    source = loading.FolderSource(tmp_path, Path("/nowhere"))
    told = server_commands._Told(source)
    until = time.monotonic() + 10
    while not told._total and time.monotonic() < until:
        time.sleep(0.01)
    told._total = 100
    now = told._began
    monkeypatch.setattr(told._pace, "_clock", lambda: now + 60)
    assert told._said(10, 20, now + 60) == "10 of 100 files, 20 pages, 10 files a minute"
    monkeypatch.setattr(told._pace, "_clock", lambda: now + 120)
    said = told._said(20, 40, now + 120)
    assert said == "20 of 100 files, 40 pages, 10 files a minute · about 8 min left"
