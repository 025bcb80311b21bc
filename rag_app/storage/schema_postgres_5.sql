-- Up to which sign-in a person has signed out, as schema_4.sql has it.

ALTER TABLE people ADD COLUMN signed_out DOUBLE PRECISION NOT NULL DEFAULT 0;
