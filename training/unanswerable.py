"""Unanswerable twins of answerable questions.

Human-written unanswerables are scarce and decide the answerability score; these imitate how people
write them for a given passage: another name or number, a negation, an opposite. A twin must look
answerable, so what is swapped in comes from the same passage where possible.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from training.data import Example
from training.noise import Edit, apply_edits
from training.text import holds, normalise, sentences

NAME = re.compile(r"[A-Z][\w'’-]+(?: (?:of |the |de |von )?[A-Z][\w'’-]+)*")
NUMBER = re.compile(r"\b\d[\d,.]*\d\b|\b\d\b")
OPPOSITES: tuple[tuple[str, str], ...] = (
    ("first", "last"), ("largest", "smallest"), ("biggest", "smallest"), ("highest", "lowest"),
    ("most", "least"), ("more", "less"), ("best", "worst"), ("oldest", "youngest"),
    ("earliest", "latest"), ("longest", "shortest"), ("before", "after"), ("start", "end"),
    ("began", "ended"), ("begin", "end"), ("increase", "decrease"), ("increased", "decreased"),
    ("north", "south"), ("east", "west"), ("northern", "southern"), ("eastern", "western"),
    ("won", "lost"), ("win", "lose"), ("open", "close"), ("opened", "closed"),
    ("join", "leave"), ("joined", "left"), ("positive", "negative"), ("public", "private"),
    ("male", "female"), ("men", "women"), ("man", "woman"), ("king", "queen"),
    ("father", "mother"), ("son", "daughter"), ("brother", "sister"), ("husband", "wife"),
    ("major", "minor"), ("majority", "minority"), ("maximum", "minimum"), ("common", "rare"),
    ("often", "rarely"), ("always", "never"), ("allowed", "forbidden"), ("legal", "illegal"),
    ("strong", "weak"), ("rich", "poor"), ("new", "old"), ("early", "late"), ("cold", "hot"),
    ("support", "oppose"), ("supported", "opposed"), ("buy", "sell"), ("bought", "sold"),
    ("true", "false"), ("birth", "death"), ("born", "buried"), ("accepted", "rejected"),
    ("founded", "abolished"), ("created", "destroyed"), ("built", "demolished"),
    ("above", "below"), ("inside", "outside"), ("enter", "leave"), ("entered", "left"),
    ("like", "dislike"), ("agree", "disagree"), ("gained", "lost"), ("rise", "fall"),
    ("rose", "fell"), ("upper", "lower"), ("modern", "ancient"), ("domestic", "foreign"),
)  # fmt: skip
TURNS = {a: b for pair in OPPOSITES for a, b in (pair, pair[::-1])}
HELPERS = re.compile(r"\b(did|does|do|is|are|was|were|could|would|has|have|had)\b(?! not|n't)")
SHORT_SUBJECT = re.compile(r" (?:[A-Z]\w+|he|she|it|they|people|scientists)(?= [a-z])")
_DATES = (
    "January February March April May June July August September October November December "
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
)
CALENDAR = frozenset(_DATES.split())


def swapped(example: Example, others: Sequence[str], rng: random.Random) -> Example | None:
    """The question with a name or number changed for another of its kind.

    Only what the passage itself says is swapped out, and nothing from an answer's own sentence is
    swapped in, since that might well be answered there.
    """
    kinds = [NAME, NUMBER]
    rng.shuffle(kinds)
    for kind in kinds:
        anchors = [m for m in kind.finditer(example.question) if _is_anchor(m, example)]
        near = _mentions(kind, _outside_answers(example))
        far = _mentions(kind, rng.choice(others)) if others else []
        for found in (near, far) if rng.random() < 0.7 else (far, near):
            if anchors and (twin := _swap(example, rng.choice(anchors), found, rng)):
                return twin
    return None


def _is_anchor(match: re.Match[str], example: Example) -> bool:
    return match.start() > 0 and match.group() in example.context


def _mentions(kind: re.Pattern[str], text: str) -> list[str]:
    found = []
    for start, end in sentences(text):
        found += [m.group().removesuffix("'s") for m in kind.finditer(text, start + 1, end)]
    return [mention for mention in found if mention not in CALENDAR]


def _outside_answers(example: Example) -> str:
    cuts = sentences(example.context)
    spans = example.answers
    kept = (c for c in cuts if not any(s.start < c[1] and s.end > c[0] for s in spans))
    return " ".join(example.context[start:end] for start, end in kept)


def _swap(
    example: Example, anchor: re.Match[str], found: Sequence[str], rng: random.Random
) -> Example | None:
    taken = set(normalise(example.question).split())
    taken |= {w for span in example.answers for w in normalise(span.text).split()}
    fits = [
        f for f in found
        if not taken & set(normalise(f).split()) and _same_shape(anchor.group(), f)
    ]  # fmt: skip
    if not fits:
        return None
    left, right = example.question[: anchor.start()], example.question[anchor.end() :]
    return _twin(example, f"{left}{rng.choice(fits)}{right}", "swap")


def _same_shape(old: str, new: str) -> bool:
    if old[0].isdigit():
        return len(old) == len(new) and old != new
    return abs(len(old.split()) - len(new.split())) <= 2


def turned(example: Example, rng: random.Random) -> Example | None:
    """The question with a word changed for its opposite, or negated."""
    said = set(re.findall(r"\w+", example.question.lower()))
    words = [
        m
        for m in re.finditer(r"\b[a-z]+\b", example.question)
        if m.group() in TURNS and TURNS[m.group()] not in said
    ]
    if words and rng.random() < 0.85:
        word = rng.choice(words)
        new = TURNS[word.group()]
        question = example.question[: word.start()] + new + example.question[word.end() :]
        return _twin(example, question, "turn")
    return _negated(example, rng)


def _negated(example: Example, rng: random.Random) -> Example | None:
    helpers = list(HELPERS.finditer(example.question))
    if not helpers:
        return None
    helper = rng.choice(helpers)
    subject = SHORT_SUBJECT.match(example.question, helper.end())
    at, new = (subject.end(), " not") if subject else (helper.end(), "n't")
    return _twin(example, example.question[:at] + new + example.question[at:], "turn")


def without_answer(example: Example) -> Example | None:
    """The passage without the sentences that hold the answer; None where too little is left."""
    texts = [span.text for span in example.answers]
    cuts = [
        (start, end)
        for start, end in sentences(example.context)
        if any(s.start < end and s.end > start for s in example.answers)
        or holds(example.context[start:end], texts)
    ]
    left = len(example.context) - sum(end - start for start, end in cuts)
    if left < 150:
        return None
    bare = replace(example, id=f"{example.id}#cut", answers=())
    twin = apply_edits(bare, [Edit(start, end, "") for start, end in cuts])
    return None if holds(twin.context, texts) else twin


def without_another(example: Example, rng: random.Random) -> Example | None:
    """The passage without one sentence that no answer touches: still answerable."""
    cuts = [
        (start, end)
        for start, end in sentences(example.context)
        if not any(s.start < end and s.end > start for s in example.answers)
    ]
    if not cuts or not example.answers:
        return None
    start, end = rng.choice(cuts)
    return apply_edits(replace(example, id=f"{example.id}#gap"), [Edit(start, end, "")])


def _twin(example: Example, question: str, how: str) -> Example:
    return replace(example, id=f"{example.id}#{how}", question=question, answers=())
