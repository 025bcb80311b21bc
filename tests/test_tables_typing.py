"""Cells as values: what a column is, is decided by what fits all its cells."""

from __future__ import annotations

import datetime as dt
import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.tables.typing import ColumnRule, count_texts, rule_of, rules
from rag_app.tables.values import Convention, DateOrder, date, days_in, is_dash, written_number
from rag_app.types import ColumnKind


def typed(*texts: str) -> tuple[ColumnRule, list[object]]:
    (rule,) = rules([count_texts(texts)])
    return rule, [rule.typed(text).value for text in texts]


def _english(number: Decimal) -> str:
    return f"{number:,f}"


def _continental(number: Decimal) -> str:
    return f"{number:,f}".translate(str.maketrans(",.", ".,"))


def _bracketed(number: Decimal) -> str:
    return f"({-number:,f})" if number < 0 else f"{number:,f}"


def _trailing(number: Decimal) -> str:
    return f"{-number:,f}-" if number < 0 else f"{number:,f}"


_WRITERS = (
    (_english, "."),
    (_continental, ","),
    (_bracketed, "."),
    (_trailing, "."),
    (lambda n: _english(n).replace(",", "\u202f"), "."),
    (lambda n: _english(n).replace(",", "’"), "."),
    (lambda n: f"$ {_english(n)}", "."),
    (lambda n: f"{_continental(n)} €", ","),
    (lambda n: f"{_english(n)} km²", "."),
    (lambda n: f"{_english(n)}%", "."),
    (lambda n: f"{_english(n)} [a]", "."),
)


@given(
    st.decimals(-(10**11), 10**11, places=2),
    st.sampled_from(_WRITERS),
)
def test_typing_a_written_number_gives_it_back(number, writer):
    write, mark = writer
    found = written_number(write(number))
    assert found is not None
    assert found.value(mark) == number


@given(st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1, max_size=30))
def test_a_column_of_written_numbers_is_read_in_its_own_convention(numbers):
    for write in (_english, _continental):
        assert typed(*[write(n) for n in numbers])[1] == numbers


@given(st.text(max_size=40))
def test_any_cell_can_be_read(text):
    rule, (value,) = typed(text)
    assert value is not None or rule.kind is not ColumnKind.TEXT or is_dash(text)


@given(st.dates(dt.date(1970, 1, 1), dt.date(2069, 12, 31)))
def test_a_date_is_read_however_it_is_written(day):
    noon = dt.datetime(day.year, day.month, day.day)
    usual, american = Convention(), Convention(order=DateOrder.MONTH_FIRST)
    for pattern in ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%y", "%d %B %Y", "%B %d, %Y", "%a, %d-%b-%Y"):
        assert date(day.strftime(pattern), usual) == noon
    assert date(day.strftime("%m/%d/%Y"), american) == noon


@pytest.mark.parametrize(
    ("texts", "kind", "values"),
    [
        (["1.234", "2.500,5"], ColumnKind.NUMBER, [Decimal(1234), Decimal("2500.5")]),
        (["1,234", "2,500.5"], ColumnKind.NUMBER, [Decimal(1234), Decimal("2500.5")]),
        (["12,34,567", "89"], ColumnKind.INTEGER, [1_234_567, 89]),
        (["13/04/2021", "03/04/2021"], ColumnKind.DATE,
         [dt.date(2021, 4, 13), dt.date(2021, 4, 3)]),
        (["04/13/2021", "03/04/2021"], ColumnKind.DATE,
         [dt.date(2021, 4, 13), dt.date(2021, 3, 4)]),
        (["2021-05-01 09:30", "2021-05-02"], ColumnKind.TIME,
         [dt.datetime(2021, 5, 1, 9, 30), dt.datetime(2021, 5, 2)]),
        (["1st", "2nd", "10th"], ColumnKind.RANK, [1, 2, 10]),
        (["1999", "2004"], ColumnKind.YEAR, [1999, 2004]),
        (["1:02:03", "59:10"], ColumnKind.DURATION, [3723.0, 3550.0]),
        (["08:15", "12:30"], ColumnKind.DURATION, [29_700.0, 45_000.0]),
        (["5h 29' 10\"", "+ 1' 12\""], ColumnKind.DURATION, [19_750.0, 72.0]),
        (["2025-09", "-", "2023-11"], ColumnKind.DATE,
         [dt.date(2025, 9, 1), None, dt.date(2023, 11, 1)]),
        (["2010-11", "2011-12"], ColumnKind.TEXT, ["2010-11", "2011-12"]),
        (["2011-11", "2011-12"], ColumnKind.DATE, [dt.date(2011, 11, 1), dt.date(2011, 12, 1)]),
        (["1001-01", "1001-02"], ColumnKind.TEXT, ["1001-01", "1001-02"]),
        (["+", "-", "+"], ColumnKind.TEXT, ["+", "-", "+"]),
        (["Ann Lee", "-", "Joe Day"], ColumnKind.TEXT, ["Ann Lee", None, "Joe Day"]),
        (["007", "012"], ColumnKind.TEXT, ["007", "012"]),
        (["10–20", "5–7"], ColumnKind.TEXT, ["10–20", "5–7"]),
        (["12A", "3B", "4C"], ColumnKind.TEXT, ["12A", "3B", "4C"]),
        (["5a", "5b", "5a", "7c", "5a"], ColumnKind.TEXT, ["5a", "5b", "5a", "7c", "5a"]),
        (["4ºA", "3ºB", "4ºA"], ColumnKind.TEXT, ["4ºA", "3ºB", "4ºA"]),
        (["12 apples", "3 pears", "4 plums"], ColumnKind.TEXT, ["12 apples", "3 pears", "4 plums"]),
        (["+49 30 1234567", "+1 555 010 999"], ColumnKind.TEXT,
         ["+49 30 1234567", "+1 555 010 999"]),
        (["4", "–", "", "n/a", "5", "7", "8"], ColumnKind.INTEGER, [4, None, None, None, 5, 7, 8]),
    ],
)  # fmt: skip
def test_a_column_is_what_nearly_all_its_cells_are(texts, kind, values):
    rule, found = typed(*texts)
    assert (rule.kind, found) == (kind, values)


@pytest.mark.parametrize(
    ("texts", "seconds"),
    [
        (("37:30", "38:15", "22:15"), [135_000, 137_700, 80_100]),  # a week
        (("162:00", "151:45"), [583_200, 546_300]),  # a month
        (("24:31", "31:05", "28:10"), [1_471, 1_865, 1_690]),  # a race
        (("3:45.2", "4:10"), [Decimal("225.2"), 250]),
    ],
)
def test_hours_of_a_week_to_five_minutes_are_hours_and_the_times_of_a_race_minutes(texts, seconds):
    rule, found = typed(*texts)
    assert (rule.kind, found) == (ColumnKind.DURATION, [float(each) for each in seconds])


@pytest.mark.parametrize(
    "texts",
    [
        ("Junior 1", "Junior 2"),
        ("Deck 2", "Deck 4"),
        ("Market 3", "Market 5"),
        ("Mark 2024", "Mark 2025"),
        ("List 2024", "List 2025"),
        ("Jane 2024", "Marc 2025"),
        ("Set 1", "Set 2"),
        ("Marathon 2024", "Marathon 2025"),
    ],
)
def test_a_name_with_a_number_that_begins_like_a_month_is_no_day(texts):
    days = count_texts(["2024-05-04", "2024-06-05"])
    assert rules([count_texts(texts), days])[0].kind is ColumnKind.TEXT


def test_rates_are_no_months_of_years():
    rule, values = typed("1.0834", "1.1012", "1.0999")
    assert (rule.kind, values[0]) == (ColumnKind.NUMBER, Decimal("1.0834"))


@pytest.mark.parametrize(
    "texts",
    [
        ("3 ene 2024", "4 dic. 2024"),
        ("3. Mär. 2024", "4. Dez 2024"),
        ("3 févr. 2024", "1 août 2024"),
        ("3 set 2024", "4 ott 24"),
        ("3 фев 2024", "4 октября 2024"),
        ("12 Febr. 2024", "3 Novem 2024", "4 Decem. 2024"),
        ("12 Genn 2024", "3 Sett. 2024"),
        ("12 stycz. 2024", "3 listop. 2024"),
        ("3 Febuary 2024", "4 Septmber 2024"),
    ],
)
def test_months_are_named_or_shortened_in_several_languages(texts):
    assert typed(*texts)[0].kind is ColumnKind.DATE


def test_months_of_years_are_dates_and_short_years_only_beside_them():
    rule, values = typed("Oct 2023", "01/2022", "Nov 24")
    assert rule.kind is ColumnKind.DATE
    assert values == [dt.date(2023, 10, 1), dt.date(2022, 1, 1), dt.date(2024, 11, 1)]
    assert typed("2024-02-01", "01/2022", "Nov 24")[1][2] == dt.date(2024, 11, 1)
    _, values = typed("3 Oct 2023", "01/2022", "5.6.2021", "Nov 24")
    assert values[3] is None


def test_the_other_decimal_mark_is_read_where_it_can_be_nothing_else():
    rule, values = typed("43.50", "41,55", "1,234.25")
    assert values == [Decimal("43.5"), Decimal("41.55"), Decimal("1234.25")]
    assert rule.typed("41,55").plain


def test_what_programs_write_for_a_gap_is_none():
    rule, values = typed("4", "N/A", "5", "nan", "7", "8", "abs")
    assert values == [4, None, 5, None, 7, 8, None]
    assert [rule.typed(text).plain for text in ("N/A", "abs")] == [True, False]


def test_dates_that_are_none_stay_text_beside_the_dates():
    rule, values = typed("31.02.2021", "01.02.2021", "02.03.2021", "05.03.2021")
    assert rule.kind is ColumnKind.DATE
    assert values[0] is None
    assert not rule.typed("31.02.2021").plain


def test_currencies_that_differ_are_all_said_the_most_frequent_first():
    rule, values = typed("$5", "€ 6.50", "7 EUR", "£ 8")
    assert rule.units == ("EUR", "$", "GBP")
    assert values == [5, Decimal("6.5"), 7, 8]
    assert [rule.typed(text).unit for text in ("$5", "7 EUR")] == ["$", "EUR"]


def test_what_one_column_leaves_open_the_others_settle():
    doubtful, sure = rules(map(count_texts, (["1.234", "5.678"], ["2,5", "3,75"])))
    assert (doubtful.kind, doubtful.typed("1.234").value) == (ColumnKind.INTEGER, 1_234)
    assert sure.typed("2,5").value == Decimal("2.5")
    assert rule_of(count_texts(["1.234", "5.678"])).typed("1.234").value == Decimal("1.234")


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (("12.500 €", "1.250 €", "800 €"), [12_500, 1_250, 800]),
        (("$1,250", "$800"), [1_250, 800]),
        (("1.234,50 €", "1.250 €"), [Decimal("1234.5"), 1_250]),
        (("1.789 €", "1.659 €"), [Decimal("1.789"), Decimal("1.659")]),  # of a litre
        (("0.500 €", "1.250 €", "2 €"), [Decimal("0.5"), Decimal("1.25"), 2]),
    ],
)
def test_whole_amounts_of_money_beside_others_are_in_thousands(texts, values):
    assert typed(*texts)[1] == values


def test_no_thousands_begin_with_nought():
    assert typed("0,750 kg", "1,250 kg")[1] == [Decimal("0.75"), Decimal("1.25")]


@pytest.mark.parametrize(
    "texts",
    [
        ("12 Mill Lane", "14 Mill Lane", "3 Mill Lane", "8 High Street"),
        ("12 Mill Lane", "8 High Street", "5", "7 High Street"),
        ("12 Mill Lane", "14 Mill Lane"),
        ("12 Mill Lane", "3 Mill Lane", "9 Mill Lane", "10"),
        ("9 am", "2 pm", "7.30 pm"),
        ("9 a.m.", "2 p.m."),
    ],
)
def test_addresses_and_times_of_the_day_stay_text(texts):
    rule, values = typed(*texts)
    assert (rule.kind, tuple(values)) == (ColumnKind.TEXT, texts)


@pytest.mark.parametrize(
    ("texts", "units"),
    [
        (("1,200 Sq Ft", "900 Sq Ft"), ("Sq Ft",)),
        (("5 Working Days", "1 Working Day", "10 Working Days"), ("Working Days", "Working Day")),
        (("8 Fl Oz", "12 Fl Oz", "3"), ("Fl Oz",)),
        (("5 Working Days", "10 Working Days"), ("Working Days",)),
        (("12 fl oz", "8 fl oz"), ("fl oz",)),
        (("3 working days", "5 working days"), ("working days",)),
        (("850 Square Feet", "1,200 Square Feet", "920 Square Feet"), ("Square Feet",)),
    ],
)
def test_a_unit_of_two_words_with_capitals_is_one(texts, units):
    rule, values = typed(*texts)
    assert (rule.kind, rule.units) == (ColumnKind.INTEGER, units)
    assert None not in values


def test_what_is_counted_in_several_words_stays_beside_the_number():
    rule, values = typed("4 weeks", "1 month", "3 months", "4 weeks")
    assert values == [4, 1, 3, 4]
    assert not any(rule.typed(text).plain for text in ("4 weeks", "1 month"))
    rule, _ = typed("4 weeks", "1 weeks", "£3")
    assert rule.typed("4 weeks").plain
    assert typed("120 Litres", "30 Litres")[0].units == ("Litres",)


@pytest.mark.parametrize("texts", [("1200", "1150", "1425"), ("1998", "2150"), ("1001", "1002")])
def test_amounts_of_four_figures_are_no_years(texts):
    assert typed(*texts)[0].kind is ColumnKind.INTEGER


def test_a_remark_stays_beside_the_number():
    rule, values = typed("1,234[a]", "2,345*", "15 (est.)", "7")
    assert values == [1_234, 2_345, 15, 7]
    assert [rule.typed(text).plain for text in ("15 (est.)", "7")] == [False, True]


def test_a_line_of_signs_is_told_from_a_value_at_once():
    began = time.perf_counter()
    rule, values = typed("5", "7", "*" * 24 + " SUMMARY", "#†" * 12 + "x", "9", "11", "13")
    assert values[:2] == [5, 7]
    assert typed("5", "7", "9", "1 (a) [b]" * 20_000)[1][:3] == [5, 7, 9]
    assert rule.typed("8 **[a] (est.)").value == 8
    assert time.perf_counter() - began < 1  # about 10 ms on an idle machine


@pytest.mark.parametrize("last", ["0.5", "0.25 €", "8 €", "123456789.125"])
def test_a_number_after_thousands_of_others_is_read_as_they_are(last):
    whole = [str(number) for number in range(1, 5_200)]
    _, values = typed(*whole, *[f"{n}.5" for n in range(9)], last)
    assert values[-2:] == [Decimal("8.5"), Decimal(last.split()[0])]
    assert typed(*whole, "1,250,000")[1][-1] == 1_250_000


def test_days_after_thousands_of_others_stay_days():
    first = dt.date(1990, 1, 1)
    days = [first + dt.timedelta(days=number) for number in range(12_000)]
    _, values = typed(*[f"{day:%d.%m.%Y}" for day in days])
    assert values == days


def named(*texts: str) -> list[list[tuple[str, str]]]:
    """The days in texts of one document, with what is written there."""
    return [
        [(str(one.day), text[one.start : one.end]) for one in days]
        for text, days in zip(texts, days_in(texts), strict=True)
    ]


def test_days_are_found_in_running_text_in_several_languages():
    assert named(
        "Signed on March 5th, 2026 and 2026-03-07.",
        "Der Vertrag vom 5. März 2026 endet.",
        "Firmado el 5 de marzo de 2026.",
        "Paid in March 2026.",
    ) == [
        [("2026-03-05", "March 5th, 2026"), ("2026-03-07", "2026-03-07")],
        [("2026-03-05", "5. März 2026")],
        [("2026-03-05", "5 de marzo de 2026")],
        [("2026-03-01", "March 2026")],
    ]


def test_what_only_looks_like_a_day_is_none():
    assert named(
        "3 Marketing 2026 is about Marketing.", "Version 1.2.2026.4, page 2026-03-041"
    ) == [
        [],
        [],
    ]
    assert named("31 February 2026, in 5 weeks, 30 widgets 2026") == [[]]


def test_a_date_of_figures_counts_where_the_document_says_in_which_order_they_are():
    assert named("Due 3/4/2026.") == [[]]
    assert named("Due 3/4/2026.", "Paid 25/4/2026.") == [
        [("2026-04-03", "3/4/2026")],
        [("2026-04-25", "25/4/2026")],
    ]
    assert named("Due 3/4/2026.", "Paid 4/25/2026.")[0] == [("2026-03-04", "3/4/2026")]
    assert named("Due 3/4/2026.", "Paid 4/25/2026.", "Or 25/4/2026.")[0] == []


@pytest.mark.parametrize(
    ("texts", "said", "days"),
    [
        (["02/05/2024", "Fri 3 May", "4 May", "31/5"], None, ["05-02", "05-03", "05-04", "05-31"]),
        (["4 April", "Sat 6 April"], 2024, ["04-04", "04-06"]),
        (["April 4", "April 6", "May 9"], 2024, ["04-04", "04-06", "05-09"]),
        (["3 May 2024", "5 July", "16-20 July", "6 July"], None, ["05-03", "07-05", None, "07-06"]),
    ],
)
def test_a_day_without_a_year_is_of_the_only_year_that_the_table_names(texts, said, days):
    (rule,) = rules([count_texts(texts)], said)
    whole = [day and dt.date.fromisoformat(f"2024-{day}") for day in days]
    assert [rule.typed(text).value for text in texts] == whole


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["4 April", "5 April", "6 April"], None),  # no year is said
        (["Jan 24", "Feb 24", "Mar 24"], 2024),  # months of a year
        (["3 May 2023", "4 May 2024", "5 June", "6 June"], None),  # of which of the two?
    ],
)
def test_a_day_whose_year_nobody_says_stays_text(texts, said):
    (rule,) = rules([count_texts(texts)], said)
    assert rule.kind is ColumnKind.TEXT


def test_the_year_of_days_is_that_of_another_column():
    due, paid = ["4 May 2024", "11/05/2024", "12 May 2024"], ["6 May", "Tue 14 May", ""]
    found = rules([count_texts(due), count_texts(paid)])[1]
    assert found.typed("Tue 14 May").value == dt.date(2024, 5, 14)


@pytest.mark.parametrize(
    ("texts", "unit", "values"),
    [
        (["62p", "£1.08", "0.64"], ("GBP",), ["0.62", "1.08", "0.64"]),
        (["5 ct", "1,20 €"], ("EUR",), ["0.05", "1.20"]),
        (["62p", "14p"], ("p",), ["62", "14"]),
        (["62p", "1.20 €"], ("p", "EUR"), ["62", "1.20"]),
    ],
)
def test_pence_among_pounds_are_parts_of_pounds(texts, unit, values):
    rule, found = typed(*texts)
    assert (rule.units, found) == (unit, [Decimal(value) for value in values])


@pytest.mark.parametrize(
    ("texts", "units", "values"),
    [
        (("950", "1.2k", "3.4k", "5.1k"), (), [950, 1_200, 3_400, 5_100]),
        (("950000", "1.2 million", "2 bn"), (), [950_000, 1_200_000, 2_000_000_000]),
        (("1,25 Mio.", "3 Tausend", "7,5"), (), ["1250000", "3000", "7.5"]),
        (("1.2 million", "3 million"), ("million",), ["1.2", "3"]),
        (("5 m", "7", "9 m"), ("m",), [5, 7, 9]),
    ],
)
def test_thousands_and_millions_beside_bare_numbers_are_so_many_times_more(texts, units, values):
    rule, found = typed(*texts)
    assert (rule.units, found) == (units, [Decimal(value) for value in values])
