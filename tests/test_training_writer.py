"""What teaches the writer: lessons, and how they are packed so that passages are read once."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, fields, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from rag_app.answering.prompts import ReplyStatus
from rag_app.answering.sentence_ranker import FOLDER, SentenceRanker
from rag_app.retrieval.embedding import MiniLmEmbedder
from training.library import LibraryQuestion, plain
from training.tables.examples import Example
from training.writer import (
    contexts,
    export,
    packing,
    packs,
    places,
    queries,
    sheets,
    train,
    wikitables,
)
from training.writer.adapter import AdaptedModel
from training.writer.contexts import Asked, Context, FollowUp, Lesson
from training.writer.from_spans import Wanted, is_faithful
from training.writer.packing import pack

PASSAGES = (("ferry.txt", "The ferry costs four euros.\nBicycles travel free."),)
CONTEXT = Context(
    PASSAGES,
    (
        Asked("what does it cost", "English", ReplyStatus.ANSWERED, "The ferry costs four euros."),
        Asked("who steers", "English", ReplyStatus.ABSENT, ""),
        Asked("und Räder?", "German", ReplyStatus.PARTLY, "Räder fahren frei."),
    ),
    (FollowUp((("what does it cost", "Four."),), "and bicycles?", "What do bicycles cost?"),),
)


@dataclass
class Letters:
    """A tokenizer of letters."""

    controls: dict[str, int] = field(default_factory=lambda: {"<|im_end|>": 1})

    def of_text(self, text: str) -> list[int]:
        return [2 + ord(letter) % 90 for letter in text]

    def of_messages(self, messages) -> list[int]:
        assert {role for role, _ in messages} <= {"system", "user", "assistant"}
        return [0, *(token for _, text in messages for token in [*self.of_text(text), 1])]


@pytest.fixture(scope="module")
def tiny():
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(1)
    config = Qwen2Config(
        vocab_size=96,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        attn_implementation="sdpa",
    )

    class Adapted:
        def __init__(self) -> None:
            self.model = Qwen2ForCausalLM(config).eval()

        def get_base_model(self):
            return self.model

    return Adapted()


def test_what_is_packed_costs_what_it_costs_alone(tiny):
    [packed] = pack(CONTEXT.lessons, Letters(), 1.0, 5_000)
    alone = [pack([one], Letters(), 1.0, 5_000)[0] for one in CONTEXT.lessons]
    with torch.no_grad():
        whole = train.loss_of(tiny, [packed])
        parts = [float(train.loss_of(tiny, [one])) for one in alone]
        together = train.loss_of(tiny, alone)  # filled up to the longest
    assert float(whole) == pytest.approx(sum(parts) / 3, rel=1e-2)
    assert float(together) == pytest.approx(sum(parts) / 3, rel=1e-2)


def test_every_sequence_is_in_one_batch_that_is_not_too_large():
    some = [pack([one], Letters(), 1.0, 5_000)[0] for one in CONTEXT.lessons] * 5
    most = 3 * max(len(one.ids) for one in some)
    made = train.batches(some, most, random.Random(2))
    assert sorted(id(one) for batch in made for one in batch) == sorted(map(id, some))
    assert all(len(batch) * max(len(one.ids) for one in batch) <= most for batch in made)


def test_sequences_are_kept_in_a_file_as_they_are(tmp_path):
    given = [
        (one, number == 1) for number, one in enumerate(pack(CONTEXT.lessons, Letters(), 1.0, 150))
    ]
    packing.save(given, tmp_path / "packs.npz")
    read = packing.load(tmp_path / "packs.npz")
    assert [held for _, held in read] == [held for _, held in given]
    for (mine, _), (theirs, _) in zip(read, given, strict=True):
        for one in fields(mine):
            assert np.array_equal(getattr(mine, one.name), getattr(theirs, one.name))


def test_what_was_kept_aside_is_judged_by_reply(tiny):
    [packed] = pack(CONTEXT.lessons, Letters(), 1.0, 5_000)
    with torch.no_grad():
        scores, _ = train.scores_of(tiny, [packed])
        cost = float(train.loss_of(tiny, [packed]))
    begins = [0, *(n for n in range(1, len(packed.at)) if packed.at[n] != packed.at[n - 1] + 1)]
    assert len(begins) == 3
    targets = packed.targets.copy()
    targets[begins[:2]] = scores.argmax(-1)[begins[:2]]  # two of three replies begin as it would
    known = train.judged(tiny, [replace(packed, targets=targets)])
    assert known["status right"] in (pytest.approx(2 / 3), 1.0)
    wrong = train.judged(tiny, [replace(packed, targets=(targets + 1) % 96)])
    assert wrong["status right"] <= 1 / 3
    assert train.judged(tiny, [packed, packed])["loss"] == pytest.approx(cost, rel=1e-2)


def test_passages_are_read_once():
    [packed] = pack(CONTEXT.lessons, Letters(), 1.0, 5_000)
    assert len(packed.ids) < sum(
        len(pack([one], Letters(), 1.0, 5_000)[0].ids) for one in CONTEXT.lessons
    )
    assert train.replies_of(packed) == 3


@given(st.integers(60, 400))
@settings(max_examples=30)
def test_no_question_is_lost_however_short_a_sequence_may_be(most):
    made = pack(CONTEXT.lessons, Letters(), 1.0, most)
    assert sum(map(train.replies_of, made)) == 3
    for one in made:
        follows = [*one.ids.tolist(), None]
        inside = [
            follows[at + 1] == target
            for at, target, place in zip(one.at, one.targets, range(len(one.at)), strict=True)
            if target != 1 and place
        ]
        assert all(inside)


def test_a_reply_that_goes_on_has_no_end_that_could_be_learnt():
    ending, open_ended = (Lesson([("human", "how many")], "SQL:", ends) for ends in (True, False))
    [whole], [part] = (pack([one], Letters(), 1.0, 500) for one in (ending, open_ended))
    assert whole.targets.tolist() == [*part.targets.tolist(), 1]


def test_contexts_are_read_as_they_were_written(tmp_path):
    contexts.write(tmp_path / "a.jsonl", [CONTEXT])
    [read] = contexts.read(tmp_path / "a.jsonl")
    assert read.passages == CONTEXT.passages and read.asked == CONTEXT.asked


def test_what_was_written_for_teaching_is_well_formed():
    found = list(contexts.written())
    assert len(found) >= 200
    for one in found:
        for asked in one.asked:
            assert (asked.status is ReplyStatus.ABSENT) == (asked.answer == "")
        for talk in one.follow_ups:
            assert talk.turns and talk.standalone
    assert all(isinstance(one, Lesson) for one in contexts.translations())


def test_a_sentence_is_kept_only_if_it_holds_its_span_and_nothing_new():
    from training.data import Example, Span

    text = "The ferry costs four euros since 2021."
    example = Example("x", "what does the ferry cost", text, (Span("four euros", 16),))
    wanted = Wanted(example, "four euros", text)
    assert is_faithful("The ferry costs four euros.", wanted, text)
    assert not is_faithful("The ferry costs five euros.", wanted, text)
    assert not is_faithful("The ferry to Ulm costs four euros.", wanted, text)
    assert not is_faithful("What does the ferry cost? four euros", wanted, text)


def test_written_queries_run_on_their_sheets_as_the_app_reads_them():
    written = list(queries.written())
    assert len(written) >= 60
    assert [fault for sheets in written[::8] for fault in queries.faults(sheets)] == []


def test_the_mean_of_two_adapters_lies_between_them(tmp_path):
    for name, value in (("taught", 3.0), ("before", 1.0)):
        folder = tmp_path / name
        folder.mkdir()
        save_file({"a": np.full((2, 2), value, np.float32)}, folder / export.WEIGHTS)
        (folder / "adapter_config.json").write_text(
            json.dumps({key: [] for key in export.KEPT} | {"unread": 1})
        )
    export.export(tmp_path / "taught", tmp_path / "made", tmp_path / "before")
    assert (load_file(tmp_path / "made" / export.WEIGHTS)["a"] == np.float16(2.0)).all()
    save_file({"b": np.zeros(1, np.float32)}, tmp_path / "before" / export.WEIGHTS)
    with pytest.raises(ValueError, match="another model"):
        export.export(tmp_path / "taught", tmp_path / "made", tmp_path / "before")


def test_queries_over_sheets_are_taught_in_the_words_of_the_app():
    names = {*sheets.asked()} - {"expense_claims.csv", "wedding.csv"}
    taught = list(sheets.written(names))
    assert [one.files[0][0] for one in taught] == ["expense_claims.csv", "wedding.csv"]
    assert [fault for one in taught for fault in queries.faults(one)] == []
    assert all('"' not in query.sql for one in taught for query in one.queries)
    boat = list(sheets.written({*sheets.asked()} - {"boat_logbook.csv"}))
    assert {one.messages[0] for group in sheets.lessons(boat, [*taught, *boat], 1) for one in group}
    for group in sheets.lessons([*taught, *boat], [*taught, *boat], 1):
        ends = {lesson.reply.endswith("\nSay:"): lesson.ends for lesson in group}
        assert ends == {True: False, False: True}
        assert {one.reply for one in group if one.ends} == {"None"}


def toy_model(seed: int = 1):
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(seed)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    return Qwen2ForCausalLM(Qwen2Config(vocab_size=96, **sizes, **heads)).eval()


def said(model) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.arange(12)[None]).logits


def test_an_adapter_adds_nothing_until_it_is_taught_and_is_kept_as_it_is(tmp_path):
    before = said(toy_model())
    taught = AdaptedModel(toy_model())
    assert torch.allclose(said(taught.get_base_model()), before, atol=1e-6)
    with torch.no_grad():
        for one in taught.parameters():
            if one.requires_grad:
                one.add_(0.05)
    taught.save(tmp_path)
    again = AdaptedModel(toy_model(), start=tmp_path)
    assert torch.equal(said(again.get_base_model()), said(taught.get_base_model()))
    assert not torch.allclose(said(again.get_base_model()), before, atol=1e-3)


def test_what_an_adapter_adds_is_the_product_of_two_narrow_matrices(tmp_path):
    """y = x W + s x A B, in numbers that were worked out beside it."""
    taught = AdaptedModel(toy_model())
    place = taught.get_base_model().model.layers[1].mlp.up_proj
    torch.nn.init.normal_(place.up)
    given = torch.randn(3, 32)
    expected = given @ (place.base.weight + 2.0 * place.up @ place.down).T
    assert torch.allclose(place(given), expected, atol=1e-4)
    taught.save(tmp_path)
    kept = load_file(tmp_path / "adapter_model.safetensors")
    name = "base_model.model.model.layers.1.mlp.up_proj.lora_B.weight"
    assert np.array_equal(kept[name], place.up.detach().numpy())


def test_layers_below_the_first_that_is_taught_stay_as_they_were(tmp_path):
    AdaptedModel(toy_model()).save(tmp_path)
    taught = AdaptedModel(toy_model(), lowest=1, start=tmp_path)
    names = [name for name, one in taught.named_parameters() if one.requires_grad]
    assert names and all(".layers.1." in name and ".base." not in name for name in names)
    AdaptedModel(toy_model(), lowest=1).save(tmp_path)
    with pytest.raises(ValueError, match=r"another model: .*layers\.0"):
        AdaptedModel(toy_model(), start=tmp_path)


def test_what_is_made_of_documents_is_taught_as_it_is_asked_for():
    lessons = [one for some, _ in packs.works() for one in some]
    assert len(lessons) > 800
    assert sum(held for _, held in packs.works()) > 15
    assert all(one.messages[-1][1].count("Task: ") and one.reply.strip() for one in lessons)


def test_a_sheet_that_is_left_out_must_be_there():
    with pytest.raises(ValueError, match=r"nowhere\.csv"):
        next(packs.over_sheets(1.0, ["nowhere.csv"], 1))


def test_what_is_kept_aside_is_taught_in_no_other_way():
    aside = [one for number, one in enumerate(contexts.written()) if packs.is_held(number)]
    replies = {talk.lesson.reply for one in aside for talk in one.follow_ups}
    shown = {lesson.messages[-1] for one in aside for lesson in one.lessons}
    taught = [lesson for lessons, held in packs.small_jobs() if not held for lesson in lessons]
    assert not shown & {lesson.messages[-1] for lesson in taught}
    assert sum(lesson.reply in replies for lesson in taught) < len(replies) / 4


@pytest.mark.parametrize(
    ("right", "likely", "expected"),
    [
        ([True, False, True, False], [0.1, 0.5, 0.3, 0.1], 2),  # the likelier of two
        ([True, False, False, False], [0.1, 0.5, 0.3, 0.1], 0),
        ([False, False, False, True], [0.1, 0.5, 0.3, 0.1], None),  # none of them gives the answer
        ([True, *[False] * 12], [0.01, *[0.08] * 11, 0.11], None),  # not among the first few
    ],
)
def test_of_queries_that_give_the_answer_the_likeliest_is_taught(
    right, likely, expected, monkeypatch
):
    monkeypatch.setattr(wikitables, "chances_of", np.array)
    found = wikitables.chosen(Example("t.csv-1", likely, np.array(right), True))
    assert (found and found.at) == expected
    assert found is None or found.of == len(right) - 1


SHUT = "The pool is shut on Monday."
PLACE = plain(f"baths.txt – Hours\n{SHUT}\nTowels are £2 each.")


def _asked(status=ReplyStatus.ANSWERED, evidence=(SHUT,), answer="On Monday.", kind="fact", of=""):
    question = of or "when cant i swim"
    return LibraryQuestion("baths.txt", kind, question, "English", status, answer, evidence)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (_asked(), ReplyStatus.ANSWERED),
        (_asked(evidence=(SHUT, "A towel lost costs £9.")), None),  # a part of what it takes
        (_asked(evidence=("Hats are sold at £5.",), answer="£5."), ReplyStatus.ABSENT),
        (_asked(evidence=("Robes are £2.",), answer="£2."), None),  # it may be said here, too
        (_asked(evidence=("Now £4.",), answer="£4.", kind="change"), None),  # so it was before
        (_asked(ReplyStatus.ABSENT, (), ""), ReplyStatus.ABSENT),
    ],
)
def test_a_place_is_told_to_answer_only_where_that_is_beyond_doubt(one, expected):
    assert places.told(one, PLACE) is expected


def test_a_place_is_asked_more_than_it_was_read_for(tmp_path):
    """Through the app's own search and ranker, over two papers."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "baths.txt").write_text(f"Hours\n\n{SHUT}\nTowels are £2 each.\n")
    (tmp_path / "documents" / "bees.txt").write_text("Bees\n\nHoney is £7 a jar.\n")
    rows = [
        ("baths.txt", "when cant i swim", "On Monday.", [SHUT]),
        ("baths.txt", "what are towels", "Towels are £2 each.", ["Towels are £2 each."]),
        ("bees.txt", "what is honey", "Honey is £7 a jar.", ["Honey is £7 a jar."]),
    ]
    keys = ("document", "question", "answer", "evidence")
    more = {"kind": "fact", "language": "English", "status": "answered"}
    lines = [json.dumps(dict(zip(keys, row, strict=True)) | more) for row in rows]
    (tmp_path / "spoken.jsonl").write_text("\n".join(lines))
    ranker, embedder = SentenceRanker(FOLDER), MiniLmEmbedder()
    made = list(places.contexts(tmp_path, ranker, embedder, seed=1, most=3))
    told = {(c.passages[0][0], a.question): a.answer for c in made for a in c.asked}
    assert {title for title, _ in told} == {"baths.txt", "bees.txt"}
    for document, question, answer, _ in rows:
        assert told[document, question] == answer
    assert told["baths.txt", "what is honey"] == ""
