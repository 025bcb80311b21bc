-- Conversations (conversations.py): answers are kept whole, with their quotes, as JSON.

CREATE TABLE conversations (
  id TEXT PRIMARY KEY, title TEXT NOT NULL, started_at TEXT NOT NULL, changed_at TEXT NOT NULL);

CREATE TABLE exchanges (
  id TEXT PRIMARY KEY,
  conversation_id TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
  ordinal INTEGER NOT NULL, question TEXT NOT NULL, asked_at TEXT NOT NULL,
  documents TEXT, answer TEXT, error TEXT,
  rating INTEGER NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '',
  UNIQUE (conversation_id, ordinal));

CREATE TABLE exchange_documents (
  exchange_id TEXT NOT NULL REFERENCES exchanges ON DELETE CASCADE, document_id TEXT NOT NULL,
  PRIMARY KEY (exchange_id, document_id)) WITHOUT ROWID;

CREATE INDEX exchange_by_document ON exchange_documents (document_id);
