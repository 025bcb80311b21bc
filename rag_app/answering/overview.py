"""Overviews of documents: a summary, key topics, and questions that were really tried.

Made in the background, one document after the other, when nothing is being read or embedded; one
that somebody looks at comes first. What is made is kept. Knows nothing of the page."""

from __future__ import annotations

import logging
import math
import re
import threading
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rag_app.answering.suggested_questions import opening
from rag_app.errors import ModelAway, RagAppError
from rag_app.retrieval.embedding import Embedder
from rag_app.scope import WORKER, Scope, readers_of
from rag_app.storage import Store
from rag_app.storage.overviews import (
    DatedSentence,
    Introduction,
    KeptOverviews,
    Overview,
    Sentence,
    TopicPlace,
)
from rag_app.storage.vectors import unit
from rag_app.supervision import give_way, surviving
from rag_app.tables.values import days_in
from rag_app.text.formats import TABLES
from rag_app.text.sentences import one_line, sentences
from rag_app.text.structure import guess_headings
from rag_app.types import (
    EMBEDDED,
    Answer,
    Chunk,
    Document,
    Event,
    Finished,
    Heading,
    Page,
    Task,
    askable,
)

# What a document is about, in a few terms of its own.
#
# Candidates are runs of telling words that come back; they are ranked by how often and how widely
# they stand there, by the headings, and by how near they are in meaning to the document as a whole.
# Knows nothing of stores; meaning comes in as a function.

Embed = Callable[[list[str]], Sequence[Sequence[float]]]

_MOST_WORDS = 4
_CANDIDATES = 60
_ALIKE = 0.7  # cosine from which two terms are one topic
_LOOKED_AT = 400_000  # characters; of a longer document every n-th chunk

_RUN = re.compile(r"[^\W\d_][\w’'&/-]*(?:[^\S\r\n]+[^\W\d_][\w’'&/-]*)*")
_SPACES = re.compile(r"\s+")
_BEFORE_NAME = re.compile(r"[a-z,;)][^\S\r\n]\Z")

# Words that say nothing alone: of English, and the commonest of its neighbours.
_EMPTY = frozenset(
    """
    a about above across after again against all almost along already also although always am among
    an and another any are around as at away back be because been before being below between both
    but by called came can cannot come could day days did different do does doing done down during
    each either else end enough etc even ever every example far few first following for found from
    full further gave general get give given go good great had has have having he held her here him
    his how however i if in including into is it its itself just keep kept know known large last
    later least less let like likely long made main make makes making man many may me mean means
    might more most mr mrs ms much must my near need needs never new next no nor not nothing now of
    off often old on once one only or other others our out over own page part particular people per
    place please possible put rather really said same say says second see seen set several shall she
    should show shown side since small so some something still such take taken than that the their
    them then there therefore these they thing things third this those though three through thus
    time times to today together too took two under until up upon us use used uses using various
    very via was way we well went were what when where whether which while who whole whom whose why
    will with within without would year years yes yet you your
    according accordance addition additional additionally applicable approximately based certain
    compared currently due effective ended included includes increase increased increases decrease
    decreased number paid primarily provided related relating relevant report reported reporting
    respect respectively result resulted results significant subject table total amount amounts
    item items note notes section sections chapter figure appendix contents introduction conclusion
    january february march april june july august september october november december monday tuesday
    wednesday thursday friday saturday sunday inc ltd corp company companies million billion
    thousand percent month months week weeks partly offset form
    der die das und ist ein eine einer eines einem einen den dem des im in zu zur zum mit von für
    auf als auch aus bei nach wird werden wurde wurden nicht oder sich sind sie er es wir ihr über
    unter durch dass kann können nur noch mehr wie hat haben diese dieser dieses sowie bis
    le la les un une des du de et en est sont dans par pour sur avec qui que ce cette ces il elle
    ne pas au aux plus ou leur leurs se son sa ses été être nous vous
    el los las una unos del al con por para es son como más su sus se lo que y o
    il lo gli un uno della delle dei degli del di che è sono con per non una nel nella
    """.split()  # noqa: SIM905 - easier to read and to add to
)


@dataclass
class _Term:
    """A run of words: its forms as written, and the chunks that hold it."""

    forms: Counter[str] = field(default_factory=Counter)
    chunks: set[int] = field(default_factory=set)
    named: int = 0  # times it began with a capital among small words

    @property
    def count(self) -> int:
        return self.forms.total()


def key_topics(
    texts: Sequence[str],
    headings: Sequence[str],
    embed: Embed,
    rare: Callable[[str], float] = lambda term: 1.0,
    k: int = 7,
) -> tuple[str, ...]:
    """Up to k terms for a document of these chunks.

    `rare` says how much a term tells the document from others."""
    read = _sample(texts)
    terms = _terms(read)
    titles = [_key(heading) for heading in headings]
    ranked = sorted(terms, key=lambda key: -_weight(key, terms[key], titles, len(read)))
    candidates = _independent(ranked, terms)[:_CANDIDATES]
    if not candidates:
        return ()
    shown = [_shown(terms[key]) for key in candidates]
    vectors = unit(np.asarray(embed(shown), dtype=float))
    near = np.clip(vectors @ unit(vectors.mean(axis=0)), 0.05, None)
    weights = np.array(
        [
            _weight(key, terms[key], titles, len(read)) * rare(form)
            for key, form in zip(candidates, shown, strict=True)
        ]
    )
    return tuple(shown[n] for n in _distinct(weights * near, vectors, candidates, k))


def _sample(texts: Sequence[str]) -> list[str]:
    step = max(1, -(-sum(map(len, texts)) // _LOOKED_AT))
    return [_SPACES.sub(" ", text) if step > 1 else text for text in texts[::step]]


def _terms(texts: Sequence[str]) -> dict[str, _Term]:
    """Every run of up to four telling words that comes back."""
    found: dict[str, _Term] = defaultdict(_Term)
    for number, text in enumerate(texts):
        for run in _RUN.finditer(text):
            named = _BEFORE_NAME.search(text, max(0, run.start() - 2), run.start()) is not None
            _count(run.group().split(), number, named, found)
    often = max(2, round(len(texts) ** 0.5 / 4))
    return {key: term for key, term in found.items() if term.count >= often}


def _count(words: list[str], chunk: int, named: bool, found: dict[str, _Term]) -> None:
    telling = [_tells(word) for word in words]
    for first in range(len(words)):
        if not telling[first]:
            continue
        for last in range(first, min(first + _MOST_WORDS, len(words))):
            if not telling[last]:
                break
            form = " ".join(words[first : last + 1])
            term = found[_key(form)]
            term.forms[form] += 1
            term.chunks.add(chunk)
            before = words[first - 1][0].islower() if first else named
            after = last + 1 == len(words) or words[last + 1][0].islower()
            term.named += form[0].isupper() and before and after


def _tells(word: str) -> bool:
    return len(word) > 2 and word.strip("’'").lower() not in _EMPTY


def _key(form: str) -> str:
    """A form without case and without the s of a plural, so that both count as one."""
    words = form.lower().replace("’", "'").split()
    return " ".join(
        w[:-1] if w.endswith("s") and not w.endswith("ss") and len(w) > 3 else w for w in words
    )


def _weight(key: str, term: _Term, titles: Sequence[str], chunks: int) -> float:
    length = key.count(" ") + 1
    often = math.log1p(term.count)
    wide = math.log1p(len(term.chunks)) / math.log1p(max(2, chunks))
    titled = 1.4 if any(f" {key} " in f" {title} " for title in titles) else 1.0
    # One common word alone says little, unless it is a name.
    alone = 0.9 if term.named > 0.4 * term.count else 0.35
    return often * (0.5 + wide) * (0.0, alone, 1.5, 1.6, 1.6)[length] * titled


def _independent(ranked: Sequence[str], terms: dict[str, _Term]) -> list[str]:
    """Without terms that mostly stand inside a longer one, and without those that hold one."""
    kept: list[str] = []
    for key in ranked[: 6 * _CANDIDATES]:
        inside = any(
            f" {key} " in f" {other} " and terms[other].count > 0.5 * terms[key].count
            for other in ranked[: 6 * _CANDIDATES]
            if other != key
        )
        if not inside:
            kept.append(key)
    return kept


def _shown(term: _Term) -> str:
    """The form that is written most often; capitals of a heading or a sentence's start go."""
    quiet = Counter({f: n for f, n in term.forms.items() if not (f.isupper() and " " in f)})
    form = (quiet or term.forms).most_common(1)[0][0].replace("’s", "").replace("'s", "")
    first, _, rest = form.partition(" ")
    calm = rest == rest.lower() and not first.isupper()
    return form[0].upper() + form[1:] if calm else form


def _distinct(scores: np.ndarray, vectors: np.ndarray, keys: Sequence[str], k: int) -> list[int]:
    """The best k that are not about the same, the best first."""
    chosen: list[int] = []
    for candidate in map(int, np.argsort(-scores)):
        words = set(keys[candidate].split())
        if len(chosen) < k and not any(
            float(vectors[candidate] @ vectors[other]) >= _ALIKE or words & set(keys[other].split())
            for other in chosen
        ):
            chosen.append(candidate)
    return chosen


def topic_places(
    topics: Sequence[str], chunks: Sequence[Chunk], outline: Sequence[Heading]
) -> tuple[TopicPlace, ...]:
    """Each topic under the heading under which it stands most often, where it stands first."""
    begins = [(heading.page, heading.start) for heading in outline]
    found = []
    for topic in topics:
        words = r"[^\w]+".join(map(re.escape, topic.split()))
        wanted = re.compile(rf"(?<!\w){words}", re.IGNORECASE)
        under: dict[int, list[tuple[Chunk, re.Match[str]]]] = defaultdict(list)
        for chunk in chunks:
            for one in wanted.finditer(chunk.text):
                heading = bisect_right(begins, (chunk.page, chunk.start + one.start())) - 1
                under[heading].append((chunk, one))
        under.pop(-1, None)  # what stands before the first heading
        if under:
            heading = max(under, key=lambda n: (len(under[n]), -n))
            chunk, one = under[heading][0]
            place = chunk.page, chunk.start + one.start(), chunk.start + one.end()
            found.append(TopicPlace(topic, heading, *place))
    return tuple(found)


# When what happens: the days that sentences of a document name.

_DATES = 200  # shown of a document, the first ones
_FEW_WORDS = 4  # a sentence has more of them beside its date


def timeline(pages: Sequence[Page]) -> tuple[DatedSentence, ...]:
    """The days of a document in the order of time, each with the sentence that names it first.

    Rows, heads and feet name days, too, and say nothing of them: a sentence is what ends like one,
    or an entry of a list that begins with its day."""
    named: dict[str, DatedSentence] = {}
    for page, days in zip(pages, days_in([page.text for page in pages]), strict=True):
        spans = sentences(page.text) if days else []
        for one in days:
            at = bisect_right(spans, (one.start, len(page.text))) - 1
            if at < 0 or one.end > spans[at][1]:
                continue
            start, end = spans[at]
            text = one_line(page.text[start:end])
            said = one_line(page.text[one.start : one.end])
            if _tells_of(text, said):
                sentence = Sentence(text, page.number, start, end)
                named.setdefault(one.day.isoformat(), DatedSentence(str(one.day), said, sentence))
    return tuple(named[day] for day in sorted(named))[:_DATES]


def _tells_of(sentence: str, said: str) -> bool:
    rest = sentence.replace(said, " ")
    words = [word for word in rest.split() if word[:1].isalpha()]
    ends = sentence.rstrip(" ”\"')").endswith((".", "!", "?")) and " | " not in sentence
    return len(words) > _FEW_WORDS and (ends or sentence.startswith(said))


__all__ = ["Overview", "Overviews", "Sentence", "outline"]

log = logging.getLogger(__name__)

Ask = Callable[[str, Document, threading.Event], Iterator[Event]]
"""Question, the one document it is asked of, and what stops it, to events."""

_VERSION = "7"  # of what is made; a change makes all of them anew
_OUTLINE = 500  # headings kept
_QUESTIONS = 3
_SURE = 0.65  # confidence from which an answer counts
_SUMMARISE = "Summarise this document"
_SHORT = 0.5  # seconds until a busy library is looked at again in the middle of the work
_AWAY = 60.0  # seconds after which a model whose server was away is tried again
_IDLE = 3.0  # seconds after which a busy library is looked at again


@dataclass(frozen=True, slots=True)
class Makers:
    """What overviews are made with. `ask` answers by quoting; `busy`: other work goes first;
    `introduce`: by the language model of this machine, of a document's name and beginning, as far
    as it is said; None: there is none;
    `warming`: models are being loaded (one that is loaded from here would have little of the
    processor for ever)."""

    ask: Ask
    embedder: Embedder
    by: str  # who answers; other answers need other overviews
    busy: Callable[[], bool]
    introduce: Callable[[str, str, threading.Event], Iterable[Introduction]] | None = None
    warming: Callable[[], bool] = lambda: False


class Overviews:
    """Makes the overviews that are missing, and gives those that are there."""

    def __init__(self, store: Store, makers: Makers) -> None:
        self._store, self._makers = store, makers
        self._kept = KeptOverviews(store.database)
        self._words = store.words
        self._by = f"{_VERSION} {makers.by}"
        self._changed = threading.Condition()
        self._wanted: list[str] = []
        self._said: dict[str, Introduction] = {}  # as far as they are, of those that are being made
        self._given_up: set[str] = set()
        self._stop = threading.Event()
        self._looked = -math.inf
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to make what is missing; to be called whenever somebody looks."""
        self._looked = time.monotonic()
        with self._changed:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="rag-app-overview", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """Let go; what is half made is made again at the next start."""
        self._stop.set()
        self.wake()
        if self._thread is not None:
            self._thread.join()

    def looked_within(self, seconds: float) -> bool:
        """Whether somebody has looked at the page so short a time ago: it may still be drawn."""
        return time.monotonic() - self._looked < seconds

    def wake(self) -> None:
        """Something has changed in the library."""
        with self._changed:
            self._changed.notify_all()

    def of(self, document_id: str) -> Overview | None:
        """What is made of a document so far; what is missing of it is made next."""
        kept = self._kept.get(document_id, self._by)
        if kept is None or not kept.complete:
            with self._changed:
                if document_id not in self._wanted:
                    self._wanted.insert(0, document_id)
                    self._changed.notify_all()
            self.start()
        return kept

    def kept(self, document_id: str) -> Overview | None:
        """What is made of a document so far."""
        return self._kept.get(document_id, self._by)

    def said(self, document_id: str) -> Introduction | None:
        """What a document is, as far as it is said: its overview does not have it yet."""
        return self._said.get(document_id)

    def given_up(self, document_id: str) -> bool:
        """Whether no more of it is coming, because something went wrong."""
        return document_id in self._given_up

    def introduces(self, document_id: str) -> bool:
        """Whether what a document is will be said, or more of it."""
        kept = self.kept(document_id)
        coming = kept is None or not kept.complete
        return self._makers.introduce is not None and coming and not self.given_up(document_id)

    def _run(self) -> None:
        give_way()
        while (document := self._pick()) is not None:
            about = (log, "could not make the overview of document %s", document.id)
            try:
                with surviving(*about, but=(RagAppError,)) as attempt:
                    self.make(document)
                if attempt.failed:
                    self._give_up(document)
            except ModelAway as error:
                log.warning("no overview of a document for now: %s", error)
                self._stop.wait(_AWAY)
            except RagAppError as error:
                log.warning("no overview of a document: %s", error)
                self._give_up(document)
            finally:
                self._said.pop(document.id, None)

    def _give_up(self, document: Document) -> None:
        """Make no more of a document; one that was removed meanwhile may be added again."""
        if any(one.id == document.id for one in self._store.documents(WORKER)):
            self._given_up.add(document.id)

    def _pick(self) -> Document | None:
        """The next document to look at; None when stopping."""
        with self._changed:
            while not self._stop.is_set():
                if self._makers.warming():
                    self._changed.wait(_SHORT)
                    continue
                documents = {d.id: d for d in self._store.documents(WORKER)}
                done = self._kept.complete(self._by) | self._given_up
                self._wanted = [i for i in self._wanted if i in documents and i not in done]
                for document_id in self._wanted:
                    if askable(documents[document_id]):
                        return documents[document_id]
                if not self._makers.busy():
                    for document in documents.values():
                        if document.status in EMBEDDED and document.id not in done:
                            return document
                self._changed.wait(_IDLE)
        return None

    def make(self, document: Document) -> None:
        """Make and keep a document's overview, the parts that are quick to make first."""
        chunks = [indexed.chunk for indexed in self._store.indexed(document.id, WORKER)]
        headings = outline(self._store, document)
        kept, told = tuple(headings[:_OUTLINE]), self._introduction(document)
        if self._stop.is_set():
            return
        made = Overview(kept, introduction=told, dates=self._dates(document))
        if made.introduction:
            self._kept.save(document.id, self._by, made, len(chunks))
        self._said.pop(document.id, None)
        topics = self._topics(document, chunks, headings)
        places = topic_places(topics, chunks, made.outline)
        made = replace(made, summary=self._summary(document), topics=topics, topic_places=places)
        if self._stop.is_set():
            return
        self._kept.save(document.id, self._by, made, len(chunks))
        questions = self._questions(document, told.questions if told else ())
        if not self._stop.is_set():
            self._kept.save(document.id, self._by, replace(made, questions=questions), len(chunks))

    def _introduction(self, document: Document) -> Introduction | None:
        text, said = opening(self._store.pages(document.id, WORKER)), None
        if self._makers.introduce is not None and text:
            for said in self._makers.introduce(document.name, text, self._stop):
                self._said[document.id] = said
        return said

    def _summary(self, document: Document) -> tuple[Sentence, ...]:
        answer = self._answer(_SUMMARISE, document)
        if answer is None or answer.abstained:
            return ()
        return tuple(Sentence(c.quote, c.page, c.start, c.end) for c in answer.citations)

    def _dates(self, document: Document) -> tuple[DatedSentence, ...]:
        if document.suffix in TABLES:  # each row has its own
            return ()
        return timeline(self._store.pages(document.id, WORKER))

    def _topics(
        self, document: Document, chunks: Sequence[Chunk], headings: Sequence[Heading]
    ) -> tuple[str, ...]:
        beside = readers_of(document.collection)  # everybody who sees one sees the others
        of_all = len(self._store.documents(beside))

        def rare(term: str) -> float:
            held = len(self._words.documents_with(term, beside)) or 1
            return 1.0 + math.log((1 + of_all) / (1 + held))

        return key_topics(
            [chunk.text for chunk in chunks],
            [heading.text for heading in headings],
            self._makers.embedder.embed_documents,
            rare,
        )

    def _questions(self, document: Document, offered: Sequence[str]) -> tuple[str, ...]:
        """The first of the questions that the document really answers."""
        good: list[str] = []
        for question in offered:
            self._let_others_first()
            if len(good) == _QUESTIONS or self._stop.is_set():
                break
            answer = self._answer(question, document)
            if answer is not None and _is_good(answer):
                good.append(question)
        return tuple(good)

    def _let_others_first(self) -> None:
        """Wait while the library is busy, unless somebody waits for an overview."""
        with self._changed:
            while self._makers.busy() and not self._wanted and not self._stop.is_set():
                self._changed.wait(_SHORT)

    def _answer(self, question: str, document: Document) -> Answer | None:
        events = self._makers.ask(question, document, self._stop)
        return next((e.answer for e in events if isinstance(e, Finished)), None)


class SeenOverviews:
    """What is made of the documents that a scope sees; of others there is nothing to be had, as if
    they were not there. One `Overviews` makes them for everybody."""

    def __init__(self, overviews: Overviews, store: Store, scope: Scope) -> None:
        self._overviews, self._store, self._scope = overviews, store, scope

    def start(self) -> None:
        """Begin to make what is missing; to be called whenever somebody looks."""
        self._overviews.start()

    def of(self, document_id: str) -> Overview | None:
        """What is made of a document so far; what is missing of it is made next."""
        return self._overviews.of(document_id) if self._sees(document_id) else None

    def kept(self, document_id: str) -> Overview | None:
        """What is made of a document so far."""
        return self._overviews.kept(document_id) if self._sees(document_id) else None

    def given_up(self, document_id: str) -> bool:
        """Whether no more of it is coming, because something went wrong or it is not there."""
        return not self._sees(document_id) or self._overviews.given_up(document_id)

    def said(self, document_id: str) -> Introduction | None:
        """What a document is, as far as it is said: its overview does not have it yet."""
        return self._overviews.said(document_id) if self._sees(document_id) else None

    def introduces(self, document_id: str) -> bool:
        """Whether what a document is will be said, or more of it."""
        return self._sees(document_id) and self._overviews.introduces(document_id)

    def _sees(self, document_id: str) -> bool:
        return bool(self._store.documents(self._scope, [document_id]))


def _is_good(answer: Answer) -> bool:
    """Whether a question is answered, surely and from the document."""
    asked = answer.task is Task.QUESTION and not answer.abstained
    return asked and answer.confidence >= _SURE and bool(answer.citations)


def outline(store: Store, document: Document) -> list[Heading]:
    """A document's headings: its own, or those that its pages seem to have."""
    own = store.headings(document.id, WORKER)
    if own:
        return own
    pages = store.pages(document.id, WORKER)
    return guess_headings(pages, [sentences(page.text) for page in pages])
