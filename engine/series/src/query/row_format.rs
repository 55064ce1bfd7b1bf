//! Rows one after the other, for programs that take tables: a list of JSON, newline-delimited JSON (<https://github.com/ndjson/ndjson-spec>),
//! CSV (RFC 4180) and Parquet, written part by part as QuantumLeap's shapes are.

use http::HeaderName;
use prony_graphql::json::write_string;
use prony_series_store::{Kind, Rows, TimeMs, Value};
use prony_source::http_api::RequestHeaders;

use super::{
    cell::{COLUMNS, Cell, write_field},
    entity::{AskedAttribute, EntityResult, TypeResult},
    fault::JSON,
    parameters::{Method, Parameters, RowObject},
    parquet_rows::ParquetRows,
    shape::{Output, Stopped, full},
    value::{summary_kind, write_time, write_value},
};
use crate::ngsi::time;

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

    /// The first of those that the request names which there is; QuantumLeap's where it names none.
    pub(crate) fn of(headers: &dyn RequestHeaders, parameters: &Parameters) -> Self {
        let value =
            headers.value(&ACCEPT).and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default();
        let named = value.split(',').filter_map(|range| {
            let name = range.split(';').next().unwrap_or_default().trim();
            Self::ALL.iter().find(|(of, _)| of.eq_ignore_ascii_case(name))
        });
        match named.map(|(_, format)| *format).next().unwrap_or(Self::Shapes) {
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
    let columns = columns(results);
    let mut parquet = None;
    match format {
        Format::Csv => write_head(out.part(), &columns),
        Format::Parquet => parquet = Some(ParquetRows::new(&kinds(results, parameters, &columns))?),
        Format::List => out.part().push(b'['),
        Format::Shapes | Format::Ndjson => {}
    }
    let object = parameters.row_object.unwrap_or(RowObject::Nested);
    let mut is_first = true;
    for TypeResult { name, attributes, entities, .. } in results {
        let places: Vec<usize> = attributes.iter().map(|of| place_of(&columns, &of.name)).collect();
        let table = RowTable { type_name: name, attributes, places: &places, columns: columns.len() };
        for entity in entities {
            each_row(attributes, parameters, entity, &mut |id, time, cells| {
                match (&mut parquet, format) {
                    (Some(rows), _) => {
                        let cell = |column| table.place_in(column).map(|place| cells.cell(place));
                        return rows.push(out, (id, name, time), cell);
                    }
                    (None, Format::Csv) => table.write_record(out.part(), id, time, cells),
                    (None, Format::List) => {
                        if !std::mem::replace(&mut is_first, false) {
                            out.part().push(b',');
                        }
                        table.write_object(out.part(), object, id, time, cells);
                    }
                    (None, _) => {
                        table.write_object(out.part(), object, id, time, cells);
                        out.part().push(b'\n');
                    }
                }
                full(out)
            })?;
        }
    }
    if format == Format::List {
        out.part().push(b']');
    }
    parquet.map_or(Ok(()), |rows| rows.end(out))
}

/// The kinds of columns; text where those of different types differ.
fn kinds(results: &[TypeResult], parameters: &Parameters, columns: &[String]) -> Vec<(String, Kind)> {
    let kind = |of: &AskedAttribute| match parameters.aggregation {
        Some(aggregation) => summary_kind(of.kind, aggregation.method),
        None => of.kind,
    };
    let of_column = |name: &String| {
        let attributes = results.iter().flat_map(|of| &of.attributes).filter(|of| is_same(name, &of.name));
        let mut kinds = attributes.map(kind);
        let first = kinds.next().unwrap_or(Kind::Text);
        (shown(name), if kinds.all(|other| other == first) { first } else { Kind::Text })
    };
    columns.iter().map(of_column).collect()
}

/// What a row has, by the places of its type's attributes.
trait RowCells {
    fn cell(&self, place: usize) -> Cell<'_>;
}

/// A row as it was written.
struct WrittenRow<'a> {
    attributes: &'a [AskedAttribute],
    rows: &'a Rows,
    row: usize,
}

impl RowCells for WrittenRow<'_> {
    fn cell(&self, place: usize) -> Cell<'_> {
        let AskedAttribute { id, kind, .. } = self.attributes[place];
        Cell { kind, value: self.rows.get(self.row, id) }
    }
}

/// What was made of the rows of a period.
struct PeriodRow<'a> {
    attributes: &'a [AskedAttribute],
    method: Method,
    values: &'a [Value<'static>],
}

impl RowCells for PeriodRow<'_> {
    fn cell(&self, place: usize) -> Cell<'_> {
        Cell { kind: summary_kind(self.attributes[place].kind, self.method), value: self.values[place] }
    }
}

/// Takes a row: its entity, its time, what it has.
type TakeRow<'a> = dyn FnMut(&str, Option<TimeMs>, &dyn RowCells) -> Written + 'a;

/// Names of attributes, each once in any case of letters.
fn columns(results: &[TypeResult]) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for attribute in results.iter().flat_map(|of| &of.attributes) {
        if !columns.iter().any(|known| is_same(known, &attribute.name)) {
            columns.push(attribute.name.clone());
        }
    }
    columns
}

fn is_same(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

fn place_of(columns: &[String], name: &str) -> usize {
    columns.iter().position(|known| is_same(known, name)).unwrap_or_default()
}

fn write_head(out: &mut Vec<u8>, columns: &[String]) {
    out.extend_from_slice(COLUMNS.join(",").as_bytes());
    for name in columns {
        out.push(b',');
        write_field(out, &shown(name));
    }
    out.extend_from_slice(b"\r\n");
}

/// The name of an attribute's column.
fn shown(name: &str) -> String {
    if COLUMNS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// Calls `take` with the rows of an entity.
fn each_row(
    attributes: &[AskedAttribute],
    parameters: &Parameters,
    entity: &mut EntityResult,
    take: &mut TakeRow<'_>,
) -> Written {
    if let (Some(aggregation), Some(aggregated)) = (parameters.aggregation, &entity.aggregated) {
        for (time, values) in aggregated.index.iter().zip(&aggregated.values) {
            let time = aggregation.period.is_some().then_some(*time);
            take(&entity.id, time, &PeriodRow { attributes, method: aggregation.method, values })?;
        }
        return Ok(());
    }
    let wanted: Vec<_> = attributes.iter().map(|of| of.id).collect();
    let (id, mut written) = (entity.id.clone(), Ok(()));
    entity.visit(&wanted, |rows, row| {
        written = take(&id, Some(rows.times[row]), &WrittenRow { attributes, rows, row });
        written.is_ok()
    })?;
    written
}

/// The rows of a type.
#[derive(Debug, Clone, Copy)]
struct RowTable<'a> {
    type_name: &'a str,
    attributes: &'a [AskedAttribute],
    /// Of the attributes, their columns.
    places: &'a [usize],
    columns: usize,
}

impl RowTable<'_> {
    /// The attribute in a column, where the type has one.
    fn place_in(&self, column: usize) -> Option<usize> {
        self.places.iter().position(|of| *of == column)
    }

    /// `{"id": …, "type": …, "time": …, "values": {…}}`, or with the values beside the time; what is null is left out of them.
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
        let is_nested = object == RowObject::Nested;
        if is_nested {
            out.extend_from_slice(b",\"values\":{");
        }
        let mut is_first = is_nested;
        for (place, attribute) in self.attributes.iter().enumerate() {
            let cell = cells.cell(place);
            if !cell.is_null() {
                out.extend_from_slice(if std::mem::replace(&mut is_first, false) { b"" } else { b"," });
                if is_nested {
                    write_string(out, &attribute.name);
                } else {
                    write_string(out, &shown(&attribute.name));
                }
                out.push(b':');
                write_value(out, cell.kind, cell.value);
            }
        }
        out.extend_from_slice(if is_nested { b"}}" } else { b"}" });
    }

    fn write_record(&self, out: &mut Vec<u8>, id: &str, time: Option<TimeMs>, cells: &dyn RowCells) {
        write_field(out, id);
        out.push(b',');
        write_field(out, self.type_name);
        out.push(b',');
        if let Some(time) = time {
            time::write(out, time);
        }
        for column in 0..self.columns {
            out.push(b',');
            if let Some(place) = self.place_in(column) {
                cells.cell(place).write_field(out);
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}
