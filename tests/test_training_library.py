"""The library that was written for teaching."""

from __future__ import annotations

import json

import pytest

from rag_app.answering.arithmetic import SUM
from rag_app.answering.prompts import ReplyStatus
from rag_app.answering.sentence_ranker import SentenceRanker
from training.library import HERE, LibraryQuestion, found, plain, questions, tasks
from training.writer.from_library import contexts, standing

NOTE = "Flat 3. The boiler is serviced every May.\n\nFlat 4. The boiler is serviced every October."


def asked(document="boilers.txt", evidence=("serviced every May",), status=ReplyStatus.ANSWERED):
    return LibraryQuestion(document, "fact", "when is the boiler of flat 3 serviced", "English",
                           status, "In May.", tuple(evidence))  # fmt: skip


def test_all_evidence_stands_in_its_document_and_all_sums_are_sums():
    texts = {file.name: plain(file.read_text("utf-8")) for file in HERE.glob("*/documents/*")}
    every = questions()
    assert len(every) > 2_000 and {one.document for one in every} == set(texts)
    for one in every:
        absent = one.status is ReplyStatus.ABSENT
        assert absent == (not one.answer) and absent == (not one.evidence), one
        for piece in one.evidence:
            assert plain(piece)[:40] in texts[one.document], one
        for expression in SUM.findall(one.answer):
            assert set(expression) <= set("0123456789.+-*/() "), one


def test_what_is_to_be_done_rests_on_documents_that_are_there():
    texts = {file.name: plain(file.read_text("utf-8")) for file in HERE.glob("*/documents/*")}
    every = tasks()
    assert len(every) > 300
    for one in every:
        assert one.text and {*one.documents} <= set(texts), one
        for piece in one.evidence:
            assert any(plain(piece)[:40] in texts[name] for name in one.documents), one


def test_none_of_it_is_of_the_kitchen_table():
    taught = {plain(one.question) for one in questions()}
    folder = HERE.parents[1] / "benchmarks" / "kitchen_table"
    for file in folder.glob("*/questions.jsonl"):
        for line in file.read_text("utf-8").splitlines():
            assert plain(json.loads(line)["question"]) not in taught


@pytest.mark.parametrize(
    ("evidence", "text", "expected"),
    [
        (["every May"], "serviced every may", ReplyStatus.ANSWERED),
        (["every May"], "serviced every october", ReplyStatus.ABSENT),
        (["every May", "by Tom"], "serviced every may", None),
    ],
)
def test_whether_a_text_answers_is_told_by_the_evidence(evidence, text, expected):
    assert standing(asked(evidence=evidence), text) is expected


def test_what_nothing_answers_is_never_answered():
    assert standing(asked(evidence=(), status=ReplyStatus.ABSENT), "anything") is ReplyStatus.ABSENT


def test_questions_are_searched_in_a_library_of_the_documents(tmp_path):
    folder = tmp_path / "home" / "documents"
    folder.mkdir(parents=True)
    (folder / "boilers.txt").write_text(NOTE, "utf-8")
    [(one, passages)] = list(found(folder.parent, [asked()], 5))
    assert passages[0].name == "boilers.txt" and all(one.held(plain(passages[0].chunk.text)))


def test_evidence_that_the_search_has_lost_is_taught_as_if_it_had_been_found(tmp_path):
    cat = "One adult cat is welcome after seven days."
    lines = [f"The boiler of flat {n} is serviced in May by the firm." for n in range(400)]
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "house.txt").write_text("\n".join([*lines, cat]), "utf-8")
    row = {"document": "house.txt", "kind": "fact", "question": "who services the boiler"}
    row |= {"language": "English", "status": "answered", "answer": cat, "evidence": [cat]}
    (tmp_path / "spoken.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    made = [one for one in contexts(tmp_path, 1, SentenceRanker(), 1.0) if one.asked]
    found = made[-1]
    assert cat in "\n".join(text for _, text in found.passages)
    assert [(one.status, one.answer) for one in found.asked] == [(ReplyStatus.ANSWERED, cat)]
    for lost in made[:-1]:  # as it was shown, now and then
        assert [one.status for one in lost.asked] == [ReplyStatus.ABSENT]
