"""Measured side by side with what a user would pick instead; not part of the package."""
