"""The English words around the library as a whole: checking it, folders kept in step with it.

A part of texts.py, which has grown long. Pure: words and numbers in, a sentence out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape

from rag_app.evaluation.self_check import FIRST, Check, Tried
from rag_app.retrieval.embedding_choice import MANY
from rag_app.text.languages import NAMES
from rag_app.types import Document, Progress, Report, Watched
from rag_app.ui import texts
from rag_app.ui.texts import count, size

MORE = "More: all documents"
CHECK = "Check my library"
FOLDERS = "Keep in step with a folder"
FOLDERS_MENU = f"{FOLDERS}…"
CHECK_MENU = f"{CHECK}…"

CHECK_WHAT = (
    "How well does this app find what is in your documents? It makes questions of what stands in "
    "them, and a few that nothing in them answers, asks them all, and shows what went well and "
    "what did not."
)
CHECK_TIME = "It takes many minutes; you can go on working. Nothing leaves this computer for it."
CHECK_NOW, CHECK_AGAIN = "Check now", "Check again"
CHECK_NOTHING = "Add a document first: the questions are made of what it says."
CHECK_STOP = "Stop"
CHECK_STOPPING = "Stopping…"
CHECK_BEGINS = "Looking at your documents…"
NO_QUESTIONS = (
    "No questions could be made of your documents. Of texts the language model that comes with the "
    "app makes them; of tables they are made where a column names each row."
)
WENT_WRONG = "What did not go well"
WENT_WRONG_HINT = "A click shows the place that answers the question, or what was quoted."
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
    return f"Making and asking questions: {done + 1:,} of {total:,}" if total else CHECK_BEGINS


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
        (right, len(said), "answers quote the very sentence that answers the question"),
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
            "to say much. More documents make more."
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


def reindexing(work: Progress, seconds: float | None = None) -> str:
    """How far another embedding model is that is to take over, and how long it will still take."""
    share = f" {100 * min(work.done, work.total) // work.total} %" if work.total else ""
    wait = f", {texts.time_left(seconds)}" if share and seconds is not None else ""
    what = "Another model learns what your documents mean"
    return f"{what}:{share}{wait}. Until then the old one answers."


# The English words around documents: their own page, search, folders and tags, the queue.
#
# A part of texts.py, which has grown long. Pure: words and numbers in, a sentence out.

BACK = "Back"

ABOUT = "About this document"
SEARCH_IN = "Search in it"
SUMMARY = "In short"
TOPICS = "Key topics"
TOPICS_HINT = "Find this in the document"
CAN_ANSWER = "Questions it answers"
OUTLINE = "Outline"
MIND_MAP = "Mind map"
TIMELINE = "Timeline"
NO_OUTLINE = "This document has no headings."
NO_DOCUMENT_QUESTIONS = (
    "No question was found that it answers for certain. Ask one of your own below."
)
BEING_MADE = "Reading it once more to say what it is about…"
TRYING = "Trying out questions…"
NOT_MADE = "What it is about could not be worked out. You can still ask about it below."
NOT_READ_YET = "As soon as it has been read, this page says what it is about."
NOTES = "Good to know"
CAME_IN = "in {0}"  # of an attachment: the mail
FOLDER, TAGS = "Folder", "Tags"
FOLDER_AND_TAGS = "Folder and tags…"
FOLDER_HINT = "Choose a folder, or type a new one"
NEW_TAGS = "New tags"
TAGS_HINT = "Separated by commas"
SAVE, CLOSE = "Save", "Cancel"

SEARCH = "Search the text"
SEARCH_TITLE = "Search your documents"
SEARCH_HINT = "Words, or an “exact phrase” in quotation marks"
SEARCH_HELP = (
    "Finds where words stand, without asking anything. All the words are looked for together; put "
    "an exact phrase between quotation marks."
)
NOTHING_FOUND = "This stands nowhere in your documents."
NOTHING_FOUND_WHY = "Check the spelling, try fewer words, or ask the question below."
EVERYWHERE = "Search all documents"
ALL_PLACES = "Show all {0} places"
FEWER_PLACES = "Show fewer"
MORE_DOCUMENTS = "More documents"
LOOSE = "Nowhere do all of these words stand together. Here are places with some of them."

ADD_AGAIN, LEAVE_ASIDE, DELETE_ASIDE = "Add again", "Not now", "Delete…"
DELETE_ASIDE_NOW, KEEP_ASIDE = "Delete for good", "Keep"

PAUSE, RESUME = "Pause", "Go on"
PAUSED = "Paused: files wait until you go on."
CANCEL_WAITING = "Do not read the rest"
CANCEL_READING = "Do not read it"
RETRY_ALL = "Try all again"

CHOOSE = "Show and ask only"
SET_MARK, TAG_MARK = "★ ", "#"
SAVE_CHOICE = "Save this choice as a set…"
SET = "Name of the set"
DROP_SET = "Forget the set “{0}”"
WHOLE_FOLDER = "Add a folder"
SINGLE_FILES = "Add single files"
FOLDER_HERE = "or drop one"


def working_on(documents: int) -> str:
    """What is being done, beside what stops it."""
    return f"Working on {texts.count(documents, 'document')}"


def map_of(name: str) -> str:
    """What a screen reader says of a map."""
    return f"{MIND_MAP} of {name}"


def timeline(days: int) -> str:
    """The label over the days that a document names."""
    return f"{TIMELINE} ({texts.count(days, 'date')})"


def set_aside(number: int) -> str:
    """What is said of kept files that the library knows nothing of."""
    files = texts.count(
        number, "file that you added earlier is", "files that you added earlier are"
    )
    one = number == 1
    return (
        f"{files} still here, but your library knows nothing of {'it' if one else 'them'}: perhaps "
        f"an older copy of it was put back. {'It' if one else 'They'} can be added again. "
        f"{'Its name is' if one else 'Their names are'} lost until you add the same "
        f"{'file' if one else 'files'} once more."
    )


def delete_set_aside(number: int) -> str:
    """The question before they are deleted."""
    return f"Delete {texts.count(number, 'file')} for good? This cannot be undone."


def added(at: str) -> str:
    """When a document was added, in the time of this computer."""
    moment = datetime.fromisoformat(at).astimezone()
    return f"added {moment.day} {moment:%B %Y, %H:%M}"


def about(document: Document) -> str:
    """Kind, pages, size, language and date of a document, in one line."""
    kind = document.suffix.lstrip(".").upper()
    known = [
        kind,
        texts.facts(document),
        NAMES.get(document.language, ""),
        added(document.added_at),
    ]
    return " · ".join(part for part in known if part)


def report(made: Report) -> list[str]:
    """What became of a document, a sentence each; what is as it should be is not said."""
    said = []
    if made.tables:
        said.append(f"{texts.count(made.tables, 'table')} found.")
    if made.pages_without_text:
        pages = texts.count(made.pages_without_text, "page holds", "pages hold")
        said.append(f"{pages} no text that can be searched.")
    if made.inside:
        said.append(f"It came out of {_listed(made.inside)}.")
    if made.parts:
        said.append(f"It held {_listed(made.parts)}.")
    if made.duplicates:
        said.append(f"The same file also came as {_listed(made.duplicates)}.")
    return said


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(f"“{name}”" for name in names[:4])
    return f"{shown} {texts.waiting_more(len(names) - 4)}" if len(names) > 4 else shown


def found(places: int, documents: int, more: bool) -> str:
    """How much a search found."""
    said = f"{texts.count(places, 'place')} in {texts.count(documents, 'document')}"
    return f"More than {said}; add a word to narrow it down" if more else said


def within(chosen: int, of: int) -> str:
    """Which documents are searched, if not all."""
    return f"Searched in {chosen:,} of your {of:,} documents"


def within_one(name: str) -> str:
    """That only one document is searched."""
    return f"Searched in “{name}”"


def places(number: int) -> str:
    """How many places of a document are not shown yet."""
    return ALL_PLACES.format(f"{number:,}")


def tagged(folder: str, tags: tuple[str, ...]) -> str:
    """Folder and tags of a document, in one line."""
    return " · ".join([*([folder] if folder else []), *(f"{TAG_MARK}{tag}" for tag in tags)])


def shelf(name: str, number: int) -> str:
    """A folder, tag or set with the number of its documents."""
    return f"{name} {number:,}"


# The English words around the languages of documents: the model that finds by meaning. Pure.

ENGLISH, SEVERAL, OWN = "english", "many", "folder"
LANGUAGES = "Which languages are your documents in?"
ABOUT_LANGUAGES = f"about {round(MANY.size / 1e6, -1):,.0f} MB"
OPTIONS = {ENGLISH: "English", SEVERAL: "Others, or several", OWN: "A model of your own"}
CAPTIONS = {
    ENGLISH: "Comes with the app; nothing to download.",
    SEVERAL: (
        f"For about {MANY.languages} languages, the widespread ones best, and from one to another. "
        f"Downloaded once, {ABOUT_LANGUAGES}, from huggingface.co; "
        "reading then takes several times as long."
    ),
    OWN: "For those who know: a folder on this computer that holds a model for it.",
}
LANGUAGE_MODEL_FOLDER = "Folder of the model"
FIXED = (
    "Who runs the app has set this with RAG_APP_EMBEDDING. Remove that setting to choose it here."
)
ONLY_HERE = (
    "This decides for everybody who reaches the app. It can be chosen only in a browser on the "
    "computer that the app runs on, or with RAG_APP_EMBEDDING."
)
USE = "Use this from now on"
TRY_AGAIN = "Try again"
FETCH_AGAIN = f"Download it again ({ABOUT_LANGUAGES})"
BACKGROUND = (
    "Your documents are read again for their meaning, in the background. Until that is done they "
    "are found as before."
)
STOP_FETCHING, STOPPING = "Stop the download", "Stopping…"
STAY = "Stop, and leave it as it was"
CHOOSE_LANGUAGE_MODEL, NOT_NOW = "Choose languages…", "Not now"
_NAMED = 2  # languages


def fetch(arrived: int) -> str:
    """The button that begins the download, or goes on with it."""
    if arrived:
        return f"Go on with the download ({size(arrived)} of {ABOUT_LANGUAGES})"
    return f"Download it ({ABOUT_LANGUAGES})"


def in_use(choice: str) -> str:
    """Which model finds now, as HTML."""
    if not choice:
        return "By meaning, documents in English are found; by words, those in any language."
    if choice == MANY.name:
        return f"Documents are found by meaning in about {MANY.languages} languages."
    return f"Documents are found by meaning with the model in <code>{escape(choice)}</code>."


def hint(documents: Sequence[Document]) -> str:
    """Said once, where most documents are not in English."""
    weights: dict[str, int] = {}
    for document in documents:
        if document.language != "en" and document.language in NAMES:
            name = NAMES[document.language]
            weights[name] = weights.get(name, 0) + document.chunks
    named = sorted(weights, key=lambda name: (-weights[name], name))[:_NAMED]
    what = f"in {' and '.join(named)}" if named else "not in English"
    return (
        f"Most of your documents are {what}. They are found by their words; to find them by "
        "meaning, too, choose a model for more languages."
    )
