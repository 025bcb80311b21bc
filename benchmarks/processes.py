"""Run one part in a process of its own and watch the memory of it and of all its children.

Knows nothing of what the part does. Memory is read from /proc, so it is known on Linux only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROC = Path("/proc")


def run_part(part: str, job: dict[str, Any], python: str = sys.executable) -> dict[str, Any]:
    """The result of one part, with the peak of its memory in MiB under "memory"."""
    threads = str(job["threads"])
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("RAG_APP_")},
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
    }
    command = [python, "-m", "benchmarks.parts", part, json.dumps(job)]
    with (
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as process,
        Watch(process.pid) as watch,
    ):
        said = process.stdout.read() if process.stdout else b""
        process.wait()
    if process.returncode:
        raise SystemExit(f"{part} ended with status {process.returncode}")
    result: dict[str, Any] = json.loads(said.splitlines()[-1])
    return {**result, "memory": watch.result()}


class Watch:
    """Looks at a process and its children ten times a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._highest: dict[int, int] = {}  # by process: its own high-water mark, kiB
        self._together = 0  # of all of them at one moment, kiB

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def result(self) -> dict[str, Any]:
        """`sum_of_peaks`: what the processes reached, each at its own time; `peak`: at one time."""
        return {
            "sum_of_peaks": sum(self._highest.values()) / 1024,
            "peak": self._together / 1024,
            "processes": len(self._highest),
            "each": sorted((size / 1024 for size in self._highest.values()), reverse=True),
        }

    def _look(self) -> None:
        while not self._done.wait(0.1):
            now = 0
            for pid in family(self._pid):
                peak, resident = memory(pid)
                self._highest[pid] = max(self._highest.get(pid, 0), peak)
                now += resident
            self._together = max(self._together, now)


def family(pid: int) -> list[int]:
    """A process and all that came from it."""
    found = [pid]
    for each in found:
        for children in PROC.glob(f"{each}/task/*/children"):
            try:
                found += [int(child) for child in children.read_text().split()]
            except OSError:
                continue  # gone meanwhile
    return found


def memory(pid: int) -> tuple[int, int]:
    """(VmHWM, VmRSS) of a process in kiB; zeros if it is gone."""
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return 0, 0
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    sizes = [int(fields.get(name, "0 kB").split()[0]) for name in ("VmHWM", "VmRSS")]
    return sizes[0], sizes[1]
