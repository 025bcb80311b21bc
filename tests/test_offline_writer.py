"""The main job with the language model that comes with the app: whole sentences, cited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from rag_app.answering.query_rewriting import Rewriter, Turn
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Answer, Basis, Delta, Finished
from tests import writers

SAMPLES = Path(str(files("rag_app") / "samples"))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    model = writers.DEFAULT
    writers.real(model)  # or skipped
    settings = Settings.load(
        data_dir=tmp_path_factory.mktemp("written") / "data",
        models_dir=writers.MODELS,
        writer=model.key,
    )
    with Library(settings) as opened:
        [sample] = SAMPLES.glob("*.pdf")
        added = opened.add(sample.name, sample)
        opened.wait([added.document.id], timeout=120)
        yield opened
    writers.let_go()


def ask(library: Library, question: str) -> tuple[str, Answer]:
    events = list(library.ask(question))
    assert isinstance(events[-1], Finished)
    return "".join(e.text for e in events if isinstance(e, Delta)), events[-1].answer


def test_a_question_is_answered_in_a_written_sentence_with_its_source(library):
    shown, answer = ask(library, "How often is every bicycle inspected?")
    assert "21 days" in shown and "21 days" in answer.text
    assert answer.basis is Basis.WRITTEN and not answer.abstained
    [cited, *_] = answer.citations
    page = library.page(cited.document_id, cited.page)
    assert page.text[cited.start : cited.end] == cited.quote and "21 days" in cited.quote


def test_a_conversation_gets_a_title_and_one_that_a_person_gave_stays(library):
    question = "how often do you guys actually check the bikes for safety?"
    begun = library.conversations.start(question)
    library.conversations.ask(begun, question)
    library.entitle(begun)
    title = library.conversations.conversation(begun).title
    assert title != question and 0 < len(title) <= 60 and "\n" not in title
    library.conversations.rename(begun, "Mine")
    library.entitle(begun)
    assert library.conversations.conversation(begun).title == "Mine"


def test_what_no_document_says_is_not_answered_out_of_the_model_s_own_memory(library):
    _, answer = ask(library, "What is the capital of Mongolia?")
    assert answer.abstained and answer.basis is Basis.NONE and "Ulaan" not in answer.text


@pytest.mark.parametrize(
    ("before", "question", "wanted"),
    [
        ("What was the revenue of Acme Corp in 2020?", "and in 2021?", {"revenue", "acme", "2021"}),
        ("how many nights did we sell in may", "and in june?", {"nights", "sell", "june"}),
        ("what do the oakford learners owe", "and in Hartley?", {"owe", "hartley"}),
        ("how many plots have no shed?", "which ones?", {"which", "plots", "shed"}),
        ("what is the notice period in the lease", "and the deposit?", {"deposit", "lease"}),
        ("Did Acme split in 1969?", "why?", {"why", "acme", "split", "1969"}),
    ],
)
def test_a_question_that_is_only_the_part_that_is_new_is_written_out(
    library, before, question, wanted
):
    model = writers.real(writers.DEFAULT)
    rewriter = Rewriter(lambda messages, cancelled: str(model.invoke(list(messages)).text), True)
    made = rewriter.rewrite(question, [Turn(before, "It was 5.")])
    assert wanted <= set(re.findall(r"\w+", made.lower()))
