"""The stage after reading: the text of scanned pages and pictures, page by page.

Each page is recognised in a process of its own and kept before the next is begun, so a worker that
was killed goes on with the page it was at. What comes in between is indexed in growing steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from rag_app.errors import DocumentError, ModelUnavailable
from rag_app.reading.pdf_page import named
from rag_app.reading.sandbox import Sandbox
from rag_app.settings import Settings
from rag_app.storage.contents import Conclusion, Scan, Scans
from rag_app.types import Document, Recognised

_FIRST_STEP = 4  # pages that are worth being searchable before the others are recognised
_NOTHING = Recognised("")
_SWITCHED_OFF = "Recognising text in scans and pictures is switched off (RAG_APP_OCR)."


class Recognition:
    """Works on the scanned pages of one document at a time; `file_of` gives its file."""

    def __init__(
        self,
        scans: Scans,
        sandbox: Sandbox,
        file_of: Callable[[Document], Path],
        settings: Settings,
    ) -> None:
        self._scans, self._sandbox, self._file_of = scans, sandbox, file_of
        self._wanted, self._seconds = settings.ocr, settings.ocr_seconds
        self._threads = settings.threads

    def close(self) -> None:
        """End the process that recognises; work goes on in another one."""
        self._sandbox.close()

    def work(
        self,
        document: Document,
        report: Callable[[int, int], None],
        cancelled: threading.Event,
        overtaken: Callable[[], bool] = lambda: False,
    ) -> None:
        """Recognise pages until all are done, or so many that they are to be indexed first, or
        until it is the turn of another document.

        Raises Cancelled soon after the event is set."""
        blank = not self._scans.has_text(document.id)

        def conclude(scans: Sequence[Scan]) -> Conclusion:
            return conclusion(document, scans, blank)

        if not self._wanted:
            self._scans.leave(document.id, _SWITCHED_OFF, conclude)
            return
        try:
            self._pages(document, report, cancelled, overtaken, conclude)
        except ModelUnavailable as error:
            self._scans.leave(document.id, str(error), conclude)
        finally:
            if not self._scans.waiting():
                self._sandbox.close()  # it holds the models in memory

    def _pages(
        self,
        document: Document,
        report: Callable[[int, int], None],
        cancelled: threading.Event,
        overtaken: Callable[[], bool],
        conclude: Callable[[Sequence[Scan]], Conclusion],
    ) -> None:
        scans = self._scans.of(document.id)
        done, found = sum(scan.done for scan in scans), sum(scan.found for scan in scans)
        written = document.pages - len(scans)  # pages with text of their own
        if done == len(scans):
            self._scans.embedded(document.id)  # that it waits is stale
            return
        report(done, len(scans))
        path = self._file_of(document)
        for scan in scans:
            if scan.done:
                continue
            recognised, trouble = self._page(path, scan.page, cancelled)
            done, found = done + 1, found + bool(recognised.words)
            index = bool(recognised.words) and _is_step(found, written)
            self._scans.save(document.id, scan.page, recognised, trouble, conclude, index=index)
            report(done, len(scans))
            if index or (done < len(scans) and overtaken()):
                return

    def _page(self, path: Path, number: int, cancelled: threading.Event) -> tuple[Recognised, str]:
        """What is on a page, or why that cannot be said."""
        try:
            found = self._sandbox.recognise(
                path, number, self._seconds, threads=self._threads, cancelled=cancelled
            )
        except DocumentError as error:
            return _NOTHING, str(error)
        return found, ""


def _is_step(found: int, written: int) -> bool:
    """Whether to index now: at 4, 8, 16 … pages, where that is more than what is indexed already.

    Every step indexes the whole document anew, so all steps together cost as much as two."""
    return found >= _FIRST_STEP and found > written and found & (found - 1) == 0


def conclusion(document: Document, scans: Sequence[Scan], blank: bool) -> Conclusion:
    """What is said of a document when its scanned pages are done; `blank`: it has no other text."""
    if any(scan.found for scan in scans) or not blank:
        warnings = (*document.warnings, *_warnings(scans))
        return Conclusion(warnings, index=any(scan.found for scan in scans))
    pages = named([scan.page for scan in scans])
    what = "PDF" if document.suffix == ".pdf" else "picture"
    trouble = next((scan.trouble for scan in scans if scan.trouble), "")
    if trouble:
        why = f"{pages} may be scanned, a picture of text. {trouble}"
    else:
        why = (
            f"nothing could be recognised on {pages}. If something is written there, "
            "scan it again, larger and sharper."
        )
    return Conclusion((), failure=f"There is no text in this {what}: {why}")


def _warnings(scans: Sequence[Scan]) -> list[str]:
    """A sentence for every reason why pages have no text."""
    silent = [scan for scan in scans if not scan.found]
    said = []
    for trouble in dict.fromkeys(scan.trouble for scan in silent):
        pages = [scan.page for scan in silent if scan.trouble == trouble]
        what = "they may be scans" if len(pages) > 1 else "it may be a scan"
        said.append(
            f"No text on {named(pages)} ({what}). {trouble}"
            if trouble
            else f"No text could be recognised on {named(pages)}."
        )
    return said
