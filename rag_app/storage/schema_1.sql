-- Documents (documents.py).

CREATE TABLE documents (
  id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, suffix TEXT NOT NULL, size INTEGER NOT NULL,
  status TEXT NOT NULL, added_at TEXT NOT NULL, title TEXT NOT NULL DEFAULT '',
  pages INTEGER NOT NULL DEFAULT 0, chunks INTEGER NOT NULL DEFAULT 0,
  warnings TEXT NOT NULL DEFAULT '[]', error TEXT, error_code TEXT,
  replaces TEXT);

CREATE TABLE pages (
  document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, number INTEGER NOT NULL,
  text TEXT NOT NULL, label TEXT NOT NULL, width REAL, height REAL,
  PRIMARY KEY (document_id, number)) WITHOUT ROWID;
CREATE TABLE headings (
  document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, ordinal INTEGER NOT NULL,
  page INTEGER NOT NULL, start INTEGER NOT NULL, level INTEGER NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (document_id, ordinal)) WITHOUT ROWID;
CREATE TABLE chunks (
  rowid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
  document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, ordinal INTEGER NOT NULL,
  page INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, heading TEXT NOT NULL,
  context TEXT NOT NULL, words TEXT NOT NULL, UNIQUE (document_id, ordinal));

CREATE VIRTUAL TABLE chunk_words USING fts5 (
  context, words, content = 'chunks', content_rowid = 'rowid',
  tokenize = 'porter unicode61 remove_diacritics 2');

CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
  INSERT INTO chunk_words (rowid, context, words) VALUES (new.rowid, new.context, new.words);
END;

CREATE TRIGGER chunk_removed AFTER DELETE ON chunks BEGIN
  INSERT INTO chunk_words (chunk_words, rowid, context, words)
  VALUES ('delete', old.rowid, old.context, old.words);
END;

CREATE TABLE removals (document_id TEXT PRIMARY KEY, suffix TEXT NOT NULL);
