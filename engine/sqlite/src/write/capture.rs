//! What a transaction of the writer changes, as temporary triggers of its connection see it: also what the database's own
//! triggers and cascades do. A table has them as long as somebody wants to hear of it, so that nothing is paid
//! otherwise.
//!
//! Triggers of the temporary schema are run before those of the table, so that changes come in the order in which they
//! are made (<https://sqlite.org/lang_createtrigger.html>; `sqlite3TriggerList`). Rows that a conflict clause REPLACE
//! deletes are seen only with `recursive_triggers`, which is left as it is: a program's triggers may rely on it.

use std::{
    collections::{BTreeSet, HashSet},
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rusqlite::{
    Connection, ffi,
    functions::{Context, FunctionFlags},
    types::ValueRef,
};

use crate::{
    file::raw::{SqliteError, Stored},
    rows::value,
};
use prony_sql::{
    builder::push_identifier,
    catalog::TableKind,
    changes::{KEPT_BYTES, Operation, RowChange, RowValues},
    model::{Model, Table, TableId},
};

/// Functions that the triggers call: a new change; then its values, in as many calls as their number needs.
const BEGIN: &str = "prony_changed";
const BEFORE: &str = "prony_before";
const AFTER: &str = "prony_after";
/// Values of one call; SQLite's own limit is at least 127.
const VALUES_PER_CALL: usize = 100;

/// What one connection has captured, and of which tables.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    seen: Arc<Mutex<Captured>>,
    /// Tables with triggers.
    tables: HashSet<TableId>,
    /// Tables that could not be given triggers.
    blind: HashSet<TableId>,
    has_functions: bool,
    schema_version: i64,
    /// Whose columns the triggers tell of.
    model: Option<Arc<Model>>,
}

/// The changes of a request, up to [`KEPT_BYTES`]: a cascade may take any number of rows with it.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    seen: Vec<Seen>,
    /// Sum over `seen`.
    bytes: usize,
    /// Where there were more: the tables of all of them, of which none is kept then.
    lost: BTreeSet<TableId>,
}

impl Captured {
    fn begin(&mut self, table: TableId, operation: Operation) {
        if self.bytes > KEPT_BYTES || !self.lost.is_empty() {
            self.lost.insert(table);
            self.lost.extend(std::mem::take(&mut self.seen).iter().map(|seen| seen.table));
            return;
        }
        self.bytes += size_of::<Seen>();
        self.seen.push(Seen { table, operation, before: Vec::new(), after: Vec::new() });
    }

    fn take_values(&mut self, context: &Context<'_>, is_after: bool) {
        let Some(change) = self.seen.last_mut() else { return };
        let values = if is_after { &mut change.after } else { &mut change.before };
        for index in 0..context.len() {
            let value = Value::from(context.get_raw(index));
            self.bytes += size_of::<Value>() + value.len_bytes();
            values.push(value);
        }
    }

    /// As changes of the model's rows, and the tables of which it is not known.
    pub(crate) fn into_changes(self, model: &Model) -> (Vec<RowChange>, Vec<TableId>) {
        (self.seen.iter().map(|each| change(model, each)).collect(), self.lost.into_iter().collect())
    }
}

/// A change as the triggers tell it.
#[derive(Debug)]
struct Seen {
    table: TableId,
    operation: Operation,
    before: Vec<Value>,
    after: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(Box<[u8]>),
    Blob(Box<[u8]>),
}

impl Value {
    /// Beside its own size.
    fn len_bytes(&self) -> usize {
        match self {
            Self::Text(bytes) | Self::Blob(bytes) => bytes.len(),
            Self::Null | Self::Integer(_) | Self::Real(_) => 0,
        }
    }

    fn stored(&self) -> Stored<'_> {
        match self {
            Self::Null => Stored::Null,
            Self::Integer(number) => Stored::Integer(*number),
            Self::Real(number) => Stored::Real(*number),
            Self::Text(text) => Stored::Text(text),
            Self::Blob(blob) => Stored::Blob(blob),
        }
    }
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(text) => Self::Text(text.into()),
            ValueRef::Blob(blob) => Self::Blob(blob.into()),
        }
    }
}

impl Capture {
    /// Gives triggers to the tables that are wanted and takes them from the others; outside a transaction.
    pub(crate) fn turn(
        &mut self,
        connection: &Connection,
        model: &Arc<Model>,
        wanted: &[TableId],
    ) -> Result<(), SqliteError> {
        if !wanted.is_empty() {
            self.add_functions(connection)?;
        }
        self.forget_stale(connection, model)?;
        let dropped: Vec<TableId> =
            self.tables.iter().copied().filter(|table| !wanted.contains(table)).collect();
        for table in dropped {
            connection.execute_batch(&drop_triggers(table))?;
            self.tables.remove(&table);
        }
        self.blind.retain(|table| wanted.contains(table));
        for &id in wanted {
            // Of a table that is gone nothing can be told.
            let Some(table) = model.find_table(id) else { continue };
            if table.kind == TableKind::View || self.tables.contains(&id) || self.blind.contains(&id) {
                continue;
            }
            // Only an execution sees that another program has changed the schema.
            let created = connection
                .execute_batch(&read_columns(table))
                .and_then(|()| connection.execute_batch(&create_triggers(id, table)));
            match created.map_err(SqliteError::from) {
                Ok(()) => {
                    self.tables.insert(id);
                }
                // A lock, for one, is gone the next time.
                Err(error) if error.code() != ffi::SQLITE_ERROR => return Err(error),
                Err(error) => {
                    connection.execute_batch(&drop_triggers(id))?;
                    let table = &*table.name;
                    tracing::warn!(table, %error, "changes of the table cannot be told until its schema has been read again");
                    self.blind.insert(id);
                }
            }
        }
        Ok(())
    }

    /// Triggers that name a column which is gone by now would make every change of their table fail.
    fn forget_stale(&mut self, connection: &Connection, model: &Arc<Model>) -> Result<(), SqliteError> {
        let version = connection.query_row("PRAGMA main.schema_version", [], |row| row.get(0))?;
        let is_same = self.model.as_ref().is_some_and(|known| Arc::ptr_eq(known, model));
        if version != self.schema_version || !is_same {
            self.schema_version = version;
            for table in self.tables.drain() {
                connection.execute_batch(&drop_triggers(table))?;
            }
            self.blind.clear();
            self.model = Some(Arc::clone(model));
        }
        Ok(())
    }

    /// Whether a table has triggers, so that another program's change of the schema matters.
    pub(crate) fn is_on(&self) -> bool {
        !self.tables.is_empty()
    }

    /// Whether there are tables that are wanted and cannot be seen.
    pub(crate) fn is_blind(&self) -> bool {
        !self.blind.is_empty()
    }

    /// Whether what happens to the table is seen.
    pub(crate) fn sees(&self, table: TableId) -> bool {
        self.tables.contains(&table)
    }

    fn add_functions(&mut self, connection: &Connection) -> Result<(), SqliteError> {
        if self.has_functions {
            return Ok(());
        }
        let seen = Arc::clone(&self.seen);
        let flags = FunctionFlags::SQLITE_UTF8;
        connection.create_scalar_function(BEGIN, 2, flags, move |context| {
            let operation = match context.get::<i64>(1)? {
                0 => Operation::Insert,
                1 => Operation::Update,
                _ => Operation::Delete,
            };
            let table = TableId(context.get::<u32>(0)?);
            lock(&seen).begin(table, operation);
            Ok(true)
        })?;
        for (name, is_after) in [(BEFORE, false), (AFTER, true)] {
            let seen = Arc::clone(&self.seen);
            connection.create_scalar_function(name, -1, flags, move |context| {
                lock(&seen).take_values(context, is_after);
                Ok(true)
            })?;
        }
        self.has_functions = true;
        Ok(())
    }

    /// Whose columns the values are of that it has seen.
    pub(crate) fn model(&self) -> Option<&Arc<Model>> {
        self.model.as_ref()
    }

    /// All that has been seen since this was asked last.
    pub(crate) fn take(&self) -> Captured {
        std::mem::take(&mut lock(&self.seen))
    }
}

fn lock(seen: &Mutex<Captured>) -> MutexGuard<'_, Captured> {
    // Only the writer's thread uses it, and nothing panics while it is held.
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn trigger_name(table: TableId, operation: Operation) -> String {
    format!("temp.prony_{}_{operation:?}", table.0)
}

const OPERATIONS: [Operation; 3] = [Operation::Insert, Operation::Update, Operation::Delete];

fn drop_triggers(table: TableId) -> String {
    let mut sql = String::new();
    for operation in OPERATIONS {
        let _ = write!(sql, "DROP TRIGGER IF EXISTS {};", trigger_name(table, operation));
    }
    sql
}

/// Fails where a column is gone, which making a trigger does not.
fn read_columns(table: &Table) -> String {
    let mut sql = "SELECT ".to_owned();
    for (index, column) in table.columns.iter().enumerate() {
        sql.push_str(if index == 0 { "t." } else { ", t." });
        push_identifier(&mut sql, &column.name);
    }
    sql.push_str(" FROM main.");
    push_identifier(&mut sql, &table.name);
    sql + " AS t LIMIT 0"
}

fn create_triggers(id: TableId, table: &Table) -> String {
    // What was begun before may have been left half done.
    let mut sql = drop_triggers(id);
    for (number, operation) in OPERATIONS.into_iter().enumerate() {
        let verb = ["INSERT", "UPDATE", "DELETE"][number];
        let name = trigger_name(id, operation);
        let _ = write!(sql, "CREATE TRIGGER {name} AFTER {verb} ON main.");
        push_identifier(&mut sql, &table.name);
        let _ = write!(sql, " BEGIN SELECT {BEGIN}({}, {number});", id.0);
        let all: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
        match operation {
            Operation::Insert => push_calls(&mut sql, AFTER, "new", &all),
            Operation::Update => {
                push_calls(&mut sql, BEFORE, "old", &all);
                push_calls(&mut sql, AFTER, "new", &all);
            }
            Operation::Delete => push_calls(&mut sql, BEFORE, "old", &all),
        }
        sql.push_str(" END;");
    }
    sql
}

fn push_calls(sql: &mut String, function: &str, row: &str, columns: &[&str]) {
    for columns in columns.chunks(VALUES_PER_CALL) {
        let _ = write!(sql, " SELECT {function}(");
        for (index, column) in columns.iter().enumerate() {
            sql.push_str(if index == 0 { "" } else { ", " });
            sql.push_str(row);
            sql.push('.');
            push_identifier(sql, column);
        }
        sql.push_str(");");
    }
}

fn change(model: &Model, seen: &Seen) -> RowChange {
    let table = model.table(seen.table);
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let key: Vec<usize> = table.primary_key.iter().map(|column| usize::from(column.0)).collect();
    let is_moved = seen.operation == Operation::Update
        && key.iter().any(|&column| seen.after.get(column) != seen.before.get(column));
    let previous_key = || {
        let before: Vec<Value> = key.iter().filter_map(|&column| seen.before.get(column)).cloned().collect();
        values(table, &key, &before)
    };
    let is_update = seen.operation == Operation::Update;
    let row = if seen.operation == Operation::Delete { &seen.before } else { &seen.after };
    RowChange {
        table: seen.table,
        operation: seen.operation,
        row: values(table, &all, row),
        previous_key: is_moved.then(previous_key).flatten(),
        previous: is_update.then(|| values(table, &all, &seen.before)).flatten(),
    }
}

/// `None` where a stored value does not fit its column's type.
fn values(table: &Table, columns: &[usize], stored: &[Value]) -> Option<RowValues> {
    let texts = columns.iter().zip(stored).map(|(&column, stored)| {
        let mut out = Vec::new();
        match stored {
            Value::Null => out.extend_from_slice(b"null"),
            other => value::write(&mut out, &table.columns[column].kind, other.stored()).ok()?,
        }
        String::from_utf8(out).ok().map(Into::into)
    });
    texts.collect::<Option<_>>().map(RowValues)
}
