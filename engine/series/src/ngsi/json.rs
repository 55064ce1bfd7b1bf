//! JSON as it was sent, borrowed from the body: what a notification says is looked at once and written to the store.

use std::{borrow::Cow, fmt};

use prony_graphql::json::write_string;
use serde::{
    Deserialize as _, Deserializer,
    de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// Where the lists, the objects and the texts with escapes of a body are, until it is written.
pub(crate) type Arena = bumpalo::Bump;

/// A JSON value. Members keep their order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    /// An integer beyond 64 bits, as it was written.
    LongInteger(&'a str),
    Double(f64),
    Text(&'a str),
    List(&'a [Json<'a>]),
    Object(&'a [(&'a str, Json<'a>)]),
}

impl<'a> Json<'a> {
    /// Reads a whole body.
    pub(crate) fn read(bytes: &'a [u8], arena: &'a Arena) -> Result<Self, serde_json::Error> {
        let keeps_digits = has_long_number(bytes);
        let mut reader =
            JsonReader { arena, values: Vec::new(), members: Vec::new(), keeps_digits, depth: 0 };
        // The whole at once is known to be UTF-8 sooner than each text.
        match std::str::from_utf8(bytes) {
            Ok(text) => reader.read(serde_json::Deserializer::from_str(text)),
            Err(_) => reader.read(serde_json::Deserializer::from_slice(bytes)),
        }
    }

    /// The last member of this name.
    pub(crate) fn member(&self, name: &str) -> Option<&'a Self> {
        let Self::Object(members) = self else { return None };
        members.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// As JSON text without spaces.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Boolean(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Self::Integer(value) => out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes()),
            Self::LongInteger(digits) => out.extend_from_slice(digits.as_bytes()),
            Self::Double(value) => write_double(out, *value),
            Self::Text(text) => write_string(out, text),
            Self::List(values) => {
                for (place, value) in values.iter().enumerate() {
                    out.push(if place == 0 { b'[' } else { b',' });
                    value.write(out);
                }
                out.extend_from_slice(if values.is_empty() { b"[]" } else { b"]" });
            }
            Self::Object(members) => {
                for (place, (key, value)) in members.iter().enumerate() {
                    out.push(if place == 0 { b'{' } else { b',' });
                    write_string(out, key);
                    out.push(b':');
                    value.write(out);
                }
                out.extend_from_slice(if members.is_empty() { b"{}" } else { b"}" });
            }
        }
    }

    /// A number of any size, which may be no longer finite.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::LongInteger(digits) => digits.parse().ok(),
            Self::Double(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn to_text(self) -> String {
        let mut out = Vec::new();
        self.write(&mut out);
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    /// As Python's `str` writes it.
    pub(crate) fn python(&self) -> Cow<'a, str> {
        if let Self::Text(text) = self {
            return Cow::Borrowed(text);
        }
        let mut out = String::new();
        self.python_repr(&mut out);
        Cow::Owned(out)
    }

    fn python_repr(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("None"),
            Self::Boolean(value) => out.push_str(if *value { "True" } else { "False" }),
            Self::Integer(value) => out.push_str(itoa::Buffer::new().format(*value)),
            Self::LongInteger(digits) => out.push_str(digits),
            Self::Double(value) => out.push_str(&python_double(*value)),
            Self::Text(text) => python_text(text, out),
            Self::List(values) => {
                out.push('[');
                for (place, value) in values.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { ", " });
                    value.python_repr(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (place, (key, value)) in members.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { ", " });
                    python_text(key, out);
                    out.push_str(": ");
                    value.python_repr(out);
                }
                out.push('}');
            }
        }
    }
}

fn python_text(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for char in text.chars() {
        match char {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            _ if char == quote => out.extend(['\\', char]),
            _ if is_printable(char) => out.push(char),
            _ => {
                let code = u32::from(char);
                let escaped = match code {
                    0..0x100 => format!("\\x{code:02x}"),
                    0x100..0x1_0000 => format!("\\u{code:04x}"),
                    _ => format!("\\U{code:08x}"),
                };
                out.push_str(&escaped);
            }
        }
    }
    out.push(quote);
}

/// As Python's `str.isprintable` has it: no control or format characters, no blanks but the space, nothing that is not assigned.
fn is_printable(char: char) -> bool {
    if char.is_ascii() {
        return !char.is_ascii_control();
    }
    // Behind another character, so that combining ones stay as they are.
    let mut buffer = [b'a', 0, 0, 0, 0];
    let length = char.encode_utf8(&mut buffer[1..]).len();
    let text = std::str::from_utf8(&buffer[..=length]).expect("two characters were written");
    text.escape_debug().count() == 2
}

/// As Python's `repr` writes a float: the shortest digits, with an exponent below 0.0001 and from 10^16 on.
fn python_double(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').expect("an exponent was asked for");
    let exponent: i32 = exponent.parse().expect("an exponent is an integer");
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let text = value.to_string();
    if text.contains('.') { text } else { text + ".0" }
}

/// The shortest text that reads back as the same number, with `.0` where it is whole. There is no JSON for those that are not finite.
pub(crate) fn write_double(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format(value).as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

/// Makes a value: what is not in the body goes to the arena, and parts of lists and objects that are not at their end wait in lists for all.
struct JsonReader<'a> {
    arena: &'a Arena,
    values: Vec<Json<'a>>,
    members: Vec<(&'a str, Json<'a>)>,
    /// Whether numbers are looked at as they are written, which takes longer.
    keeps_digits: bool,
    /// Of the value that is read, where that is so.
    depth: usize,
}

/// Lists and objects within each other, as `serde_json` has it.
const DEPTH_MAX: usize = 128;

/// As many digits as a number has at least that 64 bits do not hold.
const LONG_DIGITS: usize = 19;

/// Whether there may be an integer beyond 64 bits: digits in a row, one of which is found at every place that is so far from the last.
fn has_long_number(bytes: &[u8]) -> bool {
    let mut place = LONG_DIGITS - 1;
    while let Some(byte) = bytes.get(place) {
        if !byte.is_ascii_digit() {
            place += LONG_DIGITS;
            continue;
        }
        let before = bytes[..place].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let behind = bytes[place..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if before + behind >= LONG_DIGITS {
            return true;
        }
        place += behind + LONG_DIGITS;
    }
    false
}

fn is_long_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.len() >= LONG_DIGITS
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && text.parse::<i64>().is_err()
}

impl<'a> JsonReader<'a> {
    fn read<R: serde_json::de::Read<'a>>(
        &mut self,
        mut deserializer: serde_json::Deserializer<R>,
    ) -> Result<Json<'a>, serde_json::Error> {
        let json = Next(self).deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(json)
    }
}

/// A value that comes next.
struct Next<'r, 'a>(&'r mut JsonReader<'a>);

impl<'a> DeserializeSeed<'a> for Next<'_, 'a> {
    type Value = Json<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Json<'a>, D::Error> {
        if !self.0.keeps_digits {
            return deserializer.deserialize_any(self);
        }
        let text = <&'a RawValue>::deserialize(deserializer)?.get();
        if is_long_integer(text) {
            return Ok(Json::LongInteger(text));
        }
        let Self(reader) = self;
        if reader.depth == DEPTH_MAX {
            return Err(D::Error::custom("recursion limit exceeded"));
        }
        reader.depth += 1;
        let value = serde_json::Deserializer::from_str(text).deserialize_any(Next(&mut *reader));
        reader.depth -= 1;
        value.map_err(D::Error::custom)
    }
}

impl<'a> Visitor<'a> for Next<'_, 'a> {
    type Value = Json<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'a>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'a>, E> {
        Ok(Json::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'a>, E> {
        Ok(Json::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'a>, E> {
        Ok(i64::try_from(value).map_or(Json::Double(value as f64), Json::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'a>, E> {
        Ok(Json::Double(value))
    }

    fn visit_borrowed_str<E>(self, value: &'a str) -> Result<Json<'a>, E> {
        Ok(Json::Text(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json<'a>, E> {
        Ok(Json::Text(self.0.arena.alloc_str(value)))
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut values: A) -> Result<Json<'a>, A::Error> {
        let begin = self.0.values.len();
        while let Some(value) = values.next_element_seed(Next(self.0))? {
            self.0.values.push(value);
        }
        let list = self.0.arena.alloc_slice_copy(&self.0.values[begin..]);
        self.0.values.truncate(begin);
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<Json<'a>, A::Error> {
        let begin = self.0.members.len();
        while let Some(key) = members.next_key_seed(Key(self.0.arena))? {
            let value = members.next_value_seed(Next(self.0))?;
            self.0.members.push((key, value));
        }
        let object = self.0.arena.alloc_slice_copy(&self.0.members[begin..]);
        self.0.members.truncate(begin);
        Ok(Json::Object(object))
    }
}

/// The key of a member.
struct Key<'a>(&'a Arena);

impl<'a> DeserializeSeed<'a> for Key<'a> {
    type Value = &'a str;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<&'a str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Key<'a> {
    type Value = &'a str;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, value: &'a str) -> Result<&'a str, E> {
        Ok(value)
    }

    fn visit_str<E>(self, value: &str) -> Result<&'a str, E> {
        Ok(self.0.alloc_str(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The right forms are what `CPython` 3.11 gives for `str(json.loads(…))`.
    #[test]
    fn texts_are_those_of_python() {
        for (json, python) in [
            ("1e16", "1e+16"),
            ("1e15", "1000000000000000.0"),
            ("9999999999999998.0", "9999999999999998.0"),
            ("123456789012345680.0", "1.2345678901234568e+17"),
            ("0.00001", "1e-05"),
            ("0.0001", "0.0001"),
            ("0.00012345", "0.00012345"),
            ("1.5e-7", "1.5e-07"),
            ("-2.5e300", "-2.5e+300"),
            ("5e-324", "5e-324"),
            ("1e22", "1e+22"),
            ("0.1", "0.1"),
            ("31.245270191439438", "31.245270191439438"),
            ("121.48791951161945", "121.48791951161945"),
            ("100.0", "100.0"),
            ("-0.0", "-0.0"),
            ("9223372036854775807", "9223372036854775807"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "9223372036854775808"),
            ("-9223372036854775809", "-9223372036854775809"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            (
                "[123456789012345678901234567890, 1.0, {\"a\": -1e-9}]",
                "[123456789012345678901234567890, 1.0, {'a': -1e-09}]",
            ),
            (
                "[\"12345678901234567890\", 0.12345678901234567890]",
                "['12345678901234567890', 0.12345678901234568]",
            ),
            (
                r#"["\u0007", "\u00a0", "\u001b[0m", "\u007f", "\u0085", "\u00ad"]"#,
                r"['\x07', '\xa0', '\x1b[0m', '\x7f', '\x85', '\xad']",
            ),
            (
                r#"["\u200b", "\u2028", "\ue000", "\u3000", "\ufeff"]"#,
                r"['\u200b', '\u2028', '\ue000', '\u3000', '\ufeff']",
            ),
            (
                r#"["\udb40\udc01", "\ud83d\ude00", "a\u0301", "\u0301", "ü", "日本"]"#,
                "['\\U000e0001', '😀', 'a\u{301}', '\u{301}', 'ü', '日本']",
            ),
            (
                r#"["it's", "say \"x\"", "'\"", "a\\b", "\n\r\t"]"#,
                r#"["it's", 'say "x"', '\'"', 'a\\b', '\n\r\t']"#,
            ),
            (r#"{"a\u0000": null, "b": [true, []]}"#, r"{'a\x00': None, 'b': [True, []]}"),
            (r#""\u0007""#, "\u{7}"),
        ] {
            let arena = Arena::new();
            let value = Json::read(json.as_bytes(), &arena).unwrap();
            assert_eq!(value.python(), python, "{json}");
        }
    }

    #[test]
    fn long_integers_keep_their_digits_wherever_they_are() {
        for before in 0..40 {
            let blanks = " ".repeat(before);
            for number in ["9223372036854775808", "-9223372036854775809", "18446744073709551616"] {
                let text = format!("{blanks}{{\"a\": [1,{number}]}}");
                let arena = Arena::new();
                let value = Json::read(text.as_bytes(), &arena).unwrap();
                assert_eq!(value.to_text(), format!("{{\"a\":[1,{number}]}}"));
            }
        }
    }

    #[test]
    fn depth_is_bounded_with_long_integers_too() {
        for number in ["1", "12345678901234567890"] {
            let nested = |depth: usize| format!("{}{number}{}", "[".repeat(depth), "]".repeat(depth));
            let is_read = |depth: usize| Json::read(nested(depth).as_bytes(), &Arena::new()).is_ok();
            assert!(is_read(100), "{number}");
            assert!(!is_read(100_000), "{number}");
        }
    }
}
