"""A question in another language than the documents: what is said, and what to try. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rag_app.answering.any_language import BY_WORDS
from rag_app.questions import APP
from rag_app.text.languages import NAMES, is_english, language
from rag_app.types import QUOTING, Answer, Document

APART = "Your question is {0}, and your documents are in {1}. Ask in {2}, or {3}."
BY_MODEL = "choose a language model under “Answers” at the top left"
BY_MEANING = (
    "choose “Others, or several” in Settings, under “Which languages are your documents in?”, "
    "and ask again"
)
_MOST_NAMED = 2  # languages
_FEWEST = 3  # words
_HARDLY = 0.2  # confidence, for other languages a share of the words that were found


def apart(question: str, documents: Sequence[Document], english: bool) -> str:
    """One sentence if a question is in English and no document is, or the other way round.

    Else empty: kindred languages are taken for each other in a few words. `english`: the model
    that finds by meaning knows no other language."""
    weights: dict[str, int] = {}
    for document in documents:
        if document.language in NAMES:
            weights[document.language] = weights.get(document.language, 0) + document.chunks
    in_english = is_english(question)
    if in_english and len(question.split()) < _FEWEST:  # so little is taken for English
        return ""
    if not weights or ("en" in weights if in_english else weights.keys() != {"en"}):
        return ""
    held = sorted(weights, key=lambda code: (-weights[code], code))[:_MOST_NAMED]
    named = [NAMES[code] for code in held]
    asked = "en" if in_english else language(question)
    what = f"in {NAMES[asked]}" if asked in NAMES else f"not in {named[0]}"
    tries = f"{BY_MEANING}; or {BY_MODEL}" if english else BY_MODEL
    return APART.format(what, " and ".join(named), named[0], tries)


def said_so(answer: Answer, sentence: str, english: bool) -> Answer:
    """An abstention with the sentence.

    It stands alone if what was found holds hardly a word of the question and was not found by a
    model that knows its language (`english`: it knows no other)."""
    if not (sentence and answer.abstained and answer.generator in QUOTING):
        return answer
    if english and answer.confidence < _HARDLY:
        return replace(answer, text=sentence, generator=APP, passages=(), notes=())
    notes = tuple(note for note in answer.notes if note != BY_WORDS)
    return replace(answer, notes=(*notes, sentence))
