"""How readers are scored, calibrated and drawn."""

import math
import random

import pytest

from training import calibrate, metrics, plots
from training.metrics import Outcome
from training.schedule import Schedule
from training.threads import choose


def test_the_rate_rises_stays_and_falls_to_nothing():
    plan = Schedule(peak=1.0, rounds=4, warmup=0.5, descent=1)
    assert [plan.rate(x) for x in (0.25, 0.5, 2, 3, 3.5, 4)] == [0.5, 1, 1, 1, 0.5, 0]


def test_scores_are_those_of_the_squad_script():
    assert metrics.exact("The Arno!", "arno") == 1
    assert metrics.f1("the first bridge", "first stone bridge") == pytest.approx(0.8)
    assert metrics.f1("Arno", "Pisa") == 0
    assert metrics.f1("", "") == 1


def test_the_best_threshold_is_found_among_all():
    rng = random.Random(5)
    rows = [Outcome(("a",) if rng.random() < 0.5 else (), "a", rng.random()) for _ in range(60)]
    best = metrics.best_threshold(rows)
    cuts = [-1.0, *(row.score for row in rows)]
    assert best.f1 == pytest.approx(max(metrics.at_threshold(rows, cut).f1 for cut in cuts))


def test_the_best_threshold_may_be_to_say_nothing_at_all():
    rows = [Outcome((), "a", 1.0), Outcome((), "b", 1.0)]
    assert metrics.best_threshold(rows).f1 == 100


def test_auroc_counts_ties_as_half():
    yes, no = ("a",), ()
    rows = [Outcome(yes, "a", 2), Outcome(no, "a", 1), Outcome(yes, "a", 1), Outcome(no, "a", 0)]
    assert metrics.auroc(rows) == pytest.approx(3.5 / 4)
    assert math.isnan(metrics.auroc(rows[:1]))


def test_calibration_turns_scores_into_kept_promises(tmp_path):
    rng = random.Random(2)
    rows = []
    for _ in range(3000):
        score = rng.gauss(0, 3)
        right = rng.random() < 1 / (1 + math.exp(-(0.8 * score - 1)))
        rows.append(Outcome(("a",) if right else (), "a", score))
    result = calibrate.report({"made": rows}, tmp_path / "plot.png")
    assert result["slope"] == pytest.approx(0.8, abs=0.1)
    assert result["offset"] == pytest.approx(-1, abs=0.2)
    assert result["ece"] < 0.05
    assert (tmp_path / "plot.png").stat().st_size > 1000


def test_confidence_and_score_are_inverse():
    fitted = calibrate.Logistic(0.7, -0.3)
    assert fitted.chance(fitted.score(0.42)) == pytest.approx(0.42)


def test_a_plot_without_points_is_not_drawn(tmp_path):
    plots.draw(tmp_path / "none.png", "nothing", [])
    assert not (tmp_path / "none.png").exists()


def test_two_threads_give_way_to_one_when_the_cores_are_taken():
    assert choose(now=2, most=2, cores=0.9) == 1
    assert choose(now=2, most=2, cores=1.8) == 2
    assert choose(now=1, most=2, cores=0.5) == 1
    assert choose(now=1, most=2, cores=0.98) == 2
