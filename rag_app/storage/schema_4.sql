-- The queue: files inside files, watched folders, and how every document came here (queue.py,
-- family.py, folders.py). A document goes when the last of its origins goes.

-- Documents that a person handed in.
CREATE TABLE handed_in (
  document_id TEXT PRIMARY KEY REFERENCES documents ON DELETE CASCADE) WITHOUT ROWID;
INSERT INTO handed_in SELECT id FROM documents;

-- Documents that came out of another document, and what they are called in it.
CREATE TABLE parts (
  container_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
  document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, name TEXT NOT NULL,
  PRIMARY KEY (container_id, document_id)) WITHOUT ROWID;
CREATE INDEX part_by_document ON parts (document_id);

-- Folders that are kept in step, and their files as they were when they were last taken in.
CREATE TABLE watched (
  folder TEXT PRIMARY KEY, identity TEXT NOT NULL, since TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE watched_files (
  folder TEXT NOT NULL REFERENCES watched ON DELETE CASCADE, path TEXT NOT NULL,
  size INTEGER NOT NULL, changed INTEGER NOT NULL,
  document_id TEXT REFERENCES documents ON DELETE SET NULL, refused TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (folder, path)) WITHOUT ROWID;
CREATE INDEX watched_by_document ON watched_files (document_id);

-- Other names under which a document's bytes came.
CREATE TABLE duplicates (
  document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, name TEXT NOT NULL,
  PRIMARY KEY (document_id, name)) WITHOUT ROWID;

-- What a reader told of a document besides its pages.
CREATE TABLE readings (
  document_id TEXT PRIMARY KEY REFERENCES documents ON DELETE CASCADE, tables INTEGER) WITHOUT ROWID;

-- Marks that outlive the process: "paused", "uncleaned".
CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

CREATE INDEX document_by_status ON documents (status, added_at);
CREATE INDEX document_by_replaced ON documents (replaces) WHERE replaces IS NOT NULL;
