"""Commands for who runs the machine itself: people and what they may; backup and restore.

They need not own the data directory to say who may what: what they change counts at once where the
app runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rag_app.access.access import Access
from rag_app.access.audit import Action, as_csv, as_json_lines, moment
from rag_app.access.keys import KeyInfo
from rag_app.access.nouns import MACHINE, Collection, Grant, Grantee, PeopleGroup, Person
from rag_app.access.quotas import Limited
from rag_app.cli.common import command, percentage, settings_of, show
from rag_app.errors import AccessError, UnknownCollection, UnknownGrantee
from rag_app.export.json_contract import (
    BadUse,
    backup_json,
    collection_json,
    group_json,
    key_json,
    limits_json,
    person_json,
    print_json,
)
from rag_app.scope import Role
from rag_app.storage.engines import check_backed_up_here, open_database
from rag_app.storage.originals import made_for_me
from rag_app.text.formats import count, size

if TYPE_CHECKING:
    from rag_app.storage.backup import Manifest
_GROUP = "group:"  # before the name of a group, where a person may stand as well
_WHO = "a subject, an e-mail address, or group:NAME"
_NO_LIMIT = "none"
_AS_THEN = (
    "People, roles and keys are as they were then: who was removed, and what was taken back or "
    "revoked since is there again. Before others come in, look at rag-app people, rag-app "
    "collections and rag-app keys."
)
_SHOWN = 50  # entries of the log, for people
_DAY = 86_400.0  # seconds

_Noun = TypeVar("_Noun")


def add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the commands are called and take."""
    seen = "collections of documents, and who may see them"
    for name, run, told, add in (
        ("people", _people, "who has signed in; remove, restore", _add_people),
        ("groups", _groups, "groups of people: make, fill, delete", _add_groups),
        ("collections", _collections, seen, _add_collections),
        ("keys", _keys, "keys of people's programs", _add_keys),
        ("limits", _limits, "how much everybody, or one person, may", _add_limits),
        ("audit", _audit, "the log of who did what", _add_audit),
    ):
        add(command(commands, shared, name, run, told, "as JSON"))
    grant = command(commands, shared, "grant", _grant, "give a role in a collection")
    grant.add_argument("role", choices=[role.name.lower() for role in Role])
    revoke = command(commands, shared, "revoke", _revoke, "take a role back")
    for each in (grant, revoke):
        each.add_argument("collection", metavar="COLLECTION", help="an id or a name")
        each.add_argument("who", metavar="WHO", help=_WHO)


@contextmanager
def _opened(arguments: argparse.Namespace) -> Iterator[Access]:
    if "" in [given for given in vars(arguments).values() if isinstance(given, str)]:
        raise BadUse("A name is empty. Write one.")
    settings = settings_of(arguments)
    with made_for_me():
        database = open_database(settings)
        try:
            yield Access(database, settings)
        finally:
            database.close()


# People


def _add_people(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--remove", metavar="PERSON", help="let them see nothing any more")
    what.add_argument("--restore", metavar="PERSON", help="let them back in")
    what.add_argument("--sign-out", metavar="PERSON", help="let them sign in anew, everywhere")
    what.add_argument("--administrator", metavar="PERSON", help="let them manage people")
    what.add_argument("--no-administrator", metavar="PERSON", help="no longer")


def _people(arguments: argparse.Namespace) -> int:
    with _opened(arguments) as access:
        if arguments.remove:
            access.remove_person(MACHINE, _person(access, arguments.remove).subject)
        elif arguments.restore:
            access.restore_person(MACHINE, _person(access, arguments.restore).subject)
        elif arguments.sign_out:
            access.sign_out_everywhere(MACHINE, _person(access, arguments.sign_out).subject)
        elif named := arguments.administrator or arguments.no_administrator:
            access.set_administrator(
                MACHINE, _person(access, named).subject, bool(arguments.administrator)
            )
        people = access.people()
    show(people, arguments.json, person_json, _person_line)
    return 0


def _person_line(person: Person) -> str:
    marks = [
        *(["administrator"] if person.administrator else []),
        *([] if person.active else ["removed"]),
    ]
    said = f"{person.subject}  {person.name}  {person.email}".rstrip()
    return f"{said}  ({', '.join(marks)})" if marks else said


# Groups


def _add_groups(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--make", metavar="NAME")
    what.add_argument("--rename", nargs=2, metavar=("GROUP", "NAME"))
    what.add_argument("--delete", metavar="GROUP")
    what.add_argument("--join", nargs=2, metavar=("GROUP", "PERSON"), help="put them into it")
    what.add_argument("--leave", nargs=2, metavar=("GROUP", "PERSON"), help="take them out of it")


def _groups(arguments: argparse.Namespace) -> int:
    with _opened(arguments) as access:
        if arguments.make:
            access.make_group(MACHINE, arguments.make)
        elif arguments.rename:
            group, name = arguments.rename
            access.rename_group(MACHINE, _group(access, group).id, name)
        elif arguments.delete:
            access.delete_group(MACHINE, _group(access, arguments.delete).id)
        elif moved := arguments.join or arguments.leave:
            change = access.join if arguments.join else access.leave
            change(MACHINE, _group(access, moved[0]).id, _person(access, moved[1]).subject)
        groups = access.groups()
    show(groups, arguments.json, group_json, _group_line)
    return 0


def _group_line(group: PeopleGroup) -> str:
    return f"{group.id}  {group.name}  {', '.join(sorted(group.members))}".rstrip()


# Collections and roles


def _add_collections(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--make", metavar="NAME")
    what.add_argument("--rename", nargs=2, metavar=("COLLECTION", "NAME"))
    what.add_argument("--delete", metavar="COLLECTION", help="with every document in it")
    what.add_argument(
        "--hand-over",
        nargs=2,
        metavar=("COLLECTION", "PERSON"),
        help="give the own collection of somebody who was removed to somebody else",
    )


def _collections(arguments: argparse.Namespace) -> int:
    with _opened(arguments) as access:
        if arguments.make:
            access.create_collection(MACHINE, arguments.make)
        elif arguments.rename:
            collection, name = arguments.rename
            access.rename(MACHINE, named_collection(access, collection).id, name)
        elif arguments.delete:
            access.delete_collection(MACHINE, named_collection(access, arguments.delete).id)
        elif arguments.hand_over:
            collection, to = arguments.hand_over
            access.hand_over(
                MACHINE, named_collection(access, collection).id, _person(access, to).subject
            )
        listed = [(one, access.grants(MACHINE, one.id)) for one in access.collections(MACHINE)]
        names = {one.id: one.name for one in access.groups()}

    def line(listed: tuple[Collection, Sequence[Grant]]) -> str:
        one, grants = listed
        held = [
            f"{_GROUP + names.get(g.to.id, '') if g.to.kind == 'group' else g.to.id}: "
            f"{g.role.name.lower()}"
            for g in grants
        ]
        whose = [f"own of {one.private_of}"] if one.private_of else []
        return f"{one.id}  {one.name}  {', '.join([*whose, *held])}".rstrip()

    show(listed, arguments.json, lambda one: collection_json(*one), line)
    return 0


def _grant(arguments: argparse.Namespace) -> int:
    with _opened(arguments) as access:
        collection = named_collection(access, arguments.collection)
        role = Role[arguments.role.upper()]
        access.grant(MACHINE, collection.id, _grantee(access, arguments.who), role)
    print(f"{arguments.who} is {arguments.role} of {collection.name}")
    return 0


def _revoke(arguments: argparse.Namespace) -> int:
    with _opened(arguments) as access:
        collection = named_collection(access, arguments.collection)
        access.revoke(MACHINE, collection.id, _grantee(access, arguments.who))
    print(f"{arguments.who} has no role of their own in {collection.name} any more")
    return 0


# Keys


def _add_keys(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("person", nargs="?", metavar="PERSON", help="whose; none: everybody's")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--make", metavar="NAME", help="print a new key, which is shown only once")
    what.add_argument("--revoke", metavar="KEY", help="end the key of this id")
    parser.add_argument("--days", type=float, help="after which a new key ends; none: never")


def _keys(arguments: argparse.Namespace) -> int:
    if arguments.make and not arguments.person:
        raise BadUse("Say whose the key is to be: rag-app keys PERSON --make NAME")
    with _opened(arguments) as access:
        whose = [_person(access, arguments.person)] if arguments.person else access.people()
        if arguments.make:
            lasting = None if arguments.days is None else arguments.days * _DAY
            made, secret = access.api_keys.create_key(
                whose[0].subject, arguments.make, lasting, by=MACHINE
            )
            if arguments.json:
                print_json(key_json(made) | {"key": secret})
            else:
                print(secret)
            return 0
        if arguments.revoke:
            access.api_keys.revoke_key(MACHINE, arguments.revoke)
        keys = [key for one in whose for key in access.api_keys.keys(one.subject)]
    show(keys, arguments.json, key_json, _key_line)
    return 0


def _key_line(key: KeyInfo) -> str:
    until = f"until {key.expires}" if key.expires else "without an end"
    used = f"used {key.used}" if key.used else "never used"
    return f"{key.id}  {key.subject}  {key.name}  {until}, {used}"


# Limits


def _add_limits(parser: argparse.ArgumentParser) -> None:
    whats = [what.value for what in Limited]
    parser.add_argument("person", nargs="?", metavar="PERSON", help="whose; none: everybody's")
    parser.add_argument(
        "--set",
        nargs=2,
        action="append",
        default=[],
        metavar=("WHAT", "NUMBER"),
        help=f"{', '.join(whats)}; a whole number, or {_NO_LIMIT}",
    )
    parser.add_argument(
        "--unset",
        action="append",
        default=[],
        choices=whats,
        help="no limit; of a person, what everybody has",
    )


def _limits(arguments: argparse.Namespace) -> int:
    wanted = [(_limited(what), _most(most)) for what, most in arguments.set]
    with _opened(arguments) as access:
        named, quotas = arguments.person, access.quotas
        subject = None if named is None else _person(access, named).subject
        for what, most in wanted:
            quotas.set_limit(MACHINE, what, most, subject)
        for what in map(Limited, arguments.unset):
            quotas.unset_limit(MACHINE, what, subject)
        quota = quotas.for_everybody() if subject is None else quotas.quota_of(subject)
        own = {} if subject is None else quotas.own_limits(subject)
    if arguments.json:
        print_json(limits_json(subject, quota, own))
        return 0
    for what in Limited:
        most = getattr(quota, what.value)
        said = "no limit" if most is None else f"{most:,}"
        print(f"{what.value}  {said}{'  (their own)' if what in own else ''}")
    return 0


def _limited(said: str) -> Limited:
    """What is limited. Raises BadUse."""
    if said not in list(Limited):
        raise BadUse(f"“{said}” has no limit. Choose one of: {', '.join(Limited)}.")
    return Limited(said)


def _most(said: str) -> int | None:
    """A limit as it is typed. Raises BadUse."""
    if said == _NO_LIMIT:
        return None
    number = said.replace(",", "")
    if not (number.isascii() and number.isdigit()):
        raise BadUse(f"“{said}” is no limit. Write a whole number, or {_NO_LIMIT}.")
    return int(number)


# The log


def _add_audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--csv", action="store_true", help="for a spreadsheet")
    parser.add_argument("--since", metavar="TIME", help="ISO 8601, in UTC unless it says otherwise")
    parser.add_argument("--until", metavar="TIME")
    parser.add_argument("--person", metavar="PERSON", help="what they did")
    parser.add_argument("--action", choices=[action.value for action in Action])
    parser.add_argument(
        "--limit", type=int, help=f"entries; none: {_SHOWN}, with --json and --csv all there are"
    )


def _audit(arguments: argparse.Namespace) -> int:
    if arguments.json and arguments.csv:
        raise BadUse("Choose one of --json and --csv.")
    since, until = _time(arguments.since), _time(arguments.until)
    with _opened(arguments) as access:
        named = arguments.person
        subject = None if named is None else _person(access, named).subject
        action = Action(arguments.action) if arguments.action else None
        exported = arguments.json or arguments.csv
        most = arguments.limit or (None if exported else _SHOWN)
        entries = access.log.every(since, until, subject, action=action, limit=most)
        if exported:
            written = as_csv(entries) if arguments.csv else as_json_lines(entries)
            sys.stdout.writelines(written)
            return 0
        for entry in entries:
            who = entry.subject or "the machine itself"
            print(f"{entry.at}  {who}  {entry.action}  {entry.about}  {entry.detail}".rstrip())
    return 0


def _time(said: str | None) -> str:
    """A time as the log writes it; empty: none was said. Raises BadUse."""
    if not said:
        return ""
    try:
        given = datetime.fromisoformat(said)
    except ValueError as error:
        raise BadUse(f"“{said}” is no time. Write it like 2026-11-22T18:00.") from error
    known = given if given.tzinfo else given.replace(tzinfo=UTC)
    return moment(known.timestamp())


# What people, groups and collections are called on the command line


def _person(access: Access, said: str) -> Person:
    """By subject, or by an e-mail address that one person has. Raises UnknownGrantee."""
    people = access.people()
    found = [one for one in people if one.subject == said] or [
        one for one in people if one.email.casefold() == said.casefold() and said
    ]
    return _only(found, UnknownGrantee(f"Nobody is called “{said}”: `rag-app people` lists all."))


def _group(access: Access, said: str) -> PeopleGroup:
    """By id or by name, with or without what stands before one. Raises UnknownGrantee."""
    name = said.removeprefix(_GROUP).casefold()
    found = [one for one in access.groups() if name in (one.id, one.name.casefold())]
    return _only(found, UnknownGrantee(f"No group is called “{said}”: `rag-app groups` lists all."))


def _grantee(access: Access, said: str) -> Grantee:
    if said.startswith(_GROUP):
        return Grantee.group(_group(access, said).id)
    return Grantee.person(_person(access, said).subject)


def named_collection(access: Access, said: str) -> Collection:
    """By id, or by a name that one collection has. Raises UnknownCollection."""
    listed = access.collections(MACHINE)
    found = [one for one in listed if one.id == said] or [
        one for one in listed if one.name.casefold() == said.casefold()
    ]
    none = f"No collection is called “{said}”: `rag-app collections` lists all."
    return _only(found, UnknownCollection(none))


def _only(found: Sequence[_Noun], none: AccessError) -> _Noun:
    """The one that was found. Raises `none` for none, AccessError for several."""
    if not found:
        raise none
    if len(found) > 1:
        raise AccessError("Several go by this name. Use the id instead.")
    return found[0]


def add_backup_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the commands are called and take."""
    told = "the whole library as one file, also while the app runs"
    backup = command(commands, shared, "backup", _backup, told, "a JSON object")
    backup.add_argument("file", type=Path, metavar="FILE")
    backup.add_argument("--force", action="store_true", help="overwrite FILE if it is there")
    told = "a backup becomes the library, in an empty data directory"
    restore = command(commands, shared, "restore", _restore, told, "a JSON object")
    restore.add_argument("file", type=Path, metavar="FILE", help="that rag-app backup wrote")


def _backup(arguments: argparse.Namespace) -> int:
    """The status is 1 if the library had lost originals: they are in no backup."""
    from rag_app.storage.backup import back_up
    from rag_app.storage.object_store import bucket_of

    settings = settings_of(arguments)
    check_backed_up_here(settings)
    folder, bucket = settings.folder, bucket_of(settings)
    with percentage(lambda total: f" of {size(total)}") as told:
        target, manifest = back_up(
            folder, arguments.file, replace=arguments.force, told=told, bucket=bucket
        )
    _say_done(arguments, "backed up", manifest, target, folder)
    return 1 if manifest.lost else 0


def _restore(arguments: argparse.Namespace) -> int:
    from rag_app.storage.object_store import bucket_of
    from rag_app.storage.restoring import restore

    settings = settings_of(arguments)
    check_backed_up_here(settings)
    folder, source = settings.folder, arguments.file.expanduser().resolve()
    with percentage(lambda total: f" of {size(total)}") as told:
        manifest = restore(source, folder, told=told, bucket=bucket_of(settings))
    _say_done(arguments, "restored", manifest, source, folder)
    with _opened(arguments) as access:
        if access.people():
            print(_AS_THEN, file=sys.stderr)
    return 0


def _say_done(
    arguments: argparse.Namespace, done: str, manifest: Manifest, file: Path, folder: Path
) -> None:
    if arguments.json:
        print_json(backup_json(manifest, file, folder))
    else:
        documents = count(manifest.documents, "document")
        conversations = count(manifest.conversations, "conversation")
        at = manifest.created_at[:16].replace("T", " ")
        print(f"{done}  {documents}, {conversations}, as of {at} UTC, {size(file.stat().st_size)}")
    for name in manifest.lost.values():
        print(f"The original of “{name}” was missing or damaged in the library and is not "
              "in the backup; what was read of it is.", file=sys.stderr)  # fmt: skip
