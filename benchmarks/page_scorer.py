r"""Does a trained scorer find the right page more often than the app's own weights?

    python -m benchmarks.page_scorer look --data DATA --out OUT       made libraries, searched
    python -m benchmarks.page_scorer fit --out OUT                    trained, compared on dev
    python -m benchmarks.page_scorer cross --out OUT --weights FILE   the cross-encoder on dev
    python -m benchmarks.page_scorer judge --out OUT --model MODEL --weights FILE --share C \
        --data-dir DIRECTORY --questions FILE                           asked as `evaluate` asks

DATA holds train/ and dev/ of the reader's questions. The scorers are in page_scorer_models.py; the
cross-encoder, in page_scorer_cross.py, is trained by itself. What came out stands in LOG.md."""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.page_scorer_data import Shelf, shelf
from benchmarks.page_scorer_figures import (
    Seen,
    against,
    figures,
    order_of,
    orders_of,
    reranked,
)
from benchmarks.page_scorer_look import PASSAGES, Looking, key, stocked
from benchmarks.page_scorer_models import MODELS, Model, described
from benchmarks.page_scorer_parts import Weighing
from rag_app.cli.common import opened
from rag_app.evaluation.metrics import quantile, read_asked
from rag_app.retrieval.embedding import MiniLmEmbedder

# Contexts and questions of each set; no kind of text has more than a third of them.
TRAIN = {
    "squad_v11_train_du44": (1_000, 600),
    "nq_part": (1_500, 600),
    "cuad_win": (800, 500),
    "covidqa_win": (600, 400),
    "fairytaleqa": (600, 400),
    "squadshifts_new_wiki": (600, 400),
    "squadshifts_amazon": (300, 200),
    "squadshifts_reddit": (300, 200),
}
DEV = {"squad_v2_dev": (500, 600), "nq_part_eval": (600, 600), "cuad_win_eval": (700, 500)}
RERANKED = 20  # passages that the cross-encoder sees
SHARES = (0.01, 0.02, 0.03, 0.05, 0.1, 1.0)  # of its score, added to the app's
Cross = Callable[[str, Sequence[str]], Sequence[float]]


def look(given: argparse.Namespace) -> None:
    """Search made libraries and keep what was found."""
    embedder = MiniLmEmbedder(1)
    for part, sizes in (("train", TRAIN), ("dev", DEV)):
        for name, (contexts, questions) in sizes.items():
            file = given.out / part / f"{name}.pickle"
            if file.exists():
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            made = shelf(given.data / part / f"{name}.jsonl.gz", contexts, questions)
            with tempfile.TemporaryDirectory() as folder:
                looking = stocked(made, Path(folder), embedder)
                seen = _seen(made, looking)
                looking.vectors.close()
                looking.store.close()
            file.write_bytes(pickle.dumps(seen))
            print(part, name, len(made.documents), len(seen), figures(orders_of(seen)), flush=True)


def _seen(made: Shelf, looking: Looking) -> list[Seen]:
    found = []
    for case in made.cases:
        document = key(case.document)
        asked = looking.model_copy(update={"documents": (document,)}) if made.inside else looking
        wanted: dict[Hashable, float] = {(document, page): 1.0 for page in case.pages}
        found.append(Seen(case.question, asked.look(case.question), wanted))
    return found


def load(out: Path, part: str) -> dict[str, list[Seen]]:
    """What `look` kept, by set."""
    files = sorted((out / part).glob("*.pickle"))
    return {file.stem: pickle.loads(file.read_bytes()) for file in files}


def fit(given: argparse.Namespace) -> None:
    """Train every model, compare them on dev, keep them."""
    train = load(given.out, "train")
    dev = load(given.out, "dev")
    cases = {name: [one.case for one in seen] for name, seen in train.items()}
    models: dict[str, Model | Weighing | None] = {"app": None}
    models |= {name: made(cases) for name, made in MODELS.items()}
    for name, model in models.items():
        for part, seen in dev.items():
            base, orders = orders_of(seen), orders_of(seen, model)
            print(f"{name:18} {part:14} {figures(orders)} | {against(orders, base)}", flush=True)
        if model is not None:
            print(described(model))
    (given.out / "models.pickle").write_bytes(pickle.dumps(models))


def cross(given: argparse.Namespace) -> None:
    """The cross-encoder over the app's first passages, on dev, with every share."""
    scorer = _cross(given.weights)
    for part, seen in load(given.out, "dev").items():
        some = seen[: given.limit]
        scores = [_scored(scorer, one) for one in some]
        base = orders_of(some)
        print(f"{'app':6} {part:14} {figures(base)}", flush=True)
        for share in SHARES:
            orders = [
                (reranked(one.looked, found, share), one.wanted)
                for one, found in zip(some, scores, strict=True)
            ]
            print(f"{share:<6} {part:14} {figures(orders)} | {against(orders, base)}", flush=True)


def _scored(scorer: Cross, one: Seen) -> Sequence[float]:
    return scorer(one.question, [text for _, _, text in one.looked.passages[:RERANKED]])


def _cross(weights: Path | None) -> Cross:
    """The trained network, or the reader that ships."""
    if weights is not None:
        from benchmarks.page_scorer_cross import Scorer

        return Scorer(weights)
    from rag_app.answering.span_model import SpanModel

    model = SpanModel()
    return lambda question, texts: [found.margin for found in model.read(question, texts)]


def judge(given: argparse.Namespace) -> None:
    """A real library: the app's order, a model's, the cross-encoder's; and what each costs."""
    models = pickle.loads((given.out / "models.pickle").read_bytes())
    seconds: dict[str, list[float]] = {}
    seen = _asked(given, seconds)
    base = orders_of(seen)
    print(f"{'app':14} {figures(base)}", flush=True)
    for name in given.model:
        orders = [
            (_timed(seconds, name, order_of, one.looked, models[name]), one.wanted) for one in seen
        ]
        print(f"{name:14} {figures(orders)} | {against(orders, base)}", flush=True)
    if given.share:
        scorer = _cross(given.weights)
        scores = [_timed(seconds, "cross", _scored, scorer, one) for one in seen]
        for share in given.share:
            orders = [
                (reranked(one.looked, found, share), one.wanted)
                for one, found in zip(seen, scores, strict=True)
            ]
            print(f"cross {share:<8} {figures(orders)} | {against(orders, base)}", flush=True)
    for name, spent in seconds.items():
        median, late = (1000 * (quantile(spent, share) or 0.0) for share in (0.5, 0.95))
        print(f"{name}: median {median:.1f} ms, p95 {late:.1f} ms of CPU a question")


def _asked(given: argparse.Namespace, seconds: dict[str, list[float]]) -> list[Seen]:
    """The questions of a file, looked for in a library."""
    seen = []
    with opened(given) as library:
        ids = {document.name: document.id for document in library.documents()}
        for one in read_asked(given.questions):
            within = None if one.within is None else [ids[name] for name in one.within]
            plain = library.retriever(PASSAGES, within, rerank=0)
            parts = {name: getattr(plain, name) for name in type(plain).model_fields}
            looking = Looking(**parts)
            looking.embedder.embed_query(one.question)  # warm
            _timed(seconds, "found", plain.passages, one.question)
            looked = _timed(seconds, "found, with features", looking.look, one.question)
            wanted: dict[Hashable, float] = {
                (ids[name], page): gain for (name, page), gain in (one.pages or {}).items()
            }
            seen.append(Seen(one.question, looked, wanted))
    return seen


def _timed(
    seconds: dict[str, list[float]], name: str, work: Callable[..., Any], *given: object
) -> Any:
    began = time.process_time()
    made = work(*given)
    seconds.setdefault(name, []).append(time.process_time() - began)
    return made


def main() -> None:
    """One step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("look", "fit", "cross", "judge"))
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument(
        "--weights", type=Path, help="of the cross-encoder; the reader if not given"
    )
    parser.add_argument("--share", type=float, action="append", default=[])
    parser.add_argument("--limit", type=int, default=250, help="questions of each set")
    parser.add_argument("--data-dir", type=Path, help="a library, as `rag-app` keeps it")
    given = parser.parse_args()
    {"look": look, "fit": fit, "cross": cross, "judge": judge}[given.step](given)


if __name__ == "__main__":
    main()
