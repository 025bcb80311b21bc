"""Asks a library the questions of a file, and measures; the report as one page of HTML that needs
nothing else: tables and drawn plots."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import islice

import numpy as np

from rag_app.errors import ModelUnavailable, RagAppError
from rag_app.evaluation.metrics import (
    DEPTHS,
    Answering,
    Evaluation,
    EvaluationQuestion,
    Finding,
    Judged,
    Place,
    Ranking,
    answering,
    as_figure,
    finding,
    normalised,
)
from rag_app.library import Library
from rag_app.retrieval.chunking import search_text
from rag_app.retrieval.ranking import query_words
from rag_app.text.languages import WORD
from rag_app.types import Answer, Chunk, Citation, Event, Finished, RetrieverKind, askable

_COLOURS = ("#8a94a6", "#b7791f", "#2b6cb0", "#2f855a", "#97266d")
_STYLE = """
:root{color-scheme:light dark;--ink:#1a202c;--soft:#5a6577;--line:#d5dae3;--paper:#fff}
@media (prefers-color-scheme:dark){
:root{--ink:#e8ecf3;--soft:#a5afbf;--line:#3a4352;--paper:#14181f}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);
max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0 2rem;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:right}
th:first-child,td:first-child{text-align:left}td+td{white-space:nowrap}
caption{text-align:left;color:var(--soft);padding-bottom:.4rem}
.wide{overflow-x:auto}svg{width:100%;min-width:36rem;height:auto}
svg text{fill:var(--ink);font-size:12px}
svg .axis{stroke:var(--line)}p.soft{color:var(--soft)}
"""


RETRIEVERS = ("tf-idf", "bm25", "dense", "hybrid", "hybrid+rerank")
DEFAULT = RETRIEVERS[:4]  # the ranker takes its time
_BY_WORDS = RETRIEVERS[:2]
_PASSAGES = 3 * DEPTHS[-1]  # so that the deepest recall has its pages, though some repeat
_RERANKED = 20

Find = Callable[[str, list[str] | None], list[Chunk]]
Progress = Callable[[str, int, int], None]
"""What is being done, how many questions are done, and of how many."""


def evaluate(
    library: Library,
    asked: Sequence[EvaluationQuestion],
    retrievers: Sequence[str] = DEFAULT,
    answers: bool = True,
    progress: Progress = lambda *_: None,
) -> Evaluation:
    """Retrievers side by side on the questions with known pages, answers on those with known ones.

    Raises UnknownDocument for a document that a question names and the library lacks, and
    ModelUnavailable where what finds by meaning is away: what words alone find and answer then
    would count as its."""
    if answers or not {*retrievers} <= {*_BY_WORDS}:
        library.retriever(1).embedder.warm()
    checked = [(_named(library, one), _ids(library, one)) for one in asked]
    findings: list[Finding] = []
    placed = [(one, ids) for one, ids in checked if one.pages]
    for name in retrievers if placed else ():
        findings.append(finding(name, _rankings(library, name, placed, progress)))
    documents = library.documents()
    return Evaluation(
        questions=len(asked),
        documents=len(documents),
        pages=sum(d.pages for d in documents),
        findings=tuple(findings),
        answering=_answers(library, checked, progress) if answers else None,
    )


def _named(library: Library, asked: EvaluationQuestion) -> EvaluationQuestion:
    """A question whose wanted pages are those of documents by their names, as what is found is:
    they may be given by ids. Those documents must be there."""
    names = {each: library.document(each).name for each in asked.documents}
    pages = {(names[each], page): weight for (each, page), weight in (asked.pages or {}).items()}
    return replace(asked, pages=pages or None)


def _ids(library: Library, asked: EvaluationQuestion) -> list[str] | None:
    """The ids of the documents that a question is asked of."""
    return None if asked.within is None else [library.document(name).id for name in asked.within]


def _rankings(
    library: Library,
    name: str,
    asked: Sequence[tuple[EvaluationQuestion, list[str] | None]],
    progress: Progress,
) -> list[Ranking]:
    """What one retriever finds. Raises ModelUnavailable."""
    find = _finder(library, name)
    names = {d.id: d.name for d in library.documents()}
    rankings = []
    find(asked[0][0].question, asked[0][1])  # models are loaded before the clock runs
    for done, (one, ids) in enumerate(asked):
        progress(name, done, len(asked))
        began = time.perf_counter()
        found = find(one.question, ids)
        seconds = time.perf_counter() - began
        rankings.append(Ranking(one, _pages(found, names), seconds))
        if name not in _BY_WORDS:
            check_meaning(library)
    return rankings


def check_meaning(library: Library) -> None:
    """Raises ModelUnavailable if the model was away: then words alone have found."""
    trouble = library.retriever(1).embedder.trouble
    if trouble:
        raise ModelUnavailable(trouble)


def _finder(library: Library, name: str) -> Find:
    if name == "tf-idf":
        chunks = [c for d in library.documents() if askable(d) for c in library.chunks(d.id)]
        return tf_idf(chunks)
    kind = RetrieverKind(name.partition("+")[0])
    rerank = _RERANKED if name.endswith("+rerank") else 0

    def find(question: str, ids: list[str] | None) -> list[Chunk]:
        retriever = library.retriever(_PASSAGES, ids, kind, rerank)
        return [passage.chunk for passage in retriever.passages(question)]

    return find


def tf_idf(chunks: Sequence[Chunk]) -> Find:
    """The oldest retriever, to compare with: cosine of tf-idf vectors over the same passages."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    held = [_words(search_text(chunk.text)) for chunk in chunks]
    if not any(held):
        return lambda question, ids: []
    weighed = TfidfVectorizer(analyzer=list, sublinear_tf=True)
    vectors = weighed.fit_transform(held)

    def find(question: str, ids: list[str] | None) -> list[Chunk]:
        asked = {word for one in query_words(question)[0] for word in _words(one)}
        scores = (vectors @ weighed.transform([asked]).T).toarray().ravel()
        best = (chunks[at] for at in np.argsort(-scores, kind="stable") if scores[at] > 0)
        able = (one for one in best if ids is None or one.document_id in ids)
        return list(islice(able, _PASSAGES))

    return find


def _words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def _pages(chunks: Iterable[Chunk], names: dict[str, str]) -> tuple[Place, ...]:
    """The pages of passages, each once, in order."""
    return tuple(dict.fromkeys((names.get(c.document_id, ""), c.page) for c in chunks))


def _answers(
    library: Library,
    asked: Sequence[tuple[EvaluationQuestion, list[str] | None]],
    progress: Progress,
) -> Answering | None:
    able = [(one, ids) for one, ids in asked if one.answers or one.unanswerable]
    judged = []
    for done, (one, ids) in enumerate(able):
        progress("answers", done, len(able))
        answer = answer_of(library.ask(one.question, ids))
        check_meaning(library)
        if answer is not None:
            judged.append(judge(library, one, answer))
    return answering(judged) if judged else None


def answer_of(events: Iterable[Event]) -> Answer | None:
    """The answer that the events of a question end with; None if they were stopped."""
    return next((event.answer for event in events if isinstance(event, Finished)), None)


def judge(library: Library, asked: EvaluationQuestion, answer: Answer) -> Judged:
    """What an answer's quotes are worth."""
    verbatim = [citation for citation in answer.citations if is_verbatim(library, citation)]
    return Judged(
        asked,
        answer,
        quotes=len(answer.citations),
        verbatim=len(verbatim),
        supporting=sum(_supports(citation, asked) for citation in verbatim),
    )


def is_verbatim(library: Library, citation: Citation) -> bool:
    """Whether a quote stands so in the page as it is stored."""
    try:
        text = library.page(citation.document_id, citation.page).text
    except RagAppError:  # removed since
        return False
    return bool(citation.quote) and text[citation.start : citation.end] == citation.quote


def _supports(citation: Citation, asked: EvaluationQuestion) -> bool:
    quote = f" {normalised(citation.quote)} "
    said = any(f" {normalised(gold)} " in quote for gold in asked.answers if normalised(gold))
    return said or (citation.name, citation.page) in (asked.pages or {})


def html(evaluation: Evaluation, title: str) -> str:
    """The whole report; every text in it is escaped."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{evaluation.questions} questions, {evaluation.documents} documents, '
        f"{evaluation.pages:,} pages.</p>",
    ]
    if evaluation.findings:
        parts += ["<h2>Finding the page</h2>", _findings(evaluation.findings)]
        parts += [_curves(evaluation.findings), _bars(evaluation.findings)]
    if evaluation.answering:
        parts += ["<h2>Answering</h2>", _answering(evaluation.answering)]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<div class="wide"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _findings(findings: Sequence[Finding]) -> str:
    depths = [f"@{k}" for k in DEPTHS]
    pages = _table(
        f"Share of the wanted pages among the first k pages ({findings[0].questions} questions)",
        ["retriever", *depths, "MRR", "nDCG@10", "median", "p95"],
        (
            [f.retriever, *_shares(f.page_recall), f"{f.mrr:.3f}", f"{f.ndcg10:.3f}"]
            + [f"{1000 * s:.0f} ms" for s in (f.seconds.median, f.seconds.p95)]
            for f in findings
        ),
    )
    documents = _table(
        "Share of the wanted documents among the first k documents",
        ["retriever", *depths],
        ([f.retriever, *_shares(f.document_recall)] for f in findings),
    )
    return pages + documents


def _shares(by_depth: Mapping[int, float]) -> list[str]:
    return [f"{by_depth[k]:.3f}" for k in DEPTHS]


def _curves(findings: Sequence[Finding]) -> str:
    """Page recall by depth, a line a retriever."""
    left, top, width, height = 46, 14, 520, 240
    across = {k: left + i * width / (len(DEPTHS) - 1) for i, k in enumerate(DEPTHS)}
    drawn = [
        f'<line class="axis" x1="{left}" x2="{left + width}" y1="{y}" y2="{y}"/>'
        f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{share:.2f}</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
        for y in [top + height * (1 - share)]
    ]
    drawn += [
        f'<text x="{x:.0f}" y="{top + height + 20}" text-anchor="middle">{k}</text>'
        for k, x in across.items()
    ]
    for index, one in enumerate(findings):
        colour = _COLOURS[index % len(_COLOURS)]
        places = " ".join(
            f"{across[k]:.1f},{top + height * (1 - one.page_recall[k]):.1f}" for k in DEPTHS
        )
        y = top + 14 + 20 * index
        drawn.append(
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
            f'<rect x="{left + width + 20}" y="{y - 9}" width="12" height="12" fill="{colour}"/>'
            f'<text x="{left + width + 38}" y="{y + 2}">{escape(one.retriever)}</text>'
        )
    return _plot("Pages found, by how many are looked at", top + height + 30, drawn)


def _bars(findings: Sequence[Finding]) -> str:
    """Median and p95 of the time to find, a bar a retriever."""
    slowest = max(f.seconds.p95 for f in findings) or 1.0
    drawn = []
    for index, one in enumerate(findings):
        y, colour = 8 + 30 * index, _COLOURS[index % len(_COLOURS)]
        median, p95 = (440 * s / slowest for s in (one.seconds.median, one.seconds.p95))
        drawn.append(
            f'<text x="100" y="{y + 15}" text-anchor="end">{escape(one.retriever)}</text>'
            f'<rect x="110" y="{y}" width="{p95:.1f}" height="20" fill="{colour}" opacity=".35"/>'
            f'<rect x="110" y="{y}" width="{median:.1f}" height="20" fill="{colour}"/>'
            f'<text x="{118 + p95:.1f}" y="{y + 15}">{1000 * one.seconds.median:.0f} ms, '
            f"p95 {1000 * one.seconds.p95:.0f} ms</text>"
        )
    return _plot("Time to find: median and p95", 16 + 30 * len(findings), drawn)


def _plot(label: str, height: int, drawn: Sequence[str]) -> str:
    return (
        f'<h3>{label}</h3><div class="wide">'
        f'<svg viewBox="0 0 720 {height}" role="img" aria-label="{label}">'
        f"{''.join(drawn)}</svg></div>"
    )


def _answering(figures: Answering) -> str:
    rows = [
        ("questions asked", str(figures.questions)),
        ("answered", str(figures.answered)),
        ("exact match", as_figure(figures.exact_match)),
        ("F1", as_figure(figures.f1)),
        ("silent and rightly so (precision)", as_figure(figures.abstention_precision)),
        ("unanswerable and silent (recall)", as_figure(figures.abstention_recall)),
        ("AUROC of confidence", as_figure(figures.auroc)),
        ("quotes", str(figures.quotes)),
        ("quotes that stand so on their page", as_figure(figures.verbatim)),
        ("quotes that hold a wanted answer or page", as_figure(figures.supporting)),
        ("finding: median, p95", _times(figures.retrieve.median, figures.retrieve.p95)),
        ("answering: median, p95", _times(figures.answer.median, figures.answer.p95)),
    ]
    return _table("What the library says", ["", "figure"], rows)


def _times(median: float, p95: float) -> str:
    return f"{1000 * median:.0f} ms, {1000 * p95:.0f} ms"
