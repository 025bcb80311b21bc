"""The English words around documents: their own page, search, folders and tags, the queue.

A part of texts.py, which has grown long. Pure: words and numbers in, a sentence out."""

from __future__ import annotations

from datetime import datetime

from rag_app.text.languages import NAMES
from rag_app.types import Document, Report
from rag_app.ui import texts

BACK = "Back"

ABOUT = "About this document"
SEARCH_IN = "Search in it"
SUMMARY = "In short"
TOPICS = "Key topics"
TOPICS_HINT = "Find this in the document"
CAN_ANSWER = "Questions it answers"
OUTLINE = "Outline"
NO_OUTLINE = "This document has no headings."
NO_QUESTIONS = "No question was found that it answers for certain. Ask one of your own below."
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

PAUSE, RESUME = "Pause", "Go on"
PAUSED = "Paused: files wait until you go on."
CANCEL_WAITING = "Do not read the rest"
CANCEL_READING = "Do not read it"
RETRY_ALL = "Try all again"

CHOOSE = "Show and ask only"
COLLECTION_MARK, TAG_MARK = "★ ", "#"
SAVE_CHOICE = "Save this choice as a collection…"
COLLECTION = "Name of the collection"
DROP_COLLECTION = "Forget the collection “{0}”"
WHOLE_FOLDER = "Add a whole folder instead"
SINGLE_FILES = "Add single files instead"
FOLDER_HERE = "or drop one"


def language(code: str) -> str:
    """The English name of a language; empty if the code is not known."""
    return NAMES.get(code, "")


def added(at: str) -> str:
    """When a document was added, in the time of this computer."""
    moment = datetime.fromisoformat(at).astimezone()
    return f"added {moment.day} {moment:%B %Y, %H:%M}"


def about(document: Document, written_in: str = "") -> str:
    """Kind, pages, size, language and date of a document, in one line."""
    kind = document.suffix.lstrip(".").upper()
    known = [kind, texts.facts(document), language(written_in), added(document.added_at)]
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
    """A folder, tag or collection with the number of its documents."""
    return f"{name} {number:,}"
