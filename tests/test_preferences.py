"""What was chosen on the page, kept from one start to the next."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from rag_app.storage.preferences import PreferenceFile, Preferences


@pytest.fixture
def file(tmp_path):
    return PreferenceFile(tmp_path / "preferences.json")


def test_nothing_chosen_is_nothing_kept(file, tmp_path):
    assert file.read() == Preferences()
    assert not list(tmp_path.iterdir())


def test_what_is_chosen_is_there_at_the_next_start(file, tmp_path):
    chosen = Preferences("ollama:llama3.2", "German", 0.7, 14)
    file.write(Preferences("quotes"))
    file.write(chosen)
    assert PreferenceFile(tmp_path / "preferences.json").read() == chosen
    assert len(list(tmp_path.iterdir())) == 1, "no half-written file is left"
    file.clear()
    assert file.read() == Preferences()


def test_a_choice_leaves_the_others_as_they_are(file):
    file.write(Preferences("quotes", embedding="/models/one"))
    file.change(language="German", caution=0.7)
    assert file.read() == Preferences("quotes", "German", 0.7, embedding="/models/one")
    file.change(embedding="", languages_settled=True)
    assert file.read() == Preferences("quotes", "German", 0.7, languages_settled=True)


def test_what_an_earlier_version_wrote_can_still_be_read(file, tmp_path):
    (tmp_path / "preferences.json").write_text('{"generator": "quotes", "top_k": 4}')
    assert file.read() == Preferences("quotes", top_k=4)


def test_choices_made_at_once_are_all_kept(file):
    import threading

    names = ("language", "embedding", "generator")
    threads = [threading.Thread(target=file.change, kwargs={name: name}) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = file.read()
    assert [getattr(kept, name) for name in names] == list(names)


@pytest.mark.parametrize(
    "torn",
    ["", "{", "[]", '{"x": 1}', '{"caution": 2}', '{"caution": "x"}', '{"top_k": 0}',
     '{"generator": 3}', '{"embedding": 3}', '{"languages_settled": 1}', '{"speed_settled": 1}',
     '{"keys": 1}', '{"top_k": null, "language": null}'],
)  # fmt: skip
def test_a_file_that_makes_no_sense_counts_as_none(file, tmp_path, torn):
    (tmp_path / "preferences.json").write_text(torn)
    assert file.read() == Preferences()


def test_a_folder_that_cannot_be_written_costs_the_choice_only(tmp_path, caplog):
    file = PreferenceFile(tmp_path / "missing" / "preferences.json")
    with caplog.at_level("WARNING"):
        file.write(Preferences("quotes"))
    assert "cannot be kept" in caplog.text
    assert file.read() == Preferences()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fails", ["replace", "write"])
def test_a_disk_that_is_full_leaves_the_choice_before(file, tmp_path, monkeypatch, caplog, fails):
    file.write(Preferences("quotes", "German"))

    def full(*_args, **_kept):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken, caplog.at_level("WARNING"):
        if fails == "replace":
            broken.setattr(Path, "replace", full)
        else:
            broken.setattr(json, "dump", full)
        file.write(Preferences("reader"))
    assert "cannot be kept" in caplog.text
    assert file.read() == Preferences("quotes", "German")
    assert len(list(tmp_path.iterdir())) == 1, "no half-written file is left"
