"""The folder through which a file reaches the reading process, and what is made of it comes out."""

from __future__ import annotations

import errno
import gc
import os
import shutil
from pathlib import Path

import pytest
from offices import docx, paragraph
from old_offices import compound, word
from pdfs import locked, pdf

from rag_app.errors import DiskFull, LimitReached, WrongPassword
from rag_app.reading import sandbox as module
from rag_app.reading.limits import Limits
from rag_app.reading.sandbox import Sandbox, Workspace, swept

posix = pytest.mark.skipif(os.name != "posix", reason="links are told apart by POSIX")


@pytest.fixture
def original(tmp_path):
    path = tmp_path / "files" / "original.pdf"
    path.parent.mkdir()
    path.write_bytes(pdf("Hello"))
    return path


@pytest.fixture
def workspace(tmp_path):
    made = Workspace(tmp_path / "reading")
    yield made
    made.remove()


def inside(folder: Path) -> list[str]:
    """The files in a folder and its folders."""
    return sorted(path.name for path in folder.rglob("*") if not path.is_dir())


@posix
def test_a_file_comes_in_as_a_link_and_not_as_a_copy(workspace, original):
    with workspace.holding(original) as shown:
        assert shown.samefile(original) and shown.suffix == ".pdf"
        assert inside(workspace.folder) == ["1.pdf"]
    assert inside(workspace.folder) == [] and original.is_file()


def test_where_there_are_no_links_it_is_a_copy(workspace, original, monkeypatch):
    def unknown(*_, **__):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unknown)
    with workspace.holding(original) as shown:
        assert not shown.samefile(original) and shown.read_bytes() == original.read_bytes()
    assert inside(workspace.folder) == []


def test_a_file_that_is_not_there_is_not_there_for_the_process(workspace, original):
    with workspace.holding(original.with_name("absent.pdf")) as shown:
        assert not shown.exists()


def test_a_full_disk_is_told_as_such(workspace, original, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", full)
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(DiskFull), workspace.holding(original):
        pass
    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(DiskFull):
        Workspace(None)


def test_without_room_beside_the_originals_there_may_be_some_elsewhere(tmp_path, original):
    (tmp_path / "reading").write_text("in the way")
    made = Workspace(tmp_path / "reading")
    with made.holding(original) as shown:
        assert shown.read_bytes() == original.read_bytes()
    made.remove()
    assert not made.folder.exists()


def test_a_workspace_goes_with_who_made_it(tmp_path):
    made = Workspace(tmp_path / "reading")
    folder = made.folder
    del made
    gc.collect()
    assert not folder.exists()


def test_what_a_killed_process_left_is_swept(tmp_path, original):
    left = tmp_path / "reading" / "tmp1" / "in" / "1.pdf"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"words")
    assert swept(tmp_path) == tmp_path / "reading" and not left.exists()
    assert original.is_file()


@posix
def test_only_files_that_were_unpacked_are_handed_over(workspace, original, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    with workspace.holding(original):
        for name in ("1", "2", "../in/3", "4.txt", "tmpabc"):
            (workspace.outbox / name).write_text(name)
        (workspace.outbox / "5").symlink_to(original)
        (workspace.outbox / "6").mkdir()
        workspace.hand_over_parts(parts)
    assert inside(parts) == ["1", "2"]


@posix
def test_a_link_is_not_handed_over_for_a_file(workspace, original, tmp_path):
    target = tmp_path / "open.pdf"
    with workspace.holding(original):
        (workspace.outbox / "made.pdf").symlink_to(original)
        workspace.hand_over("made.pdf", target)
        workspace.hand_over("absent.pdf", target)
    assert not target.exists() and not target.is_symlink()


def test_what_is_handed_over_to_another_disk_is_whole_or_not_there(
    workspace, original, tmp_path, monkeypatch
):
    replaced, target = Path.replace, tmp_path / "open.pdf"

    def replace(path, to):
        if path.parent != Path(to).parent:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return replaced(path, to)

    monkeypatch.setattr(Path, "replace", replace)
    with workspace.holding(original):
        (workspace.outbox / "made.pdf").write_text("words")
        workspace.hand_over("made.pdf", target)
    assert target.read_text() == "words" and inside(tmp_path) == ["open.pdf", "original.pdf"]


# As the sandbox uses it


@pytest.fixture
def sandbox(tmp_path):
    made = Sandbox(Limits(seconds=60), tmp_path / "reading")
    yield made
    made.close()


def test_an_unlocked_copy_arrives_and_nothing_else_stays(sandbox, original, tmp_path):
    original.write_bytes(locked(pdf("Secret"), "word"))
    target = tmp_path / "files" / "open.pdf"
    with pytest.raises(WrongPassword):
        sandbox.unlock(original, "no", target)
    assert inside(tmp_path) == ["original.pdf"]
    sandbox.unlock(original, "word", target)
    assert inside(tmp_path) == ["open.pdf", "original.pdf"]


def test_a_file_that_is_not_locked_has_no_unlocked_copy(sandbox, tmp_path):
    path = tmp_path / "letter.doc"
    path.write_bytes(compound(word("Hello\r")))
    sandbox.unlock(path, "word", tmp_path / "open.doc")
    assert inside(tmp_path) == ["letter.doc"]


@posix
def test_a_reader_that_is_ended_leaves_nothing(tmp_path):
    endless, sandbox = tmp_path / "endless.txt", Sandbox(Limits(seconds=0.5), tmp_path / "reading")
    os.mkfifo(endless)
    with pytest.raises(LimitReached):
        sandbox.read(endless, ".txt")
    assert inside(tmp_path) == ["endless.txt"]
    sandbox.close()
    assert list((tmp_path / "reading").iterdir()) == []


def test_a_workspace_that_somebody_tidied_up_is_made_again(sandbox, original, tmp_path):
    read = sandbox.read(original, ".pdf")
    shutil.rmtree(tmp_path / "reading")
    assert sandbox.read(original, ".pdf") == read


def test_a_closed_sandbox_can_be_used_again(sandbox, original):
    read = sandbox.read(original, ".pdf")
    sandbox.close()
    assert sandbox.read(original, ".pdf") == read


@posix
def test_an_original_that_goes_while_it_is_read_is_read_to_its_end(sandbox, tmp_path, monkeypatch):
    path, link = tmp_path / "a.docx", module._link
    path.write_bytes(docx(paragraph("Hello")))

    def link_and_lose(source, target):
        link(source, target)
        source.unlink()

    monkeypatch.setattr(module, "_link", link_and_lose)
    assert sandbox.read(path, ".docx").pages[0].text == "Hello"
    assert inside(tmp_path) == []
