"""A whole training run with a toy network: resuming, predicting, exporting."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from training_toys import BRIDGE, RIVER, tiny_source, write_set, write_tokenizer

from training import checkpoint, evaluate, export, predict, train
from training import model as network
from training.data import Example
from training.features import Encoder
from training.mixture import Mixture
from training.schedule import Schedule


def toy_network(*_: object) -> object:
    from transformers import BertConfig, BertForQuestionAnswering

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(
        vocab_size=200, intermediate_size=32, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, attn_implementation="eager", **sizes,
    )  # fmt: skip
    model = BertForQuestionAnswering(config)
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    return model


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture
def plan(tmp_path, monkeypatch):
    threads = torch.get_num_threads()
    monkeypatch.setattr(network, "build", toy_network)
    for name, rows in {"squad_v2_dev": 3, "nq_part_eval": 2, "cuad_win_eval": 2}.items():
        answered = [replace(BRIDGE, id=str(number)) for number in range(rows)]
        write_set(tmp_path / "data" / "dev", name, [*answered, replace(BRIDGE, answers=())])
    yield train.Plan(
        data=tmp_path / "data", out=tmp_path / "out" / "run", start=tmp_path,
        schedule=Schedule(peak=1e-2, rounds=2.0, descent=1.0), minutes=1e9, save_minutes=1e9,
        look_minutes=1e9, answerable_weight=0.5, threads=1, seed=3,
    )  # fmt: skip
    torch.set_num_threads(threads)


def encoder_of(file: Path) -> Encoder:
    return Encoder(file, tiny_source().mixture)


def weights_of(run: train.Run) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in network.trainable(run.model).items()}


def test_a_stopped_run_goes_on_exactly_where_it_was(plan, tokenizer, tmp_path):
    encoder = encoder_of(tokenizer)
    whole = train.start(plan)
    train.train(whole, tiny_source(), encoder)

    halved = replace(plan, out=tmp_path / "halved" / "run")
    first = train.start(halved)
    for batch, progress in train.remaining(first, tiny_source(), encoder):
        train.step(first, batch, plan.schedule.rate(progress))
        if first.place.step == whole.place.step // 2:
            break
    first.save()
    second = train.start(halved)
    assert second.place.step == first.place.step > 0
    train.train(second, tiny_source(), encoder)

    assert second.place.step == whole.place.step
    for name, weight in weights_of(whole).items():
        assert torch.equal(weight, weights_of(second)[name]), name
        assert torch.equal(whole.average[name], second.average[name]), name


def test_a_run_learns_logs_and_draws(plan, tokenizer):
    run = train.start(plan)
    before = weights_of(run)
    train.train(run, tiny_source(), encoder_of(tokenizer))
    assert any(not torch.equal(before[name], w) for name, w in weights_of(run).items())
    rows = [json.loads(line) for line in (plan.out / "log.jsonl").read_text().splitlines()]
    assert rows[0]["windows"] > 0
    assert set(rows[-1]["dev"]) >= {"squad_f1", "squad_auroc", "nq_f1", "cuad_f1"}
    assert (plan.out / "training.png").exists()


def test_a_signal_writes_a_checkpoint_and_stops(plan, tokenizer):
    run = train.start(plan)
    run.stopped = True
    train.train(run, tiny_source(), encoder_of(tokenizer))
    assert run.place.step == 1
    assert (plan.out / checkpoint.NAME).exists()


def test_a_loss_that_is_no_number_changes_nothing(plan, tokenizer, monkeypatch):
    run = train.start(plan)
    before = weights_of(run)
    real = network.loss
    monkeypatch.setattr(network, "loss", lambda *given: real(*given) * float("nan"))
    batch, _ = next(train.remaining(run, tiny_source(), encoder_of(tokenizer)))
    train.step(run, batch, 0.1)
    assert all(torch.equal(before[name], w) for name, w in weights_of(run).items())


@dataclass
class Pointing:
    """A reader that points at the token with one id, or at nothing if it is not there."""

    wanted: int

    def __call__(self, input_ids: torch.Tensor, **_: torch.Tensor) -> SimpleNamespace:
        scores = (input_ids == self.wanted).float() * 9
        scores[:, 0] = 4
        return SimpleNamespace(start_logits=scores, end_logits=scores)

    def eval(self) -> None: ...

    def train(self) -> None: ...


def test_the_best_span_is_found_in_whichever_window_holds_it(tokenizer):
    from tokenizers import Tokenizer

    mixture = replace(Mixture(), max_tokens=40, stride=10)
    wanted = Tokenizer.from_file(str(tokenizer)).token_to_id("mourns")
    rows = [BRIDGE, replace(BRIDGE, context="No such word."), Example("e", "Who?", "", ())]
    found = predict.guesses(Pointing(wanted), Encoder(tokenizer, mixture), rows)
    assert (found[0].text, found[0].start) == ("mourns", RIVER.index("mourns"))
    assert found[0].margin == pytest.approx(10)
    assert found[1].margin < 0
    assert found[2].text == ""


def test_nothing_is_found_above_nothing():
    rows = [BRIDGE, replace(BRIDGE, answers=())]
    found = [predict.Guess("1345", 0, 2.0, 2.0), predict.Guess("Pisa", 0, -2.0, -2.0)]
    scored = evaluate.figures(predict.outcomes(rows, found, "margin"))
    assert (scored["f1"], scored["auroc"], scored["answerable_em"]) == (100, 1, 100)


def test_weights_are_exported_in_half_precision_with_their_tokenizer(
    plan,
    tokenizer,
    tmp_path,
    monkeypatch,
):
    monkeypatch.setattr(network, "encoder_folder", lambda: tokenizer.parent)
    run = train.start(plan)
    run.save()
    digest = export.export(tmp_path / "reader", plan.out / checkpoint.NAME)
    weights = load_file(tmp_path / "reader" / "model.safetensors")
    assert len(digest) == 64
    assert all(weight.dtype == torch.float16 for weight in weights.values())
    kept = {path.name for path in (tmp_path / "reader").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= kept


def test_several_runs_are_exported_as_their_mean(plan, tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr(network, "encoder_folder", lambda: tokenizer.parent)
    name, files = "qa_outputs.weight", []
    for number in (1, 2):
        run = train.start(replace(plan, out=tmp_path / str(number)))
        run.average[name] += number
        run.save()
        files.append(run.plan.out / checkpoint.NAME)
    one, other = (evaluate.reader_from(file).state_dict()[name] for file in files)
    assert torch.allclose(one + 1, other)
    assert torch.allclose(evaluate.reader_from(*files).state_dict()[name], (one + other) / 2)
    export.export(tmp_path / "reader", *files)
    mean = load_file(tmp_path / "reader" / "model.safetensors")[name].float()
    assert torch.allclose(mean, (one + other) / 2, atol=1e-3)


def test_weights_that_are_too_large_are_refused(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(export, "LIMIT", 1000)
    train.start(plan).save()
    with pytest.raises(ValueError, match="allowed"):
        export.export(tmp_path / "reader", plan.out / checkpoint.NAME)
