-- Documents that were fetched from the web (fetched.py).

CREATE TABLE fetched (
  document_id TEXT PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
  asked TEXT NOT NULL, address TEXT NOT NULL, fetched_at TEXT NOT NULL) WITHOUT ROWID;
