"""Setting up: the right Python, the right torch, nothing done twice, nothing half done."""

from __future__ import annotations

import os
import re
import socket
import stat
import threading
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from scripts import install
from tests import postgres

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with a virtual environment that is there but empty; every call of pip is noted."""
    root = tmp_path / "checkout"
    for name in install.FINGERPRINTED:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("torch==1.2.3\n")
    python = install.venv_python(root / ".venv")
    python.parent.mkdir(parents=True)
    executable(python)
    (root / ".venv/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
    monkeypatch.setattr(install, "ROOT", root)
    monkeypatch.setattr(install, "VENV", root / ".venv")
    monkeypatch.setattr(install, "make_venv", lambda: None)
    monkeypatch.setattr(install, "wants_cpu_build", lambda: False)
    return root


@pytest.fixture
def pip_calls(checkout, monkeypatch):
    calls = []
    monkeypatch.setattr(install, "pip", lambda *arguments: not calls.append(arguments))
    return calls


def executable(path: Path, body: str = "") -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13), (3, 14)])
def test_a_python_that_is_new_enough_is_used_itself(version):
    assert install.find_python(version) == ""


def test_an_old_python_looks_for_the_newest_that_will_do(tmp_path):
    executable(tmp_path / "python3.11")
    newest = executable(tmp_path / "python3.13")
    executable(tmp_path / "python3.14", "exit 127")  # a stand-in for one that is not installed
    executable(tmp_path / "python3.15")
    assert install.find_python((3, 9), str(tmp_path)) == str(newest)


def test_an_old_python_alone_says_in_one_sentence_what_to_do(checkout, monkeypatch, capsys):
    monkeypatch.setattr(install, "find_python", lambda version: None)
    assert install.main([]) == 1
    said = capsys.readouterr().err
    assert "needs Python 3.11 to 3.14" in said
    assert said.count("\n") == 1


def test_a_second_start_installs_nothing(checkout, pip_calls):
    assert install.main([]) == 0
    assert len(pip_calls) == 1
    assert install.main([]) == 0
    assert len(pip_calls) == 1


def test_what_the_tests_need_includes_what_the_app_needs(checkout, pip_calls):
    install.main(["--dev"])
    install.main([])
    assert [call[-1] for call in pip_calls] == [install.EVERYTHING]


def test_the_app_alone_is_not_enough_for_the_tests(checkout, pip_calls):
    install.main([])
    install.main(["--dev"])
    assert [call[-1] for call in pip_calls] == [install.APP, install.EVERYTHING]


@pytest.mark.parametrize("changed", install.FINGERPRINTED)
def test_changed_pins_are_installed(checkout, pip_calls, changed):
    install.main([])
    (checkout / changed).write_text("torch==1.2.4\n")
    install.main([])
    assert len(pip_calls) == 2


def test_another_python_is_installed_into(checkout, pip_calls):
    install.main([])
    (checkout / ".venv/pyvenv.cfg").write_text("version = 3.12.1\n")
    install.main([])
    assert len(pip_calls) == 2


def test_a_failed_install_says_so_and_is_done_again(checkout, monkeypatch, capsys):
    install.main([])
    (checkout / "constraints.txt").write_text("torch==1.2.4\n")
    monkeypatch.setattr(install, "pip", lambda *arguments: False)
    assert install.main([]) == 1
    assert "run the same command again" in capsys.readouterr().err
    assert not (checkout / ".venv/installed.json").exists()


def test_the_language_model_is_brought_after_the_packages(checkout, pip_calls, monkeypatch):
    brought = []
    monkeypatch.setattr(install, "bring_writer", lambda: not brought.append(len(pip_calls)))
    install.main([])
    assert brought == [1]
    install.main(["--dev", "--no-writer"])
    assert brought == [1] and len(pip_calls) == 2


def test_an_install_without_the_language_model_is_one_all_the_same(checkout, pip_calls, capfd):
    executable(install.venv_python(checkout / ".venv"), "echo why >&2; exit 1")
    assert install.main([]) == 0
    assert (checkout / ".venv/installed.json").exists()
    said = capfd.readouterr()
    assert said.err == "why\n" and "works without what is missing" in said.out


def test_a_language_model_that_could_not_be_had_is_tried_for_again(
    checkout, pip_calls, monkeypatch
):
    tries = []
    monkeypatch.setattr(install, "bring_writer", lambda: bool(tries.append(1)) or len(tries) > 1)
    for _ in range(3):
        assert install.main([]) == 0
    assert len(tries) == 2 and len(pip_calls) == 1


def test_an_interrupted_install_is_done_again(checkout, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(install, "pip", interrupted)
    assert install.main([]) == 130
    calls = []
    monkeypatch.setattr(install, "pip", lambda *arguments: not calls.append(arguments))
    assert install.main([]) == 0
    assert len(calls) == 1


def test_a_torn_note_counts_as_none(checkout, pip_calls):
    install.main([])
    (checkout / ".venv/installed.json").write_text('{"key": ')
    install.main([])
    assert len(pip_calls) == 2


def test_without_a_card_the_cpu_build_of_torch_comes_first(checkout, pip_calls, monkeypatch):
    monkeypatch.setattr(install, "wants_cpu_build", lambda: True)
    monkeypatch.setattr(install, "answers", lambda url, seconds: True)
    install.main([])
    assert install.CPU_INDEX in pip_calls[0]
    assert pip_calls[0][-1] == "torch==1.2.3"
    assert pip_calls[1][-1] == install.APP


def test_with_a_card_torch_is_the_usual_one(checkout, pip_calls, monkeypatch):
    monkeypatch.setattr(install, "answers", lambda url, seconds: pytest.fail("asked for nothing"))
    install.main([])
    assert [call[-1] for call in pip_calls] == [install.APP]


def test_an_index_that_is_silent_is_not_waited_for(checkout, pip_calls, monkeypatch):
    monkeypatch.setattr(install, "wants_cpu_build", lambda: True)
    monkeypatch.setattr(install, "answers", lambda url, seconds: False)
    assert install.main([]) == 0
    assert [call[-1] for call in pip_calls] == [install.APP]


def test_an_index_that_lacks_the_build_does_no_harm(checkout, monkeypatch):
    monkeypatch.setattr(install, "wants_cpu_build", lambda: True)
    monkeypatch.setattr(install, "answers", lambda url, seconds: True)
    monkeypatch.setattr(install, "pip", lambda *arguments: install.CPU_INDEX not in arguments)
    assert install.main([]) == 0


def test_a_server_that_never_answers_is_given_up_in_time():
    with socket.create_server(("127.0.0.1", 0)) as server:  # which would say nothing for ever
        assert not install.answers(f"http://127.0.0.1:{server.getsockname()[1]}/", 0.2)


def test_a_name_that_is_looked_up_for_ever_is_given_up_in_time(monkeypatch):
    end = threading.Event()

    def endless(*arguments, **options):
        end.wait()
        raise OSError

    monkeypatch.setattr(install.urllib.request, "urlopen", endless)
    assert not install.answers("http://localhost/", 0.1)  # although it is still looked up
    end.set()


def test_pins_are_a_plain_list_of_versions():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line) for line in lines)
    assert not [line for line in lines if re.match(r"(?i)nvidia|cuda|triton|rag[-_]app", line)]


def test_every_dependency_is_pinned_within_its_range():
    pins = {
        Requirement(line).name.lower().replace("_", "-"): line.partition("==")[2]
        for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    for requirement in map(Requirement, wanted):
        assert pins[requirement.name.lower().replace("_", "-")] in requirement.specifier


def test_the_makefile_installs_with_this_script():
    recipes = (ROOT / "Makefile").read_text()
    assert "$(PYTHON) scripts/install.py\n" in recipes
    assert "$(PYTHON) scripts/install.py --dev\n" in recipes
    for target, needs in (("run", "install"), ("test", "install-dev"), ("lint", "install-dev")):
        assert f"\n{target}: {needs}\n" in recipes


def test_where_everything_is_checked_postgresql_is_there():
    assert not (os.environ.get("CI") and postgres.MISSING)  # set by .ci/run
