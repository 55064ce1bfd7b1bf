//! The `[variables]` of a plan: ranges, lists, and the files that feed rows.

use super::reader::{Notes, Section, Value, array, choice, integer, json, kind};
use super::table_file::{Types, read_csv, read_json_lines};
use prony_load_model::Variable;
use prony_load_model::rows::{Cell, Rows, cell_of};
use prony_load_model::variable::{Feeder, Order, Share, Take, Values};
use std::path::Path;

const KEYS: [&str; 8] = ["range", "list", "csv", "jsonl", "order", "share", "take", "types"];
/// Where values come from; a variable has one of these.
const SOURCES: usize = 4;

const ORDERS: [(&str, Order); 3] =
    [("random", Order::Random), ("sequential", Order::Sequential), ("unique", Order::Unique)];
const SHARES: [(&str, Share); 2] = [("all_users", Share::AllUsers), ("each_user", Share::EachUser)];
const TAKES: [(&str, Take); 2] = [("each_iteration", Take::EachIteration), ("once", Take::Once)];
const TYPES: [(&str, Types); 2] = [("auto", Types::Auto), ("text", Types::Text)];

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
    let given: Vec<_> = KEYS[..SOURCES].iter().filter_map(|key| Some((*key, section.get(key)?))).collect();
    let (rows, origin) = match given.as_slice() {
        [("range", range)] => return range_of(range, &section, notes),
        [("list", list)] => (list_of(list, notes)?, "list".to_owned()),
        [("csv", file)] => {
            let types = choice(&section, "types", &TYPES, notes);
            file_rows(file, directory, "CSV", notes, |path| read_csv(path, types))?
        }
        [("jsonl", file)] => file_rows(file, directory, "JSON lines", notes, read_json_lines)?,
        [] => {
            if notes.found.len() == before {
                notes.add(value.span(), "needs one of `range`, `list`, `csv`, `jsonl`");
            }
            return None;
        }
        _ => {
            notes.add(value.span(), "needs only one of `range`, `list`, `csv`, `jsonl`");
            return None;
        }
    };
    let mut feeder = Feeder::new(rows, choice(&section, "order", &ORDERS, notes), &origin);
    feeder.share = choice(&section, "share", &SHARES, notes);
    feeder.take = choice(&section, "take", &TAKES, notes);
    Some(Values::Rows(feeder))
}

fn range_of(value: Value<'_>, section: &Section<'_>, notes: &mut Notes) -> Option<Values> {
    for key in &KEYS[SOURCES..] {
        if section.get(key).is_some() {
            notes.add(section.span_of(key), format!("`{key}` is for rows; a range has none, leave it out"));
        }
    }
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

fn list_of(value: Value<'_>, notes: &mut Notes) -> Option<Rows> {
    if !value.get_ref().is_array() {
        array(value, "a list of values", notes);
        return None;
    }
    let mut rows = Rows::new(Vec::new());
    for item in array(value, "a list of values", notes) {
        let (kind, text) = cell_of(&json(item.get_ref()));
        if let Err(full) = rows.push(Cell { kind, text: text.as_bytes() }) {
            notes.add(item.span(), format!("the list is too large: {full}"));
            return None;
        }
    }
    Some(rows)
}

fn file_rows(
    file: Value<'_>,
    directory: &Path,
    kind: &str,
    notes: &mut Notes,
    read: impl FnOnce(&Path) -> Result<Rows, String>,
) -> Option<(Rows, String)> {
    let name = super::reader::text(file, notes)?;
    match read(&directory.join(&name)) {
        Ok(rows) => Some((rows, name)),
        Err(reason) => {
            notes.add(file.span(), format!("cannot use the {kind} file `{name}`: {reason}"));
            None
        }
    }
}
