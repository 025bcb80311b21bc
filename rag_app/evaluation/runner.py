"""Asks a library the questions of a file, and measures."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

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
    finding,
    normalised,
)
from rag_app.library import Library
from rag_app.retrieval.chunking import search_text
from rag_app.retrieval.ranking import query_words
from rag_app.text.scripts import WORD
from rag_app.types import Answer, Chunk, Citation, Finished, RetrieverKind, askable

# The oldest retriever, to compare with: cosine of tf-idf vectors over the same passages.


class TfIdf:
    """Passages by their words, all in memory."""

    def __init__(self, chunks: Sequence[Chunk], texts: Sequence[str]) -> None:
        self._chunks = list(chunks)
        counts = [Counter(_words(text)) for text in texts]
        held = Counter(word for count in counts for word in count)
        self._rarity = {w: math.log((1 + len(counts)) / (1 + n)) + 1 for w, n in held.items()}
        self._holders: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, count in enumerate(counts):
            weights = {w: (1 + math.log(n)) * self._rarity[w] for w, n in count.items()}
            length = math.sqrt(sum(x * x for x in weights.values())) or 1.0
            for word, weight in weights.items():
                self._holders[word].append((place, weight / length))

    def search(
        self, question: str, k: int, documents: Iterable[str] | None = None
    ) -> list[tuple[Chunk, float]]:
        """The k best passages and their scores, best first."""
        allowed = None if documents is None else set(documents)
        scores: dict[int, float] = defaultdict(float)
        for word in {word for asked in query_words(question)[0] for word in _words(asked)}:
            for place, weight in self._holders.get(word, ()):
                scores[place] += weight * self._rarity[word]
        places = (
            place
            for place in sorted(scores, key=lambda place: (-scores[place], place))
            if allowed is None or self._chunks[place].document_id in allowed
        )
        best = itertools.islice(places, k)
        return [(self._chunks[place], scores[place]) for place in best]


def _words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


RETRIEVERS = ("tf-idf", "bm25", "dense", "hybrid", "hybrid+rerank")
DEFAULT = RETRIEVERS[:4]  # the ranker takes its time
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

    Raises UnknownDocument for a document that a question names and the library lacks."""
    checked = [(one, _ids(library, one)) for one in asked]
    findings: list[Finding] = []
    placed = [(one, ids) for one, ids in checked if one.pages]
    for name in retrievers if placed else ():
        found = _rankings(library, name, placed, progress)
        if found is not None:
            findings.append(finding(name, found))
    documents = library.documents()
    return Evaluation(
        questions=len(asked),
        documents=len(documents),
        pages=sum(d.pages for d in documents),
        findings=tuple(findings),
        answering=_answers(library, checked, progress) if answers else None,
    )


def _ids(library: Library, asked: EvaluationQuestion) -> list[str] | None:
    """The ids of the documents that a question is asked of; those it wants must be there."""
    for name in asked.documents:
        library.document(name)
    return None if asked.within is None else [library.document(name).id for name in asked.within]


def _rankings(
    library: Library,
    name: str,
    asked: Sequence[tuple[EvaluationQuestion, list[str] | None]],
    progress: Progress,
) -> list[Ranking] | None:
    """What one retriever finds; None if the model it needs is not there."""
    find = _finder(library, name)
    names = {d.id: d.name for d in library.documents()}
    rankings = []
    try:
        find(asked[0][0].question, asked[0][1])  # models are loaded before the clock runs
        for done, (one, ids) in enumerate(asked):
            progress(name, done, len(asked))
            began = time.perf_counter()
            found = find(one.question, ids)
            seconds = time.perf_counter() - began
            rankings.append(Ranking(one, _pages(found, names), seconds))
    except ModelUnavailable:
        return None
    return rankings


def _finder(library: Library, name: str) -> Find:
    if name == "tf-idf":
        chunks = [c for d in library.documents() if askable(d) for c in library.chunks(d.id)]
        index = TfIdf(chunks, [search_text(chunk.text) for chunk in chunks])
        return lambda question, ids: [c for c, _ in index.search(question, _PASSAGES, ids)]
    kind = RetrieverKind(name.partition("+")[0])
    rerank = _RERANKED if name.endswith("+rerank") else 0

    def find(question: str, ids: list[str] | None) -> list[Chunk]:
        retriever = library.retriever(_PASSAGES, ids, kind, rerank)
        return [passage.chunk for passage in retriever.passages(question)]

    return find


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
        answer = _answer(library, one.question, ids)
        if answer is not None:
            judged.append(judge(library, one, answer))
    return answering(judged) if judged else None


def _answer(library: Library, question: str, ids: list[str] | None) -> Answer | None:
    for event in library.ask(question, ids):
        if isinstance(event, Finished):
            return event.answer
    return None


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
