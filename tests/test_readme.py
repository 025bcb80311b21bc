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
        if name != "data_dir":
            assert row[1] == str(field.default)


def test_every_command_is_in_the_readme():
    commands = cli._parser()._subparsers._group_actions[0].choices
    for name, parser in commands.items():
        assert f"rag-app {name} " in README
        for action in parser._actions:
            if "--help" not in action.option_strings and action.option_strings:
                assert action.option_strings[-1] in README, (name, action.option_strings)


def test_pictures_that_are_shown_are_there():
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (ROOT / picture).is_file()
