"""Which work an utterance asks for, told by the network that comes with the app."""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fakes import WordEmbedder

from rag_app.answering.task_router import ABOUT, FOLDER, LONGEST, Router, chitchat, opening
from rag_app.errors import ModelUnavailable
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Task

REPLIES = FOLDER.parents[1] / "answering" / "chitchat.jsonl"


@pytest.fixture(scope="module")
def router():
    made = Router(threads=1)
    made.warm()
    return made


@pytest.mark.parametrize(
    ("said", "task"),
    [
        ("What is the notice period?", Task.QUESTION),
        ("can i have a dog in the flat", Task.QUESTION),
        ("who translated the book", Task.QUESTION),
        ("does the contract say i have to write to them", Task.QUESTION),
        ("how many members have not paid", Task.COMPUTATION),
        ("total spend per supplier", Task.COMPUTATION),
        ("what did we spend on cleaning in total", Task.COMPUTATION),
        ("sum up the minutes in five bullets", Task.SUMMARY),
        ("worum geht es in diesem dokument", Task.SUMMARY),
        ("compare the two offers", Task.COMPARISON),
        ("put my notice in for me, two weeks", Task.DRAFT),
        ("escribe un correo al casero para pedir la fianza", Task.DRAFT),
        ("Translate the letter into French", Task.TRANSLATION),
        ("wot can u do then", Task.CHITCHAT),
        ("Danke dir!", Task.CHITCHAT),
    ],
)
def test_an_utterance_is_taken_for_what_it_asks_for(router, said, task):
    assert router.route(said).task is task


@pytest.mark.parametrize(
    ("said", "entry"),
    [
        ("good morning", "greeting"),
        ("thank you so much", "thanks"),
        ("who made you", "who"),
        ("what can you do", "abilities"),
        ("tell me a joke", "joke"),
        ("asdf jkl", "nothing"),
    ],
)
def test_chitchat_says_which_entry_it_is(router, said, entry):
    assert router.route(said).entry == entry


def test_every_entry_of_chitchat_can_be_told_and_has_a_reply_in_three_languages():
    rows = [json.loads(line) for line in REPLIES.read_text("utf-8").splitlines()]
    labels = json.loads((FOLDER / ABOUT).read_text("utf-8"))["labels"]
    told = {name.partition("/")[2] for name in labels if name.startswith("chitchat/")}
    assert told == {row["id"] for row in rows}
    assert {name.partition("/")[0] for name in labels} == {str(task) for task in Task}
    for row in rows:
        replies = {chitchat(row["id"], said) for said in ("Who are you?", "Wer bist du?", "¿Qué?")}
        assert replies == {row["reply"][language] for language in ("en", "de", "es")}


def test_chances_add_up_to_one_whatever_is_typed(router):
    for said in ("", "?", "🙂", "a" * 5_000, "word " * 3_000, "\x00\n"):
        assert sum(router.chances(said).values()) == pytest.approx(1.0)


def test_what_is_pasted_between_beginning_and_end_is_not_looked_at(router):
    wish = "Please translate the following text into German: "
    pasted = [
        wish + "The rent is due. " * 40 + middle * 100 + "Thank you. " * 30
        for middle in ("why? ", "no ")
    ]
    assert opening(pasted[0]) == opening(pasted[1])
    assert len(opening(pasted[0]).split()) < LONGEST
    assert router.route(pasted[0]).task is Task.TRANSLATION


@pytest.mark.parametrize(
    "question", ["antworte auf deutsch: wie hoch ist die Kaution?", "in English: who pays for it?"]
)
def test_what_is_in_the_language_that_is_named_is_not_to_be_translated(router, question):
    assert router.route(question).task is Task.QUESTION


@pytest.mark.parametrize("brought", ["The ferry costs four euros.", "How many are unpaid?", "hi"])
def test_a_text_that_is_to_be_translated_says_nothing_of_what_is_wanted(router, brought):
    routed = router.route(f"Translate into German: {brought}")
    assert (routed.task, routed.entry) == (Task.TRANSLATION, "")


def test_in_a_language_that_no_example_has_everything_is_a_question(router):
    assert router.route("契約書を英語に翻訳してください").task is Task.QUESTION
    assert router.route("Переведи договор на английский").task is Task.QUESTION


def test_several_threads_hear_the_same(router):
    said = ["compare the two offers", "hello", "What is the rent?"] * 8
    barrier = threading.Barrier(4)

    def told(_: int):
        barrier.wait(timeout=30)
        return [router.route(one) for one in said]

    with ThreadPoolExecutor(4) as pool:
        heard = list(pool.map(told, range(4)))
    assert heard == [heard[0]] * 4


@pytest.mark.parametrize("torn", ["model.safetensors", ABOUT])
def test_torn_weights_are_said_and_what_was_typed_is_asked(tmp_path, monkeypatch, torn):
    folder = shutil.copytree(FOLDER, tmp_path / "router")
    data = (folder / torn).read_bytes()
    (folder / torn).write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelUnavailable, match="make install"):
        Router(folder).warm()
    settings = Settings(data_dir=tmp_path / "data", generator="quotes")
    with Library(settings, embedder=WordEmbedder()) as library:
        monkeypatch.setattr(library._questioner, "_router", Router(folder))
        added = library.add("selby.txt", b"The harbour of Selby has nine berths.")
        library.wait([added.document.id])
        *_, last = library.ask("How many berths has the harbour of Selby?")
    assert "nine" in last.answer.text
