from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.text.sentences import one_line, sentences


def parts(text: str) -> list[str]:
    return [" ".join(text[start:end].split()) for start, end in sentences(text)]


TEXTS = st.text(
    st.sampled_from("aB3. .,!?\r\n\n\t\u00a0\"')(-•·1234.0|#。！漢字éß—$%\x0b\x85\u2028…”"),
    max_size=200,
)


@given(st.one_of(TEXTS, st.text(max_size=200)))
def test_every_visible_character_is_in_exactly_one_trimmed_span(text):
    spans = sentences(text)
    assert all(start < end for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())


@pytest.mark.parametrize(
    "sentence",
    [
        "NIKE, Inc. was founded by Mr. P. Knight and Dr. W. Bowerman.",
        "Sales in the U.S. were $1.5 billion, i.e. 3.2 percent of approx. 47 billion.",
        "See No. 5 and Fig. 3 on p. 12 of vol. 2, as of Jan. 3.",
        "Ask Derek Saltmarsh, Ext. 219, or call tel. 020 7946.",
        "Refer to Item 1A. Risk Factors for more.",
        "He read example.com/a.html and version 2.0.1 of it.",
        "J. K. Rowling, et al. Wrote it.",
        "Die Arbeit ist am 6. November fällig, die zweite am 3. Dez. um 16 Uhr.",
        "Did the U.K. Parliament sit at 9 a.m. Monday?",
        "I, the Chief Financial Officer of General Mills, Inc. (the “Company”), certify this.",
        "ACTIVISION BLIZZARD, INC. AND SUBSIDIARIES",
        "Nach Nr. 5 Abs. 3 der Ordnung zahlt die Hauptstr. 5 in Berlin 5 Mio. Euro inkl. Steuern.",
        "Bring z.B. Milch mit, z. B. Ziegenmilch, i.d.R. Montags.",
        "Die Wohnung liegt im 2. Stock und kostet 900 Euro, sagt der 1. Vorsitzende.",
        "Am 3. Tag wird die Miete fällig, wenn nichts anderes gesagt wird.",
        "Cuesta aprox. 500 pesos, p.ej. Gas.",
        "M. Dupont paie env. 50 €, c.-à-d. Tout.",
    ],
)
def test_a_full_stop_inside_a_sentence_does_not_end_it(sentence):
    assert parts(sentence) == [sentence]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("We sold Acme Inc. The price was low.", ["We sold Acme Inc.", "The price was low."]),
        ("It grew in 2021. In 2022 it fell.", ["It grew in 2021.", "In 2022 it fell."]),
        ("He said “Stop.” She went.", ["He said “Stop.”", "She went."]),
        ("They answered (no. Really.) Fine.", ["They answered (no.", "Really.)", "Fine."]),
        ("Sales rose.1 The rest fell.", ["Sales rose.1", "The rest fell."]),
        ("Wait... What? Yes.", ["Wait...", "What?", "Yes."]),
        ("It fell in 2015 or 2013 . We gained.", ["It fell in 2015 or 2013 .", "We gained."]),
        ("Es waren 27. Das ist viel.", ["Es waren 27.", "Das ist viel."]),
        ("Das war 2024. Mai war warm.", ["Das war 2024.", "Mai war warm."]),
        ("It cost 5 million. Rent rose.", ["It cost 5 million.", "Rent rose."]),
        ("It opens at 9 a.m. The bar is shut.", ["It opens at 9 a.m.", "The bar is shut."]),
        ("See example.com. Then go.", ["See example.com.", "Then go."]),
        ("They pay on the 6. Owners do not.", ["They pay on the 6.", "Owners do not."]),
        ("Es kostet 9 Euro. Am 3. Tag nichts.", ["Es kostet 9 Euro.", "Am 3. Tag nichts."]),
        ("Solve for x. Bo did.", ["Solve for x.", "Bo did."]),
        ("They call it 'elite'. Many do.", ["They call it 'elite'.", "Many do."]),
        (
            "今日は雨です。明日は晴れ！本当？はい",
            ["今日は雨です。", "明日は晴れ！", "本当？", "はい"],
        ),
    ],
)
def test_a_sentence_ends_where_it_should(text, expected):
    assert parts(text) == expected


@pytest.mark.parametrize("end", ["\r\n", " \r\n", " \n", "\n"])
def test_a_line_end_in_a_sentence_is_no_boundary(end):
    text = end.join(
        [
            "The harbour opened in 1931 and has",
            "been widened twice since then. Its",
            "cranes lift forty tonnes.",
        ]
    )
    assert len(sentences(text)) == 2


def test_a_blank_line_ends_a_sentence():
    assert parts("no full stop here\n\nand none here") == ["no full stop here", "and none here"]


def test_a_heading_stands_alone():
    text = (
        "SALES AND MARKETING\r\nWe experience moderate fluctuations in volume during the year.\r\n"
        "Item 1A. Risk Factors\r\nThe following risks are those that we know of and fear.\r\n"
        "Credit card\r\nTotal card loans increased from December because of spending in shops."
    )
    assert parts(text)[0::2] == ["SALES AND MARKETING", "Item 1A. Risk Factors", "Credit card"]


@pytest.mark.parametrize("bullet", ["•", "-", "*", "1.", "(a)", "ii)"])
def test_every_item_of_a_list_is_a_unit(bullet):
    text = f"We need:\n{bullet} a pump\n{bullet} two pipes that are new\n  and long\n"
    assert parts(text) == [
        "We need:",
        f"{bullet} a pump",
        f"{bullet} two pipes that are new and long",
    ]


def test_a_bullet_on_a_line_of_its_own_belongs_to_its_item():
    assert parts("•\r\nPumps run.\r\n•\r\nPipes leak.") == ["• Pumps run.", "• Pipes leak."]


def test_every_row_of_a_table_is_a_unit():
    rows = [
        "(In millions, except per share data) 2021 2020 2019",
        "Revenues $ 44,538 $ 37,403 $ 39,117",
        "Other (income) expense, net 14 139 (78)",
        "Net loss — — (154,093)",
        "Total property, plant and equipment, gross 10,061 9,661",
        "Return on equity 24 % 44 %",
    ]
    assert parts(" \r\n".join(rows)) == rows


def test_rows_with_rules_or_tabs_are_units():
    rows = ["| Year | Sales |", "| ten | eleven |", "a\tb\tc", "d\te\tf"]
    assert parts("\n".join(rows)) == [row.replace("\t", " ") for row in rows]


def test_a_line_of_a_table_of_contents_is_a_unit():
    rows = ["ITEM 1. Business 1", "Products 2", "ITEM 9B. Other Information 94"]
    assert parts("\r\n".join(rows)) == rows


def test_a_year_at_a_line_end_is_no_row():
    text = (
        "Results for the years ended December 31, 2021 and 2020\r\nare shown in the tables below."
    )
    assert len(sentences(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        ". " * 200_000,
        "." * 400_000,
        " " * 400_000,
        "a" * 400_000,
        "1. " * 100_000,
        "Ab.\n" * 50_000,
    ],
)
def test_odd_texts_take_linear_time(text):
    began = time.perf_counter()
    sentences(text)
    assert time.perf_counter() - began < 8  # about 0.3 s on an idle machine


def test_the_rows_of_a_price_list_stay_apart_and_apart_from_the_text_under_them():
    text = (
        "Day pass €6.00 any number of rides of up to 45 minutes\r\n"
        "Student, annual €58.00 as annual, with a valid student card\r\n"
        "An annual membership costs €96 and can be paid in twelve parts.\r\n"
    )
    assert [text[a:b] for a, b in sentences(text)] == text.split("\r\n")[:3]


def test_a_date_that_a_line_end_cuts_is_one_sentence():
    text = "The reserve of the scheme stood at €203,000 on 31\r\nDecember 2025 and has grown since."
    assert sentences(text) == [(0, len(text))]


@pytest.mark.parametrize(
    "said",
    [
        ("今日は晴れです。", "「雨ですか？」", "いいえ！", "終わり"),
        ("价格是3．5元．", "下一句在这里｡", "完"),
        ("يفتح الميناء في السادسة.", "كم سعر التذكرة؟", "أربعة يورو."),
        ("بندرگاہ چھ بجے کھلتی ہے۔", "ٹکٹ چار یورو کا ہے۔"),
        ("बंदरगाह छह बजे खुलता है।", "टिकट चार यूरो का है॥"),
        ("Նավահանգիստը բացվում է։", "Տոմսը չորս եվրո է։"),
        ("ወደቡ በስድስት ሰዓት ይከፈታል።", "ትኬቱ ስንት ነው፧", "አራት ዩሮ።"),
        ("ဆိပ်ကမ်း ဖွင့်သည်။", "လက်မှတ် လေးယူရို။"),
        ("កំពង់ផែបើក។", "សំបុត្រ និងអាហារ។ល។", "តម្លៃបួនអឺរ៉ូ៕"),
        ("Πότε ανοίγει το λιμάνι;", "Ανοίγει στις έξι."),
        (
            "ท่าเรือเปิดทุกวันเวลาหกโมงเช้าและปิดตอนสี่ทุ่มยกเว้นวันอาทิตย์ตลอดทั้งปี",
            "ค่าโดยสารเรือข้ามฟากราคาสี่ยูโร สุนัขขึ้นเรือได้",
        ),
    ],
)
def test_sentences_end_where_their_script_ends_them(said):
    assert parts(" ".join(said)) == list(said)
    if "\u3040" < said[0][0] < "\uffff":
        assert parts("".join(said)) == list(said)


def test_a_semicolon_ends_a_question_in_greek_only():
    assert parts("One; Two; three.") == ["One; Two; three."]


def test_a_line_of_a_script_without_spaces_goes_on_in_the_next():
    lines = ["渡轮票价是四欧元，狗可以免费", "乘船，但是必须拴好绳子才行。", "附则"]
    text = "\n".join([*lines, "港口早上六点开门，晚上关门。"])
    assert parts(text) == [
        "渡轮票价是四欧元，狗可以免费 乘船，但是必须拴好绳子才行。",
        "附则",
        "港口早上六点开门，晚上关门。",
    ]
    assert one_line("狗可以免费\r\n乘船 and\nmore") == "狗可以免费乘船 and more"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("in the team\n> of Tomasz (UX).", "in the team of Tomasz (UX)."),
        ("> Start 2 March\r\n>> or later.", "> Start 2 March or later."),
        ("was small (p\n> 0.05) again", "was small (p > 0.05) again"),
        ("x\n>= 3", "x >= 3"),
        ("one line\n> another\nlast", "one line > another last"),
        ("a > b", "a > b"),
    ],
)
def test_the_marks_of_an_answered_mail_are_not_read(text, line):
    assert one_line(text) == line


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_long_answered_mail_is_read_at_once(end):
    began = time.perf_counter()
    quoted = f">> we meet at five{end}" * 40
    assert one_line(f"Heading{end}{quoted}then one").count(">> we") == 40
    assert one_line(f"Heading{end}{quoted * 1_000}>").count(">") == 0
    assert time.perf_counter() - began < 1  # about 30 ms on an idle machine


@pytest.mark.parametrize(
    "stamp", ["05/10/2025, 09:5{} - Ruth: ", "[2025-10-05, 9.5{}.12] Ruth: ", "5.10.25, 10:5{} - "]
)
def test_every_message_of_an_exported_chat_is_a_unit(stamp):
    lines = [
        "can't get down there for the skip 😂",
        "the pie is steak or leek, 11.95",
        "chairs then",
    ]
    chat = "\n".join(stamp.format(number) + line for number, line in enumerate(lines))
    assert len(sentences(chat)) == len(lines)
