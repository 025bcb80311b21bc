"""Other readers, one per process: `python stress_loaders.py READER MEMORY_MIB`.

Paths come in on standard input, one JSON string a line; for each a JSON object goes out. Imports
nothing of ours, so that it runs wherever the other readers are installed."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

Load = Callable[[Path], str]
_TEXTS = ("txt", "md", "rst", "tex", "org", "adoc", "asciidoc", "xml", "nxml", "json", "ics", "vtt")


class NoLoader(Exception):
    """The reader has nothing for this kind of file."""


def markitdown() -> Load:
    """Microsoft's markitdown with all its extras for documents."""
    from markitdown import MarkItDown

    converter = MarkItDown(enable_plugins=False)
    return lambda path: str(converter.convert_local(path).text_content)


def langchain() -> Load:
    """The loaders of langchain-community that need neither `unstructured` nor a GPL package."""
    from langchain_community import document_loaders as loaders

    def load(path: Path) -> str:
        kind, name = path.suffix.lower().lstrip("."), str(path)
        if kind == "pdf":
            loader = loaders.PyPDFLoader(name)
        elif kind == "docx":
            loader = loaders.Docx2txtLoader(name)
        elif kind in ("html", "htm"):
            loader = loaders.BSHTMLLoader(name, bs_kwargs={"features": "lxml"})
        elif kind in ("csv", "tsv"):
            more = {"delimiter": "\t"} if kind == "tsv" else {}
            loader = loaders.CSVLoader(name, autodetect_encoding=True, csv_args=more)
        elif kind in _TEXTS:
            loader = loaders.TextLoader(name, autodetect_encoding=True)
        else:
            raise NoLoader(f"no loader for .{kind}")
        return "\n".join(document.page_content for document in loader.load())

    return load


READERS = {"markitdown": markitdown, "langchain": langchain}


def main(name: str, mebibytes: int) -> None:
    """Answer requests until standard input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
    os.dup2(2, 1)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    load = READERS[name]()
    _limit(mebibytes)
    print(json.dumps({"ready": True}), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(_answer(load, Path(json.loads(line)))), file=out, flush=True)


def _limit(mebibytes: int) -> None:
    """As much memory more as our own child may take."""
    with contextlib.suppress(OSError, ValueError):
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + (mebibytes << 20),) * 2)


def _answer(load: Load, path: Path) -> dict[str, str]:
    try:
        return {"text": load(path)}
    except NoLoader as error:
        return {"none": str(error)}
    except MemoryError:
        return {"raised": "MemoryError"}
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what its user gets
        return {"raised": f"{type(error).__name__}: {error}"[:300]}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
