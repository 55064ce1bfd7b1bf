//! Messages as they stand in the body of a stream: a byte that says whether it is compressed, four of its length, the message.

use super::status::{Code, Status};
use std::collections::VecDeque;

const HEAD_BYTES: usize = 5;
/// As grpc-go has them where a client says nothing.
pub(super) const RECEIVE_BYTES_MAX: usize = 4 * 1024 * 1024;
pub(super) const SEND_BYTES_MAX: usize = i32::MAX as usize;

/// Takes a body as it comes.
#[derive(Debug)]
pub(super) struct Decoder {
    bytes: VecDeque<u8>,
    limit: usize,
}

impl Decoder {
    pub(super) fn new(limit: usize) -> Self {
        Self { bytes: VecDeque::new(), limit }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// The next message that is whole.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, Status> {
        if self.bytes.len() < HEAD_BYTES {
            return Ok(None);
        }
        let length = u32::from_be_bytes(std::array::from_fn(|index| self.bytes[index + 1])) as usize;
        if self.bytes[0] != 0 {
            return Err(Status::new(
                Code::INTERNAL,
                "grpc: compressed flag set with identity or empty encoding",
            ));
        }
        if length > self.limit {
            let limit = self.limit;
            let message = format!("grpc: received message larger than max ({length} vs. {limit})");
            return Err(Status::new(Code::RESOURCE_EXHAUSTED, message));
        }
        if self.bytes.len() < HEAD_BYTES + length {
            return Ok(None);
        }
        self.bytes.drain(..HEAD_BYTES);
        Ok(Some(self.bytes.drain(..length).collect()))
    }
}

/// A message with its head.
pub(super) fn framed(message: &[u8], limit: usize) -> Result<Vec<u8>, Status> {
    let length = message.len();
    if length > limit {
        let message = format!("trying to send message larger than max ({length} vs. {limit})");
        return Err(Status::new(Code::RESOURCE_EXHAUSTED, message));
    }
    let mut framed = Vec::with_capacity(HEAD_BYTES + length);
    framed.push(0);
    framed.extend_from_slice(&(length as u32).to_be_bytes());
    framed.extend_from_slice(message);
    Ok(framed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_whole_however_their_bytes_were_cut() {
        let mut body = framed(b"one", 9).unwrap();
        body.extend(framed(b"", 9).unwrap());
        body.extend(framed(b"three", 9).unwrap());
        for size in 1..body.len() {
            let (mut decoder, mut seen) = (Decoder::new(5), Vec::new());
            for piece in body.chunks(size) {
                decoder.push(piece);
                while let Some(message) = decoder.next().unwrap() {
                    seen.push(message);
                }
            }
            assert_eq!(seen, [&b"one"[..], b"", b"three"]);
        }
    }

    #[test]
    fn what_is_too_long_or_compressed_is_refused() {
        let mut decoder = Decoder::new(2);
        decoder.push(&framed(b"abc", 3).unwrap());
        let status = decoder.next().unwrap_err();
        assert_eq!(status.code, Code::RESOURCE_EXHAUSTED);
        assert_eq!(status.message, "grpc: received message larger than max (3 vs. 2)");
        let mut decoder = Decoder::new(2);
        decoder.push(&[1, 0, 0, 0, 1, 7]);
        assert_eq!(decoder.next().unwrap_err().code, Code::INTERNAL);
        let refused = framed(b"abc", 2).unwrap_err();
        assert_eq!(refused.message, "trying to send message larger than max (3 vs. 2)");
    }
}
