"""kill -9 of the server that people run, at random moments: nothing lost, doubled or stuck.

SERVER_KILLS=50 python -m pytest tests/test_server_killed.py -s     takes a quarter of an hour"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import RetrieverKind
from tests import sentence_models
from tests.killing import token
from tests.killing_server import SCAN, SCANNED, Victim
from tests.test_killed import Promise, check_files, check_index, check_words, leftovers

KILLS = int(os.environ.get("SERVER_KILLS", "6"))
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is POSIX only")


@pytest.mark.timeout(240 + 60 * KILLS)
def test_whatever_the_server_accepted_is_there_once_after_it_was_killed(tmp_path: Path):
    models = [sentence_models.write(tmp_path / name, n) for n, name in enumerate("ab")]
    seed = int(os.environ.get("SERVER_SEED", "3"))
    victim = Victim(tmp_path / "data", models, random.Random(seed))
    for number in range(KILLS):
        victim.kill(number)
    (tmp_path / "under-way.txt").write_text(f"at {KILLS} kills: {dict(victim.found)}\n")
    assert victim.orphans == []
    promise = Promise()
    for line in victim.journal:
        promise.read(line)
    promise.settle()
    assert promise.there or promise.gone  # something was accepted
    settings = Settings.load(data_dir=victim.folder, embedding=str(models[0]), generator="quotes")
    with Library(settings) as library:
        settle(library)
        check_files(library)
        check_index(library)
        check_scans(library, promise)
        check_words(library, promise)
        kept = {d.name for d in library.documents()}
        assert kept >= set(promise.there)
        removed = [token(serial) for serial in promise.gone if serial]
        assert leftovers(victim.folder, removed) == []
    if KILLS >= 50:
        assert victim.found.keys() >= {"received", "searchable", "replacing", "embedding again"}
        assert victim.found.keys() & {"read", "scanned"}


def settle(library: Library) -> None:
    """Until nothing is left to do; what is stuck never comes to that."""
    before = -1
    while before != len(documents := library.documents()):
        before = len(documents)
        library.wait([d.id for d in documents], timeout=300)
    end = time.monotonic() + 120
    while library.reindexing() is not None or len([*library.folder.glob("vectors*")]) > 1:
        assert time.monotonic() < end, "passages are still embedded again"
        time.sleep(0.1)
    assert library.progress() == {}
    assert library.wait_until_clean(120)


def check_scans(library: Library, promise: Promise) -> None:
    """What was recognised is found, once; how well it reads figures is not the question here."""
    for name in [name for name in promise.there if name.endswith(f".{SCAN}")]:
        document = library.document(name)
        found = library.search(SCANNED, 20, [document.id], RetrieverKind.BM25)
        assert len(found) == 1, (name, document)
        del promise.there[name]
