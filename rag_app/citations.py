"""A draft and the passages it was made from -> text with [n] markers and checked citations.

Pure. A citation is a verbatim slice of a passage, or it is dropped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_app.types import Citation, Draft, Passage, Span

MARKER = re.compile(r" ?\[([1-9]\d{0,2})\]")
"""[n] in the text of an answer, with the space before it."""
_LIKE_A_MARKER = re.compile(r"\[(?=\d+\])")


def cite(draft: Draft, passages: Sequence[Passage]) -> tuple[str, tuple[Citation, ...]]:
    """The draft's text with a marker after each supported sentence, and the citations, from 1.

    Evidence that lies in none of the passages is dropped. The same span is cited once."""
    citations: dict[Span, Citation] = {}
    parts = []
    for sentence, evidence in zip(draft.sentences, draft.evidence, strict=True):
        markers = ""
        for span in evidence:
            if span not in citations:
                made = _citation(span, len(citations) + 1, passages, draft.shares)
                if made is None:
                    continue
                citations[span] = made
            markers += f"[{citations[span].number}]"
        said = _without_markers(sentence)
        body = said.rstrip()
        parts.append(f"{body} {markers}{said[len(body) :]}" if markers else said)
    return "".join(parts).strip(), tuple(citations.values())


def _without_markers(sentence: str) -> str:
    """A quoted "[1]" must not pass for one of our markers: an invisible joiner tells them apart."""
    return _LIKE_A_MARKER.sub("[\u2060", sentence)


def _citation(
    span: Span, number: int, passages: Sequence[Passage], shares: Sequence[float]
) -> Citation | None:
    for index, passage in enumerate(passages):
        chunk = passage.chunk
        same_page = (chunk.document_id, chunk.page) == (span.document_id, span.page)
        if same_page and chunk.start <= span.start < span.end <= chunk.end:
            quote = chunk.text[span.start - chunk.start : span.end - chunk.start]
            return Citation(
                number,
                span.document_id,
                passage.name,
                span.page,
                span.start,
                span.end,
                quote,
                share=shares[index] if index < len(shares) else None,
            )
    return None
