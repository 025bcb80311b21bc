"""An evaluation as one page of HTML that needs nothing else: tables and drawn plots. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from rag_app.evaluation.metrics import DEPTHS, Answering, Evaluation, Finding, as_figure

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
