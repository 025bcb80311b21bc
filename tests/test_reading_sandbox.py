from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from pdfs import drawn, locked, paragraph, pdf, scan

from rag_app.errors import DamagedFile, LimitReached, NoText, PasswordNeeded, WrongPassword
from rag_app.reading import sandbox as sandbox_module
from rag_app.reading.limits import Limits
from rag_app.reading.pdf import read_pdf
from rag_app.reading.pdf_page import boxes_of_spans, render
from rag_app.reading.sandbox import Cancelled, Sandbox, Workspace
from rag_app.settings import Settings

posix = pytest.mark.skipif(
    sys.platform == "win32", reason="needs POSIX signals and pipes with names"
)


@pytest.fixture
def sandbox():
    with_child = Sandbox(Limits(seconds=60))
    yield with_child
    with_child.close()


@pytest.fixture
def file(tmp_path):
    def write(data: bytes, name: str = "stored.pdf"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def endless(tmp_path):
    """A file that a reader never comes to the end of."""
    path = tmp_path / "endless.txt"
    os.mkfifo(path)
    return path


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_the_limits_come_from_the_settings():
    settings = Settings(max_pages=3, max_characters=2_000, read_seconds=4, read_memory_mb=300)
    assert Limits.from_settings(settings) == Limits(3, 2_000, 4.0, 300, ocr_pages=500)
    assert Limits.from_settings(Settings.load()) == Limits(ocr_pages=500)
    assert Limits.from_settings(Settings.load(ocr=False)) == Limits()


def test_a_pdf_reads_as_it_does_without_the_sandbox(sandbox, file):
    path = file(pdf(paragraph(), "Grüße 漢字", title="The Harbour"))
    assert sandbox.read(path, ".pdf") == read_pdf(path, limits=Limits())


def test_a_long_document_crosses_in_pieces(sandbox, file):
    text = "A sentence of some words. " * 100_000
    assert (
        "".join(page.text for page in sandbox.read(file(text.encode(), "a.txt"), ".txt").pages)
        == text
    )


def test_markdown_headings_cross(sandbox, file):
    reading = sandbox.read(file(b"# Pumps\n\nThey run.\n", "a.md"), ".md")
    assert (reading.title, reading.headings[0].text) == ("Pumps", "Pumps")


def test_progress_is_told_to_the_last_page(sandbox, file):
    told = []
    sandbox.read(file(b"Hello", "a.txt"), ".txt", on_page=lambda *each: told.append(each))
    assert told == [(1, 1)]
    told.clear()
    sandbox.read(file(pdf(*["page"] * 40)), ".pdf", on_page=lambda *each: told.append(each))
    assert told[-1] == (40, 40)
    assert told == sorted(told)


def test_pictures_and_boxes_cross(sandbox, file):
    path = file(pdf(paragraph()))
    assert sandbox.render(path, 1, 1.0) == render(path, 1, 1.0)
    assert [sandbox.boxes(path, 1, 0, 60)] == boxes_of_spans(path, 1, [(0, 60)])


def test_one_child_serves_many_requests(sandbox, file):
    path = file(pdf("Hello"))
    sandbox.read(path, ".pdf")
    child = sandbox.child_pid
    with pytest.raises(DamagedFile):
        sandbox.read(file(b"%PDF-1.7\nnothing", "torn.pdf"), ".pdf")
    sandbox.boxes(path, 1, 0, 3)
    assert sandbox.child_pid == child


def test_errors_cross_with_their_class_and_without_the_path(sandbox, file):
    secret = file(locked(pdf("Secret"), "word"), "locked.pdf")
    cases = [
        (PasswordNeeded, secret),
        (NoText, file(drawn(scan), "scan.pdf")),
        (DamagedFile, file(b"%PDF-1.7\n", "torn.pdf")),
        (DamagedFile, secret.with_name("absent.pdf")),
    ]
    for expected, path in cases:
        with pytest.raises(expected) as error:
            sandbox.read(path, ".pdf")
        assert type(error.value) is expected
        assert str(path.parent) not in str(error.value)
        assert "\n" not in str(error.value)


def test_a_locked_pdf_can_be_unlocked_for_good(sandbox, file, tmp_path):
    path, target = file(locked(pdf(paragraph()), "word")), tmp_path / "open.pdf"
    with pytest.raises(WrongPassword):
        sandbox.unlock(path, "no", target)
    assert not target.exists()
    sandbox.unlock(path, "word", target)
    assert sandbox.read(target, ".pdf") == sandbox.read(file(pdf(paragraph()), "b.pdf"), ".pdf")
    assert sandbox.boxes(target, 1, 0, 20)


def test_a_child_that_was_started_is_the_one_that_draws(sandbox, file):
    assert sandbox.child_pid is None
    sandbox.start()
    child = sandbox.child_pid
    assert child
    assert sandbox.render(file(pdf(paragraph("The ferry."))), 1, 1.0).webp
    assert sandbox.child_pid == child


@posix
@pytest.mark.parametrize(
    ("end", "error", "message"),
    [
        ("SIGKILL", DamagedFile, "stopped by the system"),
        ("SIGSEGV", DamagedFile, "makes the reader crash"),
        ("SIGABRT", LimitReached, "RAG_APP_READ_MEMORY_MB"),
    ],
)
def test_a_child_that_dies_is_one_sentence_and_the_next_file_is_read(
    sandbox, file, endless, end, error, message
):
    def kill():
        while not sandbox.child_pid:
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(sandbox.child_pid, getattr(signal, end))

    threading.Thread(target=kill).start()
    with pytest.raises(error, match=message):
        sandbox.read(endless, ".txt")
    assert sandbox.read(file(pdf("Hello")), ".pdf").pages[0].text == "Hello"


@posix
def test_a_child_that_died_while_idle_is_replaced(sandbox, file):
    path = file(pdf("Hello"))
    sandbox.read(path, ".pdf")
    os.kill(sandbox.child_pid, signal.SIGKILL)
    while sandbox._child.alive:
        time.sleep(0.01)
    assert sandbox.read(path, ".pdf").pages[0].text == "Hello"


@posix
def test_a_reader_that_hangs_is_ended_and_the_limit_named(file, endless):
    sandbox = Sandbox(Limits(seconds=0.5))
    with pytest.raises(LimitReached, match=r"0\.5 seconds set by RAG_APP_READ_SECONDS"):
        sandbox.read(endless, ".txt")  # which has no end
    assert sandbox.child_pid is None
    sandbox.close()


@posix
def test_reading_can_be_cancelled(sandbox, file, endless):
    cancelled = threading.Event()
    threading.Timer(0.4, cancelled.set).start()
    with pytest.raises(Cancelled):
        sandbox.read(endless, ".txt", cancelled=cancelled)
    assert sandbox.read(file(pdf("Hello")), ".pdf").pages[0].text == "Hello"


@posix
def test_waiting_for_another_request_can_be_cancelled(sandbox, endless):
    stop, cancelled = threading.Event(), threading.Event()
    errors = []

    def read():
        try:
            sandbox.read(endless, ".txt", cancelled=stop)
        except Cancelled as error:
            errors.append(error)

    busy = threading.Thread(target=read)
    busy.start()
    while not sandbox.child_pid:
        time.sleep(0.01)
    threading.Timer(0.2, cancelled.set).start()
    with pytest.raises(Cancelled):
        sandbox.read(endless, ".txt", cancelled=cancelled)
    assert busy.is_alive()
    stop.set()
    busy.join()
    assert len(errors) == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux only")
def test_a_file_that_takes_too_much_memory_names_the_limit(file):
    sandbox = Sandbox(Limits(memory_mb=64))
    path = file(b"words and words " * (6 << 20), "big.txt")
    with pytest.raises(LimitReached, match="64 MB of memory set by RAG_APP_READ_MEMORY_MB"):
        sandbox.read(path, ".txt")
    assert sandbox.read(file(pdf("Hello")), ".pdf").pages[0].text == "Hello"
    sandbox.close()


class Forgetful:
    """A child that gives two answers and has no memory left for a third."""

    started = 0
    hungry = False  # has none for the first either

    def __init__(self, *given):
        type(self).started += 1
        self.pid, self.alive, self._answers = 1, True, 0

    def send(self, request):
        self._answers += request["task"] != "load"

    def receive(self, timeout):
        if self._answers > 2 or self.hungry:
            return {"error": "memory"}, b""
        return {"done": True, "text": "read", "words": [], "lines": []}, b""

    def end(self):
        self.alive = False
        return 0


@pytest.fixture
def forgetful(monkeypatch):
    monkeypatch.setattr(sandbox_module, "Child", Forgetful)
    monkeypatch.setattr(sandbox_module, "unpack_recognised", lambda header: header["text"])
    monkeypatch.setattr(Forgetful, "started", 0)
    return Forgetful


def test_memory_that_earlier_pages_used_up_costs_no_page(forgetful, tmp_path):
    sandbox = Sandbox(Limits())
    said = [sandbox.recognise(tmp_path / "a.pdf", number, 5) for number in range(1, 8)]
    assert said == ["read"] * 7
    assert forgetful.started == 4


def test_a_page_that_is_too_big_for_a_fresh_child_is_refused_once(forgetful, tmp_path, monkeypatch):
    monkeypatch.setattr(Forgetful, "hungry", True)
    sandbox = Sandbox(Limits())
    with pytest.raises(LimitReached, match="RAG_APP_READ_MEMORY_MB"):
        sandbox.render(tmp_path / "a.pdf", 1, 1.0)
    assert forgetful.started == 1 and sandbox.child_pid is None


def test_a_reader_with_a_fault_of_ours_costs_one_file(sandbox, file):
    with pytest.raises(DamagedFile, match="cannot follow"):
        sandbox.read(file(pdf("Hello")), ".none")
    assert sandbox.read(file(pdf("Hello")), ".pdf").pages[0].text == "Hello"


def test_a_caller_that_fails_while_listening_leaves_no_stale_answer(sandbox, file):
    def fail(_done, _total):
        raise ZeroDivisionError

    path = file(pdf("Hello"))
    with pytest.raises(ZeroDivisionError):
        sandbox.read(path, ".pdf", on_page=fail)
    assert sandbox.boxes(path, 1, 0, 5)


def test_requests_from_many_threads_wait_for_each_other(sandbox, file):
    paths = [file(pdf(f"Text {n}"), f"{n}.pdf") for n in range(8)]
    texts = [""] * 8

    def read(n):
        texts[n] = sandbox.read(paths[n], ".pdf").pages[0].text

    threads = [threading.Thread(target=read, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == [f"Text {n}" for n in range(8)]


@posix
def test_closing_ends_the_child(sandbox, file):
    sandbox.read(file(pdf("Hello")), ".pdf")
    child = sandbox.child_pid
    sandbox.close()
    assert gone(child)
    sandbox.close()


@posix
@pytest.mark.parametrize("busy", [False, True])
def test_a_child_never_outlives_its_parent(file, endless, busy):
    parent = (
        "import os, sys, threading, time, pathlib\n"
        "from rag_app.reading.sandbox import Sandbox\n"
        "from rag_app.reading.limits import Limits\n"
        "sandbox = Sandbox(Limits())\n"
        "sandbox.read(pathlib.Path(sys.argv[1]), '.pdf')\n"
        "if sys.argv[3] == 'True':\n"
        "    work = lambda: sandbox.read(pathlib.Path(sys.argv[2]), '.txt')\n"
        "    threading.Thread(target=work, daemon=True).start(); time.sleep(0.3)\n"
        "print(sandbox.child_pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    path = file(pdf("Hello"))
    done = subprocess.run(
        [sys.executable, "-c", parent, str(path), str(endless), str(busy)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert gone(int(done.stdout))


def test_only_frames_come_out_of_the_child(file):
    workspace = Workspace(None)
    child = sandbox_module.Child(512, workspace)
    with workspace.holding(file(pdf("Hello"))) as shown:
        child.send({"task": "boxes", "path": str(shown), "number": 1, "spans": [[0, 5]]})
        header, body = child.receive(30)
    assert (len(header["boxes"]), body) == (1, b"")
    assert child.end() != 0
    assert child.receive(1) is None
    workspace.remove()


def test_the_child_starts_without_heavy_packages():
    code = (
        "import sys, rag_app.reading.child, rag_app.reading.pdf, rag_app.reading.pdf_page;"
        "print(*{'torch', 'pydantic', 'streamlit', 'numpy', 'chromadb'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
