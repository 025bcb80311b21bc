from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.addresses import checked_url
from rag_app.answering.model_spec import ModelSpec, parse
from rag_app.errors import SettingsError


@pytest.mark.parametrize(
    ("line", "choice"),
    [
        ("reader", ModelSpec("reader")),
        (" quotes ", ModelSpec("quotes")),
        ("openai:gpt-5-mini", ModelSpec("openai", "gpt-5-mini")),
        ("openai:a/b:7b@http://127.0.0.1:1234/v1/", ModelSpec("openai", "a/b:7b", "http://127.0.0.1:1234/v1")),
        ("ollama:llama3.2:3b", ModelSpec("ollama", "llama3.2:3b")),
        ("anthropic:claude@2", ModelSpec("anthropic", "claude@2")),
        ("openai:m@x@https://a.b", ModelSpec("openai", "m@x", "https://a.b")),
        ("local:C:\\models\\small", ModelSpec("local", "C:\\models\\small")),
        ("rag-token:/m@http", ModelSpec("rag-token", "/m@http")),
        ("rag-sequence-fast:/m", ModelSpec("rag-sequence-fast", "/m")),
    ],
)  # fmt: skip
def test_a_line_is_a_choice(line, choice):
    assert parse(line) == choice
    assert parse(str(choice)) == choice


@pytest.mark.parametrize(
    "line",
    [
        "",
        "gpt",
        "openai:",
        "openai:@http://x/v1",
        ":x",
        "x\n:y",
        "openai:m@http://",
        "openai:m@ftp://x",
    ],
)
def test_a_line_that_is_none_says_how_to_write_one(line):
    with pytest.raises(SettingsError, match=r"Write (?:reader|it like)"):
        parse(line)


@pytest.mark.parametrize(
    "url",
    [
        "x", "ftp://a", "file:///etc/passwd", "http://", "http://a:99999", "http://a:0",
        "http://u:p@a/v1", "http://127.0.0.1@evil.example", "http://good\\@evil.example",
        "http://evil\\.good/v1", "http://go\nod/v1", "http://go od", "http://good/v1?to=evil",
        "http://good/v1#evil", "http://g\u03bfod/v1", "http://[::1", "http://[::zz]",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_refused(url):
    with pytest.raises(SettingsError, match="no address"):
        checked_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1",
        "https://ai.example.com",
        "http://[::1]:8000/v1",
        "http://my_llm:1",
    ],
)
def test_an_address_that_can_be_used_is_left_as_it_is(url):
    assert checked_url(f" {url}/ ") == url


@pytest.mark.parametrize(
    ("line", "destination"),
    [
        ("openai:m@https://AI.example.com/v1", "https://ai.example.com:443"),
        ("openai:m@http://a:80/v1", "http://a:80"),
        ("openai:m@http://a:8080", "http://a:8080"),
        ("ollama:m", "http://127.0.0.1:11434"),
        ("openai:m", "openai"),
        ("anthropic:m", "anthropic"),
    ],
)
def test_a_key_is_for_a_server_or_for_a_provider(line, destination):
    assert parse(line).destination == destination


def test_the_name_that_is_shown_is_short():
    assert ModelSpec("local", "/models/tiny-chat/").name == "tiny-chat"
    assert ModelSpec("openai", "org/model", "http://a/v1").name == "model"
    assert ModelSpec("reader").name == "reader"


@given(st.text())
def test_whatever_is_written_is_a_choice_or_one_sentence(line):
    try:
        assert parse(str(parse(line))) == parse(line)
    except SettingsError as error:
        assert "\n" not in str(error)
