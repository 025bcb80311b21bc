"""Files of JSON lines: whoever reads them, what is wrong with them is said in the same way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app import cli
from rag_app.evaluation.metrics import read_asked
from rag_app.export.json_contract import read_contexts, read_questions
from rag_app.research.end_to_end import read_pairs
from rag_app.text.jsonl import UnfitFile, read_lines, text_of

READERS = [read_questions, read_contexts, read_asked, read_pairs]
GOOD = {"question": "Who?", "context": "Ada.", "answer": "Ada"}
COMMANDS = [
    ("ask", "--questions"),
    ("search", "--questions"),
    ("read", "--questions"),
    ("evaluate",),
    ("train", "--generator", "nowhere", "--out", "new"),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "q.jsonl"


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "Line 2 of .*q.jsonl is not JSON"),
        ("[" * 100_000, "Line 2 of .*q.jsonl is not JSON"),
        ("7", "Line 2 of .*q.jsonl should read like this: {"),
        ("[]", "Line 2 of .*q.jsonl should read like this: {"),
        ("{}", 'Line 2 of .*q.jsonl should read like this: {.*"question"'),
        ('{"question": 3}', "Line 2 of .*q.jsonl should read like this: {"),
    ],
)
def test_the_first_line_that_cannot_be_used_is_named(path, read, line, says):
    path.write_text(f"{json.dumps(GOOD)}\n{line}\n{{", "utf-8")
    with pytest.raises(UnfitFile, match=says) as raised:
        read(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("read", READERS)
def test_blank_lines_windows_line_ends_and_a_byte_order_mark_are_passed_over(path, read):
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n \r\n")
    assert len(read(path)) == 1


@pytest.mark.parametrize("read", READERS)
def test_a_file_that_cannot_be_read_says_why(path, read):
    with pytest.raises(UnfitFile, match=r"There is no file .*q\.jsonl"):
        read(path)
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(UnfitFile, match="is not a text in UTF-8"):
        read(path)
    with pytest.raises(UnfitFile, match="cannot be read"):
        read(path.parent)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_every_command_calls_such_a_file_bad_use(path, command, text, capsys, own_house):
    if text is not None:
        path.write_text(text)
    words = [*command, str(path)] if command[-1] == "--questions" else [command[0], str(path)]
    assert cli.main([*words, *(command[1:] if command[0] == "train" else ())]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and "q.jsonl" in said.err


def test_a_question_says_which_documents_it_is_asked_of(path):
    rows = [{**GOOD, "id": 7, "documents": ["a.txt"]}, {**GOOD, "documents": None}]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert read_questions(path) == [
        {"id": 7, "question": "Who?", "documents": ["a.txt"]},
        {"id": None, "question": "Who?"},
    ]


@pytest.mark.parametrize("documents", [[{}], "a.txt", {"a.txt": 1}, 7])
def test_documents_that_are_no_list_of_names_are_refused(path, documents):
    path.write_text(json.dumps({**GOOD, "documents": documents}))
    with pytest.raises(UnfitFile, match='"documents"'):
        read_questions(path)
    with pytest.raises(UnfitFile, match="Line 1"):
        read_asked(path)


def test_a_page_that_is_no_number_is_named(path):
    path.write_text('{"question": "Who?", "pages": [{"document": "a", "page": Infinity}]}')
    with pytest.raises(UnfitFile, match="Line 1"):
        read_asked(path)


@given(st.lists(st.text()))
def test_what_was_written_line_by_line_is_read_line_by_line(tmp_path_factory, texts):
    path: Path = tmp_path_factory.mktemp("lines") / "q.jsonl"
    path.write_text("".join(json.dumps(t, ensure_ascii=True) + "\n\n" for t in texts), "utf-8")
    read = read_lines(path, lambda value, number: (number, value), '"…"')
    assert read == [(2 * n + 1, text) for n, text in enumerate(texts)]


@pytest.mark.parametrize("value", ["", " \n", 3, None, ["a"]])
def test_no_text_is_no_text(value):
    with pytest.raises(TypeError):
        text_of(value)
