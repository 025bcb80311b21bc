"""Which part of a web page is what people come for, where the page itself says so.

A page names its main part (main, article …). It is taken alone if nearly all sentences of the page
stand in it: menus are no sentences. Where that is not so, as on a page of many articles or of
links, everything is read: nothing is guessed away."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from rag_app.reading.elements import BLOCKS, UNSEEN, is_shown, walk

_PARTS = "main, [role=main], article, [itemprop=articleBody]"
_MOST_PARTS = 60  # more are a list of articles, none of which is the page
_SHARE = 0.8  # of the page's sentences
_LEAST = 300  # characters of sentences: less says nothing about shares
_SENTENCE = 60  # characters, beside links, from which a block is more than a label
_MENU = 6  # links that make one
_LINKED = 0.9  # of the letters of a menu
_WIDER = 1.5  # times the text: a part may be widened so far to hold its heading and who wrote it
_CONSENT = ", ".join(
    f"[{attribute}*={word} i]"
    for word in ("cookie", "consent", "gdpr", "onetrust", "didomi")
    for attribute in ("id", "class")
)
_SMALL = 0.25  # of the page's text: a larger one is about cookies, not a question about them


@dataclass(frozen=True, slots=True)
class Chosen:
    """What of a page is to be read."""

    part: LexborNode | None = None  # None: everything
    heading: str = ""  # of the page, if it stands outside of the part
    without: Collection[int] = ()  # elements that ask something of the visitor, by `mem_id`


def everything(parser: LexborHTMLParser) -> Chosen:
    """All that is shown, as for a message or a chapter of a book."""
    return Chosen()


def main_content(parser: LexborHTMLParser) -> Chosen:
    """The main part of a page, if it is told from the rest."""
    body = parser.body
    if body is None:
        return Chosen()
    without = _questions(parser, body)
    parts = parser.css(_PARTS)
    whole = _sentences(body, without) if 0 < len(parts) <= _MOST_PARTS else 0
    if whole < _LEAST:
        return Chosen(without=without)
    held = [(_sentences(part, without), len(part.text()), part) for part in parts]
    able = [each for each in held if each[0] >= _SHARE * whole]
    if not able:
        return Chosen(without=without)
    part = min(able, key=lambda each: each[:2])[2]
    without |= _menus(part)
    headings = [node for node in parser.css("h1") if node.text().strip()]
    if len(headings) != 1 or part.css_first("h1") is not None:
        return Chosen(part, without=without)
    wider = _around(part)
    if wider is not None:
        return Chosen(wider, without=without)
    return Chosen(part, " ".join(headings[0].text().split()), without)


def _menus(part: LexborNode) -> frozenset[int]:
    """The lists of nothing but links that stand before the first sentence of a part: the other
    languages of a page, its contents, which its headings say again."""
    menus = set()
    here = 0
    for node, entering in walk(part, lambda each: each.mem_id not in menus and _is_read(each, ())):
        tag = node.tag or ""
        if entering and tag in ("ul", "ol") and _is_menu(node):
            menus.add(node.mem_id)
        elif tag == "-text":
            here += len(" ".join((node.text_content or "").split()))
        elif tag in BLOCKS:
            if here >= _SENTENCE:
                break
            here = 0
    return frozenset(menus)


def _is_menu(node: LexborNode) -> bool:
    links = node.css("a")
    linked = sum(len("".join(link.text().split())) for link in links)
    return len(links) >= _MENU and linked >= _LINKED * len("".join(node.text().split()))


def _around(part: LexborNode) -> LexborNode | None:
    """The nearest element around a part that has the heading, if it has little more."""
    most = _WIDER * len(part.text())
    around = part.parent
    while around is not None and around.tag not in ("body", "html") and len(around.text()) <= most:
        if around.css_first("h1") is not None:
            return around
        around = around.parent
    return None


def _questions(parser: LexborHTMLParser, body: LexborNode) -> frozenset[int]:
    """The boxes that ask whether cookies may be set: named so, small, and no part of the text."""
    most = _SMALL * len(body.text())
    return frozenset(
        node.mem_id
        for node in parser.css(_CONSENT)
        if node.tag not in ("html", "body")
        and len(node.text()) < most
        and node.css_first(f"h1, {_PARTS}") is None
    )


def _sentences(root: LexborNode, without: Collection[int]) -> int:
    """Characters of what reads as text under an element: not of links, not of labels."""
    total = here = 0
    in_link = 0
    for node, entering in walk(root, lambda each: _is_read(each, without)):
        tag = node.tag or ""
        if tag == "-text" and not in_link:
            here += len(" ".join((node.text_content or "").split()))
        elif tag == "a":
            in_link += (1 if entering else -1) * _is_read(node, without)  # else it is not left
        elif tag in BLOCKS:
            total += here if here >= _SENTENCE else 0
            here = 0
    return total + (here if here >= _SENTENCE else 0)


def _is_read(node: LexborNode, without: Collection[int]) -> bool:
    return node.tag not in UNSEEN and node.mem_id not in without and is_shown(node)
