"""What a person chose: taken up when a session begins, kept when it changes."""

from __future__ import annotations

from typing import Any

from rag_app.answering.choice import parse
from rag_app.answering.in_language import LANGUAGES
from rag_app.errors import SettingsError
from rag_app.library import Library
from rag_app.ui.state import Session, current


def restore(library: Library) -> None:
    """What was chosen earlier, once in a session; what makes no sense any more is left out."""
    session = current()
    if session.restored:
        return
    session.restored = True
    kept = library.preferences.read()
    session.language = kept.language if kept.language in LANGUAGES else ""
    session.caution, session.top_k = kept.caution, kept.top_k
    try:
        chosen = parse(kept.generator) if kept.generator else None
    except SettingsError:
        return
    if chosen and chosen.stays_here:
        session.generator = str(chosen)
    elif chosen:  # somebody else's questions may not go where one person chose to send theirs
        session.offered = str(chosen)


def change(library: Library, **chosen: Any) -> None:
    """Choose for this session, and for those that begin later."""
    session = current()
    for name, value in chosen.items():
        setattr(session, name, value)
    library.preferences.change(**of(session))


def of(session: Session) -> dict[str, Any]:
    """What a session has chosen; other choices are made for all sessions."""
    return {
        "generator": session.generator or "",
        "language": session.language,
        "caution": session.caution,
        "top_k": session.top_k,
    }
