"""A passage, and a reader that is as sure of its answer as it is told to be."""

from __future__ import annotations

from rag_app.answering.extraction import SpanEvidence
from rag_app.answering.span_model import SpanAnswer, Vote
from rag_app.types import Chunk, Draft, Passage, Span

FERRY = "The ferry costs four euros. Bicycles travel free of charge on the ferry."
PASSAGE = Passage(Chunk("d", 1, 0, 50, 50 + len(FERRY), FERRY), "guide.txt", 1.0)
QUESTION = "What does the ferry cost?"


class SureReader:
    """A reader that is as sure as it is told to be."""

    def __init__(self, odds: float) -> None:
        self._odds = odds

    def evidence(self, question, passages):
        at = FERRY.index("four")
        return SpanEvidence((SpanAnswer((Vote(0, at, at + 4, 0.0),), self._odds),))

    def drafted(self, question, passages, evidence):
        """What a reader quotes."""
        return Draft(("The ferry costs four euros.",), ((Span("d", 1, 50, 77),),), 0.9)

    def stressed(self, question, said):
        """The price, where it is said."""
        return "four euros" if "four euros" in said else ""
