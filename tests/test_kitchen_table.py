"""The questions are well-formed, answers are judged by what they say, broken runs go on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.environments import PEERS as OTHERS
from benchmarks.kitchen_table import __main__ as command
from benchmarks.kitchen_table import figures, langchain_side, peers, texts
from benchmarks.kitchen_table.environments import PEERS, folder_of
from benchmarks.kitchen_table.judging import normalised, sounds_refused, verdict
from benchmarks.kitchen_table.questions import (
    HERE,
    KINDS,
    PARTS,
    UNANSWERABLE,
    Question,
    chosen,
    documents,
    questions,
)
from benchmarks.kitchen_table.rows import Kept, Row, Said, Seconds
from benchmarks.written_answers import rouge_l

EVERY = {part: questions(HERE / part) for part in PARTS}
ALL = [question for part in PARTS for question in EVERY[part]]
STRANGERS = sorted((HERE.parent / "strangers").glob("*/"))
ABSTAINED = "I could not find an answer to this in your documents."
NO_TIME = Seconds(None, None, 1.0)


def question(must=(), must_not=(), kind="fact", identifier="q"):
    row = {"id": identifier, "kind": kind, "question": "?", "turns": [], "evidence": []}
    return Question.of({**row, "must": must, "must_not": must_not, "note": ""})


def row(verdict, confidence=0.5, kind="fact", identifier="q", abstained=False, error=""):
    return Row("us", identifier, kind, verdict, "", abstained, confidence, NO_TIME, error)


# The files


def test_ids_are_unique_and_there_are_enough_questions():
    assert len({one.id for one in ALL}) == len(ALL) >= 240


@pytest.mark.parametrize("part", PARTS)
def test_every_kind_is_there_and_about_a_fifth_cannot_be_answered(part):
    kinds = Counter(one.kind for one in EVERY[part])
    assert set(kinds) == set(KINDS)
    assert 0.19 <= kinds[UNANSWERABLE] / len(EVERY[part]) <= 0.25


@pytest.mark.parametrize("part", PARTS)
def test_all_evidence_is_of_documents_of_the_part(part):
    named = {one.document for each in EVERY[part] for one in each.evidence}
    assert named == {path.name for path in documents(HERE / part)}


@pytest.mark.parametrize("folder", STRANGERS, ids=lambda folder: folder.name)
def test_what_strangers_asked_can_be_asked_as_well(folder):
    asked, names = questions(folder), {path.name for path in documents(folder)}
    assert len({one.id for one in asked}) == len(asked) >= 20
    for one in asked:
        assert {each.document for each in one.evidence} <= names
        right = one.kind == UNANSWERABLE or verdict(one, one.note, refused=False) == "right"
        assert right, one.id


def test_what_can_be_answered_says_how_and_where_and_nothing_else_does():
    for one in ALL:
        answerable = one.kind != UNANSWERABLE
        assert bool(one.must) == bool(one.evidence) == answerable, one.id
        assert one.text.strip() and one.note.strip()
        assert one.turns or one.kind != "follow_up"


def test_the_answers_in_the_notes_are_right_and_a_refusal_never_is():
    for one in ALL:
        if one.kind != UNANSWERABLE:
            assert verdict(one, one.note, refused=False) == "right", one.id
            assert verdict(one, ABSTAINED, refused=False) == "wrong", one.id


def test_no_part_shares_a_question_or_a_document_with_another():
    dev, aside = ({path.name for path in documents(HERE / part)} for part in PARTS)
    assert not dev & aside
    asked = Counter(one.text.casefold() for one in ALL if not one.turns)
    assert len(asked) == len([one for one in ALL if not one.turns])


def test_it_is_small_and_has_no_generators():
    files = [path for path in HERE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(path.stat().st_size for path in files) < 3 << 20
    assert not [path for part in PARTS for path in (HERE / part).rglob("*.py")]


def test_the_readme_counts_what_is_there():
    told = (HERE / "README.md").read_text(encoding="utf-8")
    counts = {part: Counter(one.kind for one in EVERY[part]) for part in PARTS}
    for kind in KINDS:
        line = next(one for one in told.splitlines() if one.startswith(f"| `{kind}`"))
        assert line.endswith(f"| {counts['dev'][kind]} | {counts['aside'][kind]} |")
    for part in PARTS:
        assert f"| `{part}` | {len(documents(HERE / part))} | {len(EVERY[part])} |" in told


def test_questions_are_chosen_by_kind_and_thinned():
    facts = chosen(EVERY["dev"], ["fact"])
    assert {one.kind for one in facts} == {"fact"}
    assert chosen(EVERY["dev"], ["fact"], 3) == facts[::3]
    assert chosen(EVERY["dev"]) == EVERY["dev"]


# Judging


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        ("It is £5. [1]", "It is £5."),
        ("It is £5 [1][2], or £6 [3, 4].", "It is £5, or £6."),
        ("**Three** weeks, *not* four", "Three weeks, not four"),
        ("***Now*** and __then__ and `here`", "Now and then and here"),
        ("from 1\u202f175 \u2013 2\u00a0000", "from 1 175 - 2 000"),
        ("minus \u22125, non\u2011stop", "minus -5, non-stop"),
        ("scan_of_it_2.pdf and 3 * 4 * 5", "scan_of_it_2.pdf and 3 * 4 * 5"),
        ("[not a marker] stays", "[not a marker] stays"),
        ("soft\u00adhyphen", "softhyphen"),
    ],
)
def test_an_answer_is_compared_without_its_decoration(answer, plain):
    assert normalised(answer) == plain


@pytest.mark.parametrize(
    ("answer", "refused", "expected"),
    [
        ("The rent is £1,175 [1].", False, "right"),
        ("the RENT is £1,175", False, "right"),
        ("The rent is £1,120.", False, "wrong"),
        ("It was £1,120 and is £1,175, rent.", False, "wrong"),
        ("1,175, but no word of what", False, "wrong"),
        ("I could not find an answer.", True, "silent"),
        ("The rent is £1,175.", True, "silent"),
        ("", False, "wrong"),
    ],
)
def test_an_answer_needs_everything_it_must_and_nothing_it_must_not(answer, refused, expected):
    asked = question([r"1,175", "rent"], [r"1,120"])
    assert verdict(asked, answer, refused) == expected


def test_what_has_no_answer_is_right_when_refused_only():
    asked = question(kind=UNANSWERABLE)
    assert verdict(asked, "", refused=True) == "right"
    assert verdict(asked, "It is blue.", refused=False) == "wrong"


@pytest.mark.parametrize(
    "answer",
    [
        "I don't know.",
        "I don’t know the answer to that.",
        "The wifi password is not mentioned in the given context.",
        "The provided context does not specify his age.",
        "There is no information about a pool.",
        "I'm sorry, but I cannot answer that.",
        "It cannot be determined from the context.",
        "Das ist im Text nicht angegeben.",
        "Dazu gibt es keine Angaben.",
        "Ich weiß es nicht.",
        "No lo sé.",
        "El contexto no menciona la edad.",
        "",
    ],
)
def test_peers_refuse_in_their_own_words(answer):
    assert sounds_refused(question(kind=UNANSWERABLE), answer)
    assert sounds_refused(question(["1,175"]), answer)


def test_a_peer_that_is_right_did_not_refuse_and_a_plain_answer_is_none():
    asked = question(["no pets"])
    assert not sounds_refused(asked, "The contract does not mention dogs, but says no pets.")
    for answer in ("Paris.", "No, smoking is not allowed.", "You must not use a hose.", "Nein."):
        assert not sounds_refused(question(kind=UNANSWERABLE), answer)


def test_how_much_of_an_answer_is_said_is_told_by_its_longest_common_subsequence():
    assert rouge_l("the cat sat on the mat", "a cat sat there, on a mat") == pytest.approx(8 / 13)
    assert rouge_l("", "nothing") == rouge_l("other words", "nothing") == 0
    assert rouge_l("Cats sit", "cat sits") == 1


def test_an_error_is_no_refusal():
    said = Said("", True, NO_TIME, error="It broke.")
    assert Row.of("us", question(kind=UNANSWERABLE), said).verdict == "wrong"


# Figures and files


def test_a_run_that_was_broken_off_goes_on(tmp_path):
    path = tmp_path / "new" / "rows.jsonl"
    first, second = question(["a"], identifier="1"), question(["b"], identifier="2")
    kept = Kept(path)
    kept.add(Row.of("us", first, Said("a", False, Seconds(0.1, None, 0.3), 0.7)))
    again = Kept(path)
    assert again.missing("us", [first, second]) == [second]
    assert again.missing("them", [first, second]) == [first, second]
    assert again.of("us", [second, first]) == kept.of("us", [first])
    assert json.loads(path.read_text(encoding="utf-8"))["seconds"]["sources"] == 0.1


def test_the_table_counts_by_kind_and_in_all():
    rows = [
        row("right"),
        row("wrong"),
        row("silent", abstained=True),
        row("right", kind=UNANSWERABLE, abstained=True),
    ]
    told = figures.report("us", rows)
    assert "| fact | 3 | 1 (33%) | 1 (33%) | 1 (33%) |" in told
    assert "| all answerable | 3 | 1 (33%) |" in told
    assert "| **all** | 4 | 2 (50%) | 1 (25%) | 1 (25%) |" in told
    assert "right of all: 15% to 85% in 95 of 100 cases; refused of unanswerable: 100%" in told
    assert "refused of answerable: 33%" in told
    assert "over 2 answers" in told
    assert "| end | 4 | 1.00 | 1.00 |" in told and "first word" not in told


def test_calibration_is_the_gap_between_confidence_and_right():
    assert figures.ece([(0.75, True), (0.75, True), (0.75, True), (0.75, False)]) == 0
    assert figures.ece([(0.95, False), (0.05, False)]) == pytest.approx(0.5)
    assert figures.ece([(1.0, True)]) == 0
    assert not figures.calibration([row("right", confidence=None)])


def test_chance_leaves_less_open_the_more_was_asked():
    low, high = figures.interval(5, 10)
    assert (low, high) == pytest.approx((0.237, 0.763), abs=0.001)
    assert figures.interval(0, 10)[0] == pytest.approx(0)
    assert figures.interval(500, 1000)[0] > low


# The command and the peers


def test_kept_answers_are_told_without_asking_again(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    kept = Kept(path)
    for one in chosen(EVERY["dev"], ["why"]):
        kept.add(Row.of("rag-app nobody", one, Said("", True, NO_TIME, 0.1)))
    asked = ["--kinds", "why", "--generator", "nobody", "--out", str(path)]
    assert command.main(asked) == 0
    assert "| why | 8 | 0 (0%) | 0 (0%) | 8 (100%) |" in capsys.readouterr().out


def test_bad_use_says_what_is_wrong(capsys):
    assert command.main(["--peers"]) == 2
    for wrong in (["--kinds", "riddle"], ["--every", "0"]):
        with pytest.raises(SystemExit):
            command.main(wrong)
    assert "no such kind: riddle" in capsys.readouterr().err


def test_peers_have_exact_versions_and_environments_of_their_own():
    assert all("==" in package for peer in PEERS.values() for package in peer.packages)
    assert not {folder_of(key) for key in peers.KEYS} & set(OTHERS)
    assert all(word in langchain_side.PROMPT for word in ("{question}", "{context}"))


def test_the_text_part_of_a_message_is_read(tmp_path):
    message = tmp_path / "note.eml"
    message.write_bytes(
        b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nFrom: a@b.example\nTo: c@d.example\n"
        b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n"
        b"Bring the =C2=A35.\n"
    )
    assert texts.mail(message).startswith("Subject: Grüße\n")
    assert "Bring the £5." in texts.mail(message)


def test_what_parts_the_cells_of_a_table_is_found(tmp_path):
    table = tmp_path / "table.csv"
    for told, mark in (("\ufeffa;b;c\n1,5;2;3", ";"), ("a,b\n1,2", ","), ("a\tb\n", "\t")):
        table.write_text(told, encoding="utf-8")
        assert texts.delimiter(table) == mark


def test_nothing_in_the_package_names_a_machine():
    for path in Path(HERE).rglob("*"):
        if path.suffix in (".py", ".md", ".jsonl"):
            told = path.read_text(encoding="utf-8")
            assert not any(place in told for place in ("/root/", "/home/", "/Users/")), path.name
