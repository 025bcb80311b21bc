"""Who somebody is, as whoever signs people in says it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """Who somebody is, as whoever signs people in says it.

    `subject` is unique and lasting: "<issuer>|<sub>" where a provider signs people in, the value of
    the header behind a proxy, empty on one's own computer. The rest is for reading, and may change
    from one sign-in to the next. `expires`: seconds since the epoch after which it must be proved
    again; None: it need not. `issued`: when a provider signed them in; None: a proxy did."""

    subject: str
    name: str = ""
    email: str = ""
    groups: frozenset[str] = frozenset()
    expires: float | None = None
    issued: float | None = None


IsActive = Callable[[Identity], bool]
"""Whether somebody who signed in may (still) come in."""


def everybody(_identity: Identity) -> bool:
    """Lets in all who signed in."""
    return True
