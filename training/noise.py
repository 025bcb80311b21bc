"""Rough questions and rough pages. Offsets stay exact: every change is a list of edits.

Pure functions of their arguments and the random generator they are given.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from training.data import Example, Span
from training.mixture import NoiseRates


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `text[start:end]`; edits of one list do not overlap."""

    start: int
    end: int
    new: str


def apply_edits(example: Example, edits: Sequence[Edit]) -> Example:
    """The example with its context edited and its answers moved along.

    An insertion at an answer's edge stays outside the answer; an edit inside it becomes part of it.
    """
    pieces: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        pieces += [example.context[done : edit.start], edit.new]
        done = edit.end
    context = "".join([*pieces, example.context[done:]])
    spans = (_moved(span, edits, context) for span in example.answers)
    return replace(example, context=context, answers=tuple(spans))


def _moved(span: Span, edits: Sequence[Edit], context: str) -> Span:
    start, end = span.start, span.end
    for edit in edits:
        grown = len(edit.new) - (edit.end - edit.start)
        if edit.end <= span.start:
            start += grown
        if edit.end <= span.end and edit.start < span.end:
            end += grown
    return Span(context[start:end], start)


def plain_question(question: str) -> str:
    """As typed into a search box."""
    return question.lower().rstrip(" ?.!").strip() or question


def misspell(question: str, rng: random.Random) -> str:
    """One slip of the fingers in one longer word without capitals or digits."""
    words = [m for m in re.finditer(r"\b[a-z]{5,}\b", question)]
    if not words:
        return question
    word = rng.choice(words)
    at = word.start() + rng.randrange(1, len(word.group()) - 2)
    left, pair, right = question[:at], question[at : at + 2], question[at + 2 :]
    slips = (pair[::-1], pair[0], pair[0] + pair, pair[0] + rng.choice("aeiourstln"))
    return left + rng.choice(slips) + right


def wrapped(example: Example, rng: random.Random) -> Example:
    """Lines broken at a page's width; some long words hyphenated at the break."""
    width = rng.randrange(45, 100)
    edits: list[Edit] = []
    line_start = 0
    for word in re.finditer(r"\S+", example.context):
        if word.end() - line_start <= width:
            continue
        edit = _break(word, rng) if word.start() > line_start else None
        if edit is not None:
            edits.append(edit)
            line_start = word.start()
    return apply_edits(example, [e for e in edits if not _on_edge(e, example)])


def _break(word: re.Match[str], rng: random.Random) -> Edit | None:
    if word.group().isalpha() and len(word.group()) > 7 and rng.random() < 0.4:
        middle = word.start() + len(word.group()) // 2
        return Edit(middle, middle, "-\n")
    before = word.string[word.start() - 1]
    return Edit(word.start() - 1, word.start(), "\n") if before == " " else None


def _on_edge(edit: Edit, example: Example) -> bool:
    """Whether an edit would straddle the edge of an answer."""
    return any(
        edit.start < edge < edit.end or (edit.start == edit.end == edge)
        for span in example.answers
        for edge in (span.start, span.end)
    )


def titled(example: Example, heads: Sequence[str], rng: random.Random) -> Example:
    """A title, a running head or a page number in front of the text."""
    head = rng.choice(heads)
    number = rng.randrange(1, 400)
    forms = (f"{head}\n", f"{head.upper()}\n\n", f"{head} | Page {number}\n", f"{number}\n{head}\n")
    return apply_edits(example, [Edit(0, 0, rng.choice(forms))])


def tabled(example: Example, heads: Sequence[str], rng: random.Random) -> Example:
    """A few rows of a table before or after the text."""
    years = [str(rng.randrange(1950, 2030)) for _ in range(rng.randrange(2, 4))]
    rows = [" ".join(["", *years]).strip()]
    for _ in range(rng.randrange(2, 5)):
        cells = (f"{rng.randrange(1, 99_999):,}" for _ in years)
        rows.append(f"{rng.choice(heads)} {' '.join(cells)}")
    table = "\n".join(rows)
    at = rng.choice((0, len(example.context)))
    new = f"{table}\n" if at == 0 else f"\n{table}"
    return apply_edits(example, [Edit(at, at, new)])


def heading_of(context: str) -> str:
    """A few words of a context that can stand as a title."""
    names = re.search(r"[A-Z]\w+(?: (?:of |the |and )?[A-Z]\w+){1,4}", context)
    return names.group() if names else " ".join(context.split()[:4])


def roughen(
    example: Example,
    rates: NoiseRates,
    heads: Sequence[str],
    rng: random.Random,
    clean_question: bool = True,
) -> Example:
    """Each kind of noise with its own probability."""
    question = example.question
    if rng.random() < rates.question_misspelt:
        question = misspell(question, rng)
    if clean_question and rng.random() < rates.question_plain:
        question = plain_question(question)
    rough = replace(example, question=question)
    steps: tuple[tuple[float, Callable[[Example], Example]], ...] = (
        (rates.context_wrapped, lambda e: wrapped(e, rng)),
        (rates.context_titled, lambda e: titled(e, heads, rng)),
        (rates.context_tabled, lambda e: tabled(e, heads, rng)),
    )
    for rate, step in steps:
        if rng.random() < rate:
            rough = step(rough)
    return rough
