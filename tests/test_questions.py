from __future__ import annotations

from dataclasses import replace

import pytest

from rag_app.answering.ask_options import checked, coverage
from rag_app.errors import LibraryInUse, QuestionError
from rag_app.storage.originals import own
from rag_app.types import Document, Note, NoteKind, Status

ONE = Document("d", "a.txt", ".txt", 1, Status.READY, "now")


def in_state(*states: Status) -> list[Document]:
    return [replace(ONE, status=status) for status in states]


def test_a_question_is_trimmed():
    assert checked("  Why?\n", [ONE], 10) == "Why?"


@pytest.mark.parametrize(
    ("question", "chosen", "says"),
    [
        ("", [ONE], "empty"),
        ("x" * 11, [ONE], "11 characters; the limit is 10"),
        ("Why?", [], "Add a document first"),
        ("Why?", in_state(Status.RECEIVED, Status.FAILED), "still being read"),
        ("Why?", in_state(Status.FAILED), "could be read"),
    ],
)
def test_an_unfit_question_says_what_to_do(question, chosen, says):
    with pytest.raises(QuestionError, match=says):
        checked(question, chosen, 10)


def test_a_byte_that_is_no_letter_does_not_keep_a_question_from_being_asked():
    assert checked("Open caf\udce9?", [ONE], 100) == "Open caf??"


def test_one_document_that_can_be_searched_is_enough_to_ask():
    assert checked("Why?", in_state(Status.FAILED, Status.SEARCHABLE), 10) == "Why?"


def test_what_was_not_searched_in_full_is_said():
    states = (Status.SEARCHABLE, Status.RECEIVED, Status.READ, Status.READY, Status.FAILED)
    assert coverage(in_state(*states)) == (
        Note(NoteKind.SEARCHED_BY_WORDS_ONLY, ("1",)),
        Note(NoteKind.NOT_READ_YET, ("2",)),
    )
    assert coverage([ONE]) == ()


def test_a_folder_has_one_owner_until_it_lets_go(tmp_path):
    lock = own(tmp_path / "data")
    with pytest.raises(LibraryInUse, match="open in another rag-app"):
        own(tmp_path / "data")
    lock.release()
    own(tmp_path / "data").release()


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LibraryInUse, match="Choose another folder"):
        own(tmp_path / "file" / "data")
