"""When a written answer is given, and when it is "I don't know"."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessageChunk

from rag_app.answering.chat_generator import Grounding
from rag_app.answering.evidence import Excerpt, places
from rag_app.answering.extraction import QuoteGenerator
from rag_app.answering.generation import FIRST, FollowUp, Writer
from rag_app.answering.writer_generator import TaughtGenerator
from rag_app.errors import ChatModelError, ModelUnavailable
from rag_app.types import Basis, Note, NoteKind, Span
from tests.fakes import WordEmbedder
from tests.ferries import FERRY, PASSAGE, QUESTION, SureReader


class Scripted:
    """A writer that says what it is told to, and how sure it is of its first word.

    Made to begin with "Answer:", it goes on with `forced`."""

    def __init__(self, reply: str, sure: float, forced: str = "") -> None:
        self._reply, self._sure, self._forced = reply, sure, forced
        self.asked: list[str] = []

    def stream(self, messages, begun="", logs=True):
        assert logs
        self.asked.append(messages[-1][1])
        if not self._reply:
            raise ChatModelError("The model is gone.")
        words = (self._forced if begun else self._reply).split(" ")
        for place, word in enumerate(words):
            about = {FIRST: self._sure} if place == 0 else {}
            yield AIMessageChunk(f" {word}" if place or begun else word, response_metadata=about)


def written(
    model,
    reader,
    caution,
    question=QUESTION,
    watch=None,
    passages=(PASSAGE,),
    ranking=None,
    follow_up=None,
):
    writer = Writer("fake", lambda: model, lambda e: e, window=4_000, most_tokens=100)
    embedder = WordEmbedder()
    grounding = Grounding(reader, caution, watch=watch, ranking=ranking)
    generator = TaughtGenerator(writer, embedder, QuoteGenerator(embedder, 0.0), grounding)
    pieces = list(generator.generate(question, passages, lambda: False, follow_up=follow_up))
    return "".join(piece.text for piece in pieces), pieces[-1].draft


def test_what_all_are_sure_of_is_said():
    text, draft = written(
        Scripted("Answer: The ferry costs four euros.", 0.97), SureReader(4.0), 0.3
    )
    assert text == "The ferry costs four euros." == "".join(draft.sentences)
    assert not draft.abstained and draft.confidence > 0.4 and draft.evidence[0]
    assert draft.basis is Basis.WRITTEN and draft.stressed == "four euros"


def test_of_an_answer_in_another_language_no_words_are_stressed():
    """The reader knows English alone."""
    question = "Was kostet die Fähre?"
    model = Scripted("Answer: Die Fähre kostet four euros.", 0.97)
    _, draft = written(model, SureReader(4.0), 0.0, question)
    assert not draft.abstained and draft.stressed == ""


def test_a_plain_fact_of_which_the_reader_is_sure_is_quoted_before_a_word_is_written():
    model = Scripted("Answer: The ferry is free.", 0.97)
    text, draft = written(model, SureReader(9.0), 0.3)
    assert text == "The ferry costs four euros." and draft.generator == "reader"
    assert model.asked == []


def test_a_plain_fact_in_a_clause_that_is_referred_to_elsewhere_is_left_to_the_writer():
    change = replace(PASSAGE.chunk, document_id="x", text="From May clause 4 has other fares.")
    clause = replace(PASSAGE, chunk=replace(PASSAGE.chunk, heading="Terms > 4. Fares"))
    model = Scripted("Answer: The ferry costs four euros.", 0.97)
    for others, asked in ((), 0), ((replace(PASSAGE, chunk=change),), 1):
        written(model, SureReader(9.0), 0.3, passages=(clause, *others))
        assert len(model.asked) == asked


@pytest.mark.parametrize(("odds", "asked"), [((6.0, 1.0), 0), ((1.0, 6.0), 1), ((5.0, 1.0), 1)])
def test_a_plain_fact_of_which_the_ranker_is_not_sure_is_left_to_the_writer(odds, asked):
    model = Scripted("Answer: The ferry costs four euros.", 0.97)

    def ranking(question, passages):
        return [list(odds) for _ in passages]

    written(model, SureReader(9.0), 0.3, ranking=ranking)
    assert len(model.asked) == asked


@pytest.mark.parametrize(
    ("day", "document", "asked"), [(3, "d", 1), (1, "d", 0), (2, "d", 0), (3, "other", 0)]
)
def test_a_plain_fact_in_a_message_that_another_follows_is_left_to_the_writer(day, document, asked):
    message = replace(PASSAGE.chunk, document_id="d", heading="Ferry, Ann, Mon, 2 Nov 2026")
    other = replace(message, document_id=document, heading=f"Re: Ferry, Bo, {day} Nov 2026")
    other = replace(other, text="From May other fares.", start=9_000, end=9_021)
    model = Scripted("Answer: The ferry costs four euros.", 0.97)
    passages = [replace(PASSAGE, chunk=one) for one in (message, other)]
    written(model, SureReader(9.0), 0.3, passages=passages)
    assert len(model.asked) == asked


def test_what_all_doubt_is_not_said_but_the_closest_sentence_is_named():
    model = Scripted("Answer: The ferry costs four euros.", 0.05)
    text, draft = written(model, SureReader(-9.0), 0.4)
    assert text == "" and draft.abstained and draft.sentences == ()
    assert (
        FERRY[draft.closest[0].start - 50 : draft.closest[0].end - 50]
        == "The ferry costs four euros."
    )
    assert draft.confidence < 0.4


def test_none_is_an_abstention():
    text, draft = written(Scripted("None", 0.98), SureReader(-9.0), 0.3)
    assert text == "" and draft.abstained and draft.closest


def test_a_writer_that_doubts_is_made_to_answer_where_the_rest_is_sure():
    model = Scripted("None", 0.55, forced="The ferry costs four euros.")
    text, draft = written(model, SureReader(4.4), 0.01)
    assert text == "The ferry costs four euros." and not draft.abstained
    assert len(model.asked) == 2


def test_a_sum_in_a_text_that_is_composed_is_worked_out():
    model = Scripted("The trip costs £<<4 * 38 + 38>> for all.", 0.97)
    writer = Writer("fake", lambda: model, lambda e: e, window=4_000, most_tokens=100)
    embedder = WordEmbedder()
    generator = TaughtGenerator(writer, embedder, QuoteGenerator(embedder, 0.0), Grounding())
    made = generator.compose(
        [lambda room: [("human", "Summarise the trip.")]], lambda text: [], list, lambda: False
    )
    said = list(made)
    assert "".join(piece.text for piece in said) == "The trip costs £190 for all."
    assert said[-1].draft.sentences == ("The trip costs £190 for all.",)


def test_caution_decides_what_is_said():
    drafts = [
        written(Scripted("Answer: The ferry costs four euros.", 0.6), SureReader(0.0), caution)[1]
        for caution in (0.0, 0.9999)
    ]
    assert [draft.abstained for draft in drafts] == [False, True]


def test_a_sum_is_worked_out_by_code_and_shown():
    text, draft = written(
        Scripted("Answer: The ferry costs <<4 * 3>> euros for 3 people.", 0.97),
        SureReader(4.0),
        0.3,
        "What does the ferry cost for 3 people?",
    )
    assert text == "The ferry costs 12 euros for 3 people."
    assert draft.basis is Basis.COMPUTED
    [note] = [note for note in draft.notes if note.kind is NoteKind.COMPUTED]
    assert note.values == ("4 × 3 = 12",)


def test_the_sources_of_a_sum_are_where_its_figures_stand():
    model = Scripted("Answer: Altogether that would amount to <<4 * 3>>.", 0.97)
    question = "How much for the 3 of us on that boat?"
    _, draft = written(model, SureReader(4.0), 0.0, question)
    assert draft.sentences == ("Altogether that would amount to 12.",)
    assert draft.basis is Basis.COMPUTED
    [[span]] = draft.evidence
    assert FERRY[span.start - 50 : span.end - 50] == "The ferry costs four euros."


def test_a_figure_has_its_source_where_it_stands_however_it_is_said():
    model = Scripted("Answer: Altogether that would amount to 4.", 0.97)
    _, draft = written(model, SureReader(4.0), 0.0, "How much is that boat?")
    [[span]] = draft.evidence
    assert FERRY[span.start - 50 : span.end - 50] == "The ferry costs four euros."
    assert draft.basis is Basis.WRITTEN and not draft.notes


def test_a_number_in_words_has_its_source_where_it_stands():
    model = Scripted("Answer: Altogether that would amount to four.", 0.97)
    _, draft = written(model, SureReader(4.0), 0.0, "How much is that boat?")
    [[span]] = draft.evidence
    assert FERRY[span.start - 50 : span.end - 50] == "The ferry costs four euros."


def test_a_sum_of_nothing_but_counted_things_has_no_source():
    model = Scripted("Answer: Altogether that would amount to <<1 + 1 + 2>>.", 0.97)
    _, draft = written(model, SureReader(4.0), 0.0, "How much is 1, 1 and 2?")
    assert draft.abstained


def test_which_figures_of_a_sheet_make_a_sum_is_not_guessed():
    model = Scripted("Answer: Altogether that would amount to <<4 * 3>>.", 0.97)
    sheet = replace(PASSAGE, name="Fares.csv")
    question = "How much for the 3 of us on that boat?"
    text, draft = written(model, SureReader(4.0), 0.0, question, passages=(sheet,))
    assert "12" not in text and draft.abstained


FARES = "The fares are 12, 34, 56 and 78 euros in all."


@pytest.mark.parametrize(("name", "summed"), [("Fares.csv", False), ("Fares.pdf", True)])
def test_rows_of_a_sheet_are_not_added_up_by_a_writer_though_a_sentence_supports_it(name, summed):
    model = Scripted("Answer: The fares are <<12 + 34 + 56>> euros in all.", 0.97)
    chunk = replace(PASSAGE.chunk, text=FARES, end=PASSAGE.chunk.start + len(FARES))
    fares = replace(PASSAGE, name=name, chunk=chunk)
    _, draft = written(model, SureReader(4.0), 0.0, "What are the fares?", passages=(fares,))
    assert draft.sentences == (("The fares are 102 euros in all.",) if summed else ())


def test_the_figures_of_a_sum_are_among_its_sources_though_another_sentence_supports_it():
    text = "The fares of the ferry are all in the list below. A child pays 4 there, a dog 9."
    model = Scripted("Answer: The fares of the ferry are all in <<4 + 9>>.", 0.97)
    chunk = replace(PASSAGE.chunk, text=text, end=PASSAGE.chunk.start + len(text))
    _, draft = written(
        model, SureReader(4.0), 0.0, "The fares?", passages=(replace(PASSAGE, chunk=chunk),)
    )
    start = PASSAGE.chunk.start
    cited = [text[s.start - start : s.end - start] for s in draft.evidence[0]]
    assert "A child pays 4 there, a dog 9." in cited


def test_a_sum_of_figures_that_stand_nowhere_is_not_said():
    model = Scripted("Answer: The ferry costs <<17 * 93>> euros.", 0.97)
    text, draft = written(model, SureReader(4.0), 0.0)
    assert text == "" and draft.abstained


def test_a_sum_that_has_no_end_is_not_said():
    model = Scripted("Answer: The ferry costs £<<4 + 4 + 4 + 4", 0.97)
    _, draft = written(model, SureReader(4.0), 0.0)
    assert draft.abstained


def test_a_figure_that_stands_nowhere_is_not_said():
    model = Scripted("Answer: The ferry costs four euros. It takes 97 minutes.", 0.97)
    text, draft = written(model, SureReader(4.0), 0.0)
    assert "97" not in text and "97" not in "".join(draft.sentences)


def test_a_writer_that_fails_leaves_the_question_to_another_generator():
    _, draft = written(Scripted("", 0.9), SureReader(4.0), 0.3)
    assert draft.generator == "quotes" and "The model is gone." in draft.notes[0].values[0]


def test_of_a_question_in_another_language_the_reader_says_nothing():
    known = []
    question = "Was kostet denn die Überfahrt mit der Fähre für Erwachsene?"
    model = Scripted("Answer: Die Fähre kostet vier Euro.", 0.9)
    written(model, SureReader(-9.0), 0.0, question, known.append)
    assert known[0].score is None and known[0].says_yes == 0.9
    assert "Answer in German." in model.asked[0]


def test_no_passages_no_answer():
    _, draft = written(Scripted("Answer: Four.", 0.9), SureReader(4.0), 0.3, passages=())
    assert draft.abstained and not draft.closest


def test_without_the_ranker_the_words_choose_what_is_shown():
    def torn(question, passages):
        raise ModelUnavailable("torn")

    known = []
    model = Scripted("Answer: The ferry costs four euros.", 0.97)
    _, draft = written(model, SureReader(4.0), 0.3, watch=known.append, ranking=torn)
    assert not draft.abstained and known[-1].ranked is None and known[-1].backed is None


@pytest.mark.parametrize(
    "said", ["The ferry costs four euros.", "Altogether that would amount to 4."]
)
def test_a_source_that_the_ranker_trusts_raises_the_chance(said):
    def ranking(odds):
        return lambda question, passages: [[odds for _ in one.sentences] for one in passages]

    def chance(odds):
        model = Scripted(f"Answer: {said}", 0.97)
        return written(model, SureReader(4.0), 0.0, ranking=ranking(odds))[1].confidence

    assert chance(5.0) > chance(-5.0)


class Reading:
    """A writer that says of each place what it is told to: by a word in it, reply and sureness."""

    def __init__(self, replies: dict[str, tuple[str, float]]) -> None:
        self._replies = replies
        self.asked: list[str] = []

    def stream(self, messages, begun, logs):
        shown = messages[-1][1]
        [*words] = [one for one in self._replies if one in shown.partition("Question: ")[0]]
        assert words
        word = words[0] if len(words) == 1 else "both"
        self.asked.append(word)
        reply, sure = self._replies[word]
        for place, said in enumerate(reply.split(" ")):
            about = {FIRST: sure} if place == 0 else {}
            yield AIMessageChunk(f" {said}" if place else said, response_metadata=about)


def passage(number, text):
    chunk = replace(PASSAGE.chunk, document_id=f"d{number}", text=text, start=0, end=len(text))
    return replace(PASSAGE, chunk=chunk, name=f"paper {number}.txt")


TEXTS = ("The bus costs nine euros.", "The ferry costs four euros.", "The tram costs two euros.")


def by_number(question, passages):
    """The passages are the likelier the earlier they stand."""
    return [[-float(number) for _ in one.sentences] for number, one in enumerate(passages)]


def alike(question, passages):
    """All passages are as likely."""
    return [[0.0 for _ in one.sentences] for one in passages]


def read(model, texts=TEXTS, caution=0.0, ranking=by_number):
    passages = [passage(number, text) for number, text in enumerate(texts)]
    return written(model, None, caution, passages=passages, ranking=ranking)[1]


def test_each_place_is_read_by_itself_until_one_surely_answers():
    model = Reading(
        {
            "bus": ("None", 0.99),
            "ferry": ("Answer: The ferry costs four euros.", 0.99),
            "tram": ("Answer: The tram costs two euros.", 0.99),
        }
    )
    draft = read(model)
    assert draft.sentences == ("The ferry costs four euros.",)
    assert [span.document_id for span in draft.evidence[0]] == ["d1"]
    assert model.asked == ["bus", "ferry"]


def test_where_none_is_sure_that_place_answers_for_which_most_speaks():
    model = Reading(
        {
            "bus": ("None", 0.95),
            "ferry": ("Answer: The ferry costs four euros.", 0.6),
            "tram": ("Answer: The tram costs two euros.", 0.65),
        }
    )
    assert read(model).sentences == ("The ferry costs four euros.",), "its place is likelier"
    assert model.asked == ["bus", "ferry", "tram", "ferry"]


def test_where_every_place_says_none_nothing_is_said():
    model = Reading({word: ("None", 0.97) for word in ("bus", "ferry", "tram")})
    draft = read(model, caution=0.4)
    assert draft.abstained and draft.closest[0].document_id == "d0"
    assert model.asked == ["bus", "ferry", "tram"]


@pytest.mark.parametrize(("ranking", "most"), [(alike, 4), (by_number, 3)])
def test_no_more_than_four_places_are_read_and_none_that_is_unlikely(ranking, most):
    places = ("first", "second", "third", "fourth", "fifth", "sixth")
    model = Reading({word: ("None", 0.97) for word in places})
    read(model, [f"The {word} boat costs four euros." for word in places], 0.4, ranking)
    assert len(model.asked) == most


def test_a_figure_of_another_place_is_not_said():
    texts = ("The bus costs 9 euros.", "The ferry costs 4 euros.")
    model = Reading(
        {
            "bus": ("Answer: The bus costs 9 euros.", 0.5),
            "ferry": ("Answer: The ferry costs 9 euros.", 0.99),
        }
    )
    draft = read(model, texts)
    assert model.asked == ["bus", "ferry"] and draft.abstained


def test_a_part_of_an_answer_is_not_enough_to_stop_at():
    model = Reading(
        {
            "bus": ("Partly: The bus costs nine euros.", 0.99),
            "ferry": ("Answer: The ferry costs four euros.", 0.99),
            "tram": ("None", 0.99),
        }
    )
    assert read(model).sentences == ("The ferry costs four euros.",)


def test_a_reply_without_a_status_is_left_at_once():
    model = Reading(
        {
            "bus": ("Well, that depends on a great many things.", 0.5),
            "ferry": ("Answer: The ferry costs four euros.", 0.99),
        }
    )
    assert read(model, TEXTS[:2]).sentences == ("The ferry costs four euros.",)


def test_who_stops_begins_no_further_place():
    stopped = threading.Event()

    class Stopping(Reading):
        def stream(self, messages, begun, logs):
            stopped.set()
            yield from super().stream(messages, begun, logs)

    model = Stopping({word: ("None", 0.97) for word in ("bus", "ferry", "tram")})
    passages = [passage(number, text) for number, text in enumerate(TEXTS)]
    writer = Writer("fake", lambda: model, lambda e: e, window=4_000, most_tokens=100)
    safety = QuoteGenerator(WordEmbedder(), 0.0)
    grounding = Grounding(ranking=by_number)
    generator = TaughtGenerator(writer, WordEmbedder(), safety, grounding)
    list(generator.generate(QUESTION, passages, stopped.is_set))
    assert model.asked == ["bus"]


def even(question, passages):
    """All passages are likely."""
    return [[5.0 for _ in one.sentences] for one in passages]


def first_likelier(question, passages):
    """The same, and the first a little likelier."""
    return [[5.0 + (n == 0) for _ in one.sentences] for n, one in enumerate(passages)]


OLD, NEW = "The ferry costs 4 euros.", "From May the ferry costs 6 euros."


def both(
    other,
    sure=0.99,
    question=QUESTION,
    ranking=even,
    own="Answer: The ferry costs 4 euros.",
    together=("None", 0.99),
):
    """What is said of two places, the first of which surely answers, and what was read."""
    model = Reading({"costs 4": (own, 0.99), "costs 6": (other, sure), "both": together})
    passages = [passage(number, text) for number, text in enumerate((OLD, NEW))]

    def likelier(asked, found):
        ranked = ranking(asked, found)
        return [[odds + (number == 0) for odds in one] for number, one in enumerate(ranked)]

    _, draft = written(model, None, 0.0, question, passages=passages, ranking=likelier)
    return draft, model.asked


def test_where_another_likely_place_says_otherwise_both_are_read_together_and_that_holds():
    now = ("Answer: From May the ferry costs 6 euros.", 0.99)
    draft, asked = both("Answer: The ferry costs 6 euros.", together=now)
    assert asked == ["costs 4", "costs 6", "both"]
    assert draft.sentences == ("From May the ferry costs 6 euros.",)
    assert {span.document_id for span in draft.evidence[0]} == {"d1"}
    assert draft.notes == (Note(NoteKind.OTHERWISE, ("paper 0.txt", OLD)),)
    assert draft.confidence <= 0.7


def test_two_places_that_decide_the_same_are_not_read_together():
    question = "If I take my bike on the ferry am I covered?"
    own, other = "Answer: Yes, up to 4 euros.", "Answer: Yes, up to 6 euros."
    draft, asked = both(other, question=question, own=own)
    assert asked == ["costs 4", "costs 6"]
    assert draft.sentences == ("Yes, up to 4 euros.",) and not draft.notes


def test_a_percentage_is_not_against_another_figure_beside_the_same_one():
    texts = "The ferry costs 4 euros, 3 before May.", "The fare rose by 34 % to 4 euros."
    own, other = "Answer: 4 euros, 3 before May.", "Answer: It rose by 34 % to 4 euros."
    model = Reading({"before": (own, 0.99), "rose": (other, 0.99), "both": ("None", 0.99)})
    passages = [passage(number, text) for number, text in enumerate(texts)]
    draft = written(model, None, 0.0, passages=passages, ranking=first_likelier)[1]
    assert model.asked[:2] == ["before", "rose"]
    assert draft.sentences == ("4 euros, 3 before May.",) and not draft.notes


def test_an_older_paper_settles_nothing_and_is_named():
    old, new = (
        replace(passage(n, one), name=f"Fares {n}.txt") for n, one in ((2024, OLD), (2026, NEW))
    )
    own = {"costs 4": ("Answer: It costs 4 euros.", 0.99), "costs 6": ("Answer: It costs 6.", 0.99)}
    model = Reading(own | {"both": ("Answer: The ferry costs 4 euros.", 0.99)})
    draft = written(model, None, 0.0, passages=[old, new], ranking=first_likelier)[1]
    assert model.asked == ["costs 6", "costs 4"]
    assert draft.sentences == ("It costs 6.",)
    assert draft.notes == (Note(NoteKind.OTHERWISE, ("Fares 2024.txt", OLD)),)


@pytest.mark.parametrize(
    "together",
    [("None", 0.99), ("Answer: The ferry costs 4 euros.", 0.99), ("Answer: It costs 6.", 0.6)],
)
def test_where_both_read_together_hold_to_the_first_what_says_otherwise_is_named(together):
    draft, asked = both("Answer: The ferry costs 6 euros.", together=together)
    assert asked == ["costs 4", "costs 6", "both"]
    assert draft.sentences == ("The ferry costs 4 euros.",)
    assert draft.notes == (Note(NoteKind.OTHERWISE, ("paper 1.txt", NEW)),)


def test_a_change_that_names_the_older_figure_holds_and_the_older_paper_is_named():
    passages = [passage(n, one) for n, one in enumerate((OLD, f"{NEW[:-1]} instead of 4."))]
    change = "Answer: It costs 6 euros instead of 4."
    for together, said, noted in (
        ("Answer: The ferry costs 6 euros.", "The ferry costs 6 euros.", True),
        ("None", "The ferry costs 4 euros.", False),
    ):
        own = ("Answer: The ferry costs 4 euros.", 0.99)
        model = Reading({"costs 4": own, "costs 6": (change, 0.99), "both": (together, 0.99)})
        draft = written(model, None, 0.0, passages=passages, ranking=first_likelier)[1]
        assert draft.sentences == (said,)
        assert draft.notes == ((Note(NoteKind.OTHERWISE, ("paper 0.txt", OLD)),) if noted else ())


def test_a_date_beside_another_name_is_no_other_figure():
    question = "Who is the captain of the ferry?"
    texts = ("The captain is Anna Berg.", "Karl Horn has been the captain since 2019.")
    model = Reading(
        {
            "Anna": ("Answer: The captain is Anna Berg.", 0.99),
            "Karl": ("Answer: Since 2019 it is Karl Horn.", 0.99),
        }
    )
    passages = [passage(number, text) for number, text in enumerate(texts)]
    draft = written(model, None, 0.0, question, passages=passages, ranking=first_likelier)[1]
    assert draft.sentences == ("The captain is Anna Berg.",) and model.asked == ["Anna", "Karl"]


def test_what_decides_nothing_replaces_no_decision():
    question = "Is the ferry dear?"
    own = "Answer: No, the ferry costs 4 euros."
    other = "Answer: Yes, the ferry costs 6 euros."
    undecided = ("Answer: From May the ferry costs 6 euros.", 0.99)
    draft, _ = both(other, question=question, own=own, together=undecided)
    assert draft.sentences == ("No, the ferry costs 4 euros.",)
    assert draft.notes == (Note(NoteKind.OTHERWISE, ("paper 1.txt", NEW)),)


def test_a_writer_that_fails_at_both_together_leaves_the_answer_with_what_says_otherwise():
    class Failing(Reading):
        def stream(self, messages, begun, logs):
            yield from super().stream(messages, begun, logs)
            if self.asked[-1] == "both":
                raise ChatModelError("The model is gone.")

    other = ("Answer: The ferry costs 6 euros.", 0.99)
    own = ("Answer: The ferry costs 4 euros.", 0.99)
    model = Failing({"costs 4": own, "costs 6": other, "both": other})
    passages = [passage(number, text) for number, text in enumerate((OLD, NEW))]
    draft = written(model, None, 0.0, passages=passages, ranking=first_likelier)[1]
    assert draft.sentences == ("The ferry costs 4 euros.",)
    assert draft.notes == (Note(NoteKind.OTHERWISE, ("paper 1.txt", NEW)),)


def test_what_names_the_older_figure_itself_needs_no_note():
    said = "The ferry costs 6 euros from May, no longer 4."
    draft, asked = both("Answer: It costs 6 euros.", together=(f"Answer: {said}", 0.99))
    assert asked == ["costs 4", "costs 6", "both"]
    assert draft.sentences == (said,) and not draft.notes


@pytest.mark.parametrize(
    ("other", "sure"),
    [
        ("Answer: It costs 4 euros.", 0.99),
        ("Answer: It costs <<2 * 3>> euros.", 0.99),
        ("Answer: The ferry costs 60 euros.", 0.99),
        ("Answer: The ferry costs 6 euros.", 0.6),
        ("None", 0.99),
        ("Partly: The ferry costs 6 euros.", 0.99),
    ],
)
def test_what_says_the_same_or_is_not_sure_changes_nothing(other, sure):
    draft, asked = both(other, sure)
    assert draft.sentences == ("The ferry costs 4 euros.",) and asked == ["costs 4", "costs 6"]
    assert not draft.notes


def test_of_what_is_to_be_decided_no_is_otherwise_than_yes():
    question = "Is the ferry dear?"
    own = "Answer: No, the ferry costs 4 euros."
    now = ("Answer: Yes, it costs 6 euros.", 0.99)
    draft, _ = both(
        "Answer: Yes, the ferry costs 6 euros.", question=question, own=own, together=now
    )
    assert draft.sentences == ("Yes, it costs 6 euros.",)
    assert [note.kind for note in draft.notes] == [NoteKind.OTHERWISE]
    draft, asked = both("Answer: No, the ferry costs 6 euros.", question=question, own=own)
    assert not draft.notes and "both" not in asked


def decided(
    alone,
    question="May dogs come aboard?",
    own="Answer: Yes, dogs must stay ashore.",
    text="On board no dogs are taken: they stay ashore.",
):
    """What is said of one place, where the writer says something else of its own words alone."""
    model = Reading({"On board": (own, 0.99), "must stay ashore": (alone, 0.9)})
    passages = [passage(0, text)]
    draft = written(model, None, 0.0, question, passages=passages, ranking=even)[1]
    return draft.sentences, model.asked


def test_a_yes_that_its_own_words_deny_is_not_said():
    assert decided("No, they may not.") == (
        ("Dogs must stay ashore.",),
        ["On board", "must stay ashore"],
    )


@pytest.mark.parametrize(
    ("own", "alone"),
    [
        ("Dogs, cats and birds must stay ashore.", "Yes, they must."),
        ("1,250 dogs must stay ashore.", "Yes, they must."),
        ("12.30 is when dogs must stay ashore.", "No, they may not."),
    ],
)
def test_names_and_figures_at_the_beginning_decide_nothing(own, alone):
    text = "On board no animals are taken: Dogs, cats and birds, 1,250 of them, from 12.30 on."
    said, _ = decided(alone, own=f"Answer: {own}", text=text)
    assert said == (own,)


def test_a_no_with_which_a_text_begins_is_no_name():
    text = "4.3 No cats. On board one dog is taken for each of two tickets, others stay ashore."
    own = "Answer: No, dogs must stay ashore."
    assert decided("Yes, one.", own=own, text=text)[0] == ("Dogs must stay ashore.",)


def test_a_yes_that_stands_alone_goes_with_its_sentence():
    own = "Answer: Yes. Dogs must stay ashore."
    assert decided("No, they may not.", own=own)[0] == ("Dogs must stay ashore.",)
    assert decided("No, they may not.", own="Answer: Yes.")[0] == ("Yes.",)


@pytest.mark.parametrize("alone", ["Yes, they may.", "Dogs stay ashore.", "None"])
def test_what_its_own_words_do_not_deny_stands_as_it_was_written(alone):
    assert decided(alone)[0] == ("Yes, dogs must stay ashore.",)


def test_what_decides_nothing_is_not_read_again():
    assert decided("No, they may not.", "Where do dogs stay?")[1] == ["On board"]
    said = "Answer: Dogs must stay ashore."
    assert decided("No, they may not.", own=said) == (("Dogs must stay ashore.",), ["On board"])


class Biased:
    """A writer that says No to everything, to some of it less surely, and goes on as is begun."""

    def __init__(self, sure: dict[str, float], word: str = "No,") -> None:
        self._sure, self._word = sure, word
        self.asked: list[str] = []

    def stream(self, messages, begun, logs):
        question = messages[-1][1].partition("Question: ")[2].partition("\n")[0]
        self.asked.append(question)
        sure = next((p for number, p in self._sure.items() if number in question), 0.99)
        rest = "up to 4 dogs come aboard."
        said = rest if begun.endswith(",") else f"{self._word} {rest}"
        said = said if begun else f"Answer: {said}"
        for place, word in enumerate(said.split(" ")):
            about = {FIRST: sure} if place == 0 else {}
            yield AIMessageChunk(f" {word}" if place or begun else word, response_metadata=about)


@pytest.mark.parametrize(
    ("question", "sure", "said"),
    [
        ("May 3 dogs come aboard?", {" 1 ": 0.6, " 16 ": 0.9}, "Yes, up to 4 dogs come aboard."),
        ("May 6 dogs come aboard?", {" 1 ": 0.6, " 16 ": 0.9}, "No, up to 4 dogs come aboard."),
        ("May 3 dogs come aboard?", {" 1 ": 0.9, " 16 ": 0.6}, "No, up to 4 dogs come aboard."),
        ("May 3 dogs come aboard?", {" 1 ": 0.9, " 16 ": 0.9}, "No, up to 4 dogs come aboard."),
        ("May 3 dogs come aboard?", {" 1 ": 0.88, " 16 ": 0.9}, "No, up to 4 dogs come aboard."),
    ],
)
def test_whether_a_number_keeps_to_a_bound_is_weighed_against_numbers_far_below_and_above(
    question, sure, said
):
    text = "Up to 4 dogs come aboard."
    model = Biased(sure)
    draft = written(model, None, 0.0, question, passages=[passage(0, text)], ranking=even)[1]
    assert draft.sentences == (said,)
    assert any(" 1 dogs" in one for one in model.asked)
    assert any(" 16 dogs" in one for one in model.asked)


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("May dogs come aboard?", "No,"),  # no number
        ("How many of 3 dogs come aboard?", "No,"),  # nothing to be decided
        ("May 3 dogs come aboard?", "Dogs:"),  # it decides nothing
    ],
)
def test_where_no_number_is_to_be_decided_on_the_writer_has_the_word(question, word):
    text = "Up to 4 dogs come aboard. Dogs: No."
    model = Biased({}, word)
    draft = written(model, None, 0.0, question, passages=[passage(0, text)], ranking=even)[1]
    assert draft.sentences[0].startswith(word)


def test_two_reasons_are_no_two_answers():
    draft, _ = both("Answer: The ferry costs 6 euros.", question="Why does the ferry cost so much?")
    assert not draft.notes


def test_a_writer_that_fails_at_another_place_leaves_the_answer_as_it_is():
    class Failing(Reading):
        def stream(self, messages, begun, logs):
            yield from super().stream(messages, begun, logs)
            if self.asked[-1] == "costs 6":
                raise ChatModelError("The model is gone.")

    own = "Answer: The ferry costs 4 euros."
    model = Failing({"costs 4": (own, 0.99), "costs 6": ("Answer: It costs 6 euros.", 0.99)})
    passages = [passage(number, text) for number, text in enumerate((NEW, OLD))]
    draft = written(model, None, 0.0, passages=passages, ranking=even)[1]
    assert len(model.asked) == 2 and len(draft.sentences) == 1 and not draft.notes


def test_rows_of_one_sheet_are_no_two_answers():
    rows = [replace(passage(0, text), name="fares.csv") for text in (OLD, NEW)]
    rows[1] = replace(rows[1], chunk=replace(rows[1].chunk, page=2, heading="Later"))
    own = "Answer: The ferry costs 4 euros."
    model = Reading({"costs 4": (own, 0.99), "costs 6": ("Answer: It costs 6 euros.", 0.99)})
    draft = written(model, None, 0.0, passages=rows, ranking=even)[1]
    assert len(model.asked) == 1 and len(draft.sentences) == 1


def test_after_a_follow_up_no_other_place_is_read_beside_an_answer():
    passages = [passage(number, text) for number, text in enumerate((OLD, NEW))]
    costs = {f"costs {n}": (f"Answer: The ferry costs {n} euros.", 0.99) for n in (4, 6)}
    leaning = FollowUp("And the ferry?", "What does the bus cost?", "The bus costs 2 euros.")
    for leans, places_read in ((None, 3), (leaning, 1)):
        model = Reading({**costs, "both": ("None", 0.99)})
        written(model, None, 0.0, passages=passages, ranking=even, follow_up=leans)
        assert len(model.asked) == places_read


def test_without_a_ranker_no_other_place_is_read_beside_an_answer():
    passages = [passage(number, text) for number, text in enumerate((OLD, NEW))]
    costs = {f"costs {n}": (f"Answer: The ferry costs {n} euros.", 0.99) for n in (4, 6)}
    model = Reading(costs)
    draft = written(model, None, 0.0, passages=passages)[1]
    assert len(model.asked) == 1 and not draft.abstained and not draft.notes


def test_where_what_the_first_place_says_cannot_be_said_the_next_that_is_sure_answers():
    draft, asked = both("Answer: The ferry costs 6 euros.", own="Answer: It costs 11 euros.")
    assert asked == ["costs 4", "costs 6"]
    assert draft.sentences == ("The ferry costs 6 euros.",) and not draft.abstained
    draft, asked = both("Answer: It costs 6.", sure=0.6, own="Answer: It costs 11 euros.")
    assert asked == ["costs 4", "costs 6"] and draft.abstained


def test_an_unlikely_place_is_not_read_beside_an_answer():
    draft, asked = both("Answer: The ferry costs 6 euros.", ranking=alike)
    assert draft.sentences == ("The ferry costs 4 euros.",) and asked == ["costs 4"]


def likely(document, heading, odds, *lines, gap=-1):
    """An excerpt of sentences, the last of which is so likely."""
    spans = tuple(Span(document, 1, at, at + 1) for at in range(len(lines)))
    said = (*[-9.0] * (len(lines) - 1), odds)
    gaps = tuple(number == gap for number in range(len(lines)))
    return Excerpt(document, "a.pdf", 1, heading, spans, lines, lines, gaps, said)


def test_a_clause_is_read_with_what_changes_it_elsewhere():
    clause = likely("a", "Terms > 3. Hours", 5.0, "3.2 Vans enter at six.", "Be set up by 8.00.")
    letter = likely("b", "", -0.4, "Be set up by 7.40, not as clause 3.2 has it.")
    other = likely("c", "Terms > 3. Hours", -1.0, "Be loud.")
    assert places([other, letter, clause]) == [(clause, letter), (other,)]
    unlikely = replace(letter, odds=(-2.5,))
    assert places([unlikely, other, clause]) == [(clause,), (other,), (unlikely,)]


def test_the_number_of_a_clause_that_is_left_out_is_not_guessed():
    clause = likely("a", "", 5.0, "3.1 Open at nine.", "Be set up by 8.00.", gap=1)
    letter = likely("b", "", -0.4, "Clause 3.1 falls away.")
    assert places([letter, clause]) == [(clause,), (letter,)]


def test_a_paper_that_numbers_its_own_clauses_means_those():
    clause = likely("a", "Handbook > 3. Holidays", 5.0, "You have 23 days.")
    other = likely("b", "Lease > 9. Law", 1.0, "As section 3 says, you may stay.")
    assert places([other, clause]) == [(clause,), (other,)]
    same = replace(other, document_id="a")
    assert places([same, clause]) == [(clause, same)]


def test_what_changes_a_clause_is_read_behind_it_if_it_is_the_likelier_one():
    clause = likely("a", "3. Pay", 1.2, "3.3 We pay in May.", "3.4 We keep 5%.")
    change = likely("a", "9. Special conditions", 4.0, "In clause 3.4 the share is 3%.")
    other = likely("a", "3. Pay", 0.5, "3.1 We pay in full.")
    assert places([other, clause, change]) == [(clause, change), (other,)]


def test_the_rows_of_a_table_are_one_place_wherever_it_was_cut():
    def one(heading, line, document="d"):
        return Excerpt(document, "a.md", 1, heading, (), (line,), (line,), (False,), (0.0,))

    first, later = one("Fares", "bus | 9"), one("Fares > Line | Euro", "tram | 2")
    other, text = one("Fares", "bus | 8", "e"), one("Fares", "The bus is dear.")
    told = places([text, first, other, later])
    assert told == [(first, later), (other,), (text,)]
