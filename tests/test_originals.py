from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.errors import DocumentError, EmptyFile, LimitReached
from rag_app.scope import HOME
from rag_app.storage.originals import Originals, display_name, free_name


@pytest.fixture
def originals(tmp_path: Path) -> Originals:
    return Originals(tmp_path / "files", max_bytes=1 << 20)


def test_a_file_is_kept_under_its_hash(originals, tmp_path):
    incoming = originals.receive("a.txt", b"hello", HOME)
    assert incoming.content_id == hashlib.sha256(b"hello").hexdigest()
    originals.keep(incoming, ".txt")
    kept = originals.path(incoming.content_id, ".txt")
    assert kept == tmp_path / "files" / f"{incoming.content_id}.txt"
    assert kept.read_bytes() == b"hello"


def test_an_empty_or_too_large_file_leaves_nothing_behind(originals, tmp_path):
    with pytest.raises(EmptyFile, match="0 bytes"):
        originals.receive("a.txt", b"", HOME)
    big = tmp_path / "big"
    big.write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(LimitReached, match="RAG_APP_MAX_FILE_MB"):
        originals.receive("a.txt", big, HOME)
    assert list((tmp_path / "files").iterdir()) == []


def test_a_disk_that_takes_no_more_is_said_in_one_sentence(originals, tmp_path):
    resource = pytest.importorskip("resource", reason="file size limits are POSIX only")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        with pytest.raises(LimitReached, match="Make room on the disk"):
            originals.receive("a.txt", b"x" * 5_000, HOME)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list((tmp_path / "files").iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name are POSIX only")
@pytest.mark.timeout(20)  # who opens a pipe waits for somebody to write to it
def test_what_is_no_file_is_refused_in_a_sentence_that_says_what_it_is(originals, tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket.txt"))
        for path in (tmp_path / "pipe.txt", tmp_path / "socket.txt", Path("/dev/zero")):
            with pytest.raises(DocumentError, match="Only files can be added"):
                originals.receive(path.name, path, HOME)
    with pytest.raises(DocumentError, match="is a folder") as said:
        originals.receive(tmp_path.name, tmp_path, HOME)
    assert "room on the disk" not in str(said.value)
    with pytest.raises(DocumentError, match="No such file"):
        originals.receive("gone.txt", tmp_path / "gone.txt", HOME)
    assert list((tmp_path / "files").iterdir()) == []


def test_sweeping_deletes_only_what_was_half_written(originals, tmp_path):
    folder = tmp_path / "files"
    kept = originals.receive("a.txt", b"hello", HOME)
    originals.keep(kept, ".txt")
    originals.unlocked(kept.content_id, ".txt").write_bytes(b"u")
    (folder / f"{kept.content_id}.unlocked.txt.part").write_bytes(b"half")
    (folder / "thesis.docx").write_bytes(b"somebody else's")
    originals.receive("cut-off.txt", b"half", HOME)
    originals.sweep()
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        [f"{kept.content_id}.txt", f"{kept.content_id}.unlocked.txt", "thesis.docx"]
    )
    assert originals.readable(kept.content_id, ".txt").name.endswith(".unlocked.txt")
    originals.forget(kept.content_id, ".txt")
    assert [p.name for p in folder.iterdir()] == ["thesis.docx"]


def test_removing_one_file_looks_through_no_folder_of_all_of_them(originals, monkeypatch):
    [one, other] = kept(originals, b"one", b"other")
    for suffix in (".txt", ".pdf"):
        originals.unlocked(one, suffix).write_bytes(b"u")
    listed: list[Path] = []
    real = Path.glob
    monkeypatch.setattr(Path, "glob", lambda path, *a: listed.append(path) or real(path, *a))
    originals.forget(one, ".txt")
    assert originals.path("", "") not in listed
    assert [p.name for p in originals.path("", "").iterdir()] == [f"{other}.txt"]


@pytest.mark.parametrize(
    ("given_name", "shown"),
    [
        ("../../x.pdf", "x.pdf"),
        ("C:\\Users\\me\\x.pdf", "x.pdf"),
        ("a\nb\x00.pdf", "a b .pdf"),
        ("..", "document"),
        ("", "document"),
        ("<img src=x onerror=alert(1)>.pdf", "<img src=x onerror=alert(1)>.pdf"),
    ],
)
def test_a_name_is_shown_without_folders_and_control_characters(given_name, shown):
    assert display_name(given_name) == shown


@given(st.text(max_size=400))
def test_any_name_can_be_shown(name):
    shown = display_name(name)
    assert shown and len(shown) <= 165 and shown.isprintable()
    assert "/" not in shown and "\\" not in shown


@given(st.lists(st.sampled_from(["a.pdf", "a (2).pdf", "a", "b.txt"]), max_size=8))
def test_a_free_name_is_never_taken(names):
    taken: set[str] = set()
    for name in names:
        free = free_name(name, taken)
        assert free not in taken
        taken.add(free)


def kept(originals: Originals, *texts: bytes) -> list[str]:
    ids = []
    for text in texts:
        incoming = originals.receive("a.txt", text, HOME)
        originals.keep(incoming, ".txt")
        ids.append(incoming.content_id)
    return ids


@pytest.mark.parametrize("known", [0, 1, 2])
def test_files_that_a_library_does_not_know_are_set_aside_and_never_deleted(
    originals, tmp_path, known
):
    """One is what a kill leaves, or the only file since a backup: nobody can tell."""
    folder = tmp_path / "files"
    ids = kept(originals, b"one", b"two", b"three")
    originals.unlocked(ids[2], ".txt").write_bytes(b"u")
    originals.sweep()
    assert originals.set_aside() == []
    assert originals.sort_out(set(ids[:known]))
    assert [one.document_id for one in originals.set_aside()] == ids[known:]
    assert {p.stem for p in folder.iterdir() if p.is_file()} == set(ids[:known])
    assert len(list((folder / "set-aside").iterdir())) == 3 - known + 1
    assert not originals.sort_out(set(ids[:known]))


def test_an_unlocked_copy_without_its_original_is_of_a_removed_document_and_goes(originals):
    with_original, without, known = kept(originals, b"one", b"two", b"three")
    for one in (with_original, without, known):
        originals.unlocked(one, ".txt").write_bytes(b"u")
    for one in (without, known):
        originals.path(one, ".txt").unlink()
    originals.sort_out({known})
    assert not list(originals.path("", "").rglob(f"{without}*"))
    assert originals.readable(known, ".txt").read_bytes() == b"u"
    assert len(list(originals.path("", "").rglob(f"{with_original}*"))) == 2


def test_a_library_that_is_put_back_has_its_files_again(originals, tmp_path):
    ids = kept(originals, b"one", b"two")
    originals.unlocked(ids[0], ".txt").write_bytes(b"u")
    originals.sort_out(set())
    assert not originals.path(ids[0], ".txt").exists()
    assert not originals.sort_out(set(ids))
    assert originals.path(ids[0], ".txt").read_bytes() == b"one"
    assert originals.readable(ids[0], ".txt").read_bytes() == b"u"
    assert originals.set_aside() == []


def test_what_was_set_aside_goes_with_a_removal(originals, tmp_path):
    [one] = kept(originals, b"one")
    originals.sort_out(set())
    kept(originals, b"one")
    originals.forget(one, ".txt")
    assert not [path for path in (tmp_path / "files").rglob("*") if path.is_file()]
