-- The schema `tallystick`: what is in it, who may do what, and the two calls of a write.
--
-- One ledger is one chain, and its lines are those of a folder, byte for byte: `head` is the hashed slice, and the line
-- is  head,"hash":"<sha256 of head>","data":data}\n  The row in `heads` is the lock and the witness: a transaction that
-- adds lines moves it from the (seq, hash) that was decided on, or does nothing. State rows change in the same one.
--
-- Row-level security is forced on every table with a column `ledger`, for the owner too. A program sees the rows of one
-- ledger, if it has set its id and a pass for it: a key's name, an expiry, and HMAC-SHA256(key, ledger, role, expiry).
-- A setting alone opens nothing, so words that become SQL by mistake cannot cross. A program may read tables, and it
-- writes by functions alone: they run as the owner, check the pass first, and are walled by the id they have checked.
-- Partitions have security, and neither policies nor grants: they are reached through their tables.
--
-- Nothing here needs a session: no temporary tables, no session settings or locks, no LISTEN. Functions are PL/pgSQL,
-- so that their plans are kept, whichever connection a pooler gives.
--
-- What is looked up by key is a sub-select of its own, and OFFSET 0 keeps it one: the planner knows next to nothing of
-- these tables, and would else join to all rows of a ledger.
--
-- Each part runs once, as the owner. Never change a part that was released: add another one.

-- part 1

CREATE TABLE pass_keys (
  id text PRIMARY KEY, inner_pad bytea NOT NULL, outer_pad bytea NOT NULL, added timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE ledgers (name text PRIMARY KEY, ledger uuid NOT NULL UNIQUE);

CREATE TABLE heads (
  ledger uuid PRIMARY KEY,
  seq bigint NOT NULL,
  hash text NOT NULL,
  ts text NOT NULL,
  bytes bigint NOT NULL,           -- of all lines
  saved bytea NOT NULL,            -- what the ledger keeps with a position: its metadata, and the frontier of its tree
  shape integer NOT NULL,          -- of the state rows
  tables text[] NOT NULL,          -- the tables of the state that have ever had a row
  settings integer NOT NULL DEFAULT 0,  -- the version of their text
  state text NOT NULL DEFAULT 'open',   -- 'open', 'arriving' or 'moved'; a CHECK is compiled at each write
  other_place text,                -- to which the lines have moved; while they arrive, that from which they come
  mover uuid                       -- who began last to move lines here: no earlier one adds any more
) WITH (fillfactor = 50);          -- so that moving it touches no index

CREATE TABLE events (
  ledger uuid NOT NULL, seq bigint NOT NULL, head bytea NOT NULL, data bytea NOT NULL, PRIMARY KEY (ledger, seq)
) PARTITION BY HASH (ledger);

CREATE TABLE state_row (
  ledger uuid NOT NULL, tab text COLLATE "C" NOT NULL, key bytea NOT NULL, value bytea, seqs bigint[], since bigint,
  PRIMARY KEY (ledger, tab, key)
) PARTITION BY HASH (ledger);

CREATE TABLE state_past (
  ledger uuid NOT NULL, tab text COLLATE "C" NOT NULL, key bytea NOT NULL, until bigint NOT NULL,
  value bytea NOT NULL, seqs bigint[], since bigint NOT NULL, PRIMARY KEY (ledger, tab, key, until)
) PARTITION BY HASH (ledger);

CREATE TABLE requests (
  ledger uuid NOT NULL, key bytea NOT NULL, first bigint NOT NULL, last bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (ledger, key)
);

CREATE TABLE checkpoints (ledger uuid NOT NULL, size bigint NOT NULL, note text NOT NULL, PRIMARY KEY (ledger, size));
CREATE TABLE settings (ledger uuid PRIMARY KEY, toml text NOT NULL);

-- An error, unless the pass is valid for this role, now, and for that ledger, or for the subject if there is no ledger.
-- Be within the ledger until the transaction ends, and return it. It is for functions of the owner.
CREATE FUNCTION admit(l uuid, pass text, subject text DEFAULT NULL) RETURNS uuid LANGUAGE plpgsql STABLE AS $$
DECLARE
  expiry text;
BEGIN
  SELECT split_part(pass, '.', 2) INTO expiry FROM tallystick.pass_keys k  -- by no index: there are one or two
    WHERE k.id IS NOT DISTINCT FROM split_part(pass, '.', 1) AND encode(sha256(k.outer_pad || sha256(k.inner_pad || convert_to(
      concat_ws(E'\n', l, subject, session_user, split_part(pass, '.', 2)), 'UTF8'))), 'hex') = split_part(pass, '.', 3);
  IF to_timestamp(expiry::double precision) >= clock_timestamp() THEN
    pass := set_config('tallystick.ledger', l::text, true);
    RETURN l;
  END IF;
  RAISE EXCEPTION 'no valid pass' USING ERRCODE = '42501';
END $$;

-- The ledger that this transaction has a pass for; NULL, if none was named.
CREATE FUNCTION mine() RETURNS uuid LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  ledger text := current_setting('tallystick.ledger', true);
BEGIN
  IF coalesce(ledger, '') = '' THEN
    RETURN NULL;
  END IF;
  RETURN tallystick.admit(ledger::uuid, current_setting('tallystick.pass', true));
END $$;

DO $$
DECLARE
  each text;
BEGIN
  FOREACH each IN ARRAY ARRAY['events', 'state_row', 'state_past'] LOOP
    FOR number IN 0..31 LOOP
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 32, REMAINDER %s)',
        each || '_' || number, each, number);
      EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', each || '_' || number);
    END LOOP;
  END LOOP;
  FOREACH each IN ARRAY ARRAY[
    'ledgers', 'heads', 'events', 'state_row', 'state_past', 'requests', 'checkpoints', 'settings'
  ] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', each);
    EXECUTE format('CREATE POLICY mine ON %I TO tallystick_app USING (ledger = (SELECT tallystick.mine()))', each);
    EXECUTE format('CREATE POLICY checked ON %I TO tallystick_owner'
      ' USING (ledger = (SELECT nullif(current_setting(%L, true), %L)::uuid))', each, 'tallystick.ledger', '');
  END LOOP;
  ALTER POLICY checked ON heads USING (ledger::text = current_setting('tallystick.ledger', true));  -- cheaper for one row
END $$;

CREATE POLICY names ON ledgers TO tallystick_owner USING (true) WITH CHECK (true);  -- nobody else has a grant

-- Be within one ledger until the transaction ends, also to read its tables.
CREATE FUNCTION enter(l uuid, pass text) RETURNS void LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  l := tallystick.admit(l, pass);
  PERFORM set_config('tallystick.pass', pass, true);
END $$;

-- The id of the ledger of that name, for whoever has a pass for the name.
CREATE FUNCTION find_ledger(name text, pass text) RETURNS uuid LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  PERFORM tallystick.admit(NULL, pass, 'name:' || name);
  RETURN (SELECT n.ledger FROM tallystick.ledgers n WHERE n.name = find_ledger.name);
END $$;

-- -- reading ----------------------------------------------------------------------------------------------------------

-- The head, with what is saved if it is not the one that is known, and whether it is of the same chain; the time; and
-- the events of a request that was recorded before. Locked: nobody else writes until the transaction ends.
CREATE FUNCTION look(
  l uuid, pass text, known_seq bigint, known text, request bytea, locked boolean, wait text
) RETURNS TABLE (
  seq bigint, hash text, ts text, bytes bigint, saved bytea, shape integer, tables text[], state text, clock text,
  is_same_chain boolean, settings integer, first bigint, last bigint
) LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  h tallystick.heads;
BEGIN
  l := tallystick.admit(l, pass);
  IF locked THEN
    PERFORM set_config('lock_timeout', wait, true);
    PERFORM 1 FROM tallystick.heads t WHERE t.ledger = l FOR UPDATE;
  END IF;
  SELECT * INTO h FROM tallystick.heads t WHERE t.ledger = l;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT h.seq, h.hash, h.ts, h.bytes, h.shape, h.tables, h.state, h.settings, true,
    to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    INTO seq, hash, ts, bytes, shape, tables, state, settings, is_same_chain, clock;
  IF hash <> known THEN
    saved := h.saved;
    is_same_chain := known_seq < 0 OR EXISTS (SELECT 1 FROM tallystick.events e
      WHERE e.ledger = l AND e.seq = known_seq AND encode(sha256(e.head), 'hex') = known);
  END IF;
  IF request IS NOT NULL THEN
    SELECT r.first, r.last INTO first, last FROM tallystick.requests r WHERE r.ledger = l AND r.key = request;
  END IF;
  RETURN NEXT;
END $$;

-- Rows of the state, each with the lines of its events: one row of the result for each of them, and the slice of the
-- line after it. With `after`, the rows as they were after that event.
CREATE FUNCTION rows_by_key(l uuid, pass text, tabs text[], keys bytea[], after bigint)
RETURNS TABLE (
  tab text, key bytea, value bytea, seqs bigint[], since bigint, seq bigint, head bytea, data bytea, next_head bytea
) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  l := tallystick.admit(l, pass);
  IF after IS NULL THEN
    RETURN QUERY SELECT r.tab, r.key, r.value, r.seqs, r.since, e.seq, e.head, e.data, n.head
    FROM unnest(tabs, keys) AS u (tab, key)
    CROSS JOIN LATERAL (
      SELECT * FROM tallystick.state_row c WHERE c.ledger = l AND c.tab = u.tab AND c.key = u.key OFFSET 0
    ) r
    LEFT JOIN LATERAL unnest(r.seqs) AS s (seq) ON true
    LEFT JOIN LATERAL (SELECT * FROM tallystick.events v WHERE v.ledger = l AND v.seq = s.seq OFFSET 0) e ON true
    LEFT JOIN LATERAL (SELECT * FROM tallystick.events v WHERE v.ledger = l AND v.seq = s.seq + 1 OFFSET 0) n ON true;
  ELSE
    RETURN QUERY SELECT r.tab, r.key, r.value, r.seqs, r.since, e.seq, e.head, e.data, n.head
    FROM unnest(tabs, keys) AS u (tab, key)
    CROSS JOIN LATERAL (
      SELECT c.tab, c.key, c.value, c.seqs, c.since FROM tallystick.state_row c
      WHERE c.ledger = l AND c.tab = u.tab AND c.key = u.key AND c.since <= after
      UNION ALL SELECT p.tab, p.key, p.value, p.seqs, p.since FROM tallystick.state_past p
      WHERE p.ledger = l AND p.tab = u.tab AND p.key = u.key AND p.until > after AND p.since <= after
    ) r
    LEFT JOIN LATERAL unnest(r.seqs) AS s (seq) ON true
    LEFT JOIN LATERAL (SELECT * FROM tallystick.events v WHERE v.ledger = l AND v.seq = s.seq OFFSET 0) e ON true
    LEFT JOIN LATERAL (SELECT * FROM tallystick.events v WHERE v.ledger = l AND v.seq = s.seq + 1 OFFSET 0) n ON true;
  END IF;
END $$;

-- The keys of a range, in order; no more than `most`. With `after`, those that were there after that event.
CREATE FUNCTION keys_in(
  l uuid, pass text, of_tab text, low bytea, high bytea, most bigint, backwards boolean, after bigint
) RETURNS bytea[] LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  l := tallystick.admit(l, pass);
  IF after IS NULL AND NOT backwards THEN
    RETURN ARRAY(SELECT key FROM tallystick.state_row
      WHERE ledger = l AND tab = of_tab AND key >= low AND key < high ORDER BY key LIMIT most);
  ELSIF after IS NULL THEN
    RETURN ARRAY(SELECT key FROM tallystick.state_row
      WHERE ledger = l AND tab = of_tab AND key >= low AND key < high ORDER BY key DESC LIMIT most);
  ELSE
    RETURN ARRAY(SELECT a.key FROM (
      SELECT key FROM tallystick.state_row
      WHERE ledger = l AND tab = of_tab AND key >= low AND key < high AND since <= after
      UNION ALL SELECT key FROM tallystick.state_past
      WHERE ledger = l AND tab = of_tab AND key >= low AND key < high AND until > after AND since <= after
    ) a ORDER BY CASE WHEN NOT backwards THEN a.key END, CASE WHEN backwards THEN a.key END DESC LIMIT most);
  END IF;
END $$;

-- The number of rows of a range; no more than `most` are counted.
CREATE FUNCTION count_in(l uuid, pass text, of_tab text, low bytea, high bytea, most bigint, after bigint)
RETURNS bigint LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  IF after IS NOT NULL THEN
    RETURN cardinality(tallystick.keys_in(l, pass, of_tab, low, high, most, false, after));
  END IF;
  l := tallystick.admit(l, pass);
  RETURN (SELECT count(*) FROM (SELECT 1 FROM tallystick.state_row r
    WHERE r.ledger = l AND r.tab = of_tab AND r.key >= low AND r.key < high LIMIT most) found);
END $$;

-- The rows of a range; their order is that of their keys.
CREATE FUNCTION rows_in(
  l uuid, pass text, of_tab text, low bytea, high bytea, most bigint, backwards boolean, after bigint
) RETURNS TABLE (
  tab text, key bytea, value bytea, seqs bigint[], since bigint, seq bigint, head bytea, data bytea, next_head bytea
) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  found bytea[] := tallystick.keys_in(l, pass, of_tab, low, high, most, backwards, after);
BEGIN
  RETURN QUERY SELECT * FROM tallystick.rows_by_key(
    l, pass, array_fill(of_tab, ARRAY[cardinality(found)]), found, after
  );
END $$;

-- Every value that a row has had, oldest first, with the lines of its events.
CREATE FUNCTION row_steps(l uuid, pass text, of_tab text, of_key bytea)
RETURNS TABLE (
  key bytea, value bytea, seqs bigint[], since bigint, until bigint, seq bigint, head bytea, data bytea, next_head bytea
) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  l := tallystick.admit(l, pass);
  RETURN QUERY SELECT r.key, r.value, r.seqs, r.since, r.until, e.seq, e.head, e.data, n.head
  FROM (
    SELECT p.key, p.value, p.seqs, p.since, p.until FROM tallystick.state_past p
    WHERE p.ledger = l AND p.tab = of_tab AND p.key = of_key
    UNION ALL SELECT c.key, c.value, c.seqs, c.since, NULL FROM tallystick.state_row c
    WHERE c.ledger = l AND c.tab = of_tab AND c.key = of_key
  ) r
  LEFT JOIN LATERAL unnest(r.seqs) AS s (seq) ON true
  LEFT JOIN LATERAL (SELECT * FROM tallystick.events v WHERE v.ledger = l AND v.seq = s.seq OFFSET 0) e ON true
  LEFT JOIN LATERAL (SELECT * FROM tallystick.events v WHERE v.ledger = l AND v.seq = s.seq + 1 OFFSET 0) n ON true
  ORDER BY r.since;
END $$;

-- The keys that are or were in a range.
CREATE FUNCTION keys_ever(l uuid, pass text, of_tab text, low bytea, high bytea) RETURNS SETOF bytea
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  l := tallystick.admit(l, pass);
  RETURN QUERY SELECT key FROM tallystick.state_past WHERE ledger = l AND tab = of_tab AND key >= low AND key < high
    UNION SELECT key FROM tallystick.state_row WHERE ledger = l AND tab = of_tab AND key >= low AND key < high
    ORDER BY key;
END $$;

-- Lines in order, no more than `most`: those that have all of the bytes in `having`, and one of those in `naming`.
CREATE FUNCTION lines_in(l uuid, pass text, start bigint, stop bigint, having_all bytea[], naming bytea[], most bigint)
RETURNS TABLE (seq bigint, head bytea, data bytea) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  l := tallystick.admit(l, pass);
  IF cardinality(having_all) + cardinality(naming) = 0 THEN
    RETURN QUERY SELECT seq, head, data FROM tallystick.events
      WHERE ledger = l AND seq >= start AND seq < stop ORDER BY seq LIMIT most;
  ELSE
    RETURN QUERY SELECT seq, head, data FROM tallystick.events
      WHERE ledger = l AND seq >= start AND seq < stop
      AND NOT EXISTS (SELECT 1 FROM unnest(having_all) AS part
        WHERE position(part IN head) = 0 AND position(part IN data) = 0)
      AND (cardinality(naming) = 0 OR EXISTS (SELECT 1 FROM unnest(naming) AS part
        WHERE position(part IN head) > 0 OR position(part IN data) > 0))
      ORDER BY seq LIMIT most;
  END IF;
END $$;

-- These lines, each with the slice of the line after it.
CREATE FUNCTION lines_of(l uuid, pass text, seqs bigint[])
RETURNS TABLE (seq bigint, head bytea, data bytea, next_head bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  l := tallystick.admit(l, pass);
  RETURN QUERY SELECT e.seq, e.head, e.data, n.head
    FROM unnest(seqs) AS s (seq)
    JOIN LATERAL (SELECT * FROM tallystick.events v WHERE v.ledger = l AND v.seq = s.seq OFFSET 0) e ON true
    LEFT JOIN LATERAL (SELECT * FROM tallystick.events v WHERE v.ledger = l AND v.seq = s.seq + 1 OFFSET 0) n ON true;
END $$;

-- -- writing ----------------------------------------------------------------------------------------------------------

-- A value that is replaced goes to the past. Where rows have none, nobody sets `since`.
CREATE FUNCTION keep_past() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  INSERT INTO tallystick.state_past (ledger, tab, key, until, value, seqs, since)
  VALUES (OLD.ledger, OLD.tab, OLD.key, NEW.since, OLD.value, OLD.seqs, OLD.since)
  ON CONFLICT (ledger, tab, key, until) DO UPDATE
    SET value = excluded.value, seqs = excluded.seqs, since = excluded.since;
  RETURN NEW;
END $$;

CREATE TRIGGER keep_past BEFORE UPDATE OF since ON state_row FOR EACH ROW
  WHEN (OLD.since < NEW.since AND OLD.value IS NOT NULL) EXECUTE FUNCTION keep_past();

-- Rows of tables that keep their past, and rows that go, for functions that have checked the pass. Each array has several
-- fields for each row, one after the other, and is NULL if there are none: nothing stays of `rewritten` rows (table, key);
-- `kept` values (table, key, value, events) are put one after the other, by their turn, which is with their `since` in
-- `kept_at`; then rows are removed that are `gone` (table, key).
CREATE FUNCTION put_kept(l uuid, rewritten bytea[], kept bytea[], kept_at bigint[], gone bytea[]) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  FOR n IN 1..coalesce(cardinality(rewritten), 0) BY 2 LOOP
    DELETE FROM tallystick.state_row r
      WHERE r.ledger = l AND r.tab = convert_from(rewritten[n], 'UTF8') AND r.key = rewritten[n + 1];
    DELETE FROM tallystick.state_past r
      WHERE r.ledger = l AND r.tab = convert_from(rewritten[n], 'UTF8') AND r.key = rewritten[n + 1];
  END LOOP;
  FOR turn IN 0..coalesce(kept_at[cardinality(kept_at) - 1], -1) LOOP
    INSERT INTO tallystick.state_row AS r (ledger, tab, key, value, seqs, since)
      SELECT l, convert_from(kept[4 * n - 3], 'UTF8'), kept[4 * n - 2], kept[4 * n - 1],
        convert_from(kept[4 * n], 'UTF8')::bigint[], kept_at[2 * n]
      FROM generate_series(1, cardinality(kept) / 4) AS n WHERE kept_at[2 * n - 1] = turn
      ON CONFLICT (ledger, tab, key) DO UPDATE
        SET value = excluded.value, seqs = excluded.seqs, since = excluded.since
        WHERE r.since <= excluded.since
        AND (r.value IS DISTINCT FROM excluded.value OR r.seqs IS DISTINCT FROM excluded.seqs);
  END LOOP;
  FOR n IN 1..coalesce(cardinality(gone), 0) BY 2 LOOP
    DELETE FROM tallystick.state_row r
      WHERE r.ledger = l AND r.tab = convert_from(gone[n], 'UTF8') AND r.key = gone[n + 1];
  END LOOP;
END $$;

-- Move the head from (at, was), with a line, or several in `slices` and `datas`, and rows, all or nothing. Rows without a
-- past are in `plain` (table, key, value, events), the others as in `put_kept`. Of the requests that some of the lines are
-- of the `keys` are noted, with the first and the last event of each in `spans`. `erased` are the lines that lose their
-- data; it is not NULL where a line is about erasing. What there is none of is NULL, and at the end may be left out. The
-- outcome is a result and not an error: 'written', also if this very line was written before, and the answer was lost;
-- 'moved', if the head was not there, or the rows or settings have another version; else its state.
CREATE FUNCTION write(
  l uuid, pass text, at bigint, was text, was_shape integer, was_settings integer,
  new_seq bigint, new_hash text, new_ts text, new_bytes bigint, new_saved bytea, slice bytea, data bytea,
  plain bytea[] DEFAULT NULL, rewritten bytea[] DEFAULT NULL, kept bytea[] DEFAULT NULL, kept_at bigint[] DEFAULT NULL,
  gone bytea[] DEFAULT NULL, new_tables text[] DEFAULT NULL, new_shape integer DEFAULT NULL,
  slices bytea[] DEFAULT NULL, datas bytea[] DEFAULT NULL, keys bytea[] DEFAULT NULL, spans bigint[] DEFAULT NULL,
  erased bigint[] DEFAULT NULL
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  l := tallystick.admit(l, pass);
  UPDATE tallystick.heads h SET seq = new_seq, hash = new_hash, ts = new_ts, bytes = h.bytes + new_bytes, saved = new_saved
    WHERE h.ledger = l AND (h.hash, h.shape, h.settings, h.state) = (was, was_shape, was_settings, 'open');
  IF NOT FOUND THEN
    RETURN (SELECT CASE
        WHEN EXISTS (SELECT FROM tallystick.events e
          WHERE e.ledger = l AND e.seq = at + 1 AND e.head = coalesce(slice, slices[1]))
        THEN 'written' WHEN h.state = 'open' THEN 'moved' ELSE h.state END
      FROM tallystick.heads h WHERE h.ledger = l);
  END IF;
  IF slice IS NOT NULL THEN
    INSERT INTO tallystick.events (ledger, seq, head, data) VALUES (l, at + 1, slice, data);
  END IF;
  IF plain IS NOT NULL THEN
    INSERT INTO tallystick.state_row (ledger, tab, key, value, seqs)
      SELECT l, convert_from(plain[n], 'UTF8'), plain[n + 1], plain[n + 2], convert_from(plain[n + 3], 'UTF8')::bigint[]
      FROM generate_series(1, cardinality(plain), 4) AS n
      ON CONFLICT (ledger, tab, key) DO UPDATE SET value = excluded.value, seqs = excluded.seqs;
  END IF;
  IF new_tables IS NULL AND new_shape IS NULL AND rewritten IS NULL AND kept IS NULL AND gone IS NULL
    AND slices IS NULL AND keys IS NULL AND erased IS NULL
  THEN
    RETURN 'written';
  END IF;
  IF new_tables IS NOT NULL OR new_shape IS NOT NULL THEN
    UPDATE tallystick.heads h SET shape = coalesce(new_shape, h.shape), tables = coalesce(new_tables, h.tables)
      WHERE h.ledger = l;
  END IF;
  IF slices IS NOT NULL THEN
    INSERT INTO tallystick.events (ledger, seq, head, data)
      SELECT l, at + n, slices[n], datas[n] FROM generate_series(1, cardinality(slices)) AS n;
  END IF;
  IF keys IS NOT NULL THEN
    INSERT INTO tallystick.requests (ledger, key, first, last)
      SELECT l, keys[n], spans[2 * n - 1], spans[2 * n] FROM generate_series(1, cardinality(keys)) AS n;
  END IF;
  IF erased IS NOT NULL THEN
    UPDATE tallystick.events e SET data = convert_to(rpad('null', length(e.data)), 'UTF8')
      WHERE e.ledger = l AND e.seq = ANY (erased);
    PERFORM tallystick.note_erasures(l, at, coalesce(slices, ARRAY[slice]), coalesce(datas, ARRAY[data]));
  END IF;
  PERFORM tallystick.put_kept(l, rewritten, kept, kept_at, gone);
  RETURN 'written';
END $$;

-- Add rows of the state, as they are after the last line: past ones have `until`. The first call removes what is there.
-- Without a mover, in a transaction that has locked the head. False, if somebody else moves lines here.
CREATE FUNCTION fill_rows(
  l uuid, pass text, by_mover uuid, is_first boolean,
  tab text[], key bytea[], value bytea[], seqs text[], since bigint[], until bigint[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  l := tallystick.admit(l, pass);
  PERFORM 1 FROM tallystick.heads h
    WHERE h.ledger = l AND CASE h.state WHEN 'arriving' THEN h.mover = by_mover ELSE by_mover IS NULL END FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF is_first THEN
    DELETE FROM tallystick.state_row r WHERE r.ledger = l;
    DELETE FROM tallystick.state_past r WHERE r.ledger = l;
  END IF;
  INSERT INTO tallystick.state_row (ledger, tab, key, value, seqs, since)
    SELECT l, u.tab, u.key, u.value, u.seqs::bigint[], u.since
    FROM unnest(tab, key, value, seqs, since, until) AS u (tab, key, value, seqs, since, until)
    WHERE u.until IS NULL ON CONFLICT DO NOTHING;
  INSERT INTO tallystick.state_past (ledger, tab, key, value, seqs, since, until)
    SELECT l, u.tab, u.key, u.value, u.seqs::bigint[], u.since, u.until
    FROM unnest(tab, key, value, seqs, since, until) AS u (tab, key, value, seqs, since, until)
    WHERE u.until IS NOT NULL ON CONFLICT DO NOTHING;
  RETURN true;
END $$;

CREATE FUNCTION keep_checkpoint(l uuid, pass text, of_size bigint, of_note text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  l := tallystick.admit(l, pass);
  INSERT INTO tallystick.checkpoints (ledger, size, note) VALUES (l, of_size, of_note)
  ON CONFLICT (ledger, size) DO UPDATE SET note = excluded.note;
END $$;

CREATE FUNCTION checkpoints_of(l uuid, pass text) RETURNS SETOF text LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  l := tallystick.admit(l, pass);
  RETURN QUERY SELECT c.note FROM tallystick.checkpoints c WHERE c.ledger = l ORDER BY c.size DESC;
END $$;

CREATE FUNCTION read_settings(l uuid, pass text) RETURNS TABLE (version integer, toml text) LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  l := tallystick.admit(l, pass);
  RETURN QUERY SELECT h.settings, s.toml FROM tallystick.heads h
    LEFT JOIN tallystick.settings s ON s.ledger = h.ledger WHERE h.ledger = l;
END $$;

-- Replace the settings, if they are still those of that version. The new version; no row, if they are not.
CREATE FUNCTION write_settings(l uuid, pass text, known integer, text text) RETURNS SETOF integer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  l := tallystick.admit(l, pass);
  UPDATE tallystick.heads SET settings = known + 1 WHERE ledger = l AND settings = known;
  IF FOUND THEN
    INSERT INTO tallystick.settings (ledger, toml) VALUES (l, text)
    ON CONFLICT (ledger) DO UPDATE SET toml = excluded.toml;
    RETURN NEXT known + 1;
  END IF;
END $$;

-- -- erasing ----------------------------------------------------------------------------------------------------------

-- Erasures whose words are hidden, and may still be in the files: see `sweep.py`. A row is removed when its ledger says
-- that they are destroyed.
CREATE TABLE erasures (
  ledger uuid NOT NULL, seq bigint NOT NULL,
  last_xid xid8 NOT NULL           -- no later transaction has removed a row of the words
    DEFAULT greatest(pg_current_xact_id(), pg_snapshot_xmax(pg_current_snapshot())),
  rewritten pg_lsn,                -- where WAL ended when the tables had been rewritten: no later WAL has the words
  destroyed timestamptz,
  PRIMARY KEY (ledger, seq)
);
ALTER TABLE erasures ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY mine ON erasures TO tallystick_app USING (ledger = (SELECT tallystick.mine()));
CREATE POLICY all_ledgers ON erasures TO tallystick_owner USING (true) WITH CHECK (true);  -- it has no words

-- Note the erasures among the lines after event `at`, and forget those that are recorded as destroyed, for functions that
-- have checked the pass.
CREATE FUNCTION note_erasures(l uuid, at bigint, slices bytea[], datas bytea[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR n IN 1..cardinality(slices) LOOP
    IF position('"op":"erase/1"'::bytea IN slices[n]) > 0 THEN
      INSERT INTO tallystick.erasures (ledger, seq) VALUES (l, at + n);
    ELSIF position('"op":"erase'::bytea IN slices[n]) > 0 THEN
      DELETE FROM tallystick.erasures e
        WHERE e.ledger = l AND e.seq = substring(convert_from(datas[n], 'UTF8') FROM '"of":(\d+)')::bigint;
    END IF;
  END LOOP;
END $$;

-- The erasures whose words are destroyed, and when they were.
CREATE FUNCTION destroyed_erasures(l uuid, pass text) RETURNS TABLE (seq bigint, destroyed text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  l := tallystick.admit(l, pass);
  RETURN QUERY SELECT e.seq, to_char(e.destroyed AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    FROM tallystick.erasures e WHERE e.ledger = l AND e.destroyed IS NOT NULL ORDER BY e.seq;
END $$;

-- Forget an erasure that is destroyed: no event of this ledger waits for it.
CREATE FUNCTION forget_erasure(l uuid, pass text, of_seq bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  l := tallystick.admit(l, pass);
  DELETE FROM tallystick.erasures WHERE ledger = l AND seq = of_seq AND destroyed IS NOT NULL;
END $$;

-- -- moving -----------------------------------------------------------------------------------------------------------

-- A ledger that is 'arriving' gets its lines from another place, and nobody can write to it otherwise; one that is
-- 'moved' is only read. `mover` began last to move lines here: no earlier one adds any more.

-- The place to which the lines have moved; while they arrive, that from which they come.
CREATE FUNCTION other_place(l uuid, pass text) RETURNS SETOF text LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog AS $$
BEGIN
  l := tallystick.admit(l, pass);
  RETURN QUERY SELECT h.other_place FROM tallystick.heads h WHERE h.ledger = l;
END $$;

-- Close a ledger for writing: from now on its lines are at that place. False, if it is not open with this head.
CREATE FUNCTION move_away(l uuid, pass text, at bigint, was text, place text) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  l := tallystick.admit(l, pass);
  UPDATE tallystick.heads SET state = 'moved', other_place = place, mover = NULL
    WHERE ledger = l AND seq = at AND hash = was AND state = 'open';
  RETURN FOUND;
END $$;

-- Begin to add lines after this head, or go on. False, if it is open, or has another head.
CREATE FUNCTION begin_arriving(l uuid, pass text, at bigint, was text, origin text, by_mover uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  l := tallystick.admit(l, pass);
  UPDATE tallystick.heads SET state = 'arriving', other_place = origin, mover = by_mover
    WHERE ledger = l AND seq = at AND hash = was AND state <> 'open';
  RETURN FOUND;
END $$;

-- Add lines after the head (at, was). Doing it twice is the same as doing it once. False, if somebody else moves here.
CREATE FUNCTION add_arriving(
  l uuid, pass text, by_mover uuid, at bigint, was text, new_hash text, new_ts text, new_bytes bigint,
  slices bytea[], datas bytea[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  l := tallystick.admit(l, pass);
  UPDATE tallystick.heads SET seq = at + cardinality(slices), hash = new_hash, ts = new_ts, bytes = bytes + new_bytes
    WHERE ledger = l AND state = 'arriving' AND mover = by_mover AND seq = at AND hash = was;
  IF NOT FOUND THEN
    RETURN EXISTS (SELECT FROM tallystick.heads WHERE ledger = l AND mover = by_mover AND hash = new_hash);
  END IF;
  INSERT INTO tallystick.events (ledger, seq, head, data)
    SELECT l, at + n, slices[n], datas[n] FROM generate_series(1, cardinality(slices)) AS n;
  PERFORM tallystick.note_erasures(l, at, slices, datas);
  RETURN true;
END $$;

-- Open a ledger that has arrived, all or nothing. The data of `erased` lines was erased elsewhere after it came here: it
-- is hidden now, and destroyed by the next sweep. Doing it twice is the same as doing it once.
CREATE FUNCTION finish_arriving(
  l uuid, pass text, by_mover uuid, at bigint, was text, new_saved bytea, new_shape integer, new_tables text[],
  erased bigint[], new_toml text, sizes bigint[], notes text[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  l := tallystick.admit(l, pass);
  UPDATE tallystick.heads SET state = 'open', other_place = NULL, saved = new_saved, shape = new_shape,
    tables = new_tables, settings = settings + 1
    WHERE ledger = l AND state = 'arriving' AND mover = by_mover AND seq = at AND hash = was;
  IF NOT FOUND THEN
    RETURN EXISTS (SELECT FROM tallystick.heads WHERE ledger = l AND mover = by_mover AND state = 'open');
  END IF;
  IF cardinality(erased) > 0 THEN
    UPDATE tallystick.events SET data = convert_to(rpad('null', length(data)), 'UTF8')
      WHERE ledger = l AND seq = ANY (erased);
    INSERT INTO tallystick.erasures (ledger, seq) VALUES (l, at)
      ON CONFLICT (ledger, seq) DO UPDATE SET last_xid = excluded.last_xid, rewritten = NULL, destroyed = NULL;
  END IF;
  INSERT INTO tallystick.settings (ledger, toml) VALUES (l, new_toml)
    ON CONFLICT (ledger) DO UPDATE SET toml = excluded.toml;
  INSERT INTO tallystick.checkpoints (ledger, size, note) SELECT l, u.size, u.note FROM unnest(sizes, notes) AS u (size, note)
    ON CONFLICT (ledger, size) DO UPDATE SET note = excluded.note;
  RETURN true;
END $$;

-- -- rights -----------------------------------------------------------------------------------------------------------

-- The planner's statistics would keep some of the values, and a sweep does not reach them. Such a table is read by key.
ALTER TABLE heads ALTER other_place SET STATISTICS 0;
ALTER TABLE events ALTER head SET STATISTICS 0, ALTER data SET STATISTICS 0;
ALTER TABLE state_row ALTER key SET STATISTICS 0, ALTER value SET STATISTICS 0;
ALTER TABLE state_past ALTER key SET STATISTICS 0, ALTER value SET STATISTICS 0;
ALTER TABLE requests ALTER key SET STATISTICS 0;
ALTER TABLE settings ALTER toml SET STATISTICS 0;

-- Keys of requests are SHA-256 of what a caller gave. Who sweeps may remove them when nobody asks any more.
CREATE POLICY old ON requests TO tallystick_owner USING (at < now() - interval '7 days');

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA tallystick FROM PUBLIC;
GRANT USAGE ON SCHEMA tallystick TO tallystick_app;
GRANT SELECT ON events, heads, state_row, state_past, requests, checkpoints, settings TO tallystick_app;
GRANT EXECUTE ON FUNCTION mine, enter, find_ledger, look, rows_by_key, keys_in, count_in, rows_in, row_steps,
  keys_ever, lines_in, lines_of, write, fill_rows, keep_checkpoint, checkpoints_of, read_settings,
  write_settings, destroyed_erasures, other_place, move_away, begin_arriving, add_arriving,
  finish_arriving, forget_erasure TO tallystick_app;
