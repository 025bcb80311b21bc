"""rag-app worker: works on documents and shows no page, on as many machines as there are."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from contextlib import nullcontext
from typing import Any

from rag_app.errors import SettingsError
from rag_app.observing import logs, traces
from rag_app.settings import QUEUES, Settings


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the command is called and takes."""
    worker = commands.add_parser(
        "worker",
        parents=[shared],
        help="works on the documents of a library in PostgreSQL, without a page; any number may",
    )
    worker.add_argument(
        "--queues",
        default=",".join(QUEUES),
        help=f"what this machine is for, of {', '.join(QUEUES)}; separated by commas",
    )
    worker.add_argument("--host", default="127.0.0.1", help="address to listen on")
    worker.add_argument(
        "--port", type=int, help="port that answers /health/live, /health/ready and /metrics"
    )
    worker.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Work until told to stop. Raises SettingsError."""
    # No writer: what models say of documents is made where people look at them.
    settings = Settings.load(
        data_dir=getattr(arguments, "data_dir", None),
        queues=arguments.queues,
        writer="off",
        generator="quotes",
    )
    if not settings.database_address:
        raise SettingsError(
            "A worker shares its library with others, and a file can have one process only: set "
            "RAG_APP_DATABASE_URL to the library's PostgreSQL database."
        )
    _check_model(settings)
    logs.set_up(settings)
    traces.set_up(settings)
    from rag_app.library import Library
    from rag_app.storage.originals import made_for_me
    from rag_app.ui.health import Standing, serving

    host, port = arguments.host, arguments.port
    asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    with made_for_me(), Library(settings) as library:
        standing = Standing(lambda: library, answers=False)
        with nullcontext() if port is None else serving(settings, standing, host, port):
            print(f"Works on: {', '.join(sorted(settings.works_on))}.", file=sys.stderr, flush=True)
            asked.wait()
            standing.draining = True
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)  # a second one does not wait
            library.wind_down(settings.drain_seconds)
    return 0


def _check_model(settings: Settings) -> None:
    """A worker with another model would have all embedded anew, and then the others again. Raises
    SettingsError."""
    from rag_app.storage.database import AnsweringModel
    from rag_app.storage.engines import open_database

    database = open_database(settings)
    try:
        answering = AnsweringModel(database).get()
    finally:
        database.close()
    if answering and answering[0] != settings.embedding:
        raise SettingsError(
            f"The vectors of this library are made by the model “{answering[0] or 'built-in'}”, "
            f"and this worker is set to “{settings.embedding or 'built-in'}”. Set "
            "RAG_APP_EMBEDDING to the same in all processes."
        )
