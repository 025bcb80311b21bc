"""Everything between a file that is handed in and the worker that reads it."""
