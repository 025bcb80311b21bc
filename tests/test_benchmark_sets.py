from __future__ import annotations

import json

from benchmarks import cranfield, financebench, written_tasks
from benchmarks.written_answers import rows_of
from rag_app.evaluation.metrics import read_asked

ABSTRACTS = """.I 1
.T
ferries in wind .
.A
doe,j.
.B
j. sea 1, 1950.
.W
ferries in wind .
  a ferry leans .
.I 2
.T
an empty one .
.A
.B
.W
.I 3
.T
.A
.B
.W
"""
QUERIES = ".I 004\n.W\nhow does a ferry\nlean .\n.I 017\n.W\nwhat is empty .\n"


def test_abstracts_keep_their_numbers_and_an_empty_one_its_title():
    found = cranfield.abstracts(ABSTRACTS)
    assert found[1].startswith("ferries in wind .\n  a ferry leans")
    assert found[2] == "an empty one .\n"
    assert set(found) == {1, 2}


def test_judgements_go_by_the_position_of_the_query():
    assert cranfield.queries(QUERIES) == ["how does a ferry lean .", "what is empty ."]
    assert cranfield.judgements("1 0 2 4\n1 0 1 -1\n2 0 1 1\n") == {1: {2: 4}, 2: {1: 1}}


def test_filings_are_chosen_only_where_that_is_asked_for(tmp_path):
    row = {
        "id": "q1",
        "question": "How much?",
        "answers": ["4"],
        "documents": ["A.pdf"],
        "pages": [{"name": "A.pdf", "page": 7}],
    }
    path = tmp_path / "q.jsonl"
    lines = [json.dumps(financebench.converted(row, chosen)) for chosen in (False, True)]
    path.write_text("\n".join(lines), encoding="utf-8")
    everywhere, chosen = read_asked(path)
    assert everywhere.pages == chosen.pages == {("A.pdf", 7): 1.0}
    assert (everywhere.within, chosen.within) == (None, ("A.pdf",))


def test_of_a_written_piece_of_work_is_told_what_code_can_tell():
    parts = [("lease.txt", "The rent is 640 pounds.")]
    work = {"wish": "tell Ann that the rent is late", "language": "English", "check": ["says so"]}
    good = written_tasks.told("Dear Ann, the rent of 640 pounds is late.", work, parts)
    assert good["in its language"] and not good["invents figures"] and not good["goes round"]
    assert written_tasks.told("Dear Ann, pay the 650 pounds.", work, parts)["invents figures"]
    german = written_tasks.told("Liebe Ann, die Miete kommt leider zu spät.", work, parts)
    assert not german["in its language"] and not german["says nothing"]
    assert written_tasks.told("None", work, parts)["says nothing"]


def test_every_wish_says_what_must_be_true_of_what_is_written():
    rows = rows_of([written_tasks.WISHES])
    works = [work for row in rows for work in row["work"]]
    assert len(works) == 56
    assert all(2 <= len(work["check"]) <= 5 and work["wish"] and work["text"] for work in works)
