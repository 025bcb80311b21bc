"""The sample is what its script draws, and answers the questions that come with it, but one."""

from __future__ import annotations

from pathlib import Path

import pypdfium2
import pytest

from scripts import make_sample

SAMPLES = Path(__file__).resolve().parent.parent / "rag_app" / "samples"


def pages_of(path: Path) -> list[str]:
    with pypdfium2.PdfDocument(path) as document:
        return [page.get_textpage().get_text_range() for page in document]


def flat(path: Path) -> str:
    return " ".join(" ".join(pages_of(path)).split())


def test_the_sample_is_what_its_script_draws(tmp_path):
    make_sample.main(tmp_path)
    for kept in SAMPLES.iterdir():
        drawn = tmp_path / kept.name
        if kept.suffix == ".pdf":
            assert pages_of(kept) == pages_of(drawn)
        else:
            assert kept.read_bytes() == drawn.read_bytes()
    assert {path.name for path in SAMPLES.iterdir()} == {path.name for path in tmp_path.iterdir()}


def test_the_sample_is_small_enough_to_ship():
    assert (SAMPLES / make_sample.NAME).stat().st_size < 60_000


@pytest.mark.parametrize(
    "answer",
    ["684,200 trips", "costs €96", "at least once every 21 days", "starts on 1 April 2026"],
)
def test_the_sample_holds_the_answers(answer):
    assert answer in flat(SAMPLES / make_sample.NAME)


def test_the_last_question_is_one_that_it_does_not_answer():
    assert "manufacture" in (SAMPLES / "questions.txt").read_text().splitlines()[-1]
    assert "manufactur" not in flat(SAMPLES / make_sample.NAME)
