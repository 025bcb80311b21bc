-- What was loaded from a bucket or a large folder, as schema_3.sql has it.

CREATE TABLE loaded (
  source STRING NOT NULL, collection STRING NOT NULL, path STRING NOT NULL, version STRING NOT NULL,
  document_id STRING REFERENCES documents ON DELETE SET NULL, refused STRING NOT NULL DEFAULT '',
  PRIMARY KEY (source, collection, path));
CREATE INDEX loaded_by_document ON loaded (document_id);
