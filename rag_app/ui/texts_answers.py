"""The English words around an answer: its buttons, its rating, why it was given, its export.

A part of texts.py, which has grown long. Pure: words and numbers in, a sentence out."""

from __future__ import annotations

from collections.abc import Sequence

from rag_app.answering.model_spec import ModelSpec
from rag_app.export import messages
from rag_app.models.catalogue import CATALOGUE
from rag_app.types import Answer, NoteKind, Task
from rag_app.ui import texts

ABOUT_ANSWER = "About this answer"
GOOD, BAD = "Good answer", "Bad answer"
COPY, COPIED = "Copy with its sources", "Copied"
READ_ALOUD = "Read aloud"
ANSWER_AGAIN = "Answer again"
EDIT = "Change the question"
WHY = "Why this answer?"
OFFLINE = (
    "The connection is lost. What you asked is kept, and this page goes on by itself as soon as "
    "it is back."
)
LOOKED_AT = "What else was looked at"
NOT_COPIED = "The browser did not allow copying."

TAKE_QUICKER, KEEP_SLOW = "Use the smaller one", "Not now"

WHAT_WAS_WRONG = "What was wrong with it?"
REASONS = {
    "wrong": "It is wrong",
    "not in the source": "The source does not say that",
    "incomplete": "Something is missing",
    "other": "Something else",
}
REASON_TEXT = "Say more, if you like"
SEND, SKIP = "Send", "Skip"
RATING_KEPT = "Kept on this computer; the app can learn from it."

EDITED_QUESTION = "Your question"
ASK_AGAIN, CANCEL_EDIT = "Ask", "Cancel"
ASK_ELSEWHERE = "Ask in a new conversation"
DELETED_ELSEWHERE = "This conversation was deleted in another window. Here you can begin a new one."

SOURCE_REMOVED = "Source removed"
EARLIER_QUOTE, LATER_QUOTE = "Previous quote", "Next quote"

EXPORT = "Save"
EXPORT_AS = (
    "This conversation as a file: a web page to read and print, Markdown for other programs, or "
    "JSON for programmers."
)
EXPORT_FORMATS = {"html": "Web page", "md": "Markdown", "json": "JSON"}
EXPORT_READY = "The web page is ready: save it"


def other_sheets(abstained: bool) -> str:
    """What leads to the sheets of which a question may be meant."""
    return "Ask one sheet alone:" if abstained else "Another sheet may be meant. Ask it of:"


def in_collection(name: str, collection: str) -> str:
    """A document of which there are several of one name, told from the others."""
    return f"{name} · {collection}" if collection else name


def export_progress(done: int, total: int) -> str:
    """How many of the pages that a web page shows are drawn."""
    return f"Drawing page {min(done + 1, total):,} of {total:,}"


READ_FROM = "Reading:"
PERHAPS = "The answer is being written. It may stand here:"
HELP_TITLE, HELP_CLOSE = "Help", "Close"
HELP = {
    "What can I ask?": (
        "Anything, in your own words. The small numbers behind a sentence lead to the place that "
        "it rests on: look there before you rely on it."
    ),
    "How do I ask one document only?": (
        "Untick the others on the left, or choose “Ask only this one” in the menu beside its name. "
        "The line that you write in says how many are asked."
    ),
    "How do I get a sum or a count?": (
        "Ask it of a sheet, and where you have several, of the right one only. Under the figure "
        "stand the rows that it is made of: look whether all are there."
    ),
    "Why does it say that it found nothing?": (
        "It would rather say nothing than something wrong. What came nearest stands below. Ask in "
        "other words, or one document only; in Settings you can have it answer more."
    ),
    "Where do my documents go?": (
        "They are read and kept where this app runs: on your computer, if you started it there. "
        "Only if a language model on another server is chosen under “Who answers” do questions and "
        "passages go there."
    ),
}
"""What people ask first, each with its answer; above the list of keys."""
SHORTCUTS_TITLE = "Keyboard"
SHORTCUTS_NOTE = (
    "Where nothing is being written, one key is enough; in Settings these keys can be turned off. "
    "Tab goes to everything else, Enter presses it, and Escape closes what is open."
)
SHORTCUTS_OFF = (
    "All of these keys but “?” are turned off in Settings. Tab goes to everything, Enter presses "
    "it, and Escape closes what is open."
)
ONE_KEY = "Shortcuts with a single key"
ONE_KEY_NOTE = (
    "“?” lists what each key does. Turn them off if you speak to your computer, or press keys by "
    "accident; “?” alone still opens its list."
)
SHORTCUTS = {
    "Everywhere": {
        "/": "Write a question",
        "u": "Add files",
        "n": "New conversation",
        "h": "Earlier conversations",
        "e": "Save the conversation",
        "s": "Search the text",
        "d": "Go to the documents",
        "f": "Filter the documents, where there are many",
        "t": "Summarise, compare, draft …",
        "a": "Choose who answers",
        ",": "Settings",
        "?": "This help",
    },
    "The last answer": {
        "1": "Open source 1, and so on to 9",
        "y": "Copy it",
        "r": "Read it aloud, or stop that",
        "w": "Why this answer?",
        "i": "Change the question",
        "m": "Answer again",
        "g": "Good answer",
        "b": "Bad answer",
        ".": "Stop it",
    },
    "The opened source": {
        "[": "Page before",
        "]": "Next page",
        "k": "Quote before",
        "j": "Next quote",
        "l": "Find in the document",
        "+": "Larger",
        "-": "Smaller",
        "o": "Download it",
        "x": "Translate the quote",
        "q": "Close it",
    },
}
"""By what they act on: each key and what it does; `browser.PRESSES` says what it presses."""

RESULT_FILE = "Download as a table"
HOW_COMPUTED = "How it was computed"

WHY_UNDERSTOOD = "Searched for"
WHY_SEARCHED = "Searched in"
WHY_MADE = "Made by"
WHY_SURE = "How sure"
WHY_TOOK = "It took"
WHY_PASSAGES = "What was found, the best first"
WHY_READ = "What was read"
WHY_NONE = "Nothing was found."
WHY_SCORE = (
    "The percentage is a passage’s share in the result of the search: all passages together make "
    "100 %. How it was found is what a search made just now says."
)
ALL_DOCUMENTS = "All your documents"
CITED_AS = "cited as"
_FRONT = 5  # places of a search that count as its best
_WELL, _LOOSE = 0.6, 0.25  # of the best passage's score


def rows_behind(number: int) -> str:
    """The label over the rows that a computed answer rests on."""
    return f"Rows behind it ({number:,})"


def more_rows(number: int) -> str:
    """Said under the first rows."""
    return f"and {texts.count(number, 'more row')}"


def earlier(number: int) -> str:
    """The button over the first question that is shown."""
    return f"Show {texts.count(number, 'earlier question')}"


def drops(number: int) -> str:
    """What asking a changed question again costs."""
    if number == 0:
        return ""
    return (
        f"{texts.count(number, 'later question')} of this conversation will be removed with "
        f"{'its answer' if number == 1 else 'their answers'}. In a new conversation, "
        "everything stays."
    )


def quote_of(number: int, total: int) -> str:
    """Which of the answer's quotes is shown."""
    return f"Quote {number:,} of {total:,}"


def made_by(answer: Answer) -> str:
    """Who made an answer, and how."""
    if answer.task is Task.CHITCHAT:
        return "The app itself, without an answer from your documents."
    if answer.generator == "quotes":
        return (
            "No language model. The sentences of your documents that fit the question best, "
            "word for word."
        )
    if answer.generator == "reader":
        return (
            "No language model. The reader that comes with the app marked the places in your "
            "documents that answer, word for word."
        )
    if answer.computation:
        return (
            f"The language model {answer.generator} wrote the query; the figures were computed "
            "from the tables themselves."
        )
    return (
        f"The language model {answer.generator}, from the passages below. A footnote stands where "
        "a sentence of your documents says the same."
    )


def how_sure(answer: Answer, caution: float) -> str:
    """What the confidence of an answer means."""
    percent = f"{100 * answer.confidence:.0f} %"
    if answer.task is Task.CHITCHAT:
        return "Nothing in your documents was taken for an answer."
    if answer.abstained and answer.confidence >= caution:
        return (
            f"Your documents seemed to hold an answer, {percent}, but none could be written whose "
            "words and figures they bear out."
        )
    if answer.abstained:
        return (
            f"The best place reached {percent}; under {100 * caution:.0f} % the app says that "
            "it does not know."
        )
    said = {note.kind for note in answer.notes}
    if {NoteKind.FOUND_BY_WORDS, NoteKind.NOT_ENGLISH} & said:
        return "That could not be judged: the figures were fitted on English."
    if answer.task not in messages.JUDGED:
        return "That is not judged: a piece of work like this is not simply right or wrong."
    in_words = messages.in_words(answer.confidence)
    return (
        f"{in_words.capitalize()}, {percent}: of 100 answers with this figure, about "
        f"{100 * answer.confidence:.0f} were right on questions whose answers are known."
    )


def took(answer: Answer) -> str:
    """Where the time went."""
    seconds = answer.seconds
    return f"{seconds.retrieve:.2f} s to search, {seconds.answer:.2f} s to answer"


def searched(names: Sequence[str] | None) -> str:
    """What was searched, by the names of the documents; None: all."""
    if names is None:
        return ALL_DOCUMENTS
    listed = ", ".join(names[:6])
    more = len(names) - 6
    return f"{listed} {texts.waiting_more(more)}" if more > 0 else listed


def strength(of_best: float, words: int | None, meaning: int | None) -> str:
    """How well a passage fits: by its score as a share of the best one's, and by its places in
    the searches by words and by meaning, because fused scores lie close together."""
    places = [place for place in (words, meaning) if place]
    front = [place for place in places if place <= _FRONT]
    if of_best < _LOOSE or not front:
        return "weak match"
    return "good match" if len(front) == 2 and of_best >= _WELL else "fair match"


def share(score: float) -> str:
    """A passage's score as a figure; of what is next to nothing none, as words say that."""
    figure = f"{100 * score:.0f}"
    return "" if figure == "0" else f"{figure} %"


def more_passages(number: int) -> str:
    """What is not shown at once."""
    return texts.count(number, "more passage")


def found_by(words: int | None, meaning: int | None) -> str:
    """Which search found a passage, and in which place."""
    how = [name for name, place in (("its words", words), ("its meaning", meaning)) if place]
    return f"found by {' and '.join(how)}" if how else "not found by the same search now"


def cited_as(numbers: Sequence[int]) -> str:
    """Which footnotes rest on a passage."""
    return f"{CITED_AS} {', '.join(map(str, numbers))}" if numbers else ""


def slow(quicker: ModelSpec, missing: bool) -> str:
    """That this computer reads slowly, and what a smaller language model would change."""
    brought = f" ({texts.size(CATALOGUE[quicker.model].bytes)} to download)" if missing else ""
    return (
        f"Answers take long on this computer. A smaller language model{brought} writes them in "
        "about half the time, and says more often that it does not know. You can go back under "
        "“Who answers”."
    )
