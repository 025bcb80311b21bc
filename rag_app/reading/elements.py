"""The elements of a web page: which are shown, which stand on lines of their own, one after the
other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from selectolax.lexbor import LexborNode

Test = Callable[[LexborNode], bool]

_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
UNSEEN = frozenset(
    [
        "head", "script", "style", "noscript", "template", "svg", "math", "canvas", "iframe",
        "object", "nav", "button", "select", "textarea", "datalist", "dialog", "ix:header",
    ]
)  # fmt: skip
BLOCKS = frozenset(
    [
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details",
        "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2",
        "h3", "h4", "h5", "h6", "header", "hr", "legend", "li", "menu", "ol", "optgroup", "option",
        "p", "pre", "section", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul",
    ]
)  # fmt: skip


def is_shown(node: LexborNode) -> bool:
    """Whether an element says nothing against being shown."""
    attributes = node.attributes
    if not attributes:
        return True
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return False
    return attributes.get("role") != "navigation" and not _HIDDEN.search(
        attributes.get("style") or ""
    )


def walk(root: LexborNode, goes_in: Test) -> Iterator[tuple[LexborNode, bool]]:
    """(node, entering) in the order of the page; what is inside an element is between its two."""
    waiting: list[tuple[LexborNode, bool]] = [(root, True)]
    while waiting:
        node, entering = waiting.pop()
        yield node, entering
        if not entering or not node.is_element_node or not goes_in(node):
            continue
        waiting.append((node, False))
        child = node.last_child
        while child is not None:
            waiting.append((child, True))
            child = child.prev
