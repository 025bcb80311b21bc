-- A whole library, as schema_1.sql and schema_2.sql make it in SQLite. Texts are in the order of
-- their code points, whatever the server's own is; what SQLite numbers by itself (rowid) is a column; yes
-- or no is a BOOLEAN; names that differ in case only are kept apart by indexes over lower().

CREATE DOMAIN string AS TEXT COLLATE "C";

CREATE TABLE rag_app_schema (version BIGINT NOT NULL);  -- how many of these files were run
INSERT INTO rag_app_schema VALUES (1);

-- How often something was changed, by whichever process. Every write begins by changing it, which
-- makes it the only one until its end (postgres.py).
CREATE TABLE commits (
  "only" BIGINT PRIMARY KEY CHECK ("only" = 1), number BIGINT NOT NULL) WITH (fillfactor = 10);
INSERT INTO commits VALUES (1, 0);

-- Documents (documents.py). A collection has its own names, and knows nothing of the others.

CREATE TABLE documents (
  id STRING PRIMARY KEY, name STRING NOT NULL, suffix STRING NOT NULL, size BIGINT NOT NULL,
  status STRING NOT NULL, added_at STRING NOT NULL, title STRING NOT NULL DEFAULT '',
  pages BIGINT NOT NULL DEFAULT 0, chunks BIGINT NOT NULL DEFAULT 0,
  warnings STRING NOT NULL DEFAULT '[]', error STRING, error_code STRING,
  replaces STRING,
  language STRING NOT NULL DEFAULT '',  -- ISO 639-1; empty: not known
  collection STRING NOT NULL DEFAULT 'home',
  -- Whose turn it is in the queue (queue.py, ingestion/turns.py): who handed a document in (empty:
  -- the command line, or a folder), and its place among theirs, the least first.
  added_by STRING NOT NULL DEFAULT '', place DOUBLE PRECISION NOT NULL DEFAULT 0,
  rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE,
  UNIQUE (collection, name));

CREATE TABLE pages (
  document_id STRING NOT NULL REFERENCES documents ON DELETE CASCADE, number BIGINT NOT NULL,
  text STRING NOT NULL, label STRING NOT NULL, width DOUBLE PRECISION, height DOUBLE PRECISION,
  PRIMARY KEY (document_id, number));
CREATE TABLE headings (
  document_id STRING NOT NULL REFERENCES documents ON DELETE CASCADE, ordinal BIGINT NOT NULL,
  page BIGINT NOT NULL, start BIGINT NOT NULL, level BIGINT NOT NULL, text STRING NOT NULL,
  PRIMARY KEY (document_id, ordinal));
CREATE TABLE chunks (
  rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE, id STRING PRIMARY KEY,
  document_id STRING NOT NULL REFERENCES documents ON DELETE CASCADE, ordinal BIGINT NOT NULL,
  page BIGINT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, heading STRING NOT NULL,
  context STRING NOT NULL, words STRING NOT NULL,
  -- What is searched where it is not what stands in `context` and `words`; the grams of runs that
  -- have no spaces.
  found_context STRING, found_words STRING, grams STRING NOT NULL DEFAULT '',
  UNIQUE (document_id, ordinal));

CREATE TABLE removals (document_id STRING PRIMARY KEY, suffix STRING NOT NULL);

-- Conversations (conversations.py): answers are kept whole, with their quotes, as JSON.

CREATE TABLE conversations (
  id STRING PRIMARY KEY, title STRING NOT NULL, started_at STRING NOT NULL,
  changed_at STRING NOT NULL,
  owner STRING NOT NULL DEFAULT '',  -- `Scope.subject`
  rowid BIGINT GENERATED ALWAYS AS IDENTITY);
CREATE INDEX conversation_by_owner ON conversations (owner, changed_at);

CREATE TABLE exchanges (
  id STRING PRIMARY KEY,
  conversation_id STRING NOT NULL REFERENCES conversations ON DELETE CASCADE,
  ordinal BIGINT NOT NULL, question STRING NOT NULL, asked_at STRING NOT NULL,
  documents STRING, answer STRING, error STRING,
  rating BIGINT NOT NULL DEFAULT 0, reason STRING NOT NULL DEFAULT '',
  rowid BIGINT GENERATED ALWAYS AS IDENTITY,
  UNIQUE (conversation_id, ordinal));

CREATE TABLE exchange_documents (
  exchange_id STRING NOT NULL REFERENCES exchanges ON DELETE CASCADE, document_id STRING NOT NULL,
  PRIMARY KEY (exchange_id, document_id));

CREATE INDEX exchange_by_document ON exchange_documents (document_id);

-- Scanned pages (scans.py): a row is a page without text. `words` is null until its text has
-- been recognised; then it says where its words stand, as JSON. `trouble` says what went wrong.

CREATE TABLE scans (
  document_id STRING NOT NULL REFERENCES documents ON DELETE CASCADE, page BIGINT NOT NULL,
  words STRING, trouble STRING NOT NULL DEFAULT '',
  PRIMARY KEY (document_id, page));

CREATE INDEX scans_waiting ON scans (document_id) WHERE words IS NULL;

-- The queue: files inside files, watched folders, and how every document came here (queue.py,
-- provenance.py, watched.py). A document goes when the last of its origins goes.

-- Documents that a person handed in.
CREATE TABLE handed_in (
  document_id STRING PRIMARY KEY REFERENCES documents ON DELETE CASCADE);

-- Documents that came out of another document, and what they are called in it.
CREATE TABLE parts (
  container_id STRING NOT NULL REFERENCES documents ON DELETE CASCADE,
  document_id STRING NOT NULL REFERENCES documents ON DELETE CASCADE, name STRING NOT NULL,
  PRIMARY KEY (container_id, document_id));
CREATE INDEX part_by_document ON parts (document_id);

-- Folders that are kept in step, and their files as they were when they were last taken in.
CREATE TABLE watched (
  folder STRING PRIMARY KEY, identity STRING NOT NULL, since STRING NOT NULL);
CREATE TABLE watched_files (
  folder STRING NOT NULL REFERENCES watched ON DELETE CASCADE, path STRING NOT NULL,
  size BIGINT NOT NULL, changed BIGINT NOT NULL,
  document_id STRING REFERENCES documents ON DELETE SET NULL, refused STRING NOT NULL DEFAULT '',
  PRIMARY KEY (folder, path));
CREATE INDEX watched_by_document ON watched_files (document_id);

-- Other names under which a document's bytes came.
CREATE TABLE duplicates (
  document_id STRING NOT NULL REFERENCES documents ON DELETE CASCADE, name STRING NOT NULL,
  PRIMARY KEY (document_id, name));

-- What a reader told of a document besides its pages.
CREATE TABLE readings (
  document_id STRING PRIMARY KEY REFERENCES documents ON DELETE CASCADE, tables BIGINT);

-- Marks that outlive the process: "paused", "uncleaned".
CREATE TABLE marks (name STRING PRIMARY KEY, value BIGINT NOT NULL);

CREATE INDEX document_by_collection ON documents (collection, chunks);
CREATE INDEX document_by_status ON documents (status, added_at);
CREATE INDEX document_by_turn ON documents (status, added_by, place, size);
CREATE INDEX document_by_replaced ON documents (replaces) WHERE replaces IS NOT NULL;

-- Tables (tables.py): `about` is JSON. A block holds rows of a table from its row `first` on: their
-- values by column, and where the cells stand on the pages, both compressed.
CREATE TABLE tables (
  document_id STRING NOT NULL REFERENCES documents ON DELETE CASCADE, ordinal BIGINT NOT NULL,
  about STRING NOT NULL, PRIMARY KEY (document_id, ordinal));
CREATE TABLE table_blocks (
  document_id STRING NOT NULL, ordinal BIGINT NOT NULL, first BIGINT NOT NULL,
  rows BIGINT NOT NULL, "values" BYTEA NOT NULL, places BYTEA NOT NULL,
  PRIMARY KEY (document_id, ordinal, first),
  FOREIGN KEY (document_id, ordinal) REFERENCES tables ON DELETE CASCADE);

-- Which model's vectors answer (reindexing.py): what the setting said, and its fingerprint.
CREATE TABLE answering_model (
  "only" BIGINT PRIMARY KEY CHECK ("only" = 1), choice STRING NOT NULL,
  fingerprint STRING NOT NULL);

-- What is made of documents (overviews.py), and what each person puts them under
-- (document_groups.py): an `owner` is a `Scope.subject`.

CREATE TABLE overviews (
  document_id STRING PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
  made_by STRING NOT NULL, overview STRING NOT NULL);

CREATE TABLE folders (
  document_id STRING NOT NULL REFERENCES documents ON DELETE CASCADE, owner STRING NOT NULL,
  folder STRING NOT NULL, PRIMARY KEY (document_id, owner));
CREATE TABLE tags (
  document_id STRING NOT NULL REFERENCES documents ON DELETE CASCADE, owner STRING NOT NULL,
  tag STRING NOT NULL, PRIMARY KEY (document_id, owner, tag));
CREATE UNIQUE INDEX tags_past_case ON tags (document_id, owner, lower(tag));
CREATE TABLE sets (
  owner STRING NOT NULL, name STRING NOT NULL,
  PRIMARY KEY (owner, name));
CREATE UNIQUE INDEX sets_past_case ON sets (owner, lower(name));
CREATE TABLE in_sets (
  owner STRING NOT NULL, name STRING NOT NULL,
  document_id STRING NOT NULL REFERENCES documents ON DELETE CASCADE,
  PRIMARY KEY (owner, name, document_id),
  FOREIGN KEY (owner, name) REFERENCES sets ON DELETE CASCADE ON UPDATE CASCADE);
CREATE INDEX set_by_document ON in_sets (document_id);

-- The last check of what each person sees, with questions of its own (overviews.py).

CREATE TABLE checks (
  owner STRING PRIMARY KEY, about STRING NOT NULL);
-- A question was made of a document, and goes with it; one about nothing in here has none.
CREATE TABLE checked (
  number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner STRING NOT NULL REFERENCES checks ON DELETE CASCADE,
  document_id STRING REFERENCES documents ON DELETE CASCADE, tried STRING NOT NULL);
CREATE INDEX checked_by_owner ON checked (owner);
CREATE INDEX checked_of_document ON checked (document_id);

-- Documents that were fetched from the web (provenance.py).

CREATE TABLE fetched (
  document_id STRING PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
  asked STRING NOT NULL, address STRING NOT NULL, fetched_at STRING NOT NULL);

-- People, what they may, how much, and who did what (rag_app/access). A document belongs to one
-- collection of these; the kept choices of documents further up are something else.

CREATE TABLE people (
  id STRING PRIMARY KEY, name STRING NOT NULL, email STRING NOT NULL,
  administrator BOOLEAN NOT NULL, active BOOLEAN NOT NULL,
  first_seen STRING NOT NULL, last_seen STRING NOT NULL);

-- `claim`: what the sign-in calls the group, whatever it is called here; null: made by hand.
CREATE TABLE people_groups (
  id STRING PRIMARY KEY, name STRING NOT NULL, claim STRING UNIQUE);
CREATE UNIQUE INDEX groups_past_case ON people_groups (lower(name));
CREATE TABLE people_in_groups (
  group_id STRING NOT NULL REFERENCES people_groups ON DELETE CASCADE,
  person STRING NOT NULL REFERENCES people, by_claim BOOLEAN NOT NULL,
  PRIMARY KEY (group_id, person, by_claim));
CREATE INDEX groups_of_person ON people_in_groups (person);

-- `emptying`: nobody may see it any more, and its documents are still to be removed.
CREATE TABLE access_collections (
  id STRING PRIMARY KEY, name STRING NOT NULL, private_of STRING UNIQUE REFERENCES people,
  created STRING NOT NULL, emptying BOOLEAN NOT NULL DEFAULT FALSE);
INSERT INTO access_collections VALUES (
  'home', 'Home', NULL, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"'),
  FALSE);

-- `kind`: "person" or "group"; `who`: its id; `role`: see scope.py.
CREATE TABLE grants (
  collection STRING NOT NULL REFERENCES access_collections ON DELETE CASCADE,
  kind STRING NOT NULL CHECK (kind IN ('person', 'group')), who STRING NOT NULL,
  role BIGINT NOT NULL CHECK (role BETWEEN 1 AND 3),
  PRIMARY KEY (collection, kind, who));
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
  subject STRING NOT NULL, what STRING NOT NULL, most BIGINT CHECK (most >= 0),
  PRIMARY KEY (subject, what));
CREATE TABLE quota_files (
  subject STRING PRIMARY KEY, day STRING NOT NULL, files BIGINT NOT NULL);

CREATE TABLE api_keys (
  id STRING PRIMARY KEY, person STRING NOT NULL REFERENCES people, name STRING NOT NULL,
  sha256 BYTEA NOT NULL, created STRING NOT NULL, expires STRING, used STRING);
CREATE INDEX keys_of_person ON api_keys (person);

-- Entries are added and never changed; they go by age alone, those before `audit_horizon`.
CREATE TABLE audit_log (
  number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, at STRING NOT NULL,
  subject STRING NOT NULL,
  action STRING NOT NULL, about STRING NOT NULL, detail STRING NOT NULL);
CREATE INDEX audit_by_time ON audit_log (at);
CREATE TABLE audit_horizon (
  "only" BIGINT PRIMARY KEY CHECK ("only" = 1), before STRING NOT NULL);
INSERT INTO audit_horizon VALUES (1, '');


-- What is kept whatever a program does.

-- A document that is read anew may say other things.
CREATE FUNCTION read_anew() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM overviews WHERE document_id = new.id;
  DELETE FROM checked WHERE document_id = new.id;
  RETURN NULL;
END $$;
CREATE TRIGGER outdated AFTER UPDATE OF status ON documents
  FOR EACH ROW WHEN (new.status = 'read') EXECUTE FUNCTION read_anew();

-- A newer version stands where the older one stood.
CREATE FUNCTION stand_there() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO folders SELECT n.id, f.owner, f.folder FROM documents n
    JOIN folders f ON f.document_id = old.id WHERE n.replaces = old.id ON CONFLICT DO NOTHING;
  INSERT INTO tags SELECT n.id, t.owner, t.tag FROM documents n
    JOIN tags t ON t.document_id = old.id WHERE n.replaces = old.id ON CONFLICT DO NOTHING;
  INSERT INTO in_sets SELECT c.owner, c.name, n.id FROM documents n
    JOIN in_sets c ON c.document_id = old.id WHERE n.replaces = old.id ON CONFLICT DO NOTHING;
  RETURN old;
END $$;
CREATE TRIGGER document_replaced BEFORE DELETE ON documents
  FOR EACH ROW EXECUTE FUNCTION stand_there();

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit_log FOR EACH ROW
  EXECUTE FUNCTION refuse('entries of the log are never changed');
CREATE TRIGGER audit_stays BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT
  EXECUTE FUNCTION refuse('entries of the log go by age alone');
CREATE FUNCTION refuse_younger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF old.at >= (SELECT before FROM audit_horizon) THEN
    RAISE EXCEPTION 'entries of the log go by age alone'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN old;
END $$;
CREATE TRIGGER audit_kept BEFORE DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_younger();
CREATE TRIGGER audit_horizon_past BEFORE UPDATE ON audit_horizon FOR EACH ROW
  WHEN (new.before > to_char(now() AT TIME ZONE 'UTC' - interval '1 day',
  'YYYY-MM-DD"T"HH24:MI:SS'))
  EXECUTE FUNCTION refuse('a day at least is kept');
CREATE TRIGGER audit_horizon_once BEFORE INSERT ON audit_horizon FOR EACH ROW
  EXECUTE FUNCTION refuse('the log has one horizon');
CREATE TRIGGER audit_horizon_stays BEFORE DELETE ON audit_horizon FOR EACH ROW
  EXECUTE FUNCTION refuse('the horizon of the log stays');
