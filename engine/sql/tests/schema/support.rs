//! What the tests share: databases from SQL text, models, and schemas printed as SDL.

use std::fmt::Write as _;

use prony_graphql::schema::{Schema, SourceId};
use prony_sql::{
    catalog::Catalog,
    contribution::contribution,
    model::{Cardinality, Model},
    settings::{RelationalSettings, SettingsFault},
};
use prony_sqlite::file::discover::discover;
use rusqlite::Connection;

pub(crate) fn sqlite_catalog(sql: &str) -> Catalog {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(sql).unwrap();
    discover(&connection).unwrap()
}

pub(crate) fn settings(toml: &str) -> RelationalSettings {
    toml::from_str(toml).unwrap()
}

pub(crate) fn model(catalog: &Catalog, toml: &str) -> Model {
    Model::build(catalog, &settings(toml)).unwrap_or_else(|faults| panic!("{}", lines(&faults)))
}

pub(crate) fn lines(faults: &[SettingsFault]) -> String {
    faults.iter().fold(String::new(), |text, fault| text + &fault.to_string() + "\n")
}

/// The model's schema in the schema definition language.
pub(crate) fn sdl(model: &Model) -> String {
    schema(model).sdl()
}

pub(crate) fn schema(model: &Model) -> Schema {
    Schema::merge(vec![(SourceId(0), contribution(model))]).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

/// One line a table: names, key, and fields of relations.
pub(crate) fn outline(model: &Model) -> String {
    let mut out = String::new();
    for table in &model.tables {
        write!(out, "{} {} (", table.type_name, table.list_name).unwrap();
        for (index, column) in table.columns.iter().enumerate() {
            let mark = if column.nullable { "" } else { "!" };
            let comma = if index == 0 { "" } else { " " };
            write!(out, "{comma}{}:{:?}{mark}", column.field, column.kind).unwrap();
        }
        let key: Vec<&str> = table.primary_key.iter().map(|&id| &*table.column(id).field).collect();
        writeln!(out, ") key [{}]", key.join(" ")).unwrap();
        for relation in &table.relations {
            let target = model.table(relation.target);
            let pairs: Vec<String> = relation
                .pairs
                .iter()
                .map(|&(own, other)| format!("{}={}", table.column(own).field, target.column(other).field))
                .collect();
            let arrow = if relation.cardinality == Cardinality::One { "->" } else { "=>" };
            writeln!(out, "  {} {arrow} {} on {}", relation.field, target.type_name, pairs.join(" "))
                .unwrap();
        }
    }
    for found in &model.enums {
        writeln!(out, "enum {} {}", found.name, found.labels.join(" ")).unwrap();
    }
    for note in &model.notes {
        writeln!(out, "note: {note}").unwrap();
    }
    out
}
