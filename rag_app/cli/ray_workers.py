"""Workers of one load as actors of Ray, on the machines of its cluster or on this one.

They do what `rag-app worker` does, from the same queue and with the same functions: Ray says where
they run, and starts one anew that died. Nothing of a document goes through Ray."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from rag_app.environment import cluster_of_ray, shared_environment, take_on
from rag_app.errors import SettingsError
from rag_app.settings import QUEUES, Settings, app_version

_STARTING = 300.0  # seconds until the first of them has to be there
_ENDING = 60.0  # seconds that they may take to put down what they have begun
_ANSWERING = 10.0  # seconds until somebody has to listen at the address of the cluster
_LEAST_MEMORY = 80 * 1024 * 1024  # bytes for Ray's own store, in which nothing of ours lies


class Worker:
    """A process that works on documents until it is told to end."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        take_on(environment)
        from rag_app.library import Library

        self._held = ExitStack()
        folder = self._held.enter_context(tempfile.TemporaryDirectory(prefix="rag-app-"))
        settings = Settings.load(
            data_dir=folder, queues=",".join(QUEUES), writer="off", generator="quotes", threads=1
        )
        self._library = self._held.enter_context(Library(settings))

    def version(self) -> str:
        """Of the app, on the machine it runs on."""
        return app_version()

    def end(self) -> None:
        """Finish what is begun, and let go of everything."""
        self._library.wind_down(_ENDING / 2)
        self._held.close()


@contextmanager
def ray_workers(settings: Settings) -> Iterator[int]:
    """How many workers there are while the block lasts: one for each processor that Ray has free.

    Of the cluster that RAY_ADDRESS names, or else of a Ray that is started here. Raises
    SettingsError."""
    if not (settings.database_address and settings.files_url):
        raise SettingsError(
            "Workers on Ray share the library and its originals with others: set "
            "RAG_APP_DATABASE_URL and RAG_APP_FILES_URL to places that every machine reaches."
        )
    address = cluster_of_ray()
    try:
        import ray
    except ImportError as error:
        raise SettingsError(
            'Ray is not installed: pip install "rag-app[bulk]" brings it.'
        ) from error
    with _joined(ray, address):
        running = _started(ray)
        try:
            yield len(running)
        finally:
            ending = [one.end.remote() for one in running]
            ray.wait(ending, num_returns=len(ending), timeout=_ENDING)


@contextmanager
def _joined(ray: Any, address: str) -> Iterator[None]:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    here = {"address": "local", "include_dashboard": False, "object_store_memory": _LEAST_MEMORY}
    try:
        _look_at(address)
        ray.init(**quiet, **({} if address else here))
    except (OSError, RuntimeError, ValueError) as error:
        raise SettingsError(
            "No cluster of Ray can be joined. Look whether RAY_ADDRESS is right, or unset it to "
            "have one started here."
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _look_at(address: str) -> None:
    """Ray itself waits for minutes for what is not there. Raises OSError."""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), _ANSWERING).close()


def _started(ray: Any) -> list[Any]:
    """The workers, one of which has begun; the others follow. Raises SettingsError."""
    environment = shared_environment()
    number = max(1, int(ray.available_resources().get("CPU", 1)))
    actor = ray.remote(num_cpus=1, max_restarts=-1)(Worker)
    running = [actor.remote(environment) for _ in range(number)]
    ready, _ = ray.wait([one.version.remote() for one in running], timeout=_STARTING)
    if not ready:
        raise SettingsError(f"Ray has started no worker within {_STARTING:.0f} seconds.")
    try:
        there = ray.get(ready[0])
    except ray.exceptions.RayError as error:
        raise SettingsError(f"A worker on Ray could not begin: {_reason(error)}") from error
    if there != app_version():
        raise SettingsError(
            f"The machines of Ray have version {there} of the app, this one has {app_version()}."
        )
    return running


def _reason(error: Exception) -> str:
    """The last line of what happened there: before it are other people's files and lines."""
    return (str(error).strip().splitlines() or ["no reason was given."])[-1]
