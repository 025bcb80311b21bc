"""Choosing which model finds by meaning, while the app runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rag_app.errors import ModelUnavailable, SettingsError
from rag_app.retrieval import embedding_choice as meaning_module
from rag_app.retrieval.embedding_choice import ENGLISH, MANY, mostly_foreign
from rag_app.retrieval.sentence_models import FolderEmbedder
from rag_app.storage.preferences import Preferences
from rag_app.types import Document, Status
from tests import sentence_models as models
from tests.hub import hub
from tests.test_library import FERRY, MUSEUM, add, open_library
from tests.test_reindexing import CHILD, Other, dense, folders, gate, toys, until

__all__ = ["gate", "toys"]  # fixtures

NAME = "people/tiny-many"


def settled(library) -> bool:
    return library.reindexing() is None


@pytest.fixture
def offered(monkeypatch):
    """What is offered for many languages is a tiny model."""
    monkeypatch.setattr(meaning_module, "MANY", replace(MANY, name=NAME, size=100_000))


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, bytes]:
    folder = models.write(tmp_path_factory.mktemp("many") / "model", seed=4)
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_another_model_takes_over_without_a_restart_and_the_choice_is_kept(toys, tmp_path):
    data = tmp_path / "data"
    with open_library(data) as library:
        add(library, "ferry.txt", FERRY)
        assert library.meaning.choice == library.meaning.answering == ENGLISH
        library.meaning.choose(str(toys["first"]))
        until(lambda: settled(library))
        assert library.meaning.answering == str(toys["first"])
        [vector] = library._opened.vectors.vectors(library.documents()[0].id).values()
        assert len(vector) == models.WIDTH and dense(library) == ["ferry.txt"]
        add(library, "museum.txt", MUSEUM)
        until(lambda: library._opened.vectors.count() == 2)
        assert folders(data) == [f"vectors-{FolderEmbedder(toys['first']).fingerprint}"]
        assert library.preferences.read().embedding == str(toys["first"])
    with open_library(data) as library:
        assert settled(library) and library.meaning.choice == str(toys["first"])
        assert sorted(dense(library)) == ["ferry.txt", "museum.txt"]
        library.meaning.choose(ENGLISH)
        until(lambda: settled(library))
        assert library._opened.embedder.fingerprint == "words" and folders(data) == ["vectors"]
        assert sorted(dense(library)) == ["ferry.txt", "museum.txt"]


def test_who_changes_his_mind_in_between_has_the_model_that_answered(toys, tmp_path, gate):
    data = tmp_path / "data"
    with open_library(data) as library:
        add(library, "ferry.txt", FERRY)
        gate.clear()
        library.meaning.choose(str(toys["first"]))
        until(lambda: len(folders(data)) == 2)
        assert dense(library) == ["ferry.txt"] and library.meaning.answering == ENGLISH
        library.meaning.choose(ENGLISH)
        assert settled(library)
        gate.set()
        until(lambda: folders(data) == ["vectors"])
        assert library._opened.embedder.fingerprint == "words" and dense(library) == ["ferry.txt"]
        library.meaning.choose(str(toys["first"]))
        library.meaning.choose(str(toys["second"]))  # before the first has begun, or after
        until(lambda: settled(library))
        second = FolderEmbedder(toys["second"]).fingerprint
        assert library._opened.embedder.fingerprint == second
        until(lambda: folders(data) == [f"vectors-{second}"])
        assert dense(library) == ["ferry.txt"]


def test_a_document_that_is_removed_while_a_model_is_chosen_is_in_neither_index(
    toys, tmp_path, gate
):
    with open_library(tmp_path / "data") as library:
        ferry, _ = add(library, "ferry.txt", FERRY), add(library, "museum.txt", MUSEUM)
        gate.clear()
        library.meaning.choose(str(toys["first"]))
        until(lambda: library._reindexing.live.coming is not None)
        library.remove(ferry)
        gate.set()
        until(lambda: settled(library))
        assert library._opened.vectors.ids(ferry) == set() and library._opened.vectors.count() == 1


def test_a_choice_that_was_cut_short_by_a_kill_is_carried_out_at_the_next_start(
    tmp_path, monkeypatch
):
    from rag_app.retrieval import reindexing

    data = tmp_path / "data"
    with open_library(data) as library:
        for number in range(8):
            add(library, f"{number}.txt", FERRY + str(number).encode())
    chosen = CHILD.replace('embedding="other") as library:\n', ") as library:\n    CHOOSE\n")
    child_code = chosen.replace("CHOOSE", 'library.meaning.choose("other")')
    command = [sys.executable, "-c", child_code, str(data)]
    root = Path(__file__).parent.parent
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"started\n"
        time.sleep(0.1)
        os.kill(child.pid, signal.SIGKILL)
    other = Other()
    monkeypatch.setattr(reindexing, "embedder_of", lambda *_: other)
    with open_library(data) as library:
        assert library.meaning.choice == "other" and len(dense(library)) == 8
        until(lambda: settled(library))
        assert library.meaning.answering == "other" and library._opened.vectors.count() == 8
        until(lambda: folders(data) == ["vectors-other"])


def test_a_folder_that_is_no_model_changes_nothing(tmp_path):
    with open_library(tmp_path / "data") as library:
        with pytest.raises(ModelUnavailable, match=r"no such folder.*rag-app languages"):
            library.meaning.choose(str(tmp_path / "nothing"))
        with pytest.raises(ModelUnavailable, match="rag-app download people/one"):
            library.meaning.choose("people/one")
        assert library.meaning.choice == ENGLISH and settled(library)
        assert library.preferences.read() == Preferences()


def test_a_model_that_cannot_be_loaded_says_so_and_can_be_let_go(toys, tmp_path):
    torn = models.write(tmp_path / "torn", 7)
    weights = torn / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with open_library(tmp_path / "data") as library:
        add(library, "ferry.txt", FERRY)
        library.meaning.choose(str(torn))
        until(lambda: library.meaning.notice)
        assert "damaged" in library.meaning.notice and settled(library)
        assert dense(library) == ["ferry.txt"]
        library.meaning.choose(ENGLISH)
        assert not library.meaning.notice
        until(lambda: folders(tmp_path / "data") == ["vectors"])


def test_where_the_setting_chooses_nobody_else_can(toys, tmp_path):
    data = tmp_path / "data"
    with open_library(data) as library:
        library.meaning.choose(str(toys["second"]))
    with open_library(data, embedding=str(toys["first"])) as library:
        assert library.meaning.fixed and library.meaning.choice == str(toys["first"])
        with pytest.raises(SettingsError, match="RAG_APP_EMBEDDING"):
            library.meaning.choose(ENGLISH)
        library.clear()
        assert library.meaning.choice == str(toys["first"])


def test_deleting_everything_goes_back_to_the_built_in_model(toys, tmp_path):
    data = tmp_path / "data"
    with open_library(data) as library:
        add(library, "ferry.txt", FERRY)
        library.meaning.choose(str(toys["first"]))
        until(lambda: settled(library))
        library.clear()
        until(lambda: settled(library))
        assert library.meaning.answering == ENGLISH and folders(data) == ["vectors"]


def test_the_model_for_many_languages_is_fetched_and_takes_over(
    offered, files, tmp_path, monkeypatch
):
    data = tmp_path / "data"
    with hub({NAME: files}) as served, open_library(data) as library:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        add(library, "ferry.txt", FERRY)
        assert not library.meaning.here and not served.asked
        fetch = library.meaning.fetch()
        assert library.meaning.fetch() is fetch
        until(lambda: not fetch.running, 60)
        assert not fetch.error and library.meaning.here
        until(lambda: settled(library))
        assert library.meaning.answering == NAME and dense(library) == ["ferry.txt"]
    with open_library(data) as library:
        assert library.meaning.answering == NAME and library.meaning.choice == NAME


def test_a_fetched_model_that_is_damaged_can_be_fetched_again(
    offered, files, tmp_path, monkeypatch
):
    data = tmp_path / "data"
    with hub({NAME: files}) as served, open_library(data) as library:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        add(library, "ferry.txt", FERRY)
        folder = models.write(data / "models" / NAME.replace("/", "--"), seed=4)
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-100])
        library.meaning.choose(NAME)
        until(lambda: library.meaning.notice)
        assert "damaged" in library.meaning.notice and library.meaning.here
        fetch = library.meaning.fetch_again()
        until(lambda: not fetch.running, 60)
        until(lambda: settled(library))
        assert not fetch.error and not library.meaning.notice
        assert library.meaning.answering == NAME and dense(library) == ["ferry.txt"]


def test_without_a_network_nothing_changes_and_that_is_said(offered, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with open_library(tmp_path / "data") as library:
        fetch = library.meaning.fetch()
        until(lambda: not fetch.running, 60)
        assert "could not be reached" in fetch.error
        assert library.meaning.choice == ENGLISH and not library.meaning.here


def document(language: str, chunks: int = 10) -> Document:
    return Document(language, language, ".txt", 1, Status.READY, "", 1, chunks, language=language)


def test_mostly_foreign_is_by_how_much_there_is_to_read():
    assert not mostly_foreign([])
    assert not mostly_foreign([document("en"), document("de")])
    assert mostly_foreign([document("en", 10), document("de", 11)])
    assert not mostly_foreign([document("", 50), document("en")])
    assert mostly_foreign([document("", 50), document("fr", 1)])


def test_the_hint_is_for_who_has_not_chosen_and_not_settled_it(toys, tmp_path, monkeypatch):
    german = [document("de")]
    with open_library(tmp_path / "data") as library:
        assert not library.meaning.worth_a_hint(german), "its model is not for English alone"
        monkeypatch.setattr(type(library._reindexing.live.current.embedder), "english", True)
        assert library.meaning.worth_a_hint(german)
        assert not library.meaning.worth_a_hint([document("en")])
        unread = replace(document("", 0), status=Status.RECEIVED)
        assert not library.meaning.worth_a_hint([*german, unread]), "what is read first is little"
        library.meaning.settle()
        assert not library.meaning.worth_a_hint(german)
        assert library.preferences.read() == Preferences(languages_settled=True)
