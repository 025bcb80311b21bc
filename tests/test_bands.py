"""Which of several rows or sentences holds for the quantity that a question names."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.evidence import gather
from rag_app.tables.bands import Bounded, asked_for, bounded, choices, narrowed, quantities
from rag_app.types import Chunk, Passage

LEAVE = (
    "Length of service: probation; Days: 20",
    "Length of service: under 2 years; Days: 23",
    "Length of service: 2 to 5 years; Days: 25",
    "Length of service: over 5 years; Days: 27",
    "Length of service: over 10 years; Days: 29",
)
CANCELLED = (
    "2.2 If you cancel more than 14 days before, you lose the deposit.",
    "From 14 to 7 days before, you pay half of the price.",
    "Less than 7 days before, you pay all of it.",
)
FESTIVAL = (
    "60 days or more before 18 July: one quarter",
    "59 to 30 days before: the whole first payment",
    "29 days or fewer, or during the festival: the whole fee",
)
WEIGHTS = ("Small (up to 10 kg) | £26 | £38", "Medium (10 to 20 kg) | £32 | £46",
           "Large (over 20 kg) | £40 | £58")  # fmt: skip
AGES = ("under 5 | free", "5–15 | £4", "16 and over | £8")
CLAIMS = ("Claim: up to £200; By: the head", "Claim: £200 – £1,500; By: a director",
          "Claim: over £1,500; By: the board")  # fmt: skip
GIVEN = ("first 6 months | 1 week", "over 6 months to 2 years | 4 weeks",
         "over 2 years to 6 years | 8 weeks", "over 6 years | 13 weeks")  # fmt: skip
FARES = ("up to 3 miles | £1.80", "over 3 and up to 7 miles | £3.10", "over 7 miles | £4.60")
REFUNDS = ("24 hours or more | 80 %", "6 to under 24 hours | 45 %", "under 6 hours | nothing")
SCHADEN = ("bis 3 Jahre | nichts", "4 bis 10 Jahre | die Hälfte", "mehr als 10 Jahre | alles")


@pytest.mark.parametrize(
    ("question", "lines", "inside"),
    [
        ("how many days off after a year and a half, so 18 months", LEAVE, {1}),
        ("I've been here three years, what do I get?", LEAVE, {2}),
        ("leave after 7 years", LEAVE, {3}),
        ("leave after twenty-five years", LEAVE, {4}),
        ("what if someone backs out ten days before", CANCELLED, {1}),
        ("cancelled three weeks before", CANCELLED, {0}),
        ("cancelled 3 days before 1 May 2026", CANCELLED, {2}),
        ("the festival is called off 40 days before 18 July", FESTIVAL, {1}),
        ("what is a groom for a 15 kilo spaniel", WEIGHTS, {1}),
        ("my dog is 25kg", WEIGHTS, {2}),
        ("my daughter is 12", AGES, {1}),
        ("what does a 17-year-old pay", AGES, {2}),
        ("children of 3 and 12 years", AGES, {0, 1}),
        ("who signs for £350?", CLAIMS, {1}),
        ("who signs for 2,000 pounds?", CLAIMS, {2}),
        ("was zahlen Sie nach zwölf Jahren", SCHADEN, {2}),
        ("after 4 months in the firm", GIVEN, {0}),
        ("after 16 months in the firm", GIVEN, {1}),
        ("after four years in the firm", GIVEN, {2}),
        ("what is the fare for a 5 mile trip", FARES, {1}),
        ("cancelled 10 hours before departure", REFUNDS, {1}),
        ("cancelled two days before departure", REFUNDS, {0}),
        ("exactly 10 kg", WEIGHTS, {0, 1}),  # the price list does not say which
    ],
)
def test_the_band_that_holds_for_a_quantity_is_told_by_arithmetic(question, lines, inside):
    found = [choice.inside for choice in choices(asked_for(question), lines) if choice.outside]
    assert inside in found


SEASONS = (
    "Dates: 3 January – 27 March; Price a week: £420",
    "Dates: 28 March – 17 July; Price a week: £560",
    "Dates: 18 July – 4 September; Price a week: £980",
    "Dates: 5 September – 2 January; Price a week: £430",
)
TERMS = (
    "Autumn term: Tuesday 1 September to Thursday 22 October 2026.",
    "Second half: Monday 2 November to Friday 18 December 2026.",
    "Spring term: Monday 4 January to Friday 12 February 2027.",
)
HOURS = ("Monday to Thursday | 9.00 – 17.30", "Friday | 9.00 – 16.00", "Sat and Sun | closed")
SHIFTS = ("8am – 10.30am | Marta", "10.30am – 2pm | Colin", "2 – 6pm | Judith")
STUNDEN = ("Montag bis Mittwoch | 8:00 – 12:00", "Donnerstag und Samstag | 14:00 – 18:00")


@pytest.mark.parametrize(
    ("question", "lines", "inside"),
    [
        ("how much is a week from 10 august", SEASONS, {2}),
        ("the week that begins on June 6th, 2026", SEASONS, {1}),
        ("a week at new year, from 1 January", SEASONS, {3}),
        ("what is a week in early september", SEASONS, {2, 3}),
        ("what is a week in march", SEASONS, {0, 1}),
        ("a week in mid march", (SEASONS[0], "Dates: 29 March – 1 May; Price: £560"), {0}),
        ("is the club on on the 5th of november", TERMS, {1}),
        ("which term is 2027-01-20 in", TERMS, {2}),
        ("when do you close on wednesdays", HOURS, {0}),
        ("are you open on 6 June 2026", HOURS, {2}),  # a Saturday
        (
            "what is a night in july",
            ("May, June | £60", "July and August | £90", "the rest | £45"),
            {1},
        ),
        ("and in March?", ("January–March: 12", "April–June: 14"), {0}),
        ("who is there at 3pm", SHIFTS, {2}),
        ("who is there at 11:15", SHIFTS, {1}),
        ("wann ist am Dienstag offen", STUNDEN, {0}),
        ("wann ist am Samstag offen", STUNDEN, {1}),
    ],
)
def test_the_row_that_holds_on_a_day_or_at_a_time_is_told_too(question, lines, inside):
    found = [choice.inside for choice in choices(asked_for(question), lines) if choice.outside]
    assert inside in found


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("wann ist am Freitag offen", STUNDEN),  # neither says so
        ("may I come on 30 october 2026", TERMS),  # between the terms
        ("how may I pay", SEASONS),
        (
            "what did Anna say on friday",
            ["Ben rings the plumber on Friday.", "Anna pays by Monday."],
        ),
        ("was it 20 january 2020", TERMS),  # another year
        ("one of them is 40, how much for her", CANCELLED),  # days?
        ("3 days", ["One takes 2 to 4 days to come here.", "Another thing takes 5 days at least."]),
        ("how many days off do I get?", LEAVE),  # no quantity
        ("leave after 7 years", ["over 5 years | 27", "over 10 years | 29"]),  # from, or up to?
        ("an 8 inch round", ["6 inch | 12", "8 inch | 20", "two tiers (6 and 8 inch) | 40"]),
        ("an invoice of 7 years", CLAIMS),  # years are no pounds
        ("what was cancelled in 2026", CANCELLED),
        ("3 days before", ["from 3 to 9 days: half", "from 1 to 5 days: all"]),  # in each other
        ("3 days", ["a sentence", "another one", ""]),
        ("3 days", []),
    ],
)
def test_where_nothing_is_told_nothing_is_left_out(question, lines):
    assert not any(choice.outside for choice in choices(asked_for(question), lines))


@given(
    cuts=st.lists(st.integers(1, 900), min_size=3, max_size=6, unique=True).map(sorted),
    falling=st.booleans(),
    wording=st.sampled_from(["{} to {} days", "{}–{} days", "between {} and {} days"]),
    asked=st.integers(0, 1_000),
)
def test_of_bands_in_order_the_one_around_a_value_is_found(cuts, falling, wording, asked):
    ends = [(-1, cuts[0]), *pairwise(cuts), (cuts[-1], 2_000)]
    lines = [f"up to {cuts[0]} days | a"]
    lines += [f"{wording.format(a, b)} | b" for a, b in ends[1:-1]]
    lines += [f"over {cuts[-1]} days | c"]
    if falling:
        lines, ends = lines[::-1], ends[::-1]
    [choice] = choices(asked_for(f"what holds for {asked} days?"), lines)
    assert choice.inside == {at for at, (a, b) in enumerate(ends) if a <= asked <= b}
    assert choice.inside | choice.outside == {*range(len(lines))}


ZONES = "Zone: 1; up to 2 kg: £4; 2 to 5 kg: £7; over 5 kg: £9"
CLASSES = "Time: 9.00; Monday: Yoga; Tuesday: Pilates"
NIGHTS = "Room: 2; May and June: £60; July to September: £90"
SENTENCE = "The office opens at 9; on Fridays it is closed."


def test_what_is_called_by_its_name_is_not_left_out():
    rows = ("High summer | 17 July to 28 August | £1,120", "Christmas | 18 December to 2 January",
            "Low | 3 January to 27 March")  # fmt: skip
    [found] = choices(asked_for("is Christmas dearer than the end of August?"), rows)
    assert (found.inside, found.outside) == ({0}, {2})


@pytest.mark.parametrize(
    ("question", "line", "left"),
    [
        ("a parcel of 3 kg", ZONES, "Zone: 1; 2 to 5 kg: £7"),
        ("yoga on tuesday", CLASSES, "Time: 9.00; Tuesday: Pilates"),
        ("in august", NIGHTS, "Room: 2; July to September: £90"),
        ("how much in all", ZONES, ZONES),
        ("on tuesday", SENTENCE, SENTENCE),
    ],
)
def test_of_a_row_the_columns_that_hold_are_shown(question, line, left):
    assert narrowed(asked_for(question), line) == left


@given(st.text(max_size=60), st.lists(st.text(max_size=40), max_size=5))
def test_any_text_is_read(question, lines):
    for choice in choices(asked_for(question), lines):
        assert choice.inside and not choice.inside & choice.outside
    quantities(question)


def test_a_writer_is_shown_the_row_that_holds_and_for_what():
    text = "Length of service | Days\nunder 5 years | 23\n5 to 9 years | 25\n10 years and more | 30"
    passage = Passage(Chunk("d", 1, 1, 0, len(text), text, ""), "leave.txt", 0.5)
    [shown] = gather(["leave after 7 years"], [passage], lambda texts: [1] * len(texts), 500)
    assert "5 to 9 years | 25" in shown.texts, "it is quoted as it stands there"
    assert "7 years: " in shown.shown and "under 5" not in shown.shown
    assert all(text[s.start : s.end] == t for s, t in zip(shown.spans, shown.texts, strict=True))


@pytest.mark.parametrize(
    ("question", "text", "above", "numbers"),
    [
        ("may I borrow {} items?", "4.2 Members may borrow up to 4 items.", False, "3 1 16"),
        ("a receipt for {} pounds", "Receipts for anything above £24.", True, "40 6 96"),
        ("a loan of {} weeks", "A loan of more than 14 days needs consent.", True, "3 1 8"),
        ("may we play music at {} pm", "No music after 10 pm.", True, "11 4 11"),
        ("a {} year old", "Children under 16 need a signature.", False, "14 4 64"),
        ("is there room for {} people in the hall", "It holds 80 people.", True, "100 20 320"),
    ],
)
def test_a_question_far_on_both_sides_of_a_bound(question, text, above, numbers):
    asked, below, beyond = (question.format(number).lower() for number in numbers.split())
    assert bounded(asked, text) == Bounded(above, below, beyond)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("may I borrow 4 items", "Members may borrow up to 4 items."),  # the words alone tell
        ("3 items for 10 days", "Up to 4 items, for at most 14 days."),  # two bounds
        ("a dog of 12 kg", "Parcels are £12."),
        ("may I borrow it", "Up to 4 items."),
    ],
)
def test_no_bound_or_more_than_one_decide_nothing(question, text):
    assert bounded(question, text) is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_may_set_a_bound(question, text):
    bounded(f"is 3 kg {question}", f"2 kg {text}")


AGES = ["under 5 years | free", "5 to 7 years | £3", "8 to 15 years | £5", "16 years and over | £9"]
FEES = ["Up to £10,000 | 10%", "£10,000 to £50,000 | 8%", "over £50,000 | 5%"]
MONTHS = ["January | £3", "February | £4", "March | £5", "April | £6"]
OPEN = ["Monday | 9", "Tuesday | 10", "Wednesday | 11", "Friday | 12"]
SUMMER = ["1. Mai bis 14. Juli | 60 €", "15. Juli bis 31. August | 80 €"]
POST = ["0.5 to 1.5 kg | £4", "1.5 to 3.5 kg | £6", "3.5 to 9.5 kg | £8"]


@pytest.mark.parametrize(
    ("question", "lines", "inside"),
    [
        ("how much is it for a child aged 6", AGES, {1}),
        ("and for somebody who is 12", AGES, {2}),
        ("the fee on £15k", FEES, {1}),
        ("what is charged on £1.5 million", FEES, {2}),
        ("what is it from January to March", MONTHS, {0, 1, 2}),
        ("when is it open Monday to Wednesday", OPEN, {0, 1, 2}),
        ("was kostet der 5. Juli", SUMMER, {0}),
        ("a parcel of 3 kg", POST, {1}),
    ],
)
def test_ages_thousands_stretches_and_decimals_are_told_too(question, lines, inside):
    [found] = [choice for choice in choices(asked_for(question), lines) if choice.outside]
    assert found.inside == inside


@pytest.mark.parametrize("question", ["Is the sun deck open?", "Who sat at the desk?"])
def test_a_word_that_shortens_a_day_elsewhere_is_none_here(question):
    assert not asked_for(question)


@pytest.mark.parametrize(
    ("question", "text", "above"),
    [
        ("may it weigh 90 kg", "Riders up to 112.5 kg.", False),
        ("is 120 pounds a day all right", "Not more than £100.50 per day.", True),
        ("may I bring 2 kg", "2.5 kg at most.", False),
    ],
)
def test_a_decimal_bound_is_whole(question, text, above):
    found = bounded(question, text)
    assert found is not None and found.is_above is above


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("is a 0% deposit possible", "A deposit of at least 10%."),
        (f"may I lend {'9' * 400} books", "Up to 12 books."),
        ("is 18:30 too late", "Not after 17 hours."),
    ],
)
def test_nothing_lies_far_from_nothing_nor_from_what_has_no_end(question, text):
    assert bounded(question, text) is None


def test_a_day_in_a_question_stays_what_it_is():
    found = bounded("on 13 July, may I bring 3 dogs", "Up to 2 dogs.")
    assert found is not None and "13 july" in found.below and "13 july" in found.above


def test_a_long_line_of_signs_takes_no_time():
    assert bounded("may I bring 3 dogs", "% " * 50_000) is None
