from __future__ import annotations

import pytest

from rag_app.reading.encodings import decode, decode_html, is_text, named_text

TEXTS = {
    "cp1250": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. "
    "Są oni obdarzeni rozumem i sumieniem i powinni postępować w duchu braterstwa. ",
    "iso8859-2": "Zażółć gęślą jaźń. Są oni obdarzeni rozumem i sumieniem, równi i wolni. ",
    "cp1251": "Все люди рождаются свободными и равными в своем достоинстве и правах. ",
    "koi8-r": "Все люди рождаются свободными и равными в своем достоинстве и правах. ",
    "cp1253": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στα δικαιώματα. ",
    "cp1254": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. ",
    "cp1256": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا. ",
    "cp932": "すべての人間は、生まれながらにして自由であり、尊厳と権利とについて平等である。",
    "euc-jp": "すべての人間は、生まれながらにして自由であり、尊厳と権利とについて平等である。",
    "gb18030": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。",
    "big5": "人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心。",
    "cp949": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
}
WESTERN = (
    "Alle Menschen sind frei und gleich an Würde und Rechten geboren. ",
    "Tous les êtres humains naissent libres et égaux en dignité, à l’égard des autres. ",
    "El niño pequeño corrió hacia la montaña ayer por la mañana. ¿Quién está ahí? ",
    "As nações não são irmãs; todos os seres humanos são dotados de razão. Põe isso aí. ",
    "Perché la città è così bella? Più virtù, né libertà né età. ",
    "The café’s naïve façade – a résumé of £5 – costs “€20”. ",
)


@pytest.mark.parametrize("encoding", TEXTS)
@pytest.mark.parametrize("times", [3, 20])
def test_an_encoding_is_guessed_from_the_words(encoding, times):
    text = TEXTS[encoding] * times
    decoded, guessed = decode(text.encode(encoding))
    assert decoded == text and guessed


@pytest.mark.parametrize("words", WESTERN)
@pytest.mark.parametrize("times", [1, 20])
def test_western_texts_are_read_as_windows_1252(words, times):
    text = words * times
    assert decode(text.encode("cp1252")) == (text, "windows-1252")


def test_bytes_of_no_encoding_are_read_all_the_same():
    text, guessed = decode(b"one \xff\xfe\x81\x8d two")
    assert text.startswith("one ")
    assert text.endswith(" two")
    assert guessed


TORN = {
    "a line of an older program": "Grüße aus München\n".encode() * 10 + b"Stra\xdfe\n",
    "a letter that is cut at the end": "Grüße aus München\n".encode() * 10 + b"Stra\xc3",
    "letters of two bytes": "Все люди рождаются свободными. ".encode() * 3 + b"\xd0",
    "letters of three bytes": "すべての人間は、自由である。".encode() * 3 + b"\xe3\x81",
}


@pytest.mark.parametrize("data", TORN.values(), ids=TORN)
def test_one_byte_that_is_no_utf8_makes_no_other_encoding_of_the_whole_text(data):
    text, guessed = decode(data)
    assert text == data.decode("utf-8", "replace") and guessed == ""
    assert decode_html(b'<meta charset="latin1">' + data, "utf-8")[0].endswith(text)
    assert is_text(data + b"\n", whole=True)


@pytest.mark.parametrize("encoding", TEXTS)
def test_a_text_in_another_encoding_is_not_taken_for_torn_utf8(encoding):
    words = TEXTS[encoding].encode(encoding)
    assert all(decode(words[:end] * 2)[1] for end in range(60, len(words), 2))


@pytest.mark.parametrize(
    ("named", "meant", "words"),
    [
        ("iso-8859-1", "cp1252", "100 € – “gut”"),
        ("ISO-8859-9", "cp1254", "“değil” – 5 €"),
        ("gb2312", "gb18030", "朱镕基说：喆"),
        ("Shift_JIS", "cp932", "①髙橋～です"),
        ("euc-kr", "cp949", "똠방각하"),
        ("tis-620", "cp874", "“ราคา” 5 €"),
    ],
)
def test_an_encoding_that_is_named_is_the_wider_one_that_is_meant(named, meant, words):
    data = words.encode(meant)
    assert named_text(data, named) == words
    assert decode_html(f'<meta charset="{named}">'.encode() + data)[0].endswith(words)


@pytest.mark.parametrize("name", ["utf-8", "UTF8", "utf-8-sig"])
def test_a_byte_order_mark_is_no_part_of_a_text_that_names_utf_8(name):
    assert named_text("\ufeffGrüße".encode(), name) == "Grüße"


@pytest.mark.parametrize("name", ["", "no-such-thing", "rot13", "a\0b"])
def test_an_encoding_that_is_none_gives_no_text(name):
    assert named_text(b"words", name) is None
