"""The whole main job with the real model, from an empty data directory, unplugged.

`conftest.py` blocks every socket but loopback and fails a test that tries another."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Answer, Finished, Status

SAMPLES = Path(str(files("rag_app") / "samples"))
ANSWERS = {
    "How many trips were made in 2025?": ("684,200", 2),
    "How often is every bicycle inspected?": ("21 days", 5),
    "When does the combined ferry and bicycle ticket start?": ("1 April 2026", 8),
    "How old must riders be?": ("at least 14 years", 5),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    settings = Settings.load(data_dir=tmp_path_factory.mktemp("offline") / "data")
    with Library(settings) as opened:
        [sample] = SAMPLES.glob("*.pdf")
        added = opened.add(sample.name, sample)
        [document] = opened.wait([added.document.id], timeout=120)
        assert (document.status, document.pages) == (Status.READY, 8)
        yield opened


def ask(library: Library, question: str) -> Answer:
    [*_, last] = library.ask(question)
    assert isinstance(last, Finished)
    return last.answer


@pytest.mark.parametrize("question", ANSWERS)
def test_a_question_is_answered_with_a_quote_that_stands_on_its_page(library, question):
    expected, page_number = ANSWERS[question]
    answer = ask(library, question)
    citation = answer.citations[0]
    assert expected in answer.text and citation.page == page_number
    page = library.page(citation.document_id, citation.page)
    assert page.text[citation.start : citation.end] == citation.quote
    picture = library.picture(citation.document_id, citation.page)
    assert picture is not None and citation.boxes
    for box in citation.boxes:
        assert 0 <= box.x0 < box.x1 <= picture.width
        assert 0 <= box.y0 < box.y1 <= picture.height


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "recipe for pancakes",
        "Which company manufactures the bicycles?",
        "Who wrote Hamlet?",
    ],
)
def test_what_the_document_does_not_say_is_not_answered(library, question):
    answer = ask(library, question)
    assert answer.abstained and answer.citations == ()
    assert answer.passages  # the closest ones are shown instead


def test_the_samples_own_questions_are_answered_but_the_last(library):
    *answered, unanswered = (SAMPLES / "questions.txt").read_text("utf-8").split("\n")[:5]
    assert all(not ask(library, question).abstained for question in answered)
    assert ask(library, unanswered).abstained
