"""Embeddings by a server, over loopback: batched, tried again, held to what they were."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from rag_app.addresses import model_at
from rag_app.errors import ModelAway, ModelUnavailable, SettingsError
from rag_app.export import messages
from rag_app.library import Library
from rag_app.retrieval import served_embedding
from rag_app.retrieval.served_embedding import ServedEmbedder, served
from rag_app.settings import Settings
from rag_app.types import Finished, NoteKind, Status
from rag_app.ui import texts_access
from tests.embedding_servers import embedding_server
from tests.fakes import DIMENSIONS, WordEmbedder

TEXTS = ["the ferry costs four euros", "dogs bark", "the museum opens at ten"]


@pytest.fixture
def quick(monkeypatch):
    """Pauses that a test can wait for."""
    monkeypatch.setattr(served_embedding, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(served_embedding, "_REST", 0.05)


@pytest.fixture
def server():
    with embedding_server() as running:
        yield running


def embedder(url: str, folder, seconds: float = 20, model: str = "words", key: str = ""):
    return ServedEmbedder(model, url, folder / "served.json", key, seconds)


def test_vectors_are_the_servers_of_unit_length_in_the_order_of_the_texts(server, tmp_path):
    url, script = server
    made = embedder(url, tmp_path)
    assert np.allclose(made.embed_documents(TEXTS), WordEmbedder().embed_documents(TEXTS))
    assert np.allclose(made.embed_query(TEXTS[1]), WordEmbedder().embed_query(TEXTS[1]))
    assert made.embed_documents([]) == []
    assert script.asked[-1]["model"] == "words" and script.asked[-1]["encoding_format"] == "float"
    assert made.fingerprint.endswith(f"-{DIMENSIONS}")


def test_many_texts_are_sent_in_batches_a_few_at_once(server, tmp_path):
    url, script = server
    made = embedder(url, tmp_path)
    texts = [f"text {number}" for number in range(300)]
    assert np.allclose(made.embed_documents(texts), WordEmbedder().embed_documents(texts))
    assert max(len(one["input"]) for one in script.asked) == 32
    assert script.most_at_once <= 4


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_is_busy_is_asked_again(server, tmp_path, quick, status):
    url, script = server
    script.statuses = [status, status]
    assert np.allclose(
        embedder(url, tmp_path).embed_query("dogs"), WordEmbedder().embed_query("dogs")
    )


def test_it_is_asked_again_when_it_says(server, tmp_path, quick):
    url, script = server
    script.statuses, script.headers = [429], {"Retry-After": "1"}
    began = time.monotonic()
    embedder(url, tmp_path).embed_documents(["dogs"])
    assert time.monotonic() - began >= 1


def test_one_that_stays_away_is_given_up_in_a_sentence_without_its_own_words(
    server, tmp_path, quick
):
    url, script = server
    script.status = 503
    made = embedder(url, tmp_path)
    with pytest.raises(ModelAway, match=r"“words” .*too busy or fails \(status 503\)") as said:
        made.embed_documents(["dogs"])
    assert "sk-123" not in str(said.value)
    assert len(script.asked) == 4
    assert made.trouble == str(said.value)


def test_no_server_at_all_is_said_soon(tmp_path, quick):
    with embedding_server() as (url, _):
        pass
    with pytest.raises(ModelAway, match="does not answer"):
        embedder(url, tmp_path).embed_query("dogs")


def test_a_server_that_drips_is_not_waited_for(server, tmp_path, quick):
    url, script = server
    made = embedder(url, tmp_path)
    made.warm()
    made._seconds = 1.0
    script.raw, script.slowly = b'{"data": [' + b" " * 10_000, 0.05
    began = time.monotonic()
    with pytest.raises(ModelAway, match="in time"):
        made.embed_documents(["dogs"])
    assert time.monotonic() - began < 5


def test_after_it_was_away_questions_do_not_wait_for_it_and_then_it_is_asked_again(
    server, tmp_path, monkeypatch
):
    url, script = server
    made = embedder(url, tmp_path)
    made.warm()
    script.status = 404
    with pytest.raises(ModelAway):
        made.embed_query("dogs")
    asked = len(script.asked)
    with pytest.raises(ModelAway):
        made.embed_query("dogs")
    assert len(script.asked) == asked
    script.status = 200
    monkeypatch.setattr(served_embedding.time, "monotonic", lambda: 10**9)
    made.embed_query("dogs")
    assert made.trouble == ""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>", "no embeddings"),
        (b'{"data": []}', "another number of vectors"),
        (b'{"data": [{"index": 0}]}', "no embeddings"),
        (b'{"data": [{"index": 0, "embedding": "AAAA"}]}', "no embeddings"),
        (b'{"data": [{"index": 0, "embedding": []}]}', "another number of vectors"),
        (b"[" * 100_000, "no embeddings"),
        (b'{"data": [{"index": 0, "embedding": [1, NaN]}]}', "no number"),
        (b'{"data": [{"index": 0, "embedding": [1, null]}]}', "no number"),
        (b'{"data": [{"index": 0, "embedding": [1, 1e999]}]}', "no number"),
        (b'{"data": [{"index": 0, "embedding": [0, 0]}]}', "no number"),
    ],
)
def test_what_are_no_vectors_is_refused(server, tmp_path, quick, body, said):
    url, script = server
    script.raw = body
    with pytest.raises(ModelUnavailable, match=said):
        embedder(url, tmp_path).embed_query("dogs")


def test_another_number_of_dimensions_is_refused_also_after_a_restart(server, tmp_path):
    url, script = server
    made = embedder(url, tmp_path)
    made.embed_query("dogs")
    script.dimensions = 300
    for one in (made, embedder(url, tmp_path)):
        with pytest.raises(ModelUnavailable, match="have 256 numbers, and the server gives 300"):
            one.embed_query("the ferry")


def test_another_model_under_the_same_name_is_refused(server, tmp_path):
    url, script = server
    embedder(url, tmp_path).warm()
    script.sign = -1.0
    with pytest.raises(ModelUnavailable, match="other vectors under this name"):
        embedder(url, tmp_path).embed_documents(["dogs"])
    embedder(url, tmp_path, model="other").embed_documents(["dogs"])


def test_what_is_known_of_a_model_needs_no_server_and_no_address(server, tmp_path):
    url, script = server
    known = embedder(url, tmp_path).fingerprint
    asked = len(script.asked)
    assert embedder("http://127.0.0.1:1/v1", tmp_path).fingerprint == known
    assert len(script.asked) == asked
    (tmp_path / "served.json").write_text("torn")
    assert embedder(url, tmp_path).fingerprint == known


def test_texts_that_are_too_many_or_too_long_for_a_server_are_sent_in_parts(server, tmp_path):
    url, script = server
    script.most, script.longest = 5, 300
    made = embedder(url, tmp_path)
    texts = [f"text {number}" for number in range(20)]
    assert np.allclose(made.embed_documents(texts), WordEmbedder().embed_documents(texts))
    assert len(made.embed_documents(["word " * 300])) == 1
    script.longest = 60
    with pytest.raises(ModelAway, match="refuses what it is sent"):
        made.embed_documents(["word " * 300])


def test_the_models_of_a_known_family_get_their_prefixes(server, tmp_path):
    url, script = server
    made = embedder(url, tmp_path, model="intfloat/multilingual-e5-small")
    made.embed_query("dogs")
    made.embed_documents(["cats"])
    assert {"query: dogs", "passage: cats"} <= set(script.texts)


def test_a_key_goes_to_the_server_of_the_setting_and_no_other(server, tmp_path):
    url, script = server
    choice = f"openai:words@{url}"
    settings = Settings.load(embedding=choice, embedding_key="sk-secret")
    served(choice, tmp_path / "a", settings, set_so=True)
    assert script.seen[-1]["authorization"] == "Bearer sk-secret"
    served(choice, tmp_path / "b", settings, set_so=False)
    assert script.seen[-1]["authorization"] == "Bearer none"
    assert "sk-secret" not in (tmp_path / "a" / "served.json").read_text()


def test_a_redirect_is_not_followed(server, tmp_path):
    url, script = server
    with embedding_server() as (elsewhere, other):
        script.status, script.headers = 307, {"Location": f"{elsewhere}/embeddings"}
        with pytest.raises(ModelAway):
            embedder(url, tmp_path).embed_query("dogs")
        assert not other.asked


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a/b@http://h:1/v1", ("a/b", "http://h:1/v1")),
        ("bge-m3:latest", ("bge-m3:latest", "")),
        ("", ("", "")),
    ],
)
def test_a_line_names_a_model_and_its_server(line, expected):
    assert model_at(line) == expected


@pytest.mark.parametrize(
    "line", ["openai:", "openai:m@http://user:word@host", "openai:m@httpx://h"]
)
def test_a_line_that_names_none_is_refused_in_a_sentence(tmp_path, line):
    with pytest.raises(ModelUnavailable):
        served(line, tmp_path, Settings.load(), set_so=True)
    with pytest.raises(SettingsError):
        model_at("m@ftp://host")


def note_kinds(library: Library, question: str):
    [answer] = [e.answer for e in library.ask(question) if isinstance(e, Finished)]
    return answer, {note.kind: note for note in answer.notes}


@pytest.mark.timeout(300)
def test_a_library_goes_by_words_while_it_is_away_and_goes_on_when_it_is_back(
    tmp_path, quick, monkeypatch
):
    monkeypatch.setattr("rag_app.ingestion.worker._PAUSE", 0.05)
    monkeypatch.setattr("rag_app.ingestion.worker._LONGEST_PAUSE", 0.1)
    with embedding_server() as (url, script):
        given = {"data_dir": tmp_path / "data", "embedding": f"openai:words@{url}"}
        settings = Settings.load(generator="reader", **given)
        with Library(settings) as library:
            first = library.add("one.txt", b"The ferry to the island costs four euros.").document
            assert library.wait([first.id], 60)[0].status is Status.READY
            assert not note_kinds(library, "What does the ferry cost?")[1].get(
                NoteKind.MEANING_AWAY
            )
            script.status = 503
            second = library.add("two.txt", b"The museum opens at ten in the morning.").document
            answer, kinds = note_kinds(library, "When does the museum open?")
            deadline = time.monotonic() + 30
            while not library.trouble and time.monotonic() < deadline:
                time.sleep(0.02)
            answer, kinds = note_kinds(library, "When does the museum open?")
            assert answer.passages
            assert "by words only" in messages.sentence(kinds[NoteKind.MEANING_AWAY])
            assert library.document(second.id).status is Status.SEARCHABLE
            assert "status 503" in library.trouble
            script.status = 200
            assert library.wait([second.id], 60)[0].status is Status.READY
            assert library.trouble == ""
    assert json.loads((tmp_path / "data" / "models" / "served.json").read_text()).keys() == {
        "words"
    }
    with Library(settings) as library:  # the server is gone; what it made is still here
        answer, kinds = note_kinds(library, "When does the museum open?")
        assert answer.passages and NoteKind.MEANING_AWAY in kinds
        assert library.meaning.answering == settings.embedding


def test_a_server_that_was_never_reached_leaves_it_to_the_built_in_model_and_says_so(
    tmp_path, quick
):
    with embedding_server() as (url, _):
        pass
    settings = Settings.load(
        data_dir=tmp_path / "data", embedding=f"openai:words@{url}", embedding_seconds=1
    )
    with Library(settings) as library:
        assert library.meaning.answering == ""
        assert "does not answer" in library.meaning.notice


@pytest.mark.timeout(300)
def test_one_that_is_to_take_over_and_goes_away_meanwhile_takes_over_when_it_is_back(
    tmp_path, quick, monkeypatch
):
    monkeypatch.setattr("rag_app.retrieval.reindexing._PAUSE", 0.05)
    with Library(Settings.load(data_dir=tmp_path), embedder=BuiltIn()) as library:
        added = library.add("one.txt", b"The ferry to the island costs four euros.").document
        assert library.wait([added.id], 60)[0].status is Status.READY
    with embedding_server() as (url, script):
        ServedEmbedder("words", url, tmp_path / "models" / "served.json").check()
        script.status = 503
        settings = Settings.load(data_dir=tmp_path, embedding=f"openai:words@{url}")
        with Library(settings, embedder=BuiltIn()) as library:
            deadline = time.monotonic() + 60
            while len(script.asked) < 6 and time.monotonic() < deadline:
                time.sleep(0.02)
            assert library.meaning.answering == "" and library.meaning.under_way
            script.status = 200
            while library.meaning.under_way and time.monotonic() < deadline:
                time.sleep(0.02)
            assert library.meaning.answering == settings.embedding
            assert library.meaning.notice == ""


class BuiltIn(WordEmbedder):
    """What answers before."""

    fingerprint = "built-in"


def test_the_administrators_page_says_what_is_sent_where(tmp_path):
    settings = Settings.load(generator="openai:m@https://llm.example:8443/v1", traces="otlp")
    said = texts_access.sent_where(settings, "openai:bge@http://embed.example/v1")
    assert "http://embed.example/v1" in said and "https://llm.example:8443/v1" in said
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in said
    here = texts_access.sent_where(Settings.load(generator="reader"), "")
    assert here.count("stays on the server") == 2 and "none are made" in here
    hosted = texts_access.sent_where(Settings.load(generator="anthropic:m"), "openai:m")
    assert "anthropic" in hosted and "api.openai.com" in hosted
    assert "openai:bge@" in texts_access.models_set(settings, "openai:bge@http://e/v1")
