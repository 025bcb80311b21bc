from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.chain import cite
from rag_app.types import Chunk, Draft, Passage, Span

TEXT = "Cats purr. Dogs bark. Cows moo."
PASSAGE = Passage(Chunk("d", 3, 0, 100, 100 + len(TEXT), TEXT), "pets.txt", 1.0)


def draft(*evidence: tuple[Span, ...]) -> Draft:
    return Draft(tuple(f"Sentence {n}.\n\n" for n in range(len(evidence))), evidence, 0.9)


def test_a_citation_is_a_verbatim_slice_with_its_place():
    text, [citation] = cite(draft((Span("d", 3, 111, 121),)), [PASSAGE])
    assert text == "Sentence 0. [1]"
    assert (citation.quote, citation.page, citation.name) == ("Dogs bark.", 3, "pets.txt")


def test_evidence_outside_the_passages_is_dropped():
    outside = [
        Span("d", 3, 99, 110),  # begins before
        Span("d", 3, 111, 999),  # ends after
        Span("d", 4, 111, 121),  # another page
        Span("e", 3, 111, 121),  # another document
        Span("d", 3, 121, 121),  # nothing
        Span("d", 3, 121, 111),  # backwards
    ]
    assert cite(draft(tuple(outside)), [PASSAGE]) == ("Sentence 0.", ())


def test_the_same_span_is_cited_once():
    span = Span("d", 3, 100, 110)
    text, citations = cite(draft((span,), (span, Span("d", 3, 111, 121))), [PASSAGE])
    assert text == "Sentence 0. [1]\n\nSentence 1. [1][2]"
    assert [c.number for c in citations] == [1, 2]


def test_a_bracketed_number_in_a_quote_is_no_marker():
    said = Draft(("As shown in [1] and [x].",), ((Span("d", 3, 100, 110),),), 0.9)
    text, _ = cite(said, [PASSAGE])
    assert re.findall(r"\[\d+\]", text) == ["[1]"] and text.endswith("[1]")
    assert text.replace("\u2060", "") == "As shown in [1] and [x]. [1]"


spans = st.builds(
    Span, st.sampled_from(["d", "e"]), st.integers(2, 4), st.integers(90, 140), st.integers(90, 140)
)


@given(st.lists(st.lists(spans, max_size=3).map(tuple), max_size=4))
def test_whatever_the_evidence_every_quote_is_in_its_passage(evidence):
    text, citations = cite(draft(*evidence), [PASSAGE])
    for citation in citations:
        assert TEXT[citation.start - 100 : citation.end - 100] == citation.quote != ""
        assert f"[{citation.number}]" in text
    assert [c.number for c in citations] == list(range(1, len(citations) + 1))
