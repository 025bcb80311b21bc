-- Scanned pages (recognised.py): a row is a page without text. `words` is null until its text has
-- been recognised; then it says where its words stand, as JSON. `trouble` says what went wrong.

CREATE TABLE scans (
  document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, page INTEGER NOT NULL,
  words TEXT, trouble TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (document_id, page)) WITHOUT ROWID;

CREATE INDEX scans_waiting ON scans (document_id) WHERE words IS NULL;
