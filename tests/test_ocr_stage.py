"""The stage after reading: what is searchable when, what a kill costs, what goes wrong.

A stand-in says what stands on a page; test_ocr.py has the real engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from pdfs import drawn, paragraph, pdf, scan
from PIL import Image
from scans import saved

from rag_app.errors import DamagedFile, LimitReached, ModelUnavailable, QuestionError
from rag_app.library import Library
from rag_app.reading import ocr
from rag_app.reading.sandbox import Cancelled, Child, Sandbox
from rag_app.scope import WORKER
from rag_app.settings import Settings
from rag_app.types import Box, Document, Progress, Recognised, RetrieverKind, Status, Word
from tests.fakes import WordEmbedder

pytestmark = pytest.mark.usefixtures("either_database")

SAID = "Lighthouse number {} shines at night."


def said(number: int) -> Recognised:
    text = SAID.format(number)
    return Recognised(text, (Word(0, len(text), 0, Box(10, 10, 200, 20)),))


class Engine:
    """Recognises a sentence on every page; waits while the gate is shut; notes its pages."""

    def __init__(self) -> None:
        self.pages: list[int] = []
        self.troubles: dict[int, Exception] = {}
        self.blank = False
        self.shown: Recognised | None = None
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, sandbox, path, number, seconds, *, threads=0, cancelled=None) -> Recognised:
        while not self.gate.wait(0.01):
            if cancelled.is_set():
                raise Cancelled
        self.pages.append(number)
        if number in self.troubles:
            raise self.troubles[number]
        return Recognised("") if self.blank else self.shown or said(number)


@pytest.fixture
def engine(monkeypatch) -> Engine:
    fake = Engine()
    monkeypatch.setattr(Sandbox, "recognise", lambda *args, **given: fake(*args, **given))
    return fake


@pytest.fixture
def library(tmp_path, engine):
    with open_library(tmp_path / "data") as opened:
        yield opened


def open_library(folder: Path, **given) -> Library:
    return Library(Settings.load(data_dir=folder, **given), embedder=WordEmbedder())


def scans(count: int) -> bytes:
    return drawn(lambda canvas: [scan(canvas) for _ in range(count)])


def mixed(count: int) -> bytes:
    """A page of text, then so many scanned ones."""

    def draw(canvas) -> None:
        for line in paragraph():
            canvas.drawString(line.x, line.y, line.text)
        canvas.showPage()
        for _ in range(count):
            scan(canvas)

    return drawn(draw)


def found(library: Library, words: str) -> list[int]:
    """The pages that hold these words."""
    passages = library.search(f'"{words}"', retriever=RetrieverKind.BM25)
    return [passage.chunk.page for passage in passages]


def done(library: Library, ids: list[str]) -> list[Document]:
    return library.wait(ids, timeout=60)


def until(condition) -> None:
    for _ in range(3_000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it never came true")


def test_text_is_searchable_before_scans_are_recognised(library, engine):
    engine.gate.clear()
    added = library.add("mixed.pdf", mixed(3)).document.id
    until(lambda: library.document(added).status is Status.SCANNED)
    assert found(library, "cranes lift forty tonnes") == [1]
    expected = Progress(added, "recognising", 0, 3, "pages")
    until(lambda: library.progress()[added] == expected)  # the step before has let go of it
    engine.gate.set()
    [document] = done(library, [added])
    assert document.status is Status.READY and document.warnings == ()
    assert found(library, "Lighthouse number 3") == [3]
    assert library._opened.vectors.count() == document.chunks
    assert library.progress() == {} and engine.pages == [2, 3, 4]


def test_how_far_it_is_and_how_long_it_takes_are_told(library, engine, monkeypatch):
    released = threading.Semaphore(0)
    real = engine.__call__

    def slow(*args, **given):
        released.acquire()
        time.sleep(0.6 if len(engine.pages) < 2 else 0)
        return real(*args, **given)

    monkeypatch.setattr(Sandbox, "recognise", lambda *args, **given: slow(*args, **given))
    added = library.add("mixed.pdf", mixed(5)).document.id
    released.release(2)
    until(lambda: library.progress()[added].done == 2)
    progress = library.progress()[added]
    assert (progress.stage, progress.total, progress.unit) == ("recognising", 5, "pages")
    assert progress.seconds_left is not None and 1 < progress.seconds_left < 10
    released.release(3)
    done(library, [added])


def test_a_document_of_scans_is_searchable_in_growing_steps(library, engine):
    added = library.add("scans.pdf", scans(11)).document.id
    seen = set()
    engine.gate.clear()
    until(lambda: added in library.progress())
    with pytest.raises(QuestionError, match="still being read"):
        list(library.ask("Which lighthouse shines?"))
    engine.gate.set()
    real = library._store.save_chunks

    def save_chunks(document_id, chunks, *rest):
        kept = list(chunks)
        seen.add(len({each.chunk.page for each in kept}))
        real(document_id, kept, *rest)

    library._store.save_chunks = save_chunks
    [document] = done(library, [added])
    assert (document.status, document.pages) == (Status.READY, 11)
    assert seen == {4, 8, 11}
    assert engine.pages == list(range(1, 12))


def test_the_words_of_a_scan_have_boxes_and_the_others_too(library):
    added = library.add("mixed.pdf", mixed(1)).document.id
    done(library, [added])
    assert library.boxes(added, 2, 0, len(SAID)) == (Box(10, 10, 200, 20),)
    assert library.boxes(added, 1, 0, 10) != ()
    assert library.picture(added, 2, 0.2) is not None


DOSES = [["Drug", "Dose", "Night"], ["Ramelin", "5 mg", "1"], ["Dortane", "40 mg", "0"],
         ["Fulvex", "20 mg", "1"]]  # fmt: skip


def doses() -> Recognised:
    text, words = "", []
    for line, row in enumerate(DOSES):
        for column, cell in enumerate(row):
            for number, word in enumerate(cell.split()):
                x, y = 60 + 120 * column + 20 * number, 100 + 20 * line
                place = Box(x, y, x + 6 * len(word), y + 10)
                words.append(Word(len(text), len(text) + len(word), line, place))
                text += f"{word} "
        text = f"{text[:-1]}\n"
    return Recognised(text, tuple(words))


def test_a_table_on_a_scan_is_a_table(library, engine):
    engine.shown = doses()
    added = library.add("mixed.pdf", mixed(2)).document.id
    done(library, [added])
    tables = library._store.tables.of(WORKER, [added])
    assert [(table.first_page, table.rows) for table in tables] == [(2, 3), (3, 3)]
    assert [column.name for column in tables[0].columns] == DOSES[0]
    assert [table.ordinal for table in tables] == [0, 1]


VICTIM = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    sys.path[:0] = [sys.argv[3], sys.argv[3] + "/tests"]
    from test_ocr_stage import open_library, said
    from rag_app.reading.sandbox import Sandbox

    def recognise(sandbox, path, number, *args, **given):
        time.sleep(0.1)
        with open(sys.argv[2], "a") as log:
            log.write(f"{number}\\n")
        return said(number)

    Sandbox.recognise = recognise
    library = open_library(Path(sys.argv[1]))
    time.sleep(300)
""")


def test_a_kill_in_mid_recognition_costs_no_page(tmp_path, engine):
    engine.gate.clear()
    data, log = tmp_path / "data", tmp_path / "log"
    with open_library(data) as library:
        added = library.add("mixed.pdf", mixed(12)).document.id
        until(lambda: library.document(added).status is Status.SCANNED)
    root = str(Path(__file__).parent.parent)
    command = [sys.executable, "-c", VICTIM, str(data), str(log), root]
    victim = subprocess.Popen(command, cwd=root)
    until(lambda: log.exists() and len(log.read_text().split()) >= 7)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    before = [int(line) for line in log.read_text().split()]

    engine.gate.set()
    with open_library(data) as library:
        [document] = done(library, [added])
        assert document.status is Status.READY
        assert sorted({*before, *engine.pages}) == list(range(2, 14))
        assert len(set(before) & set(engine.pages)) <= 1  # the one that was not yet written down
        assert found(library, "Lighthouse number 13") == [13]
        texts = [chunk.text for chunk in library._store.chunks(all_ids(document), WORKER).values()]
        assert sum("Lighthouse" in text for text in texts) == 12
        assert library._opened.vectors.count() == document.chunks


def all_ids(document) -> list[str]:
    return [f"{document.id[:16]}-{n}" for n in range(document.chunks)]


def test_a_picture_with_nothing_on_it_has_no_text(library, engine):
    engine.blank = True
    ids = [
        library.add("scans.pdf", scans(2)).document.id,
        library.add("blank.png", saved([Image.new("L", (90, 90), 255)], "PNG")).document.id,
    ]
    failed = done(library, ids)
    assert [d.error_code for d in failed] == ["no_text", "no_text"]
    assert failed[0].error.startswith("There is no text in this PDF: nothing could be recognised")
    assert "pages 1–2" in failed[0].error
    assert failed[1].error.startswith("There is no text in this picture:")
    engine.blank = False
    library.retry(ids[0])
    assert done(library, ids[:1])[0].status is Status.READY


def test_pages_that_could_not_be_recognised_are_named_with_the_reason(library, engine):
    slow = LimitReached("It takes more than the 3 seconds a page set by RAG_APP_OCR_SECONDS.")
    engine.troubles = {2: slow, 4: slow, 5: DamagedFile("This file makes the reader crash.")}
    [document] = done(library, [library.add("mixed.pdf", mixed(4)).document.id])
    assert document.status is Status.READY
    assert document.warnings == (
        "No text on pages 2, 4 (they may be scans). It takes more than the 3 seconds a page set "
        "by RAG_APP_OCR_SECONDS.",
        "No text on page 5 (it may be a scan). This file makes the reader crash.",
    )
    assert found(library, "Lighthouse number 3") == [3]


def test_without_an_engine_documents_stay_as_they_are_and_say_why(library, engine):
    engine.troubles = dict.fromkeys(range(9), ModelUnavailable("rapidocr is not installed."))
    ids = [library.add("mixed.pdf", mixed(2)).document.id]
    ids.append(library.add("scans.pdf", scans(3)).document.id)
    partly, failed = done(library, ids)
    assert partly.status is Status.READY and sorted(engine.pages) == [1, 2]
    [warning] = partly.warnings
    assert warning == "No text on pages 2–3 (they may be scans). rapidocr is not installed."
    assert failed.error_code == "no_text"
    assert failed.error.endswith(
        "pages 1–3 may be scanned, a picture of text. rapidocr is not installed."
    )


def test_an_engine_that_is_not_there_is_told_by_the_child(tmp_path, monkeypatch):
    real = Child.__init__

    def without(self, *given):
        monkeypatch.setattr(sys, "path", [str(blocked), *sys.path])
        real(self, *given)

    blocked = tmp_path / "first"
    blocked.mkdir()
    (blocked / "rapidocr.py").write_text("raise ModuleNotFoundError")
    monkeypatch.setattr(Child, "__init__", without)
    with open_library(tmp_path / "data") as library:
        [document] = done(library, [library.add("mixed.pdf", mixed(1)).document.id])
        assert document.status is Status.READY
        assert "is not installed" in document.warnings[0]
        assert "pip install rapidocr" in document.warnings[0]


def test_an_engine_that_cannot_start_is_no_fault_of_the_document(tmp_path, monkeypatch):
    real = Child.__init__

    def broken(self, *given):
        monkeypatch.setattr(sys, "path", [str(blocked), *sys.path])
        real(self, *given)

    blocked = tmp_path / "first"
    blocked.mkdir()
    (blocked / "rapidocr.py").write_text("import os; os.abort()")
    monkeypatch.setattr(Child, "__init__", broken)
    with open_library(tmp_path / "data") as library:
        [document] = done(library, [library.add("mixed.pdf", mixed(1)).document.id])
        assert document.status is Status.READY
        assert "cannot be started" in document.warnings[0]


def test_switched_off_scans_stay_pictures(tmp_path, engine):
    with open_library(tmp_path / "data", ocr=False) as library:
        ids = [library.add("mixed.pdf", mixed(1)).document.id]
        ids.append(library.add("scans.pdf", scans(1)).document.id)
        partly, failed = done(library, ids)
        assert partly.warnings == ("No text on page 2 (it may be a scan).",)
        assert failed.error_code == "no_text" and "OCR" in failed.error
        assert engine.pages == []


def test_switched_off_in_the_middle_what_is_left_stays_a_picture(tmp_path, engine):
    engine.gate.clear()
    with open_library(tmp_path / "data") as library:
        added = library.add("mixed.pdf", mixed(2)).document.id
        until(lambda: library.document(added).status is Status.SCANNED)
    with open_library(tmp_path / "data", ocr=False) as library:
        [document] = done(library, [added])
        assert document.status is Status.READY and "RAG_APP_OCR" in document.warnings[0]


def test_no_more_pages_are_recognised_than_the_limit(tmp_path, engine):
    with open_library(tmp_path / "data", ocr_pages=2) as library:
        [document] = done(library, [library.add("mixed.pdf", mixed(5)).document.id])
        assert engine.pages == [2, 3]
        [warning] = document.warnings
        assert "first 2 of 5 scanned pages" in warning and "RAG_APP_OCR_PAGES" in warning


def test_removed_in_mid_recognition_nothing_is_left(library, engine):
    added = library.add("mixed.pdf", mixed(6)).document.id
    until(lambda: len(engine.pages) >= 2)
    engine.gate.clear()
    library.remove(added)
    assert library.documents() == []
    with library._store.database.read() as db:
        for table in ("scans", "pages", "chunks"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_a_scan_takes_the_place_of_another_only_once_it_is_read(library, engine):
    engine.gate.clear()
    old = library.add("report.pdf", pdf("The old report.")).document.id
    done(library, [old])
    library.add("report.pdf", scans(1), replace=True)
    until(lambda: any(p.stage == "recognising" for p in library.progress().values()))
    assert old in [d.id for d in library.documents()]
    engine.gate.set()
    done(library, [d.id for d in library.documents()])
    [document] = library.documents()
    assert document.id != old and document.name == "report.pdf"


def test_a_fault_of_ours_leaves_what_can_be_searched(library, engine):
    engine.troubles = {2: ZeroDivisionError()}
    [document] = done(library, [library.add("mixed.pdf", mixed(2)).document.id])
    assert document.status is Status.SCANNED and library.progress() == {}
    assert found(library, "cranes lift forty tonnes") == [1]
    [failed] = done(library, [library.add("scans.pdf", scans(2)).document.id])
    assert failed.status is Status.FAILED


def test_a_page_that_takes_too_long_is_given_up(tmp_path, monkeypatch):
    """The child is real and hangs where the engine would work."""
    slow = tmp_path / "first"
    slow.mkdir()
    (slow / "rapidocr/models").mkdir(parents=True)
    for name in ocr._MODELS.values():
        (slow / "rapidocr/models" / name).touch()
    (slow / "rapidocr/__init__.py").write_text(
        "import time\n"
        "class RapidOCR:\n"
        "    def __init__(self, params): pass\n"
        "    def detect_and_crop(self, *_): time.sleep(60)\n"
    )
    (slow / "rapidocr/main.py").write_text("class RapidOCRError(Exception): pass\n")
    monkeypatch.setattr(sys, "path", [str(slow), *sys.path])
    with open_library(tmp_path / "data", ocr_seconds=2) as library:
        [document] = done(library, [library.add("mixed.pdf", mixed(1)).document.id])
        assert "2 seconds a page set by RAG_APP_OCR_SECONDS" in document.warnings[0]
