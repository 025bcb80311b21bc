"""The package as somebody installs it: built, installed, and used from an empty folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
import venv
from pathlib import Path

import pytest

from rag_app.cli import serve
from scripts.install import venv_python

ROOT = Path(__file__).resolve().parent.parent
WAIT = 120  # seconds, on a busy machine
PAGE = """
import sys, rag_app.ui, streamlit
from pathlib import Path
from streamlit.testing.v1 import AppTest
package = Path(rag_app.ui.__file__).resolve()
assert Path(sys.prefix).resolve() in package.parents, package
sys.argv = ["app.py"]
page = AppTest.from_file(str(package.parent / "served" / "app.py"), default_timeout=100).run()
assert not page.exception, page.exception
print([block.proto.body[:7] for block in page.get("html")])
streamlit.cache_resource.clear()  # closes the library; Python aborts while a model is loading
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel, and sees what is installed beside the tests."""
    pytest.importorskip("setuptools", "77", reason="setuptools builds the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # building leaves files beside the sources
    shutil.copytree(ROOT / "rag_app", source / "rag_app", ignore=lambda *_: {"__pycache__"})
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    offline = ["--no-index", "--no-deps"]
    build = ["wheel", str(source), "-w", str(folder), "--no-build-isolation", *offline]
    subprocess.run([*pip, *build], check=True)
    [wheel] = folder.glob("*.whl")
    venv.create(folder / "venv")
    python = venv_python(folder / "venv")
    subprocess.run([*pip, "--python", str(python), "install", *offline, str(wheel)], check=True)
    # Behind its own packages; a checkout that is installed there to be edited is not seen.
    ours = sysconfig.get_path("purelib", vars={"base": str(folder / "venv")})
    Path(ours, "beside.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return python


@pytest.fixture
def here(tmp_path: Path) -> dict[str, object]:
    """An empty folder to be in, and an environment that knows nothing of the checkout."""
    empty = tmp_path / "empty"
    empty.mkdir()
    plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return {"cwd": empty, "env": plain | {"RAG_APP_GENERATOR": "reader"}}


def rag_app(python: Path) -> str:
    return str(python.parent / ("rag-app.exe" if os.name == "nt" else "rag-app"))


@pytest.mark.timeout(600)
def test_the_wheel_adds_and_answers_and_draws_its_page(installed, here, tmp_path):
    file = tmp_path / "ferry.txt"
    file.write_text("The ferry to the island costs four euros.\n", encoding="utf-8")

    def said(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False, **here)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "ferry.txt" in said(rag_app(installed), "add", str(file))
    question = "What does the ferry to the island cost?"
    assert "four euros" in said(rag_app(installed), "ask", question)
    assert "<style>" in said(str(installed), "-c", PAGE)
    assert not list(here["cwd"].iterdir())


@pytest.mark.timeout(600)
def test_the_wheel_serves_from_an_empty_folder(installed, here):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = subprocess.Popen([rag_app(installed), "--port", str(port)], **here)
    try:
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            assert server.poll() is None, "the app ended by itself"
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5):
                    return
            except OSError:
                time.sleep(0.2)
        pytest.fail("the app did not start in time")
    finally:
        server.terminate()
        server.wait(30)


def test_the_looks_and_safe_defaults_are_the_same_for_both_ways_to_start():
    packaged = ROOT / "rag_app" / "ui" / "served" / ".streamlit" / "config.toml"
    assert packaged.read_text("utf-8") == (ROOT / ".streamlit" / "config.toml").read_text("utf-8")


def test_what_the_folder_one_is_in_says_otherwise_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert serve._changed_options() == []
    (tmp_path / ".streamlit").mkdir()
    own = tmp_path / ".streamlit" / "config.toml"
    own.write_text(
        '[server]\nallowedHosts = ["a", "b"]\nheadless = true\nport = 1\n'
        '[theme]\nheadingFontWeights = [700, 600]\n[theme.light]\ntextColor = "#000000"\n'
    )
    assert serve.allowed_hosts("127.0.0.1", "") == ["a", "b", "127.0.0.1"]
    assert serve._changed_options() == [
        "--theme.headingFontWeights=[700, 600]",
        "--theme.light.textColor=#000000",
    ]
    own.write_text("[server\n")
    assert serve._changed_options() == []
