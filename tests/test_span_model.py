"""The network with the weights that ship, on what comes in from people and files."""

from __future__ import annotations

import json
import math
import shutil

import numpy as np
import pytest

from rag_app.answering import span_model
from rag_app.answering.span_model import LONGEST_ANSWER, SpanModel
from rag_app.errors import ModelUnavailable

FERRY = (
    "The ferry to Port Ellery leaves every twenty minutes from the north pier. "
    "A single ticket costs four euros; bicycles travel free of charge. "
    "The captain, Maria Lund, has steered it since 2011."
)
FILLER = "Grass grows in the meadow and the wind moves it to and fro all day. "


@pytest.fixture(scope="module")
def model(weights):
    return SpanModel()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who is the captain of the ferry?", "Maria Lund"),
        ("what does a single ticket cost", "four euros"),
        ("How often does the ferry leave?", "every twenty minutes"),
    ],
)
def test_the_span_that_answers_is_found_at_its_place(model, question, expected):
    [found] = model.read(question, [FERRY])
    best = found.spans[0]
    assert expected in FERRY[best.start : best.end]
    assert found.margin > 0 and best.log_prob <= 0 and found.no_answer <= 0


def test_a_text_about_something_else_holds_no_answer(model):
    [ferry, filler] = model.read("Who is the captain of the ferry?", [FERRY, FILLER])
    assert filler.margin < 0 < ferry.margin


def test_a_long_text_is_read_to_its_end(model):
    text = FILLER * 300 + FERRY
    assert len(text) > 20_000  # some fifty times what is read at once
    [found] = model.read("Who is the captain of the ferry?", [text])
    best = found.spans[0]
    assert "Maria Lund" in text[best.start : best.end] and found.margin > 0


def test_texts_are_read_alike_alone_and_together(model):
    texts = [FERRY, "x", FILLER * 40, "Tickets: 4 €", FERRY[:90]]
    together = model.read("What does a ticket cost?", texts)
    for text, found in zip(texts, together, strict=True):
        [alone] = model.read("What does a ticket cost?", [text])
        assert alone.margin == pytest.approx(found.margin, abs=0.3)


@pytest.mark.parametrize("text", [
    "", " ", "\n\n", "x", "😀", "😀 " * 300, "船は正午に出発します。", "\u0000\ufffd",
    "|a|b|\n|1|2|\n" * 60, "1 2 3 4 5\n" * 100, "a" * 5_000, "e\u0301" * 200,
])  # fmt: skip
@pytest.mark.parametrize("question", ["Why?", "x", "", "誰ですか", "word " * 2_000, "😀"])
def test_odd_texts_and_questions_give_numbers_and_spans_inside_the_text(model, text, question):
    [found] = model.read(question, [text])
    assert math.isfinite(found.no_answer)
    for span in found.spans:
        assert 0 <= span.start < span.end <= len(text) and math.isfinite(span.log_prob)
    scores = [span.log_prob for span in found.spans]
    assert scores == sorted(scores, reverse=True)


def test_no_texts_are_no_work(model):
    assert model.read("Who?", []) == []


def test_an_answer_does_not_end_inside_a_word(model):
    text = "The chemist Wöhlerström-Xyqqzt synthesised urea in Göttingen."
    [found] = model.read("Who synthesised urea?", [text])
    for span in found.spans:
        assert not (text[span.start - 1 : span.start + 1].isalnum() and span.start)
        assert not text[span.end - 1 : span.end + 1].isalnum() or span.end == len(text)


def test_no_answer_is_longer_than_the_limit(model):
    [found] = model.read("What is said?", ["word " * 230])
    assert all(span.end - span.start <= 5 * LONGEST_ANSWER for span in found.spans)


def test_scores_that_are_no_numbers_are_no_spans():
    window = span_model._Window(0, [1, 2, 3, 4], 2, [(0, 1), (2, 3)])
    start = np.full(4, np.nan, dtype=np.float32)
    found = span_model._spans(window, "a b", start, start)
    assert found.spans == () and found.no_answer == 0.0


def spans(words: str, ends: dict[int, float]) -> list[str]:
    """The spans of a text that begin at its first word, the best first; `ends` score the last."""
    offsets, at = [], 0
    for word in words.split(" "):
        offsets.append((at, at + len(word)))
        at += len(word) + 1
    start = np.full(len(offsets) + 1, -20.0, dtype=np.float32)
    end = start.copy()
    start[1] = 0.0
    for place, score in ends.items():
        end[place + 1] = score
    window = span_model._Window(0, list(range(len(offsets) + 1)), 1, offsets)
    return [words[s.start : s.end] for s in span_model._spans(window, words, start, end).spans]


def test_of_spans_that_score_alike_the_shorter_is_meant():
    words = " ".join(f"w{n}" for n in range(40))
    assert spans(words, {2: -1.0, 30: -1.0})[0] == "w0 w1 w2"
    assert spans(words, {2: -1.0, 8: -0.9})[0] == "w0 w1 w2 w3 w4 w5 w6 w7 w8"
    assert spans(words, {2: -4.0, 30: -1.0})[0].endswith("w30"), "a long one may be far better"


def test_a_span_over_two_cells_of_a_table_gives_way_to_one():
    assert spans("Revenue | 51.2 | billion", {0: -2.0, 2: -0.5})[0] == "Revenue"


@pytest.fixture
def copy(tmp_path, weights):
    folder = tmp_path / "reader"
    shutil.copytree(weights, folder)
    return folder


def test_torn_weights_are_one_sentence(copy):
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ModelUnavailable, match="may be damaged"):
        SpanModel(copy).read("Who?", [FERRY])


@pytest.mark.parametrize("name", ["model.safetensors", "reader.json", "config.json"])
def test_a_missing_file_is_one_sentence(copy, name):
    (copy / name).unlink()
    with pytest.raises(ModelUnavailable, match="Install the app again"):
        SpanModel(copy).warm()


def test_an_unreadable_description_is_one_sentence(copy):
    (copy / "reader.json").write_text(json.dumps({"sha256": "0"}))
    with pytest.raises(ModelUnavailable):
        SpanModel(copy).warm()
