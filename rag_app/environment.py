"""The environment: what packages under us find in it, what processes that we start are given, and
how much of the disk a folder takes.

Settings are read from it elsewhere (settings.py)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

# What the packages under us read from the environment when they are first imported.
_DEPENDENCIES = {
    "HF_HUB_OFFLINE": "1",  # no look-up of a newer model
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ANONYMIZED_TELEMETRY": "False",  # Chroma
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime, which recognises text, reports to its maker else
    "LANGSMITH_TRACING": "false",  # LangChain would send questions and documents to a server
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING_V2": "false",
    "TOKENIZERS_PARALLELISM": "false",
    # Threads that wait by spinning take the CPU from whatever runs beside them (benchmarks/LOG.md).
    "OMP_WAIT_POLICY": "passive",
}


def quiet_dependencies() -> None:
    """Keep the packages under us from calling home and from spinning.

    To be called before torch is imported; whatever the environment said gives way."""
    os.environ.update(_DEPENDENCIES)
    # OpenVINO reports every import of itself to its maker unless this is not there; None is how
    # Python is told so. What was imported by now has reported already.
    modules: dict[str, Any] = sys.modules
    modules.setdefault("openvino_telemetry", None)


def encoding_asked_for() -> str:
    """In what Python is to write, where whoever started us says that."""
    return os.environ.get("PYTHONIOENCODING", "")


def limit_torch(threads: int) -> None:
    """Let what torch computes from now on take so many threads; 0: as many as there are cores."""
    if threads:
        import torch

        torch.set_num_threads(threads)


# What a child process is given of the environment, by name: never a key, whatever it is called.
_EVERY_CHILD = (
    # where programs, libraries and folders are
    *("PATH", "HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH"),
    *("TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"),
    # languages and clocks
    *("LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC"),
    *("LC_TIME", "TZ", "TZDIR"),
    # how much of the processor
    *("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
    "MALLOC_ARENA_MAX",
    # how Python itself starts
    *("PYTHONHOME", "PYTHONPATH", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE"),
    *("PYTHONPYCACHEPREFIX", "PYTHONNOUSERSITE"),
    # without which no program starts on Windows
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA"),
    *("LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "NUMBER_OF_PROCESSORS"),
    "PROCESSOR_ARCHITECTURE",
)
# How the hub of models and package registries are reached from here, for who fetches from them.
_ONLINE_CHILD = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("HF_ENDPOINT", "HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT"),
)
_PIPS_OWN = "PIP_"  # how a person has set pip up: PIP_INDEX_URL, PIP_CERT …


def child_environment(**changed: str) -> dict[str, str]:
    """The environment of a child process: what it needs to start, and `changed`."""
    return {**_of_the_environment(_EVERY_CHILD), **_DEPENDENCIES, **changed}


def online_environment() -> dict[str, str]:
    """The environment of a child process that may fetch a model."""
    return child_environment(
        **_of_the_environment(_ONLINE_CHILD),
        HF_HUB_OFFLINE="0",
        HF_HUB_DISABLE_XET="1",
        HF_HUB_DISABLE_PROGRESS_BARS="1",
    )


def pip_environment() -> dict[str, str]:
    """The environment of pip, which has to find the registry that a person has set it up with."""
    set_up = [name for name in os.environ if name.startswith(_PIPS_OWN)]
    return child_environment(**_of_the_environment((*_ONLINE_CHILD, *set_up)))


def _of_the_environment(names: Iterable[str]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


def server_environment(sign_in: str) -> dict[str, str]:
    """The environment of the process that serves the page.

    Where a proxy says who asks, its own address counts: uvicorn, which reads this, would put one
    in its place that a header names."""
    return {**os.environ, **({"FORWARDED_ALLOW_IPS": ""} if sign_in == "headers" else {})}


def knows_its_callers() -> bool:
    """Whether this process was started with that environment."""
    return os.environ.get("FORWARDED_ALLOW_IPS") == ""


_SHARED = ("RAG_APP_", "AWS_", "GOOGLE_", "AZURE_", "PG")  # database and originals, and their keys
_RAY = "RAY_ADDRESS"


def shared_environment() -> dict[str, str]:
    """What a process on another machine needs to work on the same library, keys included."""
    shared = {name: told for name, told in os.environ.items() if name.startswith(_SHARED)}
    folder = shared.pop("RAG_APP_SECRETS_DIR", "")  # of this machine
    for path in Path(folder).iterdir() if folder else ():
        if path.name.upper().startswith(_SHARED[0]) and path.is_file():
            shared.setdefault(path.name.upper(), path.read_text(encoding="utf-8").strip())
    return shared


def take_on(environment: Mapping[str, str]) -> None:
    """Let this process have what another one gave it."""
    os.environ.update(environment)


def cluster_of_ray() -> str:
    """The address of the one to join, empty for none; and Ray reports its use to nobody."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    return os.environ.get(_RAY, "")


def bytes_in(folder: Path) -> int:
    """Bytes of the files under a folder; 0 where it is not there.

    What is moved or deleted meanwhile counts or does not: others write there while it is asked
    (and `Path.rglob` raises where a folder goes while it is walked through)."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(where, name).stat().st_size
    return total
