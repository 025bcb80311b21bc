"""Turn untrusted text and offsets into something safe to show: marked HTML, Markdown, boxes.

Everything is escaped first; only then are marks and links of our own put in.
Knows nothing of Streamlit, of files or of how an answer came to be."""

from __future__ import annotations

import calendar
import html
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rag_app.text.formats import page_name
from rag_app.types import Box, Citation, PagePicture

CITE = "#cite:"  # what the link of a citation starts with; a heading's own anchor has no colon
_TITLE_CHARACTERS = 320


def merge_spans(spans: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """The same coverage as sorted spans with a gap between any two, inside 0..length."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted((max(0, a), min(length, b)) for a, b in spans):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def mark(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """HTML that shows exactly `text`, with `<mark>` around the spans.

    No markup of the text survives; to keep its line breaks show it with `white-space: pre-wrap`."""
    pieces: list[str] = []
    done = 0
    for start, end in merge_spans(spans, len(text)):
        pieces += [html.escape(text[done:start]), f"<mark>{html.escape(text[start:end])}</mark>"]
        done = end
    return "".join([*pieces, html.escape(text[done:])])


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle on a picture, in percent of its width and height."""

    left: float
    top: float
    width: float
    height: float


def _one_line(a: Box, b: Box) -> bool:
    """Whether two boxes stand on one line, with no more than a wide space between them."""
    height = min(a.y1 - a.y0, b.y1 - b.y0)
    overlap = min(a.y1, b.y1) - max(a.y0, b.y0)
    gap = max(a.x0, b.x0) - min(a.x1, b.x1)
    return overlap >= 0.5 * height and gap <= max(height, 2.0)


def merge_boxes(boxes: Sequence[Box]) -> tuple[Box, ...]:
    """Boxes of one line become one box; every given box lies inside one that comes back."""
    merged: list[Box] = []
    for box in sorted(boxes, key=lambda b: (b.y0, b.x0)):
        while near := next((other for other in merged if _one_line(other, box)), None):
            merged.remove(near)
            box = box.union(near)
        merged.append(box)
    return tuple(sorted(merged, key=lambda b: (b.y0, b.x0)))


def areas(boxes: Sequence[Box], picture: PagePicture, pad: float = 2.0) -> tuple[Area, ...]:
    """Where the boxes lie on the picture, one per line, `pad` points wider on each side."""
    found = []
    for box in merge_boxes(boxes):
        x0, x1 = max(0.0, box.x0 - pad), min(picture.width, box.x1 + pad)
        y0, y1 = max(0.0, box.y0 - pad), min(picture.height, box.y1 + pad)
        if x0 < x1 and y0 < y1:
            found.append(
                Area(
                    left=100 * x0 / picture.width,
                    top=100 * y0 / picture.height,
                    width=100 * (x1 - x0) / picture.width,
                    height=100 * (y1 - y0) / picture.height,
                )
            )
    return tuple(found)


_PUNCTUATION = frozenset(string.punctuation)
# What makes Markdown, as it is shown here, link a text that is no link; also behind a backslash.
_LINKED = r"https?(?=\\?:\\?/\\?/)|www(?=\\?\.)|(?<=[\w.+-])@(?=[\w-])"
_INNER = re.compile(r"(?<=\w)[.'-](?=\w)|,")
# What Streamlit looks for in the text that is left once Markdown is read, where no backslash helps:
# the colon before the name of an icon, an emoji or its logo (not those of times and hex groups).
_NAMED = r":(?=[^\s:]+:)(?!(?<=[0-9a-f]:)[0-9a-f]{1,4}:)"
_ARROW = r"(?<!\S)(?:<->|->|<-|--|>=|<=|~=)(?!\S)"
_LIVE = re.compile(f"{_LINKED}|{_NAMED}|{_ARROW}", re.IGNORECASE)


_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute


def escape_formula(cell: str) -> str:
    """A cell of a file for spreadsheets that is a text there, whatever it begins with."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def escape_markdown(text: str) -> str:
    """Markdown that shows `text` on one line, as it is, in a Streamlit text or a widget's label."""
    line = " ".join("".join(c if c.isprintable() else _blank(c) for c in text).split())
    # a word joiner (no width, no break) keeps an address from becoming a live link, and a name
    # between colons from being drawn
    line = _LIVE.sub(lambda found: found.group() + "\u2060", line)
    # Inside words these mean nothing, and screen readers are given labels as they are written here.
    return "".join(
        f"\\{c}" if c in _PUNCTUATION and not _INNER.match(line, at) else c
        for at, c in enumerate(line)
    )


def _blank(character: str) -> str:
    return " " if character.isspace() else ""


# One pass over the text of an answer; the first alternative that fits wins. Something is taken for
# code only where no Markdown parser can see it otherwise: a closed fence of backticks at the
# margin, or a span inside one line and one table cell. Every other backtick is escaped, so that
# none can pair up.
_MARKED_UP = re.compile(
    rf"""
      (?P<code> ^(?P<fence>`{{3,}}+)[^`\n]*\n (?:(?![ \t]*`{{3}}).*\n)* (?P=fence)[ ]*$
              | (?<!`)(?P<run>`++)[^`|\n]+(?P=run)(?!`) )
    | (?P<sign> \\?{_NAMED} )
    | \\(?P<escaped> [!-/:-@\[-`{{-~] )
    | \[(?P<number> [1-9]\d{{0,2}} )\]
    | (?P<address> {_LINKED} )
    | (?P<special> [<$\[`\\:] | !(?=\[) | ~(?=~~) | &(?=\#|commat|period|colon|sol) )
    """,
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
_PLAIN = re.compile(
    rf"""
      \[(?P<number> [1-9]\d{{0,2}} )\]
    | (?P<address> {_LINKED} )
    | (?P<indent> (?:^|(?<=\n))[ \t]+ )
    | (?P<sign> [-<>=~:](?=[-<>=]) | {_NAMED} )
    | (?P<special> [!-/:-@\[-`{{-~] )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ENTITIES = {"<": "&lt;", ":": "&#58;", "&": "&amp;"}


def link_citations(
    answer_text: str,
    citations: Sequence[Citation],
    message_id: str,
    *,
    plain: bool = False,
    where: Callable[[Citation], str] = lambda c: page_name(c.name, c.page),
    stressed: str | None = None,
) -> str:
    """Markdown for `st.markdown` in which `[n]` of a real citation is a link to it.

    Other markers are dropped. The text is untrusted: emphasis, lists, tables and code stay (or, if
    it is `plain` text of a document, nothing at all means anything), links, images, HTML, formulas
    and directives do not. A link is `[n](#cite:<message>-<n> "document · page 3 — quote")`;
    `where` says which page it is. Figures are bold, and the words that are `stressed`; with None
    nothing is. A `plain` text's own lists and rows of a table are shown as such."""
    known = {citation.number: citation for citation in citations}
    tokens = _PLAIN if plain else _MARKED_UP
    text = answer_text.replace("\r\n", "\n").replace("\r", "\n")
    text = _OURS.sub("", text)
    text = text if stressed is None else _stress(text, stressed, plain)
    text = _blocks(text) if plain else text
    # Before anything is escaped, and again if dropping one marker uncovers another.
    while (shorter := _without_unknown(text, tokens, known)) != text:
        text = shorter
    links = {n: _link(c, where(c), message_id) for n, c in known.items()}
    safe = tokens.sub(lambda token: _safe(token, links), text)
    return _OURS.sub(lambda mark: _MEANT[mark.group()], safe)


# Characters of no language stand for the Markdown that is ours, until all else is escaped.
_BOLD, _BARE, _ITEM, _POINT, _CELL, _DASH = "\ue000\ue001\ue002\ue003\ue004\ue005"
_MEANT = {_BOLD: "**", _BARE: "**", _ITEM: "- ", _POINT: ". ", _CELL: "|", _DASH: "---"}
_OURS = re.compile(f"[{''.join(_MEANT)}]")

WRITTEN_MONTH = f"(?:{'|'.join([*calendar.month_name[1:], *calendar.month_abbr[1:]])})"
_NTH = r"\d{1,2}(?:\.|[a-zºª]{1,2}\b)?"  # 5, 5., 5th
_OF = r"(?:[a-z]{2}\s)?"
WRITTEN_DAY = (
    rf"{_NTH}\s{_OF}[^\W\d_]{{3,10}}\s{_OF}\d{{4}}|[^\W\d_]{{3,10}}\s{_NTH},?\s\d{{4}}"
    rf"|{_NTH}\s{_OF}{WRITTEN_MONTH}\b|{WRITTEN_MONTH}\s{_NTH}"
)
"""A day with the name of its month, as a pattern: "5 March 2026", "March 5th, 2026", "5. März"."""
_AMOUNT = (
    r"[$€£¥]?\d(?:[\d.,:/'’\u00a0\u202f-]*\d)?"
    r"(?:\s?[%€£¥]|\s[A-Z]{3}\b|\s[ap]m\b|[a-z]{2,3}|[ºª])?"
)
# Not what numbers a paragraph ("6.1 Doors", "(2)"), and nothing that is glued to other letters than
# those of an ordinal or a unit ("5th", "10am").
_FIGURE = re.compile(rf"(?<=[^\S\n])(?:{WRITTEN_DAY}|{_AMOUNT})(?![\w\])]|[.,:/]\d)")
_STRESSABLE = re.compile(r"[\w.,'’&%€£$ -]{2,120}")
_MARKUP = re.compile(r"[*_`~]|^(?: {4}|\t)")


def _stress(text: str, words: str, plain: bool) -> str:
    """Figures and the words made bold, on lines of a text that say nothing of it themselves."""
    if "```" in text:
        return text
    wanted = words.strip(" .,-")
    found = re.escape(wanted) if _STRESSABLE.fullmatch(wanted) else "(?!)"
    whole = rf"(?<!\w)(?<!\d[.,:/]){found}(?!\w)(?![.,:/]\d)"  # no half of a date or a figure
    either = re.compile(rf"{whole}|{_FIGURE.pattern}")
    return "\n".join(
        either.sub(lambda one: f"{_BOLD}{one.group()}{_BARE}", line)
        if plain or not _MARKUP.search(line)
        else line
        for line in text.split("\n")
    )


_RULE = re.compile(r"^[ \t|:-]*-[ \t]*\|[ \t|:-]*\n?", re.MULTILINE)
_FIRST_BAR = re.compile(r"^[ \t]*\|[ \t]+", re.MULTILINE)
_LAST_BAR = re.compile(r"[ \t]+\|((?:[ \t]*\[\d+\])*)[ \t]*$", re.MULTILINE)


_BULLET = re.compile(r"[ \t]*(?:[•▪◦‣·*–-][ \t]+|(\d{1,2})[.)][ \t]+)(?=\S)")
_ROW = re.compile(r".*\S \| .*")


def _blocks(text: str) -> str:
    """A quote's list as a list, its rows as a table; a row alone without bars: "Couple · £380"."""
    lines = _RULE.sub("", text).split("\n")
    kinds = ["row" if _ROW.fullmatch(x) else "item" if _BULLET.match(x) else "" for x in lines]
    done: list[str] = []
    for at, (line, kind) in enumerate(zip(lines, kinds, strict=True)):
        before, after = kinds[at - 1] if at else "", (*kinds, "")[at + 1]
        many = bool(kind) and kind in (before, after)
        if many and kind != before:
            done.append("")  # what comes before is another paragraph
        if many and kind == "item":
            line = _BULLET.sub(_item, line, count=1)
        elif many:
            bare = _bare(line)
            line = _CELL.join(["", *(f" {cell} " for cell in bare.split(" | ")), ""])
            columns = bare.count(" | ") + 1
            if kind != before:
                line += "\n" + _CELL.join(["", *[_DASH] * columns, ""])
        elif kind == "row":
            line = _bare(line).replace(" | ", " · ")
        done.append(line)
        if many and kind != after:
            done.append("")
    return "\n".join(done)


def _bare(row: str) -> str:
    return _LAST_BAR.sub(r"\1", _FIRST_BAR.sub("", row))


def _item(bullet: re.Match[str]) -> str:
    return f"{bullet[1]}{_POINT}" if bullet[1] else _ITEM


def _without_unknown(text: str, tokens: re.Pattern[str], known: Mapping[int, Citation]) -> str:
    dropped = "\0"  # cannot be in the text of an answer, and is gone at the end

    def replacement(token: re.Match[str]) -> str:
        number = token["number"]
        return dropped if number and int(number) not in known else token.group()

    marked = tokens.sub(replacement, text.replace(dropped, ""))
    return re.sub(rf"[ ]?{dropped}(?=[.,;:!?)]|$)|{dropped}", "", marked)


def _safe(token: re.Match[str], links: Mapping[int, str]) -> str:
    """What stands in the Markdown for one token of the answer."""
    groups = token.groupdict()
    if groups["number"]:
        return links[int(groups["number"])]
    if groups["address"] or groups.get("escaped") == "@":
        return f":gray[{groups['address'] or '@'}]"  # text of its own, so that nothing is linked
    if groups.get("code"):
        return token.group()
    if groups.get("indent"):
        return ""
    character = groups.get("escaped") or (groups["sign"] or groups["special"])[-1]
    # a word joiner keeps Streamlit from drawing arrows, dashes, icons, emojis or its logo
    return _ENTITIES.get(character, "\\" + character) + ("\u2060" if groups["sign"] else "")


_DASH_ALONE = re.compile(r"(?<=\s)—(?=\s|$)")  # before a quote it stands once


def _link(citation: Citation, where: str, message_id: str) -> str:
    place = f"{citation.name} · {where}" if where else citation.name
    place = _DASH_ALONE.sub("–", place)
    title = " ".join(f"{place} — {citation.quote}".split())
    if len(title) > _TITLE_CHARACTERS:
        title = title[: _TITLE_CHARACTERS - 1].rsplit(" ", 1)[0] + "…"
    encoded = "".join(c if c.isalnum() or c in " .,;()%—·…" else f"&#{ord(c)};" for c in title)
    return f'[{citation.number}]({CITE}{message_id}-{citation.number} "{encoded}")'
