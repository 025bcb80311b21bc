"""Teaches the network that reads queries over a table beside the question.

    python -m training.tables.reading groups s.pkl w0.pkl … --out groups.pkl --data FOLDER
    python -m training.tables.reading train groups.pkl --out rag_app/models/query_reader --work WORK

`groups`: of each question of `training.tables.examples` what its likeliest queries say and give,
by weights that were not taught with its table: a third of the tables is weighed by what the two
others teach; and what may seem to be meant by questions about other sheets and documents.
`train`: a softmax over what the queries of a question give and "nothing is meant", whose log-odds
are those of these weights, times a factor that is learnt, and what the network adds; all that is
right together against all else. It begins as the sentence ranker, and its word embeddings stay the
reader's."""

from __future__ import annotations

import argparse
import json
import pickle
import random
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rag_app.answering.query_ranking import first_chances, given
from rag_app.answering.query_reading import READ, as_passage, log_chance
from rag_app.answering.sentence_ranker import ABOUT, RankerTokens
from rag_app.answering.sentence_ranker import FOLDER as SENTENCE_RANKER
from rag_app.tables.candidates import TableQuestion
from training.library import questions
from training.ranker.train import Network, export, keep
from training.tables import examples
from training.tables.examples import Asked, Example, RememberingEmbedder
from training.tables.train import taught

FOLDS = 3
ROUNDS = 3  # of the weights that tell how likely each query was
AT_ONCE = 8  # questions of a step
RATE, WARM = 1.2e-4, 60
LOWEST = 2  # layers that stay as they are
OTHERS = 0.18  # questions about something else to each over a sheet
ROWS, WIDTH = 32, 16  # of a batch: results, and tokens by so many
TAUGHT = 6  # results of a question that are read in a step, and all that are right
_FACTOR = 20  # times the rate at which the network learns
_CAUTIONS = (0.0, 0.3, 0.45, 0.65, 0.8)


@dataclass(frozen=True, slots=True)
class Told:
    """A question, what its likeliest queries say and give, the logarithm of the chance of each, and
    of that of nothing; which of them are right, and whether any query would be."""

    id: str
    question: str
    queries: tuple[str, ...]
    chances: tuple[float, ...]
    nothing: float
    right: tuple[bool, ...]
    answerable: bool


def fold(key: str) -> int:
    """The third that a question's table is in."""
    return zlib.crc32(key.rpartition("-")[0].encode()) % FOLDS


def weighed(given_: Sequence[Example]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Of each example the chances of its candidates, nothing last, by weights that were not taught
    with its table; and which are right."""
    for number in range(FOLDS):
        network = taught([one for one in given_ if fold(one.id) != number], ROUNDS, 0).eval()
        for one in given_:
            if fold(one.id) == number:
                with torch.no_grad():
                    scores = network(one, np.arange(len(one.right)))
                yield one.id, torch.softmax(scores, 0).numpy(), one.right


def told(asked: Asked, chances: np.ndarray, right: np.ndarray) -> Told | None:
    """What is read of a question; None: its candidates are others by now."""
    question = asked.with_candidates()
    if len(question.candidates) + 1 != len(chances):
        return None
    return _told(asked, question, chances, right)


def _told(asked: Asked, question: TableQuestion, chances: np.ndarray, right: np.ndarray) -> Told:
    places = {id(candidate): at for at, candidate in enumerate(question.candidates)}
    meant = list(given(question, chances[:-1], asked.over.table, asked.database))
    meant = sorted(meant, key=lambda one: -one.chance)[:READ]
    return Told(
        *(asked.id, asked.question, tuple(one.ways[0].told for one in meant)),
        tuple(log_chance(one.chance) for one in meant),
        log_chance(float(chances[-1])),
        tuple(bool(right[places[id(one.candidate)]]) for one in meant),
        bool(asked.gold),
    )


def of_others(sheets: Iterable[Asked], share: float, seed: int = 4) -> Iterator[Told]:
    """Questions about other sheets and about documents of the library, over the sheets of a share
    of the questions given: of two that are drawn the one that seems likelier to mean something."""
    chance, embedder = random.Random(seed), RememberingEmbedder()
    ours = [json.loads(line) for line in (examples.HERE / "questions.jsonl").open("rb")]
    of_documents = [one.question for one in questions()]
    for number, one in enumerate(sheets):
        if chance.random() >= share:
            continue
        sheet = one.id.rpartition("-")[0]
        others = [row["question"] for row in chance.sample(ours, 20) if row["sheet"] != sheet]
        drawn = chance.sample(of_documents if number % 2 else others, 2)
        strange = [replace(one, id=f"{sheet}-of others {number}", question=q) for q in drawn]
        made = [(asked, asked.with_candidates()) for asked in strange]
        found = [(asked, q, first_chances(q, embedder)) for asked, q in made if q.candidates]
        if found:
            asked, question, likely = min(found, key=lambda each: float(each[2][-1]))
            yield _told(asked, question, likely, np.zeros(len(likely), bool))


class QueryNetwork(torch.nn.Module):
    """The sentence ranker's network over queries, and how much the odds that are known count."""

    def __init__(self) -> None:
        from safetensors.torch import load_file

        super().__init__()
        self.reader = Network(ROWS, WIDTH)
        learnt = load_file(SENTENCE_RANKER / "model.safetensors")
        begun = {n: one.float() for n, one in learnt.items() if not n.startswith("head.")}
        self.reader.bert.load_state_dict(begun, strict=False)
        for part in (self.reader.bert.embeddings, *self.reader.bert.encoder.layer[:LOWEST]):
            part.requires_grad_(False)
        self.counts = torch.nn.Parameter(torch.ones(1))

    def forward(self, tokens: RankerTokens, asked: Sequence[Told], most: int) -> list[Tensor]:
        """Of each question the odds of its queries, and of nothing (queries + 1,); of more queries
        than `most` the first, and those that are right."""
        read = [_read(one, most) for one in asked]
        pairs = [
            *chain.from_iterable(
                tokens.inputs(one.question, [as_passage(one.queries[at]) for at in places])
                for one, places in zip(asked, read, strict=True)
            )
        ]
        scores = self.reader(pairs, [1] * len(pairs)).split([len(places) for places in read])
        return [
            torch.cat(
                [
                    self.counts * torch.tensor([one.chances[at] for at in places]) + score,
                    self.counts * one.nothing,
                ]
            )
            for one, places, score in zip(asked, read, scores, strict=True)
        ]


def _read(one: Told, most: int) -> list[int]:
    return [at for at, right in enumerate(one.right) if at < most or right]


def loss_of(odds: Tensor, one: Told, most: int) -> Tensor:
    """What all that is right together loses to all else; nothing is right if no query is."""
    right = [one.right[at] for at in _read(one, most)]
    gold = torch.tensor([*right, not any(right)])
    return torch.logsumexp(odds, 0) - torch.logsumexp(odds[gold], 0)


def train(asked: Sequence[Told], rounds: float, seed: int, state: Path) -> QueryNetwork:
    """Teach; goes on where it stood if `state` is there."""
    torch.manual_seed(seed)
    tokens, network = RankerTokens(), QueryNetwork()
    learning = [one for one in network.reader.parameters() if one.requires_grad]
    parts = [{"params": learning, "times": 1}, {"params": [network.counts], "times": _FACTOR}]
    optimizer = torch.optim.AdamW(parts, 0.0, (0.9, 0.99), weight_decay=0.01, fused=True)
    steps, first = int(len(asked) * rounds) // AT_ONCE, 0
    order = [at for n in range(int(rounds) + 1) for at in _order(len(asked), seed + n)]
    if state.exists():
        kept = torch.load(state, weights_only=False)
        network.load_state_dict(kept["network"])
        optimizer.load_state_dict(kept["optimizer"])
        first = kept["step"]
    losses: list[float] = []
    began = time.monotonic()
    for step in range(first, steps):
        falling = (steps - step) / steps * 1.1
        for part in optimizer.param_groups:
            part["lr"] = RATE * part["times"] * min(1.0, (step + 1) / WARM, max(0.02, falling))
        some = [asked[at] for at in order[step * AT_ONCE : (step + 1) * AT_ONCE]]
        odds = network(tokens, some, TAUGHT)
        each = [loss_of(found, one, TAUGHT) for found, one in zip(odds, some, strict=True)]
        total = torch.stack(each).mean()
        torch.autograd.backward(total)
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(float(total.detach()))
        if step % 100 == 99:
            pace = (time.monotonic() - began) / (step + 1 - first)
            print(
                f"{step + 1}/{steps} loss {np.mean(losses):.3f}, {pace:.2f} s a step, "
                f"known odds count {float(network.counts.detach()):.2f}",
                flush=True,
            )
            losses = []
            keep(state, network, optimizer, step=step + 1)
    return network


def _order(count: int, seed: int) -> list[int]:
    return random.Random(seed).sample(range(count), count)


@torch.no_grad()
def judged(network: QueryNetwork, asked: Sequence[Told]) -> str:
    """The share of what can be answered whose likeliest is right; of all, right and wrong by
    caution."""
    tokens = RankerTokens()
    found: list[tuple[float, bool]] = []
    for one in asked:
        if not one.queries:
            found.append((0.0, False))
            continue
        likely = torch.softmax(network(tokens, [one], READ)[0], 0)[:-1]
        best = int(likely.argmax())
        found.append((float(likely[best]), one.right[best]))
    right = sum(good for _, good in found) / sum(one.answerable for one in asked)
    shares = [
        f"{caution}: {sum(good for c, good in found if c >= caution) / len(found):.3f} right, "
        f"{sum(not good for c, good in found if c >= caution) / len(found):.3f} wrong"
        for caution in _CAUTIONS
    ]
    return f"{right:.3f} of what can be answered; {'; '.join(shares)}"


def save(network: QueryNetwork, folder: Path) -> None:
    """Write what `rag_app.answering.query_reading.QueryReader` reads."""
    export(network.reader, folder)
    about = json.loads((folder / ABOUT).read_text("utf-8"))
    about["counts"] = round(float(network.counts.detach()), 4)
    (folder / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def _groups(files: Sequence[Path], out: Path, data: Path | None) -> None:
    torch.set_num_threads(1)
    made = [one for file in files for one in pickle.loads(file.read_bytes())]
    known = {key: (chances, right) for key, chances, right in weighed(made)}
    sources = [examples.of_sheets(), examples.of_writer()]
    if data:
        sources.append(examples.of_wikitables(data))
    told_ = [told(one, *known[one.id]) for one in chain(*sources) if one.id in known]
    told_ += of_others((one for one in examples.of_sheets() if one.id in known), OTHERS)
    out.write_bytes(pickle.dumps([astuple(one) for one in told_ if one]))


def kept(file: Path) -> list[Told]:
    """The groups of a file."""
    return [Told(*row) for row in pickle.loads(file.read_bytes())]


def main(argv: Sequence[str]) -> int:
    """Make groups, or teach with them; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("what", choices=("groups", "train"))
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--rounds", type=float, default=1.0)
    parser.add_argument("--held", type=Path, nargs="*", default=())
    options = parser.parse_args(argv)
    if options.what == "groups":
        _groups(options.files, options.out, options.data)
        return 0
    asked = [one for file in options.files for one in kept(file) if one.queries]
    options.work.mkdir(parents=True, exist_ok=True)
    network = train(asked, options.rounds, 0, options.work / "state.pt")
    for file in options.held:
        print(file.name, judged(network, kept(file)), flush=True)
    if options.out:
        save(network, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
