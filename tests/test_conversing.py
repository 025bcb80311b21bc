"""What people type besides plain questions, through the library and without a chat model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rag_app.answering.answer_language import (
    documents_in_other_language,
    said_so,
)
from rag_app.answering.chain import APP
from rag_app.answering.query_rewriting import Turn
from rag_app.export.messages import BY_MEANING, BY_MODEL, sentence
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Answer, Document, Draft, Finished, Note, NoteKind, Status, Task
from rag_app.ui import texts_library
from tests.fakes import WordEmbedder
from tests.servers import scripted_server

FERRY = (
    "The ferry company carries people between the island and the town all year.\n\n"
    "The ferry company carried ninety thousand people in the year 2025 alone.\n\n"
    "The warranty of the ferry engine is given for three years by its maker.\n"
)
MUSEUM = (
    "The museum of the town shows old ships and is closed on every Monday.\n\n"
    "The museum of the town was visited by four thousand people in 2018.\n"
)
MAIL = (
    "From: Tom Berg <tom@roofs.example>\nTo: Ann Lee <ann@harbour.example>\n"
    "Subject: Roof\nContent-Type: text/plain\n\n"
    "The roof of the boat house can be repaired in March for nine thousand euros.\n"
)


class English(WordEmbedder):
    """Words, of one language."""

    english = True


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("conversing")
    with Library(Settings.load(data_dir=folder / "data"), embedder=English()) as opened:
        added = [
            opened.add("Ferry report.txt", FERRY.encode()),
            opened.add("Museum guide.txt", MUSEUM.encode()),
            opened.add("Offer.eml", MAIL.encode()),
        ]
        opened.wait([one.document.id for one in added], timeout=30)
        yield opened


def ask(library: Library, question: str, *before: str) -> Answer:
    turns = [Turn(one, "") for one in before]
    *_, last = library.ask(question, turns=turns, generator="quotes", caution=0.2)
    assert isinstance(last, Finished)
    return last.answer


@pytest.mark.parametrize("said", ["hi", "Hello!", "thanks", "ok", "Vielen Dank", "asdfgh", "?!"])
def test_what_asks_nothing_gets_one_sentence_and_no_passages(library, said):
    answer = ask(library, said)
    assert (answer.generator, answer.passages, answer.citations) == (APP, (), ())
    assert answer.task is Task.CHITCHAT and answer.text
    assert answer.abstained and answer.question == said


def test_a_word_that_stands_in_a_document_is_looked_for(library):
    answer = ask(library, "warranty")
    assert answer.generator != APP and "warranty" in answer.passages[0].chunk.text


def test_a_form_of_an_answer_that_there_was_none_of_is_that_of_the_question(library):
    answer = ask(library, "as bullet points", "Which day is the museum closed?")
    assert answer.query == "Which day is the museum closed, as bullet points"
    assert "Monday" in answer.passages[0].chunk.text


def test_keys_struck_at_random_are_looked_for_where_a_document_holds_them(tmp_path):
    settings = Settings.load(data_dir=tmp_path / "data")
    with Library(settings, embedder=English()) as library:
        added = library.add("keys.txt", b"The layout is called qwertz after its first letters.\n")
        library.wait([added.document.id], timeout=30)
        assert ask(library, "qwertz").generator != APP
        assert ask(library, "asdfgh").generator == APP


def test_a_summary_of_several_documents_says_whose_words_are_whose(library):
    answer = ask(library, "Summarise everything")
    places = [answer.text.index(f"{d.name} says:") for d in library.documents()]
    first = [answer.text.index(f"[{n}]", places[0]) for n in (1,)]
    assert places == sorted(places) and places[0] < first[0] < places[1]


def test_a_summary_of_one_of_several_documents_says_which(library):
    answer = ask(library, "Summarise the museum guide")
    assert answer.text.startswith("Museum guide.txt says:")
    assert {c.name for c in answer.citations} == {"Museum guide.txt"}


def test_a_summary_of_the_only_document_names_none(library):
    only = [d.id for d in library.documents() if d.name == "Museum guide.txt"]
    *_, last = library.ask("Summarise it", only, generator="quotes")
    assert "says:" not in last.answer.text


def test_a_name_of_several_lines_stays_on_one(tmp_path):
    with Library(Settings.load(data_dir=tmp_path / "data"), embedder=English()) as library:
        added = [
            library.add("a\n# b [1].txt", MUSEUM.encode()),
            library.add("c.txt", FERRY.encode()),
        ]
        library.wait([one.document.id for one in added], timeout=30)
        text = ask(library, "Summarise everything").text
        assert "a # b [\u20601].txt says:\n" in text


def test_the_mail_is_meant_by_what_it_is(library):
    answer = ask(library, "Summarise the email")
    assert {c.name for c in answer.citations} == {"Offer.eml"}


def test_a_wish_can_be_asked_again_and_shorter(library):
    long = ask(library, "Summarise the ferry report")
    short = ask(library, "again but shorter please", "Summarise the ferry report")
    one = ask(library, "in one sentence", "Summarise the ferry report", "shorter")
    assert len(long.citations) == 3 and len(one.citations) == 1
    assert len(short.citations) <= len(long.citations)
    assert one.rewritten_query == "Summarise the ferry report, shorter, in one sentence"
    assert ask(library, "again", "Summarise the ferry report").text == long.text


def test_a_question_after_a_varied_wish_can_point_at_it(library):
    before = ("Summarise the ferry report", "and the museum guide?")
    answer = ask(library, "When is it closed?", *before)
    assert answer.rewritten_query == "When is the museum guide closed?"


def test_a_draft_quotes_what_is_nearest_wherever_it_stands(library):
    answer = ask(library, "Write a letter on how the roof can be repaired in March")
    assert answer.citations[0].name == "Offer.eml"


SPANISH = "¿Cuándo está cerrado el museo de la ciudad y cuánto cuesta la entrada?"


def test_a_question_in_another_language_is_told_so(library):
    answer = ask(library, SPANISH)
    said = sentence(answer.notes[-1])
    assert said.startswith("Your question is in Spanish, and your documents are in English.")
    assert answer.abstained and BY_MODEL in said


def test_a_word_that_was_spelt_anew_is_told(library):
    notes = ask(library, "When is the muzeum of the town closed?").notes
    assert Note(NoteKind.RESPELLED, ("muzeum", "museum")) in notes
    told = Note(NoteKind.RESPELLED, ("expence", "expense", "comite", "comity"))
    assert sentence(told) == (
        "I also looked for “expense” for “expence” and “comity” for “comite”, as your documents "
        "spell it."
    )


def test_an_abstention_over_another_language_says_what_to_try():
    nothing = Draft((), (), 0.1, abstained=True, notes=(Note(NoteKind.FOUND_BY_WORDS),))
    apart = Note(NoteKind.OTHER_LANGUAGE, ("es", "", "en"))
    assert said_so(nothing, apart).notes == (apart,)


def test_a_note_that_an_earlier_version_kept_as_a_sentence_says_it():
    assert sentence(Note(NoteKind.OTHER_LANGUAGE, ("Your question is …",))) == "Your question is …"


def test_the_note_calls_the_setting_by_its_name():
    assert texts_library.LANGUAGES in BY_MEANING
    assert texts_library.OPTIONS[texts_library.SEVERAL] in BY_MEANING


@pytest.mark.parametrize(
    ("question", "languages", "says"),
    [
        (SPANISH, ["en", "en"], "Your question is in Spanish, and your documents are in English"),
        ("When is the museum closed?", ["es"], "in English, and your documents are in Spanish"),
        (SPANISH, ["en", "es"], ""),
        (SPANISH, ["pt"], ""),
        (SPANISH, [""], ""),
        ("When is the museum closed?", ["en", "es"], ""),
        ("museum", ["en"], ""),
        ("Kündigungsfrist?", ["de"], ""),
    ],
)
def test_languages_are_compared_where_they_can_be_told(question, languages, says):
    documents = [
        Document(str(n), "a", ".txt", 1, Status.READY, "", chunks=1, language=language)
        for n, language in enumerate(languages)
    ]
    in_english, in_any = [
        note and sentence(note)
        for english in (True, False)
        for note in [documents_in_other_language(question, documents, english)]
    ]
    assert bool(in_english) == bool(in_any) == bool(says)
    if in_english and in_any:
        assert says in in_english and BY_MEANING in in_english and BY_MEANING not in in_any


def prompts(library: Library, said: str, before: Turn, reply: str = "Fine.") -> str:
    """What a chat model is asked after a turn."""
    with scripted_server() as (url, script):
        script.words = [reply]
        *_, last = library.ask(said, turns=[before], generator=f"openai:m@{url}")
        assert isinstance(last, Finished)
        return "\n".join(str(asked["messages"]) for asked in script.asked)


MONDAY = Turn("When is the museum closed?", "The museum of the town is closed on every Monday. [1]")


@pytest.mark.parametrize(
    "said", ["put that in an email to Karen", "mach daraus eine Mail an Tom", "ponlo en un correo"]
)
def test_a_draft_is_made_of_the_last_answer_where_that_is_meant(library, said):
    asked = prompts(library, said, MONDAY)
    assert f"{said}: The museum of the town is closed on every Monday." in asked
    assert "[1]" not in asked


@pytest.mark.parametrize(
    ("said", "language"),
    [("say that in german", "German"), ("und auf polnisch?", "Polish"), ("in welsh pls", "Welsh")],
)
def test_the_last_answer_is_translated_where_that_is_meant(library, said, language):
    asked = prompts(library, said, MONDAY)
    assert "closed on every Monday" in asked
    assert f"in {language}" in asked or f"into {language}" in asked


def test_another_form_of_an_answer_is_a_question_and_of_a_summary_a_summary(library):
    assert ask(library, "kürzer bitte", MONDAY.question).task is Task.QUESTION
    again = ask(library, "kürzer bitte", "Summarise the ferry report")
    assert again.task is Task.SUMMARY
    assert {c.name for c in again.citations} == {"Ferry report.txt"}


def test_what_is_to_be_made_of_an_answer_is_a_wish_by_itself_where_there_is_none(library):
    assert ask(library, "put that in an email to Karen").task is Task.DRAFT


def test_another_form_of_what_was_not_answered_is_the_question_again(library):
    unanswered = Turn("When does the museum open on Sunday?", "")
    *_, last = library.ask("und auf deutsch bitte", turns=[unanswered], generator="quotes")
    assert last.answer.task is Task.QUESTION
