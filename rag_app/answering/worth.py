"""What a sentence is worth in a summary, by its looks and by where it stands. Pure.

The clues are those of Edmundson 1969: where it stands, what it stands under, words of the title,
and phrases with which people say what a text is about. What is no sentence that can stand alone,
or belongs to the page rather than to what it says, is worth nothing. Phrases are English ones;
in other languages place and title still tell."""

from __future__ import annotations

import re
from collections.abc import Set

from rag_app.answering.words import stems

_WORD = re.compile(r"[^\W\d_]{2,}")
_FULL = re.compile(r"[.!?…。！？][\"'”’)\]]*(?:\[[\w ]{1,20}\])*\Z")
_FURNITURE = re.compile(
    r"://|www\.|\.{4}|\bdoi\b|©|\bcopyright\b|all rights reserved|permission to (?:make|copy)"
    r"|\b(?:archived|retrieved|accessed) (?:from|on)\b|^(?:keywords|categories and subject)"
    r"|indicate by check ?mark|\bregistrant\b|\bconstrued\b|\bunless otherwise (?:indicated|noted)"
    r"|\b(?:does|do) not create\b|\bnot intended (?:to be|as)\b"
    r"|incorporated (?:herein )?by reference|securities (?:registered|act)"
    r"|^references? to\b|table of contents|accompanying notes|forward.looking|\bthe terms? [“\"‘']"
    r"|\bet al\.,? \(?\d|\bed(?:s|itors)?\."
    r"|^\W*(?:\d{1,3}\.\s|\[\d+\]|(?:fig(?:ure)?s?|tables?|exhibit|note|page)\.? \d)"
    r"|\b(?:click|scroll|log in|sign up|subscribe|cookies)\b|\bISBN\b|\w@\w|\bvol\. \d"
    r"|\b(?:e\.g|i\.e|cf|sec|fig|eq|vol|pp?)\.\Z",
    re.IGNORECASE,
)
# A text about its own order.
_GUIDES = re.compile(
    r"\b(?:is|are) (?:structured|organi[sz]ed) as\b|\bshould be read\b|\b(?:rest|remainder) of th"
    r"|\bth(?:is|e (?:next|following|previous)) (?:section|chapter|appendix)\b"
    r"|\bsections? (?:\d|[ivx]+\b)|\bwe (?:call|refer)\b|^for (?:more|further|a|details)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\?[\"'”’)\]]*\Z")
# Words with which a sentence leans on the one before it.
_LEANS = re.compile(
    r"\W*(?:it|its|they|them|their|he|she|him|his|her|hers|such|however|but|and|or|also|therefore"
    r"|thus|hence|then|still|yet|instead|so|here|there|again|indeed|otherwise|likewise|similarly"
    r"|moreover|furthermore|additionally|consequently|accordingly|meanwhile|nevertheless"
    r"|nonetheless|finally|first(?:ly)?|second(?:ly)?|third(?:ly)?|next|lastly|some|others|both"
    r"|neither|another|few|none|see|refer|note|which|who|as (?:a result|noted|described"
    r"|discussed|mentioned|such|shown)|in (?:addition|contrast|turn|particular|this case|that case"
    r"|response|other words|fact)|for (?:example|instance|this|that|these|those)|on the other"
    r"|by (?:contrast|then)|at (?:that|this|the same)|at the time|after (?:that|this)"
    r"|the (?:above|following|former|latter|same|other|second|third|result|answer|resulting)"
    r"|the (?:increase|decrease|change|decline|rise|fall)(?= (?:was|is|were|reflect))"
    r"|(?:all|most|many|each|one|part|several) of (?:these|those|them|which)"
    r"|i|you|your|my)\b(?! of these terms)",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\W*(?:[\w’'-]+,?\s+){0,3}(?:these|those|this|that|such|it|its|he|his|she|her|they|their)\b",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(
    r"^\W*(?:if|when|whenever|unless|should|suppose|assume)\b"
    r"|\bwe (?:also|intend|believe|expect|anticipate|may|could|might)\b",
    re.IGNORECASE,
)
_WORK = (
    "paper|study|report|document|article|work|thesis|book|chapter|guide|handbook|manual|policy"
    "|agreement|contract|letter|notice|memo|memorandum|survey|review|proposal|proposed rule|plan"
    "|annual report|filing|presentation|lease|offer|rule|ad"
)
_OF_ITSELF = re.compile(rf"\b(?:this|the present|our) (?:[\w-]+ )?(?:{_WORK})\b", re.IGNORECASE)
_SAYS_WHAT = re.compile(
    r"\bwe (?:present|propose|introduce|show|describe|investigate|study|conclude|find|found"
    r"|demonstrate|report|develop|aim)\b|\b(?:results?|findings|experiments|analysis) (?:show|"
    r"indicate|suggest|demonstrate|reveal)|\b(?:principal|main|primary|core) (?:business|activit"
    r"|purpose|aim|goal|objective|result|finding)|\b(?:is|are|was) (?:engaged in|headquartered"
    r"|founded|incorporated|proposing|one of the (?:largest|leading|world))"
    r"|\b(?:we|company|organi[sz]ation|cooperative|group|firm) (?:(?:is|are) an?|operates?"
    r"|provides?|designs?|develops?|sells?)\b"
    r"|^(?:summary|abstract|conclusions?|in (?:summary|short|conclusion|brief)|overall)\b"
    r"|\b(?:total |net )?(?:revenues?|sales|profit|income|earnings) (?:was|were|for|of|rose|fell"
    r"|increased|decreased|grew|totall?ed|reached)\b|\b(?:decided|agreed|approved|requires?)\b",
    re.IGNORECASE,
)
_IS = re.compile(r"\s(?:is|are|was|were|refers to|means)\s(?:an?|the|one|among|any)\b")
_SUM = re.compile(r"[$€£¥]\s?\d|\d\s?(?:%|percent|per cent|million|billion|thousand)\b")
_IN_SHORT = (
    r"(?:abstract|summary|zusammenfassung|résumé|resumen|sommario|executive overview|highlights"
    r"|at a glance|in brief|key (?:points|findings|facts|figures|takeaways|results))"
)
_ABSTRACT = re.compile(rf"\b{_IN_SHORT}\b", re.IGNORECASE)
_LABEL = re.compile(rf"^\W*(?:\w+ )?{_IN_SHORT}(?:\W*$|\s*[:—–.-])", re.IGNORECASE | re.MULTILINE)
_OPENING = re.compile(
    r"\b(?:overview|introduction|conclusions?|about|purpose|scope|mission|our business|business"
    r"|general|background|letter to|results?|findings|discussion|decisions?|recommendations?"
    r"|outlook|financial performance|aims?|objectives?"
    r"|einleitung|überblick|fazit|introducción|conclusiones|fragestellung)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:references|bibliography|citations|external links|see also|further reading|notes?"
    r"|acknowledge?ments?|appendi(?:x|ces)|annex|exhibits?|signatures?|contents|index|glossary"
    r"|legal proceedings|risks?|cautionary|forward.looking|safe harbor|disclaimers?|controls"
    r"|certifications?|licen[cs]es?|contributions|competing interests|funding|availability|related"
    r"|unresolved|methods?|materials|data sources|properties|mine safety|executive officers"
    r"|available information|policies|estimates|market for|equity securities|quantitative"
    r"|pronouncements|competition|seasonality|intellectual property|trademarks?|comments invited"
    r"|raw materials|limitations|future work|examining|literatur\w*|quellen|impressum|inhalt\w*)\b",
    re.IGNORECASE,
)


def tells(sentence: str) -> float:
    """How well a sentence can stand alone, 0 to 1: rows of figures and stubs cannot."""
    words = _WORD.findall(sentence)
    if len(words) < 6 or len(words) > 60 or not _FULL.search(sentence):
        return 0.0
    letters = sum(map(len, words)) / max(1, len(sentence))
    if letters < 0.55 or not (
        sentence[0].isupper() or sentence[0] in "“\"'" or sentence[0].isdigit()
    ):
        return 0.0
    if _FURNITURE.search(sentence) or _titled(sentence):
        return 0.0
    worth = 1.0 if sentence.count("(") == sentence.count(")") else 0.4
    if _SUPPOSES.search(sentence):
        worth *= 0.6
    if _ASKS.search(sentence) or _GUIDES.search(sentence):
        worth *= 0.4
    if not _OF_ITSELF.search(sentence) and (_LEANS.match(sentence) or _POINTS.match(sentence)):
        worth *= 0.35
    return worth


def _titled(sentence: str) -> bool:
    """Whether it is a row of names or a heading: nearly every word has a capital."""
    words = [word for word in sentence.split() if word[0].isalpha()]
    return sum(word[0].isupper() for word in words) > 0.7 * len(words)


def stands_under(heading: str, text: str = "") -> float:
    """What standing under a heading is worth: under "Abstract" much, under "References" little.

    Such a label may also stand in the `text` itself."""
    last = heading.rsplit(" > ", 1)[-1]
    if _ABSTRACT.search(last) or _LABEL.search(text):
        return 2.0
    if _ASIDE.search(heading):
        return 0.25
    return 1.3 if _OPENING.search(last) else 1.0


def speaks_of(sentence: str, title: Set[str]) -> float:
    """What its words are worth: those of the title, and phrases that say what a text is about."""
    held = stems(sentence)
    worth = 1.0 + 0.6 * len(title & held) / max(3, len(title))
    defined = _IS.search(sentence)
    if defined and title & stems(sentence[: defined.start()]):
        worth *= 1.4
    if _OF_ITSELF.search(sentence) or _SAYS_WHAT.search(sentence):
        worth *= 1.3
    return worth * (1.2 if _SUM.search(sentence) else 1.0)
