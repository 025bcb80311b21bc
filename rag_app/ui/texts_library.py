"""The English words around the library as a whole: checking it, folders kept in step with it.

A part of texts.py, which has grown long. Pure: words and numbers in, a sentence out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rag_app.evaluation.checking import FIRST, Check, Tried
from rag_app.types import Progress, Watched
from rag_app.ui.texts import count

MORE = "More: all documents"
CHECK = "Check my library"
FOLDERS = "Keep in step with a folder"
FOLDERS_MENU = f"{FOLDERS}…"
CHECK_MENU = f"{CHECK}…"

CHECK_WHAT = (
    "How well does this app find what is in your documents? It makes questions of sentences that "
    "stand in them, and a few that nothing in them answers, asks them all, and shows what went "
    "well and what did not."
)
CHECK_TIME = "It takes a minute or so; you can go on working. Nothing leaves this computer for it."
CHECK_NOW, CHECK_AGAIN = "Check now", "Check again"
CHECK_NOTHING = "Add a document first: its sentences are what the questions are made of."
CHECK_STOP = "Stop"
CHECK_STOPPING = "Stopping…"
CHECK_MAKING = "Making questions of your documents…"
NO_QUESTIONS = (
    "No questions could be made of your documents. So far that takes whole sentences in English "
    "with a number, a date or a name in them."
)
WENT_WRONG = "What did not go well"
WENT_WRONG_HINT = "A click shows the place that the question was made of, or what was quoted."
WENT_WELL = "What went well"
ALL_WELL = "Everything went well."
_FAULTS = {
    "missed": f"The right page was not among the first {FIRST}",
    "silent": "It said that it does not know",
    "elsewhere": "It quoted another place, which may be right, too",
    "talked": "It answered, although nothing in your documents does",
}
FAULTS = tuple(_FAULTS)
_FEW = 8  # questions whose answer is known; of fewer, one more or less decides the result

FOLDERS_WHAT = (
    "Files that are added, changed or removed in a folder of this computer are added, replaced or "
    "removed here, too, whenever the app runs."
)
FOLDER_PATH = "Where the folder is"
FOLDER_EXAMPLE = "For example /home/anna/Papers or C:\\Users\\Anna\\Papers"
FOLDER_ADD = "Keep in step"
FOLDER_EMPTY = "Type where the folder is, for example /home/anna/Papers."
FOLDER_RELATIVE = (
    "Type the whole way to the folder from its beginning, such as /home/anna/Papers or "
    "C:\\Users\\Anna\\Papers. Most file managers show it in their address bar."
)
FOLDER_IS_FILE = "This is a file. Type where the folder is that it lies in."
NO_FOLDERS = "No folder is kept in step yet."
LEAVE_ALONE = "No longer keep it in step"
LEFT_ALONE = "Its documents stay here; they no longer follow the folder."
FOLDER_REFUSED = "Files that could not be added"
NOT_FROM_HERE = (
    "Folders can be chosen only on the computer that runs the app, because they are read there."
)


def check_progress(done: int, total: int) -> str:
    """How far a check is."""
    return f"Question {done + 1:,} of {total:,}" if total else CHECK_MAKING


def check_when(check: Check) -> str:
    """When and of what a check was made, in the time of this computer."""
    at = datetime.fromisoformat(check.at).astimezone()
    asked = count(len(check.tried), "question")
    return (
        f"{at.day} {at:%B %Y, %H:%M} · {asked} · {count(check.documents, 'document')} · "
        f"an answer took {max(check.usual_seconds, 0.1):.1f} s as a rule"
    )


def figures(check: Check) -> list[tuple[str, str]]:
    """The result in plain words: so many of so many, and of what."""
    known, empty = check.known, check.empty
    said = [one for one in known if one.answered]
    found = sum(one.found for one in known)
    right, silent = sum(one.right for one in said), sum(one.right for one in empty)
    rows = [
        (found, len(known), f"times the right page was among the first {FIRST}"),
        (len(said), len(known), "questions got an answer"),
        (right, len(said), "answers quote the very sentence that the question was made of"),
        (silent, len(empty), "times it rightly said “not in your documents”"),
        (check.verbatim, check.quotes, "quotes stand word for word on their page"),
    ]
    return [(f"{part:,} of {whole:,}", what) for part, whole, what in rows if whole]


def advice(check: Check, unread: int, foreign: Sequence[str]) -> list[str]:
    """What a person can do about it. `unread`: pages without text; `foreign`: languages."""
    said = []
    if 0 < len(check.known) < _FEW:
        said.append(
            f"Only {count(len(check.known), 'question')} could be made of your documents: too few "
            "to say much. More documents with whole sentences make more."
        )
    alone = sum(one.found_alone for one in check.known)
    if alone:
        said.append(
            f"{count(alone, 'more page')} would have been found with only the right document "
            "ticked. Tick the documents that you mean, or name them in the question."
        )
    silent = sum(not one.answered for one in check.known)
    if check.known and silent > len(check.known) / 3:
        said.append(
            "It was silent often. Under Settings, “When it is not sure”, you can have it answer "
            "more."
        )
    talked = sum(one.answered for one in check.empty)
    if check.empty and talked > len(check.empty) / 3:
        said.append(
            "It answered where nothing is to be said. Under Settings, “When it is not sure”, you "
            "can have it be more careful; and look at the source of an answer before you use it."
        )
    if unread:
        verb = "holds" if unread == 1 else "hold"
        said.append(f"{count(unread, 'page')} of your documents {verb} no text that can be found.")
    if foreign:
        said.append(
            f"Some documents are in {' and '.join(foreign)}. By words everything is found, by "
            "meaning what is in English; under Settings, “Which languages are your documents in?”, "
            "you can change that."
        )
    return said


def fault(one: Tried) -> str:
    """What kind of fault it is; empty: none."""
    if one.right:
        return ""
    if one.place is None:
        return "talked"
    if not one.answered:
        return "silent"
    return "elsewhere" if one.found else "missed"


def faults(kind: str, number: int) -> str:
    """The heading over faults of a kind."""
    return f"{_FAULTS[kind]} ({number:,})"


def went_well(number: int) -> str:
    """The heading over what went well."""
    return f"{WENT_WELL} ({number:,})"


def no_folder(given: str) -> str:
    """What is said of a folder that is not there."""
    return (
        f"There is no folder {given} on this computer. Look at its spelling, or copy where it is "
        "from the address bar of your file manager."
    )


def folder_state(one: Watched) -> str:
    """How a folder is, in one line."""
    refused = f" · {len(one.refused):,} could not be added" if one.refused else ""
    return f"{count(one.files, 'file')} in your library{refused}"


def reindexing(work: Progress) -> str:
    """How far another embedding model is that is to take over."""
    share = f" {100 * min(work.done, work.total) // work.total} %" if work.total else ""
    return f"Another model learns what your documents mean:{share}. Until then the old one answers."
