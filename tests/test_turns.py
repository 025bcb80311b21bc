"""Whose turn it is, whatever comes in whatever order."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_app.ingestion.job_queue import Turns, place
from rag_app.scope import WORKER
from rag_app.storage import Store
from rag_app.storage.queue import Waiting
from rag_app.types import Document, Status

HOUR = 3_600
PEOPLE = st.sampled_from(["", "anna", "ben", "chris"])
SIZES = st.integers(0, 1 << 40)


@st.composite
def queues(draw):
    """Files of some people, that came one after the other within hours: (who, size, place)."""
    files = draw(st.lists(st.tuples(PEOPLE, SIZES, st.floats(0, 8 * HOUR)), max_size=30))
    return [
        Waiting(f"{number:03d}", who, place(arrived, size))
        for number, (who, size, arrived) in enumerate(files)
    ]


@dataclass
class Desk:
    """Takes turns until nothing waits; what comes while others wait comes by and by."""

    coming: list[Waiting]
    at_once: int
    turns: Turns = field(default_factory=Turns)
    waiting: list[Waiting] = field(default_factory=list)

    def serve(self) -> list[tuple[Waiting, list[Waiting]]]:
        """What was taken, each with all that waited then, in order."""
        taken = []
        self._let_in(self.at_once)
        while self.waiting or self.coming:
            chosen = self.turns.choose(self.waiting)
            if chosen:
                taken.append((chosen, list(self.waiting)))
                self.turns.take(chosen)
                self.waiting.remove(chosen)
            self._let_in(1)
        return taken

    def _let_in(self, number: int) -> None:
        self.waiting += self.coming[:number]
        del self.coming[:number]


@given(queues(), st.integers(0, 10))
def test_everything_that_waits_is_taken_exactly_once(queue, at_once):
    taken = [one.document_id for one, _ in Desk(list(queue), at_once).serve()]
    assert sorted(taken) == [one.document_id for one in queue]


@given(queues(), st.integers(0, 10))
def test_nobody_is_served_twice_while_another_waits_for_a_turn(queue, at_once):
    taken = Desk(list(queue), at_once).serve()
    for now, (_, waiting) in enumerate(taken):
        for who in {one.added_by for one in waiting}:
            before = []  # the turns since this one has waited without getting one
            for one, there in reversed(taken[:now]):
                if one.added_by == who or who not in {each.added_by for each in there}:
                    break
                before.append(one.added_by)
            assert len(before) == len(set(before))


@given(queues(), st.integers(0, 10))
def test_of_one_persons_files_the_first_place_is_taken_first(queue, at_once):
    for chosen, waiting in Desk(list(queue), at_once).serve():
        assert chosen.place == min(o.place for o in waiting if o.added_by == chosen.added_by)


@given(queues(), st.integers(0, 10))
def test_the_first_of_each_person_is_all_that_has_to_be_known(queue, at_once):
    everything, few = Desk(list(queue), at_once), Turns()
    for chosen, waiting in everything.serve():
        firsts = {}
        for one in sorted(waiting, key=lambda one: (one.place, one.document_id)):
            firsts.setdefault(one.added_by, one)
        assert few.choose(firsts.values()) == chosen
        few.take(chosen)


@given(st.floats(0, 1e9), SIZES, SIZES)
def test_of_files_that_come_together_the_smaller_goes_first(arrived, size, other):
    small, large = sorted((size, other))
    assert place(arrived, small) <= place(arrived, large)
    assert place(arrived, 8_000) < place(arrived, 8_000_000)


@given(st.floats(0, 1e9), SIZES, SIZES)
def test_no_file_is_overtaken_by_what_comes_a_day_later(arrived, size, other):
    assert place(arrived, size) < place(arrived + 24 * HOUR, other)


def test_a_small_sheet_passes_a_large_scan_that_came_an_hour_before():
    assert place(HOUR, 8_000) < place(0, 8_000_000) < place(2 * HOUR, 8_000)


def test_a_newcomer_waits_behind_who_waits_already_and_no_longer():
    turns, anna, ben = Turns(), Waiting("a1", "anna", 1), Waiting("b", "ben", 99)
    assert turns.choose([anna]) == anna
    turns.take(anna)
    more = Waiting("a2", "anna", 2)
    assert turns.choose([more, ben]) == ben
    turns.take(ben)
    newcomer = Waiting("c", "chris", 0)
    assert turns.choose([more, newcomer]) == more
    turns.take(more)
    assert turns.choose([Waiting("a3", "anna", 0), newcomer]) == newcomer


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(PEOPLE, st.integers(0, 5), st.integers(0, 3), st.booleans()), max_size=25),
    st.sets(st.integers(0, 24)),
    st.none() | st.integers(0, 3),
)
def test_the_store_knows_the_first_of_each_person(database, files, without, largest):
    store = Store(database)
    store.remove(*(document.id for document in store.documents(WORKER)))
    expected: dict[tuple[str, str], tuple[float, int, str]] = {}
    left_out = [f"{n:064x}" for n in without]
    for n, (who, at, size, received) in enumerate(files):
        status = Status.RECEIVED if received else Status.READ
        one = Document(f"{n:064x}", f"{n}.txt", ".txt", size, status, f"{n:08d}")
        store.add_document(one, added_by=who, place=float(at))
        if one.id not in left_out and (largest is None or size <= largest):
            key = (status.value, who)
            expected[key] = min(expected.get(key, (9.0, 0, "")), (float(at), n, one.id))
    found = store.queue.first_of_each([Status.RECEIVED, Status.READ], left_out, largest)
    assert sorted((w.added_by, w.place, w.document_id) for w in found) == sorted(
        (who, at, id_) for (_, who), (at, _, id_) in expected.items()
    )
