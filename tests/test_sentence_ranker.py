"""Which sentences hold an answer, by the network that ships with the app."""

from __future__ import annotations

import random
import shutil

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_app.answering.evidence import relevance
from rag_app.answering.sentence_ranker import (
    COMPARED,
    FOLDER,
    NOT_READ,
    WINDOW,
    RankerTokens,
    SentenceRanker,
    Titled,
)
from rag_app.errors import ModelUnavailable
from rag_app.models.catalogue import SENTENCES
from rag_app.models.weights import folder_of, is_ready
from rag_app.retrieval.embedding import Embedder, MpnetEmbedder
from rag_app.text.sentences import sentences
from rag_app.types import Chunk, Passage
from tests.writers import MODELS
from training.ranker.groups import Group
from training.ranker.train import PASSAGES, Network, drawn, export, loss_of, some_of

LEASE = (
    "The Tenant shall keep the garden tidy. No part of the Property may be let to others, nor "
    "offered to paying guests. The rent is due on the third of each month."
)
CLUB = "The club meets on Fridays. Guests pay two euros. Dogs stay outside."


def titled(name, text):
    return Titled(name, text, tuple(sentences(text)))


@pytest.fixture(scope="module")
def ranker():
    return SentenceRanker()


def best(scores, passages):
    """The sentence with the highest score."""
    return max(
        (value, one.text[a:b])
        for one, values in zip(passages, scores, strict=True)
        for value, (a, b) in zip(values, one.sentences, strict=True)
    )[1]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("when do I have to pay my landlord", "The rent is due on the third of each month."),
        ("can we put the flat on airbnb", "No part of the Property may be let to others, nor "
         "offered to paying guests."),
        ("what does a visitor pay at the club", "Guests pay two euros."),
    ],
)  # fmt: skip
def test_the_sentence_that_answers_comes_first_in_other_words_too(ranker, question, answer):
    passages = [titled("club.txt", CLUB), titled("lease.pdf", LEASE)]
    assert best(ranker.score(question, passages), passages) == answer


def test_a_passage_that_answers_is_worth_more_than_one_that_does_not(ranker):
    passages = [
        Passage(Chunk(name, 1, 1, 0, len(text), text), name, 0.5)
        for name, text in (("club.txt", CLUB), ("lease.pdf", LEASE))
    ]
    club, lease = relevance("when is the rent due", passages, ranker.score)
    assert lease > club + 1


def test_a_passage_is_read_alike_alone_and_among_others(ranker):
    passages = [titled("lease.pdf", LEASE), titled("club.txt", CLUB), titled("", CLUB * 3)]
    together = ranker.score("Who pays?", passages)
    alone = [SentenceRanker().score("Who pays?", [one])[0] for one in passages]
    for one, other in zip(together, alone, strict=True):
        assert one == pytest.approx(other, abs=0.2)


def test_what_was_read_once_is_not_read_again(ranker, monkeypatch):
    passages = [titled("lease.pdf", LEASE), titled("club.txt", CLUB)]
    first = ranker.score("Which day?", passages)
    monkeypatch.setattr(ranker, "_read", lambda _, new: pytest.fail("again") if new else [])
    assert ranker.score("Which day?", passages[::-1]) == first[::-1]


def test_what_lies_outside_of_the_window_is_not_read_and_nothing_fails(ranker):
    long = titled("long.txt", "This is a sentence of a long text. " * 100)
    [scores] = ranker.score("Who? " * 300, [long])
    assert len(scores) == len(long.sentences)
    assert scores[0] > NOT_READ == scores[-1]
    assert ranker.score("Who?", []) == []
    assert ranker.score("", [Titled("", "", ())]) == [[]]


@given(st.text(max_size=120), st.text(max_size=40), st.text(max_size=900))
@settings(max_examples=40)
def test_every_token_belongs_to_the_sentence_in_which_it_stands(question, title, text):
    spans = tuple(sentences(text))
    [one] = RankerTokens().inputs(question, [Titled(title, text, spans)])
    assert len(one.ids) == len(one.owner) <= WINDOW
    assert set(one.owner[: one.first]) == {-1}
    held = [owner for owner in one.owner if owner >= 0]
    assert held == sorted(held) and all(owner < len(spans) for owner in held)


class Alike(Embedder):
    """Says that all that speaks of guests is alike, and all that does not."""

    fingerprint = "alike"

    def __init__(self, torn=None, fails=None):
        self.torn, self.fails, self.read = torn, fails, []

    def warm(self):
        if self.torn:
            raise self.torn

    def embed_documents(self, texts):
        if self.fails:
            raise self.fails
        self.read += texts
        return [[1.0, 0.0] if "guests" in text.lower() else [0.0, 1.0] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


def test_what_a_larger_model_finds_like_the_question_is_likelier():
    passages = [titled("lease.pdf", LEASE), titled("club.txt", CLUB)]
    alone, similar = SentenceRanker(), Alike()
    compared = SentenceRanker(similar=similar)
    question = "what do guests cost"
    (_, let, rent), (*_, dogs) = odds = alone.score(question, passages)
    (_, let_2, rent_2), (*_, dogs_2) = compared.score(question, passages)
    assert let_2 - 0.5 * let == pytest.approx(14.0 - 5.0)
    assert [rent_2 - 0.5 * rent, dogs_2 - 0.5 * dogs] == pytest.approx([-5.0, -5.0])
    assert len(similar.read) == 1 + sum(map(len, odds)) and similar.read[0] == question
    assert similar.read[1].startswith(("lease.pdf; ", "club.txt; "))
    compared.score("another question", passages)
    assert len(similar.read) == 2 + sum(map(len, odds)), "sentences are kept"


def test_only_the_likeliest_are_compared_and_the_others_stay_in_their_order():
    text = "".join(f"The rent of month {n} is {n * 7} pounds. " for n in range(25))
    passages = [titled(f"{name}.txt", text) for name in "ab"]
    similar = Alike()
    [*scores] = SentenceRanker(similar=similar).score("What is the rent of month 3?", passages)
    odds = SentenceRanker().score("What is the rent of month 3?", passages)
    assert len(similar.read) == 1 + COMPARED
    left = [
        (values[s], of[s])
        for one, values, of in zip(passages, scores, odds, strict=True)
        for s in range(len(of))
        if one.sentence(s) not in similar.read
    ]
    assert len(left) == 50 - COMPARED and sorted(left) == sorted(left, key=lambda two: two[1])


@pytest.mark.parametrize(
    "similar", [Alike(torn=ModelUnavailable("torn")), Alike(fails=RuntimeError("out of order"))]
)
def test_without_the_larger_model_the_ranker_ranks_alone(similar):
    passages = [titled("club.txt", CLUB)]
    alone = SentenceRanker().score("Which day?", passages)
    assert SentenceRanker(similar=similar).score("Which day?", passages) == alone


def test_a_torn_file_of_the_larger_model_leaves_the_ranker(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"torn")
    (tmp_path / "config.json").write_text("{}")
    similar, passages = MpnetEmbedder(tmp_path), [titled("club.txt", CLUB)]
    with pytest.raises(ModelUnavailable):
        similar.warm()
    alone = SentenceRanker().score("Which day?", passages)
    assert SentenceRanker(similar=similar).score("Which day?", passages) == alone


def test_the_model_that_the_set_up_brings_knows_what_shares_no_word():
    cache = MODELS
    if not is_ready(SENTENCES, cache):
        pytest.skip("it was not brought: python -m rag_app.models.weights sentences")
    ranker = SentenceRanker(similar=MpnetEmbedder(folder_of(SENTENCES, cache)))
    text = (
        "Staff must leave the yard tidy at the end of a shift. If you cannot work, phone the "
        "branch office by 7.15 a.m. Wages are paid by bank transfer on the last Friday."
    )
    handbook = [titled("handbook.pdf", text)]
    asked = "what time do i ring in if i wake up poorly"
    assert "7.15" in best(ranker.score(asked, handbook), handbook)


def test_torn_weights_are_no_ranker(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "ranker")
    file = tmp_path / "ranker" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(ModelUnavailable, match="make install"):
        SentenceRanker(tmp_path / "ranker").warm()


def test_in_training_a_sentence_with_the_answer_competes_with_those_without_and_with_none():
    gold = torch.tensor([True, False, True])
    good = loss_of(torch.tensor([5.0, -5.0, 5.0]), gold)
    assert (
        good
        < loss_of(torch.tensor([5.0, -5.0, -5.0]), gold)
        < loss_of(torch.tensor([-5.0, 5.0, -5.0]), gold)
    )
    nothing = torch.tensor([False, False])
    assert loss_of(torch.tensor([-9.0, -9.0]), nothing) < 0.01
    assert loss_of(torch.tensor([9.0, -9.0]), nothing) > 8


def test_a_step_reads_what_answers_and_a_few_of_the_others():
    passages = tuple(titled(str(n), CLUB) for n in range(12))
    gold = tuple((n == 11, False, False) for n in range(12))
    chosen = some_of(Group("fact", "", "Who?", passages, gold), random.Random(1))
    assert 11 in chosen and len(chosen) == PASSAGES


def test_what_training_exports_scores_as_it_was_taught(tmp_path):
    network = Network().eval()
    export(network, tmp_path)
    passages = [titled("lease.pdf", LEASE), titled("", CLUB)]
    with torch.no_grad():
        given = RankerTokens().inputs("Who pays?", passages)
        taught = network(given, [len(one.sentences) for one in passages]).tolist()
    served = SentenceRanker(tmp_path).score("Who pays?", passages)
    assert [v for one in served for v in one] == pytest.approx(taught, abs=0.03)


def test_teaching_that_goes_on_begins_with_what_is_there(tmp_path):
    before = Network(start=FOLDER)
    with torch.no_grad():
        before.head.bias += 1.0  # what it learnt
    export(before, tmp_path)
    passages = [titled("lease.pdf", LEASE), titled("", CLUB)]
    scores = [
        [v for one in SentenceRanker(folder).score("Who pays?", passages) for v in one]
        for folder in (FOLDER, tmp_path)
    ]
    assert scores[1] == pytest.approx([v + 1.0 for v in scores[0]], abs=0.03)


def test_of_a_share_of_one_and_a_half_every_second_is_taught_twice():
    groups = [Group("fact", str(n), "Who?", (), ()) for n in range(8)]
    some = drawn(groups, 1.5, random.Random(1))
    assert len(some) == 12 and {one.document for one in some} == set("01234567")
