-- Whose turn it is in the queue (queue.py, ingestion/turns.py): who handed a document in (empty: the
-- command line, or a folder), and its place among theirs, the least first.

ALTER TABLE documents ADD COLUMN added_by TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN place REAL NOT NULL DEFAULT 0;
CREATE INDEX document_by_turn ON documents (status, added_by, place, size);
