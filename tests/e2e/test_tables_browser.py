"""A sheet is asked in a real browser: the figure, the rows behind it, their marks, a chart."""

from __future__ import annotations

import pytest

from tests.e2e.test_browser import MARKER, settled
from tests.e2e.test_written_browser import ask, choose, picture
from tests.servers import scripted_server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

SHEET = b"""Date,Person,Project,Amount (EUR),Paid
2026-01-05,Ann Lee,Design,1234.50,yes
2026-01-13,Ben Okoro,Build,20.00,no
2026-02-14,Ann Lee,Design,55.25,yes
2026-02-15,Cid Moss,Build,7.00,no
2026-03-02,Ann Lee,Build,90.00,no
"""


@pytest.fixture
def page(browser):
    with scripted_server() as (url, script):
        page = browser.open()
        files = page.get_by_test_id("stFileUploaderDropzoneInput").first
        files.set_input_files({"name": "spent.csv", "mimeType": "text/csv", "buffer": SHEET})
        row = page.locator('[class*="st-key-doc-"]').filter(has_text="spent.csv")
        row.get_by_text("Ready").first.wait_for()
        choose(page, url)
        page.script = script
        yield page


def test_a_figure_shows_the_rows_and_cells_that_it_rests_on(page):
    page.script.words = [
        "SQL: SELECT sum(amount_eur) FROM t1 ",
        "WHERE lower(person) = 'ann lee'\n",
        "Say: Ann Lee spent {0} EUR.",
    ]
    ask(page, "How much did Ann Lee spend in spent.csv?")
    answer = page.get_by_test_id("stChatMessage").last
    answer.get_by_text("Ann Lee spent 1379.75 EUR.").first.wait_for()
    answer.get_by_text("Computed from your tables").first.wait_for()
    answer.get_by_text("Sum of Amount (EUR) of 3 rows of spent.csv.").first.wait_for()
    answer.get_by_text("Rows behind it (3)").click()
    rows = answer.locator(".cells tbody tr")
    assert [row.split() for row in rows.all_inner_texts()] == [
        ["Ann", "Lee", "1234.50"],
        ["Ann", "Lee", "55.25"],
        ["Ann", "Lee", "90.00"],
    ]
    picture(page, "computed")
    answer.get_by_text("How it was computed").click()
    assert answer.locator("code").first.inner_text().startswith("SELECT sum(amount_eur)")
    page.locator(MARKER).first.click()
    settled(page, "mark")
    assert "55.25" in page.locator("mark").all_inner_texts()
    assert "Build" not in page.locator("mark").all_inner_texts()
    picture(page, "computed-source")


def test_a_follow_up_asks_the_same_table_for_someone_else(page):
    page.script.words = [
        "SQL: SELECT sum(amount_eur) FROM t1 WHERE lower(person) = 'ann lee'\n",
        "Say: Ann Lee spent {0} EUR.",
    ]
    ask(page, "How much did Ann Lee spend in spent.csv?")
    page.get_by_text("Ann Lee spent 1379.75 EUR.").first.wait_for()
    page.script.words = [
        "SQL: SELECT sum(amount_eur) FROM t1 WHERE lower(person) = 'ben okoro'\n",
        "Say: Ben Okoro spent {0} EUR.",
    ]
    ask(page, "And Ben Okoro?")
    answer = page.get_by_test_id("stChatMessage").last
    answer.get_by_text("Ben Okoro spent 20 EUR.").first.wait_for()
    answer.get_by_text("Rows behind it (1)").click()
    rows = answer.locator(".cells tbody tr")
    assert [row.split() for row in rows.all_inner_texts()] == [["Ben", "Okoro", "20.00"]]
    assert "Ann Lee" in str(page.script.asked[-1]["messages"])  # what "and" refers to
    picture(page, "computed-follow-up")


def test_several_figures_are_a_table_and_a_chart_and_can_be_taken_along(page):
    page.script.words = [
        "SQL: SELECT project, sum(amount_eur) AS total FROM t1 ",
        "GROUP BY project ORDER BY total DESC\n",
        "Say: By project: {rows}.",
    ]
    ask(page, "What was spent in spent.csv by project?")
    answer = page.get_by_test_id("stChatMessage").last
    answer.get_by_text("By project: Design, 1289.75; Build, 117.").first.wait_for()
    answer.locator(
        "[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg"
    ).first.wait_for()
    with page.expect_download() as taken:
        answer.get_by_role("button", name="Download as a table").click()
    text = taken.value.path().read_text("utf-8-sig")
    assert text.splitlines() == ["Project,Total", "Design,1289.75", "Build,117"]
    picture(page, "computed-chart")
