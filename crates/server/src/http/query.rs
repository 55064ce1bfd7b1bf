//! Query strings: the parameters of a GET request, decoded as `application/x-www-form-urlencoded`.

use std::borrow::Cow;

/// Finds a parameter; the first one wins. An error when it is not UTF-8.
pub(crate) fn parameter(query: &str, name: &str) -> Result<Option<String>, ()> {
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if decode(key).as_deref() == Ok(name.as_bytes()) {
            return decode(value)
                .ok()
                .and_then(|bytes| String::from_utf8(bytes.into_owned()).ok())
                .map(Some)
                .ok_or(());
        }
    }
    Ok(None)
}

/// Whether a parameter is there, with or without a value.
pub(crate) fn has(query: &str, name: &str) -> bool {
    query.split('&').any(|pair| pair.split('=').next() == Some(name))
}

/// `+` is a space, `%41` is a byte.
fn decode(text: &str) -> Result<Cow<'_, [u8]>, ()> {
    if !text.contains(['%', '+']) {
        return Ok(Cow::Borrowed(text.as_bytes()));
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || bytes.next().and_then(|digit| char::from(digit).to_digit(16)).ok_or(());
                (digit()? * 16 + digit()?) as u8
            }
            other => other,
        });
    }
    Ok(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query =
            "query=%7Bvenues%7Bid%7D%7D&a+b=c+d&variables=%7B%22x%22%3A%22gr%C3%BCn%22%7D&query=x&empty";
        for (name, expected) in [
            ("query", Ok(Some("{venues{id}}"))),
            ("a b", Ok(Some("c d"))),
            ("variables", Ok(Some("{\"x\":\"gr\u{fc}n\"}"))),
            ("empty", Ok(Some(""))),
            ("none", Ok(None)),
        ] {
            assert_eq!(parameter(query, name), expected.map(|value: Option<&str>| value.map(str::to_owned)));
        }
        for broken in ["q=%", "q=%4", "q=%zz", "q=%ff"] {
            assert!(parameter(broken, "q").is_err(), "{broken}");
        }
    }
}
