"""A passage, questions about it and a small world of training data, for the training tests."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from training.data import Example, Span
from training.mixture import MadeRates, Mixture, SetPlan
from training.rounds import Source

RIVER = (
    "The Arno rises on Mount Falterona in 1854 metres of height. It flows through Florence and "
    "Pisa before it reaches the sea. The first bridge at Florence was finished in 1345, and the "
    "people of Florence crossed it every day. Mills were built along the banks by the Medici. "
    "In 1966 the greatest flood destroyed many paintings and books, which the city still mourns."
)


def example(question: str, answer: str, context: str = RIVER, name: str = "river") -> Example:
    return Example(name, question, context, (Span(answer, context.index(answer)),))


BRIDGE = example("When was the first bridge at Florence finished?", "1345")


def write_set(folder: Path, name: str, rows: list[Example]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as stream:
        for row in rows:
            answers = [{"text": s.text, "start": s.start} for s in row.answers]
            line = {"id": row.id, "question": row.question, "context": row.context}
            stream.write(json.dumps(line | {"answers": answers}) + "\n")


def write_tokenizer(folder: Path) -> Path:
    """A tokenizer that knows the words of the river."""
    words = sorted(set(RIVER.lower().replace(".", " .").replace(",", " ,").split()))
    asked = BRIDGE.question.lower().replace("?", " ?").split()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *dict.fromkeys([*words, *asked])]
    made = Tokenizer(
        models.WordLevel({word: at for at, word in enumerate(vocabulary)}, unk_token="[UNK]")
    )
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    file = folder / "tokenizer.json"
    made.save(str(file))
    return file


def tiny_source(seed: int = 3) -> Source:
    rows = [replace(BRIDGE, id=f"river-{number}") for number in range(40)]
    plan = SetPlan("tiny", 1.0, mined=True, made=True)
    rates = MadeRates(1.0, 1.0, 1.0, 1.0, keep_cut=1.0)
    contexts = [RIVER, "Pisa lies by the sea and knows nothing of bridges or of Florence."]
    found = {row.id: [1] for row in rows}
    return Source(Mixture((plan,), rates), {"tiny": rows}, contexts, found, seed)
