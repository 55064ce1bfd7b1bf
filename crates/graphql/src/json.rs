//! Writing JSON text (RFC 8259) for bytes that are spliced: strings escaped the way PostgreSQL's `to_json`
//! escapes them, so that every road to a response gives the same bytes.

/// Appends `text` as a JSON string with its quotes. Escaped are `"`, `\`, and U+0000 to U+001F (`\b`, `\f`,
/// `\n`, `\r`, `\t` by their short forms, the others as `\u00xx` in lower-case hexadecimal).
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain_from = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[plain_from..index]);
        write_escape(out, byte);
        plain_from = index + 1;
    }
    out.extend_from_slice(&bytes[plain_from..]);
    out.push(b'"');
}

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0c => out.extend_from_slice(b"\\f"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(HEXADECIMAL[usize::from(byte >> 4)]);
            out.push(HEXADECIMAL[usize::from(byte & 15)]);
        }
    }
}

/// `"key":`, ready to stand before a value.
pub fn member_prefix(key: &str) -> Box<[u8]> {
    let mut out = Vec::with_capacity(key.len() + 3);
    write_string(&mut out, key);
    out.push(b':');
    out.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) {
        let mut out = Vec::new();
        write_string(&mut out, text);
        let back: String = serde_json::from_slice(&out).unwrap();
        assert_eq!(back, text);
    }

    #[test]
    fn strings_read_back() {
        let all: String = (0..0x80u8).map(char::from).collect();
        for text in ["", "plain", "\"quoted\" \\ back", "gr\u{fc}n \u{1f600}", &all] {
            check(text);
        }
    }

    #[test]
    fn escapes_are_those_of_postgresql() {
        let mut out = Vec::new();
        write_string(&mut out, "\u{1}\u{1f}\u{8}/\u{7f}");
        assert_eq!(out, b"\"\\u0001\\u001f\\b/\x7f\"");
    }
}
