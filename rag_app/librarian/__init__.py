"""What the library does, behind its façade: a part each."""
