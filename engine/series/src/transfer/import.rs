//! From lines to a store.

use std::io::{BufRead, Read as _};

use prony_series_store::{AttributeId, Kind, Refusal, Store, TableId, Value, Write};

use super::{TransferError, Transferred, VERSION, kind_of};
use crate::ngsi::json::{Arena, Json};

/// Lines that are written at a time, and bytes of them after which no more are taken.
const BATCH_LINES: usize = 1_000;
const BATCH_BYTES: usize = 8 << 20;
/// A row has a limited number of texts of limited length, but a line may be anything.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// Reads all lines into an empty store, and puts what they say on the disk. The store is of no use where that fails.
///
/// # Errors
/// A line is wrong or missing, or the store cannot be written.
pub fn import(store: &Store, mut input: impl BufRead) -> Result<Transferred, TransferError> {
    let mut importer =
        Importer { store, batch: Batch::default(), of: None, transferred: Transferred::default() };
    let (mut line, mut is_ended) = (Vec::new(), false);
    let (mut number, mut arena) = (0, Arena::new());
    loop {
        line.clear();
        if input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        let wrong = |what: String| TransferError::Line { line: number, what };
        if is_ended {
            return Err(wrong("the file goes on behind its end".to_owned()));
        }
        if line.len() as u64 == LINE_BYTES_MAX {
            return Err(wrong(format!("it has more than {LINE_BYTES_MAX} bytes, which is the limit")));
        }
        arena.reset();
        let json = match Json::read(&line, &arena) {
            Ok(json) => json,
            // The last line of a file that was cut off.
            Err(_) if line.last() != Some(&b'\n') && number > 1 => break,
            Err(_) => return Err(wrong("it is no JSON".to_owned())),
        };
        is_ended = importer.take(number, &json)?;
    }
    if number == 0 {
        return Err(TransferError::Line { line: 1, what: FIRST.to_owned() });
    }
    importer.write()?;
    if !is_ended {
        return Err(TransferError::NoEnd { rows: importer.transferred.rows });
    }
    store.seal()?;
    Ok(importer.transferred)
}

const FIRST: &str = "the first line is {\"prony\":\"series\",\"version\":1}";

/// A type whose rows are read.
struct ImportedType {
    table: TableId,
    /// As the file names them.
    attributes: Vec<(String, AttributeId, Kind)>,
}

/// Rows that are not written yet.
#[derive(Default)]
struct Batch {
    rows: Vec<ImportedRow>,
    bytes: usize,
}

struct ImportedRow {
    line: u64,
    id: String,
    path: String,
    time_ms: i64,
    values: Vec<(AttributeId, ImportedValue)>,
}

enum ImportedValue {
    Double(f64),
    Integer(i64),
    Boolean(bool),
    Text(String),
}

struct Importer<'a> {
    store: &'a Store,
    batch: Batch,
    of: Option<ImportedType>,
    transferred: Transferred,
}

impl Importer<'_> {
    /// True at the last line.
    fn take(&mut self, line: u64, json: &Json<'_>) -> Result<bool, TransferError> {
        let wrong = |what: &str| TransferError::Line { line, what: what.to_owned() };
        if line == 1 {
            let is_known = json.member("prony").and_then(Json::text) == Some("series")
                && json.member("version") == Some(&Json::Integer(VERSION));
            return if is_known { Ok(false) } else { Err(wrong(FIRST)) };
        }
        if let Some(end) = json.member("end") {
            let rows = self.transferred.rows;
            let is_all = end.member("rows") == Some(&Json::Integer(rows.cast_signed()));
            return if is_all { Ok(true) } else { Err(wrong(&format!("there are {rows} rows before it"))) };
        }
        if json.member("type").is_some() {
            self.write()?;
            self.of = Some(self.make_type(line, json)?);
            self.transferred.types += 1;
            return Ok(false);
        }
        let Some(of) = &self.of else { return Err(wrong("a row stands before its type")) };
        let row = of.read(line, json).map_err(|what| TransferError::Line { line, what })?;
        self.batch.bytes += row.bytes();
        self.batch.rows.push(row);
        self.transferred.rows += 1;
        if self.batch.rows.len() >= BATCH_LINES || self.batch.bytes >= BATCH_BYTES {
            self.write()?;
        }
        Ok(false)
    }

    fn make_type(&self, line: u64, json: &Json<'_>) -> Result<ImportedType, TransferError> {
        let wrong = || TransferError::Line {
            line,
            what: "a type has a tenant, a type and attributes with name, type and kind".to_owned(),
        };
        let text = |json: &Json<'_>, name: &str| json.member(name).and_then(Json::text).map(str::to_owned);
        let (tenant, name) = text(json, "tenant").zip(text(json, "type")).ok_or_else(wrong)?;
        let Some(Json::List(list)) = json.member("attributes") else { return Err(wrong()) };
        let read = |of: &Json<'_>| {
            let (name, declared) = text(of, "name").zip(text(of, "type"))?;
            Some((name, declared, kind_of(of.member("kind")?.text()?)?))
        };
        let attributes: Vec<_> = list.iter().map(read).collect::<Option<_>>().ok_or_else(wrong)?;
        let made = self.store.write_ticket(|write| {
            let table = write.table(&tenant, &name)?;
            let make = |(name, declared, kind): &(String, String, Kind)| {
                let (id, kind) = write.attribute(table, name, declared, || *kind)?;
                Ok((name.clone(), id, kind))
            };
            Ok(ImportedType {
                table,
                attributes: attributes.iter().map(make).collect::<Result<_, Refusal>>()?,
            })
        });
        made.map(|(of, _)| of).map_err(|source| TransferError::Refused { line, source })
    }

    /// Writes what was gathered.
    fn write(&mut self) -> Result<(), TransferError> {
        let Batch { rows, .. } = std::mem::take(&mut self.batch);
        let (Some(of), Some(first)) = (&self.of, rows.first()) else { return Ok(()) };
        let mut line = first.line;
        let written = self.store.write_ticket(|write| {
            rows.iter().try_for_each(|row| {
                line = row.line;
                row.write(write, of.table)
            })
        });
        match written {
            Ok(_) => Ok(()),
            Err(source) => Err(TransferError::Refused { line, source }),
        }
    }
}

impl ImportedType {
    fn read(&self, line: u64, json: &Json<'_>) -> Result<ImportedRow, String> {
        let text = |name: &str| {
            let text = json.member(name).and_then(Json::text).map(str::to_owned);
            text.ok_or_else(|| format!("a row has no text `{name}`"))
        };
        let (id, path) = (text("id")?, text("path")?);
        let Some(Json::Integer(time_ms)) = json.member("time_ms") else {
            return Err("a row has no whole number `time_ms`".to_owned());
        };
        let Some(Json::Object(members)) = json.member("values") else {
            return Err("a row has no object `values`".to_owned());
        };
        let mut values: Vec<(AttributeId, ImportedValue)> = Vec::with_capacity(members.len());
        for (name, value) in *members {
            let found = self.attributes.iter().find(|(of, ..)| of == name);
            let Some((_, id, kind)) = found else {
                return Err(format!("its type has no attribute `{name}`"));
            };
            let value = converted(*kind, value)
                .ok_or_else(|| format!("the value of `{name}` is none of an attribute of this kind"))?;
            if values.iter().any(|(of, _)| of == id) {
                return Err(format!("the attribute `{name}` stands twice"));
            }
            values.push((*id, value));
        }
        Ok(ImportedRow { line, id, path, time_ms: *time_ms, values })
    }
}

fn converted(kind: Kind, value: &Json<'_>) -> Option<ImportedValue> {
    Some(match (kind, value) {
        (Kind::Double, Json::Double(value)) => ImportedValue::Double(*value),
        (Kind::Double, Json::Integer(_) | Json::LongInteger(_)) => {
            ImportedValue::Double(value.number().filter(|number| number.is_finite())?)
        }
        (Kind::Integer | Kind::Time, Json::Integer(value)) => ImportedValue::Integer(*value),
        (Kind::Boolean, Json::Boolean(value)) => ImportedValue::Boolean(*value),
        (Kind::Text, Json::Text(text)) => ImportedValue::Text(text.to_string()),
        (Kind::Structured | Kind::Geometry, Json::List(_) | Json::Object(_)) => {
            ImportedValue::Text(value.to_text())
        }
        _ => return None,
    })
}

impl ImportedRow {
    fn bytes(&self) -> usize {
        let of = |value: &ImportedValue| if let ImportedValue::Text(text) = value { text.len() } else { 16 };
        self.id.len() + self.path.len() + self.values.iter().map(|(_, value)| of(value)).sum::<usize>()
    }

    fn write(&self, write: &mut Write<'_>, table: TableId) -> Result<(), Refusal> {
        let series = write.series(table, &self.id, &self.path)?;
        let values: Vec<(AttributeId, Value<'_>)> =
            self.values.iter().map(|(id, value)| (*id, value.borrowed())).collect();
        write.row(series, self.time_ms, &values)
    }
}

impl ImportedValue {
    fn borrowed(&self) -> Value<'_> {
        match self {
            Self::Double(value) => Value::Double(*value),
            Self::Integer(value) => Value::Integer(*value),
            Self::Boolean(value) => Value::Boolean(*value),
            Self::Text(text) => Value::Text(text),
        }
    }
}
