"""The README is part of the product: what it names has to be there, and the other way round."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rag_app import cli
from rag_app.settings import Settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
TREE = README.split("```")[1]


def tree_paths() -> list[Path]:
    """The paths that the README draws, from their indentation."""
    paths, folders = [], {-1: ROOT}
    for line in TREE.strip("\n").splitlines():
        name = line.split()[0]
        depth = len(line) - len(line.lstrip())
        path = folders[max(d for d in folders if d < depth)] / name
        paths.append(path)
        folders = {d: f for d, f in folders.items() if d < depth}
        if name.endswith("/"):
            folders[depth] = path
    return paths


@pytest.mark.parametrize("path", tree_paths(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_the_tree_names_is_there(path):
    assert path.exists()


def test_every_module_of_the_app_is_in_the_tree():
    drawn = set(tree_paths())
    modules = {path for path in (ROOT / "rag_app").rglob("*.py") if path.name != "__init__.py"}
    assert modules - drawn == set()


def test_every_setting_is_in_the_readme_with_its_default():
    for name, field in Settings.model_fields.items():
        row = re.search(rf"\| `RAG_APP_{name.upper()}` \| (\S*) \|", README)
        assert row is not None, name
        if field.default_factory is None:  # a folder of the system's is another on each
            assert row[1] == str(field.default)


COMMANDS = re.findall(r"^    (rag-app .*(?:\n     +.*)*)", README, re.MULTILINE)
"""What the README says of the command line: every "rag-app …" with the lines that go on with it."""


def test_every_command_is_in_the_readme_with_its_options():
    commands = cli._parser()._subparsers._group_actions[0].choices
    assert commands
    for name, parser in commands.items():
        said = [each for each in COMMANDS if re.match(rf"rag-app {name}(?:\s|$)", each)]
        assert said, name
        for action in parser._actions:
            for option in action.option_strings[-1:]:
                if option not in ("--help", "--data-dir"):  # the second goes with every command
                    there = any(re.search(rf"(?<![\w-]){option}(?![\w-])", each) for each in said)
                    assert there, (name, option)


def test_the_readme_names_no_command_and_no_option_that_is_not_there():
    commands = cli._parser()._subparsers._group_actions[0].choices
    for said in COMMANDS:
        name = said.split()[1] if len(said.split()) > 1 else ""
        if name in commands:
            there = {o for action in commands[name]._actions for o in action.option_strings}
            line = said.splitlines()[0]
            assert set(re.findall(r"(?<![\w-])--[a-z-]+", line)) - there == set(), said


def test_pictures_that_are_shown_are_there():
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (ROOT / picture).is_file()
