"""Keys with which programs ask in a person's name."""

from __future__ import annotations

import hashlib
import hmac
import time

import pytest

from rag_app.access import keys as module
from rag_app.access.access import Access
from rag_app.access.keys import ApiKeys
from rag_app.access.nouns import MACHINE, Identity
from rag_app.errors import AccessError, NotAllowed, UnknownGrantee
from rag_app.settings import Settings
from rag_app.ui import web_guard
from tests.test_audit import NOW, Now


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def access(database, now) -> Access:
    made = Access(database, Settings.load(), now)
    for one in ("anna", "ben"):
        made.arrive(Identity(one))
    return made


@pytest.fixture
def keys(access) -> ApiKeys:
    return access.api_keys


def test_a_key_says_whose_it_is(keys):
    info, secret = keys.create_key("ben", " my\nscript ")
    assert keys.subject_of(secret) == "ben"
    assert (info.name, info.expires, info.used) == ("my script", None, None)
    assert secret.startswith(f"rag_{info.id}_")


@pytest.mark.parametrize("wrong", ["", "wrong", "ragapp_" + "x" * 43, f"rag_{'0' * 16}_short"])
def test_what_is_not_made_like_a_key_does_not_open_the_library(monkeypatch, wrong):
    class Opened(Exception):
        """The library was."""

    def opened() -> None:
        raise Opened

    monkeypatch.setattr(web_guard, "library", opened)
    assert web_guard.PeopleKeys().scope_of_key(wrong) is None
    with pytest.raises(Opened):
        web_guard.PeopleKeys().scope_of_key(f"rag_{'0' * 16}_{'x' * 43}")


def test_the_secret_is_kept_nowhere(keys, access, database, databases):
    folder = databases.files()
    info, secret = keys.create_key("ben", "script")
    keys.subject_of(secret)
    database.cut_log()
    random = secret.removeprefix(f"rag_{info.id}_")
    raw = module._bytes(random)
    held = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert info.id.encode() in held and hashlib.sha256(raw).digest() in held
    assert raw not in held and random.encode() not in held and len(raw) == 32
    assert secret not in repr(info) + repr(keys.keys("ben")) + repr(access.log.entries())


@pytest.mark.parametrize(
    "wrong",
    [
        lambda secret: "",
        lambda secret: "rag_",
        lambda secret: secret[:-1],
        lambda secret: f"{secret} ",
        lambda secret: secret.upper(),
        lambda secret: secret[:21] + "A" * 43,
        lambda secret: "rag_" + "0" * 16 + secret[20:],
        lambda secret: "rag_" + "é" * 16 + secret[20:],
        lambda secret: "x" * 1_000_000,
    ],
)
def test_what_is_no_key_is_nobody_s(keys, wrong):
    _, secret = keys.create_key("ben", "script")
    assert keys.subject_of(wrong(secret)) is None


def test_a_key_ends_when_it_was_said_to(keys, now):
    info, secret = keys.create_key("ben", "script", 3_600)
    now.seconds += 3_599
    assert keys.subject_of(secret) == "ben"
    now.seconds += 1
    assert keys.subject_of(secret) is None and keys.keys("ben")[0].id == info.id
    with pytest.raises(AccessError, match="more time"):
        keys.create_key("ben", "script", 0)


@pytest.mark.parametrize("seconds", [9_999_999 * 86_400.0, float("inf"), float("nan")])
def test_a_key_that_would_outlast_every_calendar_is_refused_in_a_sentence(keys, seconds):
    with pytest.raises(AccessError, match="No key lasts that long"):
        keys.create_key("ben", "script", seconds)
    assert not keys.keys("ben")


def test_a_revoked_key_is_nobody_s_and_only_its_own(keys):
    info, secret = keys.create_key("ben", "one")
    _, other = keys.create_key("ben", "two")
    keys.revoke_key("ben", info.id)
    assert keys.subject_of(secret) is None and keys.subject_of(other) == "ben"
    assert [one.name for one in keys.keys("ben")] == ["two"]


def test_nobody_ends_a_key_of_somebody_else_but_an_administrator(keys):
    info, _ = keys.create_key("anna", "hers")
    with pytest.raises(AccessError, match="no such key"):
        keys.revoke_key("ben", info.id)
    with pytest.raises(AccessError, match="no such key"):
        keys.revoke_key("ben", "none")
    mine, secret = keys.create_key("ben", "his")
    keys.revoke_key("anna", mine.id)
    assert keys.subject_of(secret) is None


def test_keys_of_who_was_removed_end_and_do_not_come_back(keys, access):
    _, secret = keys.create_key("ben", "script")
    access.remove_person("anna", "ben")
    assert keys.subject_of(secret) is None
    access.restore_person("anna", "ben")
    assert keys.subject_of(secret) is None and keys.keys("ben") == ()


def test_a_key_that_outlived_its_person_is_nobody_s(keys, database):
    _, secret = keys.create_key("ben", "script")
    with database.write() as db:  # as in a copy of the library that was put back
        db.execute("UPDATE people SET active = FALSE WHERE id = 'ben'")
    assert keys.subject_of(secret) is None


def test_a_key_is_made_by_who_it_is_for(keys, access):
    with pytest.raises(NotAllowed):
        keys.create_key("ben", "script", by="anna")
    assert keys.create_key("ben", "script", by=MACHINE)[0].subject == "ben"
    with pytest.raises(UnknownGrantee):
        keys.create_key("stranger", "script")
    access.remove_person("anna", "ben")
    with pytest.raises(UnknownGrantee):
        keys.create_key("ben", "script")


def test_nobody_has_very_many_keys(keys):
    for number in range(50):
        keys.create_key("ben", f"k{number}")
    with pytest.raises(AccessError, match="Revoke one"):
        keys.create_key("ben", "another")


def test_the_last_use_is_written_down_once_a_minute(keys, database, now):
    _, secret = keys.create_key("ben", "script")
    keys.subject_of(secret)
    before = database.commits
    assert keys.keys("ben")[0].used == module.moment(NOW)
    now.seconds += 59
    keys.subject_of(secret)
    assert database.commits == before
    now.seconds += 1
    keys.subject_of(secret)
    assert database.commits > before and keys.keys("ben")[0].used == module.moment(NOW + 60)


def test_an_unknown_id_and_a_wrong_secret_are_compared_alike(keys, monkeypatch):
    _, secret = keys.create_key("ben", "script")
    compared: list[tuple[int, int]] = []
    real = hmac.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return real(one, other)

    monkeypatch.setattr(module.hmac, "compare_digest", compare)
    for wrong in ("", "rag_" + "0" * 16 + secret[20:], secret[:21] + "A" * 43):
        assert keys.subject_of(wrong) is None
    assert compared == [(32, 32)] * 3


def test_ten_thousand_wrong_keys_cost_little_and_write_nothing(keys, database):
    _, secret = keys.create_key("ben", "script")
    before = database.commits
    began = time.process_time()
    for number in range(10_000):
        assert keys.subject_of(f"rag_{number:016x}_{'A' * 43}") is None
    assert time.process_time() - began < 5
    assert database.commits == before and keys.subject_of(secret) == "ben"


def test_a_key_of_zeros_is_nobody_s(keys):
    assert keys.subject_of("rag_" + "0" * 16 + "_" + "A" * 43) is None


def test_the_log_says_when_keys_were_made_and_revoked(keys, access):
    info, _ = keys.create_key("ben", "script")
    keys.revoke_key("ben", info.id)
    said = [(e.subject, e.action, e.about) for e in access.log.entries(limit=2)]
    assert said == [("ben", "key revoked", info.id), ("ben", "key made", info.id)]
