//! Generated mutations, and what becomes of them and of the data by the oracle.

use prony_testkit::Seeded;
use rand::RngExt as _;
use serde_json::{Value as Json, json};

use super::{
    condition::Role,
    request::literal,
    tables::{Data, Row},
};

pub(super) enum Mutation {
    Create(usize, Vec<String>, Row),
    /// By the key, the columns that get another value.
    Update(usize, i64, Vec<(usize, String, Json)>),
    Delete(usize, i64),
}

/// How a mutation ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Created,
    Changed(bool),
    /// By the check of the role.
    Refused,
    /// By a constraint of the database.
    Constraint,
}

/// What a response says.
pub(super) fn outcome(response: &str) -> Outcome {
    match response {
        _ if response.contains("FORBIDDEN") => Outcome::Refused,
        _ if response.contains("CONSTRAINT_VIOLATION") => Outcome::Constraint,
        _ if response.contains("\"result\":true") => Outcome::Changed(true),
        _ if response.contains("\"result\":false") => Outcome::Changed(false),
        _ if response.contains("{\"m\":{\"id\":") => Outcome::Created,
        _ => panic!("{response}"),
    }
}

impl Mutation {
    pub(super) fn generate(chance: &mut Seeded, data: &Data) -> Self {
        let table = chance.random_range(0..data.tables.len());
        let id = chance.random_range(0..9);
        match chance.random_range(0..4) {
            0 | 1 => Self::Create(table, data.tables[table].columns(), data.row(chance, table, id)),
            2 => {
                let new = data.row(chance, table, id);
                let columns = data.tables[table].columns().into_iter().zip(new).enumerate().skip(1);
                let first = chance.random_range(1..4);
                let chosen = columns.filter(|(index, _)| *index == first || chance.random());
                Self::Update(table, id, chosen.map(|(index, (name, value))| (index, name, value)).collect())
            }
            _ => Self::Delete(table, id),
        }
    }

    /// What subscribers with a role hear of it, as it has changed the data: they must see the row as it is now and, of an update, as it
    /// was, each beside all else as it is now.
    pub(super) fn event(&self, before: &Data, after: &Data, role: &Role) -> Option<String> {
        let (operation, table, id) = match self {
            Self::Create(table, _, row) => ("INSERT", *table, row[0].clone()),
            Self::Update(table, id, _) => ("UPDATE", *table, json!(id)),
            Self::Delete(table, id) => ("DELETE", *table, json!(id)),
        };
        let row = |data: &Data| Some(data.tables[table].rows[data.tables[table].find(&id)?].clone());
        let rows = [row(before), row(after)];
        let sees = |row: &Row| role.select[table].holds(after, table, row);
        rows.iter()
            .flatten()
            .all(sees)
            .then(|| format!(r#"{{"operation":"{operation}","key":{{"id":{id}}}}}"#))
    }

    pub(super) fn table(&self) -> usize {
        match self {
            Self::Create(table, ..) | Self::Update(table, ..) | Self::Delete(table, _) => *table,
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Create(table, columns, row) => {
                let values = columns.iter().zip(row);
                let values = values.map(|(name, value)| format!("{name}: {}", literal(value)));
                format!(
                    "mutation {{ m: createT{table}({}) {{ id }} }}",
                    values.collect::<Vec<_>>().join(", ")
                )
            }
            Self::Update(table, id, changes) => {
                let changes = changes.iter().map(|(_, name, value)| format!(", {name}: {}", literal(value)));
                format!(
                    "mutation {{ m: updateT{table}(pk_columns: {{id: {id}}}{}) {{ result }} }}",
                    changes.collect::<String>()
                )
            }
            Self::Delete(table, id) => {
                format!("mutation {{ m: deleteT{table}(pk_columns: {{id: {id}}}) {{ result }} }}")
            }
        }
    }

    /// Changes the data as the database must.
    pub(super) fn apply(&self, data: &mut Data, role: &Role) -> Outcome {
        match self {
            Self::Create(table, _, row) => {
                let rows = &data.tables[*table].rows;
                if rows.iter().any(|known| known[0] == row[0]) {
                    return Outcome::Constraint;
                }
                let mut after = data.clone();
                let place = rows.partition_point(|known| known[0].as_i64() < row[0].as_i64());
                after.tables[*table].rows.insert(place, row.clone());
                if !role.insert[*table].holds(&after, *table, row) {
                    return Outcome::Refused;
                }
                *data = after;
                Outcome::Created
            }
            Self::Update(table, id, changes) => {
                let (rows, check) = &role.update[*table];
                let Some(place) = data.tables[*table].find(&json!(id)) else {
                    return Outcome::Changed(false);
                };
                if !rows.holds(data, *table, &data.tables[*table].rows[place]) {
                    return Outcome::Changed(false);
                }
                let mut after = data.clone();
                for (column, _, value) in changes {
                    after.tables[*table].rows[place][*column] = value.clone();
                }
                if !check.holds(&after, *table, &after.tables[*table].rows[place]) {
                    return Outcome::Refused;
                }
                *data = after;
                Outcome::Changed(true)
            }
            Self::Delete(table, id) => {
                let Some(place) = data.tables[*table].find(&json!(id)) else {
                    return Outcome::Changed(false);
                };
                if !role.delete[*table].holds(data, *table, &data.tables[*table].rows[place]) {
                    return Outcome::Changed(false);
                }
                data.tables[*table].rows.remove(place);
                Outcome::Changed(true)
            }
        }
    }
}
