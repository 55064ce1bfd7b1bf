//! The table of names: which types, attributes and entities there are, in the order in which they came. It is read when series are opened,
//! and added to by the request that has the first rows of a name.

use crate::lines::Lines;
use crate::names::{column, column_type, literal, table_name};
use prony_series_database::{Fault, Session, kind_name, kind_of, now_ms, quoted, submit};
use prony_series_store::{Kind, Refusal, Write, WritesElsewhere};
use std::collections::HashSet;
use std::fmt::Write as _;
use tokio_postgres::Row;

/// Of the tables; a later one cannot be read by this version.
pub(crate) const FORMAT: i64 = 1;
/// Names that one write adds.
const NAMES_AT_A_TIME: usize = 20_000;

/// One change of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change<'n> {
    Format(i64),
    Type,
    Attribute { name: &'n str, declared: &'n str, kind: Kind },
    Entity { name: &'n str, path: &'n str },
    Drop,
}

/// The table of names, as it was read, and the tables that there are.
#[derive(Debug)]
pub(crate) struct Found {
    /// Change, tenant, type, name, path, declared type, kind.
    rows: Vec<Row>,
    tables: HashSet<String>,
}

/// Where names are kept.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    pub(crate) prefix: String,
}

impl Registry {
    /// The table of names.
    pub(crate) fn table(&self) -> String {
        format!("{}_names", self.prefix)
    }

    pub(crate) fn table_of(&self, tenant: &str, type_name: &str) -> String {
        table_name(&self.prefix, tenant, type_name)
    }

    /// Whether there is the table.
    pub(crate) async fn is_there(&self, session: &Session) -> Result<bool, Fault> {
        let sql = format!("select table_name from tables() where table_name = {}", literal(&self.table()));
        Ok(!session.query_typed(&sql, &[]).await?.is_empty())
    }

    /// Makes the table where there is none.
    pub(crate) async fn prepare(&self, session: &Session) -> Result<(), Fault> {
        let sql = format!(
            "create table if not exists {} (time timestamp, n long, change symbol, tenant varchar, type varchar, name varchar, \
             path varchar, declared varchar, kind symbol, table_name varchar, column_name varchar) \
             timestamp(time) partition by year wal",
            quoted(&self.table())
        );
        Ok(session.batch_execute(&sql).await?)
    }

    /// The first line of a new table.
    pub(crate) fn format_line(&self) -> Vec<u8> {
        let mut lines = Lines::default();
        self.put(&mut lines, (now_ms(), 0), ("", ""), &Change::Format(FORMAT));
        lines.bytes().to_vec()
    }

    /// Adds a change to a request.
    pub(crate) fn put(
        &self,
        lines: &mut Lines,
        (time_ms, number): (i64, i64),
        (tenant, of): (&str, &str),
        change: &Change<'_>,
    ) {
        lines.begin(&self.table());
        lines.integer("n", number);
        let word = match change {
            Change::Format(_) => "format",
            Change::Type => "type",
            Change::Attribute { .. } => "attribute",
            Change::Entity { .. } => "entity",
            Change::Drop => "drop",
        };
        lines.text("change", word);
        lines.text("tenant", tenant);
        lines.text("type", of);
        match change {
            Change::Format(format) => lines.text("name", &format.to_string()),
            Change::Type | Change::Drop => lines.text("table_name", &self.table_of(tenant, of)),
            Change::Attribute { name, declared, kind } => {
                lines.text("name", name);
                lines.text("declared", declared);
                lines.text("kind", kind_name(*kind));
                lines.text("table_name", &self.table_of(tenant, of));
                lines.text("column_name", column(name, *kind).name.trim_matches('"'));
            }
            Change::Entity { name, path } => {
                lines.text("name", name);
                lines.text("path", path);
            }
        }
        lines.end(time_ms);
    }

    /// Names and tables that there are.
    pub(crate) async fn load(&self, session: &Session) -> Result<Found, Fault> {
        let sql = format!(
            "select change, tenant, type, name, path, declared, kind from {} order by n",
            quoted(&self.table())
        );
        let rows = session.query_typed(&sql, &[]).await?;
        let tables = session.query_typed("select table_name from tables()", &[]).await?;
        let tables = tables.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        Ok(Found { rows, tables })
    }

    /// What a row says, with the tenant and the type.
    fn change<'r>(&self, row: &'r Row) -> Result<(&'r str, &'r str, Change<'r>), Fault> {
        let text = |at: usize| row.try_get::<_, Option<&str>>(at).map(Option::unwrap_or_default);
        let change = match text(0)? {
            "format" => Change::Format(text(3)?.parse().unwrap_or(i64::MAX)),
            "type" => Change::Type,
            "attribute" => Change::Attribute { name: text(3)?, declared: text(5)?, kind: kind_of(text(6)?) },
            "entity" => Change::Entity { name: text(3)?, path: text(4)? },
            "drop" => Change::Drop,
            other => {
                let why = format!("the table {} has an unknown change `{other}`", self.table());
                return Err(Fault::new(&why));
            }
        };
        Ok((text(1)?, text(2)?, change))
    }

    /// Adds all names to those that are known here; the format of the tables, where they have one, and statements that make tables which
    /// are missing. Only while nobody writes.
    pub(crate) fn take_in(
        &self,
        found: &Found,
        writes: &WritesElsewhere,
    ) -> Result<(Option<i64>, Vec<String>), Fault> {
        let all = found.rows.iter().map(|row| self.change(row)).collect::<Result<Vec<_>, _>>()?;
        let format = all.iter().find_map(|(.., change)| match change {
            Change::Format(format) => Some(*format),
            _ => None,
        });
        if format.is_some_and(|format| format > FORMAT) {
            return Ok((format, Vec::new()));
        }
        for some in all.chunks(NAMES_AT_A_TIME) {
            submit(writes, &mut |write| {
                some.iter().try_for_each(|(tenant, of, change)| add(write, (tenant, of), change))
            })?;
        }
        Ok((format, self.missing(writes, &found.tables)))
    }

    /// Statements that make tables which somebody has taken away, or which the last end has left unmade.
    fn missing(&self, writes: &WritesElsewhere, tables: &HashSet<String>) -> Vec<String> {
        let mut statements = Vec::new();
        writes.names(&mut |catalog| {
            for (_, table) in catalog.served_tables() {
                let name = self.table_of(&table.tenant, &table.name);
                if !tables.contains(&name) {
                    let columns = table.attributes.iter().map(|of| (&*of.name, of.kind));
                    statements.push(create_table(&name, columns));
                }
            }
        });
        statements
    }
}

fn add(write: &mut Write<'_>, (tenant, of): (&str, &str), change: &Change<'_>) -> Result<(), Refusal> {
    match change {
        Change::Format(_) => {}
        Change::Type => drop(write.table(tenant, of)?),
        Change::Attribute { name, declared, kind } => {
            let table = write.table(tenant, of)?;
            write.attribute(table, name, declared, || *kind)?;
        }
        Change::Entity { name, path } => {
            let table = write.table(tenant, of)?;
            write.series(table, name, path)?;
        }
        Change::Drop => {
            if let Some(table) = write.catalog().find_table(tenant, of) {
                write.drop_table(table);
            }
        }
    }
    Ok(())
}

/// Makes a type's table. The keys make it harmless to send a group of rows again.
pub(crate) fn create_table<'n>(name: &str, attributes: impl Iterator<Item = (&'n str, Kind)>) -> String {
    let mut columns = String::new();
    for (attribute, kind) in attributes {
        // Writing to a string cannot fail.
        let _ = write!(columns, ", {} {}", column(attribute, kind).name, column_type(kind));
    }
    format!(
        "create table if not exists {} (time timestamp, entity symbol index, path symbol, seq long, deleted boolean{columns}) \
         timestamp(time) partition by month wal dedup upsert keys(time, entity, path, seq)",
        quoted(name)
    )
}

/// The type of a column, where there is one.
pub(crate) fn type_of_column(table: &str, column: &str) -> String {
    format!(
        "select type from table_columns({}) where \"column\" = {}",
        literal(table),
        literal(column.trim_matches('"'))
    )
}
