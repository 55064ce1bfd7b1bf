//! Input coercion of scalars, one rule for JSON values of variables and for literals of documents.
//!
//! | type | accepted | becomes |
//! |---|---|---|
//! | `Int` | integers of 32 bits, also written `1.0` | JSON integer |
//! | `Float` | finite numbers | JSON number |
//! | `String` | strings | string |
//! | `Boolean` | true, false | boolean |
//! | `ID` | strings, integers | string |
//! | `BigInt` | integers of 64 bits, also as strings of digits | JSON integer |
//! | `Decimal` | numbers, strings that read as one | string, exact where it was one |
//! | `UUID` | strings of 8-4-4-4-12 hexadecimal digits | string |
//! | `Bytes` | strings of base64 with padding (RFC 4648, section 4) | string |
//! | `JSON` and unknown scalars | anything | itself |

use serde_json::{Number, Value as Json};

use crate::error::abridged;

/// A scalar by the rule that coerces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Int,
    Float,
    String,
    Boolean,
    Id,
    BigInt,
    Decimal,
    Uuid,
    Bytes,
    Any,
}

impl Scalar {
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "Int" => Self::Int,
            "Float" => Self::Float,
            "String" => Self::String,
            "Boolean" => Self::Boolean,
            "ID" => Self::Id,
            "BigInt" => Self::BigInt,
            "Decimal" => Self::Decimal,
            "UUID" => Self::Uuid,
            "Bytes" => Self::Bytes,
            _ => Self::Any,
        }
    }

    /// A scalar of the specification (section 3.5), whose name no other type has.
    pub(crate) fn is_specified(self) -> bool {
        matches!(self, Self::Int | Self::Float | Self::String | Self::Boolean | Self::Id)
    }

    fn expectation(self) -> &'static str {
        match self {
            Self::Int => "an Int (-2147483648 to 2147483647)",
            Self::Float => "a Float",
            Self::String => "a String",
            Self::Boolean => "a Boolean",
            Self::Id => "an ID (string or integer)",
            Self::BigInt => "a BigInt (an integer of 64 bits, or a string of its digits)",
            Self::Decimal => "a Decimal (a number, or a string of its digits)",
            Self::Uuid => "a UUID (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx)",
            Self::Bytes => "Bytes (a string of base64 with padding)",
            Self::Any => "a value",
        }
    }

    /// Changes a value that is not null to its coerced form, or says what was expected.
    pub(crate) fn coerce(self, value: &mut Json) -> Result<(), String> {
        let fits = match (self, &*value) {
            (Self::Any, _) | (Self::Boolean, Json::Bool(_)) | (Self::String | Self::Id, Json::String(_)) => {
                true
            }
            (Self::Float, Json::Number(number)) => number.as_f64().is_some_and(f64::is_finite),
            (Self::Decimal, Json::String(text)) => is_decimal(text),
            (Self::Uuid, Json::String(text)) => is_uuid(text),
            (Self::Bytes, Json::String(text)) => is_base64(text),
            _ => match self.converted(value) {
                Some(converted) => {
                    *value = converted;
                    true
                }
                None => false,
            },
        };
        if fits { Ok(()) } else { Err(format!("expected {}, found {}", self.expectation(), describe(value))) }
    }

    fn converted(self, value: &Json) -> Option<Json> {
        match (self, value) {
            (Self::Int, Json::Number(number)) => {
                let integer = integer(number).filter(|&integer| i32::try_from(integer).is_ok())?;
                Some(integer.into())
            }
            (Self::BigInt, Json::Number(number)) => Some(integer(number)?.into()),
            (Self::BigInt, Json::String(text)) => Some(text.parse::<i64>().ok()?.into()),
            (Self::Id, Json::Number(number)) => {
                let digits = match integer(number) {
                    Some(integer) => integer.to_string(),
                    None => number.as_u64()?.to_string(),
                };
                Some(Json::String(digits))
            }
            (Self::Decimal, Json::Number(number)) => Some(Json::String(number.to_string())),
            _ => None,
        }
    }
}

/// An integer, also where it was written with a fraction of zero; none where a float cannot hold it exactly.
fn integer(number: &Number) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    number.as_i64().or_else(|| {
        let float = number
            .as_f64()
            .filter(|float| !number.is_u64() && float.fract() == 0.0 && float.abs() <= EXACT)?;
        Some(float as i64)
    })
}

fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let exponent = exponent.map(|exponent| exponent.strip_prefix(['-', '+']).unwrap_or(exponent));
    [Some(whole), Some(fraction), exponent].into_iter().flatten().all(is_digits)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_base64(text: &str) -> bool {
    let padding = text.bytes().rev().take_while(|&byte| byte == b'=').count();
    let symbols = &text.as_bytes()[..text.len() - padding];
    text.len().is_multiple_of(4)
        && padding <= 2
        && symbols.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

/// A value for a message: its kind and, cut to a few words, its text.
pub(crate) fn describe(value: &Json) -> String {
    match value {
        Json::Null => "null".into(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => format!("the string {:?}", abridged(text)),
        Json::Array(_) => "a list".into(),
        Json::Object(_) => "an object".into(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(scalar: &str, values: &str, expected: &Expect) {
        let values: Vec<Json> = serde_json::from_str(values).unwrap();
        let lines = values.into_iter().map(|mut value| {
            let before = value.to_string();
            match Scalar::of(scalar).coerce(&mut value) {
                Ok(()) => format!("{before} -> {value}\n"),
                Err(message) => format!("{before} -> {message}\n"),
            }
        });
        expected.assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn integers() {
        check(
            "Int",
            r#"[0, -2147483648, 2147483648, 1.0, 1.5, 1e3, "1", true, [1]]"#,
            &expect![[r#"
            0 -> 0
            -2147483648 -> -2147483648
            2147483648 -> expected an Int (-2147483648 to 2147483647), found 2147483648
            1.0 -> 1
            1.5 -> expected an Int (-2147483648 to 2147483647), found 1.5
            1000.0 -> 1000
            "1" -> expected an Int (-2147483648 to 2147483647), found the string "1"
            true -> expected an Int (-2147483648 to 2147483647), found true
            [1] -> expected an Int (-2147483648 to 2147483647), found a list
        "#]],
        );
        check(
            "BigInt",
            r#"[9223372036854775807, 9223372036854775808, "-9223372036854775808", "1.0", 1e15, 1e19, ""]"#,
            &expect![[r#"
                9223372036854775807 -> 9223372036854775807
                9223372036854775808 -> expected a BigInt (an integer of 64 bits, or a string of its digits), found 9223372036854775808
                "-9223372036854775808" -> -9223372036854775808
                "1.0" -> expected a BigInt (an integer of 64 bits, or a string of its digits), found the string "1.0"
                1000000000000000.0 -> 1000000000000000
                1e+19 -> expected a BigInt (an integer of 64 bits, or a string of its digits), found 1e+19
                "" -> expected a BigInt (an integer of 64 bits, or a string of its digits), found the string ""
            "#]],
        );
        check(
            "ID",
            r#"[1, "a", 1.5, true, 18446744073709551615]"#,
            &expect![[r#"
            1 -> "1"
            "a" -> "a"
            1.5 -> expected an ID (string or integer), found 1.5
            true -> expected an ID (string or integer), found true
            18446744073709551615 -> "18446744073709551615"
        "#]],
        );
    }

    #[test]
    fn texts() {
        check(
            "String",
            r#"["", 1, null, {}]"#,
            &expect![[r#"
            "" -> ""
            1 -> expected a String, found 1
            null -> expected a String, found null
            {} -> expected a String, found an object
        "#]],
        );
        check(
            "Float",
            r#"[1, 1.5, "1.5", true]"#,
            &expect![[r#"
            1 -> 1
            1.5 -> 1.5
            "1.5" -> expected a Float, found the string "1.5"
            true -> expected a Float, found true
        "#]],
        );
        check(
            "Decimal",
            r#"["12345678901234567890.123", "-1", "1e-7", 1.25, ".5", "1.", "NaN", ""]"#,
            &expect![[r#"
                "12345678901234567890.123" -> "12345678901234567890.123"
                "-1" -> "-1"
                "1e-7" -> "1e-7"
                1.25 -> "1.25"
                ".5" -> expected a Decimal (a number, or a string of its digits), found the string ".5"
                "1." -> expected a Decimal (a number, or a string of its digits), found the string "1."
                "NaN" -> expected a Decimal (a number, or a string of its digits), found the string "NaN"
                "" -> expected a Decimal (a number, or a string of its digits), found the string ""
            "#]],
        );
        check(
            "UUID",
            r#"["123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000", "x", 1]"#,
            &expect![[r#"
                "123e4567-e89b-12d3-a456-426614174000" -> "123e4567-e89b-12d3-a456-426614174000"
                "123e4567e89b12d3a456426614174000" -> expected a UUID (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx), found the string "123e4567e89b12d3a456426614174000"
                "x" -> expected a UUID (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx), found the string "x"
                1 -> expected a UUID (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx), found 1
            "#]],
        );
        check(
            "Bytes",
            r#"["", "AA==", "AAA=", "AAAA", "AA=A", "====", "A", "A-_A"]"#,
            &expect![[r#"
            "" -> ""
            "AA==" -> "AA=="
            "AAA=" -> "AAA="
            "AAAA" -> "AAAA"
            "AA=A" -> expected Bytes (a string of base64 with padding), found the string "AA=A"
            "====" -> expected Bytes (a string of base64 with padding), found the string "===="
            "A" -> expected Bytes (a string of base64 with padding), found the string "A"
            "A-_A" -> expected Bytes (a string of base64 with padding), found the string "A-_A"
        "#]],
        );
        check(
            "JSON",
            r#"[{"a": [1]}, 1]"#,
            &expect![[r#"
            {"a":[1]} -> {"a":[1]}
            1 -> 1
        "#]],
        );
    }
}
