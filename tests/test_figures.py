"""Numbers by their value, however they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.attribution import invented, known_figures, missing
from rag_app.answering.chat_generator import sayable, without_invented


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("1,250", "1250"),
        ("1.250", "1,250.00"),
        ("1.250,50", "1,250.50"),
        ("1'250", "1250"),
        ("12 500 people", "12,500 people"),
        ("12500 people", "12 500 people"),
        ("ring 020 912 0455, then 087 123 4567", "020 912 0455 or 087 123 4567"),
        ("020912", "020 912"),
        ("1 000,50 euros", "1000.50 euros"),
        ("17,40", "17.40"),
        ("at 2:05 pm", "at 14:05"),
        ("um 14.05 Uhr", "at 14:05"),
        ("3 days", "three days"),
        ("three days", "3 days"),
        ("3 Tage", "drei Tage"),
        ("on the 28th", "28.03.2026"),
        ("section 3.4.1", "see 3.4.1"),
        ("in March", "12 March"),
        ("٣٤ euros", "34 euros"),
        ("x² euros", "nothing"),
        ("1 month", "one month"),
        ("25 days", "twenty-five days"),
        ("twenty-five days", "25 days"),
        ("£200", "two hundred pounds"),
        ("a hundred or two thousand", "100 or 2,000"),
        ("200,000 and 150", "two hundred thousand, and one hundred and fifty"),
        ("100 or 200", "between one hundred and two hundred"),
        ("_Two_ weeks", "2 weeks"),
        ("15 March 2026", "15/03/26"),
        ("15 March 1999", "15.3.99"),
        ("14:30", "2:30 pm"),
        ("14:05", "2.05 p.m."),
        ("14:00", "2pm"),
        ("12:30", "12:30 pm"),
        ("£20,000", "£20k"),
        ("£20k", "£20,000"),
        ("1,500,000", "1.5 million"),
        ("1,5 Mio. Euro", "1,500,000 euros"),
        ("0.5 mg", "0.500 mg"),
        ("20.000 mg", "20.000 mg"),
        ("on 5 June at 15:00", "am 05.06. ab 15:00 Uhr"),
        ("by 31 December", "bis 31.12. möglich"),
        ("on 5 June", "Feier am 5. 6."),
        ("2025–2026", "season 2025/26"),
        ("1999 to 2000", "1999–00"),
        ("1.5 cups", "1½ cups"),
        ("0.75 l", "¾ l"),
        ("0.5 mg", ".5 mg"),
        ("12:30 am", "00:30"),
        ("0:30", "12.30 am"),
        ("00:30", "12:30 a.m."),
        ("17:30", "17h30"),
        ("5.30 pm", "17 h 30"),
    ],
)
def test_the_same_number_is_known_in_another_writing(claim, source):
    assert not missing(claim, known_figures(source))


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("£2,590", "£1,175 and £1,355 and £60"),
        ("17", "17,40"),
        ("1.25", "125"),
        ("in March", "in May"),
        ("five euros", "four euros"),
        ("20 days", "twenty-five days"),
        ("5 days", "twenty-five days"),
        ("2", "two hundred"),
        ("in 2015", "2026-03-15"),
        ("24:30", "12:30 pm"),
        ("14:30", "2:30 am"),
        ("£20", "£20,000"),
        ("£20.50", "£20,500"),
        ("in October", "a ratio of 3.50. Then 31.13."),
        ("2027", "season 2025/27"),
        ("12.30", "£0.30"),
        ("0.5", "see annex.5"),
    ],
)
def test_another_number_is_missing(claim, source):
    assert missing(claim, known_figures(source))


def test_a_word_that_counts_is_not_invented_but_a_number_is():
    known = known_figures("Ferries cost 4 euros.")
    assert not invented("There are two ways.", known)
    assert invented("There are 2 ways.", known)


@pytest.mark.parametrize(
    "said",
    [
        "37. That is what the contract says.",
        "It is this:\n3) days.",
        "2. A form.\n3. A fee.",
        "**37.** days",
    ],
)
def test_a_figure_at_the_beginning_of_a_line_is_checked(said):
    assert not any(c.isdigit() for c in without_invented(said, set()))
    assert not any(c.isdigit() for c in sayable(said, set()))


@pytest.mark.parametrize(
    "said",
    [
        "Bring:\n\n1. A form.\n2. A fee.\n3. A friend.",
        "1) a form\n2) a fee",
        "1. Come:\n   1. by bus,\n   2. by boat.\n2. Pay.",
        "**1. A form**: bring it.\n\n**2. A fee**: pay it.",
        "**1.** Bring a form.\n**2.** Pay a fee.",
        "- 1) a form\n- 2) a fee",
        "### 1. A form\nBring it.\n\n### 2. A fee\nPay it.",
    ],
)
def test_the_numbers_of_a_list_need_not_be_known(said):
    assert without_invented(said, set()) == said
    assert sayable(said, set()) == said


SMALL = [
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spelt(number):
    for scale, name in ((1000, "thousand"), (100, "hundred")):
        if number >= scale:
            more = f" and {spelt(number % scale)}" if number % scale else ""
            return f"{spelt(number // scale)} {name}{more}"
    if number < 20:
        return SMALL[number - 1]
    return TENS[number // 10 - 2] + (f"-{SMALL[number % 10 - 1]}" if number % 10 else "")


@given(st.integers(1, 999_999))
def test_a_number_in_words_is_that_number_and_no_other(number):
    assert known_figures(f"They are {spelt(number)} in all.") == {str(number)}


@given(st.text(max_size=60) | st.text("0123 .,", max_size=40))
def test_no_text_lacks_its_own_figures(text):
    assert not missing(text, known_figures(text))


def test_decimals_of_three_places_are_those_without_their_last_nought():
    assert missing("The coupon is 4.25%.", known_figures("4.250% notes due 2030")) == []
    assert missing("The amount is £20.", known_figures("Fee: £20,000")) != []
