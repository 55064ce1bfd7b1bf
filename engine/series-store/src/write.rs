//! What a write does: names are found or made, rows are added to the frame that is gathered. All or nothing of it is done.

use crate::catalog::{Added, Catalog};
use crate::error::{NAME_CHARS_SHOWN, Refusal};
use crate::ids::{AttributeId, SeriesId, TableId, TimeMs, TimeRange};
use crate::op::{Deleted, Op, OpNumber, put_row};
use crate::value::{Kind, Value};
use prony_log::commit::Batch;

/// Of a name: an entity's id, a type, an attribute, a tenant, a service path.
pub const NAME_BYTES_MAX: usize = 4096;
/// Of a tenant and all others.
pub const TYPES_MAX: usize = 100_000;
/// Of a type.
pub const ATTRIBUTES_MAX: usize = 5000;
/// Entities, counted once for each of their service paths. Their names are kept in memory.
pub const SERIES_MAX: usize = 100_000_000;
/// Of a text that is a value.
pub const TEXT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Of all that one write adds to the log.
pub const WRITE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What an engine can keep, beside what none can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of a type.
    pub attributes_max: usize,
    /// Of a row, where each value counts as many bytes as stand with the row itself ([`VALUE_BYTES`]; a text at most as many as the next
    /// says).
    pub row_bytes_max: usize,
    pub text_in_row_bytes_max: usize,
    /// Times of rows.
    pub times: TimeRange,
    /// Values that are times.
    pub time_values: TimeRange,
    /// Whether there are numbers that are no number, infinite, or the least integer.
    pub keeps_all_numbers: bool,
    /// Whether texts may have the character U+0000.
    pub keeps_nul: bool,
}

/// Of a row's value that is a number, a time or a boolean.
const VALUE_BYTES: usize = 8;
impl Default for Limits {
    fn default() -> Self {
        Self {
            attributes_max: ATTRIBUTES_MAX,
            row_bytes_max: usize::MAX,
            text_in_row_bytes_max: usize::MAX,
            times: TimeRange::ALL,
            time_values: TimeRange::ALL,
            keeps_all_numbers: true,
            keeps_nul: true,
        }
    }
}

/// Behind the store's lock.
#[derive(Debug, Default)]
pub(crate) struct SeriesWriter {
    limits: Limits,
    pub(crate) pending: Batch<()>,
    /// All names, also those that are not durable yet.
    pub(crate) catalog: Catalog,
    /// Of the last write.
    pub(crate) last_number: OpNumber,
    /// What the write that is being made has added.
    added: Vec<Added>,
    /// Where it begins in the frame.
    begin: usize,
}

impl SeriesWriter {
    pub(crate) fn new(catalog: Catalog, last_number: OpNumber, limits: Limits) -> Self {
        Self { limits, pending: Batch::default(), catalog, last_number, added: Vec::new(), begin: 0 }
    }

    pub(crate) fn operate(&mut self, operate: &mut Operation<'_>) -> Result<(), Refusal> {
        self.begin = self.pending.begin().len();
        self.last_number += 1;
        self.added.clear();
        let result = operate(&mut Write(self)).and_then(|()| self.check_size());
        if result.is_err() {
            self.pending.frame.truncate(self.begin);
            self.last_number -= 1;
            while let Some(added) = self.added.pop() {
                self.catalog.undo(added);
            }
        }
        result
    }

    fn check_size(&self) -> Result<(), Refusal> {
        let (bytes, limit) = (self.pending.frame.len() - self.begin, WRITE_BYTES_MAX);
        if bytes > limit { Err(Refusal::LargeWrite { bytes, limit }) } else { Ok(()) }
    }
}

/// What is done to series, all or none.
pub type Operation<'o> = dyn FnMut(&mut Write<'_>) -> Result<(), Refusal> + 'o;

/// One write while it is made.
#[derive(Debug)]
pub struct Write<'a>(&'a mut SeriesWriter);

fn check_name(what: &'static str, name: &str, limits: Limits) -> Result<(), Refusal> {
    if !limits.keeps_nul && name.contains('\0') {
        return Err(Refusal::of_character(what, name, '\0'));
    }
    if name.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    let shown: String = name.chars().take(NAME_CHARS_SHOWN).chain("…".chars()).collect();
    Err(Refusal::LongName { what, name: shown, bytes: name.len(), limit: NAME_BYTES_MAX })
}

fn check_row_bytes(values: &[(AttributeId, Value<'_>)], limits: Limits, entity: &str) -> Result<(), Refusal> {
    let (limit, of_text) = (limits.row_bytes_max, limits.text_in_row_bytes_max);
    let bytes_of = |value: &Value<'_>| match value {
        Value::Null => 0,
        Value::Text(text) => of_text.min(text.len() + VALUE_BYTES),
        _ => VALUE_BYTES,
    };
    let bytes: usize = values.iter().map(|(_, value)| bytes_of(value)).sum();
    if bytes <= limit {
        return Ok(());
    }
    Err(Refusal::LargeRow { entity: entity.to_owned(), bytes, limit })
}

fn check_count(what: &'static str, name: &str, count: usize, limit: usize) -> Result<(), Refusal> {
    if count <= limit {
        return Ok(());
    }
    Err(Refusal::TooMany { what, name: name.to_owned(), count, limit })
}

impl Write<'_> {
    /// A type of a tenant, made where there is none.
    pub fn table(&mut self, tenant: &str, name: &str) -> Result<TableId, Refusal> {
        let SeriesWriter { limits, pending, catalog, added, .. } = &mut *self.0;
        if let Some(id) = catalog.find_table(tenant, name) {
            return Ok(id);
        }
        check_name("tenant", tenant, *limits)?;
        check_name("type", name, *limits)?;
        check_count("type", name, catalog.table_count() + 1, TYPES_MAX)?;
        let id = catalog.add_table(tenant, name);
        added.push(Added::Table);
        Op::Table { id, tenant, name }.put(&mut pending.frame);
        Ok(id)
    }

    /// An attribute of a type and what its values are, made with this type and this kind where there is none.
    pub fn attribute(
        &mut self,
        table: TableId,
        name: &str,
        declared: &str,
        kind: impl FnOnce() -> Kind,
    ) -> Result<(AttributeId, Kind), Refusal> {
        let SeriesWriter { limits, pending, catalog, added, .. } = &mut *self.0;
        if let Some((id, of)) = catalog.table(table).attribute(name) {
            return Ok((id, of.kind));
        }
        check_name("attribute", name, *limits)?;
        check_name("type", declared, *limits)?;
        let count = catalog.table(table).attributes.len() + 1;
        check_count("attribute of its type", name, count, limits.attributes_max.min(ATTRIBUTES_MAX))?;
        let kind = kind();
        let id = catalog.add_attribute(table, name, declared, kind);
        added.push(Added::Attribute(table));
        Op::Attribute { table, id, name, declared, kind }.put(&mut pending.frame);
        Ok((id, kind))
    }

    /// An entity of a type under a service path, made where there is none.
    pub fn series(&mut self, table: TableId, entity: &str, path: &str) -> Result<SeriesId, Refusal> {
        let SeriesWriter { limits, pending, catalog, added, .. } = &mut *self.0;
        if let Some(id) = catalog.find_series(table, entity, path) {
            return Ok(id);
        }
        check_name("entity", entity, *limits)?;
        check_name("service path", path, *limits)?;
        check_count("entity", entity, catalog.series_count() + 1, SERIES_MAX)?;
        let id = catalog.add_series(table, entity, path);
        added.push(Added::Series);
        Op::Series { id, table, entity, path }.put(&mut pending.frame);
        Ok(id)
    }

    /// Adds a row, with each attribute at most once and values of the attributes' kinds.
    pub fn row(
        &mut self,
        series: SeriesId,
        time_ms: TimeMs,
        values: &[(AttributeId, Value<'_>)],
    ) -> Result<(), Refusal> {
        let SeriesWriter { limits, pending, catalog, last_number, .. } = &mut *self.0;
        if !limits.times.contains(time_ms) {
            let TimeRange { from_ms, to_ms } = limits.times;
            return Err(Refusal::FarTime { time_ms, from_ms, to_ms });
        }
        check_row_bytes(values, *limits, &catalog.series(series).entity)?;
        for (attribute, value) in values {
            let of = || catalog.table(catalog.series(series).table).get(*attribute);
            debug_assert!(value.is_of(of().kind), "{value:?} is no value of {:?}", of());
            if let Value::Text(text) = value
                && text.len() > TEXT_BYTES_MAX
            {
                let (bytes, limit) = (text.len(), TEXT_BYTES_MAX);
                return Err(Refusal::LongText { attribute: of().name.to_string(), bytes, limit });
            }
        }
        put_row(&mut pending.frame, *last_number, series, time_ms, values);
        // Now, and not at the end: what asks for too much may ask for far too much.
        self.0.check_size()
    }

    /// Whether a value of a kind can be kept; where it cannot, null is kept in its place.
    pub fn keeps(&self, kind: Kind, value: Value<'_>) -> bool {
        let Limits { time_values, keeps_nul, keeps_all_numbers, .. } = self.0.limits;
        match value {
            Value::Text(text) => keeps_nul || !text.contains('\0'),
            Value::Integer(time) if kind == Kind::Time => time_values.contains(time),
            Value::Integer(value) => keeps_all_numbers || value > i64::MIN,
            Value::Double(value) => keeps_all_numbers || value.is_finite(),
            _ => true,
        }
    }

    /// Deletes the rows of an entity that earlier writes have made.
    pub fn delete(&mut self, series: SeriesId, range: TimeRange) {
        self.put_deletion(self.0.catalog.series(series).table, Deleted::Series(series), range);
    }

    /// Deletes the rows of all entities of a type that earlier writes have made.
    pub fn delete_all(&mut self, table: TableId, range: TimeRange) {
        self.put_deletion(table, Deleted::Table(table), range);
    }

    /// What is to be deleted was found before the write: the type may have gone meanwhile, with all that it had.
    fn put_deletion(&mut self, table: TableId, of: Deleted, range: TimeRange) {
        if !self.0.catalog.table(table).is_dropped {
            let number = self.0.last_number;
            Op::Delete { number, of, range }.put(&mut self.0.pending.frame);
        }
    }

    /// Deletes a type with its attributes, entities and rows.
    pub fn drop_table(&mut self, table: TableId) {
        let SeriesWriter { pending, catalog, last_number, .. } = &mut *self.0;
        if catalog.table(table).is_dropped {
            return;
        }
        catalog.drop_table(table);
        Op::DropTable { number: *last_number, table }.put(&mut pending.frame);
    }

    /// Names as they are, also those that are not durable yet.
    pub fn catalog(&self) -> &Catalog {
        &self.0.catalog
    }
}
