"""Words and phrases as SQLite's full-text index holds them, and as it is asked for them.

Every text is quoted in a query, so that what a user wrote stays data."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_app.text.any_script import NOT_LATIN, RUN, folded, grams, runs, spaced

# Words of languages that change their endings are also found by their first letters; how many was
# measured, with Snowball's stems beside it (benchmarks/LOG.md).
_BEGINNING = 5
_ELISION = re.compile("['’]")
_DIGIT = re.compile(r"\d")


def searched(context: str, words: str) -> tuple[str | None, str | None, str]:
    """(context, words, grams) as the index has them; None for what it has as it stands."""
    found = folded(context), folded(words)
    here, there = (spaced(text) for text in found)
    cut = " ".join(filter(None, map(grams, found)))
    return None if here == context else here, None if there == words else there, cut


def any_of(words: Sequence[str], endings: bool = False) -> list[str]:
    """Queries of which a text has to answer one to hold any of `words`.

    `endings`: words of Latin script may end otherwise, too; those of other scripts always may."""
    found = (part for word in words for part in _loosely(folded(word), endings))
    return list(dict.fromkeys(found))


def holding(word: str) -> str:
    """A pattern of LIKE, escaped by backslashes, for texts that hold a word as it stands."""
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def exactly(phrase: str) -> list[str]:
    """What a text must hold to hold a phrase: its words, its grams, or both."""
    phrase = folded(phrase)
    around = spaced(phrase)
    told = [_quoted(around)] if any(c.isalnum() for c in around) else []
    cut = runs(phrase)
    if not cut:
        return told
    held = [gram for run in cut[:-1] for gram in (*run.grams, *run.tail)]
    return [*told, _in_order([*held, *cut[-1].grams], cut[-1].open)]


def _loosely(word: str, endings: bool) -> list[str]:
    found = []
    for part in spaced(word).split(RUN):
        if any(c.isalnum() for c in part):
            found += _forms(part.strip(), endings or NOT_LATIN.search(part) is not None)
    for run in runs(word):
        if len(run.grams) == 1:
            found.append(_in_order(run.grams, run.open))
        else:
            found += map(_quoted, run.grams)
    return found


def _forms(word: str, endings: bool) -> list[str]:
    """A word, and its beginning if it may go on otherwise; an elided article stands alone."""
    if not endings:
        return [_quoted(word)]
    parts = [part for part in _ELISION.split(word) if len(part) > 1] or [word]
    beginnings = [p[:_BEGINNING] for p in parts if len(p) > _BEGINNING and not _DIGIT.search(p)]
    return [*map(_quoted, parts), *(_in_order([part], is_open=True) for part in beginnings)]


def _in_order(held: Sequence[str], is_open: bool) -> str:
    return _quoted(" ".join(held)) + (" *" if is_open else "")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""').replace("\x00", " ") + '"'
