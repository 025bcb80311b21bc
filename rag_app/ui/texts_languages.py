"""The English words around the languages of documents: the model that finds by meaning. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rag_app.encoders.meaning import MANY
from rag_app.text.languages import NAMES
from rag_app.types import Document
from rag_app.ui.texts import size

ENGLISH, SEVERAL, OWN = "english", "many", "folder"
LANGUAGES = "Which languages are your documents in?"
ABOUT = f"about {round(MANY.size / 1e6, -1):,.0f} MB"
OPTIONS = {
    ENGLISH: "English",
    SEVERAL: "Others, or several",
    OWN: "A model of your own",
}
CAPTIONS = {
    ENGLISH: "Comes with the app; nothing to download.",
    SEVERAL: (
        f"For about {MANY.languages} languages, the widespread ones best, and from one to another. "
        f"Downloaded once, {ABOUT}, from huggingface.co; reading then takes several times as long."
    ),
    OWN: "For those who know: a folder of sentence-transformers on this computer.",
}
FOLDER = "Folder of the model"
FIXED = (
    "Who runs the app has set this with RAG_APP_EMBEDDING. Remove that setting to choose it here."
)
ONLY_HERE = "A folder can be chosen only on the computer that the app runs on."
USE = "Use this from now on"
TRY_AGAIN = "Try again"
FETCH_AGAIN = f"Download it again ({ABOUT})"
BACKGROUND = (
    "Your documents are read again for their meaning, in the background. Until that is done they "
    "are found as before."
)
STOP_FETCHING, STOPPING = "Stop the download", "Stopping…"
STAY = "Stop, and leave it as it was"
CHOOSE, NOT_NOW = "Choose languages…", "Not now"
_NAMED = 2  # languages


def fetch(arrived: int) -> str:
    """The button that begins the download, or goes on with it."""
    if arrived:
        return f"Go on with the download ({size(arrived)} of {ABOUT})"
    return f"Download it ({ABOUT})"


def fetching(done: int, total: int) -> str:
    """How far the download is."""
    return f"Downloading: {size(done)} of {size(total)}" if total else "Downloading…"


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
