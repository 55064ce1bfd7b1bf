//! Makes groups of writes durable: all rows of a group are one request over HTTP, which QuestDB does as a whole or not at all. Changes of
//! tables and deletions go over PostgreSQL's protocol, in the order of the writes. Nobody is told of a write before QuestDB has acknowledged
//! what it needs.

use crate::frame_names::Names;
use crate::freshness::query;
use crate::lines::Lines;
use crate::merge::{LastTimes, Merged, Owners, last_times};
use crate::names::{column, column_type, entity_is, literal};
use crate::read::within;
use crate::registry::{Change, create_table, type_of_column};
use crate::shared::Shared;
use prony_series_database::{Column, Fault, Gathered, Moment, NewRow, Step, now_ms, quoted, steps};
use prony_series_store::{
    AttributeId, Catalog, Deleted, FrameLog, LogError, OnDuplicate, SeriesId, TimeRange,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Times that a request is sent where the connection breaks: its rows have keys, so that none is there twice.
const TRIES: usize = 3;
/// After this it is not sent again: whoever waits has waited enough.
const TRIES_WITHIN: Duration = Duration::from_secs(5);

/// Writes groups to QuestDB, one after the other.
#[derive(Debug)]
pub(crate) struct Committer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) on_duplicate: OnDuplicate,
    /// Of the last row: rows of the same time are in this order. Those that others may merge with have 0.
    last_number: i64,
    last_times: LastTimes,
}

/// What is gathered of a group, and the tables that it changes.
#[derive(Debug, Default)]
struct Request {
    lines: Lines,
    tables: Vec<String>,
}

impl FrameLog for Committer {
    fn append(&mut self, frame: &mut [u8]) -> Result<(), LogError> {
        let shared = Arc::clone(&self.shared);
        if shared.is_opening.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut done = Ok(());
        // Names change by what this thread does alone.
        shared.writes.names(&mut |catalog| done = self.commit(frame, catalog));
        if done.is_err() {
            // Series that were taken back leave their numbers to others.
            self.last_times.clear();
        }
        done.map_err(|fault| fault.of_write(&shared.database.description))
    }

    fn give_up(&mut self) {
        // As where a group fails.
        self.last_times.clear();
    }
}

impl Committer {
    pub(crate) fn new(shared: Arc<Shared>, on_duplicate: OnDuplicate) -> Self {
        Self { shared, on_duplicate, last_number: 0, last_times: LastTimes::new() }
    }

    /// Higher than all before, also those of earlier processes.
    fn next_number(&mut self) -> i64 {
        self.last_number = (self.last_number + 1).max(now_ms().saturating_mul(1000));
        self.last_number
    }

    fn commit(&mut self, frame: &[u8], catalog: &Catalog) -> Result<(), Fault> {
        let shared = Arc::clone(&self.shared);
        let steps = steps(frame, catalog);
        if steps.is_empty() {
            return shared.sender.ping();
        }
        let (mut names, mut request) = (Names::new(catalog, &shared.registry), Request::default());
        for step in &steps {
            match step {
                Step::Table { id, tenant, name } => {
                    names.add_table(*id, tenant, name);
                    self.execute(&create_table(&names.table(*id), std::iter::empty()))?;
                    self.put_name(&mut request, (tenant, name), &Change::Type);
                }
                Step::Attribute { table, id, name, declared, kind } => {
                    names.add_attribute(*table, *id, name, *kind);
                    let change = Change::Attribute { name, declared, kind: *kind };
                    request.tables.push(names.table(*table));
                    self.add_column(&names.table(*table), &column(name, *kind))?;
                    self.put_name(&mut request, names.of_table(*table), &change);
                }
                Step::Rows(gathered) => self.put_rows(&mut request, gathered, &mut names)?,
                Step::Delete { of, range } => {
                    self.send(&mut request)?;
                    self.delete(*of, *range, &names)?;
                }
                Step::DropTable(id) => {
                    self.send(&mut request)?;
                    self.execute(&format!("drop table if exists {}", quoted(&names.table(*id))))?;
                    shared.sender.reconnect();
                    self.put_name(&mut request, names.of_table(*id), &Change::Drop);
                }
            }
        }
        self.send(&mut request)
    }

    fn put_name(&mut self, request: &mut Request, of: (&str, &str), change: &Change<'_>) {
        let at = (now_ms(), self.next_number());
        self.shared.registry.put(&mut request.lines, at, of, change);
    }

    fn put_rows<'f>(
        &mut self,
        request: &mut Request,
        gathered: &Gathered<'f>,
        names: &mut Names<'f>,
    ) -> Result<(), Fault> {
        for (table, series) in &gathered.series {
            for (id, entity, path) in series {
                names.add_series(*id, *table, entity, path);
                let change = Change::Entity { name: entity, path };
                self.put_name(request, names.of_table(*table), &change);
            }
        }
        for (table, rows) in &gathered.rows {
            let (name, columns) = (names.table(*table), names.columns(*table));
            if self.on_duplicate == OnDuplicate::Append {
                self.append_rows(&mut request.lines, &name, rows, names, &columns);
            } else {
                // What was gathered before must be there before it is asked for.
                self.send(request)?;
                self.merge_rows(&mut request.lines, &name, rows, names, &columns)?;
            }
            request.tables.push(name);
        }
        Ok(())
    }

    fn append_rows(
        &mut self,
        lines: &mut Lines,
        table: &str,
        rows: &[NewRow<'_>],
        names: &Names<'_>,
        columns: &[(AttributeId, Column)],
    ) {
        for row in rows {
            let (_, entity, path) = names.of_series(row.series);
            lines.begin(table);
            lines.text("entity", entity);
            lines.text("path", path);
            lines.integer("seq", self.next_number());
            let read = row.values.each(|attribute, value| {
                // Attributes are in the order of their numbers.
                if let Some((_, column)) = columns.get(attribute.place()) {
                    lines.value(column, value);
                }
                Ok(())
            });
            read.expect("what a write has put into a frame can be read");
            lines.end(row.time_ms);
        }
    }

    fn merge_rows<'f>(
        &mut self,
        lines: &mut Lines,
        table: &str,
        rows: &[NewRow<'f>],
        names: &Names<'f>,
        columns: &[(AttributeId, Column)],
    ) -> Result<(), Fault> {
        let owner = |row: &NewRow<'_>| {
            let (_, entity, path) = names.of_series(row.series);
            (row.series, (entity, path))
        };
        let owners: Owners<'f> = rows.iter().map(owner).collect();
        let columns: Vec<(AttributeId, &Column)> = columns.iter().map(|(id, of)| (*id, of)).collect();
        let mut merged = Merged::new(rows, self.on_duplicate);
        let unknown = merged.unknown(&self.last_times);
        self.find_last_times(table, &unknown, &owners)?;
        for sql in merged.lookups(&self.last_times, table, &owners, &columns) {
            merged.find(&self.query(table, &sql)?, &owners, &columns)?;
        }
        merged.write(lines, table, &owners, &columns, self.on_duplicate);
        merged.note(&mut self.last_times);
        Ok(())
    }

    fn find_last_times(
        &mut self,
        table: &str,
        series: &[SeriesId],
        owners: &Owners<'_>,
    ) -> Result<(), Fault> {
        let by_owner: HashMap<(&str, &str), SeriesId> = owners.iter().map(|(id, of)| (*of, *id)).collect();
        for sql in last_times(table, series, owners) {
            for row in self.query(table, &sql)? {
                let owner: (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
                let time: Moment = row.try_get(2)?;
                if let Some(id) = by_owner.get(&owner).filter(|id| series.contains(id)) {
                    self.last_times.insert(*id, time.0);
                }
            }
        }
        for id in series {
            // Those that have no row yet.
            self.last_times.entry(*id).or_insert(i64::MIN);
        }
        Ok(())
    }

    /// Sends what is gathered.
    fn send(&self, request: &mut Request) -> Result<(), Fault> {
        // Also where it fails: it may have been done.
        request.tables.drain(..).for_each(|table| self.shared.freshness.note(&table));
        if request.lines.is_empty() {
            return Ok(());
        }
        let begin = Instant::now();
        for tried in 1.. {
            match self.shared.sender.send(request.lines.bytes()) {
                Err(fault) if fault.is_gone() && tried < TRIES && begin.elapsed() < TRIES_WITHIN => {}
                sent => {
                    sent?;
                    break;
                }
            }
        }
        request.lines = Lines::default();
        Ok(())
    }

    fn query(&self, table: &str, sql: &str) -> Result<Vec<tokio_postgres::Row>, Fault> {
        let Shared { database, freshness, longest, .. } = &*self.shared;
        database.wait(query(database, freshness, (table, sql), *longest))
    }

    fn execute(&self, sql: &str) -> Result<(), Fault> {
        self.shared.execute(sql)
    }

    fn add_column(&self, table: &str, column: &Column) -> Result<(), Fault> {
        let (wanted, name) = (column_type(column.kind), &column.name);
        let add = format!("alter table {} add column if not exists {name} {wanted}", quoted(table));
        let Err(fault) = self.execute(&add) else { return Ok(()) };
        // A write that was taken back has left it with another type.
        let found = self.query(table, &type_of_column(table, name))?;
        let found: Option<&str> = found.first().map(|row| row.try_get(0)).transpose()?;
        if found.is_none_or(|found| found.eq_ignore_ascii_case(wanted)) {
            return Err(fault);
        }
        self.execute(&format!("alter table {} alter column {name} type {wanted}", quoted(table)))
    }

    /// QuestDB deletes no rows: they are marked, and no read shows them. All rows of a type go at once.
    fn delete(&self, of: Deleted, range: TimeRange, names: &Names<'_>) -> Result<(), Fault> {
        let (table, owner) = match of {
            Deleted::Table(id) => (names.table(id), String::new()),
            Deleted::Series(id) => {
                let (table, entity, path) = names.of_series(id);
                let owner = format!(" and {} and path = {}", entity_is(entity), literal(path));
                (names.table(table), owner)
            }
        };
        self.shared.freshness.note(&table);
        let table = quoted(&table);
        if range == TimeRange::ALL && owner.is_empty() {
            return self.execute(&format!("truncate table {table}"));
        }
        self.execute(&format!("update {table} set deleted = true where {}{owner}", within(range)))
    }
}
