"""Use the cores that are free.

On a shared machine two threads that wait for each other at every operation are slower than one as
soon as other programs hold a core for part of the time. (And set OMP_WAIT_POLICY=passive: threads
that spin while they wait made a step four times as dear.)
"""

import time
from dataclasses import dataclass, field

import torch

EVERY = 20
"""Steps between decisions."""
BUSY = 0.65
"""Share of each wanted core under which other programs are in the way."""
FREE = 0.93
"""Share of its core from which a single thread may look for a second."""


@dataclass(slots=True)
class Threads:
    """Moves between one thread and `most`."""

    most: int
    _steps: int = 0
    _wall: float = field(default_factory=time.monotonic)
    _cpu: float = field(default_factory=time.process_time)

    def tick(self) -> None:
        """Call once per step."""
        self._steps += 1
        if self.most < 2 or self._steps % EVERY:
            return
        wall, cpu = time.monotonic(), time.process_time()
        now = torch.get_num_threads()
        torch.set_num_threads(choose(now, self.most, (cpu - self._cpu) / (wall - self._wall)))
        self._wall, self._cpu = wall, cpu


def choose(now: int, most: int, cores: float) -> int:
    """Threads to go on with, after a while in which `now` threads got so many cores' time."""
    if now == 1:
        return most if cores > FREE else 1
    return 1 if cores / now < BUSY else now
