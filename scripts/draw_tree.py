"""Draw the tree of modules in docs/architecture.md anew: `python scripts/draw_tree.py`.

What is written there beside a module stays; a module that is new is added with the first sentence
of its docstring, and one that is gone is left out. tests/test_readme.py compares the tree with the
files."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
PACKAGE = "rag_app"
_TREE = re.compile(r"(?<=<!-- tree -->\n```\n).*?(?=```\n<!-- end of tree -->)", re.DOTALL)
_DOCSTRING = re.compile(r'"""(.+?)(?:\n\n|""")', re.DOTALL)  # its first paragraph
_COLUMN = 28  # where the sentences begin


def tree_of(page: str) -> str:
    """The tree as a page has it."""
    found = _TREE.search(page)
    if found is None:
        raise ValueError("docs/architecture.md has no tree between its two marks.")
    return found[0]


def drawn(tree: str) -> dict[str, str]:
    """By path below rag_app ("reading/" for a package): what the tree says of it, in its order."""
    paths: dict[str, str] = {}
    package = ""
    for line in tree.splitlines()[1:]:
        name, _, sentence = line.strip().partition(" ")
        deep = line.startswith("    ")
        package = package if deep else name if name.endswith("/") else ""
        paths[f"{package}{name}" if deep else name] = sentence.strip()
    return paths


def there() -> dict[str, str]:
    """By path below rag_app, in order of name: the first sentence of the docstring."""
    root = ROOT / PACKAGE
    found = {}
    for path in sorted(root.rglob("*.py")):
        short = path.relative_to(root).as_posix()
        if short != "__init__.py":
            found[short.removesuffix("__init__.py")] = _first_sentence(path)
    return found


def _first_sentence(path: Path) -> str:
    said = _DOCSTRING.match(path.read_text("utf-8"))
    words = " ".join(said[1].split()) if said else ""
    first = re.split(r"(?<=[a-z)]\.)\s(?=[A-Z])", words)[0]
    word = first[:1].lower() + first[1:] if first[1:2] == " " or first[1:2].islower() else first
    return word.rstrip(".")


def draw(before: dict[str, str], files: dict[str, str]) -> str:
    """The tree of these files, in the order and the words of `before` where it has them."""
    kept = {path: before[path] for path in before if path in files}
    tops = [path for path in kept if _is_top(path)]
    tops += [path for path in files if _is_top(path) and path not in kept]
    lines = [f"{PACKAGE}/"]
    for top in tops:
        lines.append(_line(top, kept.get(top) or files[top], "  "))
        inside = [
            p for p in (*kept, *files) if p != top and top.endswith("/") and p.startswith(top)
        ]
        for path in dict.fromkeys(inside):
            lines.append(_line(path.removeprefix(top), kept.get(path) or files[path], "    "))
    return "".join(f"{line}\n" for line in lines)


def _is_top(path: str) -> bool:
    return "/" not in path.removesuffix("/")


def _line(name: str, sentence: str, indent: str) -> str:
    return f"{indent + name:<{_COLUMN}} {sentence}".rstrip()


def main() -> int:
    """Write the page; the exit status is 0."""
    page = PAGE.read_text("utf-8")
    tree = draw(drawn(tree_of(page)), there())
    PAGE.write_text(_TREE.sub(lambda _: tree, page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
