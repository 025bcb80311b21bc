"""The Dockerfile is held to the tree and to the Makefile: no engine here builds it."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEALTH = "/_stcore/health"


def instructions() -> list[tuple[str, str]]:
    """(instruction, argument), lines joined, comments left out."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def arguments(wanted: str) -> list[str]:
    return [argument for instruction, argument in instructions() if instruction == wanted]


def last_stage() -> list[tuple[str, str]]:
    steps = instructions()
    return steps[max(i for i, (name, _) in enumerate(steps) if name == "FROM") :]


def copied() -> list[str]:
    """What is copied from the tree into any stage."""
    copies = [copy.split() for copy in arguments("COPY") if not copy.startswith("--from")]
    return [source for copy in copies for source in copy[:-1]]


def ignored(path: str) -> bool:
    """Whether .dockerignore keeps a path out: the last pattern that fits it or a parent decides."""
    parents = ["/".join(path.split("/")[: n + 1]) for n in range(path.count("/") + 1)]
    verdict = False
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.strip().removeprefix("!").removeprefix("**/")
        if not pattern or pattern.startswith("#"):
            continue
        tried = [path.split("/")[-1], *parents] if "**/" in line else parents
        if any(fnmatch(each, pattern) and each.count("/") == pattern.count("/") for each in tried):
            verdict = not line.startswith("!")
    return verdict


def recipe(target: str) -> str:
    """The first command of a Makefile target, written out as on Linux."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.search(rf"^{target}:[^\n]*\n\t@?([^\n]+)", makefile, re.MULTILINE)
    assert found, f"no target {target}"
    return found[1].replace("$(PYTHON)", "python").replace("$(BIN)", ".venv/bin")


@pytest.mark.parametrize("source", copied())
def test_everything_that_is_copied_exists_and_is_not_ignored(source):
    path = ROOT / source
    assert path.exists()
    kept = (
        [path]
        if path.is_file()
        else [
            each for each in path.rglob("*") if each.is_file() and "__pycache__" not in each.parts
        ]
    )
    assert kept
    assert not [each for each in kept if ignored(each.relative_to(ROOT).as_posix())]


@pytest.mark.parametrize(
    "path",
    [".git/config", ".venv/bin/python", "tests/fakes.py", ".streamlit/secrets.toml", ".env"],
)
def test_what_is_not_for_the_image_stays_out(path):
    assert ignored(path)


def test_the_whole_package_and_its_entry_are_copied():
    assert {"rag_app", "app.py", ".streamlit/config.toml", "constraints.txt"} <= set(copied())


def test_it_installs_with_the_makefiles_command():
    assert any(run.endswith(recipe("install")) for run in arguments("RUN"))


def test_it_starts_with_the_makefiles_command():
    start = json.loads(arguments("CMD")[-1])
    assert start[0] == recipe("run")
    assert start[1:] == ["--host", "0.0.0.0"]


def test_it_does_not_run_as_root():
    names = [name for name, _ in last_stage()]
    user = next(argument for name, argument in last_stage() if name == "USER")
    assert user not in ("root", "0")
    assert f" {user} " in " ".join(arguments("RUN"))
    assert names.index("USER") < names.index("CMD")


def test_the_data_lies_in_the_one_volume():
    assert arguments("VOLUME") == ["/data"]
    assert "RAG_APP_DATA_DIR=/data" in " ".join(arguments("ENV"))


def test_it_asks_neither_a_model_hub_nor_who_it_is():
    environment = " ".join(arguments("ENV")).split()
    assert "HF_HUB_OFFLINE=1" in environment
    assert "STREAMLIT_BROWSER_SERVER_ADDRESS=localhost" in environment


def test_it_says_in_so_many_words_that_who_reaches_it_may_use_it():
    """It listens on every address of its container; the README publishes it on one's own."""
    environment = " ".join(arguments("ENV")).split()
    assert {"RAG_APP_SIGN_IN=none", "RAG_APP_OPEN_TO_ALL=yes"} <= set(environment)


def test_its_health_is_what_the_app_says():
    check = arguments("HEALTHCHECK")[0]
    assert f"http://127.0.0.1:{arguments('EXPOSE')[0]}{HEALTH}" in check
    command = json.loads(check[check.index("CMD") + 3 :])
    assert command[0] == ".venv/bin/python"
    compile(command[2], "healthcheck", "exec")


def test_the_python_is_one_that_the_app_supports():
    from scripts import install

    for image in arguments("FROM"):
        major, minor = re.search(r"python:(\d+)\.(\d+)-slim", image).groups()
        assert install.OLDEST <= (int(major), int(minor)) <= install.NEWEST


def test_the_readme_publishes_it_on_loopback_only():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    published = re.findall(r"docker run[^\n]*-p (\S+)", readme)
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)
