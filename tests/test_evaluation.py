from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.generation import pieces
from rag_app.cli import main
from rag_app.errors import ModelUnavailable
from rag_app.evaluation import metrics
from rag_app.evaluation.metrics import EvaluationQuestion, read_asked
from rag_app.evaluation.runner import RETRIEVERS, evaluate, html, judge, tf_idf
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.text.jsonl import UnfitFile
from rag_app.types import Answer, Chunk, Citation, Draft, Span, Timing
from tests.fakes import GoesAway, WordEmbedder

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


@pytest.mark.parametrize("answers", [0, 1, 2])
@pytest.mark.parametrize("retriever", ["dense", "hybrid", None])
def test_words_alone_are_not_measured_as_meaning(tmp_path, asked, answers, retriever):
    settings = Settings.load(data_dir=tmp_path / "library", generator="quotes")
    with Library(settings, embedder=GoesAway(answers)) as library:
        added = [library.add("ferry.txt", FERRY), library.add("harbour.txt", HARBOUR)]
        library.wait([one.document.id for one in added], timeout=60)
        with pytest.raises(ModelUnavailable, match="The embedding server does not answer"):
            evaluate(library, read_asked(asked), [retriever or "bm25"], answers=retriever is None)
        (found,) = evaluate(library, read_asked(asked), ["bm25"], answers=False).findings
        assert found.mrr == 1.0


def test_wanted_pages_may_be_named_by_the_id_of_their_document(library):
    asked = EvaluationQuestion(
        "a", ASKED[0]["question"], pages={(library.document("ferry.txt").id, 1): 1.0}
    )
    (found,) = evaluate(library, [asked], ["bm25"], answers=False).findings
    assert found.page_recall[1] == found.mrr == 1.0


class Scripted:
    """Says what it is told to: question -> (short answer, the sentence it quotes, confidence)."""

    name = "scripted"

    def __init__(self, said: dict[str, tuple[str, str, float]]) -> None:
        self._said = said

    def warm(self) -> None:
        """Nothing to load."""

    def generate(self, question, passages, cancelled):
        short, quote, confidence = self._said[question]
        if not quote:
            return pieces(Draft((), (), confidence, abstained=True))
        [chunk] = [p.chunk for p in passages if quote in p.chunk.text]
        start = chunk.start + chunk.text.index(quote)
        span = Span(chunk.document_id, chunk.page, start, start + len(quote))
        return pieces(Draft((quote,), ((span,),), confidence, short))


def test_answers_are_judged_by_their_words_their_silence_and_their_quotes(tmp_path):
    able = [
        EvaluationQuestion("a", "How much is it?", ("four euros",)),
        EvaluationQuestion("b", "When was it built?", ("1862",)),
        EvaluationQuestion("c", "What do bicycles cost?", ("nothing",)),
        EvaluationQuestion("d", "When does it open?", ("at six",)),
        EvaluationQuestion("e", "Who is the king?", unanswerable=True),
        EvaluationQuestion("f", "Who built it?", unanswerable=True),
    ]
    scripted = Scripted(
        {
            "How much is it?": ("four euros", "The ferry to Colne costs four euros.", 0.9),
            "When was it built?": ("in 1862", "The harbour of Colne was built in 1862.", 0.4),
            "What do bicycles cost?": ("free", "Bicycles travel free of charge", 0.7),
            "When does it open?": ("", "", 0.2),
            "Who is the king?": ("", "", 0.1),
            "Who built it?": ("Ada", "It opens at six in the morning, every day.", 0.6),
        }
    )
    settings = Settings.load(data_dir=tmp_path / "library")
    with Library(settings, embedder=WordEmbedder(), generator=scripted) as library:
        added = [library.add("ferry.txt", FERRY), library.add("harbour.txt", HARBOUR)]
        library.wait([one.document.id for one in added], timeout=60)
        said = evaluate(library, able, ()).answering
    assert said is not None
    assert (said.questions, said.answered, said.quotes) == (6, 4, 4)
    assert said.exact_match == 1 / 4  # of a, b, c and d, only a
    assert said.f1 == pytest.approx((1 + 2 / 3) / 4)
    assert (said.abstention_precision, said.abstention_recall) == (1 / 2, 1 / 2)
    assert said.auroc == pytest.approx(6 / 8)
    assert said.verbatim == 1.0
    assert said.supporting == pytest.approx(2 / 3)  # the quote for c says nothing of nothing


def test_a_quote_that_does_not_stand_in_its_page_counts_for_nothing(library):
    [ferry, _] = library.documents()
    one = EvaluationQuestion("a", "How much is it?", ("four euros",))
    quote = "The ferry to Colne costs four euros."
    cited = Citation(1, ferry.id, ferry.name, 1, 0, len(quote), quote)
    answer = Answer(one.question, quote, "", False, 1.0, "", (cited,), (), Timing(0.1, 0.1))
    assert (judge(library, one, answer).verbatim, judge(library, one, answer).supporting) == (1, 1)
    for torn in (
        replace(cited, quote="The ferry to Colne costs five euros."),
        replace(cited, start=1),
        replace(cited, quote="", start=0, end=0),
        replace(cited, document_id="0" * 64),
    ):
        judged = judge(library, one, replace(answer, citations=(torn,)))
        assert (judged.quotes, judged.verbatim, judged.supporting) == (1, 0, 0)


def test_a_report_is_one_page_that_runs_nothing_and_loads_nothing(library, asked):
    found = evaluate(library, read_asked(asked))
    page = html(found, "<b>Mine</b>")
    assert "&lt;b&gt;Mine&lt;/b&gt;" in page
    assert page.count("<svg") == 2
    assert not any(bad in page for bad in ("<script", "src=", "href=", "http", "@import", "url("))
    json.dumps(found.as_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"question": " "}', "Line 1"),
        ('{"question": "Who?", "answers": [1]}', "Line 1"),
        ('{"question": "Who?", "pages": [{"page": 1}]}', "Line 1"),
        ("", "no question"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path, line, said):
    path = tmp_path / "q.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(UnfitFile, match=said):
        read_asked(path)


def test_the_command_line_refuses_what_it_does_not_know(asked, capsys):
    assert main(["evaluate", str(asked), "--retrievers", "magic"]) == 2
    assert "tf-idf" in capsys.readouterr().err
    assert main(["evaluate", str(asked.with_name("none.jsonl"))]) == 2


def test_words_that_are_rare_lead_to_their_passage():
    texts = ["the ferry costs", "the harbour opens", "the ferry and the harbour"]
    chunks = [Chunk("ab"[n % 2] * 64, n, n, 0, 9, text) for n, text in enumerate(texts)]
    find = tf_idf(chunks)
    assert [c.ordinal for c in find("harbour opens", None)] == [1, 2]
    assert [c.ordinal for c in find("harbour opens", ["a" * 64])] == [2]
    assert find("lighthouse", None) == [] == tf_idf([])("harbour", None)


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
