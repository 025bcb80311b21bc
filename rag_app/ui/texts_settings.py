"""The English words of the settings. Pure."""

from __future__ import annotations

from html import escape

from rag_app.settings import Settings
from rag_app.ui.texts import count, size

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
DELETE_NOW, KEEP = "Delete everything", "Keep everything"


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
        f"<h3>Limits</h3><dl class='facts-list'>{items}</dl><p class='note'>Who runs the app can "
        "change them; the README lists their names.</p>"
    )


def kept_where(folder: str, documents: int, held: int) -> str:
    """Where everything is and how much it takes, as HTML."""
    return (
        f"<h3>Your data</h3><p class='note'>{count(documents, 'document')}, {size(held)}, in "
        f"<code>{escape(folder)}</code> on the computer that runs this app.</p>"
    )
