"""Another embedding model takes over while the old one answers."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rag_app.errors import ModelUnavailable
from rag_app.library import Library
from rag_app.retrieval.reindexing import Live, LiveEmbedder, LiveVectors, ModelIndex
from rag_app.retrieval.sentence_models import FolderEmbedder
from rag_app.scope import HOME, WORKER
from rag_app.types import RetrieverKind, Status
from tests import sentence_models as models
from tests.fakes import ListVectors, WordEmbedder
from tests.test_library import FERRY, MUSEUM, add, ask, open_library

QUESTION = "What does the ferry to the island cost?"


@pytest.fixture(scope="module")
def toys(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    return {name: models.write(root / name, seed) for seed, name in enumerate(("first", "second"))}


@pytest.fixture
def gate(monkeypatch):
    """While it is cleared, models in folders embed no passage."""
    opened = threading.Event()
    opened.set()
    real = FolderEmbedder.embed_documents

    def waiting(self, texts):
        assert opened.wait(30)
        return real(self, texts)

    monkeypatch.setattr(FolderEmbedder, "embed_documents", waiting)
    return opened


def folders(data: Path) -> list[str]:
    return sorted(path.name for path in data.glob("vectors*"))


def until(true, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def dense(library: Library) -> list[str]:
    found = library.search(QUESTION, retriever=RetrieverKind.DENSE)
    return [passage.name for passage in found]


def test_a_new_library_begins_with_the_model_of_the_setting(toys, tmp_path):
    with open_library(tmp_path / "data", embedding=str(toys["first"])) as library:
        ferry = add(library, "ferry.txt", FERRY)
        assert library.reindexing() is None
        [vector, *_] = library._opened.vectors.vectors(ferry).values()
        assert len(vector) == models.WIDTH
        assert dense(library) == ["ferry.txt"]
    assert folders(tmp_path / "data") == [f"vectors-{FolderEmbedder(toys['first']).fingerprint}"]


def test_the_old_model_answers_until_the_new_one_has_seen_everything(toys, tmp_path, gate):
    data = tmp_path / "data"
    with open_library(data) as library:
        ferry = add(library, "ferry.txt", FERRY)
        assert folders(data) == ["vectors"]
    gate.clear()
    with open_library(data, embedding=str(toys["first"])) as library:
        assert library._opened.embedder.fingerprint == "words"
        assert dense(library) == ["ferry.txt"]
        museum = add(library, "museum.txt", MUSEUM)  # meanwhile, by the old model
        assert library.document(museum).status is Status.READY
        assert library.reindexing() is not None
        assert len(folders(data)) == 2
        gate.set()
        until(lambda: library.reindexing() is None)
        assert library._opened.embedder.fingerprint.startswith("folder-")
        until(lambda: library._opened.vectors.count() == 2)
        for document in (ferry, museum):
            made = library._opened.vectors.vectors(document).values()
            assert {len(one) for one in made} == {models.WIDTH}
        assert sorted(dense(library)) == ["ferry.txt", "museum.txt"]
        assert ask(library, QUESTION).passages
        until(lambda: len(folders(data)) == 1)
        assert folders(data) != ["vectors"]
    with open_library(data, embedding=str(toys["first"])) as library:
        assert library.reindexing() is None and library._opened.vectors.count() == 2


def test_who_is_stopped_in_between_goes_on_where_he_stopped(toys, tmp_path, monkeypatch):
    from rag_app.retrieval import reindexing

    monkeypatch.setattr(reindexing, "_TEXTS_PER_STEP", 1)
    data = tmp_path / "data"
    with open_library(data) as library:
        for number in range(4):
            add(library, f"{number}.txt", FERRY + str(number).encode())
    embedded: list[str] = []
    reached, go = threading.Event(), threading.Event()
    real = FolderEmbedder.embed_documents

    def watched(self, texts):
        embedded.extend(texts)
        if len(embedded) == 3:
            reached.set()
            assert go.wait(30)
        return real(self, texts)

    monkeypatch.setattr(FolderEmbedder, "embed_documents", watched)
    with open_library(data, embedding=str(toys["first"])) as library:
        assert reached.wait(30)
        library._reindexing._stop.set()
        go.set()
    assert len(embedded) == 3
    with open_library(data, embedding=str(toys["first"])) as library:
        until(lambda: library.reindexing() is None)
        assert library._opened.vectors.count() == 4
    assert len(embedded) == len(set(embedded)) == 4


class Other(WordEmbedder):
    """Another model, and a slow one."""

    @property
    def fingerprint(self) -> str:
        return "other"

    def embed_documents(self, texts):
        time.sleep(0.05)
        return super().embed_documents(texts)


CHILD = """
import sys, time
from pathlib import Path
from rag_app.retrieval import reindexing
from tests.test_library import open_library
from tests.test_reindexing import Other

reindexing._TEXTS_PER_STEP = 1
reindexing.embedder_of = lambda *_: Other()
with open_library(Path(sys.argv[1]), embedding="other") as library:
    while (now := library.reindexing()) and not now.done:
        time.sleep(0.01)
    print("started", flush=True)
    time.sleep(60)
"""


def test_who_is_killed_at_any_point_loses_nothing(tmp_path, monkeypatch):
    from rag_app.retrieval import reindexing

    data = tmp_path / "data"
    with open_library(data) as library:
        for number in range(12):
            add(library, f"{number}.txt", FERRY + str(number).encode())
    for wait in (0.0, 0.15, 0.4):
        command = [sys.executable, "-c", CHILD, str(data)]
        root = Path(__file__).parent.parent
        with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None and child.stdout.readline() == b"started\n"
            time.sleep(wait)
            child.kill()
    other = Other()
    monkeypatch.setattr(reindexing, "embedder_of", lambda *_: other)
    with open_library(data, embedding="other") as library:
        assert len(dense(library)) == 8
        until(lambda: library.reindexing() is None)
        assert library._opened.vectors.count() == 12 and len(other.embedded) < 12
        until(lambda: folders(data) == ["vectors-other"])


def test_the_way_back_is_the_same(toys, tmp_path):
    data = tmp_path / "data"
    for choice in ("", str(toys["first"]), str(toys["second"]), ""):
        with open_library(data, embedding=choice) as library:
            if not library.documents():
                add(library, "ferry.txt", FERRY)
            until(lambda: library.reindexing() is None)
            assert dense(library) == ["ferry.txt"]
            until(lambda: len(folders(data)) == 1)
    assert folders(data) == ["vectors"]


def test_a_document_that_is_removed_meanwhile_is_in_neither_index(toys, tmp_path, gate):
    data = tmp_path / "data"
    with open_library(data) as library:
        ferry, _ = add(library, "ferry.txt", FERRY), add(library, "museum.txt", MUSEUM)
    gate.clear()
    with open_library(data, embedding=str(toys["first"])) as library:
        library.remove(ferry)
        gate.set()
        until(lambda: library.reindexing() is None)
        assert library._opened.vectors.ids(ferry) == set() and library._opened.vectors.count() == 1


def test_a_folder_that_cannot_be_used_says_so_and_the_old_model_goes_on(toys, tmp_path, caplog):
    data = tmp_path / "data"
    with open_library(data) as library:
        add(library, "ferry.txt", FERRY)
    with open_library(data, embedding=str(tmp_path / "nothing")) as library:
        assert dense(library) == ["ferry.txt"] and library.reindexing() is None
        library.warm()
        until(lambda: library.warm_state != "warming")
        assert "“nothing” cannot be used" in library.warm_state
    assert "“nothing” cannot be used" in caplog.text


def test_a_model_that_is_torn_lets_the_old_one_go_on(toys, tmp_path):
    data = tmp_path / "data"
    with open_library(data) as library:
        add(library, "ferry.txt", FERRY)
    torn = models.write(tmp_path / "torn", 7)
    weights = torn / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with open_library(data, embedding=str(torn)) as library:
        until(lambda: "damaged" in library._reindexing.notice)
        assert dense(library) == ["ferry.txt"]


def test_where_the_old_model_is_gone_words_answer_until_the_new_one_can(toys, tmp_path, gate):
    import shutil

    data, gone = tmp_path / "data", models.write(tmp_path / "gone", 9)
    with open_library(data, embedding=str(gone)) as library:
        ferry = add(library, "ferry.txt", FERRY)
    shutil.rmtree(gone)
    gate.clear()
    with open_library(data, embedding=str(toys["first"])) as library:
        assert library.search(QUESTION)
        gate.set()
        [document] = library.wait([ferry], timeout=30)
        assert document.status is Status.READY and dense(library) == ["ferry.txt"]
    assert len(folders(data)) == 1


class Wide(WordEmbedder):
    """Vectors of two numbers."""

    def embed_documents(self, texts):
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text):
        return [1.0, 0.0]


def test_what_the_old_model_made_never_meets_the_new_index():
    live = Live(ModelIndex("", WordEmbedder(), ListVectors()))
    embedder, vectors = LiveEmbedder(live), LiveVectors(live)
    passages, question = embedder.embed_documents(["the ferry"]), embedder.embed_query("ferry")
    with live.alone(threading.Event()) as alone:
        assert alone
        live.current = ModelIndex("wide", Wide(), ListVectors())
    vectors.upsert("document", ["1"], passages, HOME)
    assert vectors.vectors("document") == {"1": [1.0, 0.0]}
    assert vectors.search(question, 3, WORKER) == [("1", 1.0)]


def test_nobody_takes_over_while_a_search_is_under_way():
    live = Live(ModelIndex("", WordEmbedder(), ListVectors()))
    stop = threading.Event()
    entered: list[bool] = []

    def take_over() -> None:
        with live.alone(stop) as alone:
            entered.append(alone)

    with live.using():
        thread = threading.Thread(target=take_over)
        thread.start()
        time.sleep(0.05)
        assert not entered
    thread.join()
    assert entered == [True]
    stop.set()
    with live.using(), live.alone(stop) as alone:
        assert not alone


def test_the_model_that_answers_may_be_missing(tmp_path):
    embedder = LiveEmbedder(Live(ModelIndex("", FolderEmbedder(tmp_path / "none"), ListVectors())))
    with pytest.raises(ModelUnavailable):
        embedder.warm()
