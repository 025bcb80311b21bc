"""Notes on answers as sentences: the one place where they are worded, for page, command line and
exports alike."""

from __future__ import annotations

from collections.abc import Sequence

from rag_app.text.formats import count
from rag_app.text.languages import NAMES
from rag_app.types import Answer, Computation, Note, NoteKind, Operation, RowsUsed, Task

JUDGED = (Task.QUESTION, Task.COMPUTATION)
"""What is right or wrong; of a summary or a comparison no figure says that."""
CLOSEST = "The closest I found:"  # behind the sentence of an answer that there is none

BY_MODEL = "choose a language model under “Who answers” at the top left"
BY_MEANING = (
    "choose “Others, or several” in Settings, under “Which languages are your documents in?”, "
    "and ask again"
)
_CHOOSE = "Choose one under “Who answers” at the top left"
_TASKS = {"comparison": "A written comparison", "draft": "A draft", "translation": "A translation"}
_SENTENCES = {
    NoteKind.UNSUPPORTED: "I found no place that says this. Check it before you rely on it.",
    NoteKind.PARTLY_SUPPORTED: (
        "Where no small number stands beside a sentence or a line, I found no place that says it: "
        "check it before you rely on it."
    ),
    NoteKind.OTHERWISE: "“{0}” says otherwise: “{1}” Look at both before you rely on one.",
    NoteKind.CUT: "The answer was cut at the limit for its length.",
    NoteKind.REPEATED: "The model began to repeat itself and was stopped.",
    NoteKind.BROKEN_OFF: "The model stopped in the middle of its answer: {0}",
    NoteKind.QUOTED_INSTEAD: "{0} Your question was answered by quoting your documents instead.",
    NoteKind.MODEL_FAILED: "{0}",
    NoteKind.MEANING_AWAY: "{0} Until then documents are searched by words only.",
    NoteKind.LANGUAGE_NEEDS_MODEL: (
        f"An answer in {{0}} needs a language model, and none is chosen. {_CHOOSE}; here is what "
        "your documents say, as they say it."
    ),
    NoteKind.FOUND_BY_WORDS: "Found by words: I cannot judge answers in this language.",
    NoteKind.NOT_ENGLISH: "What is quoted is not in English: I cannot judge how well it answers.",
}
_FUNCTIONS = {"sum": "sum", "avg": "average", "min": "least", "max": "most"}
_LONGEST_NAME = 80  # characters of a name in a sentence


def in_words(confidence: float) -> str:
    """Confidence in words."""
    if confidence >= 0.85:
        return "very sure"
    return "fairly sure" if confidence >= 0.65 else "not very sure"


def sureness(answer: Answer) -> str:
    """How sure an answer is, in words; empty if that cannot be said, or no longer: its source was
    removed."""
    judged = answer.task in JUDGED and not answer.abstained
    removed = any(not citation.quote for citation in answer.citations)
    return in_words(answer.confidence) if judged and not removed else ""


def remarks(answer: Answer) -> list[str]:
    """What a user should know of how an answer came about, a sentence each."""
    understood = [f"Understood as: {answer.rewritten_query}"] if answer.rewritten_query else []
    computed = [how_computed(answer.computation)] if answer.computation else []
    return [*understood, *computed, *map(sentence, answer.notes)]


def how_computed(computed: Computation) -> str:
    """What was done to which rows, in plain words: "Sum of Amount (EUR) of 84 rows of …"."""
    done = [_operation(one) for one in computed.operations]
    of = _listed([f"{count(used.count, 'row')} of {_table(used)}" for used in computed.used])
    said = _listed(done) if done else "Looked up in"
    joined = f"{said} of {of}" if done else f"{said} {of}"
    return f"{_begun(joined if of else said)}.{_chosen(computed)}"


def _chosen(computed: Computation) -> str:
    """By what the rows were chosen: whoever asked sees what was understood."""
    texts: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for one in computed.chosen_by:
        quoted = f"“{one.text.replace('%', '…')}”"
        if one.comparison in ("=", "like"):
            texts.setdefault(one.column, []).append(quoted)
        else:
            sign = _SIGNS.get(one.comparison, one.comparison)
            value = quoted if sign == _SIGNS["not like"] else one.text
            others.setdefault(one.column, []).append(f"{sign} {value}".strip())
    by = {c: [" or ".join(dict.fromkeys(each))] for c, each in texts.items()}
    for column, each in others.items():
        by.setdefault(column, []).extend(dict.fromkeys(each))
    chosen = [f"{column} ({', '.join(each)})" for column, each in by.items()]
    return f" Chosen by {_listed(chosen)}." if chosen else ""


_SIGNS = {"<>": "not", "not like": "not", ">=": "≥", "<=": "≤"}


def headings(computed: Computation) -> tuple[str, ...]:
    """What the columns of a result are called: what the table calls them, or what was done."""
    done = map(_operation, computed.operations)
    return tuple(name or _begun(next(done, "")) for name in computed.columns)


def _begun(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _operation(one: Operation) -> str:
    known = not one.unit or one.unit.lower() in one.column.lower() or one.column.endswith(")")
    column = one.column if known or not one.column else f"{one.column} ({one.unit})"
    if one.function == "count":
        return f"number of {column}" if column else "number"
    return f"{_FUNCTIONS[one.function]} of {column}" if column else _FUNCTIONS[one.function]


def _table(used: RowsUsed) -> str:
    return f"{used.name}, {used.table}" if used.table else used.name


def sentence(note: Note) -> str:
    """What a note says, in one or two sentences."""
    first, *rest = note.values or ("",)
    match note.kind:
        case NoteKind.FIRST_DOCUMENTS_ONLY:
            total, *names = rest
            said = f"This is of the first {first} of {int(total):,} documents: {_listed(names)}."
            return f"{said} Tick those that you mean on the left."
        case NoteKind.NAMED_DOCUMENTS_ONLY:
            return f"This is of what you named: {_listed(note.values)}."
        case NoteKind.WHICH_DOCUMENTS:
            return f"Among them are {_listed(note.values)}."
        case NoteKind.OTHER_SHEETS:
            return f"You may have meant another sheet: {_listed(note.values)}."
        case NoteKind.SEARCHED_BY_WORDS_ONLY:
            return f"{count(int(first), 'document')} could so far be searched by words only."
        case NoteKind.NOT_READ_YET:
            return f"{count(int(first), 'document')} had not been read yet."
        case NoteKind.SCANS_NOT_READ_YET:
            return f"{count(int(first), 'document')} had scanned pages that were not read yet."
        case NoteKind.SEVERAL_UNITS:
            return (
                f"“{first}” is in several units ({', '.join(rest)}), which are neither added up "
                "nor compared: each is answered by itself."
            )
        case NoteKind.RESPELLED:
            pairs = zip(note.values[::2], note.values[1::2], strict=True)
            looked = _listed([f"“{spelt}” for “{typed}”" for typed, spelt in pairs])
            return f"I also looked for {looked}, as your documents spell it."
        case NoteKind.OTHER_LANGUAGE:
            return _in_other_language(first, *rest)
        case NoteKind.COMPUTED:
            return f"Worked out: {'; '.join(note.values)}."
        case NoteKind.TASK_NEEDS_MODEL:
            return (
                f"{_TASKS[first]} needs a language model, and none is chosen. {_CHOOSE}; "
                "meanwhile here is what your documents say about it."
            )
    return _SENTENCES[note.kind].format(*note.values)


def _in_other_language(asked: str, by_meaning: str = "", *held: str) -> str:
    """Languages by their codes, that of the question first; `by_meaning`: it is found in any."""
    if not held:  # kept by an earlier version, which kept the sentence
        return asked
    first, *_ = named = [NAMES[code] for code in held]
    what = f"in {NAMES[asked]}" if asked else f"not in {first}"
    tries = BY_MODEL if by_meaning else f"{BY_MEANING}; or {BY_MODEL}"
    return (
        f"Your question is {what}, and your documents are in {' and '.join(named)}. "
        f"Ask in {first}, or {tries}."
    )


def _listed(names: Sequence[str]) -> str:
    plain = [" ".join(name.split()) for name in names]
    short = [n if len(n) <= _LONGEST_NAME else f"{n[: _LONGEST_NAME - 1]}…" for n in plain]
    return f"{', '.join(short[:-1])} and {short[-1]}" if len(short) > 1 else "".join(short)
