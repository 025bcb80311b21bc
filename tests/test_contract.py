"""What the command line gives as JSON, case by case; docs/json.md has the keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rag_app.answering.span_model import PassageSpans, ScoredSpan
from rag_app.export.json_contract import added_json, refused_json, span_json, watched_json
from rag_app.types import Added, Document, Report, Status, Watched

PATH = Path("papers") / "a.txt"
DOCUMENT = Document(
    id="d" * 64,
    name="a.txt",
    suffix=".txt",
    size=9,
    status=Status.READY,
    added_at="2026-11-21T10:00:00+00:00",
    pages=2,
    chunks=3,
    warnings=("One page is torn.",),
)


@pytest.mark.parametrize(
    ("status", "duplicate", "said"),
    [
        (Status.READY, False, "ready"),
        (Status.SEARCHABLE, False, "ready"),
        (Status.READY, True, "duplicate"),
        (Status.FAILED, False, "failed"),
        (Status.FAILED, True, "failed"),  # that it was there already does not make it readable
    ],
)
def test_what_became_of_a_file_is_one_word(status, duplicate, said):
    document = replace(DOCUMENT, status=status)
    became = added_json(PATH, Report(document), Added(document, duplicate), 1.23456)
    assert became["status"] == said
    assert (became["path"], became["seconds"]) == (str(PATH), 1.235)


def test_warnings_of_taking_it_in_come_before_those_of_reading_it():
    added = Added(DOCUMENT, warnings=("This one is now “a (2).txt”.",))
    became = added_json(PATH, Report(DOCUMENT), added, 0.0)
    assert became["warnings"] == ["This one is now “a (2).txt”.", "One page is torn."]


def test_a_refused_file_has_the_keys_of_an_accepted_one():
    refused = refused_json(PATH, "It is empty.", 0.5)
    assert refused.keys() == added_json(PATH, Report(DOCUMENT), Added(DOCUMENT), 0.5).keys()
    assert refused["document_id"] is None and refused["name"] == "a.txt"
    assert (refused["status"], refused["error"]) == ("failed", "It is empty.")
    assert (refused["pages"], refused["chunks"], refused["warnings"]) == (0, 0, [])


def test_the_best_span_is_told_by_its_words_and_its_place():
    context = "Ada wrote it in 1843."
    spans = (ScoredSpan(16, 20, -0.5), ScoredSpan(0, 3, -2.0))
    said = span_json({"id": "x", "context": context}, PassageSpans(spans, -3.0), 0.75)
    assert said == {
        "id": "x",
        "answer": "1843",
        "start": 16,
        "end": 20,
        "score": -0.5,
        "no_answer_score": -3.0,
        "confidence": 0.75,
    }


def test_a_watched_folder_without_trouble_has_none():
    assert watched_json(Watched("/papers", 2))["trouble"] is None
    assert watched_json(Watched("/papers", 2, (("b.pdf", "Torn."),), "Gone."))["refused"] == [
        {"path": "b.pdf", "error": "Torn."}
    ]
