"""A large library is not written anew all the time, and at once where somebody waits for it."""

from __future__ import annotations

import threading
import time

import pytest

from rag_app.ingestion import service
from rag_app.ingestion.service import Cleaner
from rag_app.storage import Store
from rag_app.types import Document, Status
from tests.fakes import ListVectors


class SlowVectors(ListVectors):
    """Writing them anew takes its time."""

    def __init__(self):
        super().__init__()
        self.written = []
        self.once = threading.Event()

    def compact(self, documents, stop):
        time.sleep(0.2)
        self.written.append(time.monotonic())
        self.once.set()
        return True


@pytest.fixture
def parts(databases, monkeypatch):
    monkeypatch.setattr(service, "_SETTLE", 0.0)
    store, vectors = Store(databases.open()), SlowVectors()
    cleaner = Cleaner(store, vectors)
    cleaner.start()
    yield store, vectors, cleaner
    cleaner.stop()
    store.close()


def remove_one(store, cleaner, number):
    document = str(number) * 64
    store.add_document(Document(document, f"{number}.txt", ".txt", 1, Status.RECEIVED, "now"))
    store.remove(document)
    store.finish_removal(document)
    cleaner.wake()


def test_it_rests_several_times_as_long_as_it_took(parts):
    store, vectors, cleaner = parts
    remove_one(store, cleaner, 1)
    assert vectors.once.wait(10)
    remove_one(store, cleaner, 2)
    time.sleep(0.5)
    assert len(vectors.written) == 1


def test_who_waits_does_not_wait_for_the_rest(parts, monkeypatch):
    monkeypatch.setattr(service, "_REST", 10_000.0)  # half an hour, and longer
    store, vectors, cleaner = parts
    for number in (1, 2):
        remove_one(store, cleaner, number)
        assert cleaner.wait(timeout=10)
    assert len(vectors.written) == 2
