"""Whose turn it is: people in turns, and of what one of them handed in the small files first.

Nobody starves. Who waits is served before anybody is served twice, and a file is overtaken only by
smaller ones that come within hours of it. Pure; knows nothing of documents and of the work."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rag_app.storage.queue import Waiting

_A_DOUBLING = 600.0  # seconds
"""How much later a file half as large may come and still go first. 8 kB beside 8 MB are ten
doublings: for an hour and a half small files come before that large one, and then it has waited
long enough."""


def place(arrived: float, size: int) -> float:
    """The place of a file among those of whoever handed it in, the least first: `arrived` in
    seconds since whenever, `size` in bytes."""
    return arrived + _A_DOUBLING * math.log2(1 + size)


class Turns:
    """Who has waited how long for a turn. Not for two threads at once."""

    def __init__(self) -> None:
        self._taken = 0  # turns so far
        # How many had been taken when somebody began to wait, and whether the last was theirs: who
        # was just served stands behind those who come now.
        self._since: dict[str, tuple[int, bool]] = {}

    def choose(self, waiting: Iterable[Waiting]) -> Waiting | None:
        """Whose turn it is of those that wait, None if nobody does.

        Of each person it needs to know only what has the first place."""
        there = list(waiting)
        people = {one.added_by for one in there}
        self._since = {who: self._since.get(who, (self._taken, False)) for who in people}
        return min(there, key=self._order, default=None)

    def take(self, chosen: Waiting) -> None:
        """The turn was taken: now it is the others' before it is this person's again."""
        self._taken += 1
        self._since[chosen.added_by] = self._taken, True

    def _order(self, one: Waiting) -> tuple[tuple[int, bool], float, str]:
        return self._since[one.added_by], one.place, one.document_id
