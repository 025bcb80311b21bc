"""Cranfield's abstracts as files and its queries as `rag-app evaluate` takes them.

    .venv/bin/python -m benchmarks.cranfield FOLDER OUT
    .venv/bin/rag-app add OUT/abstracts --data-dir LIBRARY
    .venv/bin/rag-app evaluate OUT/questions.jsonl --no-answers --data-dir LIBRARY

The query numbers of the judgements are positions in the file of queries. Judgements of 1 to 4 are
gains; what is judged -1 or 0 is not wanted, nor are the two abstracts without a word."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path

_ITEM = re.compile(r"^\.I ", re.MULTILINE)


def main() -> None:
    """Write abstracts/*.txt and questions.jsonl."""
    source, out = (Path(argument) for argument in sys.argv[1:3])
    folder = out / "abstracts"
    folder.mkdir(parents=True, exist_ok=True)
    held = abstracts((source / "cran.all.1400").read_text("utf-8"))
    for number, text in held.items():
        (folder / file_name(number)).write_text(text, encoding="utf-8")
    wanted = judgements((source / "QRelsCorrectedforTRECeval").read_text("utf-8"))
    asked = queries((source / "cran.qry").read_text("utf-8"))
    with (out / "questions.jsonl").open("w", encoding="utf-8") as file:
        for number, question in enumerate(asked, start=1):
            pages = [
                {"document": file_name(document), "page": 1, "weight": gain}
                for document, gain in wanted.get(number, {}).items()
                if document in held
            ]
            if pages:
                line = {"id": str(number), "question": question, "pages": pages}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def file_name(number: int) -> str:
    """What the file of an abstract is called."""
    return f"{number:04d}.txt"


def abstracts(text: str) -> dict[int, str]:
    """Title and words of every abstract that has any, by number; the words begin with the title."""
    found = {}
    for item in _ITEM.split(text)[1:]:
        number, _, rest = item.partition("\n")
        title = rest.partition(".T\n")[2].partition(".A\n")[0]
        words = rest.partition(".W\n")[2]
        if (words + title).strip():
            found[int(number)] = words if words.strip() else title
    return found


def queries(text: str) -> list[str]:
    """The queries in their order, each on one line."""
    return [" ".join(item.partition(".W\n")[2].split()) for item in _ITEM.split(text)[1:]]


def judgements(text: str) -> dict[int, dict[int, int]]:
    """By number of the query: gain by number of the document."""
    found: dict[int, dict[int, int]] = defaultdict(dict)
    for line in text.splitlines():
        query, _, document, gain = (int(part) for part in line.split())
        if gain > 0:
            found[query][document] = gain
    return found


if __name__ == "__main__":
    main()
