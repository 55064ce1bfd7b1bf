//! What durable writes have done, for those who listen: read again from the frame of the log that was made visible, where anybody does.

use crate::catalog::{Catalog, CatalogLock};
use crate::ids::{SeriesId, TableId, TimeMs};
use crate::op::{Cells, Deleted, Op};
use crate::rows::Rows;
use prony_log::codec::Input;
use std::fmt;

/// Who changes the memory waits while so many events are handed over.
const EVENTS_AT_A_TIME: usize = 4096;

/// One thing that a write has done.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A type or an attribute of it came.
    Named(TableId),
    Row(RowEvent<'a>),
    /// Rows of some entities of a type, or of all, were deleted.
    Deleted(TableId),
    /// A type was deleted with all that it had.
    Dropped(TableId),
}

/// A row as it was written.
#[derive(Debug, Clone, Copy)]
pub struct RowEvent<'a> {
    pub series: SeriesId,
    pub time_ms: TimeMs,
    values: Cells<'a>,
}

/// What one frame of the log has done.
#[derive(Clone, Copy)]
pub struct Events<'a> {
    payload: &'a [u8],
    names: &'a dyn CatalogLock,
}

impl fmt::Debug for Events<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("bytes", &self.payload.len()).finish_non_exhaustive()
    }
}

/// Who is called with what was written.
pub type Listener = dyn Fn(&Events<'_>) + Send + Sync;

impl RowEvent<'_> {
    /// The row alone.
    pub fn to_rows(&self) -> Rows {
        let mut rows = Rows { times: vec![self.time_ms], ..Rows::default() };
        let taken = self.values.each(|attribute, value| {
            rows.put(0, attribute, value);
            Ok(())
        });
        taken.expect("what was applied can be read again");
        rows
    }
}

impl<'a> Events<'a> {
    pub(crate) const fn new(payload: &'a [u8], names: &'a dyn CatalogLock) -> Self {
        Self { payload, names }
    }

    /// Calls `take` with all of them in their order. The catalog has all names that they have.
    pub fn each(&self, mut take: impl FnMut(&Catalog, Event<'a>)) {
        let mut input = Input::new(self.payload);
        while !input.is_empty() {
            self.names.with_catalog(&mut |catalog| {
                for _ in 0..EVENTS_AT_A_TIME {
                    if input.is_empty() {
                        break;
                    }
                    let op = Op::take(&mut input).expect("what was applied can be read again");
                    if let Some(event) = event(catalog, &op) {
                        take(catalog, event);
                    }
                }
            });
        }
    }
}

fn event<'a>(catalog: &Catalog, op: &Op<'a>) -> Option<Event<'a>> {
    Some(match *op {
        Op::Table { id, .. } => Event::Named(id),
        Op::Attribute { table, .. } => Event::Named(table),
        Op::Series { .. } => return None,
        Op::Row { series, time_ms, values, .. } => Event::Row(RowEvent { series, time_ms, values }),
        Op::Delete { of: Deleted::Series(series), .. } => Event::Deleted(catalog.series(series).table),
        Op::Delete { of: Deleted::Table(table), .. } => Event::Deleted(table),
        Op::DropTable { table, .. } => Event::Dropped(table),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::Period;
    use crate::{Aggregates, Durability, Kind, Options, Retention, Store, TimeRange, Value};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    fn note(store: &Store, time_ms: TimeMs) {
        let written = store.write_and_wait(|write| {
            let table = write.table("", "Room")?;
            let (attribute, _) = write.attribute(table, "temperature", "Number", || Kind::Double)?;
            let series = write.series(table, "Room:1", "/")?;
            write.row(series, time_ms, &[(attribute, Value::Double(time_ms as f64))])
        });
        written.expect("it is written");
    }

    /// Whoever waits for a write goes on after the listeners were called.
    #[test]
    fn what_is_durable_is_told_in_order_until_nobody_listens() {
        let directory = tempfile::tempdir().expect("there is room");
        let store = Store::open(directory.path(), Options::new(Durability::Sync)).expect("it opens");
        note(&store, 0);
        let told = Arc::new(Mutex::new(Vec::new()));
        let of_listener = Arc::clone(&told);
        let listening = store.listen(move |events| {
            events.each(|catalog, event| {
                let text = match event {
                    Event::Row(row) => {
                        let rows = row.to_rows();
                        let (attribute, _) =
                            catalog.table(catalog.series(row.series).table).ids().next().expect("one");
                        format!("row {} {:?}", row.time_ms, rows.get(0, attribute))
                    }
                    Event::Deleted(table) => format!("deleted {}", catalog.table(table).name),
                    Event::Dropped(table) => format!("dropped {}", catalog.table(table).name),
                    Event::Named(table) => format!("named {}", catalog.table(table).name),
                };
                of_listener.lock().expect("nothing panics").push(text);
            });
        });
        note(&store, 1);
        note(&store, 2);
        let all = store.write_and_wait(|write| {
            let table = write.catalog().find_table("", "Room").expect("it is there");
            write.delete_all(table, TimeRange::ALL);
            write.drop_table(table);
            write.table("", "Street").map(drop)
        });
        all.expect("it is written");
        drop(listening);
        note(&store, 3);
        let expected =
            ["row 1 Double(1.0)", "row 2 Double(2.0)", "deleted Room", "dropped Room", "named Street"];
        assert_eq!(*told.lock().expect("nothing panics"), expected);
    }

    /// Live queries and kept responses had these rows until something was written.
    #[test]
    fn what_retention_removes_beside_aggregates_is_told_as_deleted() {
        let directory = tempfile::tempdir().expect("there is room");
        let retention = vec![Retention { type_name: None, keep: Duration::from_secs(60) }];
        let aggregates = vec![Aggregates { type_name: None, period: Period::Minute, keep: None }];
        let options = Options { retention, aggregates, ..Options::new(Durability::Sync) };
        let store = Store::open(directory.path(), options).expect("it opens");
        note(&store, 0);
        let told = Arc::new(Mutex::new(Vec::new()));
        let of_listener = Arc::clone(&told);
        let _listening = store.listen(move |events| {
            events.each(|catalog, event| {
                if let Event::Deleted(table) = event {
                    of_listener.lock().expect("nothing panics").push(catalog.table(table).name.to_string());
                }
            });
        });
        store.remove_old(600_000).expect("it is removed");
        assert_eq!(*told.lock().expect("nothing panics"), ["Room"]);
    }
}
