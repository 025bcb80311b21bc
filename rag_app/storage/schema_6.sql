-- What is made of documents (overviews.py), and what they are put under (shelves.py).

CREATE TABLE overviews (
  document_id TEXT PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
  made_by TEXT NOT NULL, overview TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE folders (
  document_id TEXT PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
  folder TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tags (
  document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
  tag TEXT NOT NULL COLLATE NOCASE, PRIMARY KEY (document_id, tag)) WITHOUT ROWID;
CREATE TABLE collections (name TEXT PRIMARY KEY COLLATE NOCASE) WITHOUT ROWID;
CREATE TABLE collected (
  collection TEXT NOT NULL COLLATE NOCASE REFERENCES collections
    ON DELETE CASCADE ON UPDATE CASCADE,
  document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
  PRIMARY KEY (collection, document_id)) WITHOUT ROWID;

-- A document that is read anew may say other things.
CREATE TRIGGER overview_outdated AFTER UPDATE OF status ON documents WHEN new.status = 'read' BEGIN
  DELETE FROM overviews WHERE document_id = new.id;
END;

-- A newer version stands where the older one stood.
CREATE TRIGGER document_replaced BEFORE DELETE ON documents BEGIN
  INSERT OR IGNORE INTO folders SELECT n.id, f.folder
    FROM documents n JOIN folders f ON f.document_id = old.id WHERE n.replaces = old.id;
  INSERT OR IGNORE INTO tags SELECT n.id, t.tag
    FROM documents n JOIN tags t ON t.document_id = old.id WHERE n.replaces = old.id;
  INSERT OR IGNORE INTO collected SELECT c.collection, n.id
    FROM documents n JOIN collected c ON c.document_id = old.id WHERE n.replaces = old.id;
END;
