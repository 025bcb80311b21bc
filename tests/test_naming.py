from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.retrieval.document_names import Catalogue, DocumentMarks, Label, Names
from rag_app.scope import WORKER
from rag_app.storage import Store
from rag_app.types import Document, Page, Reading, Status


def named(labels: list[Label]) -> Names:
    return Names({one.id: DocumentMarks.of(one) for one in labels})


FILINGS = named(
    [
        Label("w18", "NORTHWIND_2018_10K.pdf"),
        Label("w22", "NORTHWIND_2022_10K.pdf"),
        Label("q2", "Northwind2023Q2_10Q.pdf"),
        Label("gl", "GREATLAKES_2022_10K.pdf"),
        Label("dd", "DALE_DALE_2022_10K.pdf", "Form 10-K of Dale & Dale"),
        Label("t", "2023 Q3 QRTZ.pdf", "", "FORM 10-Q\nQuartz Instruments Inc.\nQRTZ"),
    ]
)


def best(question: str, names: Names = FILINGS) -> list[str]:
    named = names.prior(question)
    most = max(named.values(), default=0.0)
    return sorted(document for document, value in named.items() if value == most)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What was Northwind's revenue in 2018?", ["w18"]),
        ("What was northwind's revenue in FY22?", ["w22"]),
        ("Did Northwind grow between FY2018 and FY2022?", ["w22"]),
        ("What did Northwind earn in the second quarter of 2023?", ["q2"]),
        ("What did Northwind earn in Q2 of FY2023?", ["q2"]),
        ("How many ships has Great Lakes?", ["gl"]),
        ("What is D&D's margin?", []),
        ("What is DnD's margin?", ["dd"]),
        ("How large is Quartz?", ["t"]),
        ("What did NORTH earn in 2018?", ["w18"]),
        ("What does the most recent report of Northwind say?", ["q2"]),
        ("How do I make tea?", []),
    ],
)
def test_a_document_is_known_by_what_people_call_it(question, expected):
    assert best(question) == expected


def test_a_library_of_one_document_has_nothing_to_tell_apart():
    assert named([Label("a", "Harbour rules.pdf")]).prior("What do the harbour rules say?") == {}


def test_a_word_that_all_names_share_names_none():
    names = named([Label("a", "Report north.pdf"), Label("b", "Report south.pdf")])
    assert best("What does the report say?", names) == []
    assert best("What does the report on the north say?", names) == ["a"]


def test_a_year_in_an_amount_names_nothing():
    assert best("Which item cost $2018?") == []


def test_a_name_in_small_letters_counts_less_where_the_question_has_capitals():
    names = named([Label("b", "Block 2020.pdf"), Label("f", "Ferry 2020.pdf")])
    loud, low = names.prior("What did Block earn?")["b"], names.prior("Does Ann block it?")["b"]
    assert 0 < low < loud


words = st.text(alphabet="abcQ 2018_-.", max_size=20)


@given(st.lists(words, min_size=2, max_size=5), words)
def test_a_prior_is_a_share_whatever_the_names(called, question):
    labels = [Label(str(number), name) for number, name in enumerate(called)]
    found = named(labels).prior(question)
    assert all(0 < value <= 1 + 1e-9 for value in found.values())
    assert set(found) <= {label.id for label in labels}


def test_each_word_of_a_text_tells_whom_it_names():
    called = FILINGS.called("the Northwind reports of FY2022")
    assert set(called["northwind"]) == {"w18", "w22", "q2"}
    assert set(called["2022"]) == {"w22", "gl", "dd"}
    assert called["reports"] == {}
    assert set(FILINGS.called("Quartz")["quartz"].values()) == {0.5}


def test_a_name_is_known_in_another_number_and_written_apart():
    names = named([Label("l", "Lighthouse guide.md"), Label("p", "Company policies.pdf")])
    assert set(names.called("lighthouses")["lighthouses"]) == {"l"}
    assert set(names.called("policy")["policy"]) == {"p"}
    assert set(FILINGS.called("great lakes")["lakes"]) == {"gl"}
    assert set(FILINGS.called("DnD")["dnd"]) == {"dd"}


def test_the_newest_is_that_of_the_latest_date():
    assert FILINGS.newest(["w18", "w22", "gl"]) == ["w22", "gl"]
    assert FILINGS.newest([]) == []


@given(words)
def test_a_word_is_told_to_name_none_or_documents_that_there_are(text):
    for held in FILINGS.called(text).values():
        assert set(held) <= {"w18", "w22", "q2", "gl", "dd", "t"}
        assert all(0 < weight <= 1 for weight in held.values())


def test_a_scan_is_called_what_its_page_says_once_that_is_recognised(database):
    store = Store(database)
    for id, name in (("a", "scan 1.pdf"), ("b", "scan 2.pdf")):
        store.add_document(Document(id, name, ".pdf", 1, Status.RECEIVED, "2024"))
        store.save_reading(id, Reading((Page(1, ""),)))
        store.save_chunks(id, [])
    catalogue = Catalogue(store)
    ask = "How large is Quartz?"
    assert not best(ask, catalogue.names(store.documents(WORKER), WORKER))
    store.save_reading("a", Reading((Page(1, "FORM 10-Q\nQuartz Instruments Inc.\nQRTZ"),)))
    store.save_chunks("a", [])
    assert best(ask, catalogue.names(store.documents(WORKER), WORKER)) == ["a"]
    store.close()
