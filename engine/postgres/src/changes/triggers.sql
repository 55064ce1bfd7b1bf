-- What `prony triggers install` puts into a database besides the triggers themselves. SECURITY DEFINER: who may write a
-- table need not be allowed to touch the table of changes.
CREATE SCHEMA IF NOT EXISTS prony;

CREATE TABLE IF NOT EXISTS prony.change (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    schema_name text NOT NULL,
    table_name text NOT NULL,
    -- I, U, D; T where it is not known what has become of which rows, as after TRUNCATE
    operation "char" NOT NULL,
    -- the row as the change left it, or as it was before a deletion
    row_data jsonb,
    -- the row before an update that changed its key
    previous jsonb
);
CREATE INDEX IF NOT EXISTS change_by_transaction ON prony.change (transaction);

-- Removes the oldest changes each time the numbers have passed a thousand. Transactions of higher isolation are left out,
-- since it could make them fail.
CREATE OR REPLACE FUNCTION prony.keep(last bigint, written bigint) RETURNS void LANGUAGE sql AS $$
    DELETE FROM prony.change WHERE id IN (
        SELECT id FROM prony.change WHERE id < last - KEPT ORDER BY id LIMIT written + 5000 FOR UPDATE SKIP LOCKED)
$$;

-- For each statement. What it reads is in the order of the changes, old and new rows alike. Plans are kept from call to call,
-- however many rows there are: a full join is never done by nested loops. An update of one row, the most common, does without.
CREATE OR REPLACE FUNCTION prony.rows_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    after jsonb;
    before jsonb;
    moved boolean := false;
    key text;
    written bigint;
    last bigint;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO prony.change (schema_name, table_name, operation, row_data)
            SELECT TG_ARGV[0], TG_ARGV[1], 'I', to_jsonb(prony_row) FROM rows_after AS prony_row;
        GET DIAGNOSTICS written = ROW_COUNT;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO prony.change (schema_name, table_name, operation, row_data)
            SELECT TG_ARGV[0], TG_ARGV[1], 'D', to_jsonb(prony_row) FROM rows_before AS prony_row;
        GET DIAGNOSTICS written = ROW_COUNT;
    ELSE
        SELECT (array_agg(few.data))[1], count(*) INTO after, written
            FROM (SELECT to_jsonb(prony_row) AS data FROM rows_after AS prony_row LIMIT 2) AS few;
        IF written = 1 THEN
            SELECT to_jsonb(prony_row) INTO before FROM rows_before AS prony_row;
            FOREACH key IN ARRAY TG_ARGV[2:] LOOP
                moved := moved OR (before -> key) IS DISTINCT FROM (after -> key);
            END LOOP;
            INSERT INTO prony.change (schema_name, table_name, operation, row_data, previous)
                VALUES (TG_ARGV[0], TG_ARGV[1], 'U', after, CASE WHEN moved THEN before END);
        ELSIF written = 2 THEN
            INSERT INTO prony.change (schema_name, table_name, operation, row_data, previous)
                SELECT TG_ARGV[0], TG_ARGV[1], 'U', later.data,
                       CASE WHEN EXISTS (SELECT FROM unnest(TG_ARGV[2:]) AS keys (name)
                                         WHERE earlier.data -> keys.name IS DISTINCT FROM later.data -> keys.name)
                            THEN earlier.data END
                FROM (SELECT row_number() OVER () AS place, to_jsonb(prony_row) AS data FROM rows_after AS prony_row) AS later
                FULL JOIN (SELECT row_number() OVER () AS place, to_jsonb(prony_row) AS data FROM rows_before AS prony_row)
                    AS earlier USING (place)
                ORDER BY place;
            GET DIAGNOSTICS written = ROW_COUNT;
        END IF;
    END IF;
    IF written = 0 THEN RETURN NULL; END IF;
    -- A trigger of this table may have brought this about, whose own statement tells of its rows only after this one.
    IF pg_trigger_depth() > 1 AND EXISTS (
        SELECT FROM pg_trigger AS t -- row (1) before (2) instead (64)
        WHERE t.tgrelid = TG_RELID AND NOT t.tgisinternal AND t.tgenabled <> 'D'
            AND (t.tgtype & 67 = 1 OR t.tgtype & 67 = 0 AND t.tgname < '0_prony'))
    THEN
        INSERT INTO prony.change (schema_name, table_name, operation) VALUES (TG_ARGV[0], TG_ARGV[1], 'T');
    END IF;
    last := currval('prony.change_id_seq');
    IF last / 1000 > (last - written) / 1000 AND current_setting('transaction_isolation') = 'read committed' THEN
        PERFORM prony.keep(last, written);
    END IF;
    PERFORM pg_notify('CHANNEL', pg_current_xact_id()::text);
    RETURN NULL;
END
$$;

-- For each row, where triggers for each statement would not see all or not in order.
CREATE OR REPLACE FUNCTION prony.row_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    after jsonb;
    before jsonb;
    moved boolean := false;
    key text;
    last bigint;
BEGIN
    IF TG_OP <> 'DELETE' THEN after := to_jsonb(NEW); END IF;
    IF TG_OP <> 'INSERT' THEN before := to_jsonb(OLD); END IF;
    IF TG_OP = 'UPDATE' THEN
        FOREACH key IN ARRAY TG_ARGV[2:] LOOP
            moved := moved OR (before -> key) IS DISTINCT FROM (after -> key);
        END LOOP;
    END IF;
    INSERT INTO prony.change (schema_name, table_name, operation, row_data, previous)
        VALUES (TG_ARGV[0], TG_ARGV[1], left(TG_OP, 1)::"char", coalesce(after, before),
                CASE WHEN moved THEN before END)
        RETURNING id INTO last;
    IF last % 1000 = 0 AND current_setting('transaction_isolation') = 'read committed' THEN
        PERFORM prony.keep(last, 1);
    END IF;
    PERFORM pg_notify('CHANNEL', pg_current_xact_id()::text);
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION prony.truncated() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO prony.change (schema_name, table_name, operation) VALUES (TG_ARGV[0], TG_ARGV[1], 'T');
    PERFORM pg_notify('CHANNEL', pg_current_xact_id()::text);
    RETURN NULL;
END
$$;

-- What an earlier version has made.
DROP FUNCTION IF EXISTS prony.keep(bigint);

REVOKE ALL ON FUNCTION prony.keep(bigint, bigint), prony.rows_changed(), prony.row_changed(), prony.truncated() FROM PUBLIC;
