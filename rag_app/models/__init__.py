"""The language model that comes with the app: which there are, and whence."""
