//! Base64 as `k6/encoding` speaks it: four alphabets by Go's names, line ends ignored, faults with their place.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// RFC 4648, sections 4 and 5, with padding and without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alphabet {
    Standard,
    RawStandard,
    Url,
    RawUrl,
}

const PADDED: GeneralPurposeConfig = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
const RAW: GeneralPurposeConfig =
    PADDED.with_encode_padding(false).with_decode_padding_mode(DecodePaddingMode::RequireNone);

impl Alphabet {
    /// An unknown name is the standard alphabet, as in k6.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "rawstd" => Self::RawStandard,
            "url" => Self::Url,
            "rawurl" => Self::RawUrl,
            _ => Self::Standard,
        }
    }

    const fn engine(self) -> GeneralPurpose {
        match self {
            Self::Standard => GeneralPurpose::new(&STANDARD, PADDED),
            Self::RawStandard => GeneralPurpose::new(&STANDARD, RAW),
            Self::Url => GeneralPurpose::new(&URL_SAFE, PADDED),
            Self::RawUrl => GeneralPurpose::new(&URL_SAFE, RAW),
        }
    }

    const fn has(self, byte: u8) -> bool {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => true,
            b'+' | b'/' => matches!(self, Self::Standard | Self::RawStandard),
            b'-' | b'_' => matches!(self, Self::Url | Self::RawUrl),
            _ => false,
        }
    }
}

pub(crate) fn encode(bytes: &[u8], alphabet: Alphabet) -> String {
    alphabet.engine().encode(bytes)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {byte}")]
pub(crate) struct Base64Fault {
    /// The first byte of the text that cannot be, line ends counted.
    pub byte: usize,
}

pub(crate) fn decode(text: &str, alphabet: Alphabet) -> Result<Vec<u8>, Base64Fault> {
    let is_broken = text.bytes().any(|byte| matches!(byte, b'\r' | b'\n'));
    let decoded = if is_broken {
        alphabet.engine().decode(text.replace(['\r', '\n'], ""))
    } else {
        alphabet.engine().decode(text)
    };
    decoded.map_err(|_| Base64Fault { byte: fault_at(text.as_bytes(), alphabet) })
}

/// Where a reader of whole groups of four gives up: at a byte outside the alphabet, or where the text ends too early,
/// at the beginning of its last group.
fn fault_at(text: &[u8], alphabet: Alphabet) -> usize {
    let mut in_group = 0;
    let mut group_start = 0;
    for (index, byte) in text.iter().enumerate().filter(|(_, byte)| !matches!(byte, b'\r' | b'\n')) {
        if in_group == 4 {
            in_group = 0;
            group_start = index;
        }
        let is_padding =
            *byte == b'=' && in_group >= 2 && matches!(alphabet, Alphabet::Standard | Alphabet::Url);
        if is_padding {
            return fault_after_padding(text, index, in_group);
        }
        if !alphabet.has(*byte) {
            return index;
        }
        in_group += 1;
    }
    if in_group == 4 { text.len() } else { group_start }
}

/// Padding fills the group; nothing may follow.
fn fault_after_padding(text: &[u8], first: usize, in_group: usize) -> usize {
    let mut rest = (first + 1..text.len()).filter(|index| !matches!(text[*index], b'\r' | b'\n'));
    if in_group == 2 {
        match rest.next() {
            None => return text.len(),
            Some(index) if text[index] != b'=' => return index,
            Some(_) => {}
        }
    }
    rest.next().unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648, section 10.
    #[test]
    fn published_texts() {
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, padded) in vectors {
            let raw = padded.trim_end_matches('=');
            for (alphabet, text) in [(Alphabet::Standard, padded), (Alphabet::RawUrl, raw)] {
                assert_eq!(encode(plain.as_bytes(), alphabet), text);
                assert_eq!(decode(text, alphabet), Ok(plain.as_bytes().to_vec()));
            }
        }
    }

    #[test]
    fn alphabets_differ_in_two_letters_and_the_padding() {
        let bytes = [0xfb, 0xef, 0xff, 0xfe];
        let written = ["std", "rawstd", "url", "rawurl", "other"].map(|name| {
            let alphabet = Alphabet::named(name);
            let text = encode(&bytes, alphabet);
            assert_eq!(decode(&text, alphabet), Ok(bytes.to_vec()), "{name}");
            text
        });
        assert_eq!(written, ["++///g==", "++///g", "--___g==", "--___g", "++///g=="]);
    }

    #[test]
    fn faults_have_the_place_that_go_gives() {
        let faults = [
            ("aGk=x", Alphabet::Standard, 4),
            ("aGk", Alphabet::Standard, 0),
            ("aGk=", Alphabet::RawStandard, 3),
            ("aG*k", Alphabet::Standard, 2),
            ("YWJjZA=", Alphabet::Standard, 7),
            ("YWJj\nZA=x", Alphabet::Standard, 8),
        ];
        for (text, alphabet, byte) in faults {
            assert_eq!(decode(text, alphabet), Err(Base64Fault { byte }), "{text}");
        }
        assert_eq!(decode("YW\r\nJj\n", Alphabet::Standard), Ok(b"abc".to_vec()));
    }
}
