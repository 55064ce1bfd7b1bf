//! The triggers that tell of changes which others make: what they are in SQL, put into a database and taken out again.
//!
//! Each row change is written into one table of the database, in the transaction that makes it, and a notification wakes
//! those who listen. The table and not the notification is what is read: notifications are lost while nobody is
//! connected, and hold at most 8000 bytes.

use std::{fmt::Write as _, time::Duration};

use tokio_postgres::Client;

use crate::{
    changes::{
        schema_trigger,
        trigger_forms::{Forms, TriggerForm},
    },
    connect::{
        config::{PlanMode, Target},
        session_setup,
        single::connect,
    },
    discover::discover,
    error::{OpenError, describe},
};
use prony_sql::{
    builder::{push_identifier, push_literal},
    catalog::{Catalog, CatalogTable, TableKind},
    settings::RelationalSettings,
};

/// The schema of the table and the functions.
pub(crate) const SCHEMA: &str = "prony";
/// What listeners listen to; a notification holds the transaction's number.
pub(crate) const CHANNEL: &str = "prony_changes";
/// The newest changes that the table keeps; older ones are removed by the triggers.
pub(crate) const KEPT_CHANGES: i64 = 100_000;

/// The triggers of each table. Those of one event fire in the order of their names: before a program's own, so that what
/// these change comes later.
const ROW_TRIGGER: &str = "0_prony_row";
const TRUNCATE_TRIGGER: &str = "0_prony_truncate";
/// Those for statements: name, event, and the rows that the function reads.
const STATEMENT_TRIGGERS: [(&str, &str, &str); 3] = [
    ("0_prony_insert", "INSERT", "NEW TABLE AS rows_after"),
    ("0_prony_update", "UPDATE", "OLD TABLE AS rows_before NEW TABLE AS rows_after"),
    ("0_prony_delete", "DELETE", "OLD TABLE AS rows_before"),
];

/// Has those who listen look which tables have triggers; it is [`CHANNEL`].
const NEWS: &str = "NOTIFY prony_changes, 'triggers';\n";

/// Tables with triggers, as `schema.name`; those of partitions count to their table.
const INSTALLED: &str = "
    SELECT n.nspname || '.' || c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE NOT c.relispartition AND EXISTS (
        SELECT FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid
        WHERE t.tgrelid = c.oid AND p.pronamespace = to_regnamespace('prony')
            AND p.proname IN ('row_changed', 'rows_changed', 'truncated'))
    ORDER BY 1";

/// With the triggers that call them, of whatever table.
const DROP_FUNCTIONS: &str =
    "DROP FUNCTION IF EXISTS prony.rows_changed(), prony.row_changed(), prony.truncated() CASCADE;\n";

/// What all tables share, where no table uses it any more and it is the role's own. The schema may hold what others have put
/// into it, or be theirs.
const DROP_SHARED: &str = "\
DO $$ BEGIN
    DROP FUNCTION IF EXISTS prony.rows_changed(), prony.row_changed(), prony.truncated();
    DROP FUNCTION IF EXISTS prony.keep(bigint, bigint), prony.keep(bigint);
    DROP TABLE IF EXISTS prony.change;
    DROP_SCHEMA_TRIGGERS
    BEGIN
        DROP SCHEMA IF EXISTS prony;
    EXCEPTION WHEN dependent_objects_still_exist OR insufficient_privilege THEN
    END;
EXCEPTION WHEN dependent_objects_still_exist OR insufficient_privilege THEN
END $$;
";

/// What all tables share.
const SHARED: &str = include_str!("triggers.sql");

/// Why triggers could not be installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum TriggersError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("there is no table `{name}` with a primary key; {}", known_tables(.known))]
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
    tables: Vec<(CatalogTable, Forms)>,
    request: TriggersRequest,
}

impl Triggers {
    /// Connects and finds the tables.
    pub async fn open(address: &str, request: TriggersRequest) -> Result<Self, TriggersError> {
        let target = Target::resolve(address, &RelationalSettings::default())?;
        let client = connect(&target, Duration::ZERO).await.map_err(OpenError::from)?;
        session_setup::apply(&client, &target, PlanMode::Custom)
            .await
            .map_err(|reason| TriggersError::Refused { target: target.description.clone(), reason })?;
        let limited = client.batch_execute("set lock_timeout = '10s'").await;
        limited.map_err(|error| refused(&target, &error))?;
        let catalog = discover(&client, &request.schemas).await;
        let catalog = catalog.map_err(|error| OpenError::discovery(&target.description, &error))?;
        let mut tables = Vec::new();
        for table in chosen(&catalog, &request.tables)? {
            let forms = Forms::of(&client, &table).await;
            tables.push((
                table,
                forms.map_err(|error| OpenError::discovery(&target.description, &error.into()))?,
            ));
        }
        Ok(Self { client, target, tables, request })
    }

    /// The tables, as `schema.name`.
    pub fn tables(&self) -> Vec<String> {
        self.tables.iter().map(|(table, _)| described(table)).collect()
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
        for (table, forms) in &self.tables {
            let _ = writeln!(sql, "\n-- {}: {}", described(table), forms.described());
            drop_all(&mut sql, table, forms);
            create(&mut sql, table, forms);
        }
        sql + "\n-- Changes of the schema, where the role may have them told.\n"
            + schema_trigger::CREATE
            + NEWS
            + "COMMIT;\n"
    }

    /// Whether the database tells of changes of its schema.
    pub async fn tells_of_schema(&self) -> Result<bool, TriggersError> {
        let row = self.client.query_one(schema_trigger::INSTALLED, &[]).await;
        Ok(row.map_err(|error| refused(&self.target, &error))?.get::<_, i64>(0) == 2)
    }

    /// What [`Self::remove`] runs.
    fn removing(&self) -> String {
        let TriggersRequest { schemas, tables, .. } = &self.request;
        let mut sql = "BEGIN;\n".to_owned();
        for (table, forms) in &self.tables {
            drop_all(&mut sql, table, forms);
        }
        if schemas.is_empty() && tables.is_empty() {
            sql.push_str(DROP_FUNCTIONS);
        }
        sql + &DROP_SHARED.replace("    DROP_SCHEMA_TRIGGERS\n", schema_trigger::DROP) + NEWS + "COMMIT;\n"
    }

    /// Puts the triggers into the database, all or none. Those that are there are made anew.
    pub async fn install(&self) -> Result<(), TriggersError> {
        self.run(&self.installing()).await
    }

    /// Takes the triggers of the tables out of the database, all or none: where neither schemas nor tables were named, of
    /// all that have them. What all tables share goes with the last of them. Returns the tables that had triggers, as
    /// `schema.name`.
    pub async fn remove(&self) -> Result<Vec<String>, TriggersError> {
        let mut removed = self.installed().await?;
        self.run(&self.removing()).await?;
        let left = self.installed().await?;
        removed.retain(|table| !left.contains(table));
        Ok(removed)
    }

    async fn installed(&self) -> Result<Vec<String>, TriggersError> {
        let rows = self.client.query(INSTALLED, &[]).await.map_err(|error| refused(&self.target, &error))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    async fn run(&self, sql: &str) -> Result<(), TriggersError> {
        self.client.batch_execute(sql).await.map_err(|error| refused(&self.target, &error))
    }
}

fn known_tables(known: &[String]) -> String {
    if known.is_empty() { "no table has one".to_owned() } else { format!("there are {}", known.join(", ")) }
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

/// Triggers of either form, also of an earlier installation.
fn drop_all(sql: &mut String, table: &CatalogTable, forms: &Forms) {
    let name = qualified(table);
    let mut drop = |trigger: &str, name: &str| {
        let _ = writeln!(sql, "DROP TRIGGER IF EXISTS \"{trigger}\" ON {name};");
    };
    let statement = STATEMENT_TRIGGERS.map(|(trigger, ..)| trigger);
    statement.into_iter().chain([ROW_TRIGGER, TRUNCATE_TRIGGER]).for_each(|trigger| drop(trigger, &name));
    forms.partitions.iter().for_each(|name| drop(TRUNCATE_TRIGGER, name));
}

fn create(sql: &mut String, table: &CatalogTable, forms: &Forms) {
    let (table_name, arguments) = (qualified(table), arguments(table));
    let mut trigger = |trigger: &str, event: &str, name: &str, how: &str, function: &str| {
        let _ = write!(
            sql,
            "CREATE TRIGGER \"{trigger}\" AFTER {event} ON {name}\n    {how} EXECUTE FUNCTION {SCHEMA}.{function}({arguments});\n"
        );
    };
    match forms.wanted {
        TriggerForm::Statement => {
            for (name, event, rows) in STATEMENT_TRIGGERS {
                let how = format!("REFERENCING {rows} FOR EACH STATEMENT");
                trigger(name, event, &table_name, &how, "rows_changed");
            }
        }
        TriggerForm::Row { .. } => {
            let event = "INSERT OR UPDATE OR DELETE";
            trigger(ROW_TRIGGER, event, &table_name, "FOR EACH ROW", "row_changed");
        }
    }
    // Partitions have those for rows from their table, and no others.
    for name in std::iter::once(&table_name).chain(&forms.partitions) {
        trigger(TRUNCATE_TRIGGER, "TRUNCATE", name, "FOR EACH STATEMENT", "truncated");
    }
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
