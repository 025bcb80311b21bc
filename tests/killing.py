"""A process that adds, replaces and removes, and another that kills it at random moments.

`python -m tests.killing FOLDER KILLS SEED` leaves a journal beside the folder: what was promised to
the user at the time of each kill. Everything heavy is imported once; each victim is a fork."""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

import chromadb  # noqa: F401  # here and not in every victim: forks then start at once

from rag_app import library as module
from rag_app.settings import Settings
from rag_app.types import Document
from tests.fakes import WordEmbedder

KINDS = ("txt", "md", "csv", "html", "eml", "zip", "zip")


def token(serial: str) -> str:
    """A word that stands in one file only."""
    return f"beacon{serial}x"


def content(kind: str, serial: str) -> bytes:
    """A file whose words nothing else has."""
    words = f"The lighthouse {token(serial)} shines over the harbour of {serial}."
    if kind == "zip":
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("one.txt", content("txt", f"{serial}a"))
            archive.writestr("two/page.html", content("html", f"{serial}b"))
            archive.writestr("shared.txt", "The same words are in every archive.")
        return out.getvalue()
    text = {
        "txt": "\n\n".join(f"{words} Paragraph {n}." * 8 for n in range(12)),
        "md": f"# Light {serial}\n\n{words}\n",
        "csv": f"name,words\nlight,{words}\n",
        "html": f"<html><body><h1>Light</h1><p>{words}</p></body></html>",
        "eml": f"From: a@b.org\nTo: c@d.org\nSubject: Light\nMessage-ID: <{serial}@b>\n\n{words}\n",
    }
    return text[kind].encode()


def serials(kind: str, serial: str) -> list[str]:
    """The files whose words are there once this one is read: of an archive, what is in it."""
    return [f"{serial}a", f"{serial}b"] if kind == "zip" else [serial]


STEPS = 5  # of a victim, each of which is written down before and after


class Journal:
    """What the victim was about to do and what was done, written down before anything else."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def note(self, *words: str) -> None:
        self._file.write((" ".join(words) + "\n").encode())


def settled(documents: Sequence[Document]) -> list[Document]:
    """Whole files that no newer version is about to replace: that is called "… (2)" until then."""
    whole = [d for d in documents if "›" not in d.name]
    waited_for = {d.name.partition(" (")[0] for d in whole if " (" in d.name}
    return [d for d in whole if d.name.partition(".")[0].partition(" (")[0] not in waited_for]


def victim(folder: Path, journal: Journal, seed: int) -> None:
    """Work until killed: every few moments something is added, replaced or removed."""
    chance = random.Random(seed)
    with module.Library(Settings.load(data_dir=folder), embedder=WordEmbedder()) as library:
        journal.note("open", str(seed))
        for step in range(STEPS):
            kind, serial = chance.choice(KINDS), f"{seed}q{step}"
            mine = settled(library.documents())
            what = chance.random()
            if what < 0.2 and mine:
                gone = chance.choice(mine)
                journal.note("removing", gone.name)
                library.remove(gone.id)
                journal.note("removed", gone.name)
            elif what < 0.4 and mine:
                older = chance.choice(mine)
                kind = older.name.rpartition(".")[2]
                journal.note("replacing", older.name, serial)
                library.add(older.name, content(kind, serial), replace=True)
                journal.note("replaced", older.name, serial)
            else:
                name = f"file{serial}.{kind}"
                journal.note("adding", name, serial)
                library.add(name, content(kind, serial))
                journal.note("added", name, serial)
            time.sleep(chance.uniform(0, 0.1))
        while True:
            time.sleep(1)


def written(journal: Path, known: int, lines: int) -> None:
    """Wait until so many more lines are in the journal, or a minute is over."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if journal.exists() and journal.read_bytes()[known:].count(b"\n") >= lines:
            return
        time.sleep(0.005)


def main() -> None:
    """Kill so many victims."""
    folder, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    journal = folder.with_name("journal")
    for number in range(kills):
        known = journal.stat().st_size if journal.exists() else 0
        pid = os.fork()
        if not pid:
            with contextlib.suppress(BaseException):
                sys.stderr = io.StringIO()
                victim(folder, Journal(journal), seed * 1_000 + number)
            Journal(journal).note("ended", str(number))
            os._exit(1)
        if number % 3:  # after so many steps, however slow the machine; else anywhere
            written(journal, known, 1 + chance.randrange(2 * STEPS))
            time.sleep(chance.uniform(0, 0.2))
        else:
            time.sleep(chance.uniform(0, 0.6))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
