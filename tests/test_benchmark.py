"""The benchmark is fair: the other side really works, and figures are written as they are."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile

import pytest
from reportlab.pdfgen.canvas import Canvas

from benchmarks import corpus, parts, processes, report
from benchmarks.tutorial_pipeline import TutorialPipeline
from tests.fakes import WordEmbedder

SENTENCES = ("The lighthouse was painted red in 1931.", "Ferries leave every forty minutes.")


def pdf(path, sentences=SENTENCES):
    canvas = Canvas(str(path))
    for sentence in sentences:
        canvas.drawString(72, 700, sentence)
        canvas.showPage()
    canvas.save()
    return path


def side(pages=500, seconds=10.0):
    return {
        "pages": pages,
        "chunks": 3 * pages,
        "seconds": seconds,
        "import_seconds": 1.0,
        "load_seconds": 2.0,
        "failed": [],
        "memory": {"sum_of_peaks": 1500.0, "peak": 1400.0, "processes": 2},
    }


MACHINE = {
    "cpu": "2 x a processor",
    "threads": 2,
    "memory_gib": 8,
    "system": "Linux",
    "versions": {"torch": "1"},
    "date": "2026-01-01",
}


def test_the_tutorial_pipeline_finds_a_sentence_and_its_page(tmp_path):
    pipeline = TutorialPipeline(tmp_path / "chroma", WordEmbedder().embed_documents)
    try:
        assert pipeline.add([pdf(tmp_path / "a.pdf")]) == (2, 2)
        found = pipeline.search("when do ferries leave", k=1)
    finally:
        pipeline.close()
    assert SENTENCES[1] in found[0].page_content
    assert found[0].metadata["page"] == 1


def test_whole_files_are_picked_by_name_until_there_are_enough_pages(tmp_path):
    paths = [pdf(tmp_path / name) for name in ("b.pdf", "a.pdf", "c.pdf")]
    picked = corpus.pick(corpus.unpack(tmp_path, tmp_path), 3)
    assert [(file.path.name, file.pages) for file in picked] == [("a.pdf", 2), ("b.pdf", 2)]
    assert len(corpus.pick(paths, 1_000)) == 3


def test_pdfs_come_out_of_a_tar_with_the_questions_beside_it(tmp_path):
    with tarfile.open(tmp_path / "pdfs.tar", "w") as archive:
        archive.add(pdf(tmp_path / "a.pdf"), "a.pdf")
    (tmp_path / "questions.jsonl").write_text('{"question": "Who?"}\n{"question": "Why?"}\n')
    paths = corpus.unpack(tmp_path / "pdfs.tar", tmp_path / "out")
    assert [path.name for path in paths] == ["a.pdf"]
    assert corpus.questions(tmp_path / "pdfs.tar") == ["Who?", "Why?"]


def test_a_long_pdf_is_bound_from_short_ones(tmp_path):
    paths = [pdf(tmp_path / name) for name in ("a.pdf", "b.pdf")]
    bound = corpus.bound_together(paths, 3, tmp_path / "long.pdf")
    assert corpus.page_count(bound) == 3
    assert "lighthouse painted" in corpus.first_words(bound)


def test_memory_is_that_of_a_process_and_its_children():
    code = (
        "import subprocess, sys; block = b'x' * 60_000_000\n"
        "subprocess.run([sys.executable, '-c', "
        "'import time; block = b\"x\" * 60_000_000; time.sleep(1)'])"
    )
    if not processes.PROC.joinpath("self/status").exists():
        pytest.skip("memory is read from /proc, which this system has not")
    with (
        subprocess.Popen([sys.executable, "-c", code]) as process,
        processes.Watch(process.pid) as watch,
    ):
        process.wait()
    seen = watch.result()
    assert seen["processes"] == 2
    assert seen["peak"] > 110


@pytest.mark.parametrize(
    ("values", "expected"), [([1.0], 1.0), (list(range(1, 101)), 95), ([3, 1, 2], 3)]
)
def test_the_percentile_is_a_value_that_was_measured(values, expected):
    assert parts.percentile(values, 0.95) == expected


def test_the_ratio_is_of_pages_a_second():
    rows = report.rows({"ingest": {"ours": side(seconds=10), "tutorial": side(seconds=50)}})
    assert rows[2].figure == "5.0 x"
    assert rows[2].met


def test_a_promise_that_is_not_kept_is_said():
    rows = report.rows({"ingest": {"ours": side(seconds=10), "tutorial": side(seconds=20)}})
    assert not rows[2].met
    assert "| NO " in report.table(rows)


def test_a_part_that_was_not_run_keeps_its_figures(tmp_path):
    long = {"seconds": 2.0, "pages": 300, "machine": MACHINE}
    report.keep({"first-page": long, "memory": {**side(1000), "machine": MACHINE}}, tmp_path)
    report.keep({"first-page": {**long, "seconds": 3.0}}, tmp_path)
    kept = json.loads((tmp_path / "results" / "bench.json").read_text())
    assert kept["first-page"]["seconds"] == 3.0
    assert kept["memory"]["pages"] == 1000
    written = (tmp_path / "RESULTS.md").read_text()
    assert "3.00 s" in written
    assert "1,500 MiB" in written
    assert "2 x a processor" in written


def test_the_machine_is_described_without_its_name():
    described = report.machine(2)
    assert set(described["versions"]) == set(report.PACKAGES)
    import socket

    assert socket.gethostname() not in json.dumps(described) or len(socket.gethostname()) < 4
