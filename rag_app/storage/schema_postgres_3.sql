-- Who works on what (queue.py): processes that share this database, by the server's clock.

CREATE TABLE workers (
  id STRING PRIMARY KEY, seen TIMESTAMPTZ NOT NULL,
  trouble STRING NOT NULL DEFAULT '');  -- why its work waits

-- A document that one of them works on, or (`held`) keeps from being worked on. One that is not seen
-- any more loses its claims with its row.
CREATE TABLE claims (
  document_id STRING NOT NULL REFERENCES documents ON DELETE CASCADE,
  worker STRING NOT NULL REFERENCES workers ON DELETE CASCADE,
  held BOOLEAN NOT NULL, progress STRING NOT NULL DEFAULT '',  -- JSON
  PRIMARY KEY (document_id, worker));
CREATE UNIQUE INDEX claimed_once ON claims (document_id) WHERE NOT held;
CREATE INDEX claims_of_worker ON claims (worker);

-- Documents that could not be embedded: searched by words until somebody tries them again, or a while has gone by.
CREATE TABLE left_alone (
  document_id STRING PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
  until TIMESTAMPTZ NOT NULL);

-- Questions of the last minute and open windows (quotas.py), which count wherever they are.
CREATE TABLE quota_levels (
  subject STRING PRIMARY KEY, level DOUBLE PRECISION NOT NULL, at TIMESTAMPTZ NOT NULL);
CREATE TABLE quota_sessions (
  subject STRING NOT NULL, session STRING NOT NULL, seen TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (subject, session));
