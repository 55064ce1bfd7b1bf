//! What a group of writes asks of a database: names, rows by table, deletions, in an order in which each sees those before it.

use crate::fault::Fault;
use prony_series_store::{
    AttributeId, Catalog, Cells, Deleted, Kind, Op, Refusal, SeriesId, TableId, TimeMs, TimeRange, Write,
    WriteError, WritesElsewhere, ops,
};
use std::collections::{BTreeMap, HashMap};

/// One thing after the other.
#[derive(Debug)]
pub enum Step<'f> {
    Table { id: TableId, tenant: &'f str, name: &'f str },
    Attribute { table: TableId, id: AttributeId, name: &'f str, declared: &'f str, kind: Kind },
    Rows(Gathered<'f>),
    Delete { of: Deleted, range: TimeRange },
    DropTable(TableId),
}

/// Entities and rows between which nothing is deleted.
#[derive(Debug, Default)]
pub struct Gathered<'f> {
    /// New ones of each table: with ids and service paths.
    pub series: BTreeMap<TableId, Vec<(SeriesId, &'f str, &'f str)>>,
    pub rows: BTreeMap<TableId, Vec<NewRow<'f>>>,
}

#[derive(Debug)]
pub struct NewRow<'f> {
    pub series: SeriesId,
    pub time_ms: TimeMs,
    pub values: Cells<'f>,
}

/// Reads a frame; the catalog has the names that are not in it.
pub fn steps<'f>(frame: &'f [u8], catalog: &Catalog) -> Vec<Step<'f>> {
    let (mut steps, mut gathered) = (Vec::new(), Gathered::default());
    let mut new_series: HashMap<SeriesId, TableId> = HashMap::new();
    for op in ops(frame) {
        match op {
            Op::Table { id, tenant, name } => steps.push(Step::Table { id, tenant, name }),
            Op::Attribute { table, id, name, declared, kind } => {
                steps.push(Step::Attribute { table, id, name, declared, kind });
            }
            Op::Series { id, table, entity, path } => {
                new_series.insert(id, table);
                gathered.series.entry(table).or_default().push((id, entity, path));
            }
            Op::Row { series, time_ms, values, .. } => {
                let table = new_series.get(&series).copied();
                let table = table.unwrap_or_else(|| catalog.series(series).table);
                gathered.rows.entry(table).or_default().push(NewRow { series, time_ms, values });
            }
            Op::Delete { of, range, .. } => {
                steps.push(Step::Rows(std::mem::take(&mut gathered)));
                steps.push(Step::Delete { of, range });
            }
            Op::DropTable { table, .. } => {
                steps.push(Step::Rows(std::mem::take(&mut gathered)));
                steps.push(Step::DropTable(table));
            }
        }
    }
    steps.push(Step::Rows(gathered));
    steps.retain(|step| !matches!(step, Step::Rows(of) if of.series.is_empty() && of.rows.is_empty()));
    steps
}

/// A write whose failure is one of the database.
pub fn submit(
    writes: &WritesElsewhere,
    operation: &mut dyn FnMut(&mut Write<'_>) -> Result<(), Refusal>,
) -> Result<(), Fault> {
    writes.submit_and_wait(operation).map_err(|error| match error {
        WriteError::Refused(refusal) => Fault::new(&refusal.to_string()),
        WriteError::Log(error) => Fault::gone(&error.to_string()),
    })
}
