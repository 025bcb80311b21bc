"""What a document is about, in a few terms of its own.

Candidates are runs of telling words that come back; they are ranked by how often and how widely
they stand there, by the headings, and by how near they are in meaning to the document as a whole.
Knows nothing of stores; meaning comes in as a function."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

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
    vectors = _unit(np.asarray(embed(shown), dtype=float))
    near = np.clip(vectors @ _unit(vectors.mean(axis=0)), 0.05, None)
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


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, 1e-9))


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
