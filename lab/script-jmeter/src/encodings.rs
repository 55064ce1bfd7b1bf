//! Encodings of texts beside UTF-8: those of one byte a letter that responses, files and requests still have.

use std::borrow::Cow;

/// What Windows-1252 has between 0x80 and 0x9F; five places have nothing.
const WINDOWS: [char; 32] = [
    '€', '\u{fffd}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{fffd}', 'Ž', '\u{fffd}',
    '\u{fffd}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{fffd}', 'ž', 'Ÿ',
];

/// How the letters of an encoding are told from bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Ascii,
    Latin1,
    Windows,
}

impl Encoding {
    /// By one of its names; none of one that is not known here.
    fn of(name: &str) -> Option<Self> {
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "" | "utf-8" | "utf8" => Self::Utf8,
            "us-ascii" | "ascii" => Self::Ascii,
            "iso-8859-1" | "iso8859-1" | "iso8859_1" | "iso_8859-1" | "latin1" => Self::Latin1,
            "windows-1252" | "cp1252" => Self::Windows,
            _ => return None,
        })
    }
}

/// Whether texts in an encoding of this name are read.
pub(crate) fn is_known(name: &str) -> bool {
    Encoding::of(name).is_some()
}

/// The text of bytes; in an encoding that is not known they are taken for UTF-8.
pub(crate) fn decode<'a>(bytes: &'a [u8], name: &str) -> Cow<'a, str> {
    let encoding = if bytes.is_ascii() { None } else { Encoding::of(name) };
    let letter: fn(u8) -> char = match encoding {
        Some(Encoding::Latin1) => char::from,
        Some(Encoding::Windows) => of_windows,
        Some(Encoding::Ascii) => |byte: u8| if byte.is_ascii() { char::from(byte) } else { '\u{fffd}' },
        Some(Encoding::Utf8) | None => return String::from_utf8_lossy(bytes),
    };
    Cow::Owned(bytes.iter().map(|byte| letter(*byte)).collect())
}

/// Appends the bytes of a text; a letter that the encoding has not is `?`.
pub(crate) fn encode(text: &str, name: &str, bytes: &mut Vec<u8>) {
    let byte: fn(char) -> Option<u8> = match Encoding::of(name) {
        Some(Encoding::Latin1) => |letter: char| u8::try_from(letter).ok(),
        Some(Encoding::Windows) => to_windows,
        Some(Encoding::Ascii) => |letter: char| u8::try_from(letter).ok().filter(u8::is_ascii),
        Some(Encoding::Utf8) | None => return bytes.extend_from_slice(text.as_bytes()),
    };
    bytes.extend(text.chars().map(|letter| byte(letter).unwrap_or(b'?')));
}

fn of_windows(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
        other => char::from(other),
    }
}

fn to_windows(letter: char) -> Option<u8> {
    let place = WINDOWS.iter().position(|known| *known == letter && letter != '\u{fffd}');
    match place {
        Some(place) => u8::try_from(0x80 + place).ok(),
        None => u8::try_from(letter).ok().filter(|byte| !(0x80..=0x9f).contains(byte)),
    }
}

/// The encoding that a `Content-Type` names; empty where it names none.
pub(crate) fn charset_of(content_type: &str) -> &str {
    const NAME: &str = "charset=";
    let lower = content_type.to_ascii_lowercase();
    let Some(at) = lower.find(NAME) else { return "" };
    let value = content_type[at + NAME.len()..].split([';', ',']).next().unwrap_or_default();
    value.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_one_byte_are_read_and_written() {
        assert_eq!(decode(b"caf\xe9 \x80", "ISO-8859-1"), "café \u{80}");
        assert_eq!(decode(b"\x80 5 \x93q\x94 \x81", "windows-1252"), "€ 5 “q” \u{fffd}");
        assert_eq!([decode(b"\xe9", "us-ascii"), decode("é".as_bytes(), "koi8-r")], ["\u{fffd}", "é"]);
        let written = |text: &str, name: &str| {
            let mut bytes = Vec::new();
            encode(text, name, &mut bytes);
            bytes
        };
        assert_eq!(written("é€\u{80}", "windows-1252"), b"\xe9\x80?");
        assert_eq!([written("é€", "Latin1"), written("é", "ascii")], [b"\xe9?".to_vec(), b"?".to_vec()]);
        assert_eq!(written("é", "UTF-8"), "é".as_bytes());
        assert!(is_known(" UTF8 ") && is_known("") && !is_known("koi8-r"));
    }

    #[test]
    fn a_content_type_names_its_encoding() {
        let charsets = ["text/html; Charset=\"ISO-8859-1\"; a=b", "text/plain;charset=utf-8", "text/html"];
        assert_eq!(charsets.map(charset_of), ["ISO-8859-1", "utf-8", ""]);
    }
}
