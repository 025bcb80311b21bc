"""A known sentence in each of many languages: found by words, and cited word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_app.answering.answer_language import EVEN_ODDS
from rag_app.library import Library
from rag_app.types import Note, NoteKind, RetrieverKind, Status
from tests.test_library import add, ask, open_library

# Language: (sentences; the second one answers, the question)
SAYINGS: dict[str, tuple[tuple[str, ...], str]] = {
    "zh": (
        (
            "港口每天早上六点开门，晚上十点关门。",
            "前往小岛的渡轮票价是四欧元。",
            "狗可以免费乘船，但是必须拴好。",
        ),
        "前往小岛的渡轮票价是多少？",
    ),
    "ja": (
        (
            "港は毎朝六時に開き、夜の十時に閉まります。",
            "島へ渡るフェリーの料金は四ユーロです。",
            "犬は無料で乗船できますが、つないでください。",
        ),
        "島へ渡るフェリーの料金はいくらですか？",
    ),
    "ko": (
        (
            "항구는 매일 아침 여섯 시에 문을 엽니다.",
            "섬으로 가는 배표의 가격은 사 유로입니다.",
            "개는 무료로 배에 탈 수 있습니다.",
        ),
        "섬으로 가는 배표 가격이 얼마예요?",
    ),
    "th": (
        (
            "ท่าเรือเปิดทุกวันเวลาหกโมงเช้าและปิดตอนสี่ทุ่ม",
            "ค่าโดยสารเรือข้ามฟากไปเกาะราคาสี่ยูโร",
            "สุนัขขึ้นเรือได้โดยไม่เสียเงินแต่ต้องใส่สายจูง",
        ),
        "ค่าโดยสารเรือข้ามฟากไปเกาะราคาเท่าไร",
    ),
    "ar": (
        (
            "يفتح الميناء كل يوم في الساعة السادسة صباحا.",
            "سعر تذكرة العبارة إلى الجزيرة أربعة يورو.",
            "تسافر الكلاب مجانا على متن السفينة.",
        ),
        "ما سعر تذكرة العبّارة إلى الجزيرة؟",
    ),
    "he": (
        (
            "הנמל נפתח בכל יום בשש בבוקר ונסגר בעשר בלילה.",
            "מחיר הכרטיס למעבורת אל האי הוא ארבעה יורו.",
            "כלבים נוסעים בחינם על סיפון הספינה.",
        ),
        "מה מחיר הכרטיס למעבורת אל האי?",
    ),
    "hi": (
        (
            "बंदरगाह हर दिन सुबह छह बजे खुलता है।",
            "द्वीप तक जाने वाली नौका का टिकट चार यूरो का है।",
            "कुत्ते बिना पैसे के यात्रा कर सकते हैं।",
        ),
        "द्वीप तक जाने वाली नौका का टिकट कितने का है?",
    ),
    "ru": (
        (
            "Порт открывается каждый день в шесть часов утра.",
            "Билет на паром до острова стоит четыре евро.",
            "Собаки ездят на корабле бесплатно.",
        ),
        "Сколько стоят билеты на паром до острова?",
    ),
    "el": (
        (
            "Το λιμάνι ανοίγει κάθε μέρα στις έξι το πρωί.",
            "Το εισιτήριο του πλοίου για το νησί κοστίζει τέσσερα ευρώ.",
            "Οι σκύλοι ταξιδεύουν δωρεάν με το καράβι.",
        ),
        "ΠΟΣΟ ΚΟΣΤΙΖΕΙ ΤΟ ΕΙΣΙΤΗΡΙΟ ΤΟΥ ΠΛΟΙΟΥ ΓΙΑ ΤΟ ΝΗΣΙ;",
    ),
    "tr": (
        (
            "Liman her gün sabah saat altıda açılır ve gece kapanır.",
            "Adaya giden vapurun bileti dört avro tutuyor.",
            "Köpekler gemide ücretsiz yolculuk eder.",
        ),
        "Adaya giden vapurun bileti kaç avro?",
    ),
    "vi": (
        (
            "Bến cảng mở cửa mỗi ngày lúc sáu giờ sáng.",
            "Giá vé phà ra đảo là bốn đồng euro.",
            "Chó được đi tàu miễn phí nhưng phải có dây xích.",
        ),
        "Giá vé phà ra đảo là bao nhiêu?",
    ),
    "de": (
        (
            "Der Hafen öffnet jeden Tag um sechs Uhr morgens.",
            "Eine Fahrkarte für die Fähre zur Insel kostet vier Euro.",
            "Hunde fahren auf dem Schiff umsonst mit.",
        ),
        "Wie viel kosten Fahrkarten für die Fähre zur Insel?",
    ),
    "fr": (
        (
            "Le port ouvre tous les jours à six heures du matin.",
            "Le billet du bateau pour l’île coûte quatre euros.",
            "Les chiens voyagent gratuitement sur le navire.",
        ),
        "Combien coûte le billet du bateau pour l'île ?",
    ),
    "es": (
        (
            "El puerto abre todos los días a las seis de la mañana.",
            "El billete del barco a la isla cuesta cuatro euros.",
            "Los perros viajan gratis en el barco.",
        ),
        "¿Cuánto cuesta el billete del barco a la isla?",
    ),
    "fi": (
        (
            "Satama avautuu joka päivä kello kuusi aamulla.",
            "Lippu saarelle menevään lauttaan maksaa neljä euroa.",
            "Koirat matkustavat laivalla ilmaiseksi.",
        ),
        "Paljonko maksavat liput saarelle menevään lauttaan?",
    ),
    "ta": (
        (
            "துறைமுகம் தினமும் காலை ஆறு மணிக்குத் திறக்கப்படுகிறது.",
            "தீவுக்குச் செல்லும் படகின் கட்டணம் நான்கு யூரோ.",
            "நாய்கள் கப்பலில் இலவசமாகப் பயணம் செய்கின்றன.",
        ),
        "தீவுக்குச் செல்லும் படகின் கட்டணம் எவ்வளவு?",
    ),
    "km": (
        (
            "កំពង់ផែបើកជារៀងរាល់ថ្ងៃនៅម៉ោងប្រាំមួយព្រឹក។",
            "តម្លៃសំបុត្រសាឡាងទៅកោះគឺបួនអឺរ៉ូ។",
            "សត្វឆ្កែធ្វើដំណើរដោយឥតគិតថ្លៃ។",
        ),
        "តម្លៃសំបុត្រសាឡាងទៅកោះគឺប៉ុន្មាន?",
    ),
    "my": (
        (
            "ဆိပ်ကမ်းသည် နေ့စဉ် မနက်ခြောက်နာရီတွင် ဖွင့်သည်။",
            "ကျွန်းသို့သွားသော ကူးတို့လက်မှတ်ဈေးသည် လေးယူရိုဖြစ်သည်။",
            "ခွေးများသည် အခမဲ့ စီးနင်းနိုင်သည်။",
        ),
        "ကျွန်းသို့သွားသော ကူးတို့လက်မှတ်ဈေးသည် ဘယ်လောက်လဲ။",
    ),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    with open_library(tmp_path_factory.mktemp("languages") / "data") as opened:
        for code, (said, _) in SAYINGS.items():
            add(opened, f"{code}.txt", "\n\n".join(said).encode())
        add(opened, "en.txt", b"The museum is closed on Mondays.\n\nEntry is free for children.\n")
        yield opened


@pytest.mark.parametrize("code", SAYINGS)
def test_the_sentence_that_answers_is_found_by_words(library: Library, code: str):
    said, question = SAYINGS[code]
    [first, *_] = library.search(question, retriever=RetrieverKind.BM25)
    assert first.name == f"{code}.txt" and said[1] in first.chunk.text
    page = library.page(first.chunk.document_id, first.chunk.page)
    assert page.text[first.chunk.start : first.chunk.end] == first.chunk.text


@pytest.mark.parametrize("code", SAYINGS)
def test_the_sentence_that_answers_is_cited_word_for_word(library: Library, code: str):
    said, question = SAYINGS[code]
    answer = ask(library, question)
    assert not answer.abstained and Note(NoteKind.FOUND_BY_WORDS) in answer.notes
    assert answer.confidence == EVEN_ODDS
    first = answer.citations[0]
    assert first.name == f"{code}.txt"
    page = library.page(first.document_id, first.page)
    assert page.text[first.start : first.end] == first.quote
    assert said[1] in first.quote


@pytest.mark.parametrize("code", SAYINGS)
def test_the_language_of_a_document_is_known(library: Library, code: str):
    document = library.document(f"{code}.txt")
    assert (document.language, document.status) == (code, Status.READY)


def test_english_documents_say_so_too(library: Library):
    assert library.document("en.txt").language == "en"


def test_a_question_about_what_is_not_there_is_not_answered(library: Library):
    answer = ask(library, "谁在一九六九年登上了月球表面？")
    assert answer.abstained and answer.passages and Note(NoteKind.FOUND_BY_WORDS) in answer.notes


def test_the_command_line_tells_the_language(tmp_path: Path, monkeypatch, capsys):
    import json

    import rag_app.open_library
    from rag_app.cli import main
    from tests.fakes import WordEmbedder

    monkeypatch.setattr(rag_app.open_library, "MiniLmEmbedder", lambda threads: WordEmbedder())
    file = tmp_path / "fähre.txt"
    file.write_text("\n".join(SAYINGS["de"][0]), "utf-8")
    data = ["--data-dir", str(tmp_path / "data")]
    assert main(["add", str(file), *data]) == 0
    capsys.readouterr()
    assert main(["documents", "--json", *data]) == 0
    [listed] = json.loads(capsys.readouterr().out)
    assert listed["language"] == "de"
