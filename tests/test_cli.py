from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import rag_app.open_library
from rag_app import cli
from rag_app.reading.confinement import available
from tests.fakes import WordEmbedder
from tests.servers import scripted_server


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command on an empty library with the word embedder; returns (status, out, err)."""
    monkeypatch.setattr(rag_app.open_library, "MiniLmEmbedder", lambda threads: WordEmbedder())
    monkeypatch.setenv("RAG_APP_CAUTION", "0.2")

    def run(*arguments: str):
        status = cli.main([*arguments, "--data-dir", str(tmp_path / "data")])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def ferry(tmp_path):
    file = tmp_path / "ferry.txt"
    file.write_text("The ferry to the island costs four euros.\n\nDogs travel free of charge.\n")
    return file


WEB = ("address", "fetched_at")


def test_add_reports_each_file_as_the_contract_says(run, ferry, tmp_path):
    bad = tmp_path / "bad.pdf"
    bad.write_bytes(b"no pdf at all")
    status, out, _ = run("add", str(ferry), str(bad), str(ferry), "--json")
    reports = [json.loads(line) for line in out.splitlines()]
    by_status = {r["status"]: r for r in reports}
    assert status == 1
    assert set(by_status) == {"ready", "failed", "duplicate"}
    keys = {"path", "document_id", "name", "status", "pages", "chunks", "warnings", "error"}
    keys |= {"seconds", "pages_without_text", "tables", "encoding"}
    assert all(set(r) == keys | {"duplicates", "parts", "inside", *WEB} for r in reports)
    assert by_status["ready"]["pages"] == 1 and by_status["ready"]["error"] is None
    assert "not a PDF" in by_status["failed"]["error"]


def test_two_files_of_one_name_with_replace_leave_the_later(run, tmp_path):
    for folder, text in (("a", "An older text."), ("b", "A newer text.")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text(text)
    _, out, _ = run("add", "--replace", "--json", str(tmp_path / "a"), str(tmp_path / "b"))
    assert len(out.splitlines()) == 2
    [document] = json.loads(run("documents", "--json")[1])
    assert document["name"] == "x.txt"


def test_a_folder_adds_what_it_holds(run, ferry, tmp_path):
    (tmp_path / "other.bin").write_bytes(b"\x00")
    status, out, _ = run("add", str(tmp_path))
    assert status == 0
    assert "ferry.txt" in out and "other.bin" not in out


def test_documents_and_remove(run, ferry):
    run("add", str(ferry))
    _, out, _ = run("documents", "--json")
    [document] = json.loads(out)
    assert set(document) >= {"document_id", "name", "status", "pages", "chunks", "added_at"}
    assert run("remove", "ferry.txt")[0] == 0
    assert json.loads(run("documents", "--json")[1]) == []
    status, _, err = run("remove", "ferry.txt")
    assert status == 1 and err.count("\n") == 1 and "ferry.txt" in err


def test_files_that_were_set_aside_are_told_and_can_be_deleted(run, ferry, own_house):
    run("add", str(ferry))
    (own_house / "library.sqlite3").unlink()
    assert "1 kept file is not in the library" in run("documents")[1]
    assert run("set-aside")[1].startswith("recovered-")
    assert run("set-aside", "--delete")[1].startswith("deleted  recovered-")
    assert run("set-aside")[1] == run("documents")[1] == ""
    assert not [path for path in (own_house / "files").rglob("*") if path.is_file()]


@pytest.mark.parametrize("retriever", ["hybrid", "dense", "bm25"])
def test_search_gives_passages_as_the_contract_says(run, ferry, retriever):
    run("add", str(ferry))
    _, out, _ = run("search", "island ferry", "-k", "1", "--retriever", retriever, "--json")
    [passage] = json.loads(out)
    assert set(passage) == {"document_id", "name", "page", "score", "start", "end", "text"}


def test_ask_answers_as_the_contract_says(run, ferry):
    run("add", str(ferry))
    _, out, _ = run("ask", "What does the ferry to the island cost?", "--json")
    answer = json.loads(out)
    assert {"question", "answer", "short_answer", "abstained", "confidence", "generator"} < set(
        answer
    )
    assert set(answer["seconds"]) == {"retrieve", "answer"}
    [citation, *_] = answer["citations"]
    assert set(citation) == {
        *("number", "document_id", "name", "page", "start", "end", "quote", "boxes")
    }
    assert citation["quote"] == "The ferry to the island costs four euros."


def test_a_file_of_questions_gives_one_line_each_in_order(run, ferry, tmp_path):
    run("add", str(ferry))
    asked = tmp_path / "q.jsonl"
    asked.write_text(
        '{"id": 1, "question": "What does the ferry cost?"}\n\n'
        '{"id": 2, "question": "", "documents": ["ferry.txt"]}\n'
        '{"id": 3, "question": "Do dogs travel free?", "documents": ["nobody.txt"]}\n'
        '{"id": 4, "question": "Do dogs travel free?", "documents": ["ferry.txt"]}\n'
    )
    status, out, _ = run("ask", "--questions", str(asked))
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["id"] for line in lines] == [1, 2, 3, 4]
    assert status == 1
    assert "empty" in lines[1]["error"] and "nobody.txt" in lines[2]["error"]
    assert lines[3]["citations"][0]["quote"] == "Dogs travel free of charge."
    _, out, _ = run("search", "--questions", str(asked))
    assert [json.loads(line)["id"] for line in out.splitlines()] == [1, 2, 3, 4]


def test_ask_takes_a_chat_model_for_one_question(run, ferry):
    run("add", str(ferry))
    with scripted_server() as (url, script):
        script.words = ["The ferry to the island ", "costs four euros."]
        _, out, _ = run("ask", "What does it cost?", "--generator", f"openai:m@{url}", "--json")
        answer = json.loads(out)
        assert answer["generator"] == "m" and answer["notes"] == []
        assert answer["answer"] == "The ferry to the island costs four euros. [1]"
        assert answer["citations"][0]["quote"] == "The ferry to the island costs four euros."
        assert answer["confidence"] == 1.0
    status, _, err = run("ask", "What does it cost?", "--generator", "gpt")
    assert status == 1 and "is no generator" in err


def test_read_reads_without_a_library(run, tmp_path, weights):
    context = "Bicycles travel free. The captain of the ferry is Maria Lund."
    asked = tmp_path / "q.jsonl"
    lines = [
        {"id": "a", "question": "Who is the captain of the ferry?", "context": context},
        {"id": "b", "question": "Who is the captain of the ferry?", "context": "Grass grows."},
        {"id": "c", "question": "Who?", "context": ""},
    ]
    asked.write_text("\n".join(map(json.dumps, lines)))
    status, out, _ = run("read", "--questions", str(asked))
    first, second, third = (json.loads(line) for line in out.splitlines())
    keys = {"id", "answer", "start", "end", "score", "no_answer_score", "confidence"}
    assert status == 0 and set(first) == set(second) == set(third) == keys
    assert first["answer"] == context[first["start"] : first["end"]] == "Maria Lund"
    assert first["score"] > first["no_answer_score"]
    assert second["score"] < second["no_answer_score"]
    assert first["confidence"] > second["confidence"] >= third["confidence"] == 0.0
    assert (third["id"], third["answer"], third["start"], third["end"]) == ("c", "", 0, 0)
    assert not (tmp_path / "data").exists()


def test_read_without_a_context_names_the_line(run, tmp_path):
    asked = tmp_path / "q.jsonl"
    asked.write_text('{"question": "Who?", "context": "x"}\n{"question": "Who?"}\n')
    status, _, err = run("read", "--questions", str(asked))
    assert status == 2 and "Line 2" in err and '"context"' in err


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["ask"], 2, "question"),
        (["ask", "x", "--questions", "q.jsonl"], 2, "question"),
        (["ask", "--questions", "nowhere.jsonl"], 2, "nowhere.jsonl"),
        (["ask", "--questions", "README.md"], 2, "not JSON"),
        (["add", "nowhere.pdf"], 2, "nowhere.pdf"),
        (["search", "x", "-k", "0"], 2, "-k"),
        (["ask", "anything"], 1, "Add a document first"),
        (["add", "x" * 300], 1, "File name too long"),
    ],
)
def test_bad_use_is_one_sentence_and_a_status(run, arguments, status, says):
    got, out, err = run(*arguments)
    assert (got, out) == (status, "")
    assert says in err and err.count("\n") == 1


def test_a_setting_that_cannot_be_used_is_named(run, monkeypatch):
    monkeypatch.setenv("RAG_APP_TOP_K", "zero")
    status, _, err = run("documents")
    assert status == 1 and "RAG_APP_TOP_K cannot be 'zero'" in err


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_without_a_command_the_web_app_is_served_until_it_is_told_to_stop(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "rag_app.cli", "--port", str(port), "--data-dir", "data"]
    with (tmp_path / "said").open("w") as said:
        serving = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(Path(cli.__file__).parents[2])},
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/_stcore/health")
    finally:
        serving.terminate()
        serving.wait(timeout=20)
    assert (tmp_path / "said").read_text().splitlines()[0] == available().in_words()


def wait_for(address: str) -> None:
    """Until the address answers "ok"; a minute at most."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                assert answer.read() == b"ok"
                return
        except OSError:  # it does not listen yet, or imports what takes all of its time
            time.sleep(0.1)
    raise AssertionError("the web app did not start within a minute")


@pytest.mark.skipif(os.name != "posix", reason="pipes are told apart by POSIX")
def test_who_stops_reading_what_is_printed_hears_no_complaint(tmp_path):
    heard, said = os.pipe()
    os.close(heard)
    command = [sys.executable, "-m", "rag_app.cli", "documents", "--json"]
    try:
        ran = subprocess.run(
            [*command, "--data-dir", str(tmp_path / "data")],
            stdout=said,
            stderr=subprocess.PIPE,
            cwd=Path(cli.__file__).parents[2],
            timeout=300,
            check=False,
        )
    finally:
        os.close(said)
    assert (ran.returncode, ran.stderr) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_output_that_finds_no_room_is_a_sentence(tmp_path):
    command = [sys.executable, "-m", "rag_app.cli", "people", "--json"]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [*command, "--data-dir", str(tmp_path / "data")],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=Path(cli.__file__).parents[2],
            timeout=300,
            check=False,
        )
    assert ran.returncode == 1 and ran.stderr.startswith(b"rag-app: The disk is full.")
    assert ran.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["add", ""], "the name is empty"),
        (["load", ""], "the name is empty"),
        (["documents", "--data-dir", ""], "the name is empty"),
        (["--port", "99999"], "a port is a number from 0 to 65535"),
        (["worker", "--port", "http"], "a port is a number"),
    ],
)
def test_an_empty_name_is_not_this_folder_and_a_port_is_a_number(run, capsys, arguments, says):
    with pytest.raises(SystemExit) as stopped:
        run(*arguments)
    assert stopped.value.code == 2 and says in capsys.readouterr().err


def test_a_document_is_named_as_its_file_is_though_a_byte_of_it_is_no_letter(run, tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    path.write_text("The ferry costs four euros.")
    assert run("add", str(path))[0] == 0
    assert run("remove", path.name)[:2] == (0, "removed  caf .txt\n")


def test_an_unknown_command_exits_with_2(run):
    with pytest.raises(SystemExit) as stopped:
        run("frobnicate")
    assert stopped.value.code == 2


class _Terminal(io.BytesIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("kind", "encoding", "written"),
    [
        (io.BytesIO, "cp1252", "Ωμέγα €".encode()),
        (io.BytesIO, "utf-8", "Ωμέγα €".encode()),
        (_Terminal, "cp1252", b"????? \x80"),
    ],
)
def test_what_a_system_s_characters_lack_is_written(run, monkeypatch, kind, encoding, written):
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    raw = kind()
    run("groups", "--make", "Ωμέγα €")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    run("groups")
    sys.stdout.flush()
    assert raw.getvalue().strip().endswith(written)


def test_who_asks_python_for_an_encoding_gets_it(run, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    raw = io.BytesIO()
    run("groups", "--make", "Café")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))
    run("groups")
    sys.stdout.flush()
    assert raw.getvalue().strip().endswith("Café".encode("latin-1"))
