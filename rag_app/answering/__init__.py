"""Generators: question and passages to an answer."""
