-- The encoding that a text was read in where the reader had to guess it; empty: it said so itself.

ALTER TABLE readings ADD COLUMN encoding TEXT NOT NULL DEFAULT '';
