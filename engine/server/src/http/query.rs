//! Query strings: the parameters of a GET request, decoded as `application/x-www-form-urlencoded`.

use std::borrow::Cow;

use super::percent;

/// Finds a parameter; the first one wins. An error when it is not UTF-8.
pub(crate) fn parameter(query: &str, name: &str) -> Result<Option<String>, ()> {
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if decode(key).as_deref() == Some(name.as_bytes()) {
            return decode(value)
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
fn decode(text: &str) -> Option<Cow<'_, [u8]>> {
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        return percent::bytes(&spaced).map(|decoded| Cow::Owned(decoded.into_owned()));
    }
    percent::bytes(text)
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
