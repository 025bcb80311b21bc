from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.cli import main
from rag_app.evaluation import metrics
from rag_app.evaluation.asked import UnfitQuestions, read_asked
from rag_app.evaluation.checking import check
from rag_app.evaluation.report import html
from rag_app.evaluation.runner import RETRIEVERS, evaluate
from rag_app.evaluation.tfidf import TfIdf
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Chunk
from tests.fakes import WordEmbedder

FERRY = b"The ferry to Colne costs four euros. Bicycles travel free of charge on every ferry."
HARBOUR = b"The harbour of Colne was built in 1862. It opens at six in the morning, every day."
ASKED = [
    {
        "id": "a",
        "question": "How much does the ferry to Colne cost?",
        "answers": ["four euros"],
        "pages": [{"document": "ferry.txt", "page": 1}],
    },
    {
        "id": "b",
        "question": "When was the harbour of Colne built?",
        "answers": ["1862"],
        "documents": ["harbour.txt"],
        "pages": [{"document": "harbour.txt", "page": 1}],
    },
    {"id": "c", "question": "Who is the king of Ruritania?", "unanswerable": True},
]


@pytest.fixture
def library(tmp_path):
    settings = Settings.load(data_dir=tmp_path / "library", generator="quotes")
    with Library(settings, embedder=WordEmbedder()) as opened:
        added = [opened.add("ferry.txt", FERRY), opened.add("harbour.txt", HARBOUR)]
        opened.wait([one.document.id for one in added], timeout=60)
        yield opened


@pytest.fixture
def asked(tmp_path):
    path = tmp_path / "asked.jsonl"
    path.write_text("\n".join(map(json.dumps, ASKED)) + "\n", encoding="utf-8")
    return path


def test_retrievers_stand_side_by_side(library, asked):
    found = evaluate(library, read_asked(asked), RETRIEVERS[:4])
    assert [one.retriever for one in found.findings] == ["tf-idf", "bm25", "dense", "hybrid"]
    for one in found.findings:
        assert one.questions == 2
        assert one.page_recall[1] == one.document_recall[1] == one.mrr == one.ndcg10 == 1.0
        assert 0 <= one.seconds.median <= one.seconds.p95
    assert (found.questions, found.documents, found.pages) == (3, 2, 2)


def test_answers_are_judged_by_their_words_their_silence_and_their_quotes(library, asked):
    said = evaluate(library, read_asked(asked), ()).answering
    assert said is not None
    assert said.questions == 3
    assert said.verbatim in (None, 1.0)
    assert said.abstention_recall == 1.0
    assert said.f1 is not None
    assert said.f1 >= (said.exact_match or 0.0)


def test_a_report_is_one_page_that_runs_nothing_and_loads_nothing(library, asked):
    found = evaluate(library, read_asked(asked))
    page = html(found, "<b>Mine</b>")
    assert "&lt;b&gt;Mine&lt;/b&gt;" in page
    assert page.count("<svg") == 2
    assert not any(bad in page for bad in ("<script", "src=", "href=", "http", "@import", "url("))
    json.dumps(found.as_json(), allow_nan=False)


def test_a_library_is_checked_with_questions_of_its_own(library):
    steps = []
    found = check(library, most=6, progress=lambda done, total: steps.append((done, total)))
    assert found.known
    assert {one.document for one in found.known} <= {"ferry.txt", "harbour.txt"}
    assert found.verbatim == found.quotes
    assert len(found.empty) == 4
    assert all(not one.answered for one in found.empty)
    assert steps[-1] == (len(found.tried) - 1, len(found.tried))
    assert len(found.sentences) == 5


def test_an_empty_library_says_so(tmp_path):
    with Library(Settings.load(data_dir=tmp_path / "x"), embedder=WordEmbedder()) as library:
        [sentence] = check(library).sentences
    assert "not enough text" in sentence


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[]", "not a question"),
        ('{"question": " "}', "not a question"),
        ('{"question": "Who?", "answers": [1]}', "not a question"),
        ('{"question": "Who?", "pages": [{"page": 1}]}', "not a question"),
        ("", "no question"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path, line, said):
    path = tmp_path / "q.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(UnfitQuestions, match=said):
        read_asked(path)
    with pytest.raises(UnfitQuestions, match="no file"):
        read_asked(tmp_path / "missing.jsonl")


def test_the_command_line_refuses_what_it_does_not_know(asked, capsys):
    assert main(["evaluate", str(asked), "--retrievers", "magic"]) == 2
    assert "tf-idf" in capsys.readouterr().err
    assert main(["evaluate", str(asked.with_name("none.jsonl"))]) == 1


def test_words_that_are_rare_lead_to_their_passage():
    texts = ["the ferry costs", "the harbour opens", "the ferry and the harbour"]
    chunks = [Chunk("ab"[n % 2] * 64, n, n, 0, 9, text) for n, text in enumerate(texts)]
    index = TfIdf(chunks, texts)
    assert [c.ordinal for c, _ in index.search("harbour opens", 2)] == [1, 2]
    assert [c.ordinal for c, _ in index.search("harbour opens", 2, ["a" * 64])] == [2]
    assert index.search("lighthouse", 2) == []


def test_answers_are_compared_as_squad_does():
    assert metrics.normalised("The  “Ferry”, an old one.") == "ferry old one"
    assert metrics.exact_match("the ferry", ["Ferry!"]) == 1.0
    assert metrics.f1("the old ferry", ["ferry"]) == pytest.approx(2 / 3)
    assert metrics.f1("", ["ferry"]) == 0.0


def test_gains_count_by_rank():
    assert metrics.ndcg(["a", "b"], {"a": 2.0, "b": 4.0}) == pytest.approx(
        (2 + 4 / math.log2(3)) / (4 + 2 / math.log2(3))
    )
    assert metrics.reciprocal_rank(["x", "a"], {"a": 1.0}) == 0.5
    assert metrics.quantile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.0
    assert metrics.quantile([], 0.5) is None


rankings = st.lists(st.sampled_from("abcdefgh"), unique=True)
wanted = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.5, 4), min_size=1)


@given(rankings, wanted)
def test_figures_of_a_ranking_are_shares_and_recall_grows_with_depth(found, wanted):
    shares = [metrics.recall(found, wanted, k) for k in metrics.DEPTHS]
    assert shares == sorted(shares)
    for share in (*shares, metrics.ndcg(found, wanted), metrics.reciprocal_rank(found, wanted)):
        assert 0.0 <= share <= 1.0 + 1e-9


@given(rankings, wanted)
def test_the_best_order_has_full_gain(found, wanted):
    best = sorted(wanted, key=lambda one: -wanted[one])
    assert metrics.ndcg(best, wanted) == pytest.approx(1.0)


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=30))
def test_auroc_is_the_share_of_pairs_in_order(pairs):
    scores = [float(score) for score, _ in pairs]
    labels = [label for _, label in pairs]
    good = [s for s, label in zip(scores, labels, strict=True) if label]
    bad = [s for s, label in zip(scores, labels, strict=True) if not label]
    area = metrics.auroc(scores, labels)
    if not good or not bad:
        assert area is None
    else:
        won = sum((g > b) + (g == b) / 2 for g in good for b in bad)
        assert area == pytest.approx(won / (len(good) * len(bad)))
