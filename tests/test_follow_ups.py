"""Follow-up questions: what is put in, what is left alone, and what never gets lost."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.ellipsis import STOP, words
from rag_app.answering.query_rewriting import (
    Rewriter,
    Turn,
    cleaned,
    rewrite_prompt,
    standalone,
)

ACME = Turn("What was the revenue of Acme Corp in 2020?", "Revenue was $5.2 million in 2020. [1]")
TYPED = Turn("how much did acme corp earn in 2020", "It earned $5.2 million.")
CHIEF = Turn("who is the ceo of acme corp", "Jane Roe has led the company since 2019.")
LEASE = Turn("what is the notice period in the lease agreement", "Three months.")
WARRANTY = Turn("What is the warranty?", "Two years.")
SWEDEN = Turn("What was the unemployment rate in Sweden in 2020?", "8.3 % in Sweden.")
ALBUMS = Turn("What albums did Blue Harbour release in 1965?", "Two, in spring and in autumn.")
PLOTS = Turn("how many plots on the south site have no shed?", "Five of them.")
PRONOUNS = words(
    "he him his himself she her hers herself they them their theirs themselves it its itself those "
    "these there"
)


@pytest.mark.parametrize(
    ("turn", "question", "expected"),
    [
        (CHIEF, "how old is she?", "how old is Jane Roe?"),
        (CHIEF, "what did her husband say", "what did Jane Roe's husband say"),
        (ACME, "who runs it?", "who runs Acme Corp?"),
        (ACME, "what about its debts?", "what about Acme Corp's debts?"),
        (ACME, "How many employees do they have?", "How many employees do Acme Corp have?"),
        (TYPED, "who runs it", "who runs acme corp"),
        (TYPED, "where are they based", "where are acme corp based"),
        (
            LEASE,
            "can it be shortened?",
            "can the notice period in the lease agreement be shortened?",
        ),
        (SWEDEN, "how many people live there?", "how many people live in Sweden?"),
        (
            Turn("Where do the Millers live?", "The Millers live in Oslo."),
            "when did they move there?",
            "when did Millers move to Oslo?",
        ),
    ],
)
def test_a_pronoun_gives_way_to_what_it_stands_for(turn, question, expected):
    assert standalone(question, [turn]) == expected


@pytest.mark.parametrize(
    ("turn", "question", "expected"),
    [
        (ACME, "and in 2021?", "What was the revenue of Acme Corp in 2021?"),
        (ACME, "2021?", "What was the revenue of Acme Corp in 2021?"),
        (TYPED, "and in 2021", "how much did acme corp earn in 2021?"),
        (CHIEF, "and in 2021?", "who is the ceo of acme corp in 2021?"),
        (ACME, "What about Globex?", "What was the revenue of Globex in 2020?"),
        (SWEDEN, "and in Norway?", "What was the unemployment rate in Norway in 2020?"),
        (WARRANTY, "what about the deposit?", "What is the deposit?"),
        (TYPED, "what about globex", "what about globex: how much did acme corp earn in 2020?"),
        (ACME, "And the margins?", "And the margins (Acme Corp, 2020)?"),
        (LEASE, "and the deposit?", "and the deposit in the lease agreement?"),
    ],
)
def test_a_fragment_varies_the_question_before_it(turn, question, expected):
    assert standalone(question, [turn]) == expected


def test_a_title_in_quotation_marks_gives_way_whole():
    turns = [Turn('Who wrote "Silent Harbour" in 1920?', "Ada Byron.")]
    assert standalone('what about "Loud Harbour"?', turns) == 'Who wrote "Loud Harbour" in 1920?'


def test_a_place_does_not_push_out_a_name_that_is_no_place():
    made = standalone("in Norway?", [ACME])
    assert made == "What was the revenue of Acme Corp in 2020 in Norway?"


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        ("Did Acme split in 1969?", "why?", "why did Acme split in 1969?"),
        ("Did Acme split in 1969?", "And when?", "And when did Acme split in 1969?"),
        ("Who bought Acme?", "for how much?", "for how much: who bought Acme?"),
    ],
)
def test_a_bare_question_word_asks_about_the_whole_of_it(before, question, expected):
    assert standalone(question, [Turn(before, "Yes.")]) == expected


def test_of_them_counts_what_was_asked_for():
    assert standalone("how many of them sold well?", [ALBUMS]).startswith(
        "how many of the albums sold well"
    )


def test_a_question_that_names_nothing_gets_the_topic():
    turns = [Turn("Northern Lights Choir", "")]
    assert standalone("Was the tour a success?", turns) == (
        "Was the tour a success (Northern Lights Choir)?"
    )


def test_a_last_name_becomes_the_full_name():
    turns = [Turn("Who is Ada Byron?", "A mathematician."), Turn("Is Ada Byron famous?", "Yes.")]
    assert standalone("When did Byron die?", turns) == "When did Ada Byron die?"


def test_that_film_is_the_film_named_last():
    turns = [Turn("What did Ada Byron make?", 'She made "Silent Harbour".')]
    assert "Silent Harbour" in standalone("who paid for that film?", turns)


def test_a_name_does_not_run_on_over_an_empty_line():
    turns = [Turn("Who is the buyer?", "Ada Byron\n\nGlobex Holdings"), Turn("Since when?", "2019")]
    assert standalone("how old is she?", turns[:1]) == "how old is Ada Byron?"


def test_resolved_questions_are_resolved_further():
    turns = [ACME, Turn("and in 2021?", "It was $6 million."), Turn("who runs it?", "Jane Roe.")]
    assert standalone("how old is she?", turns) == "how old is Jane Roe?"
    assert "Acme Corp in 2022" in standalone("and in 2022?", turns[:2])


def test_a_new_subject_ends_what_it_stood_for():
    turns = [
        LEASE,
        Turn("can it be shortened?", "No."),
        Turn("what is the deposit?", "Two months' rent."),
    ]
    assert standalone("is it refundable?", turns) == "is the deposit refundable?"


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "How did Globex finance the purchase of Initech in 2019?",
        "When did Ada Byron say that she left?",
        "What did Globex say about its debts?",
        "Which part of the IT budget did Globex spend?",
        "Thanks",
        "and",
        "",
        "   ",
        "?",
        "😀?",
        "什么时候?",
        "Когда это случилось?",
        "متى حدث ذلك؟",
        "Quel est le chiffre ?",
    ],
)
def test_what_stands_alone_or_is_not_understood_stays_as_it_is(question):
    assert standalone(question, [ACME]) == question


@pytest.mark.parametrize("question", ["why?", "and in 2021?", "how old is he?", "where is it?"])
def test_without_a_conversation_nothing_changes(question):
    assert standalone(question, []) == question
    assert standalone(question, [Turn("", ""), Turn("  ", "?")]) == question


def test_an_idle_it_stands_for_nothing():
    assert standalone("Is it possible to pay later?", [ACME]).startswith("Is it possible")


def test_two_thousand_words_stay_as_they_are():
    question = "and why did it happen " * 400
    assert standalone(question, [ACME]) == question


def test_a_pasted_page_is_not_put_beside_a_fragment():
    page = Turn("Please read this: " + "profit and loss " * 300, "Done.")
    assert len(standalone("and in 2021?", [page])) < 100


def test_long_conversations_take_milliseconds():
    long = "Acme Corp of Norway earned $5 in 2020, said Jane Roe, who had joined Globex. " * 50
    turns = [Turn(f"What did Globex earn in {1900 + n}?", long) for n in range(100)]
    spent = []
    for _ in range(5):
        began = time.perf_counter()
        standalone("and in 2021?", turns)
        spent.append(time.perf_counter() - began)
    assert min(spent) < 0.05  # some 2 ms; a slow machine of somebody else's must not fail


def _kept(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - PRONOUNS - STOP


SAID = st.lists(
    st.sampled_from(
        [
            "\n",
            *sorted(
                words(
                    "and what about why in 2021 Norway Acme Corp the of them it he she her their "
                    "there this that album who was is did move to? , . ! ' \" ( ) & [1] naïve 你好 "
                    "😀 don't IT a-b"
                )
            ),
        ]
    ),
    max_size=12,
).map(" ".join)
ANY = st.one_of(SAID, st.text(max_size=60))
TURNS = st.lists(st.builds(Turn, ANY, ANY), max_size=4)


@given(ANY, TURNS)
def test_no_telling_word_that_was_typed_gets_lost(question, turns):
    made = standalone(question, turns)
    assert not _kept(question) - _kept(made)


WISHES = [
    Turn("Summarise the earnings release", "Revenue rose."),
    Turn("Compare Globex Ltd and Initech", "Globex Ltd says: …"),
    Turn("Translate the lease into French", "…"),
    Turn("Write a letter to Jane Roe", "…"),
]


@pytest.mark.parametrize("wish", WISHES)
@pytest.mark.parametrize(
    "question",
    [
        "What are superlinear returns?",
        "How does the boiler work?",
        "and in 2021?",
        "why?",
        "Was the tour a success?",
    ],
)
def test_no_question_leans_on_a_wish_that_it_does_not_point_at(wish, question):
    assert standalone(question, [wish]) == question
    assert standalone(question, [ACME, wish]) == question


def test_what_points_at_a_wish_means_what_it_was_about():
    made = standalone("What does it say about fuel?", WISHES[:1])
    assert made == "What does the earnings release say about fuel?"


def test_after_a_question_of_its_own_nothing_points_at_a_wish_before_it():
    turns = [WISHES[0], Turn("What are superlinear returns?", "Returns that grow fast.")]
    assert "release" not in standalone("What does it say about fuel?", turns)
    pointing = [WISHES[0], Turn("What does it say about fuel?", "It rose.")]
    assert "the earnings release" in standalone("Does it name the cause?", pointing)


@pytest.mark.parametrize(
    "question", ["What are superlinear returns?", "what is a lease", "Explain photosynthesis"]
)
def test_what_asks_what_something_is_stands_alone(question):
    assert standalone(question, [Turn("Frank Zappa", ""), ACME]) == question


def test_a_question_in_another_language_is_nothing_to_lean_on():
    spanish = Turn("¿Cuándo termina el contrato de alquiler?", "")
    assert standalone("What is the warranty?", [spanish]) == "What is the warranty?"
    assert standalone("how old is she?", [CHIEF, spanish]) == "how old is Jane Roe?"


def test_a_word_that_was_looked_for_is_no_topic_of_all_that_follows():
    assert standalone("How high is the deposit?", [Turn("warranty", "")]) == (
        "How high is the deposit?"
    )


@given(ANY)
def test_a_question_alone_is_its_own_rewrite(question):
    assert standalone(question, []) == question


@given(ANY, TURNS)
def test_the_prompt_holds_the_conversation_as_data(question, turns):
    prompt = rewrite_prompt(question, turns)
    found = re.search(r"^Conversation: (.*)\nLast question: (.*)\n", prompt, re.MULTILINE)
    assert found is not None
    assert json.loads(found[2]) == question
    assert [one["question"] for one in json.loads(found[1])] == [turn.question for turn in turns]


def test_the_prompt_is_short_however_long_the_conversation():
    assert len(rewrite_prompt("why?", [Turn("q" * 9_000, "a" * 9_000)] * 50)) < 10_000


@pytest.mark.parametrize(
    "reply",
    [
        "How old is Jane Roe?",
        '  "How old is Jane Roe?"\n',
        "Rewritten question: How old is Jane Roe?",
        "**Standalone question:** How old is Jane Roe?",
        "<think>She is\nJane Roe.</think>\nHow old is Jane Roe?",
    ],
)
def test_the_question_in_a_reply_is_taken(reply):
    assert cleaned(reply, "how old is she?", [CHIEF]) == "How old is Jane Roe?"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "  \n ",
        "…",
        "<think>How old is Jane Roe?",
        "Sure!\nHow old is Jane Roe?",
        "How old is Jane Roe? " * 100,
        "Bananas are yellow.",
        "Is the and of?",
    ],
)
def test_a_reply_that_is_not_plainly_a_question_is_not_used(reply):
    assert cleaned(reply, "how old is she?", [CHIEF]) == "how old is she?"


def test_quotation_marks_inside_a_reply_stay():
    assert cleaned('"Blue" or "Green" album?', "which album?") == '"Blue" or "Green" album?'


def test_a_reply_in_another_script_is_taken():
    turns = [Turn("公司的收入是多少?", "五百万。")]
    assert cleaned("2021年公司的收入是多少?", "2021年呢?", turns) == "2021年公司的收入是多少?"


@given(ANY, ANY, TURNS)
def test_a_cleaned_reply_is_never_empty_where_the_question_is_not(reply, question, turns):
    made = cleaned(reply, question, turns)
    assert made == question or made.strip()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Key box code for Porto flat: 123456", "key box code porto flat?"),
        ("Key box code for the Porto flat?", "Key box code for the Porto flat?"),
    ],
)
def test_no_figure_comes_into_a_question_that_nobody_said(written, expected):
    flight = Turn("When does our flight from Porto leave?", "At 13:25 on Tuesday 28 July. [1]")
    rewriter = Rewriter(lambda messages, cancelled: written, taught=True)
    assert rewriter.rewrite("key box code porto flat?", [flight]) == expected


@pytest.mark.parametrize("computed_from", [(), ("f" * 64,)])
def test_rows_of_a_table_are_no_topic_of_what_is_asked_next(computed_from):
    total = Turn("How many nights in the Garden room?", "31 nights.", computed_from)
    asked = "which guest paid the most"
    made = standalone(asked, [total])
    assert (made == asked) == bool(computed_from)
    assert "Garden" in standalone("and how much did it bring in?", [total])


def test_a_thing_takes_the_place_of_no_longer_phrase():
    car = Turn("What is the price of the insurance of the car?", "It is 300.")
    assert "price of the colour" not in standalone("and the colour of the car?", [car])


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("and on the north site?", "how many plots on the north site have no shed?"),
        ("and the north-west site", "how many plots on the north-west site have no shed?"),
        (
            "and on the other hand?",
            "how many plots on the south site have no shed on the other hand?",
        ),
    ],
)
def test_a_phrase_takes_the_place_of_the_one_that_begins_and_ends_as_it_does(question, expected):
    assert standalone(question, [PLOTS]) == expected


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        (
            "how many nights did we sell in may",
            "and in june?",
            "how many nights did we sell in june?",
        ),
        ("who works on Monday mornings?", "and on friday?", "who works on friday mornings?"),
        ("may I pay in July?", "and in august?", "may I pay in august?"),
        ("is it open in May or in June?", "and in july?", "is it open in May or in June in july?"),
    ],
)
def test_a_month_takes_the_place_of_a_month(before, question, expected):
    assert standalone(question, [Turn(before, "It is.")]) == expected


@pytest.mark.parametrize(
    "question", ["who are they?", "Which ones?", "and which are those", "Who?"]
)
def test_what_was_counted_can_be_asked_for(question):
    expected = "which of the plots on the south site have no shed?"
    assert standalone(question, [PLOTS]) == expected
    assert standalone(question, [SWEDEN]) != expected


def test_some_of_what_was_counted_are_asked_for():
    counted = Turn("how many of the july people have paid", "5 of them.")
    assert standalone("which ones?", [counted]) == "which of the july people have paid"
    assert "of the are" not in standalone("which?", [Turn("How many are overdue?", "Five.")])
