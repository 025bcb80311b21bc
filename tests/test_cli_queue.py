from __future__ import annotations

import io
import json
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rag_app import cli
from rag_app.cli import document_commands as cli_queue
from rag_app.cli.document_commands import _GAVE_WAY, _as_they_are_done, became
from rag_app.ingestion import watching
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Added, Document, Status
from tests.fakes import WordEmbedder


@pytest.fixture
def run(monkeypatch, capsys, own_house):
    """Runs a command and gives its status and what it printed."""
    monkeypatch.setattr("rag_app.open_library.MiniLmEmbedder", lambda *_: WordEmbedder())

    def command(*arguments: str) -> tuple[int, str]:
        status = cli.main(list(arguments))
        return status, capsys.readouterr().out

    return command


def packed(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def objects(said: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines()]


def test_adding_an_archive_waits_for_what_is_in_it_and_reports_it(run, tmp_path):
    (tmp_path / "a.zip").write_bytes(packed({"one.txt": "first words", "two.txt": "second"}))
    status, said = run("add", str(tmp_path / "a.zip"), "--json")
    [added] = objects(said)
    assert status == 0 and added["status"] == "ready" and added["pages_without_text"] == 0
    assert added["parts"] == ["a.zip › one.txt", "a.zip › two.txt"]
    [listed] = objects(run("documents", "--json")[1])
    assert {d["name"]: d["status"] for d in listed} == {  # type: ignore[index]
        "a.zip": "ready",
        "a.zip › one.txt": "ready",
        "a.zip › two.txt": "ready",
    }
    assert listed[1]["inside"] == ["a.zip"]  # type: ignore[index]
    assert run("remove", "a.zip") == (0, "removed  a.zip\n")
    assert objects(run("documents", "--json")[1]) == [[]]


def test_a_paused_queue_says_what_waits_and_goes_on_when_resumed(run, tmp_path):
    (tmp_path / "a.txt").write_text("first words")
    assert run("queue", "--pause") == (0, "0 waiting, paused\n")
    [added] = objects(run("add", str(tmp_path / "a.txt"), "--json")[1])
    assert added["status"] == "waiting"
    assert objects(run("queue", "--json")[1]) == [{"paused": True, "waiting": ["a.txt"]}]
    assert run("queue", "--cancel", "a.txt") == (0, "0 waiting, paused\n")
    run("queue", "--resume")
    assert run("queue", "--retry", "a.txt") == (0, "0 waiting\n")
    [[listed]] = objects(run("documents", "--json")[1])
    assert listed["status"] == "ready"  # type: ignore[index]


def test_a_watched_folder_is_told_of_until_it_is_left_alone(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(watching, "SETTLE", 0.1)
    monkeypatch.setattr(cli_queue, "_LOOK_EVERY", 0.05)
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.txt").write_text("first words")
    real, said = cli_queue._tell, []

    def tell(what: dict[str, Any], as_json: bool) -> None:
        real(what, as_json)
        said.append((what["name"], what["status"]))
        if len(said) == 1:
            (folder / "a.txt").unlink()
        if len(said) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(cli_queue, "_tell", tell)
    assert run("add", "--watch", str(folder), "--json")[0] == 130
    assert said == [("a.txt", "ready"), ("a.txt", "removed")]
    [[watched]] = objects(run("watched", "--json")[1])
    assert watched["folder"] == str(folder.resolve())  # type: ignore[index]
    assert watched["trouble"] is None  # type: ignore[index]
    assert run("unwatch", str(folder))[0] == 0
    assert objects(run("watched", "--json")[1]) == [[]]
    assert run("add", "--watch", str(folder / "nowhere"))[0] == 2


def test_what_is_watched_goes_on_while_questions_are_asked(own_house, tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "SETTLE", 0.1)
    folder = tmp_path / "papers"
    folder.mkdir()
    with Library(Settings.load(data_dir=own_house), embedder=WordEmbedder()) as library:
        first = library.add("first.txt", b"The ferry costs four euros.").document.id
        library.wait([first], timeout=60)
        library.watch(folder)
        writer = threading.Thread(target=fill, args=(folder,))
        writer.start()
        until = time.monotonic() + 60
        while len(library.documents()) < 11 and time.monotonic() < until:
            library.wait([d.id for d in library.documents()], timeout=0.2)
            assert library.search("ferry")
        writer.join()
        assert len(library.documents()) == 11


def fill(folder: Path) -> None:
    for n in range(10):
        (folder / f"{n}.txt").write_text(f"Note number {n}.")
        time.sleep(0.05)


class Scripted:
    """A library whose work is done step by step, one at every look."""

    paused = False

    def __init__(self, *busy: set[str]) -> None:
        self.busy, self.looks = list(busy), 0

    def progress(self) -> dict[str, None]:
        self.looks += 1
        return dict.fromkeys(self.busy.pop(0))

    def parts(self, document_id: str) -> list[str]:
        return ["inside"] if document_id == "bundle" else []

    def wait(self, ids: list[str], timeout: float) -> None:
        assert "long" in ids


def test_a_file_that_gave_way_while_others_are_waited_for_is_done():
    gone = Document("gone", "x.txt", ".txt", 1, Status.RECEIVED, "")
    with Library(Settings.load()) as library:
        assert cli_queue.with_parts(library, ["gone"]) == ["gone"]
        [(_, began, added)] = _as_they_are_done(library, [("x.txt", 0.0, Added(gone))])
        assert became(library, "x.txt", began, added)["error"] == _GAVE_WAY


def test_files_are_reported_as_they_are_done_and_with_what_came_out_of_them():
    def accepted(name: str) -> tuple[str, float, Added]:
        return name, 0.0, Added(Document(name, name, ".txt", 1, Status.RECEIVED, ""))

    given = [accepted(name) for name in ("long", "bundle", "short")]
    library = Scripted({"long", "bundle"}, {"long", "inside"}, {"long"}, set())
    done = [(name, library.looks) for name, _, _ in _as_they_are_done(library, given)]
    assert done == [("short", 1), ("bundle", 3), ("long", 4)]
    resting = Scripted()
    resting.paused = True
    assert list(_as_they_are_done(resting, given)) == given
