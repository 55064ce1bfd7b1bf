//! Rows one after the other, for programs that take tables: a list of JSON, newline-delimited JSON (<https://github.com/ndjson/ndjson-spec>),
//! CSV (RFC 4180) and Parquet, written part by part as QuantumLeap's shapes are.

use std::collections::HashMap;

use http::HeaderName;
use prony_graphql::json::write_string;
use prony_series_store::{Kind, Rows, TimeMs, Value};
use prony_source::http_api::{RequestHeaders, accept::preferred};

use super::{
    cell::{COLUMNS, Cell, write_field},
    entity::{EntityResult, TypeResult},
    fault::JSON,
    parameters::{Method, Parameters, RowObject},
    parquet_rows::ParquetRows,
    row_columns::{self, ColumnKey, Role, RowColumn},
    shape::{Output, Stopped, full},
    value::{summary_kind, write_time, write_value},
};
use crate::{hidden, ngsi::time};

const PARQUET: &str = "application/vnd.apache.parquet";
const ACCEPT: HeaderName = http::header::ACCEPT;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// In the shapes of QuantumLeap.
    Shapes,
    /// A list of JSON.
    List,
    Ndjson,
    Csv,
    Parquet,
}

impl Format {
    const ALL: [(&'static str, Self); 4] = [
        (JSON, Self::Shapes),
        ("application/x-ndjson", Self::Ndjson),
        ("text/csv", Self::Csv),
        (PARQUET, Self::Parquet),
    ];

    /// The one that the request prefers of those that it names; QuantumLeap's where it names none.
    pub(crate) fn of(headers: &dyn RequestHeaders, parameters: &Parameters) -> Self {
        let value =
            headers.value(&ACCEPT).and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default();
        match preferred(value, &Self::ALL).unwrap_or(Self::Shapes) {
            Self::Shapes if parameters.row_object.is_some() => Self::List,
            format => format,
        }
    }

    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Shapes | Self::List => JSON,
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Parquet => PARQUET,
        }
    }
}

type Written = Result<(), Stopped>;

/// Writes all rows of all entities, with their times.
pub(crate) fn write(
    format: Format,
    parameters: &Parameters,
    out: &mut dyn Output,
    results: &mut [TypeResult],
) -> Written {
    let tables = row_columns::tables(results, parameters.shown);
    let columns = row_columns::columns(&tables);
    let kind = |of: &RowColumn| match parameters.aggregation {
        Some(aggregation) => summary_kind(of.kind, aggregation.method),
        None => of.kind,
    };
    let kinds = || row_columns::kinds(&tables, &columns, kind);
    let mut writer = RowWriter::begin(format, parameters, &columns, kinds, out)?;
    for (TypeResult { name, entities, .. }, own) in results.iter_mut().zip(&tables) {
        let table = RowTable::new(name, own, &columns);
        for entity in entities {
            each_row(own, parameters, entity, &mut |id, time, cells| {
                writer.row(&table, (id, time), cells, out)
            })?;
        }
    }
    writer.end(out)
}

/// Writes a row of each entity, with its id, its type and a time.
pub(crate) fn write_entities<'e>(
    format: Format,
    parameters: &Parameters,
    out: &mut dyn Output,
    entities: impl Iterator<Item = (&'e str, &'e str, TimeMs)>,
) -> Written {
    let mut writer = RowWriter::begin(format, parameters, &[], Vec::new, out)?;
    let no_cells = PeriodRow { columns: &[], method: Method::Last, values: &[] };
    for (id, type_name, time) in entities {
        writer.row(&RowTable::new(type_name, &[], &[]), (id, Some(time)), &no_cells, out)?;
    }
    writer.end(out)
}

/// Writes rows one after the other.
struct RowWriter {
    format: Format,
    object: RowObject,
    parquet: Option<ParquetRows>,
    is_first: bool,
}

impl RowWriter {
    fn begin(
        format: Format,
        parameters: &Parameters,
        columns: &[&RowColumn],
        kinds: impl FnOnce() -> Vec<(String, Kind)>,
        out: &mut dyn Output,
    ) -> Result<Self, Stopped> {
        let mut parquet = None;
        match format {
            Format::Csv => write_head(out.part(), columns),
            Format::Parquet => parquet = Some(ParquetRows::new(&kinds())?),
            Format::List => out.part().push(b'['),
            Format::Shapes | Format::Ndjson => {}
        }
        let object = parameters.row_object.unwrap_or(RowObject::Nested);
        Ok(Self { format, object, parquet, is_first: true })
    }

    fn row(
        &mut self,
        table: &RowTable<'_>,
        (id, time): (&str, Option<TimeMs>),
        cells: &dyn RowCells,
        out: &mut dyn Output,
    ) -> Written {
        match (&mut self.parquet, self.format) {
            (Some(rows), _) => {
                let cell = |column| table.place_in(column).map(|place| cells.cell(place));
                return rows.push(out, (id, table.type_name, time), cell);
            }
            (None, Format::Csv) => table.write_record(out.part(), id, time, cells),
            (None, Format::List) => {
                if !std::mem::replace(&mut self.is_first, false) {
                    out.part().push(b',');
                }
                table.write_object(out.part(), self.object, id, time, cells);
            }
            (None, _) => {
                table.write_object(out.part(), self.object, id, time, cells);
                out.part().push(b'\n');
            }
        }
        full(out)
    }

    fn end(self, out: &mut dyn Output) -> Written {
        if self.format == Format::List {
            out.part().push(b']');
        }
        self.parquet.map_or(Ok(()), |rows| rows.end(out))
    }
}

/// What a row has, by the places of its type's columns.
trait RowCells {
    fn cell(&self, place: usize) -> Cell<'_>;
}

/// A row as it was written.
struct WrittenRow<'a> {
    columns: &'a [RowColumn],
    rows: &'a Rows,
    row: usize,
}

impl RowCells for WrittenRow<'_> {
    fn cell(&self, place: usize) -> Cell<'_> {
        let RowColumn { id, kind, role, .. } = self.columns[place];
        let value = self.rows.get(self.row, id);
        Cell { kind, value: if role == Role::Value { value } else { hidden::shown(value) } }
    }
}

/// What was made of the rows of a period.
struct PeriodRow<'a> {
    columns: &'a [RowColumn],
    method: Method,
    values: &'a [Value<'static>],
}

impl RowCells for PeriodRow<'_> {
    fn cell(&self, place: usize) -> Cell<'_> {
        Cell { kind: summary_kind(self.columns[place].kind, self.method), value: self.values[place] }
    }
}

/// Takes a row: its entity, its time, what it has.
type TakeRow<'a> = dyn FnMut(&str, Option<TimeMs>, &dyn RowCells) -> Written + 'a;

fn write_head(out: &mut Vec<u8>, columns: &[&RowColumn]) {
    out.extend_from_slice(COLUMNS.join(",").as_bytes());
    for RowColumn { column, .. } in columns {
        out.push(b',');
        write_field(out, column);
    }
    out.extend_from_slice(b"\r\n");
}

/// Calls `take` with the rows of an entity.
fn each_row(
    columns: &[RowColumn],
    parameters: &Parameters,
    entity: &mut EntityResult,
    take: &mut TakeRow<'_>,
) -> Written {
    if let (Some(aggregation), Some(aggregated)) = (parameters.aggregation, &entity.aggregated) {
        for (time, values) in aggregated.index.iter().zip(&aggregated.values) {
            let time = aggregation.period.is_some().then_some(*time);
            take(&entity.id, time, &PeriodRow { columns, method: aggregation.method, values })?;
        }
        return Ok(());
    }
    let wanted: Vec<_> = columns.iter().map(|of| of.id).collect();
    let (id, mut written) = (entity.id.clone(), Ok(()));
    entity.visit(&wanted, |rows, row| {
        written = take(&id, Some(rows.times[row]), &WrittenRow { columns, rows, row });
        written.is_ok()
    })?;
    written
}

/// The rows of a type.
#[derive(Debug)]
struct RowTable<'a> {
    type_name: &'a str,
    own: &'a [RowColumn],
    /// For each column of all types the place of the type's own.
    places: Vec<Option<usize>>,
}

impl<'a> RowTable<'a> {
    fn new(type_name: &'a str, own: &'a [RowColumn], columns: &[&RowColumn]) -> Self {
        let places: HashMap<ColumnKey<'_>, usize> =
            own.iter().enumerate().map(|(place, of)| (of.key(), place)).collect();
        Self { type_name, own, places: columns.iter().map(|of| places.get(&of.key()).copied()).collect() }
    }

    /// The type's own column, where it has one.
    fn place_in(&self, column: usize) -> Option<usize> {
        self.places[column]
    }

    /// `{"id": …, "type": …, "time": …, "values": {…}}`, or with the values beside the time; what is null is left out of them. Metadata
    /// are an object of their own where values are.
    fn write_object(
        &self,
        out: &mut Vec<u8>,
        object: RowObject,
        id: &str,
        time: Option<TimeMs>,
        cells: &dyn RowCells,
    ) {
        out.extend_from_slice(b"{\"id\":");
        write_string(out, id);
        out.extend_from_slice(b",\"type\":");
        write_string(out, self.type_name);
        if let Some(time) = time {
            out.extend_from_slice(b",\"time\":");
            write_time(out, time);
        }
        if object == RowObject::KeyValues {
            self.write_members(out, cells, false, |_| true);
        } else {
            self.write_members(out, cells, false, |role| role == Role::TimeAttribute);
            out.extend_from_slice(b",\"values\":{");
            self.write_members(out, cells, true, |role| role == Role::Value);
            if self.own.iter().any(|of| of.role == Role::Metadata) {
                out.extend_from_slice(b"},\"metadata\":{");
                self.write_members(out, cells, true, |role| role == Role::Metadata);
            }
            out.push(b'}');
        }
        out.push(b'}');
    }

    /// The members of these roles that are not null: of an object of their own, or beside others.
    fn write_members(
        &self,
        out: &mut Vec<u8>,
        cells: &dyn RowCells,
        is_nested: bool,
        has: impl Fn(Role) -> bool,
    ) {
        let mut is_first = is_nested;
        for (place, of) in self.own.iter().enumerate().filter(|(_, of)| has(of.role)) {
            let cell = cells.cell(place);
            if !cell.is_null() {
                out.extend_from_slice(if std::mem::replace(&mut is_first, false) { b"" } else { b"," });
                write_string(out, if is_nested { &of.attribute } else { &of.column });
                out.push(b':');
                write_value(out, cell.kind, cell.value);
            }
        }
    }

    fn write_record(&self, out: &mut Vec<u8>, id: &str, time: Option<TimeMs>, cells: &dyn RowCells) {
        write_field(out, id);
        out.push(b',');
        write_field(out, self.type_name);
        out.push(b',');
        if let Some(time) = time {
            time::write(out, time);
        }
        for place in &self.places {
            out.push(b',');
            if let Some(place) = place {
                cells.cell(*place).write_field(out);
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}
