-- The encoding that a text was read in where it had to be guessed, as schema_6.sql has it.

ALTER TABLE readings ADD COLUMN encoding TEXT NOT NULL DEFAULT '';
