"""Fetches one model of the hub into a folder; says how far it is as JSON lines.

Run by `downloading.py` in a process of its own:
`python -m rag_app.downloads.download_child MODEL FOLDER`."""

from __future__ import annotations

import errno
import json
import sys
from typing import Any

# Nothing that could run code: no pickles, no Python files.
WANTED = ["*.safetensors", "*.json", "*.txt", "*.model", "*.jinja"]


def say(**message: Any) -> None:
    """One line for the parent."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main(model: str, folder: str) -> int:
    """Fetch; the exit status."""
    from huggingface_hub import snapshot_download

    try:
        files = snapshot_download(model, local_dir=folder, allow_patterns=WANTED, dry_run=True)
        assert isinstance(files, list)
        if not any(one.filename.endswith(".safetensors") for one in files):
            say(error=f"{model} has no weights in the safetensors format. Choose another model.")
            return 1
        say(total=sum(one.file_size or 0 for one in files))
        snapshot_download(model, local_dir=folder, allow_patterns=WANTED, max_workers=2)
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent gets one sentence
        say(error=explain(error, model))
        return 1
    say(done=True)
    return 0


def explain(error: Exception, model: str) -> str:
    """One sentence on why a model could not be fetched."""
    names: set[str] = set()
    cause: BaseException | None = error
    while cause is not None and len(names) < 60:  # the hub's own error lies under a general one
        names |= {cls.__name__ for cls in type(cause).__mro__}
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "The disk is full. Make room, then try again; what has arrived is kept."
    if "GatedRepoError" in names:
        return f"{model} must be asked for at the hub first. Choose a model that is free for all."
    if names & {"RepositoryNotFoundError", "RevisionNotFoundError"}:
        return f"There is no model {model} at the hub, or it is private. Check its name."
    if "HfHubHTTPError" in names:
        return "The hub refused the download. Try again later."
    return "The hub could not be reached. Check the connection to the internet, then try again."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
