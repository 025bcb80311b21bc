"""Who may be asked to answer, under names that say nothing of servers and folders.

A program chooses among what the library offers: it makes nobody call a server or load a folder."""

from __future__ import annotations

from rag_app.answering.model_spec import QUOTING, WRITER, ModelSpec, parse
from rag_app.library import Library
from rag_app.server.problems import UnknownModel


def offered(library: Library) -> dict[str, str]:
    """By name what answers, written on one line; the one of the settings comes first."""
    here = [one for one in library.models.writers() if not library.models.missing(one)]
    lines = dict.fromkeys([library.settings.answers_by, *here, *sorted(QUOTING)])
    names: dict[str, str] = {}
    for line in lines:
        names.setdefault(_name(parse(line)), line)
    return names


def _name(spec: ModelSpec) -> str:
    if spec.kind in QUOTING:
        return spec.kind
    return f"{spec.kind}:{spec.model if spec.kind == WRITER else spec.name}"


def generator_of(library: Library, model: str | None) -> str | None:
    """What is asked for by a name; None: what the settings say. Raises UnknownModel."""
    if model is None:
        return None
    known = offered(library)
    if model not in known:
        raise UnknownModel(
            f"No model of this name is offered here. Choose one of: {', '.join(known)}."
        )
    line = known[model]
    return None if line == library.settings.answers_by else line
