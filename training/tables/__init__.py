"""Teaches which query a question over a table means, see README.md here."""
