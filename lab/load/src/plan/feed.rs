//! The `[variables]` of a plan: ranges, lists, and the files that feed rows.

use super::reader::{Notes, Section, Value, json, listed, whole};
use super::table_file::{Types, read_csv, read_json_lines};
use prony_model::Variable;
use prony_model::data::rows::{Cell, Rows, cell_of};
use prony_model::data::variable::{Feeder, Order, Share, Take, Values};
use std::path::Path;

/// Where values come from; a variable has one of these.
const SOURCES: [&str; 5] = ["range", "list", "csv", "jsonl", "token"];
/// What only rows have.
const OF_ROWS: [&str; 4] = ["order", "share", "take", "types"];

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
    let read = Section::of(value).and_then(|section| values(&section, directory, notes));
    let is_whole = read.is_some();
    let values = read.unwrap_or(Values::Range { min: 0, max: 0 });
    (Variable { name: name.to_owned(), values }, is_whole)
}

fn values(section: &Section<'_>, directory: &Path, notes: &mut Notes) -> Option<Values> {
    let given = section.given(&SOURCES);
    let (rows, origin) = match given.as_slice() {
        ["range"] => return range_of(section, notes),
        ["token"] => return token_of(section, notes),
        ["list"] => (list_of(section, notes)?, "list".to_owned()),
        ["csv"] => {
            let types = section.word("types", &TYPES);
            file_rows(section, "csv", "CSV", directory, notes, |path| read_csv(path, types))?
        }
        ["jsonl"] => file_rows(section, "jsonl", "JSON lines", directory, notes, read_json_lines)?,
        [] => {
            if !notes.has_within(&section.span) {
                notes.add(section.span.clone(), format!("needs one of {}", listed(&SOURCES)));
            }
            return None;
        }
        several => {
            notes.add(section.span.clone(), format!("{} exclude each other; leave one", listed(several)));
            return None;
        }
    };
    if section.has("types") && !section.has("csv") {
        notes.add(section.span_of("types"), "`types` is for CSV files; leave it out");
    }
    let mut feeder = Feeder::new(rows, section.word("order", &ORDERS), &origin);
    feeder.share = section.word("share", &SHARES);
    feeder.take = section.word("take", &TAKES);
    Some(Values::Rows(feeder))
}

fn range_of(section: &Section<'_>, notes: &mut Notes) -> Option<Values> {
    for key in section.given(&OF_ROWS) {
        notes.add(section.span_of(key), format!("`{key}` is for rows; a range has none, leave it out"));
    }
    let bounds: Vec<_> = section.items("range");
    let numbers: Vec<i64> =
        bounds.iter().filter_map(|bound| bound.get_ref().as_integer().and_then(whole)).collect();
    match (bounds.len(), numbers.as_slice()) {
        (2, &[min, max]) => Some(Values::Range { min, max }),
        (2, _) => None,
        _ => {
            let message = "a range has two numbers, the first and the last, such as `[0, 100]`";
            notes.add(section.span_of("range"), message);
            None
        }
    }
}

fn token_of(section: &Section<'_>, notes: &mut Notes) -> Option<Values> {
    for key in section.given(&OF_ROWS) {
        notes.add(section.span_of(key), format!("`{key}` is for rows; a token has none, leave it out"));
    }
    Some(Values::Token { prefix: section.text("token")?.to_owned() })
}

fn list_of(section: &Section<'_>, notes: &mut Notes) -> Option<Rows> {
    let items = section.get("list")?.get_ref().as_array()?;
    let mut rows = Rows::new(Vec::new());
    for item in items {
        let (kind, text) = cell_of(&json(item.get_ref()));
        if let Err(full) = rows.push(Cell { kind, text: text.as_bytes() }) {
            notes.add(item.span(), format!("the list is too large: {full}"));
            return None;
        }
    }
    Some(rows)
}

fn file_rows(
    section: &Section<'_>,
    key: &str,
    kind: &str,
    directory: &Path,
    notes: &mut Notes,
    read: impl FnOnce(&Path) -> Result<Rows, String>,
) -> Option<(Rows, String)> {
    let name = section.text(key)?;
    match read(&directory.join(name)) {
        Ok(rows) => Some((rows, name.to_owned())),
        Err(reason) => {
            notes.add(section.span_of(key), format!("cannot use the {kind} file `{name}`: {reason}"));
            None
        }
    }
}
