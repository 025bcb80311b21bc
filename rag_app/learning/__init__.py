"""A question encoder trained on the library that it will serve."""
