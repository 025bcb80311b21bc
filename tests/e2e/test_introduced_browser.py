"""A document that was dropped is introduced by the app's own writer, in a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rag_app.ui import texts
from tests import writers
from tests.e2e.conftest import serving
from tests.e2e.test_documents_browser import findings

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

AGREEMENT = b"""Tenancy agreement

This agreement is made on 3 March 2025 between Maria Fenwick (the landlady) and
Tom Ashby (the tenant).

The flat is 14 Mill Lane, Selby. The rent is 795 pounds a month, to be paid on the first day.
The deposit is 915 pounds. Notice is two months for the landlady and one month for the tenant.
"""
CARD = '[class*="st-key-introduced-"]'
WAIT = 300_000  # milliseconds; a busy machine reads twenty words a second


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    model = writers.DEFAULT
    writers.real(model)  # or skipped
    chosen = {"RAG_APP_WRITER": model.key, "RAG_APP_MODELS_DIR": str(writers.MODELS)}
    with serving(tmp_path_factory.mktemp("introduced"), **chosen) as address:
        yield address


def test_a_dropped_document_has_its_card_at_once_and_then_what_the_writer_says_of_it(browser):
    page = browser.open()
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        [{"name": "mill_lane.txt", "mimeType": "text/plain", "buffer": AGREEMENT}]
    )
    card = page.locator(CARD)
    card.get_by_text("mill_lane.txt").wait_for()
    assert card.get_by_text(texts.INTRODUCING).count(), "nothing is said of it yet"
    card.get_by_text(texts.INTRODUCING).wait_for(state="detached", timeout=WAIT)
    assert "tenancy" in card.inner_text().lower()
    assert findings(page) == []
