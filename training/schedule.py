"""Learning rate over the run: warm-up, a long plateau, a short descent.

On a plateau a run can be prolonged, or cut short by a descent, without having been planned so:
resume with other `rounds`. Averaged weights are usable at any time.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schedule:
    """All lengths in rounds, so that batch sizes do not matter."""

    peak: float = 1.5e-4
    rounds: float = 8.0
    warmup: float = 0.1
    descent: float = 1.0

    def rate(self, progress: float) -> float:
        """Learning rate after `progress` rounds."""
        rising = progress / self.warmup if self.warmup else 1.0
        falling = (self.rounds - progress) / self.descent if self.descent else 1.0
        return self.peak * max(0.0, min(1.0, rising, falling))
