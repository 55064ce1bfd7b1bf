//! Roles: for each table a condition for rows, some by a variable of the session, some through relations; and what it comes to of
//! a row.

use prony_source::permissions::{
    DeletePermission, InsertPermission, Permissions, SelectPermission, SessionNames, TablePermissions,
    UpdatePermission,
};
use prony_testkit::Seeded;
use rand::RngExt as _;
use serde_json::{Value as Json, json};

use super::tables::{Data, NUMBERS, Row, TEXTS, Table};

/// The value of the session's one variable.
pub(super) const USER: i64 = 2;

#[derive(Debug, Clone)]
pub(super) enum Condition {
    Always,
    /// A number's column, the operator, and the number.
    Number(usize, &'static str, i64),
    /// A number's column is the session's variable.
    Own(usize),
    Null(usize, bool),
    Text(&'static str),
    /// Some row that a reference leads to, or that leads here by a reference of another table.
    Up(usize, Box<Condition>),
    Down(usize, usize, Box<Condition>),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
}

/// What one role may do with each table.
#[derive(Debug, Clone)]
pub(super) struct Role {
    pub(super) select: Vec<Condition>,
    pub(super) insert: Vec<Condition>,
    /// Rows that can be updated, and what they must pass then.
    pub(super) update: Vec<(Condition, Condition)>,
    pub(super) delete: Vec<Condition>,
}

impl Condition {
    pub(super) fn generate(chance: &mut Seeded, data: &Data, table: usize, depth: usize) -> Self {
        let below = |chance: &mut Seeded| Self::generate(chance, data, table, depth - 1);
        match chance.random_range(0..if depth == 0 { 6 } else { 12 }) {
            0 => Self::Always,
            1 | 2 => {
                let operator = ["eq", "gt", "lte", "ne"][chance.random_range(0..4)];
                Self::Number(chance.random_range(0..2), operator, chance.random_range(0..5))
            }
            3 => Self::Own(chance.random_range(0..2)),
            4 => Self::Null(chance.random_range(0..2), chance.random()),
            5 => Self::Text(TEXTS[chance.random_range(0..TEXTS.len())]),
            6 => Self::And(vec![below(chance), below(chance)]),
            7 => Self::Or(vec![below(chance), below(chance)]),
            8 => Self::Not(Box::new(below(chance))),
            9 | 10 if !data.tables[table].references.is_empty() => {
                let reference = chance.random_range(0..data.tables[table].references.len());
                let target = data.tables[table].references[reference];
                Self::Up(reference, Box::new(Self::generate(chance, data, target, depth - 1)))
            }
            _ => match data.leads_to(table).as_slice() {
                [] => below(chance),
                found => {
                    let (other, reference) = found[chance.random_range(0..found.len())];
                    Self::Down(other, reference, Box::new(Self::generate(chance, data, other, depth - 1)))
                }
            },
        }
    }

    /// In the words of `where`; `user` stands for the session's variable.
    pub(super) fn written(&self, user: &Json) -> Json {
        match self {
            Self::Always => json!({}),
            Self::Number(column, operator, number) => json!({NUMBERS[*column]: {*operator: number}}),
            Self::Own(column) => json!({NUMBERS[*column]: {"eq": user}}),
            Self::Null(column, is_null) => json!({NUMBERS[*column]: {"is_null": is_null}}),
            Self::Text(text) => json!({"s": {"eq": text}}),
            Self::Up(reference, below) => json!({format!("r{reference}"): below.written(user)}),
            Self::Down(table, reference, below) => {
                json!({format!("of_t{table}_r{reference}"): below.written(user)})
            }
            Self::And(all) => json!({"and": all.iter().map(|one| one.written(user)).collect::<Vec<_>>()}),
            Self::Or(all) => json!({"or": all.iter().map(|one| one.written(user)).collect::<Vec<_>>()}),
            Self::Not(one) => json!({"not": one.written(user)}),
        }
    }

    /// With three values, as SQL has it: none where it is not known.
    fn value(&self, data: &Data, table: usize, row: &Row) -> Option<bool> {
        match self {
            Self::Always => Some(true),
            Self::Number(column, operator, number) => {
                let found = row[1 + column].as_i64()?;
                Some(match *operator {
                    "eq" => found == *number,
                    "gt" => found > *number,
                    "lte" => found <= *number,
                    _ => found != *number,
                })
            }
            Self::Own(column) => Some(row[1 + column].as_i64()? == USER),
            Self::Null(column, is_null) => Some(row[1 + column].is_null() == *is_null),
            Self::Text(text) => Some(row[3].as_str()? == *text),
            Self::Up(reference, below) => {
                let target = data.tables[table].references[*reference];
                let rows = &data.tables[target].rows;
                let key = &row[4 + reference];
                Some(rows.iter().any(|other| other[0] == *key && below.holds(data, target, other)))
            }
            Self::Down(other, reference, below) => {
                let rows = &data.tables[*other].rows;
                Some(
                    rows.iter()
                        .any(|found| found[4 + reference] == row[0] && below.holds(data, *other, found)),
                )
            }
            Self::And(all) => {
                let values: Vec<_> = all.iter().map(|one| one.value(data, table, row)).collect();
                if values.contains(&Some(false)) {
                    Some(false)
                } else {
                    (!values.contains(&None)).then_some(true)
                }
            }
            Self::Or(all) => {
                let values: Vec<_> = all.iter().map(|one| one.value(data, table, row)).collect();
                if values.contains(&Some(true)) {
                    Some(true)
                } else {
                    (!values.contains(&None)).then_some(false)
                }
            }
            Self::Not(one) => one.value(data, table, row).map(|value| !value),
        }
    }

    pub(super) fn holds(&self, data: &Data, table: usize, row: &Row) -> bool {
        self.value(data, table, row) == Some(true)
    }
}

impl Data {
    /// Tables and references that lead to a table.
    pub(super) fn leads_to(&self, table: usize) -> Vec<(usize, usize)> {
        let references = |(index, other): (usize, &Table)| {
            let leading = other.references.iter().enumerate().filter(|(_, target)| **target == table);
            leading.map(|(reference, _)| (index, reference)).collect::<Vec<_>>()
        };
        self.tables.iter().enumerate().flat_map(references).collect()
    }
}

impl Role {
    /// Writes whatever it is asked.
    pub(super) fn of_everything(data: &Data) -> Self {
        let all = || vec![Condition::Always; data.tables.len()];
        Self { select: all(), insert: all(), update: all().into_iter().zip(all()).collect(), delete: all() }
    }

    pub(super) fn generate(chance: &mut Seeded, data: &Data) -> Self {
        let all = |chance: &mut Seeded, depth: usize| -> Vec<Condition> {
            (0..data.tables.len()).map(|table| Condition::generate(chance, data, table, depth)).collect()
        };
        Self {
            select: all(chance, 2),
            insert: all(chance, 2),
            update: all(chance, 2).into_iter().zip(all(chance, 1)).collect(),
            delete: all(chance, 2),
        }
    }

    /// The rows that it may see.
    pub(super) fn visible(&self, data: &Data) -> Data {
        let tables = data.tables.iter().enumerate().map(|(index, table)| {
            let rows = table.rows.iter().filter(|row| self.select[index].holds(data, index, row));
            Table { references: table.references.clone(), rows: rows.cloned().collect() }
        });
        Data { tables: tables.collect() }
    }

    /// As a source takes it; the session has one variable.
    pub(super) fn permissions(&self) -> Permissions {
        let mut names = SessionNames::default();
        names.index("user");
        let mut made = |condition: &Condition| {
            names.condition(&condition.written(&json!("$user"))).expect("it is a condition")
        };
        let mut permissions = Permissions::default();
        for (index, select) in self.select.iter().enumerate() {
            let (rows, check) = &self.update[index];
            let granted = TablePermissions {
                select: Some(SelectPermission::of_rows(made(select))),
                insert: Some(InsertPermission::checked(made(&self.insert[index]))),
                update: Some(UpdatePermission::of_rows(made(rows), made(check))),
                delete: Some(DeletePermission { rows: made(&self.delete[index]) }),
            };
            permissions.tables.insert(format!("t{index}"), granted.into());
        }
        permissions
    }
}
