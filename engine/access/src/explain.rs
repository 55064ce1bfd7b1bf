//! What a role may do, as a table for people.

use std::collections::BTreeMap;

use prony_graphql::selection::{SlotRoot, Value};
use prony_source::permissions::{Columns, SessionNames, TablePermissions};

use crate::{interceptors::TableInterceptors, role::Role, settings::always};

/// A line of the table: table, operation, columns, and what else there is to say.
type Line = [String; 4];

/// What a role may do with each table of each source.
pub fn explain(role: &Role, names: &SessionNames) -> String {
    if role.unrestricted {
        return format!("role {}: everything, with all rows of all sources\n", role.name);
    }
    if role.permissions.is_empty() {
        return format!("role {}: nothing\n", role.name);
    }
    let names: Vec<&str> = names.names().collect();
    let mut text = format!("role {}\n", role.name);
    for (source, permissions) in &role.permissions {
        let heading = ["TABLE", "MAY", "COLUMNS", "WITH"].map(str::to_owned);
        let mut lines = vec![heading];
        if !permissions.fields.is_empty() {
            let names: Vec<&str> = permissions.fields.names().collect();
            let policies: Vec<&str> = permissions.policies.iter().map(String::as_str).collect();
            let with =
                if policies.is_empty() { String::new() } else { format!("policies {}", policies.join(", ")) };
            lines.push([String::new(), "ask".to_owned(), names.join(", "), with]);
        }
        if permissions.everything {
            let all = ["all", "everything", "all", "what the source itself lets it see and write"];
            lines.push(all.map(str::to_owned));
        }
        for (table, permissions) in permissions.tables.iter().filter(|_| !permissions.everything) {
            lines.extend(table_lines(table, permissions, &names));
            let interceptors = role.interceptors.get(source).and_then(|tables| tables.get(table));
            lines.extend(interceptors.into_iter().flat_map(interceptor_lines));
        }
        text.push_str("\nsource ");
        text.push_str(source);
        text.push('\n');
        text.push_str(&aligned(&lines));
    }
    text
}

fn table_lines(table: &str, permissions: &TablePermissions, names: &[&str]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = |operation: &str, columns: &str, details: Vec<String>| {
        let name = if lines.is_empty() { table } else { "" };
        lines.push([name.to_owned(), operation.to_owned(), columns.to_owned(), details.join("; ")]);
    };
    if let Some(select) = &permissions.select {
        let uses = [("filter", &select.filter), ("sort", &select.sort)];
        let uses = uses
            .into_iter()
            .filter_map(|(name, columns)| Some(format!("{name} by {}", column_names(columns.as_ref()?))));
        let aggregate = select
            .aggregate
            .as_ref()
            .map_or_else(String::new, |columns| format!(" of {}", column_names(columns)));
        let aggregates = select.aggregates.then(|| format!("aggregates{aggregate}"));
        let limit = select.limit.map(|limit| format!("at most {limit} rows"));
        let details = [rows(&select.rows, names)].into_iter().chain(uses).chain(aggregates).chain(limit);
        line("select", &column_names(&select.columns), details.collect());
    }
    if let Some(insert) = &permissions.insert {
        let details = presets(&insert.set, names).chain(check(&insert.check, names));
        line("insert", &column_names(&insert.columns), details.collect());
    }
    if let Some(update) = &permissions.update {
        let details = [rows(&update.rows, names)].into_iter();
        let details = details.chain(presets(&update.set, names)).chain(check(&update.check, names));
        line("update", &column_names(&update.columns), details.collect());
    }
    if let Some(delete) = &permissions.delete {
        line("delete", "", vec![rows(&delete.rows, names)]);
    }
    if lines.is_empty() {
        lines.push([table.to_owned(), "nothing".to_owned(), String::new(), String::new()]);
    }
    lines
}

/// Which modules are called around which operations.
fn interceptor_lines(interceptors: &TableInterceptors) -> impl Iterator<Item = Line> {
    interceptors.operations.iter().map(|(operation, modules)| {
        let paths: Vec<&str> = modules.iter().map(|module| &*module.path).collect();
        let with = format!("interceptors of {operation}: {}", paths.join(", "));
        [String::new(), "calls".to_owned(), String::new(), with]
    })
}

fn column_names(columns: &Columns) -> String {
    match columns {
        Columns::All => "all".to_owned(),
        Columns::Only(names) if names.is_empty() => "none".to_owned(),
        Columns::Only(names) => names.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    }
}

fn rows(condition: &Value, names: &[&str]) -> String {
    if *condition == always() { "all rows".to_owned() } else { format!("rows {}", shown(condition, names)) }
}

fn check(condition: &Value, names: &[&str]) -> Option<String> {
    (*condition != always()).then(|| format!("check {}", shown(condition, names)))
}

fn presets(set: &BTreeMap<String, Value>, names: &[&str]) -> impl Iterator<Item = String> {
    set.iter().map(|(column, value)| format!("set {column} = {}", shown(value, names)))
}

/// A condition with the names of the session's variables.
fn shown(value: &Value, names: &[&str]) -> String {
    match value {
        Value::Slot(slot) => match slot.root {
            SlotRoot::Session(index) => format!("${}", names.get(index).copied().unwrap_or_default()),
            _ => slot.to_string(),
        },
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(|item| shown(item, names)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries: Vec<_> =
                entries.iter().map(|(name, value)| format!("{name}: {}", shown(value, names))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

/// Lines whose cells stand below each other.
fn aligned(lines: &[Line]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let [table, operation, columns] = [0, 1, 2].map(width);
    let mut text = String::new();
    for [name, may, of, with] in lines {
        let line = format!("  {name:table$}  {may:operation$}  {of:columns$}  {with}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
