//! Codings of bodies: what `compression` asks of a request, what `Content-Encoding` says of an answer.

use flate2::Compression as Level;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::{self, Read, Write as _};

/// A body is not unpacked to more than this: a small answer could fill the memory.
pub const DECODED_BYTES_MAX: u64 = 256 << 20;
/// Brotli's own default, as k6's library takes it.
const BROTLI_QUALITY: u32 = 6;
const BROTLI_WINDOW_BITS: u32 = 22;
const BROTLI_BUFFER_BYTES: usize = 4 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    Deflate,
    Zstd,
    Br,
}

#[derive(Debug, thiserror::Error)]
pub enum CompressionError {
    #[error("unknown compression algorithm {0}, supported algorithms are [gzip deflate zstd br]")]
    Unknown(String),
    #[error("error decompressing response body ({0})")]
    Decode(io::Error),
    #[error("cannot compress the body: {0}")]
    Encode(io::Error),
}

impl Compression {
    pub const ALL: [Self; 4] = [Self::Gzip, Self::Deflate, Self::Zstd, Self::Br];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Zstd => "zstd",
            Self::Br => "br",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(name))
    }

    /// Reads the value of param `compression`, such as `gzip, br`: applied from left to right.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, CompressionError> {
        let names = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
        names
            .map(|name| Self::from_name(name).ok_or_else(|| CompressionError::Unknown(name.to_owned())))
            .collect()
    }

    fn encode(self, body: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Level::default());
                encoder.write_all(body)?;
                encoder.finish()
            }
            Self::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Level::default());
                encoder.write_all(body)?;
                encoder.finish()
            }
            Self::Zstd => zstd::encode_all(body, zstd::DEFAULT_COMPRESSION_LEVEL),
            Self::Br => {
                let mut encoded = Vec::new();
                let mut reader = brotli::CompressorReader::new(
                    body,
                    BROTLI_BUFFER_BYTES,
                    BROTLI_QUALITY,
                    BROTLI_WINDOW_BITS,
                );
                reader.read_to_end(&mut encoded)?;
                Ok(encoded)
            }
        }
    }

    fn decode(self, body: &[u8], bytes_max: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip => read_bounded(MultiGzDecoder::new(body), bytes_max),
            Self::Deflate => read_bounded(ZlibDecoder::new(body), bytes_max),
            Self::Zstd => read_bounded(zstd::Decoder::new(body)?, bytes_max),
            Self::Br => read_bounded(brotli::Decompressor::new(body, BROTLI_BUFFER_BYTES), bytes_max),
        }
    }
}

/// The packed body and the value of its `Content-Encoding`.
pub fn compress(codings: &[Compression], body: &[u8]) -> Result<(Vec<u8>, String), CompressionError> {
    let mut packed = body.to_vec();
    for coding in codings {
        packed = coding.encode(&packed).map_err(CompressionError::Encode)?;
    }
    let names: Vec<&str> = codings.iter().map(|coding| coding.as_str()).collect();
    Ok((packed, names.join(", ")))
}

/// The body unpacked as far as its `Content-Encoding` names codings that are known, the last one first.
pub fn decompress(content_encoding: &str, body: &[u8]) -> Result<Option<Vec<u8>>, CompressionError> {
    decompress_bounded(content_encoding, body, DECODED_BYTES_MAX)
}

fn decompress_bounded(
    content_encoding: &str,
    body: &[u8],
    bytes_max: u64,
) -> Result<Option<Vec<u8>>, CompressionError> {
    let names = content_encoding.split(',').rev().map(str::trim);
    let mut decoded: Option<Vec<u8>> = None;
    for coding in names.filter_map(Compression::from_name) {
        let body = decoded.as_deref().unwrap_or(body);
        decoded = Some(coding.decode(body, bytes_max).map_err(CompressionError::Decode)?);
    }
    Ok(decoded)
}

fn read_bounded(reader: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut decoded = Vec::new();
    reader.take(bytes_max + 1).read_to_end(&mut decoded)?;
    if decoded.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("it holds more than {bytes_max} bytes")));
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_packed_comes_back(body: Vec<u8>, picks in prop::collection::vec(0..4_usize, 1..4)) {
            let codings: Vec<Compression> = picks.iter().map(|&pick| Compression::ALL[pick]).collect();
            let (packed, encoding) = compress(&codings, &body).unwrap();
            prop_assert_eq!(decompress(&encoding, &packed).unwrap(), Some(body));
        }

        #[test]
        fn broken_bodies_are_errors_and_no_panics(body: Vec<u8>, pick in 0..4_usize) {
            let _ = decompress_bounded(Compression::ALL[pick].as_str(), &body, 1 << 20);
        }
    }

    #[test]
    fn lists_are_read() {
        let check = |text, expected: &str| {
            let shown = match Compression::parse_list(text) {
                Ok(codings) => format!("{codings:?}"),
                Err(error) => error.to_string(),
            };
            assert_eq!(shown, expected, "{text}");
        };
        check(" gzip,  br ", "[Gzip, Br]");
        check("", "[]");
        check(
            "gzip,lzw",
            "unknown compression algorithm lzw, supported algorithms are [gzip deflate zstd br]",
        );
    }

    #[test]
    fn unknown_codings_are_left_and_bounds_hold() {
        assert!(decompress("identity", b"x").unwrap().is_none());
        let (packed, _) = compress(&[Compression::Gzip], &[0; 1000]).unwrap();
        assert_eq!(decompress_bounded("aws-chunked, gzip", &packed, 1000).unwrap().unwrap().len(), 1000);
        let error = decompress_bounded("gzip", &packed, 999).unwrap_err();
        assert_eq!(error.to_string(), "error decompressing response body (it holds more than 999 bytes)");
        assert!(decompress("gzip", b"no gzip").is_err());
    }
}
