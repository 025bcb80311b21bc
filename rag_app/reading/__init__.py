"""From a file's bytes to pages: one reader per family of formats, run in a child process.

Importing this package is cheap: a parser is loaded by the process that uses it."""

from rag_app.reading.detection import NAMES, detect
from rag_app.text.formats import LOCKABLE

__all__ = ["LOCKABLE", "NAMES", "detect"]
