"""The command line: a module for each group of commands."""

from rag_app.cli.entry import main

__all__ = ["main"]
