"""Formulas of Office files (Office MathML), written in one line as one types them: "(a+b)/2"."""

from __future__ import annotations

from xml.etree.ElementTree import Element

_PROPERTIES = ("rPr", "ctrlPr")
_SIGNS = {"sup": "^", "sub": "_"}  # before what is set higher or lower


def formula(element: Element, before: str = "") -> str:
    """A formula, or a part of one, behind the text `before`. What it only shows by its place is
    said with signs: a fraction, apart from a whole number before it, a power, a root, brackets."""
    if element.tag == "f":
        return f" {_fraction(element)}" if before[-1:].isdigit() else _fraction(element)
    if element.tag == "rad":
        return f"{_part(element, 'deg')}√{_one(_part(element, 'e'))}"
    if element.tag == "d":
        between = _said(element, "dPr/sepChr", "|").join(map(_inside, element.iterfind("e")))
        return f"{_said(element, 'dPr/begChr', '(')}{between}{_said(element, 'dPr/endChr', ')')}"
    if element.tag == "nary":
        return _said(element, "naryPr/chr", "∫") + _inside(element)
    if element.tag in _SIGNS:
        raised = _inside(element)
        return f"{_SIGNS[element.tag]}{_one(raised)}" if raised else ""
    return element.text or "" if element.tag == "t" else _inside(element, before)


def _inside(element: Element, before: str = "") -> str:
    line = ""
    for child in element:
        if child.tag not in _PROPERTIES:
            line += formula(child, line or before)
    return line


def _fraction(element: Element) -> str:
    above, below = _part(element, "num"), _part(element, "den")
    if _said(element, "fPr/type", "bar") == "noBar":  # one above the other, nothing divided
        return f"{above} {below}"
    return f"{_one(above)}/{_one(below)}"


def _part(element: Element, name: str) -> str:
    found = element.find(name)
    return "" if found is None else _inside(found)


def _one(text: str) -> str:
    """A part that is more than a name or number in brackets, as it has to be in one line."""
    is_one = not text or text.replace(".", "").replace(",", "").isalnum()
    in_brackets = text.startswith("(") and text.find(")") == len(text) - 1
    return text if is_one or in_brackets else f"({text})"


def _said(element: Element, path: str, otherwise: str) -> str:
    """The value of a property; one that is there without a value is empty."""
    found = element.find(path)
    return otherwise if found is None else found.get("val", "")
