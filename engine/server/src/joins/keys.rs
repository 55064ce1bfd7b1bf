//! Keys of joins: which are the same, and how they are given to who is asked for them.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use prony_graphql::Name;
use serde_json::{Number, Value as Json};

/// When two keys are the same. A number and the same number as a text always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyComparison {
    /// Letter by letter; numbers of JSON by their values.
    Texts,
    /// By their values, also where they are texts.
    Numbers,
    /// By their 32 digits, where they have them.
    Uuids,
}

/// How the argument takes keys. A key that it cannot take is that of nothing, and is not asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyForm {
    /// Integers of 32 bits.
    Ints,
    /// Integers of 64 bits.
    BigInts,
    Floats,
    Decimals,
    Uuids,
    /// In base64.
    Bytes,
    Texts,
    Booleans,
    /// Values of an enumeration.
    Labels(Arc<[Name]>),
    AsTheyAre,
}

/// A key as it came: a scalar that is not null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyText {
    /// Of a string what is in it; of all else the JSON.
    pub(super) text: String,
    pub(super) is_string: bool,
}

impl KeyComparison {
    /// Of types by their names, of which one is that of the parent's key, and the other that of what comes.
    pub(super) fn of(types: [&str; 2]) -> Self {
        let is_number = |name: &str| matches!(name, "Int" | "Float" | "BigInt" | "Decimal");
        if types.into_iter().any(is_number) {
            Self::Numbers
        } else if types.contains(&"UUID") {
            Self::Uuids
        } else {
            Self::Texts
        }
    }

    /// What keys that are the same have in common.
    pub(super) fn normal(self, key: KeyText) -> String {
        let normal = match self {
            Self::Texts if key.is_string => None,
            Self::Texts | Self::Numbers => normal_number(&key.text),
            Self::Uuids => uuid_digits(&key.text),
        };
        normal.unwrap_or(key.text)
    }
}

impl KeyForm {
    /// Of the type of the list's items.
    pub(super) fn of(type_name: &str) -> Self {
        match type_name {
            "Int" => Self::Ints,
            "BigInt" => Self::BigInts,
            "Float" => Self::Floats,
            "Decimal" => Self::Decimals,
            "UUID" => Self::Uuids,
            "Bytes" => Self::Bytes,
            "String" | "ID" => Self::Texts,
            "Boolean" => Self::Booleans,
            _ => Self::AsTheyAre,
        }
    }

    /// The key as it is given; none where the argument takes no such value.
    pub(super) fn value(&self, key: &KeyText) -> Option<Json> {
        let KeyText { text, is_string } = key;
        let as_text = || Json::String(text.clone());
        match self {
            Self::Ints => i32::try_from(integer(text)?).ok().map(Json::from),
            Self::BigInts => integer(text).map(Json::from),
            Self::Floats => {
                normal_number(text)?;
                Number::from_f64(text.parse().ok()?).map(Json::Number)
            }
            Self::Decimals => normal_number(text).map(|_| as_text()),
            Self::Uuids => uuid_digits(text).map(|_| as_text()),
            Self::Bytes => STANDARD.decode(text).is_ok().then(as_text),
            Self::Texts => Some(
                integer(text).filter(|_| !is_string).map_or_else(as_text, |number| number.to_string().into()),
            ),
            Self::Booleans => match text.as_str() {
                "true" => Some(Json::Bool(true)),
                "false" => Some(Json::Bool(false)),
                _ => None,
            },
            Self::Labels(known) => known.iter().any(|label| *label == **text).then(as_text),
            Self::AsTheyAre if *is_string => Some(as_text()),
            Self::AsTheyAre => {
                // One that would lose digits is given as its text.
                let keeps_digits = |value: &Json| {
                    let written = value.to_string();
                    written == *text && !value.is_string()
                };
                Some(serde_json::from_str(text).ok().filter(keeps_digits).unwrap_or_else(as_text))
            }
        }
    }
}

/// Zeros that the normal form of a number has behind its digits at most; more become an exponent.
const ZEROS_MAX: i64 = 40;

/// A number with as few digits as it has, whichever way it was written; none of a text that is no number.
fn normal_number(text: &str) -> Option<String> {
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |unsigned| ("-", unsigned));
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, i64::from(exponent.parse::<i32>().ok()?)),
        None => (unsigned, 0),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (mantissa, ""),
    };
    if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let digits = significant.trim_end_matches('0');
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let exponent = exponent - length(fraction) + (length(significant) - length(digits));
    Some(match exponent {
        0..=ZEROS_MAX => format!("{sign}{digits}{}", "0".repeat(exponent as usize)),
        _ => format!("{sign}{digits}e{exponent}"),
    })
}

fn integer(text: &str) -> Option<i64> {
    normal_number(text)?.parse().ok()
}

/// The digits of a UUID in lower case, with or without hyphens between them.
fn uuid_digits(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|letter| *letter != '-').collect();
    let is_uuid = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_uuid.then(|| digits.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn string(text: &str) -> KeyText {
        KeyText { text: text.to_owned(), is_string: true }
    }

    fn number(text: &str) -> KeyText {
        KeyText { text: text.to_owned(), is_string: false }
    }

    #[test]
    fn numbers_are_the_same_whichever_way_they_are_written() {
        let same = |one: KeyText, other: KeyText| {
            KeyComparison::Numbers.normal(one) == KeyComparison::Numbers.normal(other)
        };
        for (one, other) in [
            ("1", "1.0"),
            ("-0", "0.000"),
            ("1e3", "1000"),
            ("0.00000010", "1E-7"),
            ("12345678901234567890123.0", "12345678901234567890123"),
            ("1e400", "10e399"),
        ] {
            assert!(same(number(one), number(other)), "{one} {other}");
            assert!(same(string(one), number(other)), "{one} {other}");
        }
        for (one, other) in
            [("1", "10"), ("1", "-1"), ("0.1", "0.01"), ("9007199254740993", "9007199254740992")]
        {
            assert!(!same(number(one), number(other)), "{one} {other}");
        }
        assert_eq!(KeyComparison::Numbers.normal(string("one")), "one");
        assert_eq!(KeyComparison::Numbers.normal(string("1.")), "1.");
    }

    #[test]
    fn texts_are_the_same_letter_by_letter() {
        let texts = KeyComparison::Texts;
        assert_eq!(texts.normal(string("1.0")), "1.0");
        assert_eq!(texts.normal(number("1.0")), "1");
        assert_eq!(texts.normal(string("A")), "A");
        assert_eq!(texts.normal(number("true")), "true");
    }

    #[test]
    fn uuids_are_the_same_in_upper_and_lower_case() {
        let (upper, lower) = ("123E4567-E89B-12D3-A456-42661417400A", "123e4567-e89b-12d3-a456-42661417400a");
        let normal = |comparison: KeyComparison, text: &str| comparison.normal(string(text));
        let uuids = KeyComparison::of(["String", "UUID"]);
        assert_eq!(normal(uuids, upper), normal(uuids, lower));
        assert_eq!(normal(uuids, "123e4567e89b12d3a45642661417400a"), normal(uuids, lower));
        assert_ne!(normal(uuids, "Ab"), normal(uuids, "ab"));
        let texts = KeyComparison::of(["String", "ID"]);
        assert_ne!(normal(texts, upper), normal(texts, lower));
    }

    #[test]
    fn keys_are_given_as_the_argument_takes_them() {
        let given = |ty: &str, key: &KeyText| KeyForm::of(ty).value(key);
        assert_eq!(given("Int", &string("7")), Some(json!(7)));
        assert_eq!(given("Int", &number("7.0")), Some(json!(7)));
        for none in [string("x"), string(""), number("1.5"), number("2147483648"), number("true")] {
            assert_eq!(given("Int", &none), None, "{none:?}");
        }
        assert_eq!(given("BigInt", &string("9007199254740993")), Some(json!(9_007_199_254_740_993_i64)));
        assert_eq!(given("BigInt", &string("9223372036854775808")), None);
        assert_eq!(given("Float", &string("1.5")), Some(json!(1.5)));
        assert_eq!(given("Float", &string("inf")), None);
        assert_eq!(given("Decimal", &number("1.10")), Some(json!("1.10")));
        assert_eq!(given("Decimal", &string("a")), None);
        assert_eq!(given("UUID", &string("no UUID")), None);
        assert_eq!(given("Bytes", &string("AP8=")), Some(json!("AP8=")));
        assert_eq!(given("Bytes", &string("a")), None);
        assert_eq!(given("ID", &number("1.0")), Some(json!("1")));
        assert_eq!(given("ID", &string("1.0")), Some(json!("1.0")));
        assert_eq!(given("Big", &number("12345678901234567890123")), Some(json!("12345678901234567890123")));
        assert_eq!(given("Big", &number("5")), Some(json!(5)));
        assert_eq!(given("Boolean", &string("true")), Some(json!(true)));
        assert_eq!(given("Boolean", &number("false")), Some(json!(false)));
        assert_eq!(given("Boolean", &string("yes")), None);
        let labels = KeyForm::Labels(Arc::new([Name::new_static_unchecked("RED")]));
        assert_eq!(labels.value(&string("RED")), Some(json!("RED")));
        for none in [string("red"), string(""), number("1")] {
            assert_eq!(labels.value(&none), None, "{none:?}");
        }
    }
}
