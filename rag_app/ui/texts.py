"""English words of the page in one place, with `texts_answers`, `texts_library` and `texts_access`,
so that a translation is one more file. What stands as the answer itself comes with the answer.

Pure: words and numbers in, a sentence out. What comes from documents is escaped by who shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from urllib.parse import urlsplit

from rag_app.answering.model_spec import ModelSpec
from rag_app.answering.tasks import ASKED_OF
from rag_app.export.messages import sureness
from rag_app.models.catalogue import CATALOGUE
from rag_app.settings import Settings
from rag_app.storage import Conversation
from rag_app.text.formats import at_the_beginning, has_pages, how_many, page_name, unit, which_of
from rag_app.text.formats import count as count
from rag_app.text.formats import size as size
from rag_app.types import Answer, Basis, Document, Page, Progress, Status

APP = "Ask your documents"
OPENING = "Opening your library…"
UNEXPECTED = "Something went wrong on our side. Nothing you added is lost; please try that again."
PRIVATE = "Everything stays on this computer."
PRIVATE_THERE = "Everything stays on the server."

# What is said where no page is shown.
OTHER_NAME = (
    "This app does not go by the name it was called by. Whoever runs it can add the name to "
    "RAG_APP_ALLOWED_HOSTS and start it again."
)
OTHER_SITE = "Only the app's own page may connect here. Open the app in a tab of its own."
NO_METRICS = "Figures of the server are not shown here. docs/server.md says how they are."
METRICS_TOKEN = "Figures of the server are shown to who sends the token of RAG_APP_METRICS."
REQUEST_FAILED = "Something went wrong on our side. Please try that again."
SIGN_IN_FIRST = "Sign in on the app's own page first."

SIGN_IN, SIGN_OUT = "Sign in", "Sign out"
SIGN_IN_WHAT = "Sign in to go on."
SIGN_IN_EXPIRED = "Your sign-in has run out. Sign in again to go on."
SIGN_IN_INACTIVE = "This sign-in is not let in here. Sign in again, or ask whoever runs this app."
SIGN_IN_ELSEWHERE = (
    "Nobody is signed in. Open this app by the address that signs you in; whoever runs it knows it."
)
UPLOAD_SILENT = "Nothing more came of this file. Upload it again."


def upload_refused(name: str, most: int, never: bool) -> str:
    """Why a file was not taken from a browser: `most` bytes of uploads are kept in memory, and this
    one alone has more (`never`), or others are there."""
    which = f"“{name}” was not uploaded" if name else "This file was not uploaded"
    if never:
        return (
            f"{which}: it is larger than the {most >> 20:,} MB of memory that uploads may take. "
            "Add it with rag-app add, or raise RAG_APP_UPLOAD_MB."
        )
    return (
        f"{which}: all files on their way together may take {most >> 20:,} MB of memory. "
        "Upload it again in a moment, fewer files at a time, or raise RAG_APP_UPLOAD_MB."
    )


EMPTY_TITLE = "Ask your documents"
EMPTY = (
    "Drop your files here, then ask about them in your own words. "
    "Every answer shows you the exact lines it came from."
)
EMPTY_TOUCH = (  # where nothing can be dropped
    "Add files with Upload above, then ask about them in your own words. "
    "Every answer shows you the exact lines it came from."
)
SAMPLE = "Try it with a sample document"
READY_TITLE = "What would you like to know?"
READING_TITLE = "Getting your documents ready"
READING = "You can ask as soon as the first one can be searched; most take a few seconds."
TRY_ASKING = "For example:"
INTRODUCING = "Its beginning is being read…"

DOCUMENTS = "Documents"
DROP = "Add documents"
ADD_FILES = "Upload"
DROP_HERE = "or drop files here"
ADDING = "Adding your files…"
NO_DOCUMENTS = "Nothing here yet."
FILTER = "Filter by name"
NO_MATCH = "No document has this in its name."
ALL, NONE = "All", "None"
SHOW_ALL = "Show all"
OPEN, ONLY_THIS, REMOVE, RETRY = "Open", "Ask only this one", "Remove…", "Try again"
SUMMARISE = "Summarise"
CANCEL = "Cancel and remove…"  # of a document that is still being worked on
REMOVE_NOW, KEEP = "Remove", "Keep"
REPLACE = "Replace the older one"
DISMISS = "OK"
PASSWORD = "Password"
UNLOCK = "Unlock"
NOT_STORED = (
    "The password is not kept. A copy that opens without it is, on this computer, until you remove "
    "the document."
)

ASK_NOTHING_YET = "Add documents here to begin"
ASK = "Ask about your documents…"
NONE_CHOSEN = "No document is ticked. Tick at least one on the left, then ask again."
ATTACHED = "Added to your documents."
STOP = "Stop"
STOPPED = "Stopped."
SEARCHING = "Looking through your documents…"
WARMING = "Waking up for your first question…"
WRITING = "Writing an answer from what was found…"
READING_FIRST = "Reading your new documents first…"
# Behind the answer's own sentence that there is none:
ABSTAINED = "The closest passages:"
ABSTAINED_TRY = (
    "Not what you meant? Ask in other words, name the document that you mean, or look for a word "
    "with “Search the text”."
)
ABSTAINED_EMPTY = "Try other words, or tick more documents on the left."

FIND, FIND_HINT = "Find in this document", "Find…"
FOUND_BEFORE, FOUND_NEXT = "Place before", "Next place"
NOT_FOUND_HERE = "These words do not stand in this document."
CLOSE = "Close the source"
DOWNLOAD = "Download"
LARGER, SMALLER = "Larger", "Smaller"  # the picture of a page
GONE = "This document has been removed from your library, and its words with it."
NOT_PLACED = "This quote could not be placed on the picture. Here is the text:"
OPEN_SOURCE = "See it there"

NEW_CONVERSATION = "New"
CONVERSATIONS = "Conversations"
SEARCH_CONVERSATIONS = "Search conversations"
NO_CONVERSATIONS = "No conversation holds this."
TITLE = "Title"
RENAME, DELETE = "Rename…", "Delete…"
SAVE_TITLE, LEAVE_TITLE = "Save", "Cancel"
DELETE_CONVERSATION, KEEP_CONVERSATION = "Delete", "Keep"

WHO_ANSWERS = "Who answers?"
LOOK_FOR_SERVERS = "Look for models on this computer"
NO_SERVERS = (
    "None found. Start Ollama, LM Studio, llama.cpp or vLLM, then look again; or choose another "
    "server."
)
ADDRESS = "Address of the server"
MODEL = "Name of the model"
FOLDER = "Folder of the model, or its name at the hub (owner/name)"
FETCH_MODEL = "Download it (needs the internet)"
NOT_FETCHED = "This model is not on the computer that runs this app. An administrator can fetch it."
FETCH_AGAIN = "Download it again (needs the internet)"
STOP_FETCHING = "Stop the download"
KEYS = (
    "A key, if the server wants one, is taken from RAG_APP_CHAT_KEY in the environment or in "
    ".streamlit/secrets.toml, and sent only to the server in RAG_APP_CHAT_KEY_URL; it is never "
    "shown, logged or kept."
)
NOT_FROM_ELSEWHERE = (
    "This can only be chosen in a browser on the computer that this app runs on. Whoever runs it "
    "can allow a server for all with RAG_APP_CHAT_SERVERS."
)
TRY_OUT = "Test connection"
_CHOICES = {
    "reader": "Your documents, quoted: the lines that answer, needs nothing",
    "quotes": "Whole sentences of your documents, needs nothing",
    "server": "A language model on another server…",
    "folder": "A language model in a folder on this computer…",
}

TASKS = "Summarise, compare, draft, translate"
TASK_TITLES = {
    "draft": "Write a draft",
    "translate": "Translate",
    "language": "Language of the answers",
}
TASK_HINTS = {
    "draft": "What shall be written? For example: a letter to the landlord about the deposit",
    "translate": "Text to translate; your documents help with names and terms",
}
TASK_EMPTY = "Write something into the field first."
TASKS_NEED_MODEL = (
    "This needs a language model. Choose one under “Who answers” at the top left; summaries and "
    "comparisons work without."
)
TRANSLATE = "Translate"
INTO = "Into"
ANSWERS_IN = "Answers in"
AS_ASKED = "The language of the question"
DONE = "OK"
SUMMARISE_ALL = "Summarise these documents"
COMPARES_FEW = (
    f"Two to {ASKED_OF} documents can be compared at once. Tick those that you mean on the left."
)

_KINDS = (
    (".pdf", "PDF"),
    (".docx", "Word"),
    (".xlsx", "Excel"),
    (".pptx", "PowerPoint"),
    (".png", "pictures"),
    (".eml", "e-mail"),
    (".html", "web pages"),
    (".txt", "text"),
    (".md", "Markdown"),
)


_STAGES = {
    "waiting": "Waiting",
    "reading": "Reading",
    "indexing": "Making it searchable",
    "embedding": "Learning what it means",
    "recognising": "Recognising text",
}


def choice(one: str) -> str:
    """One of those who may answer."""
    key = one.removeprefix("writer:")
    if key in CATALOGUE:
        model = CATALOGUE[key]
        return f"{model.name}: writes answers, on this computer ({size(model.bytes)})"
    return _CHOICES.get(one, one)


def who(chosen: ModelSpec) -> str:
    """Who answers now."""
    if chosen.kind == "reader":
        return "Who answers: quotes"
    said = "whole sentences" if chosen.kind == "quotes" else chosen.name
    return f"Who answers: {said}"


def where_it_goes(chosen: ModelSpec, same_computer: bool = True) -> str:
    """Where questions and passages go, as HTML."""
    if chosen.stays_here:
        return PRIVATE if same_computer else PRIVATE_THERE
    to = escape(urlsplit(chosen.url).hostname or chosen.kind)
    return f"Your questions and the passages found for them are sent to <b>{to}</b>."


def downloading(done: int, total: int) -> str:
    """How far a download is."""
    return f"Downloading: {size(done)} of {size(total)}" if total else "Downloading…"


def share(done: float, total: float) -> float:
    """How much of a bar is full: from 0 to 1, whatever the numbers say; 0 while nothing is known.

    They may be read while others change them, and a bar out of bounds would break the page."""
    return max(0.0, min(done / total, 1.0)) if total > 0 else 0.0


def time_left(seconds: float) -> str:
    """How long a wait will be, no more exact than it can be known."""
    if seconds < 3:
        return "almost done"
    if seconds < 90:
        return f"about {5 * round(seconds / 5) or 5} s left"
    return f"about {round(seconds / 60)} min left"


def left(said: str, seconds: float | None) -> str:
    """How far something is, and how long it will still take if that is known."""
    return said if seconds is None else f"{said} · {time_left(seconds)}"


def waited(seconds: float) -> str:
    """How long something has been under way."""
    return _minutes(round(seconds))


def in_parts(done: int, total: int) -> str:
    """Which part of long work is being done."""
    return f"Part {min(done + 1, total):,} of {total:,}"


def progress(work: Progress, name: str = "") -> str:
    """What is being done with a document, by its suffix: stage, pages or share done, time left."""
    parts = [_STAGES.get(work.stage, work.stage.capitalize())]
    if work.stage == "waiting":
        return parts[0]
    if work.total:
        done = min(work.done, work.total)
        in_pages = f"{done:,} of {how_many(name, work.total)}"
        parts.append(in_pages if work.unit == "pages" else f"{100 * done // work.total} %")
    if work.seconds_left is not None:
        parts.append(time_left(work.seconds_left))
    return " · ".join(parts)


def facts(document: Document) -> str:
    """Pages and size of a document."""
    named = document.pages and has_pages(document.suffix)
    pages = [how_many(document.suffix, document.pages)] if named else []
    return " · ".join([*pages, size(document.size)])


def status(document: Document) -> str:
    """How far a document is, when no work on it is going on."""
    asked = "Can be asked; scanned" if document.chunks else "Scanned"
    return {
        Status.RECEIVED: "Waiting",
        Status.READ: "Waiting",
        Status.SEARCHABLE: "Can be asked; still learning what it means",
        Status.SCANNED: f"{asked} pages are still to be read",
        Status.READY: "Ready",
        Status.FAILED: "Could not be read",
    }[document.status]


def overall(done: int, total: int, asked: int = 0) -> str:
    """How many of many files are done, and how many can be `asked` by now."""
    able = f"; {asked:,} can be asked" if asked > done else ""
    return f"{done:,} of {total:,} documents finished{able}"


def waiting_more(number: int) -> str:
    """What is not listed."""
    return f"and {count(number, 'more', 'more')}"


def older_conversations(number: int) -> str:
    """Below the newest conversations: how many are not listed, and how they are found."""
    return f"{count(number, 'older one is', 'older ones are')} found by searching."


def receipt(added: int, known: int, refused: int) -> str:
    """What became of the files of one drop, in one line."""
    parts = [f"{added:,} added"] if added or not (known or refused) else []
    parts += [f"{known:,} already there"] if known else []
    parts += [f"{refused:,} refused"] if refused else []
    return ", ".join(parts)


def menu(name: str) -> str:
    """The label of a document's menu; it is read aloud, what is seen is an icon."""
    return f"More: {name}"


def summarise(*names: str) -> str:
    """What is asked when the button is pressed."""
    return f"Summarise {_listed(names)}"


def compare(names: Iterable[str]) -> str:
    """What is asked when the button is pressed."""
    return f"Compare {_listed(names)}"


def draft(what: str) -> str:
    """What is asked when a draft is wished for."""
    begins = what.split(maxsplit=1)[0].lower()
    if begins in ("draft", "write", "compose"):
        return what
    return f"Write {begins + what[len(begins) :] if begins in ('a', 'an', 'the') else what}"


def translate(text: str, language: str) -> str:
    """What is asked when a translation is wished for."""
    return f"Translate into {language}: {text}"


def answers_in(language: str) -> str:
    """Said beside the question's field."""
    return f"Answers in {language}"


def task(one: str, documents: Sequence[Document]) -> str:
    """An item of the menu of tasks; it says what it is done with."""
    if one == "compare" and len(documents) > ASKED_OF:
        return "Compare some of them…"
    if one in ("summarise", "compare"):
        verb = "Summarise" if one == "summarise" else "Compare"
        alone = len(documents) == 1
        return f"{verb} {documents[0].name if alone else f'these {len(documents):,} documents'}"
    return f"{TASK_TITLES[one]}…"


def _listed(names: Iterable[str]) -> str:
    quoted = [f"“{name}”" for name in names]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


def confirm_removal(name: str, older: Sequence[str] = ()) -> str:
    """The question before a document is removed, and `older` versions with it."""
    asked = (
        f"Remove “{name}”? Its file, its text and everything made from it will be deleted, also in "
        "saved conversations."
    )
    if not older:
        return asked
    return f"{asked} So will the older {_listed(older)}, which it is about to replace."


def confirm_deletion(title: str) -> str:
    """The question before a conversation is deleted."""
    return f"Delete “{title}” with all its questions and answers? This cannot be undone."


def limits(suffixes: Iterable[str], megabytes: int) -> str:
    """What can be dropped, the best known kinds first."""
    taken = set(suffixes)
    kinds = [name for suffix, name in _KINDS if suffix in taken]
    more = " and more" if len(taken) > len(kinds) + 2 else ""
    listed = (
        ", ".join(kinds) if more else " or ".join(filter(None, (", ".join(kinds[:-1]), kinds[-1])))
    )
    return f"{listed}{more}, up to {megabytes:,} MB each"


ASK_ALL = "Ask all"


def asking(chosen: int, of: int) -> str:
    """Over the question's field when some documents are left out."""
    if not chosen:
        return "No document is ticked"
    return f"Asking {chosen:,} of {count(of, 'document', 'documents')}"


def day(at: str) -> str:
    """The day of a moment (ISO 8601) as people call it, in the machine's time zone."""
    then, now = datetime.fromisoformat(at).astimezone(), datetime.now().astimezone()
    days = (now.date() - then.date()).days
    if 0 <= days < 2:
        return ("Today", "Yesterday")[days]
    year = "" if then.year == now.year else f" {then.year}"
    return f"{then.strftime('%A')}, {then.day} {then.strftime('%B')}{year}"


def last_asked(one: Conversation) -> str:
    """When a conversation went on last, and its last question if that is not its title."""
    at = datetime.fromisoformat(one.changed_at).astimezone().strftime("%H:%M")
    last = f"last of {one.questions:,}: {one.last_question}"
    return " · ".join([at, *([last] if one.questions > 1 else [])])


def found_of(number: int, of: int) -> str:
    """Which of the places with the words is shown."""
    return f"Place {number:,} of {of:,}"


def ask_some(chosen: int, of: int) -> str:
    """The hint in the question's field when some documents are left out."""
    return f"Ask {chosen:,} of your {of:,} documents…" if chosen else "Tick what you want to ask…"


def library_size(ready: int) -> str:
    """What can be asked."""
    return f"{count(ready, 'document is', 'documents are')} ready to be asked."


def how_made(answer: Answer) -> str:
    """How an answer was made, how sure it is if that can be said, how long it took."""
    taken = f"{max(answer.seconds.retrieve + answer.seconds.answer, 0.1):.1f} s"
    if answer.abstained:
        return f"Looked through your documents · {taken}"
    made = "Quoted from your documents"
    if answer.computation:
        made = "Computed from your tables"
    elif answer.basis in (Basis.WRITTEN, Basis.COMPUTED):
        made = f"Written by {answer.generator} from your documents"
    return " · ".join(filter(None, (made, sureness(answer), taken)))


def sources(number: int) -> str:
    """The label over the sources of an answer."""
    return f"Sources ({number})"


def page_of(document: Document, page: Page) -> str:
    """Which page of how many, and what the document itself calls it."""
    said = which_of(document.suffix, page.number, document.pages, page.label)
    return at_the_beginning(said)


def page(name: str) -> str:
    """Which page, as `Library.page_name` calls it."""
    return at_the_beginning(name)


def picture(document: Document, page: Page) -> str:
    """What a screen reader says of the picture of a page."""
    where = at_the_beginning(page_name(document.suffix, page.number, page.label))
    return f"{where} of {document.name}"


def turn(document: Document, by: int) -> str:
    """The button that goes to the page before or after."""
    return f"{'Next' if by > 0 else 'Previous'} {unit(document.suffix)}"


# The English words of the settings. Pure.

SETTINGS = "Settings"
CAUTION = "When it is not sure"
CAUTIONS = {
    "more": ("Answer more", "Answers even when it may be wrong; check the source."),
    "balanced": ("Balanced", "Answers when it is more likely right than wrong."),
    "careful": ("Be more careful", "Rather says that it does not know."),
}
READ_MUCH = "How much to read for one question"
READS = {
    "little": ("Little", "The four best passages; fastest."),
    "normal": ("Normal", "The usual number of passages."),
    "much": ("A lot", "Sixteen passages; finds rarer things and takes longer."),
}
LANGUAGE_NEEDS_MODEL = "Another language than the documents’ needs a language model."
CHECK = "Check how well it does with my documents"
DELETE_EVERYTHING = "Delete everything…"
DELETE_SURE = (
    "All documents, conversations and choices will be deleted, for everybody who uses this app. "
    "This cannot be undone."
)
DELETE_MINE_SURE = (
    "All documents of the collections that you own will be deleted, for everybody who sees them, "
    "and your conversations and choices. This cannot be undone."
)
DELETE_NOW, SETTINGS_KEEP = "Delete everything", "Keep everything"


def _minutes(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 90 else count(round(seconds / 60), "minute")


def limits_set(settings: Settings) -> str:
    """The limits, and where they are changed, as HTML."""
    rows = (
        ("Largest file", f"{settings.max_file_mb:,} MB"),
        ("Most pages of one document", f"{settings.max_pages:,}"),
        ("Longest time to read one document", _minutes(settings.read_seconds)),
        ("Longest question", count(settings.max_question_characters, "character")),
    )
    items = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    return (
        f"<div class='set'><h3>Limits</h3><dl class='facts-list'>{items}</dl>"
        "<p class='note'>Who runs the app can "
        "change them; docs/settings.md has their names.</p></div>"
    )


def kept_where(folder: str, documents: int, held: int) -> str:
    """Where everything is and how much it takes, as HTML; no folder: that is not theirs to know."""
    where = f"in <code>{escape(folder)}</code> " if folder else ""
    return (
        "<div class='set'><h3>Your data</h3><p class='note'>"
        f"{count(documents, 'document')}, {size(held)}, {where}"
        "on the computer that runs this app.</p></div>"
    )


# The English words around pages of the web. A part of texts.py, which has grown long.
#
# Pure: words and numbers in, a sentence out.

ADD_PAGE = "Add a web page"
WEB_ADDRESS = "Address of the page"
EXAMPLE = "https://example.org/page"
FETCH = "Fetch it"
WEB_CANCEL = "Cancel"
WEB_STOP = "Stop"
GOES_OUT = (
    "This goes to the internet: the app fetches this one page now, because you ask for it. "
    "Nothing of yours is sent along."
)
NOTHING_TYPED = "Paste the address of a page first, such as https://example.org/page."
FROM = "From"  # before the name of a site
ENOUGH = "Wait until the pages before it have come, then fetch the next."


def not_fetched(address: str, why: str) -> str:
    """What became of one page of the web among several."""
    return f"{address}: {why}"


def fetching(site: str, done: int, total: int) -> str:
    """How far a page is."""
    if total and done < total:
        return f"Fetching from {site}: {size(done)} of {size(total)}"
    return f"Fetching from {site}: {size(done)}" if done else f"Fetching from {site}…"


def origin(address: str, at: str) -> tuple[str, str]:
    """The site that a document is from, and when it was fetched, in the time of this computer."""
    site = (urlsplit(address).hostname or address).removeprefix("www.")
    return site, fetched(at)


def fetched(at: str) -> str:
    """When something was fetched."""
    moment = datetime.fromisoformat(at).astimezone()
    return f"fetched {moment.day} {moment:%B %Y}"
