"""In every format a known sentence is found, cited, and its citation opens where it stands.

Scans and pictures, whose text is recognised, are in test_ocr.py; locked files in
test_locked_office.py."""

from __future__ import annotations

import re

import pytest
from round_trips import QUESTION, SENTENCE, Case, cases

from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.text.formats import FORMATS, PICTURES
from rag_app.types import Citation, Finished, Status
from tests.fakes import WordEmbedder

CASES = list(cases())
_ROWS = re.compile(r"(?:(?P<sheet>.+), )?rows (?P<first>\d+)–(?P<last>\d+)")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """One library with a file of every format."""
    folder = tmp_path_factory.mktemp("library")
    settings = Settings.load(data_dir=folder, models_dir=folder / "models", caution=0.2)
    with Library(settings, embedder=WordEmbedder()) as opened:
        ids = [opened.add(case.name, case.data).document.id for case in CASES]
        opened.wait(ids, timeout=120)
        parts = [document.id for document in opened.documents()]
        opened.wait(parts, timeout=60)
        yield opened


def cited(library: Library, case: Case) -> Citation:
    """The first citation of the answer from one document."""
    document = library.document(case.inside or case.name)
    assert document.status is Status.READY, document.error
    [*_, last] = library.ask(QUESTION, documents=[document.id])
    assert isinstance(last, Finished)
    assert last.answer.citations, last.answer.text
    return last.answer.citations[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.inside or case.name)
def test_the_citation_opens_where_the_sentence_stands(library, case):
    citation = cited(library, case)
    page = library.page(citation.document_id, citation.page)
    assert case.row or citation.page == case.page
    assert page.text[citation.start : citation.end] == citation.quote
    assert SENTENCE in citation.quote
    if case.row:
        rows = _ROWS.fullmatch(page.label)
        assert rows and (rows["sheet"] or "") == case.label
        assert int(rows["first"]) <= case.row <= int(rows["last"])
        assert page.text.count("number | note") == 1
    else:
        assert page.label == case.label
    assert bool(citation.boxes) == case.pictured


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.heading], ids=lambda case: case.name
)
def test_its_section_is_known(library, case):
    citation = cited(library, case)
    headings = library.headings(citation.document_id)
    above = [h for h in headings if (h.page, h.start) <= (citation.page, citation.start)]
    assert above[-1].text == case.heading
    found = [
        chunk
        for chunk in library.chunks(citation.document_id)
        if chunk.page == citation.page and chunk.start <= citation.start < chunk.end
    ]
    assert found[0].heading.endswith(case.heading)


def test_every_format_is_here():
    here = {"." + case.name.rpartition(".")[2] for case in CASES}
    assert set(FORMATS) - set(PICTURES) - here == set()
