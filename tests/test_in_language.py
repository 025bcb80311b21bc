"""Answers in a language that is not the question's."""

from __future__ import annotations

import pytest

from rag_app.answering.answer_language import (
    language_asked,
    language_before,
    language_into,
    language_of_task,
)
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Answer, Finished, Note, NoteKind
from tests.fakes import WordEmbedder
from tests.servers import scripted_server

FERRY = "The ferry to the island costs four euros. It sails at noon.\n"


@pytest.fixture
def library(tmp_path):
    settings = Settings.load(data_dir=tmp_path / "data", caution=0.0)
    with Library(settings, embedder=WordEmbedder()) as library:
        library.wait([library.add("Ferry.txt", FERRY.encode()).document.id], timeout=30)
        yield library


def ask(library: Library, question: str, language: str = "", generator: str | None = None):
    events = library.ask(question, generator=generator, language=language)
    answer = [event for event in events if isinstance(event, Finished)][-1].answer
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.parametrize(
    ("said", "question", "language"),
    [
        ("Answer in German: what does it cost?", "what does it cost?", "German"),
        ("please reply in french, what does it cost?", "what does it cost?", "French"),
        ("What does it cost? Answer in Spanish.", "What does it cost?", "Spanish"),
        ("What does it cost? Please answer me in Welsh, please!", "What does it cost?", "Welsh"),
        ("What does it cost, answer in Dutch", "What does it cost", "Dutch"),
        ("How much was sold in French shops?", "How much was sold in French shops?", ""),
        ("Answer in detail: what does it cost?", "Answer in detail: what does it cost?", ""),
        ("Answer in German", "Answer in German", ""),
        ("What does it cost? - Reply in Dutch", "What does it cost?", "Dutch"),
        ("What does it cost:\nreply in Dutch", "What does it cost", "Dutch"),
        ("Do applicants have to write in English?",) * 2 + ("",),
        ("Can customers reply in Spanish?",) * 2 + ("",),
        ("", "", ""),
    ],
)
def test_a_wish_for_a_language_is_told_from_the_question(said, question, language):
    assert language_asked(said) == (question, language)


@pytest.mark.parametrize(
    ("said", "question", "language"),
    [
        ("antworte auf deutsch: wann endet der Vertrag?", "wann endet der Vertrag?", "German"),
        ("en inglés, por favor: ¿quién paga?", "¿quién paga?", "English"),
        ("who pays according to the letter in German: we or they?",) * 2 + ("",),
        ("Please reply in english: wer zahlt?", "wer zahlt?", "English"),
        ("responde en inglés: ¿quién paga?", "¿quién paga?", "English"),
        ("Courses in French: how much do they cost?",) * 2 + ("",),
        ("Kurse auf Deutsch: wann beginnen sie?",) * 2 + ("",),
        ("in French for beginners: who pays?",) * 2 + ("",),
        ("Answers in English: who reads them?",) * 2 + ("",),
        ("réponds en anglais, s’il te plaît : qui paie ?", "qui paie ?", "English"),
        ("clause 7: who pays?", "clause 7: who pays?", ""),
        ("auf deutsch:", "auf deutsch:", ""),
    ],
)
def test_a_language_may_stand_before_a_question(said, question, language):
    assert language_before(said) == (question, language)


@pytest.mark.parametrize(
    ("wish", "language"),
    [
        ("Summarise the report in German", "German"),
        ("Compare both in French, please.", "French"),
        ("summary in french of the handbook", "French"),
        ("schreib eine Mail auf englisch an den Vermieter", "English"),
        ("Übersetze den Brief ins Deutsche", "German"),
        ("resume el contrato en ingles por favor", "English"),
        ("Summarise the chapter in Spanish law", ""),
        ("sum up what was said in English classes", ""),
        ("Summarise the events in Berlin", ""),
        ("translate the lease into German again", "German"),
        ("summarise it in German without the figures", "German"),
    ],
)
def test_a_task_may_name_the_language_of_its_result(wish, language):
    assert language_of_task(wish) == language


@pytest.mark.parametrize(
    ("wish", "language"),
    [
        ("translate the letter from French into Polish", "Polish"),
        ("übersetze das auf deutsch", "German"),
        ("ponlo en alemán", "German"),
        ("Traduis la lettre en anglais", "English"),
        ("say that in Welsh: The course is held in English", "Welsh"),
        ("translate this", ""),
        ("Translate this letter from German", ""),
        ("Translate into English from German", "English"),
        ("Translate the German contract", ""),
        ("Translate the German contract to Polish, please", "Polish"),
        ("Übersetze den deutschen Vertrag", ""),
        ("tradúcelo a francés", "French"),
        ("Put it into plain German", "German"),
        ("Kannst du das ins Deutsche übersetzen?", "German"),
        ("Übersetze den Absatz in der deutschen Fassung", ""),
        ("Traduis la lettre vers l'allemand", "German"),
        ("Translate the list in the annex to the German contract", ""),
    ],
)
def test_a_translation_goes_into_the_language_that_the_wish_names(wish, language):
    assert language_into(wish) == language


def test_a_model_is_told_the_language_and_the_search_is_not(library):
    with scripted_server() as (url, script):
        script.words = ["Die Fähre kostet vier Euro."]
        answer = ask(library, "What does the ferry cost?", "German", f"openai:m@{url}")
        assert answer.text.startswith("Die Fähre kostet vier Euro.")
        assert script.prompt.count("Answer in German,") == 1
        assert answer.question == "What does the ferry cost?"
        assert answer.rewritten_query == ""


def test_what_the_question_wishes_for_goes_before_the_setting(library):
    with scripted_server() as (url, script):
        asked = "Answer in French: what does the ferry cost?"
        answer = ask(library, asked, "German", f"openai:m@{url}")
        assert "Answer in French," in script.prompt and "German" not in script.prompt
        assert answer.question == asked


def test_a_summary_is_written_in_the_language_that_was_chosen(library):
    with scripted_server() as (url, script):
        ask(library, "Summarise the ferry", "Italian", f"openai:m@{url}")
        assert "Write the answer in Italian." in script.prompt


@pytest.mark.parametrize("question", ["What does the ferry cost?", "Summarise the ferry"])
def test_without_a_model_the_documents_words_are_quoted_and_a_note_says_why(library, question):
    answer = ask(library, question, "German")
    assert "four euros" in answer.text and answer.citations
    assert answer.notes[-1] == Note(NoteKind.LANGUAGE_NEEDS_MODEL, ("German",))


@pytest.mark.parametrize(
    ("wish", "language"),
    [
        ("German translation please", "German"),
        ("translate section 3 into the German language", "German"),
        ("Traduis la lettre allemande", ""),
        ("Translate the Spanish lease please", ""),
        ("Translate this letter from German", ""),
    ],
)
def test_a_language_with_which_a_wish_begins_is_the_one_that_is_wished_for(wish, language):
    assert language_into(wish) == language
