"""Documents in a real browser: their own pages, folders and tags, plain search, the queue.

And what everybody needs: the keyboard alone, readable contrasts, nothing cut on a small screen."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import pytest
from reportlab.pdfgen.canvas import Canvas

from tests.e2e.conftest import eventually, listed, serving

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]

MARKER = '[data-testid="stMarkdownContainer"] a[href^="#cite:"]'
SMALLEST_WAIT = 400  # ms in which Streamlit's own movements end

GUIDE = [
    (
        "Opening hours",
        "The harbour museum was opened in 1987. It is closed on Mondays. The old house burnt down "
        "on 4 May 1991. Its new house was opened on 12 June 1994. The last boat came there in "
        "March 1999.",
    ),
    ("Ticket prices", "A day ticket costs €6 for everybody. Children under six go in free."),
    ("The collection", "The museum has 240 model ships. Every model ship is cleaned twice a year."),
]


def guide() -> bytes:
    """A PDF of three pages with a heading each, and an outline."""
    data = io.BytesIO()
    canvas = Canvas(data, invariant=1)
    for heading, text in GUIDE:
        canvas.bookmarkPage(heading)
        canvas.addOutlineEntry(heading, heading)
        canvas.setFont("Helvetica-Bold", 18)
        canvas.drawString(72, 760, heading)
        canvas.setFont("Helvetica", 12)
        for line, sentence in enumerate(text.split(". ")):
            canvas.drawString(72, 700 - 40 * line, sentence.rstrip(".") + ".")
        canvas.showPage()
    canvas.save()
    return data.getvalue()


FILES = {
    "guide.pdf": guide(),
    "boats.txt": b"The blue boat leaves at noon.\n\nA model ship is no boat.\n",
    "rules.md": b"# Rules\n\nNobody may touch a model ship. The rules were made in 2004.\n",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app of this module's own: the first test needs an empty library."""
    with serving(tmp_path_factory.mktemp("documents")) as address:
        yield address


def row(page, name: str):
    return page.locator('[class*="st-key-doc-"]').filter(has_text=name)


def filled(browser, **how):
    """A page with the three documents, ready."""
    page = browser.open(**how)
    listed(page)
    missing = [name for name in FILES if not row(page, name).count()]
    if missing:
        page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
            [{"name": n, "mimeType": "text/plain", "buffer": FILES[n]} for n in missing]
        )
    for name in FILES:
        row(page, name).get_by_text("Ready").first.wait_for(state="attached")
    page.locator(".st-key-queue").wait_for(state="detached")  # or the rows would still move
    return page


def menu(page, name: str, choice: str | re.Pattern[str]) -> None:
    row(page, name).locator('[class*="st-key-menu-"] button').click()
    page.get_by_role("menuitem", name=choice).or_(
        page.get_by_text(choice, exact=True)
    ).first.click()


def about(page, name: str) -> None:
    """Open a document's own page and wait until all of it is made."""
    menu(page, name, "About this document")
    page.locator("h2.about").filter(has_text=name).wait_for()
    page.get_by_role("heading", name="Outline").wait_for()
    page.get_by_text("Trying out questions").wait_for(state="detached")


def search(page, query: str):
    """Type into the plain search, and the field."""
    if not page.locator(".st-key-search").count():
        page.get_by_role("button", name="Search the text").click()
        if page.evaluate("matchMedia('(pointer: fine)').matches"):
            page.locator(".st-key-search input:focus").wait_for()  # one can write at once
    field = page.get_by_role("textbox", name="Search your documents")
    field.fill(query)
    return field


def findings(page) -> list[str]:
    """What axe-core finds serious or critical, a line each."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page.wait_for_timeout(SMALLEST_WAIT)
    result = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response
    return [
        f"{found['id']}: {node['target']} {node['html'][:160]}"
        for found in result["violations"]
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"]
    ]


def test_the_empty_page_says_what_to_do_and_has_no_barriers(browser):
    for scheme in ("light", "dark"):
        page = browser.open(scheme=scheme)
        page.get_by_role("button", name="Try it with a sample").wait_for()
        assert page.get_by_text("Nothing here yet").is_visible()
        assert findings(page) == []


def test_the_field_for_files_is_not_begun_anew_when_documents_become_ready(browser):
    other = browser.open()
    other.get_by_test_id("stFileUploaderDropzoneInput").first.evaluate(
        "field => field.mark = 'same'"
    )
    filled(browser)
    row(other, "rules.md").get_by_text("Ready").first.wait_for()
    other.get_by_role("button", name="Search the text").wait_for()
    field = other.get_by_test_id("stFileUploaderDropzoneInput").first
    assert field.evaluate("field => field.mark") == "same", "what is just being dropped is lost"


def test_a_document_has_a_page_with_its_outline(browser):
    page = filled(browser)
    about(page, "guide.pdf")
    assert page.locator(".st-key-about").get_by_text("PDF · 3 pages").is_visible()
    page.wait_for_function("document.querySelector('.stMain').scrollTop === 0")
    page.get_by_role("button", name="Ticket prices Page 2").click()
    page.locator("#sheet .box.quote").first.wait_for()
    assert page.get_by_text("Page 2 of 3").is_visible()
    page.locator(".st-key-source_close button").click()
    page.locator(".st-key-source").wait_for(state="hidden")


def test_a_map_and_a_timeline_of_a_document_lead_to_its_places(browser):
    page = filled(browser)
    about(page, "guide.pdf")
    page.locator("summary", has_text="Mind map").click()
    tree = page.get_by_role("group", name="Mind map of guide.pdf")
    assert tree.locator("#root").inner_text() == "guide.pdf"
    titles = tree.locator("ol > li > .title")
    assert titles.all_inner_texts() == [
        f"{heading} Page {number}" for number, (heading, _) in enumerate(GUIDE, start=1)
    ]
    assert page.locator("#map svg path").count() == len(GUIDE)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert findings(page) == [], scheme
    titles.nth(1).focus()
    page.keyboard.press("Enter")
    page.locator("#sheet .box.quote").first.wait_for()
    page.get_by_text("Page 2 of 3").wait_for()
    page.locator("#view").press("Escape")
    page.locator(".st-key-source").wait_for(state="hidden")
    page.wait_for_timeout(SMALLEST_WAIT)
    assert titles.nth(1).evaluate("title => title.matches(':focus')"), "the focus is back"
    page.locator("summary", has_text="Timeline (3 dates)").click()
    dates = page.locator("#list .lead")
    assert dates.all_inner_texts() == ["4 May 1991", "12 June 1994", "March 1999"]
    assert findings(page) == []
    dates.nth(1).click()
    page.get_by_text("Page 1 of 3").wait_for()
    page.locator("blockquote.quoted", has_text="Its new house was opened").wait_for()


def test_what_has_few_headings_and_no_dates_has_neither_map_nor_timeline(browser):
    page = filled(browser)
    about(page, "boats.txt")
    assert not page.locator("summary").count()


def test_a_summary_has_no_word_of_sureness_and_a_text_no_parts(browser):
    page = filled(browser)
    page.get_by_test_id("stChatInputTextArea").fill("Summarise boats.txt")
    page.keyboard.press("Enter")
    page.locator(".how").filter(has_text="Quoted from your documents").wait_for()
    assert not [one for one in page.locator(".how").all_inner_texts() if "sure" in one]
    page.get_by_text("Sources (").last.click()
    heads = page.locator(".card header").all_inner_texts()
    assert heads and not [one for one in heads if "Part" in one]
    page.get_by_test_id("stChatInputTextArea").fill("Compare boats.txt and rules.md")
    page.keyboard.press("Enter")
    page.get_by_test_id("stChatMessage").nth(3).locator(".how").first.wait_for()
    assert not [one for one in page.locator(".how").all_inner_texts() if "sure" in one]


def test_silence_is_one_sentence_and_its_place_and_the_rest_is_folded_away(browser):
    page = filled(browser)
    page.get_by_test_id("stChatInputTextArea").fill("How much is a zeppelin to Greenland?")
    page.keyboard.press("Enter")
    page.locator(".sorry").get_by_text("The closest I found:").wait_for()
    page.locator(".how").first.wait_for()
    seen = page.locator(".card").locator("visible=true")
    assert seen.count() == 1 and seen.locator("mark").count() == 1
    sentence = seen.locator("mark").inner_text()
    assert sentence in " ".join([*(text for _, text in GUIDE), *map(str, FILES.values())])
    seen.locator("a").click()
    page.locator("#sheet .box.quote, #words mark").first.wait_for()
    for strip in page.locator("blockquote.quoted").all():
        assert strip.evaluate("one => one.scrollHeight <= one.clientHeight + 1"), "never cut"
    page.locator(".st-key-source_close button").click()
    page.get_by_role("button", name="Why this answer?").click()
    page.locator("dl.why").wait_for()
    said = page.inner_text("body")
    assert not re.search(r"built-in reader|sentence-transformers|by words|Part \d|BM25|chunk", said)


def test_what_is_unticked_at_once_stays_so_while_files_are_worked_on(browser):
    page = filled(browser)
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        {"name": "tide.txt", "mimeType": "text/plain", "buffer": b"Low tide is at six. " * 3000}
    )
    row(page, "tide.txt").wait_for()
    page.get_by_role("button", name="None", exact=True).click()
    page.locator('[placeholder="Tick what you want to ask…"]').wait_for()
    row(page, "tide.txt").get_by_text("Ready").first.wait_for(state="attached")
    page.wait_for_timeout(2 * SMALLEST_WAIT)
    assert page.locator('[placeholder="Tick what you want to ask…"]').is_visible()
    page.get_by_role("button", name="All", exact=True).click()
    page.locator('[placeholder="Ask about your documents…"]').wait_for()
    menu(page, "tide.txt", "Remove…")
    row(page, "tide.txt").get_by_role("button", name="Remove", exact=True).click()
    row(page, "tide.txt").wait_for(state="detached")


def test_a_folder_or_a_tag_chooses_documents(browser):
    page = filled(browser)
    menu(page, "rules.md", "Folder and tags…")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("combobox").click()
    page.keyboard.type("House/Rules")
    page.keyboard.press("Enter")
    dialog.get_by_role("textbox", name="New tags").fill("ships, 2004")
    assert findings(page) == []
    dialog.get_by_role("button", name="Save").click()
    dialog.wait_for(state="detached")
    page.get_by_role("button", name="#ships").click()
    row(page, "boats.txt").wait_for(state="detached")
    assert row(page, "rules.md").count() == 1
    hint = page.get_by_test_id("stChatInputTextArea").get_attribute("placeholder")
    assert hint == "Ask 1 of your 3 documents…"
    page.get_by_role("button", name="#ships").click()
    row(page, "boats.txt").wait_for()


def test_a_choice_is_kept_as_a_set(browser):
    page = filled(browser)
    row(page, "boats.txt").locator("label").first.click()
    page.get_by_role("button", name="Save this choice").click()
    page.get_by_role("textbox", name="Name of the set").fill("On land")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="★ On land").wait_for()
    row(page, "boats.txt").wait_for(state="detached")
    page.get_by_role("button", name="Forget the set").click()
    page.get_by_role("button", name="★ On land").wait_for(state="detached")
    row(page, "boats.txt").wait_for()


def test_plain_search_finds_words_and_phrases_and_opens_them_marked(browser):
    page = filled(browser)
    search(page, "model ship")
    page.get_by_text("places in 3 documents").wait_for()
    group = page.locator('[class*="st-key-found-"]').filter(has_text="guide.pdf")
    marks = group.locator("mark")  # rows come before what is in them
    eventually(page, lambda: {m.lower() for m in marks.all_inner_texts()} >= {"model", "ships"})
    group.locator("button").first.click()
    page.get_by_text("Page 3 of 3").wait_for()
    boxes = page.locator("#sheet .box.quote")
    boxes.first.wait_for()
    assert all(b.bounding_box()["width"] < 200 for b in boxes.all()), "words, not the sentence"
    page.locator(".st-key-source_close button").click()
    search(page, "“touch a model ship”")
    page.get_by_text("1 place in 1 document").wait_for()
    search(page, "rules")
    found = page.locator('[class*="st-key-found-"]').filter(has_text="rules.md")
    found.get_by_text("The rules were made in 2004.").wait_for()  # and not its heading alone
    search(page, "zeppelin")
    page.get_by_text("This stands nowhere").wait_for()
    page.get_by_role("button", name="Back").click()
    page.get_by_text("What would you like to know?").wait_for()


def test_on_a_phone_a_hit_has_the_whole_width_and_its_place_stands_below(browser):
    page = filled(browser)
    search(page, "model ship")
    first = page.locator('[class*="st-key-found-"] #list button').first
    first.wait_for()
    page.set_viewport_size({"width": 390, "height": 844})
    eventually(page, lambda: first.bounding_box()["width"] < 390)
    text, note = first.locator(":scope > span").first, first.locator(".note")
    row, words, where = (one.bounding_box() for one in (first, text, note))
    assert words["width"] > row["width"] - 24
    assert where["y"] >= words["y"] + words["height"] - 1


def test_back_from_the_search_is_where_one_was(browser):
    page = filled(browser, height=500)
    about(page, "guide.pdf")
    main = page.locator("main")
    page.wait_for_function("document.querySelector('main').scrollTop === 0")
    main.evaluate("main => main.scrollTo(0, 150)")
    assert main.evaluate("main => main.scrollTop") == 150
    search(page, "model ship")
    page.get_by_text("places in 3 documents").wait_for()
    eventually(page, lambda: main.evaluate("main => main.scrollTop") == 0)
    page.locator(".st-key-search_back button").click()
    page.locator("h2.about").wait_for()
    eventually(page, lambda: main.evaluate("main => main.scrollTop") == 150)


def test_the_queue_is_paused_and_goes_on(browser):
    page = filled(browser)
    text = b"The warehouse holds barrels of salt and of tar for the boats.\n\n"
    files = [
        {"name": f"store-{n}.txt", "mimeType": "text/plain", "buffer": f"Store {n}. ".encode() * 99}
        for n in range(12)
    ]
    files[0]["buffer"] = text * 60_000  # seconds of work, or there is nothing to pause
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(files)
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("Paused: files wait").wait_for()
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_text("Paused: files wait").wait_for(state="detached")
    second = browser.open()
    second.get_by_role("button", name="Pause").or_(second.get_by_text("Ready")).first.wait_for()
    # The tests that follow need none of it; a fast machine may have done it all by now.
    menu(page, "store-0.txt", re.compile("emove…$"))
    row(page, "store-0.txt").get_by_role("button", name="Remove", exact=True).click()
    row(page, "store-0.txt").wait_for(state="detached")


def test_the_keyboard_alone_does_the_main_job(browser):
    page = filled(browser)
    page.get_by_text("Ready").first.wait_for()
    upload = page.get_by_test_id("stFileUploaderDropzone").locator("button").first
    with page.expect_file_chooser() as chooser:
        upload.press("Enter")
    chooser.value.set_files(
        {"name": "keys.txt", "mimeType": "text/plain", "buffer": b"The key opens the red gate.\n"}
    )
    row(page, "keys.txt").wait_for()
    page.get_by_test_id("stChatInputTextArea").focus()
    page.keyboard.type("What does the key open?")
    page.keyboard.press("Enter")
    marker = page.locator(MARKER).first
    marker.wait_for()
    page.get_by_test_id("stChatInputTextArea").focus()
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        if page.evaluate(
            "(document.activeElement.getAttribute('href') || '').startsWith('#cite:')"
        ):
            break
    assert page.locator("#card").is_visible(), "the quote is shown where the focus is"
    page.keyboard.press("Enter")
    page.locator("#words mark").wait_for()
    assert page.locator("#words mark").inner_text().startswith("The key opens")
    page.keyboard.press("Escape")
    page.locator(".st-key-source").wait_for(state="hidden")
    page.wait_for_timeout(SMALLEST_WAIT)
    assert page.evaluate("document.activeElement.getAttribute('href')").startswith("#cite:")


def test_no_page_has_barriers_in_the_light_or_in_the_dark(browser):
    page = filled(browser)

    def open_to_all() -> None:
        for scheme in ("light", "dark"):  # the page follows the system at once
            page.emulate_media(color_scheme=scheme)
            assert findings(page) == [], scheme

    open_to_all()
    about(page, "guide.pdf")
    open_to_all()
    search(page, "model ship")
    page.get_by_text("places in").wait_for()
    open_to_all()
    page.get_by_test_id("stChatInputTextArea").fill("When was the harbour museum opened?")
    page.keyboard.press("Enter")
    page.locator(MARKER).first.click()
    page.locator("#sheet .box.quote").first.wait_for()
    open_to_all()


def test_no_dialog_no_list_and_no_phone_has_barriers(browser):
    page = filled(browser)
    page.get_by_test_id("stChatInputTextArea").fill("When was the harbour museum opened?")
    page.keyboard.press("Enter")
    page.locator(MARKER).first.wait_for()
    page.locator('[data-act^="copy:"]').last.focus()
    for key, shown in (
        ("?", page.get_by_role("dialog", name="Help")),
        ("e", page.get_by_role("button", name="Markdown")),
        ("h", page.get_by_role("textbox", name="Search conversations")),
        (",", page.get_by_role("dialog", name="Settings")),
    ):
        page.keyboard.press(key)
        shown.wait_for()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert findings(page) == [], (key, scheme)
        page.keyboard.press("Escape")
        shown.wait_for(state="hidden")
        page.locator('[data-act^="copy:"]').last.focus()
    page.set_viewport_size({"width": 390, "height": 844})
    assert findings(page) == []
    page.locator(MARKER).first.click()
    page.locator("#sheet .box.quote").first.wait_for()
    assert findings(page) == []


def test_a_press_in_the_moment_in_which_a_list_says_that_it_closed_is_not_lost(browser):
    page = filled(browser)
    page.evaluate("document.activeElement?.blur()")
    page.keyboard.press("h")
    words = page.get_by_role("textbox", name="Search conversations")
    words.wait_for()
    page.locator('[data-test-script-state="notRunning"]').wait_for(state="attached")
    words.evaluate(
        """words => new MutationObserver((_, observer) => {
          if (words.isConnected) return;
          observer.disconnect();
          const press = () => document.querySelector('[class*="st-key-settings"] button').click();
          for (let after = 90; after < 140; after += 5) setTimeout(press, after);
          setTimeout(() => {  // a busy machine: what was to happen one by one happens at once
            const end = performance.now() + 200;
            while (performance.now() < end);
          }, 20);
        }).observe(document.body, { childList: true, subtree: true })"""
    )
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Settings").wait_for()


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (390, 844)])
def test_nothing_sticks_out_and_the_field_stays_at_the_bottom(browser, width, height):
    page = filled(browser, width=width, height=height)

    def sound() -> None:
        page.wait_for_timeout(SMALLEST_WAIT)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        field = page.get_by_test_id("stChatInputTextArea").bounding_box()
        assert field and height - 140 < field["y"] + field["height"] <= height

    sound()
    if width < 768:
        page.get_by_test_id("stExpandSidebarButton").click()
    about(page, "guide.pdf")
    sound()
    if width < 768:
        page.get_by_test_id("stExpandSidebarButton").click()
    search(page, "model ship")
    page.get_by_text("places in").wait_for()
    sound()
