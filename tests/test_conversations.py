from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.export.messages import sureness
from rag_app.scope import OWN
from rag_app.storage.conversations import (
    REMOVED,
    Conversations,
    from_json,
    title_of,
    to_json,
    without,
)
from rag_app.types import (
    Answer,
    Basis,
    Box,
    Chunk,
    Citation,
    Computation,
    Note,
    NoteKind,
    Passage,
    RowsUsed,
    Timing,
)

LLAMA = {"generator": "llama", "basis": Basis.WRITTEN}


def answer(text: str = "Four euros. [1]\n\nDogs are free. [2]", **given) -> Answer:
    citations = (
        Citation(1, "ferry", "ferry.pdf", 2, 0, 11, "Four euros.", (Box(1, 2, 3, 4),), 0.7),
        Citation(2, "dogs", "dogs.txt", 1, 5, 19, "Dogs are free."),
    )
    passages = (
        Passage(Chunk("ferry", 2, 0, 0, 30, "Four euros. And so on.", "Prices"), "ferry.pdf", 0.6),
        Passage(Chunk("dogs", 1, 0, 5, 40, "Dogs are free. Cats pay."), "dogs.txt", 0.4),
    )
    values = {
        "question": "What does it cost?",
        "text": text,
        "short_answer": "Four euros",
        "stressed": "Four euros",
        "abstained": False,
        "confidence": 0.8,
        "generator": "reader",
        "citations": citations,
        "passages": passages,
        "seconds": Timing(0.1, 0.2),
        "basis": Basis.EXTRACTED,
        "notes": (Note(NoteKind.CUT),),
    }
    return Answer(**(values | given))


@pytest.fixture
def conversations(database):
    return Conversations(database, OWN)


def asked(conversations: Conversations, question: str, said: Answer | None = None) -> str:
    conversation = conversations.start(question)
    exchange = conversations.ask(conversation, question, ["ferry"])
    if said:
        conversations.answer(exchange, said)
    return conversation


def test_an_answer_comes_back_as_it_was():
    assert from_json(to_json(answer())) == answer()


def test_an_answer_with_a_note_that_is_no_longer_made_is_still_read():
    kept = json.loads(to_json(answer()))
    kept["notes"] = [{"kind": "about_the_thing", "values": []}]
    assert from_json(json.dumps(kept)) == replace(answer(), notes=())


def test_the_one_closest_sentence_of_earlier_answers_is_still_read():
    near = Citation(1, "ferry", "ferry.pdf", 2, 0, 11, "Four euros.")
    said = answer(text="", abstained=True, citations=(), closest=(near,))
    kept = json.loads(to_json(said))
    assert from_json(json.dumps(kept)) == said
    assert from_json(json.dumps(kept | {"closest": kept["closest"][0]})) == said
    assert from_json(json.dumps(kept | {"closest": None})) == replace(said, closest=())


def test_a_conversation_is_kept_with_its_questions_in_order(conversations):
    conversation = asked(conversations, "What does it cost?", answer())
    second = conversations.ask(conversation, "and dogs?")
    conversations.fail(second, "It was too much.")
    first, last = conversations.exchanges(conversation)
    assert (first.question, first.documents, first.answer) == (
        "What does it cost?", ("ferry",), answer()
    )  # fmt: skip
    assert (last.question, last.documents, last.answer) == ("and dogs?", None, None)
    assert last.error == "It was too much."


def test_the_last_changed_is_listed_first_under_its_first_question(conversations):
    older = asked(conversations, "First?")
    newer = asked(conversations, "Second?")
    assert [c.title for c in conversations.listed()] == ["Second?", "First?"]
    conversations.ask(older, "again")
    assert [c.id for c in conversations.listed()] == [older, newer]


def test_conversations_are_found_by_title_question_and_answer(conversations):
    ferry = asked(conversations, "What does 100% of it cost?", answer())
    other = asked(conversations, "Who wrote this_file?")
    assert [c.id for c in conversations.listed("EUROS cost")] == [ferry]
    assert [c.id for c in conversations.listed("100%")] == [ferry]
    assert [c.id for c in conversations.listed("this_file")] == [other]
    assert conversations.listed("0_%") == [] and len(conversations.listed(" ")) == 2


@pytest.mark.parametrize("word", ["änderung", "Änderung", "ÄNDERUNG", "договор"])
def test_a_word_finds_conversations_in_small_and_capital_letters_of_every_script(
    conversations, word
):
    asked = conversations.start("Begin")
    conversations.ask(asked, "Änderung am 1. Mai? ДОГОВОР?")
    assert [c.id for c in conversations.listed(word)] == [asked]


def test_a_conversation_is_renamed_and_deleted(conversations):
    one = asked(conversations, "First?", answer())
    conversations.rename(one, "  Prices \n of the ferry ")
    conversations.rename(one, "   ")
    assert [c.title for c in conversations.listed()] == ["Prices of the ferry"]
    conversations.delete(one)
    assert conversations.listed() == [] and conversations.exchanges(one) == []


def test_what_is_rated_can_be_learnt_from_until_it_is_answered_anew(conversations):
    conversation = asked(conversations, "What does it cost?", answer())
    [exchange] = conversations.exchanges(conversation)
    conversations.rate(exchange.id, 5, " to the point ")
    [good] = conversations.rated(1)
    assert (good.id, good.rating, good.reason) == (exchange.id, 1, "to the point")
    conversations.answer(exchange.id, answer(text="Else."))
    assert conversations.rated(1) == []


def test_a_removed_document_takes_its_words_along_and_leaves_the_others(conversations):
    conversation = asked(conversations, "What does it cost?", answer())
    conversations.forget("ferry")
    [exchange] = conversations.exchanges(conversation)
    left = exchange.answer
    assert left is not None
    assert left.text == f"{REMOVED} [1]\n\nDogs are free. [2]"
    assert left.short_answer == left.stressed == ""
    assert [(c.name, c.page, c.quote) for c in left.citations] == [
        ("ferry.pdf", 2, ""), ("dogs.txt", 1, "Dogs are free."),
    ]  # fmt: skip
    assert "Four euros" not in to_json(left) and [p.name for p in left.passages] == ["dogs.txt"]
    conversations.forget("ferry")
    conversations.forget("nobody")


def test_what_was_worked_out_from_a_removed_document_goes_with_it():
    of_text = (
        Note(NoteKind.COMPUTED, ("11.80 × 12 = 141.60",)),
        Note(NoteKind.RESPELLED, ("Jonsen", "Jonsson")),
        Note(NoteKind.OTHERWISE, ("ferry.pdf", "It costs four euros.")),
    )
    notes = (*of_text, Note(NoteKind.CUT))
    left = without(answer(notes=notes, basis=Basis.COMPUTED), "ferry")
    assert left.text == REMOVED and left.notes == (Note(NoteKind.CUT),)
    assert sureness(answer()) and not sureness(left)


def test_a_figure_that_cites_no_cell_goes_with_the_sheet_that_it_was_computed_from():
    used = RowsUsed("fees", "fees.csv", "", ("fee",), 2, ())
    computed = Computation("SELECT 1", ("fee",), (("30",),), (used,))
    left = without(answer("30", short_answer="30", citations=(), computation=computed), "fees")
    assert (left.text, left.short_answer, left.computation) == (REMOVED, "", None)


def test_where_the_nearest_sentences_are_removed_nothing_else_is_called_the_nearest():
    near = tuple(replace(one, number=1) for one in answer().citations)
    said = answer(abstained=True, citations=(), closest=near)
    assert [p.name for p in without(said, "ferry").passages] == ["dogs.txt"]
    assert without(replace(said, closest=near[:1]), "ferry").passages == ()


def test_an_answer_that_does_not_cite_a_document_keeps_its_words():
    said = answer(text="Nothing was cited.", citations=())
    left = without(said, "ferry")
    assert (left.text, left.short_answer) == ("Nothing was cited.", "Four euros")
    assert [p.name for p in left.passages] == ["dogs.txt"]


@given(st.text())
def test_a_title_is_one_line_and_short(question):
    title = title_of(question)
    assert title and len(title) <= 80 and "\n" not in title


@given(st.text(alphabet="ab [1]2\n.", max_size=40), st.sets(st.integers(1, 12)))
def test_blanking_never_fails_and_leaves_no_gap_unexplained(text, gone):
    said = answer(text=text, citations=tuple(
        Citation(n, "ferry" if n in gone else "dogs", "x", 1, 0, 1, "q") for n in range(1, 13)
    ))  # fmt: skip
    left = without(said, "ferry")
    assert (left.text == text) or REMOVED in left.text


def test_an_exchange_and_all_later_ones_are_cut(conversations):
    conversation = asked(conversations, "First?", answer())
    second = conversations.ask(conversation, "Second?")
    conversations.ask(conversation, "Third?")
    conversations.cut(second)
    assert [one.question for one in conversations.exchanges(conversation)] == ["First?"]
    conversations.cut("nowhere")
    fourth = conversations.ask(conversation, "Fourth?")
    assert conversations.order(conversation)[-1] == fourth


def test_a_branch_begins_with_copies_of_what_came_before(conversations):
    conversation = asked(conversations, "First?", answer())
    [first] = conversations.exchanges(conversation)
    conversations.rate(first.id, 1)
    second = conversations.ask(conversation, "Second?")
    new = conversations.branch(second, "Else?")
    [copied] = conversations.exchanges(new)
    assert (copied.question, copied.answer, copied.rating) == ("First?", answer(), 0)
    assert copied.id != first.id and len(conversations.exchanges(conversation)) == 2
    found = conversations.conversation(new)
    assert found is not None and found.title == "Else?"
    conversations.forget("ferry")
    [copied] = conversations.exchanges(new)
    assert copied.answer is not None and "Four euros" not in to_json(copied.answer)


def test_every_change_of_a_conversation_can_be_seen(conversations):
    conversation = asked(conversations, "First?")
    other = asked(conversations, "Else?")
    [exchange] = conversations.order(conversation)
    seen, untouched = conversations.changes(conversation), conversations.changes(other)
    for change in (
        lambda: conversations.answer(exchange, answer()),
        lambda: conversations.rate(exchange, 1),
        lambda: conversations.forget("ferry"),
        lambda: conversations.fail(exchange, "No."),
    ):
        change()
        assert conversations.changes(conversation) == conversations.changes(exchange) > seen
        seen = conversations.changes(conversation)
    conversations.delete(conversation)
    assert conversations.changes(conversation) > seen
    shared = conversations._database.shared  # there every change of the library is one
    assert shared or conversations.changes(other) == untouched
    assert conversations.exchange(exchange) is None


def test_what_a_model_wrote_goes_with_a_document_that_it_cited():
    written = answer(**LLAMA, text="It costs four. [1] Dogs are free. [2]",
                     rewritten_query="What does Ann pay?", notes=(Note(NoteKind.CUT),))  # fmt: skip
    left = without(written, "ferry")
    assert (
        left.text == REMOVED and left.rewritten_query == "" and left.notes == (Note(NoteKind.CUT),)
    )


def test_what_a_model_wrote_unmarked_goes_with_a_document_that_it_read(conversations):
    written = answer(**LLAMA, text="Ann pays four. Dogs are free. [2] And so on.",
                     citations=answer().citations[1:])  # fmt: skip
    left = without(written, "ferry")
    assert left.text == f"Dogs are free. [2] {REMOVED}"
    assert without(written, "nobody") == written


def test_a_question_that_repeats_a_removed_document_loses_its_words(conversations):
    quote = "The passage costs four euros."
    passage = Passage(Chunk("ferry", 2, 0, 0, len(quote), quote), "ferry.pdf", 1.0)
    question = f"Translate into German: {quote}"
    said = answer(question=question, passages=(passage,), **LLAMA)
    conversation = asked(conversations, question, said)
    conversations.forget("ferry")
    [exchange] = conversations.exchanges(conversation)
    assert exchange.question == f"Translate into German: {REMOVED}"
    assert exchange.answer is not None and quote not in to_json(exchange.answer)
    assert quote not in conversations.listed()[0].title
