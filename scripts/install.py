#!/usr/bin/env python3
"""Make this checkout ready to run: `.venv`, the pinned dependencies, and the app itself.

    python3 scripts/install.py           what the app needs
    python3 scripts/install.py --dev     and what its tests need
    python3 scripts/install.py --no-writer    without the language model (1.5 GB, also with
                                              RAG_APP_WRITER=off)

Needs Python 3.11 to 3.14 and nothing else; started by an older one, it looks for a newer one. What
was installed is written to `.venv/installed.json`, so the next call has nothing to do; a call that
was interrupted leaves no such note and is made good by the next. Of the app it knows no more than
the command that fetches the language model, which lies in the user's cache for all checkouts."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
# What is installed follows from these: the last one names the language model.
FINGERPRINTED = (
    *("pyproject.toml", "constraints.txt", "scripts/install.py"),
    "rag_app/models/catalogue.py",
)
OLDEST = (3, 11)
NEWEST = (3, 14)
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PROBE_SECONDS = 3.0
# Text recognition, the API and sign-in are extras for those who use pip; here they are part
# of the app, which promises them with nothing left to download.
APP, EVERYTHING = ".[ocr,server]", ".[bulk,cluster,dev,ocr,server]"


class CannotInstall(Exception):
    """The one sentence that says what is wrong and what to do."""


def find_python(current: tuple[int, int], environ_path: str | None = None) -> str | None:
    """A Python to build on: "" is the one that runs, else the path of another; None: no such."""
    if OLDEST <= current <= NEWEST:
        return ""
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}", path=environ_path)
        if found and _can_build(found):
            return found
    return None


def _can_build(python: str) -> bool:
    """Whether a Python runs at all (a version manager's stand-in may not) and can make a venv."""
    command = [python, "-c", "import ensurepip, venv"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def venv_python(venv: Path) -> Path:
    """The interpreter of a virtual environment, on any system."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def venv_version(venv: Path) -> str:
    """Its Python's version by its own note, "" if there is none: no process is started to ask."""
    try:
        lines = (venv / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    fields = dict(line.split(" = ", 1) for line in lines if " = " in line)
    return fields.get("version", "")


def fingerprint(root: Path, python_version: str) -> str:
    """Changes whenever there is something to install: other pins, another Python, another place."""
    digest = hashlib.sha256()
    for part in FINGERPRINTED:
        digest.update((root / part).read_bytes())
    digest.update("\0".join([str(root), python_version, sys.platform]).encode())
    return digest.hexdigest()


class Stamp:
    """What was installed, as `.venv/installed.json`: written last, removed first."""

    def __init__(self, venv: Path, key: str) -> None:
        self.path = venv / "installed.json"
        self.key = key

    def covers(self, dev: bool) -> bool:
        """Whether everything asked for is there; the tests' set includes the app's."""
        try:
            noted = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return noted.get("key") == self.key and (noted.get("dev", False) or not dev)

    @property
    def lacks_writer(self) -> bool:
        """Whether the language model was wanted and could not be had."""
        try:
            return bool(json.loads(self.path.read_text(encoding="utf-8")).get("lacks_writer"))
        except (OSError, ValueError):
            return False

    def clear(self) -> None:
        """Nothing is certain from here on."""
        if self.path.exists():
            self.path.unlink()

    def write(self, dev: bool, lacks_writer: bool = False) -> None:
        """All of it is there, but for the language model if that could not be had."""
        noted = {"key": self.key, "dev": dev, "lacks_writer": lacks_writer}
        self.path.write_text(json.dumps(noted), encoding="utf-8")


def has_gpu() -> bool:
    """Whether an NVIDIA card or its driver is here, without asking either."""
    return bool(shutil.which("nvidia-smi")) or any(Path("/dev").glob("nvidia[0-9]*"))


def wants_cpu_build() -> bool:
    """On Linux and Windows the usual torch brings GBs of CUDA, a waste where there is no card."""
    return platform.system() in ("Linux", "Windows") and not has_gpu()


def answers(url: str, seconds: float) -> bool:
    """Whether a web address answers in time. In a thread: a name look-up has no time limit."""
    found = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(url, timeout=seconds):
                found.append(True)
        except (urllib.error.URLError, OSError, ValueError):
            pass

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(found)


def torch_pin(constraints: str) -> str:
    """The line of the pins that names torch."""
    return next(line for line in constraints.splitlines() if line.startswith("torch=="))


def pip(*arguments: str) -> bool:
    """Run the environment's own pip; its output is the user's."""
    command = [str(venv_python(VENV)), "-m", "pip", "--disable-pip-version-check"]
    return subprocess.run([*command, *arguments], cwd=ROOT, check=False).returncode == 0


def make_venv() -> None:
    """Create `.venv`, or keep the one that works."""
    kept = venv_python(VENV).exists() and OLDEST <= _major_minor(venv_version(VENV)) <= NEWEST
    if kept and _has_pip():
        return
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=False)
    if made.returncode:
        raise CannotInstall(
            "This Python cannot make a virtual environment: install the package that lets it "
            "(Debian and Ubuntu: sudo apt install python3-venv) and run the same command again."
        )


def _major_minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _has_pip() -> bool:
    command = [str(venv_python(VENV)), "-c", "import pip"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def install_cpu_torch() -> None:
    """Take the small build of torch where it can be had; if not, the next step takes any."""
    if not wants_cpu_build() or not answers(CPU_INDEX + "/", PROBE_SECONDS):
        return
    pin = torch_pin((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    # Without its dependencies: those come pinned from where pip usually looks.
    short = ("--retries", "1", "--timeout", "15")
    if not pip("install", "--no-deps", "--index-url", CPU_INDEX, *short, pin):
        say("The CPU build of torch could not be had; taking the usual one.")


def bring_writer() -> bool:
    """Have the language model that writes; without it the app still answers, by quoting."""
    command = [str(venv_python(VENV)), "-m", "rag_app.models.weights"]
    if subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL).returncode:
        say("The app works without what is missing; the sentence above says how to get it.")
        return False
    return True


def install(dev: bool, writer: bool = True) -> None:
    """Bring `.venv` to what pyproject.toml and constraints.txt say."""
    say("Setting up in .venv; the first time takes some minutes.")
    make_venv()
    stamp = Stamp(VENV, fingerprint(ROOT, venv_version(VENV)))
    stamp.clear()
    install_cpu_torch()
    if not pip("install", "-c", "constraints.txt", "-e", EVERYTHING if dev else APP):
        raise CannotInstall(
            "Not everything could be installed (the reason is above): run the same command again "
            "once it is mended; what was fetched is kept."
        )
    stamp.write(dev, lacks_writer=writer and not bring_writer())
    say("Ready.")


def say(sentence: str) -> None:
    """Tell the user, in order with pip's own output."""
    print(sentence, flush=True)


def main(arguments: list[str]) -> int:
    """Install if there is something to install; the exit status is 0 when all is there."""
    parser = argparse.ArgumentParser(description="Create .venv and install the app into it.")
    parser.add_argument("--dev", action="store_true", help="also what the tests need")
    parser.add_argument("--no-writer", action="store_true", help="without the language model")
    options = parser.parse_args(arguments)
    stamp = Stamp(VENV, fingerprint(ROOT, venv_version(VENV)))
    if venv_python(VENV).exists() and stamp.covers(options.dev):
        if stamp.lacks_writer and not options.no_writer and bring_writer():
            stamp.write(options.dev)
        return 0
    other = find_python(sys.version_info[:2])
    if other:
        return subprocess.run([other, __file__, *arguments], check=False).returncode
    try:
        if other is None:
            raise CannotInstall(
                f"This app needs Python 3.11 to 3.14 and this is {platform.python_version()}: "
                "install one from python.org or your system's packages and run the command again."
            )
        install(options.dev, writer=not options.no_writer)
    except CannotInstall as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted: the next start goes on with it.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
