"""Which sentence of the documents supports which sentence of an answer."""

from __future__ import annotations

from rag_app.answering.attribution import support, support_in
from rag_app.answering.evidence import gather
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
    assert len(one.evidence) == 1 and one.chance > 0.5


def test_an_answer_in_another_language_is_held_by_its_numbers_and_names():
    said = "Die Kaution beträgt 1.355 Pfund und wird von der Agentur verwahrt."
    assert sources(said) == [["The deposit is £1,355."]]
    assert sources("Die Kaution beträgt 1.455 Pfund und wird von der Agentur verwahrt.") == [[]]
    said = "Zuständig ist die Agentur Fernley in der Hauptstraße."
    assert sources(said) == [["The agent is Fernley & Holt."]]


def test_an_interjection_claims_nothing():
    assert sources("Yes. The deposit is £1,355.")[0] == []
