-- SPDX-License-Identifier: MIT
--
-- Conclave's guard for PostgreSQL, 13 and later: a write that comes with a lower fence than one before is refused.
--
--     psql -f guards/postgresql.sql                      once, as the owner of what is guarded; again after an update of it
--     SELECT conclave.guard('orders', 'orders-lock');    from now on every write to this table needs a fence of that lock
--     GRANT EXECUTE ON FUNCTION conclave.present TO app;
--
--     BEGIN;                                             in the program that holds the lock:
--     SELECT conclave.present('orders-lock', 71);        the fence that LOCK gave
--     UPDATE orders SET ...;
--     COMMIT;
--
-- conclave.present() writes the row of the resource, and so waits for every other transaction that has presented a
-- fence for it and is not over. Then it compares itself with the last that was committed. So fences of one resource are
-- committed in rising order, at READ COMMITTED, which is the default, and at every other level, where a transaction may
-- fail with a serialization error instead, and is to be repeated. An equal fence is the same holder, who may write often.

CREATE SCHEMA IF NOT EXISTS conclave;

CREATE TABLE IF NOT EXISTS conclave.fences (
    resource text PRIMARY KEY,
    fence bigint NOT NULL CHECK (fence > 0), -- the highest that was committed
    writer xid8 NOT NULL,                    -- the transaction that presented it,
    since timestamptz NOT NULL               -- and when that began: a restored row is of no transaction
);

-- Presents a fence for the rest of this transaction. SQLSTATE CF001: a higher one has been seen.
CREATE OR REPLACE FUNCTION conclave.present(resource text, fence bigint) RETURNS void
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
    IF resource IS NULL OR fence IS NULL OR fence < 1 THEN
        RAISE EXCEPTION 'fence % for %: expected a number from 1 on, as LOCK gave it',
            coalesce(fence::text, 'NULL'), coalesce(quote_literal(resource), 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    INSERT INTO conclave.fences AS known VALUES ($1, $2, pg_current_xact_id(), now())
        ON CONFLICT ON CONSTRAINT fences_pkey
        DO UPDATE SET fence = excluded.fence, writer = excluded.writer, since = excluded.since
        WHERE known.fence <= excluded.fence;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'fence % for %: a higher one has been seen, the lock is another''s', fence, quote_literal(resource)
            USING ERRCODE = 'CF001';
    END IF;
END;
$$;

-- The trigger. SQLSTATE CF002: this transaction has presented no fence, or has rolled that back to a savepoint.
CREATE OR REPLACE FUNCTION conclave.require() RETURNS trigger
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
    IF NOT EXISTS (SELECT FROM conclave.fences
                   WHERE resource = TG_ARGV[0] AND writer = pg_current_xact_id_if_assigned() AND since = now()) THEN
        RAISE EXCEPTION '% of %.%: expected conclave.present(%, fence) before it in this transaction',
            TG_OP, quote_ident(TG_TABLE_SCHEMA), quote_ident(TG_TABLE_NAME), quote_literal(TG_ARGV[0])
            USING ERRCODE = 'CF002';
    END IF;
    RETURN NULL;
END;
$$;

-- From now on every INSERT, UPDATE, DELETE and TRUNCATE of the table needs a fence of the resource.
CREATE OR REPLACE FUNCTION conclave.guard(guarded regclass, resource text) RETURNS void
    LANGUAGE plpgsql AS
$$
BEGIN
    EXECUTE format('DROP TRIGGER IF EXISTS conclave_guard ON %s', guarded);
    EXECUTE format('CREATE TRIGGER conclave_guard BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s '
                   'FOR EACH STATEMENT EXECUTE FUNCTION conclave.require(%L)', guarded, resource);
END;
$$;

-- Who may present a fence may also keep everybody else out, with a very high one.
REVOKE ALL ON FUNCTION conclave.present FROM PUBLIC;
REVOKE ALL ON TABLE conclave.fences FROM PUBLIC;
GRANT USAGE ON SCHEMA conclave TO PUBLIC;
GRANT SELECT ON TABLE conclave.fences TO PUBLIC;
