-- When a person last signed out (people.py): the second in which the sign-in was issued that ended
-- then, or in which all ended; 0: never. Sign-ins that were not issued after it open nothing.

ALTER TABLE people ADD COLUMN signed_out REAL NOT NULL DEFAULT 0;
