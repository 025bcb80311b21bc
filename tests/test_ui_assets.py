"""The looks are files; how much in them hangs on names that are Streamlit's own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from rag_app.ui import browser, texts, texts_answers, texts_library

UI = Path(browser.__file__).parent
ASSETS = sorted((UI / "assets").iterdir())
FOREIGN = re.compile(
    r"data-testid|data-stale|data-collapsed|\.st[A-Z]|\[kind[~^$*|]?=|st-emotion|baseweb"
)
SENTENCE = re.compile(r"[A-Za-z]{3,} [a-z]{2,}")
COMMENT = re.compile(r"/\*.*?\*/|^\s*//.*?$", re.DOTALL | re.MULTILINE)


def test_few_of_streamlits_own_names_are_used():
    found = [f"{file.name}: {one}" for file in ASSETS for one in _foreign(file)]
    assert len(found) <= 15, found
    assert not [file for file in UI.glob("*.py") if _foreign(file)]


def _foreign(file: Path) -> list[str]:
    return FOREIGN.findall(COMMENT.sub("", file.read_text("utf-8")))


def test_every_sheet_is_used_and_braces_match():
    code = "".join(file.read_text("utf-8") for file in UI.glob("*.py"))
    for file in ASSETS:
        text = COMMENT.sub("", file.read_text("utf-8"))
        assert text.count("{") == text.count("}"), file.name
        assert file.name in code or file.stem in browser._SHEETS, file.name


def test_every_key_that_presses_something_is_listed():
    listed = {key for keys in texts_answers.SHORTCUTS.values() for key in keys}
    assert listed == {"?", "1", *browser.PRESSES}


def test_the_words_in_the_looks_come_from_the_texts():
    assert f'"{texts.DROP_HERE}"' in browser.css()
    assert f'"{texts_library.FOLDER_HERE}"' in browser.css()
    assert browser.css().startswith("<style>") and browser.css().endswith("</style>")
    assert "</" not in browser.css()[:-8]


def test_sentences_of_the_screen_are_among_the_texts():
    found = [
        f"{file.name}:{line}: {said}"
        for file in UI.glob("*.py")
        if not file.name.startswith("texts")
        for line, said in _said(ast.parse(file.read_text("utf-8")))
    ]
    assert not found


def _said(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Strings that read like a sentence and are neither a docstring nor for the log."""
    passed = {
        id(inner)
        for node in ast.walk(tree)
        if (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (
            isinstance(node, ast.Call) and ast.unparse(node).startswith(("log.", "surviving(log, "))
        )
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in passed
        ):
            words = re.sub(r"<[^>]*>?", "", node.value)
            if "=" not in words and SENTENCE.search(words):
                yield node.lineno, words
