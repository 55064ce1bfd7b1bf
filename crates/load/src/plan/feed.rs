//! The `[variables]` of a plan: ranges, lists and CSV files.

use super::reader::{Notes, Section, Value, array, integer, json, kind, nearest};
use prony_load_model::Variable;
use prony_load_model::variable::{Cell, Order, Values};
use std::path::Path;

/// Rows of a CSV file are kept in memory; larger ones are a slip, or a case for a feeder that streams.
const ROWS_MAX: usize = 1_000_000;
const KEYS: [&str; 5] = ["range", "list", "csv", "order", "types"];

/// One variable. Where it is broken, a stand-in that lets the rest of the plan be checked, and `false`.
pub(super) fn variable(
    name: &str,
    value: Value<'_>,
    directory: &Path,
    notes: &mut Notes,
) -> (Variable, bool) {
    let read = values(value, directory, notes);
    let is_whole = read.is_some();
    let values = read.unwrap_or(Values::Range { min: 0, max: 0 });
    (Variable { name: name.to_owned(), values }, is_whole)
}

fn values(value: Value<'_>, directory: &Path, notes: &mut Notes) -> Option<Values> {
    if !value.get_ref().is_table() {
        let message =
            "expected `{ range = [0, 100] }`, `{ list = [\"a\", \"b\"] }` or `{ csv = \"users.csv\" }`";
        notes.add(value.span(), format!("{message}, not {}", kind(value)));
        return None;
    }
    let before = notes.found.len();
    let section = Section::of(value, &KEYS, notes)?;
    let order = order(&section, notes);
    let given: Vec<_> = KEYS[..3].iter().filter_map(|key| Some((*key, section.get(key)?))).collect();
    match given.as_slice() {
        [("range", range)] => range_of(range, notes),
        [("list", list)] => list_of(list, order, notes),
        [("csv", file)] => csv_rows(file, &section, order, directory, notes),
        [] => {
            if notes.found.len() == before {
                notes.add(value.span(), "needs one of `range`, `list`, `csv`");
            }
            None
        }
        _ => {
            notes.add(value.span(), "needs only one of `range`, `list`, `csv`");
            None
        }
    }
}

fn order(section: &Section<'_>, notes: &mut Notes) -> Order {
    match section.text("order", notes).as_deref() {
        None | Some("random") => Order::Random,
        Some("sequential") => Order::Sequential,
        Some(other) => {
            let message = format!("unknown order `{other}`; {}", nearest(other, &["random", "sequential"]));
            notes.add(section.span_of("order"), message);
            Order::Random
        }
    }
}

fn range_of(value: Value<'_>, notes: &mut Notes) -> Option<Values> {
    let bounds = array(value, "two whole numbers such as `[0, 100]`", notes);
    let &[min, max] = bounds.as_slice() else {
        if value.get_ref().is_array() {
            notes.add(value.span(), "a range has two numbers, the first and the last, such as `[0, 100]`");
        }
        return None;
    };
    let (min, max) = (integer(min, notes), integer(max, notes));
    Some(Values::Range { min: min?, max: max? })
}

fn list_of(value: Value<'_>, order: Order, notes: &mut Notes) -> Option<Values> {
    if !value.get_ref().is_array() {
        array(value, "a list of values", notes);
        return None;
    }
    let mut rows = Vec::new();
    for item in array(value, "a list of values", notes) {
        match Cell::new(&json(item.get_ref())) {
            Some(cell) => rows.push(vec![cell]),
            None => notes.add(
                item.span(),
                format!("a value is a text, a number or true or false, not {}", kind(item)),
            ),
        }
    }
    Some(Values::Rows { columns: Vec::new(), rows, order })
}

fn csv_rows(
    file: Value<'_>,
    section: &Section<'_>,
    order: Order,
    directory: &Path,
    notes: &mut Notes,
) -> Option<Values> {
    let name = super::reader::text(file, notes)?;
    let as_text = match section.text("types", notes).as_deref() {
        None | Some("auto") => false,
        Some("text") => true,
        Some(other) => {
            let message = format!("unknown types `{other}`; {}", nearest(other, &["auto", "text"]));
            notes.add(section.span_of("types"), message);
            false
        }
    };
    read_csv(&directory.join(&name), as_text)
        .map(|(columns, rows)| Values::Rows { columns, rows, order })
        .map_err(|reason| notes.add(file.span(), format!("cannot use the CSV file `{name}`: {reason}")))
        .ok()
}

type Table = (Vec<String>, Vec<Vec<Cell>>);

fn read_csv(path: &Path, as_text: bool) -> Result<Table, String> {
    let file = std::fs::File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut reader = csv::ReaderBuilder::new().from_reader(file);
    let headers = reader.headers().map_err(|error| error.to_string())?;
    let columns: Vec<_> = headers.iter().map(|name| name.trim().to_owned()).collect();
    if columns.iter().any(String::is_empty) || columns.is_empty() {
        return Err("its first line must name every column".to_owned());
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        if rows.len() == ROWS_MAX {
            return Err(format!("it has more than the limit of {ROWS_MAX} rows"));
        }
        let record = record.map_err(|error| error.to_string())?;
        rows.push(record.iter().map(|field| cell(field, as_text)).collect());
    }
    if rows.is_empty() {
        return Err("it has a header but no rows; add at least one".to_owned());
    }
    Ok((columns, rows))
}

/// What JSON would write the same way is taken as that: `7` is a number, `08` a text.
fn cell(field: &str, as_text: bool) -> Cell {
    let typed = serde_json::from_str::<serde_json::Value>(field).ok();
    let typed = typed.filter(|value| !as_text && (value.is_number() || value.is_boolean()));
    let typed = typed.filter(|value| {
        let written = value.to_string();
        written == field
    });
    typed.and_then(|value| Cell::new(&value)).unwrap_or_else(|| Cell::text(field))
}
