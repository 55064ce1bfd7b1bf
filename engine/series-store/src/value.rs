//! Values, and columns of them.

use crate::codes::texts::Texts;
use prony_log::codec::{Damage, Input, put_bytes, put_signed};
use std::sync::Arc;

/// What the values of an attribute are. The store keeps the last three as texts; what stands in them is the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Double,
    Integer,
    Boolean,
    /// Milliseconds since 1970.
    Time,
    Text,
    /// An object or a list, as text.
    Structured,
    /// A place or a shape, as text.
    Geometry,
}

/// How values of a kind are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Doubles,
    Integers,
    Booleans,
    Texts,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Double,
        Self::Integer,
        Self::Boolean,
        Self::Time,
        Self::Text,
        Self::Structured,
        Self::Geometry,
    ];

    pub(crate) fn number(self) -> u8 {
        Self::ALL.iter().position(|kind| *kind == self).map_or(0, |place| place as u8)
    }

    pub(crate) fn of_number(number: u8) -> Result<Self, Damage> {
        Self::ALL.get(usize::from(number)).copied().ok_or(Damage("an attribute has an unknown kind"))
    }

    pub(crate) const fn form(self) -> Form {
        match self {
            Self::Double => Form::Doubles,
            Self::Integer | Self::Time => Form::Integers,
            Self::Boolean => Form::Booleans,
            Self::Text | Self::Structured | Self::Geometry => Form::Texts,
        }
    }
}

/// One value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Null,
    Double(f64),
    Integer(i64),
    Boolean(bool),
    Text(&'a str),
}

impl<'a> Value<'a> {
    /// Whether an attribute of the kind can have it.
    pub fn is_of(&self, kind: Kind) -> bool {
        matches!(
            (self, kind.form()),
            (Self::Null, _)
                | (Self::Double(_), Form::Doubles)
                | (Self::Integer(_), Form::Integers)
                | (Self::Boolean(_), Form::Booleans)
                | (Self::Text(_), Form::Texts)
        )
    }

    /// As a number, where it is one.
    pub const fn number(&self) -> Option<f64> {
        match self {
            Self::Double(value) => Some(*value),
            Self::Integer(value) => Some(*value as f64),
            _ => None,
        }
    }

    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Null => to.push(0),
            Self::Double(value) => {
                to.push(1);
                to.extend_from_slice(&value.to_le_bytes());
            }
            Self::Integer(value) => {
                to.push(2);
                put_signed(to, *value);
            }
            Self::Boolean(value) => to.push(3 + u8::from(*value)),
            Self::Text(value) => {
                to.push(5);
                put_bytes(to, value.as_bytes());
            }
        }
    }

    /// Leaves out a value, which whoever reads it looks at.
    pub(crate) fn skip(input: &mut Input<'a>) -> Result<(), Damage> {
        match input.byte()? {
            1 => input.skip(size_of::<f64>()),
            2 => input.skip_number(),
            5 => input.bytes().map(drop),
            _ => Ok(()),
        }
    }

    pub(crate) fn read(input: &mut Input<'a>) -> Result<Self, Damage> {
        Ok(match input.byte()? {
            0 => Self::Null,
            1 => Self::Double(f64::from_le_bytes(input.array()?)),
            2 => Self::Integer(input.signed()?),
            3 => Self::Boolean(false),
            4 => Self::Boolean(true),
            5 => Self::Text(input.text()?),
            _ => return Err(Damage("a value has an unknown kind")),
        })
    }
}

/// Values of rows, with something in place of those that are null.
#[derive(Debug, Clone)]
pub(crate) enum Values {
    Doubles(Vec<f64>),
    Integers(Vec<i64>),
    Booleans(Vec<bool>),
    Texts(Vec<Arc<str>>),
    /// As they are read from a block.
    Dictionary(Texts),
}

/// The values of an attribute in rows one after the other.
#[derive(Debug, Clone)]
pub struct Column {
    pub(crate) values: Values,
    /// Which rows have one; all where it is absent. As long as the values.
    pub(crate) present: Option<Vec<bool>>,
}

impl Column {
    pub(crate) fn new(form: Form) -> Self {
        let values = match form {
            Form::Doubles => Values::Doubles(Vec::new()),
            Form::Integers => Values::Integers(Vec::new()),
            Form::Booleans => Values::Booleans(Vec::new()),
            Form::Texts => Values::Texts(Vec::new()),
        };
        Self { values, present: None }
    }

    pub(crate) fn form(&self) -> Form {
        match self.values {
            Values::Doubles(_) => Form::Doubles,
            Values::Integers(_) => Form::Integers,
            Values::Booleans(_) => Form::Booleans,
            Values::Texts(_) | Values::Dictionary(_) => Form::Texts,
        }
    }

    /// Rows up to the last that was given a value; those behind it have none.
    pub(crate) fn len(&self) -> usize {
        match &self.values {
            Values::Doubles(values) => values.len(),
            Values::Integers(values) => values.len(),
            Values::Booleans(values) => values.len(),
            Values::Texts(values) => values.len(),
            Values::Dictionary(texts) => texts.len(),
        }
    }

    /// The value of a row; null behind the last.
    pub fn get(&self, row: usize) -> Value<'_> {
        if row >= self.len() || self.present.as_ref().is_some_and(|present| !present[row]) {
            return Value::Null;
        }
        match &self.values {
            Values::Doubles(values) => Value::Double(values[row]),
            Values::Integers(values) => Value::Integer(values[row]),
            Values::Booleans(values) => Value::Boolean(values[row]),
            Values::Texts(values) => Value::Text(&values[row]),
            Values::Dictionary(texts) => Value::Text(texts.get(row)),
        }
    }

    fn push_null(&mut self) {
        let rows = self.len();
        self.present.get_or_insert_with(|| vec![true; rows]).push(false);
        match &mut self.values {
            Values::Doubles(values) => values.push(0.0),
            Values::Integers(values) => values.push(0),
            Values::Booleans(values) => values.push(false),
            Values::Texts(values) => values.push(values.last().map_or_else(|| Arc::from(""), Arc::clone)),
            Values::Dictionary(_) => unreachable!("a dictionary is unfolded before something is added"),
        }
    }

    /// Gives `row`, which is behind the last one, a value; all rows between have none. False where the value is of another kind.
    pub(crate) fn put(&mut self, row: usize, value: Value<'_>) -> bool {
        if let Values::Dictionary(texts) = &self.values {
            self.values = Values::Texts(texts.iter().cloned().collect());
        }
        while self.len() < row {
            self.push_null();
        }
        match (&mut self.values, value) {
            (_, Value::Null) => {
                self.push_null();
                return true;
            }
            (Values::Doubles(values), Value::Double(value)) => values.push(value),
            (Values::Integers(values), Value::Integer(value)) => values.push(value),
            (Values::Booleans(values), Value::Boolean(value)) => values.push(value),
            (Values::Texts(values), Value::Text(value)) => match values.last() {
                Some(last) if **last == *value => values.push(Arc::clone(last)),
                _ => values.push(Arc::from(value)),
            },
            _ => return false,
        }
        if let Some(present) = &mut self.present {
            present.push(true);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_as_long_as_what_is_read() {
        for value in [
            Value::Null,
            Value::Double(-0.0),
            Value::Integer(i64::MIN),
            Value::Integer(3),
            Value::Boolean(false),
            Value::Boolean(true),
            Value::Text(""),
            Value::Text(&"ü".repeat(100)),
        ] {
            let mut bytes = Vec::new();
            value.write(&mut bytes);
            bytes.push(7);
            let (mut read, mut left_out) = (Input::new(&bytes), Input::new(&bytes));
            assert_eq!(Value::read(&mut read), Ok(value));
            assert_eq!(Value::skip(&mut left_out), Ok(()));
            assert_eq!((read.rest(), left_out.rest()), (&[7][..], &[7][..]));
        }
    }
}
