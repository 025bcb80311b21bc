"""Teach the router: the built-in embedding model, taught on to tell wishes from questions.

    python -m training.router.train --data ../shared/data/reader --out rag_app/models/task_router

Examples are `examples.jsonl` ({"text", "task"}, and the entry of chitchat). The background are real
questions, which must not be led astray: of SQuAD, Natural Questions and SQuADShifts (`--data`), of
the libraries in training/library but those of HELD, and of the sheets in training/tables; those of
sheets whose query computes ask for a computation. Each round goes through all examples and so many
of these as BACKGROUND says. The word embeddings stay as they are and are not kept; the head leans
as LEANS says. How well it does: benchmarks/routing.py. Two cores with AMX need six
minutes."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from rag_app.answering.task_router import ABOUT, LONGEST, label, opening
from rag_app.retrieval.embedding import WORDS, minilm_folder
from rag_app.types import Task
from training.library import SPOKEN, WRITTEN

Asked = tuple[str, str]
"""A text and its label."""

EXAMPLES = Path(__file__).with_name("examples.jsonl")
LIBRARIES = Path(__file__).parents[1] / "library"
SHEETS = Path(__file__).parents[1] / "tables" / "sheets" / "questions.jsonl"
HELD = frozenset(["boatyard", "cafe", "farm", "health", "umzug", "parish"])
PUBLIC = ("squad_v11_train_du44", "nq_part", "squadshifts_amazon")
MOST = 1_000  # questions of each of these
FEW = 3  # times as many questions as computations: else every "how many" would be one
ROUNDS, ROWS, BACKGROUND = 5, 32, 6_000
COUNTS = 0.5  # what a question of the background counts beside an example
RATE, HEAD_RATE, WARM, LAST = 1e-4, 1e-3, 60, 0.02
SMOOTHED = 0.05  # of a label's probability is spread over all
# Log-odds that are added: a question that is led astray has no answer, and who asks for a total is
# taken for one that asks what stands somewhere.
LEANS = {Task.QUESTION: 1.0, Task.COMPUTATION: 2.2}
_COMPUTES = re.compile(r"\b(?:count|sum|avg|min|max)\(|\bORDER BY\b", re.IGNORECASE)


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def examples(path: Path = EXAMPLES) -> list[Asked]:
    """Utterances with their labels."""
    return [(row["text"], label(Task(row["task"]), row.get("entry", ""))) for row in rows(path)]


def questions(path: Path, most: int | None = None) -> list[Asked]:
    """Different questions of a file, drawn by chance but the same every time."""
    found = {r["question"].strip(): _of(r) for r in rows(path) if r.get("kind") != "arithmetic"}
    drawn = list(found.items())
    random.Random(3).shuffle(drawn)
    return drawn[:most]


def _of(row: dict[str, Any]) -> str:
    computes = _COMPUTES.search(row.get("sql") or "")
    return label(Task.COMPUTATION if computes else Task.QUESTION)


def of_libraries(held: bool) -> Iterator[list[Asked]]:
    """The questions of the libraries that are held back, or of the others, file by file."""
    for folder in sorted(one for one in LIBRARIES.iterdir() if one.is_dir()):
        for name in (WRITTEN, SPOKEN):
            if (folder.name in HELD) is held and (folder / name).exists():
                yield questions(folder / name)


def background(data: Path) -> list[Asked]:
    """Real questions, and not too many computations among them."""
    sources = [questions(data / "train" / f"{name}.jsonl.gz", MOST) for name in PUBLIC]
    made: list[Asked] = []
    for found in [*sources, *of_libraries(held=False), questions(SHEETS)]:
        plain = [one for one in found if one[1] == Task.QUESTION]
        computing = [one for one in found if one[1] != Task.QUESTION]
        made += [*plain, *computing[: len(plain) // FEW]]
    return made


class Network(nn.Module):
    """The embedding model with a head for labels on the mean of its tokens."""

    def __init__(self, labels: Sequence[str]) -> None:
        from tokenizers import Tokenizer
        from transformers import BertModel

        super().__init__()
        folder = minilm_folder()
        self.labels = list(labels)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(LONGEST)
        self._tokenizer.enable_padding(pad_to_multiple_of=8)
        self.bert = BertModel.from_pretrained(
            folder, add_pooling_layer=False, dtype=torch.float32, attn_implementation="sdpa"
        )
        self.bert.embeddings.requires_grad_(False)
        self.head = nn.Linear(self.bert.config.hidden_size, len(self.labels))
        self._dropout = nn.Dropout(0.1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, texts: Sequence[str]) -> Tensor:
        """The scores of all labels, (texts, labels)."""
        encoded = self._tokenizer.encode_batch([opening(text) for text in texts])
        ids, mask = (
            torch.tensor([getattr(one, name) for one in encoded])
            for name in ("ids", "attention_mask")
        )
        hidden = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        seen = mask[:, :, None].to(hidden.dtype)
        scores: Tensor = self.head(self._dropout((hidden * seen).sum(1) / seen.sum(1)))
        return scores

    def keep(self, folder: Path) -> None:
        """Write what was learnt, in 16 bits, with the leans."""
        learnt = {name: one for name, one in self.bert.state_dict().items() if name != WORDS}
        bias = self.head.bias.detach().clone()
        for task, lean in LEANS.items():
            bias[self.labels.index(label(task))] += lean
        learnt |= {"head.weight": self.head.weight.detach(), "head.bias": bias}
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "model.safetensors"
        save_file({name: one.half().contiguous() for name, one in learnt.items()}, file)
        about = {"sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "labels": self.labels}
        (folder / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def taught(shown: Sequence[Asked], more: Sequence[Asked]) -> Network:
    """A network that was taught examples, with a background."""
    torch.manual_seed(1)
    rng, began = random.Random(1), time.perf_counter()
    network = Network(sorted({name for _, name in shown}))
    number = {name: at for at, name in enumerate(network.labels)}
    layers = [one for one in network.bert.parameters() if one.requires_grad]
    groups = [{"params": layers}, {"params": list(network.head.parameters()), "lr": HEAD_RATE}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, weight_decay=0.01)
    steps = ROUNDS * ((len(shown) + BACKGROUND) // ROWS)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARM, max(LAST, 1 - step / steps))
    )
    for turn in range(ROUNDS):
        total = 0.0
        for batch in _batches(shown, more, rng):
            labels = torch.tensor([number[name] for _, name, _ in batch])
            with torch.autocast("cpu", dtype=torch.bfloat16):
                scores = network([text for text, _, _ in batch])
            loss = nn.functional.cross_entropy(
                scores.float(), labels, reduction="none", label_smoothing=SMOOTHED
            )
            loss = (loss * torch.tensor([counts for _, _, counts in batch])).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"round {turn}: loss {total:.1f}, {time.perf_counter() - began:.0f} s", flush=True)
    return network.eval()


def _batches(
    shown: Sequence[Asked], more: Sequence[Asked], rng: random.Random
) -> Iterator[list[tuple[str, str, float]]]:
    """All examples and some of the background once; texts of a batch are alike in length."""
    drawn = rng.sample(more, min(BACKGROUND, len(more)))
    all_ = [(*one, 1.0) for one in shown] + [(*one, COUNTS) for one in drawn]
    rng.shuffle(all_)
    for first in range(0, len(all_), 16 * ROWS):
        some = sorted(all_[first : first + 16 * ROWS], key=lambda one: len(one[0]))
        parts = [some[at : at + ROWS] for at in range(0, len(some), ROWS)]
        rng.shuffle(parts)
        yield from parts


def main() -> None:
    """Teach and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with train/*.jsonl.gz")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    taught(examples(), background(given.data)).keep(given.out)


if __name__ == "__main__":
    main()
