from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag_app.retrieval.ranking import together, word_pairs


def test_the_pairs_of_a_question_pass_over_small_words():
    assert word_pairs("What is the cost of sales in 2018?") == [
        ("cost", "sales"),
        ("sales", "2018"),
    ]
    assert word_pairs("Why?") == word_pairs("") == word_pairs("ferry") == []


def test_words_that_stand_together_count_and_words_apart_do_not():
    texts = {
        "together": "The gross margin fell.",
        "apart": "Gross profit rose while the operating margin fell.",
        "turned round": "The margin is gross.",
    }
    assert together("Did gross margin fall?", texts).keys() == {"together"}


def test_endings_line_ends_and_small_words_between_do_no_harm():
    texts = {
        "a": "Cost\nof the sale",
        "b": "COSTS OF SALES",
        "c": "cost of all those sales",
        "d": "the policies of companies",
    }
    assert together("cost of sales", texts).keys() == {"a", "b"}
    assert together("policy of a company", texts).keys() == {"d"}


def test_a_row_of_dots_parts_words():
    assert together("gross margin", {"contents": f"Gross {'.' * 40} margin"}) == {}


def test_a_short_word_is_not_the_beginning_of_another():
    assert together("tax rate", {"a": "taxi rate", "b": "tax rates"}).keys() == {"b"}
    assert together("income tax", {"a": "the outincome tax"}) == {}


def test_a_rare_pair_counts_more_than_one_that_is_everywhere():
    texts = {str(n): "Annual report of the harbour." for n in range(9)}
    texts |= {"rare": "The ferry ticket.", "both": "Annual report: the ferry ticket."}
    found = together("ferry ticket, annual report", texts)
    assert found["both"] > found["rare"] > found["0"]


def test_words_with_vowel_signs_are_found():
    assert together("हिन्दी भाषा", {"a": "यह हिन्दी भाषा है", "b": "हिन्दी"}).keys() == {"a"}


@given(st.text(max_size=80), st.dictionaries(st.text(max_size=3), st.text(max_size=80), max_size=4))
def test_shares_lie_between_nothing_and_all(question, texts):
    found = together(question, texts)
    assert found.keys() <= texts.keys()
    assert all(0 < share <= 1 + 1e-9 for share in found.values())


@given(
    st.lists(
        st.tuples(st.text("bcd", min_size=1), st.text(" .-'\n", min_size=1, max_size=9)), min_size=2
    )
)
def test_a_text_that_is_the_question_holds_all_its_pairs(spaced):
    question = "".join(word + between for word, between in spaced)  # a row of dots parts words
    found = together(question, {"same": question})
    assert found == {} or abs(found["same"] - 1) < 1e-9
