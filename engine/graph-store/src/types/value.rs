//! Values of properties, and how a set of them is written as bytes: the same in memory, in the log and in snapshots.

use prony_log::codec::{Damage, Input, put_bytes, put_length};
use std::borrow::Cow;

/// The type of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Boolean,
    Integer,
    Double,
    String,
    BooleanList,
    IntegerList,
    DoubleList,
    StringList,
}

impl Kind {
    pub const ALL: [Self; 8] = [
        Self::Boolean,
        Self::Integer,
        Self::Double,
        Self::String,
        Self::BooleanList,
        Self::IntegerList,
        Self::DoubleList,
        Self::StringList,
    ];

    /// As clients write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::String => "string",
            Self::BooleanList => "boolean_list",
            Self::IntegerList => "integer_list",
            Self::DoubleList => "double_list",
            Self::StringList => "string_list",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_code(code: u8) -> Result<Self, Damage> {
        Self::ALL.get(usize::from(code)).copied().ok_or(Damage("a property has a type that does not exist"))
    }
}

/// The value of a property.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    Boolean(bool),
    Integer(i64),
    Double(f64),
    String(Cow<'a, str>),
    BooleanList(Vec<bool>),
    IntegerList(Vec<i64>),
    DoubleList(Vec<f64>),
    StringList(Vec<Cow<'a, str>>),
}

impl Value<'_> {
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Boolean(_) => Kind::Boolean,
            Self::Integer(_) => Kind::Integer,
            Self::Double(_) => Kind::Double,
            Self::String(_) => Kind::String,
            Self::BooleanList(_) => Kind::BooleanList,
            Self::IntegerList(_) => Kind::IntegerList,
            Self::DoubleList(_) => Kind::DoubleList,
            Self::StringList(_) => Kind::StringList,
        }
    }

    /// Itself where the property is of this kind; an integer is taken for a double, nothing else is turned.
    pub fn fit(self, kind: Kind) -> Option<Self> {
        match (self, kind) {
            (Self::Integer(value), Kind::Double) => Some(Self::Double(value as f64)),
            (Self::IntegerList(values), Kind::DoubleList) => {
                Some(Self::DoubleList(values.into_iter().map(|value| value as f64).collect()))
            }
            // An empty list says nothing of what it would hold.
            (Self::BooleanList(values), Kind::IntegerList) if values.is_empty() => {
                Some(Self::IntegerList(Vec::new()))
            }
            (Self::BooleanList(values), Kind::DoubleList) if values.is_empty() => {
                Some(Self::DoubleList(Vec::new()))
            }
            (Self::BooleanList(values), Kind::StringList) if values.is_empty() => {
                Some(Self::StringList(Vec::new()))
            }
            (value, kind) => (value.kind() == kind).then_some(value),
        }
    }

    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Boolean(value) => Value::Boolean(value),
            Self::Integer(value) => Value::Integer(value),
            Self::Double(value) => Value::Double(value),
            Self::String(value) => Value::String(Cow::Owned(value.into_owned())),
            Self::BooleanList(values) => Value::BooleanList(values),
            Self::IntegerList(values) => Value::IntegerList(values),
            Self::DoubleList(values) => Value::DoubleList(values),
            Self::StringList(values) => {
                Value::StringList(values.into_iter().map(|value| Cow::Owned(value.into_owned())).collect())
            }
        }
    }

    /// How many values a list has; none for what is no list.
    pub(crate) fn len(&self) -> Option<usize> {
        match self {
            Self::Boolean(_) | Self::Integer(_) | Self::Double(_) | Self::String(_) => None,
            Self::BooleanList(values) => Some(values.len()),
            Self::IntegerList(values) => Some(values.len()),
            Self::DoubleList(values) => Some(values.len()),
            Self::StringList(values) => Some(values.len()),
        }
    }

    /// A value of a list.
    pub(crate) fn element(&self, place: usize) -> Option<Value<'_>> {
        match self {
            Self::Boolean(_) | Self::Integer(_) | Self::Double(_) | Self::String(_) => None,
            Self::BooleanList(values) => values.get(place).copied().map(Value::Boolean),
            Self::IntegerList(values) => values.get(place).copied().map(Value::Integer),
            Self::DoubleList(values) => values.get(place).copied().map(Value::Double),
            Self::StringList(values) => values.get(place).map(|value| Value::String(Cow::Borrowed(&**value))),
        }
    }

    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        to.push(self.kind().code());
        match self {
            Self::Boolean(value) => to.push(u8::from(*value)),
            Self::Integer(value) => to.extend_from_slice(&value.to_le_bytes()),
            Self::Double(value) => to.extend_from_slice(&value.to_le_bytes()),
            Self::String(value) => put_bytes(to, value.as_bytes()),
            Self::BooleanList(values) => {
                put_length(to, values.len());
                to.extend(values.iter().map(|value| u8::from(*value)));
            }
            Self::IntegerList(values) => {
                put_length(to, values.len());
                for value in values {
                    to.extend_from_slice(&value.to_le_bytes());
                }
            }
            Self::DoubleList(values) => {
                put_length(to, values.len());
                for value in values {
                    to.extend_from_slice(&value.to_le_bytes());
                }
            }
            Self::StringList(values) => {
                put_length(to, values.len());
                for value in values {
                    put_bytes(to, value.as_bytes());
                }
            }
        }
    }
}

impl<'a> Value<'a> {
    fn skip(from: &mut Input<'_>) -> Result<(), Damage> {
        let bytes = match Kind::from_code(from.byte()?)? {
            Kind::Boolean => 1,
            Kind::Integer | Kind::Double => 8,
            Kind::String | Kind::BooleanList => from.length()?,
            Kind::IntegerList | Kind::DoubleList => from.length()?.saturating_mul(8),
            Kind::StringList => {
                for _ in 0..from.length()? {
                    from.bytes()?;
                }
                0
            }
        };
        from.skip(bytes)
    }

    pub(crate) fn read(from: &mut Input<'a>) -> Result<Self, Damage> {
        let kind = Kind::from_code(from.byte()?)?;
        Ok(match kind {
            Kind::Boolean => Self::Boolean(from.byte()? != 0),
            Kind::Integer => Self::Integer(i64::from_le_bytes(from.array()?)),
            Kind::Double => Self::Double(f64::from_le_bytes(from.array()?)),
            Kind::String => Self::String(Cow::Borrowed(from.text()?)),
            Kind::BooleanList => Self::BooleanList(from.list(1, |from| Ok(from.byte()? != 0))?),
            Kind::IntegerList => {
                Self::IntegerList(from.list(8, |from| Ok(i64::from_le_bytes(from.array()?)))?)
            }
            Kind::DoubleList => Self::DoubleList(from.list(8, |from| Ok(f64::from_le_bytes(from.array()?)))?),
            Kind::StringList => Self::StringList(from.list(1, |from| Ok(Cow::Borrowed(from.text()?)))?),
        })
    }
}

/// Properties by number, as their type's declarations give it; read one by one.
#[derive(Debug, Clone)]
pub(crate) struct Properties<'a>(Input<'a>);

impl<'a> Properties<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(Input::new(bytes))
    }

    fn read(&mut self) -> Result<(u16, Value<'a>), Damage> {
        Ok((self.0.u16()?, Value::read(&mut self.0)?))
    }
}

/// Bytes that nobody has read before are checked first, with [`check_properties`].
impl<'a> Iterator for Properties<'a> {
    type Item = (u16, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        Some(
            self.read()
                .expect("properties are written by this store, and checked when they come from a file"),
        )
    }
}

/// The value of one of them, without reading those before it.
pub(crate) fn find_property(bytes: &[u8], number: u16) -> Option<Value<'_>> {
    let mut input = Input::new(bytes);
    while !input.is_empty() {
        let found = input.u16().ok()?;
        if found == number {
            return Value::read(&mut input).ok();
        }
        Value::skip(&mut input).ok()?;
    }
    None
}

/// What comes from a file must be whole values.
pub(crate) fn check_properties(bytes: &[u8]) -> Result<(), Damage> {
    let mut properties = Properties::new(bytes);
    while !properties.0.is_empty() {
        properties.read()?;
    }
    Ok(())
}

pub(crate) fn write_properties(properties: &[(u16, Value<'_>)], to: &mut Vec<u8>) {
    for (number, value) in properties {
        to.extend_from_slice(&number.to_le_bytes());
        value.write(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value<'static>> {
        let text = || ".{0,20}".prop_map(Cow::Owned);
        prop_oneof![
            any::<bool>().prop_map(Value::Boolean),
            any::<i64>().prop_map(Value::Integer),
            (-1e300..1e300_f64).prop_map(Value::Double),
            text().prop_map(Value::String),
            prop::collection::vec(any::<bool>(), 0..5).prop_map(Value::BooleanList),
            prop::collection::vec(any::<i64>(), 0..5).prop_map(Value::IntegerList),
            prop::collection::vec(-1e300..1e300_f64, 0..5).prop_map(Value::DoubleList),
            prop::collection::vec(text(), 0..5).prop_map(Value::StringList),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(properties in prop::collection::vec((any::<u16>(), value()), 0..6)) {
            let mut bytes = Vec::new();
            write_properties(&properties, &mut bytes);
            prop_assert_eq!(check_properties(&bytes), Ok(()));
            prop_assert_eq!(Properties::new(&bytes).collect::<Vec<_>>(), properties.clone());
            for (number, _) in &properties {
                let first = properties.iter().find(|(of, _)| of == number).map(|(_, value)| value.clone());
                prop_assert_eq!(find_property(&bytes, *number), first);
            }
        }

        #[test]
        fn arbitrary_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = (check_properties(&bytes), find_property(&bytes, 7));
        }
    }

    #[test]
    fn only_integers_become_doubles() {
        assert_eq!(Value::Integer(3).fit(Kind::Double), Some(Value::Double(3.0)));
        assert_eq!(Value::Double(3.0).fit(Kind::Integer), None);
        assert_eq!(Value::String("3".into()).fit(Kind::Integer), None);
        assert_eq!(Value::BooleanList(vec![]).fit(Kind::StringList), Some(Value::StringList(vec![])));
        assert_eq!(Value::BooleanList(vec![true]).fit(Kind::StringList), None);
    }
}
