-- Words of any script, and the language of a document (documents.py, wording.py).

-- ISO 639-1; empty: not known.
ALTER TABLE documents ADD COLUMN language TEXT NOT NULL DEFAULT '';

-- What is searched where it is not what stands in `context` and `words`; the grams of runs that
-- have no spaces.
ALTER TABLE chunks ADD COLUMN found_context TEXT;
ALTER TABLE chunks ADD COLUMN found_words TEXT;
ALTER TABLE chunks ADD COLUMN grams TEXT NOT NULL DEFAULT '';

CREATE VIEW chunk_searched AS
  SELECT rowid, coalesce(found_context, context) AS context, coalesce(found_words, words) AS words,
    grams FROM chunks;

DROP TRIGGER chunk_added;
DROP TRIGGER chunk_removed;
DROP TABLE chunk_words;

-- Vowel signs are parts of words (M*): without them every word of Hindi falls apart.
CREATE VIRTUAL TABLE chunk_words USING fts5 (
  context, words, grams, content = 'chunk_searched', content_rowid = 'rowid',
  tokenize = "porter unicode61 remove_diacritics 2 categories 'L* M* N* Co'");
INSERT INTO chunk_words (chunk_words) VALUES ('rebuild');

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

-- Documents from before that have other letters than Latin ones are indexed once more.
UPDATE documents SET status = 'read' WHERE status IN ('searchable', 'ready') AND EXISTS (
  SELECT 1 FROM chunks WHERE document_id = documents.id AND words GLOB '*[Ͱ-῿⺀-￿]*');

-- Which model's vectors answer (reindexing.py): what the setting said, and its fingerprint.
CREATE TABLE answering_model (
  only INTEGER PRIMARY KEY CHECK (only = 1), choice TEXT NOT NULL, fingerprint TEXT NOT NULL);
