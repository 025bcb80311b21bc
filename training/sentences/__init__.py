"""Teaches the model that compares sentences with a question."""
