"""What is kept in the data directory nobody else on the computer can read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_app import cli
from rag_app.storage.originals import made_for_me, own

pytestmark = pytest.mark.skipif(os.name != "posix", reason="these permissions are POSIX")
OTHERS = stat.S_IRWXG | stat.S_IRWXO


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """New files may be read by everybody, as most systems have it."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """The folder and what is in it that anybody else may read, write or enter."""
    inside = [folder, *folder.rglob("*")]
    return [str(path) for path in inside if path.lstat().st_mode & OTHERS]


def test_a_new_library_is_the_users_alone(own_house, tmp_path):
    letter = tmp_path / "letter.txt"
    letter.write_text("The tenancy begins on 1 May and the rent is 900 euros a month.")
    assert cli.main(["add", str(letter)]) == 0
    kept = {path.name for path in own_house.rglob("*")}
    assert {"library.sqlite3", "files", "vectors", "chroma.sqlite3", "lock", "reserve"} <= kept
    assert open_to_others(own_house) == []
    assert stat.S_IMODE(letter.stat().st_mode) == 0o644  # what was added stays as it was


def test_a_library_that_others_could_read_is_closed_to_them(tmp_path):
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere.txt"
    elsewhere.write_text("of somebody who shares it")
    (folder / "files").mkdir(parents=True)
    (folder / "vectors-abc" / "inner").mkdir(parents=True)
    for name in ("library.sqlite3", "library.sqlite3-wal", "files/a.pdf", "vectors-abc/inner/x"):
        (folder / name).write_text("secret")
    (folder / "files" / "link").symlink_to(elsewhere)
    own(folder).release()
    (folder / "files" / "link").unlink()
    assert open_to_others(folder) == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "files" / "a.pdf").stat().st_mode) == 0o600
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o644


def test_what_is_not_ours_in_the_folder_is_left_as_it_is(tmp_path):
    script = tmp_path / "project" / "run.sh"
    script.parent.mkdir()
    script.touch(0o755)
    script.chmod(0o755)
    own(script.parent).release()
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert stat.S_IMODE(script.parent.stat().st_mode) == 0o700


def test_the_rest_of_the_process_makes_files_as_before(tmp_path):
    with made_for_me():
        (tmp_path / "mine").touch()
    (tmp_path / "usual").touch()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("mine", "usual")]
    assert modes == [0o600, 0o644]
