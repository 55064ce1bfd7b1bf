//! Percent-encoding as Go's `net/url` does it, which decides what paths, forms and credentials look like on the wire.

/// What is encoded; each leaves other characters alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escape {
    Path,
    Fragment,
    User,
    /// A name or value of `application/x-www-form-urlencoded`; a space becomes `+`.
    Form,
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

impl Escape {
    /// Reserved characters that are left as they are.
    const fn kept(self) -> &'static [u8] {
        match self {
            Self::Path => b"$&+,/:;=@",
            Self::Fragment => b"$&+,/:;=?@!()*",
            Self::User => b"$&+,;=",
            Self::Form => b"",
        }
    }

    fn is_kept(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || self.kept().contains(&byte)
    }
}

/// Appends the encoded text.
pub(crate) fn escape_into(text: &str, kind: Escape, out: &mut String) {
    for byte in text.bytes() {
        if kind.is_kept(byte) {
            out.push(char::from(byte));
        } else if byte == b' ' && kind == Escape::Form {
            out.push('+');
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

pub(crate) fn escape(text: &str, kind: Escape) -> String {
    let mut out = String::with_capacity(text.len());
    escape_into(text, kind, &mut out);
    out
}

/// The text with its escapes resolved; bytes that are no UTF-8 are replaced. `None` where an escape is none.
pub(crate) fn unescape(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let (&[high, low], after) = after.split_first_chunk::<2>()?;
            bytes.push(hex(high)? << 4 | hex(low)?);
            rest = after;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn has_bad_escape(text: &str) -> bool {
    text.contains('%') && unescape(text).is_none()
}

/// True where the text can be sent as it is.
pub(crate) fn is_valid_encoded(text: &str, kind: Escape) -> bool {
    text.bytes().all(|byte| kind.is_kept(byte) || b"!$&'()*+,;=:@[]%".contains(&byte))
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_escaped_comes_back(text in any::<String>()) {
            for kind in [Escape::Path, Escape::Fragment, Escape::User] {
                prop_assert_eq!(unescape(&escape(&text, kind)), Some(text.clone()));
            }
        }
    }

    #[test]
    fn each_kind_keeps_its_own_characters() {
        let text = "a-_.~ $&+,/:;=?@!'()*[]\"é";
        let shown =
            [Escape::Path, Escape::Fragment, Escape::User, Escape::Form].map(|kind| escape(text, kind));
        expect_test::expect![[r#"
            a-_.~%20$&+,/:;=%3F@%21%27%28%29%2A%5B%5D%22%C3%A9
            a-_.~%20$&+,/:;=?@!%27()*%5B%5D%22%C3%A9
            a-_.~%20$&+,%2F%3A;=%3F%40%21%27%28%29%2A%5B%5D%22%C3%A9
            a-_.~+%24%26%2B%2C%2F%3A%3B%3D%3F%40%21%27%28%29%2A%5B%5D%22%C3%A9"#]]
        .assert_eq(&shown.join("\n"));
    }
}
