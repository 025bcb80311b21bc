-- What comes after the tables of schema_1.sql and schema_2.sql: what SQLite numbers by itself (rowid)
-- is a column; names that differ in case only are kept apart by indexes over lower().

ALTER TABLE documents ADD COLUMN rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE;
ALTER TABLE conversations ADD COLUMN rowid BIGINT GENERATED ALWAYS AS IDENTITY;
ALTER TABLE exchanges ADD COLUMN rowid BIGINT GENERATED ALWAYS AS IDENTITY;
CREATE UNIQUE INDEX tags_past_case ON tags (document_id, owner, lower(tag));
CREATE UNIQUE INDEX sets_past_case ON sets (owner, lower(name));
CREATE UNIQUE INDEX groups_past_case ON people_groups (lower(name));
INSERT INTO access_collections VALUES (
  'home', 'Home', NULL, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"'),
  FALSE);

-- What is kept whatever a program does.

-- A document that is read anew may say other things.
CREATE FUNCTION read_anew() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM overviews WHERE document_id = new.id;
  DELETE FROM checked WHERE document_id = new.id;
  RETURN NULL;
END $$;
CREATE TRIGGER outdated AFTER UPDATE OF status ON documents
  FOR EACH ROW WHEN (new.status = 'read') EXECUTE FUNCTION read_anew();

-- A newer version stands where the older one stood.
CREATE FUNCTION stand_there() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO folders SELECT n.id, f.owner, f.folder FROM documents n
    JOIN folders f ON f.document_id = old.id WHERE n.replaces = old.id ON CONFLICT DO NOTHING;
  INSERT INTO tags SELECT n.id, t.owner, t.tag FROM documents n
    JOIN tags t ON t.document_id = old.id WHERE n.replaces = old.id ON CONFLICT DO NOTHING;
  INSERT INTO in_sets SELECT c.owner, c.name, n.id FROM documents n
    JOIN in_sets c ON c.document_id = old.id WHERE n.replaces = old.id ON CONFLICT DO NOTHING;
  RETURN old;
END $$;
CREATE TRIGGER document_replaced BEFORE DELETE ON documents
  FOR EACH ROW EXECUTE FUNCTION stand_there();

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit_log FOR EACH ROW
  EXECUTE FUNCTION refuse('entries of the log are never changed');
CREATE TRIGGER audit_stays BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT
  EXECUTE FUNCTION refuse('entries of the log go by age alone');
CREATE FUNCTION refuse_younger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF old.at >= (SELECT before FROM audit_horizon) THEN
    RAISE EXCEPTION 'entries of the log go by age alone'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN old;
END $$;
CREATE TRIGGER audit_kept BEFORE DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_younger();
CREATE TRIGGER audit_horizon_past BEFORE UPDATE ON audit_horizon FOR EACH ROW
  WHEN (new.before > to_char(now() AT TIME ZONE 'UTC' - interval '1 day',
  'YYYY-MM-DD"T"HH24:MI:SS'))
  EXECUTE FUNCTION refuse('a day at least is kept');
CREATE TRIGGER audit_horizon_once BEFORE INSERT ON audit_horizon FOR EACH ROW
  EXECUTE FUNCTION refuse('the log has one horizon');
CREATE TRIGGER audit_horizon_stays BEFORE DELETE ON audit_horizon FOR EACH ROW
  EXECUTE FUNCTION refuse('the horizon of the log stays');
