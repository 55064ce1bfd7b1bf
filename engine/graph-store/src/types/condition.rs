//! Conditions on properties: what each test means for every kind of value, and for a property that is not there.
//!
//! A property that is missing equals null and nothing else. `not` takes the nodes that have the property and for which
//! the test does not hold; a value of another kind is different, and neither less nor greater. Which nodes are looked at
//! is decided in `read.rs`.

use crate::types::order::{elements, is_equal, order};
use crate::types::sublist::has_sublist;
use crate::types::value::Value;
use std::cmp::Ordering;

/// A list of so few values is tried at each place of another: what a search needs would cost more.
const TRIED_VALUES_MAX: usize = 8;

/// What a property is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition<'a> {
    pub property: &'a str,
    pub test: Test,
    /// Turns the test round, for those that have the property.
    pub not: bool,
    /// What it is compared with; none is null.
    pub value: Option<Value<'a>>,
}

/// How a property's value is compared with a condition's.
///
/// * Numbers compare by what they are worth, exactly: the integer 2^53 + 1 is greater than the double 2^53.
/// * Strings compare by their code points, `false` is less than `true`, and lists compare value by value, a list that
///   begins with another one being the greater.
/// * Values of different kinds are not equal, and none of them is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// With null: the property is missing.
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    /// The property is missing; the condition's value does not matter.
    IsNull,
    /// Of a string, the string; of a list, the value or the list of values that it begins with.
    StartsWith,
    /// As [`Self::StartsWith`], anywhere; the values of a list stand one behind the other.
    Contains,
    EndsWith,
    /// Equal to one of the values of a list.
    In,
}

impl Test {
    /// As clients write it: `EQ`, `NEQ`, `GT`, `GTE`, `LT`, `LTE`, `IS_NULL`, `STARTS_WITH`, `CONTAINS`, `ENDS_WITH`,
    /// each also with `NOT_` before it. The second is [`Condition::not`].
    pub fn parse(name: &str) -> Option<(Self, bool)> {
        let (name, not) = name.strip_prefix("NOT_").map_or((name, false), |rest| (rest, true));
        Some(match name {
            "EQ" => (Self::Equal, not),
            "NEQ" => (Self::Equal, !not),
            "GT" => (Self::Greater, not),
            "GTE" => (Self::GreaterOrEqual, not),
            "LT" => (Self::Less, not),
            "LTE" => (Self::LessOrEqual, not),
            "IS_NULL" => (Self::IsNull, not),
            "STARTS_WITH" => (Self::StartsWith, not),
            "CONTAINS" => (Self::Contains, not),
            "ENDS_WITH" => (Self::EndsWith, not),
            _ => return None,
        })
    }

    fn holds(self, found: &Value<'_>, value: &Value<'_>) -> bool {
        let order = || order(found, value);
        match self {
            Self::Equal => order() == Some(Ordering::Equal),
            Self::Greater => order() == Some(Ordering::Greater),
            Self::GreaterOrEqual => order().is_some_and(Ordering::is_ge),
            Self::Less => order() == Some(Ordering::Less),
            Self::LessOrEqual => order().is_some_and(Ordering::is_le),
            Self::IsNull => false,
            Self::StartsWith | Self::Contains | Self::EndsWith => self.holds_within(found, value),
            Self::In => elements(value).is_some_and(|mut values| values.any(|one| is_equal(found, &one))),
        }
    }

    fn holds_within(self, found: &Value<'_>, value: &Value<'_>) -> bool {
        if let (Value::String(found), Value::String(value)) = (found, value) {
            return match self {
                Self::StartsWith => found.starts_with(&**value),
                Self::EndsWith => found.ends_with(&**value),
                _ => found.contains(&**value),
            };
        }
        let Some(length) = found.len() else { return false };
        let wanted = value.len().unwrap_or(1);
        let Some(last) = length.checked_sub(wanted) else { return false };
        let stands_at = |place: usize| match elements(value) {
            Some(values) => values.zip(place..).all(|(value, place)| is_at(found, place, &value)),
            None => is_at(found, place, value),
        };
        match self {
            Self::StartsWith => stands_at(0),
            Self::EndsWith => stands_at(last),
            _ if wanted > TRIED_VALUES_MAX => has_sublist(found, value),
            _ => (0..=last).any(stands_at),
        }
    }
}

impl Condition<'_> {
    /// About how many bytes are compared to hold it against a value; 0 where that is as little as for a number.
    pub fn cost(&self, found: &Value<'_>) -> usize {
        const ELEMENT_BYTES: usize = 16;
        let Some(value) = &self.value else { return 0 };
        match (self.test, found) {
            (Test::In, _) => value.len().unwrap_or(0).saturating_mul(ELEMENT_BYTES),
            (Test::Contains, Value::String(text)) => text.len(),
            (Test::Contains, list) => {
                let (length, wanted) = (list.len().unwrap_or(0), value.len().unwrap_or(1));
                length.saturating_mul(wanted.min(TRIED_VALUES_MAX)).saturating_mul(ELEMENT_BYTES)
            }
            _ => 0,
        }
    }

    /// Whether a property with this value, or without one, is what is asked for.
    pub fn holds(&self, found: Option<&Value<'_>>) -> bool {
        match (self.test, found, &self.value) {
            (Test::IsNull, found, _) | (Test::Equal, found, None) => found.is_none() != self.not,
            (_, None, _) => false,
            (_, Some(_), None) => self.not,
            (test, Some(found), Some(value)) => test.holds(found, value) != self.not,
        }
    }
}

fn is_at(list: &Value<'_>, place: usize, value: &Value<'_>) -> bool {
    list.element(place).is_some_and(|element| is_equal(&element, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn values() -> Vec<(&'static str, Option<Value<'static>>)> {
        let two = 1_i64 << 53;
        vec![
            ("missing", None),
            ("true", Some(Value::Boolean(true))),
            ("3", Some(Value::Integer(3))),
            ("3.5", Some(Value::Double(3.5))),
            ("2^53+1", Some(Value::Integer(two + 1))),
            ("2^53 double", Some(Value::Double(two as f64))),
            ("greatest", Some(Value::Integer(i64::MAX))),
            ("abc", Some(Value::String("abc".into()))),
            ("empty", Some(Value::String("".into()))),
            ("[1,2,3]", Some(Value::IntegerList(vec![1, 2, 3]))),
            ("[]", Some(Value::BooleanList(vec![]))),
            ("[a,b]", Some(Value::StringList(vec!["a".into(), "b".into()]))),
        ]
    }

    /// Which of the values above fulfil a condition.
    fn check(operation: &str, value: Option<Value<'_>>, expected: &Expect) {
        let (test, not) = match operation {
            "IN" => (Test::In, false),
            "NOT_IN" => (Test::In, true),
            name => Test::parse(name).unwrap(),
        };
        let condition = Condition { property: "p", test, not, value };
        let found = values().into_iter().filter(|(_, value)| condition.holds(value.as_ref()));
        expected.assert_eq(&found.map(|(name, _)| name).collect::<Vec<_>>().join(" "));
    }

    #[test]
    fn numbers_compare_by_what_they_are_worth() {
        check("EQ", Some(Value::Double(3.0)), &expect!["3"]);
        check("GT", Some(Value::Integer(3)), &expect!["3.5 2^53+1 2^53 double greatest"]);
        check("GTE", Some(Value::Double(3.5)), &expect!["3.5 2^53+1 2^53 double greatest"]);
        check("EQ", Some(Value::Double((1_i64 << 53) as f64)), &expect!["2^53 double"]);
        check("GT", Some(Value::Double((1_i64 << 53) as f64)), &expect!["2^53+1 greatest"]);
        check("LT", Some(Value::Integer((1_i64 << 53) + 1)), &expect!["3 3.5 2^53 double"]);
        // The nearest double of the greatest integer is one more than it.
        check("LT", Some(Value::Double(i64::MAX as f64)), &expect!["3 3.5 2^53+1 2^53 double greatest"]);
        check("LTE", Some(Value::Double(f64::NAN)), &expect![""]);
    }

    #[test]
    fn a_missing_property_is_null_and_nothing_else() {
        check("IS_NULL", None, &expect!["missing"]);
        check("EQ", None, &expect!["missing"]);
        for operation in ["NOT_IS_NULL", "NEQ", "NOT_GT"] {
            check(
                operation,
                None,
                &expect!["true 3 3.5 2^53+1 2^53 double greatest abc empty [1,2,3] [] [a,b]"],
            );
        }
        check("GT", None, &expect![""]);
        check(
            "NEQ",
            Some(Value::Integer(3)),
            &expect!["true 3.5 2^53+1 2^53 double greatest abc empty [1,2,3] [] [a,b]"],
        );
        check("NOT_NEQ", Some(Value::Integer(3)), &expect!["3"]);
    }

    #[test]
    fn strings_and_lists_are_looked_into() {
        let text = |text: &'static str| Some(Value::String(text.into()));
        check("STARTS_WITH", text("a"), &expect!["abc [a,b]"]);
        check("CONTAINS", text("b"), &expect!["abc [a,b]"]);
        check("ENDS_WITH", text("bc"), &expect!["abc"]);
        check("CONTAINS", text(""), &expect!["abc empty"]);
        check("CONTAINS", Some(Value::Double(2.0)), &expect!["[1,2,3]"]);
        check("CONTAINS", Some(Value::IntegerList(vec![2, 3])), &expect!["[1,2,3]"]);
        check("CONTAINS", Some(Value::IntegerList(vec![1, 3])), &expect![""]);
        check("CONTAINS", Some(Value::IntegerList(vec![])), &expect!["[1,2,3] [] [a,b]"]);
        check("ENDS_WITH", Some(Value::IntegerList(vec![2, 3])), &expect!["[1,2,3]"]);
        check("STARTS_WITH", Some(Value::IntegerList(vec![2, 3])), &expect![""]);
        check("STARTS_WITH", Some(Value::IntegerList(vec![])), &expect!["[1,2,3] [] [a,b]"]);
        check("GT", text("ab"), &expect!["abc"]);
        check("GT", Some(Value::IntegerList(vec![1, 2])), &expect!["[1,2,3]"]);
        check("EQ", Some(Value::DoubleList(vec![1.0, 2.0, 3.0])), &expect!["[1,2,3]"]);
        check("EQ", Some(Value::StringList(vec![])), &expect!["[]"]);
        check("IN", Some(Value::IntegerList(vec![3, 4])), &expect!["3"]);
        check("IN", Some(Value::IntegerList(vec![])), &expect![""]);
        check(
            "NOT_IN",
            Some(Value::StringList(vec!["abc".into(), "".into()])),
            &expect!["true 3 3.5 2^53+1 2^53 double greatest [1,2,3] [] [a,b]"],
        );
    }

    /// They are tried at each place of the list up to some length, and searched for from there on.
    #[test]
    fn lists_of_any_length_are_found_in_another() {
        let list = Value::DoubleList((0..40).map(|number| f64::from(number % 7)).collect());
        for length in 1..30 {
            let values = |last: i64| {
                let values = (3..3 + length).map(|number| number % 7);
                Value::IntegerList(values.chain([last]).collect())
            };
            let holds = |value| {
                let condition =
                    Condition { property: "p", test: Test::Contains, not: false, value: Some(value) };
                condition.holds(Some(&list))
            };
            assert!(holds(values((3 + length) % 7)), "{length}");
            assert!(!holds(values((4 + length) % 7)), "{length}");
        }
    }

    #[test]
    fn unknown_operations_are_none() {
        for name in ["", "eq", "NOT_", "NOT_NOT_EQ", "IN"] {
            assert_eq!(Test::parse(name), None, "{name}");
        }
    }

    proptest! {
        /// Against 128 bits, in which every double that is near an integer of 64 bits is a fraction of 2^11.
        #[test]
        fn integers_and_doubles_are_ordered_exactly(integer in any::<i64>(), step in -8..=8_i64, half in any::<bool>()) {
            let near = (integer as f64) + step as f64 * 1024.0 + if half { 0.5 } else { 0.0 };
            let fraction = near - near.trunc();
            let (a, b) = (i128::from(integer) << 11, ((near.trunc() as i128) << 11) + (fraction * 2048.0) as i128);
            prop_assert_eq!(crate::types::order::order_numbers(integer, near), Some(a.cmp(&b)));
        }
    }
}
