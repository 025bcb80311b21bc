"""A backup becomes a data directory again, if every byte of it is what it was.

It is unpacked beside the data directory, checked meanwhile, and put in its place in one step. What
an archive says is not believed: names are compared with those that backups have."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from rag_app.errors import BackupError
from rag_app.scope import HOME
from rag_app.storage.backup import (
    BLOCK,
    DATABASE,
    FORMAT,
    KEPT,
    MANIFEST,
    PREFERENCES,
    Manifest,
    check_database,
    content_of,
    in_a_sentence,
    sync,
    workshop,
)
from rag_app.storage.database import kept_as
from rag_app.storage.object_store import Bucket, sending
from rag_app.storage.originals import made_for_me, own
from rag_app.supervision import Told, untold
from rag_app.text.formats import size

_LARGEST_MANIFEST = 256 << 20  # bytes: of a million documents
_NAMING = ("SELECT id, suffix FROM documents", "SELECT document_id, suffix FROM removals")
_PLAIN = "SELECT id, suffix FROM documents WHERE collection = ?"  # whose id is their SHA-256
_HASH = re.compile(r"[0-9a-f]{64}")
# What a folder that cannot be exchanged may hold.
_NEVER_MIND = frozenset({"lock", "lost+found", "restored.part"})
# What reading an archive may raise that is torn, or made to be.
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(ValueError, ArithmeticError, RuntimeError),
)


def restore(
    source: Path, folder: Path, *, told: Told = untold, bucket: Bucket | None = None
) -> Manifest:
    """Make the data directory `folder` of a backup, all of it or nothing; with a bucket, the
    originals go there.

    Returns what the backup says of itself. Raises BackupError, LibraryInUse or FilesError."""
    with _opened(source) as archive, in_a_sentence(folder), made_for_me():
        inside = _cannot_be_exchanged(folder)
        if (folder / "lock").is_file():
            own(folder).release()
        _check_empty(folder, _NEVER_MIND if inside else frozenset())
        manifest = _manifest(archive, source)
        _check_members(archive, manifest, source)
        _check_room(manifest, folder, source)
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with workshop(folder / "restored" if inside else folder) as work:
            made = work / "library"
            _unpack(archive, manifest, made, source, told)
            if bucket:
                for sent in sending(bucket, made / "files"):
                    sent.unlink()
            (_move_in if inside else _exchange)(made, folder)
    return manifest


# Where to


def _cannot_be_exchanged(folder: Path) -> bool:
    """Whether there is a folder that must stay: a disk of its own, as in a container, or one whose
    surroundings are not ours to write to."""
    return folder.is_dir() and (folder.is_mount() or not os.access(folder.parent, os.W_OK))


def _check_empty(folder: Path, but: frozenset[str]) -> None:
    """Raises BackupError if something is in the way."""
    if folder.exists() and not folder.is_dir():
        raise BackupError(f"{folder} is no folder. Choose another one with --data-dir.")
    if folder.is_dir() and {path.name for path in folder.iterdir()} - but:
        raise BackupError(
            f"{folder} is not empty. Move what is in it away, or choose another folder "
            "with --data-dir; a backup is restored into an empty one only."
        )


def _check_room(manifest: Manifest, folder: Path, source: Path) -> None:
    needed = sum(member.size for member in manifest.members.values())
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(there).free
    if needed > free:
        raise BackupError(
            f"{source} takes {size(needed)}, and {size(free)} are free where {folder} is to be. "
            "Make room, or choose another folder with --data-dir."
        )


def _exchange(made: Path, folder: Path) -> None:
    if folder.is_dir():
        _check_empty(folder, frozenset())
        folder.rmdir()
    made.rename(folder)
    sync(folder.parent)


def _move_in(made: Path, folder: Path) -> None:
    """The database comes last: until then there is no library."""
    lock = own(folder)
    try:
        _check_empty(folder, _NEVER_MIND)
        for path in sorted(made.iterdir(), key=lambda each: each.name == DATABASE):
            path.rename(folder / path.name)
        sync(folder)
    finally:
        lock.release()


# What from


def _opened(source: Path) -> zipfile.ZipFile:
    """Raises BackupError."""
    try:
        return zipfile.ZipFile(source)
    except FileNotFoundError as error:
        raise BackupError(f"There is no file {source}.") from error
    except OSError as error:
        why = error.strerror or error
        raise BackupError(f"{source} cannot be read: {why}. Choose a backup file.") from error
    except _BROKEN as error:
        raise _no_backup(source) from error


def _no_backup(source: Path) -> BackupError:
    return BackupError(
        f"{source} is no backup of rag-app, or its end is missing. "
        "Choose a whole file that rag-app backup wrote."
    )


def _damaged(source: Path, what: str) -> BackupError:
    return BackupError(
        f"{source} is damaged: {what}. Nothing was restored. "
        "Use another copy of it, or an earlier backup."
    )


def _manifest(archive: zipfile.ZipFile, source: Path) -> Manifest:
    """What a backup says of itself. Raises BackupError."""
    try:
        with archive.open(MANIFEST) as file:
            text = file.read(_LARGEST_MANIFEST)
        said = json.loads(text)
    except KeyError as error:
        raise _no_backup(source) from error
    except _BROKEN as error:
        raise _damaged(source, "its list of contents cannot be read") from error
    made_with = said.get("format") if isinstance(said, dict) else None
    if not isinstance(made_with, int):
        raise _no_backup(source)
    if made_with != FORMAT:
        older = made_with < FORMAT
        raise BackupError(
            f"{source} was made by {'an older' if older else 'a newer'} version of this app, in "
            f"format {made_with}; this one reads format {FORMAT}. "
            + ("Restore it with that version." if older else "Update the app first.")
        )
    try:
        return _read(said)
    except ValueError as error:
        raise _damaged(source, "its list of contents makes no sense") from error


def _read(said: dict[str, Any]) -> Manifest:
    """Raises ValueError for something else than a backup's words."""
    manifest = kept_as(Manifest, said)
    for name, one in manifest.members.items():
        known = name == DATABASE or PREFERENCES.fullmatch(name) or KEPT.fullmatch(name)
        if not (known and _HASH.fullmatch(one.sha256) and one.size >= 0):
            raise ValueError(name)
    if DATABASE not in manifest.members or not all(map(content_of, manifest.lost)):
        raise ValueError(DATABASE)
    datetime.fromisoformat(manifest.created_at)
    shown = (manifest.app_version, *manifest.lost.values())
    if not all(map(str.isprintable, shown)):
        raise ValueError(manifest.app_version)
    return manifest


def _check_members(archive: zipfile.ZipFile, manifest: Manifest, source: Path) -> None:
    """Raises BackupError unless exactly what is listed is there, packed as a backup packs it."""
    found = archive.infolist()
    names = [info.filename for info in found]
    if len(names) != len(set(names)) or set(names) != {MANIFEST, *manifest.members}:
        raise _damaged(source, "what is in it is not what it lists")
    for info in found:
        member = manifest.members.get(info.filename)
        odd = info.flag_bits & 1 or stat.S_ISLNK(info.external_attr >> 16)
        grows = KEPT.fullmatch(info.filename) and info.compress_type != zipfile.ZIP_STORED
        if odd or grows or (member and member.size != info.file_size):
            raise _damaged(source, f"{info.filename} is not packed as it was")


def _unpack(
    archive: zipfile.ZipFile, manifest: Manifest, made: Path, source: Path, told: Told
) -> None:
    """Write all members under `made`. Raises BackupError if one is not what it was."""
    total, done = sum(member.size for member in manifest.members.values()), 0
    (made / "files").mkdir(parents=True)
    for name in sorted(manifest.members, key=lambda name: name != DATABASE):  # which is checked
        (made / name).parent.mkdir(exist_ok=True)
        digest, left = hashlib.sha256(), manifest.members[name].size
        with (made / name).open("xb") as file:
            for block in _blocks(archive, name, source):
                left -= len(block)
                if left < 0:
                    break
                digest.update(block)
                file.write(block)
                done += len(block)
                told(done, total)
            file.flush()
            os.fsync(file.fileno())
        if left or digest.hexdigest() != manifest.members[name].sha256:
            raise _damaged(source, f"{name} is not what it was")
        if name == DATABASE:
            check_database(made / name, str(source))
            _check_named(made / name, manifest, source)
    for folder in {(made / name).parent for name in manifest.members} | {made}:
        sync(folder)


def _blocks(archive: zipfile.ZipFile, name: str, source: Path) -> Iterator[bytes]:
    """Raises BackupError."""
    try:
        with archive.open(name) as file:
            while block := file.read(BLOCK):
                yield block
    except _BROKEN as error:
        raise _damaged(source, f"{name} cannot be read") from error


def _check_named(database: Path, manifest: Manifest, source: Path) -> None:
    """Raises BackupError if the database names a file that is not there, or that no library has:
    what it names is deleted when its document is removed."""
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            kept, going = (
                {f"files/{id_}{suffix}" for id_, suffix in db.execute(query)} for query in _NAMING
            )
            plain = {f"files/{id_}{suffix}": id_ for id_, suffix in db.execute(_PLAIN, (HOME,))}
    except sqlite3.Error as error:
        raise _damaged(source, "its database is not one of a library") from error
    there = manifest.members
    if any(name in there and there[name].sha256 != id_ for name, id_ in plain.items()):
        raise _damaged(source, "an original in it is not what its name says")
    if kept - manifest.members.keys() - manifest.lost.keys() or not all(map(content_of, going)):
        raise _damaged(source, "its database names files that are not in it")
