//! The triggers that tell of changes which others make: what they are in SQL, put into a database and taken out again.
//!
//! Each row change is written into one table of the database, in the transaction that makes it, and a notification wakes
//! those who listen. The table and not the notification is what is read: notifications are lost while nobody is
//! connected, and hold at most 8000 bytes.

use std::fmt::Write as _;

use tokio_postgres::{Client, Config};

use super::{
    super::{
        catalog::{Catalog, CatalogTable, TableKind},
        settings::RelationalSettings,
        sql::{push_identifier, push_literal},
    },
    config::{PlanMode, Target},
    database::connect,
    discover::discover,
    error::{OpenError, describe},
};

/// The schema of the table and the functions.
pub(super) const SCHEMA: &str = "prony";
/// What listeners listen to; a notification holds the transaction's number.
pub(super) const CHANNEL: &str = "prony_changes";
/// The newest changes that the table keeps; older ones are removed by the triggers.
pub(super) const KEPT_CHANGES: i64 = 100_000;

/// The triggers of each table. Those of one event fire in the order of their names: before a program's own, so that what
/// these change comes later.
const ROW_TRIGGER: &str = "0_prony_row";
const TRUNCATE_TRIGGER: &str = "0_prony_truncate";

/// What all tables share. `SECURITY DEFINER`: who may write a table need not be allowed to touch the table of changes.
/// Trimming leaves out transactions of higher isolation, which it could make fail.
const SHARED: &str = r#"CREATE SCHEMA IF NOT EXISTS prony;

CREATE TABLE IF NOT EXISTS prony.change (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    schema_name text NOT NULL,
    table_name text NOT NULL,
    -- I, U, D; T for TRUNCATE, which has no rows
    operation "char" NOT NULL,
    -- the row as the change left it, or as it was before a deletion
    row_data jsonb,
    -- the row before an update that changed its key
    previous jsonb
);
CREATE INDEX IF NOT EXISTS change_by_transaction ON prony.change (transaction);

CREATE OR REPLACE FUNCTION prony.keep(new_id bigint) RETURNS void LANGUAGE sql AS $$
    DELETE FROM prony.change WHERE id IN (
        SELECT id FROM prony.change WHERE id < new_id - KEPT ORDER BY id LIMIT 5000 FOR UPDATE SKIP LOCKED)
$$;

CREATE OR REPLACE FUNCTION prony.row_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    after jsonb;
    before jsonb;
    moved boolean := false;
    key text;
    new_id bigint;
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
        RETURNING id INTO new_id;
    IF new_id % 1000 = 0 AND current_setting('transaction_isolation') = 'read committed' THEN
        PERFORM prony.keep(new_id);
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

REVOKE ALL ON FUNCTION prony.keep(bigint), prony.row_changed(), prony.truncated() FROM PUBLIC;
"#;

/// Why triggers could not be installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum TriggersError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("there is no table `{name}` with a primary key; there are {}", .known.join(", "))]
    NoTable { name: String, known: Vec<String> },
    #[error("nothing was changed in the database {target}: {reason}")]
    Refused { target: String, reason: String },
}

/// For which tables, and who may read.
#[derive(Debug, Clone, Default)]
pub struct TriggersRequest {
    /// PostgreSQL's schemas; empty means the current one.
    pub schemas: Vec<String>,
    /// As `name` or `schema.name`; empty means all with a primary key.
    pub tables: Vec<String>,
    /// The role as which `prony serve` connects, where that is another than who installs.
    pub reader: Option<String>,
}

/// A database whose triggers are looked after.
#[derive(Debug)]
pub struct Triggers {
    client: Client,
    target: Target,
    tables: Vec<CatalogTable>,
    request: TriggersRequest,
}

impl Triggers {
    /// Connects and finds the tables.
    pub async fn open(address: &str, request: TriggersRequest) -> Result<Self, TriggersError> {
        let config: Config = address.parse().map_err(|error| OpenError::unreadable(&error))?;
        let target = Target::new(config, &RelationalSettings::default())?;
        let client = connect(&target).await?;
        let setup = format!("{}; set lock_timeout = '10s'", target.session_setup(PlanMode::Custom));
        client.batch_execute(&setup).await.map_err(|error| refused(&target, &error))?;
        let catalog = discover(&client, &request.schemas).await;
        let catalog = catalog.map_err(|error| OpenError::discovery(&target.description, &error))?;
        let tables = chosen(&catalog, &request.tables)?;
        Ok(Self { client, target, tables, request })
    }

    /// The tables, as `schema.name`.
    pub fn tables(&self) -> Vec<String> {
        self.tables.iter().map(described).collect()
    }

    /// What [`Self::install`] runs.
    pub fn installing(&self) -> String {
        let shared = SHARED.replace("KEPT", &KEPT_CHANGES.to_string()).replace("CHANNEL", CHANNEL);
        let mut sql = format!("BEGIN;\n\n{shared}");
        if let Some(reader) = &self.request.reader {
            let mut role = String::new();
            push_identifier(&mut role, reader);
            let _ = write!(
                sql,
                "\nGRANT USAGE ON SCHEMA {SCHEMA} TO {role};\nGRANT SELECT ON {SCHEMA}.change TO {role};\n"
            );
        }
        for table in &self.tables {
            sql.push('\n');
            sql.push_str(&dropping(table));
            let arguments = arguments(table);
            let name = qualified(table);
            let _ = write!(
                sql,
                "CREATE TRIGGER \"{ROW_TRIGGER}\" AFTER INSERT OR UPDATE OR DELETE ON {name}\n    \
                 FOR EACH ROW EXECUTE FUNCTION {SCHEMA}.row_changed({arguments});\n\
                 CREATE TRIGGER \"{TRUNCATE_TRIGGER}\" AFTER TRUNCATE ON {name}\n    \
                 FOR EACH STATEMENT EXECUTE FUNCTION {SCHEMA}.truncated({arguments});\n"
            );
        }
        sql + "\nCOMMIT;\n"
    }

    /// What [`Self::remove`] runs: the tables' triggers, and without named tables all that the installation has made.
    pub fn removing(&self) -> String {
        let mut sql = "BEGIN;\n".to_owned();
        for table in &self.tables {
            sql.push_str(&dropping(table));
        }
        if self.request.tables.is_empty() {
            let _ = writeln!(sql, "DROP SCHEMA IF EXISTS {SCHEMA} CASCADE;");
        }
        sql + "COMMIT;\n"
    }

    /// Puts the triggers into the database, all or none. Those that are there are made anew.
    pub async fn install(&self) -> Result<(), TriggersError> {
        self.run(&self.installing()).await
    }

    /// Takes the triggers out of the database.
    pub async fn remove(&self) -> Result<(), TriggersError> {
        self.run(&self.removing()).await
    }

    async fn run(&self, sql: &str) -> Result<(), TriggersError> {
        self.client.batch_execute(sql).await.map_err(|error| refused(&self.target, &error))
    }
}

fn refused(target: &Target, error: &tokio_postgres::Error) -> TriggersError {
    let advice = match error.code().map(tokio_postgres::error::SqlState::code) {
        Some("42501") => "; run it as the tables' owner, with CREATE on the database",
        Some("55P03") => "; a transaction holds one of the tables: try again when it has ended",
        _ => "",
    };
    TriggersError::Refused {
        target: target.description.clone(),
        reason: format!("{}{advice}", describe(error)),
    }
}

fn chosen(catalog: &Catalog, names: &[String]) -> Result<Vec<CatalogTable>, TriggersError> {
    let has_key = |table: &&CatalogTable| {
        table.kind == TableKind::Table
            && !table.primary_key.is_empty()
            && table.schema.as_deref() != Some(SCHEMA)
    };
    let all: Vec<&CatalogTable> = catalog.tables.iter().filter(has_key).collect();
    if names.is_empty() {
        return Ok(all.into_iter().cloned().collect());
    }
    let find = |name: &String| {
        let found = all.iter().find(|table| *table.name == **name || described(table) == *name);
        found.map(|table| (*table).clone()).ok_or_else(|| TriggersError::NoTable {
            name: name.clone(),
            known: all.iter().map(|table| format!("`{}`", described(table))).collect(),
        })
    };
    names.iter().map(find).collect()
}

fn described(table: &CatalogTable) -> String {
    format!("{}.{}", table.schema.as_deref().unwrap_or_default(), table.name)
}

fn qualified(table: &CatalogTable) -> String {
    let mut name = String::new();
    push_identifier(&mut name, table.schema.as_deref().unwrap_or_default());
    name.push('.');
    push_identifier(&mut name, &table.name);
    name
}

fn dropping(table: &CatalogTable) -> String {
    let name = qualified(table);
    format!(
        "DROP TRIGGER IF EXISTS \"{ROW_TRIGGER}\" ON {name};\nDROP TRIGGER IF EXISTS \"{TRUNCATE_TRIGGER}\" ON {name};\n"
    )
}

/// The table's schema and name (partitions have their own) and the columns of its key.
fn arguments(table: &CatalogTable) -> String {
    let mut text = String::new();
    push_literal(&mut text, table.schema.as_deref().unwrap_or_default());
    text.push_str(", ");
    push_literal(&mut text, &table.name);
    for &column in &table.primary_key {
        text.push_str(", ");
        push_literal(&mut text, &table.columns[column].name);
    }
    text
}
