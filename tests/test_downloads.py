"""What somebody downloads is theirs: no other session can fetch it, or learn that it is there."""

from __future__ import annotations

import ast
from pathlib import Path

from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

import rag_app.ui
from rag_app.ui.state import Session

UI = Path(rag_app.ui.__file__).parent
PART = 64 * 1024  # at the beginning, in the middle and at the end, which is all Streamlit looks at
SAME = b"a form that both have filled in " * (3 << 15)


def filled_in(words: bytes) -> bytes:
    """A large file that says something where Streamlit does not look."""
    at = PART + 5
    return SAME[:at] + words + SAME[at + len(words) :]


def test_a_file_of_others_is_never_given_out_for_ones_own():
    """Streamlit takes the two for one, and gives the first to both."""
    storage = MemoryMediaFileStorage("/media")
    given = {}
    for words in (b"Anna earns 900", b"Ben earns 4000"):
        type_ = Session().file_type
        name = storage.load_and_get_id(
            filled_in(words), type_, MediaFileKind.DOWNLOADABLE, "form.pdf"
        )
        given[words] = storage.get_file(name).content
    assert all(words in content for words, content in given.items())


def test_who_has_the_same_file_cannot_tell_that_others_look_at_it():
    storage, data = MemoryMediaFileStorage("/media"), b"the same letter"
    names = {
        storage.load_and_get_id(data, Session().file_type, MediaFileKind.DOWNLOADABLE, "a.txt")
        for _ in range(2)
    }
    assert len(names) == 2
    assert Session().file_type.startswith("application/octet-stream;")  # and never shown as a page


def test_every_file_of_the_page_is_named_so():
    """And pictures, sounds and the like, which have no such name, are not served from there."""
    for path in UI.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            assert node.func.attr not in ("image", "audio", "video", "pdf"), path
            if node.func.attr == "download_button":
                assert "current().file_type" in ast.unparse(node), path
