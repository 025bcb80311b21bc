-- A whole library. PostgreSQL makes its tables of this text, too: postgres.py puts the types into
-- its words, and schema_postgres_1.sql adds what it has instead of what is for SQLite alone.

-- Documents (documents.py). A collection has its own names, and knows nothing of the others.

CREATE TABLE documents (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, suffix TEXT NOT NULL, size INTEGER NOT NULL,
  status TEXT NOT NULL, added_at TEXT NOT NULL, title TEXT NOT NULL DEFAULT '',
  pages INTEGER NOT NULL DEFAULT 0, chunks INTEGER NOT NULL DEFAULT 0,
  warnings TEXT NOT NULL DEFAULT '[]', error TEXT, error_code TEXT,
  replaces TEXT,
  language TEXT NOT NULL DEFAULT '',  -- ISO 639-1; empty: not known
  collection TEXT NOT NULL DEFAULT 'home',
  UNIQUE (collection, name));

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
  page INTEGER NOT NULL, start INT NOT NULL, "end" INT NOT NULL, heading TEXT NOT NULL,
  context TEXT NOT NULL, words TEXT NOT NULL,
  -- What is searched where it is not what stands in `context` and `words`; the grams of runs that
  -- have no spaces.
  found_context TEXT, found_words TEXT, grams TEXT NOT NULL DEFAULT '',
  UNIQUE (document_id, ordinal));

CREATE TABLE removals (document_id TEXT PRIMARY KEY, suffix TEXT NOT NULL);

-- Conversations (conversations.py): answers are kept whole, with their quotes, as JSON.

CREATE TABLE conversations (
  id TEXT PRIMARY KEY, title TEXT NOT NULL, started_at TEXT NOT NULL, changed_at TEXT NOT NULL,
  owner TEXT NOT NULL DEFAULT '');  -- `Scope.subject`
CREATE INDEX conversation_by_owner ON conversations (owner, changed_at);

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

-- Scanned pages (scans.py): a row is a page without text. `words` is null until its text has
-- been recognised; then it says where its words stand, as JSON. `trouble` says what went wrong.

CREATE TABLE scans (
  document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, page INTEGER NOT NULL,
  words TEXT, trouble TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (document_id, page)) WITHOUT ROWID;

CREATE INDEX scans_waiting ON scans (document_id) WHERE words IS NULL;

-- The queue: files inside files, watched folders, and how every document came here (queue.py,
-- provenance.py, watched.py). A document goes when the last of its origins goes.

-- Documents that a person handed in.
CREATE TABLE handed_in (
  document_id TEXT PRIMARY KEY REFERENCES documents ON DELETE CASCADE) WITHOUT ROWID;

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

CREATE INDEX document_by_collection ON documents (collection, chunks);
CREATE INDEX document_by_status ON documents (status, added_at);
CREATE INDEX document_by_replaced ON documents (replaces) WHERE replaces IS NOT NULL;

-- Tables (tables.py): `about` is JSON. A block holds rows of a table from its row `first` on: their
-- values by column, and where the cells stand on the pages, both compressed.
CREATE TABLE tables (
  document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, ordinal INTEGER NOT NULL,
  about TEXT NOT NULL, PRIMARY KEY (document_id, ordinal)) WITHOUT ROWID;
CREATE TABLE table_blocks (
  document_id TEXT NOT NULL, ordinal INTEGER NOT NULL, first INTEGER NOT NULL,
  rows INTEGER NOT NULL, "values" BLOB NOT NULL, places BLOB NOT NULL,
  PRIMARY KEY (document_id, ordinal, first),
  FOREIGN KEY (document_id, ordinal) REFERENCES tables ON DELETE CASCADE);

-- Which model's vectors answer (reindexing.py): what the setting said, and its fingerprint.
CREATE TABLE answering_model (
  "only" INTEGER NOT NULL PRIMARY KEY CHECK ("only" = 1), choice TEXT NOT NULL, fingerprint TEXT NOT NULL);

-- What is made of documents (overviews.py), and what each person puts them under
-- (document_groups.py): an `owner` is a `Scope.subject`.

CREATE TABLE overviews (
  document_id TEXT PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
  made_by TEXT NOT NULL, overview TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE folders (
  document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, owner TEXT NOT NULL,
  folder TEXT NOT NULL, PRIMARY KEY (document_id, owner)) WITHOUT ROWID;
CREATE TABLE tags (
  document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE, owner TEXT NOT NULL,
  tag TEXT NOT NULL COLLATE NOCASE, PRIMARY KEY (document_id, owner, tag)) WITHOUT ROWID;
CREATE TABLE sets (
  owner TEXT NOT NULL, name TEXT NOT NULL COLLATE NOCASE,
  PRIMARY KEY (owner, name)) WITHOUT ROWID;
CREATE TABLE in_sets (
  owner TEXT NOT NULL, name TEXT NOT NULL COLLATE NOCASE,
  document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
  PRIMARY KEY (owner, name, document_id),
  FOREIGN KEY (owner, name) REFERENCES sets ON DELETE CASCADE ON UPDATE CASCADE) WITHOUT ROWID;
CREATE INDEX set_by_document ON in_sets (document_id);

-- The last check of what each person sees, with questions of its own (overviews.py).

CREATE TABLE checks (
  owner TEXT PRIMARY KEY, about TEXT NOT NULL) WITHOUT ROWID;
-- A question was made of a document, and goes with it; one about nothing in here has none.
CREATE TABLE checked (
  number INTEGER PRIMARY KEY, owner TEXT NOT NULL REFERENCES checks ON DELETE CASCADE,
  document_id TEXT REFERENCES documents ON DELETE CASCADE, tried TEXT NOT NULL);
CREATE INDEX checked_by_owner ON checked (owner);
CREATE INDEX checked_of_document ON checked (document_id);

-- Documents that were fetched from the web (provenance.py).

CREATE TABLE fetched (
  document_id TEXT PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
  asked TEXT NOT NULL, address TEXT NOT NULL, fetched_at TEXT NOT NULL) WITHOUT ROWID;

-- People, what they may, how much, and who did what (rag_app/access). A document belongs to one
-- collection of these; the kept choices of documents further up are something else.

CREATE TABLE people (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL,
  administrator BOOLEAN NOT NULL, active BOOLEAN NOT NULL,
  first_seen TEXT NOT NULL, last_seen TEXT NOT NULL) WITHOUT ROWID;

-- `claim`: what the sign-in calls the group, whatever it is called here; null: made by hand.
CREATE TABLE people_groups (
  id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE, claim TEXT UNIQUE) WITHOUT ROWID;
CREATE TABLE people_in_groups (
  group_id TEXT NOT NULL REFERENCES people_groups ON DELETE CASCADE,
  person TEXT NOT NULL REFERENCES people, by_claim BOOLEAN NOT NULL,
  PRIMARY KEY (group_id, person, by_claim)) WITHOUT ROWID;
CREATE INDEX groups_of_person ON people_in_groups (person);

-- `emptying`: nobody may see it any more, and its documents are still to be removed.
CREATE TABLE access_collections (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, private_of TEXT UNIQUE REFERENCES people,
  created TEXT NOT NULL, emptying BOOLEAN NOT NULL DEFAULT FALSE) WITHOUT ROWID;

-- `kind`: "person" or "group"; `who`: its id; `role`: see scope.py.
CREATE TABLE grants (
  collection TEXT NOT NULL REFERENCES access_collections ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('person', 'group')), who TEXT NOT NULL,
  role INTEGER NOT NULL CHECK (role BETWEEN 1 AND 3),
  PRIMARY KEY (collection, kind, who)) WITHOUT ROWID;
CREATE INDEX grants_of ON grants (who, kind);  -- so that a person's groups are looked up first

-- The roles that people have now, by whatever way; somebody may have several in a collection.
CREATE VIEW held_roles (collection, person, role) AS
  SELECT c.id, c.private_of, 3 FROM access_collections c
    JOIN people p ON p.id = c.private_of WHERE p.active
  UNION ALL SELECT g.collection, p.id, g.role FROM grants g
    JOIN people p ON p.id = g.who WHERE g.kind = 'person' AND p.active
  UNION ALL SELECT g.collection, p.id, g.role FROM grants g
    JOIN people_in_groups m ON m.group_id = g.who
    JOIN people p ON p.id = m.person WHERE g.kind = 'group' AND p.active;

-- Most that somebody may; an empty subject is everybody, null is no limit.
CREATE TABLE quotas (
  subject TEXT NOT NULL, what TEXT NOT NULL, most INTEGER CHECK (most >= 0),
  PRIMARY KEY (subject, what)) WITHOUT ROWID;
CREATE TABLE quota_files (
  subject TEXT PRIMARY KEY, day TEXT NOT NULL, files INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE api_keys (
  id TEXT PRIMARY KEY, person TEXT NOT NULL REFERENCES people, name TEXT NOT NULL,
  sha256 BLOB NOT NULL, created TEXT NOT NULL, expires TEXT, used TEXT) WITHOUT ROWID;
CREATE INDEX keys_of_person ON api_keys (person);

-- Entries are added and never changed; they go by age alone, those before `audit_horizon`.
CREATE TABLE audit_log (
  number INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, subject TEXT NOT NULL,
  action TEXT NOT NULL, about TEXT NOT NULL, detail TEXT NOT NULL);
CREATE INDEX audit_by_time ON audit_log (at);
CREATE TABLE audit_horizon (
  "only" INTEGER NOT NULL PRIMARY KEY CHECK ("only" = 1), before TEXT NOT NULL);
INSERT INTO audit_horizon VALUES (1, '');

-- For SQLite alone.

CREATE VIEW chunk_searched AS
  SELECT rowid, coalesce(found_context, context) AS context, coalesce(found_words, words) AS words,
    grams FROM chunks;

-- Vowel signs are parts of words (M*): without them every word of Hindi falls apart.
CREATE VIRTUAL TABLE chunk_words USING fts5 (
  context, words, grams, content = 'chunk_searched', content_rowid = 'rowid',
  tokenize = "porter unicode61 remove_diacritics 2 categories 'L* M* N* Co'");

CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
  INSERT INTO chunk_words (rowid, context, words, grams) VALUES (
    new.rowid, coalesce(new.found_context, new.context), coalesce(new.found_words, new.words),
    new.grams);
END;

CREATE TRIGGER chunk_removed AFTER DELETE ON chunks BEGIN
  INSERT INTO chunk_words (chunk_words, rowid, context, words, grams) VALUES (
    'delete', old.rowid, coalesce(old.found_context, old.context),
    coalesce(old.found_words, old.words), old.grams);
END;

-- A document that is read anew may say other things.
CREATE TRIGGER overview_outdated AFTER UPDATE OF status ON documents WHEN new.status = 'read' BEGIN
  DELETE FROM overviews WHERE document_id = new.id;
END;
CREATE TRIGGER checked_outdated AFTER UPDATE OF status ON documents WHEN new.status = 'read' BEGIN
  DELETE FROM checked WHERE document_id = new.id;
END;

-- A newer version stands where the older one stood.
CREATE TRIGGER document_replaced BEFORE DELETE ON documents BEGIN
  INSERT OR IGNORE INTO folders SELECT n.id, f.owner, f.folder
    FROM documents n JOIN folders f ON f.document_id = old.id WHERE n.replaces = old.id;
  INSERT OR IGNORE INTO tags SELECT n.id, t.owner, t.tag
    FROM documents n JOIN tags t ON t.document_id = old.id WHERE n.replaces = old.id;
  INSERT OR IGNORE INTO in_sets SELECT c.owner, c.name, n.id
    FROM documents n JOIN in_sets c ON c.document_id = old.id WHERE n.replaces = old.id;
END;

INSERT INTO access_collections VALUES (
  'home', 'Home', NULL, strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now'), 0);

CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit_log BEGIN
  SELECT raise(ABORT, 'entries of the log are never changed');
END;
CREATE TRIGGER audit_not_replaced BEFORE INSERT ON audit_log
  WHEN EXISTS (SELECT 1 FROM audit_log WHERE number = new.number) BEGIN
  SELECT raise(ABORT, 'entries of the log are never replaced');
END;
CREATE TRIGGER audit_kept BEFORE DELETE ON audit_log
  WHEN old.at >= (SELECT before FROM audit_horizon) BEGIN
  SELECT raise(ABORT, 'entries of the log go by age alone');
END;
CREATE TRIGGER audit_horizon_past BEFORE UPDATE ON audit_horizon
  WHEN new.before > strftime('%Y-%m-%dT%H:%M:%S', 'now', '-1 day') BEGIN
  SELECT raise(ABORT, 'a day at least is kept');
END;
CREATE TRIGGER audit_horizon_once BEFORE INSERT ON audit_horizon BEGIN
  SELECT raise(ABORT, 'the log has one horizon');
END;
CREATE TRIGGER audit_horizon_stays BEFORE DELETE ON audit_horizon BEGIN
  SELECT raise(ABORT, 'the horizon of the log stays');
END;
