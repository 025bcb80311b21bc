from __future__ import annotations

import struct

import pytest
from old_offices import compound

from rag_app.errors import NoText
from rag_app.reading.limits import Limits
from rag_app.reading.mail import read_eml, read_mbox, unpacked
from rag_app.reading.ole import read_ole

LETTER = """From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>
To: Ann <ann@example.org>
Date: Mon, 3 Mar 2025 10:00:00 +0100
Subject: The new
 crane
MIME-Version: 1.0
"""


@pytest.fixture
def read(file):
    return lambda text: read_eml(
        file(text if isinstance(text, bytes) else text.encode()), limits=Limits()
    )


def test_a_message_begins_with_who_wrote_when_and_about_what(read):
    reading = read(LETTER + "\nIt lifts 40 tons.\n\nJürgen\n")
    assert reading.title == "The new crane"
    assert reading.pages[0].text == (
        "The new crane\n\nFrom: Jürgen <j@example.org>\nTo: Ann <ann@example.org>\n"
        "Date: Mon, 3 Mar 2025 10:00:00 +0100\nSubject: The new crane\n\n"
        "It lifts 40 tons.\n\nJürgen"
    )
    assert reading.warnings == ()


def multipart(kind: str, *parts: str) -> str:
    joined = "".join(f"--b\n{part}\n" for part in parts)
    return f'{LETTER}Content-Type: multipart/{kind}; boundary="b"\n\n{joined}--b--\n'


def test_attachments_are_named_and_not_opened(read):
    attached = (
        "Content-Type: text/plain\nContent-Disposition: attachment; "
        "filename*=utf-8''pl%C3%A4ne.txt\n\nsecret plans"
    )
    reading = read(multipart("mixed", "Content-Type: text/plain\n\nSee the plans.", attached))
    assert "See the plans." in reading.pages[0].text
    assert "Attachment: pläne.txt" in reading.pages[0].text
    assert "secret plans" not in reading.pages[0].text
    assert "Attachments are not read: pläne.txt." in reading.warnings[0]


def test_of_two_forms_of_a_letter_one_is_read(read):
    plain = "Content-Type: text/plain\n\nThe crane is here, and it works well."
    html = "Content-Type: text/html\n\n<p>The crane is <b>here</b>, and it works well.</p>"
    assert read(multipart("alternative", plain, html)).pages[0].text.count("works well") == 1


def test_what_a_letter_says_in_several_parts_is_read_whole(read):
    short = "Content-Type: text/html\n\n<p>Come at <b>five</b>.</p>"
    plain = "Content-Type: text/plain\n\nCome at five, all of you, and bring a chair."
    page = "Content-Type: text/html\n\n<p>Come at five, all of you, and bring a chair.</p>"
    footer = "Content-Type: text/plain\n\nThis list is kept by the harbour. Write to leave it."
    text = read(multipart("mixed", short, footer)).pages[0].text
    assert text.endswith("Come at five.\n\nThis list is kept by the harbour. Write to leave it.")
    forms = f"--c\n{plain}\n--c\n{page}\n--c--"
    both = f'Content-Type: multipart/alternative; boundary="c"\n\n{forms}'
    text = read(multipart("mixed", both, footer)).pages[0].text
    assert (text.count("bring a chair"), text.count("Write to leave")) == (1, 1)


CALENDAR = r"""Content-Type: text/calendar; method=REQUEST

BEGIN:VCALENDAR
BEGIN:VTIMEZONE
BEGIN:STANDARD
DTSTART:16010101T030000
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
SUMMARY:Board
DTSTART;TZID=Europe/Berlin:20250304T100000
DTEND:20250304T100000Z
LOCATION:Room 7\, first
  floor
DESCRIPTION:Bring:\n- the plan
BEGIN:VALARM
DESCRIPTION:REMINDER
END:VALARM
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20250501
DTEND;VALUE=DATE:20250502
END:VEVENT
END:VCALENDAR"""
APPOINTED = """Summary: Board
Start: 2025-03-04 10:00 (Europe/Berlin)
End: 2025-03-04 10:00 UTC
Location: Room 7, first floor
Description: Bring:
- the plan
Start: 2025-05-01
End: 2025-05-01"""


def test_an_invitation_says_when_and_where(read):
    forms = ("Content-Type: text/plain\n\nPlease join.", CALENDAR)
    text = read(multipart("alternative", *forms)).pages[0].text
    assert text.endswith(f"Please join.\n\n{APPOINTED}")
    assert read(LETTER + CALENDAR).pages[0].text.endswith(APPOINTED)
    marked = CALENDAR.replace("method=REQUEST\n\n", "charset=utf-8\n\n\ufeff")
    assert read(LETTER + marked).pages[0].text.endswith(f"crane\n\n{APPOINTED}")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            'DTSTART;TZID="(UTC+01:00) Amsterdam; Berlin":20250604T090000',
            "Start: 2025-06-04 09:00 ((UTC+01:00) Amsterdam; Berlin)",
        ),
        (
            'DTSTART;X-A=";TZID=a";tzid=Europe/Berlin:20250604T090000',
            "Start: 2025-06-04 09:00 (Europe/Berlin)",
        ),
        ('LOCATION;ALTREP="http://x.y/z":Room 5', "Location: Room 5"),
        ('SUMMARY:Talk: "Ships: a story', 'Summary: Talk: "Ships: a story'),
        ('SUMMARY;X-A="b:Talk: "Ships"', 'Summary: Talk: "Ships"'),
    ],
)
def test_a_colon_within_quotes_is_not_where_a_line_of_a_calendar_begins(read, line, said):
    text = f"Content-Type: text/calendar\n\nBEGIN:VCALENDAR\nBEGIN:VEVENT\n{line}\nEND:VEVENT"
    assert said in read(text).pages[0].text.splitlines()


def test_a_part_that_is_some_other_text_is_read_unless_another_says_the_same(read):
    parts = "Content-Type: text/plain\n\nSee below.", "Content-Type: text/markdown\n\n40 tons."
    assert read(multipart("mixed", *parts)).pages[0].text.endswith("See below.\n\n40 tons.")
    assert read(multipart("alternative", *parts)).pages[0].text.endswith("See below.")


@pytest.mark.parametrize("boundary", ["", '; boundary="other"'])
def test_a_letter_in_parts_that_cannot_be_told_apart_is_read_as_text(read, boundary):
    body = "--b\nContent-Type: text/plain\n\nCome at five, Jürgen.\n--b--\n"
    reading = read(f"{LETTER}Content-Type: multipart/mixed{boundary}\n\n{body}")
    assert "Come at five, Jürgen." in reading.pages[0].text


def test_a_letter_that_is_only_a_web_page_is_read(read):
    plain = "Content-Type: text/plain\n\n"
    html = "Content-Type: text/html; charset=x-odd\n\n<h2>Offer</h2><p>12 cranes</p>"
    reading = read(multipart("alternative", plain, html))
    assert reading.pages[0].text.endswith("Offer\n\n12 cranes")


def test_a_letter_inside_a_letter_is_not_opened(read):
    inner = "Content-Type: message/rfc822\n\nSubject: inner\n\nhidden words"
    text = read(multipart("mixed", "Content-Type: text/plain\n\nOuter.", inner)).pages[0].text
    assert "Outer." in text
    assert "hidden words" not in text


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-8", "koi8-r", "no-such-thing"])
def test_a_letter_is_read_in_its_encoding(read, charset):
    words = "Привет, мир! Как дела?" if charset == "koi8-r" else "Schöne Grüße aus der Küche!"
    raw = words.encode(charset if charset != "no-such-thing" else "utf-8")
    head = f"{LETTER}Content-Type: text/plain; charset={charset}\n"
    data = head.encode() + b"Content-Transfer-Encoding: 8bit\n\n" + raw
    assert words in read(data).pages[0].text


def test_a_letter_that_says_latin_1_means_windows_1252(read):
    head = f"{LETTER}Cc: =?iso-8859-1?q?=84Ann=93?= <a@b.org>\n"
    head += "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: 8bit\n\n"
    text = read(head.encode() + "100 € – “gut”".encode("cp1252")).pages[0].text
    assert "Cc: „Ann“ <a@b.org>" in text and text.endswith("100 € – “gut”")


@pytest.mark.parametrize(
    "broken",
    [
        "Subject: =?utf-8?b?!!!!?=\n\nbody",
        "Content-Type: multipart/mixed\n\nbody without parts",
        "Content-Type: text/plain; charset==?x?=\nContent-Transfer-Encoding: base64\n\n%%%\nbody",
        'Content-Type: a/b/c; name="=?x"\n\nbody',
    ],
)
def test_a_letter_with_broken_headers_is_read(read, broken):
    assert read(LETTER + broken).pages


def test_a_mailbox_has_its_letters_on_pages_of_their_own(file):
    box = "".join(
        f"From a@b Mon Mar  3 10:00:0{n} 2025\n{LETTER}\nLetter {n}\n\n" for n in range(3)
    )
    box += "From a@b Mon Mar  3 10:00:09 2025\nSubject: Last\n\nIt says:\n>From here on.\n"
    reading = read_mbox(file(box.encode()), limits=Limits())
    assert [page.label for page in reading.pages] == [f"message {n}" for n in range(1, 5)]
    assert "Letter 1" in reading.pages[1].text
    assert reading.pages[3].text.endswith("It says:\nFrom here on.")
    assert [h.page for h in reading.headings] == [1, 2, 3, 4]


def test_an_empty_letter_has_no_text(read):
    with pytest.raises(NoText):
        read("X-Odd: 1\n\n")


def wide(text: str) -> bytes:
    return text.encode("utf-16-le")


def test_a_message_of_outlook_is_read(file):
    sent = struct.pack("<32xIIQ", 0x00390040, 6, 133_854_660_000_000_000)
    data = compound(
        {
            "__properties_version1.0": sent,
            "__substg1.0_0037001F": wide("The new crane"),
            "__substg1.0_0C1A001F": wide("Jürgen"),
            "__substg1.0_5D01001F": wide("j@example.org"),
            "__substg1.0_0E04001E": "Zoë".encode("cp1252"),
            "__substg1.0_1000001F": wide("It lifts 40 tons."),
            "__attach_version1.0_#00000000/__substg1.0_3707001F": wide("plan.pdf"),
        }
    )
    reading = read_ole(file(data), limits=Limits())
    assert reading.title == "The new crane"
    assert "From: Jürgen <j@example.org>\nTo: Zoë\nDate: 2025-03-03 09:00 UTC" in (
        reading.pages[0].text
    )
    assert "It lifts 40 tons." in reading.pages[0].text
    assert "plan.pdf" in reading.warnings[0]


def test_packed_rich_text_of_outlook_is_unpacked():
    literal = b"{\\rtf1 abc"
    stored = struct.pack("<II4sI", len(literal) + 12, len(literal), b"MELA", 0) + literal
    assert unpacked(stored) == literal
    # eight literals "abcabcab" less five: "abc", then a copy of five from where it begins (207)
    body = bytes([0b00001000]) + b"abc" + bytes([207 >> 4, (207 & 15) << 4 | 3])
    packed = struct.pack("<II4sI", len(body) + 12, 8, b"LZFu", 0) + body
    assert unpacked(packed) == b"abcabcab"
