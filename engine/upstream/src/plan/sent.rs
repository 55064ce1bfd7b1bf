//! Values as their client has sent them: as they were checked, and with every digit of their numbers.

use std::collections::HashMap;

use prony_graphql::json;
use serde_json::{Number, Value as Json, value::RawValue};

/// The members of an object, of each name the last, which is the one that was checked.
pub(super) fn members(text: &str) -> HashMap<String, &RawValue> {
    serde_json::from_str(text).unwrap_or_default()
}

/// A value that was read from `sent` and checked, which may have changed it. Only numbers are written as they were sent: where names
/// stand twice, or there is more than was checked, nobody reads something else in it than was checked.
pub(super) fn write(out: &mut Vec<u8>, value: &Json, sent: &RawValue) {
    let text = sent.get();
    match value {
        Json::Number(number) if serde_json::from_str::<Number>(text).is_ok_and(|sent| sent == *number) => {
            out.extend_from_slice(text.as_bytes());
        }
        Json::Array(items) if text.starts_with('[') => {
            let sent: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_member(out, item, sent.get(index).copied());
            }
            out.push(b']');
        }
        // One that stands for a list of one.
        Json::Array(items) if items.len() == 1 => {
            out.push(b'[');
            write(out, &items[0], sent);
            out.push(b']');
        }
        Json::Object(entries) if text.starts_with('{') => {
            let sent = members(text);
            out.push(b'{');
            for (index, (name, entry)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                json::write_string(out, name);
                out.push(b':');
                write_member(out, entry, sent.get(name).copied());
            }
            out.push(b'}');
        }
        other => write_plain(out, other),
    }
}

/// As it was checked.
pub(super) fn write_plain(out: &mut Vec<u8>, value: &Json) {
    serde_json::to_writer(out, value).expect("memory takes it");
}

fn write_member(out: &mut Vec<u8>, value: &Json, sent: Option<&RawValue>) {
    match sent {
        Some(sent) => write(out, value, sent),
        None => write_plain(out, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, sent: &str, expected: &str) {
        let value: Json = serde_json::from_str(value).expect("it is JSON");
        let mut out = Vec::new();
        write(&mut out, &value, serde_json::from_str(sent).expect("it is JSON"));
        assert_eq!(String::from_utf8(out).expect("it is text"), expected, "{sent}");
    }

    #[test]
    fn numbers_keep_their_digits() {
        let long = "123456789012345678901234567890";
        check(long, long, long);
        check("1.5", "1.50", "1.50");
        for text in [
            "[123456789012345678901, null, [0.12345678901234567890]]",
            "{\"a\":{\"b\":12345678901234567890123}}",
        ] {
            check(text, text, &text.replace(", ", ","));
        }
        check(&format!("[{long}]"), long, &format!("[{long}]"));
    }

    #[test]
    fn what_was_checked_is_what_is_written() {
        check("1", "1.0", "1");
        check("\"7\"", "7", "\"7\"");
        check("{\"a\":2}", "{\"a\":1,\"b\":3,\"a\":2}", "{\"a\":2}");
        check("{\"a\":2,\"default\":5}", "{\"a\":2}", "{\"a\":2,\"default\":5}");
        check("[1,2]", "[1]", "[1,2]");
        check("{\"\\\"\":[true,\"x\"]}", "{\"\\u0022\":[true,\"x\"]}", "{\"\\\"\":[true,\"x\"]}");
    }
}
