"""Work on documents besides questions: summarise, compare, draft, translate, another language."""

from __future__ import annotations

import streamlit as st

from rag_app.answering.answer_language import LANGUAGES
from rag_app.answering.model_spec import QUOTING, parse
from rag_app.answering.tasks import ASKED_OF
from rag_app.library import Library
from rag_app.text.highlighting import escape_markdown
from rag_app.types import Document, askable
from rag_app.ui import composer, conversation_list, model_picker, texts
from rag_app.ui.jobs import caught
from rag_app.ui.state import Place, Session, current, open_dialog, say
from rag_app.ui.widgets import button, text_button

_FIELD = "task_text"


def draw(library: Library) -> None:
    """The menu over the question's field; nothing while there is nothing to work on."""
    session = current()
    documents = _meant(library, session)
    # Its place is always there: if the field under it moved, what is being typed would be lost.
    with st.bottom, st.container(key="tasks", horizontal=True, vertical_alignment="center"):
        if documents:
            _menu(library, session, documents)
        conversation_list.draw_export(library)
    # A quote is translated whatever is ticked.
    if (documents or session.task_document) and session.dialog in texts.TASK_TITLES:
        _dialog(library, session, session.dialog)


def _menu(library: Library, session: Session, documents: list[Document]) -> None:
    st.menu_button(
        texts.TASKS,
        _offered(documents),
        key="task_menu",
        icon=":material/more_horiz:",
        type="tertiary",
        format_func=lambda task: escape_markdown(texts.task(task, documents)),
        on_click=_chosen,
        args=(library,),
    )
    if session.language:
        st.html(f"<p class='note'>{texts.answers_in(session.language)}</p>")


def translate_button(place: Place) -> None:
    """A button beside an opened source: its quote goes into the field for translations."""
    text_button(texts.TRANSLATE, "source_translate", _translate, place, icon="translate")


def _meant(library: Library, session: Session) -> list[Document]:
    """The documents that are ticked and can be asked."""
    documents = [d for d in library.documents() if askable(d)]
    chosen = session.chosen(documents)
    return documents if chosen is None else [d for d in documents if d.id in chosen]


def _offered(documents: list[Document]) -> list[str]:
    compared = ["compare"] if len(documents) > 1 else []
    return ["summarise", *compared, "draft", "translate", "language"]


def _dialog(library: Library, session: Session, task: str) -> None:
    by = session.generator or library.settings.answers_by
    able = parse(by).kind not in QUOTING

    @st.dialog(texts.TASK_TITLES[task], on_dismiss=open_dialog)
    def show() -> None:
        if not able:
            st.html(f"<p class='note'>{texts.TASKS_NEED_MODEL}</p>")
            if task != "language" or not session.language:  # another language can be undone
                return
        if task == "language":
            _language(library, session)
            return
        st.text_area(
            texts.TASK_HINTS[task],
            key=_FIELD,
            max_chars=library.settings.max_question_characters - 200,
        )
        if task == "translate":
            st.selectbox(
                texts.INTO,
                LANGUAGES,
                index=LANGUAGES.index(session.language or "English"),
                key="task_into",
            )
        if button(texts.TASK_TITLES[task], "task_go", type="primary"):
            _carry_out(library, session, task)

    show()


def _language(library: Library, session: Session) -> None:
    picked = model_picker.language_box("task_language")
    if button(texts.DONE, "task_go", type="primary"):
        session.dialog = ""
        model_picker.change(library, language=picked)
        st.rerun()


def _carry_out(library: Library, session: Session, task: str) -> None:
    text = str(st.session_state[_FIELD]).strip()
    if not text:
        st.html(f"<p class='note' role='alert'>{texts.TASK_EMPTY}</p>")
        return
    if task == "translate":
        asked = texts.translate(text, st.session_state["task_into"])
    else:
        asked = texts.draft(text)
    only = [session.task_document] if session.task_document else None
    session.dialog, session.task_document = "", ""
    composer.submit(library, asked, only=only)
    st.rerun()


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


@caught(say)
def _chosen(library: Library) -> None:
    session, task = current(), st.session_state["task_menu"]
    documents = _meant(library, session)
    names = [document.name for document in documents]
    if task == "summarise":
        many = len(documents) > ASKED_OF
        asked = texts.SUMMARISE_ALL if many else texts.summarise(*names)
        composer.submit(library, asked, only=[d.id for d in documents])
    elif task == "compare" and len(documents) > ASKED_OF:
        session.say(texts.COMPARES_FEW)
    elif task == "compare":
        composer.submit(library, texts.compare(names), only=[d.id for d in documents])
    elif task:
        session.dialog, session.task_document = task, ""


def _translate(place: Place) -> None:
    session = current()
    session.dialog, session.task_document = "translate", place.document_id
    st.session_state[_FIELD] = place.quote
