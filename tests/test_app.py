"""The page as a person uses it, without a browser: the real app.py over a real library."""

from __future__ import annotations

import io
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path

import pytest
import streamlit as st
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.testing.v1 import AppTest

from rag_app.export import messages
from rag_app.library import Library
from rag_app.scope import WORKER
from rag_app.settings import Settings
from rag_app.types import Status
from rag_app.ui import app_entry, source, texts, who
from tests.fakes import WordEmbedder

APP = Path(__file__).resolve().parent.parent / "app.py"
FERRY = b"The ferry to the island costs four euros.\n\nDogs travel free of charge.\n"
MUSEUM = b"The museum is closed on Mondays.\n\nEntry is free for children.\n"


def pdf(*pages: str, password: str | None = None) -> bytes:
    data = io.BytesIO()
    canvas = Canvas(data, encrypt=StandardEncryption(password) if password else None, invariant=1)
    for text in pages:
        canvas.drawString(72, 700, text)
        canvas.showPage()
    canvas.save()
    return data.getvalue()


class Page:
    """One browser session, driven by AppTest."""

    def __init__(self, opened: list[Library]) -> None:
        self._opened = opened
        self.at = AppTest.from_file(str(APP), default_timeout=30).run()

    @property
    def library(self) -> Library:
        return self._opened[-1]

    def run(self) -> Page:
        self.at.run()
        assert not self.at.exception
        return self

    def until(self, happened: Callable[[], object]) -> None:
        deadline = time.monotonic() + 30
        while not happened():
            assert time.monotonic() < deadline
            time.sleep(0.05)
            self.run()

    def drop(self, *files: tuple[str, bytes]) -> None:
        """Drop files on the panel and wait until nothing is left to do."""
        for name, data in files:
            self.at.file_uploader[0].upload(name, data, "application/octet-stream")
        self.run()
        everybody = self.library.scoped(WORKER)  # also what belongs to somebody who signed in
        everybody.wait([d.id for d in everybody.documents()], timeout=30)
        self.run()

    def ask(self, question: str) -> str:
        """Ask, and everything that stands in the answer's place."""
        self.at.chat_input[0].set_value(question)
        self.run()
        self.until(self.at_rest)
        return self.said()

    def at_rest(self) -> bool:
        """Whether no answer is in the making."""
        return "class='working'" not in "".join(_html(self.at))

    def said(self) -> str:
        message = self.at.chat_message[-1]
        return "\n".join([*(m.value for m in message.markdown), *_html(message)])

    def click(self, key: str) -> None:
        next(b for b in self.at.button if b.key == key).click()
        self.run()

    def follow(self, link: str) -> None:
        """Click a citation, as the listener would report it."""
        self.at.session_state[source.CITES_KEY] = {"open": link}
        self.run()
        del self.at.session_state[source.CITES_KEY]  # a click happens once

    def html(self) -> str:
        return "\n".join(_html(self.at))

    def buttons(self) -> set[str | None]:
        return {b.key for b in self.at.button}

    def viewer(self) -> str:
        """What the page viewer was given, as JSON; empty if it is not there."""
        shown = [c.proto for c in self.at.get("bidi_component")]
        return "".join(p.json for p in shown if p.component_name.endswith("rag_app_viewer"))

    def link(self) -> str:
        """The first citation of the last answer."""
        return self.said().split("#cite:")[1].split(" ")[0].split("'")[0].split('"')[0]


def _html(block: object) -> list[str]:
    return [element.proto.body for element in block.get("html")]


# A server looks once through all packages for components, an AppTest each time, for a second.
components = cache(manifest_scanner.scan_component_manifests)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch):
    """The libraries that app.py opens, with an embedder that needs no model."""
    libraries: list[Library] = []

    def open_library(settings) -> Library:
        libraries.append(Library(settings, embedder=WordEmbedder()))
        return libraries[-1]

    monkeypatch.setattr(app_entry, "Library", open_library)
    monkeypatch.setattr(sys, "argv", ["app.py"])
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", components)
    # the browser is on this computer; a test in which it is not says so
    monkeypatch.setattr(who, "_ends", lambda: ("127.0.0.1", "localhost"))
    monkeypatch.setenv("RAG_APP_CAUTION", "0.2")
    yield libraries
    st.cache_resource.clear()
    for library in libraries:
        library.close()


@pytest.fixture
def page(opened) -> Page:
    return Page(opened)


def test_an_empty_app_says_what_to_do_and_offers_a_sample(page):
    assert texts.EMPTY in page.html()
    page.click("sample")
    page.library.wait([d.id for d in page.library.documents()], timeout=30)
    page.run()
    assert texts.READY_TITLE in page.html()
    assert "example-0" in page.buttons()
    page.click("example-0")
    page.until(page.at_rest)
    assert len(page.at.chat_message) == 2


def test_a_page_and_an_earlier_answer_are_drawn_without_asking_any_model(page, monkeypatch):
    page.drop(("ferry.txt", FERRY))
    page.ask("What does the ferry to the island cost?")
    asked: list[str] = []
    for name in ("warm", "embed_documents", "embed_query"):
        real = getattr(WordEmbedder, name)

        def noted(self, *given, real=real):
            asked.append(threading.current_thread().name)
            return real(self, *given)

        monkeypatch.setattr(WordEmbedder, name, noted)
    other = AppTest.from_file(str(APP), default_timeout=30)
    for key, value in page.at.query_params.items():
        other.query_params[key] = value
    other.run()
    assert len(other.chat_message) == 2 and other.chat_input
    assert all(name.startswith("rag-app") for name in asked), "what draws waits for nobody"


def test_a_dropped_file_answers_with_a_citation_that_can_be_opened(page):
    page.drop(("ferry.txt", FERRY))
    said = page.ask("What does the ferry to the island cost?")
    assert "costs four euros" in said
    assert 'ferry.txt — The ferry to the island costs four euros.")' in said
    assert "Quoted from your documents" in said
    assert "<mark>The ferry to the island costs four euros.</mark>" in said
    page.follow(page.link())
    assert "ferry.txt" in page.html()
    assert "<mark>The ferry to the island costs four euros.</mark>" in page.viewer()


def test_a_quote_on_a_pdf_has_boxes_on_its_page(page):
    page.drop(("two.pdf", pdf("Nothing is said here.", "The lighthouse was built in 1871.")))
    page.ask("When was the lighthouse built?")
    page.follow(page.link())
    assert '"webp"' in page.viewer()
    assert '"quote":[[' in page.viewer().replace(" ", "")
    assert "Page 2 of 2" in page.html()
    page.click("source_previous")
    assert "Page 1 of 2" in page.html()
    assert '"quote":[]' in page.viewer().replace(" ", "")
    page.click("source_close")
    assert not page.viewer()


@pytest.mark.parametrize(
    "forged", ["", "x", "00000000-1", "../../x", "00000000-p1", "<img>", "deadbeef-999999"]
)
def test_a_forged_link_opens_nothing(page, forged):
    page.follow(forged)
    assert not page.viewer()
    assert "source_close" not in page.buttons()


def test_a_citation_that_is_not_there_opens_nothing(page):
    page.drop(("ferry.txt", FERRY))
    page.ask("What does the ferry to the island cost?")
    page.follow(page.link().split("-")[0] + "-99")
    assert not page.viewer()


def test_what_is_not_there_is_said_with_the_closest_passages(page):
    page.drop(("ferry.txt", FERRY))
    said = page.ask("Who discovered the moons of Jupiter?")
    assert messages.CLOSEST in said or texts.ABSTAINED in said
    page.follow(page.link())
    assert "ferry" in page.viewer()


def test_refused_files_each_have_a_sentence_and_the_others_are_kept(page):
    page.drop(("ferry.txt", FERRY), ("empty.txt", b""), ("tool.exe", b"MZ\0\0\0"))
    shown = page.html()
    assert "1 added, 2 refused" in shown
    assert "“empty.txt”" in shown and "“tool.exe”" in shown
    page.click("receipt_ok")
    assert "refused" not in page.html()


def test_a_torn_pdf_says_so_in_its_row(page):
    page.drop(("torn.pdf", b"%PDF-1.7\n%%EOF\n"), ("ferry.txt", FERRY))
    failed = next(d for d in page.library.documents() if d.status is Status.FAILED)
    assert failed.error and escape(failed.error) in page.html()
    assert "four euros" in page.ask("What does the ferry to the island cost?")


def test_what_the_library_has_is_not_kept_in_memory_as_well(page, monkeypatch):
    managers, real = set(), MemoryUploadedFileManager.remove_file

    def remove(manager, session_id, file_id):
        managers.add(manager)
        real(manager, session_id, file_id)

    monkeypatch.setattr(MemoryUploadedFileManager, "remove_file", remove)
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    assert len(page.library.documents()) == 2
    [manager] = managers
    assert manager.get_stats() == {}


def test_two_hundred_files_in_one_drop(page):
    files = [(f"note {n}.txt", f"Note {n} says {n * n}.".encode()) for n in range(199)]
    page.drop(*files, ("empty.txt", b""))
    assert "199 added, 1 refused" in page.html()
    assert len(page.library.documents()) == 199
    assert f"{texts.SHOW_ALL} (199)" in {b.label for b in page.at.button}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<img src=x onerror=alert(1)>.txt", r"\<img src\=x onerror\=alert\(1\)\>\.txt"),
        (":red[x] $a$ **b**.txt", r"\:red\[x\] \$a\$ \*\*b\*\*\.txt"),
        ("[l](http://evil.example).txt", "example\\)\\.txt"),
        ("../../x.txt", "x.txt"),
    ],
)
def test_a_hostile_name_is_only_ever_text(page, name, shown):
    page.drop((name, FERRY))
    assert shown in page.at.checkbox[0].label
    said = page.ask("What does the ferry to the island cost?")
    everything = page.html() + said
    assert "<img" not in everything and "](http" not in everything


def test_a_question_before_any_document_is_one_sentence(page):
    assert "Add a document" in page.ask("What is this?")
    assert "sample" in page.buttons()


def test_a_question_that_is_too_long_is_one_sentence(page):
    page.drop(("ferry.txt", FERRY))
    assert "20,000 characters" in page.ask("x" * 20_000)


def test_nothing_ticked_is_one_sentence(page):
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    page.click("tick_none")
    assert texts.NONE_CHOSEN in page.ask("What does the ferry cost?")


def test_only_ticked_documents_are_asked(page):
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    box = next(c for c in page.at.checkbox if c.label == "ferry.txt")
    box.uncheck()
    page.run()
    assert page.at.chat_input[0].placeholder == texts.ask_some(1, 2)
    assert "four euros" not in page.ask("What does the ferry to the island cost?")


def test_files_dropped_on_the_question_are_read_before_it_is_asked(page):
    page.at.chat_input[0].set_value("What does the ferry to the island cost?")
    page.at.chat_input[0].upload("ferry.txt", FERRY, "text/plain")
    page.run()
    page.until(page.at_rest)
    assert "four euros" in page.said()
    assert "ferry.txt" in "".join(_html(page.at.chat_message[0]))


def test_a_removed_document_is_said_where_its_quote_stood(page):
    page.drop(("ferry.txt", FERRY))
    page.ask("What does the ferry to the island cost?")
    link, document = page.link(), page.library.documents()[0]
    menu = next(m for m in page.at.get("menu_button") if "menu-" in m.proto.id)
    assert menu.proto.options
    page.at.session_state["session"].removing = document.id
    page.run()
    page.click(f"keep-{document.id}")
    assert page.library.documents()
    page.at.session_state["session"].removing = document.id
    page.run()
    page.click(f"remove-{document.id}")
    assert page.library.documents() == []
    page.follow(link)
    assert texts.GONE in page.html()
    assert "four euros" not in page.html() and "four euros" not in page.said()


def test_a_locked_pdf_is_opened_with_its_password(page):
    page.drop(("locked.pdf", pdf("The safe holds nine coins.", password="sesame")))
    for password, status in (("wrong", Status.FAILED), ("sesame", Status.READY)):
        next(t for t in page.at.text_input if t.label == texts.PASSWORD).set_value(password)
        next(b for b in page.at.button if b.label == texts.UNLOCK).click()
        page.run()
        page.library.wait([d.id for d in page.library.documents()], timeout=30)
        page.run()
        assert page.library.documents()[0].status is status
    assert "nine coins" in page.ask("How many coins does the safe hold?")


def test_a_new_version_can_replace_the_older_one(page):
    page.drop(("prices.txt", FERRY))
    page.drop(("prices.txt", FERRY.replace(b"four", b"five")))
    assert len(page.library.documents()) == 2
    page.click(next(key for key in page.buttons() if str(key).startswith("replace-")))
    page.library.wait([d.id for d in page.library.documents()], timeout=30)
    page.run()
    assert [d.name for d in page.library.documents()] == ["prices.txt"]
    assert "five euros" in page.ask("What does the ferry to the island cost?")


def test_the_same_file_twice_is_there_once(page):
    page.drop(("ferry.txt", FERRY))
    page.drop(("copy.txt", FERRY))
    assert "1 already there" in page.html()
    assert len(page.library.documents()) == 1


def test_a_second_owner_of_the_data_directory_is_told_in_one_sentence(opened, own_house):
    with Library(Settings.load(data_dir=own_house), embedder=WordEmbedder()):
        page = Page(opened)
        assert "is open in another rag-app" in page.at.error[0].value
        assert not page.at.exception


def test_a_bad_setting_is_told_in_one_sentence(opened, monkeypatch):
    monkeypatch.setenv("RAG_APP_TOP_K", "many")
    page = Page(opened)
    assert r"RAG\_APP\_TOP\_K" in page.at.error[0].value


def test_a_bug_of_ours_is_a_neutral_line_and_a_logged_traceback(page, monkeypatch, caplog):
    page.drop(("ferry.txt", FERRY))

    def broken(*args: object, **given: object) -> object:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(page.library, "ask", broken)
    said = page.ask("What does the ferry cost?")
    assert texts.UNEXPECTED in said and "secret" not in said
    assert "ZeroDivisionError" in caplog.text


def test_two_sessions_share_the_library_and_not_the_conversation(page, opened):
    page.drop(("ferry.txt", FERRY))
    page.ask("What does the ferry to the island cost?")
    other = Page(opened)
    assert len(opened) == 1
    assert not other.at.chat_message
    assert "four euros" in other.ask("What does the ferry to the island cost?")


def test_the_data_directory_can_be_given_on_the_command_line(opened, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["app.py", "--data-dir", str(tmp_path / "elsewhere")])
    Page(opened)
    assert (tmp_path / "elsewhere" / "library.sqlite3").exists()


def test_a_follow_up_is_understood_from_what_was_asked_before(page):
    page.drop(
        ("prices.txt", b"The Harbour Line ferry costs four euros.\n\nIt costs two in 2021.\n")
    )
    page.ask("What does the Harbour Line ferry cost?")
    said = page.ask("and in 2021?")
    assert "Understood as: " in said and "Harbour Line" in said
