//! Query strings: the parameters of a GET request, decoded as `application/x-www-form-urlencoded`.

use std::{borrow::Cow, fmt};

use super::percent;

/// A parameter's value is no UTF-8, or a `%` in it has no two hexadecimal digits behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidEncoding;

impl fmt::Display for InvalidEncoding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the value is not UTF-8 in percent-encoding")
    }
}

impl std::error::Error for InvalidEncoding {}

/// Finds a parameter; the first one wins.
///
/// # Errors
/// The parameter is there, and its value is no text.
pub fn parameter(query: &str, name: &str) -> Result<Option<String>, InvalidEncoding> {
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if decode(key).as_deref() == Some(name.as_bytes()) {
            return decode(value)
                .and_then(|bytes| String::from_utf8(bytes.into_owned()).ok())
                .map(Some)
                .ok_or(InvalidEncoding);
        }
    }
    Ok(None)
}

/// Whether a parameter is there, with or without a value.
pub fn has(query: &str, name: &str) -> bool {
    query.split('&').any(|pair| pair.split('=').next() == Some(name))
}

/// The names of the parameters in their order, with those that are there twice.
///
/// # Errors
/// A name is no text.
pub fn names(query: &str) -> Result<Vec<String>, InvalidEncoding> {
    let name = |pair: &str| {
        let bytes = decode(pair.split('=').next().unwrap_or_default())?;
        String::from_utf8(bytes.into_owned()).ok()
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| name(pair).ok_or(InvalidEncoding)).collect()
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
        assert_eq!(names(query).unwrap(), ["query", "a b", "variables", "query", "empty"]);
        assert_eq!(names("&&").unwrap(), [""; 0]);
        assert!(names("a=b&%ff=c").is_err());
        for broken in ["q=%", "q=%4", "q=%zz", "q=%ff"] {
            assert!(parameter(broken, "q").is_err(), "{broken}");
        }
    }
}
