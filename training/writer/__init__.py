"""How the writer is taught to answer from passages: README.md, "The writer"."""
