"""What whoever runs the app can see of it: figures, lines of a log, traces. All of it is closed
until it is asked for, and stays on this machine but for the traces, which go where they are told.

Nothing here knows documents, and no name of a document or a person, and no word of a question, is
ever part of it."""
