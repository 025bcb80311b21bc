"""rag-app add, documents and remove; queue, watched, unwatch and tag; add --watch."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.cli.access_commands import named_collection
from rag_app.cli.common import command, opened, place, show
from rag_app.errors import RagAppError, UnknownDocument
from rag_app.export.json_contract import (
    BadUse,
    added_json,
    document_json,
    print_json,
    refused_json,
    set_aside_json,
    watched_json,
)
from rag_app.scope import Role, Scope
from rag_app.storage.documents import Shelved, cleaned
from rag_app.text.formats import count
from rag_app.types import Added, Document, Status, Watched

if TYPE_CHECKING:
    from rag_app.library import Library
_CLEAN_SECONDS = 300.0  # waited for the index to be written anew after a removal
_LOOK_EVERY = 0.2  # seconds between looks at which of several files are done
Accepted = tuple[Path | str, float, Added]  # what was given, when, and what was said of it
_GAVE_WAY = "A later file of the same name took its place."
_LOOK_AGAIN = 0.5  # seconds


def add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the commands are called and take."""
    told = "add files, folders or web pages"
    add = command(commands, shared, "add", _add, told, "one JSON object per file")
    add.add_argument("paths", nargs="+", type=_given, metavar="PATH", help="or a web address")
    add.add_argument("--password", help="opens encrypted files; it is not kept")
    add.add_argument(
        "--replace", action="store_true", help="documents of the same name give way to the new"
    )
    add.add_argument(
        "--watch", action="store_true", help="keep folders in step: also what changes later"
    )
    add.add_argument("--collection", help="where several people share: its id or name; none: Home")
    command(commands, shared, "documents", _documents, "list what is there", "a JSON list")
    told = "kept files that the library knows nothing of"
    to_json = "a JSON list; with --add as add does"
    aside = command(commands, shared, "set-aside", _set_aside, told, to_json)
    what = aside.add_mutually_exclusive_group()
    what.add_argument("--add", action="store_true", help="add them again")
    what.add_argument("--delete", action="store_true", help="delete them for good")
    remove = command(commands, shared, "remove", _remove, "forget documents")
    remove.add_argument("documents", nargs="+", metavar="DOCUMENT", help="an id or a name")


def _add(arguments: argparse.Namespace) -> int:
    if arguments.watch:
        return watch(arguments)
    files = list(_files(arguments.paths))
    failed = False
    with opened(arguments) as whole:
        library = seen_in(whole, arguments.collection)
        waiting: list[Accepted] = []
        for path in files:
            began = time.perf_counter()
            try:
                added = _take(library, path, arguments)
            except RagAppError as error:
                failed = True
                seconds = time.perf_counter() - began
                print_added(arguments, refused_json(path, str(error), seconds))
            else:
                waiting.append((path, began, added))
        for path, began, added in _as_they_are_done(library, waiting):
            said = became(library, path, began, added)
            failed |= said["status"] == "failed"
            print_added(arguments, said)
    return 1 if failed else 0


def seen_in(library: Library, collection: str | None) -> Library:
    """The view that documents are added to. Raises UnknownCollection."""
    if collection is None:
        return library
    found = named_collection(library.access, collection)
    return library.scoped(Scope.of("", {found.id: Role.EDITOR}))


def _as_they_are_done(library: Library, accepted: list[Accepted]) -> Iterator[Accepted]:
    """What was accepted, each as soon as no work on it, nor on what comes out of it, is left."""
    left = accepted
    while left:
        done, left = settled(library, left)
        yield from done
        if left and not done:
            library.wait(with_parts(library, [left[0][2].document.id]), _LOOK_EVERY)


def settled(library: Library, left: list[Accepted]) -> tuple[list[Accepted], list[Accepted]]:
    """Those of the accepted that are done, with what comes out of them, and the others."""
    busy = frozenset() if library.paused else frozenset(library.progress())
    done: list[Accepted] = []
    waiting: list[Accepted] = []
    for one in left:
        document_id = one[2].document.id
        works = document_id in busy or busy.intersection(with_parts(library, [document_id]))
        (waiting if works else done).append(one)
    return done, waiting


def _given(text: str) -> Path | str:
    """A path, or a web address as it is."""
    return text if text.lower().startswith(("http://", "https://")) else place(text)


def _take(library: Library, path: Path | str, arguments: argparse.Namespace) -> Added:
    if isinstance(path, str):
        return library.web.add(path, replace=arguments.replace)
    return library.add(path.name, path, password=arguments.password, replace=arguments.replace)


def became(library: Library, path: Path | str, began: float, added: Added) -> dict[str, Any]:
    """What became of an accepted file, once all work on it is done."""
    wait_for_all(library, [added.document.id])
    seconds = time.perf_counter() - began
    try:
        said = added_json(path, library.report(added.document.id), added, seconds)
    except UnknownDocument:
        return refused_json(path, _GAVE_WAY, seconds)
    if said["status"] == "ready" and added.document.id in library.progress():
        said["status"] = "waiting"  # while the queue is paused
    return said


def _files(paths: Iterable[Path | str]) -> Iterator[Path | str]:
    """Files and addresses themselves, and of folders the files that can be read, in order of
    name."""
    from rag_app.reading import NAMES

    for path in paths:
        if isinstance(path, str):
            yield path
        elif path.is_dir():
            yield from (
                p for p in sorted(path.rglob("*")) if p.is_file() and p.suffix.lower() in NAMES
            )
        elif path.exists():
            yield path
        else:
            raise BadUse(f"There is no file or folder {path}.")


def print_added(arguments: argparse.Namespace, one: dict[str, Any]) -> None:
    """Say what became of a file."""
    if arguments.json:
        print_json(one)
        return
    held = f"{count(one['pages'], 'page')}, {count(one['chunks'], 'passage')}"
    said = one["error"] or held
    print(f"{one['status']:>9}  {one['name']}: {said}", flush=True)
    for warning in one["warnings"]:
        print(f"           {warning}", flush=True)


def _set_aside(arguments: argparse.Namespace) -> int:
    with opened(arguments) as library:
        if arguments.add:
            return _add_again(library, arguments)
        files = library.set_aside()
        if arguments.delete:
            library.delete_set_aside()
    done = "deleted  " if arguments.delete else ""
    show(files, arguments.json, set_aside_json, lambda one: f"{done}{one.name}")
    return 0


def _add_again(library: Library, arguments: argparse.Namespace) -> int:
    began = time.perf_counter()
    again = library.add_set_aside()
    said = [became(library, one.document.name, began, one) for one in again.added]
    said += [refused_json(name, why, time.perf_counter() - began) for name, why in again.refused]
    for one in said:
        print_added(arguments, one)
    return 1 if any(one["status"] == "failed" for one in said) else 0


def _documents(arguments: argparse.Namespace) -> int:
    with opened(arguments) as library:
        documents = library.documents()
        shelves = library.shelves.all()
        if arguments.json:
            put = [(library.report(d.id), shelves.of(d.id)) for d in documents]
            print_json([document_json(report) | _shelved_json(where) for report, where in put])
            return 0
        for d in documents:
            end = _shelved_line(shelves.of(d.id))
            print(f"{d.id[:12]}  {d.status:<10}  {d.pages:>5} pages  {d.name}{end}")
        if aside := library.set_aside():
            files = count(len(aside), "kept file is", "kept files are")
            print(f"{files} not in the library: see rag-app set-aside")
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    with opened(arguments) as library:
        gone: set[str] = set()
        for document in [library.document(one) for one in arguments.documents]:
            if document.id in gone:
                continue
            going = [document, *library.to_replace(document.id)]
            library.remove(document.id)
            gone.update(each.id for each in going)
            for each in going:
                print(f"removed  {each.name}")
        if not library.wait_until_clean(_CLEAN_SECONDS):
            print("What is left of it in the index is overwritten at the next start.")
    return 0


def add_queue_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the commands are called and take."""
    told = "what waits; pause, resume, cancel, try again"
    queue = command(commands, shared, "queue", _queue, told, "a JSON object")
    what = queue.add_mutually_exclusive_group()
    what.add_argument("--pause", action="store_true", help="begin no work until it is resumed")
    what.add_argument("--resume", action="store_true", help="go on")
    what.add_argument("--cancel", nargs="+", metavar="DOCUMENT", help="do not read these")
    what.add_argument("--cancel-all", action="store_true", help="read nothing that waits")
    what.add_argument("--retry", nargs="+", metavar="DOCUMENT", help="read these after all")
    command(commands, shared, "watched", _watched, "list the watched folders", "a JSON list")
    told = "leave folders alone; their documents stay"
    unwatch = command(commands, shared, "unwatch", _unwatch, told)
    unwatch.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")


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
        print(f"{len(names)} waiting{', paused' if paused else ''}")
        for name in names:
            print(f"  {name}")
    return 0


def _watched(arguments: argparse.Namespace) -> int:
    with opened(arguments) as library:
        watched = library.watched()
    show(watched, arguments.json, watched_json, _watched_line)
    return 0


def _watched_line(each: Watched) -> str:
    return f"{each.files:>6} files  {each.folder}  {each.trouble}".rstrip()


def _unwatch(arguments: argparse.Namespace) -> int:
    with opened(arguments) as library:
        for folder in arguments.folders:
            library.unwatch(folder)
            print(f"unwatched  {folder}")
    return 0


def watch(arguments: argparse.Namespace) -> int:
    """`rag-app add --watch FOLDER…`: take folders in and keep them in step until interrupted."""
    if arguments.collection is not None:
        raise BadUse("Watched folders go to Home. Leave out one of --watch and --collection.")
    for path in arguments.paths:
        if isinstance(path, str) or not path.is_dir():
            raise BadUse(f"--watch takes folders; {path} is none.")
    with opened(arguments) as library:
        for path in arguments.paths:
            library.watch(path)
        told: dict[str, tuple[Status, str]] = {}
        while True:
            _tell_changes(library, told, arguments.json)
            time.sleep(_LOOK_AGAIN)


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
        print(f"{said['status']:>9}  {said['name']}{why}", flush=True)


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


# Folders and tags on the command line: giving and taking tags, and choosing documents by them.


def add_group_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the command is called and takes."""
    tag = command(commands, shared, "tag", _tag, "give documents a tag, or take it")
    tag.add_argument("documents", nargs="+", metavar="DOCUMENT", help="an id or a name")
    tag.add_argument("tag", metavar="TAG")
    tag.add_argument("--remove", action="store_true", help="take the tag from them")


def _shelved_json(shelved: Shelved) -> dict[str, Any]:
    """Folder and tags of a document as the contract has them."""
    return {"folder": shelved.folder or None, "tags": list(shelved.tags)}


def _shelved_line(shelved: Shelved) -> str:
    """Folder and tags of a document for people; empty if it has none."""
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
        shelves = library.shelves.all()
        for document in found:
            print(f"{document.name}{_shelved_line(shelves.of(document.id))}")
    return 0
