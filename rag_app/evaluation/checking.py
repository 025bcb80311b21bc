"""“Check my library”: questions made of a user's own documents, asked, and told in plain words.

The questions come from sentences of the documents, so it is known where the answer stands. Beside
them are questions that no document can answer, because they ask about names that were made up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rag_app.evaluation.metrics import quantile
from rag_app.evaluation.runner import is_verbatim
from rag_app.library import Library
from rag_app.overview.suggesting import Suggestion, suggestions
from rag_app.questions import askable
from rag_app.types import Answer, Citation, Document, Finished, Span

_FIRST = 5  # pages that a person looks at
_NAMES = ("Zorvath Quillby", "Ombrelian Farth", "Tessaquine Droll", "Vuldric Amberwick")
_ABOUT = (
    "In which year was {} born?",
    "How much did {} pay for the lighthouse?",
    "Who succeeded {} as treasurer?",
    "What is the telephone number of {}?",
)

Progress = Callable[[int, int], None]
"""Questions done, of how many."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One question and what came of it. `place` is where the answer stands, None if nowhere."""

    question: str
    document: str  # its name; "" for a question that nothing answers
    place: Span | None
    rank: int | None  # of the page among the pages found, from 1
    answered: bool
    right: bool  # a quote from the place; or silence where nothing is to be said
    seconds: float


@dataclass(frozen=True, slots=True)
class Check:
    """How a library did. `sentences` says it in plain words."""

    tried: tuple[Tried, ...]
    quotes: int
    verbatim: int

    @property
    def known(self) -> list[Tried]:
        """Questions that the documents answer."""
        return [one for one in self.tried if one.place is not None]

    @property
    def empty(self) -> list[Tried]:
        """Questions that no document answers."""
        return [one for one in self.tried if one.place is None]

    @property
    def missed(self) -> list[Tried]:
        """What did not go well, for a person to look at."""
        return [one for one in self.tried if not one.right]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The result in plain words."""
        if not self.known:
            return ("There is not enough text in your documents to make questions of.",)
        known, empty = self.known, self.empty
        found = sum(one.rank is not None and one.rank <= _FIRST for one in known)
        said = [one for one in known if one.answered]
        right = sum(one.right for one in said)
        silent = sum(one.right for one in empty)
        slow = quantile([one.seconds for one in self.tried], 0.5) or 0.0
        return (
            f"{_count(len(known), 'question')} made of your documents: the right page was among "
            f"the first {_FIRST} for {found}.",
            f"{len(said)} of them got an answer; {right} of these quoted the sentence that the "
            "question was made of. Another sentence may be right, too.",
            f"{_count(len(empty), 'question')} that nothing answers: it said so for {silent}.",
            f"{self.verbatim} of {_count(self.quotes, 'quote')} stand word for word on their page.",
            f"An answer took {slow:.1f} seconds, as a rule.",
        )


def check(
    library: Library,
    most: int = 24,
    progress: Progress = lambda *_: None,
    stop: threading.Event | None = None,
) -> Check:
    """Ask up to `most` questions of the user's documents, and some that nothing answers."""
    documents = {d.id: d for d in library.documents() if askable(d)}
    wanted: list[tuple[str, Span | None]] = [
        (one.question, one.place) for one in questions(library, [*documents.values()], most)
    ]
    if wanted:
        wanted += [(one, None) for one in unanswerable(library, [*documents.values()])]
    tried, quotes, verbatim = [], 0, 0
    for done, (question, place) in enumerate(wanted):
        if stop is not None and stop.is_set():
            break
        progress(done, len(wanted))
        answer = _answer(library, question, stop or threading.Event())
        if answer is None:
            continue
        name = documents[place.document_id].name if place else ""
        tried.append(_tried(question, name, place, answer))
        quotes += len(answer.citations)
        verbatim += sum(is_verbatim(library, citation) for citation in answer.citations)
    return Check(tuple(tried), quotes, verbatim)


def questions(library: Library, documents: Sequence[Document], most: int) -> list[Suggestion]:
    """Questions made of the documents, as many of each as there is room for."""
    each = [suggestions(library.chunks(d.id), library.headings(d.id)) for d in documents[:most]]
    taken = [one for row in zip_longest(*each) for one in row if one is not None]
    return taken[:most]


def unanswerable(library: Library, documents: Sequence[Document]) -> Iterator[str]:
    """Questions about names that none of the documents holds."""
    texts = [chunk.text for d in documents for chunk in library.chunks(d.id)]
    for name, about in zip(_NAMES, _ABOUT, strict=True):
        if not any(part in text for text in texts for part in name.split()):
            yield about.format(name)


def _answer(library: Library, question: str, stop: threading.Event) -> Answer | None:
    for event in library.ask(question, cancelled=stop):
        if isinstance(event, Finished):
            return event.answer
    return None


def _tried(question: str, name: str, place: Span | None, answer: Answer) -> Tried:
    pages = list(dict.fromkeys((p.chunk.document_id, p.chunk.page) for p in answer.passages))
    here = (place.document_id, place.page) if place else None
    if place is None:
        right = answer.abstained
    else:
        right = not answer.abstained and any(_touches(c, place) for c in answer.citations)
    return Tried(
        question=question,
        document=name,
        place=place,
        rank=pages.index(here) + 1 if here in pages else None,
        answered=not answer.abstained,
        right=right,
        seconds=answer.seconds.retrieve + answer.seconds.answer,
    )


def _touches(citation: Citation, place: Span) -> bool:
    same = (citation.document_id, citation.page) == (place.document_id, place.page)
    return same and citation.start < place.end and place.start < citation.end


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
