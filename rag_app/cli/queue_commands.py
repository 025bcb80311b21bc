"""The commands of rag-app that are about the queue and watched folders."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.cli.serve import opened
from rag_app.errors import UnknownDocument
from rag_app.export.json_contract import BadUse, document_json, print_json, watched_json
from rag_app.storage.documents import cleaned
from rag_app.types import Document, Status

if TYPE_CHECKING:
    from rag_app.library import Library


_LOOK_EVERY = 0.5  # seconds


def add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the commands are called and take."""
    queue = commands.add_parser(
        "queue", parents=[shared], help="what waits; pause, resume, cancel, try again"
    )
    what = queue.add_mutually_exclusive_group()
    what.add_argument("--pause", action="store_true", help="begin no work until it is resumed")
    what.add_argument("--resume", action="store_true", help="go on")
    what.add_argument("--cancel", nargs="+", metavar="DOCUMENT", help="do not read these")
    what.add_argument("--cancel-all", action="store_true", help="read nothing that waits")
    what.add_argument("--retry", nargs="+", metavar="DOCUMENT", help="read these after all")
    queue.add_argument("--json", action="store_true", help="a JSON object")
    queue.set_defaults(run=_queue)
    watched = commands.add_parser("watched", parents=[shared], help="list the watched folders")
    watched.add_argument("--json", action="store_true", help="a JSON list")
    watched.set_defaults(run=_watched)
    unwatch = commands.add_parser(
        "unwatch", parents=[shared], help="leave folders alone; their documents stay"
    )
    unwatch.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    unwatch.set_defaults(run=_unwatch)


def _queue(arguments: argparse.Namespace) -> int:
    with opened(arguments) as library:
        if arguments.pause or arguments.resume:
            (library.pause if arguments.pause else library.resume)()
        elif arguments.cancel_all:
            library.cancel_waiting()
        for name in arguments.cancel or ():
            library.cancel(library.document(name).id)
        for name in arguments.retry or ():
            library.retry(library.document(name).id)
        if arguments.retry and not library.paused:
            wait_for_all(library, [library.document(name).id for name in arguments.retry])
        paused, waiting = library.paused, list(library.progress())
        names = [d.name for d in library.documents() if d.id in waiting]
    if arguments.json:
        print_json({"paused": paused, "waiting": names})
    else:
        _say(f"{len(names)} waiting{', paused' if paused else ''}")
        for name in names:
            _say(f"  {name}")
    return 0


def _watched(arguments: argparse.Namespace) -> int:
    with opened(arguments) as library:
        watched = library.watched()
    if arguments.json:
        print_json([watched_json(each) for each in watched])
    else:
        for each in watched:
            _say(f"{each.files:>6} files  {each.folder}  {each.trouble}".rstrip())
    return 0


def _unwatch(arguments: argparse.Namespace) -> int:
    with opened(arguments) as library:
        for folder in arguments.folders:
            library.unwatch(folder)
            _say(f"unwatched  {folder}")
    return 0


def watch(arguments: argparse.Namespace) -> int:
    """`rag-app add --watch FOLDER…`: take folders in and keep them in step until interrupted."""
    for path in arguments.paths:
        if isinstance(path, str) or not path.is_dir():
            raise BadUse(f"--watch takes folders; {path} is none.")
    with opened(arguments) as library:
        for path in arguments.paths:
            library.watch(path)
        told: dict[str, tuple[Status, str]] = {}
        while True:
            _tell_changes(library, told, arguments.json)
            time.sleep(_LOOK_EVERY)


def _tell_changes(library: Library, told: dict[str, tuple[Status, str]], as_json: bool) -> None:
    """Say what became ready, failed or went since the last time."""
    documents = {d.id: d for d in library.documents()}
    for document_id in told.keys() - documents.keys():
        _, name = told.pop(document_id)
        _tell({"document_id": document_id, "name": name, "status": "removed"}, as_json)
    for document in documents.values():
        before = told.get(document.id)
        if document.status in (Status.READY, Status.FAILED) and (
            before is None or before[0] is not document.status
        ):
            told[document.id] = (document.status, document.name)
            _tell(document_json(library.report(document.id)), as_json)


def _tell(said: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(said)
    else:
        why = f": {said['error']}" if said.get("error") else ""
        _say(f"{said['status']:>9}  {said['name']}{why}")


def wait_for_all(library: Library, ids: Iterable[str]) -> list[Document]:
    """The documents once no work on them, nor on what comes out of them, is left."""
    wanted = list(ids)
    known = 0
    while known != len(everything := with_parts(library, wanted)):
        known = len(everything)
        library.wait(everything)
    return library.wait(wanted)


def with_parts(library: Library, ids: Sequence[str]) -> list[str]:
    """The ids, and those of all documents that came out of them."""
    found, waiting = list(ids), list(ids)
    while waiting:
        with contextlib.suppress(UnknownDocument):  # it gave way to a newer version meanwhile
            inside = [each for each in library.parts(waiting.pop()) if each not in found]
            found += inside
            waiting += inside
    return found


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


# Folders and tags on the command line: giving and taking tags, and choosing documents by them.


def add_group_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
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
