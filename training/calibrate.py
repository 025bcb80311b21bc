"""Confidence as a probability: `python -m training.calibrate --data DIR --weights DIR`.

Fits a logistic regression from the reader's score to "this answer is right" on the dev sets,
reports the calibration error by cross-fitting (no question is judged by a fit that saw it), and
the operating points for abstention.
"""

import argparse
import json
import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from training import metrics, plots, predict
from training import model as network
from training.evaluate import dev_guesses, reader_from
from training.export import ABOUT
from training.features import Encoder
from training.metrics import Outcome
from training.mixture import Mixture

RIGHT = 0.5
"""An answer counts as right from this F1 on: "the 1990s" for "1990s" helps a reader."""
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Logistic:
    """Chance = 1 / (1 + exp(-(slope * score + offset)))."""

    slope: float
    offset: float

    def chance(self, score: float) -> float:
        """The confidence of a score."""
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, self.slope * score + self.offset))))

    def score(self, chance: float) -> float:
        """The score of a confidence."""
        return (math.log(chance / (1 - chance)) - self.offset) / self.slope


def right(outcome: Outcome) -> float:
    """1 if the best span answers the question."""
    return float(metrics.best_of(metrics.f1, outcome) >= RIGHT)


def fit(scores: Sequence[float], rights: Sequence[float], weights: Sequence[float]) -> Logistic:
    """Weighted logistic regression by Newton's method."""
    x, y, w = (torch.tensor(list(v), dtype=torch.float64) for v in (scores, rights, weights))
    design = torch.stack([x, torch.ones_like(x)], 1)
    theta = torch.zeros(2, dtype=torch.float64)
    for _ in range(50):
        chance = torch.sigmoid(design @ theta)
        slope = design.T @ (w * (y - chance)) - 1e-6 * theta
        curve = (design * (w * chance * (1 - chance))[:, None]).T @ design
        move = torch.linalg.solve(curve + 1e-6 * torch.eye(2, dtype=torch.float64), slope)
        theta += move.clamp(-2, 2)
        if move.abs().max() < 1e-9:
            break
    return Logistic(float(theta[0]), float(theta[1]))


def fit_outcomes(outcomes: Sequence[Outcome]) -> Logistic:
    """Every question weighs the same."""
    return fit([o.score for o in outcomes], [right(o) for o in outcomes], [1.0] * len(outcomes))


def cross_fitted(outcomes: Sequence[Outcome]) -> list[float]:
    """A chance for each outcome from a fit on the other folds."""
    order = list(range(len(outcomes)))
    random.Random(0).shuffle(order)
    chances = [0.0] * len(outcomes)
    for fold in range(FOLDS):
        held = set(order[fold::FOLDS])
        fitted = fit_outcomes([o for i, o in enumerate(outcomes) if i not in held])
        for index in held:
            chances[index] = fitted.chance(outcomes[index].score)
    return chances


def operating_points(outcomes: Sequence[Outcome], fitted: Logistic) -> list[dict[str, float]]:
    """What each threshold on confidence gives: how many are answered, how many of those rightly."""
    points = []
    for percent in range(5, 100, 5):
        chance = percent / 100
        given = [o for o in outcomes if fitted.chance(o.score) > chance]
        held = [o for o in outcomes if fitted.chance(o.score) <= chance]
        scored = metrics.at_threshold(outcomes, fitted.score(chance))
        unanswerable = sum(not o.answerable for o in outcomes)
        quiet = sum(not o.answerable for o in held)
        points.append(
            {
                "confidence": chance,
                "answered": len(given) / len(outcomes),
                "right_when_answered": sum(map(right, given)) / max(1, len(given)),
                "abstention_precision": quiet / max(1, len(held)),
                "abstention_recall": quiet / max(1, unanswerable),
                "f1": scored.f1,
            }
        )
    return points


def report(sets: dict[str, list[Outcome]], picture: Path) -> dict[str, Any]:
    """The fit, its error over all sets and per set, and the operating points; draws the plot."""
    together = [outcome for outcomes in sets.values() for outcome in outcomes]
    rights = [right(o) for o in together]
    chances = cross_fitted(together)
    found = metrics.bins(chances, rights)
    per_set, done = {}, 0
    for name, outcomes in sets.items():
        part = slice(done, done + len(outcomes))
        per_set[name] = metrics.ece(metrics.bins(chances[part], rights[part]))
        done += len(outcomes)
    curve = plots.Line("kept", [(b.promised, b.kept) for b in found])
    plots.draw(picture, "reliability: promised (x) and kept (y)", [curve], diagonal=True)
    fitted = fit_outcomes(together)
    return {
        "slope": fitted.slope,
        "offset": fitted.offset,
        "ece": metrics.ece(found),
        "ece_per_set": per_set,
        "bins": [asdict(b) for b in found],
        "operating_points": operating_points(together, fitted),
    }


def main() -> None:
    """Write `calibration.json` and `reliability.png`, print the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True, help="folder or checkpoint file")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--into", type=Path, help="exported folder whose reader.json gets the fit")
    parser.add_argument("--by", choices=("margin", "log_odds"), default="margin")
    parser.add_argument("--limit", type=int, default=0, help="questions per set; 0 means all")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    given.out.mkdir(parents=True, exist_ok=True)
    encoder = Encoder(network.encoder_folder() / "tokenizer.json", Mixture())
    guesses = dev_guesses(reader_from(given.weights), encoder, given.data / "dev", given.limit)
    sets = {
        name: predict.outcomes(rows, found, given.by) for name, (rows, found) in guesses.items()
    }
    result = report(sets, given.out / "reliability.png") | {"score": given.by}
    text = json.dumps(result, indent=1)
    (given.out / "calibration.json").write_text(text + "\n", encoding="utf-8")
    if given.into:
        about = given.into / ABOUT
        fit = {"passage": {"slope": result["slope"], "offset": result["offset"]}}
        values = json.loads(about.read_text("utf-8")) | fit
        about.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({key: result[key] for key in ("slope", "offset", "ece", "ece_per_set")}))


if __name__ == "__main__":
    main()
