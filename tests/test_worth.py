"""What a sentence is worth in a summary, by its looks and by where it stands."""

from __future__ import annotations

import pytest

from rag_app.answering.summarisation import speaks_of, stands_under, tells
from rag_app.retrieval.ranking import telling


@pytest.mark.parametrize(
    "sentence",
    [
        "The ferry to the island leaves every twenty minutes from the pier.",
        "In this report the board explains what the storm did to the pier.",
        "The company is headquartered in a small town on the coast.[2][citation needed]",
    ],
)
def test_a_sentence_that_stands_alone_is_worth_all(sentence):
    assert tells(sentence) == 1.0


@pytest.mark.parametrize(
    "sentence",
    [
        "Maintenance and parts 347 318 412 500 600 700 800 900.",
        "Annual Report 2025",
        "and every electric bicycle at least once every fourteen days.",
        "",
        "Indicate by check mark whether the registrant is a large accelerated filer.",
        "Roberts in focus, archived from the original on 2 July of that year.",
        "Keywords are ferries, islands, timetables, storms and the people on board.",
        "Copyright by the ferry company of the island and its many friends.",
        "19. Iwan Roberts was known for his headers by all of them there.",
        "Proposed Rules of the Federal Aviation Administration for Large Boeing Airplanes.",
        "This report contains forward-looking statements about what the company may do.",
        "Figure 3 shows the ferry as it leaves the pier of the town.",
    ],
)
def test_what_belongs_to_the_page_is_worth_nothing(sentence):
    assert tells(sentence) == 0.0


@pytest.mark.parametrize(
    "sentence",
    [
        "It leaves every twenty minutes from the pier of the old town.",
        "However, the ferry leaves every twenty minutes from the pier.",
        "To address these concerns, the ferry leaves every twenty minutes.",
        "As a result, the ferry now leaves every twenty minutes from the pier.",
        "In 2025 they moved ninety thousand bicycles from pier to pier.",
        "Why does the ferry leave so often from the pier of the town?",
        "If the weather is bad the ferry leaves only once in an hour.",
        "The rest of the paper is organised as follows by its many authors.",
    ],
)
def test_what_leans_on_others_is_worth_less(sentence):
    assert 0.0 < tells(sentence) < 1.0


def test_an_abstract_counts_more_than_an_introduction_and_references_hardly():
    abstract, opening, plain, aside = map(
        stands_under, ("Abstract", "1. Introduction", "4. Piers", "Appendix > References")
    )
    assert abstract > opening > plain > aside > 0
    assert stands_under("", "SUMMARY: The agency proposes a rule.") == abstract
    assert stands_under("", "Abstract\nFerries are slow.") == abstract
    assert stands_under("", "They gave a summary of it.") == plain


def test_words_of_the_title_and_phrases_that_say_what_it_is_about_count():
    title = telling("The ferry of Port Ellery")
    plain = speaks_of("Soup is sold from six in the morning.", title)
    named = speaks_of("Soup is sold on the ferry from six.", title)
    defined = speaks_of("A ferry is a boat that carries people.", title)
    meant = speaks_of("This report is about soup.", title)
    money = speaks_of("Net sales rose to 12 million.", title)
    assert plain == 1.0 < named < defined
    assert min(meant, money) > plain
