"""What a sentence is worth in a summary: by its looks, by the title, and by what it is like."""

from __future__ import annotations

import numpy as np
import pytest

from rag_app.answering.summarisation import _is_own, _under, stands_alone, worth
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.retrieval.ranking import telling
from tests.fakes import WordEmbedder


@pytest.mark.parametrize(
    "sentence",
    [
        "The ferry to the island leaves every twenty minutes from the pier.",
        "In this report the board explains what the storm did to the pier.",
        "The company is headquartered in a small town on the coast.[2][citation needed]",
        "Die Fähre zur Insel legt alle zwanzig Minuten von der Mole ab.",
    ],
)
def test_a_whole_sentence_stands_alone(sentence):
    assert stands_alone(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Maintenance and parts 347 318 412 500 600 700 800 900.",
        "Annual Report 2025",
        "and every electric bicycle at least once every fourteen days.",
        "",
        "1 2 3 4 5 6.",
        "Proposed Rules of the Federal Aviation Administration for Large Boeing Airplanes.",
    ],
)
def test_rows_of_figures_stubs_and_headings_do_not_stand_alone(sentence):
    assert not stands_alone(sentence) and worth(sentence, set()) == 0.0


def test_words_of_the_title_count():
    title = telling("The ferry of Port Ellery")
    plain = worth("Soup is sold from six in the morning.", title)
    named = worth("Soup is sold on the ferry from six.", title)
    assert plain == 1.0 < named


def test_an_abstract_counts_more_than_other_sections_and_references_hardly():
    under = _under(
        ["Abstract", "Executive summary", "4. Piers", "", "Appendix > References"],
        MiniLmEmbedder(1),
    )
    assert under["Abstract"] == under["Executive summary"] > under["4. Piers"] == under[""]
    assert under["4. Piers"] > under["Appendix > References"] > 0


def test_what_is_printed_on_every_form_is_worth_next_to_nothing():
    embedder = MiniLmEmbedder(1)
    texts = [
        "Indicate by check mark if the company has elected not to use the transition period.",
        "This document contains certain forward-looking statements about the company.",
        "The Tenant shall report any leak within 48 hours of becoming aware of it.",
        "In 2025 our riders made 684,200 trips, 18 percent more than the year before.",
    ]
    own = _is_own(np.asarray(embedder.embed_documents(texts)), embedder)
    assert max(own[:2]) < 0.2 and min(own[2:]) == 1.0
    assert np.array_equal(_is_own(np.eye(3), WordEmbedder()), np.ones(3)), "another model"
