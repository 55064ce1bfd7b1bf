//! Percent-encoding (RFC 3986, section 2.1).

use std::borrow::Cow;

/// The text that a segment of a path stands for. None where a `%` has no two hexadecimal digits behind it, or where that is
/// not UTF-8.
pub fn text(segment: &str) -> Option<Cow<'_, str>> {
    match bytes(segment)? {
        Cow::Borrowed(_) => Some(Cow::Borrowed(segment)),
        Cow::Owned(decoded) => String::from_utf8(decoded).ok().map(Cow::Owned),
    }
}

/// As [`text`], of any bytes; borrowed where nothing is encoded.
pub fn bytes(text: &str) -> Option<Cow<'_, [u8]>> {
    let bytes = text.as_bytes();
    let Some(first) = memchr::memchr(b'%', bytes) else { return Some(Cow::Borrowed(bytes)) };
    let mut decoded = bytes[..first].to_vec();
    let mut rest = &bytes[first..];
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'%' {
            decoded.push(*byte);
            continue;
        }
        let [high, low, after @ ..] = rest else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        decoded.push((digit(*high)? << 4 | digit(*low)?) as u8);
        rest = after;
    }
    Some(Cow::Owned(decoded))
}
