"""`rag-app load --on ray`: workers that Ray starts do what the others do, also when they die."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from rag_app import cli
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Status
from tests import postgres

pytestmark = [
    postgres.needs_postgres,
    # looked for, not imported: that takes seconds in every process
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="of the extra “bulk”"),
]
FILES = 100
_WORKER = "ray::RayWorker"


@pytest.fixture
def told(tmp_path, monkeypatch) -> Iterator[dict[str, str]]:
    """The environment of a library that others share, and a folder of files to load."""
    (tmp_path / "originals").mkdir()
    (tmp_path / "in").mkdir()
    for number in range(FILES):
        text = f"The lighthouse beacon{number}x stands on cliff {number}."
        (tmp_path / "in" / f"{number}.txt").write_text(text)
    with postgres.empty_library() as url:
        yield {
            "RAG_APP_DATABASE_URL": url,
            "RAG_APP_FILES_URL": (tmp_path / "originals").as_uri(),
            "RAG_APP_DATA_DIR": str(tmp_path / "data"),
            "RAG_APP_GENERATOR": "quotes",
            "RAG_APP_WRITER": "off",
            "PYTHONPATH": str(Path(__file__).parent.parent),
        }


def loading(tmp_path: Path, told: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rag_app.cli", "load", str(tmp_path / "in"), "--on", "ray"]
    environment = {n: v for n, v in os.environ.items() if n != "RAY_ADDRESS"} | told
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True
    )


def kill_one(running: subprocess.Popen[str], url: str) -> bool:
    """Whether one of its workers was killed, as soon as the first document was ready."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        while running.poll() is None:
            [(ready,)] = db.execute("SELECT count(*) FROM documents WHERE status = 'ready'")
            for one in psutil.Process(running.pid).children(recursive=True) if ready else ():
                with suppress(psutil.NoSuchProcess):
                    if " ".join(one.cmdline()).startswith(_WORKER):
                        one.kill()
                        return True
            time.sleep(0.05)
    return False


def test_everything_is_loaded_although_a_worker_dies(tmp_path, told):
    running = loading(tmp_path, told)
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(kill_one, running, told["RAG_APP_DATABASE_URL"])
        out, err = running.communicate(timeout=240)
    assert killed.result(), out + err
    assert running.returncode == 0, err
    said = [int(n) for n in re.findall(r"\d+", out.splitlines()[-1])]
    assert said == [FILES, FILES, 0, 0], out
    assert "Traceback" not in err
    settings = Settings.load(
        data_dir=tmp_path / "look",
        database_url=told["RAG_APP_DATABASE_URL"],
        files_url=told["RAG_APP_FILES_URL"],
        queues="none",
        writer="off",
    )
    with Library(settings) as library:
        documents = library.documents()
        assert {d.status for d in documents} == {Status.READY}
        assert library._opened.vectors.count() == sum(d.chunks for d in documents) == FILES


def test_without_a_library_that_machines_share_it_says_so(tmp_path, capsys):
    folder = str(tmp_path)
    assert cli.main(["load", folder, "--on", "ray", "--data-dir", f"{folder}/data"]) != 0
    assert "RAG_APP_DATABASE_URL and RAG_APP_FILES_URL" in capsys.readouterr().err
    assert not (tmp_path / "data" / "library.sqlite3").exists()


def test_a_cluster_that_is_not_there_is_said(tmp_path, told, monkeypatch):
    told["RAY_ADDRESS"] = "127.0.0.1:1"
    running = loading(tmp_path, told)
    _, err = running.communicate(timeout=120)
    assert running.returncode == 1 and "RAY_ADDRESS" in err.splitlines()[-1], err
    assert "Traceback" not in err
