-- Words and vectors (postgres_words.py, pgvector.py).

-- What a chunk is found by: the lexemes of its words (A), of its runs without spaces (B), and, behind
-- these, of its title and headings (D), as our own tokenizer makes them. `length` counts them all.
-- A row stays in its page: scores are made of thousands of them.
CREATE TABLE chunk_words (
  place BIGINT PRIMARY KEY REFERENCES chunks (rowid) ON DELETE CASCADE,
  document_id STRING NOT NULL, length BIGINT NOT NULL, found TSVECTOR NOT NULL)
  WITH (toast_tuple_target = 8160);
CREATE INDEX chunk_words_found ON chunk_words USING gin (found);
CREATE INDEX chunk_words_of_document ON chunk_words (document_id);

-- A table for every embedding model's vectors is made with the first of them.
CREATE TABLE vector_tables (
  fingerprint STRING PRIMARY KEY, name STRING NOT NULL UNIQUE, dimensions BIGINT NOT NULL);
