"""What asks nothing of documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.chitchat import Talk, reply, struck, talk


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("hi", Talk.GREETING),
        ("Hello there!", Talk.GREETING),
        ("hellooo", Talk.GREETING),
        ("Good morning", Talk.GREETING),
        ("Grüß Gott", Talk.GREETING),
        ("¡Hola!", Talk.GREETING),
        ("こんにちは", Talk.GREETING),
        ("नमस्ते", Talk.GREETING),
        ("Thanks a lot!", Talk.THANKS),
        ("ok thank you very much", Talk.THANKS),
        ("gracias", Talk.THANKS),
        ("ok", Talk.ASSENT),
        ("Got it.", Talk.ASSENT),
        ("bye", Talk.FAREWELL),
        ("What can you do?", Talk.HELP),
    ],
)
def test_small_talk_is_known(said, kind):
    assert talk(said) is kind


@pytest.mark.parametrize(
    "said",
    [
        "warranty",
        "Hello Kitty",
        "thanks to whom?",
        "ok but why?",
        "Hi, what is the notice period?",
        "What is the greeting?",
        "good",
        "help desk",
        "",
        "   ",
        "?",
        "hi " * 50,
    ],
)
def test_a_question_is_no_small_talk(said):
    assert talk(said) is None


@pytest.mark.parametrize(
    "said",
    ["asdfgh", "qwertz", "sdkfjh", "dfghjkl", "aaaa", "asdf", "lkjhg sdfgh", "???", "😀", ""],
)
def test_keys_struck_at_random_are_seen(said):
    assert struck(said)


@pytest.mark.parametrize(
    "said",
    [
        "warranty",
        "rent",
        "IBM",
        "Dallas",
        "rhythm",
        "2018",
        "tree",
        "were",
        "你好",
        "Q3",
        "x",
        "ok",
    ],
)
def test_words_are_not_struck_at_random(said):
    assert not struck(said)


def test_a_reply_says_what_to_do_next():
    assert reply(Talk.GREETING, ["A long name.pdf", "b.txt"]) == (
        "Hello! Ask what you want to know about your documents, or write “Summarise b.txt”."
    )
    assert "this document" in reply(None, ["x" * 300])
    assert "this document" in reply(Talk.THANKS, [])


def test_a_name_with_braces_is_only_a_name():
    assert "Summarise {0}{x}.txt" in reply(Talk.GREETING, ["{0}{x}.txt"])


@given(st.text(max_size=40))
def test_whatever_is_typed_is_looked_at(said):
    assert talk(said) is None or reply(talk(said), [])
    assert struck(said) in (True, False)
