//! Generated mutations, and what becomes of them and of the data by the oracle.

use prony_testkit::{Seeded, condition::graphql_literal as literal};
use rand::RngExt as _;
use serde_json::{Value as Json, json};

use super::{
    condition::{Role, holds},
    tables::{Collision, Data, Row},
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
        let sees = |row: &Row| holds(&role.select[table], after, table, row);
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
                if let Some(refused) = collision(data, role, *table, row, None) {
                    return refused;
                }
                let rows = &data.tables[*table].rows;
                let mut after = data.clone();
                let place = rows.partition_point(|known| known[0].as_i64() < row[0].as_i64());
                after.tables[*table].rows.insert(place, row.clone());
                if !holds(&role.insert[*table], &after, *table, row) {
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
                if !holds(rows, data, *table, &data.tables[*table].rows[place]) {
                    return Outcome::Changed(false);
                }
                let mut after = data.clone();
                for (column, _, value) in changes {
                    after.tables[*table].rows[place][*column] = value.clone();
                }
                let row = &after.tables[*table].rows[place];
                if let Some(refused) = collision(data, role, *table, row, Some(*id)) {
                    return refused;
                }
                if !holds(check, &after, *table, &after.tables[*table].rows[place]) {
                    return Outcome::Refused;
                }
                *data = after;
                Outcome::Changed(true)
            }
            Self::Delete(table, id) => {
                let Some(place) = data.tables[*table].find(&json!(id)) else {
                    return Outcome::Changed(false);
                };
                if !holds(&role.delete[*table], data, *table, &data.tables[*table].rows[place]) {
                    return Outcome::Changed(false);
                }
                data.tables[*table].rows.remove(place);
                Outcome::Changed(true)
            }
        }
    }
}

/// What a row in the way of one that is written comes to: a hidden one, or one that is alike in what is hidden, is not told from a row
/// that may not be written. `own` is the key of the row that is changed.
fn collision(data: &Data, role: &Role, table: usize, row: &Row, own: Option<i64>) -> Option<Outcome> {
    let others = data.tables[table].collisions(row).filter(|(known, _)| known[0].as_i64() != own);
    let is_seen = |(known, by): (&Row, Collision)| {
        let is_read = by == Collision::Key || role.reads_unique(table);
        is_read && holds(&role.select[table], data, table, known)
    };
    let seen: Vec<bool> = others.map(is_seen).collect();
    if seen.is_empty() {
        return None;
    }
    Some(if seen.contains(&true) { Outcome::Constraint } else { Outcome::Refused })
}
