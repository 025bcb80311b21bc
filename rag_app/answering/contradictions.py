"""What a written sentence says against the source that it is like. Pure.

Two sentences may share nearly every word and yet say the opposite: another number, another month,
"did not", "fell" for "rose". Embeddings hardly see that. English words; numbers in any language."""

from __future__ import annotations

import re

from rag_app.answering.words import stem, telling

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SCALED = re.compile(
    r"(\d+(?:[.,]\d+)*)[\s-]*(%|per ?cent|thousand|million|billion|trillion|[mb]n\b)", re.IGNORECASE
)
_SCALES = {"%": "percent", "per cent": "percent", "mn": "million", "bn": "billion"}
_IN_WORDS = {
    word: str(first + at * step)
    for words, first, step in (
        ("two three four five six seven eight nine ten eleven twelve", 2, 1),
        ("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10),
    )
    for at, word in enumerate(words.split())
}
_WORDS = re.compile(r"[^\W\d_]+(?:[’'][^\W\d_]+)?")
_TIMES = re.compile(
    r"\b(January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Mon(?=day)|Tues(?=day)|Wednes(?=day)|Thurs(?=day)|Fri(?=day)|Satur(?=day)|Sun(?=day))"
)
_NEGATION = re.compile(
    r"\b(?:not(?! only\b)|never|neither|nor|without|cannot|fail(?:s|ed)? to|refus(?:es?|ed) to"
    r"|no)\b|n[’']t\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:.!?()—–]|\b(?:but|while|whereas|although|though|because|which|who)\b")
_SCOPE = 4  # telling words after a negation that it denies
_OPPOSITES = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        (
            "increase increased increases rose rise rises risen grew grow grows grown higher up",
            "decrease decreased decreases fell fall falls fallen declined decline declines dropped "
            "drop drops lower down shrank",
        ),
        ("gain gains gained profit profits", "loss losses lost"),
        ("more above exceeded exceeds", "less fewer below"),
        ("accepted accepts approved approves allowed allows permitted permits agreed",
         "rejected rejects refused refuses forbidden forbids prohibited prohibits denied denies"),
        ("before", "after"),
        ("first", "last"),
        ("maximum", "minimum"),
        ("always", "never"),
        ("open opens opened", "closed closes"),
        ("won win wins", "lost lose loses"),
        ("bought buys acquired acquires", "sold sells divested"),
    )
)  # fmt: skip


def figures(text: str) -> set[str]:
    """The numbers of a text, in digits or in words, and the months and days of the week."""
    found = {number.replace(",", "") for number in _NUMBER.findall(text)}
    found |= {_IN_WORDS[word] for word in _words(text) if word in _IN_WORDS}
    return found | set(_TIMES.findall(text))


def contradicts(claim: str, source: str) -> bool:
    """Whether a claim says something against a source that is like it."""
    return (
        _scaled_otherwise(claim, source)
        or _opposed(claim, source)
        or _denied(claim, source)
        or _denied(source, claim)
    )


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(text)]


def _scaled_otherwise(claim: str, source: str) -> bool:
    """61.2 billion for 61.2 million; a bare 61.2, as in a table, may be either."""
    said, known = _scales(claim), _scales(source)
    return any(known.get(number, scales) != scales for number, scales in said.items())


def _scales(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for number, scale in _SCALED.findall(text):
        name = scale.lower()
        found.setdefault(number.replace(",", ""), set()).add(
            _SCALES.get(name, "percent" if name.startswith("per") else name)
        )
    return found


def _opposed(claim: str, source: str) -> bool:
    """One says up where the other says down, and neither says both."""
    said, known = set(_words(claim)), set(_words(source))
    return any(
        (said & one and known & other and not (said & other or known & one))
        or (said & other and known & one and not (said & one or known & other))
        for one, other in _OPPOSITES
    )


def _denied(text: str, by: str) -> bool:
    """Whether `by` denies what `text` says: its "not" stands before words that `text` has so."""
    said = _bare(text)
    if _NEGATION.search(text):
        return False
    for negation in _NEGATION.finditer(by):
        rest = by[negation.end() :]
        clause = _CLAUSE.split(rest, maxsplit=1)[0]
        held = _bare(clause)
        words = [w for word in _words(clause) if (w := stem(word).rstrip("e")) in held][:_SCOPE]
        if words and sum(word in said for word in words) > 0.5 * len(words) and words[0] in said:
            return True
    return False


def _bare(text: str) -> set[str]:
    """The telling words of a text, "approve" and "approved" being one."""
    return {word.rstrip("e") for word in telling(text)}
