"""Which sentences of the passages a writer is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.evidence import (
    Excerpt,
    closest,
    gather,
    in_sections,
    likeliest,
    nearest,
    places,
    quotes,
)
from rag_app.answering.prompts import ReplyStatus, said_as, taught_messages, understood
from rag_app.types import Chunk, Passage, Span

FERRY = "The ferry runs daily. A ticket costs four euros. Dogs travel free. The crew is friendly."
MUSEUM = "The museum opens at ten. It closes at five. Children pay nothing. There is a shop."
TABLE = "Line | Price\nBlue | 4 euros\nGreen | 5 euros\nRed | 6 euros"


def count(texts):
    return [len(text.split()) for text in texts]


def passage(text, document="d", page=1, start=0, heading="", score=0.5):
    chunk = Chunk(document, page, page, start, start + len(text), text, heading)
    return Passage(chunk, f"{document}.txt", score)


def shown(excerpts):
    return [text for one in excerpts for text in one.texts]


def test_everything_is_shown_where_there_is_room():
    excerpts = gather(["ferry museum"], [passage(FERRY), passage(MUSEUM, "e")], count, 5_000)
    assert {one.document_id for one in excerpts} == {"d", "e"}
    assert not any(gap for one in excerpts for gap in one.gaps)


def test_the_likeliest_sentence_comes_with_its_neighbours_and_no_more():
    excerpts = gather(["What does a ticket cost?"], [passage(FERRY), passage(MUSEUM, "e")],
                      count, 14)  # fmt: skip
    assert "A ticket costs four euros." in shown(excerpts)
    assert "The museum opens at ten." not in shown(excerpts)


def test_what_the_ranker_says_decides():
    def ranking(question, passages):
        return [[9.0 if "five." in one.text[a:b] else -9.0 for a, b in one.sentences]
                for one in passages]  # fmt: skip

    places = [passage(FERRY), passage(MUSEUM, "e")]
    excerpts = gather(["Until when?"], places, count, 14, ranking)
    [(span, text)] = closest(excerpts)
    assert span.document_id == "e" and MUSEUM[span.start : span.end] == text
    assert text == "It closes at five."
    assert likeliest(["Until when?"], places, ranking) == span
    assert likeliest(["Until when?"], [], ranking) is None

    def unsure(question, texts):
        return [[1.0] * len(one.sentences) for one in texts]

    assert likeliest(["Until when?"], places, unsure) is None


def test_beside_a_ranker_of_english_the_words_of_a_question_in_another_language_tell():
    def english_alone(question, passages):
        return [[-4.0] * len(one.sentences) for one in passages]

    school = "Das Schuljahr beginnt am Samstag. Der Laternenumzug ist am Dienstag um 17 Uhr."
    papers = [passage(MUSEUM, "e"), passage(school)]
    [span] = nearest(["Wann ist der Laternenumzug?"], papers, english_alone)
    assert school[span.start : span.end].startswith("Der Laternenumzug")
    [span] = nearest(["When is the Laternenumzug?"], papers, english_alone)
    assert span.document_id == "e"  # as the ranker has it: the first of those that are as likely


@pytest.mark.parametrize(
    ("odds", "texts"),
    [
        ((3.0, 2.0, 0.0, 0.0), ["The museum opens at ten.", "It closes at five.", "Children pay"]),
        ((-3.0, -2.0, -9.0, -9.0), ["It closes at five."]),  # the first however unlikely it is
        ((-3.0, 5.0, -9.0, 0.5), ["It closes at five.", "There is a shop."]),
    ],
)
def test_where_nothing_answers_up_to_three_sentences_come_nearest(odds, texts):
    def ranking(question, passages):
        return [list(odds) for _ in passages]

    spans = nearest(["Until when?"], [passage(MUSEUM)], ranking)
    found = [MUSEUM[span.start : span.end] for span in spans]
    assert len(found) == len(texts) and all(map(str.startswith, found, texts))
    assert nearest(["Until when?"], [], ranking) == ()


def test_the_wording_that_suits_best_counts():
    def ranking(question, passages):
        return [[9.0 if question == "Kids?" and "nothing" in one.text[a:b] else -1.0
                 for a, b in one.sentences] for one in passages]  # fmt: skip

    places = [passage(FERRY), passage(MUSEUM, "e")]
    for wordings in (["Kinder?", "Kids?"], ["Kids?", "Kinder?"]):
        assert "Children pay nothing." in shown(gather(wordings, places, count, 14, ranking))


def test_spans_are_exact_slices_of_the_page_and_gaps_are_marked():
    text = " ".join(f"Sentence {n} tells of things." for n in range(40)) + " The key is blue."
    excerpts = gather(["Which key?"], [passage(text, start=70)], count, 30)
    for one in excerpts:
        for span, said in zip(one.spans, one.texts, strict=True):
            assert text[span.start - 70 : span.end - 70] == said
    assert "The key is blue." in shown(excerpts)


def test_a_row_of_a_table_stands_beside_the_names_of_its_columns():
    [excerpt] = gather(["Price of the Green line?"], [passage(TABLE, heading="Line | Price")],
                       count, 16)  # fmt: skip
    assert excerpt.title == "d.txt"
    assert "Green | 5 euros" in excerpt.texts and "Red | 6 euros" not in excerpt.texts
    assert "Line: Green; Price: 5 euros" in excerpt.lines


MARKDOWN = "| Line | Price | Note |\n|---|---|---|\n| Green | 5 | |\n| Blue | 6 | night |"


@pytest.mark.parametrize(
    ("text", "heading", "line"),
    [
        (MARKDOWN, "", "Line: Green; Price: 5"),
        (MARKDOWN.replace("|---|---|---|\n", ""), "", "| Green | 5 | |"),  # nothing names them
        ("| Green | 5 | |", "Fares > Line | Price | Note", "Line: Green; Price: 5"),
        ("Green | 5", "Fares > Line | Price | Note", "Green | 5"),  # of another table
    ],
)
def test_a_row_of_a_table_that_was_not_read_as_one_is_named_by_what_stands_above(
    text, heading, line
):
    [excerpt] = gather(["Green?"], [passage(text, heading=heading)], count, 100)
    at = next(n for n, one in enumerate(excerpt.texts) if "Green" in one)
    assert excerpt.lines[at] == line
    assert ("Line | Price" in excerpt.title) == (heading != "" and " | " in line)


def test_what_stands_under_two_headings_is_shown_under_both():
    text = "## Open day\nThe fair is in June.\n## Meeting\nWe meet in May."
    cut = text.index("## Meeting")

    def sections(chunk):
        return [
            replace(chunk, end=cut, text=text[:cut], heading="Minutes > Open day"),
            replace(chunk, start=cut, text=text[cut:], heading="Minutes > Meeting"),
        ]

    found = in_sections([passage(text, heading="Minutes > Meeting")], sections)
    excerpts = gather(["When do we meet?"], found, count, 5_000)
    assert {(one.title, one.shown) for one in excerpts} == {
        ("d.txt – Minutes – Open day", "The fair is in June."),
        ("d.txt – Minutes – Meeting", "We meet in May."),
    }
    assert in_sections(found, None) == found


def test_a_sentence_that_is_in_two_passages_is_shown_once():
    excerpts = gather(["ticket"], [passage(FERRY), passage(FERRY)], count, 5_000)
    assert len(shown(excerpts)) == len(set(shown(excerpts)))


def test_one_sentence_is_shown_however_little_room_there_is():
    assert shown(gather(["ticket"], [passage(FERRY)], count, 1))
    assert gather(["ticket"], [], count, 100) == () and closest(()) == []


@given(st.lists(st.text(max_size=200), max_size=4), st.integers(1, 80))
def test_whatever_the_texts_the_spans_are_slices(texts, budget):
    passages = [passage(text, f"d{n}", start=n) for n, text in enumerate(texts)]
    for one in gather(["what is it"], passages, count, budget):
        text = texts[int(one.document_id[1:])]
        first = int(one.document_id[1:])
        for span, said in zip(one.spans, one.texts, strict=True):
            assert isinstance(span, Span) and text[span.start - first : span.end - first] == said


def test_questions_about_the_same_excerpts_share_their_beginning_so_that_it_is_read_once():
    parts = [("prices.txt", FERRY)]
    asked = ("What does a ticket cost?", "Who sails?")
    lasts = [taught_messages(question, parts, "German")[-1][1] for question in asked]
    shared = lasts[0].index("Question: ")
    assert lasts[0][:shared] == lasts[1][:shared] and lasts[0].endswith("Answer in German.")


def test_a_reply_is_understood_as_it_was_taught():
    for status in ReplyStatus:
        text = "" if status is ReplyStatus.ABSENT else "The ferry costs four euros."
        assert understood(said_as(status, text)) == (status, text)
    assert understood("Ans") is None and understood("The ferry") is None


def test_what_suits_the_turn_before_is_shown_but_is_no_likelier_for_that():
    def ranking(question, passages):
        wanted = "nothing" if "Kids" in question else "shop"
        return [[9.0 if wanted in one.text[a:b] else -1.0 for a, b in one.sentences]
                for one in passages]  # fmt: skip

    places = [passage(FERRY), passage(MUSEUM, "e")]
    found = gather(["And a shop?"], places, count, 24, ranking, "And a shop? Kids?")
    assert "Children pay nothing." in shown(found) and "There is a shop." in shown(found)
    assert [text for _, text in closest(found)] == ["There is a shop."]
    assert [text for _, text in closest(found, 3, 0.0)] == ["There is a shop."]
    assert len(closest(found, 3, -1.0)) == 3


def test_a_likely_sentence_comes_with_three_on_each_side():
    text = " ".join(f"Sentence {n} tells of things." for n in range(40))

    def ranking(question, passages):
        return [[9.0 if "Sentence 20 " in one.text[a:b] else -9.0 for a, b in one.sentences]
                for one in passages]  # fmt: skip

    excerpts = gather(["Which?"], [passage(text)], count, 50, ranking)
    assert shown(excerpts) == [f"Sentence {n} tells of things." for n in range(17, 24)]


@pytest.mark.parametrize(
    ("odds", "budget", "least", "most"),
    [(3.9, 450, 350, 450), (3.9, 2_000, 350, 600), (4.0, 450, 200, 250), (4.0, 2_000, 200, 250)],
)
def test_the_surer_the_choice_the_less_is_shown_beside_it(odds, budget, least, most):
    text = " ".join(f"Sentence {n} tells of many different things." for n in range(300))

    def ranking(question, passages):
        return [[odds if "Sentence 20 " in one.text[a:b] else -9.0 for a, b in one.sentences]
                for one in passages]  # fmt: skip

    found = shown(gather(["Which?"], [passage(text)], count, budget, ranking))
    assert least - 20 < count([" ".join(found)])[0] <= most


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("5 28 30", False),
        ("3. Heating.", False),
        ("Notice", False),
        ("Rent: £400", True),
        ("The rent is due.", True),
        ("864 | Allsecura", True),
        ("在押金退还之前必须将钥匙交还给房东本人否则不予退还", True),
    ],
)
def test_a_heading_or_figures_that_nobody_names_come_near_to_no_answer(text, tells):
    one = Passage(Chunk("a" * 64, 1, 0, 0, len(text), text), "a.txt", 1.0)
    found = nearest(("q",), [one], lambda _, given: [[5.0] * len(g.sentences) for g in given])
    assert len(found) == tells


@pytest.mark.parametrize(
    ("names", "odds", "question", "first"),
    [
        (("Prices 2024.docx", "Notes 2026.md"), (5.0, 4.0), "q", 1),  # hardly likelier, and older
        (("Prices 2024.docx", "Notes 2026.md"), (5.0, 4.0), "how much was it in 2024", 0),
        (("Prices 2024.docx", "Notes 2026.md"), (5.0, 3.0), "q", 0),  # much likelier
        (("Prices 2024.docx", "Notes.md"), (5.0, 4.9), "q", 0),
        (("Prices 2026.docx", "Notes 3 May 2026.md"), (5.0, 4.9), "q", 0),  # may be of that day
        (("Minutes 2 May 2026.docx", "Notes 3 May 2026.md"), (5.0, 4.9), "q", 1),
        (("Bookings 2024.xlsx", "Notes 2026.md"), (5.0, 4.9), "q", 0),  # what was so is so still
        (("Prices 2024.docx", "Notes 2026.md"), (-0.5, -0.6), "q", 0),  # not likely
    ],
)
def test_what_is_newer_comes_before_what_is_older_and_hardly_likelier(names, odds, question, first):
    found = [
        Excerpt(name, name, 1, "", (Span(name, 1, 0, 1),), ("x",), ("x",), (False,), (one,))
        for name, one in zip(names, odds, strict=True)
    ]
    assert places(found[::-1], question)[0][0].name == names[first]


def test_of_the_messages_of_a_document_the_last_comes_first():
    def message(head: str, odds: float) -> Excerpt:
        span = Span("d", 1, int(odds), 9)
        return Excerpt("d", "Mails.txt", 1, head, (span,), ("x",), ("x",), (False,), (odds,))

    late = message("Re: The wall, Ann, Tue, 3 Nov 2026", 4.0)
    early = message("The wall, Bob, Mon, 26 Oct 2026", 5.0)
    assert places([late, early]) == [(late,), (early,)]


def test_what_a_message_quotes_comes_behind_what_it_says_itself():
    def place(text: str, odds: float, document: str = "d") -> tuple[Excerpt, ...]:
        span = Span(document, 1, 0, len(text))
        return (Excerpt(document, "m.eml", 1, text, (span,), (text,), (text,), (False,), (odds,)),)

    old, new = place("> Orders by 5.", 4.0), place("Orders by 2 now.", 3.0)
    unlikely, other = place("Warm wishes", -3.0), place("Orders by 3.", 1.0, "e")
    assert quotes(old, new) and not quotes(new, old) and not quotes(old, other)
    together = [one for place in (unlikely, other, new, old) for one in place]
    assert [one[0] for one in places(together)] == [new[0], old[0], other[0], unlikely[0]]
