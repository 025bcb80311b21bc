"""Who somebody is, from what proves it: claims of a provider's token, or headers of a proxy.

Pure. That a token is signed, and that headers come from a proxy that is believed, has been checked
by then; what is in them is a stranger's all the same."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from rag_app.access.nouns import Identity

IDENTITY_HEADER = "X-Rag-App-Identity"  # in which the server tells its page, see `written`
_KEY_LENGTH = 255  # characters: as much as OpenID Connect allows in who somebody is
_LABEL_LENGTH = 200


@dataclass(frozen=True, slots=True)
class TokenIssuer:
    """The provider whose tokens are believed, the app that they must be for, and the claim that
    names groups."""

    url: str
    client: str
    groups_claim: str


def from_claims(claims: Mapping[str, object], issuer: TokenIssuer) -> Identity | None:
    """Who a token is about; None if it is another provider's, for another app, or does not say
    about whom it is, since when and until when."""
    subject = _key(claims.get("sub"))
    issued, expires = _time(claims.get("iat")), _time(claims.get("exp"))
    if not (_is_by(claims, issuer.url) and _is_for(claims, issuer.client)):
        return None
    if not subject or issued is None or expires is None:
        return None
    unverified = claims.get("email_verified") in (False, "false")
    return Identity(
        subject=f"{issuer.url}|{subject}",
        name=_label(claims.get("name")) or _label(claims.get("preferred_username")),
        email="" if unverified else _key(claims.get("email")),
        groups=_keys(claims.get(issuer.groups_claim)),
        expires=expires,
        issued=issued,
    )


def _is_by(claims: Mapping[str, object], issuer: str) -> bool:
    said = claims.get("iss")
    return isinstance(said, str) and said.rstrip("/") == issuer.rstrip("/")


def _is_for(claims: Mapping[str, object], client: str) -> bool:
    """Whether a token is for an app, and was given to no other on its behalf."""
    audience = claims.get("aud")
    listed = audience if isinstance(audience, list) else [audience]
    return client in listed and claims.get("azp", client) == client


def _time(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


@dataclass(frozen=True, slots=True)
class HeaderNames:
    """The headers in which a proxy says who asks, in lower case; an empty name: it does not."""

    user: str
    email: str
    groups: str

    @property
    def used(self) -> frozenset[str]:
        """All of them that have a name."""
        return frozenset(filter(None, (self.user, self.email, self.groups)))


def from_headers(headers: Sequence[tuple[bytes, bytes]], names: HeaderNames) -> Identity | None:
    """Who a request is from; None if its headers do not say so, or say it twice."""
    subject = _key(_one(headers, names.user))
    if not subject:
        return None
    groups = [group.strip() for group in _one(headers, names.groups).split(",")]
    return Identity(subject, email=_key(_one(headers, names.email)), groups=_keys(groups))


def _one(headers: Sequence[tuple[bytes, bytes]], name: str) -> str:
    """The header's value; empty if it is not there, or more than once: whose would it be?"""
    found = [value for key, value in headers if name and key.lower() == name.encode("ascii")]
    if len(found) != 1:
        return ""
    try:
        return found[0].decode("utf-8").strip()
    except UnicodeDecodeError:
        return found[0].decode("latin-1").strip()


def _key(value: object) -> str:
    """What rights may hang on; empty if it is not fit to be. It is never mended: two people, or two
    groups, must not become one."""
    if not isinstance(value, str) or len(value) > _KEY_LENGTH:
        return ""
    return value if value.isprintable() and value == value.strip() else ""


def _keys(value: object) -> frozenset[str]:
    listed = value if isinstance(value, list) else [value]
    return frozenset(filter(None, map(_key, listed)))


def _label(value: object) -> str:
    """Words for people on one line, without what cannot be seen (or turns what follows around)."""
    text = value if isinstance(value, str) else ""
    seen = "".join(c for c in text if c.isprintable() or c.isspace())
    return " ".join(seen.split())[:_LABEL_LENGTH].rstrip()


# An identity on its way from the server to the page.


def written(identity: Identity) -> str:
    """An identity as the value of a header."""
    return json.dumps({**asdict(identity), "groups": sorted(identity.groups)})


def read(value: str) -> Identity:
    """The identity of such a value."""
    fields = json.loads(value)
    return Identity(**{**fields, "groups": frozenset(fields["groups"])})
