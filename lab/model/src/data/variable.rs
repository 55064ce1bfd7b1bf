//! Where the values in requests come from: ranges of whole numbers, rows of lists and tables, earlier answers.

use crate::data::encoding::Encoding;
use crate::data::rows::{Cell, CellKind, Rows, cell_of};
use crate::subscription::token::Token;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::Write as _;
use std::sync::Arc;

/// The order in which rows are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Any row each time.
    Random,
    /// One after the other, starting again after the last.
    Sequential,
    /// One after the other, none twice: a user that needs a row when none is left stops.
    Unique,
}

/// Among whom the rows of a sequential or unique feeder are counted out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// All users take from one stack.
    AllUsers,
    /// Each user goes through all rows by itself.
    EachUser,
}

/// When a user takes a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// In each iteration, when the first request needs it.
    EachIteration,
    /// Once, and keeps it as long as it lives.
    Once,
}

/// Rows and how they are taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feeder {
    pub rows: Arc<Rows>,
    pub order: Order,
    pub share: Share,
    pub take: Take,
    /// For people: the file's name, or `list`.
    pub origin: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
    /// Whole numbers from `min` to `max`, both included, at random.
    Range {
        min: i64,
        max: i64,
    },
    Rows(Feeder),
    /// Taken from an answer; see [`crate::response::capture`].
    Captured,
    /// A text that no other sending of any request has; see [`crate::subscription::token`].
    Token {
        prefix: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub values: Values,
}

/// What was chosen for a user, small enough to be kept for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Integer(i64),
    Row(u32),
    Token(Token),
}

/// What one request got for a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn<'a> {
    Integer(i64),
    Row(&'a Rows, u32),
    Captured(Cell<'a>),
    /// With its prefix.
    Token(&'a str, Token),
}

/// Where a slot finds the value of its variable, by the variable's index.
pub trait ValueOf {
    fn value_of(&self, variable: usize) -> Drawn<'_>;
}

impl<const COUNT: usize> ValueOf for [Drawn<'_>; COUNT] {
    fn value_of(&self, variable: usize) -> Drawn<'_> {
        self[variable]
    }
}

/// A feeder has no row left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted;

impl Feeder {
    /// A row each iteration, counted over all users.
    pub fn new(rows: Rows, order: Order, origin: &str) -> Self {
        Self {
            rows: Arc::new(rows),
            order,
            share: Share::AllUsers,
            take: Take::EachIteration,
            origin: origin.to_owned(),
        }
    }

    /// True where a row depends on how many were taken before.
    pub fn is_counted(&self) -> bool {
        self.order != Order::Random
    }

    /// The row at this position of a counted feeder, or any row of a random one.
    pub fn choose(&self, random: &mut impl Rng, position: u64) -> Result<u32, Exhausted> {
        let rows = self.rows.len() as u64;
        match self.order {
            Order::Random => Ok(random.random_range(0..rows) as u32),
            Order::Sequential => Ok((position % rows) as u32),
            Order::Unique => {
                if position < rows {
                    Ok(position as u32)
                } else {
                    Err(Exhausted)
                }
            }
        }
    }
}

impl Variable {
    /// Whole numbers from `min` to `max`, both included.
    pub fn range(name: &str, min: i64, max: i64) -> Self {
        Self { name: name.to_owned(), values: Values::Range { min, max } }
    }

    /// One of these values each time.
    pub fn list(name: &str, values: &[Value], order: Order) -> Self {
        let mut rows = Rows::new(Vec::new());
        for value in values {
            let (kind, text) = cell_of(value);
            rows.push(Cell { kind, text: text.as_bytes() }).expect("a list in memory is below the limits");
        }
        Self { name: name.to_owned(), values: Values::Rows(Feeder::new(rows, order, "list")) }
    }

    /// A value that an answer will give.
    pub fn captured(name: &str) -> Self {
        Self { name: name.to_owned(), values: Values::Captured }
    }

    pub fn columns(&self) -> &[String] {
        match &self.values {
            Values::Range { .. } | Values::Captured | Values::Token { .. } => &[],
            Values::Rows(feeder) => feeder.rows.columns(),
        }
    }

    pub fn feeder(&self) -> Option<&Feeder> {
        match &self.values {
            Values::Rows(feeder) => Some(feeder),
            _ => None,
        }
    }

    /// Where its values are tokens.
    pub fn token_prefix(&self) -> Option<&str> {
        match &self.values {
            Values::Token { prefix } => Some(prefix),
            _ => None,
        }
    }

    pub fn is_captured(&self) -> bool {
        self.values == Values::Captured
    }

    /// Chooses a value. `position` counts the choices of a sequential or unique feeder, from 0. Tokens are made by whoever
    /// knows the run and the user.
    pub fn choose(&self, random: &mut impl Rng, position: u64) -> Result<Choice, Exhausted> {
        match &self.values {
            Values::Range { min, max } => Ok(Choice::Integer(random.random_range(*min..=*max))),
            Values::Rows(feeder) => feeder.choose(random, position).map(Choice::Row),
            Values::Captured | Values::Token { .. } => Ok(Choice::Integer(0)),
        }
    }

    /// The value that was chosen before.
    pub fn drawn(&self, choice: Choice) -> Drawn<'_> {
        match (&self.values, choice) {
            (Values::Rows(feeder), Choice::Row(row)) => Drawn::Row(&feeder.rows, row),
            (Values::Token { prefix }, Choice::Token(token)) => Drawn::Token(prefix, token),
            (_, Choice::Integer(number)) => Drawn::Integer(number),
            (_, Choice::Row(_) | Choice::Token(_)) => Drawn::NOTHING,
        }
    }

    /// What is wrong with the values themselves, if anything.
    pub(crate) fn fault(&self) -> Option<String> {
        let name = &self.name;
        match &self.values {
            Values::Range { min, max } if min > max => {
                Some(format!("range of `{name}` is empty: {min} is above {max}; write the smaller one first"))
            }
            Values::Token { prefix }
                if prefix.chars().any(|c| !c.is_ascii_graphic() || "\"\\<>&'/".contains(c)) =>
            {
                Some(format!(
                    "the prefix `{prefix}` of `{name}` must be plain ASCII without quotes, slashes, `<`, `>` and `&`: \
                     targets may write them otherwise, and it is looked for as it is"
                ))
            }
            Values::Rows(feeder) if feeder.rows.is_empty() => {
                Some(format!("`{name}` has no values; give it at least one"))
            }
            Values::Rows(feeder) if feeder.order == Order::Random && feeder.share == Share::EachUser => {
                Some(format!(
                    "`{name}` takes rows at random, which are not counted out among users; \
                     leave `share` out or write `order = \"sequential\"`"
                ))
            }
            _ => None,
        }
    }

    /// True where a value of this column would break the head of an HTTP request.
    pub(crate) fn has_control_characters(&self, column: usize) -> bool {
        self.feeder().is_some_and(|feeder| feeder.rows.has_control_characters(column))
    }
}

impl Drawn<'_> {
    /// Of a variable that has no value yet.
    pub const NOTHING: Self = Self::Captured(Cell { kind: CellKind::Null, text: b"" });

    pub(crate) fn write(&self, column: usize, encoding: Encoding, out: &mut Vec<u8>) {
        match self {
            Self::Integer(number) => {
                write!(out, "{number}").expect("writing into memory does not fail");
            }
            Self::Row(rows, row) => rows.cell(*row as usize, column).write(encoding, out),
            Self::Captured(cell) => cell.write(encoding, out),
            Self::Token(prefix, token) => {
                let mut text = Vec::new();
                token.write(prefix, &mut text);
                Cell { kind: CellKind::Text, text: &text }.write(encoding, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng as _;
    use serde_json::json;

    fn taken(order: Order, count: u64) -> Vec<Result<u32, Exhausted>> {
        let variable = Variable::list("v", &[json!("a"), json!("b"), json!("c")], order);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let feeder = variable.feeder().unwrap();
        (0..count).map(|position| feeder.choose(&mut random, position)).collect()
    }

    #[test]
    fn rows_are_taken_in_their_order() {
        assert_eq!(taken(Order::Sequential, 5), [Ok(0), Ok(1), Ok(2), Ok(0), Ok(1)]);
        assert_eq!(taken(Order::Unique, 5), [Ok(0), Ok(1), Ok(2), Err(Exhausted), Err(Exhausted)]);
        let random = taken(Order::Random, 100);
        assert!((0..3).all(|row| random.contains(&Ok(row))));
    }
}
