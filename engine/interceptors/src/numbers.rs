//! Whole numbers that JavaScript cannot hold: beyond 2^53 they go to functions as texts of their digits, and are numbers again where a
//! function leaves these as they are.

use serde_json::{Number, Value as Json};

/// `Number.MAX_SAFE_INTEGER`.
const MAX_SAFE: u64 = (1 << 53) - 1;
/// Numbers with fewer digits are not beyond it.
const DIGITS: usize = 16;

/// JSON text with such numbers as texts.
pub(crate) fn large_as_texts(json: Vec<u8>) -> Vec<u8> {
    if !may_have_large(&json) {
        return json;
    }
    let mut out = Vec::with_capacity(json.len() + 32);
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        let end = match byte {
            b'"' => string_end(&json, at),
            b'-' | b'0'..=b'9' => number_end(&json, at),
            _ => at + 1,
        };
        let token = &json[at..end];
        if is_large(token) {
            out.push(b'"');
            out.extend_from_slice(token);
            out.push(b'"');
        } else {
            out.extend_from_slice(token);
        }
        at = end;
    }
    out
}

/// What a function has returned, JSON text as what it was given, with numbers where their texts stand as they were given. Else a function
/// that has nothing to do with them would change columns of JSON.
pub(crate) fn with_numbers(returned: Vec<u8>, given: &[u8]) -> Vec<u8> {
    let parsed = (serde_json::from_slice(&returned), serde_json::from_slice(given));
    let (Ok(mut value), Ok(given)) = parsed else { return returned };
    put_back(&mut value, &given);
    serde_json::to_vec(&value).unwrap_or(returned)
}

fn put_back(returned: &mut Json, given: &Json) {
    match (returned, given) {
        (Json::Array(returned), Json::Array(given)) => {
            returned.iter_mut().zip(given).for_each(|(returned, given)| put_back(returned, given));
        }
        (Json::Object(returned), Json::Object(given)) => {
            for (name, returned) in returned {
                if let Some(given) = given.get(name) {
                    put_back(returned, given);
                }
            }
        }
        (returned, Json::Number(number))
            if is_large_number(number) && returned.as_str() == Some(number.to_string().as_str()) =>
        {
            *returned = Json::Number(number.clone());
        }
        _ => {}
    }
}

fn is_large_number(number: &Number) -> bool {
    let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
    size.is_some_and(|size| size > MAX_SAFE)
}

/// Whether so many digits follow each other anywhere, also in texts.
pub(crate) fn may_have_large(json: &[u8]) -> bool {
    let mut run = 0;
    json.iter().any(|byte| {
        run = if byte.is_ascii_digit() { run + 1 } else { 0 };
        run == DIGITS
    })
}

/// Behind the closing quote.
fn string_end(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = json.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    json.len()
}

fn number_end(json: &[u8], start: usize) -> usize {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let length = json[start..].iter().position(|byte| !is_part(byte));
    length.map_or(json.len(), |length| start + length)
}

fn is_large(token: &[u8]) -> bool {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    let is_whole = digits.len() >= DIGITS && digits.iter().all(u8::is_ascii_digit);
    let value = || std::str::from_utf8(digits).ok()?.parse::<u64>().ok();
    is_whole && value().is_none_or(|value| value > MAX_SAFE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_whole_numbers_become_texts() {
        for (json, expected) in [
            (r#"{"a":9007199254740991,"b":[1]}"#, r#"{"a":9007199254740991,"b":[1]}"#),
            (r#"[9007199254740992,-9007199254740993]"#, r#"["9007199254740992","-9007199254740993"]"#),
            (r#"["9007199254740993","\"9007199254740993"]"#, r#"["9007199254740993","\"9007199254740993"]"#),
            ("1.2345678901234567", "1.2345678901234567"),
            ("12345678901234567e3", "12345678901234567e3"),
            ("[99999999999999999999999]", "[\"99999999999999999999999\"]"),
        ] {
            let out = large_as_texts(json.as_bytes().to_vec());
            assert_eq!(String::from_utf8(out).as_deref(), Ok(expected), "{json}");
        }
    }

    #[test]
    fn texts_that_are_left_are_numbers_again() {
        let given = r#"[{"id":9007199254740993,"deep":[1,{"n":-9007199254740993}],"small":7,"text":"9007199254740993"}]"#;
        for (returned, expected) in [
            (
                r#"[{"id":"9007199254740993","deep":[1,{"n":"-9007199254740993"}],"small":7,"text":"9007199254740993"}]"#,
                given,
            ),
            (
                r#"[{"id":"9007199254740994","deep":["-9007199254740993"],"small":"7","new":"9007199254740993"},1]"#,
                r#"[{"id":"9007199254740994","deep":["-9007199254740993"],"small":"7","new":"9007199254740993"},1]"#,
            ),
            ("null", "null"),
        ] {
            let out = with_numbers(returned.as_bytes().to_vec(), given.as_bytes());
            assert_eq!(String::from_utf8(out).as_deref(), Ok(expected), "{returned}");
        }
    }
}
