from __future__ import annotations

import json

import pytest

from rag_app.errors import DamagedFile, LimitReached, NoText
from rag_app.reading.limits import Limits
from rag_app.reading.plain_text import read_asciidoc, read_latex, read_org, read_rst
from rag_app.reading.structured import read_json, read_xml


@pytest.fixture
def read(file):
    return lambda text, reader, limits=None: reader(file(text.encode()), limits=limits or Limits())


def test_json_on_one_long_line_is_set_in_lines(read):
    data = {"title": "Ports", "ports": [{"name": f"Häfen {n}", "depth": n} for n in range(300)]}
    reading = read(json.dumps(data), read_json)
    assert reading.title == "Ports"
    assert len(reading.pages) > 2
    page = next(page for page in reading.pages if '"name": "Häfen 250",\n' in page.text)
    assert all(len(line) < 100 for line in page.text.splitlines())


def test_json_that_has_lines_stays_as_it_is(read):
    text = '{\n   "a" :  1\n}\n'
    assert read(text, read_json).pages[0].text == text


def test_lines_of_json_are_spread_where_they_are_long(read):
    text = '{"a": 1}\n' + json.dumps({"b": "word " * 300, "c": 2}) + "\nno json\n"
    lines = read(text, read_json).pages[0].text.splitlines()
    assert lines[0] == '{"a": 1}'
    assert '  "c": 2' in lines
    assert lines[-1] == "no json"


def test_letters_that_json_writes_as_numbers_are_read_as_letters(read):
    text = r"""{
    "name": "M\u00fcller", "city":  "\u041c\u043e\u0441\u043a\u0432\u0430", "price": 12.50,
    "odd": "\ud83d\ude42 \u0022a\u0022 C:\\u00fc \\\u00e4 \ud83d\n"
}"""
    said = r"""{
    "name": "Müller", "city":  "Москва", "price": 12.50,
    "odd": "🙂 \"a\" C:\\u00fc \\ä ?\n"
}"""
    assert read(text, read_json).pages[0].text == said
    lines = '{"name": "M\\u00fcller"}\n{"name":  "Gr\\u00fc\\u00dfe"}\n'
    assert read(lines, read_json).pages[0].text == '{"name": "Müller"}\n{"name":  "Grüße"}\n'


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' * 50_000, '{"a": NaN, "b"'])
def test_json_that_cannot_be_parsed_is_read_as_text(read, text):
    assert "".join(page.text for page in read(text, read_json).pages) == text


def test_a_notebook_reads_as_its_cells(read):
    cells = [
        {"cell_type": "markdown", "source": ["# Tides\n", "Hourly.\n\nThen daily."]},
        {"cell_type": "code", "source": "if x:\n    y()", "outputs": [{"text": ["42\n"]}]},
        {"cell_type": "code", "source": 7, "outputs": [{"data": {"text/plain": "array"}}, 3]},
        "odd",
    ]
    reading = read(json.dumps({"nbformat": 4, "cells": cells}), read_json)
    assert reading.title == "Tides"
    assert (
        reading.pages[0].text == "Tides\n\nHourly.\n\nThen daily.\n\nif x:\n    y()\n\n42\n\narray"
    )


def test_xml_reads_as_headings_prose_and_named_values(read):
    text = (
        '<?xml version="1.0"?><book xmlns="urn:b"><title>Harbours</title><chapter><title>Tides'
        "</title><p>High <i>water</i> at noon.</p><depth>12 m</depth><empty/></chapter></book>"
    )
    reading = read(text, read_xml)
    assert reading.title == "Harbours"
    assert reading.pages[0].text == "Harbours\n\nTides\n\nHigh water at noon.\n\ndepth: 12 m"
    assert [(h.level, h.text) for h in reading.headings] == [(1, "Harbours"), (2, "Tides")]


def test_xml_with_nothing_but_attributes_is_read(read):
    assert read('<rows><row day="1" rain="12"/></rows>', read_xml).pages[0].text == (
        "row (day: 1, rain: 12)"
    )


def test_an_element_without_text_is_read_by_its_attributes_beside_others_with_text(read):
    bill = '<bill id="7"><note>March</note><item name="Boat" price="12.50"/></bill>'
    assert read(bill, read_xml).pages[0].text == (
        "bill (id: 7)\n\nMarch\n\nitem (name: Boat, price: 12.50)"
    )
    feeds = '<outline text="Ports"><outline text="Tides" url="http://a.org"/></outline>'
    opml = f"<opml><head><title>Feeds</title></head><body>{feeds}</body></opml>"
    assert read(opml, read_xml).pages[0].text == (
        "Feeds\n\noutline (text: Ports)\noutline (text: Tides, url: http://a.org)"
    )


def test_attributes_beside_text_are_read(read):
    order = (
        '<orders><order id="1042"><sum currency="EUR">12.50</sum><for>Ann</for></order></orders>'
    )
    assert read(order, read_xml).pages[0].text == (
        "order (id: 1042)\nsum (currency: EUR): 12.50\nfor: Ann"
    )


def test_broken_xml_is_read_as_text_and_told(read):
    reading = read("<a><b>Some words</a>", read_xml)
    assert reading.pages[0].text == "<a><b>Some words</a>"
    assert "broken" in reading.warnings[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "gbk", "shift_jis"])
def test_xml_is_read_in_the_encoding_it_names(file, encoding):
    words = "東京" if encoding in ("gbk", "shift_jis") else "Grüße"
    text = f'<?xml version="1.0" encoding="{encoding}"?><p>{words}</p>'
    reading = read_xml(file(text.encode(encoding)), limits=Limits())
    assert (reading.pages[0].text, reading.warnings) == (words, ())


def test_xml_in_an_encoding_that_is_none_is_read(read):
    assert read('<?xml version="1.0" encoding="odd"?><p>Hi</p>', read_xml).pages[0].text == "Hi"


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE a [<!ENTITY x "y">]>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///secret.txt">]>',
        '<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1/x"> %x;]>',
        '<!DOCTYPE a [<!ENTITY b "zz"><!ENTITY c "&b;&b;&b;"><!ENTITY x "&c;&c;&c;">]>',
    ],
)
def test_xml_that_declares_entities_is_refused(read, doctype):
    with pytest.raises(DamagedFile, match="entities"):
        read(f"{doctype}<a>&x;</a>", read_xml)


def test_xml_that_is_too_deep_is_refused(read):
    with pytest.raises(DamagedFile, match="More than 200 elements"):
        read("<a>" * 100_000, read_xml)


def test_xml_without_words_has_no_text(read):
    with pytest.raises(NoText):
        read("<a><b/></a>", read_xml)


def test_too_much_xml_names_the_limit(read):
    text = f"<a>{'<p>Some words here.</p>' * 200}</a>"
    with pytest.raises(LimitReached, match="RAG_APP_MAX_CHARACTERS"):
        read(text, read_xml, Limits(max_characters=1_000))


LATEX = r"""\documentclass{article}
\title{On \emph{Tides}}
% \section{Not this one}
\section{Introduction} Water moves.
\subsection*{The moon}\label{moon} It pulls.
"""
RST = "=====\nTides\n=====\n\nThe moon\n--------\n\nIt pulls.\n\n| a\n\nThe sun\n-------\nToo.\n"
ADOC = "= Tides\n\n== The moon\n\nIt pulls.\n"
ORG = "#+TITLE: Tides\n* The moon\nIt pulls.\n** Closer\n"


@pytest.mark.parametrize(
    ("text", "reader", "title", "headings"),
    [
        (LATEX, read_latex, "On Tides", [(1, "Introduction"), (2, "The moon")]),
        (RST, read_rst, "Tides", [(1, "Tides"), (2, "The moon"), (2, "The sun")]),
        (ADOC, read_asciidoc, "Tides", [(1, "Tides"), (2, "The moon")]),
        (ORG, read_org, "Tides", [(1, "The moon"), (2, "Closer")]),
    ],
)
def test_a_text_to_be_typeset_keeps_its_words_and_shows_its_headings(
    read, text, reader, title, headings
):
    reading = read(text, reader)
    assert "".join(page.text for page in reading.pages) == text
    assert reading.title == title
    assert [(h.level, h.text) for h in reading.headings] == headings
    for each in reading.headings:
        assert each.text in reading.pages[each.page - 1].text[each.start :].split("\n")[0]
