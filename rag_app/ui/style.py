"""How the page looks beyond what the theme in .streamlit/config.toml can say.

The rules are files under `assets/`; layout.css begins with what they may hold on to."""

from __future__ import annotations

import base64
import io
import json
from functools import cache
from importlib.resources import files

from PIL import Image, ImageDraw

from rag_app.ui import texts, texts_library

# Later ones win where two say something of the same element.
_SHEETS = ("layout", "documents", "pages", "chat", "welcome", "source", "answers", "library")


@cache
def asset(name: str) -> str:
    """A CSS or JavaScript file of the package, as text."""
    return (files("rag_app.ui") / "assets" / name).read_text(encoding="utf-8")


@cache
def css() -> str:
    """All rules of the page as one <style> element; the words in them come from the texts."""
    words = {"drop-here": texts.DROP_HERE, "folder-here": texts_library.FOLDER_HERE}
    # A JSON string is a CSS string as long as nothing in it is escaped.
    said = "".join(f"--{name}: {json.dumps(text)}; " for name, text in words.items())
    rules = "".join(asset(f"{sheet}.css") for sheet in _SHEETS)
    return f"<style>:root {{ {said}}}\n{rules}</style>"


@cache
def icon() -> str:
    """The page's icon as the address of itself, drawn here: a sheet with one line marked.

    A named one would be fetched, and files of the app are only for who is signed in."""
    image = Image.new("RGBA", (64, 64))
    pen = ImageDraw.Draw(image)
    pen.rounded_rectangle((10, 4, 54, 60), 8, fill="#2f5bd0")
    for top, colour in ((16, "#ffffff"), (28, "#ffd84d"), (40, "#ffffff")):
        pen.rounded_rectangle((18, top, 46, top + 6), 3, fill=colour)
    written = io.BytesIO()
    image.save(written, "PNG")
    return f"data:image/png;base64,{base64.b64encode(written.getvalue()).decode('ascii')}"
