"""The administrator's page: people, groups, collections, limits, work, models, and the log.

Drawn for administrators only, and everything that it does `Access` allows or refuses by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from html import escape
from operator import attrgetter

import streamlit as st

from rag_app.access.audit import Action, AuditEntry, as_csv, as_json_lines, moment
from rag_app.access.nouns import Collection, Grantee, PeopleGroup, Person
from rag_app.access.quotas import Limited
from rag_app.errors import AccessError
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.ui import sharing, texts
from rag_app.ui import texts_access as words
from rag_app.ui.state import current, open_page
from rag_app.ui.who import Visitor, doing, trouble, widget_key
from rag_app.ui.widgets import button, choose, page_head, submit_button, table, text_button

PAGE = "administration"  # its name among the pages that stand in the place of the conversation
_SHOWN = 100  # lines of a list
_MEGABYTE = 1_000_000
_WHOLE = re.compile(r"[0-9]{1,12}")
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?")  # with commas between them
_MEGABYTES = re.compile(rf"{_WHOLE.pattern}(\.[0-9]{{1,6}})?")  # to the byte
_REMOVING = "person_sure"  # who was asked to be removed


def open_button() -> None:
    """Opens the page."""
    text_button(
        words.ADMINISTRATION, "administration", open_page, PAGE, icon="admin_panel_settings"
    )


def draw(library: Library, visitor: Visitor | None) -> None:
    """The page, in the place of the conversation; for who is no administrator there is none."""
    if visitor is None or not visitor.administrator:
        open_page()
        return
    settings = library.settings
    with st.container(key="administration_page"):
        page_head(words.ADMINISTRATION, "administration", open_page)
        picked = st.segmented_control(
            words.PART, list(words.TABS), default="people", key="administration_tab",
            required=True, format_func=words.TABS.__getitem__, label_visibility="collapsed",
        )  # fmt: skip
        trouble()
        tabs: dict[str | None, Callable[[], None]] = {
            "people": partial(_people, visitor, settings.sign_in == "oidc"),
            "groups": partial(_groups, visitor),
            "collections": partial(_collections, visitor),
            "limits": partial(_limits, visitor),
            "work": partial(_work, visitor, library),
            "models": partial(_models, settings, library.meaning.answering),
            "log": partial(_log, visitor),
        }
        tabs.get(picked, tabs["people"])()


# People


def _people(visitor: Visitor, ours_to_end: bool) -> None:
    """`ours_to_end`: whether sign-ins end here, and not at a proxy."""
    people = visitor.access.people()
    wanted = str(st.text_input(words.FILTER_PEOPLE, key="people_filter") or "").casefold()
    found = [one for one in people if wanted in f"{one.name} {one.email} {one.subject}".casefold()]
    _table(words.PEOPLE_COLUMNS, [words.person_row(one) for one in found])
    chosen = _choose_person(found, words.CHOOSE_PERSON, "people_chosen")
    if chosen is None:
        return
    if chosen.active:
        _change_person(visitor, chosen, ours_to_end)
    else:
        _change_removed(visitor, chosen)


def _choose_person(people: Sequence[Person], label: str, key: str) -> Person | None:
    by_subject = {one.subject: one for one in people}
    return choose(label, by_subject, words.person_label, key, words.CHOOSE_ONE)


def _change_person(visitor: Visitor, person: Person, ours_to_end: bool) -> None:
    access, by = visitor.access, visitor.subject
    wanted = not person.administrator
    if st.session_state.get(_REMOVING) == person.subject:
        st.html(f"<p class='failed' role='alert'>{words.REMOVE_SURE}</p>")
        with st.container(horizontal=True):
            button(
                words.REMOVE_PERSON_NOW, "remove-person", doing, access.remove_person, by,
                person.subject, type="primary",
            )  # fmt: skip
            button(words.KEEP, "person_keep", _ask_to_remove, "")
        return
    with st.container(horizontal=True):
        button(
            words.MAKE_ADMINISTRATOR if wanted else words.UNMAKE_ADMINISTRATOR,
            "person_administrator", doing, access.set_administrator, by, person.subject, wanted,
            icon="admin_panel_settings",
        )  # fmt: skip
        if ours_to_end:
            button(
                words.SIGN_OUT_PERSON, "person_sign_out", doing, access.sign_out_everywhere, by,
                person.subject, icon="logout",
            )  # fmt: skip
        button(
            words.REMOVE_PERSON, "person_remove", _ask_to_remove, person.subject, icon="person_off"
        )


def _ask_to_remove(subject: str) -> None:
    st.session_state[_REMOVING] = subject


def _change_removed(visitor: Visitor, person: Person) -> None:
    button(
        words.RESTORE_PERSON, "person_restore", doing, visitor.access.restore_person,
        visitor.subject, person.subject, icon="person_add",
    )  # fmt: skip
    for one in visitor.access.collections(visitor.subject):
        if one.private_of == person.subject:
            _left_behind(visitor, one)


def _left_behind(visitor: Visitor, collection: Collection) -> None:
    """The own collection of somebody who was removed: handed over, or deleted."""
    st.html(f"<p class='note'>{words.OWN_LEFT}</p>")
    here = [one for one in visitor.access.people() if one.active]
    to = _choose_person(here, words.HAND_OVER_TO, "hand_over_to")
    with st.container(horizontal=True):
        if to is not None:
            button(
                words.HAND_OVER, "hand_over", doing, visitor.access.hand_over, visitor.subject,
                collection.id, to.subject, icon="move_group",
            )  # fmt: skip
        sharing.delete_twice(visitor, collection)


# Groups


def _groups(visitor: Visitor) -> None:
    access = visitor.access
    groups = access.groups()
    if groups:
        _table(words.GROUP_COLUMNS, [words.group_row(one) for one in groups])
    else:
        st.html(f"<p class='note'>{words.NO_GROUPS}</p>")
    with st.form("make_group", border=False, clear_on_submit=True):
        st.text_input(words.NEW_GROUP, key="new_group", max_chars=120)
        submit_button(
            words.MAKE_GROUP, "make_group_now", doing, _make_group, visitor, icon="group_add"
        )
    by_id = {one.id: one for one in groups}
    picked = choose(words.CHOOSE_GROUP, by_id, attrgetter("name"), "group_chosen", words.CHOOSE_ONE)
    if picked:
        _change_group(visitor, picked)


def _make_group(visitor: Visitor) -> None:
    name = str(st.session_state["new_group"] or "")
    st.session_state["group_chosen"] = visitor.access.make_group(visitor.subject, name).id


def _change_group(visitor: Visitor, group: PeopleGroup) -> None:
    access, by = visitor.access, visitor.subject
    people = [one for one in access.people() if one.active or one.subject in group.members]
    inside = [one for one in people if one.subject in group.members]
    _table((words.GROUP_MEMBERS,), [(words.person_label(one),) for one in inside])
    member = _choose_person(people, words.CHOOSE_PERSON, widget_key("member", group.id))
    if member is not None:
        is_in = member.subject in group.members
        button(
            words.REMOVE_MEMBER if is_in else words.ADD_MEMBER, "member_change", doing,
            access.leave if is_in else access.join, by, group.id, member.subject,
        )  # fmt: skip
    key = widget_key("group_name", group.id, group.name)
    st.text_input(words.NAME, value=group.name, key=key, max_chars=120)
    with st.container(horizontal=True):
        button(
            words.RENAME_GROUP, "group_rename", doing, _rename_group, visitor, group.id, key,
            icon="edit",
        )  # fmt: skip
        button(
            words.DELETE_GROUP, "group_delete", doing, access.delete_group, by, group.id,
            icon="group_off",
        )  # fmt: skip


def _rename_group(visitor: Visitor, group_id: str, key: str) -> None:
    name = str(st.session_state[key] or "")
    visitor.access.rename_group(visitor.subject, group_id, name)


# Collections


def _collections(visitor: Visitor) -> None:
    access = visitor.access
    collections = access.collections(visitor.subject)
    people = {one.subject: one for one in access.people()}
    groups = {one.id: one for one in access.groups()}
    owners = access.owners()
    st.html(f"<p class='note'>{words.MANAGED_NOT_READ}</p>")
    shared = [one for one in collections if one.private_of is None]
    own = [one for one in collections if one.private_of is not None]
    rows = [
        words.collection_row(one, _whose(one, people, groups, owners.get(one.id, ())))
        for one in (*shared, *own)
    ]
    _table(words.COLLECTION_COLUMNS, rows)
    chosen = sharing.choose_collection(shared, "administered_collection")
    if chosen is not None:
        sharing.change_collection(visitor, chosen)


def _whose(
    collection: Collection,
    people: Mapping[str, Person],
    groups: Mapping[str, PeopleGroup],
    owners: Sequence[Grantee],
) -> str:
    if collection.private_of is not None:
        return words.own_collection(words.person_label(people[collection.private_of]))
    return words.owned_by([words.grantee_name(one, people, groups) for one in owners])


# Limits


def _limits(visitor: Visitor) -> None:
    st.html(f"<p class='note'>{words.LIMITS_WHAT}</p>")
    everybody = visitor.access.quotas.for_everybody()
    now = {what: getattr(everybody, what.value) for what in Limited}
    set_now = {what: most for what, most in now.items() if most is not None}
    _limits_form(visitor, None, set_now, words.EVERYBODY_EMPTY)
    st.html(f"<h3>{words.LIMITS_OF_ONE}</h3>")
    people = [one for one in visitor.access.people() if one.active]
    chosen = _choose_person(people, words.CHOOSE_PERSON, "limits_chosen")
    if chosen is not None:
        st.html(f"<p class='note'>{words.PERSON_LIMITS_HINT}</p>")
        own = dict(visitor.access.quotas.own_limits(chosen.subject))
        _limits_form(visitor, chosen.subject, own, words.PERSON_EMPTY)


def _limits_form(
    visitor: Visitor, subject: str | None, now: dict[Limited, int | None], empty: str
) -> None:
    whose = subject or ""
    with st.form(widget_key("limits", whose), border=False):
        for what in Limited:
            st.text_input(
                words.LIMITED[what],
                value=_as_typed(what, now[what]) if what in now else "",
                key=widget_key(f"limit-{what}", whose),
                placeholder=empty,
            )
        submit_button(
            words.SAVE, widget_key("limits_save", whose), doing, _set_limits, visitor, subject, now
        )


def _as_typed(what: Limited, most: int | None) -> str:
    if most is None:
        return words.NO_LIMIT
    return f"{Decimal(most) / _MEGABYTE:f}" if what is Limited.BYTES else str(most)


def _set_limits(visitor: Visitor, subject: str | None, before: dict[Limited, int | None]) -> None:
    """Set what was typed otherwise than it was. Raises AccessError, before any is set."""
    quotas, by = visitor.access.quotas, visitor.subject
    wanted: dict[Limited, int | None] = {}
    for what in Limited:
        typed = str(st.session_state[widget_key(f"limit-{what}", subject or "")] or "").strip()
        if typed:
            wanted[what] = _limit(what, typed)
    for what in Limited:
        if what not in wanted and what in before:
            quotas.unset_limit(by, what, subject)
        elif what in wanted and wanted[what] != before.get(what, -1):
            quotas.set_limit(by, what, wanted[what], subject)


def _limit(what: Limited, typed: str) -> int | None:
    """What was typed as a number. Raises AccessError."""
    if typed.casefold() == words.NO_LIMIT:
        return None
    number = typed.replace(" ", "")
    if _THOUSANDS.fullmatch(number):  # elsewhere a comma may be that of a decimal: "1,5"
        number = number.replace(",", "")
    if not (_MEGABYTES if what is Limited.BYTES else _WHOLE).fullmatch(number):
        raise AccessError(words.NO_NUMBER)
    return int(Decimal(number) * (_MEGABYTE if what is Limited.BYTES else 1))


# Work, models and the log


@dataclass(frozen=True, slots=True)
class QueuedWork:
    """A document that is worked on or waits; `subject`: who added it, empty: this computer."""

    subject: str
    collection: str
    name: str
    stage: str


def work_of(library: Library) -> Sequence[QueuedWork]:
    """What is in the queue, whoever's it is; what a document is called is its readers' to know."""
    return [
        QueuedWork(
            subject,
            document.collection,
            words.some_file(document.suffix, document.size),
            texts.progress(how_far, document.suffix),
        )
        for document, subject, how_far in library.work_of_everybody()
    ]


def _work(visitor: Visitor, library: Library) -> None:
    """What waits, and whose; a document's name only where the administrator may read it."""
    seen = visitor.access.scope_of(visitor.subject).collections
    people = {one.subject: one for one in visitor.access.people()}
    rows = []
    for one in work_of(library):
        whose = people[one.subject].shown if one.subject in people else one.subject or words.NOBODY
        rows.append((whose, one.name if one.collection in seen else words.SOMEBODY_S, one.stage))
    if rows:
        _table(words.WORK_COLUMNS, rows)
    else:
        st.html(f"<p class='note'>{words.NO_WORK}</p>")


def _models(settings: Settings, meaning: str) -> None:
    st.html(words.models_set(settings, meaning))
    st.html(f"<h3>{words.SENT_WHERE}</h3>")
    st.html(words.sent_where(settings, meaning))


def _log(visitor: Visitor) -> None:
    access = visitor.access
    people = access.people()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        who = _choose_person(people, words.LOG_PERSON, "log_person")
        action = st.selectbox(
            words.LOG_ACTION, list(Action), index=None, key="log_action",
            placeholder=words.LOG_ALL, format_func=lambda one: Action(one).value,
        )  # fmt: skip
        first = st.date_input(words.LOG_SINCE, value=None, key="log_since")
        last = st.date_input(words.LOG_UNTIL, value=None, key="log_until")
    since = _beginning_of(first) if isinstance(first, date) else ""
    until = _beginning_of(last + timedelta(days=1)) if isinstance(last, date) else ""
    subject = who.subject if who else None
    entries = access.log.entries(since, until, subject, _SHOWN, action=action)
    if not entries:
        st.html(f"<p class='note'>{words.LOG_EMPTY}</p>")
        return
    known = {
        **{one.id: one.name for one in access.collections(visitor.subject)},
        **{one.id: one.name for one in access.groups()},
        **{one.subject: one.shown for one in people},
    }
    _table(words.LOG_COLUMNS, [words.log_row(one, known) for one in entries])
    every = partial(access.log.every, since, until, subject, action=action)
    with st.container(horizontal=True):
        for form, label in words.LOG_FORMATS.items():
            st.download_button(
                label, key=f"log_{form}", data=partial(_exported, visitor, every, form),
                file_name=f"log.{form}", on_click="ignore", mime=current().file_type,
            )  # fmt: skip


def _exported(visitor: Visitor, every: Callable[[], Iterator[AuditEntry]], form: str) -> bytes:
    """The log as a file, made when its button is pressed."""
    visitor.access.log.record(visitor.subject, Action.EXPORT, "log")
    if form == "csv":
        return "".join(as_csv(every())).encode("utf-8-sig")  # so that spreadsheets know it
    return "".join(as_json_lines(every())).encode("utf-8")


def _beginning_of(day: date) -> str:
    """The first moment of a day, where the app runs, as the log writes it."""
    return moment(datetime.combine(day, time()).astimezone(UTC).timestamp())


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    st.html(table(columns, (map(escape, row) for row in rows[:_SHOWN])))
    if len(rows) > _SHOWN:
        st.html(f"<p class='note'>{words.first_of(_SHOWN, len(rows))}</p>")
