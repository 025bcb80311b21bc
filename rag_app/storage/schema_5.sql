-- When a document's chunks were written last (contents.py), in nanoseconds: whoever keeps a copy of
-- their words sees that it is outdated (words.py).

ALTER TABLE documents ADD COLUMN written INTEGER NOT NULL DEFAULT 0;
