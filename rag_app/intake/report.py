"""What became of a document, in full, from what the store knows of it."""

from __future__ import annotations

import re

from rag_app.store import Store
from rag_app.types import Document, Report

_ENCODING = re.compile(r"it was read as (.+)\.$")  # how readers say that they had to guess


def report(store: Store, document: Document) -> Report:
    """The report of a document."""
    facts = store.queue.facts(document.id)
    origin = store.fetched.of(document.id)
    guessed = (_ENCODING.search(warning) for warning in document.warnings)
    return Report(
        document=document,
        pages_without_text=facts.pages_without_text,
        tables=facts.tables,
        encoding=next((found.group(1) for found in guessed if found), ""),
        duplicates=facts.duplicates,
        parts=facts.parts,
        inside=facts.inside,
        address=origin.address if origin else "",
        fetched_at=origin.at if origin else "",
    )
