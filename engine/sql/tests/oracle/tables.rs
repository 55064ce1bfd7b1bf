//! Generated tables and their rows: keys, numbers that may be null, texts, references to any table, and a number that no two rows
//! have.

use std::fmt::Write as _;

use prony_testkit::Seeded;
use rand::RngExt as _;
use serde_json::{Value as Json, json};

/// Columns of all tables: `id`, `n`, `m`, `s`, then a reference each, `r0_id`, `r1_id`, …, and `u`, which is unique.
pub(super) const NUMBERS: [&str; 2] = ["n", "m"];
pub(super) const TEXTS: [&str; 4] = ["", "a", "\u{e4}\"", "b"];

/// A row: what each column holds.
pub(super) type Row = Vec<Json>;

/// By what two rows are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Collision {
    Key,
    Unique,
}

#[derive(Debug, Clone)]
pub(super) struct Table {
    /// The tables that its references lead to.
    pub(super) references: Vec<usize>,
    /// In the order of their keys.
    pub(super) rows: Vec<Row>,
}

#[derive(Debug, Clone)]
pub(super) struct Data {
    pub(super) tables: Vec<Table>,
}

impl Table {
    pub(super) fn columns(&self) -> Vec<String> {
        let references = (0..self.references.len()).map(|reference| format!("r{reference}_id"));
        let unique = ["u".to_owned()];
        ["id", "n", "m", "s"].map(str::to_owned).into_iter().chain(references).chain(unique).collect()
    }

    /// Rows that keep a row from being written: by their key, and by their unique number.
    pub(super) fn collisions<'t>(&'t self, row: &'t Row) -> impl Iterator<Item = (&'t Row, Collision)> {
        let alike = |known: &Row| {
            let unique = row.last().filter(|value| !value.is_null());
            let by_key = (known[0] == row[0]).then_some(Collision::Key);
            by_key
                .into_iter()
                .chain((unique.is_some() && known.last() == unique).then_some(Collision::Unique))
        };
        self.rows.iter().flat_map(move |known| alike(known).map(move |by| (known, by)).collect::<Vec<_>>())
    }

    pub(super) fn find(&self, id: &Json) -> Option<usize> {
        self.rows.iter().position(|row| row[0] == *id)
    }
}

impl Data {
    pub(super) fn generate(chance: &mut Seeded) -> Self {
        let count = chance.random_range(2..5);
        let tables = (0..count).map(|_| {
            let references = (0..chance.random_range(0..3)).map(|_| chance.random_range(0..count)).collect();
            Table { references, rows: Vec::new() }
        });
        let mut data = Self { tables: tables.collect() };
        for index in 0..count {
            for id in 0..chance.random_range(0..8_i64) {
                let mut row = data.row(chance, index, id);
                if data.tables[index].collisions(&row).next().is_some() {
                    *row.last_mut().unwrap() = Json::Null;
                }
                data.tables[index].rows.push(row);
            }
        }
        data
    }

    /// Small numbers, so that references often lead to a row.
    pub(super) fn row(&self, chance: &mut Seeded, table: usize, id: i64) -> Row {
        let number = |chance: &mut Seeded| {
            if chance.random_range(0..4) == 0 { Json::Null } else { json!(chance.random_range(0..5)) }
        };
        let mut row = vec![json!(id), number(chance), number(chance)];
        row.push(match chance.random_range(0..5) {
            0 => Json::Null,
            text => json!(TEXTS[text - 1]),
        });
        row.extend(self.tables[table].references.iter().map(|_| number(chance)));
        row.push(match chance.random_range(0..16) {
            0..6 => Json::Null,
            unique => json!(unique),
        });
        row
    }

    /// The statements that make it. References may lead nowhere, as in the data of a role.
    pub(super) fn sql(&self) -> String {
        let mut sql = String::new();
        for (index, table) in self.tables.iter().enumerate() {
            let references =
                (0..table.references.len()).map(|reference| format!(", r{reference}_id integer"));
            let references: String = references.collect();
            let _ = writeln!(
                sql,
                "create table t{index} (id integer primary key, n integer, m integer, s text{references}, u integer unique);"
            );
        }
        for (index, table) in self.tables.iter().enumerate() {
            for row in &table.rows {
                let values: Vec<String> = row.iter().map(literal).collect();
                let _ = writeln!(sql, "insert into t{index} values ({});", values.join(", "));
            }
        }
        sql
    }

    /// What a request for everything is responded with.
    pub(super) fn response(&self) -> String {
        let tables = self.tables.iter().enumerate().map(|(index, table)| {
            let columns = table.columns();
            let rows = table.rows.iter().map(|row| {
                let members = columns.iter().zip(row);
                let members = members.map(|(name, value)| format!("\"{name}\":{value}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            });
            format!("\"t{index}\":[{}]", rows.collect::<Vec<_>>().join(","))
        });
        format!("{{\"data\":{{{}}}}}", tables.collect::<Vec<_>>().join(","))
    }
}

pub(super) fn literal(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::String(text) => format!("'{}'", text.replace('\'', "''")),
        other => other.to_string(),
    }
}
