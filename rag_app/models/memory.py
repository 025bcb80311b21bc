"""Whether a model fits into memory, and the largest that does."""

from __future__ import annotations

from pathlib import Path

from rag_app.models.catalogue import DEFAULT, SMALL, Model, model_of

_GROUP = Path("/sys/fs/cgroup")
_GB = 1e9


def available_gb() -> float:
    """Memory that a new process may take now, in GB: the machine's, or its container's share."""
    import psutil

    free = float(psutil.virtual_memory().available)
    return min(free, _left_in_group(_GROUP)) / _GB


def _left_in_group(group: Path) -> float:
    """What a container may still take; infinite where there is no limit."""
    try:
        most = float((group / "memory.max").read_text())  # "max" where there is none
        used = float((group / "memory.current").read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return float("inf")
    return most - used + float(stat.get("inactive_file", 0))  # files read once give way


def lacks(model: Model) -> str:
    """One sentence that says what a model needs and there is not; empty if it fits."""
    free = available_gb()
    if free >= model.memory_gb:
        return ""
    return (
        f"{model.name} needs {model.memory_gb:g} GB of memory and {free:.1f} GB are free: close "
        "other programs, or choose a smaller language model with RAG_APP_WRITER."
    )


def has_room(model: Model) -> bool:
    """Whether a model fits into the memory that is free now."""
    return not lacks(model)


def fitting(key: str) -> Model | None:
    """The model that was chosen, or the largest below it that fits; None: none does, or off.

    Raises SettingsError."""
    chosen = model_of(key)
    if chosen is None:
        return None
    smaller = [one for one in (DEFAULT, SMALL) if one.bytes < chosen.bytes]
    return next((model for model in (chosen, *smaller) if has_room(model)), None)
