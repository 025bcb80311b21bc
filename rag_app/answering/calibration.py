"""Scores to confidence: the chance that an answer is right. Pure.

Both fits are logistic regressions on held-out questions (training/calibrate.py, and
benchmarks/fit_reader.py for a whole library)."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Logistic:
    """Chance = 1 / (1 + exp(-(slope * margin + offset))), for one passage."""

    slope: float
    offset: float


@dataclass(frozen=True, slots=True)
class LibraryFit:
    """The same for the best of many passages, and how far it leads the next answer."""

    score: float
    lead: float
    offset: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """How the reader's scores become confidence."""

    passage: Logistic
    library: LibraryFit

    def of_passage(self, margin: float) -> float:
        """Chance that the best span of one passage answers the question; 0 without a span."""
        return _chance(self.passage.slope * margin + self.passage.offset)

    def of_library(self, score: float, lead: float) -> float:
        """Chance that the best answer over all passages is right."""
        fit = self.library
        return _chance(fit.score * score + fit.lead * lead + fit.offset)


def _chance(log_odds: float) -> float:
    if math.isnan(log_odds) or log_odds == -math.inf:
        return 0.0
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, log_odds))))
