"""The app's side: a part's documents in a library, its questions asked as the page asks them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.kitchen_table.questions import Question
from benchmarks.kitchen_table.rows import Said, Seconds
from rag_app.answering.query_rewriting import Turn
from rag_app.errors import RagAppError
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Delta, Finished, Sources

_LONGEST = 900.0  # seconds that documents may take; recognising a scan's text is the slowest


@contextmanager
def opened(data_dir: Path, generator: str, paths: Sequence[Path]) -> Iterator[Library]:
    """A library that holds these documents and no others, ready to answer at once."""
    with Library(Settings.load(data_dir=data_dir, generator=generator)) as library:
        _fill(library, paths)
        library.warm()
        while library.warm_state == "warming":
            time.sleep(0.05)
        if library.warm_state != "ready":
            raise SystemExit(library.warm_state)
        library.wait_for_sentences(_LONGEST)
        yield library


def _fill(library: Library, paths: Sequence[Path]) -> None:
    began = time.perf_counter()
    ids = [library.add(path.name, path).document.id for path in paths]
    documents = library.wait(ids, _LONGEST)
    for document in documents:
        said = document.error or "; ".join(document.warnings) or document.status
        print(f"{document.name}: {document.chunks} passages, {said}", file=sys.stderr)
    print(f"added in {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    if unfit := [one.name for one in documents if one.status != "ready"]:
        raise SystemExit(f"These documents are not ready: {', '.join(unfit)}")
    if {one.id for one in library.documents()} != set(ids):
        raise SystemExit("The data directory holds other documents, too. Give another one.")


def ask(library: Library, question: Question) -> Said:
    """A question and its turns to the library, with the time that each part took."""
    turns = [Turn(asked, answered) for asked, answered in question.turns]
    began = time.perf_counter()
    sources = first_word = None
    answer = None
    try:
        for event in library.ask(question.text, turns=turns):
            now = time.perf_counter() - began
            if isinstance(event, Sources) and event.passages and sources is None:
                sources = now
            elif isinstance(event, Delta) and event.text.strip() and first_word is None:
                first_word = now
            elif isinstance(event, Finished):
                answer = event.answer
    except RagAppError as error:
        end = Seconds(sources, first_word, time.perf_counter() - began)
        return Said("", False, end, error=str(error))
    seconds = Seconds(sources, first_word, time.perf_counter() - began)
    if answer is None:
        return Said("", False, seconds, error="No answer came.")
    return Said(answer.text, answer.abstained, seconds, answer.confidence)
