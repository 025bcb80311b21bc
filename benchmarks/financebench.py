"""FinanceBench's questions as `rag-app evaluate` takes them.

    .venv/bin/python -m benchmarks.financebench questions.jsonl all.jsonl
    .venv/bin/python -m benchmarks.financebench --chosen questions.jsonl chosen.jsonl

The questions are asked of all filings in the library, or with only the right ones chosen."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def main() -> None:
    """Convert one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--chosen", action="store_true", help="choose the right filings")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.questions.read_text("utf-8").splitlines() if line]
    lines = [json.dumps(converted(row, given.chosen), ensure_ascii=False) for row in rows]
    given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def converted(row: dict[str, Any], chosen: bool) -> dict[str, Any]:
    """One question; `documents` are those that are asked, so they are left out unless chosen."""
    pages = [{"document": page["name"], "page": page["page"]} for page in row["pages"]]
    kept = {"id": row["id"], "question": row["question"], "answers": row["answers"]}
    return kept | {"pages": pages} | ({"documents": row["documents"]} if chosen else {})


if __name__ == "__main__":
    main()
