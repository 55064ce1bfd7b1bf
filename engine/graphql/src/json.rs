//! Writing JSON text (RFC 8259) for bytes that are spliced: strings escaped the way PostgreSQL's `to_json`
//! escapes them, so that every way to a response gives the same bytes. And how deep JSON of others is taken apart.

/// How many lists within each other are taken apart in JSON that another server has written. No type has so many, and a text can have as
/// many as it has bytes.
pub const NESTED_LISTS_MAX: usize = 32;
/// The fault of a value with more of them.
pub const NESTED_TOO_DEEP: &str = "its lists are nested too deeply";

/// Appends `text` as a JSON string with its quotes. Escaped are `"`, `\`, and U+0000 to U+001F (`\b`, `\f`,
/// `\n`, `\r`, `\t` by their short forms, the others as `\u00xx` in lower-case hexadecimal).
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    if has_escapes(bytes) {
        write_escaped(out, bytes);
    } else {
        out.extend_from_slice(bytes);
    }
    out.push(b'"');
}

/// Whether any byte must be escaped, eight at a time: most texts have none.
fn has_escapes(bytes: &[u8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    // Sets the high bit of at least one byte if a byte of the word is below `limit`, and of none otherwise
    // (Mycroft's test; bytes from 0x80 are masked out).
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH_BITS;
    let (words, rest) = bytes.as_chunks::<8>();
    let in_word = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        let quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
        below(word, 0x20) | quote | backslash != 0
    };
    words.iter().any(in_word) || rest.iter().any(|&byte| must_escape(byte))
}

fn must_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn write_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut plain_from = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        if !must_escape(byte) {
            continue;
        }
        out.extend_from_slice(&bytes[plain_from..index]);
        write_escape(out, byte);
        plain_from = index + 1;
    }
    out.extend_from_slice(&bytes[plain_from..]);
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

/// Appends the shortest text that reads back as the same number, `230` for 230.0. It must be finite: JSON has no others.
pub fn write_number(out: &mut Vec<u8>, value: f64) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format(value);
    out.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
}

/// `"key":`, ready to stand before a value.
pub fn member_prefix(key: &str) -> Box<[u8]> {
    let mut out = Vec::with_capacity(key.len() + 3);
    write_string(&mut out, key);
    out.push(b':');
    out.into_boxed_slice()
}

/// An object's text, member by member: keys and the values that are known. Other values belong between two texts.
#[derive(Debug, Default)]
pub struct ObjectText {
    text: Vec<u8>,
    has_members: bool,
}

impl ObjectText {
    /// An object behind a text.
    pub fn after(text: Vec<u8>) -> Self {
        Self { text, has_members: false }
    }

    /// Begins a member: `{` or `,`, then the key as a string, then `:`. Its value follows.
    pub fn key(&mut self, key: &str) {
        self.text.push(if self.has_members { b',' } else { b'{' });
        self.has_members = true;
        write_string(&mut self.text, key);
        self.text.push(b':');
    }

    /// A value that is JSON already.
    pub fn json(&mut self, value: &[u8]) {
        self.text.extend_from_slice(value);
    }

    /// A value that is a string.
    pub fn string(&mut self, value: &str) {
        write_string(&mut self.text, value);
    }

    /// The text up to here, which the next text goes on from.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }

    /// The text up to the object's end.
    pub fn end(mut self) -> Vec<u8> {
        self.text.extend_from_slice(if self.has_members { b"}" } else { b"{}" });
        self.text
    }
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
    fn each_byte_at_each_place_reads_back() {
        for place in 0..20 {
            for byte in 0..0x80u8 {
                let mut text = "\u{e9}aaaaaaaaaaaaaaaaaaaaaaaaa".to_owned();
                text.insert(place + if place == 0 { 0 } else { 2 }, char::from(byte));
                check(&text);
            }
        }
    }

    #[test]
    fn escapes_are_those_of_postgresql() {
        let mut out = Vec::new();
        write_string(&mut out, "\u{1}\u{1f}\u{8}/\u{7f}");
        assert_eq!(out, b"\"\\u0001\\u001f\\b/\x7f\"");
    }
}
