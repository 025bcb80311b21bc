"""Which sentence of the documents supports which sentence of an answer."""

from __future__ import annotations

import pytest

from rag_app.answering.attribution import known_figures, support, support_in
from rag_app.answering.evidence import gather
from rag_app.tables.rows import LabelledRow
from rag_app.types import Chunk, Passage
from tests.fakes import WordEmbedder

LEASE = (
    "The rent is £1,250.00 per month. The deposit is £1,355. Notice is three months. "
    "The agent is Fernley & Holt."
)


def passage(text, name="lease.pdf"):
    return Passage(Chunk("d", 1, 0, 20, 20 + len(text), text), name, 1.0)


def sources(said, text=LEASE, asked=""):
    found = passage(text)
    excerpts = gather([asked or said], [found], lambda texts: [9] * len(texts), 900)
    judged = support_in(said, excerpts, WordEmbedder(), asked)
    return [[text[s.start - 20 : s.end - 20] for s in one.evidence] for one in judged]


def test_a_sentence_is_matched_to_the_sentence_that_holds_it():
    assert sources("The rent is 1250 pounds per month.") == [["The rent is £1,250.00 per month."]]


def test_a_number_that_the_source_lacks_leaves_a_sentence_without_source():
    assert sources("The rent is 1,350 pounds per month.") == [[]]
    assert sources("The notice is two months.") == [[]]
    assert sources("Notice is 3 months.") == [["Notice is three months."]]


def test_a_number_of_the_question_needs_no_source():
    asked = "What is the rent per month for 17 people?"
    said = "The rent per month for 17 people is £1,250.00."
    assert sources(said, asked=asked)[0] and not sources(said)[0]


def test_what_was_found_counts_as_what_was_shown():
    [one] = support("The deposit is £1,355.", [passage(LEASE)], WordEmbedder())
    assert len(one.evidence) == 1


def test_an_answer_in_another_language_is_held_by_its_numbers_and_names():
    said = "Die Kaution beträgt 1.355 Pfund und wird von der Agentur verwahrt."
    assert sources(said) == [["The deposit is £1,355."]]
    assert sources("Die Kaution beträgt 1.455 Pfund und wird von der Agentur verwahrt.") == [[]]
    said = "Zuständig ist die Agentur Fernley in der Hauptstraße."
    assert sources(said) == [["The agent is Fernley & Holt."]]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Hunde dürfen das Hotel nicht betreten.", "Breakfast in the hotel is served at noon."),
        (
            "The hotel takes no dogs from Berlin, Vienna or Prague.",
            "Das Hotel liegt nahe bei Berlin Mitte.",
        ),
    ],
)
def test_a_word_that_two_languages_share_makes_no_source(said, text):
    assert sources(said, text) == [[]]


def test_an_interjection_claims_nothing():
    assert sources("Yes. The deposit is £1,355.")[0] == []


@pytest.mark.parametrize(
    "text",
    [
        "The new rent from 1 Sept 2026 is £540.",
        "The new rent from 2026-09-01 is £540.",
        "The new rent from 01/09/2026 is £540.",
    ],
)
def test_a_month_is_the_same_however_it_is_written(text):
    assert sources("From 1 September 2026 the new rent is £540.", text) == [[text]]
    assert sources("From 1 October 2026 the new rent is £540.", text) == [[]]


def test_a_small_word_is_no_month():
    text = "You may march in the sun from 1 on; 7 sat."
    assert {"May", "March", "Sun", "Satur"}.isdisjoint(known_figures(text))
    assert {"September", "October", "Tues"} <= known_figures("from sept to oct, each tues")


def test_a_row_supports_what_its_columns_say_of_it():
    text = "Room | Tenant | New rent from 1 Sept 2026\n3 Dean Marsh £515 £540\nTotal £2,040"
    start = text.index("3 Dean")
    found = passage(text)
    row = LabelledRow(
        20 + start,
        20 + text.index("\nTotal"),
        "Room: 3; Tenant: Dean Marsh; Old rent: £515; New rent from 1 Sept 2026: £540",
    )
    said = "From 1 September 2026 the rent of Dean Marsh is £540."
    excerpts = gather([said], [found], lambda t: [9] * len(t), 900, rows=lambda chunk: [row])
    [one] = support_in(said, excerpts, WordEmbedder())
    assert [text[s.start - 20 : s.end - 20] for s in one.evidence] == ["3 Dean Marsh £515 £540"]
