"""The measure of odd files is fair: every file is judged, and what others find counts."""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path

import pytest
from offices import docx, packed, paragraph
from pdfs import pdf

from benchmarks import stress, stress_others, stress_report
from benchmarks.stress_files import File, corpus, words
from benchmarks.stress_judging import CRASHED, NOTHING, REFUSED, TEXT, Found, Judged, judged
from rag_app.settings import Settings

FILES = {
    "a/letter.docx": docx(paragraph("The harbour opened in 1931.")),
    "a/two.pdf": pdf("One harbour.", ""),
    "b/empty.docx": docx(paragraph("")),
    "b/torn.pdf": b"%PDF-1.7 and no more",
    "b/none.txt": b"",
    "b/all.zip": packed({"in.txt": "Ferries leave every hour."}),
    "b/program.exe": b"MZ" + bytes(90),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "files"


def run(folder: Path, work: Path, *more: str) -> int:
    kinds = ("--only", "docx", "pdf", "txt", "zip", "exe")
    return stress.main([str(folder), "--work", str(work), "--no-embedding", *kinds, *more])


def details(work: Path) -> dict[str, dict]:
    lines = (work / "details.jsonl").read_text("utf-8").splitlines()
    return {line["name"]: line for line in map(json.loads, lines)}


def test_every_file_has_an_outcome_and_a_reason(folder, tmp_path, capsys):
    assert run(folder, tmp_path / "work") == 0
    found = details(tmp_path / "work")
    assert {name: line["outcome"] for name, line in found.items()} == {
        "a/letter.docx": TEXT,
        "a/two.pdf": TEXT,
        "b/empty.docx": NOTHING,
        "b/torn.pdf": REFUSED,
        "b/none.txt": REFUSED,
        "b/all.zip": TEXT,
        "b/program.exe": REFUSED,
    }
    assert all(line["reason"] for line in found.values() if line["outcome"] != TEXT)
    assert "| files that hold text give it | 3 of 3 (100.0%) | yes |" in capsys.readouterr().out


def test_what_was_interrupted_goes_on_and_what_ended_the_process_is_a_crash(folder, tmp_path):
    work = tmp_path / "work"
    (work / "ours").mkdir(parents=True)
    (work / "ours" / "journal.jsonl").write_text('{"file": "a/two.pdf"}\n{"file": "b/no')
    assert run(folder, work) == 1
    found = details(work)
    assert found["a/two.pdf"]["outcome"] == CRASHED
    assert found["a/letter.docx"]["outcome"] == TEXT


def test_an_archive_is_unpacked_once(folder, tmp_path):
    archive = tmp_path / "files.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, ".")
    names = [file.name for file in corpus(archive, tmp_path)]
    assert names == sorted(FILES) == [file.name for file in corpus(archive, tmp_path)]


def test_an_empty_folder_is_told_so(tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert stress.main([str(empty), "--work", str(tmp_path / "work")]) == 2
    assert "no file to try" in capsys.readouterr().err


def test_without_files_it_says_what_to_give(capsys):
    assert stress.main([]) == 2
    assert "make stress STRESS=" in capsys.readouterr().err


def judge(ours: Found, others: dict, checked: str = "", **limits):
    file = File("a.pdf", Path("a.pdf"), "0" * 64)
    said = {name: {"a.pdf": each} for name, each in others.items()}
    checks = {"0" * 16: checked} if checked else {}
    return judged([file], {"a.pdf": ours}, said, checks, Settings.load(**limits))


def test_text_that_only_another_reader_finds_is_missed():
    result = judge(Found(NOTHING), {"other": {"text": "found it", "seconds": 1.0}})
    assert not result.all_met
    assert result.bars[-1].figure == "0 of 1 (0.0%)"


def test_what_was_checked_by_hand_holds_no_text():
    said = {"other": {"text": "Sheet1", "seconds": 1.0}}
    assert judge(Found(NOTHING), said, checked="the name of an empty sheet").all_met


def test_a_file_over_its_limits_is_no_success():
    assert judge(Found(TEXT, words=frozenset(["a"]), seconds=9.0), {}, read_seconds=60).all_met
    slow = Found(TEXT, words=frozenset(["a"]), seconds=90.0)
    assert not judge(slow, {}, read_seconds=60).all_met


def test_words_are_the_same_however_they_are_written():
    assert words("ﬁnd 𝐸𝑚 FIND em") == {"find", "em"}
    assert words("東京 2024") == {"東", "京", "2024"}


def test_the_report_counts_kinds_and_reasons():
    file = File("a.docx", Path("a.docx"), "1" * 64)
    said = judge(Found(REFUSED, "“a.pdf” is empty."), {}).files
    result = judge(Found(REFUSED, "“b.pdf” is empty."), {})
    made = type(result)([*said, *result.files, Judged(file, Found(TEXT), {})], result.bars)
    text = stress_report.markdown(made, {"recognition": "off"})
    assert "| 2 | refused | “…” is empty. |" in text
    assert "| docx | 1 | 1 |" in text


LOADER = """
import json, sys, time
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    name = json.loads(line)
    if name.endswith("hang"):
        time.sleep(60)
    if name.endswith("die"):
        sys.exit(3)
    print(json.dumps({"text": "read " + name[-5:]}), flush=True)
"""


def test_another_reader_may_hang_or_die_and_the_next_file_is_read(tmp_path, monkeypatch):
    script = tmp_path / "loader.py"
    script.write_text(LOADER)
    monkeypatch.setattr(stress_others, "_SCRIPT", script)
    files = [File(name, tmp_path / name, name * 8) for name in ("a.txt", "hang", "die", "b.txt")]
    said = stress_others.compare(files, "any", sys.executable, tmp_path / "kept", 2.0, 500)
    assert [sorted(said[file.name])[-1] for file in files] == [
        "text",
        "timed_out",
        "seconds",
        "text",
    ]
    assert said["die"]["crashed"]
