"""The English words of the page about people, what they may, keys and the log.

A part of texts.py, which has grown long. Pure: words and numbers in, a sentence out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape

from rag_app.access.audit import Action, AuditEntry
from rag_app.access.keys import KeyInfo
from rag_app.access.nouns import Collection, Grantee, GranteeKind, PeopleGroup, Person
from rag_app.access.quotas import Limited
from rag_app.answering.model_spec import parse
from rag_app.retrieval.served_embedding import server_of
from rag_app.scope import Role
from rag_app.settings import Settings
from rag_app.text.formats import count
from rag_app.text.formats import size as size_of

ADMINISTRATION = "Administration"
SENT_WHERE = "What is sent where"
_STAYS = "nobody: it stays on the server"
ADD_TO = "Add documents to"
TABS = {
    "people": "People",
    "groups": "Groups",
    "collections": "Collections",
    "limits": "Limits",
    "work": "Work",
    "models": "Models",
    "log": "Log",
}
PART = "Part of the administration"

ROLES = {Role.READER: "May read", Role.EDITOR: "May add and remove", Role.OWNER: "Owns it"}
ROLE = "What they may"
CHOOSE_PERSON, CHOOSE_GROUP, CHOOSE_COLLECTION = "Person", "Group", "Collection"
CHOOSE_ONE = "Choose one"
NAME = "Name"
SAVE, KEEP = "Save", "Keep"

# People
FILTER_PEOPLE = "Filter by name or address"
PEOPLE_COLUMNS = ("Name", "E-mail address", "Last signed in", "")
MAKE_ADMINISTRATOR = "Make an administrator"
UNMAKE_ADMINISTRATOR = "No longer an administrator"
SIGN_OUT_PERSON = "Sign out everywhere"
REMOVE_PERSON, REMOVE_PERSON_NOW = "Remove…", "Remove"
REMOVE_SURE = (
    "They see nothing any more from now on, and their keys end. What they added to shared "
    "collections stays. Their own collection is kept until you delete it or hand it over."
)
RESTORE_PERSON = "Let back in"
OWN_LEFT = "Their own collection is kept, and nobody can see it."
HAND_OVER = "Hand over"
HAND_OVER_TO = "Hand it over to"

# Groups
GROUP_COLUMNS = ("Name", "Members", "Made by")
MAKE_GROUP, NEW_GROUP = "Make a group", "Name of a new group"
RENAME_GROUP, DELETE_GROUP = "Rename", "Delete the group"
GROUP_MEMBERS = "Members"
ADD_MEMBER, REMOVE_MEMBER = "Add", "Take out"
BY_SIGN_IN, BY_HAND = "the sign-in", "an administrator"
NO_GROUPS = "There are no groups yet. Make one, or let the sign-in tell which there are."

# Collections
COLLECTION_COLUMNS = ("Name", "Whose", "Made on")
RENAME_COLLECTION = "Rename"
DELETE_COLLECTION, DELETE_COLLECTION_NOW = "Delete…", "Delete"
DELETE_COLLECTION_SURE = "Every document in it goes with it, for everybody and for good."
NO_OWNER = "nobody owns it"
NOT_SHAREABLE = "This is somebody's own collection, which cannot be shared."
MANAGED_NOT_READ = "You manage collections; what is in them you see only where you have a role."

# Limits
LIMITS_WHAT = (
    "The most that everybody may, unless one person has limits of their own. What is not limited "
    "is not counted."
)
LIMITS_OF_ONE = "Limits of one person"
LIMITED = {
    Limited.BYTES: "MB kept of what they added",
    Limited.PAGES: "Pages kept of what they added",
    Limited.FILES: "Files added a day",
    Limited.QUESTIONS: "Questions a minute",
    Limited.SESSIONS: "Windows at once",
}
NO_LIMIT = "none"
EVERYBODY_EMPTY = "no limit"
PERSON_EMPTY = "as everybody"
PERSON_LIMITS_HINT = f"A number, “{NO_LIMIT}” for no limit, or nothing for what everybody has."
NO_NUMBER = (
    f"A limit is a whole number, of megabytes also one like 1.5, or “{NO_LIMIT}”, or nothing."
)

# Work
WORK_COLUMNS = ("Whose", "Document", "Where it is")
NO_WORK = "Nothing waits."
SOMEBODY_S = "a document that is not shared with you"
NOBODY = "this computer"

# Log
LOG_PERSON, LOG_ACTION = "Who", "What"
LOG_SINCE, LOG_UNTIL = "From", "To"
LOG_COLUMNS = ("When", "Who", "What", "About", "")
LOG_ALL = "All"
LOG_FORMATS = {"csv": "For a spreadsheet (CSV)", "jsonl": "As JSON lines"}
LOG_EMPTY = "Nothing of this was written down."
THE_MACHINE = "the machine itself"

# Sharing
SHARE = "Share"
SHARED = "Collections and who may see them"
NO_COLLECTIONS = "You own no collection that can be shared. Make one here."
NEW_COLLECTION = "Name of a new collection"
MAKE_COLLECTION = "Make a collection"
WHO_MAY = "Who may see it"
GIVE_TO, GIVE = "Person or group", "Give"
TAKE_BACK = "Take back"
GROUP_MARK = "Group: "
LEAVE_COLLECTION = "Leave"
BY_GROUP = "by a group that you are in"
YOURS_TO_READ = "Shared with you"

# Keys
KEYS = "Keys"
KEYS_WHAT = (
    "With a key a program asks in your name, and may what you may. Give every program its own, so "
    "that you can end one and keep the others."
)
KEY_NAME = "What it is for"
KEY_LASTS = "How long it works"
KEY_LIFETIMES: dict[int | None, str] = {30: "30 days", 90: "90 days", 365: "A year", None: "Always"}
MAKE_KEY = "Make a key"
KEY_ONCE = "Copy it now: it is not kept, and is never shown again."
KEY_COPIED = "I have copied it"
REVOKE_KEY = "Revoke"
NO_KEYS = "You have no keys."

_FEW = 3  # owners that are named
# Of whom the log tells.
_TOLD = re.compile(r"((?:person|group|joined:|left:) )(.+?)((?:: (?:reader|editor|owner))?)")
_ACTIVE_MARKS = {(True, True): "administrator", (False, False): "removed", (True, False): "removed"}


def day(at: str) -> str:
    """A time as a day and an hour, where the app runs."""
    return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M") if at else ""


def person_row(person: Person) -> tuple[str, ...]:
    """A line of the table of people."""
    mark = _ACTIVE_MARKS.get((person.administrator, person.active), "")
    return person.shown, person.email, day(person.last_seen), mark


def person_label(person: Person) -> str:
    """A person among others of whom one is chosen."""
    address = f" ({person.email})" if person.email and person.email != person.shown else ""
    return f"{person.shown}{address}{'' if person.active else ', removed'}"


def group_row(group: PeopleGroup) -> tuple[str, ...]:
    """A line of the table of groups."""
    made = BY_HAND if group.claim is None else BY_SIGN_IN
    return group.name, count(len(group.members), "person", "people"), made


def collection_row(collection: Collection, whose: str) -> tuple[str, ...]:
    """A line of the table of collections."""
    return collection.name, whose, day(collection.created)


def own_collection(whose: str) -> str:
    """Whose a collection is that cannot be shared."""
    return f"{whose}, alone"


def owned_by(owners: Sequence[str]) -> str:
    """Who owns a shared collection, the first few of them."""
    if not owners:
        return NO_OWNER
    more = len(owners) - _FEW
    said = ", ".join(owners[:_FEW])
    return f"{said} and {count(more, 'other')}" if more > 0 else said


def grantee_name(
    to: Grantee, people: Mapping[str, Person], groups: Mapping[str, PeopleGroup]
) -> str:
    """Who was given a role, as it is read."""
    if to.kind is GranteeKind.GROUP:
        known = groups.get(to.id)
        return f"{GROUP_MARK}{known.name if known else to.id}"
    person = people.get(to.id)
    return person_label(person) if person else to.id


def key_line(key: KeyInfo) -> str:
    """What there is to know of a key."""
    until = f"works until {day(key.expires)}" if key.expires else "works always"
    used = f"last used {day(key.used)}" if key.used else "never used"
    return f"made {day(key.created)} · {until} · {used}"


def log_row(entry: AuditEntry, names: Mapping[str, str]) -> tuple[str, ...]:
    """A line of the log, with names for the ids of people, groups and collections."""
    who = names.get(entry.subject, entry.subject) or THE_MACHINE
    told = _TOLD.fullmatch(entry.detail)
    detail = f"{told[1]}{names.get(told[2], told[2])}{told[3]}" if told else entry.detail
    if entry.action in (Action.KEY_MADE, Action.KEY_REVOKED):
        detail = _of_key(entry, names)
    return day(entry.at), who, entry.action, names.get(entry.about, entry.about), detail


def _of_key(entry: AuditEntry, names: Mapping[str, str]) -> str:
    """Whose key it was, if it was not their own, and what it was for."""
    known = (
        one for one in (entry.subject, *names) if one and f"{entry.detail}: ".startswith(f"{one}: ")
    )
    whose = next(known, "")
    rest = entry.detail.removeprefix(whose).removeprefix(": ")
    return ": ".join(filter(None, ["" if whose == entry.subject else names.get(whose, ""), rest]))


def models_set(settings: Settings, meaning: str) -> str:
    """Which models and servers the settings allow, as a list; `meaning`: the model that finds by
    meaning now."""
    servers = ", ".join(settings.shared_servers) or "none"
    said = {
        "Who answers": settings.answers_by,
        "Servers that everybody may choose": servers,
        "What finds by meaning": meaning or "the built-in model, for English",
        "Longest answer": count(settings.chat_tokens, "token"),
    }
    hint = "These stand in the settings of the server: see docs/settings.md."
    return f"{_facts(said)}<p class='note'>{hint}</p>"


def sent_where(settings: Settings, meaning: str) -> str:
    """What leaves this process, and whom it reaches, as a list."""
    by = parse(settings.answers_by)
    chosen = ", or the server that somebody chooses" if settings.shared_servers else ""
    answers = _STAYS if by.stays_here and not by.url else by.url or by.destination
    traced = "where OTEL_EXPORTER_OTLP_ENDPOINT says: ids, counts and times, no words"
    return _facts(
        {
            "Every passage when it is added, every question": server_of(meaning) or _STAYS,
            "Questions with the passages found for them": answers + chosen,
            "Traces": traced if settings.traces == "otlp" else "none are made",
            "Figures": "who has the token of RAG_APP_METRICS" if settings.metrics else "nobody",
        }
    )


def _facts(said: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(one)}</dd>" for name, one in said.items())
    return f"<dl class='facts-list'>{rows}</dl>"


def first_of(shown: int, total: int) -> str:
    """That a list goes on."""
    return f"The first {shown:,} of {total:,}. Filter to see others."


def some_file(suffix: str, size: int) -> str:
    """A document whose name is not said: "PDF, 2.1 MB"."""
    return f"{suffix.removeprefix('.').upper()}, {size_of(size)}"


def cannot_listen(port: int, host: str, why: str) -> str:
    """Why a worker does not begin: nobody could ask it how it is."""
    return f"Nothing can listen on port {port} of {host}: {why}."
