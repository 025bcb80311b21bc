"""Who somebody is, from what a provider or a proxy says: nothing of it is taken on trust."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.access import proof
from rag_app.access.nouns import Identity

ISSUER = proof.TokenIssuer("https://id.example.org/realm", "rag-app", "groups")
CLAIMS = {
    "iss": "https://id.example.org/realm",
    "aud": "rag-app",
    "sub": "4711",
    "iat": 1_999_996_400,
    "exp": 2_000_000_000,
    "name": "Ada Lovelace",
    "email": "ada@example.org",
    "groups": ["engines", "letters"],
}
NAMES = proof.HeaderNames("x-forwarded-user", "x-forwarded-email", "x-forwarded-groups")


def claimed(**changed: object) -> Identity | None:
    return proof.from_claims({**CLAIMS, **changed}, ISSUER)


def sent(*headers: tuple[str, str | bytes], names: proof.HeaderNames = NAMES) -> Identity | None:
    raw = [(k.encode(), v.encode() if isinstance(v, str) else v) for k, v in headers]
    return proof.from_headers(raw, names)


def test_a_token_says_who_it_is_about_and_until_when():
    assert claimed() == Identity(
        "https://id.example.org/realm|4711",
        "Ada Lovelace",
        "ada@example.org",
        frozenset({"engines", "letters"}),
        2_000_000_000.0,
        1_999_996_400.0,
    )
    assert claimed(iss="https://id.example.org/realm/") == claimed()
    assert claimed(aud=["rag-app"]) == claimed(aud=["other", "rag-app"]) == claimed()
    assert claimed(aud=["rag-app", "other"], azp="rag-app") == claimed()


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://id.example.org/realm2"},
        {"iss": "https://evil.example/realm"},
        {"iss": None},
        {"iss": ["https://id.example.org/realm"]},
        {"aud": "other"},
        {"aud": ["other"], "azp": "rag-app"},  # what Authlib lets through
        {"aud": "rag-app-2"},
        {"aud": None},
        {"aud": "rag-app", "azp": "other"},
        {"iat": None},
        {"iat": "1999996400"},
        {"iat": math.nan},
        {"exp": None},
        {"exp": "2000000000"},
        {"exp": True},
        {"exp": math.inf},
        {"exp": math.nan},
        {"sub": None},
        {"sub": ""},
        {"sub": 4711},
        {"sub": "   "},
        {"sub": " 4711"},
        {"sub": "47\x0011"},
        {"sub": "47\u202e11"},
        {"sub": "4" * 256},
    ],
)
def test_a_token_of_another_for_another_or_about_nobody_is_worth_nothing(changed):
    assert claimed(**changed) is None


def test_an_address_that_was_not_verified_is_nobodys():
    for unverified in (False, "false"):
        assert claimed(email_verified=unverified).email == ""
    assert claimed(email_verified=True).email == CLAIMS["email"]
    assert claimed(email="ada\n@example.org").email == ""


def test_a_name_is_one_line_of_what_can_be_seen():
    said = claimed(name="  Ada\r\n\x07 \u202eLove\u200blace\x1b[31m ").name
    assert said == "Ada Lovelace[31m"
    assert len(claimed(name="A" * 10_000).name) == 200
    assert claimed(name=None, preferred_username="ada").name == "ada"
    assert claimed(name=["Ada"]).name == ""


def test_groups_are_never_mended():
    given = ["engines", "letters\u200b", " engines2", "", 7, None, ["x"], "e" * 256]
    assert claimed(groups=given).groups == frozenset({"engines"})
    assert claimed(groups="engines").groups == frozenset({"engines"})
    assert claimed(groups=None).groups == claimed(groups={"a": 1}).groups == frozenset()


def test_a_proxy_says_it_in_headers():
    assert sent(
        ("X-Forwarded-User", "ada"),
        ("x-forwarded-email", "ada@example.org"),
        ("X-FORWARDED-GROUPS", "engines, letters,,"),
    ) == Identity("ada", email="ada@example.org", groups=frozenset({"engines", "letters"}))
    assert sent(("x-forwarded-user", "Zoë".encode())).subject == "Zoë"
    assert sent(("x-forwarded-user", "Zoë".encode("latin-1"))).subject == "Zoë"


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("x-forwarded-user", "")],
        [("x-forwarded-user", "a\tb")],
        [("x-forwarded-user", b"\x00")],
        [("x-forwarded-email", "ada@example.org")],
        [("x-forwarded-user", "ada"), ("X-Forwarded-User", "bob")],
        [("x-forwarded-users", "ada")],
    ],
)
def test_headers_that_name_nobody_or_two_name_nobody(headers):
    assert sent(*headers) is None


def test_a_header_that_is_not_used_says_nothing():
    only = proof.HeaderNames("remote-user", "", "")
    said = sent(("remote-user", "ada"), ("", "x"), ("x-forwarded-groups", "admins"), names=only)
    assert said == Identity("ada")
    assert only.used == {"remote-user"}


@given(
    st.builds(
        Identity,
        subject=st.text(),
        name=st.text(),
        email=st.text(),
        groups=st.frozensets(st.text()),
        expires=st.none() | st.floats(0, 4e9),
        issued=st.none() | st.floats(0, 4e9),
    )
)
def test_an_identity_goes_through_a_header_unchanged(identity):
    value = proof.written(identity)
    assert value.isascii() and value.isprintable()
    assert proof.read(value) == identity
