"""README and docs are part of the product: what they name is there, and the other way round."""

from __future__ import annotations

import argparse
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from rag_app import cli
from rag_app.reading import NAMES
from rag_app.settings import Settings
from rag_app.text.formats import FORMATS
from scripts import draw_tree

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS]
TRAINING = sorted((ROOT / "training").glob("*.md"))
OF_THE_PAST = ("Before", "Moved")  # headings of sections that name what is no longer there
WRITTEN_BY_RUNS = ("build/", "results/")
NOBODYS = (".streamlit/secrets.toml",)  # files that a person may make
README_LINES = 150
BLOCKS = re.compile(r"^```.*?^```|(?:^    (?! *[-*]).*\n?)+", re.DOTALL | re.MULTILINE)

named = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)


@cache
def text_of(page: Path) -> str:
    return page.read_text("utf-8")


@cache
def code_of(page: Path) -> tuple[str, ...]:
    """What stands as code on a page: the lines of its blocks, and its words between backticks."""
    rest = BLOCKS.sub("", text_of(page))
    return (*blocks_of(page), *re.findall(r"`([^`\n]+)`", rest))


def blocks_of(page: Path) -> list[str]:
    """The lines of the blocks of code on a page."""
    return [line for block in BLOCKS.findall(text_of(page)) for line in block.splitlines()]


def today(page: Path) -> str:
    """A page without the sections that tell of the past."""
    past = re.compile(rf"^(#+) (?:{'|'.join(OF_THE_PAST)})\b.*?(?=^#{{1,3}} |\Z)", re.M | re.S)
    return past.sub("", text_of(page))


def commands() -> dict[str, argparse.ArgumentParser]:
    [group] = [
        action for action in cli.parser()._actions if isinstance(action, argparse._SubParsersAction)
    ]
    return dict(group.choices)


def slugs(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def test_the_readme_is_short():
    assert len(text_of(ROOT / "README.md").splitlines()) <= README_LINES


@pytest.mark.parametrize("page", [*PAGES, *TRAINING], ids=lambda path: path.name)
def test_what_is_linked_or_shown_is_there(page):
    links = re.findall(r"\]\(([^)\s]+)\)", text_of(page))
    for link in links:
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in slugs(target), link


def test_the_readme_leads_to_every_page_of_docs():
    assert [
        page.name for page in DOCS if f"docs/{page.name}" not in text_of(ROOT / "README.md")
    ] == []


# The command line


@named
def test_commands_that_are_named_are_there(page):
    there = commands()
    for line in code_of(page):
        for name in re.findall(r"(?:^|[\s`/\\])rag-app ([a-z][a-z-]*)", line):
            assert name in there, line


@named
def test_tests_that_are_named_are_there(page):
    there = {name for file in (ROOT / "tests").rglob("test_*.py") for name in _tests_of(file)}
    said = {word for word in code_of(page) if re.fullmatch(r"test_\w+", word)}
    assert said <= there, said - there


def _tests_of(file: Path) -> list[str]:
    return re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)


def of_cli() -> list[str]:
    """What docs/cli.md says of commands: every "rag-app …" with the lines that go on with it."""
    page = text_of(ROOT / "docs" / "cli.md")
    return re.findall(r"^    (rag-app .*(?:\n     +.*)*)", page, re.MULTILINE)


def test_every_command_is_documented_with_its_options():
    for name, parser in commands().items():
        said = [each for each in of_cli() if re.match(rf"rag-app {name}(?:\s|$)", each)]
        assert said, name
        for action in parser._actions:
            for option in action.option_strings[-1:]:
                if option not in ("--help", "--data-dir"):  # the second goes with every command
                    there = any(re.search(rf"(?<![\w-]){option}(?![\w-])", each) for each in said)
                    assert there, (name, option)


def test_no_option_is_documented_that_is_not_there():
    there = commands()
    for said in of_cli():
        words = said.splitlines()[0].split()
        if len(words) > 1 and words[1] in there:
            options = {o for action in there[words[1]]._actions for o in action.option_strings}
            assert set(re.findall(r"(?<![\w-])--[a-z-]+", said.splitlines()[0])) <= options, said


def of_server() -> list[list[str]]:
    """The words of every `rag-app …` in the code of docs/server.md, without the program itself."""
    lines = (line.partition("  #")[0] for line in blocks_of(ROOT / "docs" / "server.md"))
    found = (re.search(r"(?:^|\s|\.venv/bin/)rag-app(?=\s|$)(.*)", line.strip()) for line in lines)
    starts = (one[1].partition(" > ")[0].partition(" && ")[0] for one in found if one)
    return [shlex.split(words) for words in starts]


def test_every_command_for_a_server_can_be_given():
    assert len(of_server()) > 10
    for words in of_server():
        try:
            cli.parser().parse_args(words)
        except SystemExit:
            pytest.fail(f"rag-app {' '.join(words)}")


def test_it_takes_ten_commands_until_people_sign_in():
    page = text_of(ROOT / "docs" / "server.md")
    first = re.search(
        r"^## In ten commands\n.*?((?:^    [^\n]*\n)+)", page, re.DOTALL | re.MULTILINE
    )
    assert first is not None
    given = first[1].splitlines()
    assert len(given) <= 10 and "rag-app people" in given[-1]
    assert any("RAG_APP_SIGN_IN=oidc" in line for line in given)


# Settings and formats


def test_settings_and_their_page_agree():
    page = text_of(ROOT / "docs" / "settings.md")
    rows = dict(re.findall(r"^\| `(RAG_APP_\w+)` \| ([^|]*?) ?\|", page, re.MULTILINE))
    assert set(rows) == set(Settings.names())
    for name, field in Settings.model_fields.items():
        if field.default_factory is None:
            assert rows[f"RAG_APP_{name.upper()}"] == str(field.default), name


@named
def test_settings_that_are_named_are_there(page):
    for name in re.findall(r"RAG_APP_[A-Z_]+\b(?!…)", today(page)):
        assert name in Settings.names(), name


def test_formats_and_their_page_agree():
    page = text_of(ROOT / "docs" / "formats.md")
    [rows] = re.findall(r"^\| suffixes .*?\n\n", page, re.MULTILINE | re.DOTALL)
    first = (row.split("|")[1] for row in rows.strip().splitlines())
    told = set(re.findall(r"`(\.\w+)`", "".join(first)))
    assert told == set(FORMATS)
    [others] = re.findall(r"^Taken for one of these:.*?\n\n", page, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(\.\w+)`", others)) <= set(NAMES)


# Modules


def test_the_tree_has_every_module_and_no_other():
    """Run `python scripts/draw_tree.py` after a module came, went or was renamed."""
    tree = draw_tree.tree_of(text_of(draw_tree.PAGE))
    assert set(draw_tree.drawn(tree)) == set(draw_tree.there())
    assert all(draw_tree.drawn(tree).values())


def test_drawing_the_tree_keeps_its_words_and_follows_the_files():
    tree = "rag_app/\n  a.py the first\n  b/   a room\n    gone.py was here\n    c.py the third\n"
    files = {"a.py": "of its docstring", "b/": "…", "b/c.py": "…", "b/new.py": "what is new"}
    drawn = draw_tree.draw(draw_tree.drawn(tree), files)
    assert [line.split(maxsplit=1) for line in drawn.splitlines()[1:]] == [
        ["a.py", "the first"],
        ["b/", "a room"],
        ["c.py", "the third"],
        ["new.py", "what is new"],
    ]
    assert draw_tree.drawn(drawn)["b/new.py"] == "what is new"


@named
def test_files_that_are_named_are_there(page):
    for word in re.findall(r"`([\w./-]+\.(?:py|sql|toml|txt|md|js|css))`", today(page)):
        if word.startswith(WRITTEN_BY_RUNS) or "/" not in word or word in NOBODYS:
            continue
        places = (ROOT, ROOT / "rag_app", ROOT / "benchmarks", page.parent)
        assert any((place / word).exists() for place in places), word


@named
def test_modules_that_are_run_are_there(page):
    for module in re.findall(r"python -m ((?:benchmarks|training|rag_app)[\w.]*)", text_of(page)):
        path = ROOT.joinpath(*module.split("."))
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module


@named
def test_targets_of_make_that_are_named_are_there(page):
    targets = set(re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    for line in code_of(page):
        for target in re.findall(r"(?:^\s*|`)make ([a-z-]+)", line):
            assert target in targets, line


# Figures


def test_every_figure_of_the_readme_has_its_command():
    readme = text_of(ROOT / "README.md")
    [table] = re.findall(r"^## Ten figures\n.*?^## ", readme, re.MULTILINE | re.DOTALL)
    rows = [row.strip("|").split("|") for row in table.splitlines() if row.startswith("| ")][1:]
    assert len(rows) == 10
    for _, figure, command in rows:
        assert "`" in command or "(being measured)" in figure


def test_figures_of_the_bench_are_those_of_its_last_run():
    results = text_of(ROOT / "benchmarks" / "RESULTS.md")
    for page in (ROOT / "README.md", ROOT / "docs" / "benchmarks.md"):
        for figure, row in {
            "22.2 pages/s": "rag-app: 579 pages to fully searchable",
            "5.7 times": "rag-app against tutorial pipeline",
            "1.8 s": "first page of 300 searchable by words",
            "0.13 s": "question to answer, median",
            "0.19 s": "question to answer, p95",
            "0.02 s": "question to sources shown, median",
        }.items():
            [measured] = re.findall(
                rf"^\| {re.escape(row)}[^|]*\| *([^|]*)\|", results, re.MULTILINE
            )
            number = float(re.findall(r"[\d.]+", figure)[0])
            assert figure in text_of(page), (page.name, figure)
            assert float(re.findall(r"[\d.]+", measured)[0]) == pytest.approx(number, abs=0.051)
