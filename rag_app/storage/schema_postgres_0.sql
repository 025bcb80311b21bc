-- What comes before the tables of schema_1.sql. Texts are in the order of their code points, whatever
-- the server's own is.

CREATE DOMAIN string AS TEXT COLLATE "C";

CREATE TABLE rag_app_schema (version BIGINT NOT NULL);  -- how many steps of the schema were made
INSERT INTO rag_app_schema VALUES (1);

-- How often something was changed, by whichever process. Every write begins by changing it, which
-- makes it the only one until its end (postgres.py).
CREATE TABLE commits (
  "only" BIGINT PRIMARY KEY CHECK ("only" = 1), number BIGINT NOT NULL) WITH (fillfactor = 10);
INSERT INTO commits VALUES (1, 0);
