"""A question that nothing answers in its own language is looked for in another one, once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rag_app.answering.answer_language import language_left
from rag_app.answering.prompts import NOT_IN_DOCUMENTS
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Answer, Document, Finished, Sources, Status
from tests.fakes import WordEmbedder
from tests.servers import Script, scripted_server

FERRY = "The ferry company carries people between the island and the town all year long.\n"
HOUSE = "The boat house of the town is cleaned by the members on the first day of the month.\n"
RULES = (
    "Ordnung des Rudervereins. Gäste dürfen höchstens dreimal im Jahr mitrudern, und zwar nur in "
    "Begleitung eines Mitglieds. Für jede Fahrt sind acht Euro zu bezahlen.\n"
)
ASKED = "How often may people come along in the boat?"


Opened = tuple[Library, Script]


@pytest.fixture
def opened(tmp_path) -> Iterator[Opened]:
    with scripted_server() as (url, script):
        script.words = [NOT_IN_DOCUMENTS]
        script.replies = {
            "Translate the question into German": "Wie oft dürfen Gäste im Jahr mitrudern?",
            "höchstens dreimal": "Guests may come along three times a year.",
        }
        settings = Settings.load(
            data_dir=tmp_path / "data", caution=0.2, top_k=1, generator=f"openai:m@{url}"
        )
        with Library(settings, embedder=WordEmbedder()) as library:
            yield library, script


def add(library: Library, **texts: str) -> None:
    added = [library.add(f"{name}.txt", text.encode()) for name, text in texts.items()]
    library.wait([one.document.id for one in added], timeout=30)


def asked(library: Library) -> tuple[list[Sources], Answer]:
    *events, last = library.ask(ASKED)
    assert isinstance(last, Finished)
    return [one for one in events if isinstance(one, Sources)], last.answer


def test_what_stands_in_a_document_in_another_language_is_found_at_the_second_look(opened):
    library, _ = opened
    add(library, ferry=FERRY * 4, house=HOUSE * 4, rules=RULES)
    sources, answer = asked(library)
    assert answer.text.startswith("Guests may come along three times a year.")
    assert [p.name for p in answer.passages] == ["rules.txt"]
    first, second = ([p.name for p in one.passages] for one in sources)
    assert first != ["rules.txt"] == second


def test_where_the_second_look_finds_nothing_either_the_first_counts(opened):
    library, script = opened
    del script.replies["höchstens dreimal"]
    add(library, ferry=FERRY * 4, house=HOUSE * 4, rules=RULES)
    sources, answer = asked(library)
    assert answer.abstained and len(sources) == 2
    assert answer.passages == sources[0].passages


def test_documents_of_one_language_are_looked_through_once(opened):
    library, script = opened
    add(library, ferry=FERRY * 4, house=HOUSE * 4)
    sources, answer = asked(library)
    assert answer.abstained and len(sources) == 1
    assert not any("Translate" in str(one) for one in script.asked)


@pytest.mark.parametrize(
    ("question", "languages", "left"),
    [
        (ASKED, ("en", "en", "de"), "German"),
        (ASKED, ("en", "de", "de", "es", "es", "es", "es"), "German"),  # Spanish was searched
        (ASKED, ("en",), ""),
        (ASKED, (), ""),
        ("Wie oft dürfen Gäste im Jahr mitrudern?", ("en", "en", "de"), ""),
        ("Boats?", ("en", "de"), ""),  # too little to know its language by
    ],
)
def test_the_language_that_is_left_is_neither_the_questions_nor_that_of_most(
    question, languages, left
):
    documents = [
        Document(str(n), "a", ".txt", 1, Status.READY, "", chunks=1, language=code)
        for n, code in enumerate(languages)
    ]
    assert language_left(question, documents) == left
