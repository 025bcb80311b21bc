"""Folders and tags on the command line: giving and taking tags, and choosing documents by them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rag_app.commands.opening import opened
from rag_app.contract import BadUse
from rag_app.errors import UnknownDocument
from rag_app.store.shelves import cleaned

if TYPE_CHECKING:
    from rag_app.library import Library


def add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the command is called and takes."""
    tag = commands.add_parser("tag", parents=[shared], help="give documents a tag, or take it")
    tag.add_argument("documents", nargs="+", metavar="DOCUMENT", help="an id or a name")
    tag.add_argument("tag", metavar="TAG")
    tag.add_argument("--remove", action="store_true", help="take the tag from them")
    tag.set_defaults(run=_tag)


def shelved_json(library: Library, document_id: str) -> dict[str, Any]:
    """Folder and tags of a document as the contract has them."""
    shelved = library.shelves.all().of(document_id)
    return {"folder": shelved.folder or None, "tags": list(shelved.tags)}


def line(library: Library, document_id: str) -> str:
    """Folder and tags of a document for people; empty if it has none."""
    shelved = library.shelves.all().of(document_id)
    said = [*([shelved.folder] if shelved.folder else []), *(f"#{tag}" for tag in shelved.tags)]
    return f"  ({', '.join(said)})" if said else ""


def within(library: Library, ids: Sequence[str] | None, tag: str | None) -> list[str] | None:
    """The ids that have a tag, of these or of all; without a tag, these.

    Raises UnknownDocument if no document has it."""
    if tag is None:
        return None if ids is None else list(ids)
    wanted = cleaned(tag).casefold()
    tags = library.shelves.all().tags
    tagged = set().union(*(held for name, held in tags.items() if name.casefold() == wanted))
    if not tagged:
        raise UnknownDocument(f"No document has the tag “{cleaned(tag)}”.")
    return [d.id for d in library.documents() if d.id in tagged and (ids is None or d.id in ids)]


def _tag(arguments: argparse.Namespace) -> int:
    tag = cleaned(arguments.tag)
    if not tag:
        raise BadUse("The tag is empty.")
    with opened(arguments) as library:
        found = [library.document(one) for one in arguments.documents]
        change = library.shelves.untag if arguments.remove else library.shelves.tag
        change([document.id for document in found], tag)
        for document in found:
            sys.stdout.write(f"{document.name}{line(library, document.id)}\n")
    return 0
