"""Sums that a writer leaves to code."""

from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.arithmetic import computed
from rag_app.answering.attribution import percentages, pointed

KNOWN = {"85", "3.5", "1250", "960"}


def test_a_sum_is_worked_out_and_shown():
    found = computed("The nights cost <<3 * 85>> £.", KNOWN)
    assert found.text == "The nights cost 255 £."
    assert found.steps == ("3 × 85 = 255",)
    assert "255" in found.figures


def test_the_figures_of_a_sum_are_known_of_it():
    found = computed("<<12 * 1250>> and <<85 + 3.50>>", KNOWN)
    assert found.operands == {"1250", "85", "3.5"}


def test_a_figure_alone_is_no_sum():
    found = computed("It costs <<6842.00>> EUR.", KNOWN)
    assert (found.text, found.steps, found.wrong) == ("It costs 6842 EUR.", (), ())
    assert computed("<<34.90>> EUR", KNOWN, comma=True).text == "34,90 EUR"


def test_what_is_not_whole_has_two_decimals():
    assert computed("<<1250 / 85>> each", KNOWN).text == "14.71 each"
    assert computed("<<1250 / 85>> je Stück", KNOWN, comma=True).text == "14,71 je Stück"


def test_a_small_result_is_not_rounded_to_nothing():
    found = computed("<<3.5 / 1250>> and <<85 / 960>>", KNOWN)
    assert found.text == "0.0028 and 0.0885"
    assert found.figures == {"0.0028", "0.0885"}
    assert computed("<<3 / 1250>>", KNOWN, comma=True).text == "0,0024"


def test_a_figure_alone_is_said_as_it_is():
    assert computed("<<0.125>> g of <<123456.78>> g", KNOWN).text == "0.125 g of 123,456.78 g"


def test_points_between_thousands_are_no_decimal_points():
    known = {"3412", "3.412", "3768", "3.768"}
    found = computed("<<3.412 - 3.768>> kWh", known, comma=True, thousands={"3.412", "3.768"})
    assert (found.text, found.steps) == ("-356 kWh", ("3412 − 3768 = -356",))
    assert pointed("3.412 kWh, 1.223,19 EUR, am 1.02.2026, 12.345.678") == ["3.412", "12.345.678"]


def test_large_results_are_grouped():
    assert computed("<<1250 * 960>>", KNOWN).text == "1,200,000"
    assert computed("<<1250 * 960>>", KNOWN, comma=True).text == "1.200.000"


def test_a_figure_that_stands_nowhere_is_not_used():
    found = computed("It costs <<17 * 85>> £.", KNOWN)
    assert found.wrong == ("17 * 85",)
    assert not found.steps


def test_months_and_things_that_are_counted_may_be_used():
    assert computed("<<960 * 12>>", KNOWN).text == "11,520"
    assert computed("<<85 + 2>> people", KNOWN).text == "87 people"
    assert computed("<<85 / 1250 * 100>> %", KNOWN).text == "6.80 %"


def test_a_sum_without_any_known_figure_is_made_up():
    found = computed("They have come to £<<1 + 1 * 12>>.", KNOWN)
    assert found.wrong == ("1 + 1 * 12",)
    assert not found.steps
    assert not found.figures


def test_a_percentage_in_a_product_is_a_share():
    known, shares = {"50", "5472", "85"}, {"50"}
    found = computed("It costs <<5472 * 50>> EUR.", known, shares=shares)
    assert found.text == "It costs 2736 EUR."
    assert found.steps == ("5472 × 50 ÷ 100 = 2736",)
    assert computed("<<5472 * 50 / 100>>", known, shares=shares).text == "2736"
    assert computed("<<50 + 85>>", known, shares=shares).text == "135"


def test_a_share_of_a_hundred_is_a_share():
    known, shares = {"15", "100"}, {"15"}
    assert computed("You save <<15 * 100>> pounds.", known, shares=shares).text == (
        "You save 15 pounds."
    )
    assert computed("<<15 / 100.5 * 201>>", {*known, "201", "100.5"}, shares=shares).text == "0.30"
    assert computed("<<60 * 100 / 15>>", {*known, "60"}, shares=shares).text == "400"


def test_what_stands_as_a_percentage_and_as_something_else_is_no_share():
    assert percentages("50 % of the price, 30% later, 30 days before") == {"50"}


def test_a_sum_that_is_not_whole_yet_is_held_back():
    for part in ("It is <", "It is <<", "It is <<3 *", "It is <<3 * 85>"):
        assert computed(part, KNOWN).text == "It is "


def test_nothing_but_sums_is_worked_out():
    for written in ("2 ** 85", "__import__('os')", "85 / 0", "85 +", "f(85)", "85 < 3", "True"):
        found = computed(f"It is <<{written}>>.", KNOWN)
        assert not found.steps
        assert "<<" not in found.text or found.text.startswith("It is <<85 <")


@given(st.text("0123456789+-*/(). <>eE", max_size=300))
def test_no_text_breaks_it(text):
    computed(text, KNOWN)
