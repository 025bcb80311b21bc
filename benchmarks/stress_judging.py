"""What became of each file, and whether that is good enough. Knows nothing of how it was run.

A file holds text if any reader found a word in it, ours or another, unless somebody looked into it
and found that what was found is none (`stress_checked.json`). It gives its text if ours found it:
not fewer than half of the words in which the other readers agree, or a word at all where they
do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.stress_files import File, words
from benchmarks.stress_ours import Note, text_of
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Status

TEXT, NOTHING, REFUSED = "text", "nothing", "refused"
CRASHED, TIMED_OUT, UNEXPLAINED = "crashed", "timed out", "unexplained"
OUTCOMES = (TEXT, NOTHING, REFUSED, TIMED_OUT, UNEXPLAINED, CRASHED)
SHARE = 0.95  # of the files that hold text
_ENOUGH = 0.5  # of the words that another reader found
_INTERPRETER_MIB = 400  # what a reading process takes before it reads, with all its parsers
_GRACE = 5.0  # seconds until a child is really gone, and its parts are taken in


@dataclass(frozen=True, slots=True)
class Found:
    """What one reader makes of one file."""

    outcome: str
    reason: str = ""  # what a user is told
    words: frozenset[str] = frozenset()
    seconds: float = 0.0
    code: str = ""
    mebibytes: int = 0
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """One file, by all readers."""

    file: File
    ours: Found
    others: Mapping[str, Found]
    checked: str = ""  # what was found looking into it by hand

    @property
    def holds_text(self) -> bool:
        """Whether anybody found a word in it that is its own."""
        return not self.checked and any(each.words for each in (self.ours, *self.others.values()))

    @property
    def shared(self) -> float:
        """The smallest share of another reader's words that ours found, too."""
        found = [each.words for each in self.others.values() if each.words]
        return min((len(each & self.ours.words) / len(each) for each in found), default=1.0)

    @property
    def gives_text(self) -> bool:
        """Whether ours found its text."""
        return bool(self.ours.words) and self.ours.outcome == TEXT


@dataclass(frozen=True, slots=True)
class Bar:
    """One thing that is promised."""

    what: str
    figure: str
    met: bool


@dataclass(frozen=True, slots=True)
class Result:
    """All files, and the bars."""

    files: Sequence[Judged]
    bars: Sequence[Bar]

    @property
    def all_met(self) -> bool:
        """Whether every bar is met."""
        return all(bar.met for bar in self.bars)

    def kinds(self) -> list[str]:
        """The kinds of files, the most frequent first."""
        return [kind for kind, _ in Counter(each.file.kind for each in self.files).most_common()]


def outcome_of(library: Library, note: Note) -> Found:
    """What became of a file that the journal and the library know."""
    common: dict[str, Any] = {
        "seconds": note["seconds"],
        "mebibytes": note.get("child_mib", 0),
        "faults": tuple(note.get("faults", ())),
    }
    if "crashed" in note:
        return Found(CRASHED, note["crashed"], **common)
    if "error" in note:
        return Found(
            _refusal(note["code"], note["error"]), note["error"], code=note["code"], **common
        )
    document = library.document(note["document"])
    if document.status is Status.FAILED:
        error, code = document.error or "", document.error_code or ""
        outcome = UNEXPLAINED if common["faults"] else _refusal(code, error)
        return Found(outcome, error, code=code, **common)
    found = frozenset(words(text_of(library, document)))
    said = " ".join(document.warnings)
    return Found(TEXT if found else NOTHING, said, found, **common)


def _refusal(code: str, error: str) -> str:
    if code == "error":
        return CRASHED
    if code == "no_text" and "RAG_APP_" not in error:  # a limit or a switch is a reason
        return NOTHING
    return TIMED_OUT if "RAG_APP_READ_SECONDS" in error else REFUSED


def outcome_of_other(said: Mapping[str, Any]) -> Found:
    """The same for another reader: what it raises is what its user gets."""
    if "text" in said:
        found = frozenset(words(said["text"]))
        return Found(TEXT if found else NOTHING, "", found, said["seconds"])
    for key, outcome in (("crashed", CRASHED), ("timed_out", TIMED_OUT), ("none", REFUSED)):
        if key in said:
            return Found(outcome, str(said[key]), seconds=said["seconds"])
    return Found(UNEXPLAINED, said["raised"], seconds=said["seconds"])


def judged(
    files: Sequence[File],
    ours: Mapping[str, Found],
    others: Mapping[str, Mapping[str, Mapping[str, Any]]],
    checked: Mapping[str, str],
    settings: Settings,
) -> Result:
    """All files by all readers, and the bars."""
    made = [
        Judged(
            file,
            ours[file.name],
            {name: outcome_of_other(said[file.name]) for name, said in others.items()},
            checked.get(file.sha256[:16], ""),
        )
        for file in files
    ]
    return Result(made, _bars(made, settings))


def _bars(made: Sequence[Judged], settings: Settings) -> list[Bar]:
    count = Counter(each.ours.outcome for each in made)
    holding = [each for each in made if each.holds_text]
    giving = sum(each.gives_text for each in holding)
    share = giving / len(holding) if holding else 1.0
    over = [each for each in made if _is_over(each.ours, settings)]
    return [
        Bar("crashes of the app", str(count[CRASHED]), not count[CRASHED]),
        Bar("failures without a reason", str(count[UNEXPLAINED]), not count[UNEXPLAINED]),
        Bar("files over their limits", str(len(over)), not over),
        Bar(
            "files that hold text give it",
            f"{giving} of {len(holding)} ({share:.1%})",
            share >= SHARE,
        ),
    ]


def _is_over(found: Found, settings: Settings) -> bool:
    return (
        found.seconds > settings.read_seconds + _GRACE
        or found.mebibytes > settings.read_memory_mb + _INTERPRETER_MIB
    )
