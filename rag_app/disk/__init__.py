"""The data directory: whose it is, the kept originals, room held back."""
