//! The event triggers that tell of changes of the schema: what they are in SQL. Few roles may make them, so that a database without them
//! is the rule; its schema is asked for again and again.

/// What those who follow the schema listen to.
pub(crate) const SCHEMA_CHANNEL: &str = "prony_schema";
/// What the names of both event triggers begin with.
pub(crate) const SCHEMA_TRIGGER: &str = "prony_schema";

/// How many of them are there.
pub(crate) const INSTALLED: &str =
    "SELECT count(*) FROM pg_event_trigger WHERE evtname LIKE 'prony\\_schema%' AND evtenabled IN ('O', 'A')";

/// After each command that changes the schema, in its transaction: whoever listens hears of it once that has committed. Temporary tables
/// are served to nobody, and programs may make many.
pub(crate) const CREATE: &str = "\
DO $prony$ BEGIN
    CREATE OR REPLACE FUNCTION prony.schema_changed() RETURNS event_trigger
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        IF TG_EVENT = 'sql_drop' THEN
            IF EXISTS (SELECT FROM pg_event_trigger_dropped_objects() WHERE NOT is_temporary) THEN
                PERFORM pg_notify('prony_schema', '');
            END IF;
        ELSIF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE schema_name IS DISTINCT FROM 'pg_temp') THEN
            PERFORM pg_notify('prony_schema', '');
        END IF;
    END
    $$;
    REVOKE ALL ON FUNCTION prony.schema_changed() FROM PUBLIC;
    DROP EVENT TRIGGER IF EXISTS prony_schema_command;
    DROP EVENT TRIGGER IF EXISTS prony_schema_drop;
    CREATE EVENT TRIGGER prony_schema_command ON ddl_command_end EXECUTE FUNCTION prony.schema_changed();
    CREATE EVENT TRIGGER prony_schema_drop ON sql_drop EXECUTE FUNCTION prony.schema_changed();
EXCEPTION WHEN insufficient_privilege THEN
END $prony$;
";

/// Takes them away where the role may.
pub(crate) const DROP: &str = "\
    BEGIN
        DROP EVENT TRIGGER IF EXISTS prony_schema_command;
        DROP EVENT TRIGGER IF EXISTS prony_schema_drop;
        DROP FUNCTION IF EXISTS prony.schema_changed();
    EXCEPTION WHEN dependent_objects_still_exist OR insufficient_privilege OR invalid_schema_name THEN
    END;
";
