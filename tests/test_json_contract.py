"""docs/json.md says what every command prints as JSON; here the commands are held to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_app import cli
from rag_app.access.access import Access
from rag_app.access.nouns import Identity
from rag_app.answering.span_model import PassageSpans
from rag_app.cli import document_commands as cli_queue
from rag_app.export.json_contract import answer_json, span_json
from rag_app.ingestion import watching
from rag_app.settings import Settings
from rag_app.storage.database import Database
from rag_app.types import (
    Answer,
    Box,
    Cell,
    Citation,
    Computation,
    Operation,
    RowFilter,
    RowsUsed,
    Timing,
)
from tests import sentence_models
from tests.fakes import WordEmbedder

PAGE = (Path(__file__).parent.parent / "docs" / "json.md").read_text("utf-8")
FERRY = "The ferry to the island costs four euros.\n\nDogs travel free of charge.\n"
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|", re.MULTILINE)
Fields = dict[str, str]


def documented() -> dict[str, Fields]:
    """By command: its keys and their types, as the page has them."""
    commands = PAGE.partition("\n# Files of questions")[0]
    parts = re.split(r"^## (.+)$", commands, flags=re.MULTILINE)[1:]
    titles, texts = parts[::2], parts[1::2]
    return {t: dict(ROW.findall(text)) for t, text in zip(titles, texts, strict=True)}


FIELDS = documented()
PASSAGE = {key.removeprefix("[]."): type_ for key, type_ in FIELDS["rag-app search --json"].items()}


def flat(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of a JSON value with its path; lists of plain values are leaves, too."""
    if isinstance(value, dict):
        digits = value and all(key.isdigit() for key in value)
        for key, inner in value.items():
            yield from flat(inner, f"{at}.{'*' if digits else key}".strip("."))
    elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        for one in value:
            yield from flat(one, f"{at}[]")
    else:
        yield at, value


def fits(value: Any, type_: str) -> bool:
    """Whether a leaf is of one of the documented types."""
    return any(_is(value, one) for one in type_.split(" or "))


def _is(value: Any, name: str) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    match name.strip():
        case "text":
            return isinstance(value, str)
        case "whole number":
            return whole
        case "number":
            return whole or isinstance(value, float)
        case "true" | "false":
            return value is (name.strip() == "true")
        case "null":
            return value is None
        case "any":
            return True
        case "list of text":
            return isinstance(value, list) and all(isinstance(one, str) for one in value)
        case "list of lists":
            return isinstance(value, list) and all(isinstance(one, list) for one in value)
        case "list of boxes":
            return isinstance(value, list) and all(len(box) == 4 for box in value)
        case "list of objects":
            return value == []
        case "absent":
            return False
    raise AssertionError(f"docs/json.md has a type that is not known here: {name}")


def hold(values: list[Any], fields: Fields) -> None:
    """Everything in `values` is documented, is of its type, and nothing else is documented."""
    leaves = [leaf for value in values for leaf in flat(value)]
    found: set[str] = set()
    for path, value in leaves:
        if value == [] and path not in fields:  # of objects, by chance none
            assert any(key.startswith(f"{path}[].") for key in fields), path
            continue
        assert path in fields, f"{path} is not in docs/json.md"
        assert fits(value, fields[path]), (path, value, fields[path])
        found.add(path)
    wanted = {key for key, type_ in fields.items() if "absent" not in type_}
    assert wanted - found == set(), "documented, and not printed"


@pytest.fixture
def run(monkeypatch, capsys, own_house):
    """Runs a command and gives the values that it printed."""
    monkeypatch.setattr("rag_app.open_library.MiniLmEmbedder", lambda *_: WordEmbedder())
    monkeypatch.setenv("RAG_APP_CAUTION", "0.2")

    def command(*words: str) -> list[Any]:
        cli.main(list(words))
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return command


@pytest.fixture
def ferry(run, tmp_path) -> Path:
    """A library of one document, and its file."""
    path = tmp_path / "ferry.txt"
    path.write_text(FERRY)
    run("add", "--json", str(path))
    return path


@pytest.fixture
def questions(tmp_path) -> str:
    path = tmp_path / "q.jsonl"
    rows = [
        {
            "id": 1,
            "question": "What does the ferry to the island cost?",
            "answers": ["four euros"],
            "pages": [{"document": "ferry.txt", "page": 1}],
        },
        {"question": "Who is the king of Ruritania?", "unanswerable": True},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def test_added_files(run, tmp_path, ferry):
    (tmp_path / "bad.pdf").write_bytes(b"no pdf at all")
    added = run("add", "--json", str(tmp_path))
    assert {one["status"] for one in added} == {"duplicate", "failed"}
    hold(added, FIELDS["rag-app add --json"])


def test_loaded_files(run, ferry):
    hold(run("load", "--json", str(ferry.parent)), FIELDS["rag-app add --json"])
    assert run("load", "--json", str(ferry.parent)) == []


def test_files_that_were_set_aside(run, ferry, own_house):
    (own_house / "library.sqlite3").unlink()
    listed = run("set-aside", "--json")
    hold(listed, FIELDS["rag-app set-aside --json"])
    assert len(listed[0]) == 1
    added = run("set-aside", "--add", "--json")
    hold(added, FIELDS["rag-app add --json"])
    assert added[0]["name"] == listed[0][0]["name"] and added[0]["status"] == "ready"
    assert run("set-aside", "--json") == [[]]


def test_backups(run, ferry, own_house, tmp_path):
    file = str(tmp_path / "library.zip")
    made = run("backup", file, "--json")
    hold(made, FIELDS["rag-app backup --json"])
    restored = run("restore", file, "--json", "--data-dir", str(tmp_path / "again"))
    hold(restored, FIELDS["rag-app restore --json"])
    assert restored == [made[0] | {"data_dir": str(tmp_path / "again")}]


def test_documents(run, ferry):
    hold(run("documents", "--json"), FIELDS["rag-app documents --json"])


def test_a_watched_folder(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(watching, "SETTLE", 0.1)
    monkeypatch.setattr(cli_queue, "_LOOK_EVERY", 0.05)
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.txt").write_text(FERRY)
    (folder / "b.pdf").write_bytes(b"no pdf at all")
    real, said = cli_queue._tell, []

    def tell(what: dict[str, Any], as_json: bool) -> None:
        real(what, as_json)
        said.append(what)
        (folder / "a.txt").unlink(missing_ok=True)
        if len(said) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(cli_queue, "_tell", tell)
    became, removed = run("add", "--watch", str(folder), "--json")
    document = {
        key.removeprefix("[]."): type_
        for key, type_ in FIELDS["rag-app documents --json"].items()
        if key not in ("[].folder", "[].tags")
    }
    hold([became], document)
    hold([removed], FIELDS["rag-app add --watch --json"])
    hold(run("watched", "--json"), FIELDS["rag-app watched --json"])


def test_searches(run, ferry, questions):
    hold(run("search", "ferry", "--json"), FIELDS["rag-app search --json"])
    found = run("search", "--questions", questions, "--documents", "ferry.txt")
    passages = {f"results[].{key}": type_ for key, type_ in PASSAGE.items()}
    hold(found, FIELDS["rag-app search --questions"] | passages)
    [one, _] = run("search", "--questions", questions, "--documents", "nobody.txt")
    assert set(one) == {"id", "question", "error"}


def test_answers(run, ferry, questions):
    fields = FIELDS["rag-app ask --json"]
    hold(run("ask", "What does the ferry to the island cost?", "--json"), fields)
    answers = run("ask", "--questions", questions)
    assert {answer["abstained"] for answer in answers} == {True, False}
    hold(answers, fields | FIELDS["rag-app ask --questions"])
    [one, _] = run("ask", "--questions", questions, "--documents", "nobody.txt")
    assert set(one) == {"id", "question", "error"}


def test_an_answer_with_a_place_and_a_share():
    cited = Citation(1, "d", "a.pdf", 1, 0, 1, "x", (Box(1.0, 2.0, 3.0, 4.0),), 0.5)
    said = answer_json(Answer("q", "x", "", False, 1.0, "r", (cited,), (), Timing(0.1, 0.2)))
    assert said["citations"][0]["boxes"] == [[1.0, 2.0, 3.0, 4.0]]
    fields = FIELDS["rag-app ask --json"]
    hold([said], {key: type_ for key, type_ in fields.items() if not key.startswith("passages")}
         | {"passages": "list of objects"})  # fmt: skip


def test_an_answer_that_was_computed():
    cell = Cell(0, 1, "4", None, 1, 3, 4)
    used = RowsUsed("d", "a.csv", "", ("Euros",), 1, ((cell,),))
    summed = Operation("sum", "Euros", "EUR")
    computed = Computation(
        *("SELECT 4", ("sum",), (("4",),), (used,), (summed,), ((4.0,),)),
        chosen_by=(RowFilter("Who", "=", "ann"),),
    )
    answer = Answer("q", "4", "", False, 1.0, "w", (), (), Timing(0.1, 0.2), computation=computed)
    fields = FIELDS["rag-app ask --json"]
    said = {key: value for key, value in answer_json(answer).items() if key in _COMPUTED}
    told = {key: kind for key, kind in fields.items() if re.split(r"[.[]", key)[0] in _COMPUTED}
    told = {key: kind.replace(" or absent", "") for key, kind in told.items()}
    del told["computation"]  # it is an object here
    hold([said], told)


_COMPUTED = ("computation", "result", "rows")


def test_what_the_reader_says_of_a_text_without_words():
    said = span_json({"id": 3, "context": ""}, PassageSpans((), -5.0), 0.0)
    hold([said], FIELDS["rag-app read --questions"])


def test_conversations_and_the_queue(run, ferry):
    from rag_app.library import Library
    from rag_app.settings import Settings

    with Library(Settings.load(), embedder=WordEmbedder()) as library:
        library.conversations.start("What does the ferry cost?")
    hold(run("conversations", "--json"), FIELDS["rag-app conversations --json"])
    hold(run("queue", "--json"), FIELDS["rag-app queue --json"])


def test_the_languages(run, ferry, tmp_path):
    fields = FIELDS["rag-app languages --json"]
    hold(run("languages", "--json"), fields)
    [chosen] = run("languages", str(sentence_models.write(tmp_path / "model")), "--json")
    hold([chosen], fields)
    assert (chosen["languages"], chosen["answering"], chosen["embedded"]) == ("own", "own", None)


def test_evaluations(run, ferry, questions):
    fields = FIELDS["rag-app evaluate --json"]
    [found] = run("evaluate", questions, "--json")
    assert found["answering"] is not None
    hold([found], fields)
    hold(run("evaluate", questions, "--no-answers", "--json"), fields)


def test_people_and_what_they_may(run, own_house):
    database = Database(own_house / "library.sqlite3")
    access = Access(database, Settings.load())
    access.arrive(Identity("anna", "Anna", "anna@example.org", frozenset({"sales"})))
    access.create_collection("anna", "Team")  # of which she is the owner
    access.api_keys.subject_of(access.api_keys.create_key("anna", "script", 60)[1])
    database.close()
    run("groups", "--make", "Board", "--json")
    made = run("keys", "anna@example.org", "--make", "other", "--json")
    hold(made, FIELDS["rag-app keys --make --json"])
    for command in ("people", "groups", "collections", "keys", "limits", "audit"):
        hold(run(command, "--json"), FIELDS[f"rag-app {command} --json"])


def test_every_command_that_takes_json_or_questions_is_documented():
    commands = cli.parser()._subparsers._group_actions[0].choices
    for name, parser in commands.items():
        options = {o for action in parser._actions for o in action.option_strings}
        for option in options & {"--json", "--questions"}:
            assert f"rag-app {name} {option}" in FIELDS, (name, option)


def test_nothing_undocumented_and_nothing_of_another_type_slips_through():
    fields = {"a": "text", "b[].c": "number or null"}
    hold([{"a": "x", "b": [{"c": 1}, {"c": None}]}], fields)
    for wrong in ({"a": "x"}, {"a": 1, "b": [{"c": 1}]}, {"a": "x", "b": [{"c": 1}], "d": 2}):
        with pytest.raises(AssertionError):
            hold([wrong], fields)
