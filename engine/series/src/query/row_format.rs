//! Rows one after the other, for programs that take tables: newline-delimited JSON (<https://github.com/ndjson/ndjson-spec>) and CSV
//! (RFC 4180), written part by part as QuantumLeap's shapes are.

use http::HeaderName;
use prony_graphql::json::write_string;
use prony_series_store::{Kind, Summary, TimeMs, Value};
use prony_source::http_api::RequestHeaders;

use super::{
    fault::JSON,
    parameters::{Method, Parameters},
    result::{AskedAttribute, EntityResult, TypeResult},
    shape::{Output, Stopped, full},
    value::{write_summary, write_time, write_value},
};
use crate::ngsi::time;

const ACCEPT: HeaderName = http::header::ACCEPT;
/// The columns of a CSV file that are no attributes. An attribute of such a name has a `_` behind it.
const COLUMNS: [&str; 3] = ["id", "type", "time"];

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// In the shapes of QuantumLeap.
    Shapes,
    Ndjson,
    Csv,
}

impl Format {
    const ALL: [(&'static str, Self); 3] =
        [(JSON, Self::Shapes), ("application/x-ndjson", Self::Ndjson), ("text/csv", Self::Csv)];

    /// The first of those that the request names which there is; QuantumLeap's where it names none.
    pub(crate) fn of(headers: &dyn RequestHeaders) -> Self {
        let value =
            headers.value(&ACCEPT).and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default();
        let named = value.split(',').filter_map(|range| {
            let name = range.split(';').next().unwrap_or_default().trim();
            Self::ALL.iter().find(|(of, _)| of.eq_ignore_ascii_case(name))
        });
        named.map(|(_, format)| *format).next().unwrap_or(Self::Shapes)
    }

    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Shapes => JSON,
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8; header=present",
        }
    }
}

/// What a row has for an attribute.
#[derive(Debug, Clone, Copy)]
enum Cell<'a> {
    Value(Kind, Value<'a>),
    Summary(Kind, Method, &'a Summary),
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
    if format == Format::Csv {
        write_head(out.part(), &columns);
    }
    for TypeResult { name, attributes, entities, .. } in results {
        let places: Vec<usize> = attributes.iter().map(|of| place_of(&columns, &of.name)).collect();
        let table = RowTable { format, type_name: name, attributes, places: &places, columns: columns.len() };
        for entity in entities {
            table.write_entity(parameters, out, entity)?;
        }
    }
    Ok(())
}

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
        if COLUMNS.contains(&&**name) {
            write_field(out, &format!("{name}_"));
        } else {
            write_field(out, name);
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// A field of CSV. An empty text is in quotes, so that it is not taken for no value.
fn write_field(out: &mut Vec<u8>, text: &str) {
    if !text.is_empty() && !text.contains([',', '"', '\r', '\n']) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

/// The rows of a type.
#[derive(Debug, Clone, Copy)]
struct RowTable<'a> {
    format: Format,
    type_name: &'a str,
    attributes: &'a [AskedAttribute],
    /// Of the attributes, their columns.
    places: &'a [usize],
    columns: usize,
}

impl RowTable<'_> {
    fn write_entity(
        &self,
        parameters: &Parameters,
        out: &mut dyn Output,
        entity: &mut EntityResult,
    ) -> Written {
        if let (Some(aggregation), Some(aggregated)) = (parameters.aggregation, &entity.aggregated) {
            for (time, summaries) in aggregated.index.iter().zip(&aggregated.summaries) {
                let time = aggregation.period.is_some().then_some(*time);
                let cell = |place: usize, of: &AskedAttribute| {
                    Cell::Summary(of.kind, aggregation.method, &summaries[place])
                };
                self.write_row(out.part(), &entity.id, time, cell);
                full(out)?;
            }
            return Ok(());
        }
        let wanted: Vec<_> = self.attributes.iter().map(|of| of.id).collect();
        let (id, mut written) = (entity.id.clone(), Ok(()));
        entity.visit(&wanted, |rows, row| {
            let cell = |_: usize, of: &AskedAttribute| Cell::Value(of.kind, rows.get(row, of.id));
            self.write_row(out.part(), &id, Some(rows.times[row]), cell);
            written = full(out);
            written.is_ok()
        })?;
        written
    }

    fn write_row<'c>(
        &self,
        out: &mut Vec<u8>,
        id: &str,
        time: Option<TimeMs>,
        cell: impl Fn(usize, &AskedAttribute) -> Cell<'c>,
    ) {
        match self.format {
            Format::Csv => self.write_record(out, id, time, cell),
            Format::Shapes | Format::Ndjson => self.write_line(out, id, time, cell),
        }
    }

    /// `{"id": …, "type": …, "time": …, "values": {…}}`; what is null is left out of the values.
    fn write_line<'c>(
        &self,
        out: &mut Vec<u8>,
        id: &str,
        time: Option<TimeMs>,
        cell: impl Fn(usize, &AskedAttribute) -> Cell<'c>,
    ) {
        out.extend_from_slice(b"{\"id\":");
        write_string(out, id);
        out.extend_from_slice(b",\"type\":");
        write_string(out, self.type_name);
        if let Some(time) = time {
            out.extend_from_slice(b",\"time\":");
            write_time(out, time);
        }
        out.extend_from_slice(b",\"values\":{");
        let mut is_first = true;
        for (place, attribute) in self.attributes.iter().enumerate() {
            let cell = cell(place, attribute);
            if !cell.is_null() {
                out.extend_from_slice(if std::mem::replace(&mut is_first, false) { b"" } else { b"," });
                write_string(out, &attribute.name);
                out.push(b':');
                cell.write_json(out);
            }
        }
        out.extend_from_slice(b"}}\n");
    }

    fn write_record<'c>(
        &self,
        out: &mut Vec<u8>,
        id: &str,
        time: Option<TimeMs>,
        cell: impl Fn(usize, &AskedAttribute) -> Cell<'c>,
    ) {
        write_field(out, id);
        out.push(b',');
        write_field(out, self.type_name);
        out.push(b',');
        if let Some(time) = time {
            time::write(out, time);
        }
        for column in 0..self.columns {
            out.push(b',');
            if let Some(place) = self.places.iter().position(|of| *of == column) {
                cell(place, &self.attributes[place]).write_field(out);
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}

impl Cell<'_> {
    fn is_null(&self) -> bool {
        match self {
            Self::Value(_, value) => *value == Value::Null,
            Self::Summary(_, method, summary) => *method != Method::Count && summary.count == 0,
        }
    }

    fn write_json(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Value(kind, value) => write_value(out, kind, value),
            Self::Summary(kind, method, summary) => write_summary(out, kind, method, summary),
        }
    }

    fn write_field(&self, out: &mut Vec<u8>) {
        match *self {
            _ if self.is_null() => {}
            Self::Value(_, Value::Text(text)) => write_field(out, text),
            Self::Value(Kind::Time, Value::Integer(time)) => time::write(out, time),
            Self::Summary(Kind::Time, method, summary) if method != Method::Count => {
                let time = if method == Method::Min { summary.min } else { summary.max };
                time::write(out, time as TimeMs);
            }
            _ => self.write_json(out),
        }
    }
}
