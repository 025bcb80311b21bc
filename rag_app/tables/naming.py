"""Texts of a column that say the same, written in one way: "brindle dairy" is the "Brindle Dairy"
of other rows, and "Fri" is Friday. Queries group and compare by what is written; what is shown of a
row comes from the document."""

from __future__ import annotations

import calendar
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rag_app.text.languages import folded

if TYPE_CHECKING:
    import duckdb

_MOST = 5_000  # different texts of a column that are held against each other
_LONG = 50_000  # rows, from which on these are estimated first
_FEW = 12  # different texts of a column that says one of two things, with their letters
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[\s'’`.\-‐–_/]+(?=[^\W\d_])")
_ARTICLE = "the"
_COMPANIES = frozenset("ag bv co corp gmbh inc limited llc ltd plc sa sl srl".split())  # noqa: SIM905
_DAYS = tuple(name.lower() for name in calendar.day_name)
_BEGINS = 3  # letters of the name of a day that stand for it


def name_key(text: str) -> str:
    """What the spellings of one name have in common: not capitals and accents, nor spaces and marks
    between letters, an article before it, or the form of a company behind it. Figures, and what
    stands beside them, stay."""
    words = folded(text).lower().strip(" .").split()
    if len(words) > 1 and words[0] == _ARTICLE:
        words = words[1:]
    if len(words) > 1 and words[-1].strip(".") in _COMPANIES:
        words = words[:-1]
    return _BETWEEN_LETTERS.sub("", " ".join(words)).strip(" .")


def one_spelling(texts: Iterable[str]) -> Mapping[str, str]:
    """Texts of a column, the most frequent first, that are written otherwise than one before them;
    and days of the week, of which there is more than one, that are not written out."""
    known = list(texts)
    first: dict[str, str] = {}
    days = {text: day for text in known if (day := _day(text))}
    for text in known:
        first.setdefault(name_key(text), text)
    found = {text: first[name_key(text)] for text in known}
    if len({*days.values()}) > 1:
        found |= days
    return {text: other for text, other in found.items() if text != other}


def _day(text: str) -> str:
    """The day of the week that a text is, or begins; empty: none."""
    low = text.lower().strip(" .")
    found = [day for day in _DAYS if len(low) >= _BEGINS and day.startswith(low)]
    return found[0].capitalize() if found else ""


def write_alike(connection: duckdb.DuckDBPyConnection, table: str, column: str, rows: int) -> None:
    """Write what says the same in a column of an open table in one way."""
    if rows > _LONG:
        counted = f'SELECT approx_count_distinct("{column}") FROM "{table}"'
        if connection.execute(counted).fetchall()[0][0] > _MOST:
            return
    sql = (
        f'SELECT "{column}" FROM "{table}" WHERE "{column}" IS NOT NULL '
        f"GROUP BY 1 ORDER BY count(*) DESC, min(rowid) LIMIT {_MOST}"
    )
    texts = [str(text) for (text,) in connection.execute(sql).fetchall()]
    written = _written_out(texts) if len(texts) <= _FEW else {}
    written |= one_spelling(text for text in texts if text not in written)
    if written:
        pairs = "SELECT unnest(?) AS text, unnest(?) AS other"
        connection.execute(
            f'UPDATE "{table}" SET "{column}" = alike.other FROM ({pairs}) AS alike '
            f'WHERE "{table}"."{column}" = alike.text',
            [[*written], [*written.values()]],
        )


def _written_out(texts: Iterable[str]) -> dict[str, str]:
    """In a column that says one of two things, the word that a letter stands for: "y" is the "yes"
    of another row."""
    found: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        found[text.lower()].append(text)
    words = {low[0]: written[0] for low, written in found.items() if len(low) > 1}
    letters = [low for low in found if len(low) == 1]
    things = words.keys() | {*letters}
    if len(words) < len(found) - len(letters) or len(things) != 2 or not all(map(_is_word, found)):
        return {}
    return {text: words[low] for low in letters if low in words for text in found[low]}


def _is_word(text: str) -> bool:
    return text.replace(" ", "").isalpha()
