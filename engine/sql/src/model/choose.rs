//! Which tables of the catalog are served, and which settings belong to which.

use std::collections::HashMap;

use crate::model::{
    faults::{Faults, suggestion},
    naming::described,
    served::ServedTable,
};
use crate::{
    catalog::{Catalog, CatalogTable},
    settings::{RelationalSettings, TableSettings},
};

/// The served tables in the catalog's order.
pub(super) fn tables<'a>(
    catalog: &'a Catalog,
    settings: &'a RelationalSettings,
    faults: &mut Faults,
    notes: &mut Vec<String>,
) -> Vec<ServedTable<'a>> {
    check_patterns(catalog, "include_tables", &settings.include_tables, faults);
    check_patterns(catalog, "exclude_tables", &settings.exclude_tables, faults);
    let mut overrides = overrides(catalog, settings, faults);
    let mut served = Vec::with_capacity(catalog.tables.len());
    for (catalog_index, source) in catalog.tables.iter().enumerate() {
        if is_served(source, settings, notes) {
            let overrides = overrides.remove(&catalog_index);
            served.push(ServedTable { source, catalog_index, overrides, column_ids: Vec::new() });
        }
    }
    served
}

fn is_served(table: &CatalogTable, settings: &RelationalSettings, notes: &mut Vec<String>) -> bool {
    let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, table));
    let including = &settings.include_tables;
    if any(&settings.exclude_tables) || !(including.is_empty() || any(including)) {
        return false;
    }
    let mut naming_migrations = including.iter().filter(|pattern| contains_migration(pattern));
    if contains_migration(&table.name) && !naming_migrations.any(|pattern| matches(pattern, table)) {
        notes.push(format!(
            "{} is left out because its name contains `migration`; name it in `include_tables` to serve it",
            described(table)
        ));
        return false;
    }
    true
}

fn contains_migration(name: &str) -> bool {
    name.to_ascii_lowercase().contains("migration")
}

/// A pattern that matches nothing is a mistake.
fn check_patterns(catalog: &Catalog, key: &str, patterns: &[String], faults: &mut Faults) {
    for (index, pattern) in patterns.iter().enumerate() {
        if !catalog.tables.iter().any(|table| matches(pattern, table)) {
            let hint = suggestion(pattern, names(catalog));
            faults.add(&[key, &index.to_string()], format!("no table or view matches `{pattern}`{hint}"));
        }
    }
}

/// Settings of tables by the catalog's index.
fn overrides<'a>(
    catalog: &Catalog,
    settings: &'a RelationalSettings,
    faults: &mut Faults,
) -> HashMap<usize, (&'a str, &'a TableSettings)> {
    let mut found: HashMap<usize, (&str, &TableSettings)> = HashMap::new();
    for (key, table_settings) in &settings.tables {
        let Some(index) = find(catalog, key, &["tables", key], faults) else { continue };
        if let Some((other, _)) = found.insert(index, (key, table_settings)) {
            faults.add(&["tables", key], format!("`{other}` already holds settings for the same table"));
        }
    }
    found
}

/// The one table that `name` (`name` or `schema.name`) stands for; a fault where there is none or more.
pub(super) fn find(catalog: &Catalog, name: &str, path: &[&str], faults: &mut Faults) -> Option<usize> {
    let stands_for = |table: &CatalogTable| *table.name == *name || qualified(table) == name;
    let mut matching = catalog.tables.iter().enumerate().filter(|(_, table)| stands_for(table));
    match (matching.next(), matching.next()) {
        (Some((index, _)), None) => Some(index),
        (None, _) => {
            let hint = suggestion(name, names(catalog));
            faults.add(path, format!("there is no table or view `{name}`{hint}"));
            None
        }
        (Some((_, first)), Some((_, second))) => {
            let message = format!(
                "`{name}` stands for more than one table; write `{}` or `{}`",
                qualified(first),
                qualified(second)
            );
            faults.add(path, message);
            None
        }
    }
}

fn names(catalog: &Catalog) -> impl Iterator<Item = &str> {
    catalog.tables.iter().map(|table| &*table.name)
}

fn qualified(table: &CatalogTable) -> String {
    match &table.schema {
        Some(schema) => format!("{schema}.{}", table.name),
        None => table.name.to_string(),
    }
}

fn matches(pattern: &str, table: &CatalogTable) -> bool {
    matches_text(pattern, &table.name) || (table.schema.is_some() && matches_text(pattern, &qualified(table)))
}

/// `*` stands for any text, also none.
fn matches_text(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::matches_text;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, expected) in [
            ("members", "members", true),
            ("members", "member", false),
            ("*", "", true),
            ("*", "anything", true),
            ("app_*", "app_users", true),
            ("app_*", "users", false),
            ("*_log", "user_log", true),
            ("*_log", "user_logs", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "aXXbYYc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("**", "x", true),
            ("a*b*b", "ab", false),
        ] {
            assert_eq!(matches_text(pattern, text), expected, "{pattern} {text}");
        }
    }
}
