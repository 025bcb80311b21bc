"""Whether an answer is right, by its words alone. Pure.

An answer is right when it holds everything it must and nothing it must not, and a question without
an answer in the documents is done right by saying so. Who says nothing is silent, which costs
less than being wrong. Judging by patterns needs no model and is the same every time; it cannot see
whether a sentence reads well."""

from __future__ import annotations

import re

from benchmarks.kitchen_table.questions import UNANSWERABLE, Question

RIGHT, WRONG, SILENT = VERDICTS = ("right", "wrong", "silent")

_MARKERS = re.compile(r"\s?\[\d+(?:\s?[,;–-]\s?\d+)*\]")
_SPACES = re.compile(r"[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200d\u2060\ufeff]")
_DASHES = re.compile(r"[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
# Stars stand inside words, too; a single underscore does not: file_name_2 keeps its own.
_EMPHASIS = (
    re.compile(r"(\*{1,3})(?=\S)(.+?)(?<=\S)\1", re.DOTALL),
    re.compile(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)", re.DOTALL),
    re.compile(r"(`{1,3})(.+?)\1", re.DOTALL),
)


def normalised(answer: str) -> str:
    """An answer without footnote markers and emphasis, with plain spaces and dashes."""
    text = _MARKERS.sub("", answer)
    text = _DASHES.sub("-", _SPACES.sub(" ", _INVISIBLE.sub("", text)))
    for emphasis in _EMPHASIS:
        text = emphasis.sub(r"\2", text)
    return text.strip()


def holds(question: Question, answer: str) -> bool:
    """Whether an answer says everything it must and nothing it must not."""
    text = normalised(answer)
    wanted = all(one.search(text) for one in question.must)
    return wanted and not any(one.search(text) for one in question.must_not)


def verdict(question: Question, answer: str, refused: bool) -> str:
    """One of VERDICTS; `refused` is what the answering side says of itself."""
    if question.kind == UNANSWERABLE:
        return RIGHT if refused else WRONG
    if refused:
        return SILENT
    return RIGHT if holds(question, answer) else WRONG


# Peers do not say that they refuse; their words do. Used for judging them only, and generously:
# whatever sounds like a refusal is one, unless the answer is right all the same.
_REFUSALS = re.compile(
    r"""
    (?:do|does|did)(?:\ not|n['’]t)\ (?:\w+\ )?(?:know|have|contain|mention|provide|specify|state
        |include|say|give|indicate|appear|list|disclose|find|cover|address|explicitly|directly)
    | (?:not|n['’]t|never|nor)\ (?:\w+\ ){0,3}(?:mentioned|provided|specified|stated|given|included
        |available|known|listed|found|disclosed|indicated|contained|present|clear|possible\ to)
    | (?:can(?:not|['’]t|\ not)|unable\ to|not\ able\ to|impossible\ to)\ (?:\w+\ )?(?:answer|tell
        |determine|find|provide|say|give|know|be\ (?:determined|found|answered))
    | \b(?:no|any|without|insufficient|not\ enough|lacks?)\ (?:\w+\ ){0,2}(?:information|mention
        |details?|data|indication|answer|context|record|reference)\b
    | \bunknown\b | \bunsure\b | \bnot\ sure\b | \bI['’]?m\ sorry\b | \bI\ am\ sorry\b
    | weiß\ (?:ich\ )?(?:es\ |das\ )?nicht | \bkeine\ (?:\w+\ )?(?:Angaben?|Informationen?|Antwort
        |Auskunft|Daten|Hinweise?)
    | nicht\ (?:\w+\ ){0,2}(?:erwähnt|angegeben|genannt|enthalten|bekannt|bestimmt|beantworte\w*
        |vor\b|verfügbar|ersichtlich|hervor)
    | \bunbekannt\b | tut\ mir\ leid
    | \bno\ (?:lo\ )?(?:sé|se\ sabe|se\ (?:menciona|indica|especifica|proporciona|encuentra|puede)
        |hay|tengo|dispongo|puedo|consta|contiene|aparece|proporciona|menciona|especifica)
    | desconoc\w+ | lo\ siento
    """,
    re.IGNORECASE | re.VERBOSE,
)


def refusing(answer: str) -> bool:
    """Whether an answer's words refuse; silence does."""
    text = normalised(answer)
    return not text or bool(_REFUSALS.search(text))


def sounds_refused(question: Question, answer: str) -> bool:
    """Whether a peer's answer is to count as a refusal."""
    if not normalised(answer):
        return True
    return refusing(answer) and (question.kind == UNANSWERABLE or not holds(question, answer))
