-- The last check of the library with questions of its own (checks.py).

CREATE TABLE checks (
  only INTEGER PRIMARY KEY CHECK (only = 1), about TEXT NOT NULL);
-- A question was made of a document, and goes with it; one about nothing in here has none.
CREATE TABLE checked (
  number INTEGER PRIMARY KEY, document_id TEXT REFERENCES documents ON DELETE CASCADE,
  tried TEXT NOT NULL);
CREATE INDEX checked_of_document ON checked (document_id);

-- A document that is read anew may say other things.
CREATE TRIGGER checked_outdated AFTER UPDATE OF status ON documents WHEN new.status = 'read' BEGIN
  DELETE FROM checked WHERE document_id = new.id;
END;
