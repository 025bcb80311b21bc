"""How the network that reads queries over a table is taught."""

from __future__ import annotations

import math
import pickle
from dataclasses import astuple

import pytest
import torch

from rag_app.answering.query_reading import Interpretation, QueryReader, Way
from rag_app.answering.sentence_ranker import RankerTokens
from rag_app.tables.candidates import CandidateQuery, Operator
from training.tables import reading
from training.tables.reading import QueryNetwork, Told, fold, loss_of, main, save

BUNS = Told(
    "orders-1",
    "how many buns did Bruno take",
    ("sum(Qty) WHERE Customer = bruno => 42", "count(*) WHERE Customer = bruno => 2"),
    (math.log(0.2), math.log(0.7)),
    math.log(0.1),
    (True, False),
    True,
)
MAYOR = Told(
    "orders-2",
    "who is the mayor",
    ("Customer WHERE Item = bun => Bruno",),
    (math.log(0.5),),
    math.log(0.5),
    (False,),
    False,
)


def test_a_table_is_in_one_fold_with_all_its_questions():
    assert fold("orders.csv-1") == fold("orders.csv-77")
    assert {fold(f"{name}.csv-0") for name in range(50)} == {0, 1, 2}


def test_all_that_is_right_together_competes_with_all_else():
    assert loss_of(torch.tensor([3.0, 0.0, 0.0]), BUNS, 6) < loss_of(
        torch.tensor([0.0, 3.0, 0.0]), BUNS, 6
    )
    assert loss_of(torch.tensor([-9.0, 9.0]), MAYOR, 6) < 0.01


def test_of_many_queries_the_first_are_read_and_those_that_are_right():
    right = (*(False,) * 5, True)
    many = Told("t-1", "how many", tuple("abcdef"), (0.0,) * 6, 0.0, right, True)
    [odds] = QueryNetwork()(RankerTokens(), [many], 2)
    assert len(odds) == 4  # two, the one that is right, and nothing


def test_what_is_taught_is_judged(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reading, "AT_ONCE", 2)
    monkeypatch.setattr(reading, "WARM", 1)
    monkeypatch.setattr(reading, "ROWS", 5)  # rows that nothing fills take as long as others
    groups, work = tmp_path / "groups.pkl", tmp_path / "work"
    groups.write_bytes(pickle.dumps([astuple(BUNS), astuple(MAYOR)]))
    steps = ["train", str(groups), "--work", str(work), "--rounds", "12"]
    assert main([*steps, "--held", str(groups)]) == 0
    assert "1.000 of what can be answered" in capsys.readouterr().out


def test_what_is_saved_weighs_as_it_was_taught(tmp_path):
    network = QueryNetwork().eval()
    network.counts.data.fill_(0.6)
    save(network, tmp_path)
    with torch.no_grad():
        taught = torch.softmax(network(RankerTokens(), [BUNS], 6)[0], 0).tolist()
    query = CandidateQuery(Operator.COUNT, "", None)
    meant = [
        Interpretation(
            (Way(query, told, math.exp(chance)),), (), math.exp(chance), math.exp(chance)
        )
        for told, chance in zip(BUNS.queries, BUNS.chances, strict=True)
    ]
    nothing, served = QueryReader(tmp_path, 1).weighed(BUNS.question, 0.1, meant)
    chances = {one.ways[0].told: one.chance for one in served}
    assert [chances[told] for told in BUNS.queries] == pytest.approx(taught[:2], abs=0.01)
    assert nothing == pytest.approx(taught[2], abs=0.01)
