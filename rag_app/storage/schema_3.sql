-- What was loaded from a bucket or a large folder (provenance.py, ingestion/loading.py): each file as
-- it was then, and the document that it is, NULL once that was removed here; or why it was refused.

CREATE TABLE loaded (
  source TEXT NOT NULL, collection TEXT NOT NULL, path TEXT NOT NULL, version TEXT NOT NULL,
  document_id TEXT REFERENCES documents ON DELETE SET NULL, refused TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (source, collection, path)) WITHOUT ROWID;
CREATE INDEX loaded_by_document ON loaded (document_id);
