"""Who asks, and what they may."""

from __future__ import annotations

from rag_app.scope import HOME, OWN, WORKER, Role, Scope


def test_a_role_may_what_the_roles_below_it_may() -> None:
    scope = Scope.of("anna", {"team": Role.EDITOR})
    assert scope.may(Role.READER, "team") and scope.may(Role.EDITOR, "team")
    assert not scope.may(Role.OWNER, "team")


def test_what_is_not_granted_has_no_role() -> None:
    scope = Scope.of("anna", {"team": Role.OWNER})
    assert scope.role("other") is None
    assert not scope.may(Role.READER, "other")
    assert scope.collections == ("team",)


def test_a_narrower_view_never_gains_a_collection() -> None:
    scope = Scope.of("anna", {"team": Role.READER, "own": Role.OWNER})
    assert scope.within(["own", "foreign"]) == Scope.of("anna", {"own": Role.OWNER})


def test_on_ones_own_computer_there_is_one_collection() -> None:
    assert OWN.collections == (HOME,)
    assert OWN.may(Role.OWNER, HOME)


def test_the_worker_sees_everything_and_no_narrower_view_of_it_does() -> None:
    assert WORKER.may(Role.OWNER, "whoever's")
    assert not WORKER.within(["whoever's"]).may(Role.READER, "whoever's")
