//! Bodies of responses in content codings (RFC 9110, section 8.4.1) are decoded before anything of them is read, and have no more bytes
//! then than they may have.

use std::io::Read;

use bytes::Bytes;
use prony_source::ContentCoding;

use super::error::SendErrorKind;

/// Longer bodies are decoded on a thread that may be held up.
const IN_PLACE_BYTES: usize = 32 << 10;

/// A body in a coding as it was before.
pub(crate) async fn decode(
    coding: ContentCoding,
    body: Bytes,
    max_bytes: usize,
) -> Result<Bytes, SendErrorKind> {
    if coding == ContentCoding::Identity || body.is_empty() {
        return Ok(body);
    }
    if body.len() <= IN_PLACE_BYTES {
        // What it may become is bounded too, and with it the time that it takes.
        return decode_all(coding, &body, max_bytes);
    }
    let decoding = tokio::task::spawn_blocking(move || decode_all(coding, &body, max_bytes));
    decoding.await.unwrap_or_else(|error| Err(SendErrorKind::Protocol(error.to_string())))
}

fn decode_all(coding: ContentCoding, body: &[u8], max_bytes: usize) -> Result<Bytes, SendErrorKind> {
    let mut decoded = Vec::new();
    // One byte more says that there are too many.
    let limit = max_bytes as u64 + 1;
    let read = match coding {
        ContentCoding::Identity => return Ok(Bytes::copy_from_slice(body)),
        ContentCoding::Gzip => {
            flate2::bufread::MultiGzDecoder::new(body).take(limit).read_to_end(&mut decoded)
        }
        ContentCoding::Brotli => {
            brotli::Decompressor::new(body, 8 << 10).take(limit).read_to_end(&mut decoded)
        }
        ContentCoding::Zstd => zstd::stream::read::Decoder::with_buffer(body)
            .and_then(|decoder| decoder.take(limit).read_to_end(&mut decoded)),
    };
    if decoded.len() > max_bytes {
        return Err(SendErrorKind::TooLarge { max_bytes });
    }
    match read {
        Ok(_) => Ok(decoded.into()),
        Err(error) => {
            Err(SendErrorKind::Protocol(format!("its body is not in its Content-Encoding: {error}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory takes everything")
    }

    fn brotli(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = brotli::CompressorWriter::new(&mut out, 4096, 5, 22);
        encoder.write_all(text).expect("memory takes everything");
        drop(encoder);
        out
    }

    #[tokio::test]
    async fn bodies_are_decoded_within_bounds() {
        let long: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let blank = vec![b' '; 100_000];
        for text in [&b"{}"[..], &blank, &long] {
            for (coding, body) in [
                (ContentCoding::Identity, text.to_vec()),
                (ContentCoding::Gzip, gzip(text)),
                (ContentCoding::Brotli, brotli(text)),
                (ContentCoding::Zstd, zstd::encode_all(text, 1).expect("memory takes everything")),
            ] {
                let decode = |body: &[u8], max| decode(coding, Bytes::copy_from_slice(body), max);
                let decoded = decode(&body, text.len()).await.expect("it has no more bytes than it may have");
                assert!(decoded == text, "{coding:?} {}", text.len());
                if coding == ContentCoding::Identity {
                    continue;
                }
                let over = decode(&body, text.len() - 1).await;
                assert!(matches!(over, Err(SendErrorKind::TooLarge { .. })), "{coding:?} {over:?}");
                let half = decode(&body[..body.len() / 2], text.len()).await;
                assert!(matches!(half, Err(SendErrorKind::Protocol(_))), "{coding:?}");
            }
        }
        let none = decode(ContentCoding::Gzip, Bytes::from_static(b"{\"data\":{}}"), 100).await;
        assert!(matches!(none, Err(SendErrorKind::Protocol(_))), "{none:?}");
    }
}
