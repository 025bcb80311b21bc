"""Which documents a wish means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.document_resolution import resolve_documents
from rag_app.answering.task_router import ON_DOCUMENTS, TaskRequest, wanted
from rag_app.retrieval.document_names import Label
from rag_app.types import Document, Status, Task
from tests.test_naming import named as names_of

SHELF = {
    "Q4 earnings release.txt": "",
    "RE boathouse.eml": "From: Mia Holm\nTo: Ann Lee\nSubject: Re: boat house\nHello Ann",
    "Roof repair offer.eml": "From: Tom Berg\nTo: Ann Lee\nSubject: Offer\nDear Ann",
    "Lease_contract_signed.pdf": "CONTRACT OF LEASE\nHarbour Trust",
    "Lighthouse guide.md": "",
    "Members 2024.csv": "",
    "Budget.xlsx": "",
    "Annual report 2018.pdf": "Harbour Museum",
    "Annual report 2022.pdf": "Harbour Museum",
    "GL_2022Q3.pdf": "FORM 10-Q\nQUARTERLY FILING\nGreat Lakes Inc.",
}
DOCUMENTS = [
    Document(name, name, f".{name.rsplit('.')[-1]}", 1, Status.READY, "2026-01-01")
    for name in SHELF
]
NAMES = names_of([Label(name, name, "", opening) for name, opening in SHELF.items()])
MAILS = ["RE boathouse.eml", "Roof repair offer.eml"]
REPORTS = ["Annual report 2018.pdf", "Annual report 2022.pdf"]


def named(wish: str, openings: bool = True) -> list[str]:
    task = wanted(wish)
    assert task is not None
    return [
        document.name for document in resolve_documents(task, DOCUMENTS, NAMES, openings).documents
    ]


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ("Summarise the earnings release", ["Q4 earnings release.txt"]),
        ("translate the contract", ["Lease_contract_signed.pdf"]),
        ("Summarise the lighthouse guide in German", ["Lighthouse guide.md"]),
        ("Summarise the guide to lighthouses", ["Lighthouse guide.md"]),
        ("summarise the 2018 report", REPORTS[:1]),
        ("summarise the latest annual report", REPORTS[1:]),
        ("give me a short summary of the lease agreement", ["Lease_contract_signed.pdf"]),
        ("summarise the Great Lakes filing", ["GL_2022Q3.pdf"]),
        ("summarise the filing of the third quarter of 2022", ["GL_2022Q3.pdf"]),
        ("Summarise Budget.xlsx and Members 2024.csv", ["Members 2024.csv", "Budget.xlsx"]),
    ],
)
def test_a_wish_names_documents_by_their_names_titles_and_first_pages(wish, expected):
    assert named(wish) == expected


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ("compare the two emails", MAILS),
        ("Summarise the e-mails about the roof", MAILS),
        ("compare the roof prices in the two messages", MAILS),
        ("summarise the email from Tom", MAILS[1:]),
        ("summarise Mia's emails", MAILS[:1]),
        ("summarise the spreadsheets", ["Members 2024.csv", "Budget.xlsx"]),
        ("summarise the spreadsheet of the members", ["Members 2024.csv"]),
        ("summarise the reports", REPORTS),
        ("Summarise the key messages of the lighthouse guide", ["Lighthouse guide.md"]),
        ("Translate the messages of the lighthouse guide", ["Lighthouse guide.md"]),
        ("Translate the word deposit", []),
    ],
)
def test_a_wish_names_documents_by_their_kind(wish, expected):
    assert named(wish) == expected


def test_each_part_of_a_comparison_names_its_own():
    wish = "what are the main differences between the lease and the roof offer?"
    assert named(wish) == ["Lease_contract_signed.pdf", "Roof repair offer.eml"]
    assert named("compare the 2018 and 2022 reports") == REPORTS
    wish = "compare the e-mail by Tom and the lighthouse guide"
    assert named(wish) == ["Roof repair offer.eml", "Lighthouse guide.md"]
    assert named("compare the contract with Tom's email") == [
        "Lease_contract_signed.pdf",
        "Roof repair offer.eml",
    ]


def test_one_document_is_compared_with_all_the_others():
    found = named("compare the lighthouse guide with the others")
    assert found[0] == "Lighthouse guide.md" and sorted(found) == sorted(SHELF)


@pytest.mark.parametrize(
    "wish",
    [
        "Summarise everything",
        "Summarise these documents",
        "Summarise this document",
        "summarise the presentation",
        "summarise the invoice",
        "Summarise what they say about prices",
        "summarise what is said about the lease",
        "summarise the most important points for my boss",
        "compare them",
        "Write an e-mail to the landlord",
        "write a report about rain",
        "Translate into German: the lease of the lighthouse ends in 2018",
    ],
)
def test_what_names_no_document_is_left_to_all_of_them(wish):
    assert named(wish) == []


def test_what_is_to_be_written_is_no_document_but_what_it_rests_on_is():
    assert named("write a reply to the email from Tom") == MAILS[1:]
    assert named("draft a memo on the 2022 annual report") == REPORTS[1:]


def test_words_of_first_pages_can_be_left_out():
    assert named("Summarise Tom", openings=False) == []
    assert named("Summarise the lighthouse", openings=False) == ["Lighthouse guide.md"]


def test_the_words_that_name_documents_are_told():
    task = TaskRequest(Task.COMPARISON, "compare the roof prices in the two emails")
    assert resolve_documents(task, DOCUMENTS, NAMES).words == {"emails"}


WORDS = ["compare", "summarise", "the", "and", "emails", "report", "2018", "of", "Ann's", ":", "\n"]


@given(
    st.sampled_from(ON_DOCUMENTS),
    st.lists(st.sampled_from(WORDS)).map(" ".join) | st.text(max_size=50),
)
def test_whatever_is_wished_documents_are_named_once_at_most(kind, wish):
    found = resolve_documents(TaskRequest(kind, wish), DOCUMENTS, NAMES).documents
    assert len({document.id for document in found}) == len(found)
    assert set(found) <= set(DOCUMENTS)
    assert resolve_documents(TaskRequest(kind, wish), [], NAMES).documents == ()


def test_what_is_said_once_holds_for_all_that_is_counted_up():
    shelf = [f"{who} {when} report.pdf" for who in ("Acme", "Globex") for when in (2018, 2022)]
    documents = [Document(n, n, ".pdf", 1, Status.READY, "2026-01-01") for n in shelf]
    names = names_of([Label(name, name) for name in shelf])

    def found(wish: str) -> list[str]:
        task = TaskRequest(Task.COMPARISON, wish)
        return [document.name for document in resolve_documents(task, documents, names).documents]

    assert found("compare the 2018 and 2022 Acme reports") == shelf[:2]
    assert found("compare Acme's and Globex's 2018 reports") == [shelf[0], shelf[2]]
    assert found("compare the Acme reports") == shelf[:2]


def test_names_that_are_written_out_are_taken_whole():
    names = ["report.pdf", "annual report.pdf", "Rain in Spain", "rain"]
    documents = [Document(n, n, ".pdf", 1, Status.READY, "2026-01-01") for n in names]
    known = names_of([Label(name, name) for name in names])

    def found(wish: str) -> list[str]:
        return [
            d.name
            for d in resolve_documents(TaskRequest(Task.SUMMARY, wish), documents, known).documents
        ]

    assert found("Summarise annual report.pdf") == ["annual report.pdf"]
    assert found("Summarise “report.pdf” and “Rain in Spain”") == ["report.pdf", "Rain in Spain"]
