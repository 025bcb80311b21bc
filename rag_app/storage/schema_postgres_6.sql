-- When a document's chunks were written last, as schema_5.sql has it.

ALTER TABLE documents ADD COLUMN written BIGINT NOT NULL DEFAULT 0;
