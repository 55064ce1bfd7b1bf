//! Generated conditions for rows, in the words of `where`, and what they come to by SQL's logic of three values: for oracles, which
//! say what the engine must find.

use rand::RngExt as _;
use serde_json::{Value as Json, json};

use crate::Seeded;

/// What a row must be like. Columns are named as in GraphQL.
#[derive(Debug, Clone)]
pub enum Condition {
    Always,
    /// A number's column, the operator, and the number.
    Number(&'static str, &'static str, i64),
    /// A number's column is the session's variable.
    Own(&'static str),
    Null(&'static str, bool),
    Text(&'static str, &'static str),
    /// Of what a field leads to.
    Along(String, Box<Condition>),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
}

/// Columns that conditions are generated for.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    pub numbers: Vec<&'static str>,
    /// With values that they may have.
    pub texts: Vec<(&'static str, &'static [&'static str])>,
}

/// Gives the name of a field and a condition, of at most this depth, for what it leads to; none where no field leads anywhere.
pub type Along<'a> = dyn FnMut(&mut Seeded, usize) -> Option<(String, Condition)> + 'a;

/// A row among others.
pub trait Row {
    /// None where it is null.
    fn value(&self, column: &str) -> Option<&Json>;

    /// What a condition of that to which a field leads comes to; none where that is not known.
    fn along(&self, field: &str, below: &Condition, user: i64) -> Option<bool>;
}

impl Condition {
    /// Of at most this depth.
    pub fn generate(chance: &mut Seeded, columns: &Columns, depth: usize, along: &mut Along<'_>) -> Self {
        let leaf = |chance: &mut Seeded| Self::leaf(chance, columns);
        if depth == 0 {
            return leaf(chance);
        }
        let mut below = |chance: &mut Seeded| Self::generate(chance, columns, depth - 1, along);
        match chance.random_range(0..12) {
            6 => Self::And(vec![below(chance), below(chance)]),
            7 => Self::Or(vec![below(chance), below(chance)]),
            8 => Self::Not(Box::new(below(chance))),
            9..12 => match along(chance, depth - 1) {
                Some((field, condition)) => Self::Along(field, Box::new(condition)),
                None => Self::generate(chance, columns, depth - 1, along),
            },
            _ => leaf(chance),
        }
    }

    fn leaf(chance: &mut Seeded, columns: &Columns) -> Self {
        let number = |chance: &mut Seeded| columns.numbers[chance.random_range(0..columns.numbers.len())];
        match chance.random_range(0..6) {
            5 if !columns.texts.is_empty() => {
                let (column, texts) = columns.texts[chance.random_range(0..columns.texts.len())];
                Self::Text(column, texts[chance.random_range(0..texts.len())])
            }
            _ if columns.numbers.is_empty() => Self::Always,
            1 | 2 => {
                let operator = ["eq", "gt", "lte", "ne"][chance.random_range(0..4)];
                Self::Number(number(chance), operator, chance.random_range(0..5))
            }
            3 => Self::Own(number(chance)),
            4 => Self::Null(number(chance), chance.random()),
            _ => Self::Always,
        }
    }

    /// In the words of `where`; `user` stands for the session's variable.
    pub fn written(&self, user: &Json) -> Json {
        let list = |all: &[Self]| all.iter().map(|one| one.written(user)).collect::<Vec<_>>();
        match self {
            Self::Always => json!({}),
            Self::Number(column, operator, number) => json!({*column: {*operator: number}}),
            Self::Own(column) => json!({*column: {"eq": user}}),
            Self::Null(column, is_null) => json!({*column: {"is_null": is_null}}),
            Self::Text(column, text) => json!({*column: {"eq": text}}),
            Self::Along(field, below) => json!({field: below.written(user)}),
            Self::And(all) => json!({"and": list(all)}),
            Self::Or(all) => json!({"or": list(all)}),
            Self::Not(one) => json!({"not": one.written(user)}),
        }
    }

    /// Whether it is true of a row, where the session's variable is `user`.
    pub fn holds(&self, row: &dyn Row, user: i64) -> bool {
        self.value(row, user) == Some(true)
    }

    /// None where it is neither true nor false.
    pub fn value(&self, row: &dyn Row, user: i64) -> Option<bool> {
        match self {
            Self::Always => Some(true),
            Self::Number(column, operator, number) => {
                let found = row.value(column)?.as_i64()?;
                Some(match *operator {
                    "eq" => found == *number,
                    "gt" => found > *number,
                    "lte" => found <= *number,
                    _ => found != *number,
                })
            }
            Self::Own(column) => Some(row.value(column)?.as_i64()? == user),
            Self::Null(column, is_null) => Some(row.value(column).is_none() == *is_null),
            Self::Text(column, text) => Some(row.value(column)?.as_str()? == *text),
            Self::Along(field, below) => row.along(field, below, user),
            Self::And(all) => combined(all, row, user, false),
            Self::Or(all) => combined(all, row, user, true),
            Self::Not(one) => one.value(row, user).map(|value| !value),
        }
    }
}

/// All of them, or any of them where `decisive` is true.
fn combined(all: &[Condition], row: &dyn Row, user: i64, decisive: bool) -> Option<bool> {
    let values: Vec<_> = all.iter().map(|one| one.value(row, user)).collect();
    if values.contains(&Some(decisive)) {
        Some(decisive)
    } else {
        (!values.contains(&None)).then_some(!decisive)
    }
}

/// A value as GraphQL writes it: names without quotes.
pub fn graphql_literal(value: &Json) -> String {
    match value {
        Json::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{name}: {}", graphql_literal(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Json::Array(items) => {
            format!("[{}]", items.iter().map(graphql_literal).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
