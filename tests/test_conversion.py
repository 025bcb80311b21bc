"""Word files from before 1997: what LibreOffice makes of them is read, whatever it does besides.

A shell script stands in for LibreOffice; it gives back one document if it is as it should be, and
another if it finds out something that is none of its business."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from pathlib import Path

import pytest
from offices import docx, paragraph
from old_offices import compound, word
from psutil import process_iter

from rag_app.errors import DamagedFile, LimitReached, UnsupportedFormat
from rag_app.reading import conversion
from rag_app.reading.confinement import Confinement, available
from rag_app.reading.limits import Limits
from rag_app.reading.sandbox import Cancelled, Sandbox

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in is a shell script")
TAKE_IN = 'for each; do last=$each; done; while [ "$1" != --outdir ]; do shift; done; out=$2\n'
GIVE = 'cp "$0.$made" "$out/original.docx"\n'


class Office:
    """A LibreOffice that is a script, in a folder of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.program = folder / "program" / "soffice"
        self.program.parent.mkdir(parents=True)
        for made, text in (("well", "From long ago."), ("ill", "It could.")):
            document = docx(paragraph(text))
            self.program.with_name(f"soffice.{made}").write_bytes(document)
        monkeypatch.setattr(shutil, "which", lambda name: str(self.program))

    def does(self, script: str) -> None:
        """What it does, in a shell."""
        self.program.write_text(f"#!/bin/sh\n{TAKE_IN}made=well\n{script}\n{GIVE}")
        self.program.chmod(0o755)

    def tries(self, command: str) -> None:
        """It tries something, and tells by its document whether it could."""
        self.does(f"if ( {command} ) >/dev/null 2>&1; then made=ill; fi")


@pytest.fixture
def office(tmp_path, monkeypatch):
    return Office(tmp_path / "office", monkeypatch)


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "data" / "files" / "stored.doc"
    path.parent.mkdir(parents=True)
    path.write_bytes(compound(word("x\r", version=104)))
    return path


@pytest.fixture
def sandbox():
    made = Sandbox(Limits(seconds=60))
    yield made
    made.close()


def test_without_libreoffice_it_is_asked_for(sandbox, old, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UnsupportedFormat, match="needs LibreOffice, which is not") as error:
        sandbox.read(old, ".doc")
    assert error.value.code == "unsupported_format"


def test_what_libreoffice_makes_of_it_is_read(sandbox, old, office):
    office.does('test -s "$last" || made=ill')
    assert sandbox.read(old, ".doc").pages[0].text == "From long ago."


@pytest.mark.parametrize(
    "script", ["exit 3", "exit 0", 'ln -s "$last" "$out/original.docx"; exit 0']
)
def test_a_libreoffice_that_fails_is_a_sentence(sandbox, old, office, script):
    office.does(script)
    with pytest.raises(DamagedFile, match="LibreOffice cannot open this file"):
        sandbox.read(old, ".doc")


def test_a_libreoffice_that_is_not_there_after_all_is_a_sentence(sandbox, old, office, monkeypatch):
    nothing = Confinement(network=False, files=False)
    monkeypatch.setattr(conversion, "available", lambda: nothing)
    with pytest.raises(DamagedFile, match="LibreOffice cannot open this file"):
        sandbox.read(old, ".doc")


def test_a_libreoffice_that_hangs_is_ended_with_all_it_started(old, office):
    sleeping = ["sleep", str(1_000_000 + os.getpid())]
    office.does(f"{' '.join(sleeping)} & wait")
    named = r"more than 0\.8 of the 1 seconds .* RAG_APP_READ_SECONDS"
    converting = conversion.converted(str(office.program), old, 1, lambda: None)
    with pytest.raises(LimitReached, match=named), converting:
        pass
    assert sleeping not in [process.info["cmdline"] for process in process_iter(["cmdline"])]


def test_a_conversion_can_be_cancelled(sandbox, old, office):
    office.does("sleep 600")
    cancelled = threading.Event()
    threading.Timer(0.5, cancelled.set).start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        sandbox.read(old, ".doc", cancelled=cancelled)
    assert time.monotonic() - began < 30


def test_nothing_of_it_stays(sandbox, old, office, monkeypatch, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    office.does('mkdir "$HOME/profile"; touch "$TMPDIR/more"')
    sandbox.read(old, ".doc")
    sandbox.close()
    assert list(temporary.iterdir()) == []


def test_it_is_given_no_key_and_no_home(sandbox, old, office, monkeypatch):
    for name in ("OPENAI_API_KEY", "RAG_APP_CHAT_KEY"):
        monkeypatch.setenv(name, "sk-secret")
    office.tries(f'env | grep -e secret -e "^HOME={Path.home()}$"')
    assert sandbox.read(old, ".doc").pages[0].text == "From long ago."


@pytest.mark.skipif(not available().files, reason="this system has no Landlock")
@pytest.mark.parametrize(
    "command",
    [
        'cat "$LIBRARY"',
        'ls "$FILES"',
        'cat "$STORED"',
        'touch "$FILES/new"',
        "ls /tmp",
        "cat /proc/$PPID/environ",
    ],
)
def test_it_sees_no_file_of_a_person_but_its_own(sandbox, old, office, command):
    library = old.parents[1] / "library.sqlite3"
    library.write_text("words")
    names = f'LIBRARY="{library}"; FILES="{old.parent}"; STORED="{old}"'
    office.tries(f"{names}; {command}")
    assert sandbox.read(old, ".doc").pages[0].text == "From long ago."


@pytest.mark.skipif(not available().network, reason="this system has no seccomp")
@pytest.mark.skipif(shutil.which("bash") is None, reason="only bash opens sockets")
def test_it_has_no_network(sandbox, old, office):
    bash = "/bin/bash" if Path("/bin/bash").is_file() else "/usr/bin/bash"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        office.tries(f"{bash} -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'")
        assert sandbox.read(old, ".doc").pages[0].text == "From long ago."
