"""Conversations as Markdown, HTML and JSON."""
