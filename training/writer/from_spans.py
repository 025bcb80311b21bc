"""Contexts made of questions whose answers are spans: whole sentences are written for them.

    python -m training.writer.from_spans --data DATA --writer FOLDER --out WORK/spans.jsonl

Each paragraph is shown with sentences of its nearest neighbours, as a search would. What is to be
said is written by the writer itself from question, span and the span's sentence, and kept only if
it holds the span and no word with a capital or a digit that neither the passages nor the question
have. Questions that the paragraph does not answer, and those of a neighbour, are to be refused."""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

from rag_app.answering.local_chat import OpenVinoChatModel
from rag_app.answering.prompts import Message, ReplyStatus
from rag_app.errors import ChatModelError
from rag_app.text.sentences import one_line, sentences
from training.data import Example, load
from training.noise import heading_of, misspell, plain_question
from training.text import normalise
from training.writer.contexts import Asked, Context, write

PLAN: Mapping[str, int] = {  # paragraphs of each set
    "squad_v11_train_du44": 170,
    "nq_part": 110,
    "squadshifts_reddit": 40,
    "squadshifts_amazon": 40,
}
UNANSWERED = ("squad2_unans_matched",)
MOST_ASKED = 4  # questions of a paragraph that it answers
MOST_REFUSED = 3
LENGTHS = (250, 1_000)  # characters of a paragraph
ROOM = 1_250  # characters of a context
MOST_WORDS = 28  # of a sentence
AT_ONCE = 8  # requests that the engine computes together

_EXAMPLES = (
    (
        "when did the mill open",
        "1872",
        "The mill on the Ouse was opened by the Harding family in 1872.",
        "The mill opened in 1872.",
    ),
    (
        "Who paid for the repair of the organ?",
        "a donor",
        "The repair of the organ was paid for by a donor who gave £400 more for tuning.",
        "The repair of the organ was paid for by a donor.",
    ),
    (
        "what size were the tiles he ordered?",
        "30 by 60",
        "Got the wrong tiles at first, he ordered 30 by 60 and they sent 45s.",
        "The tiles he ordered were 30 by 60.",
    ),
    (
        "Why was the ferry late on Sunday?",
        "a broken ramp",
        "Because of a broken ramp the ferry left Oban two hours late on Sunday.",
        "The ferry was late on Sunday because of a broken ramp.",
    ),
)
_TELL = (
    "You put a short answer into one full sentence that repeats the question's words. Add nothing."
)
_NAMES = ("{0}.pdf", "{0}.docx", "{0}.txt", "{0}.html", "notes on {0}.docx", "{0} (1).pdf")
_BEGINS_AS_QUESTION = re.compile(r"(?:what|which|who|whose|where|when|why|how)\b", re.IGNORECASE)
_TELLING = re.compile(r"\b(?:[A-Z]\w+|\w*\d[\w.,]*)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question that a paragraph answers, with its span and the span's sentence."""

    example: Example
    span: str
    sentence: str

    @property
    def messages(self) -> list[Message]:
        """What makes the writer put the span into a sentence."""
        said: list[Message] = [("system", _TELL)]
        for question, span, sentence, reply in _EXAMPLES:
            said += [("human", _shown(question, span, sentence)), ("ai", reply)]
        return [*said, ("human", _shown(self.example.question, self.span, self.sentence))]


def _shown(question: str, span: str, sentence: str) -> str:
    return f"Text: {one_line(sentence)}\nQuestion: {question}\nShort answer: {one_line(span)}"


def is_faithful(sentence: str, wanted: Wanted, passages: str) -> bool:
    """Whether a written sentence holds its span and nothing that stands nowhere."""
    if normalise(wanted.span) not in normalise(sentence) or len(sentence) > 260:
        return False
    if "?" in sentence or _BEGINS_AS_QUESTION.match(sentence):
        return False
    if not len(wanted.span.split()) + 2 <= len(sentence.split()) <= MOST_WORDS:
        return False
    given = f"{passages} {wanted.example.question}".lower()
    return all(word.lower() in given for word in _TELLING.findall(sentence)[1:])


def paragraphs(
    data: Path, rng: random.Random
) -> Iterator[tuple[str, list[Example], list[Example]]]:
    """Paragraphs with the questions they answer, and those they do not."""
    refused = defaultdict(list)
    for name in UNANSWERED:
        for one in load(data / "train" / f"{name}.jsonl.gz"):
            refused[one.context].append(one)
    for name, most in PLAN.items():
        held = defaultdict(list)
        for one in load(data / "train" / f"{name}.jsonl.gz"):
            if LENGTHS[0] <= len(one.context) <= LENGTHS[1]:
                held[one.context].append(one)
        order = sorted(held)
        rng.shuffle(order)
        order.sort(key=lambda text: -min(len(refused[text]), MOST_REFUSED))
        for text in order[:most]:
            asked = rng.sample(held[text], min(MOST_ASKED, len(held[text])))
            yield text, asked, refused[text][:MOST_REFUSED]


def neighbours(texts: Sequence[str]) -> list[list[int]]:
    """The five nearest other texts of each by their words."""
    matrix = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit_transform(texts)
    near = (matrix @ matrix.T).toarray()
    return [[int(j) for j in row.argsort()[::-1] if j != i][:5] for i, row in enumerate(near)]


def _lines(text: str) -> list[str]:
    return [one_line(text[start:end]) for start, end in sentences(text)]


def _named(text: str, rng: random.Random) -> str:
    name = re.sub(r"[^\w ]", "", heading_of(text)).strip() or "notes"
    return rng.choice(_NAMES).format(name if rng.random() < 0.6 else name.lower())


def _passages(
    text: str, others: Sequence[str], rng: random.Random
) -> tuple[tuple[tuple[str, str], ...], list[int]]:
    """The paragraph among sentences of its neighbours, and which neighbours are shown."""
    parts = [(_named(text, rng), "\n".join(_lines(text)))]
    used, room = [], ROOM - len(text)
    for number, other in enumerate(others):
        lines = _lines(other)
        begin = rng.randrange(max(1, len(lines) - 2))
        some = "\n".join(lines[begin : begin + 3])
        if len(some) < room and len(parts) < 4:
            parts.append((_named(other, rng), some))
            used.append(number)
            room -= len(some)
    rng.shuffle(parts)
    return tuple(parts), used


def _typed(question: str, rng: random.Random) -> str:
    if rng.random() < 0.1:
        question = misspell(question, rng)
    return plain_question(question) if rng.random() < 0.4 else question


def _sentence_of(example: Example) -> str:
    span = example.answers[0]
    around = [
        example.context[start:end]
        for start, end in sentences(example.context)
        if start < span.end and span.start < end
    ]
    return " ".join(around)


def _reply(model: OpenVinoChatModel, wanted: Wanted) -> str:
    try:
        return one_line(str(model.invoke(wanted.messages, max_tokens=70).text))
    except ChatModelError as error:
        print(error, file=sys.stderr)
        return ""


def made(data: Path, model: OpenVinoChatModel, seed: int) -> Iterator[Context]:
    """The contexts; those in which nothing is answered or nothing refused are left out."""
    rng = random.Random(seed)
    found = list(paragraphs(data, rng))
    texts = [text for text, _, _ in found]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for (text, asked, refused), near in zip(found, neighbours(texts), strict=True):
            passages, used = _passages(text, [texts[i] for i in near], rng)
            whole = "\n".join(f"{title}\n{body}" for title, body in passages)
            wanted = [Wanted(one, one.answers[0].text, _sentence_of(one)) for one in asked]
            replies = list(pool.map(lambda one: _reply(model, one), wanted))
            rows = [
                Asked(_typed(one.example.question, rng), "English", ReplyStatus.ANSWERED, reply)
                for one, reply in zip(wanted, replies, strict=True)
                if is_faithful(reply, one, whole)
            ]
            strange = [one for n in used for one in found[near[n]][1]]
            strange = [
                one for one in strange if normalise(one.answers[0].text) not in normalise(whole)
            ]
            others = [*refused, *rng.sample(strange, min(1 if refused else 2, len(strange)))]
            rows += [
                Asked(_typed(one.question, rng), "English", ReplyStatus.ABSENT, "")
                for one in others
            ]
            rng.shuffle(rows)
            print(f"{len(wanted)} wanted, {len(rows)} kept", file=sys.stderr, flush=True)
            if rows:
                yield Context(passages, tuple(rows))


def main(argv: Sequence[str]) -> int:
    """Make the contexts and write them; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds train/")
    parser.add_argument("--writer", type=Path, required=True, help="folder of its weights")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args(argv)
    model = OpenVinoChatModel(folder=str(options.writer))
    write(options.out, made(options.data, model, options.seed))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
