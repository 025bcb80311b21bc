"""Fetching a model from a hub that runs here."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rag_app import cli
from rag_app.answering.chat_models import ChatSettings, try_out
from rag_app.answering.model_spec import ModelSpec
from rag_app.errors import ChatModelError, ModelUnavailable
from rag_app.models import download as downloading
from rag_app.models.download import (
    Fetch,
    arrived,
    download,
    folder_of,
    hub_download,
    is_hub_id,
    local_folder,
    wanted_of,
)
from tests.hub import hub
from tests.toy_chat import make

MODEL = "people/tiny-chat"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = make(tmp_path_factory.mktemp("made") / "model")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def served(files, monkeypatch):
    extra = {"evil.py": b"raise SystemExit", "pytorch_model.bin": b"\x80pickle"}
    with hub({MODEL: files | extra, "people/pickled": {"pytorch_model.bin": b"x"}}) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def test_a_model_is_fetched_with_progress_and_then_answers(served, files, tmp_path):
    said: list[tuple[int, int]] = []
    folder = download(MODEL, tmp_path / "models", lambda *share: said.append(share))
    assert folder == tmp_path / "models" / "people--tiny-chat"
    got = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    assert got == {n: d for n, d in files.items() if n in got} and "model.safetensors" in got
    assert "evil.py" not in got and "pytorch_model.bin" not in got
    assert sorted(got) == sorted(path.name for path in folder.iterdir()), "nothing else is left"
    assert said[-1][0] == said[-1][1] >= len(files["model.safetensors"])
    try:
        try_out(ModelSpec("local", MODEL), ChatSettings(most_tokens=6, models=tmp_path / "models"))
    except ChatModelError as error:  # random weights may write white space only
        assert "writes nothing" in str(error)
    asked = len(served.asked)
    assert download(MODEL, tmp_path / "models") == folder and len(served.asked) == asked


def test_the_command_fetches_it_beside_the_library(served, tmp_path, capsys):
    assert cli.main(["download", MODEL, "--data-dir", str(tmp_path)]) == 0
    assert f"--generator local:{MODEL}" in capsys.readouterr().out
    assert (tmp_path / "models" / "people--tiny-chat" / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("people/nobody", "There is no model people/nobody"),
        ("people/pickled", "no weights in the safetensors format"),
        ("../etc", "is no name of a model"),
        ("name", "is no name of a model"),
    ],
)
def test_what_cannot_be_fetched_is_one_sentence(served, tmp_path, model, says):
    with pytest.raises(ChatModelError, match=says):
        download(model, tmp_path)


def test_without_a_connection_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ChatModelError, match="could not be reached"):
        download(MODEL, tmp_path)


def test_a_download_that_is_stopped_leaves_no_model_and_goes_on_later(served, tmp_path):
    served.pause.clear()
    with pytest.raises(ChatModelError, match="was stopped"):
        download(MODEL, tmp_path, cancelled=lambda: any("resolve" in path for path in served.asked))
    assert not folder_of(MODEL, tmp_path).exists()
    served.pause.set()
    assert download(MODEL, tmp_path).is_dir()


def test_half_a_file_is_gone_on_with_after_a_kill(served, files, tmp_path):
    weights = len(files["model.safetensors"])
    served.stops_after = weights * 3 // 4
    said: list[int] = []

    def half_is_there() -> bool:
        return served.stopped.is_set() and arrived(MODEL, tmp_path) >= weights // 3

    with pytest.raises(ChatModelError, match="was stopped"):
        download(MODEL, tmp_path, cancelled=half_is_there)  # the child is killed
    there = arrived(MODEL, tmp_path)
    assert weights // 3 <= there < weights and not folder_of(MODEL, tmp_path).exists()
    served.stops_after = 0
    served.go_on.set()
    folder = download(MODEL, tmp_path, lambda done, _: said.append(done))
    assert served.resumed and 0 < served.resumed[-1] < weights
    assert (folder / "model.safetensors").read_bytes() == files["model.safetensors"]
    assert min(said) >= there and not (folder / ".halves").exists()


def test_half_a_file_of_other_bytes_is_found_out_and_fetched_anew(served, files, tmp_path):
    served.stops_after = len(files["model.safetensors"]) // 2
    with pytest.raises(ChatModelError, match="was stopped"):
        download(MODEL, tmp_path, cancelled=served.stopped.is_set)
    [half] = (tmp_path / "people--tiny-chat.part" / ".halves").iterdir()
    half.write_bytes(b"\xff" * 100)
    served.stops_after = 0
    served.go_on.set()
    with pytest.raises(ChatModelError, match="not what the hub has"):
        download(MODEL, tmp_path)
    assert download(MODEL, tmp_path).is_dir()


def test_whole_files_of_another_version_are_fetched_anew(served, files, tmp_path):
    part = tmp_path / "people--tiny-chat.part"
    part.mkdir()
    for name in ("config.json", "model.safetensors"):
        (part / name).write_bytes(b"\xff" * len(files[name]))
    folder = download(MODEL, tmp_path)
    for name in ("config.json", "model.safetensors"):
        assert (folder / name).read_bytes() == files[name]


def test_what_is_done_with_a_fetched_model_may_fail_in_a_sentence(served, tmp_path):
    def refuse(folder):
        raise ModelUnavailable(f"{folder.name} is not used.")

    fetch = Fetch(MODEL, hub_download(MODEL, tmp_path), refuse)
    assert fetch.wait(30)
    assert fetch.error == "people--tiny-chat is not used." and not fetch.running


def test_a_disk_without_room_says_so_before_anything_is_fetched(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 1_000})
    monkeypatch.setattr(downloading.shutil, "disk_usage", lambda _: usage)
    files = [downloading.Wanted("model.safetensors", 10_000, "")]
    with pytest.raises(OSError, match="no room") as caught:
        downloading._check_room(tmp_path, files)
    assert "disk is full" in downloading.explain(caught.value, MODEL)


def test_a_file_where_the_folder_should_be_is_one_sentence(tmp_path, capsys):
    (tmp_path / "file").write_bytes(b"x")
    assert cli.main(["download", MODEL, "--data-dir", str(tmp_path / "file")]) == 1
    said = capsys.readouterr().err
    assert "cannot be written to" in said and "Not a directory" in said


def test_a_folder_that_the_child_may_not_write_to_is_no_silent_hub(served, tmp_path):
    half = folder_of(MODEL, tmp_path).with_name("people--tiny-chat.part") / downloading.HALVES
    half.parent.mkdir()
    half.write_bytes(b"a file where a folder should be")
    with pytest.raises(ChatModelError, match=r"cannot be written to .*File exists"):
        download(MODEL, tmp_path)


def test_files_that_would_land_elsewhere_or_serve_other_runtimes_are_left():
    def named(name: str) -> SimpleNamespace:
        return SimpleNamespace(rfilename=name, size=1, lfs=None)

    others = ["onnx/tokenizer.json", "openvino/a.json", "a.py", "a.bin"]
    elsewhere = ["../a.json", "/a.json", "x/../../a.json", ".halves/a.json"]
    offered = ["a.json", "1_Pooling/config.json", *others, *elsewhere]
    assert [one.name for one in wanted_of([named(name) for name in offered])] == [
        "1_Pooling/config.json", "a.json"
    ]  # fmt: skip


def test_a_model_that_was_not_fetched_says_how(tmp_path):
    with pytest.raises(ChatModelError, match=f"rag-app download {MODEL}"):
        try_out(ModelSpec("local", MODEL), ChatSettings(models=tmp_path))


def test_a_path_is_a_path_and_a_name_a_name(tmp_path):
    assert local_folder(str(tmp_path), tmp_path) == tmp_path
    assert local_folder(MODEL, tmp_path) == tmp_path / "people--tiny-chat"
    assert [is_hub_id(t) for t in (MODEL, "a/b/c", "/a", "a/../b", "a", "a/b--c", "")] == [
        True, False, False, False, False, False, False
    ]  # fmt: skip
