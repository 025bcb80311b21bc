"""Numbers in words that a person would use."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from rag_app.types import Answer, Basis, Document, Progress, Status, Task, Timing
from rag_app.ui import texts


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0 bytes"), (999, "999 bytes"), (28_400, "28 KB"), (3_400_000, "3.4 MB"), (5e9, "5.0 GB")],
)
def test_sizes(number, said):
    assert texts.size(number) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(1, "almost done"), (12, "about 10 s left"), (4, "about 5 s left"), (150, "about 2 min left")],
)
def test_times_are_no_more_exact_than_they_can_be(seconds, said):
    assert texts.time_left(seconds) == said


@pytest.mark.parametrize(
    ("done", "total", "full"),
    [(1, 4, 0.25), (-6, 5, 0.0), (9, 5, 1.0), (0, 0, 0.0), (3, 0, 0.0), (3, -1, 0.0)],
)
def test_a_bar_never_leaves_its_bounds(done, total, full):
    assert texts.share(done, total) == full


def test_progress_says_stage_share_and_time():
    work = Progress("d", "reading", 45, 100, "pages", 21.0)
    assert texts.progress(work, ".pdf") == "Reading · 45 of 100 pages · about 20 s left"
    assert texts.progress(work, ".pptx").startswith("Reading · 45 of 100 slides")
    assert texts.progress(Progress("d", "waiting", 0, 9, "pages", 2.0)) == "Waiting"
    assert texts.progress(Progress("d", "embedding", 9, 7, "passages")).endswith("100 %")


def test_every_status_has_words():
    for status in Status:
        assert texts.status(Document("d", "n", ".txt", 1, status, ""))


def test_a_receipt_is_one_line():
    assert texts.receipt(198, 0, 1) == "198 added, 1 refused"
    assert texts.receipt(1, 2, 3) == "1 added, 2 already there, 3 refused"
    assert texts.receipt(0, 0, 2) == "2 refused"


def test_limits_name_the_best_known_kinds():
    assert texts.limits([".pdf", ".txt", ".md", ".markdown"], 200) == (
        "PDF, text or Markdown, up to 200 MB each"
    )
    many = [".odt", ".rst", ".csv", ".docx", ".pdf", ".epub"]
    assert texts.limits(many, 5) == "PDF, Word and more, up to 5 MB each"
    assert texts.limits([".pdf"], 5) == "PDF, up to 5 MB each"


@pytest.mark.parametrize(
    ("basis", "confidence", "said"),
    [
        (Basis.EXTRACTED, 0.9, "Quoted from your documents · very sure · 0.5 s"),
        (Basis.EXTRACTED, 0.7, "Quoted from your documents · fairly sure · 0.5 s"),
        (Basis.WRITTEN, 0.2, "Written by llama from your documents · not very sure · 0.5 s"),
    ],
)
def test_an_answer_says_how_it_was_made_and_how_sure_it_is(basis, confidence, said):
    nothing = Answer("q", "t", "", False, confidence, "llama", (), (), Timing(0.2, 0.3))
    answer = replace(nothing, basis=basis)
    assert texts.how_made(answer) == said


@pytest.mark.parametrize("task", [Task.SUMMARY, Task.COMPARISON, Task.DRAFT, Task.TRANSLATION])
def test_no_word_says_how_sure_a_summary_or_a_comparison_is(task):
    answer = Answer("q", "t", "", False, 0.99, "reader", (), (), Timing(0.2, 0.3), task=task)
    assert texts.how_made(answer) == "Quoted from your documents · 0.5 s"


def test_no_text_takes_the_name_of_another():
    tree = ast.parse(Path(texts.__file__).read_text("utf-8"))
    named = [
        name.id
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    ]
    assert len(named) == len(set(named))


def test_a_removal_names_the_older_version_that_goes_with_it():
    assert "older" not in texts.confirm_removal("lease (2).pdf")
    said = texts.confirm_removal("lease (2).pdf", ["lease.pdf"])
    assert said.endswith("So will the older “lease.pdf”, which it is about to replace.")
