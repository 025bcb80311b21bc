"""What somebody who has signed in may give: “Share” says who may see a collection, for those who
own it; “Keys” are for their programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from operator import attrgetter

import streamlit as st

from rag_app.access.keys import KeyInfo
from rag_app.access.nouns import Collection, Grant, Grantee, PeopleGroup, Person
from rag_app.scope import HOME, Role
from rag_app.text.highlighting import escape_markdown
from rag_app.ui import texts_access as words
from rag_app.ui.state import current, open_dialog
from rag_app.ui.who import Visitor, doing, trouble, widget_key
from rag_app.ui.widgets import button, choose, submit_button, text_button

_SHARING = "sharing"  # the name of its dialog
_SURE = "collection_sure"  # which collection was asked to be deleted
_CHOSEN = "share_collection"


def share_button() -> None:
    """Opens it."""
    text_button(words.SHARE, "share", open_dialog, _SHARING, icon="group_add")


def draw_sharing(visitor: Visitor) -> None:
    """The dialog, if it is open."""
    if current().dialog != _SHARING:
        return

    @st.dialog(words.SHARED, width="large", on_dismiss=_close_sharing)
    def show() -> None:
        trouble()
        _make(visitor)
        held = visitor.access.collections_of(visitor.subject)
        owned = [one for one, role in held if role is Role.OWNER and one.private_of is None]
        chosen = choose_collection(owned, _CHOSEN)
        if not owned:
            st.html(f"<p class='note'>{words.NO_COLLECTIONS}</p>")
        if chosen:
            change_collection(visitor, chosen)
        _shared_with(visitor, [(one, role) for one, role in held if role is not Role.OWNER])

    show()


def choose_collection(offered: Sequence[Collection], key: str) -> Collection | None:
    """One of these collections, as it is chosen."""
    if not offered:
        return None
    by_id = {one.id: one for one in offered}
    if len(by_id) == 1 and st.session_state.get(key, "") not in (None, *by_id):
        st.session_state[key], *_ = by_id
    label = words.CHOOSE_COLLECTION
    return choose(label, by_id, attrgetter("name"), key, words.CHOOSE_ONE)


def change_collection(visitor: Visitor, collection: Collection) -> None:
    """Who may see a collection, and what else its owner or an administrator may change of it."""
    if collection.private_of is None:
        _roles(visitor, collection)
    else:
        st.html(f"<p class='note'>{words.NOT_SHAREABLE}</p>")
    _rename(visitor, collection)
    if collection.id != HOME and collection.private_of is None:
        delete_twice(visitor, collection)


def _make(visitor: Visitor) -> None:
    with st.form("make_collection", border=False, clear_on_submit=True):
        st.text_input(words.NEW_COLLECTION, key="new_collection", max_chars=120)
        submit_button(
            words.MAKE_COLLECTION, "make_collection_now", doing, _made, visitor,
            icon="create_new_folder",
        )  # fmt: skip


def _made(visitor: Visitor) -> None:
    name = str(st.session_state["new_collection"] or "")
    made = visitor.access.create_collection(visitor.subject, name)
    st.session_state[_CHOSEN] = made.id


# Roles


def _roles(visitor: Visitor, collection: Collection) -> None:
    access = visitor.access
    people = {one.subject: one for one in access.people()}
    groups = {one.id: one for one in access.groups()}
    grants = access.grants(visitor.subject, collection.id)
    st.html(f"<h3>{words.WHO_MAY}</h3>")
    for grant in grants:
        _role(visitor, grant, words.grantee_name(grant.to, people, groups))
    _give(visitor, collection, grants, people, groups)


def _role(visitor: Visitor, grant: Grant, name: str) -> None:
    """A person or a group with their role, which can be changed and taken back."""
    of = (grant.collection, grant.to.kind.value, grant.to.id)
    key = widget_key("role", *of)
    st.session_state[key] = grant.role  # as it is, also where a change of it was refused
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            escape_markdown(name),
            list(Role),
            format_func=words.ROLES.__getitem__,
            key=key,
            on_change=doing,
            args=(_change_role, visitor, grant, key),
        )
        text_button(
            words.TAKE_BACK, widget_key("revoke", *of), doing, visitor.access.revoke,
            visitor.subject, grant.collection, grant.to, icon="person_remove",
        )  # fmt: skip


def _change_role(visitor: Visitor, grant: Grant, key: str) -> None:
    role = Role(st.session_state[key])
    visitor.access.grant(visitor.subject, grant.collection, grant.to, role)


def _give(
    visitor: Visitor,
    collection: Collection,
    grants: Iterable[Grant],
    people: dict[str, Person],
    groups: dict[str, PeopleGroup],
) -> None:
    """Somebody else is given a role."""
    given = {grant.to for grant in grants}
    offered = {
        **{Grantee.group(id_): f"{words.GROUP_MARK}{one.name}" for id_, one in groups.items()},
        **{Grantee.person(s): words.person_label(p) for s, p in people.items() if p.active},
    }
    left = {one: name for one, name in offered.items() if one not in given}
    to_key, role_key = widget_key("give_to", collection.id), widget_key("give", collection.id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choose(words.GIVE_TO, left, str, to_key, words.CHOOSE_ONE)
        st.selectbox(words.ROLE, list(Role), format_func=words.ROLES.__getitem__, key=role_key)
        button(
            words.GIVE, widget_key("give_now", collection.id), doing, _given, visitor,
            collection.id, to_key, role_key, icon="person_add",
        )  # fmt: skip


def _given(visitor: Visitor, collection: str, to_key: str, role_key: str) -> None:
    to = st.session_state[to_key]
    if isinstance(to, Grantee):
        role = Role(st.session_state[role_key])
        visitor.access.grant(visitor.subject, collection, to, role)
        st.session_state[to_key] = None


# A collection itself


def _rename(visitor: Visitor, collection: Collection) -> None:
    key = widget_key("rename", collection.id, collection.name)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(words.NAME, value=collection.name, key=key, max_chars=120)
        button(
            words.RENAME_COLLECTION, widget_key("rename_now", collection.id), doing, _renamed,
            visitor, collection.id, key, icon="edit",
        )  # fmt: skip


def _renamed(visitor: Visitor, collection: str, key: str) -> None:
    visitor.access.rename(visitor.subject, collection, str(st.session_state[key] or ""))


def delete_twice(visitor: Visitor, collection: Collection) -> None:
    """Deleting takes two clicks."""
    if st.session_state.get(_SURE) != collection.id:
        button(
            words.DELETE_COLLECTION, widget_key("deleting", collection.id), _ask, collection.id,
            icon="delete",
        )  # fmt: skip
        return
    st.html(f"<p class='failed' role='alert'>{words.DELETE_COLLECTION_SURE}</p>")
    with st.container(horizontal=True):
        button(
            words.DELETE_COLLECTION_NOW, widget_key("delete", collection.id), doing, _deleted,
            visitor, collection.id, type="primary",
        )  # fmt: skip
        button(words.KEEP, widget_key("keep", collection.id), _ask, "")


def _deleted(visitor: Visitor, collection: str) -> None:
    """Nobody sees it any more; who looks after `to_be_emptied` removes what is in it."""
    st.session_state.pop(_SURE, None)
    visitor.access.delete_collection(visitor.subject, collection)


def _shared_with(visitor: Visitor, held: Sequence[tuple[Collection, Role]]) -> None:
    """What others share with this person, who may leave it where the role is their own."""
    if not held:
        return
    st.html(f"<h3>{words.YOURS_TO_READ}</h3>")
    me, given = Grantee.person(visitor.subject), visitor.access.given_to(visitor.subject)
    for collection, role in held:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(f"<p>{escape(collection.name)}: {words.ROLES[role].lower()}</p>")
            if collection.id in given:
                text_button(
                    words.LEAVE_COLLECTION, widget_key("leave", collection.id), doing,
                    visitor.access.revoke, visitor.subject, collection.id, me,
                )  # fmt: skip
            else:
                st.html(f"<p class='note'>{words.BY_GROUP}</p>")


def _close_sharing() -> None:
    """The dialog was closed."""
    current().dialog = ""
    st.session_state.pop(_SURE, None)


def _ask(collection: str) -> None:
    st.session_state[_SURE] = collection


# “Keys”: a person's keys for programs, each shown once when it is made.

_KEYS = "keys"  # the name of its dialog
_SECRET = "key_secret"  # one that was just made, until the person has copied it or closes this
_DAY = 86_400.0  # seconds


def keys_button() -> None:
    """Opens it."""
    text_button(words.KEYS, "keys", open_dialog, _KEYS, icon="key")


def draw_keys(visitor: Visitor) -> None:
    """The dialog, if it is open."""
    if current().dialog != _KEYS:
        st.session_state.pop(_SECRET, None)
        return

    @st.dialog(words.KEYS, on_dismiss=_close_keys)
    def show() -> None:
        trouble()
        st.html(f"<p class='note'>{words.KEYS_WHAT}</p>")
        secret = st.session_state.get(_SECRET)
        if secret:
            st.html(f"<p class='note' role='status'>{words.KEY_ONCE}</p>")
            st.code(secret, language=None, wrap_lines=True)
            button(words.KEY_COPIED, "key_copied", _forget)
        else:
            _make_key(visitor)
        keys = visitor.access.api_keys.keys(visitor.subject)
        if not keys:
            st.html(f"<p class='note'>{words.NO_KEYS}</p>")
        for key in keys:
            _listed(visitor, key)

    show()


def _make_key(visitor: Visitor) -> None:
    with st.form("make_key", border=False, clear_on_submit=True):
        st.text_input(words.KEY_NAME, key="key_name", max_chars=120)
        st.selectbox(
            words.KEY_LASTS, list(words.KEY_LIFETIMES), index=1, key="key_lasts",
            format_func=words.KEY_LIFETIMES.__getitem__,
        )  # fmt: skip
        submit_button(words.MAKE_KEY, "key_make", doing, _made_key, visitor, icon="add")


def _made_key(visitor: Visitor) -> None:
    days = st.session_state["key_lasts"]
    lasting = None if days is None else float(days) * _DAY
    name = str(st.session_state["key_name"] or "")
    _, secret = visitor.access.api_keys.create_key(visitor.subject, name, lasting)
    st.session_state[_SECRET] = secret


def _listed(visitor: Visitor, key: KeyInfo) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        said = escape(words.key_line(key))
        st.html(f"<p>{escape(key.name)}</p><p class='facts'>{said}</p>")
        text_button(
            words.REVOKE_KEY, f"key_revoke-{key.id}", doing, visitor.access.api_keys.revoke_key,
            visitor.subject, key.id, icon="block",
        )  # fmt: skip


def _close_keys() -> None:
    """The dialog was closed: a key that was just made is shown no more."""
    current().dialog = ""
    _forget()


def _forget() -> None:
    st.session_state.pop(_SECRET, None)
