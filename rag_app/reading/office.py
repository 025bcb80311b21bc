"""What Word and PowerPoint files have in common: parts that point to parts, and a title."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from rag_app.errors import DamagedFile
from rag_app.reading.archive import TORN, Archive
from rag_app.reading.markup import outermost, tree

_CORE = "docProps/core.xml"


@dataclass(frozen=True, slots=True)
class Relation:
    """Another part that a part points to; `kind` is the last word of its type."""

    id: str
    kind: str
    target: str


def relations(archive: Archive, part: str) -> list[Relation]:
    """Where a part points to inside the file; part "" is the file itself."""
    folder, name = posixpath.split(part)
    path = posixpath.join(folder, "_rels", f"{name}.rels")
    if path not in archive:
        return []
    with archive.open(path) as member:
        return [
            Relation(
                each.get("Id", ""),
                each.get("Type", "").rpartition("/")[2],
                posixpath.normpath(posixpath.join("/", folder, each.get("Target", ""))).lstrip("/"),
            )
            for each in outermost(member, frozenset(["Relationship"]))
            if each.get("TargetMode") != "External"
        ]


def main_part(archive: Archive, usual: str) -> str:
    """The part that everything hangs on. Raises DamagedFile if there is none."""
    for each in relations(archive, ""):
        if each.kind == "officeDocument" and each.target in archive:
            return each.target
    if usual in archive:
        return usual
    raise DamagedFile(TORN)


def related(archive: Archive, part: str, kind: str) -> list[str]:
    """The parts of one kind that a part points to, if they are there."""
    return [
        each.target
        for each in relations(archive, part)
        if each.kind == kind and each.target in archive
    ]


def core_title(archive: Archive) -> str:
    """The title in the document's properties, empty if there is none or they cannot be read."""
    if _CORE not in archive:
        return ""
    try:
        with archive.open(_CORE) as member:
            return (tree(member).findtext("title") or "").strip()
    except DamagedFile:
        return ""
